"""Trace triage: where does the step time go?"""

import re
from collections import defaultdict
from collections.abc import Iterable

Interval = tuple[float, float]
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH = ("cuda_runtime", "cuda_driver")


def events_of(trace: list[dict] | dict) -> list[dict]:
    """The complete events that take time, parents before their children."""
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    events = [event for event in events if event["ph"] == "X"]
    if any(event["dur"] < 0 for event in events):
        raise ValueError("an event has a negative duration")
    events = [event for event in events if event["dur"] > 0]
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


def interval(event: dict) -> Interval:
    return event["ts"], event["ts"] + event["dur"]


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """The union as disjoint intervals, by start."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def subtract(a: list[Interval], b: list[Interval]) -> list[Interval]:
    """What b leaves of a; both are merged."""
    left = []
    for start, end in a:
        for low, high in b:
            if low < end and high > start:
                if low > start:
                    left.append((start, low))
                start = max(start, high)
        if start < end:
            left.append((start, end))
    return left


def clip(intervals: Iterable[Interval], low: float, high: float) -> list[Interval]:
    cut = ((max(start, low), min(end, high)) for start, end in intervals)
    return [(start, end) for start, end in cut if start < end]


def length(intervals: Iterable[Interval]) -> float:
    return sum((end - start for start, end in intervals), 0.0)


def gpu_intervals(events: list[dict]) -> dict[str, list[Interval]]:
    """The merged intervals of compute, communication and copies."""
    kinds: dict[str, list[Interval]] = {"compute": [], "comm": [], "copy": []}
    for event in events:
        if event["cat"] == "kernel":
            is_comm = "nccl" in event["name"].lower()
            kinds["comm" if is_comm else "compute"].append(interval(event))
        elif event["cat"] in GPU:
            kinds["copy"].append(interval(event))
    return {kind: merge(found) for kind, found in kinds.items()}


def self_intervals(events: list[dict], cat: str) -> list[tuple[dict, list[Interval]]]:
    """Each event of a category with what its children leave of it."""
    children: list[list[Interval]] = []
    found: list[dict] = []
    stacks: dict[tuple, list[int]] = defaultdict(list)
    for event in events:
        if event["cat"] != cat:
            continue
        start, end = interval(event)
        stack = stacks[event["pid"], event["tid"]]
        while stack and interval(found[stack[-1]])[1] <= start:
            stack.pop()
        if stack:
            children[stack[-1]].append((start, end))
        stack.append(len(found))
        found.append(event)
        children.append([])
    return [
        (event, subtract([interval(event)], merge(inner)))
        for event, inner in zip(found, children, strict=True)
    ]


def busy_fraction(trace: list[dict] | dict) -> float:
    """Fraction of the window in which at least one GPU event runs."""
    busy = merge(interval(e) for e in events_of(trace) if e["cat"] in GPU)
    if not busy:
        return 0.0
    return length(busy) / (busy[-1][1] - busy[0][0])


def top(trace: list[dict] | dict, cat: str, n: int) -> list[tuple[str, float, int]]:
    """The n names with most self time: (name, self time, calls)."""
    if n < 1:
        raise ValueError("n must be at least 1")
    time: dict[str, float] = defaultdict(float)
    calls: dict[str, int] = defaultdict(int)
    for event, own in self_intervals(events_of(trace), cat):
        time[event["name"]] += length(own)
        calls[event["name"]] += 1
    names = sorted(time, key=lambda name: time[name], reverse=True)
    return [(name, time[name], calls[name]) for name in names[:n]]


def exposed_comm(trace: list[dict] | dict) -> float:
    """Time in which communication runs and no compute kernel does."""
    gpu = gpu_intervals(events_of(trace))
    return length(subtract(gpu["comm"], gpu["compute"]))


def step_breakdown(trace: list[dict] | dict) -> list[dict]:
    """For each step: step, time, compute, exposed_comm, exposed_copy, idle."""
    events = events_of(trace)
    gpu = gpu_intervals(events)
    rows = []
    for event in events:
        match = re.fullmatch(r"ProfilerStep#(\d+)", event["name"])
        if event["cat"] != "user_annotation" or not match:
            continue
        low, high = interval(event)
        inside = {kind: clip(found, low, high) for kind, found in gpu.items()}
        compute = inside["compute"]
        comm = subtract(inside["comm"], compute)
        copy = subtract(inside["copy"], merge(compute + inside["comm"]))
        row = {"step": int(match[1]), "time": event["dur"]}
        row["compute"] = length(compute)
        row["exposed_comm"] = length(comm)
        row["exposed_copy"] = length(copy)
        row["idle"] = event["dur"] - length(compute) - length(comm) - length(copy)
        rows.append(row)
    return sorted(rows, key=lambda row: row["step"])


def idle_gaps(trace: list[dict] | dict, min_us: float = 0.0) -> list[dict]:
    """Gaps without GPU events, by start: start, end, cause."""
    if min_us < 0:
        raise ValueError("min_us must not be negative")
    events = events_of(trace)
    gpu = [event for event in events if event["cat"] in GPU]
    launches = {
        event["args"]["correlation"]: event
        for event in events
        if event["cat"] in LAUNCH and "correlation" in event.get("args", {})
    }
    operators = self_intervals(events, "cpu_op")
    busy = merge(interval(event) for event in gpu)
    gaps = []
    for (_, start), (end, _) in zip(busy, busy[1:], strict=False):
        if end - start <= min_us:
            continue
        after = next(event for event in gpu if event["ts"] == end)
        launch = launches.get(after.get("args", {}).get("correlation"))
        cause, most = None, 0.0
        for event, own in operators:
            if launch is None or (event["pid"], event["tid"]) != (
                launch["pid"],
                launch["tid"],
            ):
                continue
            inside = length(clip(own, start, end))
            if inside > most:
                cause, most = event["name"], inside
        gaps.append({"start": start, "end": end, "cause": cause})
    return gaps
