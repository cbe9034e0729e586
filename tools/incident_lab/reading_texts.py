"""Texts of the readings: the numbers of a run in a few short lines."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tools.incident_lab.data import IGNORED, make_data
from tools.incident_lab.readings import RunPair, after_restart, batch_step, replay_gap
from tools.incident_lab.setups import Setup
from tools.incident_lab.training import TrainingRecord

STEPS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)


def number(value: float) -> str:
    """Format a number with three significant digits, or ``NaN`` and ``inf``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf"
    if value == 0:
        return "0"
    text = f"{value:#.3g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}e{int(exponent)}"
    return text.removesuffix(".")


def series(values: Sequence[float], at: Sequence[int] = STEPS) -> str:
    """Format ``step: value`` at chosen steps and at the last one."""
    steps = [step for step in at if step < len(values) - 1] + [len(values) - 1]
    return " · ".join(f"{step}: {number(values[step])}" for step in steps)


def _first(values: Sequence[float], count: int = 6) -> str:
    return ", ".join(number(v) for v in values[:count])


def _median(values: Sequence[float]) -> float:
    finite = sorted(v for v in values if math.isfinite(v))
    return finite[len(finite) // 2] if finite else math.nan


def _losses(record: TrainingRecord, at: Sequence[int] = STEPS) -> str:
    text = f"step: loss  {series(record.losses, at)}\nmean of the last 16 steps {number(record.end)}"
    finite = [v for v in record.losses if math.isfinite(v)]
    if finite and max(finite) > 1.25 * record.losses[0]:
        text += f"; largest {number(max(finite))} at step {record.losses.index(max(finite))}"
    bad = [i for i, v in enumerate(record.losses) if not math.isfinite(v)]
    if bad:
        name = number(record.losses[bad[0]])
        text += f"; first loss that is not finite: {name} at step {bad[0]}"
        text += f", {len(bad)} of {len(record.losses)} in all"
    return text


def _around(setup: Setup) -> tuple[int, ...]:
    at = setup.resume_at
    return tuple(sorted({*STEPS, at - 1, at, at + 1, at + 5, at + 10})) if at else STEPS


def _norms(case: RunPair) -> str:
    run, sound = case.run, case.healthy
    if run.weights:
        return (
            f"norm of both gradients, steps 0 to 5: {_first(run.norms)} (reference: {_first(sound.norms)})\n"
            f"update ‖Δθ‖/‖θ‖ at step 0: {number(run.ratios[0])} (reference {number(sound.ratios[0])}), "
            f"median {number(_median(run.ratios))} (reference {number(_median(sound.ratios))})"
        )
    lines = [
        f"global norm, steps 0 to 5: {_first(run.norms)}; run median {number(_median(run.norms))}",
        f"first layer's weight matrix: {_first(run.first_norms)} (reference: {_first(sound.first_norms)})",
    ]
    tensors = " · ".join(
        f"{_short(name)} {'none' if norm is None else number(norm)}" for name, norm in run.layer_norms.items()
    )
    lines.append(f"by tensor at step 0: {tensors}")
    lines.append(
        f"update ‖Δθ‖/‖θ‖ at step 0: {number(run.ratios[0])} (reference {number(sound.ratios[0])}), "
        f"median {number(_median(run.ratios))}; weights changed per step {_share(_median(run.changed))}; "
        f"gradient entries exactly 0: {_share(_median(run.zeros))}"
    )
    if run.clipped:
        share, other = (sum(r.clipped) / max(len(r.clipped), 1) for r in (run, sound))
        lines.append(f"steps clipped at {case.setup.clip or 0:g}: {_share(share)}")
        if case.setup.clip == case.sound.clip:
            lines[-1] += f" (reference {_share(other)})"
        lines.append(_peak(run))
    return "\n".join(lines)


def _peak(run: TrainingRecord) -> str:
    """Describe the largest norm in the second half of the run, and the losses around it."""
    half = len(run.norms) // 2
    at = max(range(half, len(run.norms)), key=run.norms.__getitem__)
    near = [run.losses[max(0, at - 10) : at], run.losses[at + 1 : at + 11]]
    before, after = (number(sum(part) / len(part)) if part else "none" for part in near)
    return (
        f"second half of the run, before clipping: median {number(_median(run.norms[half:]))}, "
        f"largest {number(run.norms[at])} at step {at}; loss there {number(run.losses[at])}, "
        f"mean of the ten steps before {before}, of those after {after}"
    )


def _short(name: str) -> str:
    kind, *rest = name.split(".")
    part = {"linears": "layer", "norms": "norm", "head": "output"}[kind]
    if kind != "head":
        part += f" {int(rest[0]) + 1}"
    return f"{part} {'W' if rest[-1] == 'weight' else 'b'}"


def _share(value: float) -> str:
    percent = 100 * value
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def _activations(case: RunPair) -> str:
    run, sound = case.run, case.healthy

    def row(values: list[float]) -> str:
        return ", ".join(number(v) for v in values)

    def shares(values: list[float]) -> str:
        return ", ".join(_share(v) for v in values)

    output = "prediction" if case.setup.task == "regression" else "logit"

    return (
        f"standard deviation by hidden layer, before training: {row(run.spread[0])} "
        f"(reference: {row(sound.spread[0])}); at the end: {row(run.spread[1])}\n"
        f"share of units above 0, before: {shares(run.active[0])}; at the end: {shares(run.active[1])}\n"
        f"largest {output} before training: {number(run.peak_logit)}"
    )


def _per_class(case: RunPair) -> str:
    run = case.run
    values = " ".join(f"{v:.2f}" for v in run.per_class)
    mean = sum(run.per_class) / len(run.per_class)
    return (
        f"validation, classes 0 to 9: {values}; mean {mean:.3f}\n"
        f"predictions per class: {' '.join(map(str, run.predicted))}\n"
        f"predicted label is the true one plus 1 (modulo 10): {_share(run.below)}"
    )


def _scatter(case: RunPair) -> str:
    run, sound = case.run, case.healthy
    return (
        f"validation points: standard deviation of the targets {number(run.scatter[1])}, "
        f"of the predictions {number(run.scatter[0])} (reference {number(sound.scatter[0])})\n"
        f"R² in training points {run.fit[0]:.3f}, in validation points {run.fit[1]:.3f} "
        f"(reference {sound.fit[1]:.3f})"
    )


def _scale(case: RunPair) -> str:
    scales = case.run.scales
    if len(set(scales)) == 1:
        return f"{scales[0]:.0f} at every step"
    return f"step: scale  {series(scales, (0, 1, 2, 10, 50))}"


def _gap(case: RunPair) -> str:
    run = case.run
    return (
        f"accuracy in training data {run.train_accuracy:.3f}, in validation data {run.valid_accuracy:.3f} "
        f"(validation loss {number(run.valid_loss)})\n"
        f"the same validation data scored a second time: {run.valid_again:.3f}"
    )


def _path(case: RunPair) -> str:
    train, evaluation = case.run.path
    return (
        f"the training points as training sees them: accuracy {train:.3f}\n"
        f"the same points through the evaluation code: {evaluation:.3f}"
    )


def _one_batch(case: RunPair) -> str:
    record = case.fixed
    text = f"step: loss  {series(record.losses, (0, 10, 50, 100))}"
    if record.first_bad is not None:
        return f"{text}\nfirst loss that is not finite at step {record.first_bad}"
    return f"{text}\nmean of the last 16 of 200 steps {number(record.end)}"


def _rerun(record: TrainingRecord) -> str:
    if record.scatter[1]:
        return f"{_losses(record)}; R² in validation points {record.fit[1]:.3f}"
    return f"{_losses(record)}; validation accuracy {record.valid_accuracy:.3f}"


def _float32(case: RunPair) -> str:
    same = "the run already is in float32: it repeats exactly\n" if case.float32 is case.run else ""
    return same + _rerun(case.float32)


def _control(case: RunPair) -> str:
    peak = f"{_peak(case.other)}\n" if case.run.clipped else ""
    return f"another seed\n{_rerun(case.other)}\n{peak}this run ended at {number(case.run.end)}"


def _rates(case: RunPair) -> str:
    run = case.run
    if len({*run.rates, *case.healthy.rates}) == 1:
        return f"{case.setup.lr:g} at every step, as in the reference"
    at: tuple[int, ...] = (0, 1, 5, 10, 16, 20, 32, 50, 100)
    if case.setup.resume_at:
        at = tuple(sorted({*at, case.setup.resume_at - 1, case.setup.resume_at}))
    return (
        f"step: rate  {series(run.rates, at)}\nreference   {series(case.healthy.rates, at)}\n"
        f"mean over the run {number(sum(run.rates) / len(run.rates))}, "
        f"reference {number(sum(case.healthy.rates) / len(case.healthy.rates))}"
    )


def _weights(case: RunPair) -> str:
    run, sound = case.run.weight_norm, case.healthy.weight_norm
    probe = ""
    for which, name in enumerate(("first", "second")) if case.run.weights else ():
        traces = [[pair[which] for pair in record.weights] for record in (case.run, case.healthy)]
        probe += f"{name} weight by step  {series(traces[0])}\n   in the reference  {series(traces[1])}\n"
    return (
        f"{probe}"
        f"‖θ‖ before training {number(run[0])}, at the end {number(run[1])} "
        f"(reference {number(sound[0])} and {number(sound[1])})"
    )


def _batch(case: RunPair) -> str:
    step = batch_step(case)
    chosen = list(case.run.batches[step])
    data = make_data(case.setup)
    x, y = data.x[chosen], data.y[chosen]
    finite = x[torch.isfinite(x).all(1)]
    bad = len(x) - len(finite)
    largest = finite.abs().max(0).values
    repeated = len(x) - len({tuple(row) for row in x.nan_to_num(0).tolist()})
    each = case.setup.train // case.setup.batch
    starts = [batch[0] for batch in case.run.batches[::each]]
    epochs = f"\nfirst sample of an epoch: {len(set(starts))} different ones in {len(starts)} epochs"
    return (
        f"batch of step {step}: {len(x)} rows, {bad} with a value that is not finite; "
        f"rows that repeat another {repeated}\n"
        f"largest |x| by feature: {number(float(largest.min()))} to {number(float(largest.max()))}\n"
        f"{_targets(y)}{epochs * (len(starts) > 1)}"
    )


def _targets(y: Tensor) -> str:
    if y.is_floating_point():
        mean, variance = float(y.mean()), float(y.var(correction=0))
        return f"targets of shape {tuple(y.shape)}: mean {number(mean)}, variance {number(variance)}"
    counted = y[y != IGNORED]
    histogram = " ".join(str(int((counted == c).sum())) for c in range(10))
    return f"labels that count {len(counted)}, by class: {histogram}"


def _loaded(case: RunPair) -> str:
    before, after = case.run.around_load or (0.0, 0.0)
    return f"validation accuracy just before saving {before:.3f}, just after loading {after:.3f}"


def _resumed(case: RunPair) -> str:
    at = case.setup.resume_at
    run, sound = case.run, case.healthy
    mine, whole = after_restart(case)
    gap = max(abs(a - b) for a, b in zip(run.losses, sound.losses, strict=True))
    rows = " · ".join(f"step {s}: {', '.join(map(str, run.batches[s][:4]))}" for s in (0, at - 1, at, at + 1))
    return (
        f"mean loss of the 16 steps from step {at}: {number(mine)}; in an uninterrupted run {number(whole)}\n"
        f"steps {at} to {at + 5}: {_first(run.losses[at:])}; uninterrupted: {_first(sound.losses[at:])}\n"
        f"largest difference before step {at}: "
        f"{number(max(abs(a - b) for a, b in zip(run.losses[:at], sound.losses[:at], strict=True)))}, "
        f"over the whole run {number(gap)}\n"
        f"first sample indices of the batches: {rows}"
    )


def _replay(case: RunPair) -> str:
    return f"the same command once more: largest difference between the two logs {number(replay_gap(case))}"


SHOWS: dict[str, Callable[[RunPair], str]] = {
    "loss-curve": lambda case: _losses(case.run, _around(case.setup)),
    "loss-scale": _scale,
    "learning-rate": _rates,
    "gradient-norms": _norms,
    "per-class-accuracy": _per_class,
    "prediction-spread": _scatter,
    "weight-norm": _weights,
    "train-eval-gap": _gap,
    "eval-path": _path,
    "batch-check": _batch,
    "after-load": _loaded,
    "resume-check": _resumed,
    "activations": _activations,
    "lr-div-10": lambda case: f"learning rate {case.setup.lr / 10:g}\n{_rerun(case.slow)}",
    "control-run": _control,
    "one-batch": _one_batch,
    "fp32-rerun": _float32,
    "replay": _replay,
}
