import math

import torch

from quizapp.judge.testing.checks import behaviour, close, expect

KEYS = ("mean", "std", "zero_fraction", "finite")
LEAVES = ["block.0", "block.1.0", "block.1.1", "first", "last"]
WANTED = {
    "sound": None,
    "nan": "1",
    "inf": "2",
    "minus_inf": "1",
    "healed": "1",
    "order": "third",
    "two_causes": "third",
    "inner": "1.1.1",
    "own": "1",
    "root": "",
    "leaf": "",
    "again": "shared",
    "deeper_later": "0",
}


def tree(given, x):
    """The outputs of the leaves in float64."""
    first = x.double() @ given["first"].double().T + given["bias"].double()
    relu = first.clamp(min=0)
    inner = relu @ given["inner"].double().T
    return {
        "first": first,
        "block.0": relu,
        "block.1.0": inner,
        "block.1.1": inner,
        "last": inner @ given["last"].double().T,
    }


def check_entry(entry, values, name, observe):
    values = values.double()
    expect(
        set(entry) == set(KEYS),
        "An entry should hold exactly mean, std, zero_fraction and finite.",
        str(sorted(entry)),
    )
    call = f"output of {name!r} with shape {tuple(values.shape)}"
    close(
        entry["mean"],
        values.mean(),
        "The mean is wrong.",
        rtol=1e-4,
        atol=1e-5,
        device=observe.device,
        call=call,
    )
    close(
        entry["std"],
        values.std(unbiased=False),
        "The std is wrong.",
        rtol=1e-4,
        atol=1e-5,
        device=observe.device,
        call=call,
        mistakes={
            "zero_fraction counts exact zeros, and the std of one value is 0, not NaN.": math.nan,
            "The std should be the biased one: divide by the number of values.": (
                values.std() if values.numel() > 1 else math.inf
            ),
        },
    )
    close(
        entry["zero_fraction"],
        (values == 0).double().mean(),
        "zero_fraction should be the share of exact zeros.",
        rtol=1e-4,
        atol=1e-6,
        call=call,
        mistakes={
            "zero_fraction counts exact zeros, not everything that is <= 0.": (values <= 0).double().mean(),
            "zero_fraction is a share, not a count.": (values == 0).double().sum(),
        },
    )


NORMS = ("plain", "some_missing", "double")


@behaviour(1)
def test_norm_of_all_gradients(observe):
    grads = [g.double() for g in observe.given["grads"]]
    norms = torch.stack([g.norm() for g in grads])
    for name in NORMS:
        close(
            observe[f"norm/{name}/norm"],
            norms.norm(),
            "The norm is not that of all gradients taken as one vector.",
            rtol=1e-5,
            device=observe.device,
            mistakes={
                "Norms do not add up: add their squares, then take the root.": norms.sum(),
                "The root of the sum of squares is missing.": norms.square().sum(),
                "The norm runs over all gradients, not the largest alone.": norms.max(),
            },
        )


@behaviour(1, presumes=("norm_of_all_gradients",))
def test_norm_in_bfloat16(observe):
    close(
        observe["norm/brain/norm"],
        1.5 * math.sqrt(301),
        "The norm of bfloat16 gradients is too coarse: measure in higher precision.",
        rtol=1e-5,
        device=observe.device,
    )


@behaviour(13, on_error="A gradient need not be contiguous.")
def test_norm_of_a_strided_gradient(observe):
    want = observe.given["grads"][0].double().norm()
    says = "A gradient need not be contiguous."
    close(observe["norm/strided/norm"], want, says, rtol=1e-5, device=observe.device)


@behaviour(1)
def test_tied_weights_count_once(observe):
    grads = [g.double() for g in observe.given["grads"]]
    norms = torch.stack([g.norm() for g in grads])
    close(
        observe["norm/tied/norm"],
        norms.norm(),
        "The norm of a model with tied weights is wrong.",
        rtol=1e-5,
        device=observe.device,
        mistakes={
            "A parameter that two modules share has one gradient: count it once.": torch.cat(
                [norms, norms[1:2]]
            ).norm()
        },
    )


@behaviour(1)
def test_gradient_of_a_frozen_parameter_counts(observe):
    close(
        observe["norm/frozen/norm"],
        torch.stack([g.double().norm() for g in observe.given["grads"]]).norm(),
        "A gradient counts wherever there is one, also on a parameter that no longer requires it.",
        rtol=1e-5,
        device=observe.device,
    )


@behaviour(1)
def test_norm_is_a_float(observe):
    for name in (*NORMS, "none", "empty"):
        norm = observe[f"norm/{name}/norm"]
        expect(type(norm) is float, "The norm should be a Python float.", f"got {type(norm).__name__}")


@behaviour(1)
def test_norm_without_gradients(observe):
    for name in ("none", "empty"):
        close(
            observe[f"norm/{name}/norm"],
            0.0,
            "Where there is no gradient the norm should be 0.0.",
            atol=0,
            rtol=0,
        )


@behaviour(2, presumes=("norm_of_all_gradients",))
def test_norm_does_not_overflow(observe):
    given = observe.given
    half = "1000 squared does not fit in float16. Measure in higher precision and leave the gradients alone."
    for name, want, says in (
        ("half", 1000 * math.sqrt(given["half_count"]), half),
        ("halves", 1000 * math.sqrt(given["half_count"] + 5), half),
        (
            "wide",
            1e30 * math.sqrt(3 * given["wide_count"]),
            "1e30 squared does not fit in float32. Measure in higher precision.",
        ),
    ):
        close(observe[f"norm/{name}/norm"], want, says, rtol=1e-5, device=observe.device)


@behaviour(2)
def test_nan_gradient(observe):
    norm = observe["norm/nan/norm"]
    expect(type(norm) is float and math.isnan(norm), "A NaN gradient should give NaN.", f"got {norm!r}")


@behaviour(2)
def test_gradients_are_not_changed(observe):
    for name in (*NORMS, "half", "halves", "wide", "none", "nan"):
        before, after = observe[f"norm/{name}/before"], observe[f"norm/{name}/after"]
        for old, new in zip(before, after, strict=True):
            same = (old is None and new is None) or (
                isinstance(new, torch.Tensor)
                and old.dtype == new.dtype
                and torch.equal(torch.nan_to_num(old, 7.0), torch.nan_to_num(new, 7.0))
            )
            expect(
                same,
                "Measuring changed a gradient. Measure in higher precision and leave the gradients alone.",
            )


@behaviour(3)
def test_every_leaf_once(observe):
    names = sorted(observe["monitor/tree/stats"])
    expect(
        names == LEAVES,
        "Each leaf should appear exactly once, however deep it sits.",
        f"got {names}, expected {LEAVES}",
    )
    expect(observe["monitor/tree/empty"] == 0, "stats should be empty before the first forward pass.")


@behaviour(3)
def test_pass_in_eval_mode(observe):
    names = sorted(observe["monitor/eval/stats"])
    expect(names == LEAVES, "A pass in eval mode without gradients fills stats, too.", f"got {names}")


@behaviour(3)
def test_other_outputs_are_skipped(observe):
    names = set(observe["monitor/emitted/stats"])
    want = {f"box.{name}" for name in observe.given["emitted"]}
    expect(
        names >= want, "A leaf that returned a floating-point tensor is missing.", str(sorted(want - names))
    )
    expect(
        names <= want,
        "Only leaves that ran and returned a floating-point tensor belong into stats.",
        f"surplus: {sorted(names - want)}",
    )


@behaviour(3)
def test_model_without_children(observe):
    stats = observe["monitor/bare_leaf/stats"]
    expect(list(stats) == [""], 'A model without children is a leaf itself, named "".', f"got {list(stats)}")
    check_entry(stats[""], tree(observe.given, observe.given["x"])["first"], "", observe)
    names = list(observe["monitor/activation/stats"])
    expect(names == [""], 'A single ReLU is a leaf, too, named "".', f"got {names}")


@behaviour(3)
def test_shared_leaf_appears_once(observe):
    names = observe["monitor/shared/names"]
    expect(
        names == ["0", "1", "2.1"],
        "A leaf that sits in two places has the one name that named_modules() gives it.",
        f"0 and 2.0 are one module: got {names}",
    )


@behaviour(4)
def test_statistics_of_a_model(observe):
    stats = observe["monitor/tree/stats"]
    for name, values in tree(observe.given, observe.given["x"]).items():
        expect(
            name in stats, "Each leaf should appear exactly once, however deep it sits.", f"{name} is missing"
        )
        check_entry(stats[name], values, name, observe)


@behaviour(4)
def test_statistics_of_any_shape_and_dtype(observe):
    stats = observe["monitor/emitted/stats"]
    for name, values in sorted(observe.given["emitted"].items(), key=lambda item: item[1].numel()):
        expect(f"box.{name}" in stats, "A leaf that returned a floating-point tensor is missing.", name)
        check_entry(stats[f"box.{name}"], values, name, observe)


@behaviour(13, on_error="An output need not be contiguous.")
def test_statistics_of_strided_outputs(observe):
    stats, emitted = observe["monitor/turned/stats"], observe.given["emitted"]
    for name, values in (("turned", emitted["many"].t()), ("slice", emitted["sparse"][:, 1:4])):
        expect(f"box.{name}" in stats, "A leaf that returned a floating-point tensor is missing.", name)
        check_entry(stats[f"box.{name}"], values, f"box.{name}, which is not contiguous", observe)


@behaviour(4, presumes=("statistics_of_any_shape_and_dtype",))
def test_output_that_is_changed_in_place_later(observe):
    stats = observe["monitor/inplace/stats"]
    for name, values in tree(observe.given, observe.given["x"]).items():
        expect(name in stats, "Each leaf should appear exactly once.", f"{name} is missing")
        share = (values == 0).double().mean().item()
        expect(
            abs(stats[name]["zero_fraction"] - share) < 1e-6,
            "An in-place ReLU changed an output before it was measured: measure in the hook, not later.",
            f"zero_fraction of {name!r}",
        )
        check_entry(stats[name], values, name, observe)


@behaviour(4)
def test_mean_is_that_of_all_elements(observe):
    for name, mean in observe["monitor/finite/means"].items():
        expect(
            not math.isfinite(mean),
            "The mean runs over all elements: with an inf or NaN among them it is not finite.",
            f"{name}: got {mean}",
        )


@behaviour(4)
def test_types_of_statistics(observe):
    for path in ("tree", "emitted"):
        for name, kinds in observe[f"monitor/{path}/kinds"].items():
            for key in KEYS:
                want = "bool" if key == "finite" else "float"
                expect(
                    kinds.get(key) == want,
                    f"{key} should be a Python {want}.",
                    f"got {kinds.get(key)} for {name!r}",
                )


@behaviour(5)
def test_finite(observe):
    finite = observe["monitor/finite/finite"]
    expect(finite["good"] is True, "finite should be True where every value is finite.")
    expect(finite["large"] is True, "3e38 is finite, though the sum of six is not: test the elements.")
    expect(finite["nan"] is False, "finite should be False where a value is NaN.")
    for name in ("inf", "minus"):
        expect(finite[name] is False, "inf is not finite either.")


@behaviour(6)
def test_later_pass_overwrites(observe):
    given = observe.given
    for path in ("second", "after"):
        stats = observe[f"monitor/tree/{path}"]
        for name, values in tree(given, given["x"] * 2 - 1).items():
            expect(name in stats, "After a second pass an entry is missing.", name)
            close(
                stats[name]["mean"],
                values.mean(),
                "The entries should be those of the last forward pass.",
                rtol=1e-4,
                atol=1e-5,
                device=observe.device,
                mistakes={
                    "A later pass should overwrite the entries of the first.": tree(given, given["x"])[
                        name
                    ].mean()
                },
            )


@behaviour(6)
def test_finite_is_of_the_last_pass(observe):
    says = "finite is that of the last pass: a NaN of an earlier one is over."
    expect(observe["monitor/recovered/finite"] is True, says)


@behaviour(6, presumes=("every_leaf_once",))
def test_stats_after_the_block(observe):
    names = sorted(observe["monitor/tree/after"])
    expect(names == LEAVES, "stats should still be there after the block.", f"got {names}")


LEFT = "The model still carries your hooks; each later pass gets slower and keeps writing."


@behaviour(7)
def test_hooks_are_removed(observe):
    expect(not any(n > 0 for n in observe["hooks/normal/left"]), LEFT)
    expect(observe["monitor/tree/later"] == observe["monitor/tree/after"], LEFT)


@behaviour(7)
def test_foreign_hooks_stay(observe):
    says = "Hooks that were not yours are gone: remove your own handles only."
    expect(observe["hooks/normal/foreign"] == 2, says)
    expect(observe["hooks/added_inside/foreign"] == 2, says)


@behaviour(7)
def test_monitors_do_not_share(observe):
    expect(
        observe["hooks/nested/outer"] == LEAVES and observe["hooks/nested/inner"] == ["0"],
        "Two monitors at once: each removes its own hooks and fills its own stats, nothing else.",
        f"outer {observe['hooks/nested/outer']}, inner {observe['hooks/nested/inner']}",
    )
    expect(observe["hooks/nested/left"] == 0, LEFT, "two monitors at once")


@behaviour(7)
def test_hooks_are_removed_after_an_exception(observe):
    for name in ("block", "forward"):
        expect(
            f"hooks/{name}/passed" in observe,
            "An exception in the block should pass through.",
        )
        expect(not any(n > 0 for n in observe[f"hooks/{name}/left"]), LEFT, "after an exception")
        expect(observe[f"hooks/{name}/still"], LEFT, "after an exception")
    for name in ("RuntimeError", "ValueError", "KeyError"):
        expect(observe[f"hooks/passes_{name}/passed"], "An exception in the block should pass through.", name)


@behaviour(8)
def test_outputs_and_gradients(observe):
    cut = "A value returned by a forward hook replaces the output. Yours cut the graph."
    for name in ("float", "inplace", "double", "bfloat"):
        if observe.error(f"neutral/{name}/watched"):
            error = observe.error(f"neutral/{name}/watched")
            expect(
                False,
                cut
                if error.where == "backward" or "grad" in error.message
                else "Monitoring made the forward pass fail.",
                str(error),
            )
        out, alone = observe[f"neutral/{name}/watched/out"], observe[f"neutral/{name}/alone/out"]
        expect(
            isinstance(out, torch.Tensor) and out.dtype == alone.dtype,
            "Monitoring changed the dtype of the output.",
        )
        expect(torch.equal(out, alone), "Monitoring changed the output of the model.", f"model in {name}")
        pairs = zip(
            observe[f"neutral/{name}/watched/grads"], observe[f"neutral/{name}/alone/grads"], strict=True
        )
        for watched, unwatched in pairs:
            expect(watched is not None, cut)
            expect(torch.equal(watched, unwatched), "Monitoring changed a gradient.", f"model in {name}")


@behaviour(8)
def test_bad_outputs_stay(observe):
    for name, bad in (("nan", math.nan), ("inf", math.inf)):
        want = observe.given["x"].clone()
        want.view(-1)[-1] = bad
        got = observe[f"monitor/bad_output_{name}/out"]
        same = isinstance(got, torch.Tensor) and torch.equal(got.nan_to_num(7.0), want.nan_to_num(7.0))
        expect(same, f"Monitoring changed an output that holds {'an inf' if name == 'inf' else 'a NaN'}.")


@behaviour(8)
def test_stats_hold_no_tensors(observe):
    for name in ("float", "bfloat"):
        for entry in observe[f"neutral/{name}/watched/kinds"].values():
            expect(
                not set(entry.values()) & {"Tensor", "Parameter"},
                "stats should hold plain numbers, no tensors.",
            )


def named(observe, name, says):
    got, want = observe[f"first/{name}/name"], WANTED[name]
    expect(got == want and type(got) is type(want), says, f"got {got!r}, expected {want!r}")


ORDER = "The layer that runs first is the cause; everything after it only inherits the NaN."
NAN_MISSED = "A module's output held a NaN, and no module was named."
MISSED = dict.fromkeys(("inf", "minus_inf"), "inf is not finite either, and no module was named for it.")
FORMS = {
    "second": "(x, bad)",
    "list": "[x, bad]",
    "mixed": "(None, bad, (x, [x]))",
    "named": "a named tuple (x, bad)",
}


@behaviour(9)
def test_first_in_execution_order(observe):
    for name in ("nan", "inf", "minus_inf", "order", "two_causes", "again", "deeper_later"):
        missed = observe[f"first/{name}/name"] is None
        named(observe, name, MISSED.get(name, NAN_MISSED) if missed else ORDER)
    named(observe, "healed", "A later layer healed the NaN; the layer that made it should still be named.")


@behaviour(9)
def test_inner_module_before_its_container(observe):
    named(observe, "inner", "An inner module wins over its container, at any depth.")
    named(observe, "leaf", 'A model without children is named "".')


@behaviour(9)
def test_container_that_breaks_itself(observe):
    for name in ("own", "root"):
        named(observe, name, "A container whose own arithmetic breaks should be named itself.")


@behaviour(9)
def test_sound_model(observe):
    named(observe, "sound", "Without an inf or NaN the answer should be None.")
    expect(observe["first/two_inputs/good"] is None, "Without an inf or NaN the answer should be None.")
    expect(observe["first/integers/name"] is None, "Integer outputs are finite.")
    expect(
        observe["first/large/name"] is None,
        "These outputs are large but finite, and yet a module was named: test the elements, not their sum.",
        f"got {observe['first/large/name']!r}",
    )


@behaviour(9)
def test_several_inputs_and_one_run(observe):
    expect(
        observe["first/two_inputs/runs"] == 1,
        "The model should run once.",
        f"{observe['first/two_inputs/runs']} runs",
    )
    for side in ("left", "right"):
        got = observe[f"first/two_inputs/{side}"]
        expect(got == side, ORDER, f"got {got!r}, expected {side!r}")


@behaviour(10)
def test_tuples_and_lists(observe):
    for name, form in FORMS.items():
        says = "Recurrent layers and many blocks return tuples or lists: search every item."
        for key, case in (("name", says), ("inf", "An inf in a tuple is not finite either.")):
            got = observe[f"first/{name}/{key}"]
            expect(got == "1", case, f"an output of the form {form}: got {got!r}, expected '1'")
    got = observe["first/sound_tuple/name"]
    expect(got is None, "A tuple of finite tensors, None and plain values is sound.", f"got {got!r}")


@behaviour(12, presumes=("tuples_and_lists",))
def test_nested_tuples(observe):
    for name, form in (("nested", "(x, (x, bad))"), ("deep", "(x, [None, (x, (bad,))])")):
        for kind in ("name", "inf"):
            got = observe[f"first/{name}/{kind}"]
            says = "Tuples may hold tuples: an LSTM returns (output, (h, c))."
            expect(got == "1", says, f"an output of the form {form}: got {got!r}, expected '1'")
    got = observe["first/sound_nested/name"]
    expect(got is None, "A tuple of finite tensors, None and tuples of them is sound.", f"got {got!r}")


@behaviour(11)
def test_no_hooks_are_left(observe):
    for name in ("sound", "bad"):
        expect(not any(observe[f"leaves_nothing/{name}/left"]), "first_nonfinite left hooks on the model.")
    for name in ("raises", "late"):
        expect(not any(observe[f"leaves_nothing/{name}/left"]), "Remove hooks in a finally clause.")


@behaviour(11)
def test_exception_passes(observe):
    got = observe["leaves_nothing/raises/error"]
    expect(got == "Stop", "An exception of the forward pass should reach the caller.", f"got {got}")
    # Here the exception comes after the first bad output, at which a pass may rightly have stopped.
    got = observe["leaves_nothing/late/error"]
    expect(got in ("Stop", None), "An exception of the forward pass should reach the caller.", f"got {got}")
    for name in ("sound", "bad"):
        got = observe[f"leaves_nothing/{name}/error"]
        expect(got is None, "first_nonfinite raised for a model whose forward pass does not.", f"got {got}")


@behaviour(11)
def test_no_gradients_or_modes_are_left(observe):
    for name in ("sound", "bad", "raises", "late"):
        expect(observe[f"leaves_nothing/{name}/modes"], "first_nonfinite changed a module's train/eval mode.")
        for key, grad in observe[f"leaves_nothing/{name}/grads"].items():
            if key == "last.weight":
                expect(
                    isinstance(grad, torch.Tensor) and torch.equal(grad, torch.ones_like(grad)),
                    "first_nonfinite changed a gradient.",
                )
            else:
                expect(grad is None, "first_nonfinite left gradients behind.", key)
        expect(
            observe[f"leaves_nothing/{name}/grad_enabled"] is True,
            "first_nonfinite left gradients switched off.",
        )
