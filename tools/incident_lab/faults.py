"""The changes to a setup that plant each cause, and the setup that each cause needs."""

from dataclasses import dataclass, field
from typing import Any

from tools.incident_lab.setups import BASELINE, Setup


@dataclass(frozen=True, slots=True)
class PlantableFault:
    """A fault as two sets of changes to a setup.

    ``needs`` turns the baseline into a healthy run in which the fault can occur. ``plant`` then breaks it.
    """

    plant: dict[str, Any] = field(default_factory=dict)
    needs: dict[str, Any] = field(default_factory=dict)

    def healthy(self, base: Setup = BASELINE) -> Setup:
        """Return the setup without the fault."""
        return base.but(**self.needs)

    def broken(self, base: Setup = BASELINE) -> Setup:
        """Return the setup with the fault."""
        return base.but(**{**self.needs, **self.plant})


_AMP = {"precision": "float16", "scaler": "dynamic"}
_RESUME = {"optimizer": "adamw", "lr": 0.01, "decay": 0.01, "schedule": "cosine", "epochs": 15}
_RESUME |= {"spread": 0.6}
_RESUME |= {"resume": "full", "resume_at": 200}
_DEEP = {"hidden": (64,) * 8, "init": "he", "lr": 0.01}

FAULTS: dict[str, PlantableFault] = {
    "no-fault": PlantableFault(),
    # loss
    "double-softmax": PlantableFault({"loss": "double-softmax"}),
    "softmax-wrong-dim": PlantableFault({"loss": "wrong-axis"}),
    "naive-softmax": PlantableFault({"loss": "naive"}, {"input_scale": 500.0, "lr": 0.0001}),
    "loss-sum": PlantableFault({"loss": "sum"}),
    "mse-broadcast": PlantableFault(
        {"loss": "mse-broadcast"}, {"task": "regression", "loss": "mse", "lr": 0.05}
    ),
    "accum-not-divided": PlantableFault({"divide": False}, {"batch": 128, "accumulate": 16, "epochs": 16}),
    # data
    "label-permute": PlantableFault({"labels": "permuted"}),
    "label-permute-reseeded": PlantableFault(
        {"labels": "permuted-reseeded", "sampler": "global"}, {"sampler": "global", "epochs": 60}
    ),
    "label-shift": PlantableFault({"labels": "shifted"}),
    "label-noise": PlantableFault({"labels": "noisy"}),
    "conflicting-labels": PlantableFault({"duplicates": True}),
    "nan-row": PlantableFault({"nan_row": True}),
    "unscaled-feature": PlantableFault({"loud_column": True}),
    "no-shuffle-sorted": PlantableFault({"sort": "train"}),
    "val-not-normalised": PlantableFault(
        {"standardise": "train-only"}, {"loud_column": True, "standardise": "both"}
    ),
    "val-leak": PlantableFault(
        {"leak": True}, {"labels": "random", "train": 512, "hidden": (256,), "epochs": 60}
    ),
    "overfitting": PlantableFault({"train": 64, "batch": 16, "epochs": 32}, {"spread": 0.6}),
    # model
    "detached-trunk": PlantableFault({"detach": True}, {"hidden": (16, 16)}),
    "frozen-layers": PlantableFault({"frozen": True}),
    "model-too-small": PlantableFault({"hidden": (2, 2)}),
    "dead-relu": PlantableFault({"init": "dead"}),
    "zero-init": PlantableFault({"init": "zero"}),
    "init-too-large": PlantableFault({"init": "normal"}, {"hidden": (64,) * 4, "init": "he", "lr": 0.02}),
    "vanishing-sigmoid": PlantableFault({"activation": "sigmoid", "init": "default"}, _DEEP),
    "batchnorm-tiny-batch": PlantableFault(
        {"norm": "batch"}, {"norm": "layer", "batch": 2, "lr": 0.01, "epochs": 4}
    ),
    "dropout-keep-prob": PlantableFault({"dropout": 0.9}, {"dropout": 0.1, "lr": 0.02}),
    # optimizer and wiring
    "lr-too-high": PlantableFault({"lr": 1.0}),
    "lr-too-small": PlantableFault({"lr": 1e-5}),
    "missing-zero-grad": PlantableFault({"zero_grad": "never"}),
    "zero-grad-before-step": PlantableFault({"zero_grad": "after-backward"}),
    "optimizer-missing-params": PlantableFault({"owns": False}),
    "clip-too-tight": PlantableFault({"clip": 0.001}, {"clip": 1.0, "momentum": 0.0}),
    "weight-decay-too-strong": PlantableFault(
        {"decay": 30.0}, {"optimizer": "adamw", "lr": 0.01, "decay": 0.01}
    ),
    "adam-no-bias-correction": PlantableFault(
        {"optimizer": "adam-uncorrected"}, {"optimizer": "adam", "lr": 0.05}
    ),
    "l2-in-adam": PlantableFault(
        {"optimizer": "adam-l2"},
        {"task": "noise", "optimizer": "adamw", "lr": 0.01, "decay": 1.0, "epochs": 150},
    ),
    # schedule
    "scheduler-cadence": PlantableFault({"schedule": "step-batch"}, {"schedule": "step-epoch"}),
    "warmup-from-zero-per-epoch": PlantableFault({"schedule": "warmup-epoch"}, {"schedule": "warmup"}),
    # precision
    "amp-no-scaler": PlantableFault(
        {"scaler": "none"}, {**_AMP, "loss_factor": 2.0**-22, "optimizer": "adam", "lr": 0.01}
    ),
    "amp-clip-before-unscale": PlantableFault({"clip_first": True}, {**_AMP, "clip": 1.0}),
    "amp-raw-step": PlantableFault({"scaler": "raw"}, _AMP),
    "static-scale-overflow": PlantableFault({"scaler": "static"}, _AMP),
    "bf16-weights-no-master": PlantableFault(
        {"precision": "bfloat16"}, {"lr": 0.003, "momentum": 0.0, "epochs": 64}
    ),
    # evaluation
    "forgot-eval-dropout": PlantableFault({"eval_mode": False}, {"dropout": 0.5}),
    "forgot-eval-batchnorm": PlantableFault({"eval_mode": False}, {"norm": "batch", "sort": "valid"}),
    "stuck-in-eval": PlantableFault(
        {"train_again": False},
        {"dropout": 0.5, "evaluate_each_epoch": True, "hidden": (256, 256), "spread": 0.45, "epochs": 16},
    ),
    "ignore-index-empty-batch": PlantableFault(
        {"guard_empty": False}, {"ignored": 0.7, "batch": 8, "lr": 0.01}
    ),
    # checkpoint
    "resume-without-optimizer": PlantableFault({"resume": "weights"}, _RESUME),
    "resume-without-rng": PlantableFault(
        {"resume": "no-rng"}, {"dropout": 0.5, "epochs": 5, "resume": "full", "resume_at": 40}
    ),
    "corrupt-checkpoint": PlantableFault({"resume": "renamed"}, _RESUME),
    "not-repeatable": PlantableFault({"sampler": "unseeded"}),
}
