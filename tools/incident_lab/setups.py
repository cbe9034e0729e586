"""The settings of a small training run, which are everything that a planted fault may change."""

from dataclasses import dataclass, replace
from typing import Any

SEEDS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings of a run. The defaults are the healthy baseline of all runs.

    The baseline trains an MLP 32-64-64-10 (ReLU, PyTorch's default initialization) on 1024 points of ten
    Gaussian blobs with SGD (lr 0.1, momentum 0.9), batch size 64, for 8 epochs or 128 steps.
    """

    seed: int = 0
    task: str = "blobs"  # blobs, regression, noise (two weights that receive noise as gradients)
    # data
    train: int = 1024
    valid: int = 512
    spread: float = 1.0  # standard deviation of the class centers; that of the noise is 1
    input_scale: float = 1.0
    loud_column: bool = False  # the first column times 1000, plus an offset
    standardise: str = "none"  # none, both, train-only
    labels: str = "right"  # right, permuted, permuted-reseeded, shifted, noisy, random
    duplicates: bool = False  # every second row repeats its neighbor's input with another label
    nan_row: bool = False
    ignored: float = 0.0  # share of labels set to the ignored value
    leak: bool = False  # validation points are training points
    sort: str = "none"  # none, train (and no shuffling), valid
    sampler: str = "own"  # own, global (order drawn from torch's global generator), unseeded
    # model
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "relu"
    norm: str = "none"  # none, batch, layer
    dropout: float = 0.0
    init: str = "default"  # default, he, normal, zero, dead
    detach: bool = False  # cuts the graph before the last hidden layer's output is used
    frozen: bool = False  # only the output layer requires gradients
    # loss
    # cross-entropy, double-softmax, wrong-axis, naive, sum, smoothed; for a regression mse, mse-broadcast
    loss: str = "cross-entropy"
    guard_empty: bool = True  # divide by max(valid targets, 1)
    loss_factor: float = 1.0  # multiplies the loss before backward; the log holds the plain loss
    # optimizer and schedule
    optimizer: str = "sgd"  # sgd, adam, adamw, adam-l2, adam-uncorrected
    lr: float = 0.1
    momentum: float = 0.9
    decay: float = 0.0
    zero_grad: str = "before"  # before backward, never, after-backward
    owns: bool = True  # whether the optimizer holds the parameters that the model uses
    schedule: str = "constant"  # constant, step-epoch, step-batch, cosine, warmup, warmup-epoch
    clip: float | None = None
    accumulate: int = 1
    divide: bool = True
    batch: int = 64
    epochs: int = 8
    # precision
    precision: str = "float32"  # float32, float16 (autocast), bfloat16 (weights and updates)
    scaler: str = "none"  # none, dynamic, raw, static
    clip_first: bool = False  # clips before the gradients are unscaled
    # modes and checkpoints
    eval_mode: bool = True  # evaluation switches the model to eval
    train_again: bool = True  # each epoch switches it back
    evaluate_each_epoch: bool = False
    resume: str = "none"  # none, full, weights, no-rng, renamed (wrong names, loaded with strict=False)
    resume_at: int = 0

    def but(self, **changes: Any) -> "Setup":
        """Return this setup with ``changes``."""
        return replace(self, **changes)

    @property
    def steps(self) -> int:
        """The number of optimizer steps of the run."""
        return self.epochs * (self.train // self.batch)


BASELINE = Setup()
