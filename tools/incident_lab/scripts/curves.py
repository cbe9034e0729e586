"""The readings of a script's log that every baseline can share."""

import math

from tools.incident_lab.reading_texts import number, series
from tools.incident_lab.scripts.pair import ScriptPair, end, ratio
from tools.incident_lab.scripts.program import ScriptRecord

NEAR, SHARE = 0.05, 0.25


def loss_curve(pair: ScriptPair) -> tuple[str, str]:
    """Compare the mean of the last 16 losses with the first loss."""
    return trend(pair.run), losses(pair.run)


def learning_rate(pair: ScriptPair) -> tuple[str, str]:
    """Compare the mean learning rate with that of the reference."""
    mine, sound = pair.run.column("rate"), pair.healthy.column("rate")
    means = sum(mine) / len(mine), sum(sound) / len(sound)
    lines = [f"step: rate  {series(mine)}", f"reference   {series(sound)}"]
    return ratio(*means, 1.25), "\n".join(
        [*lines, f"mean over the run {number(means[0])}, reference {number(means[1])}"]
    )


def gradient_norms(pair: ScriptPair) -> tuple[str, str]:
    """Compare the gradient norm before clipping, mean of steps 0 to 4, with the reference."""
    mine, sound = pair.run.column("norm"), pair.healthy.column("norm")
    text = f"step: norm  {series(mine)}\nreference   {series(sound)}"
    text += f"\nlargest {number(max(mine))} at step {mine.index(max(mine))}, median {number(_median(mine))}"
    if not all(map(math.isfinite, mine)):
        return "non-finite", text
    return ratio(sum(mine[:5]), sum(sound[:5]), 2), text


def control_run(pair: ScriptPair) -> tuple[str, str]:
    """Compare the end of the run with that of the same configuration on another seed."""
    mine, other = end(pair.run.column("loss")), end(pair.other.column("loss"))
    text = f"another seed\n{losses(pair.other)}\nthis run ended at {number(mine)}"
    if failed(pair.run) and failed(pair.other):
        return "flat", text
    if not math.isfinite(other):
        return "non-finite", text
    if not math.isfinite(mine):
        return "down", text
    near = abs(other - mine) <= max(NEAR, SHARE * mine)
    return "flat" if near else "up" if other > mine else "down", text


def lr_div_10(pair: ScriptPair) -> tuple[str, str]:
    """Train with a tenth of the learning rate."""
    rate = max(pair.slow.column("rate"))
    return trend(pair.slow), f"largest learning rate {number(rate)}\n{losses(pair.slow)}"


def one_batch(pair: ScriptPair) -> tuple[str, str]:
    """Train on one fixed batch."""
    values = pair.fixed.column("loss")
    if not all(map(math.isfinite, values)):
        return "non-finite", losses(pair.fixed)
    last = end(values)
    outcome = "down" if last < NEAR else "up" if last > 1.25 * values[0] else "flat"
    return outcome, losses(pair.fixed)


def trend(record: ScriptRecord) -> str:
    """Compare the mean of the last 16 losses with the first: up above 1.25 times, down below 0.75."""
    values = record.column("loss")
    if record.error or not all(map(math.isfinite, values)):
        return "non-finite"
    return ratio(end(values), values[0], 1.25)


def failed(record: ScriptRecord) -> bool:
    """Whether a loss is not finite, or the loss ended above 95 % of its first value."""
    values = record.column("loss")
    return not all(map(math.isfinite, values)) or end(values) > 0.95 * values[0]


def losses(record: ScriptRecord) -> str:
    """Format the losses at chosen steps, and what the script claims about held-out data."""
    values = record.column("loss")
    text = f"step: loss  {series(values)}\nmean of the last 16 steps {number(end(values))}"
    peak = max(values)
    if math.isfinite(peak) and peak > 1.25 * values[0]:
        text += f"; largest {number(peak)} at step {values.index(peak)}"
    if claims := record.column("valid_loss"):
        text += f"; validation loss as the script reports it {number(claims[-1])}"
    return f"{text}\nthe script stopped: {record.error}" if record.error else text


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
