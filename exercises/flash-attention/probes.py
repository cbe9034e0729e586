import contextlib
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def qkv(draw, queries, keys, dim, *, lead=(2, 3), dtype=torch.float32, scale=None, **options):
    b, h = lead
    return {
        "q": draw.normal(b, h, queries, dim, scale=1.3, dtype=dtype),
        "k": draw.normal(b, h, keys, dim, scale=1.2, dtype=dtype),
        "v": draw.normal(b, h, keys, dim, shift=0.4, dtype=dtype),
        "options": {**options, **({} if scale is None else {"scale": scale})},
    }


def solved(draw, case):
    """The case with a gradient, and with output and log-sum-exp for the backward."""
    q, k, v = (case[n].double() for n in "qkv")
    scale = case["options"].get("scale")
    scores = (q.shape[-1] ** -0.5 if scale is None else scale) * (q @ k.transpose(-2, -1))
    queries, keys = scores.shape[-2:]
    visible = torch.ones(queries, keys, dtype=torch.bool)
    if case["options"].get("causal"):
        visible = visible.tril(keys - queries)
    some = visible.any(-1)
    safe = torch.where(some[:, None], scores.masked_fill(~visible, -math.inf), 0.0)
    out = torch.softmax(safe, -1) @ v * some[:, None]
    lse = torch.where(some, safe.logsumexp(-1), -math.inf)
    dtype = case["q"].dtype
    return {
        **case,
        "out": out.to(dtype),
        "lse": lse.to(torch.promote_types(dtype, torch.float32)),
        "up": draw.normal(*q.shape, dtype=dtype),
    }


def large(draw, sign, order):
    """Scores of sign * 10,000 plus small ones, exact in float32 (dim 4: scale 0.5)."""
    queries, keys = 3, 7
    q, k = torch.zeros(1, 2, queries, 4), torch.zeros(1, 2, keys, 4)
    q[..., 0], q[..., 3] = 100.0 * torch.tensor(sign), torch.tensor([1.0, 2.0, 3.0])
    k[..., 0] = 200.0
    steps = torch.arange(keys).float()
    k[..., 3] = {"up": steps, "down": steps.flip(0), "mixed": draw.permutation(keys).float()}[order] / 2
    return {
        "q": q,
        "k": k,
        "v": draw.normal(1, 2, keys, 4, scale=0.3),
        "options": {"block_q": 2, "block_k": 2},
    }


def growing(draw):
    """Scores between -10,000 and 10,000 that grow from tile to tile, then fall."""
    keys = 9
    q, k = torch.full((1, 1, 2, 4), 0.0), torch.zeros(1, 1, keys, 4)
    q[..., 0] = torch.tensor([100.0, -100.0])
    k[..., 0] = torch.tensor([-200.0, -100.0, -1.0, 0.0, 1.0, 50.0, 199.75, 200.0, 100.0])
    return {
        "q": q,
        "k": k,
        "v": draw.normal(1, 1, keys, 4, scale=0.3),
        "options": {"block_q": 1, "block_k": 2},
    }


def hidden(draw):
    """One key has scores of 10,000. Its tile also holds keys of queries that do not see it."""
    n = draw.choice([7, 9])
    case = qkv(draw, n, n, 4, causal=True, block_q=2, block_k=3)
    case["q"][..., 0] = 100.0
    case["k"][..., 0] = 0.0
    case["k"][..., 5, :] = torch.tensor([200.0, 0.0, 0.0, 0.0])
    return case


def half(draw, dtype):
    """512 keys of nearly equal scores whose values change half way: a bfloat16 sum stops growing."""
    q, k = draw.normal(1, 2, 3, 5, scale=0.1), draw.normal(1, 2, 512, 5, scale=0.1)
    v = torch.cat([draw.rand(1, 2, 256, 5, low=0.2, high=0.4), draw.rand(1, 2, 256, 5, low=1.3, high=1.5)], 2)
    case = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype)}
    case["options"] = {"block_q": 3, "block_k": 2 if dtype == torch.bfloat16 else 16}
    return case


def many_queries(draw, dtype):
    """512 queries whose gradients all reach the same few values."""
    case = {
        "q": draw.normal(1, 2, 512, 5, scale=0.1).to(dtype),
        "k": draw.normal(1, 2, 3, 5, scale=0.1).to(dtype),
        "v": draw.normal(1, 2, 3, 5).to(dtype),
        "options": {"block_q": 2 if dtype == torch.bfloat16 else 16, "block_k": 3},
    }
    case = solved(draw, case)
    case["up"] = (0.9 + 0.2 * draw.rand(1, 2, 512, 5)).to(dtype)
    return case


def inputs(draw):
    def sizes():
        return draw.sizes(3, 3, 11)

    tq, tk, d = sizes()
    forward = [
        qkv(draw, tq, tk, d),
        qkv(draw, tq, tk, d, block_q=1, block_k=1),
        qkv(draw, *sizes(), block_q=3, block_k=1000),
        qkv(draw, *sizes(), block_q=1000, block_k=draw.choice([2, 4])),
        qkv(draw, draw.choice([7, 11]), draw.choice([9, 13]), 3, block_q=2, block_k=4),
        qkv(draw, draw.choice([10, 12]), draw.choice([8, 12]), 5, block_q=2, block_k=4),
        qkv(draw, *sizes(), block_q=4, block_k=3, scale=draw.uniform(0.8, 1.2)),
        qkv(draw, *sizes(), block_q=3, block_k=2, scale=-0.4),
        qkv(draw, 1, 1, 3, lead=(1, 1), block_q=2, block_k=2),
    ]
    n = draw.choice([7, 9])
    long = draw.choice([11, 13])
    causal = [
        qkv(draw, n, n, 3, causal=True, block_q=2, block_k=2),
        qkv(draw, n, n, 5, causal=True, block_q=4, block_k=3),
        qkv(draw, n, n, 3, causal=True, block_q=2, block_k=5),
        qkv(draw, n, n, 3, causal=True),
        qkv(draw, 5, long, 3, causal=True, block_q=2, block_k=3),
        qkv(draw, 6, long, 5, causal=True, block_q=4, block_k=4, scale=0.7),
        qkv(draw, 1, long, 3, causal=True, block_q=2, block_k=4),
        qkv(draw, n, n, 3, causal=True, block_q=1, block_k=1),
        hidden(draw),
    ]
    n = draw.choice([7, 9])
    backward = [
        qkv(draw, n, 6, 5),
        qkv(draw, 5, n, 3, block_q=2, block_k=4),
        qkv(draw, n, 5, 3, block_q=3, block_k=2, scale=draw.uniform(0.8, 1.2)),
        qkv(draw, n, 4, 3, block_q=1, block_k=1000, scale=-0.4),
        qkv(draw, n, n, 5, causal=True, block_q=2, block_k=3),
        qkv(draw, n, n, 3, causal=True, block_q=4, block_k=2),
        qkv(draw, 5, long, 3, causal=True, block_q=2, block_k=3),
    ]
    attention = [
        qkv(draw, n, 5, 3, block_q=2, block_k=3, dtype=torch.float64),
        qkv(draw, n, n, 5, causal=True, block_q=4, block_k=2),
        qkv(draw, 5, n, 3, causal=True, block_q=2, block_k=3, scale=0.6),
        qkv(draw, n, 6, 3),
    ]
    b, tiles = draw.choice([4, 5, 6]), 8
    empty = [
        qkv(draw, 9, 4, 3, causal=True, block_q=2, block_k=3),
        qkv(draw, 8, 5, 3, causal=True, block_q=1000, block_k=2),
        qkv(draw, 7, draw.choice([3, 4]), 5, causal=True),
        qkv(draw, 7, 3, 3, causal=True, block_q=3, block_k=1, dtype=torch.float64),
    ]
    return {
        "forward": forward,
        "zero": solved(draw, qkv(draw, 5, 6, 3, scale=0.0)),
        "large": [
            large(draw, sign, order)
            for sign in ([1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, -1.0, 1.0])
            for order in ("up", "down", "mixed")
        ]
        + [growing(draw)],
        "causal": causal,
        "backward": [solved(draw, case) for case in backward],
        "attention": [
            {**case, "up": draw.normal(*case["q"].shape, dtype=case["q"].dtype)} for case in attention
        ],
        "tiled": solved(draw, qkv(draw, tiles * b, tiles * b, 3, lead=(1, 2), block_q=b, block_k=b)),
        "tiled_causal": solved(
            draw, qkv(draw, tiles * b, tiles * b, 3, lead=(1, 2), causal=True, block_q=b, block_k=b)
        ),
        "checked": qkv(draw, 3, 4, 2, lead=(1, 1), causal=True, block_q=2, block_k=3, dtype=torch.float64),
        "saved": qkv(draw, 18, 18, 3, lead=(1, 2), block_q=4, block_k=5),
        "empty": [solved(draw, case) for case in empty],
        "half": [half(draw, torch.bfloat16), half(draw, torch.float16)],
        "many": [many_queries(draw, torch.bfloat16), many_queries(draw, torch.float16)],
        "double": [
            qkv(draw, 7, 9, 3, block_q=3, block_k=2, dtype=torch.float64),
            qkv(draw, 6, 9, 5, causal=True, block_q=4, block_k=4, dtype=torch.float64),
        ],
        "double_back": solved(
            draw, qkv(draw, 7, 9, 3, causal=True, block_q=3, block_k=2, dtype=torch.float64)
        ),
        "strided": solved(draw, qkv(draw, 6, 7, 5, causal=True, block_q=4, block_k=3)),
    }


def tensors(case, names="qkv"):
    return [case[name].clone() for name in names]


def forward(code, case, record, arguments=None):
    out, lse = code.flash_forward(*(arguments or tensors(case)), **case["options"])
    record("out", out)
    record("lse", lse)


BACKWARD = ("up", "q", "k", "v", "out", "lse")


@contextlib.contextmanager
def by_hand():
    """Without autograd's entry points, for as long as the submission computes."""

    def refuse(*args, **kwargs):
        raise RuntimeError("autograd is switched off in flash_backward")

    kept = torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad
    torch.Tensor.backward = torch.autograd.backward = torch.autograd.grad = refuse
    try:
        yield
    finally:
        torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad = kept


def backward(code, case, record, arguments=None):
    with by_hand():
        grads = code.flash_backward(*(arguments or tensors(case, BACKWARD)), **case["options"])
    for name, grad in zip("qkv", grads, strict=True):
        record(f"d{name}", grad)


def probe_forward(code, given, record):
    for group in ("forward", "large", "causal"):
        for i, case in enumerate(given[group]):
            with record.step(f"{group}{i}"):
                forward(code, case, record)
    with record.step("zero"):
        forward(code, given["zero"], record)


class Work(TorchDispatchMode):
    """The size of the largest tensor made under it, and the FLOPs of its matrix products."""

    def __init__(self):
        super().__init__()
        self.largest = self.flops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.numel())
        name = func.overloadpacket.__name__.rstrip("_")
        if name in ("mm", "bmm", "mv", "linear"):
            self.flops += 2 * out.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm", "addmv", "addbmm"):
            self.flops += 2 * out.numel() * args[1].shape[-1]
        elif name in ("dot", "vdot"):
            self.flops += 2 * args[0].numel()
        return out


def probe_work(code, given, record):
    for name in ("tiled", "tiled_causal"):
        case = given[name]
        with record.step(name):
            arguments = tensors(case)
            with torch.no_grad(), Work() as work:
                out, lse = code.flash_forward(*arguments, **case["options"])
            record("out", out)
            record("lse", lse)
            record("largest", work.largest)
            record("flops", work.flops)
        with record.step(f"{name}_backward"):
            arguments = tensors(case, BACKWARD)
            with torch.no_grad(), by_hand(), Work() as work:
                grads = code.flash_backward(*arguments, **case["options"])
            for key, grad in zip("qkv", grads, strict=True):
                record(f"d{key}", grad)
            record("largest", work.largest)
            record("flops", work.flops)


def probe_backward(code, given, record):
    for i, case in enumerate(given["backward"]):
        with record.step(i):
            backward(code, case, record)


def probe_zero_scale(code, given, record):
    case = given["zero"]
    with record.step("backward"):
        backward(code, case, record)
    with record.step("attention"):
        leaves = [t.requires_grad_() for t in tensors(case)]
        (code.flash_attention(*leaves, **case["options"]) * case["up"]).sum().backward()
        for name, leaf in zip("qkv", leaves, strict=True):
            record(f"d{name}", leaf.grad)


def stored(tensor):
    """The elements of the tensors that hang on the autograd nodes behind `tensor`, as attributes."""
    seen, nodes, count = set(), [tensor.grad_fn], 0
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes += [following for following, _ in node.next_functions]
        values = tree_leaves(list(getattr(node, "__dict__", {}).values()))
        count += sum(value.numel() for value in values if isinstance(value, torch.Tensor))
    return count


def probe_attention(code, given, record):
    for i, case in enumerate(given["attention"]):
        with record.step(i):
            leaves = [t.requires_grad_() for t in tensors(case)]
            out = code.flash_attention(*leaves, **case["options"])
            record("out", out)
            (out * case["up"]).sum().backward()
            for name, leaf in zip("qkv", leaves, strict=True):
                record(f"d{name}", leaf.grad)
    case = given["attention"][1]
    for name in "qkv":
        with record.step(f"only_{name}"):
            leaves = [t.requires_grad_(n == name) for n, t in zip("qkv", tensors(case), strict=True)]
            (code.flash_attention(*leaves, **case["options"]) * case["up"]).sum().backward()
            record("grad", leaves["qkv".index(name)].grad)
    with record.step("summed"):  # the gradient of a sum is expanded
        leaves = [t.requires_grad_() for t in tensors(case)]
        code.flash_attention(*leaves, **case["options"]).sum().backward()
        for name, leaf in zip("qkv", leaves, strict=True):
            record(f"d{name}", leaf.grad)
    with record.step("plain"):
        record("out", code.flash_attention(*tensors(case), **case["options"]))
    with record.step("gradcheck"):
        case = given["checked"]
        leaves = tuple(t.requires_grad_() for t in tensors(case))
        result = torch.autograd.gradcheck(lambda *t: code.flash_attention(*t, **case["options"]), leaves)
        record("passes", result)
    with record.step("saved"):
        case, sizes = given["saved"], []

        def pack(tensor):
            sizes.append(tensor.numel())
            return tensor

        leaves = [t.requires_grad_() for t in tensors(case)]
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = code.flash_attention(*leaves, **case["options"])
        record("elements", sum(sizes) + stored(out))
        record("tracked", out.requires_grad)


def probe_empty(code, given, record):
    for i, case in enumerate(given["empty"]):
        with record.step(f"forward{i}"):
            forward(code, case, record)
        with record.step(f"backward{i}"):
            backward(code, case, record)
        with record.step(f"attention{i}"):
            leaves = [t.requires_grad_() for t in tensors(case)]
            out = code.flash_attention(*leaves, **case["options"])
            record("out", out)
            (out * case["up"]).sum().backward()
            for name, leaf in zip("qkv", leaves, strict=True):
                record(f"d{name}", leaf.grad)


def probe_dtypes(code, given, record):
    for i, case in enumerate(given["half"]):
        with record.step(f"half{i}"):
            forward(code, case, record)
    for i, case in enumerate(given["many"]):
        with record.step(f"many{i}"):
            backward(code, case, record)
    for i, case in enumerate(given["double"]):
        with record.step(f"double{i}"):
            forward(code, case, record)
    with record.step("double_back"):
        backward(code, given["double_back"], record)


def turned(tensor):
    """The same values behind other strides."""
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def probe_inputs(code, given, record):
    case = given["strided"]
    with record.step("same"):
        arguments = tensors(case, BACKWARD)
        code.flash_forward(*arguments[1:4], **case["options"])
        code.flash_backward(*arguments, **case["options"])
        record("arguments", arguments)
    with record.step("forward"):
        forward(code, case, record, [turned(t) for t in tensors(case)])
    with record.step("heads"):  # heads that come out of a projection lie behind the positions
        forward(code, case, record, [t.transpose(1, 2).contiguous().transpose(1, 2) for t in tensors(case)])
    with record.step("backward"):
        backward(code, case, record, [turned(t) for t in tensors(case, BACKWARD)])


def probe_errors(code, given, record):
    case = given["strided"]
    q, k, v = tensors(case)
    attempts = {
        "block_q_zero": (q, k, v, {"block_q": 0}),
        "block_k_zero": (q, k, v, {"block_k": 0}),
        "block_negative": (q, k, v, {"block_q": -2, "block_k": 3}),
        "block_k_negative": (q, k, v, {"block_q": 3, "block_k": -2}),
        "q_3d": (q[0], k, v, {}),
        "all_3d": (q[0], q[0], q[0], {}),
        "all_5d": (q[None], q[None], q[None], {}),
        "v_3d": (q, k, v[0], {}),
        "batch": (q, k[:1], v[:1], {}),
        "heads": (q, k[:, :1], v[:, :1], {}),
        "head_size": (q, k[..., :-1], v[..., :-1], {}),
        "values_length": (q, k, v[:, :, :-1], {}),
        "values_size": (q, k, v[..., :-1], {}),
        "values_heads": (q, k, v[:, :1], {}),
        "no_queries": (q[:, :, :0], k, v, {}),
        "no_keys": (q, k[:, :, :0], v[:, :, :0], {}),
    }
    for function in ("flash_forward", "flash_attention"):
        for name, (*arguments, options) in attempts.items():

            def call(function=function, arguments=arguments, options=options):
                result = getattr(code, function)(*(t.clone() for t in arguments), **options)
                return result if function == "flash_attention" else result[0]

            record.raises(f"{function}_{name}", call)
