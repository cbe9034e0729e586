import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from quizapp.judge.testing.memory import MemoryGauge
from quizapp.judge.testing.traffic import close_side_channels

gauge = MemoryGauge()
close_side_channels()

B, HEADS, DIM = 2, 3, 5


def qkv(draw, queries, keys, dim=DIM, scale=1.0, dtype=torch.float32):
    return {
        "q": draw.normal(B, HEADS, queries, dim, scale=scale, dtype=dtype),
        "k": draw.normal(B, HEADS, keys, dim, scale=scale, dtype=dtype),
        "v": draw.normal(B, HEADS, keys, dim, shift=0.5, dtype=dtype),
    }


def large(draw, *signs):
    """Scaled scores of sign * 1e4 (by query) plus small ones, all exact in float32 (dim 4: divided by 2)."""
    queries, keys = 3, 6
    q, k = torch.zeros(1, 1, queries, 4), torch.zeros(1, 1, keys, 4)
    q[..., 0], q[..., 3] = 100.0 * torch.tensor(signs), torch.tensor([1.0, 2.0, -1.0])
    k[..., 0] = 200.0
    k[..., 3] = draw.permutation(keys).float() / 2
    return {"q": q, "k": k, "v": draw.normal(1, 1, keys, 4)}


def huge(draw):
    """Scores of 135000 and a little more: exact in float32, infinite in float16, all equal in bfloat16."""
    steps = draw.permutation(5).float()
    q, k = torch.full((1, 1, 3, 4), 300.0), torch.full((1, 1, 5, 4), 300.0)
    q[..., 3], k[..., 3] = 0.25, 16 * steps
    return {"q": q, "k": k, "v": (3 * steps[:, None] + draw.rand(5, 4))[None, None]}


def inputs(draw):
    lengths = draw.shuffled([1, 3, 4, 1, 6])
    total = sum(lengths)
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    half = qkv(draw, 4, 127, scale=0.3, dtype=torch.bfloat16)
    half["v"] = torch.cat(
        [torch.ones(B, HEADS, 64, DIM), 1.4 + draw.rand(B, HEADS, 63, DIM, high=0.05)], dim=2
    ).to(torch.bfloat16)
    return {
        "block": qkv(draw, 7, 6),
        "single": qkv(draw, 3, 1),
        "double": qkv(draw, 7, 6, dtype=torch.float64),
        "merged": qkv(draw, 6, 9),
        "cut": draw.integer(2, 4),
        "up": large(draw, 1, 1, 1),
        "signs": large(draw, 1, -1, 1),
        "huge": huge(draw),
        "many": {name: draw.normal(1, 1, n, DIM) for name, n in (("q", 1), ("k", 120), ("v", 120))},
        "down": large(draw, -1, -1, -1),
        "ring": qkv(draw, 6, total),
        "ring_double": qkv(draw, 6, total, dtype=torch.float64),
        "lengths": lengths,
        "starts": starts,
        "orders": [
            list(range(len(lengths))),
            list(range(len(lengths)))[::-1],
            draw.shuffled(range(len(lengths))),
        ],
        "q_start": draw.integer(6, 8),
        "half": half,
        # Small: divided by the smallest float, as some guards do where nothing is seen, it must not overflow.
        "grad": draw.rand(B, HEADS, 6, DIM, low=-0.1, high=0.1),
        # lse of two results, with empty ones in each
        "lse": [draw.normal(B, HEADS, 6), draw.normal(B, HEADS, 6)],
    }


def tensors(case):
    """Copies, so that what is changed in place is told by the test of that alone."""
    return case["q"].clone(), case["k"].clone(), case["v"].clone()


CAUSAL = [(0, 0), (4, 2), (2, 4), (9, 0), (3, 8), (6, 2), (7, 2)]  # q_start, k_start for 7 queries and 6 keys


def probe_block(code, given, record):
    for name in ("block", "single", "double"):
        with record.step(name):
            out, lse = code.block_attention(*tensors(given[name]))
            record("out", out)
            record("lse", lse)
    for i, (q_start, k_start) in enumerate(CAUSAL):
        with record.step(f"causal{i}"):
            out, lse = code.block_attention(
                *tensors(given["block"]), causal=True, q_start=q_start, k_start=k_start
            )
            record("out", out)
            record("lse", lse)
    with record.step("strided"):  # heads that come out of a projection lie behind the positions
        turned = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in tensors(given["block"]))
        out, lse = code.block_attention(*turned)
        record("out", out)
        record("lse", lse)
    with record.step("default_starts"):
        out, lse = code.block_attention(*tensors(given["block"]), causal=True)
        record("out", out)
        record("lse", lse)
    with record.step("ignored"):
        out, lse = code.block_attention(*tensors(given["block"]), q_start=0, k_start=3)
        record("out", out)
        record("lse", lse)
    for name in ("up", "down", "signs"):
        for suffix, more in (("", {}), ("_causal", {"causal": True, "q_start": 2})):
            with record.step(name + suffix):
                out, lse = code.block_attention(*tensors(given[name]), **more)
                record("out", out)
                record("lse", lse)


def halves(code, case, cut, **more):
    q, k, v = tensors(case)
    first = code.block_attention(q, k[:, :, :cut], v[:, :, :cut], **more)
    return first, code.block_attention(
        q, k[:, :, cut:], v[:, :, cut:], **({**more, "k_start": cut} if more else {})
    )


def copied(pair):
    return [t.clone() for t in pair]


def probe_merge(code, given, record):
    with record.step("union"):
        a, b = halves(code, given["merged"], given["cut"])
        for name, (x, y) in (("ab", (a, b)), ("ba", (b, a))):
            out, lse = code.merge(*copied(x), *copied(y))
            record(f"{name}/out", out)
            record(f"{name}/lse", lse)
    q = given["merged"]["q"]
    with record.step("empty"):
        lse = given["lse"][0]
        empty = torch.zeros_like(q), torch.full_like(lse, -float("inf"))
        for name, (x, y) in (
            ("right", ((q, lse), empty)),
            ("left", (empty, (q, lse))),
            ("both", (empty, empty)),
        ):
            out, got = code.merge(*copied(x), *copied(y))
            record(f"{name}/out", out)
            record(f"{name}/lse", got)
    with record.step("mixed"):  # queries that saw something in both, one, or none of the results
        a, b = (lse.clone() for lse in given["lse"])
        a[..., 1], a[..., 3], b[..., 2], b[..., 3] = (-float("inf"),) * 4
        other = given["merged"]["v"][:, :, :6]
        first, second = (x * (lse != -float("inf"))[..., None] for x, lse in ((q, a), (other, b)))
        out, lse = code.merge(first, a, second, b)
        record("out", out)
        record("lse", lse)
    with record.step("large"):
        a, b = (lse.clone() for lse in given["lse"])
        a[..., 0], b[..., 0] = 1e4, 1e4 - 1
        a[..., 1], b[..., 1] = -1e4, -1e4 - 1
        a[..., 2], b[..., 2] = 1e4, -1e4
        a[..., 3], b[..., 3] = -1e4, 1e4
        a[..., 4], b[..., 4] = -1e4, -float("inf")
        other = given["merged"]["v"][:, :, :6]
        out, lse = code.merge(q.clone(), a, other * (b != -float("inf"))[..., None], b)
        record("out", out)
        record("lse", lse)
    for name in ("up", "down"):
        with record.step(name):
            out, lse = code.merge(*halves(code, given[name], 2)[0], *halves(code, given[name], 2)[1])
            record("out", out)
            record("lse", lse)


def blocks(case, given, order):
    for i in order:
        start, length = given["starts"][i], given["lengths"][i]
        yield start, case["k"][:, :, start : start + length], case["v"][:, :, start : start + length]


def probe_ring(code, given, record):
    case, starts = given["ring"], given["starts"]
    for i, order in enumerate(given["orders"]):
        with record.step(f"full{i}"):
            record("out", code.ring_attention(case["q"].clone(), list(blocks(case, given, order))))
        with record.step(f"causal{i}"):
            source = list(blocks(case, given, order))
            q = case["q"].clone()
            record("out", code.ring_attention(q, source, causal=True, q_start=given["q_start"]))
        with record.step(f"start{i}"):  # q_start 0: most blocks lie in the future
            source = list(blocks(case, given, order))
            record("out", code.ring_attention(case["q"].clone(), source, causal=True))
    with record.step("whole"):
        record("out", code.ring_attention(case["q"].clone(), [(0, case["k"], case["v"])]))
    with record.step("blind"):  # without the first blocks some queries see nothing at all
        order = [i for i in given["orders"][2] if starts[i] + given["lengths"][i] > 3]
        record("order", order)
        source = list(blocks(case, given, order))
        record("out", code.ring_attention(case["q"].clone(), source, causal=True))
    with record.step("future"):
        order = [i for i in given["orders"][2] if starts[i] >= 1]
        q, source = case["q"][:, :, :1].clone(), list(blocks(case, given, order))
        record("out", code.ring_attention(q, source, causal=True, q_start=0))


class Buffer(bytearray):
    """Memory that tells when the last tensor on it is gone."""


def probe_memory(code, given, record):
    case = given["ring"]
    alive, asked, ended = [], [], []

    def source():
        seen = []
        for i in range(6):
            alive.append(
                [j for j, refs in enumerate(seen) if j <= i - 2 and any(ref() is not None for ref in refs)]
            )
            asked.append(i)
            refs, pair = [], []
            for name in ("k", "v"):
                values = case[name][:, :, 2 * i : 2 * i + 2].cpu().contiguous()
                buffer = Buffer(values.flatten().view(torch.uint8).numpy().tobytes())
                tensor = torch.frombuffer(buffer, dtype=torch.float32).view(values.shape).to(record.device)
                refs += [weakref.ref(tensor)] + ([weakref.ref(buffer)] if tensor.device.type == "cpu" else [])
                pair.append(tensor)
                del buffer, tensor, values
            seen.append(refs)
            block = (2 * i, *pair)
            pair.clear()
            yield block
            del block
        ended.append(len(asked))

    for causal in (False, True):
        with record.step(f"causal{int(causal)}"):
            for notes in (alive, asked, ended):
                notes.clear()
            with torch.no_grad():
                out = code.ring_attention(case["q"].clone(), source(), causal=causal, q_start=9)
            record("out", out)
            record("alive", [list(x) for x in alive])
            record("asked", list(asked))


class Living(TorchDispatchMode):
    """Counts the elements of all tensors that were made under it and still exist."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.made += [weakref.ref(t) for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        return out

    def elements(self):
        self.made = [ref for ref in self.made if ref() is not None]
        return sum(tensor.numel() for ref in self.made if (tensor := ref()) is not None)


def probe_growth(code, given, record):
    case, counts, living = given["many"], [], Living()

    def source():
        for start in range(0, 120, 3):
            counts.append(living.elements())
            yield start, *(case[name][:, :, start : start + 3].clone() for name in ("k", "v"))

    with torch.no_grad(), living:
        out = code.ring_attention(case["q"], source(), causal=True, q_start=200)
    record("out", out)
    record("most", max(counts))


def probe_occupied(code, given, record):
    """How much the occupied memory grows over twelve blocks of 2 MiB, in whatever form they are kept."""
    occupied = []

    def source():
        for i in range(16):
            if i in (3, 15):
                limit = occupied[0] + (1 << 20) if occupied else 0
                occupied.append(gauge.settled(limit) if limit else gauge.occupied())
            yield 4096 * i, *(torch.randn(1, 2, 4096, 32, device=record.device) for _ in "kv")

    with record.step("large"), torch.no_grad():
        code.ring_attention(torch.randn(1, 2, 2, 32, device=record.device), source())
    record("growth", [after - before for before, after in zip(occupied, occupied[1:], strict=False)])


def probe_gradients(code, given, record):
    case = given["ring"]
    for name, causal, q_start, keep in (
        ("full", False, 0, 0),
        ("causal", True, given["q_start"], 0),
        ("start", True, 0, 0),
        ("blind", True, 0, 3),
    ):
        with record.step(name):
            q = case["q"].clone().requires_grad_()
            parts = []
            for i in given["orders"][1]:  # the last keys come first
                start, length = given["starts"][i], given["lengths"][i]
                if start + length > keep:
                    part = [
                        case[n][:, :, start : start + length].clone().requires_grad_() for n in ("k", "v")
                    ]
                    parts.append((start, *part))
            out = code.ring_attention(q, parts, causal=causal, q_start=q_start)
            (out * given["grad"]).sum().backward()
            record("q", q.grad)
            for start, k, v in parts:
                record(f"k{start}", k.grad)
                record(f"v{start}", v.grad)


def probe_dtypes(code, given, record):
    half = given["half"]
    for dtype in (torch.bfloat16, torch.float16):
        with record.step(str(dtype).removeprefix("torch.")):
            q, k, v = (t.to(dtype) for t in tensors(half))
            out, lse = code.block_attention(q, k, v)
            record("out", out)
            record("lse", lse)
            cuts = [0, *range(64, 128)]
            pairs = [(a, k[:, :, a:b], v[:, :, a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]
            record("ring", code.ring_attention(q, pairs))
            record("causal", code.ring_attention(q, pairs, causal=True, q_start=126))
            a = code.block_attention(q, *pairs[0][1:])
            merged = code.merge(*a, *code.block_attention(q, *pairs[1][1:]))
            record("merged", list(merged))
        with record.step(f"mean_{str(dtype).removeprefix('torch.')}"):
            q, k, v = (t.to(dtype) for t in tensors(half))
            out, lse = code.block_attention(torch.zeros_like(q), k[:, :, 64:69], v[:, :, 64:69])
            record("out", out)
            record("lse", lse)
    for dtype in (torch.bfloat16, torch.float16):
        with record.step(f"huge_{str(dtype).removeprefix('torch.')}"):
            out, lse = code.block_attention(*(t.to(dtype) for t in tensors(given["huge"])))
            record("out", out)
            record("lse", lse)
    with record.step("double"):
        case = given["ring_double"]
        for i, order in enumerate(given["orders"]):
            source, q = list(blocks(case, given, order)), case["q"].clone()
            record(f"ring{i}", code.ring_attention(q, source, causal=True, q_start=given["q_start"]))


def probe_inputs(code, given, record):
    with record.step("kept"):
        case = given["ring"]
        parts = list(blocks(case, given, given["orders"][0]))
        results = [
            code.block_attention(case["q"], k, v, causal=True, q_start=4, k_start=s) for s, k, v in parts
        ]
        copies = [[t.clone() for t in result] for result in results]
        merged = code.merge(*results[0], *results[1])
        code.merge(*merged, *results[2])
        record("results", [list(result) for result in results])
        record("copies", copies)
        code.ring_attention(case["q"], parts, causal=True, q_start=4)
        with torch.no_grad():
            code.ring_attention(case["q"], parts, causal=True, q_start=4)
        record("case", case)
    record.raises("list", lambda: code.ring_attention(given["ring"]["q"], []))
    record.raises("generator", lambda: code.ring_attention(given["ring"]["q"], iter(()), causal=True))
