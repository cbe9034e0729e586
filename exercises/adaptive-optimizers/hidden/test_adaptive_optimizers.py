import torch

from quizapp.judge.testing.checks import behaviour, close, expect

DEFAULTS = {
    "adagrad_step": {"lr": 1e-2, "eps": 1e-10},
    "rmsprop_step": {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8},
    "adam_step": {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8},
}


def adagrad(param, grads, lr, eps, variant=""):
    total, trace = torch.zeros_like(param), []
    for g in grads:
        used = total + 0.0
        total = 0.9 * total + 0.1 * g**2 if variant == "average" else total + g**2
        if variant == "late":
            denominator = used.sqrt() + eps
        elif variant == "inside":
            denominator = (total + eps).sqrt()
        elif variant == "no root":
            denominator = total + eps
        else:
            denominator = total.sqrt() + eps
        param = param - lr * g / denominator
        trace.append(param)
    return torch.stack(trace)


def rmsprop(param, grads, lr, alpha, eps, variant=""):
    s, trace = torch.zeros_like(param), []
    for t, g in enumerate(grads, 1):
        if variant == "sum":
            s = s + g**2
        elif variant == "swapped":
            s = (1 - alpha) * s + alpha * g**2
        elif variant == "first":
            s = g**2 if t == 1 else alpha * s + (1 - alpha) * g**2
        elif variant == "undamped":
            s = alpha * s + g**2
        else:
            s = alpha * s + (1 - alpha) * g**2
        used = s / (1 - alpha**t) if variant == "corrected" else s
        param = param - lr * g / ((used + eps).sqrt() if variant == "inside" else used.sqrt() + eps)
        trace.append(param)
    return torch.stack(trace)


def adam(param, grads, lr, betas, eps, variant=""):
    b1, b2 = reversed(betas) if variant == "swapped" else betas
    m, v, trace = torch.zeros_like(param), torch.zeros_like(param), []
    for t, g in enumerate(grads, 1):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        n = t + 1 if variant == "late" else t
        m_hat = m / (1 - b1**n) if variant not in ("uncorrected", "v only") else m
        v_hat = v / (1 - b2**n) if variant not in ("uncorrected", "m only") else v
        if variant == "inside":
            denominator = (v_hat + eps).sqrt()
        elif variant == "eps first":
            denominator = (v.sqrt() + eps) / (1 - b2**t) ** 0.5
        else:
            denominator = v_hat.sqrt() + eps
        param = param - lr * m_hat / denominator
        trace.append(param)
    return torch.stack(trace)


RULES = {"adagrad_step": adagrad, "rmsprop_step": rmsprop, "adam_step": adam}

SAID = {
    "adagrad_step": {
        "average": "Adagrad never forgets: the denominator is a running sum.",
        "late": "The sum includes the present gradient.",
        "inside": "eps belongs after the square root.",
        "no root": "Divide by the root of the sum, not by the sum.",
    },
    "rmsprop_step": {
        "corrected": "RMSprop in its classical form starts from zero and is not corrected.",
        "first": "The average starts from zero, not from the first squared gradient.",
        "sum": "RMSprop forgets: the statistic is a moving average, not a sum.",
        "swapped": "alpha weighs the old average, 1 - alpha the new square.",
        "undamped": "The new square is weighted by 1 - alpha.",
        "inside": "eps belongs after the square root.",
    },
    "adam_step": {
        "uncorrected": "The first Adam step should be about lr in every coordinate: correct the bias.",
        "late": "The first Adam step should be about lr in every coordinate: t is 1 at the first step.",
        "m only": "The average of g**2 is corrected as well.",
        "v only": "The average of g is corrected as well.",
        "swapped": "betas[0] belongs to g, betas[1] to g**2.",
        "inside": "eps belongs after the square root.",
        "eps first": "eps is added after the bias correction of v.",
    },
}


def walk(name, param, grads, options, variant=""):
    chosen = {**DEFAULTS[name], **options}
    return RULES[name](param.double(), grads.double(), **chosen, variant=variant)


def check(got, name, param, grads, options, says, call=""):
    single = param.dtype == torch.float32
    close(
        got,
        walk(name, param, grads, options),
        says,
        rtol=2e-5 if single else 1e-12,
        atol=1e-5 if single else 1e-12,
        call=call
        or f"{name}(param of shape {tuple(param.shape)}, ...{told(options)}), {len(grads)} steps in a row",
        mistakes=[(text, walk(name, param, grads, options, variant)) for variant, text in SAID[name].items()],
    )


def told(options):
    def show(value):
        return f"({value[0]:.3g}, {value[1]:.3g})" if isinstance(value, tuple) else f"{value:.3g}"

    return "".join(f", {name}={show(value)}" for name, value in options.items())


def formula(observe, name, says):
    for i, case in enumerate(observe.given["cases"]):
        for kind, options in (("given", case["options"][name]), ("default", {})):
            got = observe[f"formula/{name}{i}/{kind}"]
            check(got, name, case["param"], case["grads"], options, says)


@behaviour(1)
def test_adagrad(observe):
    formula(observe, "adagrad_step", "Adagrad does not move by lr * g / (sqrt(sum of g**2) + eps).")


@behaviour(2)
def test_rmsprop(observe):
    formula(observe, "rmsprop_step", "RMSprop does not move by lr * g / (sqrt(s) + eps).")


@behaviour(3)
def test_adam(observe):
    formula(observe, "adam_step", "Adam does not move by lr * m_hat / (sqrt(v_hat) + eps).")


@behaviour(3)
def test_first_adam_step(observe):
    case = observe.given["cases"][0]
    options = case["options"]["adam_step"]
    close(
        observe.tensor("formula/adam_step0/given")[0],
        case["param"] - options["lr"] * case["grads"][0].sign(),
        "The first Adam step should be about lr in every coordinate.",
        rtol=0.0,
        atol=1e-5,
        call=f"adam_step(param, grad, {{}}{told(options)})",
    )


def named(observe, kind, names, says):
    gaps = observe.given["gaps"]
    for name in names:
        chosen = gaps["options"][name]
        check(
            observe[f"later/{name}{kind}/trace"],
            name,
            gaps["param"],
            gaps["grads"],
            chosen,
            f"{name}: {says}",
        )


ZEROS = (
    "a gradient of zeros is a step like any other: the averages decay, and Adam counts it and still moves."
)


@behaviour(1)
def test_adagrad_with_zero_gradients(observe):
    named(observe, "gaps", ("adagrad_step",), "gradients of zeros in between give a wrong result.")


@behaviour(2)
def test_rmsprop_with_zero_gradients(observe):
    named(observe, "gaps", ("rmsprop_step",), ZEROS)


@behaviour(3)
def test_adam_with_zero_gradients(observe):
    named(observe, "gaps", ("adam_step",), ZEROS)


@behaviour(
    7,
    on_error="Tensors need not be contiguous in memory.",
    presumes=("adam_with_zero_gradients", "adagrad", "rmsprop_with_zero_gradients"),
)
def test_transposed_views(observe):
    named(observe, "strided", RULES, "a param and a grad that are transposed views give a wrong result.")


@behaviour(10)
def test_each_call_has_its_own_decay_rates(observe):
    case = observe.given["cases"][0]
    grad = case["grads"][3]
    for name, argument in (("rmsprop_step", "alpha=0"), ("adam_step", "betas=(0, 0)")):
        close(
            observe[f"later/{name}changed/after"],
            observe.tensor(f"later/{name}changed/before") - 0.25 * grad / (grad.abs() + 0.5),
            f"{name}: use the decay rates of this call, not those of an earlier one.",
            rtol=1e-12,
            atol=1e-12,
            call=f"a fourth {name}(..., lr=0.25, {argument}, eps=0.5) after three with other rates",
        )


@behaviour(4)
def test_large_eps(observe):
    case = observe.given["cases"][0]
    for name in RULES:
        for i, eps in enumerate(observe.given["eps"]):
            options = {**case["options"][name], "eps": eps}
            says = f"With eps = {eps:.2g} your step is off: add it after the square root."
            check(observe[f"eps/{name}{i}/trace"], name, case["param"], case["grads"], options, says)


@behaviour(4)
def test_zero_gradient(observe):
    flat = observe.given["flat"]
    for name in RULES:
        zero, some = observe.tensor(f"eps/{name}flat/zero"), observe.tensor(f"eps/{name}flat/some")
        for out in (zero, some):
            expect(not out.isnan().any(), f"{name}: a gradient of zero at the first step gave NaN.")
        same = torch.equal(zero, flat["param"])
        expect(same, f"{name}: a gradient of zeros at the first step should move nothing.")
        still = torch.equal(some[flat["grad"] == 0], flat["param"][flat["grad"] == 0])
        expect(still, f"{name}: coordinates whose gradient is zero at the first step should not move.")


@behaviour(8, on_error="Zero is a valid lr, eps and decay rate.")
def test_limits_are_valid(observe):
    case = observe.given["cases"][0]
    decays = {"adagrad_step": {}, "rmsprop_step": {"alpha": 0.0}, "adam_step": {"betas": (0.0, 0.0)}}
    for name in RULES:
        options = {"lr": 0.25, "eps": 0.0, **decays[name]}
        check(
            observe[f"eps/{name}limits/trace"],
            name,
            case["param"],
            case["grads"][:3],
            options,
            f"{name}: with zero decay rates and eps the result is wrong.",
        )
        close(
            observe[f"eps/{name}limits/still"],
            case["param"].expand(3, *case["param"].shape),
            f"{name}: with lr = 0 nothing should move.",
            rtol=0.0,
            atol=0.0,
        )
        full = walk(name, case["param"], case["grads"][:4], {"lr": 0.25})
        close(
            observe[f"eps/{name}limits/paused"],
            full[0] + full[3] - full[2],
            f"{name}: a step with lr = 0 moves nothing, but the state takes note of its gradient.",
            rtol=1e-12,
            atol=1e-11,
            call=f"{name} with lr = 0.25, 0, 0, 0.25",
        )


@behaviour(5)
def test_replay(observe):
    says = "Replaying the same state gave a different result. Build new tensors."
    for name in RULES:
        outs = observe[f"pure/{name}/outs"]
        for k, out in zip((4, 0, 2, 2, 5), observe[f"pure/{name}/replay/outs"], strict=True):
            close(
                out,
                outs[k],
                says,
                rtol=1e-13,
                atol=1e-13,
                call=f"{name} again with the state before step {k + 1}",
            )
        close(
            observe[f"pure/{name}/copied/out"],
            outs[3],
            "A copy of a state gives another result than the state itself.",
            rtol=1e-13,
            atol=1e-13,
            call=name,
        )


@behaviour(5)
def test_state_is_left_alone(observe):
    for name in RULES:
        expect(observe[f"pure/{name}/empty"] == 0, f"{name} wrote into the dictionary that it was given.")
        for k in range(6):
            before, after = observe[f"pure/{name}/states{k}"]
            same = len(before) == len(after) and all(
                a.shape == b.shape and torch.equal(a, b) for a, b in zip(before, after, strict=True)
            )
            expect(same, f"{name} changed a tensor inside the state that it was given.", f"at step {k + 1}")


@behaviour(5)
def test_arguments_are_left_alone(observe):
    case = observe.given["cases"][0]
    for name in RULES:
        visited, outs = observe[f"pure/{name}/visited"], observe[f"pure/{name}/outs"]
        for k, (now, then) in enumerate(zip(visited, [case["param"], *outs], strict=True)):
            expect(torch.equal(now, then), f"{name} changed its param in place.", f"at step {k + 1}")
        same = torch.equal(observe.tensor(f"pure/{name}/grads"), case["grads"])
        expect(same, f"{name} changed its grad in place.")


@behaviour(6)
def test_parameters_do_not_influence_each_other(observe):
    pair = observe.given["pair"]
    for name in RULES:
        for which, trace in enumerate(observe[f"pair/{name}/traces"]):
            says = "Two parameters updated in turn, each with its own state, influence each other."
            if name == "adam_step":
                says += " Is one corrected as if it had taken the other one's steps?"
            check(
                trace,
                name,
                pair["params"][which],
                pair["grads"][which][:5],
                pair["options"][name],
                says,
                call=f"{name} on two parameters in turn, parameter {which + 1}",
            )


@behaviour(7)
def test_shape_and_dtype(observe):
    shape = observe.given["cases"][0]["param"].shape
    for name in RULES:
        for kind, dtype in (
            ("double", torch.float64),
            ("single", torch.float32),
            ("bfloat16", torch.bfloat16),
        ):
            for k in range(3):
                path = f"result/{name}{kind}"
                out = observe.tensor(f"{path}/out{k}")
                expect(out.dtype == dtype, f"{name} changed the dtype.", f"{dtype} became {out.dtype}")
                expect(out.shape == shape, f"{name} changed the shape.", f"{tuple(out.shape)}")
                expect(observe[f"{path}/device{k}"] is True, f"{name} moved the parameter to another device.")
        shape_of_one = tuple(observe.tensor(f"result/{name}number/out").shape)
        expect(shape_of_one == (), f"{name} changed the shape.", f"() became {shape_of_one}")


@behaviour(7, on_error="A parameter that requires grad is the usual case.")
def test_no_graph(observe):
    for name in RULES:
        for k in range(3):
            path = f"result/{name}double"
            expect(
                observe[f"{path}/graph{k}"] is False,
                f"{name}: the new parameter carries an autograd graph; memory would grow with every step.",
            )
            expect(
                observe[f"{path}/state_graph{k}"] is False,
                f"{name}: a tensor in the new state carries an autograd graph.",
            )
        expect(
            observe[f"result/{name}graphed/graph"] is False,
            f"{name}: with a grad that has a history (create_graph=True) the result carries an autograd graph.",
        )
        same = torch.equal(observe.tensor(f"result/{name}double/param"), observe.given["cases"][0]["param"])
        expect(same, f"{name} changed a parameter that requires grad in place.")


SHAPES = {
    "one": "grad of shape (1,) was accepted for a parameter of shape (3,).",
    "scalar": "grad of shape () was accepted for a parameter of shape (3,).",
    "row": "grad of shape (3,) was accepted for a parameter of shape (2, 3).",
    "column": "grad of shape (1, 3) was accepted for a parameter of shape (3, 1).",
    "larger": "grad of shape (2, 3) was accepted for a parameter of shape (3,).",
    "other": "grad of shape (5,) does not fit a parameter of shape (3,).",
    "flat": "grad of shape (6,) does not fit a parameter of shape (2, 3).",
}


@behaviour(8)
def test_shapes_must_agree(observe):
    for name in RULES:
        for kind, says in SHAPES.items():
            observe.raised(f"errors/{name}{kind}", "ValueError", says=f"{name}: {says}")


@behaviour(8)
def test_later_calls_are_checked_too(observe):
    for name in RULES:
        says = f"{name}: bad arguments are refused at every call, not only at the first."
        observe.raised(f"later/{name}changed/lr", "ValueError", says=says)
        observe.raised(f"later/{name}changed/shape", "ValueError", says=says)


@behaviour(8)
def test_bad_numbers_are_refused(observe):
    for name in RULES:
        observe.raised(f"errors/{name}lr", "ValueError", says=f"{name}: a negative lr should be refused.")
        observe.raised(f"errors/{name}eps", "ValueError", says=f"{name}: a negative eps should be refused.")
    for i, value in enumerate((1.0, -0.1, 1.5)):
        observe.raised(f"errors/rmsprop_stepdecay{i}", "ValueError", says=f"alpha={value} should be refused.")
    pairs = ((1.0, 0.9), (0.9, 1.0), (-0.1, 0.9), (0.9, -0.1), (1.2, 0.9), (0.9, 1.2))
    for i, value in enumerate(pairs):
        observe.raised(f"errors/adam_stepdecay{i}", "ValueError", says=f"betas={value} should be refused.")
