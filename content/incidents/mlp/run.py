"""Train an MLP to tell ten Gaussian blobs apart.

Start it as `run.py --seed 7 [--steps 60] [--resume]`. Data, weights and the order of the batches follow from
the seed. The working folder receives `checkpoint.pt`, from which `--resume` continues to the last bit.
"""

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

STEPS = 128
SAVE_EVERY = 16
TRAIN_POINTS = 1024
VALID_POINTS = 512
SPREAD = 1.0  # standard deviation of the class centers; that of the points around a center is 1
FEATURES = 32
CLASSES = 10
HIDDEN = (64, 64)
BATCH = 64
VALID_BATCH = 32
RATE = 0.1
MOMENTUM = 0.9
CHECKPOINT = Path("checkpoint.pt")


def make_data(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return training inputs (N, 32) and labels (N,), then those of the validation set."""
    draw = torch.Generator().manual_seed(1000 + seed)
    centers = SPREAD * torch.randn(CLASSES, FEATURES, generator=draw)
    x, y = make_points(TRAIN_POINTS, centers, draw)
    valid_x, valid_y = make_points(VALID_POINTS, centers, draw)
    return x, y, valid_x, valid_y


def make_points(count: int, centers: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return `count` points (N, 32) around random centers, with the numbers (N,) of their centers."""
    y = torch.randint(0, CLASSES, (count,), generator=draw)
    return centers[y] + torch.randn(count, FEATURES, generator=draw), y


class Net(nn.Module):
    """An MLP with ReLU after each hidden layer."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise((FEATURES, *HIDDEN)))
        self.head = nn.Linear(HIDDEN[-1], CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, 32) to logits (B, 10)."""
        for layer in self.hidden:
            x = torch.relu(layer(x))
        logits: Tensor = self.head(x)
        return logits


class Sampler:
    """Draws batches of indices, every point once per epoch, in an order of its own for each epoch."""

    def __init__(self, seed: int) -> None:
        self.draw = torch.Generator().manual_seed(2000 + seed)
        self.order = torch.empty(0, dtype=torch.long)
        self.position = 0

    def next_batch(self) -> Tensor:
        """Return the indices (B,) of the next batch."""
        if self.position + BATCH > len(self.order):
            self.order = torch.randperm(TRAIN_POINTS, generator=self.draw)
            self.position = 0
        self.position += BATCH
        return self.order[self.position - BATCH : self.position]

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the next batches depend on."""
        return {"draw": self.draw.get_state(), "order": self.order, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state` was saved."""
        self.draw.set_state(state["draw"])
        self.order, self.position = state["order"], state["position"]


@torch.no_grad()
def evaluate(model: nn.Module, x: Tensor, y: Tensor) -> tuple[float, float]:
    """Return the mean loss and the accuracy on the points."""
    model.eval()
    logits = torch.cat([model(part) for part in x.split(VALID_BATCH)])
    model.train()
    return cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def train(seed: int, steps: int, *, resume: bool) -> None:
    """Train up to step `steps`, from the start or from the checkpoint."""
    x, y, valid_x, valid_y = make_data(seed)
    torch.manual_seed(seed)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    sampler = Sampler(seed)
    start = 0
    if resume:
        state = torch.load(CHECKPOINT)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        sampler.load_state_dict(state["sampler"])
        torch.set_rng_state(state["rng"])
        start = state["step"]

    for step in range(start, steps):
        batch = sampler.next_batch()
        optimizer.zero_grad()
        logits = model(x[batch])
        loss = cross_entropy(logits, y[batch])
        loss.backward()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        optimizer.step()

        rate = optimizer.param_groups[0]["lr"]
        line = f"step {step}  loss {loss.item():.6g}  norm {norm.item():.6g}  rate {rate:.4g}"
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            valid_loss, valid = evaluate(model, valid_x, valid_y)
            line += f"  valid_loss {valid_loss:.6g}  valid {valid:.4f}"
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "sampler": sampler.state_dict(),
                "rng": torch.get_rng_state(),
                "step": step + 1,
                "report": {"valid_loss": valid_loss},
            }
            # A run that is killed while it writes must leave the last checkpoint whole.
            torch.save(state, CHECKPOINT.with_suffix(".part"))
            CHECKPOINT.with_suffix(".part").replace(CHECKPOINT)
        print(line, flush=True)


if __name__ == "__main__":
    # With several threads, the order of sums and thus the last digits depend on the machine.
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    train(arguments.seed, arguments.steps, resume=arguments.resume)
