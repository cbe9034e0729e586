import torch

from quizapp.judge.testing.checks import behaviour, close, expect

DEFAULTS = {"lr": 0.01, "momentum": 0.0, "weight_decay": 0.0, "nesterov": False}
CASES = {
    "plain": {"lr": 0.1},
    "momentum": {"lr": 0.1, "momentum": 0.9},
    "light": {"lr": 0.1, "momentum": 0.3},
    "decay": {"lr": 0.1, "weight_decay": 0.3},
    "small_decay": {"lr": 0.1, "weight_decay": 5e-4},
    "decay_momentum": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3},
    "nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "nesterov_decay": {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.3, "nesterov": True},
}


def reference(starts, grads, options, mistake=""):
    """The parameters after each step; ``options`` is a dict, or one per parameter, or a function of the step."""
    params = [p.double() for p in starts]
    speed = [torch.zeros_like(p) for p in params]
    begun = [False] * len(params)
    seen = []
    for i, row in enumerate(grads):
        for k, g in enumerate(row):
            now = options(i, k) if callable(options) else options[k] if isinstance(options, list) else options
            lr, momentum, decay, nesterov = ({**DEFAULTS, **now}[key] for key in DEFAULTS)
            p = params[k]
            if g is None and mistake == "zeros":
                g = torch.zeros_like(p)
            if g is None:
                if mistake == "drifts":
                    params[k] = p - lr * speed[k]
                elif mistake == "fades":
                    speed[k] = momentum * speed[k]
                elif mistake == "forgets":
                    speed[k] = torch.zeros_like(p)
                continue
            g = g.double() + (0 if mistake in ("late decay", "no decay") else decay * p)
            old = speed[k]
            share = 1 - momentum if mistake == "average" or (mistake == "average later" and begun[k]) else 1.0
            speed[k] = momentum * old + share * g
            if mistake == "empty start" and not begun[k]:
                speed[k] = torch.zeros_like(p)
            begun[k] = True
            step = speed[k]
            if nesterov and mistake != "classical":
                step = g + momentum * speed[k]
                if mistake == "no gradient":
                    step = momentum * speed[k]
            if mistake == "late decay":
                step = step + decay * p
            params[k] = p - lr * step
        seen.append(list(params))
    return seen


def matches(got, want, rtol, atol):
    """Whether a whole trajectory is the one of a usual mistake."""
    pairs = [(a, b) for row, values in zip(got, want, strict=True) for a, b in zip(row, values, strict=True)]
    return all(a.shape == b.shape and torch.allclose(a.double(), b, rtol=rtol, atol=atol) for a, b in pairs)


def check(
    observe,
    path,
    options,
    says,
    mistakes=None,
    call="",
    grads=None,
    starts=None,
    rtol=0.0,
    atol=1e-11,
    skip=0,
):
    starts, grads = starts or observe.given["starts"], grads or observe.given["grads"]
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


def show(name):
    return f"SGD(params, {', '.join(f'{key}={value}' for key, value in CASES[name].items())})"


@behaviour(1)
def test_plain_steps(observe):
    check(
        observe,
        "run/plain/seen",
        CASES["plain"],
        "Without momentum a step is p - lr * g.",
        call=show("plain"),
    )
    check(
        observe,
        "run/generator/seen",
        CASES["plain"],
        "params may be any iterable, a generator too.",
        grads=observe.given["grads"][:2],
        call="SGD((p for p in params), 0.1)",
    )


@behaviour(2)
def test_momentum(observe):
    for name in ("momentum", "light"):
        check(
            observe,
            f"run/{name}/seen",
            CASES[name],
            "The velocity should be momentum * v + g, and the first step uses v = g.",
            {
                "Your velocity is 10 times too small: this form adds the full gradient.": "average",
                "From the second step on your gradient is multiplied by 1 - momentum: add it in full.": "average "
                "later",
                "The first step of a parameter uses v = g, it is not lost.": "empty start",
            },
            show(name),
        )


@behaviour(2)
def test_gradients_in_the_same_tensors(observe):
    grads = [[g * (i % 4 != 2) for g in row] for i, row in enumerate(observe.given["grads"])]
    check(
        observe,
        "run/momentum_reused/seen",
        CASES["momentum"],
        "The velocity must be a tensor of its own, and a gradient of zeros moves it too: v = momentum * v + 0.",
        call=f"{show('momentum')}, gradients written into the same tensors, every fourth of zeros",
        grads=grads,
    )


@behaviour(2)
def test_scalar_parameter(observe):
    def both(row):
        return [row[1][0], row[2]]

    check(
        observe,
        "run/scalar/seen",
        CASES["momentum"],
        "A parameter without dimensions steps like any other.",
        call=f"{show('momentum')}, the first one without dimensions",
        starts=both(observe.given["starts"]),
        grads=[both(row) for row in observe.given["grads"]],
    )


@behaviour(3)
def test_weight_decay(observe):
    for name in ("decay", "small_decay", "decay_momentum"):
        check(
            observe,
            f"run/{name}/seen",
            CASES[name],
            "weight_decay * p should be added to the gradient before the gradient enters the velocity.",
            {
                "Plain SGD agrees, but with momentum the decay has to flow through the velocity.": "late decay",
                "weight_decay has no effect.": "no decay",
            },
            show(name),
        )


@behaviour(4)
def test_nesterov(observe):
    for name in ("nesterov", "nesterov_decay"):
        check(
            observe,
            f"run/{name}/seen",
            CASES[name],
            "Nesterov should step along g + momentum * v, with the updated velocity and with the decay in g.",
            {
                "Update the velocity first, then look ahead along it. From the old velocity it is classical "
                "momentum.": "classical",
                "The gradient itself is missing from the Nesterov step.": "no gradient",
            },
            show(name),
        )
    check(
        observe,
        "run/nesterov_reused/seen",
        CASES["nesterov"],
        "The velocity must be a tensor of its own, and a gradient of zeros moves it too: v = momentum * v + 0.",
        call=f"{show('nesterov')}, gradients written into the same tensors, every fourth of zeros",
        grads=[[g * (i % 4 != 2) for g in row] for i, row in enumerate(observe.given["grads"])],
    )


@behaviour(5, on_error="A parameter without a gradient has to be skipped.")
def test_missing_gradients(observe):
    for name in ("decay_momentum", "nesterov", "decay"):
        check(
            observe,
            f"skipped/{name}/seen",
            CASES[name],
            "A parameter whose .grad is None must be left alone, and its velocity too.",
            {
                "A parameter without gradient moved. Skip it; its momentum must wait too.": "drifts",
                "A missing gradient is not a gradient of zeros. Skip the parameter; its momentum must wait "
                "too.": "zeros",
                "The velocity faded while the gradient was missing: it must wait.": "fades",
                "The velocity was lost while the gradient was missing: it must wait.": "forgets",
            },
            f"{show(name)}, some gradients None",
            grads=observe.given["gaps"],
        )


@behaviour(6, presumes=("momentum",))
def test_own_velocity(observe):
    start = observe.given["starts"]
    check(
        observe,
        "groups/twins/seen",
        CASES["momentum"],
        "The second parameter is following the first one's history.",
        call=f"{show('momentum')}, two parameters of the same shape",
        grads=[[row[1], -2.0 * row[1], row[2]] for row in observe.given["grads"]],
        starts=[start[1], start[1], start[2]],
    )


@behaviour(6)
def test_own_options(observe):
    check(
        observe,
        "groups/own/seen",
        observe.given["options"],
        "Each param group should use its own lr, momentum, weight_decay and nesterov.",
        call="three param groups with different options",
    )


@behaviour(6)
def test_options_are_read_at_every_step(observe):
    options = observe.given["options"]

    def scheduled(i, k):
        return {
            "lr": options[k]["lr"] / (1 + i),
            "weight_decay": options[k]["weight_decay"] * (1 + i % 3),
            "momentum": options[k]["momentum"] * (0.9 if i % 2 else 1.0),
            "nesterov": options[k]["nesterov"],
        }

    check(
        observe,
        "groups/scheduled/seen",
        scheduled,
        "A change in param_groups should take effect at the next step, and not reach back into the velocity.",
        call="lr, momentum and weight_decay changed before every step",
    )


@behaviour(12)
def test_group_added_later(observe):
    grads = observe.given["grads"]
    check(
        observe,
        "groups/added/seen",
        [{"lr": 0.1, "momentum": 0.9}, {"lr": 0.05, "momentum": 0.9}, {"lr": 0.05, "momentum": 0.9}],
        "A group from add_param_group takes part from the next step on, with its own options.",
        call="a group added after 2 steps",
        grads=[[row[0], None, None] if i < 2 else row for i, row in enumerate(grads)],
        skip=2,
    )


@behaviour(6)
def test_steps_at_a_learning_rate_of_zero(observe):
    check(
        observe,
        "groups/paused/seen",
        lambda i, k: {"lr": 0.0 if i % 4 < 2 else 0.1, "momentum": 0.9 if i < 10 else 0.6},
        "lr and momentum are read from the only group, too, and at a learning rate of 0 the velocity goes on.",
        call="lr 0 in two of four steps, momentum 0.9 and from step 11 on 0.6",
    )


def changes_in_place(observe, case):
    for name, says in {
        "same_params": "The param groups hold other tensors than before.",
        "same_storage": "A parameter moved to other memory: update it in place.",
        "leaves": "After the step a parameter is no longer a leaf that requires grad.",
    }.items():
        expect(observe[f"in_place/{case}/{name}"] == [True] * 3, says, show(case))
    want = reference(observe.given["starts"], [observe.given["grads"][0]] * 3, CASES[case])[-1]
    for got, value in zip(observe[f"in_place/{case}/params"], want, strict=True):
        close(got, value, "Three steps with the same gradients give wrong parameters.", rtol=0, atol=1e-11)


def leaves_gradients(observe, case):
    expect(observe[f"in_place/{case}/same_grads"] == [True] * 3, "The step replaced p.grad.", show(case))
    for got, want in zip(observe[f"in_place/{case}/grads"], observe.given["grads"][0], strict=True):
        expect(
            torch.equal(got, want),
            "Your step changed p.grad; the caller may still need it for logging.",
            f"{show(case)}, three steps",
        )


@behaviour(7)
def test_parameters_change_in_place(observe):
    changes_in_place(observe, "plain")


@behaviour(7)
def test_gradients_are_left_alone(observe):
    leaves_gradients(observe, "plain")


@behaviour(13)
def test_momentum_changes_in_place(observe):
    for case in ("decay_momentum", "nesterov_decay"):
        changes_in_place(observe, case)


@behaviour(13)
def test_momentum_leaves_gradients_alone(observe):
    for case in ("momentum", "nesterov", "decay_momentum", "nesterov_decay"):
        leaves_gradients(observe, case)


def descend(observe, steps):
    """Parameter and losses of the closure's problem."""
    p, curve = observe.given["starts"][1], observe.given["curve"]
    speed, losses = torch.zeros_like(p), []
    for _ in range(steps):
        losses.append((curve * p**2).sum() / 2)
        speed = 0.9 * speed + curve * p
        p = p - 0.1 * speed
    return p, losses


@behaviour(8, on_error="The closure needs gradients enabled, also inside torch.no_grad().")
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
        expect(
            observe[f"closure/{name}/modes"] == [True] * 3,
            f"step(closure) should leave gradients switched on or off as it found them{where}.",
        )
        for got, want in zip(observe[f"closure/{name}/returned"], losses, strict=True):
            expect(got is not None, f"step(closure) should return the closure's value{where}.")
            close(got, want, f"step(closure) should return the closure's value{where}.", rtol=1e-6)
        expect(
            observe[f"closure/{name}/same"] == [True] * 3,
            f"step(closure) should return the closure's value itself, not a number made of it{where}.",
        )
        close(
            observe[f"closure/{name}/p"],
            p,
            f"The step should use the gradients that the closure computed{where}.",
            rtol=0,
            atol=1e-10,
        )


@behaviour(8)
def test_loss_of_zero_is_returned(observe):
    got = observe["closure/zero/returned"]
    expect(got is not None, "A closure that returns 0 returned a value: step(closure) should return it.")
    close(got, 0.0, "step(closure) should return the closure's value.", rtol=0, atol=0)


@behaviour(8)
def test_step_without_closure_returns_none(observe):
    expect(observe["closure/without/returned"] is None, "step() without a closure should return None.")
    expect(
        observe["closure/plain/after"] is None,
        "step() without a closure should return None, also after a step that had one.",
    )


@behaviour(
    9,
    on_error="The state could not be saved and loaded.",
    presumes=("options_are_read_at_every_step", "missing_gradients"),
)
def test_resumed_trajectory(observe):
    says = "After loading the state dict the momentum is gone."
    expect(observe["resume/state_size"] == 3, f"{says} Keep the velocity in self.state.")
    check(
        observe,
        "resume/seen",
        observe.given["options"],
        says,
        call="saved after 6 steps, loaded into a new optimizer",
        grads=observe.given["gaps"],
        skip=6,
    )


@behaviour(14)
def test_buffers_have_the_dtype_of_their_parameter(observe):
    expect(
        observe["single/bfloat16/dtypes"] == ["torch.bfloat16"],
        "Buffers take the dtype of their parameter.",
        f"for bfloat16 parameters self.state holds {observe['single/bfloat16/dtypes']}",
    )
    expect(set(observe["single/bfloat16/params"]) == {"torch.bfloat16"}, "A parameter changed its dtype.")


@behaviour(11)
def test_float32(observe):
    check(
        observe,
        "single/plain/seen",
        CASES["plain"],
        "The trajectory in float32 is wrong.",
        call=show("plain"),
        rtol=1e-4,
        atol=1e-4,
    )


@behaviour(14)
def test_momentum_in_float32(observe):
    check(
        observe,
        "single/nesterov_decay/seen",
        CASES["nesterov_decay"],
        "The trajectory in float32 is wrong.",
        call=show("nesterov_decay"),
        rtol=1e-4,
        atol=1e-4,
    )


REFUSED = {
    "lr": "A negative lr must be refused.",
    "momentum_low": "A negative momentum must be refused.",
    "momentum_high": "momentum = 1 must be refused.",
    "momentum_above": "A momentum above 1 must be refused.",
    "weight_decay": "A negative weight_decay must be refused.",
    "nesterov": "nesterov=True without momentum must be refused.",
}


@behaviour(10)
def test_bad_arguments_are_refused(observe):
    for name, says in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(10, on_error="lr, momentum and weight_decay may be 0.")
def test_zeros_are_valid(observe):
    for got, want in zip(observe["errors/valid/still"], observe.given["starts"], strict=True):
        close(got, want, "With lr=0 nothing moves.", rtol=0, atol=1e-12)
