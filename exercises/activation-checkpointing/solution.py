"""Activation checkpointing: recompute in backward what was not kept in forward.

Invariant: between forward and backward only the arguments and the random state are kept. Backward runs fn again on
fresh leaves, with the random numbers of the first run, and sends the incoming gradient through that graph; the
parameters inside fn collect theirs on the way. n blocks in s segments keep s inputs plus one segment's
activations, for one more forward pass.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch


def random_state() -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The states of the default generators of the CPU and of every CUDA device."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def set_random_state(state: tuple[torch.Tensor, list[torch.Tensor]]) -> None:
    """Put the generators into this state."""
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])


class Recompute(torch.autograd.Function):
    """Runs fn unrecorded; backward records a second run. ``trigger`` makes autograd call backward at all."""

    @staticmethod
    def forward(ctx, fn, trigger, *args):
        ctx.fn = fn
        ctx.state = random_state()
        ctx.args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad):
        args = list(ctx.args)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = tensor.detach().requires_grad_(tensor.requires_grad)
        before = random_state()
        set_random_state(ctx.state)
        try:
            with torch.enable_grad():
                out = ctx.fn(*args)
        finally:
            set_random_state(before)
        if out.requires_grad:
            torch.autograd.backward(out, grad)
        return None, None, *(arg.grad if isinstance(arg, torch.Tensor) else None for arg in args)


def checkpoint(fn: Callable[..., torch.Tensor], *args: Any) -> torch.Tensor:
    """``fn(*args)`` without keeping its activations; backward runs it again."""
    return Recompute.apply(fn, torch.empty(0, requires_grad=True), *args)


def checkpoint_sequential(
    blocks: Sequence[Callable[[torch.Tensor], torch.Tensor]], segments: int, x: torch.Tensor
) -> torch.Tensor:
    """The chain of blocks, in ``segments`` groups of nearly equal size that are each checkpointed."""
    if not 1 <= segments <= len(blocks):
        raise ValueError("segments must lie between 1 and the number of blocks")

    def chain(group):
        def run(x):
            for block in group:
                x = block(x)
            return x

        return run

    bounds = [i * len(blocks) // segments for i in range(segments + 1)]
    for start, stop in zip(bounds, bounds[1:], strict=False):
        x = checkpoint(chain(blocks[start:stop]), x)
    return x
