# fails: 6
# message: not a copy
import copy

import torch


class _Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, anchor, *args):
        ctx.fn = fn
        ctx.args = args
        ctx.cpu_state = torch.get_rng_state()
        ctx.cuda_state = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
        with torch.no_grad():
            return fn(*args)

    @staticmethod
    def backward(ctx, grad):
        now = torch.get_rng_state()
        now_cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
        torch.set_rng_state(ctx.cpu_state)
        if ctx.cuda_state is not None:
            torch.cuda.set_rng_state_all(ctx.cuda_state)
        leaves = []
        for a in ctx.args:
            if isinstance(a, torch.Tensor) and a.requires_grad:
                a = a.detach().requires_grad_(True)
            elif not isinstance(a, torch.Tensor):
                a = copy.deepcopy(a)
            leaves.append(a)
        with torch.enable_grad():
            out = ctx.fn(*leaves)
        torch.set_rng_state(now)
        if now_cuda is not None:
            torch.cuda.set_rng_state_all(now_cuda)
        if out.requires_grad:
            torch.autograd.backward(out, grad)
        grads = []
        for a, old in zip(leaves, ctx.args):
            if isinstance(a, torch.Tensor) and isinstance(old, torch.Tensor) and old.requires_grad:
                grads.append(a.grad)
            else:
                grads.append(None)
        return (None, None, *grads)


def checkpoint(fn, *args):
    if not torch.is_grad_enabled():
        return fn(*args)
    anchor = torch.zeros((), requires_grad=True)
    return _Checkpoint.apply(fn, anchor, *args)


def checkpoint_sequential(blocks, segments, x):
    n = len(blocks)
    if segments < 1 or segments > n:
        raise ValueError("segments")

    def group(start, stop):
        def run(h):
            for i in range(start, stop):
                h = blocks[i](h)
            return h

        return run

    start = 0
    for s in range(segments):
        size = n // segments + (1 if s < n % segments else 0)
        x = checkpoint(group(start, start + size), x)
        start += size
    return x
