import torch

from quizapp.judge.testing.checks import behaviour, close, expect

NAN = float("nan")


def tolerance(dtype):
    if dtype == torch.float64:
        return {"rtol": 1e-12, "atol": 1e-11}
    return {"rtol": 2e-5, "atol": 2e-5}


def losses_of(case, ignore=None):
    """The losses in float64 and which positions count."""
    logits = case["logits"].double()
    targets = case["targets"]
    counted = targets != ignore if ignore is not None else torch.ones_like(targets, dtype=torch.bool)
    index = torch.where(counted, targets, 0)
    picked = torch.log_softmax(logits, -1).gather(-1, index.unsqueeze(-1)).squeeze(-1)
    return torch.where(counted, -picked, 0.0), counted


def slope_of(case, ignore=None):
    """softmax - onehot, zero where ignored."""
    _, counted = losses_of(case, ignore)
    classes = case["logits"].shape[-1]
    onehot = torch.nn.functional.one_hot(torch.where(counted, case["targets"], 0), classes)
    return (torch.softmax(case["logits"].double(), -1) - onehot) * counted.unsqueeze(-1)


def describe(case, reduction="mean"):
    return f'cross_entropy on logits of shape {tuple(case["logits"].shape)}, reduction="{reduction}"'


@behaviour(1)
def test_log_softmax_along_every_dimension(observe):
    for i, case in enumerate(observe.given["dims"]):
        logits = case["logits"]
        for dim in (*range(-logits.dim(), logits.dim()), "default"):
            axis = -1 if dim == "default" else dim
            others = [a for a in range(logits.dim()) if a != axis % logits.dim()]
            wrong = torch.log_softmax(logits.double(), others[-1]) if others else NAN
            close(
                observe[f"log_softmax/{i}/{dim}/out"],
                torch.log_softmax(logits.double(), axis),
                "log_softmax is wrong.",
                **tolerance(logits.dtype),
                device=observe.device,
                call=f"log_softmax(logits of shape {tuple(logits.shape)}, dim={axis})",
                mistakes={"The softmax ran along another dimension than dim.": wrong},
            )


@behaviour(1)
def test_rows_far_apart(observe):
    offset = observe.given["offset"]
    got = observe.tensor("log_softmax/offset/out", "log_softmax should return a tensor.")
    says = "log_softmax is wrong where rows lie far apart."
    finite = torch.isfinite(got).flatten(1).all(-1) if got.shape == offset.shape else torch.ones(1)
    if finite[offset.amax(-1).argmax()] and not finite.all():
        says = (
            "One row with huge logits pushed every exponential of another row to zero; "
            "shift each row by its own maximum."
        )
    close(
        got,
        torch.log_softmax(offset, -1),
        says,
        rtol=1e-11,
        atol=1e-11,
        device=observe.device,
        call="log_softmax on float64 rows near 1000, -1000, 0 and -1500",
    )


@behaviour(1)
def test_log_softmax_of_a_transposed_tensor(observe):
    logits = observe.given["dims"][1]["logits"]
    close(
        observe["log_softmax/transposed/out"],
        torch.log_softmax(logits.double().t(), 1),
        "log_softmax is wrong for a tensor that is not contiguous.",
        **tolerance(logits.dtype),
        device=observe.device,
    )


@behaviour(1)
def test_log_softmax_keeps_dtype_and_device(observe):
    for i, case in enumerate(observe.given["dims"]):
        result = observe.tensor(f"log_softmax/{i}/default/out", "log_softmax should return a tensor.")
        expect(
            result.dtype == case["logits"].dtype,
            "log_softmax should keep the dtype.",
            f"got {result.dtype} for {case['logits'].dtype}",
        )
        expect(observe[f"log_softmax/{i}/0/same_device"] is True, "log_softmax should keep the device.")
    for i, case in enumerate(observe.given["half"]):
        result = observe.tensor(f"log_softmax/half{i}/out", "log_softmax should return a tensor.")
        expect(
            result.dtype == case["logits"].dtype and result.shape == case["logits"].shape,
            "log_softmax should keep the dtype and shape of half precision logits too.",
            f"got {result.dtype}",
        )


@behaviour(1)
def test_log_softmax_is_differentiable(observe):
    for i, case in enumerate(observe.given["dims"]):
        logits, up = case["logits"].double(), case["up"].double()
        for dim in range(-logits.dim(), logits.dim()):
            want = up - torch.softmax(logits, dim) * up.sum(dim, keepdim=True)
            close(
                observe[f"log_softmax/{i}/{dim}/grad"],
                want,
                "The gradient through log_softmax is wrong.",
                **tolerance(case["logits"].dtype),
                device=observe.device,
                call=f"log_softmax(logits of shape {tuple(logits.shape)}, dim={dim}).backward(upstream)",
                mistakes={"The log-sum-exp was cut out of the graph: its gradient is missing.": up},
            )


def extreme_fault(got, want, otherwise):
    """What went wrong with logits of +-10,000; ``want`` is beyond 5000 where a probability underflows."""
    if got.shape != want.shape:
        return otherwise
    tiny = want.abs() > 5000
    if not torch.isfinite(got[~tiny]).all() or got.isnan().any():
        return "A logit of 10,000 overflowed: subtract the maximum first."
    if not torch.isfinite(got).all():
        return "A probability rounded to 0 before its logarithm was taken: work with logarithms all the way."
    if (got.abs()[tiny] < 60).any():
        return f"The loss stops at {got.abs()[tiny].min().item():.1f}: work with logarithms all the way."
    return otherwise


@behaviour(2)
def test_log_softmax_of_extreme_logits(observe):
    logits = observe.given["extreme"]["logits"]
    result = observe.tensor("extreme/log_softmax/out", "log_softmax should return a tensor.")
    want = torch.log_softmax(logits.double(), -1)
    says = extreme_fault(result, want, "log_softmax is wrong for logits of +-10,000 in float32.")
    close(result, want, says, rtol=0, atol=2e-3, device=observe.device)


@behaviour(2)
def test_cross_entropy_of_extreme_logits(observe):
    case = observe.given["extreme"]
    want, _ = losses_of(case)
    for got, right, text in (
        (observe.tensor("extreme/losses/out"), want, "none"),
        (observe.tensor("extreme/losses/mean"), want.mean(), "mean"),
    ):
        says = extreme_fault(got, right, "The loss is wrong for logits of +-10,000 in float32.")
        close(got, right, says, rtol=1e-6, atol=2e-3, device=observe.device, call=describe(case, text))


@behaviour(2)
def test_masked_class(observe):
    logits = observe.given["masked"]["logits"]
    close(
        observe["extreme/masked/out"],
        torch.log_softmax(logits, -1),
        "A logit of -inf should give -inf for that class only.",
        **tolerance(logits.dtype),
        device=observe.device,
        call="log_softmax of rows with one logit of -inf",
    )


@behaviour(3, presumes=("mean",))
def test_loss_beside_a_masked_class(observe):
    case = observe.given["masked"]
    losses, _ = losses_of(case)
    for reduction, want in (("none", losses), ("mean", losses.mean())):
        close(
            observe[f"extreme/masked_{reduction}/loss"],
            want,
            "A masked class (logit -inf) that is not the target must not spoil the loss: 0 * inf is NaN.",
            **tolerance(torch.float64),
            device=observe.device,
            call=f"{describe(case, reduction)}, one -inf in every row",
        )


@behaviour(3)
def test_masked_class_as_target(observe):
    close(
        observe["extreme/hit/loss"],
        torch.full((4,), torch.inf, dtype=torch.float64),
        "A target whose class is masked has the log-probability -inf, so its loss is inf.",
        device=observe.device,
        call='cross_entropy with the class of logit -inf as target, reduction="none"',
    )


@behaviour(6)
def test_gradient_beside_a_masked_class(observe):
    case = observe.given["masked"]
    slope = slope_of(case)
    for reduction, want in (("none", slope), ("mean", slope / len(slope))):
        close(
            observe[f"extreme/masked_{reduction}/grad"],
            want,
            "A masked class (logit -inf) gets the gradient 0 and leaves the others right.",
            **tolerance(torch.float64),
            device=observe.device,
            call=f"{describe(case, reduction)}, one -inf in every row",
        )


@behaviour(3, presumes=("mean",))
def test_mean_counts_losses_of_zero(observe):
    case = observe.given["sure"]
    losses, _ = losses_of(case)
    close(
        observe["extreme/sure/loss"],
        losses.mean(),
        "A position whose loss is exactly 0 counts in the mean; only ignore_index does not.",
        **tolerance(torch.float64),
        device=observe.device,
        call=f"{describe(case)}, two rows with a loss of 0",
    )


def losses_agree(observe, reduction, step, reduce, says, mistakes=lambda losses: {}):
    for i, case in enumerate(observe.given["cases"]):
        losses, _ = losses_of(case)
        got = observe.tensor(f"cases/{i}/{step}/loss", "cross_entropy should return a tensor.")
        expect(
            got.dtype == case["logits"].dtype,
            "For float32 and float64 logits the loss should have the dtype of the logits.",
            f"got {got.dtype} for {case['logits'].dtype}",
        )
        close(
            got,
            reduce(losses),
            says,
            **tolerance(case["logits"].dtype),
            device=observe.device,
            call=describe(case, reduction),
            mistakes=mistakes(losses),
        )


@behaviour(3)
def test_mean(observe):
    for step in ("mean", "default"):
        losses_agree(
            observe,
            "mean",
            step,
            torch.mean,
            "The mean is not the average of minus the log-probabilities of the target classes.",
            lambda losses: {
                "The losses were added, not averaged.": losses.sum() if losses.numel() > 1 else NAN,
                "The loss has the wrong sign.": -losses.mean(),
                "The mean runs over all leading dimensions, not only the first.": (
                    losses.sum() / losses.shape[0] if losses.dim() > 1 else NAN
                ),
            },
        )


@behaviour(3)
def test_mean_of_slices(observe):
    sequence = observe.given["sequence"]
    case = {"logits": sequence["logits"][:, :-1], "targets": sequence["targets"][:, 1:]}
    close(
        observe["cases/sequence/loss"],
        losses_of(case)[0].mean(),
        "The mean is wrong for logits[:, :-1] and targets[:, 1:], which are not contiguous.",
        **tolerance(torch.float64),
        device=observe.device,
    )


@behaviour(4)
def test_sum(observe):
    losses_agree(
        observe,
        "sum",
        "sum",
        torch.sum,
        '"sum" should add the losses of all positions.',
        lambda losses: {"The losses were averaged, not added.": losses.mean() if losses.numel() > 1 else NAN},
    )


@behaviour(4)
def test_none(observe):
    for i, case in enumerate(observe.given["cases"]):
        got = observe.tensor(f"cases/{i}/none/loss", "cross_entropy should return a tensor.")
        expect(
            got.shape == case["targets"].shape,
            '"none" should return the losses in the shape of targets.',
            f"got {tuple(got.shape)}, targets have {tuple(case['targets'].shape)}",
        )
    losses_agree(
        observe, "none", "none", lambda losses: losses, '"none" should return the loss of every position.'
    )


@behaviour(5)
def test_mean_ignores(observe):
    for i, case in enumerate(observe.given["ignored"]):
        losses, counted = losses_of(case, case["ignore"])
        got = observe.tensor(f"ignored/{i}/mean/loss", "cross_entropy should return a tensor.")
        expect(
            not got.isnan().any(),
            "An ignored position made the loss NaN: 0 * inf is NaN.",
            f"ignore_index={case['ignore']}",
        )
        close(
            got,
            losses.sum() / counted.sum(),
            "The mean with ignored positions is wrong.",
            **tolerance(torch.float64),
            device=observe.device,
            call=f"{describe(case)}, ignore_index={case['ignore']}, {int((~counted).sum())} ignored",
            mistakes={
                "Half of the batch was padding and your loss is half as large.": losses.mean(),
                "ignore_index was not respected: every position counts.": (
                    losses_of(case)[0].mean() if 0 <= case["ignore"] < case["logits"].shape[-1] else NAN
                ),
            },
        )


@behaviour(5)
def test_sum_and_none_ignore(observe):
    for i, case in enumerate(observe.given["ignored"]):
        losses, counted = losses_of(case, case["ignore"])
        for reduction, want in (("sum", losses.sum()), ("none", losses)):
            got = observe[f"ignored/{i}/{reduction}/loss"]
            says = f'"{reduction}" is wrong with ignored positions.'
            if reduction == "none" and got.shape == counted.shape and got[~counted].ne(0).any():
                says = 'In "none" an ignored position should have loss 0.'
            close(
                got,
                want,
                says,
                **tolerance(torch.float64),
                device=observe.device,
                call=f"{describe(case, reduction)}, ignore_index={case['ignore']}",
            )


@behaviour(5)
def test_all_ignored(observe):
    for i, case in enumerate(observe.given["ignored"]):
        for reduction in ("mean", "sum", "none"):
            want = torch.zeros(case["targets"].shape if reduction == "none" else ())
            got = observe.tensor(f"ignored/all{i}/{reduction}/loss", "cross_entropy should return a tensor.")
            says = "A batch of padding should cost nothing."
            if reduction == "mean" and got.isnan().any():
                says = "0 / 0 is NaN; a batch of padding should cost nothing."
            expect(
                got.dtype == torch.float64,
                "A batch of padding has a loss in the dtype of the logits, too.",
                f"got {got.dtype}",
            )
            close(
                got,
                want,
                says,
                rtol=0,
                atol=1e-12,
                call=f"{describe(case, reduction)}, every target is ignore_index={case['ignore']}",
            )


@behaviour(6)
def test_gradient(observe):
    for i, case in enumerate(observe.given["cases"]):
        slope, count = slope_of(case), case["targets"].numel()
        up = case["up"].double().unsqueeze(-1)
        for reduction, want in (("mean", slope / count), ("sum", slope), ("none", slope * up)):
            close(
                observe[f"cases/{i}/{reduction}/grad"],
                want,
                "The gradient by the logits is not (softmax - onehot), divided by the number of targets for the mean.",
                **tolerance(case["logits"].dtype),
                device=observe.device,
                call=describe(case, reduction),
            )


@behaviour(6)
def test_gradient_with_ignored_positions(observe):
    for i, case in enumerate(observe.given["ignored"]):
        slope = slope_of(case, case["ignore"])
        _, counted = losses_of(case, case["ignore"])
        for reduction, want in (("mean", slope / counted.sum()), ("sum", slope), ("none", slope)):
            close(
                observe[f"ignored/{i}/{reduction}/grad"],
                want,
                "With ignored positions the gradient is wrong: zero there, divided by the counted targets elsewhere.",
                **tolerance(torch.float64),
                device=observe.device,
                call=f"{describe(case, reduction)}, ignore_index={case['ignore']}",
                mistakes={
                    "The gradient was divided by all positions, ignored ones included.": slope
                    / counted.numel()
                },
            )
            grad = observe[f"ignored/all{i}/{reduction}/grad"]
            if grad is not None:
                close(
                    grad,
                    torch.zeros_like(case["logits"]),
                    "Where every position is ignored the gradient should be zero.",
                    rtol=0,
                    atol=1e-12,
                )


@behaviour(6)
def test_gradient_of_extreme_logits(observe):
    case = observe.given["extreme"]
    slope = slope_of(case)
    for reduction, want in (("mean", slope / len(case["targets"])), ("sum", slope)):
        grad = observe.tensor(f"extreme/{reduction}/grad", "The loss gave no gradient.")
        says = "The gradient is wrong for logits of +-10,000."
        if not torch.isfinite(grad).all():
            says = "The gradient is not finite for logits of +-10,000."
        close(grad, want, says, rtol=0, atol=3e-3, device=observe.device, call=describe(case, reduction))


@behaviour(7, presumes=("mean", "sum", "none"))
def test_half_precision_is_computed_in_float32(observe):
    for i, case in enumerate(observe.given["half"]):
        losses, _ = losses_of(case)
        for reduction, want in (("mean", losses.mean()), ("sum", losses.sum()), ("none", losses)):
            got = observe.tensor(f"half/{i}/{reduction}/loss", "cross_entropy should return a tensor.")
            name = str(case["logits"].dtype).removeprefix("torch.")
            expect(
                got.dtype == torch.float32,
                f"For {name} logits the loss should be float32.",
                f"got {got.dtype}",
            )
            close(
                got,
                want,
                "Sum exponentials in float32.",
                rtol=3e-5,
                atol=3e-5,
                device=observe.device,
                call=f"{describe(case, reduction)} in {name}",
            )


@behaviour(7)
def test_gradient_in_half_precision(observe):
    for i, case in enumerate(observe.given["half"]):
        slope = slope_of(case)
        for reduction, want in (("mean", slope / len(slope)), ("sum", slope)):
            grad = observe.tensor(f"half/{i}/{reduction}/grad", "The loss gave no gradient.")
            expect(
                grad.dtype == case["logits"].dtype,
                "The gradient should come back in the dtype of the logits.",
                f"got {grad.dtype} for {case['logits'].dtype}",
            )
            close(
                grad,
                want,
                "The gradient of half precision logits is wrong.",
                rtol=2e-2,
                atol=2e-3,
                device=observe.device,
                call=describe(case, reduction),
            )


@behaviour(8)
def test_inputs_are_not_modified(observe):
    for i, case in enumerate(observe.given["ignored"]):
        for name in ("log_softmax", "mean", "sum", "none"):
            what = name if name == "log_softmax" else f'cross_entropy with "{name}"'
            expect(
                torch.equal(observe[f"untouched/{i}/{name}/logits"], case["logits"]),
                f"{what} modified the logits.",
            )
            expect(
                torch.equal(observe[f"untouched/{i}/{name}/targets"], case["targets"]),
                f"{what} modified the targets: fill ignored positions in a copy.",
            )


@behaviour(9)
def test_unknown_reduction(observe):
    for name in ("reduction", "no_reduction", "capital", "batchmean"):
        observe.raised(f"errors/{name}", "ValueError", says="An unknown reduction should raise ValueError.")


@behaviour(9)
def test_shape_of_targets(observe):
    for name in ("extra", "missing", "swapped", "flat", "one", "onehot"):
        observe.raised(
            f"errors/{name}",
            "ValueError",
            says="targets whose shape is not logits.shape[:-1] should raise ValueError.",
        )


@behaviour(9)
def test_targets_out_of_range(observe):
    for name, says in {
        "c": "A target equal to C should raise ValueError.",
        "minus_one": "-1 is not a class here.",
        "minus_one_none": "-1 is not a class here.",
        "other_ignore": "With ignore_index=-1 a target of -100 is no class and should raise ValueError.",
        "beyond_ignore": "With ignore_index=C a target of C + 1 is no class and should raise ValueError.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
