from contextlib import suppress

import torch

from quizapp.judge.testing.checks import behaviour, close, expect

GRADS = ("X", "W1", "b1", "W2", "b2")
MESSAGES = {
    "X": "The gradient by X is wrong.",
    "W1": "The gradient by W1 is wrong.",
    "b1": "The gradient by b1 is wrong.",
    "W2": "The gradient by W2 is wrong.",
    "b2": "The gradient by b2 is wrong.",
}


def reference(case, zero_slope=0.0, above=0.0):
    """Loss and gradients in float64."""
    x, w1, b1, w2, b2 = (case[name].double() for name in GRADS)
    z1 = x @ w1 + b1
    a1 = z1.clamp(min=0)
    logits = a1 @ w2 + b2
    log_probs = torch.log_softmax(logits, 1)
    rows = torch.arange(len(x))
    loss = -log_probs[rows, case["y"]].mean()
    d2 = log_probs.exp()
    d2[rows, case["y"]] -= 1
    d2 = d2 / len(x)
    d1 = (d2 @ w2.T) * torch.where(z1 > above, 1.0, torch.where(z1 == 0, zero_slope, 0.0)).double()
    grads = {"X": d1 @ w1.T, "W1": x.T @ d1, "b1": d1.sum(0), "W2": a1.T @ d2, "b2": d2.sum(0)}
    return loss, grads


def tolerance(case):
    if case["X"].dtype == torch.float64:
        return {"rtol": 1e-10, "atol": 1e-10}
    return {"rtol": 1e-4, "atol": 1e-5}


def describe(case):
    return (
        f"X of shape {tuple(case['X'].shape)}, H = {len(case['b1'])}, C = {len(case['b2'])}, "
        f"{str(case['X'].dtype).removeprefix('torch.')}"
    )


def compare(got, case, observe, says="", names=GRADS, call="", mistakes=()):
    want = reference(case)[1]
    expect(isinstance(got, dict), "backward should return a dict.", f"got {type(got).__name__}")
    for name in names:
        expect(name in got, f"backward returned no gradient for {name!r}.")
        grad, right = got[name], want[name]
        expect(isinstance(grad, torch.Tensor), "Every gradient should be a tensor.", name)
        if grad.shape != right.shape:
            if grad.dim() == 2 and grad.T.shape == right.shape:
                sides = {"W1": "(H, D)", "W2": "(C, H)", "X": "(D, B)"}
                expect(False, f"{name}'s gradient came out as {sides.get(name)}.", f"got {tuple(grad.shape)}")
            if name in ("b1", "b2") and grad.dim() == 2:
                expect(
                    False,
                    "A bias is used by every example, so its gradient is a sum over the batch.",
                    f"got {tuple(grad.shape)}",
                )
        batch = len(case["X"])
        known = [
            ("Your gradients are B times too large.", right * batch),
            ("Your gradients are B times too small: divide by the batch size once.", right / batch),
            ("Your gradients have the wrong sign.", -right),
            ("A bias is used by every example, so its gradient is a sum over the batch.", right / batch),
        ]
        if batch == 1:
            known = known[2:3]
        if name in ("b1", "b2"):
            known = [known[-1], *known[:-1]]
        if name in mistakes:
            known = [*mistakes[name], *known]
        close(
            grad,
            right,
            says or MESSAGES[name],
            **tolerance(case),
            device=observe.device,
            call=call or f"backward for {describe(case)}, gradient by {name}",
            mistakes=known,
        )


@behaviour(1)
def test_loss_is_the_mean(observe):
    for i, case in enumerate(observe.given["cases"]):
        loss = observe.tensor(f"loss/cases{i}/loss", "The loss should be a tensor.")
        want = reference(case)[0]
        expect(loss.shape == (), "The loss should be a zero-dimensional tensor.", f"got {tuple(loss.shape)}")
        close(
            loss,
            want,
            "The loss is not the mean cross-entropy of the batch.",
            **tolerance(case),
            device=observe.device,
            call=f"forward on {describe(case)}",
            mistakes={
                "The loss is a sum over the batch, not its mean.": want * len(case["X"]),
                "The loss has the wrong sign.": -want,
            },
        )


@behaviour(2)
def test_loss_for_extreme_logits(observe):
    for i, case in enumerate(observe.given["extreme"]):
        loss = observe.tensor(f"loss/extreme{i}/loss", "The loss should be a tensor.")
        double = case["X"].dtype == torch.float64
        says = "The loss is wrong for logits of +-10,000: work with logarithms all the way."
        if not torch.isfinite(loss).all():
            says = "exp(10000) is infinite: subtract the row maximum first."
        close(
            loss,
            reference(case)[0],
            says,
            rtol=1e-10 if double else 1e-5,
            atol=1e-9 if double else 1e-3,
            device=observe.device,
            call="forward on logits near +10,000 in one row and near -10,000 in another",
        )


def sound(observe):
    """Whether the gradients are right where logits are small."""
    with suppress(AssertionError):
        for i, case in enumerate(observe.given["cases"]):
            compare(observe[f"gradients/{i}/grads"], case, observe)
        return True
    return False


@behaviour(2)
def test_gradients_for_extreme_logits(observe):
    if not sound(observe):
        return  # told by the tests of ordinary logits
    case = observe.given["extreme"][0]
    got = observe["loss/extreme0/grads"]
    for name in GRADS:
        right = reference(case)[1][name]
        expect(
            torch.isfinite(got[name]).all(), f"The gradient by {name} is not finite for logits of +-10,000."
        )
        close(
            got[name],
            right,
            f"The gradient by {name} is wrong for logits of +-10,000.",
            rtol=1e-8,
            atol=1e-8,
            device=observe.device,
        )


@behaviour(3)
def test_gradients_of_the_parameters(observe):
    for i, case in enumerate(observe.given["cases"]):
        compare(observe[f"gradients/{i}/grads"], case, observe, names=("b2", "W2", "b1", "W1"))


@behaviour(3)
def test_gradient_of_the_input(observe):
    for i, case in enumerate(observe.given["cases"]):
        compare(observe[f"gradients/{i}/grads"], case, observe, names=("X",))


@behaviour(3)
def test_shapes_and_dtypes(observe):
    for i, case in enumerate(observe.given["cases"]):
        grads = observe[f"gradients/{i}/grads"]
        for name in GRADS:
            expect(name in grads, f"backward returned no gradient for {name!r}.")
            expect(
                grads[name].shape == case[name].shape,
                f"The gradient by {name} should have the shape of {name}.",
                f"got {tuple(grads[name].shape)}, {name} has {tuple(case[name].shape)}",
            )
            expect(
                grads[name].dtype == case[name].dtype,
                f"The gradient by {name} should have the dtype of {name}.",
                f"got {grads[name].dtype} for {case[name].dtype}",
            )
        expect(observe[f"gradients/{i}/same_device"] is True, "A gradient left the device of the inputs.")


@behaviour(10)
def test_non_contiguous_input(observe):
    compare(observe["gradients/transposed/grads"], observe.given["cases"][0], observe)


@behaviour(4)
def test_repeated_examples(observe):
    for i, case in enumerate(observe.given["cases"]):
        want = reference(case)[1]
        for times in (2, 3):
            grads = observe[f"repeated/{i}x{times}/grads"]
            for name in GRADS[1:]:
                right = want[name]
                close(
                    grads[name],
                    right,
                    f"Repeating every example {times} times changed the gradient by {name}.",
                    **tolerance(case),
                    device=observe.device,
                    call=f"{describe(case)}, every example {times} times",
                    mistakes={
                        "Your gradients are B times too large.": right * times * len(case["X"]),
                        "Your gradients are B times too small: divide by the batch size once.": right
                        / (times * len(case["X"])),
                    },
                )


@behaviour(5)
def test_unit_at_exactly_zero(observe):
    case = observe.given["zero"]
    with_slope = reference(case, zero_slope=1.0)[1]
    half = reference(case, zero_slope=0.5)[1]
    late = reference(case, above=1e-9)[1]
    says = "A unit at exactly zero must not pass a gradient."
    just_above = "A unit passes a gradient however little above zero it is."
    compare(
        observe["zero/grads"],
        case,
        observe,
        names=("b1", "W1", "X"),
        call="two hidden units whose pre-activation is exactly 0",
        mistakes={
            name: [(says, with_slope[name]), (says, half[name]), (just_above, late[name])] for name in GRADS
        },
    )


@behaviour(6)
def test_works_under_no_grad(observe):
    case = observe.given["cases"][0]
    close(
        observe["by_hand/no_grad/loss"],
        reference(case)[0],
        "Under torch.no_grad() the loss is wrong.",
        **tolerance(case),
        device=observe.device,
    )
    compare(
        observe["by_hand/no_grad/grads"], case, observe, says="Under torch.no_grad() a gradient is wrong."
    )


@behaviour(6)
def test_results_do_not_require_grad(observe):
    case = observe.given["cases"][0]
    compare(observe["by_hand/tracked/grads"], case, observe)
    expect(
        observe["by_hand/tracked/loss_tracked"] is False,
        "The loss requires grad where the inputs do: compute without a graph.",
    )
    for name, tracked in zip(GRADS, observe["by_hand/tracked/grads_tracked"], strict=True):
        expect(
            tracked is False, "A gradient requires grad where the inputs do: compute without a graph.", name
        )
    expect(all(g is None for g in observe["by_hand/tracked/left"]), "Your code filled .grad of an input.")


@behaviour(7)
def test_inputs_are_not_modified(observe):
    for i, case in enumerate(observe.given["cases"]):
        for moment in ("after_forward", "after_backward"):
            now = observe[f"twice/{i}/{moment}"]
            for name in (*GRADS, "y"):
                expect(
                    torch.equal(now[name].double(), case[name].double()),
                    f"{name} was modified by {'forward' if moment == 'after_forward' else 'backward'}.",
                )


@behaviour(7)
def test_backward_twice(observe):
    says = "The second backward gave another result: the cache was changed."
    for i, case in enumerate(observe.given["cases"]):
        first, second = observe[f"twice/{i}/first"], observe[f"twice/{i}/second"]
        for name in GRADS:
            close(second[name], first[name], says, **tolerance(case), call=f"gradient by {name}")


@behaviour(7)
def test_two_caches_at_a_time(observe):
    compare(
        observe["twice/two_caches/grads"],
        observe.given["cases"][0],
        observe,
        says="A second forward changed what backward returns for the first cache.",
    )


def numeric(case, eps):
    inner = (case["linear"] * case["x"]).sum()
    return 3 * case["cubic"] * case["x"] ** 2 + case["cubic"] * eps**2 + case["linear"] * inner


def one_sided(case, eps):
    exact = numeric(case, 0.0)
    return (
        exact + 3 * case["cubic"] * case["x"] * eps + case["cubic"] * eps**2 + 0.5 * case["linear"] ** 2 * eps
    )


@behaviour(8)
def test_central_differences(observe):
    says = "gradient_check does not give (f(x + eps) - f(x - eps)) / (2 * eps) for each coordinate."
    for i, case in enumerate(observe.given["checks"]):
        eps = case["eps"]
        for kind in ("tensor", "number"):
            close(
                observe[f"check/{kind}{i}/result"],
                numeric(case, eps),
                says,
                rtol=1e-9,
                atol=3e-9,
                device=observe.device,
                call=f"gradient_check(f, x, {eps:.4g}) for a cubic f and x of shape {tuple(case['x'].shape)}",
                mistakes={
                    "The error is of order eps, not of eps squared: step to both sides.": one_sided(
                        case, eps
                    ),
                    "The error is of order eps, not of eps squared: step to both sides, not only down.": one_sided(
                        case, -eps
                    ),
                    "Both steps together are 2 * eps wide.": 2 * numeric(case, eps),
                    "The given eps was not used.": numeric(case, 1e-6),
                },
            )


@behaviour(8)
def test_default_step(observe):
    for i, case in enumerate(observe.given["checks"]):
        result = observe.tensor(f"check/default{i}/result", "gradient_check should return a tensor.")
        size = float(
            (case["cubic"] * case["x"] ** 3).abs().sum() + (case["linear"] * case["x"]).abs().sum() ** 2
        )
        close(
            result,
            numeric(case, 1e-6),
            "With the default eps the numerical gradient is not accurate enough.",
            rtol=0,
            atol=3e-9 * (1 + size),
            device=observe.device,
            call=f"gradient_check(f, x) for a cubic f and x of shape {tuple(case['x'].shape)}",
            mistakes={
                "The error is of order eps, not of eps squared: step to both sides.": one_sided(case, 1e-6)
            },
        )


@behaviour(8)
def test_check_returns_float64_of_the_same_shape(observe):
    for i, case in enumerate(observe.given["checks"]):
        result = observe.tensor(f"check/tensor{i}/result", "gradient_check should return a tensor.")
        expect(
            result.shape == case["x"].shape,
            "The numerical gradient should be shaped like x.",
            f"got {tuple(result.shape)} for {tuple(case['x'].shape)}",
        )
        expect(
            result.dtype == torch.float64, "The numerical gradient should be float64.", f"got {result.dtype}"
        )


BITS = "gradient_check left x changed: adding and subtracting eps does not give the same bits back."


@behaviour(8)
def test_check_restores_x(observe):
    for i, case in enumerate(observe.given["checks"]):
        for kind in ("tensor", "number", "default"):
            expect(
                torch.equal(observe[f"check/{kind}{i}/x"], case["x"]),
                BITS,
            )
    small = torch.tensor([3e-13, -0.1, 7e-10, 1 / 3, 0.0], dtype=torch.float64)
    expect(torch.equal(observe["check/bits/x"], small), BITS)


@behaviour(11)
def test_check_of_a_transposed_tensor(observe):
    if observe.error("check/turned") is not None:
        return  # refusing such an x loudly is no wrong gradient
    case = observe.given["checks"][2]
    close(
        observe["check/turned/result"],
        case["cubic"] * (3 * case["x"] ** 2 + case["eps"] ** 2),
        "The numerical gradient at an x that is not contiguous is wrong.",
        rtol=1e-9,
        atol=3e-9,
        device=observe.device,
        mistakes={
            "f never saw the steps: reshape made a copy of an x that is not contiguous.": 0 * case["x"]
        },
    )
    expect(torch.equal(observe["check/turned/x"], case["x"]), BITS)


@behaviour(8)
def test_check_agrees_with_the_gradient_by_w1(observe):
    case = observe.given["cases"][0]
    close(
        observe["check/loss/result"],
        reference(case)[1]["W1"],
        "The numerical gradient of your loss by W1 is not its gradient.",
        rtol=1e-5,
        atol=1e-5,
        device=observe.device,
    )


@behaviour(9)
def test_shapes_that_do_not_fit(observe):
    for name, says in {
        "short_y": "Fewer labels than examples should raise ValueError.",
        "long_y": "More labels than examples should raise ValueError.",
        "w1": "A W1 that does not fit X should raise ValueError.",
        "w2": "A W2 that does not fit W1 should raise ValueError.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(9)
def test_labels_out_of_range(observe):
    for name, says in {
        "negative": "A label of -1 picks the last class without any warning; it should raise ValueError.",
        "too_large": "A label equal to C should raise ValueError.",
        "far": "A label above C should raise ValueError.",
        "ignore": "A label of -100 should raise ValueError: nothing is ignored here.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
