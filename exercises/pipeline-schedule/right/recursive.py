from functools import lru_cache


def _sizes(stages, microbatches):
    for name, value in (("stages", stages), ("microbatches", microbatches)):
        if value < 1:
            raise ValueError(f"{name} must be positive, got {value}")


def gpipe(stages, microbatches):
    _sizes(stages, microbatches)
    row = [("F", j) for j in range(microbatches)] + [("B", j) for j in range(microbatches)]
    return [list(row) for _ in range(stages)]


def one_f_one_b(stages, microbatches):
    _sizes(stages, microbatches)
    rows = []
    for s in range(stages):
        f = b = 0
        row = []
        ahead = stages - s
        while b < microbatches:
            if f < microbatches and f - b < ahead:
                row.append(("F", f))
                f += 1
            else:
                row.append(("B", b))
                b += 1
        rows.append(row)
    return rows


def peak_in_flight(schedule):
    if sum(len(row) for row in schedule) == 0:
        raise ValueError("empty schedule")
    result = []
    for row in schedule:
        flying, most = set(), 0
        for kind, j in row:
            (flying.add if kind == "F" else flying.discard)(j)
            most = max(most, len(flying))
        result.append(most)
    return result


def bubble_fraction(schedule, forward_time=1.0, backward_time=2.0):
    """End times by recursion with memory; a cycle shows as an operation that waits for itself."""
    if not (forward_time > 0 and backward_time > 0):
        raise ValueError("times must be positive")
    if sum(map(len, schedule)) == 0:
        raise ValueError("empty schedule")
    where = {(s, *op): i for s, row in enumerate(schedule) for i, op in enumerate(row)}
    open_now = set()

    @lru_cache(maxsize=None)
    def end(s, kind, j):
        key = (s, kind, j)
        if key not in where or key in open_now:
            raise ValueError("this schedule can never finish")
        open_now.add(key)
        before = [0.0]
        if where[key]:
            before.append(end(s, *schedule[s][where[key] - 1]))
        if kind == "F" and s > 0:
            before.append(end(s - 1, "F", j))
        if kind == "B":
            before.append(end(s, "F", j))
            if s + 1 < len(schedule):
                before.append(end(s + 1, "B", j))
        open_now.discard(key)
        return max(before) + (forward_time if kind == "F" else backward_time)

    makespan = max(end(*key) for key in where)
    work = sum(forward_time if kind == "F" else backward_time for _, kind, _ in where)
    total = makespan * len(schedule)
    return (total - work) / total
