import numpy as np

Schedule = list[list[tuple[str, int]]]


def check(stages: int, microbatches: int) -> None:
    if stages < 1 or microbatches < 1:
        raise ValueError("stages and microbatches must be at least 1")


def gpipe(stages: int, microbatches: int) -> Schedule:
    check(stages, microbatches)
    return [[(kind, j) for kind in "FB" for j in range(microbatches)] for _ in range(stages)]


def one_f_one_b(stages: int, microbatches: int) -> Schedule:
    check(stages, microbatches)
    schedule = []
    for stage in range(stages):
        warmup = min(microbatches, stages - 1 - stage)
        operations = [("F", j) for j in range(warmup)]
        for j in range(microbatches):
            if warmup + j < microbatches:
                operations.append(("F", warmup + j))
            operations.append(("B", j))
        schedule.append(operations)
    return schedule


def peak_in_flight(schedule: Schedule) -> list[int]:
    if not any(schedule):
        raise ValueError("the schedule has no operation")
    peaks = []
    for operations in schedule:
        now = peak = 0
        for kind, _ in operations:
            now += 1 if kind == "F" else -1
            peak = max(peak, now)
        peaks.append(peak)
    return peaks


def bubble_fraction(schedule: Schedule, forward_time: float = 1.0, backward_time: float = 2.0) -> float:
    if forward_time <= 0 or backward_time <= 0:
        raise ValueError("times must be positive")
    if not any(schedule):
        raise ValueError("the schedule has no operation")
    duration = {"F": forward_time, "B": backward_time}
    last = len(schedule) - 1
    done: dict[tuple[str, int, int], float] = {}
    clock = np.zeros(len(schedule))
    position = [0] * len(schedule)
    progress = True
    while progress:
        progress = False
        for stage, operations in enumerate(schedule):
            while position[stage] < len(operations):
                kind, j = operations[position[stage]]
                if kind == "F":
                    needed = [("F", j, stage - 1)] if stage else []
                else:
                    needed = [("F", j, stage)] + ([("B", j, stage + 1)] if stage < last else [])
                if any(key not in done for key in needed):
                    break
                start = max([clock[stage], *(done[key] for key in needed)])
                clock[stage] = done[kind, j, stage] = start + duration[kind]
                position[stage] += 1
                progress = True
    if any(position[stage] < len(operations) for stage, operations in enumerate(schedule)):
        raise ValueError("the schedule can never finish")
    busy = sum(duration[kind] for operations in schedule for kind, _ in operations)
    return 1 - busy / (len(schedule) * clock.max())
