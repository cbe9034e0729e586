import torch

from quizapp.judge.testing.checks import behaviour, close, describe, expect

CHANNELS = "Each output channel has its own largest absolute value, and the codes are symmetric: -127 to 127."
AXIS = "With the channels along another axis, shape or scales are wrong."
CUT = "Converting to int cuts toward zero; round first."
ZERO = "Padding and ReLU produce exact zeros; they must have an exact code."


def weights(observe):
    return list(enumerate(observe.given["weights"]))


def call_of(case):
    return f"weight of shape {tuple(case['w'].shape)}, axis={case['axis']}"


def rows_of(tensor, axis):
    tensor = tensor.movedim(axis, 0)
    return tensor.reshape(tensor.shape[0], -1)


def largest(w, axis):
    return rows_of(w.double().abs(), axis).amax(1)


def check_scale(observe, path, w, axis, says):
    scale = observe.tensor(f"{path}/scale", "The second result is the tensor of scales.")
    signed = rows_of(w.double(), axis)
    magnitude = signed.abs()
    count = len(signed)
    want, got = magnitude.amax(1) / 127, scale.double()
    if got.shape == want.shape:
        # Right where the largest absolute value is a positive weight, wrong where it is a negative one.
        right = (got - want).abs() <= 1e-4 * want
        positive = signed.amax(1) == magnitude.amax(1)
        if bool(positive.any()) and bool((~positive).any()) and torch.equal(right, positive):
            says = f"{CHANNELS} Yours takes the maximum without the absolute value."
    close(
        scale,
        want,
        says,
        rtol=1e-5,
        atol=0.0,
        device=observe.device,
        call=f"weight of shape {tuple(w.shape)}, axis={axis}",
        mistakes=[
            (f"{CHANNELS} Yours divides by 128.", magnitude.amax(1) / 128),
            (f"{CHANNELS} Yours takes the maximum without the absolute value.", signed.amax(1) / 127),
            (f"{CHANNELS} Yours is one scale for all.", (magnitude.max() / 127).expand(count)),
            (f"{CHANNELS} Yours is the range over 255.", (signed.amax(1) - signed.amin(1)) / 255),
            (f"{CHANNELS} Yours is half the range.", (signed.amax(1) - signed.amin(1)) / 254),
        ],
    )


@behaviour(1)
def test_codes_and_scales_have_their_types(observe):
    for i, case in weights(observe)[::6]:
        q = observe.tensor(f"weights/{i}/q", "The first result is the tensor of codes.")
        scale = observe.tensor(f"weights/{i}/scale", "The second result is the tensor of scales.")
        expect(q.dtype == torch.int8, "The codes must be int8.", f"got {describe(q)}")
        expect(scale.dtype == torch.float32, "The scales must be float32.", f"got {describe(scale)}")
        expect(
            q.shape == case["w"].shape, "The codes must have the shape of the weight.", f"got {describe(q)}"
        )
        expect(observe[f"weights/{i}/devices"], "Codes and scales belong on the weight's device.")


@behaviour(1)
def test_float64_weight_has_float32_scales(observe):
    i, case = weights(observe)[-1]
    scale = observe.tensor(f"weights/{i}/scale")
    expect(
        scale.dtype == torch.float32,
        "The scales must be float32, also for a float64 weight.",
        f"got {describe(scale)}",
    )
    expect(observe.tensor(f"weights/{i}/q").dtype == torch.int8, "The codes must be int8.")


@behaviour(1)
def test_scales(observe):
    for i, case in weights(observe)[:1]:
        check_scale(observe, f"weights/{i}", case["w"], 0, "The scale of a channel is not max|w| / 127.")
    check_scale(
        observe,
        "weights/default",
        observe.given["weights"][0]["w"],
        0,
        "Without an axis the channels lie along axis 0.",
    )


@behaviour(1)
def test_codes_are_symmetric(observe):
    for i, case in weights(observe):
        q = observe.tensor(f"weights/{i}/q").double()
        expect(bool((q.abs() <= 127).all()), CHANNELS, f"codes from {q.min():.0f} to {q.max():.0f}")
        if q.shape == case["w"].shape:
            top = rows_of(q.abs(), case["axis"]).amax(1)
            expect(
                bool((top == 127).all()),
                f"{CHANNELS} The largest weight of every channel has the code 127 or -127.",
                f"{call_of(case)}: largest codes {top.int().tolist()}",
            )


@behaviour(1)
def test_no_gradient_is_required(observe):
    for i, _ in weights(observe):
        expect(
            observe[f"weights/{i}/flags"] == [False, False],
            "Codes and scales are constants: they must not require a gradient.",
        )


@behaviour(1)
def test_weight_is_not_modified(observe):
    for i, case in weights(observe):
        expect(
            torch.equal(observe.tensor(f"weights/{i}/after"), case["w"]), "The weight was changed in place."
        )


def check_codes(observe, path, w, axis):
    """The codes restore the weight within half a step of the scale that was returned."""
    q = observe.tensor(f"{path}/q").double()
    scale = observe.tensor(f"{path}/scale").double()
    expect(q.shape == w.shape, "The codes must have the shape of the weight.", f"got {tuple(q.shape)}")
    expect(scale.shape == (w.shape[axis],), "There is one scale per channel.", f"got {tuple(scale.shape)}")
    steps = rows_of(w.double(), axis) / scale[:, None]
    codes = rows_of(q, axis)
    error = (codes - steps).abs().max().item()
    says = "The restored weight is off by more than half a step."
    if torch.equal(codes, steps.trunc()) or torch.equal(codes, (steps * (1 - 1e-6)).trunc()):
        says = CUT
    elif torch.equal(codes, steps.floor()):
        says = "The codes were rounded down; round to the nearest."
    expect(
        error <= 0.5 + 2e-3, says, f"weight of shape {tuple(w.shape)}, axis={axis}: off by {error:.3g} steps"
    )


@behaviour(2)
def test_half_a_step(observe):
    i, case = weights(observe)[0]
    check_codes(observe, f"weights/{i}", case["w"], 0)


@behaviour(2)
def test_rounding(observe):
    steps = torch.tensor(observe.given["steps"], dtype=torch.float64)
    q = observe.tensor("rounding/q").double()
    scale = observe.tensor("rounding/scale").double()
    expect(q.shape == (2, len(steps)), "The codes must have the shape of the weight.", f"got {describe(q)}")
    expect(scale.shape == (2,), "There is one scale per channel.", f"got {describe(scale)}")
    up = (steps + 0.5).floor()
    away = steps.sign() * (steps.abs() + 0.5).floor()
    for row, sign in ((0, 1.0), (1, -1.0)):
        exact = scale[row].item() == (1.0, 0.25)[row]
        # Only where the returned step is exact is a tie a tie.
        tie = (steps.frac().abs() - 0.5).abs() < 1e-9
        chosen = torch.ones_like(tie) if exact else ~tie
        want = (sign * steps).round()[chosen]
        close(
            q[row][chosen],
            want,
            "Values are rounded to the nearest code, ties to the even one: 1.6 steps give 2, 2.5 give 2, 3.5 give 4.",
            rtol=0.0,
            atol=0.0,
            call=f"a channel of {[round(sign * s, 1) for s in steps.tolist()]} steps",
            mistakes=[
                (CUT, (sign * steps).trunc()[chosen]),
                ("The codes were rounded down; round to the nearest.", (sign * steps).floor()[chosen]),
                ("Ties go to the even code, not upward.", (sign * steps + 0.5).floor()[chosen]),
                ("Ties go to the even code, not upward.", sign * up[chosen]),
                ("Ties go to the even code, not away from zero.", sign * away[chosen]),
            ],
        )


@behaviour(3)
def test_zero_channel(observe):
    q, scale = observe.tensor("weights/tiny/q"), observe.tensor("weights/tiny/scale")
    expect(
        q.shape == (5, 9) and scale.shape == (5,), "Shapes are wrong.", f"{describe(q)}, {describe(scale)}"
    )
    expect(
        bool(torch.isfinite(scale).all()) and scale[1].item() > 0,
        "A channel of zeros was divided by a scale of zero.",
        f"its scale is {scale[1].item():.3g}",
    )
    expect(not q[1].any(), "A channel of zeros must have codes 0.", f"got {q[1].tolist()}")
    says = "In a weight that is all zero every channel has codes 0 and a positive finite scale."
    q, scale = observe.tensor("weights/zeros/q"), observe.tensor("weights/zeros/scale")
    expect(q.shape == (3, 4) and not q.any(), says, f"codes: {describe(q)}")
    good = scale.shape == (3,) and torch.isfinite(scale).all() and (scale > 0).all()
    expect(good, says, f"scales {scale.tolist()}")


@behaviour(3)
def test_tiny_channel(observe):
    w = observe.given["tiny"]
    q, scale = observe.tensor("weights/tiny/q"), observe.tensor("weights/tiny/scale")
    expect(
        q.shape == (5, 9) and scale.shape == (5,), "Shapes are wrong.", f"{describe(q)}, {describe(scale)}"
    )
    want = largest(w, 0)[3] / 127
    close(
        scale[3],
        want,
        "The scale of a channel of weights around 1e-8 is wrong: nothing may be added to it, no lower limit may reach it.",
        rtol=1e-4,
        atol=0.0,
    )
    error = ((q[3] * scale[3].double() - w[3].double()) / want).abs().max().item()
    expect(
        error <= 0.51, "A channel of weights around 1e-8 lost its relative accuracy.", f"{error:.3g} steps"
    )
    others = [0, 2, 4]
    close(scale[others], largest(w, 0)[others] / 127, "The other channels are wrong.", rtol=1e-5, atol=0.0)


@behaviour(4, on_error="Any axis of a weight with any number of dimensions must work.")
def test_every_axis(observe):
    for i, case in weights(observe):
        w, axis = case["w"], case["axis"]
        q = observe.tensor(f"weights/{i}/q")
        expect(q.shape == w.shape, AXIS, f"{call_of(case)}: codes of shape {tuple(q.shape)}")
        check_scale(observe, f"weights/{i}", w, axis, AXIS)
        check_codes(observe, f"weights/{i}", w, axis)
    w = observe.given["single"]
    says = "A weight with a single channel has one scale, in a tensor of shape (1,)."
    check_scale(observe, "weights/single", w, 1, says)
    check_codes(observe, "weights/single", w, 1)


@behaviour(4, on_error="A vector is a weight with one dimension; each entry is a channel.")
def test_vector(observe):
    v = observe.given["vector"]
    close(
        observe["weights/vector/scale"],
        v.double().abs() / 127,
        "In a weight with one dimension each entry is a channel of its own.",
        rtol=1e-5,
        atol=0.0,
    )
    close(
        observe["weights/vector/q"],
        127 * v.sign(),
        "In a weight with one dimension each entry is a channel of its own.",
        rtol=0.0,
        atol=0.0,
    )


def bounds(case):
    low = min(batch.min().item() for batch in case["batches"])
    high = max(batch.max().item() for batch in case["batches"])
    return low, high


def range_mistakes(case):
    lows = [batch.min().item() for batch in case["batches"]]
    highs = [batch.max().item() for batch in case["batches"]]
    outside = "A value seen in calibration falls outside of the calibrated range."
    found = [
        (f"{outside} Yours is the range of the last batch.", lows[-1], highs[-1]),
        (f"{outside} Yours is the range of the first batch.", lows[0], highs[0]),
        (f"{outside} Yours averages the ranges of the batches.", sum(lows) / 4, sum(highs) / 4),
        (f"{outside} Yours leaves out the last batch.", min(lows[:-1]), max(highs[:-1])),
        (f"{outside} Yours leaves out the first batch.", min(lows[1:]), max(highs[1:])),
    ]
    for length in (1, 2, 3):
        low, high = lows[0], highs[0]
        momentum = (0.9, 0.99, 0.5)[length - 1]
        for a, b in zip(lows[1:], highs[1:], strict=True):
            low, high = momentum * low + (1 - momentum) * a, momentum * high + (1 - momentum) * b
        found.append((f"{outside} Yours is a moving average.", low, high))
    out = [(says, (max(high, 0.0) - min(low, 0.0)) / 255) for says, low, high in found]
    low, high = min(lows), max(highs)
    out += [
        ("8 bits have 256 codes and 255 steps between them.", (max(high, 0.0) - min(low, 0.0)) / 256),
        ("The range is not symmetric here: scale = (max - min) / 255.", max(-low, high) / 127),
        ("The range is not symmetric here: scale = (max - min) / 255.", 2 * max(-low, high) / 255),
        (ZERO, (high - low) / 255),
    ]
    return out


def check_calibration(observe, path, case, zero_says):
    low, high = bounds(case)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / 255
    name = f"calibrate_affine of batches with values from {bounds(case)[0]:.4g} to {bounds(case)[1]:.4g}"
    got = observe[f"{path}/scale"]
    smaller = isinstance(got, float) and got < scale * (1 - 1e-4)
    close(
        got,
        scale,
        "A value seen in calibration falls outside of the calibrated range."
        if smaller
        else "The scale is not (max - min) / 255 over all batches.",
        rtol=1e-5,
        atol=0.0,
        call=name,
        mistakes=range_mistakes(case),
    )
    expect(
        observe[f"{path}/zero_point"] == round(-low / scale),
        zero_says,
        f"{name}: got {observe[f'{path}/zero_point']:g}, -min / scale is {-low / scale:.2f}",
    )


@behaviour(5)
def test_range_over_all_batches(observe):
    for i, case in enumerate(observe.given["calibration"][:4]):
        check_calibration(observe, f"calibration/{i}", case, "The zero point is not round(-min / scale).")


@behaviour(5, on_error="Any iterable of batches must do: a generator can be run through only once.")
def test_any_iterable(observe):
    case = observe.given["calibration"][0]
    for name in ("generator", "tuple", "one"):
        check_calibration(
            observe, f"calibration/{name}", case, "The result must not depend on how the values are batched."
        )


@behaviour(5)
def test_plain_numbers(observe):
    for name in (*range(len(observe.given["calibration"])), "zeros", "relu"):
        expect(
            observe[f"calibration/{name}/types"] == [True, True],
            "The scale must be a Python float and the zero point a Python int.",
            "got {} and {}".format(*observe[f"calibration/{name}/kinds"]),
        )


@behaviour(6)
def test_range_includes_zero(observe):
    for i, case in enumerate(observe.given["calibration"]):
        if case["kind"] in ("positive", "negative"):
            check_calibration(
                observe,
                f"calibration/{i}",
                case,
                f"{ZERO} All-positive data has zero point 0, all-negative data 255.",
            )


@behaviour(6)
def test_zero_point_is_rounded(observe):
    for i, case in enumerate(observe.given["calibration"][:4]):
        low, high = bounds(case)
        exact = -low * 255 / (high - low)
        got = observe[f"calibration/{i}/zero_point"]
        expect(got == int(got), f"{ZERO} A zero point that is no integer is no code.", f"got {got:g}")
        expect(
            got == round(exact),
            "The zero point is -min / scale, rounded to the nearest integer.",
            f"got {got:g} where -min / scale is {exact:.2f}",
        )


@behaviour(6, on_error="Data that is all zero gives (1.0, 0).")
def test_all_zero_data(observe):
    got = observe["calibration/zeros/scale"], observe["calibration/zeros/zero_point"]
    expect(got == (1.0, 0.0), "Data that is all zero gives (1.0, 0).", f"got {got}")


@behaviour(6)
def test_constant_data(observe):
    for name, value, zero in (("constant", 3.0, 0), ("constant_negative", -3.0, 255)):
        says = "Only data that is all zero gives (1.0, 0): constant data has the range from 0 to its value."
        got = observe[f"calibration/{name}/zero_point"]
        close(observe[f"calibration/{name}/scale"], 3 / 255, says, rtol=1e-5, atol=0.0)
        expect(got == zero, says, f"data that is all {value}: zero point {got:g}, expected {zero}")


@behaviour(12)
def test_narrow_data(observe):
    says = "Data from -2e-8 to 8e-8 has a range too: no lower limit may reach its scale."
    close(observe["calibration/narrow/scale"], 1e-7 / 255, says, rtol=1e-5, atol=0.0)
    expect(observe["calibration/narrow/zero_point"] == 51, says, "the zero point should be 51")


@behaviour(13)
def test_zero_point_of_a_tie(observe):
    even = observe.given["even"]
    for name, exact in (("tie_down", even + 0.5), ("tie_up", even - 0.5)):
        got = observe[f"calibration/{name}/zero_point"]
        expect(
            got == even,
            "Ties go to the even zero point.",
            f"got {got:g}, not {even}, where -min / scale is exactly {exact}",
        )


@behaviour(6)
def test_range_that_starts_at_zero(observe):
    close(
        observe["calibration/relu/scale"], 0.02, "Data from 0 to 5.1 has the scale 0.02.", rtol=1e-5, atol=0
    )
    expect(observe["calibration/relu/zero_point"] == 0, "Data from 0 upward has zero point 0.")


def grids(observe):
    return enumerate({**case, **case["kept"]} for case in observe.given["grids"])


def grid_call(case):
    return f"fake_quantize(x, scale={case['scale']:.4g}, zero_point={case['zero_point']})"


def quantized(case):
    return (case["codes"].clamp(0, 255) - case["zero_point"]).double() * case["scale"]


def value_mistakes(case):
    codes, zero, scale = case["codes"].double(), case["zero_point"], case["scale"]
    x = case["x"].double()
    cut = (x / scale).trunc() + zero
    return [
        ("Values beyond the range need more than 8 bits.", (codes - zero) * scale),
        (CUT, (cut.clamp(0, 255) - zero) * scale),
        ("The grid is unsigned: clamp to 0..255.", (codes.clamp(-128, 127) - zero) * scale),
        ("Clamp after adding the zero point.", (codes - zero).clamp(0, 255) * scale),
        ("These are the codes: subtract the zero point and multiply by the scale.", codes.clamp(0, 255)),
        ("Subtract the zero point again before multiplying by the scale.", codes.clamp(0, 255) * scale),
        ("Nothing was rounded.", x),
        ("Nothing was rounded.", x.clamp(-zero * scale, (255 - zero) * scale)),
        ("The last code is 255.", (codes.clamp(0, 256) - zero) * scale),
        ("The last code is 255.", (codes.clamp(0, 254) - zero) * scale),
    ]


@behaviour(7)
def test_values(observe):
    for i, case in grids(observe):
        for path in (f"fake/{i}/out", f"gradient/{i}/out"):
            close(
                observe[path],
                quantized(case),
                "The values are not (clamp(round(x / scale) + zero_point, 0, 255) - zero_point) * scale.",
                rtol=0.0,
                atol=1e-5,
                call=grid_call(case),
                mistakes=value_mistakes(case),
            )


@behaviour(7, presumes=("values",))
def test_values_without_gradients(observe):
    says = "Under torch.no_grad() the result is another one: x is rounded in every mode."
    for i, case in grids(observe):
        close(observe[f"fake/{i}/no_grad"], quantized(case), says, rtol=0.0, atol=1e-5, call=grid_call(case))


@behaviour(11, presumes=("values_without_gradients",))
def test_values_of_any_layout(observe):
    says = "A non-contiguous x gives another result than its copy."
    for i, case in grids(observe):
        close(observe[f"fake/{i}/turned"], quantized(case), says, rtol=0.0, atol=1e-5, call=grid_call(case))


@behaviour(10, presumes=("values",))
def test_values_far_beyond_the_range(observe):
    for name in ("plain", "trained"):
        close(
            observe[f"fake/far/{name}"],
            torch.tensor([3.1, -2.0, 3.1, -2.0, 3.1, -2.0]),
            "A large x lost the precision of the result: x + (result - x) rounds to the spacing of x.",
            rtol=0.0,
            atol=1e-5,
            device=observe.device,
            call="fake_quantize of +-1e5, +-3e6 and +-1e12, scale=0.02, zero_point=100",
            mistakes=[
                (
                    "A large x became an integer before it was clamped: 1e12 / scale fits into no int32.",
                    torch.tensor([3.1, -2.0, 3.1, -2.0, -2.0, -2.0]),
                )
            ],
        )


@behaviour(7)
def test_zero_stays_zero(observe):
    for i, case in grids(observe):
        out = observe.tensor(f"fake/{i}/out")
        at_zero = out[case["x"] == 0]
        expect(
            len(at_zero) > 0 and not at_zero.any(), "0.0 must stay exactly 0.0.", f"got {at_zero.tolist()}"
        )


@behaviour(7)
def test_twice_is_once(observe):
    for i, case in grids(observe):
        close(
            observe[f"fake/{i}/again"],
            quantized(case),
            "Applied to its own result, fake_quantize changed it.",
            rtol=0.0,
            atol=1e-5,
            call=grid_call(case),
        )


@behaviour(7)
def test_dtype_of_the_input(observe):
    for i, case in grids(observe):
        out = observe.tensor(f"fake/{i}/out")
        expect(
            out.dtype == case["x"].dtype,
            "The result must have the dtype of x.",
            f"{out.dtype} for {case['x'].dtype}",
        )
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        out = observe.tensor(f"fake/{name}/out")
        expect(out.dtype == dtype, "The result must have the dtype of x.", f"{out.dtype} for {dtype}")
        close(
            out,
            (observe.given["exact_codes"] - 100) * 0.125,
            f"Values on the grid must stay as they are, also in {name}.",
            rtol=0.0,
            atol=1e-5,
        )


@behaviour(7)
def test_input_is_not_modified(observe):
    for i, case in grids(observe):
        expect(torch.equal(observe.tensor(f"fake/{i}/after"), case["x"]), "x was changed in place.")


DEAD = "The derivative of rounding is zero almost everywhere, so nothing trains: pass the gradient straight through."


@behaviour(8, on_error=DEAD)
def test_gradient(observe):
    for i, case in grids(observe):
        codes, upstream = case["codes"], case["upstream"].double()
        grad = observe[f"gradient/{i}/grad"]
        expect(isinstance(grad, torch.Tensor), DEAD, "x got no gradient")
        inside = (codes >= 0) & (codes <= 255)
        # A clamp of x to the representable range cuts values that still round to the first or last code.
        x, zero, scale = case["x"].double(), case["zero_point"], case["scale"]
        by_value = (x >= -zero * scale * (1 + 1e-6)) & (x <= (255 - zero) * scale * (1 + 1e-6))
        by_value_close = (x > -zero * scale) & (x < (255 - zero) * scale)
        strict = (codes > 0) & (codes < 255)
        border = "What counts is the rounded value: less than half a step beyond the first or last code it is not clamped."
        close(
            grad,
            upstream * inside,
            "The gradient is not the incoming one where the rounded value lies within 0..255, and 0 elsewhere.",
            rtol=1e-4,
            atol=1e-5,
            device=observe.device,
            call=grid_call(case),
            mistakes=[
                (DEAD, torch.zeros_like(upstream)),
                ("A clamped value does not react to small changes: its gradient is zero.", upstream),
                ("The incoming gradient is ignored.", inside.double()),
                (
                    "The gradient is passed on as it is: scaling down and up again cancel.",
                    upstream * inside * scale,
                ),
                (
                    "The gradient is passed on as it is: scaling down and up again cancel.",
                    upstream * inside / scale,
                ),
                (border, upstream * by_value),
                (border, upstream * by_value_close),
                ("Code 0 and code 255 are within the range.", upstream * strict),
            ],
        )
    call = "fake_quantize of an intermediate tensor with values -300, -10.6, 3.2, 7.4 and 600, scale=2, zero_point=100"
    want = torch.tensor([0.0, -1.5, 2.0, 0.5, 0.0])
    close(
        observe["gradient/coarse/grad"],
        want,
        "The gradient is not the incoming one where the rounded value lies within 0..255, and 0 elsewhere.",
        rtol=1e-5,
        device=observe.device,
        call=call,
        mistakes=[
            (
                "The gradient is passed on as it is: scaling down and up again cancel.",
                want * factor,
            )
            for factor in (2.0, 0.5)
        ],
    )


@behaviour(9)
def test_infinite_weights_are_refused(observe):
    for name in ("inf", "minus_inf", "nan"):
        for step in (f"weight_{name}", f"weight_axis_{name}"):
            observe.raised(
                f"errors/{step}", "ValueError", says="A weight that holds inf or NaN must be refused."
            )


@behaviour(9)
def test_infinite_batches_are_refused(observe):
    for name in ("inf", "minus_inf", "nan"):
        for position in range(3):
            observe.raised(
                f"errors/batch_{name}_{position}",
                "ValueError",
                says="Inf or NaN in any of the batches must be refused.",
            )


@behaviour(9)
def test_no_batches_are_refused(observe):
    for step in ("no_batches", "empty_generator"):
        observe.raised(f"errors/{step}", "ValueError", says="Calibration without any batch must be refused.")


@behaviour(9)
def test_bad_grids_are_refused(observe):
    for step in ("scale_zero", "scale_negative"):
        observe.raised(f"errors/{step}", "ValueError", says="A scale that is not positive must be refused.")
    for step in ("zero_point_low", "zero_point_high"):
        observe.raised(f"errors/{step}", "ValueError", says="A zero point outside 0..255 must be refused.")


@behaviour(9, on_error="The zero points 0 and 255 are valid.")
def test_limits_are_valid(observe):
    expect(len(observe["errors/limits/out"]) == 2, "The zero points 0 and 255 are valid.")


HUGE = "Large values are finite as long as each of them is: test the elements, not their sum."


@behaviour(9, on_error=HUGE)
def test_large_values_are_finite(observe):
    expect(list(observe["errors/huge_weight/shape"]) == [3, 300], HUGE)
    close(observe["errors/huge_batch/scale"], 2.2e36 / 255, HUGE, rtol=1e-4, atol=0.0)
