import torch
from torch import nn

DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


def inputs(draw):
    a, b, c = draw.sizes(3, 3, 6)
    shapes = [(a, b), (c,), (b, c), (2, 1, 3), (1,)]
    scales = [3.0, 0.1, 1.0, 0.02, 0.5]
    grads = [draw.normal(*shape, scale=scale) for shape, scale in zip(shapes, scales, strict=True)]
    total = sum(g.double().pow(2).sum() for g in grads).sqrt().item()
    factors = {
        "clipped": draw.uniform(0.2, 0.6),
        "slightly": draw.uniform(0.96, 0.975),
        "kept": draw.uniform(1.3, 1.7),
    }
    return {
        "values": [draw.normal(*shape) for shape in shapes],
        "grads": grads,
        "limits": [[how, factor * total] for how, factor in factors.items()],
        "kept": {"factors": factors},
        "wide": draw.normal(6, 4, scale=300.0),
    }


def leaves(given, dtype=torch.float32, missing=()):
    """Parameters with gradients; the third gradient is a transposed view."""
    params = [nn.Parameter(value.to(dtype)) for value in given["values"]]
    for i, (p, grad) in enumerate(zip(params, given["grads"], strict=True)):
        if i not in missing:
            grad = grad.to(dtype, copy=True)
            p.grad = grad.T.contiguous().T if i == 2 else grad
    return params


def views(params):
    """Other tensors on the memory of the gradients, such as slices of a flat buffer would be."""
    return [p.grad.detach() for p in params]


def look(record, params, held, norm):
    record("norm", norm)
    record("grads", [p.grad for p in params])
    record("held", held)
    record("same", [p.grad is grad for p, grad in zip(params, held, strict=True)])
    record("values", [p.detach() for p in params])


def probe_norm(code, given, record):
    for name, dtype in DTYPES.items():
        for how, limit in given["limits"]:
            with record.step(f"{name}_{how}"):
                params = leaves(given, dtype)
                held, memory = [p.grad for p in params], views(params)
                look(record, params, held, code.clip_grad_norm(params, limit))
                record("memory", memory)
    for name, limit in (("above", 2.5), ("equal", 5.0), ("just_below", 5.000002), ("half", 10.0)):
        with record.step(name):
            params = [nn.Parameter(torch.zeros(n, device=record.device)) for n in (1, 2)]
            params[0].grad = torch.tensor([3.0], device=record.device)
            params[1].grad = torch.tensor([0.0, -4.0], device=record.device)
            look(record, params, [p.grad for p in params], code.clip_grad_norm(params, limit))
    for name, limit in (("just_above", 0.4998), ("small", 0.25), ("small_kept", 0.8)):
        with record.step(name):
            params = [nn.Parameter(torch.zeros(n, device=record.device)) for n in (1, 2)]
            params[0].grad = torch.tensor([0.3], device=record.device)
            params[1].grad = torch.tensor([0.0, -0.4], device=record.device)
            look(record, params, [p.grad for p in params], code.clip_grad_norm(params, limit))
    with record.step("endless"):
        params = leaves(given)
        code.clip_grad_norm(params, float("inf"))
        record("grads", [p.grad for p in params])
    with record.step("scalar"):  # with limits that are of type int
        for name, call in (("norm", code.clip_grad_norm), ("value", code.clip_grad_value)):
            params = [nn.Parameter(torch.zeros(shape, device=record.device)) for shape in ((), (1, 1))]
            params[0].grad = torch.tensor(-4.0, device=record.device)
            params[1].grad = torch.tensor([[3.0]], device=record.device)
            record(f"{name}_returned", call(params, 2))
            record(f"{name}_grads", [p.grad for p in params])
    with record.step("zero"):
        params = leaves(given)
        for p in params:
            p.grad.zero_()
        look(record, params, [p.grad for p in params], code.clip_grad_norm(params, 1.0))


def probe_iterables(code, given, record):
    limit = given["limits"][0][1]
    makers = {
        "generator": lambda params: (p for p in params),
        "tuple": tuple,
        "iterator": iter,
        "dict": lambda params: dict(enumerate(params)).values(),
        "module": lambda params: nn.ParameterList(params).parameters(),
    }
    for name, make in makers.items():
        with record.step(name):
            params = leaves(given)
            record("norm", code.clip_grad_norm(make(params), limit))
            record("grads", [p.grad for p in params])
            params = leaves(given)
            record("returned", code.clip_grad_value(make(params), 0.5))
            record("values", [p.grad for p in params])
    with record.step("single"):
        params = leaves(given)
        record("norm", code.clip_grad_norm(params[0], 0.25))
        record("grads", [p.grad for p in params])
        params = leaves(given)
        code.clip_grad_value(params[0], 0.5)
        record("values", [p.grad for p in params])
    with record.step("plain"):  # a leaf that is no nn.Parameter
        for name, call in (("norm", code.clip_grad_norm), ("value", code.clip_grad_value)):
            leaf = given["values"][0].clone().requires_grad_()
            leaf.grad = given["grads"][0].clone()
            call(leaf, 0.25)
            record(name, leaf.grad)
    with record.step("single_missing"):
        leaf = given["values"][0].clone().requires_grad_()
        code.clip_grad_value(leaf, 0.5)
        record("norm", code.clip_grad_norm(leaf, 0.25))
        record("grad", leaf.grad)
    with record.step("frozen"):
        params = leaves(given)
        for p in params[1:]:
            p.requires_grad_(False)
        record("norm", code.clip_grad_norm(params, limit))
        record("grads", [p.grad for p in params])
    for name, missing in (("some", (0, 3)), ("last", (4,)), ("all", (0, 1, 2, 3, 4))):
        with record.step(name):
            params = leaves(given, missing=missing)
            record("norm", code.clip_grad_norm(params, 0.25))
            record("grads", [p.grad for p in params])
            params = leaves(given, missing=missing)
            code.clip_grad_value(params, 0.5)
            record("values", [p.grad for p in params])


def probe_half(code, given, record):
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        with record.step(name):
            params = [nn.Parameter(torch.zeros(1, dtype=dtype, device=record.device)) for _ in range(4)]
            for p in params:
                p.grad = torch.full_like(p, 300.0)
            look(record, params, [p.grad for p in params], code.clip_grad_norm(params, 60.0))
        with record.step(f"{name}_wide"):
            p = nn.Parameter(torch.zeros(6, 4, dtype=dtype, device=record.device))
            p.grad = given["wide"].to(dtype)
            look(record, [p], [p.grad], code.clip_grad_norm([p], 10.0))


def probe_large_limit(code, given, record):
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        with record.step(name):
            params = [nn.Parameter(torch.zeros(1, dtype=dtype, device=record.device)) for _ in range(4)]
            for p in params:
                p.grad = torch.full_like(p, 300.0)
            code.clip_grad_norm(params, 500.0)
            record("grads", [p.grad for p in params])


def probe_mixed(code, given, record):
    half = {"dtype": torch.float16, "device": record.device}
    for name, turned in (("float32_first", False), ("float16_first", True)):
        with record.step(name):
            params = [nn.Parameter(torch.zeros(2, device=record.device))]
            params += [nn.Parameter(torch.zeros(1, **half)) for _ in range(3)]
            params[0].grad = torch.tensor([20.0, -10.0], device=record.device)
            for p in params[1:]:
                p.grad = torch.full_like(p, 300.0)
            params = params[::-1] if turned else params
            look(record, params, [p.grad for p in params], code.clip_grad_norm(params, 50.0))


def probe_bad(code, given, record):
    for name, value in (("inf", float("inf")), ("minus", float("-inf")), ("nan", float("nan"))):
        for dtype in ("float32", "float16"):
            with record.step(f"{name}_{dtype}"):
                params = leaves(given, DTYPES[dtype])
                params[2].grad[1, 0] = value
                record("before", [p.grad for p in params])
                look(record, params, [p.grad for p in params], code.clip_grad_norm(params, 0.25))


def probe_value(code, given, record):
    for name, dtype in DTYPES.items():
        with record.step(name):
            params = leaves(given, dtype)
            held, memory = [p.grad for p in params], views(params)
            look(record, params, held, code.clip_grad_value(params, 0.5))
            record("memory", memory)
    with record.step("known"):
        p = nn.Parameter(torch.zeros(5, device=record.device))
        p.grad = torch.tensor([-7.0, -1.0, 0.25, 1.0, 3.0], device=record.device)
        code.clip_grad_value([p], 1.0)
        record("grad", p.grad)
    with record.step("infinite"):
        p = nn.Parameter(torch.zeros(5, device=record.device))
        p.grad = torch.tensor([-float("inf"), 1.625, float("inf"), 1.875, -3.0], device=record.device)
        code.clip_grad_value([p], 1.75)
        record("grad", p.grad)


def probe_errors(code, given, record):
    params = leaves(given)
    for name, value in (("zero", 0.0), ("negative", -1.0)):
        record.raises(f"norm_{name}", lambda v=value: code.clip_grad_norm(params, v))
        record.raises(f"norm_nothing_{name}", lambda v=value: code.clip_grad_norm([], v))
        record.raises(f"value_nothing_{name}", lambda v=value: code.clip_grad_value([], v))
        record.raises(f"value_{name}", lambda v=value: code.clip_grad_value(params, v))
