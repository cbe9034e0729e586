import torch
from torch.nn.functional import cross_entropy

from quizapp.judge.testing.checks import alike, behaviour, close, expect

NAMES = ("w1", "b1", "w2", "b2")
TIGHT = {"rtol": 1e-9, "atol": 1e-12}


def rates(low, high, count):
    return [low * (high / low) ** (i / (count - 1)) for i in range(count)]


def prepared(given, kind, x):
    """The input of the two layers."""
    if kind == "norm_train":
        return (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-5)
    if kind in ("norm_eval", "norm_mixed"):
        return (x - given["norm"]["mean"]) / torch.sqrt(given["norm"]["var"] + 1e-5)
    return x


def run(given, kind="plain", mistake="", frozen=()):
    """The losses of a range test on the two layers, batch norm's own weight and bias included."""
    low, high, count = given["run"]
    params = {name: given["weights"][name].clone().requires_grad_() for name in NAMES}
    if kind.startswith("norm"):
        size = given["batches"][0][0].shape[1]
        params["scale"] = torch.ones(size, dtype=torch.float64, requires_grad=True)
        params["shift"] = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    batches = given["batches"][:1] if kind == "one" else given["batches"]
    steps = rates(low, high, count)
    total = {name: torch.zeros_like(p) for name, p in params.items()}
    if mistake == "junk":
        total = {name: torch.full_like(p, 2.0) for name, p in params.items()}

    def loss_of(x, y):
        x = prepared(given, kind, x)
        if "scale" in params:
            x = x * params["scale"] + params["shift"]
        logits = torch.tanh(x @ params["w1"].T + params["b1"]) @ params["w2"].T + params["b2"]
        return cross_entropy(logits, y)

    losses = []
    for i, lr in enumerate(steps):
        x, y = batches[i % len(batches)] if mistake != "last" else batches[min(i, len(batches) - 1)]
        loss = loss_of(x, y)
        grads = dict(zip(params, torch.autograd.grad(loss, list(params.values())), strict=True))
        losses.append(float(loss.detach()))
        if mistake == "uncleared" or (mistake == "junk" and i == 0):
            grads = total = {name: total[name] + g for name, g in grads.items()}
        if mistake == "early":
            lr = steps[min(i + 1, count - 1)]
        with torch.no_grad():
            for name, p in params.items():
                p -= lr * grads[name] * (name not in frozen)
            if mistake == "after":
                losses[-1] = float(loss_of(x, y))
    return losses


def lists(observe, path):
    got = observe[f"{path}/got"]
    for key in ("lrs", "losses"):
        expect(isinstance(got[key], list), f"{key} should be a list.", f"got {type(got[key]).__name__}")
    expect(
        len(got["lrs"]) == len(got["losses"]),
        "Both lists should have the same length.",
        f"{len(got['lrs'])} rates, {len(got['losses'])} losses",
    )
    return got


@behaviour(1)
def test_rates(observe):
    cases = [(i, r) for i, r in enumerate(observe.given["ranges"])] + [("default", (1e-6, 1.0, 50))]
    for path, (low, high, count) in cases:
        got = lists(observe, f"rates/{path}")["lrs"]
        expect(len(got) == count, "There should be num_steps rates.", f"got {len(got)}, expected {count}")
        close(
            got,
            rates(low, high, count),
            "The rates should grow from lr_min to lr_max, both included, in equal ratios.",
            **TIGHT,
            call=f"lr_min={low:.4g}, lr_max={high:.4g}, num_steps={count}",
            mistakes=[
                (
                    "Almost all of your rates lie in the top decade: space them evenly in the logarithm.",
                    [low + (high - low) * i / (count - 1) for i in range(count)],
                ),
                (
                    "The last rate should be lr_max: divide by num_steps - 1.",
                    [low * (high / low) ** (i / count) for i in range(count)],
                ),
            ]
            if count > 2
            else [
                (
                    "The last rate should be lr_max: divide by num_steps - 1.",
                    [low * (high / low) ** (i / count) for i in range(count)],
                )
            ],
        )


@behaviour(2)
def test_losses_and_updates(observe):
    given = observe.given
    for kind in ("plain", "junk", "eval"):
        got = lists(observe, f"run/{kind}")["losses"]
        expect(
            len(got) == given["run"][2],
            "When the batches run out, iteration should start over from the first.",
            f"{len(got)} losses, expected {given['run'][2]}",
        )
        close(
            lists(observe, f"run/{kind}")["losses"],
            run(given),
            "The losses are not those of plain SGD, each before the update with its rate.",
            rtol=1e-9,
            atol=1e-9,
            device=observe.device,
            call=f"{given['run'][2]} steps over three batches",
            mistakes={
                "The second update contains the first batch's gradient.": run(given, mistake="uncleared"),
                "The first update contains gradients from before the test.": run(given, mistake="junk"),
                "losses[i] is the loss before the update, not after it.": run(given, mistake="after"),
                "The update at step i should use lrs[i], not the next rate.": run(given, mistake="early"),
            },
        )


def powers(start, count):
    """Losses w**(2 count) of plain SGD on the one weight w."""
    w, losses = start, []
    for lr in rates(0.01, 0.08, 4):
        losses.append(w ** (2 * count))
        w -= lr * 2 * count * w ** (2 * count - 1)
    return losses


@behaviour(2)
def test_plain_sgd_on_one_weight(observe):
    for name, start, count, says in (
        ("steep", 1000.0, 1, "A large gradient is used as it is: plain SGD clips nothing."),
        ("shared", 1.0, 2, "A weight that two modules share is one parameter: update it once per step."),
    ):
        close(
            lists(observe, f"one_weight/{name}")["losses"],
            powers(start, count),
            says,
            rtol=1e-9,
            device=observe.device,
        )


@behaviour(2)
def test_training_flags_while_it_runs(observe):
    given = observe.given
    for kind in ("eval", "norm_train", "norm_eval", "norm_mixed"):
        lists(observe, f"run/{kind}")
        expect(
            observe[f"run/{kind}/flags"],
            "The model should run with the training flags that it came with.",
        )
    for kind in ("norm_train", "norm_eval", "norm_mixed"):
        close(
            lists(observe, f"run/{kind}")["losses"],
            run(given, kind),
            "The losses of a model with batch norm are wrong.",
            rtol=1e-9,
            atol=1e-9,
            device=observe.device,
            call=f"batch norm in {'train' if kind == 'norm_train' else 'eval'} mode",
        )


@behaviour(3)
def test_explosion_ends_the_test(observe):
    low = observe.given["low"]
    for name, want in {
        "factor": [2.0, 0.5, 1.75, 2.0],
        "lowest": [3.0, low, 0.9 * low, 2.0 * low],
        "high_first": [1.0, 3.9, 4.0, 1.5],
        "second": [1.0],
        "third": [2.0, 1.0],
        "zero": [1.0, 0.0],
        "own": [1.0, 1.4, 1.5],
        "half": [1.0, 0.4],
        "negative": [-1.0],
    }.items():
        got = lists(observe, f"stop/{name}")["losses"]
        says = "The test should end at the first loss above stop_factor times the lowest recorded one."
        if len(got) == len(want) + 1:
            says = "One point of 1e30 makes the plot unreadable and the smoothing useless: do not record the loss that ends the test."
        if len(got) > len(want) and name in ("second", "third"):
            says = "The test can end at any step, the second one included: no step is exempt."
        if len(got) > len(want) and name == "zero":
            says = "A lowest loss of exactly 0 is a lowest loss like any other: every positive one ends the test."
        if len(got) < len(want) and name in ("half", "negative"):
            says = "A loss is compared with those recorded before it, not with itself."
        expect(len(got) == len(want), says, f"{len(got)} losses recorded, expected {len(want)}")
        close(got, want, says, **TIGHT)
        close(
            lists(observe, f"stop/{name}")["lrs"],
            rates(0.01, 0.1, 10)[: len(want)],
            "The rates are wrong after an early end.",
            **TIGHT,
        )


@behaviour(3)
def test_nonfinite_loss_ends_the_test(observe):
    for name, want in {"nan": [1.0, 2.0], "inf": [1.0], "minus_inf": [1.0, 0.5], "first_nan": []}.items():
        got = lists(observe, f"stop/{name}")["losses"]
        expect(
            got == want,
            "A loss that is not finite should end the test and not be recorded.",
            f"losses {got}, expected {want}",
        )


@behaviour(3)
def test_no_early_end_without_reason(observe):
    got = lists(observe, "stop/never")["losses"]
    expect(
        len(got) == 10,
        "The test ended although no loss was above stop_factor times the lowest.",
        f"{len(got)} losses",
    )


@behaviour(4)
def test_batches_start_over(observe):
    given = observe.given
    for kind in ("plain", "loader", "one"):
        got = lists(observe, f"run/{kind}")["losses"]
        want = run(given, kind)
        expect(
            len(got) == len(want),
            "When the batches run out, iteration should start over from the first.",
            f"{len(got)} losses, expected {len(want)}",
        )
        close(
            got,
            want,
            "When the batches run out, iteration should start over from the first.",
            rtol=1e-9,
            atol=1e-9,
            device=observe.device,
            mistakes={"The last batch was repeated instead of starting over.": run(given, kind, "last")},
        )


def compared(observe, path):
    """What differs between the model before and after: names of values, and whether flags and gradients stayed."""
    before, after = observe[f"{path}/pictures"]
    return {
        "values": [name for name, value in before[0].items() if not alike(value, after[0][name])],
        "flags": before[1] == after[1],
        "grads": alike(before[2], after[2]),
        "nones": [p is None for p in before[2]] == [p is None for p in after[2]],
    }


def untouched(observe, path):
    same = compared(observe, path)
    params = [name for name in same["values"] if "running" not in name and "tracked" not in name]
    expect(not params, "Your backup changed together with the model. Copy the tensors.", ", ".join(params))
    expect(
        not same["values"],
        "Parameters came back, but running_mean did not.",
        ", ".join(same["values"]),
    )
    expect(same["flags"], "A module has another training flag than before.")
    expect(same["nones"], "A .grad that was None is no longer None, or one that was set is gone.")
    expect(same["grads"], "The .grad of a parameter is not the one from before the test.")


@behaviour(5)
def test_model_is_restored(observe):
    for kind in ("norm_train", "norm_eval", "norm_mixed"):
        path = f"restored/{kind}/normal"
        error = observe[f"{path}/error"]
        expect(error is None, "lr_range_test raised.", str(error))
        untouched(observe, path)


@behaviour(5)
def test_model_is_restored_after_an_early_end(observe):
    for kind in ("norm_train", "norm_eval", "norm_mixed"):
        path = f"restored/{kind}/exploded"
        error = observe[f"{path}/error"]
        expect(error is None, "lr_range_test raised.", str(error))
        untouched(observe, path)
    for name in ("factor", "nan", "first_nan"):
        untouched(observe, f"stop/{name}")


@behaviour(5)
def test_frozen_parameters_stay_frozen(observe):
    if observe.error("frozen") is not None:
        return  # the contract is silent about code that expects a gradient everywhere
    expect(
        observe["frozen/needs_grad"] == [False, True, True, True],
        "requires_grad of a parameter is not what it was before.",
    )
    untouched(observe, "frozen")
    close(
        lists(observe, "frozen")["losses"],
        run(observe.given, frozen=("w1",)),
        "The losses of a model with a frozen parameter are wrong.",
        rtol=1e-9,
        atol=1e-9,
        device=observe.device,
        mistakes={"A frozen parameter was trained during the test.": run(observe.given)},
    )


@behaviour(6)
def test_model_is_restored_after_an_exception(observe):
    for kind in ("norm_train", "norm_eval", "norm_mixed"):
        for name in ("raised0", "raised3"):
            path = f"restored/{kind}/{name}"
            same = compared(observe, path)
            sound = not same["values"] and same["flags"] and same["nones"] and same["grads"]
            expect(sound, "loss_fn failed and left a half-trained model behind.")


@behaviour(6)
def test_exception_reaches_the_caller(observe):
    for kind in ("norm_train", "norm_mixed"):
        for name in ("raised0", "raised3"):
            error = observe[f"restored/{kind}/{name}/error"]
            expect(error == "Broken", "The exception of loss_fn should reach the caller.", f"got {error}")


@behaviour(10)
def test_an_interrupt_is_an_exception_too(observe):
    same = compared(observe, "interrupted")
    expect(
        not same["values"] and same["flags"] and same["nones"] and same["grads"],
        "A KeyboardInterrupt left a half-trained model behind: clean up whatever was raised.",
    )
    error = observe["interrupted/error"]
    expect(error == "KeyboardInterrupt", "The exception of loss_fn should reach the caller.", f"got {error}")


@behaviour(7)
def test_python_floats(observe):
    for path in ("rates/0", "rates/default", "run/plain", "stop/factor"):
        got = lists(observe, path)
        for key in ("lrs", "losses"):
            for value in got[key]:
                expect(
                    type(value) is float, f"{key} should hold Python floats.", f"got {type(value).__name__}"
                )


def suggested(observe, name, lrs, best, says, mistakes=()):
    close(observe[f"suggest/{name}/lr"], lrs[best], says, rtol=1e-9, mistakes=mistakes)


MISTAKES = {
    "lowest": "At the minimum the run is about to blow up; take the steepest fall.",
    "lowest_smooth": "At the minimum the run is about to blow up; take the steepest fall.",
    "plain": "The losses were not smoothed with beta.",
    "uncorrected": "Without the division by 1 - beta**(i + 1) the first smooth values are too small.",
    "first_loss": "The average starts from s = 0 and is divided by 1 - beta**(i + 1), not from the first loss.",
    "per_rate": "The change of the smoothed loss counts as it is, not divided by the spacing of the rates.",
    "per_decade": "The change of the smoothed loss counts as it is, not divided by the spacing of the rates.",
    "swapped": "beta is the weight of the past, 1 - beta that of the new loss.",
    "before": "The rate before the fall was returned, not the one after it.",
    "centered": "The change counts from i - 1 to i, not from i - 1 to i + 1.",
    "late": "At step i (counted from 0) the average is divided by 1 - beta**(i + 1).",
}
PLAIN = ("none", "lowest", "per_rate", "per_decade", "centered")
SMOOTHED = ("plain", "uncorrected", "swapped", "late", "first_loss")
CURVES = PLAIN + SMOOTHED


def explanation(observe):
    """What explains the answers to all curves; the answer to one alone may be chance."""
    if any(observe.error(f"suggest/{name}") is not None for name in CURVES):
        return None
    cases = [(observe[f"suggest/{name}/lr"], observe.given["curves"][name]) for name in CURVES]
    for mistake, says in MISTAKES.items():
        answers = [(got, case["lrs"], case["kept"]["wrong"][mistake]) for got, case in cases]
        if all(i == -1 or got == lrs[i] for got, lrs, i in answers):
            return says
    return None


def check_curve(observe, name):
    case = observe.given["curves"][name]
    says = explanation(observe) or "The suggestion is not the rate at the steepest fall."
    suggested(observe, name, case["lrs"], case["kept"]["best"], says)


@behaviour(8)
def test_steepest_fall(observe):
    for name in PLAIN:
        check_curve(observe, name)


@behaviour(8)
def test_smoothing(observe):
    for name in SMOOTHED:
        check_curve(observe, name)


@behaviour(8)
def test_plain_curves(observe):
    for name, count, best, says in (
        ("tied", 7, 2, "Where two falls are equally steep the first one counts."),
        ("last", 4, 3, "The steepest fall may be the last one."),
        ("two", 2, 1, "With two points the second rate is the answer."),
        ("first", 4, 1, "The steepest fall may be the first one."),
        ("uphill", 5, 2, "The steepest fall is the most negative change."),
        ("only_uphill", 4, 2, "Where no loss falls the smallest rise is the most negative change."),
    ):
        lrs = [0.001 * 2**i for i in range(count)]
        suggested(
            observe,
            name,
            lrs,
            best,
            says,
            [("The rate before the fall was returned, not the one after it.", lrs[best - 1])],
        )


@behaviour(9)
def test_range_test_refuses(observe):
    for name, says in {
        "zero_min": "lr_min=0 should raise ValueError.",
        "negative_min": "A negative lr_min should raise ValueError.",
        "equal": "lr_max equal to lr_min should raise ValueError.",
        "reversed": "lr_max below lr_min should raise ValueError.",
        "one_step": "num_steps=1 should raise ValueError.",
        "no_step": "num_steps=0 should raise ValueError.",
        "no_batches": "A test without batches should raise ValueError.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(9)
def test_suggest_refuses(observe):
    for name, says in {
        "beta_one": "beta=1 should raise ValueError.",
        "beta_large": "beta above 1 should raise ValueError.",
        "beta_negative": "A negative beta should raise ValueError.",
        "fewer_losses": "Fewer losses than rates should raise ValueError.",
        "more_losses": "More losses than rates should raise ValueError.",
        "one_point": "One point has no slope and should raise ValueError.",
        "no_point": "Empty lists should raise ValueError.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
