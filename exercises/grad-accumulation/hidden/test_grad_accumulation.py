from functools import partial

import torch

from quizapp.judge.testing.checks import behaviour, close, expect


def forward(params, x):
    w1, b1, w2, b2 = params
    return torch.tanh(x @ w1.T + b1) @ w2.T + b2


def squares(out, y):
    return ((out - y) ** 2).sum(1).mean()


class Reference:
    """SGD with momentum and weight decay on whole batches, or with a usual mistake in the weights."""

    def __init__(self, observe, max_norm=None, loss=squares):
        self.params = [t.clone() for t in observe.given["model"]]
        self.velocity = [torch.zeros_like(t) for t in self.params]
        self.max_norm, self.loss_fn = max_norm, loss

    def gradient(self, x, y):
        params = [p.clone().requires_grad_() for p in self.params]
        loss = self.loss_fn(forward(params, x), y)
        return loss.item(), list(torch.autograd.grad(loss, params))

    def clip(self, grads):
        norm = torch.stack([g.norm() for g in grads]).norm().item()
        factor = 1.0 if self.max_norm is None else min(1.0, self.max_norm / norm)
        return [g * factor for g in grads]

    def step(self, batches, mistake="", window=1):
        parts = [self.gradient(x, y) for x, y in batches]
        n = [len(x) for x, _ in batches]
        weights = [size / sum(n) for size in n]
        if mistake == "unscaled":
            weights = [1.0] * len(n)
        elif mistake == "per batch":
            weights = [1 / len(n)] * len(n)
        elif mistake == "per window":
            weights = [1 / window] * len(n)
        elif mistake == "last":
            weights = [0.0] * (len(n) - 1) + [weights[-1]]
        elif mistake == "last alone":
            weights = [0.0] * (len(n) - 1) + [1.0]
        if mistake == "clip parts":
            parts = [(loss, self.clip(grads)) for loss, grads in parts]
        if mistake == "clip before dividing":
            weights = n
        grads = [sum(w * part[1][k] for w, part in zip(weights, parts, strict=True)) for k in range(4)]
        if mistake == "clip every time":
            grads = [torch.zeros_like(p) for p in self.params]
            for w, (_, part) in zip(weights, parts, strict=True):
                grads = self.clip([g + w * new for g, new in zip(grads, part, strict=True)])
        elif mistake == "clip values":
            grads = [g.clamp(-self.max_norm, self.max_norm) for g in grads]
        elif mistake == "clip each":
            grads = [self.clip([g])[0] for g in grads]
        elif mistake == "clip before dividing":
            grads = [g / sum(n) for g in self.clip(grads)]
        elif mistake != "no clip":
            grads = self.clip(grads)
        for k, grad in enumerate(grads):
            self.velocity[k] = 0.9 * self.velocity[k] + grad + 0.01 * self.params[k]
            self.params[k] = self.params[k] - 0.2 * self.velocity[k]
        return sum(size * part[0] for size, part in zip(n, parts, strict=True)) / sum(n)


def same(got, want, tolerance):
    return all(torch.allclose(a, b, **tolerance) for a, b in zip(got, want, strict=True))


def check(observe, path, want, says, mistakes=(), clipped=False, call=""):
    """``mistakes``: pairs of a sentence and a function for the parameters that it gives."""
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if clipped else {"rtol": 1e-9, "atol": 1e-10}
    got = observe[path]
    if not same(got, want, tolerance):
        for text, mistaken in mistakes:
            if same(got, mistaken(), tolerance):
                says = text
                break
    for value, right in zip(got, want, strict=True):
        close(value, right, says, **tolerance, device=observe.device, call=call)


LONG = "Your step is k times too long: the mean over k micro-batches needs a factor."
SHARES = "Every example has the same weight, not every micro-batch: a small batch counts too much in yours."
ONLY_LAST = "Only the last micro-batch had any effect."


def slips(observe, batches, kinds, max_norm=None):
    def mistaken(kind):
        run = Reference(observe, max_norm)
        run.step(batches, kind)
        return run.params

    return [(text, partial(mistaken, kind)) for text, kind in kinds]


WEIGHTS = [(LONG, "unscaled"), (SHARES, "per batch"), (ONLY_LAST, "last"), (ONLY_LAST, "last alone")]


def check_step(observe, names):
    for name in names:
        batches = observe.given[name]
        sizes = ", ".join(str(len(x)) for x, _ in batches)
        run = Reference(observe)
        run.step(batches)
        check(
            observe,
            f"step/{name}_plain/params",
            run.params,
            "The parameters are not those after one step on the whole batch.",
            slips(observe, batches, WEIGHTS),
            call=f"accumulate_step on micro-batches of {sizes} examples",
        )


@behaviour(1)
def test_equal_sizes(observe):
    check_step(observe, ("equal", "single"))


@behaviour(2)
def test_different_sizes(observe):
    check_step(observe, ("ragged", "tail"))


@behaviour(2)
def test_class_labels(observe):
    run = Reference(observe, loss=torch.nn.functional.cross_entropy)
    run.step(observe.given["labels"])
    check(
        observe,
        "step/labels/params",
        run.params,
        "With cross-entropy the parameters are not those after one step on the whole batch.",
        call="micro-batches of 6, 2 and 5 examples",
    )


@behaviour(3)
def test_one_step_per_call(observe):
    for name in ("equal", "ragged", "single"):
        count = observe[f"step/{name}_plain/events"].count("step")
        expect(count == 1, "accumulate_step should call optimizer.step() exactly once.", f"{count} calls")
        expect(
            observe[f"step/{name}_plain/events"][-1] == "step",
            "The optimizer steps after the last micro-batch.",
        )
    # Refusing such a loss with an error would be no silent change of the number of steps.
    if observe.error("structures/infinite") is None:
        count = observe["structures/infinite/events"].count("step")
        expect(
            count == 1,
            "accumulate_step should call optimizer.step() exactly once, where the loss is infinite too.",
            f"{count} calls",
        )


@behaviour(3, presumes=("different_sizes",))
def test_old_gradients_have_no_influence(observe):
    run = Reference(observe)
    run.step(observe.given["ragged"])
    check(
        observe,
        "stale/params",
        run.params,
        "The gradient from before the call is still in the first step.",
        call="accumulate_step on a model whose parameters had gradients",
    )
    if observe.error("structures/spare") is None:
        close(
            observe["structures/spare/unused"],
            observe.given["model"][1],
            "A gradient from before the call moved a parameter that the model did not use.",
            device=observe.device,
            call="accumulate_step with SGD, a gradient of 30 left in an unused parameter",
        )
    for name in ("equal", "ragged"):
        run = Reference(observe)
        run.step(observe.given[name])
        run.step(observe.given["second"])
        check(
            observe,
            f"step/{name}_plain/later",
            run.params,
            "The second call is wrong: something of the first one is still in the gradients.",
            call="accumulate_step, called twice",
        )


@behaviour(4)
def test_clipping(observe):
    for name in ("equal", "ragged", "tail", "single"):
        batches = observe.given[name]
        run = Reference(observe, 0.3)
        run.step(batches)
        kinds = [
            ("Clip the sum, not the parts.", "clip parts"),
            ("Clip once, after the last micro-batch, not after each of them.", "clip every time"),
            ("max_norm has no effect.", "no clip"),
            ("max_norm bounds the norm of the gradient, not its single values.", "clip values"),
            ("max_norm bounds the norm over all parameters together, not that of each.", "clip each"),
            (
                "Clip the gradient of the mean loss: yours was clipped before it was divided.",
                "clip before dividing",
            ),
        ]
        check(
            observe,
            f"step/{name}_clipped/params",
            run.params,
            "With max_norm the step is not the one on the clipped gradient of the whole batch.",
            slips(observe, batches, kinds if name != "single" else kinds[2:], 0.3),
            clipped=True,
            call="accumulate_step with max_norm=0.3",
        )


@behaviour(4)
def test_small_gradients_are_not_clipped(observe):
    for name in ("equal", "ragged"):
        run = Reference(observe)
        run.step(observe.given[name])
        check(
            observe,
            f"step/{name}_loose/params",
            run.params,
            "A gradient below max_norm should not change.",
            clipped=True,
            call="accumulate_step with max_norm=1e6",
        )


def check_shared(observe, how, max_norm):
    run = Reference(observe, max_norm)
    run.step(observe.given["ragged"])
    check(
        observe,
        f"structures/shared_{how}/params",
        run.params,
        "With a weight that has two names the parameters are not those after one step on the whole batch.",
        clipped=max_norm is not None,
        call=f"accumulate_step with max_norm={max_norm}",
    )


@behaviour(2)
def test_shared_parameters(observe):
    check_shared(observe, "plain", None)


@behaviour(4)
def test_clipping_with_shared_parameters(observe):
    check_shared(observe, "clipped", 0.3)


@behaviour(4)
def test_parameter_groups(observe):
    for how, max_norm in (("plain", None), ("clipped", 0.3)):
        run = Reference(observe, max_norm)
        run.step(observe.given["ragged"])
        check(
            observe,
            f"structures/groups_{how}/params",
            run.params,
            "With two parameter groups in the optimizer the step is wrong: "
            "clear the gradients of all groups, and clip by the norm over all of them.",
            clipped=max_norm is not None,
            call=f"accumulate_step, all gradients 30 before, max_norm={max_norm}",
        )


@behaviour(5)
def test_one_graph_at_a_time(observe):
    for name in ("equal", "ragged", "tail"):
        events = [event for event in observe[f"step/{name}_plain/events"] if event != "step"]
        sizes = [len(x) for x, _ in observe.given[name]]
        forwards = [event for event in events if event.startswith("forward")]
        backwards = [event for event in events if event.startswith("backward")]
        expect(
            sorted(forwards) == sorted(f"forward {n}" for n in sizes),
            "Each micro-batch should have exactly one forward pass of its own.",
            f"sizes {sizes}: {', '.join(forwards)}",
        )
        expect(
            sorted(backwards) == sorted(f"backward {n}" for n in sizes),
            "Each micro-batch should have exactly one backward pass of its own.",
            f"sizes {sizes}: {', '.join(backwards)}",
        )
        for before, after in zip(events[::2], events[1::2], strict=True):
            expect(
                before.startswith("forward") and after.startswith("backward"),
                "All graphs were alive at once; memory is what accumulation is meant to save. "
                "Call backward before the next forward.",
                ", ".join(events),
            )
        alive = observe[f"step/{name}_plain/alive"]
        expect(
            not any(alive),
            "Activations of earlier micro-batches are still alive in a later forward pass: "
            "their backward should free the graph.",
            f"at each forward: {alive}",
        )


@behaviour(6)
def test_mean_loss(observe):
    for name in ("equal", "ragged", "tail", "single"):
        for how, max_norm in (("plain", None), ("clipped", 0.3)):
            run = Reference(observe, max_norm)
            for key, batches in (("loss", observe.given[name]), ("second", observe.given["second"])):
                parts = [run.gradient(x, y)[0] for x, y in batches]
                value, want = observe[f"step/{name}_{how}/{key}"], run.step(batches)
                expect(
                    type(value) is float, "accumulate_step should return a Python float.", f"got {value!r}"
                )
                close(
                    value,
                    want,
                    "The result should be the loss averaged over all examples, from before the step.",
                    rtol=1e-5 if max_norm else 1e-9,
                    device=observe.device,
                    mistakes={
                        "That is the sum of the micro-batches' losses, not a mean over examples.": sum(parts),
                        "That is the mean over the micro-batches, not over all examples.": sum(parts)
                        / len(parts),
                        "That is the loss of the last micro-batch alone.": parts[-1],
                    },
                )


def epoch(observe, accum, mistake="", *, drop=False, max_norm=None):
    run, loader, steps = Reference(observe, max_norm), observe.given["loader"], 0
    for start in range(0, len(loader), accum):
        window = loader[start : start + accum]
        if not (drop and len(window) < accum):
            run.step(window, mistake, accum)
            steps += 1
    return run.params, steps


REST = "Ten batches with accum_steps 4 make three steps, and the last one has two batches."


def check_epoch(observe, path, accum, max_norm=None):
    want, steps = epoch(observe, accum, max_norm=max_norm)
    got = observe[f"{path}/steps"]
    expect(
        type(got) is int and got == steps,
        REST
        if len(observe.given["loader"]) % accum
        else "train_epoch should return the number of optimizer steps.",
        f"ten batches, accum_steps={accum}: returned {got!r}, expected {steps}",
    )
    check(
        observe,
        f"{path}/params",
        want,
        "The parameters are not those of one step per window of accum_steps batches.",
        [
            (text, lambda o=options: epoch(observe, accum, **o)[0])
            for text, options in (
                (f"{REST} Yours drops it.", {"drop": True, "max_norm": max_norm}),
                (
                    f"{REST} Its weights are 1 / accum_steps in yours.",
                    {"mistake": "per window", "max_norm": max_norm},
                ),
                (SHARES, {"mistake": "per batch", "max_norm": max_norm}),
                ("train_epoch does not pass max_norm on.", {}),
            )
        ],
        clipped=max_norm is not None,
        call=f"train_epoch on ten batches, the last of them smaller, accum_steps={accum}",
    )


@behaviour(7)
def test_windows(observe):
    for accum in (1, 3, 4, 5, 12):
        check_epoch(observe, f"epoch/{accum}_list", accum)
        count = observe[f"epoch/{accum}_list/events"].count("step")
        expect(
            count == -(-10 // accum), REST, f"optimizer.step() was called {count} times, accum_steps={accum}"
        )


@behaviour(7)
def test_clipping_in_the_epoch(observe):
    check_epoch(observe, "epoch/clipped", 4, 0.3)


@behaviour(10)
def test_loader_without_batches(observe):
    got = observe["epoch/empty/steps"]
    expect(got == 0 and not observe["epoch/empty/events"], "No batches, no steps.", f"returned {got}")


@behaviour(8, on_error="The loader may have no length and can perhaps be read only once.")
def test_loader_without_length(observe):
    for accum in (1, 3, 4, 5, 12):
        for how in ("generator", "iterator"):
            check_epoch(observe, f"epoch/{accum}_{how}", accum)


@behaviour(9)
def test_bad_arguments_are_refused(observe):
    for name, says in {
        "empty": "An empty micro_batches should raise ValueError.",
        "empty_tuple": "An empty tuple of micro_batches should raise ValueError.",
        "zero": "accum_steps=0 should raise ValueError.",
        "negative": "A negative accum_steps should raise ValueError.",
        "nothing": "accum_steps=0 should raise ValueError, for a loader without batches too.",
    }.items():
        observe.raised(f"errors/{name}/call", "ValueError", says=says)


@behaviour(9)
def test_nothing_changes_before_the_error(observe):
    for name in ("empty", "empty_tuple", "zero", "negative"):
        says = "A refused call must not change parameters or gradients: check the arguments first."
        for got, want in zip(observe[f"errors/{name}/params"], observe.given["model"], strict=True):
            expect(torch.equal(got, want), says, "a parameter changed")
        for got in observe[f"errors/{name}/grads"]:
            expect(got is not None and bool((got == 3.0).all()), says, "a gradient changed")
        expect("step" not in observe[f"errors/{name}/events"], says, "the optimizer stepped")
