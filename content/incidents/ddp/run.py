"""Trains a classifier on several ranks: each reads its own shards, and gradients are averaged over the ranks.

The model tells the kind of a sensor from one of its readings. All readings of a sensor are in one shard.
All ranks share one machine, so the link between them and the store are simulated by waiting.
"""

import argparse
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

STEPS = 60
RATE = 0.1
MOMENTUM = 0.9
BATCH = 128  # rows of a step, over all ranks
HIDDEN = (256, 256)
FEATURES = 48
KINDS = 16
SHARDS = 8
SENSORS = 32  # in each shard
READINGS = 8  # of each sensor
NOISE = (0.3,) * SHARDS  # standard deviation of readings around their sensor's signal, by shard
READ_MS = 4.0  # time to fetch a batch from the store
LINK = 100_000  # numbers that the link carries in a millisecond
SAVE_EVERY = 5
RANK = int(os.environ.get("RANK", "0"))
WORLD = int(os.environ.get("WORLD_SIZE", "1"))


def read_shards(seed: int, indices: range, salt: int = 0) -> tuple[Tensor, Tensor]:
    """Return inputs (rows, FEATURES) and kinds (rows,) of shards. Another salt gives other readings."""
    inputs, kinds = [], []
    for index in indices:
        draw = torch.Generator().manual_seed(1000 * seed + index)
        signals = torch.randn(SENSORS, FEATURES, generator=draw).repeat_interleave(READINGS, 0)
        kinds.append(torch.randint(KINDS, (SENSORS,), generator=draw).repeat_interleave(READINGS))
        draw.manual_seed(1000 * seed + 100 * (salt + 1) + index)
        inputs.append(signals + NOISE[index] * torch.randn(signals.shape, generator=draw))
    return torch.cat(inputs), torch.cat(kinds)


class Loader:
    """Serves the rows of this rank's shards in a new order each epoch, and fetches one batch ahead."""

    def __init__(self, seed: int, first: int) -> None:
        self.seed, self.rows = seed, BATCH // WORLD
        self.inputs, self.kinds = read_shards(seed, range(SHARDS)[RANK::WORLD])
        self.store = ThreadPoolExecutor(max_workers=1)
        self.ahead = self.store.submit(self.fetch, first)

    def fetch(self, step: int) -> tuple[Tensor, Tensor]:
        """Read the batch of a step from the store."""
        time.sleep(READ_MS / 1000)
        epoch, place = divmod(step, len(self.kinds) // self.rows)
        order = torch.randperm(len(self.kinds), generator=torch.Generator().manual_seed(self.seed + epoch))
        chosen = order[place * self.rows : (place + 1) * self.rows]
        return self.inputs[chosen], self.kinds[chosen]

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Return the batch of a step and start to fetch the next."""
        batch, self.ahead = self.ahead.result(), self.store.submit(self.fetch, step + 1)
        return batch


class GradientAverager:
    """Averages each gradient over the ranks while backward still works on earlier layers."""

    def __init__(self, model: nn.Module) -> None:
        self.link = ThreadPoolExecutor(max_workers=1)  # one thread, so that all ranks keep the same order
        self.pending: list[tuple[Any, Future[None]]] = []
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(self.launch)

    def launch(self, parameter: Any) -> None:
        """Start to sum a gradient that this rank has completed."""
        self.pending.append((parameter.grad, self.link.submit(self.sum_over_ranks, parameter.grad)))

    def sum_over_ranks(self, gradient: Tensor) -> None:
        """Replace a gradient by its sum over the ranks."""
        moved = 2 * (WORLD - 1) / WORLD * gradient.numel()  # by each rank of a ring
        time.sleep(moved / LINK / 1000)
        dist.all_reduce(gradient)

    def finish(self) -> None:
        """Wait for all sums and divide them by the number of ranks."""
        for gradient, work in self.pending:
            work.result()
            gradient.div_(WORLD)
        self.pending.clear()


def train(seed: int, steps: int, *, resume: bool) -> None:
    """Train up to step `steps`, from the start or from the checkpoint of rank 0."""
    torch.manual_seed(seed)
    shapes = pairwise([FEATURES, *HIDDEN, KINDS])
    model = nn.Sequential(*[part for shape in shapes for part in (nn.Linear(*shape), nn.ReLU())][:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    saved: list[Any] = [{"step": 0}]
    if resume:
        saved = [torch.load("checkpoint.pt") if RANK == 0 else None]
        dist.broadcast_object_list(saved)
        model.load_state_dict(saved[0]["model"])
        optimizer.load_state_dict(saved[0]["optimizer"])
        torch.set_rng_state(saved[0]["rng"])
    loader, averager = Loader(seed, saved[0]["step"]), GradientAverager(model)
    unseen_x, unseen_y = read_shards(seed, range(SHARDS), salt=1)
    for step in range(saved[0]["step"], steps):
        times = [time.perf_counter()]
        inputs, kinds = loader.batch(step)
        times.append(time.perf_counter())
        loss = nn.functional.cross_entropy(model(inputs), kinds)
        optimizer.zero_grad()
        loss.backward()
        times.append(time.perf_counter())
        averager.finish()
        times.append(time.perf_counter())
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        optimizer.step()
        losses = [torch.zeros(()) for _ in range(WORLD)]
        dist.all_gather(losses, loss.detach())
        fields: dict[str, Any] = {"loss": sum(losses) / WORLD, "norm": norm, "rate": RATE}
        fields |= {f"loss_{rank}": value for rank, value in enumerate(losses)}
        for name, (begin, end) in zip(("data", "compute", "comm"), pairwise(times), strict=True):
            fields[f"{name}_ms"] = 1000 * (end - begin)
        if RANK == 0 and ((step + 1) % SAVE_EVERY == 0 or step + 1 == steps):
            with torch.no_grad():
                fields["valid_loss"] = nn.functional.cross_entropy(model(unseen_x), unseen_y).item()
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
            state |= {"rng": torch.get_rng_state(), "report": {"valid_loss": fields["valid_loss"]}}
            torch.save(state, "checkpoint.pt")
        if RANK == 0:
            print("  ".join([f"step {step}", *(f"{k} {v:.4g}" for k, v in fields.items())]), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    train(options.seed, options.steps, resume=options.resume)
