import torch

from quizapp.judge.testing.checks import behaviour, close, expect


def normalise(x, rank, eps=1e-5, weight=None, bias=None, *, dims=None, correction=0, outside=False):
    x = x.double()
    dims = dims or tuple(range(-rank, 0))
    mean = x.mean(dims, keepdim=True)
    var = x.var(dims, correction=correction, keepdim=True)
    out = (x - mean) / (var.sqrt() + eps if outside else (var + eps).sqrt())
    return out if weight is None else out * weight.double() + (0 if bias is None else bias.double())


def rms(x, eps=1e-6, weight=None, *, outside=False, centred=False, total=False):
    x = x.double()
    x = x - x.mean(-1, keepdim=True) if centred else x
    square = x.square().sum(-1, keepdim=True) if total else x.square().mean(-1, keepdim=True)
    out = x / (square.sqrt() + eps if outside else (square + eps).sqrt())
    return out if weight is None else out * weight.double()


def leaf(x):
    return x.detach().double().clone().requires_grad_()


def limits(x):
    return {"rtol": 1e-10, "atol": 1e-10} if x.dtype == torch.float64 else {"rtol": 1e-4, "atol": 2e-5}


def each(observe):
    return enumerate(observe.given["cases"])


def describe(case, x, **options):
    shape = case["shape"][0] if case["as_int"] else tuple(case["shape"])
    more = "".join(f", {name}={value:.3g}" for name, value in options.items())
    return f"LayerNorm({shape}{more}) on {str(x.dtype).removeprefix('torch.')} of shape {tuple(x.shape)}"


def mistakes_of(x, rank, eps, weight=None, bias=None):
    found = []
    n = 1
    for size in x.shape[x.dim() - rank :]:
        n *= size
    found.append(
        (
            f"You are off by a factor sqrt((n - 1) / n), here with n = {n}: divide the sum of squares by n.",
            normalise(x, rank, eps, weight, bias, correction=1),
        )
    )
    found.append(
        (
            "eps is added to the variance, before the root.",
            normalise(x, rank, eps, weight, bias, outside=True),
        )
    )
    if x.dim() > rank:
        everything = tuple(range(x.dim()))
        if x.shape[0] > 1:
            found.append(
                (
                    "One sample alone gives another result than in a batch: that is BatchNorm.",
                    normalise(x, rank, eps, weight, bias, dims=(0,)),
                )
            )
            found.append(
                (
                    "One sample alone gives another result than in a batch: that is BatchNorm.",
                    normalise(x, rank, eps, weight, bias, dims=tuple(range(x.dim() - rank))),
                )
            )
        found.append(
            (
                "You normalize over the leading dimensions too; each sample and position stands alone.",
                normalise(x, rank, eps, weight, bias, dims=everything),
            )
        )
        found.append(
            (
                "You normalize over positions too; reduce over normalized_shape only.",
                normalise(x, rank, eps, weight, bias, dims=everything[1:]),
            )
        )
    if rank > 1:
        found.append(
            (
                "normalized_shape names several dimensions; you reduce over the last one only.",
                normalise(x, 1, eps, weight, bias),
            )
        )
    return found


@behaviour(1)
def test_normalises_trailing_dimensions(observe):
    for i, case in each(observe):
        rank = len(case["shape"])
        for k, x in enumerate(case["x"]):
            close(
                observe[f"layer/{i}/{k}/out"],
                normalise(x, rank),
                "The values are not normalized over the trailing dimensions.",
                **limits(x),
                device=observe.device,
                call=describe(case, x),
                mistakes=mistakes_of(x, rank, 1e-5),
            )


@behaviour(11, presumes=("normalises_trailing_dimensions",))
def test_non_contiguous_input(observe):
    for i, case in each(observe):
        x = case["x"][2]
        for name in ("out", "turned"):
            close(
                observe[f"layer/{i}/strided/{name}"],
                normalise(x, len(case["shape"])),
                "A non-contiguous input gives another result than its copy.",
                **limits(x),
                device=observe.device,
                call=describe(case, x),
            )


@behaviour(1, presumes=("normalises_trailing_dimensions",))
def test_train_and_eval_agree(observe):
    for i, case in each(observe):
        x = case["x"][2]
        want = normalise(x, len(case["shape"]))
        for out in (*observe[f"batch/{i}/modes/train"], observe[f"batch/{i}/modes/eval"]):
            close(
                out,
                want,
                "The result depends on the mode or on earlier inputs: LayerNorm keeps no running statistics.",
                **limits(x),
                device=observe.device,
                call=describe(case, x),
            )
        other = case["x"][1] * 3.0 - 4.0
        close(
            observe[f"batch/{i}/modes/later"],
            normalise(other, len(case["shape"])),
            "The result depends on the mode or on earlier inputs: LayerNorm keeps no running statistics.",
            **limits(x),
            device=observe.device,
            call=f"{describe(case, other)}, in eval mode after other inputs",
        )


@behaviour(1, presumes=("normalises_trailing_dimensions",))
def test_samples_stand_alone(observe):
    for i, case in each(observe):
        x = case["x"][2]
        close(
            torch.stack(list(observe[f"batch/{i}/alone/outs"])),
            normalise(x, len(case["shape"])),
            "One sample alone gives another result than in a batch.",
            **limits(x),
            device=observe.device,
            call=describe(case, x),
        )


@behaviour(2)
def test_eps_and_variance(observe):
    flat = observe.given["flat"]
    for name, x, eps, call in (
        ("default", flat["layer"], 1e-5, "LayerNorm(d) on rows with a standard deviation of about 0.003"),
        ("given", flat["wide"], flat["eps"], f"LayerNorm(d, eps={flat['eps']:.3g})"),
        ("fine", flat["layer"], 1e-9, "LayerNorm(d, eps=1e-9) on rows of a small standard deviation"),
        ("none", flat["layer"], 0.0, "LayerNorm(d, eps=0.0) on rows of a small standard deviation"),
    ):
        close(
            observe[f"eps/layer/{name}"],
            normalise(x, 1, eps),
            "With nearly constant rows the result is not (x - mean) / sqrt(var + eps).",
            rtol=1e-10,
            atol=1e-10,
            device=observe.device,
            call=call,
            mistakes=[
                (
                    "With nearly constant rows the two forms differ visibly: eps goes inside the root.",
                    normalise(x, 1, eps, outside=True),
                ),
                (
                    "You are off by a factor sqrt((n - 1) / n): the variance is the biased one.",
                    normalise(x, 1, eps, correction=1),
                ),
                ("eps is not used.", normalise(x, 1, 0.0)),
                ("The default of eps is 1e-5.", normalise(x, 1, 1e-6 if name == "default" else eps)),
                ("The eps that was given is not used.", normalise(x, 1, 1e-5)),
                ("eps is added once, to the variance.", normalise(x, 1, eps * eps)),
            ],
        )


ZEROS = "A row without variation has the result 0, not NaN: eps keeps the root away from 0."


@behaviour(2)
def test_constant_rows(observe):
    want = torch.zeros_like(observe.given["flat"]["wide"])
    close(observe["eps/layer/constant"], want, ZEROS, rtol=0.0, atol=1e-10, call="LayerNorm of a constant")


@behaviour(4)
def test_rows_of_zeros(observe):
    want = torch.zeros_like(observe.given["flat"]["wide"])
    close(observe["eps/rms/constant"], want, ZEROS, rtol=0.0, atol=1e-10, call="RMSNorm of zeros")


def check_float64_input(observe, name, want):
    out = observe.tensor(f"eps/{name}/wider")
    says = "A float64 input passed through float32: widen the parameters instead."
    expect(out.dtype == torch.float64, "The result should have the dtype of the input.", f"got {out.dtype}")
    close(out, want, says, rtol=1e-10, atol=1e-10, device=observe.device, call="parameters in float32")


@behaviour(10, presumes=("normalises_trailing_dimensions",))
def test_float64_input_of_a_float32_layer(observe):
    check_float64_input(observe, "layer", normalise(observe.given["flat"]["wide"], 1))


@behaviour(3)
def test_parameters_start_as_ones_and_zeros(observe):
    for i, case in each(observe):
        for name, value in (("weight", torch.ones), ("bias", torch.zeros)):
            got = observe.tensor(f"state/{i}/{name}", f"{name} should be a parameter.")
            close(
                got,
                value(case["shape"]),
                f"{name} should start as {value.__name__} of shape normalized_shape.",
                atol=0.0,
                rtol=0.0,
                call=describe(case, case["x"][0]),
            )
        names = observe[f"state/{i}/names"]
        expect(
            names == ["bias", "weight"],
            "The optimizer does not see gamma and beta: weight and bias must be the layer's parameters.",
            f"trainable parameters: {names}",
        )


@behaviour(3)
def test_scale_and_shift(observe):
    for i, case in each(observe):
        x, rank, eps = case["x"][2], len(case["shape"]), case["eps"]
        weight, bias = case["weight"], case["bias"]
        plain = normalise(x, rank, eps)
        close(
            observe[f"layer/{i}/filled/out"],
            normalise(x, rank, eps, weight, bias),
            "The normalized values are not multiplied by weight and shifted by bias.",
            **limits(x),
            device=observe.device,
            call=describe(case, x, eps=eps),
            mistakes=[
                (
                    "bias is added before the multiplication; it comes after.",
                    (plain + bias.double()) * weight.double(),
                ),
                ("weight and bias have no effect.", plain),
                ("weight has no effect.", plain + bias.double()),
                ("bias has no effect.", plain * weight.double()),
                *mistakes_of(x, rank, eps, weight, bias),
            ],
        )


@behaviour(
    3,
    on_error="State dicts should be interchangeable with torch.nn.LayerNorm.",
    presumes=("train_and_eval_agree", "scale_and_shift"),
)
def test_state_dicts_are_interchangeable(observe):
    for i, case in each(observe):
        x = case["x"][1]
        want = normalise(x, len(case["shape"]), 1e-5, case["weight"], case["bias"])
        close(
            observe[f"state/{i}/from_torch/out"],
            want,
            "A state dict loaded from torch.nn.LayerNorm gives another output.",
            **limits(x),
            device=observe.device,
            call=describe(case, x),
        )
        for name in ("weight", "bias"):
            close(
                observe[f"state/{i}/to_torch/{name}"],
                case[name],
                f"A state dict loaded into torch.nn.LayerNorm gives another {name}.",
                **limits(x),
                call=describe(case, x),
            )
        close(
            observe[f"state/{i}/from_torch/later"],
            normalise(x, len(case["shape"]), 1e-5, case["weight"] + 0.5, case["bias"] - 1.0),
            "New values of weight and bias have no effect on a later call.",
            **limits(x),
            device=observe.device,
            call=f"{describe(case, x)}, in eval mode",
        )
        expect(observe[f"state/{i}/plain_state/done"], "With affine=False the state dict should be empty.")


@behaviour(3)
def test_without_affine(observe):
    for i, case in each(observe):
        for name in ("weight", "bias"):
            got = observe[f"state/{i}/plain/{name}"]
            expect(got is None, f"With affine=False {name} should be None.")
        count = observe[f"state/{i}/plain/count"]
        expect(count == 0, "With affine=False there should be no parameter.", f"got {count}")
        x, rank, eps = case["x"][3], len(case["shape"]), case["eps"]
        close(
            observe[f"layer/{i}/plain/out"],
            normalise(x, rank, eps),
            "With affine=False the result should be the normalized values.",
            **limits(x),
            device=observe.device,
            call=describe(case, x, eps=eps, affine=False),
        )


def rms_mistakes(x, eps, weight=None):
    return [
        ("RMSNorm rescales only: do not subtract the mean.", rms(x, eps, weight, centred=True)),
        ("RMSNorm divides by the root of the mean square, not of the sum.", rms(x, eps, weight, total=True)),
        ("eps is added to the mean square, before the root.", rms(x, eps, weight, outside=True)),
        ("eps is not used.", rms(x, 0.0, weight)),
        ("The default of eps is 1e-6.", rms(x, 1e-5, weight)),
        ("The default of eps is 1e-6.", rms(x, 1e-8, weight)),
        ("weight has no effect.", rms(x, eps)),
    ]


@behaviour(4)
def test_rms_formula(observe):
    for i, case in each(observe):
        for k, x in enumerate(case["x"]):
            close(
                observe[f"rms/{i}/{k}/out"],
                rms(x),
                "The result is not x / sqrt(mean(x**2) + eps) over the last dimension.",
                **limits(x),
                device=observe.device,
                call=f"RMSNorm({x.shape[-1]}) on shape {tuple(x.shape)}",
                mistakes=rms_mistakes(x, 1e-6),
            )
        x = case["x"][2]
        weight = case["weight"].reshape(-1, x.shape[-1])[0]
        for path in ("filled/out", "modes/eval"):
            close(
                observe[f"rms/{i}/{path}"],
                rms(x, case["eps"], weight),
                "The result is not x / sqrt(mean(x**2) + eps) * weight.",
                **limits(x),
                device=observe.device,
                call=f"RMSNorm({x.shape[-1]}, eps={case['eps']:.3g}) on shape {tuple(x.shape)}",
                mistakes=rms_mistakes(x, case["eps"], weight),
            )
        close(
            observe[f"rms/{i}/modes/later"],
            rms(x, case["eps"], weight + 0.5),
            "RMSNorm: new values of weight have no effect on a later call.",
            **limits(x),
            device=observe.device,
        )


@behaviour(4)
def test_rms_eps(observe):
    flat = observe.given["flat"]
    for name, x, eps, call in (
        ("default", flat["rms"], 1e-6, "RMSNorm(d) on rows with a root mean square of about 0.001"),
        ("given", flat["wide"], flat["eps"], f"RMSNorm(d, eps={flat['eps']:.3g})"),
        ("fine", flat["rms"], 1e-9, "RMSNorm(d, eps=1e-9) on rows of small values"),
        ("none", flat["rms"], 0.0, "RMSNorm(d, eps=0.0) on rows of small values"),
    ):
        close(
            observe[f"eps/rms/{name}"],
            rms(x, eps),
            "For small rows the result is not x / sqrt(mean(x**2) + eps).",
            rtol=1e-10,
            atol=1e-10,
            device=observe.device,
            call=call,
            mistakes=rms_mistakes(x, eps),
        )


@behaviour(4)
def test_rms_parameters(observe):
    for i, case in each(observe):
        weight = observe.tensor(f"rms/{i}/weight", "weight should be a parameter.")
        close(
            weight,
            torch.ones(case["shape"][-1]),
            "RMSNorm's weight should start as ones.",
            atol=0.0,
            rtol=0.0,
        )
        names = observe[f"rms/{i}/names"]
        says = "RMSNorm has one parameter, weight, and no bias."
        expect(names == ["weight"], says, f"trainable: {names}")
        names = observe[f"rms/{i}/all"]
        expect(names == ["weight"], says, f"parameters: {names}")


@behaviour(10, presumes=("rms_eps",))
def test_float64_input_of_a_float32_rms(observe):
    check_float64_input(observe, "rms", rms(observe.given["flat"]["wide"]))


@behaviour(5, on_error="Backward should work, in train mode and in eval mode.")
def test_layer_gradients(observe):
    for i, case in each(observe):
        rank, up = len(case["shape"]), case["up"].double()
        x = leaf(case["x"][2])
        weight = leaf(case["weight"])
        bias = leaf(case["bias"])
        normalise(x, rank, case["eps"], weight, bias).backward(up)
        small = (
            {"rtol": 1e-8, "atol": 1e-9}
            if case["up"].dtype == torch.float64
            else {"rtol": 1e-3, "atol": 2e-4}
        )
        through = "Mean and variance depend on x too: the gradient must pass through them."
        var = x.detach().var(tuple(range(-rank, 0)), correction=0, keepdim=True)
        constant = up * weight.detach() / (var + case["eps"]).sqrt()
        for name, want in (
            ("x", x.grad),
            ("weight", weight.grad),
            ("bias", bias.grad),
            ("x_eval", x.grad),
        ):
            what = name.replace("_eval", ", in eval mode,")
            close(
                observe.tensor(f"gradient/{i}/{name}", f"No gradient reaches {what}."),
                want,
                f"The gradient with respect to {what} is wrong.",
                **small,
                device=observe.device,
                call=describe(case, case["x"][2], eps=case["eps"]),
                mistakes={through: constant} if name == "x" else {},
            )
        x = leaf(case["x"][2])
        normalise(x, rank, case["eps"]).backward(up)
        close(
            observe.tensor(f"gradient/plain{i}/x", "No gradient reaches x."),
            x.grad,
            "With affine=False the gradient with respect to x is wrong.",
            **small,
            device=observe.device,
        )


@behaviour(5, on_error="Backward should work, in train mode and in eval mode.")
def test_rms_gradients(observe):
    for i, case in each(observe):
        x = leaf(case["x"][2])
        weight = leaf(case["weight"].reshape(-1, x.shape[-1])[0])
        rms(x, case["eps"], weight).backward(case["up"].double())
        small = (
            {"rtol": 1e-8, "atol": 1e-9}
            if case["up"].dtype == torch.float64
            else {"rtol": 1e-3, "atol": 2e-4}
        )
        for name, want in (("x", x.grad), ("weight", weight.grad), ("x_eval", x.grad)):
            what = name.replace("_eval", ", in eval mode,")
            close(
                observe.tensor(f"gradient/rms{i}/{name}", f"No gradient reaches {what}."),
                want,
                f"RMSNorm: the gradient with respect to {what} is wrong.",
                **small,
                device=observe.device,
            )


@behaviour(5, on_error="Backward should work, for half-precision inputs too.")
def test_half_precision_gradients(observe):
    for name in ("bfloat16", "small"):
        x = observe.given["half"][name]
        for kind, want in (("layer", normalise(x, 1)), ("rms", rms(x))):
            close(
                observe.tensor(f"half/gradient_{name}/{kind}/weight", "No gradient reaches weight."),
                want.sum(0),
                "The gradient with respect to weight is wrong for half-precision inputs.",
                rtol=3e-2,
                atol=0.15,
                device=observe.device,
                call=f"{'LayerNorm' if kind == 'layer' else 'RMSNorm'} of {x.dtype}, float32 parameters",
            )


def half_outputs(observe):
    half = observe.given["half"]
    for name in ("float16", "bfloat16", "small"):
        x = half[name]
        for kind in ("wide", "same"):
            dtype = torch.float32 if kind == "wide" else x.dtype
            weight, bias = half["weight"].to(dtype), half["bias"].to(dtype)
            owner = "float32" if kind == "wide" else "half-precision"
            what = f"{str(x.dtype).removeprefix('torch.')} input, {owner} parameters"
            yield (
                f"half/layer_{name}_{kind}/out",
                x,
                normalise(x, 1, 1e-5, weight, bias),
                f"LayerNorm, {what}",
            )
            yield f"half/rms_{name}_{kind}/out", x, rms(x, 1e-6, weight), f"RMSNorm, {what}"
        yield f"half/plain_{name}/out", x, normalise(x, 1), f"LayerNorm(affine=False), {x.dtype} input"


@behaviour(6, presumes=("scale_and_shift", "rms_formula"))
def test_half_precision_values(observe):
    for path, x, want, call in half_outputs(observe):
        low = 2e-2 if x.dtype == torch.bfloat16 else 4e-3
        says = "Half-precision inputs need statistics in float32."
        if "float16_" in path and "bfloat16" not in path:
            says = "1000 squared does not fit into float16: compute the statistics in float32."
        close(observe[path], want, says, rtol=low, atol=2 * low, device=observe.device, call=call)


@behaviour(6)
def test_half_precision_dtype(observe):
    for path, x, _, call in half_outputs(observe):
        out = observe.tensor(path)
        expect(out.dtype == x.dtype, "The result should have the dtype of the input.", f"{call}: {out.dtype}")


@behaviour(7, presumes=("normalises_trailing_dimensions",))
def test_large_offset(observe):
    x = observe.given["offset"]
    close(
        observe["offset/out"],
        normalise(x, 1),
        "Subtract the mean before squaring: under a large offset mean(x**2) - mean(x)**2 cancels.",
        rtol=0.0,
        atol=0.01,
        call="LayerNorm(61) on float32 values around 10,000 with standard deviation 1",
    )
    close(
        observe["offset/mixed"],
        normalise(observe.given["mixed"], 1),
        "Subtract each row's own mean before squaring: one shift for all rows does not help.",
        rtol=0.0,
        atol=0.01,
        call="LayerNorm(61) on float32 rows around 0, 10,000 and -10,000 with standard deviation 1",
    )


@behaviour(8)
def test_input_is_not_modified(observe):
    for i, case in each(observe):
        for kind in ("layer", "rms"):
            for k, x in enumerate(case["x"]):
                expect(torch.equal(observe.tensor(f"{kind}/{i}/{k}/x"), x), "The input was changed in place.")
        for name, k in (("filled", 2), ("plain", 3)):
            same = torch.equal(observe.tensor(f"layer/{i}/{name}/x"), case["x"][k])
            expect(same, "The input was changed in place.")
    for name in ("float16", "bfloat16"):
        for kind in ("layer", "rms"):
            same = torch.equal(observe.tensor(f"half/{kind}_{name}_wide/x"), observe.given["half"][name])
            expect(same, "A half-precision input was changed in place.")


REFUSED = {
    "other": "LayerNorm(5) on shape (3, 6)",
    "one": "LayerNorm(5) on shape (3, 1), which would broadcast,",
    "leading": "LayerNorm(5) on shape (5, 3)",
    "tuple_order": "LayerNorm((3, 5)) on shape (2, 5, 3)",
    "tuple_one": "LayerNorm((3, 5)) on shape (2, 1, 5), which would broadcast,",
    "tuple_first": "LayerNorm((3, 5)) on shape (2, 6, 5)",
    "tuple_short": "LayerNorm((3, 5)) on shape (5,)",
    "to_one": "LayerNorm(1) on shape (3, 6), where the weight would broadcast,",
    "tuple_to_one": "LayerNorm((1, 5)) on shape (2, 4, 5), where the weight would broadcast,",
    "plain_other": "LayerNorm(5, affine=False) on shape (3, 6)",
    "plain_tuple": "LayerNorm((3, 5), affine=False) on shape (2, 5, 3)",
    "rms_other": "RMSNorm(5) on shape (3, 6)",
    "rms_one": "RMSNorm(5) on shape (3, 1), which would broadcast,",
    "rms_to_one": "RMSNorm(1) on shape (3, 6), where the weight would broadcast,",
}


@behaviour(8)
def test_shapes_that_do_not_fit(observe):
    for name, what in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=f"{what} should be refused.")
