import contextlib
import math

import torch

NAMES = {"linear": ("x", "weight", "bias"), "norm": ("x", "weight", "bias"), "attention": ("q", "k", "v")}
FUNCTIONS = {"linear": "linear", "norm": "layer_norm", "attention": "attention"}


def linear(draw, lead, dtype=torch.float64, bias=True):
    i, o = draw.sizes(2)
    return {
        "kind": "linear",
        "x": draw.normal(*lead, i, dtype=dtype),
        "weight": draw.normal(o, i, scale=0.7, dtype=dtype),
        "bias": draw.normal(o, dtype=dtype) if bias else None,
        "up": draw.normal(*lead, o, dtype=dtype),
        "options": {},
    }


def norm(draw, lead, dtype=torch.float64, eps=None, scale=1.0):
    (d,) = draw.sizes(1, 5, 11)
    return {
        "kind": "norm",
        "x": draw.normal(*lead, d, scale=scale, shift=1.5, dtype=dtype),
        "weight": draw.normal(d, shift=0.5, dtype=dtype),
        "bias": draw.normal(d, dtype=dtype),
        "up": draw.normal(*lead, d, dtype=dtype),
        "options": {} if eps is None else {"eps": eps},
    }


def attention(draw, *, dtype=torch.float64, lead=None, sizes=None, scale=None, mask=None):
    b, h = lead or draw.sample([1, 2, 3], 2)
    s, t, d, e = sizes or draw.sizes(4, 3, 10)
    case = {
        "kind": "attention",
        "q": draw.normal(b, h, s, d, scale=1.3, dtype=dtype),
        "k": draw.normal(b, h, t, d, scale=1.1, dtype=dtype),
        "v": draw.normal(b, h, t, e, dtype=dtype),
        "up": draw.normal(b, h, s, e, dtype=dtype),
        "options": {} if scale is None else {"scale": scale},
    }
    if mask is not None:
        shape = {
            "pairs": (s, t),
            "keys": (b, 1, 1, t),
            "flat": (t,),
            "full": (b, h, s, t),
            "heads": (1, h, s, t),
            "samples": (b, 1, s, t),
        }[mask]
        allowed = draw.rand(*shape) < 0.55
        allowed[..., draw.integer(0, t - 2)] = True  # every row keeps a key
        allowed[..., t - 1] = False  # and nobody sees the last one
        case["mask"] = allowed
    return case


def blind(draw, dtype):
    """Some rows are masked completely, in one case all of them."""
    case = attention(draw, dtype=dtype, lead=(2, 3), mask="full")
    b, h, s, _ = case["q"].shape
    rows = draw.rand(b, h, s) < 0.4
    rows[0, 0, 0] = rows[1, 2, s - 1] = True
    rows[1, 0, 1] = False
    case["mask"] = case["mask"] & ~rows[..., None]
    return case


def steep(draw, dtype):
    """Scores of up to about 10,000 in size, of both signs, with some close competitors."""
    s, t, d, e = draw.sizes(4, 3, 10)
    case = attention(draw, dtype=dtype, lead=(1, 2), sizes=(s, t, d, e))
    scores = case["q"] @ case["k"].transpose(-2, -1) / math.sqrt(d)
    case["q"] = case["q"] * (100 / float(scores.abs().max()))
    case["k"] = case["k"] * 100
    near = draw.normal(*case["k"][..., 1, :].shape, scale=0.003, dtype=dtype)
    case["k"][..., 1, :] = case["k"][..., 0, :] + near
    return case


def steep_masked(draw):
    """Each query may attend only to its lowest score, about 10,000 below a masked one."""
    s, t, d, e = draw.sizes(4, 3, 10)
    case = attention(draw, lead=(1, 2), sizes=(s, t, d, e))
    case["k"][..., 1, :] = -case["k"][..., 0, :]
    scores = case["q"] @ case["k"].transpose(-2, -1) / math.sqrt(d)
    case["q"] = case["q"] * (100 / float(scores.abs().max()))
    case["k"] = case["k"] * 100
    case["mask"] = scores == scores.amin(-1, keepdim=True)
    return case


def inputs(draw):
    half = torch.float32
    a, b = draw.sizes(2, 3, 6)
    return {
        "linear": [
            linear(draw, (a,)),
            linear(draw, (2, b)),
            linear(draw, ()),
            linear(draw, (2, 3, a), bias=False),
            linear(draw, (1, 1, b)),
            linear(draw, (b, 2), dtype=half),
        ],
        "norm": [
            norm(draw, (a,)),
            norm(draw, (2, b), eps=draw.uniform(0.05, 0.2)),
            norm(draw, ()),
            norm(draw, (2, 3, 2), scale=0.003),
            norm(draw, (3, b), dtype=half),
        ],
        "attention": [
            attention(draw),
            attention(draw, lead=(2, 3)),
            attention(draw, scale=draw.uniform(0.1, 0.25)),
            attention(draw, scale=draw.choice([-0.4, -0.3])),
            attention(draw, lead=(1, 1), sizes=(draw.integer(3, 5), 1, 3, 2)),
            attention(draw, lead=(2, 1), sizes=(1, draw.integer(4, 6), 3, 2)),
            attention(draw, dtype=half),
        ],
        "zero_scale": attention(draw, scale=0.0),
        "masked": [
            attention(draw, lead=(2, 3), mask=name)
            for name in draw.shuffled(["pairs", "keys", "flat", "full", "heads", "samples"])
        ]
        + [attention(draw, lead=(2, 3), mask="pairs", dtype=half)],
        "long": [
            attention(draw, lead=(1, 1), sizes=(64, 64, 8, 8)),
            attention(draw, lead=(2, 3), sizes=(64, 64, 8, 8), mask="pairs"),
        ],
        "blind": [blind(draw, torch.float64), blind(draw, half)],
        "steep": [steep(draw, torch.float64), steep(draw, half), steep_masked(draw)],
    }


def tensors(case):
    """Fresh copies of the inputs, by name."""
    names = [*NAMES[case["kind"]], *(["mask"] if "mask" in case else [])]
    return {name: None if case[name] is None else case[name].clone() for name in names}


def forward(code, case, given):
    return getattr(code, f"{FUNCTIONS[case['kind']]}_forward")(*given.values(), **case["options"])


def backward(code, case, up, cache):
    return getattr(code, f"{FUNCTIONS[case['kind']]}_backward")(up, cache)


def run(code, case, record, given=None, up=None):
    """Record the output and the gradients by name."""
    out, cache = forward(code, case, given or tensors(case))
    record("out", out)
    grads = backward(code, case, case["up"].clone() if up is None else up, cache)
    record("count", len(grads))
    for name, grad in zip(NAMES[case["kind"]], grads, strict=False):
        record(name, grad)
        if isinstance(grad, torch.Tensor):
            record(f"{name}_device", grad.device == case["up"].device)
    return out, cache, grads


def probe_values(code, given, record):
    for group in ("linear", "norm", "attention", "masked", "blind", "steep"):
        for i, case in enumerate(given[group]):
            with record.step(f"{group}{i}"):
                run(code, case, record)
    with record.step("zero_scale"):
        run(code, given["zero_scale"], record)
    with record.step("nobody"):
        case = given["blind"][0]
        run(code, case, record, given={**tensors(case), "mask": torch.zeros_like(case["mask"])})


PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.device)


def describe(value):
    """What a cache holds: sizes of its floating-point tensors, and the types that do not belong there."""
    if isinstance(value, torch.Tensor):
        return ([value.numel()] if value.is_floating_point() or value.is_complex() else []), []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        parts = [describe(item) for item in value]
        return [n for sizes, _ in parts for n in sizes], [t for _, types in parts for t in types]
    return [], [] if isinstance(value, PLAIN) else [type(value).__name__]


def probe_memory(code, given, record):
    for i, case in enumerate(given["long"]):
        with record.step(i):
            _, cache, _ = run(code, case, record)
            record("flat", isinstance(cache, tuple | list | dict))
            sizes, others = describe(cache)
            record("sizes", sizes)
            record("others", others)


@contextlib.contextmanager
def by_hand():
    """Without autograd's entry points, for as long as the submission computes."""

    def refuse(*args, **kwargs):
        raise RuntimeError("autograd is switched off in this test")

    kept = torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad
    torch.Tensor.backward = torch.autograd.backward = torch.autograd.grad = refuse
    try:
        yield
    finally:
        torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad = kept


def examples(given):
    yield "linear", given["linear"][1]
    yield "linear_flat", given["linear"][2]
    yield "norm", given["norm"][1]
    yield "norm_flat", given["norm"][2]
    yield "attention", given["attention"][1]
    yield "masked", given["masked"][0]


def probe_by_hand(code, given, record):
    for name, case in examples(given):
        with by_hand(), record.step(f"{name}_inference"), torch.inference_mode():
            run(code, case, record)
        with by_hand(), record.step(f"{name}_tracked"):
            leaves = {
                n: t.requires_grad_() if t is not None and t.is_floating_point() else t
                for n, t in tensors(case).items()
            }
            out, _, grads = run(code, case, record, given=leaves)
            results = [out, *grads]
            record("tracked", [t.requires_grad for t in results if isinstance(t, torch.Tensor)])


def probe_again(code, given, record):
    for name, case in examples(given):
        with record.step(name):
            arguments, up = tensors(case), case["up"].clone()
            out, cache = forward(code, case, arguments)
            for turn in ("first", "second", "third"):
                grads = backward(code, case, up, cache)
                for key, grad in zip(NAMES[case["kind"]], grads, strict=False):
                    record(f"{turn}/{key}", grad)
            record("out", out)
            record("arguments", list(arguments.values()))
            record("up", up)
        with record.step(f"{name}_kept"):
            arguments, up = tensors(case), case["up"].clone()
            forward_out, cache = forward(code, case, arguments)
            backward(code, case, up, cache)
            record("arguments", list(arguments.values()))
            record("up", up)
    with record.step("two_caches"):
        first, second = given["attention"][1], given["attention"][0]
        _, cache = forward(code, first, tensors(first))
        forward(code, second, tensors(second))
        for key, grad in zip("qkv", backward(code, first, first["up"].clone(), cache), strict=False):
            record(key, grad)


def turned(tensor):
    """The same values behind other strides."""
    if tensor is None or tensor.dim() < 2:
        return tensor
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def probe_strided(code, given, record):
    for name, case in examples(given):
        with record.step(f"{name}_turned"):
            arguments = {n: turned(t) for n, t in tensors(case).items()}
            run(code, case, record, given=arguments, up=turned(case["up"].clone()))
        with record.step(f"{name}_expanded"):
            up = case["up"].flatten()[:1].clone().reshape([1] * case["up"].dim()).expand(case["up"].shape)
            run(code, case, record, up=up)
        with record.step(f"{name}_repeated"):
            arguments = tensors(case)
            first = NAMES[case["kind"]][0]
            for key in NAMES[case["kind"]] if case["kind"] == "attention" else (first,):
                if arguments[key].dim() > 1:
                    arguments[key] = arguments[key][:1].expand(case[key].shape)
            run(code, case, record, given=arguments)


def probe_errors(code, given, record):
    def attempt(name, case, **changes):
        arguments = {**tensors(case), **changes}

        def call():
            forward(code, case, arguments)

        record.raises(name, call)

    def wrong_gradient(name, case, up):
        def call():
            _, cache = forward(code, case, tensors(case))
            backward(code, case, up, cache)

        record.raises(name, call)

    case = given["linear"][1]
    attempt("linear_short", case, weight=case["weight"][:, :-1].clone())
    attempt("linear_turned", case, weight=case["weight"].t().contiguous())
    attempt("linear_long_x", case, x=torch.cat([case["x"], case["x"]], -1))
    up = case["up"]
    for name, wrong in (
        ("short", up[..., :-1]),
        ("row", up[:, :1]),
        ("lead", up[:1]),
        ("flat", up.reshape(-1, up.shape[-1])),
        ("one", up[..., :1]),
    ):
        wrong_gradient(f"linear_up_{name}", case, wrong.clone())
    case = given["norm"][1]
    attempt("norm_short", case, weight=case["weight"][:-1].clone())
    attempt("norm_one", case, weight=case["weight"][:1].clone())
    attempt("norm_x_one", case, x=case["x"][..., :1].clone())
    up = case["up"]
    for name, wrong in (
        ("short", up[..., :-1]),
        ("row", up[:, :1]),
        ("one", up[..., :1]),
        ("flat", up[0, 0]),
    ):
        wrong_gradient(f"norm_up_{name}", case, wrong.clone())
    case = given["attention"][1]
    q, k, v, up = (case[n] for n in ("q", "k", "v", "up"))
    attempt("head_size", case, k=k[..., :-1].clone())
    attempt("head_size_one", case, k=k[..., :1].clone())
    attempt("length", case, v=v[:, :, :-1].clone())
    attempt("length_more", case, v=torch.cat([v, v], 2))
    pairs = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
    for name, dtype in (("int", torch.int64), ("byte", torch.uint8), ("float", q.dtype)):
        attempt(f"mask_{name}", case, mask=pairs.to(dtype))
    for name, wrong in (
        ("short", up[..., :-1]),
        ("row", up[:, :, :1]),
        ("head", up[:, :1]),
        ("lead", up[0]),
        ("one", up[..., :1]),
    ):
        wrong_gradient(f"attention_up_{name}", case, wrong.clone())
