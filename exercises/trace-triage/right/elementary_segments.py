GPU = {"kernel", "gpu_memcpy", "gpu_memset"}


def clean(trace):
    if isinstance(trace, dict):
        trace = trace["traceEvents"]
    xs = [e for e in trace if e.get("ph") == "X"]
    if any(e["dur"] < 0 for e in xs):
        raise ValueError("an event has a negative dur")
    return [e for e in xs if e["dur"]]


def klass(e):
    c = e["cat"]
    if c == "kernel":
        return 1 if "NCCL" in e["name"].upper() else 0
    return 2 if c in GPU else None


def cuts(events, *more):
    pts = sorted({p for e in events for p in (e["ts"], e["ts"] + e["dur"])} | set(more))
    return list(zip(pts, pts[1:]))


def state(gpu, a, b):
    """Smallest class active on [a, b], 3 if idle."""
    return min([klass(e) for e in gpu if e["ts"] <= a and e["ts"] + e["dur"] >= b], default=3)


def gpu_of(ev):
    return [e for e in ev if e["cat"] in GPU]


def busy_fraction(trace):
    gpu = gpu_of(clean(trace))
    if not gpu:
        return 0.0
    segs = cuts(gpu)
    busy = sum(b - a for a, b in segs if state(gpu, a, b) < 3)
    return busy / (segs[-1][1] - segs[0][0])


def innermost(events, a, b):
    act = [e for e in events if e["ts"] <= a and e["ts"] + e["dur"] >= b]
    return min(act, key=lambda e: e["dur"]) if act else None


def threads(events):
    out = {}
    for e in events:
        out.setdefault((e["pid"], e["tid"]), []).append(e)
    return out


def top(trace, cat, n):
    if n < 1:
        raise ValueError
    ev = [e for e in clean(trace) if e["cat"] == cat]
    table = {}
    for e in ev:
        row = table.setdefault(e["name"], [0.0, 0])
        row[1] += 1
    for group in threads(ev).values():
        for a, b in cuts(group):
            e = innermost(group, a, b)
            if e is not None:
                table[e["name"]][0] += b - a
    rows = [(k, t, c) for k, (t, c) in table.items()]
    rows.sort(key=lambda r: r[1], reverse=True)
    return rows[:n]


def exposed_comm(trace):
    gpu = [e for e in gpu_of(clean(trace)) if e["cat"] == "kernel"]
    return float(sum(b - a for a, b in cuts(gpu) if state(gpu, a, b) == 1))


def step_breakdown(trace):
    ev = clean(trace)
    gpu = gpu_of(ev)
    rows = {}
    for e in ev:
        if (
            e["cat"] == "user_annotation"
            and e["name"].startswith("ProfilerStep#")
            and e["name"][13:].isdigit()
        ):
            lo, hi = e["ts"], e["ts"] + e["dur"]
            parts = [0.0] * 4
            for a, b in cuts(gpu, lo, hi):
                if a >= lo and b <= hi:
                    parts[state(gpu, a, b)] += b - a
            keys = ("compute", "exposed_comm", "exposed_copy", "idle")
            rows[int(e["name"][13:])] = dict(zip(keys, parts), time=float(e["dur"]), step=int(e["name"][13:]))
    return [rows[k] for k in sorted(rows)]


def idle_gaps(trace, min_us=0.0):
    ev = clean(trace)
    if min_us < 0:
        raise ValueError
    gpu = gpu_of(ev)
    out = []
    for a, b in cuts(gpu):
        if state(gpu, a, b) == 3 and b - a > min_us:
            out.append(dict(start=a, end=b, cause=blame(ev, gpu, a, b)))
    return out


def blame(ev, gpu, a, b):
    nxt = next(e for e in gpu if e["ts"] == b)
    args = nxt.get("args", {})
    if "correlation" not in args:
        return None
    for e in ev:
        if (
            e["cat"] in ("cuda_runtime", "cuda_driver")
            and e.get("args", {}).get("correlation") == args["correlation"]
        ):
            ops = [o for o in ev if o["cat"] == "cpu_op" and o["pid"] == e["pid"] and o["tid"] == e["tid"]]
            score = {}
            for x, y in cuts(ops, a, b):
                if x >= a and y <= b:
                    o = innermost(ops, x, y)
                    if o is not None:
                        score[id(o)] = score.get(id(o), 0) + y - x
            if not score:
                return None
            win = max(score, key=score.get)
            return next(o["name"] for o in ops if id(o) == win)
    return None
