import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect


def smoothed(targets, classes, eps):
    hard = torch.nn.functional.one_hot(targets, classes).double()
    return (1 - eps) * hard + eps / classes


def shared_among_others(targets, classes, eps):
    hard = torch.nn.functional.one_hot(targets, classes).double()
    return (1 - eps) * hard + eps / (classes - 1) * (1 - hard)


def loss_of(logits, target):
    return -(target * logits.double().log_softmax(1)).sum(1)


def entropy(classes, eps):
    off = eps / classes
    on = 1 - eps + off
    return -(on * math.log(on) + ((classes - 1) * off * math.log(off) if off else 0.0))


def cases(observe):
    return enumerate([*observe.given["cases"], observe.given["double"]])


OTHERS = "Your true class has {:.3g}; mixing with the uniform distribution leaves it {:.3g} + {:.3g} / K."


def others(eps):
    return OTHERS.format(1 - eps, 1 - eps, eps)


@behaviour(1)
def test_smoothed_targets(observe):
    for i, case in enumerate(observe.given["cases"]):
        targets, classes = case["targets"], case["logits"].shape[1]
        for name, eps in (("out", case["eps"]), ("default", 0.1)):
            hard = torch.nn.functional.one_hot(targets, classes).double()
            close(
                observe[f"targets/{i}/{name}"],
                smoothed(targets, classes, eps),
                "The target is not (1 - eps) one-hot + eps / K everywhere.",
                rtol=0.0,
                atol=1e-6,
                device=observe.device,
                call=f"smooth_targets of {len(targets)} targets, num_classes={classes}, eps={eps:.3g}",
                mistakes=[
                    (others(eps), shared_among_others(targets, classes, eps)),
                    ("The remaining eps was not divided by the number of classes.", (1 - eps) * hard + eps),
                    (
                        "The remaining eps was not divided by the number of classes.",
                        (1 - eps) * hard + eps * (1 - hard),
                    ),
                    (
                        "The true class keeps 1 - eps + eps / K.",
                        (1 - eps) * hard + eps / classes * (1 - hard),
                    ),
                ],
            )
    targets = observe.given["cases"][0]["targets"]
    close(
        observe["targets/more_classes/out"],
        smoothed(targets, 13, 0.25),
        "K is num_classes, not the number of classes that occur.",
        rtol=0.0,
        atol=1e-6,
    )
    close(
        observe["targets/eps_zero/out"],
        smoothed(targets, 11, 0.0),
        "eps = 0 gives one-hot targets.",
        rtol=0.0,
        atol=1e-7,
    )


@behaviour(1)
def test_smoothed_targets_are_float32(observe):
    for step, call in (("0", "eps above 0"), ("eps_zero", "eps=0")):
        out = observe.tensor(f"targets/{step}/out", "smooth_targets returns a tensor.")
        expect(out.dtype == torch.float32, "smooth_targets returns float32.", f"{call}: got {out.dtype}")
    expect(observe["targets/0/same_device"], "The targets lie on another device than the labels.")


def loss_mistakes(logits, targets, eps):
    n, classes = logits.shape
    rows = loss_of(logits, smoothed(targets, classes, eps))
    size = "Your loss is N times too large (or C times too small)."
    wrong = loss_of(logits, shared_among_others(targets, classes, eps)).mean()
    hard = loss_of(logits, smoothed(targets, classes, 0.0)).mean()
    uniform = -logits.double().log_softmax(1).mean()
    total = -logits.double().log_softmax(1).sum(1).mean()
    return [
        (size, rows.sum()),
        (size, rows.mean() / classes),
        (size, rows.sum() / classes),
        (others(eps), wrong),
        ("The remaining eps was not divided by the number of classes.", (1 - eps) * hard + eps * total),
        ("The weights must be 1 - eps and eps: the hard part kept its full weight.", hard + eps * uniform),
        ("eps has no effect on the loss.", hard),
    ]


@behaviour(2)
def test_loss(observe):
    for i, case in cases(observe):
        logits, targets = case["logits"], case["targets"]
        for name, eps in (("loss", case["eps"]), ("default", 0.1), ("strided", case["eps"])):
            want = loss_of(logits, smoothed(targets, logits.shape[1], eps)).mean()
            close(
                observe[f"loss/{i}/{name}"],
                want,
                "The loss is not the batch mean of the cross-entropy with the smoothed targets.",
                rtol=2e-6,
                atol=2e-6,
                device=observe.device,
                call=f"smoothed_cross_entropy of logits {tuple(logits.shape)}, eps={eps:.3g}",
                mistakes=[]
                if len(logits) == 1 and name == "strided"
                else loss_mistakes(logits, targets, eps),
            )


@behaviour(2)
def test_loss_is_a_scalar_in_the_dtype_of_the_logits(observe):
    for i, case in cases(observe):
        out = observe.tensor(f"loss/{i}/loss", "The loss is a zero-dimensional tensor.")
        expect(out.dim() == 0, "The loss is a zero-dimensional tensor.", f"got shape {tuple(out.shape)}")
        dtype = case["logits"].dtype
        expect(
            out.dtype == dtype, "The loss has the dtype of the logits.", f"got {out.dtype} for {dtype} logits"
        )


@behaviour(3)
def test_eps_zero_is_cross_entropy(observe):
    for i, case in cases(observe):
        close(
            observe[f"loss/{i}/plain"],
            loss_of(case["logits"], smoothed(case["targets"], case["logits"].shape[1], 0.0)).mean(),
            "At eps = 0 the result must be plain cross-entropy.",
            rtol=2e-6,
            atol=2e-6,
            device=observe.device,
        )


def huge_cases(observe):
    for name, key, plain in (
        ("smooth", "huge", False),
        ("plain", "huge", True),
        ("shifted", "shifted", False),
    ):
        case = observe.given[key]
        eps = 0.0 if plain else case["eps"]
        yield name, case, eps, smoothed(case["targets"], 5, eps)


@behaviour(4)
def test_huge_logits(observe):
    for name, case, eps, target in huge_cases(observe):
        close(
            observe[f"huge/{name}/loss"],
            loss_of(case["logits"], target).mean(),
            "log(0) is -inf; use a log-softmax.",
            rtol=2e-5,
            atol=3e-3,
            device=observe.device,
            call=f"logits of up to +-10,000 ({name}), eps={eps:.3g}",
        )


@behaviour(5)
def test_gradient(observe):
    for i, case in cases(observe):
        logits = case["logits"].double()
        target = smoothed(case["targets"], logits.shape[1], case["eps"])
        probabilities = logits.softmax(1)
        hard = smoothed(case["targets"], logits.shape[1], 0.0)
        close(
            observe.tensor(f"gradient/{i}/grad", "No gradient reaches the logits: the graph was cut."),
            (probabilities - target) / len(target),
            "The gradient is not (softmax - smoothed target) / N.",
            rtol=1e-4,
            atol=2e-6,
            device=observe.device,
            mistakes=[
                ("The gradient is that of hard labels.", (probabilities - hard) / len(target)),
                ("The gradient is N times too large.", probabilities - target),
            ]
            if len(target) > 1
            else [],
        )


@behaviour(5)
def test_gradient_for_huge_logits(observe):
    for name, case, eps, target in huge_cases(observe):
        close(
            observe[f"huge/{name}/grad"],
            (case["logits"].double().softmax(1) - target) / len(target),
            "The gradient is wrong for large logits, although the loss may be finite.",
            rtol=1e-3,
            atol=1e-3,
            device=observe.device,
            call=f"logits of up to +-10,000 ({name}), eps={eps:.3g}",
        )


@behaviour(6)
def test_floor_is_the_entropy(observe):
    for i, (classes, eps) in enumerate(observe.given["floors"]):
        for name, value in (("value", eps), ("default", 0.1)):
            off = value / (classes - 1)
            shared = -((1 - value) * math.log(1 - value) + (classes - 1) * off * math.log(off))
            floor = entropy(classes, value)
            on = 1 - value + value / classes
            close(
                observe[f"floor/{i}/{name}"],
                floor,
                "The floor is not the entropy of the smoothed target.",
                rtol=1e-6,
                atol=1e-6,
                call=f"loss_floor({classes}, {value:.3g})",
                mistakes=[
                    ("With smoothed targets the best loss is the entropy of the target, not zero.", 0.0),
                    ("That entropy is in bits; the loss uses the natural logarithm.", floor / math.log(2)),
                    ("The entropy of the target mixes with all K classes, the true one included.", shared),
                    ("The wrong classes count too, not only the true one.", -on * math.log(on)),
                    ("The wrong classes count too, not only the true one.", -math.log(on)),
                ],
            )
        close(observe[f"floor/{i}/zero"], 0.0, "At eps = 0 the floor is 0.", atol=1e-9)


@behaviour(6)
def test_floor_is_a_float(observe):
    for name in ("value", "zero"):
        value = observe[f"floor/0/{name}"]
        expect(isinstance(value, float), "loss_floor returns a Python float.", f"got {value!r}")


@behaviour(7)
def test_inputs_are_left_alone(observe):
    for i, _ in enumerate(observe.given["cases"]):
        expect(alike(*observe[f"targets/{i}/untouched"]), "smooth_targets changed the targets in place.")
        expect(alike(*observe[f"loss/{i}/untouched"]), "smoothed_cross_entropy changed its inputs in place.")
        flags = observe[f"loss/{i}/flags"]
        expect(flags == [False, False], "smoothed_cross_entropy set requires_grad on its inputs.")
        says = "A second call of smooth_targets changed the tensor that the first one returned."
        expect(alike(*observe[f"targets/{i}/kept"]), says)


@behaviour(8)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "eps_low": "A negative eps must be refused.",
        "eps_one": "eps = 1 would erase the label.",
        "eps_high": "eps above 1 must be refused.",
        "classes": "One class leaves nothing to smooth.",
        "target_high": "A target of K or more is no class.",
        "target_low": "A negative target is no class.",
        "target_ignored": "A target of -100 is no class either: nothing is ignored here.",
        "length": "Logits and targets of different length must be refused.",
        "length_one": "One target for three rows of logits must be refused, not broadcast.",
        "length_more": "More targets than rows of logits must be refused.",
    }
    for prefix, names in (
        ("smooth", ("eps_low", "eps_one", "classes", "target_high", "target_low", "target_ignored")),
        (
            "loss",
            (
                "eps_low",
                "eps_one",
                "eps_high",
                "target_high",
                "target_low",
                "target_ignored",
                "length",
                "length_one",
                "length_more",
            ),
        ),
        ("floor", ("eps_low", "eps_one", "classes")),
    ):
        for name in names:
            observe.raised(f"errors/{prefix}_{name}", "ValueError", says=sentences[name])


@behaviour(8, on_error="Two classes are valid.")
def test_two_classes_are_valid(observe):
    rows = [[0.95, 0.05], [0.05, 0.95], [0.05, 0.95]]
    close(observe["errors/two_classes/rows"], torch.tensor(rows), "Two classes are valid.", rtol=1e-5)
    close(observe["errors/two_classes/loss"], math.log(2), "Two classes are valid.", rtol=1e-5)
    floor = -0.95 * math.log(0.95) - 0.05 * math.log(0.05)
    close(observe["errors/two_classes/floor"], floor, "Two classes are valid.", rtol=1e-6)
