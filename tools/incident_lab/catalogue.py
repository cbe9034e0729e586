"""The stored run of every incident: its cause, its setup, and its healthy reference."""

from dataclasses import dataclass, field
from typing import Any

from tools.incident_lab.faults import FAULTS
from tools.incident_lab.readings import RunPair
from tools.incident_lab.setups import BASELINE


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The run of an incident: ``cause`` planted in the baseline with ``extra`` changes and ``seed``."""

    cause: str
    seed: int
    extra: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)  # how a false alarm's reference run differs

    def case(self, cause: str = "") -> RunPair:
        """Return the run with its reference. With another ``cause``, break the same setup by that one."""
        base = BASELINE.but(seed=self.seed, **self.extra)
        fault = FAULTS[self.cause]
        if not cause:
            return RunPair(fault.broken(base), fault.healthy(base).but(**self.reference))
        other, sound = FAULTS[cause], fault.healthy(base)
        return RunPair(other.broken(sound), other.healthy(sound))


_SMALL = {"batch": 16, "epochs": 4, "spread": 0.8}

# Another seed gives other numbers: after changing one, measure the incident again with --write.
RUNS: dict[str, StoredRun] = {
    "double-softmax": StoredRun("double-softmax", 0),
    "missing-zero-grad": StoredRun("missing-zero-grad", 1),
    "smoothing-floor-false-alarm": StoredRun("no-fault", 2, {"loss": "smoothed"}, {"loss": "cross-entropy"}),
    "dropout-gap-false-alarm": StoredRun("no-fault", 2, {"dropout": 0.5}, {"dropout": 0.0}),
    "warmup-start-false-alarm": StoredRun("no-fault", 1, {"schedule": "warmup"}, {"schedule": "constant"}),
    "clipped-spike-false-alarm": StoredRun(
        "no-fault", 8, {**_SMALL, "lr": 0.03, "clip": 2.0}, {"clip": None}
    ),
    "resume-noise-false-alarm": StoredRun(
        "no-fault",
        0,
        {**_SMALL, "optimizer": "adamw", "lr": 0.005, "decay": 0.01, "schedule": "cosine"}
        | {"resume": "full", "resume_at": 149},
        {"resume": "none", "resume_at": 0},
    ),
    "order-spread-false-alarm": StoredRun(
        "no-fault",
        2,
        {"train": 8192, "epochs": 1, "spread": 0.6, "lr": 0.06, "sampler": "global"},
        {"sampler": "own"},
    ),
    "mse-broadcast": StoredRun("mse-broadcast", 0),
    "label-shift": StoredRun("label-shift", 1),
    "val-not-normalised": StoredRun("val-not-normalised", 0),
    "forgot-eval-dropout": StoredRun("forgot-eval-dropout", 2),
    "stuck-in-eval": StoredRun("stuck-in-eval", 1),
    "amp-no-scaler": StoredRun("amp-no-scaler", 0),
    "resume-without-optimizer": StoredRun("resume-without-optimizer", 1),
    "dropout-keep-prob": StoredRun("dropout-keep-prob", 2),
    "amp-clip-before-unscale": StoredRun("amp-clip-before-unscale", 1),
    "static-scale-overflow": StoredRun("static-scale-overflow", 0),
    "ignore-index-empty-batch": StoredRun("ignore-index-empty-batch", 1),
    "resume-without-rng": StoredRun("resume-without-rng", 0),
    "label-permute-reseeded": StoredRun("label-permute-reseeded", 0),
    "nan-row": StoredRun("nan-row", 0),
    "accum-not-divided": StoredRun("accum-not-divided", 1),
    "scheduler-cadence": StoredRun("scheduler-cadence", 1),
    "bf16-weights-no-master": StoredRun("bf16-weights-no-master", 0),
    "adam-no-bias-correction": StoredRun("adam-no-bias-correction", 1),
    "vanishing-sigmoid": StoredRun("vanishing-sigmoid", 0),
    "softmax-wrong-dim": StoredRun("softmax-wrong-dim", 1),
    "batchnorm-tiny-batch": StoredRun("batchnorm-tiny-batch", 0),
    "detached-trunk": StoredRun("detached-trunk", 0),
    "label-permute": StoredRun("label-permute", 0),
    "l2-in-adam": StoredRun("l2-in-adam", 0),
    "huge-lr": StoredRun("lr-too-high", 0),
    "loss-sum": StoredRun("loss-sum", 1),
    "naive-softmax": StoredRun("naive-softmax", 0),
    "amp-raw-step": StoredRun("amp-raw-step", 2),
    "unscaled-feature": StoredRun("unscaled-feature", 1),
    "no-shuffle-sorted": StoredRun("no-shuffle-sorted", 0),
    "val-leak": StoredRun("val-leak", 0),
    "conflicting-labels-overfit-fails": StoredRun("conflicting-labels", 1),
    "forgot-eval-batchnorm": StoredRun("forgot-eval-batchnorm", 0),
    "weight-decay-too-strong": StoredRun("weight-decay-too-strong", 1),
    "optimizer-missing-params": StoredRun("optimizer-missing-params", 0),
    "zero-grad-before-step": StoredRun("zero-grad-before-step", 2),
    "dead-relu": StoredRun("dead-relu", 0),
    "zero-init": StoredRun("zero-init", 1),
    "init-too-large": StoredRun("init-too-large", 2),
    "warmup-from-zero-per-epoch": StoredRun("warmup-from-zero-per-epoch", 0),
    "clip-too-tight": StoredRun("clip-too-tight", 1),
}
