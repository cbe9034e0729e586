import torch

from quizapp.judge.testing.checks import behaviour, close, expect

DEFAULTS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2}


def reference(starts, grads, options, mistake="", state=None):
    """The parameters after each step; ``options`` is a dict, or one per parameter, or a function of the step."""
    params = [p.double() for p in starts]
    state = state or [{"t": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)} for p in params]
    seen = []
    for i, row in enumerate(grads):
        for k, g in enumerate(row):
            now = options(i, k) if callable(options) else options[k] if isinstance(options, list) else options
            now = {**DEFAULTS, **now}
            lr, (beta1, beta2), eps, decay = now["lr"], now["betas"], now["eps"], now["weight_decay"]
            s, p = state[k], params[k]
            if g is None and mistake == "zeros":
                g = torch.zeros_like(p)
            if g is None:
                if mistake == "decays":
                    params[k] = p * (1 - lr * decay)
                continue
            s["t"] += 1
            t = i + 1 if mistake == "global" else s["t"]
            g = g.double()
            if mistake == "l2":
                g = g + decay * p
            elif mistake == "no lr":
                p = p * (1 - decay)
            elif mistake != "no decay":
                p = p * (1 - lr * decay)
            s["m"] = beta1 * s["m"] + (1 - beta1) * g
            s["v"] = beta2 * s["v"] + (1 - beta2) * g * g
            first = 1.0 if mistake in ("raw", "raw m") else 1 - beta1**t
            second = 1.0 if mistake in ("raw", "raw v") else 1 - beta2**t
            root = (s["v"] / second).sqrt() + eps
            if mistake == "eps inside":
                root = (s["v"] / second + eps).sqrt()
            elif mistake == "eps early":
                root = (s["v"].sqrt() + eps) / second**0.5
            params[k] = p - lr * (s["m"] / first) / root
        seen.append(list(params))
    return seen


def check(observe, path, grads, options, says, mistakes=None, call="", rtol=0.0, atol=1e-10, skip=0):
    starts = observe.given["starts"]
    got, want = observe[path], reference(starts, grads, options)
    expect(len(got) == len(want) - skip, "The run has the wrong number of steps.")
    for text, key in (mistakes or {}).items():
        if matches(got, reference(starts, grads, options, key)[skip:], rtol, atol):
            says = text
            break
    for i, (row, values) in enumerate(zip(got, want[skip:], strict=True)):
        for k, (value, right) in enumerate(zip(row, values, strict=True)):
            where = f"{call}, parameter {k} after step {i + 1 + skip}".removeprefix(", ")
            close(value, right, says, rtol=rtol, atol=atol, call=where)


def matches(got, want, rtol, atol):
    """Whether a whole trajectory is the one of a usual mistake."""
    pairs = [(a, b) for row, values in zip(got, want, strict=True) for a, b in zip(row, values, strict=True)]
    return all(a.shape == b.shape and torch.allclose(a.double(), b, rtol=rtol, atol=atol) for a, b in pairs)


CORRECTION = "The first step should be lr in every coordinate; without correction yours is about "
L2 = "That is Adam with L2: weights with large gradients are hardly decayed. Shrink the weights directly."


@behaviour(1)
def test_default_trajectory(observe):
    check(
        observe,
        "default/seen",
        observe.given["grads"],
        DEFAULTS,
        "With default arguments the parameters are not those of torch.optim.AdamW.",
        {L2: "l2", "The default weight decay of 0.01 is missing.": "no decay"},
        "AdamW(params)",
    )
    check(
        observe,
        "default/generator/seen",
        observe.given["grads"][:2],
        DEFAULTS,
        "params may be any iterable, a generator too.",
        call="AdamW(p for p in params)",
    )


@behaviour(2)
def test_first_step(observe):
    grad, start = observe.given["first"], observe.given["starts"][0]

    def moved(factor):
        return start - 0.1 * factor * grad.sign()

    close(
        observe["first/p"],
        moved(1.0),
        "The first step should move every coordinate by lr against the sign of its gradient.",
        rtol=0,
        atol=2e-6,
        call="AdamW([p], lr=0.1, weight_decay=0), one step",
        mistakes={
            f"{CORRECTION}3 times as long.": moved(0.1 / 0.001**0.5),
            f"{CORRECTION}32 times too large, as only the first moment is corrected.": moved(1 / 0.001**0.5),
            f"{CORRECTION}10 times too small, as only the second moment is corrected.": moved(0.1),
            "The step goes up the slope: subtract it.": moved(-1.0),
        },
    )


@behaviour(2)
def test_bias_correction_later(observe):
    check(
        observe,
        "decay/none/seen",
        observe.given["grads"],
        {"lr": 0.1, "weight_decay": 0.0},
        "The moments are not corrected with 1 - beta**t, with t the number of this step.",
        {
            "Both moments lack the bias correction.": "raw",
            "The first moment lacks the bias correction.": "raw m",
            "The second moment lacks the bias correction.": "raw v",
        },
        "AdamW(params, lr=0.1, weight_decay=0)",
    )


@behaviour(3)
def test_zero_gradient_leaves_decay(observe):
    rows = [[torch.zeros_like(p) for p in observe.given["starts"]]] * 3
    check(
        observe,
        "decay/zero/seen",
        rows,
        {"lr": 0.1, "weight_decay": 0.3},
        "With an all-zero gradient a step should multiply the parameter by 1 - lr * weight_decay and no more.",
        {
            L2: "l2",
            "With lr = 0.1 the weights should lose lr * weight_decay, not weight_decay.": "no lr",
            "A parameter whose gradient is zero still decays.": "no decay",
        },
        "AdamW(params, lr=0.1, weight_decay=0.3) with zero gradients",
    )


@behaviour(3)
def test_zero_gradients_in_between(observe):
    rows = [[g * (i not in (3, 4, 7)) for g in row] for i, row in enumerate(observe.given["grads"][:10])]
    check(
        observe,
        "decay/later/seen",
        rows,
        {"lr": 0.1, "weight_decay": 0.3},
        "A zero gradient after others is a gradient like any other: the moments decay and still move the parameter.",
        call="AdamW(params, lr=0.1, weight_decay=0.3), gradients zero at steps 4, 5 and 8",
    )


@behaviour(3)
def test_decoupled_decay(observe):
    check(
        observe,
        "decay/usual/seen",
        observe.given["grads"],
        {"lr": 0.1, "weight_decay": 0.3},
        "The decay is wrong: first shrink the parameter by 1 - lr * weight_decay, then take the Adam step.",
        {L2: "l2", "With lr = 0.1 the weights should lose lr * weight_decay, not weight_decay.": "no lr"},
        "AdamW(params, lr=0.1, weight_decay=0.3)",
    )


@behaviour(3, on_error="A parameter may be a single number, with shape ().")
def test_scalar_parameter(observe):
    given = observe.given
    rows = [[row[0][0, 0]] for row in given["grads"][:5]]
    want = reference([given["starts"][0][0, 0]], rows, {"lr": 0.1, "weight_decay": 0.3})
    for i, (got, (value,)) in enumerate(zip(observe["decay/scalar/seen"], want, strict=True)):
        close(
            got,
            value,
            "A parameter of shape () decays and moves like any other.",
            rtol=0,
            atol=1e-10,
            call=f"AdamW([p], lr=0.1, weight_decay=0.3) after step {i + 1}",
        )


@behaviour(14)
def test_decay_factor_below_zero(observe):
    check(
        observe,
        "decay/beyond_one/seen",
        observe.given["grads"][:3],
        {"lr": 1.5, "weight_decay": 1.0},
        "The factor is 1 - lr * weight_decay as it is, also where it is negative.",
        call="AdamW(params, lr=1.5, weight_decay=1.0)",
    )


@behaviour(4)
def test_eps(observe):
    says = "With eps = 0.1 you differ: take the root, correct it, then add eps."
    check(
        observe,
        "eps/seen",
        observe.given["grads"],
        {"lr": 0.1, "eps": 0.1, "weight_decay": 0.0},
        "With eps = 0.1 the parameters are not those of torch.optim.AdamW.",
        {says: "eps inside", f"{says} Yours is added before the correction.": "eps early"},
        "AdamW(params, lr=0.1, eps=0.1, weight_decay=0)",
    )


@behaviour(5, on_error="A parameter without a gradient has to be skipped.")
def test_missing_gradients(observe):
    check(
        observe,
        "skipped/seen",
        observe.given["gaps"],
        {"lr": 0.1, "weight_decay": 0.3},
        "A parameter whose .grad is None must be left alone entirely: value, moments and step count.",
        {
            "A parameter without gradient shrank.": "decays",
            "A missing gradient is not a gradient of zeros: the moments must wait.": "zeros",
            "A step without gradient must not be counted for that parameter.": "global",
        },
        "AdamW(params, lr=0.1, weight_decay=0.3), some gradients None",
    )


@behaviour(6, on_error="A parameter without a gradient has to be skipped.")
def test_own_step_count(observe):
    rows, late = [list(row) for row in observe.given["grads"]], observe.given["late"]
    for row in rows[:late]:
        row[1] = None
    check(
        observe,
        "late/seen",
        rows,
        {"lr": 0.1, "weight_decay": 0.3},
        "A parameter that gets its first gradient late should start with the full bias correction.",
        {"The layer that was unfrozen at step 10 got the correction of step 10.": "global"},
        f"AdamW(params, lr=0.1), parameter 1 without gradient before step {late + 1}",
    )


@behaviour(7)
def test_own_options(observe):
    options = observe.given["options"]
    check(
        observe,
        "groups/own/seen",
        observe.given["grads"],
        options,
        "Each param group should use its own lr, betas, eps and weight_decay.",
        call="three param groups with different options",
    )


@behaviour(7, presumes=("own_options",))
def test_options_are_read_at_every_step(observe):
    options = observe.given["options"]
    says = "The options must be read from param_groups at every step: a change there had no effect."
    check(observe, "groups/changed/seen", observe.given["grads"][:10], options[0], says)

    def scheduled(i, k):
        return {
            "lr": options[k]["lr"] / (1 + i),
            "betas": options[k]["betas"],
            "weight_decay": options[k]["weight_decay"] * (1 + i % 3),
            "eps": options[k]["eps"] * (1 + i % 2),
        }

    check(observe, "groups/scheduled/seen", observe.given["grads"], scheduled, says)


@behaviour(7)
def test_warmup_from_zero(observe):
    check(
        observe,
        "groups/warmup/seen",
        observe.given["grads"][:10],
        lambda i, k: {"lr": 0.1 * max(0, i - 2), "weight_decay": 0.3},
        "A step with lr = 0 moves nothing, but it is a step: moments and step count go on.",
        call="a schedule that starts with three steps of lr = 0",
    )


@behaviour(13)
def test_changing_betas(observe):
    check(
        observe,
        "groups/momentum/seen",
        observe.given["grads"][:10],
        lambda i, k: {
            "lr": 0.1,
            "weight_decay": 0.3,
            "betas": (0.95 - 0.1 * (i % 3), 0.99 - 0.05 * (i % 2)),
        },
        "Where a schedule changes betas, moments and corrections (1 - beta**t) use the present ones.",
        call="betas that change at every step",
    )


@behaviour(8)
def test_parameters_change_in_place(observe):
    for name, says in {
        "same_params": "The param groups hold other tensors than before.",
        "same_storage": "A parameter moved to other memory: update it in place.",
        "leaves": "After the step a parameter is no longer a leaf that requires grad.",
    }.items():
        expect(observe[f"in_place/{name}"] == [True] * 3, says)
    want = reference(
        observe.given["starts"], [observe.given["grads"][0]] * 3, {"lr": 0.1, "weight_decay": 0.3}
    )[-1]
    for got, value in zip(observe["in_place/params"], want, strict=True):
        close(got, value, "Three steps with the same gradients give wrong parameters.", rtol=0, atol=1e-10)


@behaviour(8)
def test_gradients_are_left_alone(observe):
    expect(observe["in_place/same_grads"] == [True] * 3, "The step replaced p.grad.")
    for got, want in zip(observe["in_place/grads"], observe.given["grads"][0], strict=True):
        expect(torch.equal(got, want), "Your step changed p.grad; the caller may still need it for logging.")


def descend(observe, steps):
    """Parameter and loss of the closure's problem."""
    p, curve = observe.given["starts"][1], observe.given["curve"]
    state = [{"t": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)}]
    losses = []
    for _ in range(steps):
        losses.append(((curve * p**2).sum() / 2).item())
        ((p,),) = reference([p], [[curve * p]], {"lr": 0.1, "weight_decay": 0.3}, state=state)
    return p, losses


@behaviour(9, on_error="The closure needs gradients enabled, also inside torch.no_grad().")
def test_closure(observe):
    p, losses = descend(observe, 3)
    for name in ("plain", "no_grad"):
        where = "" if name == "plain" else " inside torch.no_grad()"
        calls = observe[f"closure/{name}/calls"]
        expect(
            len(calls) == 3,
            f"step(closure) should call the closure once{where}.",
            f"{len(calls)} calls in 3 steps",
        )
        expect(all(calls), f"The closure should run with gradients enabled{where}.")
        returned = observe[f"closure/{name}/returned"]
        expect(
            all(isinstance(value, torch.Tensor) for value in returned),
            f"step(closure) should return the closure's value{where}, the tensor itself.",
            f"got {type(returned[0]).__name__}",
        )
        enabled = name == "plain"
        expect(
            observe[f"closure/{name}/modes"] == [enabled] * 3,
            f"After step(closure){where} gradients should be {'en' if enabled else 'dis'}abled as before it.",
        )
        for got, want in zip(returned, losses, strict=True):
            close(
                got, torch.tensor(want), f"step(closure) should return the closure's value{where}.", rtol=1e-6
            )
        close(
            observe[f"closure/{name}/p"],
            p,
            f"The step should use the gradients that the closure computed{where}.",
            rtol=0,
            atol=1e-9,
        )


@behaviour(9)
def test_closure_value_of_zero(observe):
    returned = observe["closure/zero/returned"]
    says = "step(closure) should return the closure's value, also where the loss is 0."
    expect(isinstance(returned, torch.Tensor), says, f"got {returned!r}")
    close(returned, torch.tensor(0.0), says)


@behaviour(9)
def test_step_without_closure_returns_none(observe):
    expect(observe["closure/without/returned"] is None, "step() without a closure should return None.")


@behaviour(
    10,
    on_error="The state could not be saved and loaded.",
    presumes=("missing_gradients", "options_are_read_at_every_step"),
)
def test_resumed_trajectory(observe):
    says = "After resuming from the state dict, moments restart from zero."
    expect(observe["resume/state_size"] == 3, f"{says} Keep them in self.state.")
    check(
        observe,
        "resume/seen",
        observe.given["gaps"],
        observe.given["options"],
        f"After loading the state dict the trajectory is another one. {says}",
        call="saved after 6 steps, loaded into a new optimizer",
        skip=6,
    )


@behaviour(10)
def test_float32(observe):
    check(
        observe,
        "single/seen",
        observe.given["grads"],
        {"lr": 0.1, "weight_decay": 0.3},
        "The trajectory in float32 is wrong.",
        rtol=1e-3,
        atol=1e-3,
    )


REFUSED = {
    "lr": "A negative lr must be refused.",
    "eps": "A negative eps must be refused.",
    "weight_decay": "A negative weight_decay must be refused.",
    "beta1_low": "A negative beta1 must be refused.",
    "beta1_high": "beta1 = 1 must be refused.",
    "beta2_low": "A negative beta2 must be refused.",
    "beta2_high": "beta2 = 1 must be refused.",
}


@behaviour(11)
def test_bad_arguments_are_refused(observe):
    for name, says in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(11, on_error="lr, betas, eps and weight_decay may be 0.")
def test_zeros_are_valid(observe):
    starts, grads = observe.given["starts"], observe.given["grads"]
    for got, want in zip(observe["errors/valid/still"], starts, strict=True):
        close(got, want, "With lr=0 nothing moves.", rtol=0, atol=1e-12)
    check(
        observe,
        "errors/valid/signs",
        grads[:2],
        {"lr": 0.1, "betas": (0.0, 0.0), "eps": 0.0, "weight_decay": 0.0},
        "With betas, eps and weight_decay of 0 each step moves by lr against the sign of the gradient.",
        # A moment that is updated by its difference to the new value loses digits in small gradients.
        atol=1e-6,
    )
