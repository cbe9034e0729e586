import torch

from quizapp.judge.testing.checks import behaviour, close, expect

NAMES = ("first.weight", "first.bias", "second.weight", "second.bias")
OVERFLOWS = ("inf", "nan", "second", "loss", "one_loss")
STEP = {"rtol": 1e-2, "atol": 3e-3}


def start(given, factor=1.0):
    w1, w2 = given["w1"].double(), given["w2"].double() * factor
    zeros = torch.zeros
    return [w1, zeros(len(w1), dtype=torch.float64), w2, zeros(len(w2), dtype=torch.float64)]


def gradient(given, parameters, count, first=0):
    """Loss and gradient of the mean over micro-batches, in float64."""
    leaves = [p.clone().requires_grad_() for p in parameters]
    losses = []
    for x, y in given["batches"][first : first + count]:
        hidden = torch.tanh(x.double() @ leaves[0].T + leaves[1])
        losses.append(((hidden @ leaves[2].T + leaves[3] - y.double()) ** 2).mean())
    loss = torch.stack(losses).mean()
    return loss.item(), list(torch.autograd.grad(loss, leaves))


def norm_of(grads):
    return torch.cat([g.flatten() for g in grads]).norm().item()


def clipped(grads, limit):
    size = norm_of(grads)
    return [g * min(1.0, limit / size) for g in grads] if limit is not None else grads


def after(given, parameters, grads, limit):
    return [p - given["lr"] * g for p, g in zip(parameters, clipped(grads, limit), strict=True)]


def same_state(observe, path, want, says, mistakes=()):
    """Parameters at `path` must be `want`; `mistakes` are pairs of a sentence and other parameters."""
    got = observe[path]
    flat = torch.cat([got[name].double().flatten() for name in NAMES])
    target = torch.cat([p.flatten() for p in want])
    close(
        flat,
        target,
        says,
        **STEP,
        device=observe.device,
        mistakes=[(text, torch.cat([p.flatten() for p in other])) for text, other in mistakes],
    )


def bit_for_bit(given, state):
    first = {"first.weight": given["w1"], "second.weight": given["w2"]}
    return all(torch.equal(state[name], first.get(name, torch.zeros_like(state[name]))) for name in NAMES)


@behaviour(1)
def test_stale_gradients_do_not_enter(observe):
    says = "Gradients from before this call entered the step."
    close(observe["stale/norm"], observe["stale/clean/norm"], says, rtol=1e-4, device=observe.device)
    clean = observe["stale/clean/state"]
    same_state(observe, "stale/state", [clean[name].double() for name in NAMES], says)


@behaviour(1)
def test_model_is_in_train_mode(observe):
    expect(all(observe["stale/training"]), "The model must run in train mode, whatever its mode was before.")
    expect(observe["stale/left_training"], "The model is left in train mode.")
    expect(
        all(observe["stale/modules"]), "model.train() sets the mode of every submodule, not of the top alone."
    )


@behaviour(2)
def test_forward_and_loss_under_autocast(observe):
    says = "Only the forward pass and the loss belong under autocast, with the dtype that was asked for."
    for name in ("float16", "bfloat16"):
        for _, enabled, dtype in observe[f"autocast/{name}/notes"]:
            expect(
                enabled and dtype == f"torch.{name}", says, f"amp_dtype={name}: the first layer gave {dtype}"
            )
        for enabled, dtype in observe[f"autocast/{name}/inside"]:
            expect(enabled, says, "the loss ran outside")
            expect(dtype == f"torch.{name}", says, f"the outputs were {dtype}")
    for _, enabled, dtype in observe["disabled/notes"]:
        expect(
            enabled and dtype == "torch.bfloat16",
            says,
            f"amp_dtype=bfloat16 and a disabled scaler: the first layer gave {dtype}",
        )
    for note in observe["step/one/notes"]:
        expect(note[2] == "torch.float16", "amp_dtype is float16 by default.", f"got {note[2]}")


@behaviour(2)
def test_backward_outside_autocast(observe):
    for count in (1, 3):
        expect(
            not any(observe[f"calls/{count}/backwards"]),
            "Backward ran under autocast: only the forward pass and the loss belong there.",
        )


@behaviour(2)
def test_autocast_is_off_afterwards(observe):
    expect(
        not observe["autocast/float16/after"] and not observe["step/one/autocast_after"],
        "Autocast was left on.",
    )
    for name in ("float16", "bfloat16"):
        expect(observe[f"autocast/{name}/dtypes"] == ["torch.float32"], "The parameters must stay float32.")


@behaviour(3)
def test_clipped_step(observe):
    given = observe.given
    parameters = start(given)
    for name, count, limit in (("one", 1, given["clip"]), ("loose", 1, 1e4)):
        _, grads = gradient(given, parameters, count)
        scaled = [g * given["scale"] for g in grads]
        tiny = [
            p - given["lr"] * g / given["scale"]
            for p, g in zip(parameters, clipped(scaled, limit), strict=True)
        ]
        still = [p - given["lr"] * g for p, g in zip(parameters, clipped(scaled, limit), strict=True)]
        early = "You compared max_norm with gradients multiplied by the loss scale, so every step was clipped to almost nothing."
        same_state(
            observe,
            f"step/{name}/state",
            after(given, parameters, grads, limit),
            "The parameters are not those of a float32 step clipped to max_norm.",
            [
                (early, tiny),
                ("The gradients were never unscaled.", still),
                ("Nothing was clipped.", after(given, parameters, grads, None))
                if name == "one"
                else ("", still),
                ("No step was made.", parameters),
            ],
        )


@behaviour(3)
def test_default_max_norm(observe):
    given = observe.given
    parameters = start(given, 4.0)
    _, grads = gradient(given, parameters, 1)
    same_state(
        observe, "step/default/state", after(given, parameters, grads, 1.0), "max_norm is 1.0 by default."
    )


@behaviour(3)
def test_steps_in_a_row(observe):
    given = observe.given
    parameters = start(given)
    velocity = [torch.zeros_like(p) for p in parameters]
    for i in range(3):
        _, grads = gradient(given, parameters, 1, first=i)
        velocity = [0.9 * v + g for v, g in zip(velocity, clipped(grads, given["clip"]), strict=True)]
        parameters = [p - given["lr"] * v for p, v in zip(parameters, velocity, strict=True)]
    same_state(
        observe, "momentum/state", parameters, "Three steps with momentum differ from float32 training."
    )


@behaviour(3)
def test_order_of_the_calls(observe):
    calls = observe["calls/1/calls"]
    for name in ("unscale_", "step", "update"):
        expect(
            calls.count(name) == 1,
            f"{name} must be called once per optimizer step.",
            f"it was called {calls.count(name)} times",
        )
    expect(
        calls.index("update") > calls.index("step"),
        "The scale changed before the gradients made with it were used: step comes before update.",
    )
    expect(
        calls == ["scale", "unscale_", "step", "update"],
        "The order is scale, unscale_, step, update.",
        f"got {', '.join(calls)}",
    )


@behaviour(4)
def test_norm_before_clipping(observe):
    given = observe.given
    for name, count in (("one", 1), ("four", 4), ("loose", 1)):
        _, grads = gradient(given, start(given), count)
        size = norm_of(grads)
        close(
            observe[f"step/{name}/grad_norm"],
            size,
            "grad_norm is the norm of the true gradient, before clipping.",
            rtol=2e-2,
            device=observe.device,
            mistakes={
                "The reported norm never exceeds max_norm, so it cannot show an explosion.": min(
                    size, given["clip"]
                ),
                "The norm was taken before unscale_: it is the loss scale too large.": size * given["scale"],
                "That is the squared norm.": size**2,
                "Norms of single parameters do not add up: add their squares.": sum(
                    g.norm().item() for g in grads
                ),
            },
        )


@behaviour(5)
def test_mean_loss(observe):
    given = observe.given
    for name, count in (("one", 1), ("four", 4), ("none", 3)):
        loss, _ = gradient(given, start(given), count)
        last, _ = gradient(given, start(given), 1, first=count - 1)
        close(
            observe[f"step/{name}/loss"],
            loss,
            "loss is the mean over the micro-batches of the unscaled losses.",
            rtol=1e-2,
            device=observe.device,
            mistakes={
                "The loss was scaled; report it in true units.": loss * given["scale"],
                "The losses were summed over the micro-batches.": loss * count,
                "The loss was divided by the number of micro-batches twice.": loss / count,
                "That is the loss of the last micro-batch.": last,
            },
        )
    for name in ("loss", "one_loss"):
        value = observe[f"overflow/{name}/loss"]
        expect(value != value, "A loss that is NaN is reported as it is, not left out.", f"got {value!r}")
    loss, _ = gradient(given, start(given), 2)
    close(observe["step/tuple/loss"], loss, "A tuple of micro-batches works like a list.", rtol=1e-2)


@behaviour(5)
def test_result_holds_plain_values(observe):
    expect(
        {"loss", "grad_norm", "skipped"} <= set(observe["step/one/keys"]),
        "The result is a dict with loss, grad_norm and skipped.",
    )
    for key, kind in (("loss", float), ("grad_norm", float), ("skipped", bool)):
        value = observe[f"step/one/{key}"]
        expect(type(value) is kind, f"{key} is a Python {kind.__name__}.", f"got {value!r}")


@behaviour(6)
def test_micro_batches_are_averaged(observe):
    given = observe.given
    parameters = start(given)
    for name, count, limit in (("four", 4, given["clip"]), ("none", 3, None)):
        _, grads = gradient(given, parameters, count)
        large = [g * count for g in grads]
        _, last = gradient(given, parameters, 1, first=count - 1)
        same_state(
            observe,
            f"step/{name}/state",
            after(given, parameters, grads, limit),
            "The step is not that of the mean loss of the micro-batches.",
            [
                (
                    "Four micro-batches gave a gradient four times too large: divide by their number.",
                    after(given, parameters, large, limit),
                ),
                ("Only the last micro-batch counted.", after(given, parameters, last, limit)),
            ]
            if limit is None
            else [("Only the last micro-batch counted.", after(given, parameters, last, limit))],
        )
        close(
            observe[f"step/{name}/grad_norm"],
            norm_of(grads),
            "The gradient is not that of the mean loss of the micro-batches.",
            rtol=2e-2,
            device=observe.device,
            mistakes={
                "Four micro-batches gave a gradient four times too large: divide by their number.": norm_of(
                    large
                )
            },
        )


@behaviour(6)
def test_calls_with_micro_batches(observe):
    calls = observe["calls/3/calls"]
    says = "Unscale, clip, step and update once per optimizer step, after all micro-batches."
    expect(
        calls.count("scale") == 3,
        "Each micro-batch's loss is scaled once.",
        f"scale was called {calls.count('scale')} times",
    )
    expect(calls == ["scale"] * 3 + ["unscale_", "step", "update"], says, f"got {', '.join(calls)}")
    calls = observe["calls/none/calls"]
    expect(
        calls == ["scale"] * 2 + ["unscale_", "step", "update"],
        "unscale_ is called once with max_norm=None too.",
        f"got {', '.join(calls)}",
    )


@behaviour(7)
def test_overflow_changes_no_parameter(observe):
    for name in OVERFLOWS:
        expect(
            bit_for_bit(observe.given, observe[f"overflow/{name}/state"]),
            "A gradient was inf or NaN, yet the parameters changed. Let the scaler decide: step() skips the update "
            "and update() lowers the scale.",
            name,
        )


@behaviour(7)
def test_calls_after_an_overflow(observe):
    calls = observe["overflow_calls/calls"]
    expect(
        calls == ["scale"] * 2 + ["unscale_", "step", "update"],
        "With an inf or NaN gradient the calls are the same: step() itself skips the update.",
        f"got {', '.join(calls)}",
    )


@behaviour(7)
def test_scaler_backs_off(observe):
    for name in OVERFLOWS:
        expect(
            observe[f"overflow/{name}/scale"] == observe.given["scale"] / 4,
            "Let the scaler decide: step() skips the update and update() lowers the scale.",
            f"the scale is {observe[f'overflow/{name}/scale']:g} after starting at {observe.given['scale']:g} "
            "with backoff_factor=0.25",
        )


@behaviour(7)
def test_overflow_is_reported(observe):
    for name in OVERFLOWS:
        value = observe[f"overflow/{name}/skipped"]
        expect(
            value is True,
            "skipped must be True where no step was made.",
            f"got {value!r} (backoff_factor=0.25, growth_factor=3)",
        )


@behaviour(7)
def test_next_call_works(observe):
    given = observe.given
    _, grads = gradient(given, start(given), 2)
    for name in OVERFLOWS:
        value = observe[f"overflow/{name}/next/skipped"]
        expect(value is False, "The call after an overflow must make its step.", f"skipped is {value!r}")
        same_state(
            observe,
            f"overflow/{name}/next/state",
            after(given, start(given), grads, None),
            "The call after an overflow must work normally.",
            [
                (
                    "The schedule was stepped before the optimizer, which then moved at the next rate.",
                    [p - g * given["lr"] / 2 for p, g in zip(start(given), grads, strict=True)],
                )
            ],
        )


@behaviour(8)
def test_growth_is_no_skip(observe):
    expect(
        observe["growth/skipped"] == [False] * 4,
        "The scale also changes when it grows, by any factor; only a decrease tells of a skipped step.",
        f"skipped was {observe['growth/skipped']}",
    )
    scale = observe.given["scale"]
    expect(
        observe["growth/scales"] == [scale, 3 * scale, 3 * scale, 9 * scale],
        "update() must be called once per step, so that the scale grows after growth_interval of them.",
    )
    expect(observe["step/one/skipped"] is False, "skipped is False for a step that was made.")


@behaviour(9)
def test_scheduler_steps_with_the_optimizer(observe):
    lr = observe.given["lr"]
    close(
        observe["growth/rates"],
        [lr / 2, lr / 4, lr / 8, lr / 16],
        "lr_scheduler must be stepped once after every step that was made.",
        rtol=1e-6,
    )


@behaviour(9)
def test_scheduler_waits_for_a_skipped_step(observe):
    lr = observe.given["lr"]
    for name in OVERFLOWS:
        close(
            observe[f"overflow/{name}/rate"],
            lr,
            "The schedule moved on although no step was made.",
            rtol=1e-6,
        )
        close(
            observe[f"overflow/{name}/next/rate"],
            lr / 2,
            "After the step that was made the schedule must move on.",
            rtol=1e-6,
        )


@behaviour(10)
def test_no_clipping(observe):
    given = observe.given
    _, grads = gradient(given, start(given), 3)
    same_state(
        observe,
        "step/none/state",
        after(given, start(given), grads, None),
        "None means that nothing is clipped.",
        [("None means that nothing is clipped.", after(given, start(given), grads, 1.0))],
    )
    close(
        observe["step/none/grad_norm"],
        norm_of(grads),
        "With max_norm=None the norm is still reported.",
        rtol=2e-2,
        device=observe.device,
    )


@behaviour(10)
def test_max_norm_of_zero(observe):
    says = "max_norm=0.0 is a limit like any other: everything is clipped away. Only None means no clipping."
    same_state(observe, "step/zero/state", start(observe.given), says)


@behaviour(4)
def test_parameter_groups(observe):
    given, says = observe.given, "With two parameter groups in the optimizer"
    _, grads = gradient(given, start(given), 2)
    close(observe["groups/grad_norm"], norm_of(grads), f"{says} the norm is wrong.", rtol=2e-2)
    want = after(given, start(given), grads, given["clip"])
    same_state(observe, "groups/state", want, f"{says} the step is wrong.")


@behaviour(4, on_error="A parameter that is frozen or was not used has no gradient.")
def test_parameters_without_a_gradient(observe):
    given, says = observe.given, "With the first layer frozen"
    _, grads = gradient(given, start(given), 2)
    grads = [*(torch.zeros_like(g) for g in grads[:2]), *grads[2:]]
    close(observe["frozen/grad_norm"], norm_of(grads), f"{says} the norm is wrong.", rtol=2e-2)
    want = after(given, start(given), grads, given["clip"])
    same_state(observe, "frozen/state", want, f"{says} the step is wrong.")


@behaviour(10)
def test_disabled_scaler(observe):
    given = observe.given
    loss, grads = gradient(given, start(given), 2)
    value = observe["disabled/skipped"]
    expect(value is False, "With a disabled scaler every step counts as made.", f"skipped is {value!r}")
    same_state(
        observe,
        "disabled/state",
        after(given, start(given), grads, given["clip"]),
        "With a disabled scaler (bfloat16) the step is wrong.",
    )
    close(
        observe["disabled/grad_norm"], norm_of(grads), "With a disabled scaler the norm is wrong.", rtol=3e-2
    )
    close(observe["disabled/loss"], loss, "With a disabled scaler the loss is wrong.", rtol=2e-2)
    close(
        observe["disabled/rate"],
        given["lr"] / 2,
        "With a disabled scaler the schedule must move on.",
        rtol=1e-6,
    )


@behaviour(11)
def test_empty_sequence_is_refused(observe):
    observe.raised("empty/call", "ValueError", says="An empty sequence must be refused.")


@behaviour(11)
def test_nothing_changes_before_the_error(observe):
    says = "An empty sequence must raise before anything changes."
    expect(bit_for_bit(observe.given, observe["empty/state"]), says, "the parameters changed")
    expect(
        all(grad is not None and bool((grad == 2.0).all()) for grad in observe["empty/grads"]),
        says,
        "the gradients were cleared",
    )
    expect(observe["empty/training"] is False, says, "the mode changed")
    expect(observe["empty/calls"] == [], says, "the scaler was called")
    close(observe["empty/rate"], observe.given["lr"], says, rtol=1e-6)
