import torch

from quizapp.judge.testing.checks import behaviour, close, expect


def dropped(observe, path):
    """Where the result is zero; the inputs never are."""
    return observe.tensor(path, "dropout returns a tensor.") == 0


def frequencies(observe):
    for i, case in enumerate(observe.given["large"]):
        yield f"frequency/{i}/out", case["x"], case["p"], f"dropout(x, {case['p']:.3f})"
    x, p = observe.given["line"]["x"], observe.given["line"]["p"]
    yield "frequency/line/out", x, p, f"dropout(x, {p:.3f}, training=True)"
    yield "frequency/default/out", x, 0.5, "dropout(x)"
    yield "frequency/module/out", x, p, f"Dropout({p:.3f})(x)"
    yield "frequency/module_default/out", x, 0.5, "Dropout()(x)"
    yield "frequency/generator/out", x, p, f"dropout(x, {p:.3f}, generator=generator)"
    yield "frequency/no_grad/out", x, p, f"dropout(x, {p:.3f}) under torch.no_grad()"
    yield "frequency/module_no_grad/out", x, p, f"Dropout({p:.3f})(x) in training under torch.no_grad()"


@behaviour(1)
def test_share_of_dropped_elements(observe):
    for path, x, p, call in frequencies(observe):
        zero = dropped(observe, path)
        expect(zero.shape == x.shape, "The result has another shape than x.")
        share = zero.double().mean().item()
        detail = f"{call} on {x.numel()} elements: {share:.1%} are zero, expected {p:.1%}"
        if abs(share - (1 - p)) < 0.02 < abs(share - p):
            expect(
                False,
                f"With p = {p:.2g} you dropped {share:.0%} of the elements: p is the drop rate.",
                detail,
            )
        expect(abs(share - p) < 0.02, "The share of dropped elements is not p.", detail)


@behaviour(1)
def test_elements_are_independent(observe):
    found = []
    for path, x, p, call in frequencies(observe):
        zero = dropped(observe, path)
        for axis in range(zero.dim()):
            near = zero.narrow(axis, 1, zero.shape[axis] - 1) == zero.narrow(axis, 0, zero.shape[axis] - 1)
            share, want = near.double().mean().item(), p * p + (1 - p) * (1 - p)
            detail = (
                f"{call} on shape {tuple(x.shape)}: neighbors along dimension {axis} share their fate in "
                f"{share:.1%} of all cases, expected {want:.1%}"
            )
            names = "rows" if zero.dim() == 2 and axis == 1 else "columns" if zero.dim() == 2 else "slices"
            expect(share < 0.98, f"Whole {names} vanish together: draw one number per element.", detail)
            if abs(share - want) >= 0.04:
                found.append(detail)
    expect(not found, "Elements are not dropped independently of each other.", "; ".join(found[:1]))


@behaviour(1)
def test_far_elements_are_independent(observe):
    for path, x, p, call in frequencies(observe):
        zero = dropped(observe, path)
        half = zero.numel() // 2
        flat = zero.flatten()
        near = flat[:half] == flat[-half:]
        share, want = near.double().mean().item(), p * p + (1 - p) * (1 - p)
        detail = f"{call} on shape {tuple(x.shape)}"
        expect(
            abs(share - want) < 0.04,
            "The first half of the mask decides the second: draw one number per element.",
            f"{detail}: {share:.1%} share their fate, expected {want:.1%}",
        )
        for axis in range(zero.dim() if zero.dim() > 1 else 0):
            slices = zero.movedim(axis, 0).flatten(1)
            expect(
                len(slices.unique(dim=0)) == len(slices),
                "Slices of x far from each other share a mask: draw one number per element.",
                f"{detail}, along dimension {axis}",
            )
            expect(
                len(slices.sum(1).unique()) > 1,
                "The same number of elements is dropped in every slice: each one must be drawn on its own.",
                f"{detail}, along dimension {axis}",
            )


@behaviour(1)
def test_rates_near_the_ends(observe):
    case = observe.given["counts"]
    for p, zeros in zip(case["fine"], observe["counts/fine/zeros"], strict=True):
        spread = (case["size"] * p * (1 - p)) ** 0.5
        expect(
            abs(zeros - case["size"] * p) < 8 * spread,
            "A rate close to 0 or 1 is not met: the numbers that you draw are too coarse.",
            f"dropout(x, {p:.4f}) on {case['size']} elements: {zeros} are zero, expected {case['size'] * p:.0f}",
        )


@behaviour(1)
def test_number_of_dropped_elements_varies(observe):
    counts = {int(n) for n in (observe.tensor("counts/many/outs") == 0).flatten(1).sum(1)}
    expect(
        len(counts) > 1,
        "The same number of elements is dropped every time: each one must be drawn on its own.",
        f"40 calls with p = 0.5 on 50 elements dropped {sorted(counts)} each",
    )


@behaviour(1, on_error="A tensor without dimensions is one element.")
def test_scalar_input(observe):
    zero = observe.tensor("counts/scalar/outs") == 0
    expect(zero.shape == (80,), "A zero-dimensional x gives a zero-dimensional result.")
    expect(
        0 < int(zero.sum()) < 80,
        "A zero-dimensional x is dropped with probability p too.",
        f"80 calls with p = 0.5: {int(zero.sum())} times zero",
    )


def scales(out, x, p):
    """What survivors look like under typical mistakes, zero where the element was dropped."""
    zero = out == 0
    share = zero.double().mean().item()
    masked = torch.where(zero, 0.0, x.double())
    return masked, {
        "The mean fell to 1 - p of the input; evaluation would see larger activations than training.": masked,
        "The factor is 1 / (1 - p), not 1 / p.": masked / p,
        "The factor is 1 / (1 - p): divide by the keep probability instead of multiplying.": masked * (1 - p),
        "The factor comes from p, not from the share that happened to survive.": masked
        / max(1 - share, 1e-9),
    }


@behaviour(2)
def test_survivors_are_scaled(observe):
    for path, x, p, call in frequencies(observe):
        out = observe.tensor(path)
        masked, mistakes = scales(out, x, p)
        close(
            out,
            masked / (1 - p),
            "Surviving elements are not multiplied by 1 / (1 - p).",
            rtol=1e-5,
            atol=0.0,
            device=observe.device,
            call=call,
            mistakes={} if abs(p - 0.5) < 0.05 else mistakes,
        )


@behaviour(2)
def test_survivors_in_other_dtypes(observe):
    for i, case in enumerate(observe.given["small"]):
        x, p = case["x"], case["p"]
        out = observe.tensor(f"small/{i}/train/out")
        masked, mistakes = scales(out, x, p)
        low = x.dtype in (torch.bfloat16, torch.float16)
        close(
            out,
            masked / (1 - p),
            "Surviving elements are not multiplied by 1 / (1 - p).",
            rtol=2e-2 if low else 1e-5,
            atol=0.0,
            device=observe.device,
            call=f"dropout(x, {p:.3f}) on {str(x.dtype).removeprefix('torch.')} of shape {tuple(x.shape)}",
            mistakes=mistakes,
        )
        expect(
            0 < int((out == 0).sum()) < out.numel(), "In training some elements are dropped and some survive."
        )


@behaviour(11)
def test_survivors_beyond_float32(observe):
    x = observe.given["counts"]["huge"]
    out = observe.tensor("counts/huge/out")
    close(
        out,
        torch.where(out == 0, 0.0, x * 2.0),
        "Surviving float64 elements left the range of float32: do not convert x on the way.",
        rtol=1e-5,
        atol=0.0,
        call="dropout(x, 0.5) on float64 values around 1e200",
    )


@behaviour(3)
def test_evaluation_changes_nothing(observe):
    for i, case in enumerate(observe.given["small"]):
        for name, p in (("eval", case["p"]), ("eval_one", 1.0)):
            x = case["x"]
            says = "Inverted dropout does nothing at evaluation."
            close(
                observe.tensor(f"small/{i}/{name}/out"),
                x,
                says,
                rtol=1e-6,
                atol=0.0,
                call=f"dropout(x, {p:.3g}, training=False)",
                mistakes={f"{says} Yours scales.": x.double() * (1 - p)},
            )


@behaviour(3, on_error="At evaluation the result stays connected to x.")
def test_gradient_at_evaluation(observe):
    for name in ("function", "module"):
        got = observe[f"gradient/eval/{name}"]
        says = "At evaluation the result equals x, and so its gradient passes through unchanged."
        expect(got is not None and torch.equal(got, observe.given["grad"]["up"][0]), says, name)


@behaviour(4)
def test_p_zero(observe):
    for i, case in enumerate(observe.given["small"]):
        close(
            observe.tensor(f"small/{i}/none/out"),
            case["x"],
            "p = 0 should give x.",
            rtol=1e-6,
            atol=0.0,
            call="dropout(x, 0.0)",
        )
    close(
        observe.tensor("ends/module_none/out"),
        observe.given["small"][0]["x"],
        "Dropout(0.0) should give x.",
        rtol=1e-6,
    )


@behaviour(4, on_error="p = 1 is valid: it drops everything.")
def test_p_one(observe):
    paths = [f"small/{i}/all/out" for i in range(len(observe.given["small"]))]
    for path in [*paths, "ends/module_all/out"]:
        out = observe.tensor(path).double()
        expect(
            not out.isnan().any() and not out.isinf().any(),
            "Dropping everything should give zeros, not NaN.",
            "p = 1.0",
        )
        expect(bool((out == 0).all()), "p = 1 should give zeros.")


@behaviour(4, on_error="The result must stay connected to x at both ends of p, so that backward works.")
def test_gradients_at_the_ends(observe):
    x = observe.given["small"][0]["x"]
    says = "The result must stay connected to x at both ends of p: no gradient arrived."
    close(
        observe.tensor("ends/all/grad", says),
        torch.zeros_like(x),
        "With p = 1 the gradient should be zero everywhere, not NaN.",
        atol=0.0,
        rtol=0.0,
    )
    close(
        observe.tensor("ends/none/grad", says),
        torch.full_like(x, 3.0),
        "With p = 0 the gradient should pass unchanged.",
        rtol=1e-6,
    )


def masks(observe, path):
    return [out == 0 for out in observe[path]]


@behaviour(5)
def test_new_mask_every_call(observe):
    for path, what in (
        ("again", "Calls of dropout"),
        ("module", "Calls of the module"),
        ("sequence", "Calls with one generator, which each call should advance,"),
    ):
        first, second, third = masks(observe, f"random/{path}/outs")
        expect(
            not torch.equal(first, second) and not torch.equal(second, third),
            f"{what} in a row used the same mask: every call draws a new one.",
        )


@behaviour(5)
def test_manual_seed_decides(observe):
    for path, what in (("manual", "dropout(x, 0.5)"), ("manual_module", "Dropout(0.5)(x)")):
        first, same, other = masks(observe, f"random/{path}/outs")
        expect(
            torch.equal(first, same),
            "Without a generator torch.manual_seed should decide the mask: the same seed gave another one.",
            what,
        )
        expect(
            not torch.equal(first, other),
            "Without a generator torch.manual_seed should decide the mask: two seeds gave the same one.",
            what,
        )


@behaviour(5)
def test_generator_decides(observe):
    first, same, other = masks(observe, "random/generator/outs")
    expect(torch.equal(first, same), "Two generators with the same seed gave different masks.")
    expect(not torch.equal(first, other), "Generators with different seeds gave the same mask.")


@behaviour(5)
def test_global_generator_is_left_alone(observe):
    expect(
        torch.equal(observe.tensor("random/untouched/alone"), observe.tensor("random/untouched/after")),
        "With a generator of its own a call should not touch torch's global generator.",
    )


@behaviour(6, on_error="Backward should work in training.")
def test_gradient(observe):
    case = observe.given["grad"]
    for name, i in ((0, 0), (1, 1), ("module", 0)):
        up, p = case["up"][i].double(), case["p"][i]
        zero = dropped(observe, f"gradient/{name}/out")
        kept = torch.where(zero, 0.0, up)
        close(
            observe.tensor(f"gradient/{name}/grad", "No gradient reaches x: the graph was cut."),
            kept / (1 - p),
            "The gradient is not 1 / (1 - p) for survivors and 0 for dropped elements.",
            rtol=1e-5,
            atol=1e-7,
            device=observe.device,
            call=f"dropout(x, {p:.3f}), then backward",
            mistakes={
                "Dropped elements must get no gradient.": up,
                "Dropped elements must get no gradient. ": up / (1 - p),
                "The factor 1 / (1 - p) is missing in the backward pass.": kept,
            },
        )


@behaviour(6, on_error="Backward should work in training.")
def test_gradient_where_x_is_zero(observe):
    up = observe.given["grad"]["up"][0].double()
    ratio = observe.tensor("gradient/zeros/grad", "No gradient reaches x: the graph was cut.").double() / up
    two = (ratio.abs() < 1e-6) | ((ratio - 2.0).abs() < 1e-4)
    expect(bool(two.all()), "Where x is 0 the gradient should still be 0 or 1 / (1 - p), as the mask says.")
    kept = int((ratio > 1).sum())
    expect(
        0 < kept < ratio.numel(),
        "An element that is 0 already still survives or is dropped by chance.",
        f"{kept} of {ratio.numel()} elements survived at p = 0.5",
    )


@behaviour(7)
def test_eval_switches_off(observe):
    x = observe.given["small"][0]["x"]
    first, second = observe["module/modes/eval"]
    expect(torch.equal(first, second), "After model.eval() two calls still differ.")
    for out in (first, observe["module/modes/eval_again"]):
        close(out, x, "After model.eval() the module should give x.", rtol=1e-6)


@behaviour(7)
def test_train_switches_on_again(observe):
    for out in observe["module/modes/train"]:
        zero = int((out == 0).sum())
        expect(zero > 0, "After model.train() the module should drop again.")


@behaviour(7)
def test_modules_keep_their_own_rate(observe):
    everything, nothing = observe["module/two/outs"]
    expect(
        not everything.any() and torch.equal(nothing, observe.given["small"][0]["x"]),
        "Of two modules with p = 1 and p = 0 one used the other's p.",
    )


@behaviour(7)
def test_module_has_no_state(observe):
    for name in ("parameters", "buffers", "state"):
        got = observe[f"module/state/{name}"]
        expect(not got, "The module should have no parameters and no buffers.", f"{name}: {got}")


@behaviour(8)
def test_shape_and_dtype_stay(observe):
    for i, case in enumerate(observe.given["small"]):
        for name in ("train", "eval", "none", "all"):
            out, x = observe.tensor(f"small/{i}/{name}/out"), case["x"]
            expect(out.shape == x.shape, "The result has another shape than x.", f"{tuple(out.shape)}")
            expect(out.dtype == x.dtype, "The result has another dtype than x.", f"{out.dtype} for {x.dtype}")
            expect(observe[f"small/{i}/{name}/device"] is True, "The result lies on another device than x.")


@behaviour(8, on_error="A tensor without elements is valid too.")
def test_empty_input(observe):
    x = observe.given["counts"]["empty"]
    for name in ("train", "eval", "all"):
        out = observe.tensor(f"counts/empty/{name}")
        expect(
            out.shape == x.shape,
            "A tensor without elements should come out with its own shape.",
            f"{name}: {tuple(out.shape)} for {tuple(x.shape)}",
        )


@behaviour(8)
def test_x_is_not_modified(observe):
    for i, case in enumerate(observe.given["small"]):
        for name in ("train", "eval", "none", "all"):
            expect(
                torch.equal(observe.tensor(f"small/{i}/{name}/x"), case["x"]),
                "dropout changed its input in place.",
                f"{name}: dtype {case['x'].dtype}, shape {tuple(case['x'].shape)}",
            )


@behaviour(8)
def test_mask_is_drawn_where_x_lies(observe):
    if "placement/moved" in observe:
        expect(
            observe["placement/unplaced"] == 0 or observe["placement/moved"] > 0,
            "On a GPU your mask is on another device than x: draw it on x.device.",
        )


@behaviour(9)
def test_bad_p_is_refused(observe):
    for name in ("below", "above", "far", "just_below", "just_above"):
        observe.raised(f"errors/{name}", "ValueError", says="dropout: p outside [0, 1] should be refused.")
        observe.raised(
            f"errors/eval_{name}",
            "ValueError",
            says="dropout: p outside [0, 1] should be refused, with training=False too.",
        )


@behaviour(9)
def test_constructor_refuses_bad_p(observe):
    for name in ("below", "above", "far", "just_below", "just_above"):
        observe.raised(
            f"errors/module_{name}",
            "ValueError",
            says="Dropout(p): the constructor should refuse p outside [0, 1].",
        )
