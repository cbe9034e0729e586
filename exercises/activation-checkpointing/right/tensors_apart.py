import functools

import torch
from torch import Tensor


class _Run(torch.autograd.Function):
    """Only the tensors that require grad go through autograd; the rest hides in a closure."""

    @staticmethod
    def forward(ctx, call, *leaves):
        ctx.call = call
        ctx.save_for_backward(*leaves)
        ctx.rng = torch.get_rng_state()
        ctx.devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
        ctx.gpu = [torch.cuda.get_rng_state(d) for d in ctx.devices]
        return call(*leaves[1:])

    @staticmethod
    def backward(ctx, grad_out):
        leaves = [t.detach() for t in ctx.saved_tensors[1:]]
        for leaf in leaves:
            leaf.requires_grad = True
        with torch.random.fork_rng(devices=ctx.devices), torch.enable_grad():
            torch.random.set_rng_state(ctx.rng)
            for device, state in zip(ctx.devices, ctx.gpu):
                torch.cuda.set_rng_state(state, device)
            out = ctx.call(*leaves)
        out.backward(grad_out)
        return (None, None, *(leaf.grad for leaf in leaves))


def checkpoint(fn, *args):
    wants = [isinstance(a, Tensor) and a.requires_grad for a in args]

    def call(*leaves):
        source = iter(leaves)
        return fn(*(next(source) if w else a for a, w in zip(fixed, wants)))

    fixed = [None if w else a for a, w in zip(args, wants)]
    return _Run.apply(call, torch.zeros(()).requires_grad_(), *(a for a, w in zip(args, wants) if w))


def checkpoint_sequential(blocks, segments, x):
    if segments < 1:
        raise ValueError("at least one segment")
    if segments > len(blocks):
        raise ValueError("more segments than blocks")
    parts = [[] for _ in range(segments)]
    for i, block in enumerate(blocks):
        parts[i * segments // len(blocks)].append(block)
    for part in parts:
        x = checkpoint(functools.partial(functools.reduce, lambda value, block: block(value), part), x)
    return x
