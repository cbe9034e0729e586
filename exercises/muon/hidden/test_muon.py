import math

import torch
from torch import Tensor

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
DEFAULTS = {"lr": 0.02, "momentum": 0.95, "nesterov": True, "weight_decay": 0.0, "ns_steps": 5}


def ortho(g, steps=5, eps=1e-7, mistake=""):
    """The iteration in float64; ``mistake`` names a typical way to get another result."""
    x = g.double()
    a, b, c = (2.0, -1.5, 0.5) if mistake == "cubic" else COEFFICIENTS
    if mistake == "quintic":
        a, b, c = 15 / 8, -10 / 8, 3 / 8
    norm = x.norm()
    if mistake == "max":
        x = x / max(norm.item(), eps)
    elif mistake == "root":
        x = x / (norm**2 + eps).sqrt()
    elif mistake == "no norm":
        pass
    elif mistake == "largest":
        x = x / (x.abs().max() + eps)
    elif mistake == "rows":
        x = x / (x.norm(dim=1, keepdim=True) + eps)
    else:
        x = x / (norm + eps)
    for _ in range(steps + (mistake == "more") - (mistake == "fewer")):
        gram = x @ x.T
        if mistake == "no square":
            x = a * x + (b * gram + c * gram) @ x
        else:
            x = a * x + (b * gram + c * gram @ gram) @ x
    return x


def reference(case, mistake="", missing=None, options=None):
    """(parameters after each step, buffers at the end); ``options(i, k)`` gives settings by step and parameter."""
    params = [p.double() for p in case["start"]]
    buffers = [torch.zeros_like(p) for p in params]
    seen = []
    for i, row in enumerate(case["grads"]):
        for k, g in enumerate(row):
            now = {**DEFAULTS, **(options(i, k) if options else case["options"])}
            lr, beta, decay, steps = now["lr"], now["momentum"], now["weight_decay"], now["ns_steps"]
            nesterov = now["nesterov"] != (mistake == "other nesterov")
            p, g = params[k], g.double()
            if missing and k in missing[i]:
                if mistake == "decays":
                    params[k] = p * (1 - lr * decay)
                if mistake != "zeros":
                    continue
                g = torch.zeros_like(p)
            if mistake == "l2":
                g = g + decay * p
            flat = (p.shape[0], p.numel() // p.shape[0])
            if mistake == "two by rest":
                flat = (p.shape[0] * p.shape[1], p.numel() // p.shape[0] // p.shape[1])
            m, n = flat
            if mistake == "first two":
                m, n = p.shape[:2]
            old = buffers[k]
            source = ortho(g.reshape(flat), steps).reshape(p.shape) if mistake == "early" else g
            buffers[k] = beta * old + (1 if mistake == "sum" else 1 - beta) * source
            u = buffers[k]
            if nesterov:
                u = (
                    beta * (old if mistake == "old buffer" else u)
                    + (1 if mistake == "sum" else 1 - beta) * source
                )
            if mistake == "raw look-ahead":
                u = beta * buffers[k] + g
            o = u if mistake == "early" else ortho(u.reshape(flat), steps).reshape(p.shape)
            scale = math.sqrt(max(1, m / n))
            if mistake == "inverted":
                scale = math.sqrt(max(1, n / m))
            elif mistake == "no max":
                scale = math.sqrt(m / n)
            elif mistake == "no scale":
                scale = 1.0
            elif mistake == "no root":
                scale = max(1, m / n)
            elif mistake == "largest side":
                scale = 0.2 * math.sqrt(max(m, n))
            if mistake == "after":
                params[k] = (p - lr * scale * o) * (1 - lr * decay)
                continue
            if mistake == "scaled decay":
                p = p * (1 - lr * scale * decay)
            elif mistake == "no lr":
                p = p * (1 - decay)
            elif mistake not in ("l2", "no decay"):
                p = p * (1 - lr * decay)
            params[k] = p + lr * scale * o if mistake == "up" else p - lr * scale * o
        seen.append(list(params))
    return seen, buffers


def same(got, want, atol):
    return all(
        isinstance(a, Tensor) and a.shape == b.shape and a.device.type != "meta" and not a.is_complex()
        and bool(((a.double() - b).abs() <= atol).all())
        for row, values in zip(got, want, strict=False)
        for a, b in zip(row, values, strict=False)
    )  # fmt: skip


def trajectory(observe, path, case, says, mistakes=(), call="", atol=1e-4, missing=None, options=None):
    got = observe[path]
    want, _ = reference(case, "", missing, options)
    ok = isinstance(got, list) and len(got) == len(want)
    expect(ok, "The run ended early.", describe(got))
    if same(got, want, atol):
        return
    for mistake, sentence in dict(mistakes).items():
        wrong, _ = reference(case, mistake, missing, options)
        if same(got, wrong, atol) and not same(want, wrong, atol):
            says = sentence
            break
    for i, (row, values) in enumerate(zip(got, want, strict=True)):
        for k, (value, right) in enumerate(zip(row, values, strict=True)):
            where = f"{call}, parameter of shape {tuple(right.shape)} after step {i + 1}".removeprefix(", ")
            close(value, right, says, rtol=0, atol=atol, call=where)


FORMULA = "The result is not that of the iteration."
WRONG = {
    "cubic": "The singular values do not come near 1: these are other coefficients.",
    "quintic": "The singular values do not come near 1: these are other coefficients.",
    "no norm": "Without the division by the norm the polynomial diverges for singular values well above 1.",
    "largest": "Divide by the Frobenius norm, not by the largest entry: singular values can be above 1 then.",
    "rows": "Divide the whole matrix by its norm, not each row.",
    "no square": "The last coefficient belongs to A A, not to A.",
    "more": "`steps` is the number of iterations: this is one too many.",
    "fewer": "`steps` is the number of iterations: one is missing.",
    "max": "eps is added to the norm.",
    "root": "eps is added to the norm, not under its root.",
}


def named(g, **options):
    pairs = []
    for mistake, says in WRONG.items():
        wrong = ortho(g, mistake=mistake, **options)
        if bool(wrong.isfinite().all()) and wrong.abs().max() < 1e6:
            pairs.append((says, wrong))
    return pairs


@behaviour(1)
def test_iteration(observe):
    given = observe.given
    for i, g in enumerate(given["matrices"]):
        call = f"newton_schulz of a matrix of shape {tuple(g.shape)}"
        says = FORMULA
        got = observe.tensor(f"ortho/{i}/out")
        if (
            got.device.type != "meta"
            and got.is_floating_point()
            and got.numel() < 10_000
            and not got.isfinite().all()
        ):
            says = (
                "The result is not finite: the polynomial diverges unless g is divided by its Frobenius norm."
            )
        close(got, ortho(g), says, rtol=0, atol=1e-4, call=call, mistakes=named(g))
        says = "newton_schulz modified g."
        expect(alike(observe[f"ortho/{i}/g"], g), says)
    g = given["matrices"][1]
    got = observe["ortho/strided/out"]
    close(got, ortho(g), "A matrix with other strides gives another result.", rtol=0, atol=1e-4)


@behaviour(1)
def test_steps_and_eps(observe):
    given = observe.given
    g, steps, eps = given["matrices"][0], given["steps"], given["eps"]
    close(
        observe["ortho/steps/out"],
        ortho(g, steps),
        "`steps` is the number of iterations.",
        rtol=0,
        atol=1e-4,
        call=f"newton_schulz(g, {steps})",
        mistakes=[*named(g, steps=steps), ("`steps` has no effect.", ortho(g))],
    )
    close(
        observe["ortho/eps/out"],
        ortho(g, 2, eps),
        "X starts as g / (||g|| + eps).",
        rtol=0,
        atol=1e-4,
        call=f"newton_schulz(g, steps=2, eps={eps:.3g})",
        mistakes=named(g, steps=2, eps=eps),
    )


@behaviour(2)
def test_cost(observe):
    for i, g in enumerate(observe.given["matrices"][:2]):
        few, many = observe[f"cost/{i}/flops"]
        r, side = min(g.shape), max(g.shape)
        cost, limit = (many - few) / 2, 4 * r * r * side + 2 * r**3
        says = (
            "One iteration needs too many operations: three products are enough, X X^T, A A and one with X."
        )
        if cost >= 4 * side * side * r:
            says = "The Gram matrix has the larger side: right, but far too expensive."
        call = (
            f"shape {tuple(g.shape)}: {cost:.0f} floating-point operations in an iteration, at most {limit}"
        )
        expect(cost <= limit, says, call)


@behaviour(3)
def test_size_of_the_gradient(observe):
    g = observe.given["scaled"]
    for name, factor in (("small", 1e-3), ("one", 1.0), ("large", 1e3)):
        for path, value in (("out", g), ("tall", g.T)):
            says = f"A gradient that is {factor:g} times as large should give the same result."
            want = ortho(factor * value.double())
            if not same([[observe[f"size/one/{path}"]]], [[ortho(value)]], 1e-3):
                says = FORMULA  # the size is not what is wrong
            mistakes = named(factor * value)
            close(observe[f"size/{name}/{path}"], want, says, rtol=0, atol=1e-3, mistakes=mistakes)


@behaviour(3)
def test_zeros(observe):
    for got in observe["size/zeros/out"]:
        ok = (
            isinstance(got, Tensor)
            and got.device.type != "meta"
            and tuple(sorted(got.shape)) == tuple(sorted(observe.given["scaled"].shape))
        )
        expect(ok, "Zeros should give a matrix of zeros.", describe(got))
        expect(bool((got == 0).all()), "Zeros should give zeros, not NaN: that is what eps is for.")


MOMENTUM = {
    "old buffer": "The look-ahead uses the updated buffer.",
    "early": "Momentum averages raw gradients: orthogonalize the result, not what goes in.",
    "other nesterov": "Your update is the one with Nesterov where it is off, and the other way around.",
    "raw look-ahead": "The gradient enters the look-ahead with the factor 1 - momentum.",
    "up": "The step goes up the slope: subtract it.",
}
SCALE = {
    "inverted": "Tall matrices take larger steps, wide ones do not: m is the number of rows.",
    "no max": "Wide matrices keep the factor 1: take the maximum of 1 and m / n.",
    "no scale": "The scale of the shape is missing.",
    "no root": "The scale is the root of m / n.",
    "largest side": "This is the scale of another variant: here it is sqrt(max(1, m / n)).",
}
DECAY = {
    "l2": "Orthogonalization would wipe out its size: decay the weights directly, not in the gradient.",
    "scaled decay": "The scale of the shape belongs to the update, not to the decay.",
    "no lr": "The weights lose lr * weight_decay of themselves, not weight_decay.",
    "no decay": "The weight decay has no effect.",
    "after": "Decay the weights before the update, not after it.",
}
EARLIER = {**MOMENTUM, **SCALE, **DECAY}  # what may be wrong in a run that is about something else


@behaviour(4)
def test_trajectory(observe):
    for name, case in observe.given["plain"].items():
        options = ", ".join(
            f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in case["options"].items()
        )
        says = "The parameters do not follow the formulas."
        call = f"Muon(params{', ' * bool(options)}{options})"
        trajectory(observe, f"steps/{name}/seen", case, says, MOMENTUM, call)


@behaviour(4, on_error='The buffer of W is state[W]["momentum_buffer"].')
def test_buffers(observe):
    for name, case in observe.given["plain"].items():
        _, want = reference(case)
        wrong = {m: reference(case, m)[1] for m in ("sum", "early")}
        got = observe[f"steps/{name}/buffers/all"]
        expect(
            isinstance(got, list) and len(got) == len(want), "Every parameter has a buffer.", describe(got)
        )
        for k, (value, right) in enumerate(zip(got, want, strict=True)):
            mistakes = {
                "The gradient enters the buffer with the factor 1 - momentum.": wrong["sum"][k],
                MOMENTUM["early"]: wrong["early"][k],
            }
            says = "The buffer is not momentum * M + (1 - momentum) * G."
            close(value, right, says, rtol=1e-4, atol=1e-4, mistakes=mistakes)


@behaviour(5)
def test_scale(observe):
    trajectory(
        observe,
        "steps/tall/seen",
        observe.given["tall"],
        "The update is not scaled by sqrt(max(1, m / n)).",
        EARLIER,
        "Muon of tall and wide matrices",
    )


@behaviour(6)
def test_decay(observe):
    says = "The decay is wrong: W loses lr * weight_decay * W before the update."
    trajectory(
        observe,
        "steps/decay/seen",
        observe.given["decay"],
        says,
        {**DECAY, **EARLIER},
        "Muon with weight_decay",
    )
    says = "With zero gradients a step multiplies W by 1 - lr * weight_decay and does no more."
    trajectory(observe, "steps/zero/seen", observe.given["zero"], says, DECAY, "zero gradients")


EXCLUDED = {
    "language": (),
    "head": ("head",),
    "several": ("head", "pos", "experts"),
    "leaf": ("weight",),
    "index": ("1",),
    "tied": (),
    "tied_excluded": ("mix",),
    "vision": (),
    "nested": (),
    "embedding": (),
    "linear": (),
}
# The parameters of the models in the probe: name, dimensions, weight of an embedding, requires a gradient.
LANGUAGE = [
    ("pos", 2, False, True),
    ("experts", 3, False, True),
    ("temperature", 0, False, True),
    ("tok.weight", 2, True, True),
    ("blocks.0.norm.weight", 1, False, True),
    ("blocks.0.norm.bias", 1, False, True),
    ("blocks.0.attn.weight", 2, False, True),
    ("blocks.0.attn.bias", 1, False, False),
    ("blocks.0.head_proj.weight", 2, False, True),
    ("blocks.0.embedding.weight", 2, False, True),
    ("blocks.1.Head.weight", 2, False, True),
    ("blocks.1.head.weight", 2, False, True),
    ("blocks.1.head.bias", 1, False, True),
    ("blocks.1.gain.weight", 2, False, True),
    ("blocks.1.gain.bias", 1, False, True),
    ("frozen.weight", 2, False, False),
    ("frozen.bias", 1, False, False),
    ("head.weight", 2, False, True),
    ("head.bias", 1, False, True),
]
TIED = [("out.weight", 2, True, True), ("mix.weight", 2, False, True), ("mix.bias", 1, False, True)]
VISION = [
    ("0.weight", 4, False, True),
    ("0.bias", 1, False, True),
    ("1.weight", 1, False, True),
    ("1.bias", 1, False, True),
    ("2.weight", 3, False, True),
    ("3.weight", 2, False, True),
    ("3.bias", 1, False, True),
]
MODELS = {
    "tied": TIED,
    "tied_excluded": TIED,
    "vision": VISION,
    "nested": [
        ("model.decoder.wte.weight", 2, True, True),
        ("model.decoder.mix.weight", 2, False, True),
    ],
    "embedding": [("weight", 2, True, True)],
    "linear": [("weight", 2, False, True), ("bias", 1, False, True)],
}


@behaviour(7)
def test_split(observe):
    for case, exclude in EXCLUDED.items():
        params = MODELS.get(case, LANGUAGE)
        got = observe[f"split/{case}/lists"]
        ok = isinstance(got, list) and len(got) == 2
        expect(ok, "split_parameters should return two lists, Muon's and AdamW's.", describe(got))
        muon, adamw = got
        trained = [n for n, _, _, grad in params if grad]
        wanted = [
            n
            for n, dim, emb, grad in params
            if grad and dim >= 2 and not emb and not {*exclude} & {*n.split(".")}
        ]
        rest = [n for n in trained if n not in wanted]
        call = f"exclude={list(exclude)}"
        if [muon, adamw] == [wanted, rest]:
            continue
        facts = {n: (dim, emb, grad) for n, dim, emb, grad in params}
        says = "The lists are not those of the rules."
        extra = [n for n in muon if n not in wanted]
        if "?" in [*muon, *adamw]:
            says = "The lists should hold the model's own parameters."
        elif any(n in facts and not facts[n][2] for n in [*muon, *adamw]):
            says = "Parameters that require no gradients belong to neither list."
        elif len({*muon, *adamw}) < len([*muon, *adamw]):
            says = "Each parameter comes once."
        elif any(facts[n][1] for n in extra if n in facts):
            says = "Embeddings and the output head stay with AdamW."
            if case.startswith("tied"):
                says = "A weight that is shared with an embedding stays with AdamW."
        elif any(facts[n][0] < 2 for n in extra if n in facts):
            says = "Biases, gains and other parameters with fewer than 2 dimensions stay with AdamW."
        elif extra:
            says = "A parameter is excluded if a part of its dotted name equals an entry of exclude."
        elif any(facts[n][0] > 2 for n in wanted if n not in muon):
            says = "Kernels and other parameters with more than 2 dimensions are Muon's too."
        elif any(n not in muon for n in wanted):
            says = "A matrix is missing in Muon's list: a part of a name has to equal an entry of exclude, and names are no types."
        elif sorted(muon) == sorted(wanted) and sorted(adamw) == sorted(rest):
            says = "The lists are in the order of model.named_parameters()."
        elif any(n not in [*muon, *adamw] for n in trained):
            says = "A parameter that requires gradients is in neither list."
        expect(False, says, f"{call}: Muon's {describe(muon)}, expected {describe(wanted)}")


@behaviour(8, on_error="Muon takes parameters with more than 2 dimensions too.")
def test_kernels(observe):
    case = observe.given["kernels"]
    mistakes = {
        "two by rest": "The matrix has size(0) rows, and the product of all other sizes is its columns.",
        "first two": "The scale uses the matrix: size(0) rows and the product of the other sizes.",
        "inverted": "Tall matrices take larger steps, wide ones do not: m is the number of rows.",
    }
    mistakes |= EARLIER
    says = "A kernel should be updated as the matrix of shape (size(0), product of the others)."
    trajectory(observe, "steps/kernels/seen", case, says, mistakes, "Muon of kernels")
    first = {**case, "start": case["start"][:1], "grads": [row[:1] for row in case["grads"]]}
    trajectory(observe, "steps/contiguous/seen", first, says, mistakes, "Muon of a kernel in channels_last")


@behaviour(9, on_error="A parameter without a gradient is left alone.")
def test_missing_gradients(observe):
    given = observe.given
    mistakes = {
        "decays": "A parameter without a gradient shrank: it is left alone.",
        "zeros": "A missing gradient is not a gradient of zeros: the buffer waits.",
        **EARLIER,
    }
    says = "A parameter whose gradient is None should be left alone."
    trajectory(observe, "robust/missing/seen", given["gaps"], says, mistakes, "some gradients None",
               missing=given["missing"])  # fmt: skip
    says = "A parameter that never had a gradient needs no state."
    got = observe["robust/never/state"]
    expect(got == [0], says, f"state for the parameters {describe(got)}")
    expect(observe["robust/never/grads"] == [False, True, True], "The step made a gradient.")


@behaviour(9)
def test_gradients_are_left_alone(observe):
    for nesterov in (True, False):
        path = f"robust/in_place_{nesterov}"
        for name in ("once", "grads"):
            for got, want in zip(observe[f"{path}/{name}"], observe.given["gaps"]["grads"][0], strict=True):
                says = "The step changed p.grad, which the caller may still need."
                expect(alike(got, want), says, f"nesterov={nesterov}")
        expect(observe[f"{path}/same_grads"] == [True] * 3, "The step replaced p.grad.")


@behaviour(9)
def test_parameters_stay(observe):
    for nesterov in (True, False):
        path = f"robust/in_place_{nesterov}"
        for name, says in {
            "storage": "A parameter moved to other memory: update it in place.",
            "objects": "The param groups hold other tensors than before.",
            "leaves": "After the step a parameter is no longer a leaf that requires grad.",
        }.items():
            expect(observe[f"{path}/{name}"] == [True] * 3, says)


@behaviour(10)
def test_groups(observe):
    given = observe.given
    options = given["group_options"]
    says = "Each group uses its own lr, momentum, nesterov, weight_decay and ns_steps."
    trajectory(
        observe,
        "groups/own/seen",
        given["groups"],
        says,
        EARLIER,
        call="three groups",
        options=lambda i, k: options[k],
    )

    def scheduled(i, k):
        return {**options[k], "lr": options[k]["lr"] * given["factors"][i]}

    says = "A change of group['lr'] counts from the next step."
    path = "groups/scheduled/seen"
    trajectory(observe, path, given["groups"], says, EARLIER, call="a schedule", options=scheduled)


@behaviour(10, on_error="The state could not be saved and loaded.")
def test_resume(observe):
    says = "The checkpoint lost the momentum: keep the buffers in self.state."
    first, second = observe["groups/resumed/first"], observe["groups/resumed/second"]
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        for x, y in zip(a, b, strict=True):
            where = f"saved after 3 steps, loaded into a new optimizer, step {i + 4}"
            close(y, x, says, rtol=0, atol=1e-4, call=where)
            expect(alike(x, y), "The loaded optimizer does not continue bit for bit.", where)


@behaviour(10, on_error="The closure needs gradients enabled, also inside torch.no_grad().")
def test_closure(observe):
    target = observe.given["target"].double()
    p, m, losses = target * 0.5, torch.zeros_like(target), []
    for _ in range(3):
        losses.append(((p - target) ** 2).sum())
        g = 2 * (p - target)
        m = 0.95 * m + 0.05 * g
        p = p - 0.1 * ortho(0.95 * m + 0.05 * g)
    for name in ("plain", "no_grad"):
        path = f"groups/closure_{name}"
        where = "" if name == "plain" else " inside torch.no_grad()"
        calls = observe[f"{path}/calls"]
        expect(
            calls == [True] * 3,
            f"step(closure) calls the closure once, with gradients enabled{where}.",
            f"{calls}",
        )
        for got, want in zip(observe[f"{path}/losses"], losses, strict=True):
            close(got, want, f"step(closure) should return the closure's loss{where}.", rtol=1e-3)
        says = f"The step should use the gradients that the closure computed{where}."
        close(observe[f"{path}/p"], p, says, rtol=0, atol=2e-4)
    expect(observe["groups/without/returned"] is None, "step() without a closure should return None.")


@behaviour(11, on_error="newton_schulz and step take half precision too.")
def test_half_precision(observe):
    for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        g = observe.given["half"].to(dtype)
        for got, value in zip(observe[f"dtypes/{name}/out"], (g, g.T), strict=True):
            want = ortho(value)
            says = f"newton_schulz of {name} should return {name}."
            expect(isinstance(got, Tensor) and got.dtype == dtype, says, f"got {describe(got)}")
            says = f"newton_schulz of {name} is inexact: compute in float32 and round once, at the end."
            close(got, want, says, rtol=0, atol=0.006 * want.abs().max().item())
        if name == "float16":
            got, value = observe["dtypes/float16/large"], observe.given["half"].double()
            want = ortho((value * (50000 / value.abs().max())).to(dtype))
            says = "The norm of large entries overflows in float16: compute in float32."
            close(got, want, says, rtol=0, atol=0.006 * want.abs().max().item())
        for what in ("p", "buffer"):
            got = observe[f"dtypes/{name}/{what}"]
            says = f"The {'parameter' if what == 'p' else 'buffer'} of a {name} parameter should stay {name}."
            expect(isinstance(got, Tensor) and got.dtype == dtype, says, f"got {describe(got)}")
        case = {"start": [g], "grads": [[g]] * 2, "options": {"lr": 0.5, "weight_decay": 0.1}}
        close(
            observe[f"dtypes/{name}/p"],
            reference(case)[0][-1][0],
            f"The steps in {name} are wrong.",
            rtol=0,
            atol=0.1,
        )


@behaviour(11)
def test_double_precision(observe):
    says = "float64 should be computed in float64."
    for got, g in zip(observe["dtypes/float64/out"], observe.given["double"], strict=True):
        expect(isinstance(got, Tensor) and got.dtype == torch.float64, says, f"got {describe(got)}")
        want = ortho(g)
        if got.shape == want.shape and bool(((got - want).abs() < 1e-3).all()):  # else it is wrong anyway
            close(got, want, says, rtol=0, atol=1e-10, mistakes=named(g))
    case = observe.given["double_run"]
    want, _ = reference(case)
    if same(observe["dtypes/float64/seen"], want, 1e-3):
        for got in observe["dtypes/float64/buffers/all"]:
            expect(isinstance(got, Tensor) and got.dtype == torch.float64, says, f"got {describe(got)}")
        mistakes = {"sum": "The gradient enters the buffer with the factor 1 - momentum.", **EARLIER}
        trajectory(observe, "dtypes/float64/seen", case, says, mistakes, atol=1e-9)


REFUSED = {
    "lr": "A negative lr should be refused.",
    "momentum_one": "momentum=1 should be refused: the buffer would stay at zero.",
    "momentum_negative": "A negative momentum should be refused.",
    "weight_decay": "A negative weight_decay should be refused.",
    "ns_steps": "ns_steps=0 should be refused.",
    "ns_negative": "A negative ns_steps should be refused.",
    "vector": "A parameter with 1 dimension should be refused.",
    "scalar": "A parameter with 0 dimensions should be refused.",
    "later": "A vector should be refused, also behind a matrix.",
    "second_group": "A vector should be refused in every group.",
    "ns_vector": "newton_schulz should refuse a vector.",
    "ns_kernel": "newton_schulz should refuse a tensor with 3 dimensions.",
}


@behaviour(12)
def test_bad_arguments_are_refused(observe):
    for name, says in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(12, on_error="lr, momentum and weight_decay may be 0, ns_steps may be 1.")
def test_limits_are_valid(observe):
    close(observe["errors/valid/p"], observe.given["target"], "With lr=0 nothing moves.", rtol=0, atol=1e-7)
