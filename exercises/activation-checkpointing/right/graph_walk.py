import torch

# The leaves that fn uses are found by walking the graph of the first run, which is then dropped;
# parameters become inputs of the Function, and autograd.grad returns their gradients through the engine.


def _leaves(out):
    found, stack, seen = {}, [out.grad_fn], set()
    if out.grad_fn is None:
        return [out] if out.requires_grad else []
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
        stack.extend(n for n, _ in node.next_functions)
    return list(found.values())


class _Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, fn, args, wanted, state, *inputs):
        ctx.fn, ctx.args, ctx.wanted, ctx.state = fn, args, wanted, state
        return value.clone()

    @staticmethod
    def backward(ctx, g):
        args = [a.detach().requires_grad_() if i in ctx.wanted["args"] else a for i, a in enumerate(ctx.args)]
        with torch.random.fork_rng():
            torch.set_rng_state(ctx.state)
            with torch.enable_grad():
                out = ctx.fn(*args)
        targets = [args[i] for i in sorted(ctx.wanted["args"])] + ctx.wanted["params"]
        if not targets:
            return (None,) * 5
        grads = torch.autograd.grad(out, targets, g, allow_unused=True)
        return (None, None, None, None, None, *grads)


def checkpoint(fn, *args):
    if not torch.is_grad_enabled():
        return fn(*args)
    state = torch.get_rng_state()
    wanted = {i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.requires_grad}
    fresh = [a.detach().requires_grad_() if i in wanted else a for i, a in enumerate(args)]
    out = fn(*fresh)
    if not out.requires_grad:
        return out
    mine = {id(f) for i, f in enumerate(fresh) if i in wanted}
    params = [p for p in _leaves(out) if id(p) not in mine]
    value = out.detach()
    del out, fresh
    return _Segment.apply(
        value,
        fn,
        args,
        {"args": wanted, "params": params},
        state,
        *[args[i] for i in sorted(wanted)],
        *params,
    )


def checkpoint_sequential(blocks, segments, x):
    if segments < 1:
        raise ValueError("segments must be positive")
    if segments > len(blocks):
        raise ValueError("more segments than blocks")

    def split(items, k):
        if k == 1:
            return [items]
        n = len(items) // k
        return [items[:n]] + split(items[n:], k - 1)

    for part in split(list(blocks), segments):

        def run(h, part=part):
            for b in part:
                h = b(h)
            return h

        x = checkpoint(run, x)
    return x
