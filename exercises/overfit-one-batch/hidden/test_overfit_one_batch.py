import math

import torch
from torch.nn.functional import cross_entropy

from quizapp.judge.testing.checks import alike, behaviour, close, expect

NAMES = ("w1", "b1", "w2", "b2")
KEYS = {"passed", "reason", "losses", "idle"}
PARTS = ["zeta", "unused", "alpha", "timesed", "block.0.weight", "block.0.bias", "block.1.weight"]
TIGHT = {"rtol": 1e-6, "atol": 1e-8}


def report(observe, path):
    found = observe[f"{path}/report"]
    expect(isinstance(found, dict), "The report should be a dict.", f"got {type(found).__name__}")
    for key in sorted(KEYS):
        expect(key in found, f"The report lacks {key!r}.")
    expect(isinstance(found["losses"], list), "losses should be a list.")
    return found


def losses_of(given, x=None, lr=None, frozen=(), kind="adam", clear=True, start=0.0, scale=1.0, limit=None):
    """The first 12 losses of a run on the two-layer net."""
    x = given["x"] if x is None else x
    params = {name: given["weights"][name].clone().requires_grad_(name not in frozen) for name in NAMES}
    leaves = [p for p in params.values() if p.requires_grad]
    lr = given["lr"] if lr is None else lr
    if kind == "sgd":
        optimizer = torch.optim.SGD(leaves, lr=lr)
    elif kind == "adamw":
        optimizer = torch.optim.AdamW(leaves, lr=lr)
    else:
        optimizer = torch.optim.Adam(leaves, lr=lr)
    for p in leaves:
        p.grad = torch.full_like(p, start)
    losses = []
    for _ in range(12):
        logits = torch.tanh(x @ params["w1"].T + params["b1"]) @ params["w2"].T + params["b2"]
        loss = scale * cross_entropy(logits, given["y"])
        losses.append(float(loss.detach()))
        if clear:
            optimizer.zero_grad()
        loss.backward()
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(leaves, limit)
        optimizer.step()
    return losses


def normalised(given):
    x = given["x"]
    return (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-5)


def running(given):
    return (given["x"] - given["norm"]["mean"]) / torch.sqrt(given["norm"]["var"] + 1e-5)


TRACE = "The model that was passed in has been trained: this is a test, it must leave no trace."


def compared(observe, name, picture):
    """Whether values, gradients and modes are those of the model that was passed in."""
    return [alike(a, b) for a, b in zip(observe[f"untouched/{name}/before"], picture, strict=True)]


@behaviour(1)
def test_model_is_untouched(observe):
    for name in ("train", "eval", "mixed"):
        state, grads, modes = compared(observe, name, observe[f"untouched/{name}/after"])
        expect(state, TRACE)
        expect(grads, "The gradients of the model that was passed in have changed.")
        expect(modes, "A mode, dropout rate or requires_grad of the model that was passed in has changed.")


EDITED = "The caller's model was edited while the test ran; edit a copy instead."


@behaviour(1)
def test_model_is_untouched_during_the_run(observe):
    for name in ("train", "eval", "mixed"):
        observe[f"untouched/{name}/after"]
        for picture in observe[f"untouched/{name}/during"]:
            expect(all(compared(observe, name, picture)), EDITED)
        edits = observe[f"untouched/{name}/edits"]
        expect(not edits, EDITED, f"set on it: {', '.join(edits)}")


@behaviour(1)
def test_batch_is_untouched(observe):
    batch = [observe.given["x"], observe.given["y"]]
    for name in ("train", "eval", "mixed"):
        expect(alike(observe[f"untouched/{name}/batch"], batch), "The batch that was passed in has changed.")
        expect(
            not observe[f"untouched/{name}/tracked"],
            "The inputs that were passed in came back tracked by autograd: they belong to the caller.",
        )


RUNS = {
    "scripted/default": "ok",
    "scripted/first": "ok",
    "scripted/stuck": "stuck",
    "scripted/nan": "nonfinite",
    "no_gradient/frozen": "no_gradient",
    "no_gradient/detached": "no_gradient",
    "trajectory/plain": "stuck",
}


@behaviour(2)
def test_form_of_the_report(observe):
    # A run that raised is told by the test of its own behaviour.
    paths = [path for path in RUNS if observe.error(path) is None]
    for path in paths or RUNS:
        found = report(observe, path)
        expect(
            set(found) == KEYS,
            "The report should have exactly these keys: passed, reason, losses, idle.",
            str(sorted(found)),
        )
        expect(type(found["passed"]) is bool, "passed should be a bool.", f"got {found['passed']!r}")
        expect(type(found["reason"]) is str, "reason should be a string.", f"got {found['reason']!r}")
        expect(
            found["passed"] == (found["reason"] == "ok"),
            'passed should equal reason == "ok".',
            f"passed={found['passed']}, reason={found['reason']!r}",
        )
        for loss in found["losses"]:
            expect(type(loss) is float, "Every loss should be a Python float.", f"got {type(loss).__name__}")
        expect(
            isinstance(found["idle"], list) and all(type(name) is str for name in found["idle"]),
            "idle should be a list of parameter names.",
        )


@behaviour(2)
def test_first_loss_is_that_of_the_untrained_model(observe):
    want = losses_of(observe.given)[0]
    close(
        report(observe, "trajectory/plain")["losses"][0],
        want,
        "The first loss should come from the untrained model.",
        **TIGHT,
        device=observe.device,
    )


def outcome(observe, path, reason, count, says, count_says):
    found = report(observe, path)
    expect(found["reason"] == reason, says, f"reason is {found['reason']!r}, expected {reason!r}")
    expect(len(found["losses"]) == count, count_says, f"{len(found['losses'])} losses, expected {count}")
    return found


ON = "The threshold was reached, yet training went on."


@behaviour(3)
def test_stops_below_the_threshold(observe):
    for name, count in (("default", 4), ("threshold", 4), ("rising", 2), ("last", 3), ("negative", 2)):
        found = report(observe, f"scripted/{name}")
        expect(
            found["reason"] == "ok",
            "A loss fell below the threshold, so the reason should be ok.",
            f"reason is {found['reason']!r}",
        )
        expect(len(found["losses"]) <= count, ON, f"{len(found['losses'])} losses, expected {count}")
        expect(
            len(found["losses"]) == count,
            "The run should end at the first loss below the threshold: one equal to it is not below.",
            f"{len(found['losses'])} losses, expected {count}",
        )
    a, b, c = observe.given["falling"]
    close(
        report(observe, "scripted/default")["losses"],
        [a, b, c, 0.05 * 0.98],
        "losses should hold every loss, the one that ends the run last.",
        rtol=1e-6,
    )


@behaviour(3)
def test_first_loss_may_end_the_run(observe):
    outcome(
        observe,
        "scripted/first",
        "ok",
        1,
        "The very first loss is below the threshold already, so the reason should be ok.",
        ON,
    )


@behaviour(4)
def test_sound_model_passes(observe):
    found = report(observe, "sound")
    says = "A sound classifier should pass with the default arguments."
    if found["reason"] == "stuck":
        says = "A sound model failed your test because the optimizer was too slow; use Adam with the given learning rate."
    expect(
        found["passed"] is True, says, f"reason is {found['reason']!r}, last loss {found['losses'][-1]:.3g}"
    )


@behaviour(4)
def test_stuck(observe):
    fell = "A sound model memorises one batch. A loss that merely falls is not a pass."
    for name, count in (("stuck", 4), ("fell", 4), ("one", 1), ("constant", 130)):
        found = report(observe, f"scripted/{name}")
        expect(
            len(found["losses"]) == count,
            "Without a loss below the threshold a run has steps losses, no more and no fewer.",
            f"{len(found['losses'])} losses for steps={count}",
        )
        expect(found["reason"] == "stuck", fell, f"reason is {found['reason']!r}, expected 'stuck'")
        expect(found["passed"] is False, fell)
    found = report(observe, "scripted/default_steps")
    expect(
        len(found["losses"]) == 200,
        "A run without a loss below the threshold has 200 losses by default.",
        f"{len(found['losses'])} losses",
    )


@behaviour(4)
def test_trains_with_adam(observe):
    given = observe.given
    slow = "A sound model failed your test because the optimizer was too slow; use Adam with the given learning rate."
    for name, lr in (("plain", given["lr"]), ("default_lr", 0.01), ("old_gradients", given["lr"])):
        found = report(observe, f"trajectory/{name}")
        close(
            found["losses"],
            losses_of(given, lr=lr),
            "The losses are not those of Adam with the given learning rate, no weight decay and fresh gradients in each step.",
            **TIGHT,
            device=observe.device,
            call=f"12 steps with lr={lr:.3g}",
            mistakes={
                slow: losses_of(given, lr=lr, kind="sgd"),
                "Use the given learning rate.": losses_of(given, lr=0.001),
                "Use the given learning rate, not the default.": losses_of(given, lr=0.01),
                "Regularisation only blurs this test: no weight decay.": losses_of(
                    given, lr=lr, kind="adamw"
                ),
                "The gradients are not cleared between steps.": losses_of(given, lr=lr, clear=False),
                "The gradients that the model came with went into the first step.": losses_of(
                    given, lr=lr, clear=False, start=3.0
                ),
            },
        )


@behaviour(4)
def test_steep_gradients_are_not_clipped(observe):
    given = observe.given
    clipped = "The gradients were clipped: this test is plain Adam."
    close(
        report(observe, "trajectory/steep")["losses"],
        losses_of(given, scale=70.0),
        "With a loss 70 times as large the losses are not those of Adam with its default settings.",
        **TIGHT,
        device=observe.device,
        mistakes=[(clipped, losses_of(given, scale=70.0, limit=limit)) for limit in (1.0, 5.0, 10.0)],
    )


NOISE = "Dropout noise keeps the loss up and makes the verdict random."


@behaviour(5, presumes=("trains_with_adam",))
def test_dropout_is_inactive(observe):
    want = losses_of(observe.given)
    for kind in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"):
        close(
            report(observe, f"trajectory/{kind}")["losses"],
            want,
            NOISE,
            **TIGHT,
            device=observe.device,
            call=f"a model with nn.{kind}(0.6) in front",
        )


@behaviour(5, presumes=("trains_with_adam",))
def test_dropout_at_any_depth(observe):
    close(
        report(observe, "trajectory/nested")["losses"],
        losses_of(observe.given),
        NOISE,
        **TIGHT,
        device=observe.device,
        call="a model with dropout in nested blocks",
    )


@behaviour(6)
def test_batch_norm_trains(observe):
    given = observe.given
    for name in ("train", "eval"):
        close(
            report(observe, f"trajectory/norm_{name}")["losses"][0],
            losses_of(given, normalised(given))[0],
            "The first loss with batch norm is not the one with the statistics of the batch.",
            **TIGHT,
            device=observe.device,
            call=f"a model with BatchNorm1d that came in {name} mode",
            mistakes={
                "Eval mode also switches batch norm to its running statistics. Turn off only dropout.": losses_of(
                    given, running(given)
                )[0]
            },
        )


@behaviour(6)
def test_train_mode(observe):
    for name in ("train", "eval"):
        modes = observe[f"trajectory/norm_{name}/modes"]
        expect(len(modes) > 0 and all(modes), f"A model that came in {name} mode was not run in train mode.")


@behaviour(7)
def test_nonfinite_loss(observe):
    for name, count, text in (
        ("nan", 4, "NaN"),
        ("inf", 3, "inf"),
        ("minus_inf", 3, "-inf"),
        ("first_nan", 1, "NaN"),
    ):
        says = f"The loss was {text} at step {count - 1} and the report gives another reason."
        if report(observe, f"scripted/{name}")["reason"] == "stuck" and name == "nan":
            says = "The loss was NaN at step 3 and the report said stuck: those have different causes."
        found = outcome(
            observe,
            f"scripted/{name}",
            "nonfinite",
            count,
            says,
            "The run should end at the first loss that is not finite, and record it.",
        )
        expect(not math.isfinite(found["losses"][-1]), "The loss that is not finite should be recorded.")
        expect(found["passed"] is False, "A loss that is not finite is no pass.")


@behaviour(7, on_error="A loss that is not finite ends the run with nonfinite, with a graph or without.")
def test_nonfinite_is_decided_before_the_graph(observe):
    for name in ("detached_nan", "detached_inf"):
        outcome(
            observe,
            f"no_gradient/{name}",
            "nonfinite",
            1,
            "Whether the loss is finite is decided before whether it has a graph.",
            "A loss that is not finite should end the run and be recorded.",
        )


CRASH = "A loss without a graph is the very bug this test should report, not crash on."


@behaviour(8, on_error=CRASH)
def test_loss_without_graph(observe):
    once = "no_gradient should end the run at that loss."
    outcome(
        observe,
        "no_gradient/detached",
        "no_gradient",
        1,
        "A loss without a graph should give no_gradient.",
        once,
    )
    outcome(
        observe,
        "no_gradient/detached_low",
        "no_gradient",
        1,
        "Whether the loss has a graph is decided before the threshold.",
        once,
    )
    outcome(
        observe,
        "no_gradient/detached_later",
        "no_gradient",
        3,
        "A loss that has no graph in a later step should give no_gradient too.",
        once,
    )


@behaviour(8, on_error="A fully frozen model should be reported as no_gradient, not crash.")
def test_frozen_model(observe):
    found = outcome(
        observe,
        "no_gradient/frozen",
        "no_gradient",
        1,
        "A fully frozen model should give no_gradient.",
        "no_gradient should end the run at the first loss.",
    )
    expect(found["idle"] == [], "Frozen on purpose is not idle.", f"idle is {found['idle']}")


@behaviour(8)
def test_gradient_of_zeros(observe):
    once = "no_gradient should end the run at the first loss."
    for name in ("zero", "zero_old_gradients"):
        outcome(
            observe,
            f"no_gradient/{name}",
            "no_gradient",
            1,
            "Where the first backward gives zeros only, the reason should be no_gradient.",
            once,
        )
    outcome(
        observe,
        "no_gradient/zero_low",
        "ok",
        1,
        "The threshold is looked at before the gradients.",
        ON,
    )
    outcome(
        observe,
        "no_gradient/zero_later",
        "stuck",
        5,
        "Only the first step can end with no_gradient because all gradients are zero.",
        "Gradients of zeros in a later step should not end the run.",
    )


@behaviour(8)
def test_gradient_that_sums_to_zero(observe):
    found = outcome(
        observe,
        "no_gradient/opposite",
        "stuck",
        3,
        "A gradient of (1, -1) is not zero: look at the elements, not at their sum.",
        "A gradient of (1, -1) should not end the run.",
    )
    expect(
        found["idle"] == [], "A parameter with the gradient (1, -1) is not idle.", f"idle is {found['idle']}"
    )


@behaviour(8)
def test_gradient_of_any_sign_and_size(observe):
    for name, what in (("downhill", "whose elements are all negative"), ("tiny", "of size 1e-12")):
        says = f"A gradient {what} is not zero."
        found = outcome(observe, f"no_gradient/{name}", "stuck", 3, says, says)
        expect(found["idle"] == [], f"A parameter with a gradient {what} is not idle.")


def without(*names):
    return [name for name in PARTS if name not in names]


LINEAR = ("block.0.weight", "block.0.bias")


@behaviour(9)
def test_idle_parameters(observe):
    zeros = "A parameter multiplied by zero has a gradient of zeros: it exists, but it teaches nothing."
    for name, want, says in (
        (
            "all_but",
            without("zeta", *LINEAR),
            "idle should name the trainable parameters that never had a gradient.",
        ),
        (
            "stuck",
            without("zeta", "alpha", *LINEAR),
            "idle should name the trainable parameters that never had a gradient.",
        ),
        ("zeros", without("zeta"), zeros),
        (
            "once",
            without("zeta", "block.1.weight"),
            "A parameter that had a gradient in one step is not idle.",
        ),
        (
            "nonfinite",
            without("zeta"),
            "A loss that is not finite is not differentiated; its gradients do not count.",
        ),
    ):
        idle = report(observe, f"idle/{name}")["idle"]
        if set(idle) == {"unused"} and len(want) > 1:
            says = zeros
        if "frozen" in idle:
            says = "Frozen on purpose is not idle."
        expect(set(idle) == set(want), says, f"idle is {idle}, expected {want}")
        expect(idle == want, "idle should follow the order of named_parameters().", f"got {idle}")


@behaviour(9)
def test_tied_parameters_are_named_once(observe):
    idle = report(observe, "idle/tied")["idle"]
    expect(
        idle == ["first.weight"],
        "A weight that two layers share has one name in named_parameters().",
        f"idle is {idle}, expected ['first.weight']",
    )


@behaviour(9)
def test_gradients_of_the_last_loss_count(observe):
    for name, want in (
        ("last_ok", without("zeta", "alpha")),
        ("first_ok", without(*LINEAR)),
        ("last_stuck", without("zeta", "block.1.weight")),
    ):
        idle = report(observe, f"idle/{name}")["idle"]
        expect(idle == want, "The gradients of the last loss count too.", f"idle is {idle}, expected {want}")


@behaviour(9, on_error=CRASH)
def test_everything_is_idle_without_a_graph(observe):
    idle = report(observe, "idle/no_graph")["idle"]
    expect(idle == PARTS, "Without a graph every trainable parameter is idle.", f"got {idle}")


@behaviour(10)
def test_frozen_parameters_stay(observe):
    given = observe.given
    found = report(observe, "trajectory/frozen")
    close(
        found["losses"],
        losses_of(given, frozen=("w1", "b2")),
        "With two frozen parameters the losses are wrong.",
        **TIGHT,
        device=observe.device,
        mistakes={"Frozen parameters were trained.": losses_of(given)},
    )


@behaviour(10)
def test_frozen_is_not_idle(observe):
    idle = report(observe, "trajectory/frozen")["idle"]
    expect(not idle, "Frozen on purpose is not idle.", f"idle is {idle}")
    expect("frozen" not in report(observe, "idle/stuck")["idle"], "Frozen on purpose is not idle.")


@behaviour(11)
def test_same_random_state_same_result(observe):
    first, second = report(observe, "random/0"), report(observe, "random/1")
    close(
        second["losses"],
        first["losses"],
        "Two calls from the same random state gave different losses.",
        **TIGHT,
    )
    expect(
        first["reason"] == second["reason"], "Two calls from the same random state gave different reasons."
    )


LEFT = "The global random state is not the one from before the call: work inside torch.random.fork_rng()."


@behaviour(11)
def test_random_state_is_left(observe):
    report(observe, "random/plain")
    expect(alike(*observe["random/plain/left"]), LEFT)


@behaviour(13)
def test_random_numbers_of_the_model(observe):
    for name in (0, 1, "short"):
        report(observe, f"random/{name}")
        expect(alike(*observe[f"random/{name}/left"]), LEFT, "a model with a layer that draws random numbers")


@behaviour(12)
def test_steps_below_one(observe):
    observe.raised("errors/zero", "ValueError", says="steps=0 should raise ValueError.")
    observe.raised("errors/negative", "ValueError", says="Negative steps should raise ValueError.")
