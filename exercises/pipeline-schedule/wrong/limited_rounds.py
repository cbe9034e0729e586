# fails: 5
def _check(p, m):
    if p < 1:
        raise ValueError("stages")
    if m < 1:
        raise ValueError("microbatches")


def gpipe(stages, microbatches):
    _check(stages, microbatches)
    out = []
    for s in range(stages):
        ops = []
        for j in range(microbatches):
            ops.append(("F", j))
        for j in range(microbatches):
            ops.append(("B", j))
        out.append(ops)
    return out


def one_f_one_b(stages, microbatches):
    _check(stages, microbatches)
    out = []
    for s in range(stages):
        warm = min(microbatches, stages - 1 - s)
        ops = [("F", j) for j in range(warm)]
        f, b = warm, 0
        while f < microbatches:
            ops.append(("F", f))
            ops.append(("B", b))
            f += 1
            b += 1
        while b < microbatches:
            ops.append(("B", b))
            b += 1
        out.append(ops)
    return out


def peak_in_flight(schedule):
    if sum(len(ops) for ops in schedule) == 0:
        raise ValueError("empty schedule")
    peaks = []
    for ops in schedule:
        cur = peak = 0
        for kind, j in ops:
            if kind == "F":
                cur += 1
            else:
                cur -= 1
            peak = max(peak, cur)
        peaks.append(peak)
    return peaks


def bubble_fraction(schedule, forward_time=1.0, backward_time=2.0):
    if sum(len(ops) for ops in schedule) == 0:
        raise ValueError("empty schedule")
    if forward_time <= 0 or backward_time <= 0:
        raise ValueError("times")
    p = len(schedule)
    done = {}
    clock = [0.0] * p
    pos = [0] * p
    busy = 0.0
    left = sum(len(ops) for ops in schedule)
    rounds = 0
    while left:
        rounds += 1
        if rounds > 20:
            raise ValueError("no progress")
        moved = False
        for s in range(p):
            while pos[s] < len(schedule[s]):
                kind, j = schedule[s][pos[s]]
                needs = []
                if kind == "F":
                    if s > 0:
                        needs.append(("F", s - 1, j))
                else:
                    needs.append(("F", s, j))
                    if s < p - 1:
                        needs.append(("B", s + 1, j))
                if any(n not in done for n in needs):
                    break
                start = max([clock[s]] + [done[n] for n in needs])
                dur = forward_time if kind == "F" else backward_time
                clock[s] = start + dur
                done[(kind, s, j)] = clock[s]
                busy += dur
                pos[s] += 1
                left -= 1
                moved = True
        if not moved:
            raise ValueError("deadlock")
    total = p * max(clock)
    return (total - busy) / total
