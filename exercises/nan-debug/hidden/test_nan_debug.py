import math

import torch

from quizapp.judge.testing.checks import behaviour, close, expect


def finite(observe, path, says):
    grad = observe.tensor(path, says).double()
    bad = grad[~torch.isfinite(grad)].flatten().tolist()
    expect(not bad, says, f"the gradient holds {bad[0] if bad else 0}")


ROWS = (
    "Subtract each row's own maximum and stay in log space; otherwise log(0) or a wrong value comes back for large "
    "logits."
)
SIZES = {
    "large": "rows of size 1e4, 1 and 300 in one tensor",
    "cube": "logits of size 2e3, shape (2, 3, C)",
    "flat": "a single row of size 9e3",
    "turned": "ordinary logits, not contiguous",
    "offset": "rows around 9e3 with small differences",
    "minus": "rows with one class at -inf",
}


@behaviour(1)
def test_log_softmax_values(observe):
    for name, logits in observe.given["softmax"].items():
        x = logits.double()
        close(
            observe[f"log_softmax/{name}/out"],
            x - torch.logsumexp(x, -1, keepdim=True),
            ROWS,
            rtol=1e-5,
            atol=4e-3 if name == "offset" else 1e-5,
            device=observe.device,
            call=f"log_softmax on {SIZES[name]}",
        )


@behaviour(1)
def test_log_softmax_gradients(observe):
    for name, logits in observe.given["softmax"].items():
        says = "log_softmax has a gradient that is not finite: stay in log space."
        finite(observe, f"log_softmax/{name}/grad", f"{says} Input: {SIZES[name]}.")
        weights = observe.given["weights"].get(name, torch.ones_like(logits)).double()
        weights = weights.masked_fill(logits == -math.inf, 0.0)
        close(
            observe[f"log_softmax/{name}/grad"],
            weights - torch.softmax(logits.double(), -1) * weights.sum(-1, keepdim=True),
            "The gradient of log_softmax is wrong.",
            rtol=1e-2,
            atol=2e-2 if name == "offset" else 1e-3,
            device=observe.device,
            call=f"log_softmax on {SIZES[name]}",
        )


def cross_entropy(z, t):
    z, t = z.double(), t.double()
    return z.clamp(min=0) - z * t + torch.log1p(torch.exp(-z.abs()))


@behaviour(2)
def test_binary_values(observe):
    z, t = observe.given["z"], observe.given["t"]
    each = cross_entropy(z, t)
    for i in range(len(z)):
        close(
            observe[f"binary/{i}/out"],
            each[i],
            "binary_cross_entropy is wrong for a single logit; work from the logit, not from the probability.",
            rtol=1e-5,
            atol=2e-6,
            device=observe.device,
            call=f"binary_cross_entropy([{z[i]:.4g}], [{t[i]:.4g}])",
            mistakes={
                "The loss was cut off at 100: log of a probability cannot go further, the logit can.": min(
                    each[i].item(), 100.0
                )
            },
        )
    means = {
        "all": each.mean(),
        "matrix": cross_entropy(observe.given["values"], observe.given["mask"]).mean(),
    }
    for name, want in means.items():
        close(
            observe[f"binary/{name}/out"],
            want,
            "binary_cross_entropy should be the mean over all elements.",
            rtol=1e-5,
            atol=2e-6,
            device=observe.device,
        )


FLAT = "The loss is finite now, but a confidently wrong prediction gets no gradient. Work from the logit."


@behaviour(2)
def test_binary_gradients(observe):
    z, t = observe.given["z"], observe.given["t"]
    want = torch.sigmoid(z.double()) - t.double()
    for i in range(len(z)):
        call = f"binary_cross_entropy([{z[i]:.4g}], [{t[i]:.4g}])"
        finite(
            observe,
            f"binary/{i}/grad",
            f"The gradient of binary_cross_entropy is not finite. Called: {call}.",
        )
        close(
            observe[f"binary/{i}/grad"],
            want[i : i + 1],
            "At z = 0 the gradient should be 0.5 - t: abs, relu or clamp has a kink there that the loss does not."
            if z[i] == 0
            else "The gradient should be (sigmoid(z) - t) / n.",
            rtol=1e-4,
            atol=1e-5,
            device=observe.device,
            call=call,
            mistakes={FLAT: torch.zeros(1)} if abs(z[i]) > 20 else {},
        )
    x, y = observe.given["values"], observe.given["mask"]
    for name, grad in (("all", want), ("matrix", torch.sigmoid(x.double()) - y.double())):
        close(
            observe[f"binary/{name}/grad"],
            grad / grad.numel(),
            "The gradient should be (sigmoid(z) - t) / n, with n elements.",
            rtol=1e-4,
            atol=1e-6,
            device=observe.device,
        )


def check_mean(observe, name, mask, values, says, says_grad):
    count = max(1, int(mask.sum()))
    close(
        observe[f"masked_mean/{name}/out"],
        values.double()[mask].sum() / count,
        says,
        rtol=1e-5,
        atol=1e-6,
        device=observe.device,
    )
    path = f"masked_mean/{name}/grad"
    close(observe[path], 3.0 * mask.double() / count, says_grad, rtol=1e-5, atol=1e-6, device=observe.device)


@behaviour(3)
def test_mean_of_the_selected(observe):
    values, mask = observe.given["values"], observe.given["mask"]
    for name, chosen, of in (
        ("plain", mask, values),
        ("one", torch.arange(5) == 3, values[0]),
        ("every", torch.ones_like(mask), values),
    ):
        check_mean(
            observe,
            name,
            chosen,
            of,
            "masked_mean should be the mean of the selected values.",
            "The gradient of masked_mean should be 1 / n at the selected values and 0 elsewhere.",
        )


EMPTY = "A batch with nothing selected divides by zero; the result must be 0 and still part of the graph."


@behaviour(3, on_error=EMPTY)
def test_empty_mask(observe):
    values, mask = observe.given["values"], observe.given["mask"]
    check_mean(observe, "empty", mask & False, values, EMPTY, EMPTY)


SELECT = "inf times 0 is NaN: select the values instead of multiplying them away."


@behaviour(4, presumes=("mean_of_the_selected",))
def test_nothing_leaks_from_outside_the_mask(observe):
    check_mean(
        observe,
        "bad",
        observe.given["mask"],
        observe.given["values"],
        SELECT,
        "inf or NaN outside the mask reached the gradient: select the values before computing with them.",
    )


@behaviour(4, on_error=EMPTY)
def test_nothing_leaks_into_an_empty_mean(observe):
    mask = observe.given["mask"] & False
    check_mean(
        observe,
        "bad_empty",
        mask,
        observe.given["values"],
        "With nothing selected, inf and NaN in the values must not reach the result.",
        "With nothing selected, inf and NaN in the values must not reach the gradient.",
    )


@behaviour(4)
def test_selected_nan_is_visible(observe):
    got = observe.tensor("masked_mean/selected/out")
    expect(torch.isnan(got).all(), "A selected NaN must stay visible in the mean.", f"got {got.item():.4g}")


SLOPE = "The slope of a square root at 0 is infinite: the eps belongs under the root."


@behaviour(5)
def test_constant_columns(observe):
    for name, what in (("constant", "constant columns"), ("row", "a batch of one row")):
        close(
            observe[f"standardize/{name}/out"],
            torch.zeros(observe.given[name].shape),
            f"standardize should give zeros for {what}.",
            rtol=0,
            atol=1e-3,
            device=observe.device,
        )


@behaviour(5)
def test_constant_columns_have_a_gradient(observe):
    for name in ("constant", "row"):
        finite(observe, f"standardize/{name}/grad", SLOPE)


def standardized(x, eps, unbiased=False):
    x = x.double()
    return (x - x.mean(0)) / (x.var(0, unbiased=unbiased) + eps).sqrt()


@behaviour(6)
def test_standardize_formula(observe):
    x = observe.given["x"]
    centred = x.double() - x.double().mean(0)
    for path, eps in (("x/out", 1e-5), ("eps/out", 0.5), ("eps/out_named", 2.0)):
        close(
            observe[f"standardize/{path}"],
            standardized(x, eps),
            "standardize is not (x - mean) / sqrt(var + eps).",
            rtol=1e-4,
            atol=1e-4,
            device=observe.device,
            call=f"standardize on {tuple(x.shape)}, eps={eps}",
            mistakes={
                SLOPE: centred / (x.double().std(0, unbiased=False) + eps),
                "The variance is the biased one: divide by n, not by n - 1.": standardized(
                    x, eps, unbiased=True
                ),
                "eps must be added to the variance, under the root.": centred
                / x.double().var(0, unbiased=False).clamp(min=eps).sqrt(),
            },
        )


@behaviour(6)
def test_standardize_gradient(observe):
    x = observe.given["x"].double().requires_grad_()
    weights = observe.given["x_weights"].double()
    (want,) = torch.autograd.grad(standardized(x, 1e-5), x, weights)
    close(
        observe["standardize/x/grad"],
        want,
        "The gradient of standardize is wrong: it flows through mean and variance too.",
        rtol=1e-3,
        atol=1e-3,
        device=observe.device,
    )


@behaviour(6)
def test_large_mean(observe):
    close(
        observe["standardize/far/out"],
        standardized(observe.given["far"], 1e-5),
        "Two large, nearly equal numbers were subtracted, which leaves rounding noise: center first, then square.",
        rtol=0,
        atol=1e-2,
        device=observe.device,
        call="standardize on columns of unit variance with a mean of 1e4",
    )


def check_rows(observe, name, want):
    got = observe.tensor(f"distance/{name}/out")
    expect(
        got.shape == want.shape,
        "distance removes the last dimension and no other.",
        f"got {tuple(got.shape)}",
    )
    got, want = got.double().flatten(), want.flatten()
    zero = want == 0
    for value in got[zero].tolist():
        expect(abs(value) <= 1e-5, "Equal points should have distance 0.", f"got {value:.3g}")
    close(
        got[~zero].float(),
        want[~zero],
        "The distance of different points is wrong; an eps must not be visible at 1e-3.",
        rtol=1e-4,
        atol=0,
        device=observe.device,
    )


@behaviour(7)
def test_distances(observe):
    want = (observe.given["a"].double() - observe.given["b"].double()).norm(dim=1)
    check_rows(observe, "rows", want)
    check_rows(observe, "cube", want.reshape(1, 7, 1))
    check_rows(observe, "single0", want[0])
    check_rows(observe, "single3", want[3])


@behaviour(7)
def test_distance_gradients(observe):
    difference = observe.given["a"].double() - observe.given["b"].double()
    norm = difference.norm(dim=1, keepdim=True)
    unit = torch.where(norm > 0, difference / norm.clamp(min=1e-30), 0.0)
    says = "The forward value is patched, but the gradient of the branch not taken is NaN, and NaN times 0 is NaN."
    for name, sign, want in (
        ("rows/grad_a", 1, unit),
        ("rows/grad_b", -1, unit),
        ("cube/grad_a", 1, unit.reshape(1, 7, 1, -1)),
        ("single0/grad_a", 1, unit[0]),
        ("single3/grad_a", 1, unit[3]),
    ):
        finite(observe, f"distance/{name}", says)
        close(
            observe[f"distance/{name}"],
            sign * want,
            "The gradient should be zero for equal points and the unit vector between the points otherwise.",
            rtol=1e-3,
            atol=1e-3,
            device=observe.device,
        )


class Reference:
    """Training in float64 without a scaler: SGD with momentum and weight decay, clipped to a global norm."""

    def __init__(self, observe, max_norm=1.0, blur=1.0):
        self.given, self.max_norm, self.blur = observe.given, max_norm, blur
        self.params = [t.double() for t in observe.given["model"]]
        self.velocity = [torch.zeros_like(t) for t in self.params]

    def loss(self, params, x, y, ignore):
        w1, b1, w2, b2 = params
        d = w1.shape[1]
        logits = torch.tanh(x[..., :d] @ w1.T + b1) @ w2.T + b2 + x[..., d:]
        chosen = y != ignore
        return -torch.log_softmax(logits[chosen], -1).gather(-1, y[chosen].unsqueeze(-1)).mean()

    def step(self, i, x=None, y=None, ignore=-100):
        batch = self.given["batch"]
        x = (batch["x"][i] if x is None else x).double()
        y = batch["y"][i] if y is None else y
        params = [p.clone().requires_grad_() for p in self.params]
        loss = self.loss(params, x, y, ignore)
        grads = torch.autograd.grad(loss, params)
        norm = torch.stack([g.norm() for g in grads]).norm().item() * self.blur
        factor = min(1.0, self.max_norm / norm)
        for k, grad in enumerate(grads):
            self.velocity[k] = 0.9 * self.velocity[k] + factor * grad + 0.01 * self.params[k]
            self.params[k] = self.params[k] - 0.3 * self.velocity[k]
        return loss.item()


def check_params(observe, path, want, says, mistaken=None, call=""):
    for k, (got, value) in enumerate(zip(observe[path], want, strict=True)):
        close(
            got,
            value,
            says,
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            call=call,
            mistakes=[(text, params[k]) for text, params in (mistaken or {}).items()],
        )


@behaviour(0)
def test_no_exception_is_caught_around_the_step(observe):
    expect(
        observe.error("handlers") is not None or observe["handlers/count"] == 0,
        "try/except around the step is not allowed: decide by the loss and the gradients.",
    )


@behaviour(8)
def test_training_equals_unscaled_training(observe):
    late = "The threshold was compared with gradients thousands of times too large."
    for name, max_norm in (
        ("default", 1.0),
        ("tight", 0.05),
        ("loose", 1e3),
        ("growing", 0.4),
        ("grouped", 0.3),
    ):
        true, blurred, free = (
            Reference(observe, max_norm),
            Reference(observe, max_norm, 4096.0),
            Reference(observe, 1e9),
        )
        for i in range(6):
            for run in (true, blurred, free):
                run.step(i)
            mistaken = {late: blurred.params} if i == 0 else {}
            if name != "loose":
                mistaken["The gradient was not clipped to max_norm."] = free.params
            check_params(
                observe,
                f"train/{name}/params{i}",
                true.params,
                "The parameters are not those of training without a scaler at the same max_norm."
                if name != "grouped"
                else "With two parameter groups the norm is still that of all gradients together.",
                mistaken,
                f"train_step number {i + 1} with max_norm={max_norm}",
            )


SAME = "must stay exactly as before."


def check_untouched(observe, path, what):
    before, after = observe[f"{path}/before"], observe[f"{path}/after"]
    same = all(torch.equal(a, b) for a, b in zip(before["params"], after["params"], strict=True))
    expect(same, f"After {what} the parameters {SAME}")
    same = before["state"].keys() == after["state"].keys()
    same = same and all(torch.equal(before["state"][key], after["state"][key]) for key in before["state"])
    expect(same, f"After {what} the optimizer's state {SAME}")
    return before["scaler"], after["scaler"]


def check_next(observe, path, what):
    run = Reference(observe)
    if path.endswith("later"):
        run.step(0)
    loss = run.step(2)
    close(
        observe[f"{path}/next"],
        loss,
        f"After {what} the next good batch should train normally.",
        rtol=1e-4,
        atol=1e-5,
        device=observe.device,
    )
    check_params(
        observe, f"{path}/params", run.params, f"After {what} the next good batch should train normally."
    )


@behaviour(14)
def test_only_the_loss_itself_is_judged(observe):
    run = Reference(observe)
    loss = run.step(1, observe["huge_loss/x"])
    says = "A finite loss trains normally, even if it overflows once it is scaled: test the loss itself."
    got = observe["huge_loss/returned"]
    expect(
        not isinstance(got, torch.Tensor),
        "train_step should return the loss as a Python float.",
        "got a tensor",
    )
    expect(type(got) is float, says, f"a loss of {loss:.3g} gave {got!r}")
    close(got, loss, says, rtol=1e-4, device=observe.device)
    check_params(observe, "huge_loss/params", run.params, says)


LOSSES = {"nan": "a NaN loss", "inf": "an infinite loss"}


@behaviour(9)
def test_bad_loss_returns_none(observe):
    for name, what in LOSSES.items():
        for when in ("first", "later"):
            got = observe[f"bad_loss/{name}_{when}/returned"]
            expect(got is None, f"train_step should return None for {what}.", f"got {got!r}")


@behaviour(9)
def test_bad_loss_leaves_everything(observe):
    for name, what in LOSSES.items():
        for when in ("first", "later"):
            before, after = check_untouched(observe, f"bad_loss/{name}_{when}", what)
            changed = ", ".join(
                f"{key}: {before[key]} to {after.get(key)}" for key in before if before[key] != after.get(key)
            )
            expect(
                not changed,
                "A non-finite loss says nothing about the scale: stop before backward and leave the scaler alone.",
                f"{what}: {changed}",
            )


@behaviour(9)
def test_training_goes_on_after_a_bad_loss(observe):
    for name, what in LOSSES.items():
        for when in ("first", "later"):
            check_next(observe, f"bad_loss/{name}_{when}", what)


GRADIENTS = {
    "nan": "a NaN gradient",
    "inf": "an infinite gradient",
    "element": "a single infinite element in a gradient",
}


@behaviour(10)
def test_bad_gradient_returns_none(observe):
    for name, what in GRADIENTS.items():
        for when in ("first", "later"):
            got = observe[f"bad_gradient/{name}_{when}/returned"]
            expect(got is None, f"train_step should return None for {what}.", f"got {got!r}")


@behaviour(10)
def test_bad_gradient_leaves_parameters_and_state(observe):
    for name, what in GRADIENTS.items():
        for when in ("first", "later"):
            check_untouched(observe, f"bad_gradient/{name}_{when}", what)


@behaviour(10)
def test_scaler_backs_off(observe):
    for name, what in GRADIENTS.items():
        for when in ("first", "later"):
            path = f"bad_gradient/{name}_{when}"
            before, after = (
                observe[f"{path}/before"]["scaler"]["scale"],
                observe[f"{path}/after"]["scaler"]["scale"],
            )
            close(
                after,
                before * 0.5,
                "The scale is wrong after a step with a non-finite gradient.",
                rtol=1e-6,
                call=f"train_step with {what}",
                mistakes={
                    "The scaler never learnt of the overflow: let step() skip and update() back off, then report "
                    "None.": before
                },
            )


@behaviour(10, presumes=("training_equals_unscaled_training",))
def test_training_goes_on_after_a_bad_gradient(observe):
    for name, what in GRADIENTS.items():
        for when in ("first", "later"):
            check_next(observe, f"bad_gradient/{name}_{when}", what)


@behaviour(11)
def test_loss_is_returned(observe):
    for name, max_norm in (("default", 1.0), ("growing", 0.4)):
        run = Reference(observe, max_norm)
        for i in range(6):
            got = observe[f"train/{name}/loss{i}"]
            expect(
                type(got) is float,
                "train_step should return the loss as a Python float, also when the scale grows.",
                f"got {got!r}",
            )
            close(
                got,
                run.step(i),
                "train_step should return the mean cross-entropy of the targets that are not ignore_index.",
                rtol=1e-4,
                atol=1e-5,
                device=observe.device,
            )


@behaviour(11, presumes=("loss_is_returned",))
def test_ignore_index_and_other_shapes(observe):
    batch = observe.given["batch"]
    other = batch["y"][0].masked_fill(batch["y"][0] == -100, 2)
    for name, arguments in (
        ("ignore", {"y": other, "ignore": 2}),
        ("outside", {}),
        ("single", {"x": batch["x"][0][0, 0], "y": batch["y"][0][0, 0]}),
    ):
        run = Reference(observe)
        what = {
            "ignore": "another ignore_index",
            "outside": "ignore_index=255, which is no class",
            "single": "one example without batch dimensions",
        }[name]
        loss = run.step(0, **arguments)
        close(
            observe[f"train/{name}/loss"],
            loss,
            f"The loss is wrong with {what}.",
            rtol=1e-4,
            atol=1e-5,
            device=observe.device,
        )
        check_params(observe, f"train/{name}/params", run.params, f"The step is wrong with {what}.")


@behaviour(11)
def test_training_lowers_the_loss(observe):
    losses = observe["lower/losses"]
    expect(
        all(type(loss) is float for loss in losses), "train_step should return the loss as a Python float."
    )
    expect(
        losses[-1] < 0.9 * losses[0],
        "Training does not lower the loss.",
        f"{losses[0]:.4g} to {losses[-1]:.4g}",
    )


@behaviour(11)
def test_batch_without_targets(observe):
    for name in ("first", "again"):
        got = observe[f"no_targets/{name}"]
        expect(
            type(got) is float and got == 0.0,
            "A batch without any valid target should return 0.0.",
            f"got {got!r}",
        )
    for path in ("params", "later"):
        expect(
            all(torch.isfinite(p).all() for p in observe[f"no_targets/{path}"]),
            "A batch without any valid target made a parameter non-finite.",
        )


SIGNATURES = {
    "log_softmax": (["logits"], [None]),
    "binary_cross_entropy": (["logits", "targets"], [None, None]),
    "masked_mean": (["values", "mask"], [None, None]),
    "standardize": (["x", "eps"], [None, 1e-5]),
    "distance": (["a", "b"], [None, None]),
    "train_step": (
        ["model", "optimizer", "scaler", "inputs", "targets", "max_norm", "ignore_index"],
        [None, None, None, None, None, 1.0, -100],
    ),
}


@behaviour(12)
def test_signatures(observe):
    for name, (names, defaults) in SIGNATURES.items():
        expect(
            observe[f"interface/{name}/names"] == names, f"{name} has other arguments than in the starter."
        )
        expect(
            observe[f"interface/{name}/defaults"] == defaults,
            f"{name} has other defaults than in the starter.",
        )


@behaviour(13)
def test_dtypes_are_kept(observe):
    for dtype in ("float64", "bfloat16"):
        for name in (*list(SIGNATURES)[:5], "empty_mean"):
            got = observe[f"dtypes/{dtype}/{name}/dtype"]
            name = "masked_mean of an empty mask" if name == "empty_mean" else name
            expect(got == dtype, f"{name} does not keep the dtype.", f"{dtype} in, {got} out")


@behaviour(13)
def test_inputs_are_left_alone(observe):
    given = observe.given
    for path, want in {
        "log_softmax/logits": given["softmax"]["minus"],
        "binary_cross_entropy/z": given["z"],
        "binary_cross_entropy/t": given["t"],
        "masked_mean/values": given["values"],
        "masked_mean/mask": given["mask"],
        "standardize/x": given["x"],
        "distance/a": given["a"],
        "distance/b": given["b"],
        "train_step/x": given["batch"]["x"][0],
        "train_step/y": given["batch"]["y"][0],
    }.items():
        name = path.split("/")[0]
        expect(torch.equal(observe.tensor(f"inputs_kept/{path}"), want), f"{name} modified its input.")
