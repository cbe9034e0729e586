"""Readings of when the parts of a data-parallel step run. Their numbers depend on the machine."""

from itertools import pairwise
from statistics import median, quantiles

from tools.incident_lab.scripts.pair import ScriptPair, ratio
from tools.incident_lab.scripts.ranks import RankProbe, Span, run_ranks

TIMED = frozenset({"step-times", "step-trace", "rank-times"})
"""The readings whose numbers differ from run to run; only their outcomes can be compared."""
TIMED_BY = "ROW_US"
"""A constant of the scripts whose steps are long enough for a trace to show something."""
SHARE = 0.2
SLOWER = 1.2
SHOWN = 12
SPAN_NAMES = {
    "data": "wait for the batch",
    "fetch": "fetch",
    "forward": "forward",
    "backward": "backward",
    "wait": "wait for sums",
    "sum": "sum",
}


def step_times(pair: ScriptPair) -> tuple[str, str] | None:
    """Compare the time of a step with that of the reference, by the fastest tenth of the steps.

    The two runs are made one after the other, and other work on the machine slows most steps of either.
    """
    if TIMED_BY not in pair.source:
        return None
    mine, sound = (
        quantiles(_lengths(_steps(run_ranks(source, pair.seed).probes[0])), n=10)[0]
        for source in (pair.source, pair.sound)
    )
    text = f"fastest tenth of the steps: up to {_ms(mine)} ms, reference {_ms(sound)} ms\n"
    text += f"rows a second, both ranks: {_rate(pair, mine)}, reference {_rate(pair, sound)}"
    return ratio(mine, sound, SLOWER), text


def step_trace(pair: ScriptPair) -> tuple[str, str] | None:
    """Show one step of rank 0 by thread, and say what a step waits for."""
    if TIMED_BY not in pair.source:
        return None
    steps = _steps(run_ranks(pair.source, pair.seed).probes[0])
    length = median(_lengths(steps))
    parts = {name: median(_spent(step, name) for step in steps) for name in SPAN_NAMES}
    waits = {"data": parts["data"], "comm": parts["wait"]}
    longest = max(waits, key=lambda name: waits[name])
    outcome = longest if waits[longest] > SHARE * length else "flat"
    lines = [f"rank 0, step {SHOWN}, milliseconds from its start; the median step takes {_ms(length)}"]
    lines += [f"{lane:<6} {_lane(steps[SHOWN], lane)}" for lane in ("main", "store", "link")]
    totals = " · ".join(f"{SPAN_NAMES[name]} {_ms(parts[name])}" for name in SPAN_NAMES)
    return outcome, "\n".join([*lines, f"median over the run: {totals}"])


def rank_times(pair: ScriptPair) -> tuple[str, str] | None:
    """Compare the time that both ranks spend in forward and backward."""
    if TIMED_BY not in pair.source:
        return None
    times = [
        median(_spent(step, "forward") + _spent(step, "backward") for step in _steps(probe))
        for probe in run_ranks(pair.source, pair.seed).probes
    ]
    text = f"forward and backward, median step: rank 0 {_ms(times[0])} ms, rank 1 {_ms(times[1])} ms"
    return ratio(times[1], times[0], 1.5), text


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"


def _rate(pair: ScriptPair, length: float) -> str:
    return f"{pair.healthy.namespace['BATCH'] / length:.0f}"


def _steps(probe: RankProbe) -> list[list[Span]]:
    """Split the spans by the step in which they begin."""
    spans = sorted(probe.spans, key=lambda span: span.begin)
    begins = [span.begin for span in spans if span.name == "data"]
    ends = [*begins[1:], float("inf")]
    return [
        [span for span in spans if begin <= span.begin < end] for begin, end in zip(begins, ends, strict=True)
    ]


def _lengths(steps: list[list[Span]]) -> list[float]:
    """Return the seconds from the start of each step to that of the next."""
    return [after[0].begin - before[0].begin for before, after in pairwise(steps)]


def _spent(step: list[Span], name: str) -> float:
    return sum(span.end - span.begin for span in step if span.name == name)


def _lane(step: list[Span], lane: str) -> str:
    """Format the spans of a thread. Sums that follow each other closely are shown as one."""
    parts: list[tuple[str, float, float]] = []
    for span in step:
        if span.lane != lane or span.end - span.begin < 0.0005:
            continue
        begin, end = span.begin - step[0].begin, span.end - step[0].begin
        if parts and parts[-1][0] == span.name and begin - parts[-1][2] < 0.002:
            parts[-1] = (span.name, parts[-1][1], end)
        else:
            parts.append((span.name, begin, end))
    texts = (f"{SPAN_NAMES[name]} {_ms(begin)} to {_ms(end)}" for name, begin, end in parts)
    return " · ".join(texts) or "idle"
