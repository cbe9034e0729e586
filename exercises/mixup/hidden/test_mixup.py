import torch
from torch.nn import functional

from quizapp.judge.testing.checks import behaviour, close, expect

CALLS = 8


def limits(x):
    if x.dtype == torch.float64:
        return {"rtol": 1e-12, "atol": 1e-12}
    if x.dtype == torch.float16:
        return {"rtol": 3e-3, "atol": 4e-3}
    return {"rtol": 2e-2, "atol": 3e-2} if x.dtype == torch.bfloat16 else {"rtol": 2e-6, "atol": 2e-6}


def partners(y, y_b):
    """For every row of y_b the rows of y that it equals, -1 where none does."""
    if not isinstance(y_b, torch.Tensor) or y_b.shape != y.shape:
        return None
    equal = (y_b.double().reshape(len(y), 1, -1) == y.double().reshape(1, len(y), -1)).all(2)
    return torch.where(equal.any(1), equal.long().argmax(1), -1)


def results(observe):
    for i, case in enumerate(observe.given["cases"]):
        for k in range(CALLS):
            yield f"mix/{i}/{k}", case["x"], case["y"]
    for i, case in enumerate(observe.given["one"]):
        yield f"mix/one/{i}", case["x"], case["y"]


def describe(x, y):
    return f"mixup on x {tuple(x.shape)} {str(x.dtype).removeprefix('torch.')}, y {tuple(y.shape)}, alpha=1.0"


def weight(observe, path):
    lam = observe[f"{path}/lam"]
    if isinstance(lam, torch.Tensor) and lam.numel() == 1:
        return lam.item()
    expect(
        isinstance(lam, int | float),
        "lam should be one Python float per batch.",
        f"got a tensor of shape {tuple(lam.shape)}" if isinstance(lam, torch.Tensor) else f"got {lam!r}",
    )
    return float(lam)


@behaviour(1)
def test_targets(observe):
    for path, x, y in results(observe):
        y_a, y_b = observe[f"{path}/y_a"], observe[f"{path}/y_b"]
        from_a, from_b = partners(y, y_a), partners(y, y_b)
        call = describe(x, y)
        expect(from_a is not None and from_b is not None, "y_a and y_b should have the shape of y.", call)
        expect(bool((from_b >= 0).all()), "y_b should hold targets of y, unblended.", call)
        same = torch.equal(from_a, torch.arange(len(y)))
        expect(same, "lam belongs to the original example: y_a is y.", call)


@behaviour(1)
def test_inputs_follow_the_targets(observe):
    for path, x, y in results(observe):
        lam, perm = weight(observe, path), partners(y, observe[f"{path}/y_b"])
        expect(perm is not None and bool((perm >= 0).all()), "y_b should hold targets of y, unblended.")
        wide = x.double()
        close(
            observe[f"{path}/mixed"],
            lam * wide + (1 - lam) * wide[perm],
            "mixed_x is not lam * x + (1 - lam) * x[perm] with the permutation of y_b: were images mixed with one "
            "partner, labels with another?",
            **limits(x),
            device=observe.device,
            call=f"{describe(x, y)}; lam came out as {lam:.4g}",
            mistakes=[
                (
                    "The weights are exchanged: lam belongs to x, 1 - lam to x[perm].",
                    (1 - lam) * wide + lam * wide[perm],
                ),
                ("The inputs are not mixed.", wide),
                ("The inputs are permuted, not mixed.", wide[perm]),
                (
                    "The permutation of the inputs is the inverse of the one of y_b.",
                    lam * wide + (1 - lam) * wide[perm.argsort()],
                ),
            ]
            if len(x) > 1
            else [],
        )


@behaviour(11, on_error="x need not be contiguous.")
def test_transposed_batch(observe):
    x, y = observe.given["turned"]["x"], observe.given["turned"]["y"]
    lam, perm = weight(observe, "turned"), partners(y, observe["turned/y_b"])
    expect(perm is not None and bool((perm >= 0).all()), "y_b should hold targets of y, unblended.")
    close(
        observe["turned/mixed"],
        lam * x + (1 - lam) * x[perm],
        "For a batch that is a transposed view, mixed_x is wrong.",
        **limits(x),
        device=observe.device,
        call=f"{describe(x, y)}; lam came out as {lam:.4g}",
    )


@behaviour(2)
def test_partners_are_a_permutation(observe):
    for path, x, y in results(observe):
        perm = partners(y, observe[f"{path}/y_b"])
        expect(perm is not None, "y_b should have the shape of y.")
        expect(
            torch.equal(perm.sort().values, torch.arange(len(y))),
            "Some examples were used twice and some not at all: draw a permutation.",
            f"{describe(x, y)}: partners {perm.tolist()}",
        )


@behaviour(2)
def test_permutation_is_random(observe):
    for i, case in enumerate(observe.given["cases"][:2]):
        perms = {tuple(partners(case["y"], observe[f"mix/{i}/{k}/y_b"]).tolist()) for k in range(CALLS)}
        expect(len(perms) > 1, "The partners are the same in every call: draw a new permutation.")
        count = len(case["y"])
        shifts = [len({(p - k) % count for k, p in enumerate(perm)}) for perm in perms]
        expect(
            max(shifts) > 1,
            "The batch is only rotated by a random amount: draw a permutation of its examples.",
        )
        swaps = [all(perm[p] == k for k, p in enumerate(perm)) for perm in perms]
        expect(not all(swaps), "Examples are only swapped in pairs: draw a permutation of all of them.")


def beta_cdf(alpha, values):
    """The distribution function of Beta(alpha, alpha), with u = t**alpha to remove a pole at 0."""

    def lower(top):
        if alpha > 1:
            t = torch.linspace(0, 1, 401, dtype=torch.float64) * top[:, None]
            return torch.trapezoid((4 * t * (1 - t)) ** (alpha - 1), t, dim=1)
        u = torch.linspace(0, 1, 401, dtype=torch.float64) * top[:, None] ** alpha
        return torch.trapezoid((1 - u ** (1 / alpha)) ** (alpha - 1), u, dim=1) / alpha

    half = lower(torch.tensor([0.5], dtype=torch.float64))
    below = lower(torch.minimum(values, 1 - values)) / (2 * half)
    return torch.where(values <= 0.5, below, 1 - below)


@behaviour(3)
def test_lam_is_a_float(observe):
    for path, x, y in results(observe):
        lam = observe[f"{path}/lam"]
        expect(type(lam) is float, "lam should be a Python float.", f"got {type(lam).__name__}")
        expect(0 <= lam <= 1, "lam should lie in [0, 1].", f"got {lam}; {describe(x, y)}")


@behaviour(3)
def test_lam_is_beta_distributed(observe):
    for name, alpha in (
        ("0", observe.given["alphas"][0]),
        ("1", observe.given["alphas"][1]),
        ("default", 0.2),
    ):
        lams = (
            torch.tensor([float(lam) for lam in observe[f"lam/{name}/lams"]], dtype=torch.float64)
            .sort()
            .values
        )
        expect(bool(((lams >= 0) & (lams <= 1)).all()), "lam should lie in [0, 1].")
        expect(lams[0] < lams[-1], "lam is the same in every call; draw it anew.")
        ranks = torch.arange(1, len(lams) + 1, dtype=torch.float64) / len(lams)
        off = (ranks - beta_cdf(alpha, lams)).abs().max().item()
        middle = ((lams > 0.2) & (lams < 0.8)).double().mean().item()
        says = "The values of lam do not follow Beta(alpha, alpha)."
        if (ranks - lams).abs().max() < 0.2 and alpha < 1:
            says = (
                f"lam is uniform. With alpha = {alpha} most batches should be almost unmixed; "
                f"Beta({alpha}, {alpha}) sits at both ends."
            )
        elif lams[0] >= 0.5:
            says = "lam is never below 0.5; Beta(alpha, alpha) is symmetric."
        expect(
            off < 0.2,
            says,
            f"alpha = {alpha}{' by default' if name == 'default' else ''}: {middle:.0%} of {len(lams)} draws lie "
            f"between 0.2 and 0.8, and the distribution function is off by up to {off:.2f}",
        )
        if alpha > 1:
            spread = lams.var().item() * 4 * (2 * alpha + 1)
            expect(
                0.62 < spread < 1.55,
                "The values of lam do not follow Beta(alpha, alpha).",
                f"alpha = {alpha}: the variance of {len(lams)} draws is {spread:.2f} times that of "
                f"Beta({alpha}, {alpha})",
            )


@behaviour(3)
def test_small_alpha_mixes_too(observe):
    lams = observe["lam/small/lams"]
    expect(
        any(lam < 0.5 for lam in lams),
        "Only alpha = 0 switches mixing off; half of the draws of Beta(0.05, 0.05) lie below 0.5.",
        f"the lowest of {len(lams)} values of lam is {min(lams)}",
    )


@behaviour(4, on_error="Beta(0, 0) does not exist; return the batch as it is.")
def test_alpha_zero(observe):
    for i, case in enumerate([*observe.given["cases"], *observe.given["one"]]):
        x, y = case["x"], case["y"]
        lam = observe[f"off/{i}/lam"]
        expect(type(lam) is float and lam == 1.0, "With alpha = 0 lam is 1.0, a float.", f"got {lam!r}")
        close(
            observe[f"off/{i}/mixed"],
            x,
            "With alpha = 0 mixed_x equals x.",
            rtol=1e-6 if x.dtype == torch.float32 else None,
            device=observe.device,
        )
        expect(torch.equal(observe[f"off/{i}/y_a"], y), "With alpha = 0 y_a is y.")
        perm = partners(y, observe[f"off/{i}/y_b"])
        expect(
            perm is not None and torch.equal(perm.sort().values, torch.arange(len(y))),
            "With alpha = 0 y_b is y or a permutation of it.",
        )


def squares(pred, target):
    return (pred.square() * (1.0 + target.square())).sum(1)


LOSSES = (("entropy", functional.cross_entropy, "y"), ("squares", lambda p, t: squares(p, t).mean(), "soft"))


@behaviour(5)
def test_loss(observe):
    case = observe.given["loss"]
    for name, loss_fn, kind in LOSSES:
        for i, lam in enumerate(case["lams"]):
            a = loss_fn(case["pred"], case[f"{kind}_a"])
            b = loss_fn(case["pred"], case[f"{kind}_b"])
            close(
                observe[f"loss/{name}{i}/loss"],
                lam * a + (1 - lam) * b,
                "mixup_loss is not lam * loss_fn(pred, y_a) + (1 - lam) * loss_fn(pred, y_b).",
                rtol=1e-12,
                atol=1e-12,
                device=observe.device,
                call=f"mixup_loss(..., lam={lam:.3g})",
                mistakes=[
                    ("The loss weights must match the weights of the images.", (1 - lam) * a + lam * b),
                    ("Half and half is right for lam = 0.5 only.", (a + b) / 2),
                    ("The two losses are added without weights.", a + b),
                    ("1 - lam is missing from the second loss.", lam * a + b),
                ],
            )


@behaviour(5, on_error="mixup_loss should be differentiable with respect to pred.")
def test_loss_gradient(observe):
    case = observe.given["loss"]
    for name, loss_fn, kind in LOSSES:
        for i, lam in enumerate(case["lams"]):
            pred = case["pred"].detach().clone().requires_grad_()
            (
                lam * loss_fn(pred, case[f"{kind}_a"]) + (1 - lam) * loss_fn(pred, case[f"{kind}_b"])
            ).sum().backward()
            close(
                observe.tensor(f"loss/{name}{i}/grad", "No gradient reaches pred."),
                pred.grad,
                "The gradient of mixup_loss with respect to pred is wrong.",
                rtol=1e-10,
                atol=1e-12,
                device=observe.device,
                call=f"mixup_loss(..., lam={lam:.3g})",
            )


@behaviour(10)
def test_loss_of_each_example(observe):
    case = observe.given["loss"]
    for i, lam in enumerate(case["lams"]):
        pred = case["pred"].detach().clone().requires_grad_()
        want = lam * squares(pred, case["soft_a"]) + (1 - lam) * squares(pred, case["soft_b"])
        want.sum().backward()
        call = f"mixup_loss(..., lam={lam:.3g})"
        close(
            observe[f"loss/each{i}/loss"],
            want.detach(),
            "With a loss_fn that gives one loss per example, mixup_loss should give one per example too.",
            rtol=1e-12,
            atol=1e-12,
            device=observe.device,
            call=call,
        )
        close(
            observe.tensor(f"loss/each{i}/grad", "No gradient reaches pred."),
            pred.grad,
            "With a loss_fn that gives one loss per example, the gradient with respect to pred is wrong.",
            rtol=1e-10,
            atol=1e-12,
            device=observe.device,
            call=call,
        )


def flat(observe, path):
    return [observe[f"{path}/{name}"] for name in ("mixed", "y_b", "lam")]


def alike(left, right):
    def same(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return a.shape == b.shape and torch.equal(a, b)
        return a == b

    return all(same(a, b) for a, b in zip(left, right, strict=True))


@behaviour(6)
def test_manual_seed_repeats(observe):
    for call in range(3):
        first, again, other = (flat(observe, f"seed/{k}/{call}") for k in range(3))
        expect(
            alike(first, again), "torch.manual_seed does not make your result repeatable.", f"call {call + 1}"
        )
        expect(not alike(first, other), "Two seeds of torch.manual_seed gave the same result.")


@behaviour(6)
def test_calls_differ(observe):
    for k in range(3):
        first, second, third = (flat(observe, f"seed/{k}/{call}") for call in range(3))
        expect(
            not alike(first, second) and not alike(second, third), "Two calls in a row gave the same result."
        )


@behaviour(7)
def test_shapes_dtypes_devices(observe):
    off = [
        (f"off/{i}", case["x"], case["y"])
        for i, case in enumerate([*observe.given["cases"], *observe.given["one"]])
    ]
    for path, x, y in [*results(observe), *off]:
        for name, want in (("mixed", x), ("y_a", y), ("y_b", y)):
            got = observe.tensor(f"{path}/{name}")
            shown = {"mixed": "mixed_x"}.get(name, name)
            expect(
                got.shape == want.shape,
                f"{shown} has another shape.",
                f"{tuple(got.shape)}; {describe(x, y)}",
            )
            expect(got.dtype == want.dtype, f"{shown} has another dtype.", f"{got.dtype}; {describe(x, y)}")
        expect(observe[f"{path}/devices"] is True, "A result lies on another device than the input.")


@behaviour(8)
def test_inputs_are_left_alone(observe):
    for i, case in enumerate(observe.given["cases"]):
        for path in (f"mix/{i}/inputs", f"off/{i}"):
            for name in ("x", "y"):
                same = torch.equal(observe.tensor(f"{path}/{name}"), case[name])
                expect(same, f"mixup changed {name} in place.", describe(case["x"], case["y"]))
    case = observe.given["loss"]
    for now, name in zip(observe["loss/untouched/values"], ("pred", "soft_a", "soft_b"), strict=True):
        expect(torch.equal(now, case[name]), "mixup_loss changed its arguments in place.")


@behaviour(9)
def test_bad_arguments_are_refused(observe):
    observe.raised("errors/negative", "ValueError", says="A negative alpha should be refused.")
    for name in ("shorter", "longer", "one"):
        observe.raised(f"errors/{name}", "ValueError", says="Different lengths of x and y should be refused.")


@behaviour(9)
def test_integer_inputs_are_refused(observe):
    for name in ("int64", "uint8", "bool", "complex64"):
        observe.raised(f"errors/{name}", "TypeError", says=f"x of dtype {name} should be refused.")


@behaviour(9)
def test_checks_with_mixing_off(observe):
    observe.raised(
        "errors/off_shorter", "ValueError", says="With alpha = 0 too, different lengths should be refused."
    )
    observe.raised(
        "errors/off_int64", "TypeError", says="With alpha = 0 too, x of dtype int64 should be refused."
    )
