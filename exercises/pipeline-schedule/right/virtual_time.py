def gpipe(stages, microbatches):
    if min(stages, microbatches) < 1:
        raise ValueError
    one = tuple([("F", j) for j in range(microbatches)] + [("B", j) for j in range(microbatches)])
    return [list(one) for _ in range(stages)]


def one_f_one_b(stages, microbatches):
    if min(stages, microbatches) < 1:
        raise ValueError
    out = []
    for s in range(stages):
        # sort by a virtual time: F j at 2j + s, B j at 2(p-1) - s + 2j + 1, ties impossible; last-stage order follows
        d = stages - 1 - s
        keyed = [(2 * j, ("F", j)) for j in range(microbatches)] + [
            (2 * (j + d) + 1, ("B", j)) for j in range(microbatches)
        ]
        out.append([op for _, op in sorted(keyed)])
    return out


def peak_in_flight(schedule):
    if not any(len(s) for s in schedule):
        raise ValueError
    out = []
    for ops in schedule:
        live, best = set(), 0
        for k, j in ops:
            (live.add if k == "F" else live.discard)(j)
            best = max(best, len(live))
        out.append(best)
    return out


def bubble_fraction(schedule, forward_time=1.0, backward_time=2.0):
    if not any(len(s) for s in schedule) or forward_time <= 0 or backward_time <= 0:
        raise ValueError
    from fractions import Fraction

    f, b = Fraction(forward_time), Fraction(backward_time)
    p = len(schedule)
    ends = {(s, op): Fraction(0) for s, ops in enumerate(schedule) for op in ops}
    n = len(ends)
    for _ in range(n + 1):
        changed = False
        for s, ops in enumerate(schedule):
            t = Fraction(0)
            for op in ops:
                k, j = op
                deps = []
                if k == "F" and s:
                    deps.append((s - 1, ("F", j)))
                if k == "B":
                    deps.append((s, ("F", j)))
                    if s < p - 1:
                        deps.append((s + 1, ("B", j)))
                if any(d not in ends for d in deps):
                    raise ValueError("missing")
                t = max([t] + [ends[d] for d in deps]) + (f if k == "F" else b)
                if ends[s, op] != t:
                    ends[s, op] = t
                    changed = True
        if not changed:
            break
    else:
        raise ValueError("cycle")
    work = sum((f if op[0] == "F" else b) for ops in schedule for op in ops)
    return float(1 - work / (p * max(ends.values())))
