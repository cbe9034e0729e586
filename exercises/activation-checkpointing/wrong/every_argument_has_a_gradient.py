# fails: 6
# message: need not use
from __future__ import annotations
from dataclasses import dataclass, field
from typing import Any
import torch
from torch import Tensor


@dataclass
class _Recipe:
    fn: Any
    slots: list[Any]
    tensor_at: list[int] = field(default_factory=list)
    cpu: Tensor | None = None
    cuda: list[Tensor] | None = None

    def note_random(self) -> None:
        self.cpu = torch.get_rng_state()
        if torch.cuda.is_available():
            self.cuda = torch.cuda.get_rng_state_all()

    def set_random(self) -> None:
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)

    def again(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, list[Tensor]]:
        call = list(self.slots)
        leaves = []
        for place, t in zip(self.tensor_at, tensors):
            leaf = t.detach()
            leaf.requires_grad_(t.requires_grad)
            leaves.append(leaf)
            call[place] = leaf
        with torch.random.fork_rng(), torch.enable_grad():
            self.set_random()
            return self.fn(*call), leaves


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx, recipe, anchor, *tensors):
        ctx.recipe = recipe
        ctx.save_for_backward(*tensors)
        call = list(recipe.slots)
        for place, t in zip(recipe.tensor_at, tensors):
            call[place] = t
        recipe.note_random()
        return recipe.fn(*call)

    @staticmethod
    def backward(ctx, g):
        out, leaves = ctx.recipe.again(ctx.saved_tensors)
        if out.requires_grad:
            torch.autograd.backward(out, g)
        return (None, None, *[leaf.grad + 0 if leaf.requires_grad else None for leaf in leaves])


def checkpoint(fn, *args):
    if not torch.is_grad_enabled():
        return fn(*args)
    at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    tensors = [args[i] for i in at]
    slots = [None if i in at else a for i, a in enumerate(args)]
    anchor = torch.empty(0, requires_grad=True)
    return _Run.apply(_Recipe(fn, slots, at), anchor, *tensors)


def checkpoint_sequential(blocks, segments, x):
    blocks = list(blocks)
    n = len(blocks)
    if segments < 1 or segments > n:
        raise ValueError("segments")
    cuts = [n * k // segments for k in range(segments + 1)]

    def chain(part):
        def run(h):
            for b in part:
                h = b(h)
            return h

        return run

    for lo, hi in zip(cuts, cuts[1:]):
        x = checkpoint(chain(blocks[lo:hi]), x)
    return x
