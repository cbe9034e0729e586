import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

PROJECTIONS = ("q", "k", "v", "o")
BASE = "The output is not causal multi-head attention of x."
SCALE = "Divide by the square root of head_dim: the variance of a score grows with head_dim."
ROWS = "Each query's weights must sum to 1 over the keys."
RESHAPE = "A plain reshape mixes tokens and heads."
ORDER = "Head h owns the features h * head_dim to (h + 1) * head_dim - 1: yours are interleaved."
MERGE = "The heads must be concatenated in order: yours are interleaved."
LABEL = "A token can read its own label: the loss will look far too good."
ITSELF = "Position t attends to itself too: your mask leaves it out."
ZEROS = "A masked score of 0 still gets weight exp(0): use -inf before the softmax."
PADDING = "The mask must remove padding keys: columns of the score matrix."
IGNORED = "pad_mask has no effect: padding keys still get weight."
OWN_ROW = "Every sample has its own padding: yours all use that of the first."
QUERIES = "A padding query that can see a real token is computed like any other: remove keys, not queries."
NAN = "A row of -inf gives NaN, and replacing NaN in the output can leave NaN in the gradient."
AVERAGE = "With all scores at -1e9 the row averages over padding and the future."
ROBIN = "Consecutive query heads share a key head; you paired them round-robin."
FIRST = "Every query head uses the first key and value head: the others are never read."
OUTPUT = "The heads are concatenated, but o_proj is not applied."


def attend(
    case,
    x=None,
    pad=None,
    *,
    scale="head",
    axis="keys",
    causal="right",
    split="heads",
    merge="heads",
    pair="blocks",
    pads="keys",
    empty="zero",
    output=True,
    weights=None,
):
    """The output in float64; the keywords select a mistake."""
    x = (case["x"] if x is None else x).double()
    w = weights or {name: case[name].double() for name in PROJECTIONS}
    (batch, length, width), heads, kv = x.shape, case["heads"], case["kv"]
    dim = width // heads

    def heads_of(name, count):
        features = x @ w[name].T
        if split == "reshape":
            return features.reshape(batch, count, length, dim)
        if split == "interleaved":
            return features.reshape(batch, length, dim, count).permute(0, 3, 1, 2)
        return features.reshape(batch, length, count, dim).transpose(1, 2)

    head = torch.arange(heads)
    source = {"blocks": head // (heads // kv), "robin": head % kv, "first": head * 0}[pair]
    q, k, v = heads_of("q", heads), heads_of("k", kv)[:, source], heads_of("v", kv)[:, source]
    factor = {
        "head": dim**-0.5,
        "none": 1.0,
        "model": width**-0.5,
        "linear": 1 / dim,
        "times": dim**0.5,
    }[scale]
    scores = q @ k.transpose(-2, -1) * factor
    ones = torch.ones(length, length, dtype=torch.bool)
    past = {
        "none": ones,
        "next": ones.tril(1),
        "strict": ones.tril(-1),
        "inverted": ones.triu(),
    }.get(causal, ones.tril())
    visible = past.expand(batch, 1, length, length)
    real = torch.ones(batch, length, dtype=torch.bool) if pad is None else ~pad
    keys = real[:, None, None, :]
    if pad is not None:
        visible = (
            visible
            & {
                "keys": keys,
                "ignored": torch.ones_like(keys),
                "inverted": ~keys,
                "queries": keys.transpose(-2, -1),
                "both": keys & keys.transpose(-2, -1),
                "first": keys[:1],
            }[pads]
        )
    some = visible.any(-1, keepdim=True)
    dimension = {"keys": -1, "queries": -2, "heads": 1}[axis]
    if causal == "zeros":
        weight = torch.softmax(scores * visible, dimension)
    elif causal == "zeroed":
        weight = torch.softmax(scores * visible, dimension) * visible
    elif causal == "after":
        weight = torch.softmax(scores, dimension) * visible
    elif axis != "keys" or empty == "nan":
        weight = torch.softmax(scores.masked_fill(~visible, -math.inf), dimension)
    else:
        weight = torch.softmax(scores.masked_fill(some & ~visible, -math.inf), -1) * some
        spread = {
            "zero": visible,
            "all": torch.ones_like(visible),
            "past": ones.tril().expand_as(visible),
            "future": keys.expand_as(visible),
            "one": ones.tril() ^ keys,
        }[empty].double()
        average = spread / spread.sum(-1, keepdim=True).clamp(min=1)
        weight = torch.where(some, weight, average.expand_as(weight))
    result = weight @ v
    if merge == "reshape":
        joined = result.reshape(batch, length, width)
    elif merge == "interleaved":
        joined = result.permute(0, 2, 3, 1).reshape(batch, length, width)
    else:
        joined = result.transpose(1, 2).reshape(batch, length, width)
    return joined @ w["o"].T if output else joined


def twists(case, pad=None):
    """Sentences and keywords of the mistakes that are possible for this case."""
    yield from (
        (SCALE, {"scale": "none"}),
        (SCALE, {"scale": "model"}),
        (SCALE, {"scale": "linear"}),
        (SCALE, {"scale": "times"}),
        (ROWS, {"axis": "queries"}),
        (ROWS, {"axis": "heads"}),
        (RESHAPE, {"split": "reshape"}),
        (RESHAPE, {"merge": "reshape"}),
        (RESHAPE, {"split": "reshape", "merge": "reshape"}),
        (ORDER, {"split": "interleaved"}),
        (ORDER, {"split": "interleaved", "merge": "interleaved"}),
        (MERGE, {"merge": "interleaved"}),
        (LABEL, {"causal": "none"}),
        (LABEL, {"causal": "next"}),
        (LABEL, {"causal": "inverted"}),
        (ITSELF, {"causal": "strict"}),
        (ITSELF, {"causal": "strict", "empty": "nan"}),
        (ZEROS, {"causal": "zeros"}),
        (ZEROS, {"causal": "zeroed"}),
        (ZEROS, {"causal": "after"}),
        (OUTPUT, {"output": False}),
    )
    if case["kv"] < case["heads"]:
        yield ROBIN, {"pair": "robin"}
        yield FIRST, {"pair": "first"}
    if pad is not None:
        yield from (
            (PADDING, {"pads": "inverted"}),
            (IGNORED, {"pads": "ignored"}),
            (PADDING, {"pads": "queries"}),
            (OWN_ROW, {"pads": "first"}),
            (QUERIES, {"pads": "both"}),
        )


def mistakes(case, x=None, pad=None, rows=slice(None)):
    """The values of all mistakes, computed only when an output is wrong; `rows` selects what is compared."""
    for sentence, keywords in twists(case, pad):
        yield sentence, attend(case, x, pad, **keywords)[rows]
        if keywords.get("pads") in ("inverted", "queries", "first", "both"):
            yield sentence, attend(case, x, pad, empty="nan", **keywords)[rows]


def call(case, x=None, pad=None):
    x = case["x"] if x is None else x
    kv = f", n_kv_heads={case['kv']}" if case["kv"] < case["heads"] else ""
    mask = " with a pad_mask" if pad is not None else ""
    return f"CausalSelfAttention({x.shape[-1]}, {case['heads']}{kv}) on x of shape {tuple(x.shape)}{mask}"


def check(observe, path, case, says, x=None, pad=None, rows=slice(None), atol=1e-5, want=None):
    got = observe.tensor(path)
    right = attend(case, x, pad) if want is None else want
    for sentence in (says, BASE):
        try:
            expect(
                got.shape == right.shape,
                sentence,
                f"got shape {tuple(got.shape)}, expected {tuple(right.shape)}",
            )
            close(
                got[rows],
                right[rows],
                sentence,
                rtol=0.0,
                atol=atol,
                device=observe.device,
                call=call(case, x, pad),
                mistakes=mistakes(case, x, pad, rows),
            )
        except AssertionError:
            if sentence == BASE or sound(observe):
                raise
        else:
            return


def sound(observe):
    """Whether plain causal attention is right; if not, no later sentence may blame something else."""
    atol = 1e-5 if observe.device == "cpu" else 4e-5
    for i, case in enumerate([*observe.given["cases"], observe.given["single"]]):
        path = f"formula/{i}/out"
        got = observe[path] if path in observe else None
        if not isinstance(got, torch.Tensor) or got.shape != case["x"].shape:
            return False
        if not torch.isclose(got.double(), attend(case), rtol=0, atol=atol).all():
            return False
    return True


def named(observe, path, case, says, x=None):
    """The sentence of the mistake that the output of this call shows, or `says` if plain attention is right."""
    says = says if sound(observe) else BASE
    got = observe.tensor(path).double()
    for sentence, keywords in twists(case):
        wrong = attend(case, x, **keywords)
        if got.shape == wrong.shape and torch.isclose(got, wrong, rtol=0, atol=1e-4, equal_nan=True).all():
            return sentence
    return says


@behaviour(1)
def test_formula(observe):
    for i, case in enumerate([*observe.given["cases"], observe.given["single"]]):
        check(observe, f"formula/{i}/out", case, BASE)


@behaviour(2)
def test_later_tokens_change_nothing(observe):
    case = observe.given["causal"]
    before = observe.tensor("causal/same/out")
    for cut in observe.given["cuts"]:
        for name in ("other", "far"):
            after = observe.tensor(f"causal/same/{name}{cut}")
            expect(before.shape == after.shape == case["x"].shape, "The output must have the shape of x.")
            first, later = before[:, : cut + 1], after[:, : cut + 1]
            if not torch.isclose(first, later, rtol=0, atol=1e-6, equal_nan=False).all():
                default = "Outputs change with tokens that come later."
                if not torch.isfinite(first).all() or not torch.isfinite(later).all():
                    default = "Outputs up to a position are not finite."
                says = named(observe, "causal/same/out", case, default)
                close(later, first, says, rtol=0, atol=1e-6, call=f"tokens after position {cut} changed")


@behaviour(2)
def test_later_tokens_get_no_gradient(observe):
    case = observe.given["causal"]
    for cut in observe.given["cuts"]:
        grad = observe.tensor(f"causal/gradient/x{cut}", "No gradient reaches x.")
        expect(grad.shape == case["x"].shape, "The gradient must have the shape of x.")
        if not (grad[:, cut + 1 :] == 0).all():
            says = "Later tokens get a gradient from earlier outputs: it must be exactly 0."
            if "causal/same/out" in observe and not sound(observe):
                says = named(observe, "causal/same/out", case, says)
                says = says if says != BASE else "Earlier outputs depend on later tokens."
            expect(False, says, f"gradient of the outputs up to position {cut}")


@behaviour(12)
def test_later_tokens_under_large_scores(observe):
    case = observe.given["negative"]
    before = observe.tensor("causal/negative/out")
    if not torch.isfinite(before).all():
        return  # the test of large scores has the details
    for cut in observe.given["cuts"]:
        after = observe.tensor(f"causal/negative/other{cut}")
        expect(before.shape == after.shape == case["x"].shape, "The output must have the shape of x.")
        if not torch.isclose(after[:, : cut + 1], before[:, : cut + 1], rtol=0, atol=1e-6).all():
            says = (
                "With scores of about -15,000, outputs change with later tokens: masked scores must be lower."
            )
            says = named(observe, "causal/same/out", observe.given["causal"], says)
            close(
                after[:, : cut + 1],
                before[:, : cut + 1],
                says,
                rtol=0,
                atol=1e-6,
                call=f"tokens after position {cut} changed",
            )


@behaviour(3)
def test_any_shape_in_any_order(observe):
    for i, x in enumerate(observe.given["shapes"]):
        case = observe.given["batch"]
        path = f"shapes/alone{i}/out"
        check(observe, path, case, "The output is wrong for this number of samples or tokens.", x=x)
        error = observe.error(f"shapes/one_module/{i}")
        if error is not None and f"shapes/one_module/{i}" not in observe:
            expect(False, "A module that has seen another B or T fails on the next one.", str(error))
        says = "A module that has seen another B or T gives a wrong output: keep nothing of an earlier call."
        close(
            observe.tensor(f"shapes/one_module/{i}"),
            attend(case, x),
            says if f"shapes/alone{i}/out" in observe else BASE,
            rtol=0,
            atol=1e-5,
            device=observe.device,
            call=call(case, x),
        )


@behaviour(3)
def test_samples_are_independent(observe):
    case = observe.given["batch"]
    check(observe, "shapes/samples/out", case, "The output is wrong for a batch of three.")
    for sample in range(3):
        x = case["other"].clone()
        x[sample] = case["x"][sample]
        check(
            observe,
            f"shapes/samples/other{sample}",
            case,
            "The output of a sample changes with the other samples of the batch.",
            x=x,
            rows=slice(sample, sample + 1),
        )


@behaviour(3)
def test_long_sequence(observe):
    case = observe.given["long"]
    length = case["x"].shape[1]
    error = observe.error("long")
    if error is not None and "formula/0/out" in observe:
        expect(False, "The module fails on a sequence longer than its mask.", f"T = {length}: {error}")
    got = observe.tensor("long/out")
    expect(got.shape == case["x"].shape, "The output of a long sequence has the wrong shape.")
    q, k, v, o = (case[name].double() for name in PROJECTIONS)
    x = case["x"][0].double()
    rows = torch.tensor([0, 1, length // 2, length - 2, length - 1])
    scores = (x[rows] @ q.T) @ (x @ k.T).T / math.sqrt(2)
    scores = scores.masked_fill(torch.arange(length) > rows[:, None], -math.inf)
    want = torch.softmax(scores, -1) @ (x @ v.T) @ o.T
    if not torch.isclose(got[0, rows].double(), want, rtol=0, atol=1e-5).all():
        says = named(
            observe, "formula/0/out", observe.given["cases"][0], "The output of a long sequence is wrong."
        )
        close(got[0, rows], want, says, rtol=0, atol=1e-5, device=observe.device, call=f"T = {length}")


def compare_gradients(observe, path, case, pad=None, where=""):
    """The gradients at `path` against those of the formula."""
    leaves = {name: case[name].double().requires_grad_() for name in PROJECTIONS}
    x = case["x"].double().requires_grad_()
    (attend(case, x, pad, weights=leaves) * case["up"].double()).sum().backward()
    for name, leaf in (("x", x), *leaves.items()):
        what = "x" if name == "x" else f"{name}_proj.weight"
        got = observe[f"{path}/{name}"]
        if got is None and not leaf.grad.any():
            continue  # nothing is seen, so nothing needs a gradient
        close(
            observe.tensor(f"{path}/{name}", f"No gradient reaches {what}{where}."),
            leaf.grad,
            f"The gradient to {what} is wrong{where}.",
            rtol=1e-3,
            atol=1e-4,
            device=observe.device,
            call=call(case, None, pad),
        )


@behaviour(4, on_error="The output must be differentiable.")
def test_gradients(observe):
    for i, case in enumerate(observe.given["cases"]):
        check(observe, f"gradients/{i}/out", case, BASE)
        compare_gradients(observe, f"gradients/{i}", case)
        compare_gradients(observe, f"gradients/eval{i}", case, where=" in eval mode")


@behaviour(4)
def test_modes_agree(observe):
    for i, case in enumerate(observe.given["cases"]):
        path = f"gradients/modes{i}"
        if sound(observe):
            check(observe, f"{path}/eval", case, "The output is wrong in eval mode.")
        got = observe.tensor(f"{path}/eval")
        right = (
            got.shape == case["x"].shape
            and torch.isclose(got.double(), attend(case), rtol=0, atol=4e-5).all()
        )
        for name in ("train", "again"):
            close(
                observe[f"{path}/{name}"],
                attend(case),
                "Train and eval mode must give the same output: there is no dropout." if right else BASE,
                rtol=0,
                atol=1e-5,
                device=observe.device,
                call=f"{call(case)} in train mode",
                mistakes=mistakes(case),
            )


def seeing(case):
    """Which queries (B, T) see at least one real token."""
    return (~case["pad"]).cumsum(1) > 0


@behaviour(5)
def test_padding_is_not_attended(observe):
    for i, case in enumerate(observe.given["padded"]):
        pad = case["pad"]
        says = "Outputs at real tokens differ from those of the sequence without its padding."
        for path in (f"padding/{i}/out", f"padding/alone{i}/out"):
            check(observe, path, case, says, pad=pad, rows=~pad)
        says = "What stands at padding changes the outputs at real tokens."
        check(observe, f"padding/{i}/other", case, says, x=case["other"], pad=pad, rows=~pad)


@behaviour(5)
def test_padding_queries_that_see_a_token(observe):
    for i, case in enumerate(observe.given["padded"]):
        pad, got = case["pad"], observe.tensor(f"padding/{i}/out")
        expect(got.shape == case["x"].shape, "The output must have the shape of x.")
        right = torch.isclose(got.double(), attend(case, None, pad), rtol=0, atol=1e-5)[~pad].all()
        says = "A padding query that can see a real token is computed like any other."
        if not right:
            says = "Outputs at real tokens differ from those of the sequence without its padding."
        check(observe, f"padding/{i}/out", case, says, pad=pad, rows=seeing(case))


@behaviour(5)
def test_mask_without_padding(observe):
    for i, case in enumerate(observe.given["padded"]):
        for name in ("out", "without"):
            says = "A pad_mask without any True changes the output."
            if name == "without":
                says = "The output is wrong without a pad_mask."
            check(observe, f"padding/none{i}/{name}", case, says)


def padded_cases(observe):
    yield from ((f"padding/gradient{i}", case, case["pad"]) for i, case in enumerate(observe.given["padded"]))
    case = observe.given["nobody"]
    yield "padding/nobody", case, torch.ones(case["x"].shape[:2], dtype=torch.bool)


@behaviour(6)
def test_queries_without_a_key_give_zero(observe):
    for path, case, pad in padded_cases(observe):
        got = observe.tensor(f"{path}/out")
        expect(got.shape == case["x"].shape, "The output must have the shape of x.")
        blind = (~pad).cumsum(1) == 0
        rows = got[blind].double()
        expect(not rows.isnan().any(), NAN, "the output of a query that sees no real token is NaN")
        known = [
            (AVERAGE, attend(case, None, pad, empty=name)[blind]) for name in ("all", "past", "future", "one")
        ]
        expect_no_mistake(rows, [*known, *mistakes(case, None, pad, blind)])
        close(
            rows,
            torch.zeros_like(rows),
            "A query that can see no real token must give exactly zero.",
            rtol=0,
            atol=0,
            call=call(case, None, pad),
        )
    case = observe.given["lone"]
    if sound(observe):  # else T = 1 may be wrong without a mask too
        close(
            observe.tensor("padding/lone/out"),
            attend(case, None, case["pad"]),
            "With T = 1 the mask counts too: a lone token that is padding sees nothing and gives zero.",
            rtol=0,
            atol=1e-5,
            device=observe.device,
            call=call(case, None, case["pad"]),
        )


def expect_no_mistake(rows, known):
    """Fail with the sentence of the mistake that these rows show within rounding."""
    for text, value in known:
        if value.abs().max() > 1e-3 and torch.isclose(rows, value, rtol=0, atol=1e-4).all():
            close(rows, torch.zeros_like(rows), text, rtol=0, atol=0)


@behaviour(6, on_error="Backward must work with padding.")
def test_gradients_with_padding(observe):
    for path, case, pad in padded_cases(observe):
        expect(torch.isfinite(observe.tensor(f"{path}/out")).all(), NAN, "the output is not finite")
        for name in ("x", *PROJECTIONS):
            what = "x" if name == "x" else f"{name}_proj.weight"
            grad = observe[f"{path}/{name}"]
            finite = not isinstance(grad, torch.Tensor) or torch.isfinite(grad).all()
            expect(finite, NAN, f"the gradient to {what} is not finite")
        compare_gradients(observe, path, case, pad)


@behaviour(7)
def test_parameters(observe):
    for i, case in enumerate([observe.given["cases"][0], *observe.given["grouped"]]):
        width = case["x"].shape[-1]
        small = case["kv"] * (width // case["heads"])
        want = {f"{n}_proj.weight": [width if n in "qo" else small, width] for n in PROJECTIONS}
        for kind in ("", "used"):
            path = f"parameters/{kind}{i}"
            error = observe.error(path)
            full = error is not None and case["kv"] < case["heads"] and "must match the size" in error.message
            if full:
                expect(
                    False, "Grouped queries save nothing if every query head keeps its own keys.", str(error)
                )
            got = observe[f"{path}/shapes"]
            expect(isinstance(got, dict), "The module needs named parameters.")
            more = sorted(set(got) - set(want))
            expect(
                not more,
                "The module has parameters beyond its four weights.",
                ", ".join(map(str, more))[:200],
            )
            for name, shape in want.items():
                expect(name in got, f"The parameter {name} is missing.")
                expect(
                    got[name] == shape, f"{name} has the wrong shape.", f"got {got[name]}, expected {shape}"
                )
            state = observe[f"{path}/state"]
            expect(
                state == sorted(want),
                "state_dict() must hold the four weights and nothing else.",
                ", ".join(map(str, sorted(set(state) ^ set(want))))[:200],
            )


@behaviour(8)
def test_grouped_heads(observe):
    says = "Query head h must use key and value head h // (n_heads // n_kv_heads)."
    for i, case in enumerate(observe.given["grouped"]):
        check(observe, f"grouped/{i}/out", case, says)
    case = observe.given["cases"][0]
    check(observe, "grouped/explicit/out", case, "n_kv_heads equal to n_heads must change nothing.")


@behaviour(8)
def test_grouped_heads_with_padding(observe):
    says = "With padding, the output of grouped heads is wrong."
    for i, case in enumerate(observe.given["grouped_padded"]):
        check(observe, f"grouped/padded{i}/out", case, says, pad=case["pad"], rows=seeing(case))


@behaviour(8, on_error="The output must be differentiable.")
def test_gradients_of_grouped_heads(observe):
    for i, case in enumerate(observe.given["grouped"]):
        check(observe, f"grouped/{i}/out", case, "The output of grouped heads is wrong.")
        compare_gradients(observe, f"grouped/{i}", case)


SIZES = {
    "d_model_zero": "d_model = 0 must be refused.",
    "d_model_negative": "A negative d_model must be refused.",
    "heads_zero": "n_heads = 0 must be refused.",
    "heads_negative": "A negative n_heads must be refused.",
    "kv_zero": "n_kv_heads = 0 must be refused: it is not None.",
    "kv_negative": "A negative n_kv_heads must be refused.",
    "indivisible": "d_model = 10 cannot be divided into 3 heads: refuse it.",
    "too_many_heads": "d_model = 3 cannot be divided into 6 heads: refuse it.",
    "kv_indivisible": "6 query heads cannot share 4 key heads evenly: refuse it.",
    "kv_more": "3 query heads cannot share 6 key heads: refuse it.",
}


@behaviour(9)
def test_sizes_are_refused(observe):
    for name, says in SIZES.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(9)
def test_masks_are_refused(observe):
    for name in ("int", "byte", "float"):
        observe.raised(
            f"errors/mask_{name}", "ValueError", says="A pad_mask that is not bool must be refused."
        )
    for name in ("long", "short", "rows", "row", "flat", "column", "turned", "four"):
        says = "A pad_mask that is not of shape (B, T) must be refused, not broadcast."
        observe.raised(f"errors/mask_{name}", "ValueError", says=says)


def rounded(case, dtype):
    return {
        name: value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value
        for name, value in case.items()
    }


@behaviour(10)
def test_dtypes(observe):
    for name, dtype, atol in (("wide", torch.float64, 1e-10), ("half", torch.bfloat16, 0.05)):
        kind = str(dtype).removeprefix("torch.")
        for i, case in enumerate(observe.given[name]):
            path, pad = f"dtypes/{name}{i}/out", case.get("pad")
            got = observe.tensor(path)
            expect(
                got.dtype == dtype, "The output must have the dtype of x.", f"x is {kind}, got {got.dtype}"
            )
            rows = slice(None) if pad is None else seeing(case)
            says = f"The output is wrong in {kind}."
            check(observe, path, rounded(case, dtype), says, pad=pad, rows=rows, atol=atol)


@behaviour(10)
def test_large_scores(observe):
    for i, case in enumerate(observe.given["steep"]):
        got = observe.tensor(f"dtypes/steep{i}/out")
        expect(got.shape == case["x"].shape, "The output must have the shape of x.")
        expect(
            torch.isfinite(got).all(),
            "Scores of size 1e4 overflow or vanish under a naive exponential: subtract the row maximum.",
            call(case),
        )
    case = observe.given["steep"][0]
    heads, (batch, length, width) = case["heads"], case["x"].shape
    q, k = (
        (case["x"].double() @ case[n].double().T).view(batch, length, heads, -1).transpose(1, 2) for n in "qk"
    )
    scores = (q @ k.transpose(-2, -1) / math.sqrt(width // heads)).masked_fill(
        ~torch.ones(length, length, dtype=torch.bool).tril(), -math.inf
    )
    top = scores.topk(2, dim=-1).values
    clear = ((top[..., 0] - top[..., 1]) > 200).all(1)
    check(
        observe,
        "dtypes/steep0/out",
        case,
        "With scores of size 1e4, where one key wins, the output is wrong.",
        rows=clear,
        atol=1e-4,
    )


@behaviour(11)
def test_inputs_are_left_alone(observe):
    case = observe.given["strided"]
    for name, what in (("x", "x"), ("pad", "pad_mask")):
        got = observe.tensor(f"strided/same/{name}")
        expect(alike(got, case[name]), f"The module changed {what} in place.")


@behaviour(11)
def test_strided_inputs(observe):
    case = observe.given["strided"]
    x, pad = case["x"], case["pad"]
    if "strided/same/pad" in observe and not alike(observe["strided/same/pad"], pad):
        return  # a mask changed in place has a test of its own
    for name in ("transposed", "features", "sliced", "expanded"):
        values, mask = (x, pad) if name != "expanded" else (x[:1].expand_as(x), pad[:1].expand_as(pad))
        rows = (~mask).cumsum(1) > 0
        for path, its_mask, chosen in (
            (f"strided/{name}/out", mask, rows),
            (f"strided/{name}_plain/out", None, slice(None)),
        ):
            error = observe.error(path)
            plain = "formula/0/out" if its_mask is None else "padding/0/out"
            if error is not None and plain in observe:
                expect(False, "x and pad_mask need not be contiguous.", str(error))
            check(
                observe,
                path,
                case,
                "The output is wrong for strided inputs.",
                x=values,
                pad=its_mask,
                rows=chosen,
            )
