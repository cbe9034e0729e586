import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

SIXES = {"rtol": 0.0, "atol": 1e-6}
FOURS = {"rtol": 1e-4, "atol": 1e-5}


def reference_route(logits, k, bias=None):
    p = logits.double().softmax(-1)
    scores = p.detach() if bias is None else p.detach() + bias.double()
    chosen = scores.topk(k, dim=-1).indices
    weights = p.gather(-1, chosen)
    return weights / weights.sum(-1, keepdim=True), chosen


def reference_mask(chosen, experts, capacity):
    kept, used = torch.zeros(chosen.shape, dtype=torch.bool), [0] * experts
    for column in range(chosen.shape[1]):
        for token in range(chosen.shape[0]):
            expert = int(chosen[token, column])
            kept[token, column] = used[expert] < capacity
            used[expert] += 1
    return kept


def by_token(chosen, experts, capacity):
    """The mask of the mistake that goes through the tokens one by one."""
    kept, used = torch.zeros(chosen.shape, dtype=torch.bool), [0] * experts
    for token in range(chosen.shape[0]):
        for column in range(chosen.shape[1]):
            expert = int(chosen[token, column])
            kept[token, column] = used[expert] < capacity
            used[expert] += 1
    return kept


def capacity_of(case, rows):
    if case["factor"] is None:
        return None
    return math.ceil(case["factor"] * rows * case["k"] / len(case["router"]) - 1e-9)


def reference_layer(case, grad=True, mistake=""):
    """Output, kept assignments and gradients of moe_forward in float64, with every expert on every token."""
    d = case["x"].shape[-1]
    x, router, w, b = (case[name].double().clone().requires_grad_(grad) for name in ("x", "router", "w", "b"))
    rows = x.reshape(-1, d)
    bias = case["bias"]
    p = (rows @ router.T).softmax(-1)
    scores = p.detach() if bias is None else p.detach() + bias.double()
    chosen = scores.topk(case["k"], dim=-1).indices
    weights = p.gather(-1, chosen)
    if mistake == "biased":
        weights = (p + bias.double()).gather(-1, chosen)
    if mistake != "plain":
        weights = weights / weights.sum(-1, keepdim=True)
    kept = torch.ones_like(chosen, dtype=torch.bool)
    capacity = capacity_of(case, len(rows))
    if capacity is not None:
        rule = by_token if mistake == "by token" else reference_mask
        kept = rule(chosen, len(router), capacity)
    weights = weights * kept
    if mistake == "renormalized":
        weights = weights / weights.sum(-1, keepdim=True).clamp_min(1e-30)
    if mistake == "passed on":
        out = torch.where(kept.any(1, keepdim=True), torch.zeros(()).double(), rows)
    else:
        out = torch.zeros_like(rows)
    table = torch.zeros_like(p).scatter(1, chosen, weights)
    results = torch.tanh(torch.einsum("td,edf->etf", rows, w) + b[:, None])
    out = (out + torch.einsum("te,etf->tf", table, results)).reshape(x.shape)
    if not grad:
        return out.detach(), chosen, kept, None
    (out * case["c"].double()).sum().backward()
    return out.detach(), chosen, kept, [x.grad, router.grad, w.grad, b.grad]


def text(case):
    more = "" if case["factor"] is None else f", capacity_factor={case['factor']}"
    more += "" if case["bias"] is None else ", with a bias"
    return f"moe_forward of x {tuple(case['x'].shape)}, {len(case['router'])} experts, k={case['k']}{more}"


def check_chosen(got, want, says, where):
    expect(
        isinstance(got, torch.Tensor) and got.dtype == torch.int64,
        "chosen should be an int64 tensor.",
        f"got {describe(got)}, {where}",
    )
    right = got.shape == want.shape and torch.equal(got, want)
    if not right and got.shape == want.shape:
        if torch.equal(got.sort(-1).values, want.sort(-1).values):
            says = "chosen holds the right experts in the wrong order: the largest score comes first."
        detail = f"{int((got != want).any(-1).sum())} of {len(want)} tokens differ, {where}"
    else:
        detail = f"got {describe(got)}, expected shape {tuple(want.shape)}, {where}"
    expect(right, says, detail)


def route_cases(observe, name):
    for i, case in enumerate(observe.given["routes"]):
        bias = case["bias"] if name == "biased" else None
        if name == "plain" or bias is not None:
            shape = tuple(case["logits"].shape)
            where = f"logits {shape}, k={case['k']}" + (", with a bias" if name == "biased" else "")
            yield f"route/{name}{i}", case, bias, where


def weight_mistakes(case, bias, chosen):
    p = case["logits"].double().softmax(-1)
    picked = p.gather(-1, chosen)
    raw = case["logits"].double().gather(-1, chosen)
    yield "The k weights must sum to 1, or the output shrinks.", picked
    yield (
        "The weights are the logits divided by their sum; they come from probabilities.",
        raw / raw.sum(-1, keepdim=True),
    )
    yield (
        "The weights are sigmoids divided by their sum, not softmax probabilities.",
        raw.sigmoid() / raw.sigmoid().sum(-1, keepdim=True),
    )
    if bias is not None:
        scores = (p + bias.double()).gather(-1, chosen)
        logits = (case["logits"].double() + bias.double()).softmax(-1).gather(-1, chosen)
        says = "In the weights the bias would distort the output."
        yield says, scores / scores.sum(-1, keepdim=True)
        yield says, scores
        yield says, logits / logits.sum(-1, keepdim=True)
        yield says, scores.softmax(-1)


@behaviour(1)
def test_route(observe):
    for path, case, _, where in route_cases(observe, "plain"):
        weights, chosen = reference_route(case["logits"], case["k"])
        says = "chosen should be the k experts with the largest probabilities, largest first."
        check_chosen(observe[f"{path}/chosen"], chosen, says, where)
        close(
            observe[f"{path}/weights"],
            weights,
            "The weights are not the probabilities of the chosen experts, divided by their sum.",
            call=f"route, {where}",
            mistakes=weight_mistakes(case, None, chosen),
            **SIXES,
        )


@behaviour(1, on_error="The weights need a gradient to the logits.")
def test_route_gradient(observe):
    for path, case, _, where in route_cases(observe, "plain"):
        logits = case["logits"].double().requires_grad_()
        weights, _ = reference_route(logits, case["k"])
        (weights * case["c"].double()).sum().backward()
        got = observe[f"{path}/grad"]
        expect(
            got is not None, "The router learns only through the combine weights.", f"no gradient, {where}"
        )
        close(got, logits.grad, "The gradient of the weights to the logits is wrong.", call=where, **FOURS)


FORWARD_MISTAKES = {
    "plain": "The k weights must sum to 1, or the output shrinks.",
    "biased": "In the weights the bias would distort the output.",
    "renormalized": "A weight must not change because another expert was full.",
    "by token": "An early token's second choice took the place of a first choice.",
    "passed on": "A token with no expert left gives exactly 0; a residual connection belongs to the caller.",
}


def check_output(observe, path, case, says, names):
    want, *_ = reference_layer(case, grad=False)
    mistakes = [
        (FORWARD_MISTAKES[name], reference_layer(case, grad=False, mistake=name)[0]) for name in names
    ]
    close(observe[f"{path}/out"], want, says, call=text(case), mistakes=mistakes, **FOURS)


@behaviour(2)
def test_forward_equals_a_dense_computation(observe):
    for i, case in enumerate(observe.given["dense"]):
        says = "The output is not the sum over each token's experts of weight times expert output."
        check_output(observe, f"forward/dense{i}", case, says, ["plain"])


OWN_TOKENS = "An expert should run on its own tokens only, each of them once."


def sorted_rows(rows):
    return rows[sorted(range(len(rows)), key=lambda i: rows[i].tolist())] if len(rows) else rows


def check_given(observe, path, case, chosen, kept, says):
    d = case["x"].shape[-1]
    rows = case["x"].reshape(-1, d)
    calls = observe[f"{path}/given"]
    for expert, got in enumerate(calls):
        where = f"expert {expert}, {text(case)}" if "factor" in case else f"expert {expert}"
        mine = rows[((chosen == expert) & kept).any(1)]
        expect(
            len(got) <= 1, "An expert is called at most once per forward pass.", f"{len(got)} calls, {where}"
        )
        if not got:
            expect(len(mine) == 0, "An expert that has tokens was not called.", where)
            continue
        (batch,) = got
        expect(
            isinstance(batch, torch.Tensor) and batch.dim() == 2 and batch.shape[1] == d,
            "An expert gets its tokens as (n, d).",
            f"got {describe(batch)}, {where}",
        )
        dense = len(batch) == len(rows) > len(mine)
        expect(
            len(batch) == len(mine) and alike(sorted_rows(batch), sorted_rows(mine)),
            "Every expert ran on every token, E times the work." if dense else says,
            f"{len(batch)} rows instead of {len(mine)}, {where}",
        )


@behaviour(3)
def test_experts_get_their_own_tokens(observe):
    for i, case in enumerate(observe.given["dense"]):
        _, chosen, kept, _ = reference_layer(case, grad=False)
        check_given(observe, f"forward/dense{i}", case, chosen, kept, OWN_TOKENS)


def check_gradients(observe, path, case, **limits):
    _, _, _, (x, router, w, b) = reference_layer(case)
    got = observe[f"{path}/router_grad"]
    says = "The router learns only through the combine weights."
    if case["k"] > 1:
        expect(got is not None and got.any(), says, f"the router has no gradient, {text(case)}")
    if got is not None:
        close(got, router, "The gradient to the router is wrong.", call=text(case), **limits)
    says = "The gradient to x is wrong."
    close(observe[f"{path}/x_grad"], x, says, call=text(case), **limits)
    for expert, grads in enumerate(observe[f"{path}/grads"]):
        for name, value, want in zip(("weight", "bias"), grads, (w[expert], b[expert]), strict=True):
            value = torch.zeros_like(want) if value is None else value
            says = f"The gradient to an expert's {name} is wrong."
            close(value, want, says, call=f"expert {expert}, {text(case)}", **limits)


@behaviour(4)
def test_gradients_equal_those_of_a_dense_computation(observe):
    for i, case in enumerate(observe.given["dense"]):
        check_gradients(observe, f"forward/dense{i}", case, **FOURS)


@behaviour(5)
def test_keep_mask(observe):
    for i, case in enumerate(observe.given["masks"]):
        chosen, experts, capacity = case["chosen"], case["experts"], case["capacity"]
        where = f"chosen {tuple(chosen.shape)}, {experts} experts, capacity {capacity}"
        got, want = observe[f"masks/{i}/mask"], reference_mask(chosen, experts, capacity)
        expect(
            isinstance(got, torch.Tensor) and got.dtype == torch.bool and got.shape == want.shape,
            "keep_mask should be a bool tensor of the shape of chosen.",
            f"got {describe(got)}, {where}",
        )
        if torch.equal(got, want):
            continue
        says = "keep_mask does not keep the first capacity assignments of each expert."
        if torch.equal(got, by_token(chosen, experts, capacity)):
            says = "An early token's second choice took the place of a first choice."
        elif torch.equal(got, ~want):
            says = "keep_mask is True where an assignment is dropped; it should be True where it is kept."
        else:
            for other in (capacity - 1, capacity + 1):
                if torch.equal(got, reference_mask(chosen, experts, other)):
                    says = f"Each expert keeps {other} assignments instead of {capacity}."
        expect(False, says, f"{int((got != want).sum())} entries differ, {where}")


@behaviour(6)
def test_capacity(observe):
    for i, case in enumerate(observe.given["limited"]):
        names = ["by token", "renormalized", "passed on", "plain"]
        rows = case["x"].numel() // case["x"].shape[-1]
        says = f"With capacity {capacity_of(case, rows)} per expert the output is wrong."
        check_output(observe, f"forward/limited{i}", case, says, names)


@behaviour(6)
def test_dropped_tokens_are_not_run(observe):
    for i, case in enumerate(observe.given["limited"]):
        out, chosen, kept, _ = reference_layer(case, grad=False)
        says = "An expert should run on the assignments that it keeps, and on no others."
        check_given(observe, f"forward/limited{i}", case, chosen, kept, says)
        got = observe[f"forward/limited{i}/out"]
        lost = ~kept.any(1)
        expect(
            isinstance(got, torch.Tensor) and got.shape == out.shape,
            "The output should have the shape of x.",
            f"got {describe(got)}, {text(case)}",
        )
        expect(
            not got.reshape(len(lost), -1)[lost].any(),
            "A token with no expert left gives exactly 0.",
            text(case),
        )


@behaviour(6)
def test_gradients_with_capacity(observe):
    for i, case in enumerate(observe.given["limited"]):
        check_gradients(observe, f"forward/limited{i}", case, **FOURS)


def reference_balance(logits, chosen):
    p, experts = logits.double().softmax(-1), logits.shape[-1]
    share = torch.bincount(chosen.flatten(), minlength=experts).double() / chosen.numel()
    return experts * (share * p.mean(0)).sum()


def balance_mistakes(logits, chosen):
    want, experts, k = reference_balance(logits, chosen), logits.shape[-1], chosen.shape[1]
    scale = "Even load must give exactly 1, whatever E and k are."
    yield scale, want / experts
    if k > 1:
        yield scale, want * k
        yield scale, want * k / experts
    p = logits.double().softmax(-1)
    first = torch.bincount(chosen[:, 0], minlength=experts).double() / len(chosen)
    if k > 1:
        yield "All k choices count in the shares, not only the first.", experts * (first * p.mean(0)).sum()
    share = torch.bincount(chosen.flatten(), minlength=experts).double() / chosen.numel()
    yield (
        "The loss multiplies shares by mean probabilities; here shares are squared.",
        experts * (share**2).sum(),
    )
    yield (
        "The loss multiplies shares by mean probabilities; here probabilities are squared.",
        experts * (p.mean(0) ** 2).sum(),
    )


@behaviour(7)
def test_balance_loss(observe):
    for i, case in enumerate([*observe.given["loads"], observe.given["even"]]):
        where = f"logits {tuple(case['logits'].shape)}, chosen {tuple(case['chosen'].shape)}"
        close(
            observe[f"losses/balance{i}/loss"],
            reference_balance(case["logits"], case["chosen"]),
            "The balance loss is not E times the sum of f_i times P_i.",
            rtol=1e-5,
            atol=1e-6,
            call=f"balance_loss, {where}",
            mistakes=balance_mistakes(case["logits"], case["chosen"]),
        )


@behaviour(7, on_error="The mean probabilities carry the gradient to the logits.")
def test_balance_loss_gradient(observe):
    for i, case in enumerate([*observe.given["loads"], observe.given["even"]]):
        logits = case["logits"].double().requires_grad_()
        reference_balance(logits, case["chosen"]).backward()
        got = observe[f"losses/balance{i}/grad"]
        expect(got is not None, "The mean probabilities carry the gradient to the logits.")
        close(got, logits.grad, "The gradient of the balance loss is wrong.", rtol=1e-4, atol=1e-6)


def z_mistakes(logits):
    values = logits.double()
    lse = values.logsumexp(-1)
    yield "Square each token's logsumexp, then average.", lse.mean().square()
    yield "The z-loss is the mean over tokens, not their sum.", lse.square().sum()
    yield "The z-loss squares the logsumexp, not the logits.", values.square().mean()
    yield "The z-loss is the square of the logsumexp, not its absolute value.", lse.abs().mean()


@behaviour(8)
def test_z_loss(observe):
    for i, logits in enumerate(observe.given["z"]):
        lse = logits.double().logsumexp(-1)
        close(
            observe[f"losses/z{i}/loss"],
            lse.square().mean(),
            "The z-loss is not the mean over tokens of logsumexp(logits) squared.",
            rtol=1e-5,
            atol=0.0,
            call=f"z_loss of logits {tuple(logits.shape)}, the largest {logits.abs().max():.3g}",
            mistakes=z_mistakes(logits),
        )


@behaviour(8, on_error="The z-loss needs a gradient to the logits.")
def test_z_loss_gradient(observe):
    logits = observe.given["z"][0].double().requires_grad_()
    logits.logsumexp(-1).square().mean().backward()
    got = observe["losses/z0/grad"]
    expect(got is not None, "The z-loss needs a gradient to the logits.")
    close(got, logits.grad, "The gradient of the z-loss is wrong.", rtol=1e-4, atol=1e-5)


@behaviour(9)
def test_bias_steers_the_selection(observe):
    for path, case, bias, where in route_cases(observe, "biased"):
        weights, chosen = reference_route(case["logits"], case["k"], bias)
        says = "chosen should be the k experts with the largest p + bias, largest first."
        plain = reference_route(case["logits"], case["k"])[1]
        got = observe[f"{path}/chosen"]
        if isinstance(got, torch.Tensor) and len(plain) > 1 and alike(got, plain):
            says = "The bias changed no choice: the k largest p + bias are chosen."
        check_chosen(got, chosen, says, where)
        close(
            observe[f"{path}/weights"],
            weights,
            "With a bias the weights still come from the probabilities alone.",
            call=f"route, {where}",
            mistakes=weight_mistakes(case, bias, chosen),
            **SIXES,
        )


@behaviour(9)
def test_bias_gets_no_gradient(observe):
    paths = [path for path, *_ in route_cases(observe, "biased")]
    paths += [f"forward/biased{i}" for i in range(len(observe.given["biased"]))]
    for path in paths:
        got = observe[f"{path}/bias_grad"]
        expect(
            got is None or (isinstance(got, torch.Tensor) and not got.any()),
            "The bias gets no gradient: it only steers the selection.",
            path.split("/")[0],
        )
    for path, case, bias, where in route_cases(observe, "biased"):
        logits = case["logits"].double().requires_grad_()
        (reference_route(logits, case["k"], bias)[0] * case["c"].double()).sum().backward()
        says = "With a bias the gradient of the weights to the logits is wrong."
        close(observe[f"{path}/grad"], logits.grad, says, call=where, **FOURS)


@behaviour(9)
def test_forward_with_a_bias(observe):
    for i, case in enumerate(observe.given["biased"]):
        says = "With a bias the output of moe_forward is wrong."
        check_output(observe, f"forward/biased{i}", case, says, ["biased", "plain"])
        _, chosen, kept, _ = reference_layer(case, grad=False)
        says = "With a bias an expert got other tokens than its own."
        check_given(observe, f"forward/biased{i}", case, chosen, kept, says)
        check_gradients(observe, f"forward/biased{i}", case, **FOURS)


@behaviour(10)
def test_update_bias(observe):
    for i, case in enumerate([*observe.given["loads"], observe.given["exact"]]):
        bias, rate = case["bias"].double(), case["rate"]
        counts = torch.bincount(case["chosen"].flatten(), minlength=len(bias)).double()
        live = counts[counts > 0].mean()
        off = counts.mean() - counts
        close(
            observe[f"losses/bias{i}/new"],
            bias + rate * off.sign(),
            "The bias should become bias + rate * sign(mean - count).",
            rtol=1e-5,
            atol=1e-6,
            call=f"loads {counts.int().tolist()}, rate {rate:.3g}",
            mistakes={
                "The bias moves the wrong way: an expert with too little load should be raised.": bias
                - rate * off.sign(),
                "The step has the size of the rate, whatever the difference of the loads is.": bias
                + rate * off,
                "The mean is over all experts, also those without tokens.": bias
                + rate * (live - counts).sign(),
            },
        )


@behaviour(10)
def test_update_bias_returns_a_new_tensor(observe):
    for i, case in enumerate([*observe.given["loads"], observe.given["exact"]]):
        expect(
            alike(observe[f"losses/bias{i}/after"], [case["bias"], case["chosen"]]),
            "update_bias should return a new tensor and leave the old bias as it is.",
        )


@behaviour(11)
def test_half_precision_does_not_change_the_routing(observe):
    for name, data in observe.given["half"].items():
        case = data["forward"]
        x, router, scale = (case[key].double() for key in ("x", "router", "scale"))
        weights, chosen = reference_route(x @ router.T, case["k"])
        kept = torch.ones_like(chosen, dtype=torch.bool)
        path, dtype = f"dtypes/{name}_forward", case["x"].dtype
        calls, rows = observe[f"{path}/given"], case["x"].tolist()
        says = f"Rounded logits sent tokens to other experts: compute them from float32 copies ({name})."
        for expert, got in enumerate(calls):
            for batch in got:
                expect(
                    isinstance(batch, torch.Tensor) and batch.dtype == dtype,
                    "Experts get rows in the dtype of x.",
                    f"expert {expert} got {describe(batch)} for {name}",
                )
                if batch.dim() == 2 and any(row not in rows for row in batch.tolist()):
                    says = OWN_TOKENS  # these are no rows of x, whatever the logits are
        check_given(observe, path, case, chosen, kept, says)
        got = observe[f"{path}/out"]
        expect(
            isinstance(got, torch.Tensor) and got.dtype == dtype,
            "The output should have the dtype of x.",
            f"got {describe(got)} for {name}",
        )
        want = x * (weights * scale[chosen]).sum(-1, keepdim=True)
        close(got, want, f"The output for {name} is off by more than 2 %.", rtol=2e-2, atol=1e-3)
        got = observe[f"dtypes/{name}_capacity/out"]
        expect(
            isinstance(got, torch.Tensor) and got.dtype == dtype,
            "The output should have the dtype of x.",
            f"got {describe(got)} for {name} with a capacity",
        )
        kept = reference_mask(chosen, len(router), math.ceil(0.5 * chosen.numel() / len(router)))
        want = x * (weights * kept * scale[chosen]).sum(-1, keepdim=True)
        says = f"The output for {name} with a capacity is wrong."
        close(got, want, says, rtol=2e-2, atol=1e-3)


@behaviour(11)
def test_half_precision_is_computed_in_float32(observe):
    for name, data in observe.given["half"].items():
        for key, bias in (("plain", None), ("biased", data["bias"])):
            weights, chosen = reference_route(data["logits"], 2, bias)
            path = f"dtypes/{name}_route/{key}"
            got = observe[f"{path}/weights"]
            expect(
                isinstance(got, torch.Tensor) and got.dtype == torch.float32,
                f"For {name} route should return float32 weights.",
                f"got {describe(got)}",
            )
            check_chosen(observe[f"{path}/chosen"], chosen, f"route in {name} chose other experts.", name)
            mistakes = weight_mistakes(data, bias, chosen)
            close(got, weights, f"For {name} route should compute in float32.", mistakes=mistakes, **SIXES)
        lse = data["logits"].double().logsumexp(-1)
        for key, want, mistakes in (
            (
                "balance",
                reference_balance(data["logits"], data["chosen"]),
                balance_mistakes(data["logits"], data["chosen"]),
            ),
            ("z", lse.square().mean(), z_mistakes(data["logits"])),
        ):
            got = observe[f"dtypes/{name}_losses/{key}"]
            expect(
                isinstance(got, torch.Tensor) and got.dtype == torch.float32,
                f"For {name} {key}_loss should return float32.",
                f"got {describe(got)}",
            )
            says = f"For {name} {key}_loss should compute in float32."
            if (
                got.numel() == 1
                and got.device.type != "meta"
                and not abs(got.item() - want.item()) <= 0.05 * want.item()
            ):
                says = f"{key}_loss is wrong, also for {name}."
            close(got, want, says, rtol=1e-5, atol=1e-6, mistakes=mistakes)


@behaviour(11)
def test_float64_stays_float64(observe):
    data, tight = observe.given["double"], {"rtol": 1e-10, "atol": 1e-10}
    case = data["forward"]
    says = "float64 should stay float64."
    got = observe["forward/double/out"]
    expect(isinstance(got, torch.Tensor) and got.dtype == torch.float64, says, f"got {describe(got)}")
    close(got, reference_layer(case, grad=False)[0], f"{says} The output is rounded.", **tight)
    check_gradients(observe, "forward/double", case, **tight)
    weights, chosen = reference_route(data["logits"], 2)
    check_chosen(
        observe["dtypes/double_route/plain/chosen"], chosen, "route in float64 chose other experts.", ""
    )
    for path, want in (
        ("double_route/plain/weights", weights),
        ("double_losses/balance", reference_balance(data["logits"], data["chosen"])),
        ("double_losses/z", data["logits"].logsumexp(-1).square().mean()),
    ):
        got = observe[f"dtypes/{path}"]
        expect(isinstance(got, torch.Tensor) and got.dtype == torch.float64, says, f"{path}: {describe(got)}")
        close(got, want, f"{says} The result is rounded.", **tight)


@behaviour(12)
def test_empty_batch(observe):
    d = observe.given["dense"][0]["x"].shape[-1]
    for name in ("empty", "empty_capacity"):
        got = observe[f"errors/{name}/out"]
        expect(
            isinstance(got, torch.Tensor) and got.shape == (0, d),
            "For x of shape (0, d) the output should have shape (0, d).",
            f"got {describe(got)}",
        )


@behaviour(12)
def test_inputs_are_not_modified(observe):
    for name in ("plain", "biased"):
        for path, case, bias, where in route_cases(observe, name):
            want = [case["logits"], bias]
            expect(alike(observe[f"{path}/after"], want), "route modified an input.", where)
    for name in ("dense", "biased", "limited"):
        for i, case in enumerate(observe.given[name]):
            want = [case["x"], case["router"], case["bias"]]
            got = observe[f"forward/{name}{i}/after"]
            expect(alike(got, want), "moe_forward modified an input.", text(case))
    for name, data in observe.given["half"].items():
        want = [data["forward"]["x"], data["forward"]["router"]]
        expect(alike(observe[f"dtypes/{name}_forward/after"], want), "moe_forward modified an input.", name)
    for i, case in enumerate(observe.given["masks"]):
        expect(alike(observe[f"masks/{i}/after"], case["chosen"]), "keep_mask modified chosen.")
    for i, case in enumerate([*observe.given["loads"], observe.given["even"]]):
        want = [case["logits"], case["chosen"]]
        expect(alike(observe[f"losses/balance{i}/after"], want), "balance_loss modified an input.")
    for i, logits in enumerate(observe.given["z"]):
        expect(alike(observe[f"losses/z{i}/after"], logits), "z_loss modified its input.")


@behaviour(12)
def test_senseless_arguments_are_refused(observe):
    for name, says in {
        "route_k0": "route should refuse k = 0.",
        "route_negative": "route should refuse a negative k.",
        "route_k_large": "route should refuse k > E.",
        "route_bias_short": "route should refuse a bias of another shape than (E,), here (1,).",
        "route_bias_column": "route should refuse a bias of another shape than (E,), here (1, E).",
        "route_bias_long": "route should refuse a bias of another shape than (E,), here (E + 1,).",
        "forward_k0": "moe_forward should refuse k = 0.",
        "forward_k_large": "moe_forward should refuse k > E.",
        "forward_factor0": "moe_forward should refuse capacity_factor = 0.",
        "forward_factor_negative": "moe_forward should refuse a negative capacity_factor.",
        "forward_bias": "moe_forward should refuse a bias of another shape than (E,), here (1,).",
        "forward_bias_rows": "moe_forward should refuse a bias of another shape than (E,), here (T, E).",
        "mask_negative": "keep_mask should refuse a negative capacity.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
