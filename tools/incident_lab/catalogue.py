"""The stored run of every incident: its cause, its set-up and the same set-up without the fault."""

from dataclasses import dataclass, field
from typing import Any

from tools.incident_lab.faults import FAULTS
from tools.incident_lab.readings import Case
from tools.incident_lab.setups import BASELINE


@dataclass(frozen=True, slots=True)
class Stored:
    """``cause`` planted on the baseline with ``extra`` changes, at ``seed``."""

    cause: str
    seed: int
    extra: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)  # how a false alarm's reference run differs

    def case(self, cause: str = "") -> Case:
        """The run; with another ``cause`` the same set-up broken in that way, compared with the same."""
        base = BASELINE.but(seed=self.seed, **self.extra)
        own = FAULTS[self.cause]
        if not cause:
            return Case(own.broken(base), own.healthy(base).but(**self.reference))
        other, sound = FAULTS[cause], own.healthy(base)
        return Case(other.broken(sound), other.healthy(sound))


_SMALL = {"batch": 16, "epochs": 4, "spread": 0.8}

RUNS: dict[str, Stored] = {
    "double-softmax": Stored("double-softmax", 0),
    "missing-zero-grad": Stored("missing-zero-grad", 1),
    "smoothing-floor-false-alarm": Stored("no-fault", 2, {"loss": "smoothed"}, {"loss": "cross-entropy"}),
    "dropout-gap-false-alarm": Stored("no-fault", 2, {"dropout": 0.5}, {"dropout": 0.0}),
    "warmup-start-false-alarm": Stored("no-fault", 1, {"schedule": "warmup"}, {"schedule": "constant"}),
    "clipped-spike-false-alarm": Stored("no-fault", 8, {**_SMALL, "lr": 0.03, "clip": 2.0}, {"clip": None}),
    "resume-noise-false-alarm": Stored(
        "no-fault",
        0,
        {**_SMALL, "optimizer": "adamw", "lr": 0.005, "decay": 0.01, "schedule": "cosine"}
        | {"resume": "full", "resume_at": 149},
        {"resume": "none", "resume_at": 0},
    ),
    "order-spread-false-alarm": Stored(
        "no-fault",
        2,
        {"train": 8192, "epochs": 1, "spread": 0.6, "lr": 0.06, "sampler": "global"},
        {"sampler": "own"},
    ),
    "mse-broadcast": Stored("mse-broadcast", 0),
    "label-shift": Stored("label-shift", 1),
    "val-not-normalised": Stored("val-not-normalised", 0),
    "forgot-eval-dropout": Stored("forgot-eval-dropout", 2),
    "stuck-in-eval": Stored("stuck-in-eval", 1),
    "amp-no-scaler": Stored("amp-no-scaler", 0),
    "resume-without-optimizer": Stored("resume-without-optimizer", 1),
    "dropout-keep-prob": Stored("dropout-keep-prob", 2),
    "amp-clip-before-unscale": Stored("amp-clip-before-unscale", 1),
    "static-scale-overflow": Stored("static-scale-overflow", 0),
    "ignore-index-empty-batch": Stored("ignore-index-empty-batch", 1),
    "resume-without-rng": Stored("resume-without-rng", 0),
    "label-permute-reseeded": Stored("label-permute-reseeded", 0),
    "nan-row": Stored("nan-row", 0),
    "accum-not-divided": Stored("accum-not-divided", 1),
    "scheduler-cadence": Stored("scheduler-cadence", 1),
    "bf16-weights-no-master": Stored("bf16-weights-no-master", 0),
    "adam-no-bias-correction": Stored("adam-no-bias-correction", 1),
    "vanishing-sigmoid": Stored("vanishing-sigmoid", 0),
    "softmax-wrong-dim": Stored("softmax-wrong-dim", 1),
    "batchnorm-tiny-batch": Stored("batchnorm-tiny-batch", 0),
    "detached-trunk": Stored("detached-trunk", 0),
    "label-permute": Stored("label-permute", 0),
    "l2-in-adam": Stored("l2-in-adam", 0),
    "huge-lr": Stored("lr-too-high", 0),
    "loss-sum": Stored("loss-sum", 1),
    "naive-softmax": Stored("naive-softmax", 0),
    "amp-raw-step": Stored("amp-raw-step", 2),
    "unscaled-feature": Stored("unscaled-feature", 1),
    "no-shuffle-sorted": Stored("no-shuffle-sorted", 0),
    "val-leak": Stored("val-leak", 0),
    "conflicting-labels-overfit-fails": Stored("conflicting-labels", 1),
    "forgot-eval-batchnorm": Stored("forgot-eval-batchnorm", 0),
    "weight-decay-too-strong": Stored("weight-decay-too-strong", 1),
    "optimizer-missing-params": Stored("optimizer-missing-params", 0),
    "zero-grad-before-step": Stored("zero-grad-before-step", 2),
    "dead-relu": Stored("dead-relu", 0),
    "zero-init": Stored("zero-init", 1),
    "init-too-large": Stored("init-too-large", 2),
    "warmup-from-zero-per-epoch": Stored("warmup-from-zero-per-epoch", 0),
    "clip-too-tight": Stored("clip-too-tight", 1),
}
