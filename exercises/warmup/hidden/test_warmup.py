import math

from quizapp.judge.testing.checks import behaviour, close, expect

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def multiplier(step, warmup, total, min_ratio):
    if step < warmup:
        return step / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    return min_ratio + (1 - min_ratio) * (1 + math.cos(math.pi * progress)) / 2


def half_cosine(progress):
    return (1 + math.cos(math.pi * progress)) / 2


def describe(case):
    return f"warmup_cosine(step, {case['warmup']}, {case['total']}, {case['min_ratio']:.4g})"


@behaviour(1)
def test_warmup_is_linear(observe):
    for i, case in enumerate(observe.given["cases"]):
        warmup, steps = case["warmup"], range(case["warmup"] + 1)
        close(
            observe[f"curve/{i}/ramp/values"],
            [step / warmup for step in steps],
            "Warmup is not the straight line step / warmup_steps.",
            **TOLERANCE,
            call=f"{describe(case)} for steps 0 to {warmup}",
            mistakes={
                "Step 0 should have multiplier 0 and step warmup_steps exactly 1.": [
                    min(1.0, (step + 1) / warmup) if step < warmup else 1.0 for step in steps
                ],
                "Step 0 should have multiplier 0 and step warmup_steps exactly 1: divide by warmup_steps.": [
                    (step + 1) / (warmup + 1) if step < warmup else 1.0 for step in steps
                ],
                "The ramp starts at 0, whatever min_ratio is.": [
                    case["min_ratio"] + (1 - case["min_ratio"]) * step / warmup for step in steps
                ],
            },
        )


@behaviour(1)
def test_warmup_of_one_step(observe):
    close(
        observe["curve/one/values"][:2],
        [0.0, 1.0],
        "A warmup of one step is a ramp, too: 0 at step 0 and 1 at step 1.",
        **TOLERANCE,
        call="warmup_cosine(step, 1, 3, 0.25) for steps 0 and 1",
    )


@behaviour(2, presumes=("cosine_follows_warmup",))
def test_cosine_after_one_step(observe):
    close(
        observe["curve/one/values"][2:],
        [0.625, 0.25, 0.25],
        "After a warmup of one step the cosine runs from step 1 to total_steps.",
        **TOLERANCE,
        call="warmup_cosine(step, 1, 3, 0.25) for steps 2 to 4",
    )


@behaviour(2)
def test_cosine_follows_warmup(observe):
    for i, case in enumerate(observe.given["cases"]):
        warmup, total, low = case["warmup"], case["total"], case["min_ratio"]
        steps = range(warmup, total + 1)
        close(
            observe[f"curve/{i}/decay/values"],
            [multiplier(step, warmup, total, low) for step in steps],
            "Between warmup_steps and total_steps the curve is not half a cosine from 1 to min_ratio.",
            **TOLERANCE,
            call=f"{describe(case)} for steps {warmup} to {total}",
            mistakes={
                "There is a jump right after warmup: progress must start at 0 there.": [
                    low + (1 - low) * half_cosine(step / total) for step in steps
                ],
                "With min_ratio = 0.1 the curve should be 0.55 half way, not 0.5.": [
                    max(low, half_cosine((step - warmup) / (total - warmup))) for step in steps
                ],
            },
        )


@behaviour(2)
def test_half_way(observe):
    half = observe.given["half"]
    close(
        observe["curve/half/value"],
        (1 + half["min_ratio"]) / 2,
        "Half way between warmup_steps and total_steps the multiplier should be (1 + min_ratio) / 2.",
        **TOLERANCE,
        mistakes={"With min_ratio = 0.1 the curve should be 0.55 half way, not 0.5.": 0.5},
    )


@behaviour(2)
def test_min_ratio_defaults_to_zero(observe):
    case = observe.given["cases"][0]
    close(
        observe["curve/default/values"],
        [multiplier(step, case["warmup"], case["total"], 0.0) for step in range(case["total"] + 4)],
        "Without min_ratio the curve should end at 0.",
        **TOLERANCE,
        call=f"warmup_cosine(step, {case['warmup']}, {case['total']})",
    )


@behaviour(3)
def test_stays_at_the_floor(observe):
    for i, case in enumerate(observe.given["cases"]):
        warmup, total, low = case["warmup"], case["total"], case["min_ratio"]
        late = [total + 1, total + 2, total + 5, total + 10, 2 * total + 3, 10 * total]
        close(
            observe[f"curve/{i}/late/values"],
            [low] * len(late),
            "Past total_steps the multiplier should be min_ratio.",
            **TOLERANCE,
            call=f"{describe(case)} for steps {late}",
            mistakes={
                "Ten steps past the end the rate is rising again.": [
                    low + (1 - low) * half_cosine((step - warmup) / (total - warmup)) for step in late
                ],
                "Past the end the multiplier is min_ratio, not 0.": [0.0] * len(late),
            },
        )


@behaviour(4, on_error="warmup_steps=0 is valid, there is just nothing to divide by.")
def test_no_warmup(observe):
    case = observe.given["no_warmup"]
    total, low = case["total"], case["min_ratio"]
    values = observe["no_warmup/values"]
    close(
        values[0],
        1.0,
        "With warmup_steps=0 the schedule starts at 1.",
        **TOLERANCE,
        call=f"warmup_cosine(0, 0, {total}, {low:.4g})",
    )
    close(
        values,
        [multiplier(step, 0, total, low) for step in range(total + 3)],
        "With warmup_steps=0 the cosine runs from step 0 to total_steps.",
        **TOLERANCE,
        call=f"warmup_cosine(step, 0, {total}, {low:.4g}) for steps 0 to {total + 2}",
    )


@behaviour(5)
def test_result_is_a_float(observe):
    for i, case in enumerate(observe.given["cases"]):
        for part in ("ramp", "decay", "late"):
            for value in observe[f"curve/{i}/{part}/values"]:
                expect(
                    type(value) is float,
                    "The multiplier should be a Python float at every step.",
                    f"{describe(case)} gave {value!r}",
                )
                expect(-1e-12 <= value <= 1 + 1e-12, "The multiplier left [0, 1].", f"got {value!r}")
    for name in ("zero", "one"):
        for step, value in enumerate(observe[f"curve/integer/{name}"]):
            expect(
                type(value) is float,
                "The multiplier should be a Python float at every step, also for min_ratio=0 or 1.",
                f"step {step} gave {value!r}",
            )


REFUSED = {
    "warmup": "A negative warmup_steps should raise ValueError.",
    "equal": "total_steps equal to warmup_steps leaves no room for the cosine and should raise ValueError.",
    "shorter": "total_steps below warmup_steps should raise ValueError.",
    "both_zero": "total_steps equal to warmup_steps should raise ValueError, also when both are 0.",
    "low": "A negative min_ratio should raise ValueError.",
    "high": "A min_ratio above 1 should raise ValueError.",
    "step": "A negative step should raise ValueError.",
}


@behaviour(6)
def test_bad_arguments_are_refused(observe):
    for name, says in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(6)
def test_make_scheduler_refuses_bad_arguments(observe):
    for name in ("warmup", "equal", "shorter", "low", "high"):
        observe.raised(f"errors/make_{name}", "ValueError", says=f"make_scheduler: {REFUSED[name]}")


@behaviour(6, on_error="min_ratio=1 and total_steps = warmup_steps + 1 are valid.")
def test_limits_are_valid(observe):
    close(
        observe["errors/valid/ends"],
        [0.0, 0.5, 1.0, 1.0, 1.0],
        "With min_ratio=1 the multiplier stays at 1 after warmup.",
        **TOLERANCE,
        call="warmup_cosine(step, 2, 3, 1.0) for steps 0 to 4",
    )


@behaviour(7)
def test_scheduler_is_a_lambda_lr(observe):
    for i in range(len(observe.given["cases"])):
        expect(observe[f"scheduler/{i}/is_lambda"] is True, "make_scheduler should return a LambdaLR.")


@behaviour(7)
def test_first_rate(observe):
    for i in range(len(observe.given["cases"])):
        close(
            observe[f"scheduler/{i}/first"],
            [0.0] * len(observe.given["peaks"]),
            "Right after construction every group's lr should be 0 when there is a warmup.",
            **TOLERANCE,
        )


def schedule(peaks, case, steps, power=1, base=None):
    factors = [multiplier(s, case["warmup"], case["total"], case["min_ratio"]) for s in steps]
    return [[(base or peak) * peak ** (power - 1) * factor for peak in peaks] for factor in factors]


@behaviour(7)
def test_every_group_follows_its_own_peak(observe):
    peaks = observe.given["peaks"]
    for i, case in enumerate(observe.given["cases"]):
        steps = range(1, case["total"] + 7)
        close(
            observe[f"scheduler/{i}/rates"],
            schedule(peaks, case, steps),
            "After k scheduler steps each group's lr should be its own peak times warmup_cosine(k, ...).",
            **TOLERANCE,
            call=f"make_scheduler(optimizer, {case['warmup']}, {case['total']}, {case['min_ratio']:.4g}), "
            f"peaks {', '.join(f'{peak:.4g}' for peak in peaks)}",
            mistakes={
                "LambdaLR multiplies by the base lr already; return a ratio.": schedule(
                    peaks, case, steps, power=2
                ),
                "Every group has its own peak; yours all follow the first group's.": schedule(
                    peaks, case, steps, base=peaks[0]
                ),
                "The schedule runs one step ahead.": schedule(peaks, case, range(2, case["total"] + 8)),
                "make_scheduler forgot min_ratio.": schedule(peaks, {**case, "min_ratio": 0.0}, steps),
            },
        )


@behaviour(7)
def test_scheduler_defaults(observe):
    peaks, case = observe.given["peaks"], observe.given["cases"][0]
    close(
        observe["scheduler/default/rates"],
        schedule(peaks, case, range(1, case["total"] + 3)),
        "Without min_ratio the rates should end at 0.",
        **TOLERANCE,
        call=f"make_scheduler(optimizer, {case['warmup']}, {case['total']})",
    )


@behaviour(7, on_error="make_scheduler takes warmup_steps=0, too.")
def test_scheduler_without_warmup(observe):
    peaks, case = observe.given["peaks"], {"warmup": 0, **observe.given["no_warmup"]}
    call = f"make_scheduler(optimizer, 0, {case['total']}, {case['min_ratio']:.4g})"
    says = "Without warmup every group starts at its peak and follows the cosine from there."
    close(observe["scheduler/no_warmup/first"], peaks, says, **TOLERANCE, call=call)
    want = schedule(peaks, case, range(1, case["total"] + 3))
    close(observe["scheduler/no_warmup/rates"], want, says, **TOLERANCE, call=call)


@behaviour(8)
def test_resumed_rates_continue(observe):
    peaks = observe.given["peaks"]
    for i, case in enumerate(observe.given["cases"][1:], 1):
        for name, stop in (("ramp", case["warmup"] - 2), ("decay", case["warmup"] + 3)):
            steps = range(stop + 1, stop + 1 + case["total"])
            close(
                observe[f"resume/{name}{i}/rates"],
                schedule(peaks, case, steps),
                "After loading the state dict the learning rates are not those of the uninterrupted run.",
                **TOLERANCE,
                call=f"load_state_dict of a scheduler saved after {stop} steps",
                mistakes={
                    "After loading the state dict the schedule starts again from step 0: "
                    "compute the rate from the step that LambdaLR passes in.": schedule(
                        peaks, case, range(1, case["total"] + 1)
                    )
                },
            )
