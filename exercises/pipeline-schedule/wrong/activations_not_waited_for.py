# fails: 5
# message: An activation arrives
from typing import Dict, List, Tuple

Schedule = List[List[Tuple[str, int]]]


def _validate(stages: int, microbatches: int) -> None:
    if stages < 1:
        raise ValueError("stages must be >= 1")
    if microbatches < 1:
        raise ValueError("microbatches must be >= 1")


def gpipe(stages: int, microbatches: int) -> Schedule:
    _validate(stages, microbatches)
    schedule: Schedule = []
    for _ in range(stages):
        ops = [("F", j) for j in range(microbatches)]
        ops += [("B", j) for j in range(microbatches)]
        schedule.append(ops)
    return schedule


def one_f_one_b(stages: int, microbatches: int) -> Schedule:
    _validate(stages, microbatches)
    schedule: Schedule = []
    for s in range(stages):
        num_warmup = min(microbatches, stages - 1 - s)
        num_steady = microbatches - num_warmup
        ops: List[Tuple[str, int]] = []
        for j in range(num_warmup):
            ops.append(("F", j))
        for i in range(num_steady):
            ops.append(("F", num_warmup + i))
            ops.append(("B", i))
        for j in range(num_steady, microbatches):
            ops.append(("B", j))
        schedule.append(ops)
    return schedule


def _has_ops(schedule: Schedule) -> bool:
    return any(len(ops) > 0 for ops in schedule)


def peak_in_flight(schedule: Schedule) -> List[int]:
    if not _has_ops(schedule):
        raise ValueError("schedule has no operations")
    peaks = []
    for ops in schedule:
        current = 0
        peak = 0
        for kind, _ in ops:
            if kind == "F":
                current += 1
            else:
                current -= 1
            peak = max(peak, current)
        peaks.append(peak)
    return peaks


def bubble_fraction(schedule: Schedule, forward_time: float = 1.0, backward_time: float = 2.0) -> float:
    if forward_time <= 0 or backward_time <= 0:
        raise ValueError("times must be positive")
    if not _has_ops(schedule):
        raise ValueError("schedule has no operations")
    num_stages = len(schedule)
    finish: Dict[Tuple[int, str, int], float] = {}
    pointers = [0] * num_stages
    free_at = [0.0] * num_stages
    busy = 0.0
    remaining = sum(len(ops) for ops in schedule)

    while remaining > 0:
        progressed = False
        for s in range(num_stages):
            if pointers[s] >= len(schedule[s]):
                continue
            kind, j = schedule[s][pointers[s]]
            deps = []
            if kind == "F":
                pass
            else:
                deps.append((s, "F", j))
                if s < num_stages - 1:
                    deps.append((s + 1, "B", j))
            if not all(d in finish for d in deps):
                continue
            start = max([free_at[s]] + [finish[d] for d in deps])
            duration = forward_time if kind == "F" else backward_time
            finish[(s, kind, j)] = start + duration
            free_at[s] = start + duration
            busy += duration
            pointers[s] += 1
            remaining -= 1
            progressed = True
        if not progressed:
            raise ValueError("schedule deadlocks")

    makespan = max(free_at)
    return 1.0 - busy / (num_stages * makespan)
