"""Boolean masks over the pieces between all borders."""

import numpy as np


def events_of(trace):
    events = [e for e in (trace["traceEvents"] if "traceEvents" in trace else trace) if e["ph"] == "X"]
    if any(e["dur"] < 0 for e in events):
        raise ValueError("dur")
    return [e for e in events if e["dur"] > 0]


def is_gpu(e):
    return e["cat"] in {"kernel", "gpu_memcpy", "gpu_memset"}


def is_comm(e):
    return e["cat"] == "kernel" and e["name"].lower().find("nccl") >= 0


def is_compute(e):
    return e["cat"] == "kernel" and not is_comm(e)


class Grid:
    def __init__(self, events):
        self.edges = np.unique([t for e in events for t in (e["ts"], e["ts"] + e["dur"])])
        self.width = np.diff(self.edges)

    def mask(self, events):
        found = np.zeros(max(len(self.edges) - 1, 0), dtype=bool)
        for e in events:
            found |= self.one(e)
        return found

    def one(self, e):
        return (self.edges[:-1] >= e["ts"]) & (self.edges[1:] <= e["ts"] + e["dur"])

    def total(self, mask):
        return float(self.width[mask].sum()) if len(self.width) else 0.0


def busy_fraction(trace):
    gpu = [e for e in events_of(trace) if is_gpu(e)]
    if len(gpu) == 0:
        return 0.0
    grid = Grid(gpu)
    return grid.total(grid.mask(gpu)) / float(grid.edges[-1] - grid.edges[0])


def self_masks(events, cat, grid):
    """Pairs of an event and its mask without those of shorter events inside it."""
    chosen = [e for e in events if e["cat"] == cat]
    for e in chosen:
        mask = grid.one(e)
        for other in chosen:
            same = (e["pid"], e["tid"]) == (other["pid"], other["tid"])
            inside = e["ts"] <= other["ts"] and other["ts"] + other["dur"] <= e["ts"] + e["dur"]
            if same and inside and other["dur"] < e["dur"]:
                mask = mask & ~grid.one(other)
        yield e, mask


def top(trace, cat, n):
    if n < 1:
        raise ValueError("n")
    events = events_of(trace)
    grid = Grid(events)
    table = {}
    for e, mask in self_masks(events, cat, grid):
        time, calls = table.get(e["name"], (0.0, 0))
        table[e["name"]] = time + grid.total(mask), calls + 1
    order = sorted(table, key=lambda name: -table[name][0])
    return [(name, *table[name]) for name in order][:n]


def exposed_comm(trace):
    events = events_of(trace)
    grid = Grid(events)
    compute, comm = (grid.mask(filter(test, events)) for test in (is_compute, is_comm))
    return grid.total(comm & ~compute)


def step_breakdown(trace):
    events = events_of(trace)
    grid = Grid(events)
    compute = grid.mask(e for e in events if is_compute(e))
    comm = grid.mask(e for e in events if is_comm(e)) & ~compute
    gpu = grid.mask(e for e in events if is_gpu(e))
    copy = gpu & ~compute & ~comm
    rows = []
    for e in events:
        if e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#"):
            here = grid.one(e)
            rows.append(
                {
                    "step": int(e["name"].split("#")[1]),
                    "time": e["dur"],
                    "compute": grid.total(here & compute),
                    "exposed_comm": grid.total(here & comm),
                    "exposed_copy": grid.total(here & copy),
                    "idle": grid.total(here & ~gpu),
                }
            )
    return sorted(rows, key=lambda row: row["step"])


def idle_gaps(trace, min_us=0.0):
    if min_us < 0:
        raise ValueError("min_us")
    events = events_of(trace)
    gpu = sorted((e for e in events if is_gpu(e)), key=lambda e: e["ts"])
    grid = Grid(events)
    own = list(self_masks(events, "cpu_op", grid))
    gaps, reached = [], None
    for e in gpu:
        if reached is not None and e["ts"] - reached > min_us:
            gap = {"ts": reached, "dur": e["ts"] - reached}
            number = e["args"].get("correlation") if "args" in e else None
            launch = [
                c
                for c in events
                if c["cat"] in ("cuda_runtime", "cuda_driver")
                and number is not None
                and c.get("args", {}).get("correlation") == number
            ]
            times = [
                (grid.total(mask & grid.one(gap)), i)
                for i, (op, mask) in enumerate(own)
                if launch and op["pid"] == launch[0]["pid"] and op["tid"] == launch[0]["tid"]
            ]
            time, i = max(times, default=(0.0, -1))
            gaps.append({"start": reached, "end": e["ts"], "cause": own[i][0]["name"] if time > 0 else None})
        end = e["ts"] + e["dur"]
        reached = end if reached is None else max(reached, end)
    return gaps
