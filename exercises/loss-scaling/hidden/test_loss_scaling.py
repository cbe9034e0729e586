import torch

from quizapp.judge.testing.checks import behaviour, close, expect

PATTERN = "ggg gg b ggg g b b ggggggg b g b gg b ggg".replace(" ", "")


def simulate(pattern, scale, growth, backoff, interval, *, count=0, keep=False, late=False, no_reset=False):
    """The scale after every iteration; the flags give the scales of a usual mistake."""
    seen = []
    for letter in pattern:
        if letter == "b":
            scale *= backoff
            count = count if keep else 0
        else:
            count += 1
            due = count > interval if late else count >= interval if not no_reset else count % interval == 0
            if due:
                scale *= growth
                count = count if no_reset else 0
        seen.append(scale)
    return seen


@behaviour(1)
def test_default_scale(observe):
    value = observe["defaults/scale"]
    expect(type(value) is float, "scale_value should be a Python float.", f"got {value!r}")
    expect(value == 2.0**16, "The default scale is 2**16.", f"got {value!r}")


@behaviour(1)
def test_default_factors_and_interval(observe):
    start = 2.0**16
    close(
        observe["defaults/scales"],
        [start, start, 2 * start, 2 * start, start],
        "By default the scale doubles after 2000 clean iterations and halves after an overflow.",
        rtol=1e-9,
        call="DynamicLossScaler(), scales after 1, 1999, 2000, 2001 clean iterations and one overflow",
    )


REFUSED = {
    "scale_zero": "init_scale=0",
    "scale_negative": "a negative init_scale",
    "growth_one": "growth_factor=1",
    "growth_below": "a growth_factor below 1",
    "backoff_zero": "backoff_factor=0",
    "backoff_negative": "a negative backoff_factor",
    "backoff_one": "backoff_factor=1",
    "backoff_above": "a backoff_factor above 1",
    "interval_zero": "growth_interval=0",
    "interval_negative": "a negative growth_interval",
}


@behaviour(1)
def test_bad_arguments_are_refused(observe):
    for name, what in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=f"{what} should be refused.")


@behaviour(
    1, on_error="init_scale=0.5, growth_factor=1.01, backoff_factor=0.99 and growth_interval=1 are valid."
)
def test_limits_are_valid(observe):
    close(observe["errors/valid/scale"], 0.5, "The scale should start at init_scale.", rtol=1e-12)


@behaviour(2)
def test_scaled_loss(observe):
    scale = observe.given["scale"]
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        loss = observe.tensor(f"scale/{dtype}/before").double()
        out = observe.tensor(f"scale/{dtype}/out", "scale should return a tensor.")
        want = torch.float64 if dtype == "float64" else torch.float32
        expect(
            out.dtype == want,
            f"The scaled loss of a {dtype} loss has the wrong dtype.",
            f"got {out.dtype}, expected {want}",
        )
        close(
            out,
            loss * scale,
            "scale should return the loss times the scale."
            if dtype in ("float32", "float64")
            else "Form the product of a half-precision loss in float32, before any rounding to 16 bits.",
            rtol=1e-5,
            device=observe.device,
            call=f"scale({dtype} loss) at a scale of {scale:.2f}",
        )


@behaviour(2)
def test_float16_loss_does_not_overflow(observe):
    out = observe.tensor("scale/large/out", "scale should return a tensor.")
    close(
        out,
        131072.0,
        "The scaled float16 loss is wrong.",
        rtol=1e-6,
        mistakes={
            "Scaling a float16 loss of 2 by 65536 overflowed: form the product in float32.": float("inf")
        },
    )
    expect(out.dtype == torch.float32, "A float16 loss gives a float32 result.", f"got {out.dtype}")


@behaviour(2)
def test_loss_is_left_alone(observe):
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        before, after = observe[f"scale/{dtype}/before"], observe[f"scale/{dtype}/loss"]
        expect(torch.equal(before, after), "scale changed the loss that it was given.", dtype)
    for name in ("plain", "plain_double"):
        before, after = observe[f"scale/{name}/before"], observe[f"scale/{name}/loss"]
        expect(
            torch.equal(before, after), "scale changed the loss that it was given.", "a loss without graph"
        )


@behaviour(2)
def test_elements_and_digits_of_the_loss(observe):
    for name, rtol in (("plain", 1e-6), ("plain_double", 1e-12)):
        close(
            observe[f"scale/{name}/out"],
            observe.tensor(f"scale/{name}/before").double() * 1024,
            "scale should return the loss times the scale, element by element and in the loss's precision.",
            rtol=rtol,
            call=f"scale({'float64' if name == 'plain_double' else 'float32'} losses) at a scale of 1024",
        )


@behaviour(2, on_error="The scaled loss must keep the graph.")
def test_graph_is_kept(observe):
    for dtype, rtol in (("float32", 1e-5), ("float64", 1e-5), ("float16", 5e-3), ("bfloat16", 3e-2)):
        expect(observe[f"scale/{dtype}/grad"] is not None, "The scaled loss must keep the graph.")
        close(
            observe[f"scale/{dtype}/grad"],
            observe.given["loss"]["x"].double() * observe.given["scale"],
            "The gradient of the scaled loss should be the scale times the true gradient.",
            rtol=rtol,
            device=observe.device,
        )


SECOND_GROUP = (
    "A parameter in the second group kept its scaled gradient, so its step was thousands of times too large."
)


def check_unscaled(observe, path, says, mistakes=()):
    """The first optimizer's gradients have been divided, once."""
    for i, want in enumerate(observe.given["groups"]["grads"][:4]):
        got = observe[path][i]
        if want is None:
            expect(got is None, "A parameter without a gradient was given one.")
            continue
        scale = observe.given["scale"]
        close(
            got,
            want,
            says,
            rtol=1e-5,
            atol=1e-7,
            device=observe.device,
            call=f"scale {scale:.2f}, group {i // 2}",
            mistakes=[
                *mistakes,
                (
                    SECOND_GROUP,
                    want.double() * scale if i >= 2 else None,
                ),
                ("The gradients were divided twice.", want.double() / scale),
                ("The gradients were not divided by the scale.", want.double() * scale),
            ],
        )


@behaviour(3)
def test_every_group_is_unscaled(observe):
    check_unscaled(observe, "unscale/grads", "unscale_ should divide every gradient by the scale.")


@behaviour(3)
def test_gradients_are_divided_in_place(observe):
    check_unscaled(
        observe,
        "unscale/held",
        "unscale_ must divide in place: whoever holds the gradient tensor sees the old numbers.",
        [
            ("unscale_ must divide in place: the gradient tensor itself kept its old numbers.", value)
            for value in (
                None if g is None else g.double() * observe.given["scale"]
                for g in observe.given["groups"]["grads"][:4]
            )
        ],
    )


@behaviour(3)
def test_an_overflow_leaves_no_gradient_scaled(observe):
    for i in (1, 2):
        close(
            observe["unscale_overflow/grads"][i],
            observe.given["groups"]["grads"][i],
            "A gradient was not divided because another one had overflowed.",
            rtol=1e-5,
            atol=1e-7,
            device=observe.device,
        )


@behaviour(3, on_error="Gradients need not be contiguous.")
def test_a_transposed_gradient(observe):
    close(
        observe["unscale_turned/grad"],
        observe.given["groups"]["grads"][2],
        "A gradient that is not contiguous was not divided in place: a reshaped copy was.",
        rtol=1e-5,
        atol=1e-7,
        device=observe.device,
    )


@behaviour(3)
def test_frozen_parameters_are_unscaled_too(observe):
    close(
        observe["unscale_frozen/grad"],
        observe.given["groups"]["grads"][1],
        "A parameter that has a gradient is unscaled, even if it does not require gradients any more.",
        rtol=1e-5,
        atol=1e-5,
        device=observe.device,
    )


@behaviour(3)
def test_other_things_stay(observe):
    scale = observe.given["scale"]
    close(
        observe["unscale/grads"][4],
        observe.given["groups"]["grads"][4].double() * scale,
        "unscale_ touched the gradient of a parameter that belongs to another optimizer.",
        rtol=1e-5,
    )
    for got, want in zip(observe["unscale/params"], observe.given["groups"]["params"], strict=True):
        expect(torch.equal(got, want), "unscale_ changed a parameter.")
    # The scale may be kept in float32, as PyTorch's own scaler does.
    close(observe["unscale/scale"], scale, "unscale_ changed the scale.", rtol=1e-6)


@behaviour(4, on_error="Every optimizer has its own record of what was unscaled.")
def test_second_unscale_is_refused(observe):
    observe.raised(
        "once/unscale/second", "RuntimeError", says="A second unscale_ before update must raise RuntimeError."
    )
    check_unscaled(observe, "once/unscale/grads", "The refused second unscale_ changed the gradients.")
    says = "A second unscale_ between step and update must raise RuntimeError and leave the gradients as they are."
    observe.raised("once/unscale/after_step", "RuntimeError", says=says)
    grads = zip(observe["once/unscale/grads"], observe["once/unscale/grads_after_step"], strict=True)
    expect(
        all((before is None) == (after is None) for before, after in grads), "step must not clear gradients."
    )
    check_unscaled(observe, "once/unscale/grads_after_step", says)


@behaviour(4)
def test_second_step_is_refused(observe):
    for name in ("step", "skip"):
        after = "" if name == "step" else ", also after a skipped one"
        observe.raised(
            f"once/{name}/second",
            "RuntimeError",
            says=f"A second step before update must raise RuntimeError{after}.",
        )
        if observe[f"once/{name}/first"] is (name == "step"):
            expect(observe[f"once/{name}/moved"] == 0, "The refused second step moved the parameters.")
    close(
        observe["once/step/scale"],
        observe.given["scale"],
        "A second step that is refused is no overflow: the scale should stay.",
        rtol=1e-6,
    )


@behaviour(4)
def test_step_does_not_divide_again(observe):
    expect(observe["once/unscale/stepped"] == [True, True], "step should return True for finite gradients.")
    expect(observe["once/edited/stepped"] is True, "step should return True for finite gradients.")
    rates, case = (0.1, 0.1, 0.2, 0.2), observe.given["groups"]
    for path, factor in (("unscale", 1.0), ("edited", 0.5)):
        for i in (0, 1, 2):
            start, grad = case["params"][i].double(), case["grads"][i].double()
            close(
                observe[f"once/{path}/params"][i],
                start - rates[i] * factor * grad,
                "After unscale_, step should use the gradients as they are.",
                rtol=1e-5,
                atol=2e-6,
                device=observe.device,
                mistakes={
                    "unscale_() and step() both divided: remember what was already unscaled in this "
                    "iteration.": start - rates[i] * factor * grad / observe.given["scale"],
                },
            )


@behaviour(4, on_error="Every optimizer has its own record, and update starts a fresh iteration.")
def test_optimizers_and_iterations_are_separate(observe):
    close(
        observe["once/unscale/other"],
        observe.given["groups"]["grads"][4],
        "A second optimizer's gradients should be unscaled like the first one's.",
        rtol=1e-5,
        atol=1e-7,
    )
    check_unscaled(observe, "once/unscale/next", "After update the next iteration should be unscaled afresh.")
    for name in ("step", "skip"):
        expect(observe[f"once/{name}/next"] is True, "After update a good iteration should step again.")


def train(case, steps):
    """The same training in float64 without any scale."""
    params = [t.double() for t in case["start"]]
    velocity = [torch.zeros_like(t) for t in params]
    for _ in range(steps):
        true = [
            h.double() * (p - g.double()) for h, p, g in zip(case["curve"], params, case["goal"], strict=True)
        ]
        velocity = [0.9 * v + d + 0.05 * p for v, d, p in zip(velocity, true, params, strict=True)]
        params = [p - 0.1 * v for p, v in zip(params, velocity, strict=True)]
        yield params, true


@behaviour(5)
def test_equals_unscaled_training(observe):
    for dtype in ("float32", "float64"):
        for i, (params, _) in enumerate(train(observe.given["train"], 6)):
            for got, want in zip(observe[f"train/{dtype}/params{i}"], params, strict=True):
                close(
                    got,
                    want,
                    "The parameters are not those of training without a scale.",
                    rtol=1e-5,
                    atol=1e-5,
                    device=observe.device,
                    call=f"SGD with momentum, {dtype}, after {i + 1} iterations"
                    + (" (with unscale_ before step)" if i % 2 else ""),
                )


@behaviour(5)
def test_step_returns_true(observe):
    for dtype in ("float32", "float64"):
        got = observe[f"train/{dtype}/stepped"]
        expect(
            all(value is True for value in got), "step should return True when it stepped.", f"returned {got}"
        )


@behaviour(5)
def test_gradients_are_kept(observe):
    for i, (_, grads) in enumerate(train(observe.given["train"], 6)):
        for got, want in zip(observe[f"train/float32/grads{i}"], grads, strict=True):
            expect(got is not None, "step must not clear the gradients.")
            close(
                got,
                want,
                "After step the gradients should be the true, unscaled ones; step must not clear them.",
                rtol=1e-5,
                atol=2e-5,
                device=observe.device,
            )


@behaviour(5)
def test_gradients_are_kept_after_an_overflow(observe):
    for name in ("inf", "minus_inf", "nan"):
        for place in (0, 1, 2, 4):
            expect(
                all(observe[f"overflow/{name}{place}step/gradients_left"]),
                "A skipped step must not clear the gradients either.",
            )


@behaviour(5)
def test_large_gradients_are_no_overflow(observe):
    case = observe.given["large"]
    says = (
        "These gradients were large but finite, and the step was skipped: test the elements, not their sum."
    )
    expect(observe["large/stepped"] is True, says, "six elements of size 3e38")
    close(
        observe["large/p"],
        case["start"].double() - 0.75 * case["sign"].double(),
        "The step with large gradients is wrong.",
        rtol=1e-5,
        atol=1e-5,
        device=observe.device,
    )


@behaviour(14)
def test_large_float64_gradients_are_no_overflow(observe):
    case = observe.given["large"]
    expect(
        observe["large/double/stepped"] is True,
        "A float64 gradient beyond the range of float32 is finite: test and divide it in its own dtype.",
        "six elements of size 3e200",
    )
    close(
        observe["large/double/p"],
        case["start"].double() - 0.75 * case["sign"].double(),
        "The step with float64 gradients beyond the range of float32 is wrong: divide in their own dtype.",
        rtol=1e-5,
        atol=1e-5,
        device=observe.device,
    )


@behaviour(5)
def test_nothing_to_divide(observe):
    expect(
        observe.error("no_gradients") is not None or observe["no_gradients/stepped"] is True,
        "Where no parameter has a gradient, none has overflowed: step should return True.",
    )


def same_state(before, after):
    if before.keys() != after.keys():
        return False
    return all(
        before[key].keys() == after[key].keys()
        and all(
            torch.equal(torch.as_tensor(before[key][n]), torch.as_tensor(after[key][n])) for n in before[key]
        )
        for key in before
    )


UNTOUCHED = (
    "An overflow must leave parameters and optimizer state untouched; "
    "stepping with zeros still decays weights and moments."
)
WHEN = {
    "step": "in the gradients at step",
    "healed": "in the gradients at unscale_, overwritten before step",
}
LATER = "put into the gradients between unscale_ and step"


def untouched(observe, path, call):
    pairs = zip(observe[f"{path}/before"], observe[f"{path}/after"], strict=True)
    expect(all(torch.equal(a, b) for a, b in pairs), UNTOUCHED, f"a parameter changed, {call}")
    state = same_state(observe[f"{path}/state_before"], observe[f"{path}/state_after"])
    expect(state, UNTOUCHED, f"the state of AdamW changed, {call}")


@behaviour(6)
def test_overflow_skips_the_step(observe):
    for name in ("inf", "minus_inf", "nan"):
        for place in (0, 1, 2, 4):
            for when, text in WHEN.items():
                if when != "step" and place != 2:
                    continue
                got = observe[f"overflow/{name}{place}{when}/stepped"]
                what = f"a {name.replace('_', ' ')} {text}"
                expect(got is False, "step should skip and return False.", f"{what}: returned {got!r}")
    expect(observe["overflow/fresh/stepped"] is False, "step should skip and return False.")


@behaviour(6)
def test_overflow_leaves_everything_alone(observe):
    for name in ("inf", "minus_inf", "nan"):
        for place in (0, 1, 2, 4):
            for when in WHEN:
                if when != "step" and place != 2:
                    continue
                untouched(
                    observe, f"overflow/{name}{place}{when}", f"a {name.replace('_', ' ')} {WHEN[when]}"
                )
    expect(torch.equal(observe["overflow/fresh/after"], torch.ones(3)), UNTOUCHED)
    expect(not observe["overflow/fresh/state"], UNTOUCHED, "AdamW had no state before and has one now")


@behaviour(7)
def test_backoff(observe):
    close(
        observe["only_update/skipped/scales"][-1],
        256.0,
        "After a skipped step update should multiply the scale by backoff_factor.",
        rtol=1e-12,
        call="scale 1024, backoff_factor=0.25",
    )
    close(
        observe["only_update/repeated/scales"],
        [256.0, 64.0, 16.0],
        "Each further overflow should back off once more.",
        rtol=1e-12,
        call="scale 1024, backoff_factor=0.25, three overflows",
    )


@behaviour(7)
def test_backoff_wherever_the_overflow_came(observe):
    for when in WHEN:
        close(
            observe[f"overflow/nan2{when}/scale"],
            4.0,
            "A step was skipped and update did not back off.",
            rtol=1e-12,
            call=f"scale 8, a nan {WHEN[when]}",
        )


@behaviour(13)
def test_overflow_after_unscale(observe):
    for name in ("inf", "minus_inf", "nan"):
        path, what = f"overflow/{name}2later", f"a {name.replace('_', ' ')} {LATER}"
        got = observe[f"{path}/stepped"]
        expect(got is False, "step should skip and return False.", f"{what}: returned {got!r}")
        untouched(observe, path, what)
    close(
        observe["overflow/nan2later/scale"],
        4.0,
        "A step was skipped and update did not back off.",
        rtol=1e-12,
        call=f"scale 8, a nan {LATER}",
    )


@behaviour(15)
def test_the_scale_may_fall_below_one(observe):
    close(
        observe["small_scale/scales"],
        [4.0 * 0.5**i for i in range(1, 41)],
        "The scale has no lower limit: every iteration with an overflow backs off.",
        rtol=1e-12,
        call="scale 4, backoff_factor=0.5, forty overflows",
    )


@behaviour(7)
def test_scale_changes_in_update_only(observe):
    for name in ("clean", "skipped"):
        close(
            observe[f"only_update/{name}/scales"][:4],
            [1024.0] * 4,
            "The scale may change in update only.",
            rtol=1e-12,
            call="scale_value at first, after scale, unscale_ and step",
        )


@behaviour(15)
def test_scale_value_is_read_only(observe):
    close(
        observe["only_update/assigned/scale"],
        1024.0,
        "scale_value is read-only: an assignment to it changed the scale.",
        rtol=1e-12,
    )


@behaviour(8)
def test_growth(observe):
    says = (
        "The scale should grow after growth_interval clean iterations in a row, "
        "counted anew after each overflow."
    )
    for interval in (1, 2, 3, 5):
        for name, pattern in (("fixed", PATTERN), ("random", observe.given["random"])):
            arguments = (pattern, 4096.0, 3.0, 0.25, interval)
            close(
                observe[f"growth/{name}{interval}/scales"],
                simulate(*arguments),
                "The scale does not follow the outcomes of the iterations.",
                rtol=1e-5,
                call=f"growth_interval={interval}, growth_factor=3, backoff_factor=0.25, scales after each "
                f"iteration of {''.join(pattern)} (g: clean, b: overflow)",
                mistakes=[
                    (says, simulate(*arguments, keep=True)),
                    (f"{says} Yours is one iteration late.", simulate(*arguments, late=True)),
                    (f"{says} Yours is one iteration early.", simulate(*arguments[:4], max(1, interval - 1))),
                    (f"{says} Growth restarts the count too.", simulate(*arguments, no_reset=True)),
                ],
            )


def pair_scales(pairs):
    return simulate(["b" if "b" in pair else "g" for pair in pairs], 4096.0, 2.0, 0.25, 3)


@behaviour(9)
def test_each_optimizer_by_its_own_gradients(observe):
    pairs = observe.given["pairs"]
    want = [[letter == "g" for letter in pair] for pair in pairs]
    got = observe["several/run/stepped"]
    expect(
        got == want,
        "One iteration, one backoff; but an optimizer with finite gradients still steps, and one with an "
        "overflow is skipped whatever the others do.",
        f"two optimizers, outcomes {pairs[0]}, {pairs[1]}: returned {got[:2]}",
    )
    expect(
        observe["several/unscaled/stepped"] == [True, False],
        "After unscale_ of two optimizers each should still be judged by its own gradients.",
    )
    for got, want in zip(observe["several/unscaled/values"], (1.0, 1.0 - 100 / 4096), strict=True):
        close(got, torch.full((3,), want), "Only the optimizer with finite gradients moves.", rtol=1e-6)


@behaviour(9)
def test_one_backoff_and_one_count(observe):
    pairs = observe.given["pairs"]
    double, scale, count = [], 4096.0, 0
    last = simulate([pair[1] for pair in pairs], 4096.0, 2.0, 0.25, 3)
    for pair in pairs:
        for letter in pair:
            scale, count = (scale * 0.25, 0) if letter == "b" else (scale, count + 1)
        scale, count = (scale * 2.0, 0) if count >= 3 else (scale, count)
        double.append(scale)
    close(
        observe["several/run/scales"],
        pair_scales(pairs),
        "With two optimizers update should count the iteration once and back off at most once.",
        rtol=1e-9,
        call=f"two optimizers, growth_interval=3, outcomes {' '.join(pairs)}",
        mistakes={
            "One iteration, one backoff and one count, however many optimizers took part.": double,
            "An overflow of the first optimizer was forgotten when the second one stepped.": last,
        },
    )
    close(
        observe["several/unscaled/scale"],
        1024.0,
        "One of two optimizers overflowed: back off once.",
        rtol=1e-12,
    )


@behaviour(9)
def test_each_optimizer_moves_by_its_own_gradients(observe):
    pairs = observe.given["pairs"]
    scales = [4096.0, *pair_scales(pairs)]
    values, want = [1.0, 1.0], []
    for pair, scale in zip(pairs, scales, strict=False):
        values = [v - 100 / scale if letter == "g" else v for v, letter in zip(values, pair, strict=True)]
        want.append([[v] * 3 for v in values])
    close(
        observe["several/run/values"],
        want,
        "Only the optimizers with finite gradients may move, each by its own unscaled gradient.",
        rtol=1e-5,
        atol=1e-4,
        device=observe.device,
        call=f"two optimizers, outcomes {' '.join(pairs)}",
    )


EMPTY = "update() was called with nothing to judge: that hides a forgotten step()."


@behaviour(10)
def test_update_without_step_is_refused(observe):
    for name in ("fresh", "other", "clean", "skipped", "unscaled"):
        observe.raised(f"empty_update/{name}/update", "RuntimeError", says=EMPTY)


@behaviour(10)
def test_refused_update_changes_nothing(observe):
    says = "The refused update() changed the scale or the count."
    for name, letters in (("fresh", ""), ("clean", "g"), ("skipped", "b")):
        scales = simulate(letters + "ggg", 64.0, 2.0, 0.5, 2)
        close(
            observe[f"empty_update/{name}/scale"],
            scales[len(letters) - 1] if letters else 64.0,
            says,
            rtol=1e-12,
        )
        close(observe[f"empty_update/{name}/scales"], scales[len(letters) :], says, rtol=1e-12)
    close(observe["empty_update/unscaled/scale"], 64.0, says, rtol=1e-12)
    expect(observe["empty_update/unscaled/stepped"] is True, "After a refused update() the step was skipped.")
    close(
        observe["empty_update/unscaled/p"],
        torch.full((3,), 0.9),
        "After a refused update() the scaler forgot that the gradients were unscaled already.",
        rtol=1e-5,
    )


@behaviour(11, on_error="The state must survive JSON: plain numbers only.")
def test_state_survives_json(observe):
    for name in ("two", "one", "none"):
        expect(
            isinstance(observe[f"state/{name}/text"], str), "The state must survive JSON: plain numbers only."
        )


DIFFERENT = "After a resume the scale grew at a different iteration than in the uninterrupted run."


@behaviour(11, on_error="In a new process the state cannot be loaded: all that counts must be in it.")
def test_resumed_scaler_continues(observe):
    rest = "gggggbgggggggbb"
    for name, letters in (("two", "bgg"), ("one", "ggggbg"), ("none", "gggg")):
        scale = observe[f"state/{name}/lead"][-1]
        close(observe[f"resumed/{name}/scale"], scale, "The loaded scaler has another scale.", rtol=1e-9)
        close(
            observe[f"resumed/{name}/scales"],
            simulate(letters + rest, 6001 / 8192, 3.0, 0.25, 4)[len(letters) :],
            "After a resume the scales are not those of the uninterrupted run.",
            rtol=1e-9,
            call=f"saved after {letters}, loaded into a scaler with other arguments, then {rest}",
            mistakes={
                DIFFERENT: simulate(rest, scale, 3.0, 0.25, 4),
                "After a resume the factors of the new scaler are used instead of the saved ones.": simulate(
                    rest, scale, 1.5, 0.75, 4, count={"two": 2, "one": 1, "none": 0}[name]
                ),
                "After a resume the growth interval of the new scaler is used instead of the saved "
                "one.": simulate(rest, scale, 3.0, 0.25, 9, count={"two": 2, "one": 1, "none": 0}[name]),
            },
        )


@behaviour(11)
def test_state_is_a_snapshot(observe):
    for name in ("two", "one", "none"):
        text = observe[f"state/{name}/text"]
        expect(observe[f"state/{name}/text_later"] == text, "The saved state changed when training went on.")
        expect(
            observe[f"state/{name}/text_loaded"] == text,
            "The loaded dict was modified when training went on.",
        )
