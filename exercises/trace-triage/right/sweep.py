"""Sweeps over borders instead of sets of intervals."""

from collections import Counter

KINDS = {"kernel": 0, "gpu_memcpy": 2, "gpu_memset": 2}


def load(trace):
    raw = trace["traceEvents"] if type(trace) is dict else trace
    complete = [e for e in raw if e.get("ph") == "X"]
    for e in complete:
        if e["dur"] < 0:
            raise ValueError(f"negative dur: {e}")
    return [e for e in complete if e["dur"] != 0]


def kind(e):
    if e["cat"] == "kernel" and "nccl" in e["name"].casefold():
        return 1
    return KINDS.get(e["cat"])


def pieces(events):
    """(start, end, set of kinds) between consecutive borders of GPU events."""
    marks = []
    for e in events:
        k = kind(e)
        if k is not None:
            marks += [(e["ts"], 1, k), (e["ts"] + e["dur"], -1, k)]
    marks.sort(key=lambda m: m[0])
    running = Counter()
    for (t, change, k), following in zip(marks, marks[1:]):
        running[k] += change
        if following[0] > t:
            yield t, following[0], {k for k, count in running.items() if count > 0}


def busy_fraction(trace):
    parts = list(pieces(load(trace)))
    if not parts:
        return 0.0
    busy = sum(b - a for a, b, kinds in parts if kinds)
    return busy / (parts[-1][1] - parts[0][0])


def owners(events, cat):
    """(event, start, end): the event is the innermost of its thread and category from start to end."""
    threads = {}
    for e in events:
        if e["cat"] == cat:
            threads.setdefault((e["pid"], e["tid"]), []).append(e)
    for found in threads.values():
        found.sort(key=lambda e: (e["ts"], -e["dur"]))
        borders = sorted({e["ts"] for e in found} | {e["ts"] + e["dur"] for e in found})
        for a, b in zip(borders, borders[1:]):
            inner = None
            for e in found:
                if e["ts"] <= a and e["ts"] + e["dur"] >= b:
                    inner = e
            if inner is not None:
                yield inner, a, b


def top(trace, cat, n):
    if n < 1:
        raise ValueError("n")
    events = load(trace)
    calls = Counter(e["name"] for e in events if e["cat"] == cat)
    times = dict.fromkeys(calls, 0)
    for e, a, b in owners(events, cat):
        times[e["name"]] += b - a
    return sorted(((name, times[name], calls[name]) for name in calls), key=lambda r: r[1])[::-1][:n]


def exposed_comm(trace):
    return float(sum(b - a for a, b, kinds in pieces(load(trace)) if 1 in kinds and 0 not in kinds))


def step_breakdown(trace):
    events = load(trace)
    parts = list(pieces(events))
    rows = {}
    for e in events:
        head, _, number = e["name"].partition("#")
        if e["cat"] == "user_annotation" and head == "ProfilerStep" and number.isdecimal():
            low, high = e["ts"], e["ts"] + e["dur"]
            sums = [0.0, 0.0, 0.0]
            for a, b, kinds in parts:
                inside = min(b, high) - max(a, low)
                if kinds and inside > 0:
                    sums[min(kinds)] += inside
            rows[int(number)] = {
                "time": e["dur"],
                "step": int(number),
                "idle": e["dur"] - sum(sums),
                "compute": sums[0],
                "exposed_comm": sums[1],
                "exposed_copy": sums[2],
            }
    return [rows[number] for number in sorted(rows)]


def idle_gaps(trace, min_us=0.0):
    if min_us < 0:
        raise ValueError("min_us")
    events = load(trace)
    result = []
    for a, b, kinds in pieces(events):
        if kinds or not b - a > min_us:
            continue
        number = [
            e.get("args", {}).get("correlation") for e in events if kind(e) is not None and e["ts"] == b
        ][0]
        threads = [
            (e["pid"], e["tid"])
            for e in events
            if e["cat"].startswith("cuda_")
            and number is not None
            and e.get("args", {}).get("correlation") == number
        ]
        inside = {}
        for e, start, end in owners(events, "cpu_op"):
            if (e["pid"], e["tid"]) in threads and min(end, b) > max(start, a):
                name, time = inside.get(id(e), (e["name"], 0.0))
                inside[id(e)] = name, time + min(end, b) - max(start, a)
        cause = max(inside.values(), key=lambda pair: pair[1])[0] if inside else None
        result.append({"start": a, "end": b, "cause": cause})
    return result
