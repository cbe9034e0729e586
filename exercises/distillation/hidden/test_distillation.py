import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

LOOSE = {"rtol": 1e-4, "atol": 1e-5}


def rows(c, labels="labels"):
    """Student and teacher logits and labels of the counted positions, in float64."""
    classes = c["student"].shape[-1]
    student = c["student"].double().reshape(-1, classes)
    teacher = c["teacher"].double().reshape(-1, classes)
    if labels is None:
        return student, teacher, None
    flat = c["labels"].reshape(-1)
    keep = flat != c["ignore_index"]
    return student[keep], teacher[keep], flat[keep]


def soft_rows(student, teacher, T):
    p = (teacher / T).softmax(-1)
    log_q = (student / T).log_softmax(-1)
    return (torch.xlogy(p, p) - torch.where(p > 0, p * log_q, 0.0)).sum(-1)


def hard_rows(student, labels, T=1.0):
    return -(student / T).log_softmax(-1).gather(-1, labels[:, None]).squeeze(-1)


def expected(c, alpha=None, labels="labels"):
    alpha = c["alpha"] if alpha is None else alpha
    student, teacher, y = rows(c, labels)
    loss = alpha * c["T"] ** 2 * soft_rows(student, teacher, c["T"]).mean()
    return loss + (1 - alpha) * hard_rows(student, y).mean() if alpha < 1 else loss


def expected_grad(c, alpha=None, labels="labels"):
    alpha = c["alpha"] if alpha is None else alpha
    student, teacher, y = rows(c, labels)
    T = c["T"]
    grad = alpha * T * ((student / T).softmax(-1) - (teacher / T).softmax(-1))
    if alpha < 1:
        hard = torch.nn.functional.one_hot(y, student.shape[-1]).double()
        grad = grad + (1 - alpha) * (student.softmax(-1) - hard)
    out = torch.zeros_like(c["student"], dtype=torch.float64).reshape(-1, student.shape[-1])
    keep = (
        torch.ones(len(out), dtype=torch.bool)
        if labels is None
        else c["labels"].reshape(-1) != c["ignore_index"]
    )
    out[keep] = grad / max(1, len(student))
    return out.reshape(c["student"].shape)


def loss_mistakes(c, alpha=None):
    alpha = c["alpha"] if alpha is None else alpha
    student, teacher, y = rows(c)
    T, classes = c["T"], student.shape[-1]
    soft = soft_rows(student, teacher, T).mean()
    hard = hard_rows(student, y).mean()
    reverse = soft_rows(teacher, student, T).mean()
    p = (teacher / T).softmax(-1)
    cross = -(p * (student / T).log_softmax(-1)).sum(-1).mean()
    raw = (torch.special.xlogy(p, p) - p * (student / T).softmax(-1)).sum(-1).mean()
    untempered = soft_rows(student, teacher, 1.0).mean()
    tempered = hard_rows(student, y, T).mean()

    def mixed(s, h, weight=alpha):
        return weight * T**2 * s + (1 - weight) * h

    no_square = f"Without T squared, soft gradients at temperature {T:g} are about {T**2:.3g} times too small next to the label term."
    return [
        (no_square, alpha * soft + (1 - alpha) * hard),
        (no_square, alpha * T * soft + (1 - alpha) * hard),
        ("T squared belongs to the soft term only.", T**2 * (alpha * soft + (1 - alpha) * hard)),
        (
            "The divergence of a row is a sum over classes; you divided by their number as well.",
            mixed(soft / classes, hard),
        ),
        (
            "The teacher is the distribution to match: log-probabilities of the student come first.",
            mixed(reverse, hard),
        ),
        (
            "Two equal distributions cost something here; subtract the teacher's own entropy.",
            mixed(cross, hard),
        ),
        (
            "With alpha = 0 this must be the usual cross-entropy, whatever the temperature.",
            mixed(soft, tempered),
        ),
        ("The temperature must divide both models' logits.", mixed(untempered, hard)),
        (
            "The temperature must divide both models' logits.",
            mixed(soft_rows(student, T * teacher, T).mean(), hard),
        ),
        (
            "The temperature must divide both models' logits.",
            mixed(soft_rows(T * student, teacher, T).mean(), hard),
        ),
        (
            "The divergence compares logarithms; the student's probabilities entered it as they are.",
            mixed(raw, hard),
        ),
        ("alpha weighs the soft term, 1 - alpha the hard one.", mixed(soft, hard, 1 - alpha)),
        ("The terms must be weighed: alpha and 1 - alpha.", alpha * T**2 * soft + hard),
        ("The terms must be weighed: alpha and 1 - alpha.", T**2 * soft + (1 - alpha) * hard),
        ("The loss is a mean over the positions, not a sum.", len(student) * mixed(soft, hard)),
        ("The soft term is a mean over the positions, too, not a sum.", mixed(len(student) * soft, hard)),
    ]


def padded(c, alpha):
    """What comes out where padding is left in the soft term, or in the divisor."""
    flat = c["labels"].reshape(-1)
    student, teacher, y = rows(c)
    every = rows(c, None)
    T, count = c["T"], len(student)
    soft, hard = soft_rows(student, teacher, T).mean(), hard_rows(student, y).mean()
    everywhere = soft_rows(every[0], every[1], T)
    says = "Ignored positions still pull the student towards the teacher, or still count in the mean."
    return [
        (says, alpha * T**2 * everywhere.mean() + (1 - alpha) * hard),
        (says, (alpha * T**2 * soft + (1 - alpha) * hard) * count / len(flat)),
        (says, alpha * T**2 * soft * count / len(flat) + (1 - alpha) * hard),
        (says, alpha * T**2 * soft + (1 - alpha) * hard * count / len(flat)),
    ]


def plain_cases(observe):
    return enumerate([*observe.given["plain"], observe.given["double"]])


def called(c, alpha):
    return (
        f"distillation_loss of logits {tuple(c['student'].shape)}, temperature={c['T']:g}, alpha={alpha:.3g}"
    )


@behaviour(1)
def test_mixed_loss(observe):
    for i, c in plain_cases(observe):
        close(
            observe[f"loss/{i}/mixed/loss"],
            expected(c),
            "The loss is not the mean of alpha * T**2 * soft + (1 - alpha) * hard.",
            **LOOSE,
            device=observe.device,
            call=called(c, c["alpha"]),
            mistakes=[*loss_mistakes(c), *padded(c, c["alpha"])],
        )
        close(
            observe[f"loss/{i}/default/loss"],
            expected({**c, "T": 2.0, "ignore_index": -100}, 0.5)
            if c["ignore_index"] == -100
            else expected({**c, "T": 2.0}, 0.5),
            "temperature is 2 and alpha 0.5 by default.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(1)
def test_loss_is_a_scalar(observe):
    for i, c in plain_cases(observe):
        out = observe.tensor(f"loss/{i}/mixed/loss", "The loss is a scalar tensor.")
        expect(out.dim() == 0, "The loss is a scalar tensor.", f"got shape {tuple(out.shape)}")


@behaviour(2)
def test_soft_term(observe):
    for i, c in plain_cases(observe):
        close(
            observe[f"loss/{i}/soft/loss"],
            expected(c, 1.0),
            "With alpha = 1 the loss is T**2 * KL(teacher || student), summed over classes.",
            **LOOSE,
            device=observe.device,
            call=called(c, 1.0),
            mistakes=[*loss_mistakes(c, 1.0), *padded(c, 1.0)],
        )
    c = observe.given["plain"][0]
    close(
        observe["loss/equal/loss"],
        0.0,
        "Two equal distributions cost something here; subtract the teacher's own entropy.",
        rtol=0.0,
        atol=1e-5,
        device=observe.device,
    )
    close(
        observe["loss/shifted/loss"],
        expected(c, 1.0),
        "A constant added to all logits of a row must change nothing.",
        rtol=1e-4,
        atol=3e-5,
        device=observe.device,
    )
    c = observe.given["double"]
    close(
        observe["loss/far/loss"],
        expected(c),
        "A constant added to all logits of a row must change nothing, a large one neither: clamp no logits.",
        **LOOSE,
        device=observe.device,
    )


@behaviour(3)
def test_alpha_zero_is_cross_entropy(observe):
    for i, c in plain_cases(observe):
        close(
            observe[f"loss/{i}/hard/loss"],
            expected(c, 0.0),
            "With alpha = 0 this must be the usual cross-entropy, whatever the temperature.",
            **LOOSE,
            device=observe.device,
            call=called(c, 0.0),
        )


@behaviour(4)
def test_student_gradient(observe):
    for i, c in plain_cases(observe):
        for name, alpha in (("mixed", c["alpha"]), ("soft", 1.0), ("hard", 0.0)):
            close(
                observe.tensor(f"loss/{i}/{name}/student_grad", "No gradient reaches the student's logits."),
                expected_grad(c, alpha),
                "The gradient to the student's logits is wrong; it must come through both terms.",
                **LOOSE,
                device=observe.device,
                call=called(c, alpha),
            )


@behaviour(4)
def test_teacher_gets_no_gradient(observe):
    for i, _ in plain_cases(observe):
        for name in ("mixed", "soft", "hard"):
            grad = observe[f"loss/{i}/{name}/teacher_grad"]
            expect(
                grad is None or not grad.any(),
                "The teacher's logits received a gradient: they are targets, not parameters.",
            )


@behaviour(5)
def test_ignored_positions(observe):
    for i, c in enumerate(observe.given["ignored"]):
        for name, alpha in (("mixed", c["alpha"]), ("soft", 1.0), ("hard", 0.0)):
            close(
                observe[f"ignored/{i}/{name}/loss"],
                expected(c, alpha),
                f"Positions labeled {c['ignore_index']} must count in neither term nor in the mean.",
                **LOOSE,
                device=observe.device,
                call=called(c, alpha) + f", ignore_index={c['ignore_index']}",
                mistakes=padded(c, alpha),
            )


@behaviour(5)
def test_ignored_positions_get_no_gradient(observe):
    for i, c in enumerate(observe.given["ignored"]):
        for name, alpha in (("mixed", c["alpha"]), ("soft", 1.0)):
            grad = observe.tensor(
                f"ignored/{i}/{name}/student_grad", "No gradient reaches the student's logits."
            )
            skipped = c["labels"] == c["ignore_index"]
            expect(
                grad.shape == c["student"].shape and not grad[skipped].any(),
                "The logits of an ignored position got a gradient.",
            )
            close(
                grad,
                expected_grad(c, alpha),
                "The gradient of the counted positions is wrong.",
                **LOOSE,
                device=observe.device,
            )


@behaviour(6)
def test_nothing_counted(observe):
    for name, i in (("all_mixed", 0), ("all_soft", 1), ("all_hard", 2)):
        out = observe.tensor(f"ignored/{name}/loss", "The loss is a scalar tensor.")
        expect(
            out.dim() == 0 and out.item() == 0.0,
            "A batch of nothing but padding divided by zero: the loss must be 0.",
            f"got {out.tolist()}",
        )
        grad = observe.tensor(f"ignored/{name}/student_grad", "backward() must give zeros, not nothing.")
        shape = observe.given["plain"][i]["student"].shape
        expect(
            grad.shape == shape and not grad.any(), "A batch of nothing but padding must give zero gradients."
        )


@behaviour(9)
def test_nothing_counted_keeps_the_dtype(observe):
    for name, dtype in (("float16", "float32"), ("bfloat16", "float32"), ("float64", "float64")):
        out = observe.tensor(f"ignored/all_{name}/loss", "The loss is a scalar tensor.")
        says = f"Where every position is ignored, {name} logits still give a {dtype} loss."
        expect(str(out.dtype) == f"torch.{dtype}", says, f"got {out.dtype}")


@behaviour(7)
def test_leading_dimensions(observe):
    for i, c in enumerate(observe.given["shapes"]):
        shape = tuple(c["student"].shape)
        close(
            observe[f"shapes/{i}/loss"],
            expected(c),
            f"Logits of shape {shape} give a wrong loss; classes are always the last dimension.",
            **LOOSE,
            device=observe.device,
            mistakes=loss_mistakes(c) if len(shape) > 1 else (),
        )
        close(
            observe.tensor(f"shapes/{i}/student_grad", "No gradient reaches the student's logits."),
            expected_grad(c),
            f"Logits of shape {shape} get a wrong gradient.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(7, presumes=("leading_dimensions",))
def test_transposed_views(observe):
    c = observe.given["shapes"][2]
    close(
        observe["shapes/transposed/loss"],
        expected(c),
        "Transposed views give another result than contiguous tensors.",
        **LOOSE,
        device=observe.device,
    )
    close(
        observe.tensor("shapes/transposed/student_grad", "No gradient reaches the student's logits."),
        expected_grad(c),
        "Transposed views get another gradient than contiguous tensors.",
        **LOOSE,
        device=observe.device,
    )


@behaviour(8)
def test_without_labels(observe):
    for i, c in enumerate([observe.given["plain"][0], observe.given["shapes"][2]]):
        close(
            observe[f"unlabelled/{i}/loss"],
            expected(c, 1.0, None),
            "labels=None with alpha = 1 must distil on all positions.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(8)
def test_labels_are_needed_below_one(observe):
    for name in ("mixed", "hard", "default", "almost"):
        observe.raised(
            f"unlabelled/{name}",
            "ValueError",
            says="Without labels there is no hard term: alpha below 1 must be refused.",
        )


@behaviour(9)
def test_half_precision(observe):
    c = observe.given["half"]
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        out = observe.tensor(f"precision/{name}/loss")
        expect(out.dtype == torch.float32, f"{name} logits must give a float32 loss.", f"got {out.dtype}")
        widened = {**c, "student": c["student"].to(dtype), "teacher": c["teacher"].to(dtype)}
        close(
            out,
            expected(widened),
            f"{name} logits were not computed in float32.",
            **LOOSE,
            device=observe.device,
            mistakes=loss_mistakes(widened),
        )


@behaviour(9, presumes=("mixed_loss",))
def test_other_dtypes_are_kept(observe):
    for i, c in plain_cases(observe):
        dtype = c["student"].dtype
        out = observe.tensor(f"loss/{i}/mixed/loss")
        expect(out.dtype == dtype, f"{dtype} logits must give a {dtype} loss.", f"got {out.dtype}")
    c = observe.given["double"]
    close(
        observe["loss/3/mixed/loss"],
        expected(c),
        "float64 logits were computed in lower precision.",
        rtol=1e-9,
        atol=1e-10,
        device=observe.device,
        mistakes=loss_mistakes(c),
    )


@behaviour(9)
def test_logits_far_apart(observe):
    c = observe.given["steep"]
    far = {
        **c,
        "student": c["student"].sign() * 500 + c["student"],
        "teacher": c["teacher"].sign() * 500 + c["teacher"],
    }
    close(
        observe["precision/steep/loss"],
        expected(far),
        "Use log-softmax, and let classes of teacher probability 0 contribute nothing: logits 1000 apart.",
        rtol=1e-4,
        atol=1e-3,
        device=observe.device,
    )
    close(
        observe.tensor("precision/steep/student_grad", "No gradient reaches the student's logits."),
        expected_grad(far),
        "Logits 1000 apart give a wrong gradient.",
        rtol=1e-4,
        atol=1e-4,
        device=observe.device,
    )


@behaviour(9)
def test_excluded_classes(observe):
    c = observe.given["excluded"]
    teacher = c["teacher"].clone()
    teacher[:, 2] = -torch.inf
    teacher[3, 4] = -torch.inf
    excluded = {**c, "teacher": teacher}
    for name, alpha in (("soft", 1.0), ("mixed", c["alpha"])):
        close(
            observe[f"precision/excluded/{name}/loss"],
            expected(excluded, alpha),
            "Use log-softmax, and let classes of teacher probability 0 contribute nothing: a teacher logit is -inf.",
            **LOOSE,
            device=observe.device,
        )
        close(
            observe.tensor(
                f"precision/excluded/{name}/student_grad", "No gradient reaches the student's logits."
            ),
            expected_grad(excluded, alpha),
            "A teacher logit of -inf makes the student's gradient wrong.",
            **LOOSE,
            device=observe.device,
        )


def forward(weights, x):
    """Pre-softmax outputs of the two-layer network with parameters [W1, b1, W2, b2]."""
    return torch.tanh(x @ weights[0].T + weights[1]) @ weights[2].T + weights[3]


def replay(s, momentum, labelled, alpha, T=None):
    """Losses and parameters of the training steps, in float64."""
    names = ("first.weight", "first.bias", "second.weight", "second.bias")

    def start(pair):
        (h, _), (c, _) = pair[0].shape, pair[1].shape
        tenth = torch.tensor(0.1, dtype=torch.float32).double()
        return [pair[0].double(), tenth.expand(h).clone(), pair[1].double(), tenth.expand(c).clone()]

    parameters, fixed = start(s["weights"]), start(s["teacher"])
    velocity = [torch.zeros_like(p) for p in parameters]
    losses, states = [], []
    for x, y in zip(s["x"], s["y"], strict=True):
        leaves = [p.clone().requires_grad_() for p in parameters]
        student, teacher = forward(leaves, x.double()), forward(fixed, x.double())
        T = s["T"] if T is None else T
        loss = alpha * T**2 * soft_rows(student, teacher, T).mean()
        if labelled:
            loss = loss + (1 - alpha) * hard_rows(student, y).mean()
        loss.backward()
        losses.append(loss.item())
        velocity = [momentum * v + leaf.grad for v, leaf in zip(velocity, leaves, strict=True)]
        parameters = [p - s["lr"] * v for p, v in zip(parameters, velocity, strict=True)]
        states.append(dict(zip(names, parameters, strict=True)))
    return losses, states


@behaviour(10)
def test_losses_of_the_steps(observe):
    s = observe.given["step"]
    for name, momentum, labelled, alpha in (
        ("mixed", 0.0, True, s["alpha"]),
        ("momentum", 0.9, True, s["alpha"]),
        ("unlabelled", 0.0, False, 1.0),
    ):
        losses, _ = replay(s, momentum, labelled, alpha)
        defaults = replay(s, momentum, True, 0.5, 2.0)[0][:1]
        close(
            observe[f"step/{name}/losses"][:1],
            losses[:1],
            "The first step does not return the loss before the step.",
            **LOOSE,
            call=f"distill_step, temperature={s['T']:g}, alpha={alpha:.3g}",
            mistakes=[("distill_step must pass on its temperature and alpha.", defaults)],
        )
        close(
            observe[f"step/{name}/losses"],
            losses,
            "The losses of three steps in a row are wrong: the second step moved further than its own gradient, "
            "or not at all. Clear gradients before backward.",
            **LOOSE,
        )
    close(
        observe["step/default/loss"],
        replay(s, 0.0, True, 0.5, 2.0)[0][0],
        "temperature is 2 and alpha 0.5 by default.",
        **LOOSE,
    )


@behaviour(10)
def test_parameters_after_the_steps(observe):
    s = observe.given["step"]
    for name, momentum, labelled, alpha in (
        ("mixed", 0.0, True, s["alpha"]),
        ("momentum", 0.9, True, s["alpha"]),
        ("unlabelled", 0.0, False, 1.0),
    ):
        _, states = replay(s, momentum, labelled, alpha)
        for step, (got, want) in enumerate(zip(observe[f"step/{name}/states"], states, strict=True), 1):
            for key, value in want.items():
                close(
                    got[key],
                    value,
                    f"After step {step} the student's parameters are not those of one ordinary optimizer step.",
                    rtol=1e-4,
                    atol=1e-5,
                    device=observe.device,
                )


@behaviour(10)
def test_step_with_large_gradients(observe):
    given = observe.given["steep_step"]
    weight, fixed = (w.double() for w in given["weights"])
    x = given["x"].double()
    c = {
        "student": x @ weight.T,
        "teacher": x @ fixed.T,
        "labels": given["y"],
        "T": 2.0,
        "alpha": 0.4,
        "ignore_index": -100,
    }
    call = f"distill_step of a linear student on inputs {tuple(x.shape)}, temperature=2, alpha=0.4"
    close(
        observe["step/steep/loss"],
        expected(c),
        "The loss is wrong for inputs with two leading dimensions and ignored labels.",
        **LOOSE,
        call=call,
    )
    grad = expected_grad(c).reshape(-1, 5).T @ x.reshape(-1, 7)
    close(
        observe["step/steep/weight"],
        weight - 0.05 * grad,
        "A large gradient does not move the student as one ordinary optimizer step would.",
        rtol=1e-4,
        atol=2e-5,
        device=observe.device,
        call=call,
        mistakes={"The gradient was clipped: nothing asked for that.": weight - 0.05 * grad / grad.norm()},
    )


@behaviour(10)
def test_loss_is_a_python_float(observe):
    expect(
        all(kind == "float" for kind in observe["step/mixed/kinds"]),
        "distill_step returns a Python float.",
        f"got {observe['step/mixed/kinds'][0]}",
    )


@behaviour(10)
def test_gradients_and_mode_left_by_others(observe):
    s = observe.given["step"]
    _, states = replay(s, 0.0, True, s["alpha"])
    for key, value in states[0].items():
        close(
            observe["step/stale/state"][key],
            value,
            "Gradients left over from before were added: clear gradients before backward.",
            rtol=1e-4,
            atol=1e-5,
            device=observe.device,
        )
    expect(observe["step/stale/training"] == [True], "The student must run once, in train mode.")


@behaviour(10)
def test_step_without_labels_needs_alpha_one(observe):
    for name in ("mixed", "hard"):
        says = "distill_step without labels works with alpha = 1 only: alpha below 1 must be refused."
        observe.raised(f"step/refused/{name}", "ValueError", says=says)


TEACHERS = ("training", "frozen", "inner")


@behaviour(11)
def test_teacher_runs_once_in_eval_mode(observe):
    for name in TEACHERS:
        calls = observe[f"teacher/{name}/calls"]
        expect(calls == 1, "The teacher must see the inputs once.", f"it ran {calls} times")
        says = "The teacher must see the same inputs as the student."
        expect(alike(observe[f"teacher/{name}/inputs"], [observe.given["step"]["x"][0]]), says)
        for training, _, dropout in observe[f"teacher/{name}/modes"]:
            expect(
                not training and not dropout,
                "The teacher's dropout and batch statistics were active, and its running averages moved.",
            )
        expect(not any(observe[f"teacher/{name}/left_training"]), "The teacher must be left in eval mode.")


@behaviour(11)
def test_teacher_builds_no_graph(observe):
    for name in TEACHERS:
        for _, graph, _ in observe[f"teacher/{name}/modes"]:
            expect(not graph, "The teacher's forward pass built a graph; run it under no_grad.")


@behaviour(11)
def test_teacher_is_unchanged(observe):
    for name in TEACHERS:
        before, after = observe[f"teacher/{name}/before"], observe[f"teacher/{name}/after"]
        for key, value in before.items():
            expect(
                torch.equal(value, after[key]),
                "The teacher's dropout and batch statistics were active, and its running averages moved."
                if "running" in key or "num_batches" in key
                else "The teacher's parameters changed.",
                key,
            )
        kept = observe[f"teacher/{name}/requires_grad"]
        expect(
            not any(kept) if name == "frozen" else all(kept),
            "requires_grad of the teacher's parameters changed; leave them as they were.",
        )
        for key, grad in observe[f"teacher/{name}/grads"].items():
            fine = grad is None if name == "frozen" else grad is not None and bool((grad == 0.25).all())
            expect(fine, "The teacher's .grad changed.", key)


@behaviour(12)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "temperature_zero": "temperature = 0 must be refused.",
        "temperature_negative": "A negative temperature must be refused.",
        "alpha_low": "alpha below 0 must be refused.",
        "alpha_high": "alpha above 1 must be refused.",
        "classes": "Logits with different numbers of classes must be refused.",
        "rows": "Logits with different numbers of rows must be refused.",
        "broadcast": "One row of teacher logits must be refused, not broadcast.",
        "dims": "Logits with different numbers of dimensions must be refused.",
        "teacher_dims": "Teacher logits with an extra dimension of 1 must be refused.",
        "labels_short": "Too few labels must be refused.",
        "labels_dims": "Labels with an extra dimension must be refused.",
        "labels_column": "Labels of shape (N, 1) must be refused.",
    }
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(12)
def test_inputs_are_left_alone(observe):
    for name in ("plain", "ignored", "zero"):
        expect(alike(*observe[f"untouched/{name}/untouched"]), "An input tensor was modified in place.")
    flag = observe["loss/0/mixed/teacher_flag"]
    expect(flag is True, "The teacher's logits no longer require grad: detach them, do not change them.")


@behaviour(12, on_error="Every temperature above 0 is valid.")
def test_low_temperatures_are_valid(observe):
    case = observe.given["plain"][0]
    for name, temperature in (("one", 1.0), ("half", 0.5)):
        close(
            observe[f"errors/{name}/loss"],
            expected({**case, "T": temperature, "alpha": 0.4, "ignore_index": case["ignore_index"]}),
            "Every temperature above 0 is valid.",
            rtol=1e-4,
            atol=1e-5,
            device=observe.device,
            call=f"temperature={temperature}, alpha=0.4",
        )
