from typing import NamedTuple


class Op(NamedTuple):
    kind: str
    index: int


def _checked(stages, microbatches):
    if stages <= 0:
        raise ValueError("stages")
    if microbatches <= 0:
        raise ValueError("microbatches")
    return range(stages), range(microbatches)


def gpipe(stages, microbatches):
    rows, batches = _checked(stages, microbatches)
    return [[Op("F", j) for j in batches] + [Op("B", j) for j in batches] for _ in rows]


def one_f_one_b(stages, microbatches):
    rows, _ = _checked(stages, microbatches)
    schedule = []
    for s in rows:
        forwards = [Op("F", j) for j in range(microbatches)]
        backwards = [Op("B", j) for j in range(microbatches)]
        warm = min(microbatches, stages - 1 - s)
        ops, forwards = forwards[:warm], forwards[warm:]
        while forwards:
            ops += [forwards.pop(0), backwards.pop(0)]
        schedule.append(ops + backwards)
    return schedule


def peak_in_flight(schedule):
    if not [op for ops in schedule for op in ops]:
        raise ValueError("no operations")
    peaks = []
    for ops in schedule:
        level, levels = 0, [0]
        for kind, _ in ops:
            level = level + 1 if kind == "F" else level - 1
            levels.append(level)
        peaks.append(max(levels))
    return peaks


def bubble_fraction(schedule, forward_time=1.0, backward_time=2.0):
    """Generators as stages: each hands over control while it waits."""
    if forward_time <= 0 or backward_time <= 0:
        raise ValueError("times")
    if not [op for ops in schedule for op in ops]:
        raise ValueError("no operations")
    ends = {}
    idle_rounds = 0

    def run(s):
        t = 0.0
        for kind, j in schedule[s]:
            wants = [("F", j, s - 1)] * (kind == "F" and s > 0)
            wants += [("F", j, s)] * (kind == "B")
            wants += [("B", j, s + 1)] * (kind == "B" and s < len(schedule) - 1)
            while not all(w in ends for w in wants):
                yield False
            t = max([t] + [ends[w] for w in wants]) + (forward_time if kind == "F" else backward_time)
            ends[kind, j, s] = t
            yield True

    workers = [run(s) for s in range(len(schedule))]
    while workers and idle_rounds < 2:
        moved = False
        for worker in list(workers):
            try:
                moved |= next(worker)
            except StopIteration:
                workers.remove(worker)
                moved = True
        idle_rounds = 0 if moved else idle_rounds + 1
    if workers:
        raise ValueError("stuck")
    busy = sum(forward_time if k == "F" else backward_time for k, _, _ in ends)
    return 1 - busy / len(schedule) / max(ends.values())
