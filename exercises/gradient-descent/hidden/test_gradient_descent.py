import torch

from quizapp.judge.testing.checks import behaviour, close, expect

CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def descend(f, x0, lr, steps, tol=0.0, mistake=""):
    """The points and losses of the run, or those of a usual mistake."""
    x, total, points, losses = x0.double(), 0.0, [], []
    while True:
        leaf = x.clone().requires_grad_()
        loss = f(leaf)
        points.append(x)
        losses.append(loss.item())
        (grad,) = torch.autograd.grad(loss, leaf)
        if len(losses) > steps or grad.norm() <= tol:
            return points, losses
        total = total + grad
        step = {"up": -grad, "piles up": total, "normed": grad / grad.norm()}.get(mistake, grad)
        x = x - lr * step


def bowl(observe):
    case = observe.given["bowl"]
    return lambda x: (case["h"] * (x - case["c"]) ** 2).sum() / 2


def quartic(x):
    return ((x**2 - 1) ** 2).sum() / 4


def square(x):
    return (x**2).sum()


def check_x(observe, path, f, x0, lr, steps, says="x is not where gradient descent ends.", call=""):
    slips = {
        "The loss grows after one step: you are walking up the slope. Subtract the gradient.": "up",
        "The first step is right and the second is too long: the gradient of step one is still in there.": "piles up",
        "The gradient was normalized: its length is part of the step.": "normed",
    }
    close(
        observe[path],
        descend(f, x0, lr, steps)[0][-1],
        says,
        **CLOSE,
        device=observe.device,
        call=call,
        mistakes=[(text, descend(f, x0, lr, steps, mistake=key)[0][-1]) for text, key in slips.items()],
    )


@behaviour(1)
def test_updates(observe):
    case, curve = observe.given["bowl"], observe.given["curve"]
    for steps in (1, 2, 3, 12):
        check_x(
            observe,
            f"updates/{steps}/x",
            bowl(observe),
            case["x0"],
            case["lr"],
            steps,
            call=f"a quadratic, lr={case['lr']:.3g}, {steps} steps",
        )
    check_x(
        observe,
        "updates/curve/x",
        quartic,
        curve["x0"],
        curve["lr"],
        10,
        call="sum((x^2 - 1)^2) / 4, 10 steps",
    )
    check_x(
        observe,
        "updates/one_element/x",
        bowl(observe),
        case["x0"],
        case["lr"],
        3,
        call="an f that returns shape (1,), 3 steps",
    )


def check_losses(observe, path, want, call):
    got = observe[path]
    expect(isinstance(got, list), "losses should be a list.", call)
    expect(
        len(got) == len(want),
        "Expected one loss for the start and one after each update.",
        f"{call}: got {len(got)} losses, expected {len(want)}",
    )
    expect(all(type(loss) is float for loss in got), "losses should hold Python floats.", call)
    close(
        got,
        want,
        "The losses should be f at the start and after each update.",
        rtol=1e-6 if "float32" in call else 1e-9,
        atol=1e-10,
        device=observe.device,
        call=call,
    )


@behaviour(2)
def test_losses(observe):
    case, curve = observe.given["bowl"], observe.given["curve"]
    for steps in (0, 1, 2, 3, 12):
        check_losses(
            observe,
            f"updates/{steps or 'none'}/losses",
            descend(bowl(observe), case["x0"], case["lr"], steps)[1],
            f"a quadratic, {steps} steps",
        )
    want = descend(quartic, curve["x0"], curve["lr"], 10)[1]
    check_losses(observe, "updates/curve/losses", want, "sum((x^2 - 1)^2) / 4, 10 steps")
    want = descend(bowl(observe), case["x0"], case["lr"], 3)[1]
    check_losses(observe, "updates/one_element/losses", want, "an f that returns shape (1,), 3 steps")
    check_losses(observe, "updates/matrix_loss/losses", want, "an f that returns shape (1, 1), 3 steps")


@behaviour(3)
def test_tolerance(observe):
    case = observe.given["bowl"]
    for i, tol in enumerate(observe.given["tols"]):
        points, losses = descend(bowl(observe), case["x0"], case["lr"], 20, tol)
        got = observe[f"tol/{i}/losses"]
        expect(
            len(got) == len(losses),
            "Before each update the L2 norm of the whole gradient should be compared with tol.",
            f"tol={tol:.4g}: {len(got) - 1} updates, expected {len(losses) - 1}",
        )
        close(got, losses, "The losses of a run that stops early are wrong.", **CLOSE)
        close(observe[f"tol/{i}/x"], points[-1], "x of a run that stops early is wrong.", **CLOSE)


@behaviour(3)
def test_only_a_zero_gradient_ends_early(observe):
    want = [25.0 * 2.25**k for k in range(13)]
    says = "Rising losses do not end the run: only the gradient's norm does."
    got = observe["tol/rising/losses"]
    expect(len(got) == 13, says, f"sum(x^2), lr=1.25, 12 steps: {len(got) - 1} updates")
    close(got, want, "The losses of a run with too large a step are wrong.", **CLOSE)
    says = "The result is the last x, the one that the last loss belongs to, not the best one."
    close(observe["tol/rising/x"], START * 1.5**12, says, **CLOSE, call="sum(x^2), lr=1.25, 12 steps")
    got = len(observe["tol/level/losses"]) - 1
    says = "Losses that stay the same do not end the run: only the gradient's norm does."
    expect(got == 4, says, f"sum(x^2), lr=1, 4 steps: {got} updates")
    got = observe["tol/infinite/updates"]
    says = "An infinite loss does not end the run: only the gradient's norm does."
    expect(got == 4, says, f"sum(x) of numbers around 1e308, 4 steps: {got} updates")
    got = observe["tol/gentle/updates"]
    says = "With tol=0 only an exactly zero gradient ends the run, a tiny one does not."
    expect(got == 4, says, f"1e-12 * sum(x), 4 steps: {got} updates")
    got = observe["tol/faint/updates"]
    expect(got == 4, says, f"1e-60 * sum(x) in float64, 4 steps: {got} updates")


START = torch.tensor([3.0, 4.0], dtype=torch.float64)


@behaviour(3)
def test_norm_of_the_whole_gradient(observe):
    for name, tol, updates in (("at", 10.0, 0), ("far", 1e3, 0), ("below", 9.0, 1), ("between", 8.5, 1)):
        got = len(observe[f"tol/{name}/losses"]) - 1
        says = (
            "At a stationary point nothing should move: the test comes before the update, and equality stops."
        )
        if updates:
            says = "The stop test looks at the L2 norm of the whole gradient, not at single coordinates."
        expect(got == updates, says, f"gradient [6, 8], tol={tol:g}: {got} updates, expected {updates}")
        close(observe[f"tol/{name}/x"], START / (2 if updates else 1), says, **CLOSE)
    points, losses = descend(square, START, 0.25, 30, 2.0)
    close(observe["tol/named/losses"], losses, "The run with tol=2 ends at the wrong step.", **CLOSE)
    close(observe["tol/named/x"], points[-1], "The run with tol=2 ends at the wrong x.", **CLOSE)


@behaviour(3)
def test_zero_gradient(observe):
    expect(
        observe["tol/flat/losses"] == [0.0],
        "At a stationary point nothing should move, also with the default tol.",
        f"losses {observe['tol/flat/losses']}",
    )
    close(observe["tol/flat/x"], torch.zeros(3), "At a stationary point nothing should move.", **CLOSE)


@behaviour(4)
def test_start_is_left_alone(observe):
    x0 = observe.given["bowl"]["x0"]
    for name in ("plain", "leaf", "leaf_with_grad", "view"):
        for steps in (0, 4):
            path, call = f"start/{name}{steps}", f"x0: {name.replace('_', ' ')}, {steps} steps"
            expect(
                torch.equal(observe.tensor(f"{path}/x0"), x0),
                "Your function changed the caller's x0. Work on a copy.",
                call,
            )
            expect(
                observe[f"{path}/requires_grad"] is ("leaf" in name),
                "The requires_grad flag of x0 changed.",
                call,
            )
            grad = observe[f"{path}/grad"]
            if name == "leaf_with_grad":
                same = grad is not None and torch.equal(grad, observe.given["old"])
                expect(same, "The .grad of x0 changed.", call)
            else:
                expect(grad is None, "x0 came back with a .grad.", call)


@behaviour(
    10, on_error="x0 may be computed from tensors that require grad; copy it with detach, not with deepcopy."
)
def test_start_with_a_history(observe):
    x0 = observe.given["bowl"]["x0"]
    for steps in (0, 4):
        path, call = f"start/no_leaf{steps}", f"x0: computed from a tensor that requires grad, {steps} steps"
        same = torch.equal(observe.tensor(f"{path}/x0"), x0) and observe[f"{path}/requires_grad"] is True
        expect(same, "Your function changed the caller's x0. Work on a copy.", call)
        expect(observe[f"{path}/x_requires_grad"] is False, "The result must not require grad.", call)


@behaviour(9)
def test_start_is_left_alone_while_f_runs(observe):
    x0 = observe.given["bowl"]["x0"]
    for name in ("anchor", "anchor_leaf"):
        close(
            observe[f"start/{name}/x"],
            x0 * (0.5 + 0.5 * 0.8**4),
            "x0 must keep its values during the run too: f may look at it.",
            **CLOSE,
            device=observe.device,
            call="f(x) = sum((x - x0 / 2)^2), lr=0.1, 4 steps",
        )
        same = torch.equal(observe.tensor(f"start/{name}/x0"), x0)
        expect(same, "Your function changed the caller's x0. Work on a copy.", "an f that uses x0")
        expect(observe[f"start/{name}/grad"] is None, "x0 came back with a .grad.", "an f that uses x0")
    same = torch.equal(observe.tensor("start/refused/x0"), x0)
    expect(same, "Your function changed the caller's x0. Work on a copy.", "an f that is refused")
    flag = observe["start/refused/requires_grad"]
    expect(flag is False, "The requires_grad flag of x0 changed.", "an f that is refused")


@behaviour(5)
def test_result_is_separate(observe):
    case = observe.given["bowl"]
    for name in ("plain", "leaf", "leaf_with_grad", "view"):
        for steps in (0, 4):
            path, call = f"start/{name}{steps}", f"x0: {name.replace('_', ' ')}, {steps} steps"
            expect(observe[f"{path}/x_requires_grad"] is False, "The result must not require grad.", call)
            expect(
                torch.equal(observe.tensor(f"{path}/x0_later"), case["x0"]),
                "The result shares memory with x0: return a copy, also when no step was taken.",
                call,
            )
            check_x(observe, f"{path}/x", bowl(observe), case["x0"], case["lr"], steps, call=call)
    expect(
        torch.equal(observe.tensor("start/stopped/x0_later"), case["x0"]),
        "The result shares memory with x0: return a copy, also when no step was taken.",
        "a tol that stops at once",
    )


@behaviour(5)
def test_shape_and_dtype(observe):
    given = observe.given
    for name, x0 in (
        ("cube", given["cube"]),
        ("single", given["cube"][0]),
        ("scalar", given["point"][0]),
        ("one", given["point"][:1]),
        ("turned", given["cube"].transpose(0, 2)),
        ("half", given["cube"].bfloat16()),
    ):
        got, call = observe.tensor(f"kinds/{name}/x"), f"x0 of shape {tuple(x0.shape)}, {x0.dtype}"
        expect(
            got.shape == x0.shape, "The result has another shape than x0.", f"{call}: got {tuple(got.shape)}"
        )
        expect(got.dtype == x0.dtype, "The result has another dtype than x0.", f"{call}: got {got.dtype}")
        expect(observe[f"kinds/{name}/device"] is True, "The result lies on another device than x0.")
        close(
            got,
            x0.double() * 0.8**3,
            "The result is wrong.",
            rtol=0.05 if name == "half" else 1e-5,
            atol=1e-6,
            device=observe.device,
            call=call,
        )


@behaviour(6)
def test_other_gradients_stay(observe):
    weight = observe.given["weight"]
    says = "A weight used inside f came back with a .grad. Ask autograd for the gradient of x only."
    for name in ("weight", "bias"):
        expect(observe[f"others/none/{name}"] is None, says)
        value = 2.5 if name == "weight" else -1.5
        got = observe[f"others/kept/{name}"]
        same = got is not None and bool((got == value).all())
        expect(same, "The .grad of a weight used inside f changed.")
    bias = torch.ones(weight.shape[0], dtype=torch.float64)
    for name in ("none", "kept"):
        values = observe[f"others/{name}/values"]
        same = torch.equal(values[0], weight) and torch.equal(values[1], bias)
        expect(same, "A weight used inside f has other values than before.")
        check_x(
            observe,
            f"others/{name}/x",
            lambda x: torch.tanh(weight @ x + bias).pow(2).sum(),
            observe.given["point"],
            0.1,
            5,
            call="an f with weights that require grad, 5 steps",
        )


@behaviour(7)
def test_bad_arguments_are_refused(observe):
    for name, says in {
        "lr_zero": "lr=0 should raise ValueError.",
        "lr_negative": "A negative lr should raise ValueError.",
        "lr_zero_no_steps": "lr=0 should raise ValueError, with steps=0 too.",
        "steps": "A negative number of steps should raise ValueError.",
        "vector": "An f that returns more than one element should raise ValueError.",
        "two": "An f that returns two elements should raise ValueError.",
        "row": "An f that returns shape (1, 2) should raise ValueError.",
        "two_at_start": "An f that returns two elements should raise ValueError, with steps=0 too.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
