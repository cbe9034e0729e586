"""Trace triage: where does the step time go?"""


def busy_fraction(trace: list[dict] | dict) -> float:
    """Fraction of the window in which at least one GPU event runs."""
    raise NotImplementedError


def top(
    trace: list[dict] | dict,
    cat: str,
    n: int,
) -> list[tuple[str, float, int]]:
    """The n names with most self time: (name, self time, calls)."""
    raise NotImplementedError


def exposed_comm(trace: list[dict] | dict) -> float:
    """Time in which communication runs and no compute kernel does."""
    raise NotImplementedError


def step_breakdown(trace: list[dict] | dict) -> list[dict]:
    """For each step: step, time, compute, exposed_comm, exposed_copy, idle."""
    raise NotImplementedError


def idle_gaps(trace: list[dict] | dict, min_us: float = 0.0) -> list[dict]:
    """Gaps without GPU events, by start: start, end, cause."""
    raise NotImplementedError
