# fails: 6
# message: simulate the operations
def gpipe(stages, microbatches):
    if stages < 1 or microbatches < 1:
        raise ValueError("at least one")
    row = [("F", j) for j in range(microbatches)] + [("B", j) for j in range(microbatches)]
    return [list(row) for _ in range(stages)]


def one_f_one_b(stages, microbatches):
    if stages < 1 or microbatches < 1:
        raise ValueError("at least one")
    schedule = []
    for s in range(stages):
        warm = min(microbatches, stages - 1 - s)
        ops = [("F", j) for j in range(warm)]
        f = warm
        b = 0
        while f < microbatches:
            ops.append(("F", f))
            f += 1
            ops.append(("B", b))
            b += 1
        while b < microbatches:
            ops.append(("B", b))
            b += 1
        schedule.append(ops)
    return schedule


def peak_in_flight(schedule):
    if not any(len(ops) for ops in schedule):
        raise ValueError("empty")
    peaks = []
    for ops in schedule:
        now = peak = 0
        for kind, _ in ops:
            now += 1 if kind == "F" else -1
            peak = max(peak, now)
        peaks.append(peak)
    return peaks


def bubble_fraction(schedule, forward_time=1.0, backward_time=2.0):
    if forward_time <= 0 or backward_time <= 0:
        raise ValueError("times")
    if not any(len(ops) for ops in schedule):
        raise ValueError("empty")
    p = len(schedule)
    cost = {"F": forward_time, "B": backward_time}
    done = {}
    at = [0] * p
    clock = [0.0] * p
    busy = [0.0] * p
    moved = True
    while moved:
        moved = False
        for s in range(p):
            while at[s] < len(schedule[s]):
                kind, j = schedule[s][at[s]]
                needs = []
                if kind == "F":
                    if s > 0:
                        needs.append(("F", j, s - 1))
                else:
                    needs.append(("F", j, s))
                    if s < p - 1:
                        needs.append(("B", j, s + 1))
                if any(n not in done for n in needs):
                    break
                start = max([clock[s]] + [done[n] for n in needs])
                clock[s] = start + cost[kind]
                busy[s] += cost[kind]
                done[kind, j, s] = clock[s]
                at[s] += 1
                moved = True
    if any(at[s] < len(schedule[s]) for s in range(p)):
        raise ValueError("deadlock")
    return 1 - sum(busy) / (p * max(clock[0], clock[-1]))
