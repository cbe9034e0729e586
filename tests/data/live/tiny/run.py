"""Fit a line through points without noise."""

import argparse
import os

import torch
import torch.distributed as dist

STEPS = 40
RATE = 0.1
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def make_data(seed):
    """Return inputs (N, 3) and targets (N, 1)."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(64, 3, generator=draw)
    return x[RANK::WORLD], (x @ torch.randn(3, 1, generator=draw))[RANK::WORLD]


def train(seed, steps, resume):
    """Train up to step `steps`."""
    x, y = make_data(seed)
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.5)
    start = 0
    if resume:
        state = torch.load("checkpoint.pt")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["step"]
    for step in range(start, steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        for parameter in model.parameters():
            if WORLD > 1:
                dist.all_reduce(parameter.grad)
                parameter.grad /= WORLD
        optimizer.step()
        if RANK == 0:
            print(f"step {step}  loss {loss.item():.6g}  rate {RATE}", flush=True)
    if RANK == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": steps}
        torch.save({**state, "report": {"loss": loss.item()}}, "checkpoint.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    if WORLD > 1 and not dist.is_initialized():
        dist.init_process_group("gloo")
    train(arguments.seed, arguments.steps, arguments.resume)
