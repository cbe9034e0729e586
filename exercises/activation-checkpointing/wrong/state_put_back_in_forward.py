# fails: 8
# message: should draw from the generator as the blocks alone do
import torch


def _rng():
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None


def _set_rng(s):
    torch.set_rng_state(s[0])
    if s[1] is not None:
        torch.cuda.set_rng_state_all(s[1])


class _C(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, anchor, *args):
        ctx.fn, ctx.rng = fn, _rng()
        ctx.pos = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.rest = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.pos))
        y = fn(*args)
        _set_rng(ctx.rng)
        return y

    @staticmethod
    def backward(ctx, g):
        args = list(ctx.rest)
        need = ctx.needs_input_grad[2:]
        for i, t in zip(ctx.pos, ctx.saved_tensors):
            args[i] = t.detach().requires_grad_(need[i])
        now = _rng()
        _set_rng(ctx.rng)
        try:
            with torch.enable_grad():
                y = ctx.fn(*args)
        finally:
            _set_rng(now)
        if y.requires_grad:
            torch.autograd.backward(y, g)
        return None, None, *(a.grad if n else None for a, n in zip(args, need))


def checkpoint(fn, *args):
    return _C.apply(fn, torch.zeros((), requires_grad=True), *args)


def checkpoint_sequential(blocks, segments, x):
    n = len(blocks)
    if not 1 <= segments <= n:
        raise ValueError("segments")
    for i in range(segments):
        part = blocks[i * n // segments : (i + 1) * n // segments]

        def run(h, part=part):
            for b in part:
                h = b(h)
            return h

        x = checkpoint(run, x)
    return x
