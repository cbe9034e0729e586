import gc
import math
import weakref

import torch
from torch import nn

from quizapp.judge.testing.probes import filled_linear

LEVELS = [
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
]


def made(draw, shape, block_size, scale=1.0):
    """A weight whose codes are known: no element is near the middle between two levels."""
    levels = torch.tensor(LEVELS, dtype=torch.float64)
    n = math.prod(shape)
    codes = draw.integers(0, 16, n)
    # Every code occurs, in random places.
    count = min(n, 16)
    codes[draw.permutation(n)[:count]] = draw.permutation(16)[:count]
    side = draw.integers(0, 2, n) * 2 - 1
    side[codes == 0], side[codes == 15] = 1, -1
    neighbours = levels[(codes + side).clamp(0, 15)]
    ratio = levels[codes] + (neighbours - levels[codes]) * 0.35 * draw.rand(n, dtype=torch.float64)
    blocks = -(-n // block_size)
    absmax = torch.exp(draw.rand(blocks, low=-2.0, high=2.0, dtype=torch.float64)) * scale
    first_sign = draw.integer(0, 1)
    for b in range(blocks):
        low, high = b * block_size, min(n, (b + 1) * block_size)
        top = draw.integer(low, high - 1)
        positive = (b + first_sign) % 2
        codes[top], ratio[top] = (15, 1.0) if positive else (0, -1.0)
    spread = absmax.repeat_interleave(block_size)[:n]
    return {
        "w": (ratio * spread).to(torch.float32).view(*shape),
        "block_size": block_size,
        "shape": list(shape),
        "kept": {"codes": codes, "absmax": absmax.to(torch.float32)},
    }


def packed(codes):
    codes = torch.cat([codes, torch.full((len(codes) % 2,), 7)])
    return (codes[0::2] * 16 + codes[1::2]).to(torch.uint8)


def near_middles(draw, dtype):
    """Half-precision weights just beside the middles of levels, in blocks of 31."""
    levels = torch.tensor(LEVELS, dtype=torch.float64)
    middles = (levels[1:] + levels[:-1]) / 2
    step = 2.0**-11 if dtype is torch.float16 else 2.0**-8
    blocks = []
    for _ in range(10):
        top = torch.tensor([draw.uniform(1.05, 1.95)], dtype=torch.float64).to(dtype).double()
        above = middles * top * (1 + step * draw.rand(15, low=0.1, high=1.0, dtype=torch.float64))
        below = middles * top * (1 - step * draw.rand(15, low=0.1, high=1.0, dtype=torch.float64))
        values = torch.cat([top * draw.choice([-1.0, 1.0]), above, below])
        blocks.append(values[draw.permutation(31)])
    return torch.cat(blocks).to(dtype).view(31, 10)


def linear_case(draw, block_size, bias):
    d_out, d_in = draw.sizes(2, 11, 19)
    d_batch, d_seq = draw.sizes(2, 3, 6)
    case = made(draw, (d_out, d_in), block_size)
    other = made(draw, (d_out, d_in), block_size)
    return {
        **case,
        "bias": draw.normal(d_out) if bias else None,
        "other": other["w"],
        "other_bias": draw.normal(d_out) if bias else None,
        "x": [draw.normal(d_in), draw.normal(d_batch, d_in), draw.normal(d_batch, d_seq, d_in)],
        "upstream": draw.normal(d_batch, d_seq, d_out),
    }


def inputs(draw):
    d1, d2, d3 = draw.sizes(3, 3, 7)
    weights = [
        made(draw, (64,), 64),
        made(draw, (7, 11), 64),
        made(draw, (5, 13), 16),
        made(draw, (11, 7), 5),
        made(draw, (6, 9), 7),
        made(draw, (d1, d2, d3), 12),
        made(draw, (3, 5, 3, 3), 9),
        made(draw, (13,), 100),
        made(draw, (7,), 1),
        made(draw, (1,), 4),
        made(draw, (9, 14), 64),
        made(draw, (3, 50), 50),
    ]
    holes = made(draw, (8, 9), 6)
    holes["w"].view(-1)[12:24] = 0.0
    holes["w"].view(-1)[66:] = 0.0
    for array, value in (("codes", 7), ("absmax", 0.0)):
        width = 6 if array == "codes" else 1
        holes["kept"][array][2 * width : 4 * width] = value
        holes["kept"][array][11 * width :] = value
    underflow = made(draw, (4, 9), 9)
    underflow["w"] = underflow["w"].double()
    underflow["w"][2] *= 1e-50
    underflow["kept"]["codes"][18:27], underflow["kept"]["absmax"][2] = 7, 0.0
    tiny = made(draw, (6, 10), 10)
    for row, size in ((2, 1e-6), (4, 4e-9), (1, 3e-15), (5, 2e-30)):
        tiny["w"][row] *= size / tiny["kept"]["absmax"][row]
    tiny["kept"]["absmax"] = tiny["w"].abs().amax(1)
    restore = []
    for shape, block_size in (
        ((7, 11), 64),
        ((5, 13), 5),
        ((6, 9), 7),
        ((3, 4, 5), 3),
        ((17,), 1),
        ((130,), 64),
    ):
        case = made(draw, shape, block_size)
        kept = case["kept"]
        restore.append({**case, "packed": packed(kept["codes"]), "absmax": kept["absmax"]})
    return {
        "weights": weights,
        "default": made(draw, (10, 13), 64),
        "holes": holes,
        "tiny": tiny,
        "middles": {
            "float16": near_middles(draw, torch.float16),
            "bfloat16": near_middles(draw, torch.bfloat16),
        },
        "edges": near_middles(draw, torch.float32),
        "underflow": underflow,
        "typed": made(draw, (9, 7), 8),
        "strided": made(draw, (9, 14), 11),
        "restore": restore,
        "linear": [
            linear_case(draw, 64, True),
            linear_case(draw, 7, False),
            linear_case(draw, 16, True),
            linear_case(draw, 96, False),
        ],
    }


def probe_quantize(code, given, record):
    for i, case in enumerate(given["weights"]):
        with record.step(i):
            w = case["w"].clone().requires_grad_(i % 2 == 0)
            result, absmax = code.quantize_nf4(w, case["block_size"])
            record("packed", result)
            record("absmax", absmax)
            record("devices", result.device == w.device and absmax.device == w.device)
            record("flags", [result.requires_grad, absmax.requires_grad])
            record("after", w)
    for name in ("holes", "tiny"):
        with record.step(name):
            case = given[name]
            result, absmax = code.quantize_nf4(case["w"], case["block_size"])
            record("packed", result)
            record("absmax", absmax)
            with record.step("back"):
                record(
                    "values", code.dequantize_nf4(result, absmax, tuple(case["shape"]), case["block_size"])
                )
    with record.step("edges"):
        result, absmax = code.quantize_nf4(given["edges"], 31)
        record("packed", result)
        record("absmax", absmax)
    with record.step("default"):
        result, absmax = code.quantize_nf4(given["default"]["w"])
        record("packed", result)
        record("absmax", absmax)
        result, absmax = code.quantize_nf4(given["default"]["w"], 64)
        record("packed_64", result)
        record("absmax_64", absmax)
        with record.step("back"):
            record("values_64", code.dequantize_nf4(result, absmax, (10, 13), 64))
            record("values", code.dequantize_nf4(result, absmax, (10, 13)))


def probe_typed(code, given, record):
    case = given["typed"]
    for name, dtype in (
        ("float16", torch.float16),
        ("bfloat16", torch.bfloat16),
        ("float64", torch.float64),
    ):
        with record.step(name):
            w = case["w"].to(dtype)
            result, absmax = code.quantize_nf4(w, case["block_size"])
            record("packed", result)
            record("absmax", absmax)
            record("after", w)
    with record.step("underflow"):
        w = given["underflow"]["w"]
        result, absmax = code.quantize_nf4(w, given["underflow"]["block_size"])
        record("packed", result)
        record("absmax", absmax)
    for name, w in given["middles"].items():
        with record.step(f"middles_{name}"):
            result, absmax = code.quantize_nf4(w, 31)
            record("packed", result)
            record("absmax", absmax)
    case = given["strided"]
    for name, w in (
        ("transposed", case["w"].t().contiguous().t()),
        ("sliced", case["w"].repeat_interleave(2, dim=1)[:, ::2]),
    ):
        with record.step(name):
            result, absmax = code.quantize_nf4(w, case["block_size"])
            record("packed", result)
            record("absmax", absmax)


def probe_restore(code, given, record):
    for i, case in enumerate(given["restore"]):
        with record.step(i):
            result, absmax = case["packed"].clone(), case["absmax"].clone()
            shape = (tuple, list, torch.Size)[i % 3](case["shape"])
            values = code.dequantize_nf4(result, absmax, shape, case["block_size"])
            record("values", values)
            record("after", [result, absmax])
            for dtype in (torch.float16, torch.bfloat16, torch.float64):
                with record.step(str(dtype).removeprefix("torch.")):
                    record("values", code.dequantize_nf4(result, absmax, shape, case["block_size"], dtype))
            with record.step("again"):
                again, absmax = code.quantize_nf4(values, case["block_size"])
                record("packed", again)
                record("absmax", absmax)
    for i, case in enumerate(given["weights"]):
        with record.step(f"round{i}"):
            result, absmax = code.quantize_nf4(case["w"], case["block_size"])
            record("values", code.dequantize_nf4(result, absmax, tuple(case["shape"]), case["block_size"]))


def held(layer):
    """All tensors that the layer can reach through its attributes."""
    found, seen, todo = [], set(), [layer]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            todo += list(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            todo += list(value)
        elif callable(value) and getattr(value, "__closure__", None):
            todo += [cell.cell_contents for cell in value.__closure__]
        elif (
            not isinstance(value, type) and hasattr(value, "__dict__") and hasattr(type(value), "__module__")
        ):
            if isinstance(value, nn.Module) or type(value).__module__ == type(layer).__module__:
                todo += list(vars(value).values())
    return found


def weigh(layer, record, name):
    tensors = held(layer)
    record(name, sum(t.numel() * t.element_size() for t in tensors))
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    record(f"{name}_stored", sum(storages.values()))


def probe_layer(code, given, record):
    for i, case in enumerate(given["linear"]):
        with record.step(i):
            base = filled_linear(case["w"], case["bias"])
            before = [p.detach().clone() for p in base.parameters()]
            layer = code.NF4Linear(base, case["block_size"])
            for k, x in enumerate(case["x"]):
                with record.step(k):
                    record("out", layer(x))
            record("trainable", [name for name, p in layer.named_parameters() if p.requires_grad])
            record("tracked", any(t.requires_grad for t in held(layer)))
            record("attached", layer(case["x"][1]).requires_grad)
            record("base", [before, list(base.parameters())])
            record("base_flags", [p.requires_grad for p in base.parameters()])
    with record.step("default"):
        case = given["linear"][0]
        record("out", code.NF4Linear(filled_linear(case["w"], case["bias"]))(case["x"][1]))


def probe_dtypes(code, given, record):
    for i, case in enumerate(given["linear"]):
        for of_base in (torch.float32, torch.bfloat16):
            for of_x in (torch.float32, torch.bfloat16, torch.float64):
                with record.step(f"{i}/{str(of_base)[6:]}/{str(of_x)[6:]}"):
                    layer = code.NF4Linear(
                        filled_linear(case["w"], case["bias"], of_base), case["block_size"]
                    )
                    record("out", layer(case["x"][2].to(of_x)))


def probe_memory(code, given, record):
    for i, case in enumerate(given["linear"]):
        with record.step(i):
            base = filled_linear(case["w"], case["bias"])
            alive = weakref.ref(base), weakref.ref(base.weight)
            layer = code.NF4Linear(base, case["block_size"])
            del base
            if any(ref() is not None for ref in alive):
                gc.collect()
            record("alive", [ref() is not None for ref in alive])
            weigh(layer, record, "fresh")
            # A forward pass without a graph is told where gradients are looked at.
            with record.step("backward"):
                layer(case["x"][1].clone().requires_grad_()).sum().backward()
            with torch.no_grad():
                layer(case["x"][1])
            weigh(layer, record, "used")


def probe_gradient(code, given, record):
    for i, case in enumerate(given["linear"]):
        with record.step(i):
            layer = code.NF4Linear(filled_linear(case["w"], case["bias"]), case["block_size"])
            for name in ("x", "x_eval"):
                layer.train(name == "x")
                x = case["x"][2].clone().requires_grad_()
                layer(x).backward(case["upstream"])
                record(name, x.grad)


def probe_state(code, given, record):
    for i, case in enumerate(given["linear"]):
        with record.step(i):
            layer = code.NF4Linear(filled_linear(case["w"], case["bias"]), case["block_size"])
            other = code.NF4Linear(filled_linear(case["other"], case["other_bias"]), case["block_size"])
            state = {
                key: value.clone() if isinstance(value, torch.Tensor) else value
                for key, value in layer.state_dict().items()
            }
            other.load_state_dict(state)
            record("out", other(case["x"][1]))


def probe_errors(code, given, record):
    good = torch.linspace(-1.0, 1.0, 24, device=record.device).view(4, 6)
    for name, bad in (("inf", float("inf")), ("minus_inf", -float("inf")), ("nan", float("nan"))):
        spoiled = good.clone()
        spoiled[2, 3] = bad
        record.raises(name, lambda w=spoiled: code.quantize_nf4(w, 8))
        record.raises(f"{name}_half", lambda w=spoiled: code.quantize_nf4(w.to(torch.bfloat16), 8))
    both = good.clone()
    both[1, 1], both[2, 3] = float("inf"), -float("inf")
    record.raises("both", lambda: code.quantize_nf4(both, 8))
    only = torch.full((2, 2), float("nan"), device=record.device)
    record.raises("nan_only", lambda: code.quantize_nf4(only))
    for name, size in (("zero", 0), ("negative", -3)):
        record.raises(f"block_{name}", lambda size=size: code.quantize_nf4(good, size))
    record.raises("layer", lambda: code.NF4Linear(nn.Linear(6, 4, device=record.device), 0))
    result = torch.full((12,), 0x77, dtype=torch.uint8, device=record.device)
    absmax = torch.ones(3, device=record.device)
    calls = {
        "larger": ((5, 6), 8),
        "smaller": ((3, 6), 8),
        "one_row_of_blocks": ((24, 2), 8),
        "same_blocks_fewer_bytes": ((2, 11), 8),
        "one_element_more": ((5, 5), 9),
        "other_block_size": ((4, 6), 4),
        "larger_block_size": ((4, 6), 64),
    }
    for name, (shape, size) in calls.items():
        record.raises(
            f"shape_{name}", lambda shape=shape, size=size: code.dequantize_nf4(result, absmax, shape, size)
        )
    record.raises("absmax_long", lambda: code.dequantize_nf4(result, torch.cat([absmax, absmax]), (4, 6), 8))
    record.raises("absmax_one", lambda: code.dequantize_nf4(result, absmax[:1], (4, 6), 8))
    record.raises("packed_long", lambda: code.dequantize_nf4(torch.cat([result, result]), absmax, (4, 6), 8))
    with record.step("huge"):
        result_huge, absmax_huge = code.quantize_nf4(torch.full_like(good, 2e38), 8)
        record("packed", result_huge)
        record("absmax", absmax_huge)
    with record.step("limits"):
        record("out", code.dequantize_nf4(result, absmax, (4, 6), 8))
