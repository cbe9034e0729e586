from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import groupby


@dataclass(eq=False)
class Event:
    cat: str
    name: str
    thread: tuple
    start: float
    end: float
    correlation: object = None
    children: list[Event] = field(default_factory=list)

    def own(self, low, high):
        """Time between low and high outside the children."""
        return overlap(self, low, high) - sum(overlap(child, low, high) for child in self.children)


def overlap(event, low, high):
    return max(0.0, min(event.end, high) - max(event.start, low))


class Trace:
    def __init__(self, trace):
        if isinstance(trace, dict):
            trace = trace["traceEvents"]
        self.events = []
        for raw in trace:
            if raw["ph"] != "X":
                continue
            if raw["dur"] < 0:
                raise ValueError("negative duration")
            if raw["dur"]:
                args = raw.get("args") or {}
                start = raw["ts"]
                thread = (raw["pid"], raw["tid"])
                self.events.append(
                    Event(raw["cat"], raw["name"], thread, start, start + raw["dur"], args.get("correlation"))
                )
        self.events.sort(key=lambda event: (event.start, -event.end))

    def nested(self, cat):
        open_events = {}
        chosen = [event for event in self.events if event.cat == cat]
        for event in chosen:
            parent = open_events.get(event.thread, [])
            parent = [e for e in parent if e.end > event.start]
            if parent:
                parent[-1].children.append(event)
            open_events[event.thread] = [*parent, event]
        return chosen

    def of(self, *kinds):
        found = []
        for event in self.events:
            kind = {"gpu_memcpy": "copy", "gpu_memset": "copy"}.get(event.cat)
            if event.cat == "kernel":
                kind = "comm" if "NCCL" in event.name.upper() else "compute"
            if kind in kinds:
                found.append(event)
        return found


def busy_spans(events):
    spans = []
    for event in heapq.merge(events, key=lambda e: e.start):
        if not spans or event.start > spans[-1][1]:
            spans.append([event.start, event.end])
        spans[-1][1] = max(spans[-1][1], event.end)
    return spans


def measure(events, low=float("-inf"), high=float("inf")):
    return sum(max(0.0, min(end, high) - max(start, low)) for start, end in busy_spans(events))


ALL = ("compute", "comm", "copy")


def busy_fraction(trace):
    gpu = Trace(trace).of(*ALL)
    if not gpu:
        return 0.0
    return measure(gpu) / (max(e.end for e in gpu) - min(e.start for e in gpu))


def top(trace, cat, n):
    if n <= 0:
        raise ValueError("n must be positive")
    events = sorted(Trace(trace).nested(cat), key=lambda e: e.name)
    rows = []
    for name, group in groupby(events, key=lambda e: e.name):
        group = list(group)
        rows.append((name, sum(e.own(e.start, e.end) for e in group), len(group)))
    return heapq.nlargest(n, rows, key=lambda row: row[1])


def exposed_comm(trace):
    trace = Trace(trace)
    return measure(trace.of("comm", "compute")) - measure(trace.of("compute"))


def step_breakdown(trace):
    trace = Trace(trace)
    rows = []
    for event in trace.events:
        if (
            event.cat == "user_annotation"
            and event.name[:13] == "ProfilerStep#"
            and event.name[13:].isdigit()
        ):
            a = measure(trace.of("compute"), event.start, event.end)
            b = measure(trace.of("compute", "comm"), event.start, event.end)
            c = measure(trace.of(*ALL), event.start, event.end)
            time = event.end - event.start
            rows.append(
                dict(
                    step=int(event.name[13:]),
                    time=time,
                    compute=a,
                    exposed_comm=b - a,
                    exposed_copy=c - b,
                    idle=time - c,
                )
            )
    rows.sort(key=lambda row: row["step"])
    return rows


def idle_gaps(trace, min_us=0.0):
    if min_us < 0:
        raise ValueError("min_us must not be negative")
    trace = Trace(trace)
    gpu = trace.of(*ALL)
    operators = trace.nested("cpu_op")
    spans = busy_spans(gpu)
    gaps = []
    for i in range(1, len(spans)):
        low, high = spans[i - 1][1], spans[i][0]
        if high - low > min_us:
            late = [e for e in gpu if e.start == high][0]
            cause, most = None, 0.0
            for launch in trace.events:
                if launch.cat not in {"cuda_runtime", "cuda_driver"} or late.correlation is None:
                    continue
                if launch.correlation == late.correlation:
                    for e in operators:
                        if e.thread == launch.thread and e.own(low, high) > most:
                            cause, most = e.name, e.own(low, high)
            gaps.append({"start": low, "end": high, "cause": cause})
    return gaps
