import math

import torch

from quizapp.judge.testing.checks import behaviour, close, expect

INF = math.inf
CAUSAL = [(0, 0), (4, 2), (2, 4), (9, 0), (3, 8), (6, 2), (7, 2)]


def visible(queries, keys, q_start=0, k_start=0):
    return torch.arange(k_start, k_start + keys) <= torch.arange(q_start, q_start + queries)[:, None]


def attention(q, k, v, mask=None, scale=None):
    """Output and lse in float64; 0 and -inf where the mask leaves nothing."""
    q, k, v = q.double(), k.double(), v.double()
    scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool) if mask is None else mask
    some = mask.any(-1)
    safe = torch.where(some[:, None], scores.masked_fill(~mask, -INF), torch.zeros_like(scores))
    out = torch.softmax(safe, -1) @ v * some[:, None]
    return out, torch.where(some, safe.logsumexp(-1), torch.full_like(scores[..., 0], -INF))


def tensors(case):
    return case["q"], case["k"], case["v"]


def check(observe, path, want, says, mistakes=(), atol=1e-5, lse_atol=None, call=""):
    close(
        observe[f"{path}/out"],
        want[0],
        says,
        rtol=0,
        atol=atol,
        device=observe.device,
        call=call,
        mistakes=[(text, value[0]) for text, value in mistakes],
    )
    close(
        observe[f"{path}/lse"],
        want[1],
        f"{says} (lse)",
        rtol=0,
        atol=lse_atol or atol,
        device=observe.device,
        call=call,
        mistakes=[(text, value[1]) for text, value in mistakes],
    )


@behaviour(1)
def test_block_attention(observe):
    for name in ("block", "single"):
        q, k, v = tensors(observe.given[name])
        out, lse = attention(q, k, v)
        top = (q @ k.mT / q.shape[-1] ** 0.5).amax(-1)
        check(
            observe,
            f"block/{name}",
            (out, lse),
            "block_attention is not softmax(q k^T / sqrt(dim)) v with its log-sum-exp.",
            [
                (
                    "Scores are divided by the square root of the head dimension.",
                    attention(q, k, v, scale=1.0),
                ),
                (
                    "Scores are divided by the square root of the head dimension, not by the dimension.",
                    attention(q, k, v, scale=1 / q.shape[-1]),
                ),
                ("lse lacks the maximum that was subtracted from the scores.", (out, lse - top)),
                ("lse is a natural logarithm.", (out, lse / math.log(2))),
                ("lse is the logarithm of the sum, not the sum of exponentials.", (out, lse.exp())),
            ],
            call=f"{q.shape[2]} queries, {k.shape[2]} keys, dim {q.shape[3]}",
        )


@behaviour(1, presumes=("block_attention",))
def test_transposed_heads(observe):
    if observe.error("block/strided") is not None:
        return  # views refused loudly are no wrong attention
    want = attention(*tensors(observe.given["block"]))
    check(observe, "block/strided", want, "For q, k and v that are transposed views the result is wrong.")


@behaviour(1)
def test_positions_matter_only_for_causal(observe):
    want = attention(*tensors(observe.given["block"]))
    check(
        observe, "block/ignored", want, "Without causal=True the positions must not matter.", call="k_start=3"
    )


@behaviour(2)
def test_causal_mask(observe):
    q, k, v = tensors(observe.given["block"])
    queries, keys = q.shape[2], k.shape[2]
    local = attention(q, k, v, visible(queries, keys))
    for i, (q_start, k_start) in enumerate(CAUSAL):
        if i == 4:
            continue  # nothing is seen there
        mistakes = [
            (
                "A query sees its own position too.",
                attention(q, k, v, visible(queries, keys, q_start - 1, k_start)),
            ),
            ("The causal mask is missing.", attention(q, k, v)),
        ]
        if q_start != k_start:
            text = "The mask compares positions in the whole sequence; a block does not start at 0."
            mistakes += [
                (text, local),
                (text, attention(q, k, v, visible(queries, keys, q_start, 0))),
                (text, attention(q, k, v, visible(queries, keys, 0, k_start))),
            ]
        path, seen = f"block/causal{i}", visible(queries, keys, q_start, k_start)
        some = seen.any(-1)
        want = attention(q, k, v, seen)
        for key, value in (("out", want[0]), ("lse", want[1])):
            got = observe.tensor(f"{path}/{key}")
            expect(got.shape == value.shape, f"{key} has the wrong shape.", f"{tuple(got.shape)}")
            close(
                got[:, :, some],
                value[:, :, some],
                "With causal=True a query sees the keys whose position is at most its own.",
                rtol=0,
                atol=1e-5,
                device=observe.device,
                call=f"q_start={q_start}, k_start={k_start}, 7 queries, 6 keys: {key}",
                mistakes=[(t, m[0 if key == "out" else 1][:, :, some]) for t, m in mistakes],
            )


@behaviour(2)
def test_positions_start_at_zero(observe):
    q, k, v = tensors(observe.given["block"])
    for key, want in zip(("out", "lse"), attention(q, k, v, visible(7, 6, 0, 0)), strict=True):
        close(
            observe[f"block/default_starts/{key}"],
            want,
            "q_start and k_start are 0 by default.",
            rtol=0,
            atol=1e-5,
            device=observe.device,
            call=f"block_attention(q, k, v, causal=True), 7 queries, 6 keys: {key}",
        )


@behaviour(3)
def test_queries_without_keys(observe):
    q, k, v = tensors(observe.given["block"])
    says = "This query sees nothing in this block: its share is 0 and its log-sum-exp minus infinity."
    for i in (2, 4):
        q_start, k_start = CAUSAL[i]
        blind = ~visible(7, 6, q_start, k_start).any(-1)
        for key, want in (("out", 0.0), ("lse", -INF)):
            got = observe.tensor(f"block/causal{i}/{key}")[:, :, blind]
            close(
                got,
                torch.full(got.shape, want),
                says,
                rtol=0,
                atol=0,
                call=f"q_start={q_start}, k_start={k_start}: {key}",
            )


@behaviour(4)
def test_merge_gives_the_union(observe):
    q, k, v = tensors(observe.given["merged"])
    cut = observe.given["cut"]
    a, b = attention(q, k[:, :, :cut], v[:, :, :cut]), attention(q, k[:, :, cut:], v[:, :, cut:])
    share, union = cut / k.shape[2], attention(q, k, v)
    text = "Two partial results are weighted by their share of the softmax denominator, not by their length."
    for name in ("ab", "ba"):
        check(
            observe,
            f"merge/union/{name}",
            union,
            "merge does not give the result over the union of the keys.",
            [
                (
                    "Two partial results are weighted by their share of the softmax denominator.",
                    ((a[0] + b[0]) / 2, union[1]),
                ),
                (
                    "Each partial result got the weight of the other one.",
                    (
                        a[0] * (b[1] - union[1]).exp()[..., None] + b[0] * (a[1] - union[1]).exp()[..., None],
                        union[1],
                    ),
                ),
                (text, (share * a[0] + (1 - share) * b[0], union[1])),
                (
                    "The log-sum-exp of the union is that of both denominators added.",
                    (a[0], torch.maximum(a[1], b[1])),
                ),
                ("The log-sum-exp of the union is that of both denominators added.", (a[0], a[1] + b[1])),
            ],
            call=f"blocks of {cut} and {k.shape[2] - cut} keys, {'first, second' if name == 'ab' else 'second, first'}",
        )


@behaviour(4)
def test_merge_with_empty_results(observe):
    q, lse = observe.given["merged"]["q"].double(), observe.given["lse"][0].double()
    empty = torch.zeros_like(q), torch.full_like(lse, -INF)
    for name in ("right", "left"):
        check(
            observe,
            f"merge/empty/{name}",
            (q, lse),
            "Merging with an empty result (0, -inf) should change nothing.",
            call=f"the empty result on the {name}",
        )
    for key, want in (("out", empty[0]), ("lse", empty[1])):
        got = observe.tensor(f"merge/empty/both/{key}")
        close(
            got,
            want,
            "-inf minus -inf is NaN: guard the maximum before subtracting it."
            if bool(torch.isnan(got).any())
            else "Two empty results should give an empty one.",
            rtol=0,
            atol=0,
            call=f"two empty results: {key}",
        )


def merged(a, lse_a, b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    safe = torch.where(lse == -INF, 0.0, lse)
    return torch.exp(lse_a - safe)[..., None] * a + torch.exp(lse_b - safe)[..., None] * b, lse


@behaviour(4)
def test_merge_with_some_empty_queries(observe):
    a, b = (lse.double().clone() for lse in observe.given["lse"])
    a[..., 1], a[..., 3], b[..., 2], b[..., 3] = (-INF,) * 4
    first = observe.given["merged"]["q"].double() * (a != -INF)[..., None]
    second = observe.given["merged"]["v"][:, :, :6].double() * (b != -INF)[..., None]
    want = merged(first, a, second, b)
    check(observe, "merge/mixed", want, "Where only some queries saw keys, the merged result is wrong.")


@behaviour(5)
def test_large_scores_in_a_block(observe):
    for name, text in (
        ("up", "10000"),
        ("down", "-10000"),
        ("signs", "10000 for some queries and -10000 for others"),
    ):
        for suffix, mask in (("", None), ("_causal", visible(3, 6, 2))):
            finite = bool(torch.isfinite(observe.tensor(f"block/{name}{suffix}/out")).all())
            says = "exp(10000) overflows: subtract the maximum of the scores first."
            if finite:
                says = "With large scores block_attention is not exact."
                if name == "signs":
                    says = "With large scores of both signs it is not exact: every query subtracts its own maximum."
                elif mask is not None:
                    says = (
                        "With large scores and causal=True it is not exact: a hidden score is minus infinity."
                    )
            check(
                observe,
                f"block/{name}{suffix}",
                attention(*tensors(observe.given[name]), mask),
                says,
                atol=3e-3,
                lse_atol=5e-3,
                call=f"scaled scores around {text}" + (", causal=True, q_start=2" if suffix else ""),
            )


@behaviour(5, presumes=("merge_gives_the_union",))
def test_large_lse_in_merge(observe):
    says = "exp(10000) overflows: subtract the larger log-sum-exp first."
    a, b = (lse.double().clone() for lse in observe.given["lse"])
    for i, (x, y) in enumerate([(1e4, 1e4 - 1), (-1e4, -1e4 - 1), (1e4, -1e4), (-1e4, 1e4), (-1e4, -INF)]):
        a[..., i], b[..., i] = x, y
    second = observe.given["merged"]["v"][:, :, :6].double() * (b != -INF)[..., None]
    want = merged(observe.given["merged"]["q"].double(), a, second, b)
    check(observe, "merge/large", want, says, atol=5e-3, lse_atol=5e-3, call="lse of plus and minus 1e4")
    for name in ("up", "down"):
        want = attention(*tensors(observe.given[name]))
        check(
            observe,
            f"merge/{name}",
            want,
            says,
            atol=5e-3,
            lse_atol=5e-3,
            call="two blocks with scores around 1e4",
        )


def whole(observe, case, *, causal=False, q_start=0, keep=None, queries=None):
    """Attention of the ring's queries to the blocks in ``keep`` (all by default)."""
    given = observe.given
    q, k, v = tensors(given[case])
    q = q if queries is None else q[:, :, :queries]
    mask = (
        visible(q.shape[2], k.shape[2], q_start)
        if causal
        else torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    )
    if keep is not None:
        here = torch.zeros(k.shape[2], dtype=torch.bool)
        for i in keep:
            here[given["starts"][i] : given["starts"][i] + given["lengths"][i]] = True
        mask = mask & here
    return attention(q, k, v, mask)[0]


@behaviour(6)
def test_ring_equals_full_attention(observe):
    want = whole(observe, "ring")
    lengths = observe.given["lengths"]
    for i, order in enumerate(observe.given["orders"]):
        close(
            observe[f"ring/full{i}/out"],
            want,
            "ring_attention differs from attention over all keys.",
            rtol=0,
            atol=1e-5,
            device=observe.device,
            call=f"blocks of {[lengths[j] for j in order]} keys",
        )
    close(
        observe["ring/whole/out"],
        want,
        "With a single block ring_attention is wrong.",
        rtol=0,
        atol=1e-5,
        device=observe.device,
    )


@behaviour(6)
def test_causal_ring(observe):
    starts = observe.given["starts"]
    for step, q_start in (("causal", observe.given["q_start"]), ("start", 0)):
        want = whole(observe, "ring", causal=True, q_start=q_start)
        for i, order in enumerate(observe.given["orders"]):
            got = observe.tensor(f"ring/{step}{i}/out")
            nan = bool(torch.isnan(got).any())
            close(
                got,
                want,
                "The first block to arrive may be entirely masked."
                if nan
                else "With causal=True ring_attention differs from causal attention over all keys.",
                rtol=0,
                atol=1e-5,
                device=observe.device,
                call=f"q_start={q_start}, blocks arrive with k_start {[starts[j] for j in order]}",
                mistakes={"The causal mask is missing.": whole(observe, "ring")},
            )


@behaviour(6)
def test_queries_that_see_nothing_at_all(observe):
    order = [
        i for i in observe.given["orders"][2] if observe.given["starts"][i] + observe.given["lengths"][i] > 3
    ]
    close(
        observe["ring/blind/out"],
        whole(observe, "ring", causal=True, keep=order),
        "A query that sees no key at all should get 0.",
        rtol=0,
        atol=1e-5,
        device=observe.device,
        call="causal, without the first blocks of the sequence",
    )
    got = observe.tensor("ring/future/out")
    expect(got.shape[2] == 1, "The output should have the shape of q.")
    close(
        got,
        torch.zeros(got.shape),
        "A query that sees no key at all should get 0.",
        rtol=0,
        atol=0,
        call="all blocks in the future",
    )


@behaviour(7)
def test_blocks_are_released(observe):
    for causal in (0, 1):
        for i, held in enumerate(observe[f"memory/causal{causal}/alive"]):
            expect(
                not held,
                "All blocks were in memory together; the ring exists to avoid that.",
                f"when block {i} was asked for, blocks {held} were still alive",
            )


@behaviour(7)
def test_memory_does_not_grow(observe):
    (growth,) = observe["occupied/growth"]
    expect(
        growth < 8 << 20,
        "All blocks were in memory together, in some form; the ring exists to avoid that.",
        f"over twelve blocks of 2 MiB the occupied memory grew by {growth / 2**20:.1f} MiB",
    )


@behaviour(7)
def test_blocks_come_from_a_generator(observe):
    q, k, v = (t[:, :, :12] for t in tensors(observe.given["ring"]))
    for causal in (0, 1):
        expect(
            observe[f"memory/causal{causal}/asked"] == list(range(6)),
            "The blocks should be read once, all of them.",
            f"asked for {observe[f'memory/causal{causal}/asked']}",
        )
        close(
            observe[f"memory/causal{causal}/out"],
            attention(q, k, v, visible(q.shape[2], 12, 9) if causal else None)[0],
            "With blocks from a generator the result is wrong.",
            rtol=0,
            atol=1e-5,
            device=observe.device,
        )


@behaviour(7)
def test_blocks_do_not_pile_up(observe):
    q, k, v = tensors(observe.given["many"])
    close(
        observe["growth/out"],
        attention(q, k, v)[0],
        "With 40 blocks the result is wrong.",
        rtol=0,
        atol=1e-5,
        device=observe.device,
    )
    most = observe["growth/most"]
    # Copies of all blocks are 1200 elements, results of all blocks 240, the current ones below 100.
    expect(
        most < 700,
        "All blocks were in memory together, joined or copied; the ring exists to avoid that.",
        f"{most} elements of your tensors were alive when a block of 30 was asked for",
    )


@behaviour(8)
def test_gradients(observe):
    given = observe.given
    for name, causal, q_start, keep in (
        ("full", False, 0, 0),
        ("causal", True, given["q_start"], 0),
        ("start", True, 0, 0),
        ("blind", True, 0, 3),
    ):
        q, k, v = (t.double().clone().requires_grad_() for t in tensors(given["ring"]))
        mask = (
            visible(q.shape[2], k.shape[2], q_start)
            if causal
            else torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
        )
        spans = [(s, n) for s, n in zip(given["starts"], given["lengths"], strict=True) if s + n > keep]
        here = torch.zeros(k.shape[2], dtype=torch.bool)
        for start, length in spans:
            here[start : start + length] = True
        (attention(q, k, v, mask & here)[0] * given["grad"].double()).sum().backward()
        wanted = [("q", q.grad)]
        for start, length in spans:
            wanted += [(f"{n}{start}", t.grad[:, :, start : start + length]) for n, t in (("k", k), ("v", v))]
        for key, want in wanted:
            got = observe[f"gradients/{name}/{key}"]
            if got is None and not bool(want.any()):
                continue
            expect(isinstance(got, torch.Tensor), "An input got no gradient.", f"{key}, {name}")
            close(
                got,
                want,
                "A NaN that is masked after the fact still reaches the gradient: mask before the exponential."
                if not bool(torch.isfinite(got).all())
                else "A gradient differs from that of full attention.",
                rtol=1e-5,
                atol=1e-4,
                device=observe.device,
                call=f"gradient of {key}, {name}",
            )


@behaviour(
    9, presumes=("block_attention", "merge_gives_the_union", "ring_equals_full_attention", "causal_ring")
)
def test_half_precision_is_summed_in_float32(observe):
    for name in ("bfloat16", "float16"):
        dtype = getattr(torch, name)
        q, k, v = (t.to(dtype) for t in tensors(observe.given["half"]))
        for key, got in (
            ("block_attention", observe[f"dtypes/{name}/out"]),
            ("block_attention", observe[f"dtypes/{name}/lse"]),
            *(("merge", value) for value in observe[f"dtypes/{name}/merged"]),
        ):
            expect(
                isinstance(got, torch.Tensor) and got.dtype == torch.float32,
                f"For {name} {key} should return float32.",
                f"got {getattr(got, 'dtype', type(got).__name__)}",
            )
        out, lse = attention(q, k, v)
        close(
            observe[f"dtypes/{name}/out"],
            out,
            f"block_attention is inexact in {name}.",
            rtol=0.01,
            atol=0,
            device=observe.device,
        )
        says = "Rounding errors add up over the blocks: keep out and lse in float32, cast once at the end."
        close(
            observe[f"dtypes/{name}/lse"],
            lse,
            f"The sums of block_attention are rounded to {name}.",
            rtol=0,
            atol=4e-3,
            device=observe.device,
        )
        for key, want in (("ring", out), ("causal", attention(q, k, v, visible(4, 127, 126))[0])):
            got = observe.tensor(f"dtypes/{name}/{key}")
            expect(
                got.dtype == dtype, "ring_attention should return q's dtype.", f"got {got.dtype} for {dtype}"
            )
            close(got, want, says, rtol=0.01, atol=0, device=observe.device, call=f"64 blocks in {name}")


@behaviour(9)
def test_scores_are_summed_in_float32(observe):
    for name in ("bfloat16", "float16"):
        out, lse = attention(*(t.to(getattr(torch, name)) for t in tensors(observe.given["huge"])))
        for key, want, atol in (("out", out, 0.2), ("lse", lse, 0.2)):
            close(
                observe[f"dtypes/huge_{name}/{key}"],
                want,
                f"The products of q and k were summed in {name}: raise q and k to float32 first.",
                rtol=0,
                atol=atol,
                call=f"block_attention on {name} inputs with scores of 135000: {key}",
            )


@behaviour(9, presumes=("half_precision_is_summed_in_float32",))
def test_values_are_summed_in_float32(observe):
    for name in ("bfloat16", "float16"):
        q, k, v = (t.to(getattr(torch, name)) for t in tensors(observe.given["half"]))
        check(
            observe,
            f"dtypes/mean_{name}",
            attention(torch.zeros_like(q), k[:, :, 64:69], v[:, :, 64:69]),
            f"The values are summed in {name}: raise v to float32 before the product.",
            call=f"block_attention on {name} inputs with q = 0: the mean of 5 values",
        )


@behaviour(9, presumes=("causal_ring", "block_attention"))
def test_float64_stays_float64(observe):
    for key, want in zip(("out", "lse"), attention(*tensors(observe.given["double"])), strict=True):
        got = observe.tensor(f"block/double/{key}")
        expect(got.dtype == torch.float64, "float64 should stay float64.", f"{key} is {got.dtype}")
        close(got, want, "In float64 block_attention is inexact.", rtol=0, atol=1e-10, device=observe.device)
    want = whole(observe, "ring_double", causal=True, q_start=observe.given["q_start"])
    for i in range(len(observe.given["orders"])):
        got = observe.tensor(f"dtypes/double/ring{i}")
        expect(got.dtype == torch.float64, "float64 should stay float64.", f"got {got.dtype}")
        close(got, want, "In float64 ring_attention is inexact.", rtol=0, atol=1e-10, device=observe.device)


@behaviour(10)
def test_inputs_are_kept(observe):
    for key in ("q", "k", "v"):
        close(
            observe["inputs/kept/case"][key],
            observe.given["ring"][key],
            f"{key} was modified.",
            rtol=0,
            atol=0,
        )
    for result, copy in zip(observe["inputs/kept/results"], observe["inputs/kept/copies"], strict=True):
        for a, b in zip(result, copy, strict=True):
            close(a, b, "merge modified its inputs.", rtol=0, atol=0)


@behaviour(10)
def test_no_blocks_are_refused(observe):
    for name in ("list", "generator"):
        observe.raised(
            f"inputs/{name}", "ValueError", says="ring_attention without any block should be refused."
        )
