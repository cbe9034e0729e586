import torch

from quizapp.judge.testing.checks import behaviour, close, expect


def affine(case, x):
    out = x.double() @ case["weight"].double().T
    return out if case["bias"] is None else out + case["bias"].double()


def update(case, x):
    """The low-rank path without its scale."""
    return x.double() @ case["A"].double().T @ case["B"].double().T


def formula(case, x):
    return affine(case, x) + case["alpha"] / case["rank"] * update(case, x)


def describe(case, x=None):
    d_out, d_in = case["weight"].shape
    bias = "" if case["bias"] is not None else ", bias=False"
    on = "" if x is None else f" on x of shape {tuple(x.shape)}"
    return f"LoRALinear(Linear({d_in}, {d_out}{bias}), rank={case['rank']}, alpha={case['alpha']}){on}"


def each(observe):
    return enumerate(observe.given["cases"])


@behaviour(1)
def test_fresh_adapter_changes_nothing(observe):
    for i, case in each(observe):
        for k, x in enumerate(case["x"]):
            close(
                observe[f"fresh/{i}/{k}/out"],
                affine(case, x),
                "A new adapter must not change the model: one of the two factors has to start at zero.",
                rtol=1e-6,
                atol=5e-6,
                device=observe.device,
                call=describe(case, x),
            )


@behaviour(2)
def test_output_follows_the_formula(observe):
    for i, case in each(observe):
        for k, x in enumerate(case["x"]):
            low, scale = update(case, x), case["alpha"] / case["rank"]
            close(
                observe[f"formula/{i}/{k}/out"],
                formula(case, x),
                "The output is not base(x) + (alpha / rank) * x A^T B^T.",
                rtol=1e-4,
                atol=2e-5,
                device=observe.device,
                call=describe(case, x),
                mistakes={
                    "Scale by alpha / rank, which is meant to keep the size of the update when "
                    "the rank changes.": affine(case, x) + case["alpha"] * low,
                    "The update is not scaled: multiply it by alpha / rank.": affine(case, x) + low,
                    "The scale is alpha / rank, not alpha / sqrt(rank).": affine(case, x)
                    + case["alpha"] / case["rank"] ** 0.5 * low,
                    "The scale is upside down: alpha / rank, not rank / alpha.": affine(case, x)
                    + low / scale,
                    "The base's output is missing from the sum.": scale * low,
                    "The base's bias got lost.": formula(case, x)
                    - (0 if case["bias"] is None else case["bias"].double()),
                },
            )
        x = case["x"][4]
        close(
            observe[f"formula/{i}/refilled"],
            affine(case, x) + 2 * case["alpha"] / case["rank"] * update(case, x),
            "After lora_A changed, the output in eval mode still comes from the old factors.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            call=describe(case, x),
        )


@behaviour(2)
def test_input_is_left_alone(observe):
    for i, case in each(observe):
        for k, x in enumerate(case["x"]):
            same = torch.equal(observe.tensor(f"formula/{i}/{k}/x"), x)
            expect(same, "The forward pass modified its input.", describe(case, x))
    same = torch.equal(observe.tensor("dropout/train/x"), observe.given["drop"]["x"])
    expect(same, "The forward pass modified its input: dropout must not work in place.")


@behaviour(3)
def test_only_the_factors_are_trainable(observe):
    for i, case in each(observe):
        d_out, d_in = case["weight"].shape
        want = sorted([[case["rank"], d_in], [d_out, case["rank"]]])
        got = observe[f"gradients/{i}/trainable"]
        expect(
            got == want,
            "The parameters that require gradients are not exactly lora_A (rank, in) and lora_B (out, rank); "
            "freeze the base's weight and bias.",
            f"{describe(case)}: trainable shapes {got}, expected {want}",
        )


@behaviour(3)
def test_base_gets_no_gradient(observe):
    for i, case in each(observe):
        for name in ("weight", "bias"):
            expect(
                observe[f"gradients/{i}/{name}"] is None,
                f"The base's {name} received a gradient: freeze it.",
                describe(case),
            )


@behaviour(3, on_error="Freeze the base's parameters, not its graph: layers below still need gradients.")
def test_gradient_to_the_input_takes_both_paths(observe):
    for i, case in each(observe):
        grad = case["grad"].double()
        through_base = grad @ case["weight"].double()
        through_low = grad @ case["B"].double() @ case["A"].double() * case["alpha"] / case["rank"]
        close(
            observe[f"gradients/{i}/x"],
            through_base + through_low,
            "The gradient to x is wrong.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            call=f"{describe(case, case['x'][2])}, then backward",
            mistakes={
                "Freeze the base's parameters, not its graph: layers below still need gradients through "
                "it.": through_low,
                "The low-rank path is cut off from x: layers below need its gradient too.": through_base,
            },
        )
        close(
            observe[f"gradients/{i}/x_in_eval"],
            through_base + through_low,
            "In eval mode the gradient to x is wrong.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            call=f"{describe(case, case['x'][2])}, then backward",
        )


@behaviour(3)
def test_factor_gradients(observe):
    for i, case in each(observe):
        scale = case["alpha"] / case["rank"]
        grad = case["grad"].double().flatten(0, 1) * scale
        x = case["x"][2].double().flatten(0, 1)
        want = {
            "A": (grad @ case["B"].double()).T @ x,
            "B": grad.T @ (x @ case["A"].double().T),
        }
        for name, value in want.items():
            close(
                observe[f"gradients/{i}/{name}"],
                value,
                f"The gradient of lora_{name} is wrong.",
                rtol=1e-4,
                atol=1e-4,
                device=observe.device,
                call=describe(case),
            )


@behaviour(0)
def test_one_copy_of_the_base_weight(observe):
    for i, case in each(observe):
        expect(
            observe[f"gradients/{i}/weights_kept"] <= 1,
            "The adapter keeps a second copy of the base weight.",
            describe(case),
        )


BOTH_ZERO = (
    "With both factors zero, each one's gradient is multiplied by the other, so nothing can ever train."
)


@behaviour(4)
def test_a_starts_random(observe):
    for i, case in each(observe):
        a = observe.tensor(f"start/{i}/A").double()
        expect(
            a.abs().max() > 0,
            f"{BOTH_ZERO} lora_A starts random.",
            describe(case),
        )
        expect(a.min() < a.max(), "lora_A starts constant instead of random.", describe(case))
        expect(
            len(a) == 1 or not (a == a[0]).all(),
            "All rows of lora_A start equal: they get equal updates, and the rank stays 1.",
            describe(case),
        )


@behaviour(4)
def test_first_backward_reaches_b(observe):
    for i, case in each(observe):
        grad = observe.tensor(f"start/{i}/grad_B", "lora_B got no gradient on the first backward.")
        expect(
            grad.double().abs().max() > 0,
            BOTH_ZERO,
            describe(case),
        )


@behaviour(4)
def test_training_the_factors(observe):
    losses = observe["start/train/losses"]
    expect(
        losses[-1] < 0.97 * losses[0],
        "Training lora_A and lora_B did not lower the loss.",
        f"{losses[0]:.4g} at first, {losses[-1]:.4g} after {len(losses)} steps of Adam",
    )
    for name in ("weight", "bias"):
        expect(
            torch.equal(observe.tensor(f"start/train/{name}"), observe.given["train"][name]),
            f"Training the adapter changed the base's {name}.",
        )


KINDS = {
    "double": ["float64", None],
    "bfloat": ["bfloat16", None],
    "meta": ["float32", "meta"],
    "meta_double": ["float64", "meta"],
}


def judged(observe, part):
    """The cases whose part is judged: not those on meta whose code reads values, it works where there are any."""
    for name in KINDS:
        error = observe.error(f"dtypes/{name}")
        read = error is not None and error.wants_values
        if not (read and KINDS[name][1] == "meta" and f"dtypes/{name}/{part}" not in observe):
            yield name


def wanted(observe, name):
    dtype, device = KINDS[name]
    return [dtype, device or observe.device.split(":")[0]]


@behaviour(5, on_error="The adapter must take dtype and device from base.weight.")
def test_factors_follow_the_base(observe):
    for name in judged(observe, "shapes"):
        want = wanted(observe, name)
        for factor in ("A", "B"):
            got = observe[f"dtypes/{name}/{factor}"]
            expect(
                got == want,
                "Your factors are float32 on the CPU while the layer they adapt is not."
                if got == ["float32", "cpu"]
                else "The factors do not have the dtype and device of base.weight.",
                f"lora_{factor} is {got[0]} on {got[1]}, base.weight {want[0]} on {want[1]}",
            )
        expect(
            observe[f"dtypes/{name}/shapes"] == [[3, 6], [5, 3]],
            "lora_A should have shape (rank, in_features), lora_B (out_features, rank).",
        )


@behaviour(5, on_error="The forward pass must work in the dtype of the base.")
def test_output_has_the_dtype_of_the_input(observe):
    for name in judged(observe, "out"):
        got, want = observe[f"dtypes/{name}/out"], wanted(observe, name)
        expect(got == want, "The output should have the dtype of the input.", f"{got}, expected {want}")


@behaviour(5, on_error="merge() must work in the dtype and on the device of the base.")
def test_merge_keeps_dtype_and_device(observe):
    for name in judged(observe, "merged"):
        want = wanted(observe, name)
        for part, got in zip(("weight", "bias"), observe[f"dtypes/{name}/merged"], strict=True):
            expect(
                got == want,
                f"merge() does not keep dtype and device of the {part}.",
                f"{got}, expected {want}",
            )


def rows_equal(got, want):
    return torch.isclose(got, want, rtol=1e-3, atol=1e-3).all(1)


@behaviour(6)
def test_dropout_on_the_low_rank_input(observe):
    case = observe.given["drop"]
    x, p = case["x"], case["p"]
    got = observe.tensor("dropout/train/out").double()
    expect(got.shape == (len(x), len(case["bias"])), "The output has the wrong shape in train mode.")
    low = case["alpha"] / case["rank"] * update(case, x)
    clean = affine(case, x)
    call = f"one-hot rows, dropout={p:.3f}, train mode"
    kept, dropped = rows_equal(got, clean + low / (1 - p)), rows_equal(got, clean)
    if not (kept | dropped).all():
        bias = case["bias"].double()
        both = rows_equal(got, bias + (clean - bias + low) / (1 - p)) | rows_equal(got, bias.expand_as(got))
        expect(
            not rows_equal(got, clean + low).all(),
            "Dropout does nothing in train mode.",
            call,
        )
        expect(
            not both.all(),
            "The frozen path must see the clean input; dropout regularises only the update.",
            call,
        )
        expect(
            not (rows_equal(got, clean + low) | dropped).all(),
            "Divide what dropout keeps by 1 - p, so that the expected update stays the same.",
            call,
        )
    expect(
        (kept | dropped).all(),
        "Dropout must zero elements of the low-rank path's input, scale the rest by 1 / (1 - p), and touch "
        "nothing else.",
        call,
    )
    d_in = x.shape[1]
    for j in range(d_in):
        column = kept[j::d_in]
        expect(
            column.any() and not column.all(),
            "Dropout should decide for every element of the input on its own.",
            call,
        )
    n = len(x)
    expect(
        abs(kept.sum().item() - n * (1 - p)) < 7 * (n * p * (1 - p)) ** 0.5,
        "The share of dropped elements is not the dropout probability.",
        f"{n - int(kept.sum())} of {n} dropped with dropout={p:.3f}",
    )
    expect(
        not rows_equal(observe.tensor("dropout/train/without_graph").double(), clean + low).all(),
        "Dropout does nothing in train mode under torch.no_grad(): only the mode decides.",
        call,
    )


@behaviour(6, presumes=("output_follows_the_formula",))
def test_no_dropout_in_eval_mode(observe):
    case = observe.given["drop"]
    for name in ("first", "second"):
        close(
            observe[f"dropout/eval/{name}"],
            formula(case, case["x"]),
            "In eval mode the output should be base(x) plus the scaled update, without any dropout.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
        )


@behaviour(7)
def test_merged_layer_is_a_plain_linear(observe):
    for i, case in each(observe):
        call = describe(case)
        d_out, d_in = case["weight"].shape
        names = ["weight"] if case["bias"] is None else ["bias", "weight"]
        expect(observe[f"merge/{i}/plain"] is True, "merge() should return exactly an nn.Linear.", call)
        expect(observe[f"merge/{i}/hooks"] == 0, "The merged layer must not carry hooks.", call)
        expect(
            observe[f"merge/{i}/names"] == names,
            "The merged layer should have a weight, a bias only if the base has one, and nothing else.",
            f"{call}: parameters {observe[f'merge/{i}/names']}",
        )
        expect(
            observe[f"merge/{i}/features"] == [d_in, d_out],
            "The merged layer has the wrong in_features or out_features.",
            call,
        )


@behaviour(13)
def test_merged_layer_has_no_hooks_of_the_base(observe):
    expect(
        observe["merge/hooked/calls"] == [],
        "The merged layer must not carry the hooks of the base.",
        "the base had a forward hook, and calling the merged layer ran it",
    )


@behaviour(7)
def test_merged_output(observe):
    for i, case in each(observe):
        for k, x in enumerate(case["x"]):
            same = "The merged layer must give the same output as the adapter, scaling and bias included."
            bias = 0 if case["bias"] is None else case["bias"].double()
            close(
                observe[f"merge/{i}/out{k}"],
                formula(case, x),
                same,
                rtol=1e-4,
                atol=2e-5,
                device=observe.device,
                call=f"{describe(case)}.merge() on x of shape {tuple(x.shape)}",
                mistakes={
                    f"{same} Yours leaves out alpha / rank.": affine(case, x) + update(case, x),
                    f"{same} Yours lost the bias.": formula(case, x) - bias,
                    f"{same} Yours is the base alone.": affine(case, x),
                },
            )


@behaviour(7, presumes=("merged_output",))
def test_merge_in_train_mode(observe):
    case = observe.given["drop"]
    close(
        observe["dropout/merge/out"],
        formula(case, case["x"][:20]),
        "Merged in train mode, the layer should still have the adapter's eval output.",
        rtol=1e-4,
        atol=2e-5,
        device=observe.device,
    )


@behaviour(8, presumes=("output_follows_the_formula",))
def test_merge_leaves_the_adapter_alone(observe):
    for i, case in each(observe):
        before, after = observe[f"merge_again/{i}/before"], observe[f"merge_again/{i}/after"]
        expect(
            before["flags"] == after["flags"] and before["training"] == after["training"],
            "merge() changed what the adapter trains, or its mode.",
        )
        expect(
            before["values"].keys() == after["values"].keys()
            and all(torch.equal(before["values"][key], after["values"][key]) for key in before["values"]),
            "merge() changed the adapter's tensors: build a new layer.",
        )
        grads = [(before["grads"][key], after["grads"].get(key)) for key in before["grads"]]
        expect(
            all(a is b is None or (a is not None and b is not None and torch.equal(a, b)) for a, b in grads),
            "merge() changed or cleared the adapter's gradients.",
        )
        x = case["x"][1]
        close(
            observe[f"merge_again/{i}/adapter"],
            formula(case, x),
            "After merge() the adapter's own output is another one: build a new layer.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            call=describe(case, x),
        )


@behaviour(8, presumes=("merged_output",))
def test_merge_can_be_repeated(observe):
    for i, case in each(observe):
        x = case["x"][1]
        twice = affine(case, x) + 2 * case["alpha"] / case["rank"] * update(case, x)
        close(
            observe[f"merge_again/{i}/second"],
            observe[f"merge_again/{i}/first"],
            "The second merge() gives another result than the first.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            call=describe(case, x),
            mistakes={"merge() was called twice and the update was added twice: build a new layer.": twice},
        )
        close(
            observe[f"merge_again/{i}/third"],
            twice,
            "After lora_A changed, merge() does not follow the formula.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            call=describe(case, x),
            mistakes={"After lora_A changed, merge() still gives the old result.": formula(case, x)},
        )


@behaviour(8)
def test_merged_layer_shares_no_storage(observe):
    says = "The merged layer shares storage with the adapter: editing one changed the other."
    for i, _ in each(observe):
        close(
            observe[f"merge_again/{i}/after_edit"],
            observe[f"merge_again/{i}/adapter"],
            says,
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
        )
    case = observe.given["cases"][0]
    close(
        observe["merge_again/fresh/after_edit"],
        observe["merge_again/fresh/before_edit"],
        says,
        rtol=1e-4,
        atol=2e-5,
        device=observe.device,
        call=f"{describe(case)}.merge() before any training",
    )
    close(
        observe["merge_again/reverse/after_edit"],
        observe["merge_again/reverse/before_edit"],
        says,
        rtol=1e-4,
        atol=2e-5,
        device=observe.device,
    )


WRAPPED = [
    "blocks.0.wq",
    "blocks.0.wv",
    "blocks.1.wq",
    "blocks.1.wv",
    "branches.wv",
    "outer.wv.0.0.wq",
    "tail.deep.wv",
    "wq",
]


def numbers(observe, head=False):
    """How many numbers the adapters of the probe's model train, at rank 2."""
    width, inner = observe.given["model"]["width"], observe.given["model"]["inner"]
    shapes = [(width, width), *[(width, inner)] * 5, (inner, inner), (inner, inner)]
    return 2 * sum(a + b for a, b in shapes) + (inner + 3 if head else 0)


def mentions(extra, missing):
    parts = [f"not wrapped: {', '.join(sorted(missing))}"] if missing else []
    parts += [f"wrapped by mistake: {', '.join(sorted(extra))}"] if extra else []
    return "; ".join(parts)


@behaviour(9)
def test_every_target_is_wrapped(observe):
    got = set(observe["inject/first/survey"]["adapters"])
    extra, missing = got - set(WRAPPED), set(WRAPPED) - got
    says = "Targets sit at any depth and must match the whole attribute name."
    if extra and all(name.rsplit(".", 1)[0] in WRAPPED for name in extra):
        says = "An adapter's own layer was wrapped once more."
    expect(not extra and not missing, says, mentions(extra, missing))


@behaviour(9)
def test_other_modules_are_left_alone(observe):
    for name, (before, after) in observe["inject/first/kinds"].items():
        if name not in WRAPPED:
            expect(
                before == after,
                "inject_lora touched a module that is no target.",
                f"{name} was {before} and is {after}",
            )


@behaviour(9)
def test_number_of_replaced_layers(observe):
    for step, want in (("first", len(WRAPPED)), ("nothing", 0), ("more", 1), ("digit", 1)):
        got = observe[f"inject/{step}/returned"]
        expect(
            type(got) is int and got == want,
            "inject_lora should return the number of layers that this call replaced, as an int.",
            f"got {got!r}, expected {want}",
        )


@behaviour(9)
def test_wrapped_layers_are_not_wrapped_again(observe):
    expect(
        observe["inject/again/returned"] == 0,
        "Layers that are wrapped already were wrapped again.",
        f"a second call returned {observe['inject/again/returned']!r}, expected 0",
    )
    expect(
        observe["inject/again/survey"]["adapters"] == WRAPPED,
        "Layers that are wrapped already were wrapped again.",
    )


@behaviour(9)
def test_names_in_sequential(observe):
    expect(
        observe["inject/digit/survey"]["adapters"] == ["2"],
        "Inside nn.Sequential the attribute names are '0', '1', ...: only '2' should be wrapped.",
        f"wrapped: {observe['inject/digit/survey']['adapters']}",
    )


@behaviour(14)
def test_subclasses_are_left_alone(observe):
    expect(
        observe["inject/special/returned"] == 1
        and observe["inject/special/survey"]["adapters"] == ["deep.wq"],
        "A subclass of nn.Linear is another module type and stays as it is.",
        f"wrapped: {', '.join(observe['inject/special/survey']['adapters'])}",
    )


def check_trainable(observe, step, count):
    survey = observe[f"inject/{step}/survey"]
    expect(
        not survey["outside"],
        "Parameters outside the adapters still require gradients, so this is not parameter-efficient.",
        ", ".join(survey["outside"][:4]),
    )
    expect(
        not survey["frozen"],
        "The factors of all adapters in the model should require gradients, those of earlier calls included.",
        f"frozen in: {', '.join(survey['frozen'][:4])}",
    )
    expect(
        survey["count"] == count,
        "The number of trainable parameters is not the sum of rank * (in + out) over the adapters.",
        f"got {survey['count']}, expected {count}",
    )


@behaviour(10)
def test_only_the_adapters_are_trainable(observe):
    check_trainable(observe, "first", numbers(observe))


@behaviour(10)
def test_adapters_of_earlier_calls_stay_trainable(observe):
    check_trainable(observe, "again", numbers(observe))
    check_trainable(observe, "more", numbers(observe, head=True))


@behaviour(10)
def test_flags_that_others_changed(observe):
    check_trainable(observe, "thawed", numbers(observe, head=True))
    check_trainable(observe, "frozen", numbers(observe, head=True))


@behaviour(10)
def test_no_match_freezes_everything(observe):
    check_trainable(observe, "nothing", 0)


@behaviour(11)
def test_injection_keeps_the_output(observe):
    before = observe.tensor("inject/first/before")
    for step in ("first", "more"):
        close(
            observe[f"inject/{step}/after"],
            before,
            "Injecting fresh adapters changed the model's output.",
            rtol=1e-5,
            atol=1e-5,
            device=observe.device,
        )
    close(
        observe["inject/trained/after"],
        observe.tensor("inject/trained/before"),
        "A second call changed adapters that were trained before: it only adds new ones.",
        rtol=1e-5,
        atol=1e-5,
        device=observe.device,
        call="inject_lora(model, ['wq', 'head'], 1, 5.0) on a model whose wq has an adapter of rank 2, alpha 3",
    )


@behaviour(11)
def test_existing_weights_are_used(observe):
    case = observe.given["cases"][0]
    x = case["x"][1]
    close(
        observe.tensor("reuse/after") - observe.tensor("reuse/before"),
        2 * affine(case, x),
        "After the model's own weight and bias were tripled, the output did not gain twice the base's output.",
        rtol=1e-4,
        atol=5e-5,
        device=observe.device,
        call="inject_lora, then the original weight and bias were multiplied by 3 in place",
        mistakes={
            "The adapter works on a copy: the model's own weights should be used.": torch.zeros_like(
                affine(case, x)
            )
        },
    )


@behaviour(9)
def test_injected_adapters_have_the_given_rank_and_alpha(observe):
    case = observe.given["cases"][0]
    x, rank, alpha = case["x"][1], case["rank"], case["alpha"]
    close(
        observe["reuse/filled"],
        3 * affine(case, x) + alpha / rank * update(case, x),
        "inject_lora should hand rank and alpha on to its adapters.",
        rtol=1e-4,
        atol=5e-4,
        device=observe.device,
        call=f"inject_lora(model, ['first'], {rank}, {alpha}), then both factors were filled",
        mistakes={
            "inject_lora does not hand alpha on to its adapters.": 3 * affine(case, x) + update(case, x),
            "The adapter works on a copy: the model's own weights should be used.": affine(case, x)
            + alpha / rank * update(case, x),
        },
    )


@behaviour(11)
def test_modes_stay(observe):
    for name in ("eval", "train", "mixed"):
        before, after = observe[f"modes/{name}/before"], observe[f"modes/{name}/after"]
        changed = sorted(path for path in before if path in after and before[path] != after[path])
        says = (
            "An adapter takes over the mode of the layer that it wraps, and no other module's mode changes."
        )
        if name == "eval":
            says = "The model was in eval mode, yet the new layers are in train mode."
        expect(not changed, says, f"mode changed: {', '.join(repr(path) for path in changed[:4])}")


@behaviour(11)
def test_dropout_follows_the_mode_of_the_wrapped_layer(observe):
    first, second = observe["modes/eval/outs"]
    expect(torch.equal(first, second), "The model was in eval mode, yet your new layer applies dropout.")
    first, second = observe["modes/mixed/eval_layer"]
    expect(torch.equal(first, second), "The wrapped layer was in eval mode, yet its adapter applies dropout.")
    for name in ("train", "mixed"):
        first, second = observe[f"modes/{name}/train_layer"]
        expect(
            not torch.equal(first, second),
            "The wrapped layer was in train mode, yet its adapter drops nothing.",
        )


@behaviour(12)
def test_bad_rank_is_refused(observe):
    for step in ("make", "inject"):
        for name in ("zero", "negative"):
            observe.raised(f"errors/{step}/{name}", "ValueError", says="A rank below 1 must be refused.")


@behaviour(12)
def test_bad_dropout_is_refused(observe):
    for step in ("make", "inject"):
        for name in ("one", "above", "below"):
            observe.raised(
                f"errors/{step}/{name}", "ValueError", says="A dropout outside [0, 1) must be refused."
            )


@behaviour(12, on_error="rank=1, a rank above the layer's sizes, dropout=0 and dropout=0.99 are valid.")
def test_limits_are_valid(observe):
    expect(len(observe["errors/valid/names"]) == 3, "Valid arguments were refused.")
