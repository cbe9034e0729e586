from dataclasses import dataclass, field

import numpy as np

GPU = "kernel gpu_memcpy gpu_memset".split()


@dataclass
class Node:
    name: str
    start: float
    end: float
    children: list = field(default_factory=list)

    def time(self, lo=-np.inf, hi=np.inf):
        return max(0.0, min(self.end, hi) - max(self.start, lo))

    def own(self, lo=-np.inf, hi=np.inf):
        return self.time(lo, hi) - sum(c.time(lo, hi) for c in self.children)

    def walk(self):
        yield self
        for c in self.children:
            yield from c.walk()


def build(events):
    queue = sorted(
        (Node(e["name"], e["ts"], e["ts"] + e["dur"]) for e in events), key=lambda n: (n.start, -n.end)
    )
    pos = 0

    def take(limit):
        nonlocal pos
        nodes = []
        while pos < len(queue) and queue[pos].end <= limit:
            node = queue[pos]
            pos += 1
            node.children = take(node.end)
            nodes.append(node)
        return nodes

    return take(np.inf)


class Trace:
    def __init__(self, trace):
        events = trace if not isinstance(trace, dict) else trace.get("traceEvents", [])
        self.by_cat = {}
        for e in events:
            if e.get("ph") != "X":
                continue
            if e["dur"] < 0:
                raise ValueError(f"negative duration of {e['name']}")
            if e["dur"] > 0:
                self.by_cat.setdefault(e["cat"], []).append(e)
        self.gpu = [e for c in GPU for e in self.by_cat.get(c, [])]

    def forest(self, cat):
        th = {}
        for e in self.by_cat.get(cat, []):
            th.setdefault((e["pid"], e["tid"]), []).append(e)
        return {k: build(v) for k, v in th.items()}

    def grid(self, *extra):
        pts = [e["ts"] for e in self.gpu] + [e["ts"] + e["dur"] for e in self.gpu] + list(extra)
        return np.unique(np.array(pts, dtype=np.float64))

    def cover(self, grid, pred):
        delta = np.zeros(len(grid))
        for e in self.gpu:
            if pred(e):
                delta[np.searchsorted(grid, e["ts"])] += 1
                delta[np.searchsorted(grid, e["ts"] + e["dur"])] -= 1
        return np.cumsum(delta)[:-1] > 0


def is_comm(e):
    return e["cat"] == "kernel" and "nccl" in e["name"].casefold()


def is_compute(e):
    return e["cat"] == "kernel" and not is_comm(e)


def busy_fraction(trace):
    t = Trace(trace)
    g = t.grid()
    if g.size == 0:
        return 0.0
    return float(np.diff(g)[t.cover(g, lambda e: True)].sum() / (g[-1] - g[0]))


def top(trace, cat, n):
    t = Trace(trace)
    if n < 1:
        raise ValueError("n must be at least 1")
    acc = {}
    for roots in t.forest(cat).values():
        for r in roots:
            for node in r.walk():
                a, b = acc.get(node.name, (0.0, 0))
                acc[node.name] = (a + node.own(), b + 1)
    return sorted(((k, float(a), b) for k, (a, b) in acc.items()), key=lambda x: x[1])[::-1][:n]


def exposed_comm(trace):
    t = Trace(trace)
    g = t.grid()
    if len(g) == 0:
        return 0.0
    return float(np.diff(g)[t.cover(g, is_comm) & ~t.cover(g, is_compute)].sum())


def step_breakdown(trace):
    t = Trace(trace)
    marks = []
    for e in t.by_cat.get("user_annotation", []):
        head, _, tail = e["name"].partition("#")
        if head == "ProfilerStep" and tail.isdecimal():
            marks.append((int(tail), e["ts"], e["ts"] + e["dur"], e["dur"]))
    out = []
    for num, lo, hi, dur in sorted(marks):
        g = t.grid(lo, hi)
        d = np.diff(g)
        inside = (g[:-1] >= lo) & (g[1:] <= hi)
        comp = t.cover(g, is_compute)
        comm = t.cover(g, is_comm)
        any_ = t.cover(g, lambda e: True)

        def f(m):
            return float(d[m & inside].sum())

        out.append(
            {
                "step": num,
                "time": float(dur),
                "compute": f(comp),
                "exposed_comm": f(comm & ~comp),
                "exposed_copy": f(any_ & ~comm & ~comp),
                "idle": f(~any_),
            }
        )
    return out


def idle_gaps(trace, min_us=0.0):
    t = Trace(trace)
    if min_us < 0:
        raise ValueError("min_us must not be negative")
    gaps = []
    end = None
    launch = {}
    for c in ("cuda_runtime", "cuda_driver"):
        for e in t.by_cat.get(c, []):
            args = e.get("args") or {}
            if "correlation" in args:
                launch[args["correlation"]] = (e["pid"], e["tid"])
    forest = t.forest("cpu_op")
    for e in sorted(t.gpu, key=lambda e: e["ts"]):
        if end is not None and e["ts"] - end > min_us:
            who = launch.get((e.get("args") or {}).get("correlation", object()))
            nodes = [n for r in forest.get(who, []) for n in r.walk()]
            scored = [(n.own(end, e["ts"]), i, n.name) for i, n in enumerate(nodes)]
            best = max(scored, default=(0, 0, None))
            gaps.append({"cause": best[2] if best[0] > 1e-9 else None, "start": end, "end": e["ts"]})
        stop = e["ts"] + e["dur"]
        end = stop if end is None else max(end, stop)
    return gaps
