"""Trains the runs of this exercise and writes runs.bin; run it by hand when the description changes.

Format of runs.bin, compressed with zlib: for every cause CAUSES in turn, RUNS times (classes, batch size) as uint8, then
RUNS x STEPS x (loss, grad_norm, grad_zero_fraction, val_accuracy) as float32, the last 12 bits of the mantissa 0.
"""

import zlib
from pathlib import Path

import numpy as np

CAUSES = ("healthy", "label_permute", "huge_lr", "missing_zero_grad", "loss_sum", "amp_no_scaling")
RUNS, STEPS, DIM = 160, 60, 20


def half(values):
    """Rounded to float16 and raised again."""
    return values.astype(np.float16).astype(np.float32)


def exact(values):
    return values


def train(cause, rng):
    """One run: (classes, batch size) and its rows."""
    classes, batch, width = (int(rng.choice(c)) for c in ((3, 4, 5, 8), (16, 32, 64), (16, 32, 64)))
    means = rng.standard_normal((classes, DIM)).astype(np.float32)

    def sample(count):
        labels = rng.integers(0, classes, count)
        return (means[labels] + rng.standard_normal((count, DIM))).astype(np.float32), labels

    def uniform(fan_in, fan_out):
        return (rng.uniform(-1, 1, (fan_in, fan_out)) / np.sqrt(fan_in)).astype(np.float32)

    params = [
        uniform(DIM, width),
        np.zeros(width, np.float32),
        uniform(width, classes),
        np.zeros(classes, np.float32),
    ]
    velocity = [np.zeros_like(p) for p in params]
    summed = [np.zeros_like(p) for p in params]
    weight = 10 ** rng.uniform(-6.3, -5.3)
    rate = np.float32(rng.uniform(0.02, 0.05) * (100 if cause == "huge_lr" else 1) / weight)
    val_x, val_y = sample(256)
    rows = np.zeros((STEPS, 4), np.float32)
    cast = half if cause == "amp_no_scaling" else exact
    count = 1 if cause == "loss_sum" else batch
    for step in range(STEPS):
        x, y = sample(batch)
        if cause == "label_permute":
            y = rng.permutation(y)
        x, (w1, b1, w2, b2) = cast(x), map(cast, params)
        z1 = cast(cast(x @ w1) + b1)
        a1 = np.maximum(z1, 0)
        z2 = cast(cast(a1 @ w2) + b2)
        shifted = z2 - z2.max(1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        loss = -log_probs[np.arange(batch), y].sum() / count
        d2 = np.exp(log_probs)
        d2[np.arange(batch), y] -= 1
        d2 = cast((d2 * np.float32(weight) / count).astype(np.float32))
        d1 = np.where(z1 > 0, cast(d2 @ w2.T), 0)
        grads = [cast(x.T @ d1), cast(d1.sum(0)), cast(a1.T @ d2), cast(d2.sum(0))]
        if cause == "missing_zero_grad":
            grads = summed = [a + b for a, b in zip(summed, grads, strict=True)]
        flat = np.concatenate([g.ravel() for g in grads]).astype(np.float64)
        for i, grad in enumerate(grads):
            velocity[i] = np.float32(0.9) * velocity[i] + grad
            params[i] = params[i] - rate * velocity[i]
        w1, b1, w2, b2 = params
        accuracy = ((np.maximum(val_x @ w1 + b1, 0) @ w2 + b2).argmax(1) == val_y).mean()
        rows[step] = loss, np.sqrt((flat**2).sum()), (flat == 0).mean(), accuracy
    return (classes, batch), rows


def main():
    rng = np.random.default_rng(20261121)
    parts = []
    with np.errstate(all="ignore"):
        for cause in CAUSES:
            runs = [train(cause, rng) for _ in range(RUNS)]
            bits = np.stack([rows for _, rows in runs]).view(np.uint32) & np.uint32(0xFFFFF000)
            parts += [np.array([sizes for sizes, _ in runs], np.uint8).tobytes(), bits.tobytes()]
    Path(__file__).with_name("runs.bin").write_bytes(zlib.compress(b"".join(parts), 9))


if __name__ == "__main__":
    main()
