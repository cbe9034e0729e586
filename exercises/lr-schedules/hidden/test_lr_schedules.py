import math

from quizapp.judge.testing.checks import behaviour, close, expect

CLOSE = {"rtol": 1e-9, "atol": 1e-15}


def decay(case, steps, late=0):
    return [case["lr"] * case["gamma"] ** sum(m + late <= s for m in case["milestones"]) for s in steps]


@behaviour(1)
def test_step_decay(observe):
    steps = range(70)
    for i, case in enumerate(observe.given["decay"]):
        prefix = []
        for s in steps:
            count = 0
            for m in case["milestones"]:
                if m > s:
                    break
                count += 1
            prefix.append(case["lr"] * case["gamma"] ** count)
        close(
            observe[f"decay/{i}/values"],
            decay(case, steps),
            "step_decay should multiply base_lr by gamma once for every milestone at or below the step.",
            **CLOSE,
            call=f"step_decay(step, {case['lr']:.4g}, {case['milestones']}, {case['gamma']:.4g}), steps 0 to 69",
            mistakes={
                "At step 30 with a milestone at 30 the rate should already be lower.": decay(
                    case, steps, late=1
                ),
                "The milestones may come in any order.": prefix,
            },
        )


@behaviour(1)
def test_step_decay_edges(observe):
    for name, want, call in (
        ("default", 0.05, "step_decay(30, 0.5, (60, 30))"),
        ("none", 0.5, "step_decay(7, 0.5, [])"),
        ("zero", 0.25, "step_decay(0, 0.5, [0, 3], 0.5)"),
    ):
        close(observe[f"decay/other/{name}"], want, "step_decay is wrong.", **CLOSE, call=call)


@behaviour(10)
def test_milestone_listed_twice(observe):
    says, call = "A milestone listed twice counts twice.", "step_decay(7, 0.5, [5, 3, 5], 0.5)"
    close(observe["decay/other/twice"], 0.0625, says, **CLOSE, call=call)


@behaviour(1)
def test_milestones_are_left_alone(observe):
    for i, case in enumerate(observe.given["decay"]):
        expect(
            observe[f"decay/{i}/milestones"] == case["milestones"],
            "step_decay changed the caller's list of milestones.",
        )


def cycle(step, period, mult):
    """Position in the cycle and its length."""
    length = period
    while step >= length:
        step -= length
        length *= mult
    return step, length


def cosine(case, position, length):
    return case["min_lr"] + (case["lr"] - case["min_lr"]) * (1 + math.cos(math.pi * position / length)) / 2


def describe(case):
    return f"cosine_restarts(step, {case['lr']:.4g}, {case['period']}, {case['mult']}, {case['min_lr']:.4g})"


@behaviour(2)
def test_first_cycle(observe):
    for i, case in enumerate(observe.given["cosine"]):
        period, low = case["period"], case["min_lr"]
        close(
            observe[f"cosine/{i}/values"][:period],
            [cosine(case, t, period) for t in range(period)],
            "Within a cycle the rate should fall along half a cosine from base_lr towards min_lr.",
            **CLOSE,
            call=f"{describe(case)}, steps 0 to {period - 1}",
            mistakes={
                "The last step of a cycle is not the bottom; the restart comes where the bottom would be.": [
                    cosine(case, t, max(1, period - 1)) for t in range(period)
                ],
                "min_lr is the end of the curve, not a bound that cuts it off.": [
                    max(low, cosine({**case, "min_lr": 0.0}, t, period)) for t in range(period)
                ],
            },
        )


@behaviour(2)
def test_default_arguments(observe):
    case = {"lr": 1.0, "min_lr": 0.0}
    close(
        observe["cosine/default/values"],
        [cosine(case, s % 6, 6) for s in range(20)],
        "By default every cycle has the same length and the curve goes towards 0.",
        **CLOSE,
        call="cosine_restarts(step, 1.0, 6), steps 0 to 19",
    )


@behaviour(3)
def test_cycles(observe):
    for i, case in enumerate(observe.given["cosine"]):
        period, mult, steps = case["period"], case["mult"], range(case["count"])
        same = [cosine(case, s % period, period) for s in steps]
        linear, start, length = [], 0, period
        for s in steps:
            if s - start >= length:
                start, length = s, length + period * (mult - 1)
            linear.append(cosine(case, s - start, length))
        close(
            observe[f"cosine/{i}/values"],
            [cosine(case, *cycle(s, period, mult)) for s in steps],
            "A cycle starts at the wrong step or has the wrong length.",
            **CLOSE,
            call=f"{describe(case)}, steps 0 to {case['count'] - 1}",
            mistakes={
                "Every cycle has the same length. With period 10 and mult 2 the restarts are at 10, 30 and 70.": same,
                "Each cycle is mult times as long as the one before, not longer by a constant.": linear,
            },
        )


@behaviour(3)
def test_restarts_are_at_the_peak(observe):
    for i, case in enumerate(observe.given["cosine"]):
        step, length = 0, case["period"]
        while step < case["count"]:
            close(
                observe[f"cosine/{i}/values"][step],
                case["lr"],
                "The first step of a new cycle should be back at base_lr.",
                **CLOSE,
                call=f"{describe(case)} at step {step}",
            )
            step, length = step + length, length * case["mult"]


def plateau(metrics, lr, factor=0.1, patience=10, min_lr=0.0, threshold=0.0, mistake=""):
    """The rates after each metric; ``mistake`` names a usual slip."""
    best, bad, rates = math.inf, 0, []
    for metric in metrics:
        limit = best * (1 - threshold) if mistake == "relative" and best < math.inf else best - threshold
        improved = metric <= limit if mistake == "equal" else metric < limit
        if mistake == "nan" and math.isnan(metric) or mistake == "nan first" and best == math.inf:
            improved = True
        if mistake == "nan negated":
            improved = not metric >= limit
        if mistake == "falsy" and best == 0 and not math.isnan(metric):
            improved = True
        if mistake == "finite" and not math.isfinite(metric):
            improved = False
        if improved:
            best, bad = metric, 0
        elif not (mistake == "nan_free" and math.isnan(metric)):
            bad += 1
            if mistake == "moves" and metric < best:
                best = metric
        if mistake == "previous":
            best = metric
        over = bad >= patience if mistake == "early" and patience else bad > patience + (mistake == "late")
        if over and bad:
            lr = lr * factor if mistake == "floor" else max(lr * factor, min_lr)
            bad = bad if mistake == "keeps_count" else 0
            best = math.inf if mistake == "forgets" else best
        rates.append(lr)
    return rates


def check(observe, name, metrics, options, says, mistakes):
    want = plateau(metrics, **options)
    shown = ", ".join(f"{m:g}" for m in metrics[:14])
    close(
        observe[f"plateau/{name}/returned"],
        want,
        says,
        **CLOSE,
        call=f"ReduceOnPlateau({', '.join(f'{k}={v:.4g}' for k, v in options.items())}) fed with {shown}",
        mistakes=[
            *[(text, plateau(metrics, **options, mistake=key)) for text, key in mistakes.items()],
            *[("step returned the rate from before its own cut.", [options["lr"], *want[:-1]])]
            * (observe[f"plateau/{name}/kept"] == want),
        ],
    )


@behaviour(4)
def test_improvement(observe):
    for name in ("zigzag", "slow", "equal", "negative", "large", "zero"):
        check(
            observe,
            name,
            *observe.given["scenes"][name],
            "An improvement is a metric below the best so far minus threshold.",
            {
                "A metric equal to the best minus threshold is no improvement.": "equal",
                "Only an improvement moves the best; a small step down must not.": "moves",
                "A slow zigzag is not progress: compare with the best.": "previous",
                "threshold is absolute, not a share of the best.": "relative",
                "A best of exactly 0 is a best like any other.": "falsy",
                "patience=2 tolerates two bad steps and acts on the third. Yours acts early.": "early",
                "patience=2 tolerates two bad steps and acts on the third. Yours acts late.": "late",
                "After a cut you must wait for patience again.": "keeps_count",
                "A cut does not reset the best.": "forgets",
            },
        )


@behaviour(11)
def test_metric_of_minus_infinity(observe):
    check(
        observe,
        "minus_inf",
        *observe.given["scenes"]["minus_inf"],
        "A metric of -inf is below every finite best, and after it nothing is an improvement.",
        {"A metric of -inf is below the best: only NaN is set apart.": "finite"},
    )


@behaviour(5)
def test_patience(observe):
    for name in ("patience", "none", "in_a_row", "best_kept", "defaults"):
        check(
            observe,
            name,
            *observe.given["scenes"][name],
            "The rate should be cut when more than patience bad steps came in a row.",
            {
                "patience=2 tolerates two bad steps and acts on the third. Yours acts early.": "early",
                "patience=2 tolerates two bad steps and acts on the third. Yours acts late.": "late",
                "After a cut you must wait for patience again.": "keeps_count",
                "A cut does not reset the best.": "forgets",
            },
        )


@behaviour(5)
def test_long_runs(observe):
    for i, case in enumerate(observe.given["plateau"]):
        if not any(math.isnan(m) for m in case["metrics"]):
            check(
                observe,
                f"random{i}",
                case["metrics"],
                case["options"],
                "The rate is not cut at the right steps.",
                {
                    "patience=2 tolerates two bad steps and acts on the third. Yours acts early.": "early",
                    "patience=2 tolerates two bad steps and acts on the third. Yours acts late.": "late",
                    "After a cut you must wait for patience again.": "keeps_count",
                },
            )


@behaviour(5)
def test_schedules_are_independent(observe):
    close(
        observe["plateau/two/returned"],
        [[1.0, 1.0], [1.0, 1.0], [0.5, 0.5], [0.5, 0.5]],
        "Two schedules disturb each other: keep the count and the best in the object.",
        **CLOSE,
    )


@behaviour(6)
def test_floor(observe):
    for name in ("floor", "floor_start"):
        check(
            observe,
            name,
            *observe.given["scenes"][name],
            "The rate must not fall below min_lr.",
            {"lr fell below min_lr.": "floor"},
        )
    check(
        observe,
        "tiny",
        *observe.given["scenes"]["tiny"],
        "Without a min_lr the rate is cut however small it is.",
        {},
    )


@behaviour(7, presumes=("long_runs",))
def test_nan(observe):
    scenes = [(name, *observe.given["scenes"][name]) for name in ("nan_first", "nan_later", "nan_counts")]
    scenes += [
        (f"random{i}", case["metrics"], case["options"])
        for i, case in enumerate(observe.given["plateau"])
        if any(math.isnan(m) for m in case["metrics"])
    ]
    for name, metrics, options in scenes:
        check(
            observe,
            name,
            metrics,
            options,
            "A NaN metric is a bad step like any other.",
            {
                "< and > with NaN are false, so nothing could ever improve again.": "nan first",
                "A NaN metric counts as a bad step, and it never becomes the best.": "nan negated",
                "A NaN is no improvement.": "nan",
                "A NaN metric counts as a bad step.": "nan_free",
            },
        )


@behaviour(8)
def test_rate_is_returned_and_kept(observe):
    for name, (_, options) in observe.given["scenes"].items():
        close(
            observe[f"plateau/{name}/start"],
            options["lr"],
            "Before the first step lr is the starting rate.",
            **CLOSE,
        )
        returned, kept = observe[f"plateau/{name}/returned"], observe[f"plateau/{name}/kept"]
        expect(
            all(type(value) is float for value in returned),
            "step should return the rate as a float.",
            f"returned {returned[0]!r}",
        )
        close(kept, returned, "step should return the rate that it keeps in lr.", **CLOSE)
    metrics, options = observe.given["scenes"]["patience"]
    close(
        observe["plateau/patience/returned"][3],
        plateau(metrics, **options)[3],
        "step should return the rate to use next: the one after a cut.",
        **CLOSE,
    )


REFUSED = {
    "decay_step": "step_decay: a negative step must be refused.",
    "decay_step_alone": "step_decay: a negative step must be refused, without milestones too.",
    "cosine_step": "cosine_restarts: a negative step must be refused.",
    "period": "period=0 must be refused.",
    "period_negative": "A negative period must be refused.",
    "mult": "mult=0 must be refused.",
    "mult_negative": "A negative mult must be refused.",
    "factor_zero": "factor=0 must be refused.",
    "factor_one": "factor=1 must be refused.",
    "factor_above": "A factor above 1 must be refused.",
    "factor_negative": "A negative factor must be refused.",
    "patience": "A negative patience must be refused.",
    "threshold": "A negative threshold must be refused.",
}


@behaviour(9)
def test_bad_arguments_are_refused(observe):
    for name, says in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
