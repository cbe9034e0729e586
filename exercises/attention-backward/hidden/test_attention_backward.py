import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

NAMES = {"linear": ("x", "weight", "bias"), "norm": ("x", "weight", "bias"), "attention": ("q", "k", "v")}
TITLES = {"linear": "linear", "norm": "layer_norm", "attention": "attention"}

TURNED = "The weight's gradient is transposed. It has the weight's shape."
SHARED = "Every position shares the weight: add up over all leading dimensions."
AVERAGED = "Every position shares the weight: add up, do not average."
UNBIASED = "LayerNorm divides by D, not by D - 1."
OUTSIDE = "eps is added to the variance, inside the root."
NO_EPS = "eps is not used as it was given."
CONSTANTS = "Mean and variance depend on x: two terms are missing."
ONE_TERM = "Mean and variance both depend on x: one of the two terms is missing."
LATE = "Multiply grad_out by weight first."
RAW = "The weight multiplies the normalized values, so its gradient needs them, not x."
SCALE = "Without 1 / sqrt(D) the softmax saturates."
SIZE = "The default scale is 1 / sqrt(D), with the head size D of q and k."
GIVEN = "The scale that was given is not used."
BACK_SCALE = "The scale is missing in the backward: q and k each need it."
ELEMENTWISE = "Raising one probability lowers the others: the row sum is missing."
AXIS = "Softmax runs over keys, so does its correction."
KEYS = "The softmax runs over the keys: each query's weights sum to 1."
INVERTED = "The mask is inverted. True means attend."
IGNORED = "The mask has no effect."
ZEROS = "A masked score of 0 still gets weight exp(0): masked pairs need probability 0."
UNMASKED = "The backward forgets the mask: recompute the probabilities with it."
NAN = "A row without any allowed key: inf minus inf is NaN."
AVERAGE = "A row without any allowed key averages over keys that it may not attend to; its output is 0."


def linear(case, **twist):
    x, weight, up = case["x"].double(), case["weight"].double(), case["up"].double()
    bias = torch.zeros_like(up[..., :1]) if case["bias"] is None else case["bias"].double()
    rows = up.reshape(-1, weight.shape[0])
    return {
        "out": x @ weight.T + bias,
        "x": up @ weight,
        "weight": rows.T @ x.reshape(-1, weight.shape[1]),
        "bias": rows.sum(0),
    }


def norm(case, *, correction=0, eps="inside", grad="right", late=False):
    x, weight, bias, up = (case[n].double() for n in ("x", "weight", "bias", "up"))
    size = case["options"].get("eps", 1e-5)
    size = {"none": 0.0, "default": 1e-5, "small": 1e-6}.get(eps, size)
    centered = x - x.mean(-1, keepdim=True)
    variance = centered.square().sum(-1, keepdim=True) / (x.shape[-1] - correction)
    rstd = 1 / (variance.sqrt() + size) if eps == "outside" else (variance + size).rsqrt()
    normal = centered * rstd
    g = up if late else up * weight
    mean, projection = g.mean(-1, keepdim=True), normal * (g * normal).mean(-1, keepdim=True)
    inner = {
        "right": g - mean - projection,
        "constants": g,
        "no_mean": g - projection,
        "no_variance": g - mean,
    }[grad]
    grad_x = rstd * inner * (weight if late else 1)
    lead = tuple(range(x.dim() - 1))
    total = (lambda t: t.sum(lead)) if lead else (lambda t: t)
    return {
        "out": normal * weight + bias,
        "x": grad_x,
        "weight": total(up * normal),
        "bias": total(up),
        "raw": total(up * x),
    }


def attention(case, *, scale="right", axis=-1, mask="right", back="right", row="right", where="both"):
    q, k, v, up = (case[n].double() for n in ("q", "k", "v", "up"))
    d, e = q.shape[-1], v.shape[-1]
    default = 1 / math.sqrt(d)
    given = case["options"].get("scale")
    size = {
        "right": default if given is None else given,
        "none": 1.0,
        "linear": 1 / d,
        "values": 1 / math.sqrt(e),
        "default": default,
    }[scale]
    scores = size * (q @ k.transpose(-2, -1))
    allowed = torch.ones_like(scores, dtype=torch.bool)
    if "mask" in case and mask != "ignored":
        allowed = case["mask"].expand(scores.shape)
        allowed = ~allowed if mask == "inverted" else allowed
    if mask == "zeros":
        p = torch.softmax(scores * allowed, axis)
    elif mask == "after":
        p = torch.softmax(scores, axis) * allowed
    else:
        some = allowed.any(axis, keepdim=True)
        p = torch.softmax(scores.masked_fill(some & ~allowed, -math.inf), axis)
        p = torch.where(some, p, torch.full_like(p, 1 / scores.shape[axis] if mask == "average" else 0.0))
    out = p @ v
    if back == "unmasked":
        p = torch.softmax(scores, -1)
    dp = up @ v.transpose(-2, -1)
    ds = {
        "right": lambda: p * (dp - (p * dp).sum(axis, keepdim=True)),
        "none": lambda: p * dp,
        "diagonal": lambda: p * (1 - p) * dp,
        "queries": lambda: p * (dp - (p * dp).sum(-2, keepdim=True)),
        "plain": lambda: p * (dp - dp.sum(-1, keepdim=True)),
        "mean": lambda: p * (dp - (p * dp).mean(-1, keepdim=True)),
    }[row]()
    factor_q = 1.0 if where in ("neither", "k") else size
    factor_k = 1.0 if where in ("neither", "q") else size
    return {
        "out": out,
        "q": factor_q * (ds @ k),
        "k": factor_k * (ds.transpose(-2, -1) @ q),
        "v": p.transpose(-2, -1) @ up,
    }


REFERENCE = {"linear": linear, "norm": norm, "attention": attention}


def twists(case):
    """Sentences and keywords of mistakes, the forward's first."""
    if case["kind"] == "norm":
        yield from (
            (UNBIASED, {"correction": 1}),
            (OUTSIDE, {"eps": "outside"}),
            (NO_EPS, {"eps": "none"}),
            (NO_EPS, {"eps": "default"}),
            ("The default of eps is 1e-5.", {"eps": "small"}),
            (CONSTANTS, {"grad": "constants"}),
            (ONE_TERM, {"grad": "no_mean"}),
            (ONE_TERM, {"grad": "no_variance"}),
            (LATE, {"late": True}),
            (CONSTANTS, {"late": True, "grad": "constants"}),
        )
    if case["kind"] == "attention":
        given = case["options"].get("scale")
        if given is None:
            yield from ((SCALE, {"scale": "none"}), (SIZE, {"scale": "linear"}), (SIZE, {"scale": "values"}))
        else:
            yield from ((GIVEN, {"scale": "default"}), (GIVEN, {"scale": "none"}))
        yield KEYS, {"axis": -2}
        if "mask" in case:
            yield from (
                (INVERTED, {"mask": "inverted"}),
                (IGNORED, {"mask": "ignored"}),
                (ZEROS, {"mask": "zeros"}),
                (ZEROS, {"mask": "after"}),
            )
        yield from (
            (BACK_SCALE, {"where": "neither"}),
            (BACK_SCALE, {"where": "q"}),
            (BACK_SCALE, {"where": "k"}),
            (ELEMENTWISE, {"row": "none"}),
            (ELEMENTWISE, {"row": "diagonal"}),
            (AXIS, {"row": "queries"}),
            ("The row sum is that of P * dP, not of dP.", {"row": "plain"}),
            ("The row sum of P * dP is a sum, not a mean.", {"row": "mean"}),
        )
        if "mask" in case:
            yield UNMASKED, {"back": "unmasked"}


def known(case, name):
    """The values of the mistakes, computed only when a value is wrong."""
    right = REFERENCE[case["kind"]](case)
    if case["kind"] == "linear" and name in ("weight", "bias"):
        rows = case["up"].reshape(-1, case["up"].shape[-1]).shape[0]
        yield AVERAGED, right[name] / rows
    if case["kind"] == "norm" and name in ("weight", "bias"):
        rows = case["up"].reshape(-1, case["up"].shape[-1]).shape[0]
        yield AVERAGED, right[name] / rows
        if name == "weight":
            yield RAW, right["raw"]
    for sentence, keywords in twists(case):
        yield sentence, REFERENCE[case["kind"]](case, **keywords)[name]


def limits(case):
    size = 1e-8 if case["up"].dtype == torch.float64 else 1e-4
    return {"rtol": size, "atol": size}


def call(case):
    shapes = ", ".join(f"{n} {tuple(case[n].shape)}" for n in NAMES[case["kind"]] if case[n] is not None)
    options = "".join(f", {n}={value:.3g}" for n, value in case["options"].items())
    mask = f", mask {tuple(case['mask'].shape)}" if "mask" in case else ""
    dtype = str(case["up"].dtype).removeprefix("torch.")
    return f"{TITLES[case['kind']]} with {shapes}{mask}{options}, {dtype}"


def check_shape(got, want, case, name):
    if got.shape == want.shape:
        return
    says = f"The gradient of {name} has the wrong shape."
    if name == "out":
        says = "The output has the wrong shape."
    elif name == "weight" and got.dim() == 2 and got.T.shape == want.shape:
        says = TURNED
    elif name in ("weight", "bias") and got.dim() > want.dim():
        says = SHARED
    expect(False, says, f"{call(case)}: got {tuple(got.shape)}, expected {tuple(want.shape)}")


def compare(observe, path, case, name, says, mistakes=True, want=None):
    """One value at `path` against the formula."""
    want = REFERENCE[case["kind"]](case)[name] if want is None else want
    got = observe.tensor(f"{path}/{name}", f"A tensor is expected for {name}.")
    check_shape(got, want, case, name)
    close(
        got,
        want,
        says,
        **limits(case),
        device=observe.device,
        call=call(case),
        mistakes=known(case, name) if mistakes else (),
    )


def gradients(observe, path, case, says="The gradient of {} is wrong.", mistakes=True):
    right = REFERENCE[case["kind"]](case)
    for name in NAMES[case["kind"]]:
        if case[name] is None:
            got = observe[f"{path}/{name}"]
            expect(got is None, "Without bias its gradient is None.", f"got {type(got).__name__}")
            continue
        compare(observe, path, case, name, says.format(name), mistakes, right[name])


def each(observe, group):
    for i, case in enumerate(observe.given[group]):
        yield f"values/{group}{i}", case


@behaviour(1)
def test_linear_forward(observe):
    for path, case in each(observe, "linear"):
        compare(observe, path, case, "out", "The output is not x @ weight.T + bias.")


@behaviour(1)
def test_linear_backward(observe):
    for path, case in each(observe, "linear"):
        if case["bias"] is not None:
            expect(observe[f"{path}/count"] == 3, "linear_backward returns three gradients.")
        gradients(observe, path, case)


@behaviour(2)
def test_layer_norm_forward(observe):
    for path, case in each(observe, "norm"):
        compare(observe, path, case, "out", "The output is not the normalized x, times weight, plus bias.")


@behaviour(3)
def test_layer_norm_backward(observe):
    for path, case in each(observe, "norm"):
        expect(observe[f"{path}/count"] == 3, "layer_norm_backward returns three gradients.")
        gradients(observe, path, case)


@behaviour(4)
def test_attention_forward(observe):
    for path, case in each(observe, "attention"):
        compare(observe, path, case, "out", "The output is not softmax(scale * q k^T) v.")


@behaviour(13)
def test_scale_of_zero(observe):
    compare(
        observe,
        "values/zero_scale",
        observe.given["zero_scale"],
        "out",
        "With scale=0.0 all keys have the same weight: 0 is a scale, None is the default.",
        mistakes=False,
    )


@behaviour(5)
def test_attention_backward(observe):
    for path, case in each(observe, "attention"):
        expect(observe[f"{path}/count"] == 3, "attention_backward returns three gradients.")
        gradients(observe, path, case)


@behaviour(6)
def test_masked_attention(observe):
    for path, case in each(observe, "masked"):
        says = f"The output with a mask of shape {tuple(case['mask'].shape)} is wrong."
        compare(observe, path, case, "out", says)
        gradients(observe, path, case, "With a mask the gradient of {} is wrong.")


@behaviour(6)
def test_keys_that_nobody_sees(observe):
    for path, case in each(observe, "masked"):
        for name in ("k", "v"):
            got = observe.tensor(f"{path}/{name}")
            check_shape(got, case[name], case, name)
            close(
                got[:, :, -1],
                torch.zeros_like(case[name][:, :, -1]),
                "A key that nobody may attend to gets zero gradient, and so does its value.",
                **limits(case),
                call=call(case),
                mistakes=((text, value[:, :, -1]) for text, value in known(case, name)),
            )


@behaviour(7)
def test_gradients_fit_their_inputs(observe):
    for group in ("linear", "norm", "attention", "masked"):
        for path, case in each(observe, group):
            for name in NAMES[case["kind"]]:
                if case[name] is None:
                    continue
                got = observe.tensor(f"{path}/{name}", f"The gradient of {name} must be a tensor.")
                check_shape(got, case[name], case, name)
                says = f"The gradient of {name} must have the dtype of {name}."
                expect(got.dtype == case[name].dtype, says, f"got {got.dtype}, {call(case)}")
                expect(observe[f"{path}/{name}_device"], f"The gradient of {name} must be on its device.")


@behaviour(8)
def test_cache_is_small(observe):
    for i, case in enumerate(observe.given["long"]):
        b, h, s, _ = case["q"].shape
        says = "The cache must be a flat tuple, list or dict of tensors and plain values."
        expect(observe[f"memory/{i}/flat"] is True, says)
        others = observe[f"memory/{i}/others"]
        expect(not others, says, f"it holds {', '.join(map(str, others))[:200]}")
        sizes = observe[f"memory/{i}/sizes"]
        expect(isinstance(sizes, list), says)
        largest = max(sizes, default=0)
        expect(
            largest < b * h * s * s,
            "Memory is quadratic in length: keep the logsumexp.",
            f"S = T = {s}, B * H = {b * h}: a tensor of {largest:,} elements is cached",
        )


@behaviour(8)
def test_recomputed_gradients(observe):
    for i, case in enumerate(observe.given["long"]):
        compare(observe, f"memory/{i}", case, "out", "The output is wrong for S = T = 64.")
        gradients(observe, f"memory/{i}", case, "For S = T = 64 the gradient of {} is wrong.")


def blind_cases(observe):
    yield from each(observe, "blind")
    case = observe.given["blind"][0]
    yield "values/nobody", {**case, "mask": torch.zeros_like(case["mask"])}


@behaviour(9)
def test_rows_without_a_key(observe):
    for path, case in blind_cases(observe):
        rows = ~case["mask"].expand(*case["q"].shape[:3], case["k"].shape[2]).any(-1)
        got = observe.tensor(f"{path}/out")
        check_shape(got, case["up"], case, "out")
        expect(not got.isnan().any(), NAN, call(case))
        average = attention(case, mask="average")["out"]
        if torch.isclose(got.double(), average, rtol=0, atol=1e-4)[rows].all():
            close(got[rows], torch.zeros_like(got[rows]), AVERAGE, **limits(case), call=call(case))
        close(
            got[rows],
            torch.zeros_like(got[rows]),
            "A query row without any allowed key gives output 0.",
            **limits(case),
            call=call(case),
        )
        compare(observe, path, case, "out", "With some rows masked completely, the others are wrong.")


@behaviour(9)
def test_gradients_of_rows_without_a_key(observe):
    for path, case in blind_cases(observe):
        for name in ("q", "k", "v"):
            grad = observe.tensor(f"{path}/{name}")
            expect(not grad.isnan().any(), NAN, f"the gradient of {name} is NaN, {call(case)}")
        says = "A query row without any allowed key adds nothing to any gradient: that of {} is wrong."
        gradients(observe, path, case, says, mistakes=False)


@behaviour(10)
def test_large_scores(observe):
    for path, case in each(observe, "steep"):
        for name in ("out", "q", "k", "v"):
            got = observe.tensor(f"{path}/{name}")
            expect(
                torch.isfinite(got).all(),
                "Scores of size 10,000 must give finite results: subtract the row's maximum or logsumexp.",
                f"{name}, {call(case)}",
            )
        if case["up"].dtype == torch.float64:
            compare(
                observe, path, case, "out", "The output is wrong for scores of size 10,000.", mistakes=False
            )
            says = "For scores of size 10,000 the gradient of {} is wrong."
            gradients(observe, path, case, says, mistakes=False)


def examples(observe):
    given = observe.given
    yield "linear", given["linear"][1]
    yield "linear_flat", given["linear"][2]
    yield "norm", given["norm"][1]
    yield "norm_flat", given["norm"][2]
    yield "attention", given["attention"][1]
    yield "masked", given["masked"][0]


PLAIN = {"linear": "values/linear1", "linear_flat": "values/linear2", "norm": "values/norm1"}
PLAIN |= {"norm_flat": "values/norm2", "attention": "values/attention1", "masked": "values/masked0"}


def sound(observe, name, case):
    """Whether values and gradients are right in the plain call; if not, other tests have the details."""
    try:
        compare(observe, PLAIN[name], case, "out", "")
        gradients(observe, PLAIN[name], case)
    except AssertionError:
        return False
    return True


@behaviour(11)
def test_without_autograd(observe):
    for name, case in examples(observe):
        if not sound(observe, name, case):
            continue
        for mode in ("inference", "tracked"):
            path = f"by_hand/{name}_{mode}"
            where = "in torch.inference_mode()" if mode == "inference" else "when the inputs require grad"
            error = observe.error(path)
            if error is not None:
                expect(False, f"{TITLES[case['kind']]} must work {where}, without autograd.", str(error))
            compare(observe, path, case, "out", f"The output is wrong {where}.")
            gradients(observe, path, case, f"The gradient of {{}} is wrong {where}.")
        tracked = observe[f"by_hand/{name}_tracked/tracked"]
        expect(
            tracked and not any(tracked),
            "Results must not require grad, even when the inputs do.",
            f"{TITLES[case['kind']]}: output and gradients {tracked}",
        )


@behaviour(11)
def test_backward_twice(observe):
    for name, case in examples(observe):
        if not sound(observe, name, case):
            continue
        for turn in ("first", "second", "third"):
            says = "The second backward saw another cache: the gradient of {} is wrong."
            if turn == "first":
                says = "The gradient of {} is wrong."
            error = observe.error(f"again/{name}")
            if error is not None:
                expect(False, "A second backward with the same cache must work.", str(error))
            gradients(observe, f"again/{name}/{turn}", case, says, mistakes=False)
        compare(observe, f"again/{name}", case, "out", "The backward changed the output.", mistakes=False)
    case = observe.given["attention"][1]
    if sound(observe, "attention", case):
        says = "After another forward, the gradient of {} is wrong: keep everything in the cache."
        error = observe.error("again/two_caches")
        if error is not None:
            expect(
                False, "After another forward, the backward fails: keep everything in the cache.", str(error)
            )
        gradients(observe, "again/two_caches", case, says, mistakes=False)


@behaviour(11)
def test_inputs_are_left_alone(observe):
    for name, case in examples(observe):
        names = [*NAMES[case["kind"]], *(["mask"] if "mask" in case else [])]
        for path in (f"again/{name}", f"again/{name}_kept"):
            if observe.error(path) is not None:
                continue
            for key, got in zip(names, observe[f"{path}/arguments"], strict=True):
                expect(alike(got, case[key]), f"{key} was changed in place.", TITLES[case["kind"]])
            expect(alike(observe[f"{path}/up"], case["up"]), "grad_out was changed in place.", call(case))


@behaviour(11)
def test_strides(observe):
    for name, case in examples(observe):
        if not sound(observe, name, case):
            continue
        first = case["up"].flatten()[0]
        repeated = NAMES[case["kind"]] if case["kind"] == "attention" else ("x",)
        variants = {
            "turned": case,
            "expanded": {**case, "up": first.expand(case["up"].shape)},
            "repeated": {
                **case,
                **{n: case[n][:1].expand(case[n].shape) for n in repeated if case[n].dim() > 1},
            },
        }
        for kind, other in variants.items():
            path = f"strided/{name}_{kind}"
            error = observe.error(path)
            if error is not None:
                expect(False, "Inputs and grad_out may be transposed or expanded.", f"{error}; {call(case)}")
            compare(observe, path, other, "out", "The output is wrong for inputs with other strides.")
            gradients(observe, path, other, "With other strides the gradient of {} is wrong.")


ERRORS = {
    "linear_short": "x and weight of different widths must be refused.",
    "linear_turned": "A transposed weight must be refused.",
    "linear_long_x": "x and weight of different widths must be refused.",
    "norm_short": "LayerNorm must refuse a weight that does not fit x.",
    "norm_one": "LayerNorm must refuse a weight of one element, which would broadcast.",
    "norm_x_one": "LayerNorm must refuse an x of width 1 for a longer weight, which would broadcast.",
    "head_size": "q and k of different head sizes must be refused.",
    "head_size_one": "q and k of different head sizes must be refused.",
    "length": "k and v of different lengths must be refused.",
    "length_more": "k and v of different lengths must be refused.",
}


@behaviour(12)
def test_shapes_are_refused(observe):
    for name, says in ERRORS.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(12)
def test_masks_are_refused(observe):
    for name in ("int", "byte", "float"):
        observe.raised(f"errors/mask_{name}", "ValueError", says="A mask that is not bool must be refused.")


@behaviour(12)
def test_gradients_are_refused(observe):
    for kind, names in (
        ("linear", ("short", "row", "lead", "flat", "one")),
        ("norm", ("short", "row", "one", "flat")),
        ("attention", ("short", "row", "head", "lead", "one")),
    ):
        for name in names:
            observe.raised(
                f"errors/{kind}_up_{name}",
                "ValueError",
                says=f"{TITLES[kind]}_backward must refuse a grad_out that has not the shape of the output.",
            )
