import torch

from quizapp.judge.testing.checks import behaviour, close, expect

DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
GRAD_RTOL = {"float32": 1e-4, "float64": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}


def grads_of(observe, name="float32", missing=()):
    return [None if i in missing else g.to(DTYPES[name]) for i, g in enumerate(observe.given["grads"])]


def norm_of(grads):
    return torch.stack([g.double().norm() for g in grads if g is not None]).norm()


def factor_of(observe, how="clipped"):
    """The share of the norm that a limit is."""
    return observe.given["kept"]["factors"][how]


def limit_of(observe, factor):
    return factor * norm_of(observe.given["grads"]).item()


def check_norm(observe, path, grads):
    got = observe.tensor(path, "clip_grad_norm should return the norm as a tensor.")
    expect(got.dim() == 0, "The norm should be a zero-dimensional tensor.", f"got shape {tuple(got.shape)}")
    norms = [g.double().norm() for g in grads if g is not None]
    total = norm_of(grads)
    close(
        got,
        total,
        "The returned norm is not the L2 norm of all gradients as one vector, before clipping.",
        rtol=3e-6,
        device=observe.device,
        call=f"clip_grad_norm on {len(norms)} gradients",
        mistakes={
            "With gradients of norm 3 and 4 the global norm is 5, not 7.": torch.stack(norms).sum(),
            "The squares are summed, but the root is missing.": total**2,
            "That is the largest norm of a single tensor, not the norm of the whole.": torch.stack(
                norms
            ).max(),
            "That is the largest element, not the L2 norm.": max(
                g.double().abs().max() for g in grads if g is not None
            ),
        },
    )


@behaviour(1)
def test_global_norm(observe):
    for name in ("float32", "float64"):
        for how in ("clipped", "slightly", "kept"):
            check_norm(observe, f"norm/{name}_{how}/norm", grads_of(observe, name))
    for name in ("above", "equal", "half"):
        close(
            observe[f"norm/{name}/norm"],
            torch.tensor(5.0),
            "The norm of the gradients [3] and [0, -4] is 5.",
            rtol=1e-6,
            mistakes={"With gradients of norm 3 and 4 the global norm is 5, not 7.": torch.tensor(7.0)},
        )
    close(
        observe["norm/scalar/norm_returned"],
        torch.tensor(5.0),
        "The norm of the gradients -4 (zero-dimensional) and [[3]] is 5.",
        rtol=1e-6,
        mistakes={"The gradient of a zero-dimensional parameter is missing.": torch.tensor(3.0)},
    )
    close(
        observe["norm/zero/norm"], torch.tensor(0.0), "The norm of zero gradients is 0.", rtol=0, atol=1e-12
    )


def check_scaled(observe, path, grads, factor, rtol, call):
    total = norm_of(grads)
    for k, grad in enumerate(grads):
        got = observe[path][k]
        if grad is None:
            expect(got is None, "A parameter without a gradient was given one.", call)
            continue
        g = grad.double()
        alone = g * min(1.0, (factor * total / g.norm()).item())
        close(
            got,
            g * factor,
            "Above max_norm every gradient should be multiplied by max_norm / norm.",
            rtol=rtol,
            atol=1e-7,
            device=observe.device,
            call=f"{call}, gradient {k}",
            mistakes={
                "The gradients were not clipped at all.": g,
                "The second layer's gradient was small and should shrink by the same factor as the first.": alone,
                "The gradients were scaled to norm 1: the factor is max_norm / norm.": g / total,
                "The factor was applied twice.": g * factor**2,
            },
        )


@behaviour(2)
def test_all_gradients_shrink_alike(observe):
    for name in DTYPES:
        grads = grads_of(observe, name)
        for how in ("clipped", "slightly"):
            limit = limit_of(observe, factor_of(observe, how))
            check_scaled(
                observe,
                f"norm/{name}_{how}/grads",
                grads,
                limit / norm_of(grads).item(),
                GRAD_RTOL[name],
                f"clip_grad_norm on {name} gradients of norm {norm_of(grads).item():.4g}, max_norm={limit:.4g}",
            )
    known = [torch.tensor([3.0]), torch.tensor([0.0, -4.0])]
    check_scaled(observe, "norm/above/grads", known, 0.5, 1e-4, "gradients [3] and [0, -4], max_norm=2.5")
    known = [torch.tensor(-4.0), torch.tensor([[3.0]])]
    check_scaled(observe, "norm/scalar/norm_grads", known, 0.4, 1e-4, "gradients -4 and [[3]], max_norm=2")
    known = [torch.tensor([0.3]), torch.tensor([0.0, -0.4])]
    for name, limit in (("just_above", 0.4998), ("small", 0.25)):
        call = f"gradients [0.3] and [0, -0.4], max_norm={limit}"
        check_scaled(observe, f"norm/{name}/grads", known, limit / 0.5, 1e-4, call)


@behaviour(3)
def test_small_gradients_stay(observe):
    known = [torch.tensor([3.0]), torch.tensor([0.0, -4.0])]
    for path, grads, what in (
        *((f"norm/{name}_kept", grads_of(observe, name), "a max_norm above the norm") for name in DTYPES),
        ("norm/half", known, "norm 5 and max_norm 10"),
        ("norm/small_kept", [g / 10 for g in known], "norm 0.5 and max_norm 0.8"),
        ("norm/equal", known, "norm 5 and max_norm 5"),
        ("norm/just_below", known, "norm 5 and max_norm 5.000002"),
        ("norm/zero", [torch.zeros_like(g) for g in observe.given["grads"]], "gradients of zero"),
    ):
        for got, want in zip(observe[f"{path}/grads"], grads, strict=True):
            expect(
                torch.equal(got, want),
                "A gradient of norm 0.5 with max_norm 1 must stay as it is."
                if path != "norm/equal"
                else "At exactly max_norm no gradient may change, not even in the last bit.",
                f"{what}: first element {want.flatten()[0].item():.7g} became {got.flatten()[0].item():.7g}",
            )
    # Whoever refuses an infinite limit as a slip of the caller changes no gradient either.
    if observe.error("norm/endless") is None:
        for got, want in zip(observe["norm/endless/grads"], grads_of(observe), strict=True):
            expect(torch.equal(got, want), "An infinite max_norm limits nothing: no gradient may change.")


EMPTY = "The norm is right, but nothing was clipped: your iterator was empty the second time."


@behaviour(4)
def test_any_iterable(observe):
    grads = grads_of(observe)
    factor = factor_of(observe)
    for name in ("generator", "tuple", "iterator", "dict", "module"):
        check_norm(observe, f"iterables/{name}/norm", grads)
        untouched = all(
            torch.equal(a, b) for a, b in zip(observe[f"iterables/{name}/grads"], grads, strict=True)
        )
        expect(
            not untouched,
            EMPTY if name in ("generator", "iterator", "module") else "Nothing was clipped.",
            name,
        )
        check_scaled(observe, f"iterables/{name}/grads", grads, factor, 1e-4, f"parameters given as {name}")
        for got, grad in zip(observe[f"iterables/{name}/values"], grads, strict=True):
            untouched = torch.equal(got, grad) and grad.abs().max() > 0.5
            expect(
                not untouched, "clip_grad_value takes any iterable as well.", f"{name}: nothing was clipped"
            )


@behaviour(4)
def test_single_tensor(observe):
    grads = grads_of(observe)
    check_norm(observe, "iterables/single/norm", grads[:1])
    want = [grads[0].double() * 0.25 / norm_of(grads[:1]), *grads[1:]]
    limited = [grads[0].clamp(-0.5, 0.5), *grads[1:]]
    for got, value in zip(observe["iterables/single/grads"], want, strict=True):
        close(
            got, value, "A single tensor is one parameter, whose gradient is clipped.", rtol=1e-4, atol=1e-7
        )
    for got, value in zip(observe["iterables/single/values"], limited, strict=True):
        unclipped = got.shape != value.shape or torch.equal(got, grads[0])
        says = (
            "takes a single tensor as well"
            if unclipped
            else "should limit every element, and only of its tensor"
        )
        close(got, value, f"clip_grad_value {says}.", rtol=1e-6)
    says = "A single tensor need not be an nn.Parameter."
    want = grads[0].double() * 0.25 / norm_of(grads[:1])
    close(observe["iterables/plain/norm"], want, says, rtol=1e-4, atol=1e-7, call="clip_grad_norm")
    close(
        observe["iterables/plain/value"],
        grads[0].clamp(-0.25, 0.25),
        says,
        rtol=1e-6,
        call="clip_grad_value",
    )


@behaviour(4)
def test_gradients_of_frozen_parameters(observe):
    grads = grads_of(observe)
    check_norm(observe, "iterables/frozen/norm", grads)
    call = "parameters that have a gradient but no longer require one"
    check_scaled(observe, "iterables/frozen/grads", grads, factor_of(observe), 1e-4, call)


@behaviour(4, on_error="Parameters without a gradient have to be skipped.")
def test_missing_gradients(observe):
    for name, missing in (("some", (0, 3)), ("last", (4,))):
        grads = grads_of(observe, missing=missing)
        check_norm(observe, f"iterables/{name}/norm", grads)
        factor = 0.25 / norm_of(grads).item()
        check_scaled(
            observe, f"iterables/{name}/grads", grads, factor, 1e-4, "some gradients None, max_norm=0.25"
        )
        for got, grad in zip(observe[f"iterables/{name}/values"], grads, strict=True):
            if grad is None:
                expect(got is None, "A parameter without a gradient was given one.")
            else:
                close(got, grad.clamp(-0.5, 0.5), "clip_grad_value skips missing gradients only.", rtol=1e-6)
    says = "A single tensor without a gradient has the norm 0, as a tensor."
    close(observe.tensor("iterables/single_missing/norm", says), torch.tensor(0.0), says, rtol=0, atol=0)
    expect(observe["iterables/single_missing/grad"] is None, "A parameter without a gradient was given one.")
    got = observe.tensor("iterables/all/norm", "Without any gradient the norm is a tensor of 0.")
    close(got, torch.tensor(0.0), "Without any gradient the norm is 0.", rtol=0, atol=0)
    expect(observe["iterables/all/grads"] == [None] * 5, "A parameter without a gradient was given one.")


@behaviour(5)
def test_in_place(observe):
    for name, dtype in DTYPES.items():
        for path in (f"norm/{name}_clipped", f"norm/{name}_kept", f"value/{name}"):
            same = observe[f"{path}/same"] == [True] * 5
            expect(same, "p.grad is another tensor now: change the gradient in place.", f"{name} gradients")
            for got, held in zip(observe[f"{path}/grads"], observe[f"{path}/held"], strict=True):
                expect(got.dtype == dtype, "A gradient changed its dtype.", f"{name} became {got.dtype}")
                expect(torch.equal(got, held), "p.grad is another tensor now: change the gradient in place.")
            for got, memory in zip(observe[f"{path}/grads"], observe[f"{path}/memory"], strict=True):
                expect(
                    torch.equal(got, memory),
                    "p.grad has other memory now: change the gradient in place, so that its views see the change.",
                    f"{name} gradients",
                )
            for got, want in zip(observe[f"{path}/values"], observe.given["values"], strict=True):
                expect(
                    torch.equal(got, want.to(dtype)), "A parameter's value changed; only gradients may.", name
                )


@behaviour(6, presumes=("global_norm",))
def test_half_precision_norm(observe):
    for name in ("float16", "bfloat16"):
        for path, grads in (
            (f"half/{name}", [torch.full((1,), 300.0)] * 4),
            (f"half/{name}_wide", [observe.given["wide"].to(DTYPES[name])]),
            (f"norm/{name}_clipped", grads_of(observe, name)),
            (f"norm/{name}_kept", grads_of(observe, name)),
        ):
            got = observe.tensor(f"{path}/norm", "clip_grad_norm should return the norm as a tensor.")
            overflow = "Four gradients of 300 gave an infinite norm: square them in float32."
            expect(not torch.isinf(got.double()).any(), overflow, f"{name} gradients")
            close(
                got,
                norm_of(grads),
                "The norm of half-precision gradients must be computed in float32.",
                rtol=3e-6,
                device=observe.device,
                call=f"clip_grad_norm on {name} gradients",
            )
            expect(
                got.dtype == torch.float32,
                "The norm of half-precision gradients should be returned in float32.",
                f"got {got.dtype}",
            )


@behaviour(6)
def test_half_precision_gradients_are_clipped(observe):
    for name in ("float16", "bfloat16"):
        check_scaled(
            observe,
            f"half/{name}/grads",
            [torch.full((1,), 300.0)] * 4,
            0.1,
            1e-2,
            f"four {name} gradients of 300",
        )
        wide = [observe.given["wide"].to(DTYPES[name])]
        factor = 10.0 / norm_of(wide).item()
        check_scaled(observe, f"half/{name}_wide/grads", wide, factor, 1e-2, f"{name} gradients of size 300")


@behaviour(6, presumes=("half_precision_gradients_are_clipped",))
def test_large_limit_for_half_precision(observe):
    for name in ("float16", "bfloat16"):
        for got in observe[f"large_limit/{name}/grads"]:
            close(
                got,
                torch.full((1,), 250.0),
                "A factor below 1 made half-precision gradients wrong: gradient times max_norm is no float16 number.",
                rtol=1e-2,
                device=observe.device,
                call=f"four {name} gradients of 300, max_norm=500",
            )


@behaviour(6, presumes=("half_precision_norm",))
def test_mixed_dtypes(observe):
    grads = [torch.tensor([20.0, -10.0]), *(torch.full((1,), 300.0) for _ in range(3))]
    for name, ordered in (("float32_first", grads), ("float16_first", grads[::-1])):
        got = observe.tensor(f"mixed/{name}/norm", "clip_grad_norm should return the norm as a tensor.")
        close(
            got,
            norm_of(grads),
            "Among float32 gradients the squares of float16 gradients overflow: widen each gradient.",
            rtol=3e-6,
            device=observe.device,
            call=f"one float32 gradient and three float16 gradients of 300, {name.replace('_', ' ')}",
        )
        expect(got.dtype == torch.float32, "The norm should be returned in float32.", f"got {got.dtype}")
        factor = 50.0 / norm_of(grads).item()
        call = f"a float32 and three float16 gradients, {name.replace('_', ' ')}"
        check_scaled(observe, f"mixed/{name}/grads", ordered, factor, 1e-2, call)


@behaviour(7)
def test_bad_norm(observe):
    for name in ("inf", "minus", "nan"):
        for dtype in ("float32", "float16"):
            path, what = f"bad/{name}_{dtype}", "NaN" if name == "nan" else "infinite"
            got = observe.tensor(
                f"{path}/norm", "clip_grad_norm should return the norm as a tensor."
            ).double()
            right = torch.isnan(got) if name == "nan" else torch.isinf(got)
            expect(right.all(), f"A norm that is {what} should be returned as it is.", f"got {got.tolist()}")
            expect(
                all(isinstance(after, torch.Tensor) for after in observe[f"{path}/grads"]),
                f"With a norm that is {what} no gradient may change; yours are gone.",
            )
            spread = name != "nan" and any(torch.isnan(after).any() for after in observe[f"{path}/grads"])
            for before, after in zip(observe[f"{path}/before"], observe[f"{path}/grads"], strict=True):
                same = torch.equal(torch.isnan(before), torch.isnan(after)) and torch.equal(
                    before.nan_to_num(7.0, 8.0, 9.0), after.nan_to_num(7.0, 8.0, 9.0)
                )
                expect(
                    same,
                    "One infinite element turned gradients into NaN: max_norm / inf is 0, and 0 times inf is NaN."
                    if spread
                    else f"With a norm that is {what} no gradient may change.",
                    f"one {name} among {dtype} gradients",
                )


@behaviour(8)
def test_value_clipping(observe):
    for name in DTYPES:
        for k, (got, grad) in enumerate(
            zip(observe[f"value/{name}/grads"], grads_of(observe, name), strict=True)
        ):
            g = grad.double()
            close(
                got,
                g.clamp(-0.5, 0.5),
                "clip_grad_value should limit every element to [-clip_value, clip_value].",
                rtol=1e-6,
                device=observe.device,
                call=f"clip_grad_value on {name} gradients, clip_value=0.5, gradient {k}",
                mistakes={
                    "-7 should have become -1: the lower side has a limit too.": g.clamp(max=0.5),
                    "7 should have become 1: the upper side has a limit too.": g.clamp(min=-0.5),
                },
            )
    close(
        observe["value/known/grad"],
        torch.tensor([-1.0, -1.0, 0.25, 1.0, 1.0]),
        "-7 should have become -1, 3 should have become 1, and what lies within stays.",
        rtol=1e-6,
    )
    for got, want in zip(observe["norm/scalar/value_grads"], (-2.0, 2.0), strict=True):
        says = "clip_value=2 should turn the gradients -4 (zero-dimensional) and [[3]] into -2 and 2."
        close(got.flatten(), torch.tensor([want]), says, rtol=1e-6)


@behaviour(8)
def test_value_clipping_of_infinities(observe):
    close(
        observe["value/infinite/grad"],
        torch.tensor([-1.75, 1.625, 1.75, 1.75, -1.75]),
        "Infinite elements are limited like all others.",
        rtol=1e-6,
        call="clip_grad_value of [-inf, 1.625, inf, 1.875, -3], clip_value=1.75",
    )


@behaviour(8)
def test_value_clipping_returns_none(observe):
    for name in DTYPES:
        expect(observe[f"value/{name}/norm"] is None, "clip_grad_value should return None.")


@behaviour(9)
def test_bad_limits_are_refused(observe):
    for name, what in (("zero", "0"), ("negative", "-1")):
        observe.raised(f"errors/norm_{name}", "ValueError", says=f"max_norm={what} should be refused.")
        for kind, argument in (("norm", "max_norm"), ("value", "clip_value")):
            says = f"{argument}={what} should be refused, also where there is nothing to clip."
            observe.raised(f"errors/{kind}_nothing_{name}", "ValueError", says=says)
        observe.raised(f"errors/value_{name}", "ValueError", says=f"clip_value={what} should be refused.")
