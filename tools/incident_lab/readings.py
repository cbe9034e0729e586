"""Outcomes of the readings: each compares one quantity of a run with its start or with a healthy run."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from tools.incident_lab.data import make_data
from tools.incident_lab.setups import Setup
from tools.incident_lab.training import TrainingRecord, one_batch, train

UP, FLAT, DOWN, BAD = "up", "flat", "down", "non-finite"
OTHER_SEED = 10
CHANCE = 0.10


@dataclass(frozen=True)
class RunPair:
    """A run and the healthy run to compare it with.

    Training is the expensive part, so each run is trained only when a reading first needs it.
    """

    setup: Setup
    sound: Setup  # the same run without its fault

    @cached_property
    def run(self) -> TrainingRecord:
        """The recorded run."""
        return train(self.setup)

    @cached_property
    def healthy(self) -> TrainingRecord:
        """The run without the fault, with the same seed."""
        return self.run if self.sound == self.setup else train(self.sound)

    @cached_property
    def fixed(self) -> TrainingRecord:
        """A run of 200 steps on the first batch."""
        return one_batch(self.setup)

    @cached_property
    def slow(self) -> TrainingRecord:
        """The run at a tenth of its learning rate."""
        return train(self.setup.but(lr=self.setup.lr / 10))

    @cached_property
    def float32(self) -> TrainingRecord:
        """The run in float32 without a loss scale."""
        if self.setup.precision == "float32":
            return self.run
        return train(self.setup.but(precision="float32", scaler="none", clip_first=False))

    @cached_property
    def other(self) -> TrainingRecord:
        """The run with another seed."""
        return train(self.setup.but(seed=self.setup.seed + OTHER_SEED))

    @cached_property
    def again(self) -> TrainingRecord:
        """The same run once more."""
        return train(self.setup)


def trend(record: TrainingRecord) -> str:
    """Compare the mean of the last 16 losses with the first loss: up above 1.25 times, down below 0.75."""
    if record.first_bad is not None:
        return BAD
    return ratio(record.end, record.losses[0], 1.25)


def ratio(value: float, reference: float, factor: float) -> str:
    """Return up above ``factor`` times the reference, down below its inverse (0.75 for 1.25), else flat."""
    if not math.isfinite(value):
        return BAD
    low = 0.75 if factor == 1.25 else 1 / factor
    return UP if value > factor * reference else DOWN if value < low * reference else FLAT


def _gap(value: float, reference: float) -> str:
    return UP if value > reference + 0.05 else DOWN if value < reference - 0.05 else FLAT


def _norms(case: RunPair) -> str:
    if not all(map(math.isfinite, case.run.norms)):
        return BAD
    five = sum(case.run.first_norms[:5])
    return ratio(five, sum(case.healthy.first_norms[:5]), 2)


def _activations(case: RunPair) -> str:
    return ratio(case.run.spread[0][-1], case.healthy.spread[0][-1], 2)


def _per_class(case: RunPair) -> str:
    mean = sum(case.run.per_class) / len(case.run.per_class)
    return UP if mean > 2 * CHANCE else DOWN if mean < CHANCE / 2 else FLAT


def _scatter(case: RunPair) -> str:
    predictions, targets = case.run.scatter
    return ratio(predictions, targets, 2)


def _one_batch(case: RunPair) -> str:
    record = case.fixed
    if record.first_bad is not None:
        return BAD
    return DOWN if record.end < 0.05 else UP if record.end > 1.25 * record.losses[0] else FLAT


def _control(case: RunPair) -> str:
    if failed(case.run) and failed(case.other):
        return FLAT
    if case.other.first_bad is not None:
        return BAD
    if case.run.first_bad is not None:
        return DOWN
    mine, other = case.run.end, case.other.end
    return FLAT if abs(other - mine) <= max(0.05, 0.25 * mine) else UP if other > mine else DOWN


def failed(record: TrainingRecord) -> bool:
    """Whether a loss of the run is not finite, or the loss ended above 95 % of its first value."""
    return record.first_bad is not None or record.end > 0.95 * record.losses[0]


def _batch(case: RunPair) -> str:
    mine, sound = (float(inputs(case, s).abs().max()) for s in (case.setup, case.sound))
    return ratio(mine, sound, 2)


def inputs(case: RunPair, setup: Setup) -> Tensor:
    """Return the inputs (B, 32) of the batch that `batch_step` picks, as ``setup`` delivers them."""
    return make_data(setup).x[list(case.run.batches[batch_step(case)])]


def batch_step(case: RunPair) -> int:
    """Return the step whose batch is inspected: the first with a loss that is not finite, else step 10."""
    bad = case.run.first_bad
    return 10 if bad is None else bad


def _rate(case: RunPair) -> str:
    return ratio(_mean(case.run.rates), _mean(case.healthy.rates), 1.25)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _weights(case: RunPair) -> str:
    return ratio(case.run.weight_norm[1], case.healthy.weight_norm[1], 2)


def after_restart(case: RunPair) -> tuple[float, float]:
    """Return the mean loss of the 16 steps after the restart, in the run and in the healthy run."""
    at = case.setup.resume_at
    return _mean(case.run.losses[at : at + 16]), _mean(case.healthy.losses[at : at + 16])


def _resumed(case: RunPair) -> str:
    mine, sound = after_restart(case)
    return ratio(mine, sound, 2)


def _loaded(case: RunPair) -> str:
    before, after = case.run.around_load or (0.0, 0.0)
    return _gap(after, before)


def replay_gap(case: RunPair) -> float:
    """Return the largest difference between two runs of the same setup, in losses or probed weights."""
    if case.setup.task == "noise":
        return max(abs(a - b) for a, b in zip(_flat(case.run), _flat(case.again), strict=True))
    pairs = zip(case.run.losses, case.again.losses, strict=True)
    return max(abs(a - b) for a, b in pairs)


def _flat(record: TrainingRecord) -> list[float]:
    return [value for pair in record.weights for value in pair]


OUTCOMES: dict[str, Callable[[RunPair], str]] = {
    "loss-curve": lambda case: trend(case.run),
    "loss-scale": lambda case: ratio(case.run.scales[-1], case.run.scales[0], 1.25),
    "learning-rate": _rate,
    "gradient-norms": _norms,
    "per-class-accuracy": _per_class,
    "prediction-spread": _scatter,
    "weight-norm": _weights,
    "train-eval-gap": lambda case: _gap(case.run.valid_accuracy, case.run.train_accuracy),
    "eval-path": lambda case: _gap(case.run.path[1], case.run.path[0]),
    "batch-check": _batch,
    "after-load": _loaded,
    "resume-check": _resumed,
    "activations": _activations,
    "lr-div-10": lambda case: trend(case.slow),
    "control-run": _control,
    "one-batch": _one_batch,
    "fp32-rerun": lambda case: trend(case.float32),
    "replay": lambda case: UP if replay_gap(case) > 0 else FLAT,
}


def applicable(setup: Setup) -> list[str]:
    """Return the readings that make sense for ``setup``, in the order of offer."""
    if setup.task == "noise":
        return ["learning-rate", "gradient-norms", "weight-norm", "replay"]
    left_out = {"prediction-spread"}
    if setup.task == "regression":
        left_out = {"per-class-accuracy", "train-eval-gap", "eval-path"}
    if setup.precision != "float16":
        left_out.add("loss-scale")
    if setup.resume == "none":
        left_out |= {"after-load", "resume-check"}
        if setup.sampler != "unseeded":
            left_out.add("replay")
    return [name for name in OUTCOMES if name not in left_out]


def outcomes(case: RunPair) -> dict[str, str]:
    """Return the outcome of every reading that makes sense for the run."""
    return {name: OUTCOMES[name](case) for name in applicable(case.setup)}
