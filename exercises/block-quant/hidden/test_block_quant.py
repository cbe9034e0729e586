import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

FORMATS = ("e4m3", "e2m1")
EMAX, LARGEST = {"e4m3": 8, "e2m1": 2}, {"e4m3": 448.0, "e2m1": 6.0}
FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def grid(fmt):
    if fmt == "e2m1":
        return torch.tensor(FP4, dtype=torch.float64)
    small = [i * 2.0**-9 for i in range(8)]
    normal = [(8 + m) / 8 * 2.0**e for e in range(-6, 9) for m in range(8)]
    return torch.tensor([*small, *normal][:-1], dtype=torch.float64)


def largest_of(x):
    return x.detach().float().double().unflatten(-1, (-1, 32)).abs().amax(-1)


def exponents_of(x, fmt):
    """The shared exponents in plain arithmetic, as float64 holds every float32 exactly."""
    amax = largest_of(x)
    floor = [math.frexp(value)[1] - 1 if value else None for value in amax.flatten().tolist()]
    values = [-127 if e is None else max(-127, min(127, e - EMAX[fmt])) for e in floor]
    return torch.tensor(values, dtype=torch.int32).reshape(amax.shape)


def spread(exponents):
    return exponents.repeat_interleave(32, -1).double()


def elements_of(x, fmt, rule="even"):
    scaled = x.detach().float().double() / torch.exp2(spread(exponents_of(x, fmt)))
    values = grid(fmt)
    size = scaled.abs().clamp(max=LARGEST[fmt])
    upper = torch.searchsorted(values, size).clamp(1, len(values) - 1)
    lower = upper - 1
    low, high = size - values[lower], values[upper] - size
    even = torch.where(lower % 2 == 0, lower, upper)
    on_tie = {"even": even, "away": upper, "zero": lower}[rule]
    index = torch.where(low < high, lower, torch.where(high < low, upper, on_tie))
    index = torch.where(size == values[upper], upper, index)
    return values[index] * scaled.sign()


def value_of(x, fmt):
    return elements_of(x, fmt) * torch.exp2(spread(exponents_of(x, fmt)))


def cases(observe, *names):
    for fmt in FORMATS:
        if "plain" in names:
            for i, x in enumerate(observe.given["plain"]):
                yield f"quantize/{fmt}_plain{i}", fmt, x, f"{fmt}, x {tuple(x.shape)}"
        for name in ("ties", "clamped"):
            if name in names:
                yield f"quantize/{fmt}_{name}", fmt, observe.given[name][fmt], f"{fmt}"
        if "extremes" in names:
            yield f"quantize/{fmt}_extremes", fmt, observe.given["extremes"], f"{fmt}, blocks of all sizes"


def exponent_mistakes(x, fmt, want):
    amax = largest_of(x)
    safe = amax.clamp_min(1e-300)
    ratio = torch.log2(safe / LARGEST[fmt])
    yield "The specification takes the floor and clamps the largest values.", ratio.ceil()
    yield (
        "The specification takes the floor and clamps the largest values.",
        torch.log2(safe).ceil() - EMAX[fmt],
    )
    yield (
        "The scale is the largest power of two of the block, divided by that of the format, not by its largest value.",
        ratio.floor(),
    )
    yield "The scale of an MX block is a power of two, and its exponent is rounded down.", ratio.round()
    yield "log2 of 16 - 2**-20 rounds to 4: use frexp.", torch.log2(safe.float()).floor().double() - EMAX[fmt]
    yield "The elements use a fraction of the format's range: subtract emax.", want + EMAX[fmt]
    yield "frexp returns a mantissa below 1, so its exponent is one more than floor(log2).", want + 1
    yield "The exponents carry the bias of E8M0; they should be plain exponents.", want + 127


EXPONENTS = "The exponent of a block is not floor(log2(amax)) - emax."


def check_exponents(got, x, fmt, where, says):
    want = exponents_of(x, fmt)
    expect(
        isinstance(got, torch.Tensor) and got.dtype == torch.int32,
        "The scale of an MX block is a power of two; its exponent should be int32."
        if isinstance(got, torch.Tensor) and got.is_floating_point()
        else "The exponents should be an int32 tensor.",
        f"got {describe(got)}, {where}",
    )
    close(got, want, says, rtol=0, atol=0, call=where, mistakes=exponent_mistakes(x, fmt, want.double()))


@behaviour(1)
def test_shared_exponents(observe):
    says = EXPONENTS
    for path, fmt, x, where in cases(observe, "plain", "ties", "clamped"):
        check_exponents(observe[f"{path}/exponents"], x, fmt, where, says)
    x = observe.given["plain"][0]
    check_exponents(observe["quantize/default/exponents"], x, "e4m3", "without fmt", says)


def check_extreme_exponents(got, x, fmt, where):
    zero = largest_of(x) == 0
    if isinstance(got, torch.Tensor) and got.shape == zero.shape:
        expect(
            bool((got[zero] == -127).all()),
            "A block of zeros has exponent -127.",
            f"got {got[zero].tolist()}, {where}",
        )
        expect(
            bool((got >= -127).all()),
            "Exponents are clamped to -127..127, which is what E8M0 can hold.",
            f"the smallest is {int(got.min())}, {where}",
        )
    check_exponents(got, x, fmt, where, "The exponent of a tiny or huge block is wrong.")


@behaviour(2)
def test_exponents_of_extreme_blocks(observe):
    for path, fmt, x, where in cases(observe, "extremes"):
        check_extreme_exponents(observe[f"{path}/exponents"], x, fmt, where)


def check_elements(got, x, fmt, where, says):
    expect(
        isinstance(got, torch.Tensor) and got.dtype == torch.float32,
        "elements should be a float32 tensor.",
        f"got {describe(got)}, {where}",
    )
    want = elements_of(x, fmt)
    flushed = torch.where(want.abs() < (2.0**-6 if fmt == "e4m3" else 1.0), 0.0, want)
    mistakes = [
        (
            "2.5 is 2 in FP4: a tie goes to the even mantissa."
            if fmt == "e2m1"
            else "A tie goes to the even mantissa, not away from zero.",
            elements_of(x, fmt, "away"),
        ),
        ("A tie goes to the even mantissa, not towards zero.", elements_of(x, fmt, "zero")),
        ("Below the smallest normal value the grid goes on evenly.", flushed),
        ("The elements are the values of x, not divided by the scale.", x.double()),
    ]
    if got.shape == want.shape:
        over = want.abs() == LARGEST[fmt]
        if got.isnan().any() or (got[over].abs() > LARGEST[fmt]).any():
            says = "Clamp before the conversion: magnitudes above the largest value become it."
    close(got, want, says, rtol=0, atol=0, call=f"quantize, {where}", mistakes=mistakes)


@behaviour(3)
def test_elements(observe):
    for path, fmt, x, where in cases(observe, "ties", "plain"):
        says = "The elements are not the nearest values of the format, ties to the even mantissa."
        check_exponents(observe[f"{path}/given"], x, fmt, f"quantize, {where}", EXPONENTS)
        check_elements(observe[f"{path}/elements"], x, fmt, where, says)
    got = observe["quantize/default/elements"]
    expect(isinstance(got, list) and len(got) == 2, "quantize returns elements and exponents.")
    x = observe.given["plain"][0]
    check_elements(got[0], x, "e4m3", "without fmt", "Without fmt the format is e4m3.")


@behaviour(4)
def test_large_magnitudes_are_clamped(observe):
    for path, fmt, x, where in cases(observe, "clamped"):
        scaled = x.double() / torch.exp2(spread(exponents_of(x, fmt)))
        over = scaled.abs() > LARGEST[fmt]
        got = observe[f"{path}/elements"]
        if isinstance(got, torch.Tensor) and got.shape == x.shape:
            want = LARGEST[fmt] * scaled.sign()
            expect(
                torch.equal(got[over].double(), want[over]),
                f"Magnitudes above {LARGEST[fmt]:g} should be clamped to it, with their sign. Clamp before the conversion.",
                f"{where}: got {got[over][:3].tolist()} for {scaled[over][:3].tolist()}",
            )
        check_elements(got, x, fmt, where, "The elements of blocks with clamped values are wrong.")


def check_error(observe, path, fmt, x, where):
    got = observe[f"{path}/back"]
    expect(
        isinstance(got, torch.Tensor) and got.dtype == torch.float32 and got.shape == x.shape,
        "dequantize should return a float32 tensor of the shape of x.",
        f"got {describe(got)}, {where}",
    )
    amax = largest_of(x)
    usual = (amax >= 1e-30) & (amax <= 1e30)
    allowed = amax / (8 if fmt == "e4m3" else 4)
    error = (got.double() - x.detach().float().double()).unflatten(-1, (-1, 32)).abs().amax(-1)
    expect(
        bool((error[usual] <= allowed[usual]).all()),
        f"dequantize(*quantize(x)) differs from x by more than amax / {8 if fmt == 'e4m3' else 4}.",
        where,
    )
    elements, exponents = observe[f"{path}/elements"], observe[f"{path}/given"]
    expect(
        all(isinstance(t, torch.Tensor) for t in (elements, exponents))
        and elements.shape == x.shape
        and exponents.shape == amax.shape,
        "quantize should return elements of the shape of x, and an exponent for each block.",
        f"got {describe(elements)} and {describe(exponents)}, {where}",
    )
    close(
        got,
        elements.double() * torch.exp2(spread(exponents)),  # of the elements that there are, right or wrong
        "dequantize does not give element times 2**exponent.",
        rtol=1e-6,
        atol=1e-45,
        call=where,
    )


@behaviour(5)
def test_round_trip(observe):
    for path, fmt, x, where in cases(observe, "plain", "ties", "clamped"):
        check_error(observe, path, fmt, x, where)


@behaviour(5)
def test_quantizing_again_changes_nothing(observe):
    for path, fmt, x, where in cases(observe, "plain", "ties", "clamped"):
        got = observe[f"{path}/again"]
        says = "Quantizing the dequantized values again should change nothing."
        first = observe[f"{path}/elements"], observe[f"{path}/given"]
        for value, before in zip(got, first, strict=True):
            ok = isinstance(before, torch.Tensor) and before.device.type != "meta"
            expect(ok, "quantize returns two tensors.", f"got {describe(before)}, {where}")
            close(value, before, says, rtol=0, atol=0, call=where)


def product(case, fmt, a="a", b="b"):
    return value_of(case[a], fmt) @ value_of(case[b], fmt).T


def check_product(got, case, fmt, where):
    want = product(case, fmt)
    expect(
        isinstance(got, torch.Tensor) and got.dtype == torch.float32,
        "mx_matmul should return a float32 tensor.",
        f"got {describe(got)}, {where}",
    )
    a, b = case["a"].float().double(), case["b"].float().double()
    mistakes = [
        ("Both operands are quantized along K.", value_of(a, fmt) @ b.T),
        ("Both operands are quantized along K.", a @ value_of(b, fmt).T),
        ("Nothing was quantized: this is the product of the inputs.", a @ b.T),
        (
            "The exponents of the blocks are missing from the product.",
            elements_of(a, fmt) @ elements_of(b, fmt).T,
        ),
    ]
    scale = float(want.abs().max())
    close(
        got,
        want,
        "mx_matmul is not the product of the dequantized matrices.",
        rtol=0,
        atol=1e-5 * scale,
        call=where,
        mistakes=mistakes,
    )


@behaviour(6)
def test_matmul(observe):
    for fmt in FORMATS:
        for i, case in enumerate(observe.given["matmul"]):
            where = f"{fmt}, a {tuple(case['a'].shape)}, b {tuple(case['b'].shape)}"
            check_product(observe[f"matmul/{fmt}{i}/out"], case, fmt, where)
    check_product(observe["matmul/default/out"], observe.given["matmul"][1], "e4m3", "without fmt")


def codes_of(values):
    table = torch.tensor(FP4, dtype=torch.float64)
    index = (values.double().abs()[..., None] == table).int().argmax(-1)
    return index + 8 * (values < 0)


def check_packed(got, values):
    codes = codes_of(values)
    expect(
        isinstance(got, torch.Tensor) and got.dtype == torch.uint8,
        "pack_fp4 should return a uint8 tensor.",
        f"got {describe(got)}",
    )
    shape = (*values.shape[:-1], values.shape[-1] // 2)
    expect(
        got.shape == shape,
        "Two elements share a byte.",
        f"got shape {tuple(got.shape)} for {tuple(values.shape)}",
    )
    halves = torch.stack([got & 15, got >> 4], -1).flatten(-2).long()
    plain = torch.where(halves == 8, 0, halves)  # zero with a negative sign
    wanted = torch.where(codes == 8, 0, codes)
    if torch.equal(plain, wanted):
        return
    says = "pack_fp4 does not store sign and index of the magnitude in each half."
    swapped = torch.stack([got >> 4, got & 15], -1).flatten(-2).long()
    if torch.equal(torch.where(swapped == 8, 0, swapped), wanted):
        says = "The first element sits in the low half."
    bad = (plain != wanted).nonzero()[0].tolist()
    expect(
        False,
        says,
        f"element {values[tuple(bad)].item():g} was stored as {int(halves[tuple(bad)])}, not {int(codes[tuple(bad)])}",
    )


def unpacked(raw):
    table = torch.tensor([*FP4, *(-v for v in FP4)], dtype=torch.float64)
    return table[torch.stack([raw & 15, raw >> 4], -1).flatten(-2).long()]


def check_unpacked(got, raw):
    expect(
        isinstance(got, torch.Tensor) and got.is_floating_point(),
        "unpack_fp4 should return the e2m1 values.",
        f"got {describe(got)}",
    )
    table = torch.tensor([*FP4, *(-v for v in FP4)], dtype=torch.float64)
    swapped = table[torch.stack([raw >> 4, raw & 15], -1).flatten(-2).long()]
    close(
        got,
        unpacked(raw),
        "unpack_fp4 does not give the values of the halves.",
        rtol=0,
        atol=0,
        mistakes={"The first element sits in the low half.": swapped},
    )


@behaviour(7)
def test_pack(observe):
    for i, values in enumerate(observe.given["packed"]):
        check_packed(observe[f"packing/pack{i}/packed"], values)


@behaviour(7)
def test_unpack(observe):
    for i, raw in enumerate(observe.given["bytes"]):
        check_unpacked(observe[f"packing/unpack{i}/values"], raw)
    for i, values in enumerate(observe.given["packed"]):
        close(
            observe[f"packing/pack{i}/back"],
            values,
            "unpack_fp4 is not the inverse of pack_fp4.",
            rtol=0,
            atol=0,
        )


@behaviour(8)
def test_extreme_blocks(observe):
    for path, fmt, x, where in cases(observe, "extremes"):
        back = observe[f"{path}/back"]
        if isinstance(back, torch.Tensor):
            expect(not back.isnan().any(), "Tiny or zero blocks give NaN.", where)
            zero = (largest_of(x) == 0).repeat_interleave(32, -1).reshape(x.shape)
            expect(
                back.shape == x.shape and not back[zero].any(),
                "Zero blocks should come back as zeros.",
                where,
            )
        check_extreme_exponents(observe[f"{path}/given"], x, fmt, where)
        check_elements(
            observe[f"{path}/elements"],
            x,
            fmt,
            where,
            "Blocks of very different sizes disturb each other, or tiny values get lost.",
        )
        check_error(observe, path, fmt, x, where)


@behaviour(9)
def test_other_inputs(observe):
    for fmt in FORMATS:
        for name in ("float16", "bfloat16", "float64", "turned", "gaps", "graph"):
            dtype = getattr(torch, name, None)
            x = observe.given["typed"].to(dtype if isinstance(dtype, torch.dtype) else torch.float32)
            path, where = f"types/{fmt}_{name}", f"{fmt}, {name} input"
            check_exponents(
                observe[f"{path}/given"], x, fmt, where, f"The exponents for {name} input are wrong."
            )
            check_elements(
                observe[f"{path}/elements"], x, fmt, where, f"The elements for {name} input are wrong."
            )
            expect(alike(observe[f"{path}/after"], x), "An input was modified.", where)
            expect(observe[f"{path}/grad"] == [False, False], "Results should require no gradient.", where)
    case = observe.given["matmul"][1]
    case = {"a": case["a"].to(torch.bfloat16), "b": case["b"]}
    check_product(observe["types/matmul/out"], case, "e4m3", "bfloat16 a that requires a gradient, strided b")
    expect(observe["types/matmul/grad"] is False, "Results should require no gradient.", "mx_matmul")
    check_packed(observe["types/packing/packed"], observe.given["packed"][0])
    check_unpacked(observe["types/packing/values"], observe.given["bytes"][0])


@behaviour(9)
def test_inputs_are_not_modified(observe):
    for path, _, x, where in cases(observe, "plain", "ties", "clamped", "extremes"):
        expect(alike(observe[f"{path}/after"], x), "quantize modified its input.", where)
        first = [observe[f"{path}/elements"], observe[f"{path}/given"]]
        expect(alike(observe[f"{path}/kept"], first), "dequantize modified its input.", where)
    for fmt in FORMATS:
        for i, case in enumerate(observe.given["matmul"]):
            expect(
                alike(observe[f"matmul/{fmt}{i}/after"], [case["a"], case["b"]]),
                "mx_matmul modified an input.",
                fmt,
            )
    for i, values in enumerate(observe.given["packed"]):
        expect(alike(observe[f"packing/pack{i}/after"], values), "pack_fp4 modified its input.")
    for i, raw in enumerate(observe.given["bytes"]):
        expect(alike(observe[f"packing/unpack{i}/after"], raw), "unpack_fp4 modified its input.")


@behaviour(10)
def test_bad_arguments_are_refused(observe):
    what = {
        "inf": "inf in its input",
        "minus_inf": "-inf in its input",
        "nan": "NaN in its input",
        "format": "an unknown format",
        "length": "a K that is no multiple of 32",
        "short": "K = 16",
        "nothing": "K = 0",
        "differs": "different K",
        "value": "a value outside e2m1, here 2.5",
        "large": "a value outside e2m1, here 8",
        "odd": "an odd number of elements",
    }
    names = {
        "exponents": (
            "shared_exponents",
            ("inf", "minus_inf", "nan", "format", "length", "short", "nothing"),
        ),
        "quantize": ("quantize", ("inf", "minus_inf", "nan", "format", "length", "short", "nothing")),
        "matmul": ("mx_matmul", ("inf", "nan", "format", "length", "differs")),
        "pack": ("pack_fp4", ("value", "large", "nan", "odd")),
    }
    for name, (function, all_of) in names.items():
        for key in all_of:
            observe.raised(
                f"errors/{name}_{key}", "ValueError", says=f"{function} should refuse {what[key]}."
            )
