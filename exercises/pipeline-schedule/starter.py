"""Pipeline schedules: GPipe, 1F1B and the bubble."""

# schedule[stage] = that stage's operations in order
Schedule = list[list[tuple[str, int]]]


def gpipe(stages: int, microbatches: int) -> Schedule:
    """All forwards, then all backwards, on every stage."""
    raise NotImplementedError


def one_f_one_b(stages: int, microbatches: int) -> Schedule:
    """Warm-up forwards, then one forward and one backward in turns, then the
    remaining backwards.
    """
    raise NotImplementedError


def peak_in_flight(schedule: Schedule) -> list[int]:
    """Per stage, the largest number of micro-batches between their forward and
    their backward.
    """
    raise NotImplementedError


def bubble_fraction(
    schedule: Schedule,
    forward_time: float = 1.0,
    backward_time: float = 2.0,
) -> float:
    """The idle share of all stages until the last operation ends."""
    raise NotImplementedError
