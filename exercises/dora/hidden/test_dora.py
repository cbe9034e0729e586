import torch

from quizapp.judge.testing.checks import behaviour, close, describe, expect

LOOSE = {"rtol": 1e-4, "atol": 2e-5}
START = "A new adapter must not change the model: the magnitude starts at the norm of each output row."


def cases(observe):
    return list(enumerate(observe.given["cases"]))


def call_of(case, x=None):
    d_out, d_in = case["weight"].shape
    text = f"DoRALinear(Linear({d_in}, {d_out}), rank={case['rank']}, alpha={case['alpha']})"
    return text if x is None else f"{text} on x of shape {tuple(x.shape)}"


def bias_of(case):
    return 0.0 if case["bias"] is None else case["bias"].double()


def direction(case, scaling=None):
    scaling = case["alpha"] / case["rank"] if scaling is None else scaling
    return case["weight"].double() + scaling * case["B"].double() @ case["A"].double()


def adapted(case, v=None):
    v = direction(case) if v is None else v
    return case["magnitude"].double()[:, None] * v / v.norm(dim=1, keepdim=True)


def output(case, x):
    return x.double() @ adapted(case).T + bias_of(case)


def formula_mistakes(case, x):
    w, m, x = case["weight"].double(), case["magnitude"].double()[:, None], x.double()
    v, bias = direction(case), bias_of(case)
    base_norm = "That is LoRA with an extra scale. Divide by the norm of the updated weight."
    scale = "The low-rank update is not scaled by alpha / rank."
    only = "Only the weight is decomposed."
    per_column = m * v / v.norm(dim=0, keepdim=True)
    factor = (case["magnitude"].double() / v.norm(dim=1)) if case["bias"] is not None else 0.0
    return [
        (base_norm, x @ (m * v / w.norm(dim=1, keepdim=True)).T + bias),
        (scale, x @ adapted(case, direction(case, 1.0)).T + bias),
        (scale, x @ adapted(case, direction(case, case["alpha"])).T + bias),
        (scale, x @ adapted(case, direction(case, case["rank"] / case["alpha"])).T + bias),
        ("V is not normalized.", x @ (m * v).T + bias),
        ("The magnitude has no effect.", x @ v.T + bias),
        ("The magnitude has no effect.", x @ (v / v.norm(dim=1, keepdim=True)).T + bias),
        ("The norm belongs to each row, over the input dimension.", x @ per_column.T + bias),
        ("The norm belongs to each row, not to the whole matrix.", x @ (m * v / v.norm()).T + bias),
        ("The norm is the L2 norm.", x @ (m * v / v.abs().sum(1, keepdim=True)).T + bias),
        (only, (x @ v.T + bias) * factor if case["bias"] is not None else x),
        (only, x @ adapted(case).T + bias * factor),
        (only, x @ adapted(case).T + bias * case["magnitude"].double()),
        ("The bias is missing.", x @ adapted(case).T),
        ("The bias is added twice.", x @ adapted(case).T + 2 * bias),
    ]


@behaviour(1, on_error=START)
def test_fresh_layer_equals_the_base(observe):
    for i, case in cases(observe):
        for k, x in enumerate(case["x"]):
            w = case["weight"].double()
            close(
                observe[f"fresh/{i}/{k}/out"],
                x.double() @ w.T + bias_of(case),
                START,
                **LOOSE,
                device=observe.device,
                call=call_of(case, x),
                mistakes={
                    f"{START} Yours starts at 1.": x.double() @ (w / w.norm(dim=1, keepdim=True)).T
                    + bias_of(case),
                    "The bias is missing.": x.double() @ w.T,
                },
            )


@behaviour(1)
def test_start_values(observe):
    for i, case in cases(observe):
        (d_out, d_in), rank = case["weight"].shape, case["rank"]
        for name, shape in (("A", (rank, d_in)), ("B", (d_out, rank)), ("magnitude", (d_out,))):
            tensor = observe.tensor(f"fresh/{i}/{name}", "The three parameters are tensors.")
            label = name if name == "magnitude" else f"lora_{name}"
            expect(
                tensor.shape == shape,
                f"{label} must have shape {shape}.",
                f"{call_of(case)}: got {describe(tensor)}",
            )
        close(
            observe[f"fresh/{i}/magnitude"],
            case["weight"].double().norm(dim=1),
            START,
            rtol=1e-4,
            atol=1e-6,
            call=call_of(case),
        )
        expect(not observe[f"fresh/{i}/B"].any(), "lora_B must start at zero.")
        a = observe[f"fresh/{i}/A"]
        expect(
            a.flatten().unique().numel() > 1 and not torch.equal(a, observe[f"fresh/{i}/other_A"]),
            "lora_A must start at random values.",
        )


@behaviour(2, on_error="The output must follow the formula for any parameters.")
def test_output_follows_the_formula(observe):
    for i, case in cases(observe):
        for k, x in enumerate(case["x"]):
            close(
                observe[f"formula/{i}/{k}/out"],
                output(case, x),
                "The output is not x times the rows magnitude * V / ||V||, plus bias.",
                **LOOSE,
                device=observe.device,
                call=call_of(case, x),
                mistakes=formula_mistakes(case, x),
            )


@behaviour(10, on_error="The input need not be contiguous.", presumes=("output_follows_the_formula",))
def test_strided_input(observe):
    for i, case in cases(observe):
        x = case["x"][2]
        close(
            observe[f"formula/{i}/strided/out"],
            output(case, x),
            "An input that is a transposed view gives another output.",
            **LOOSE,
            device=observe.device,
            call=call_of(case, x),
        )


@behaviour(2, presumes=("output_follows_the_formula",))
def test_output_follows_later_changes(observe):
    for i, case in cases(observe):
        x = case["x"][1]
        for name in ("train", "eval"):
            close(
                observe[f"formula/{i}/{name}"],
                output(case, x),
                "After a forward pass the parameters changed, and the output does not follow the formula any more: "
                "weight and norm must be computed anew.",
                **LOOSE,
                device=observe.device,
                call=call_of(case, x),
            )


@behaviour(2, presumes=("output_follows_the_formula",))
def test_output_without_autograd(observe):
    for i, case in cases(observe):
        close(
            observe[f"formula/{i}/no_grad"],
            output(case, case["x"][1]),
            "Under torch.no_grad() the output does not follow the formula: the adapter counts there as well.",
            **LOOSE,
            device=observe.device,
            call=call_of(case, case["x"][1]),
        )


@behaviour(2)
def test_input_is_not_modified(observe):
    for i, case in cases(observe):
        for k, x in enumerate(case["x"]):
            expect(
                torch.equal(observe.tensor(f"formula/{i}/{k}/x"), x), "forward changed its input in place."
            )


@behaviour(3)
def test_trainable_parameters(observe):
    for i, case in cases(observe):
        d_out, d_in = case["weight"].shape
        want = sorted([[case["rank"], d_in], [d_out, case["rank"]], [d_out]])
        for name in ("fresh", "filled"):
            expect(
                observe[f"gradients/{name}{i}/exactly"],
                "Direction and magnitude learn, the base does not: exactly lora_A, lora_B and magnitude are trained.",
                f"shapes of what requires a gradient: {observe[f'gradients/{name}{i}/trained']}, expected {want}",
            )


@behaviour(3)
def test_base_gets_no_gradient(observe):
    for i, case in cases(observe):
        for name in ("fresh", "filled"):
            for part in ("weight", "bias"):
                grad = observe[f"gradients/{name}{i}/{part}"]
                expect(
                    grad is None or not grad.any(), "The base is frozen: it gets no gradient.", f"base.{part}"
                )
            expect(
                torch.equal(observe[f"gradients/{name}{i}/weight_now"], case["weight"]),
                "The weight of the base layer was changed.",
            )


@behaviour(3, on_error="The first backward must work.")
def test_first_gradients(observe):
    for i, case in cases(observe):
        for name, label in (("x", "x"), ("B", "lora_B"), ("magnitude", "magnitude")):
            grad = observe[f"gradients/fresh{i}/{name}"]
            expect(
                isinstance(grad, torch.Tensor) and bool(grad.any()),
                f"On the first backward {label} must get a non-zero gradient.",
                f"{call_of(case)}: {'none' if grad is None else 'all zero'}",
            )


def reference(case, *, norm=True, numerator=True, fresh_a=None):
    """Gradients by autograd in float64; norm: detached, numerator: attached."""
    leaves = {
        "x": case["x"][2].double().clone().requires_grad_(),
        "A": (case["A"] if fresh_a is None else fresh_a).double().clone().requires_grad_(),
        "B": (case["B"] if fresh_a is None else torch.zeros_like(case["B"]))
        .double()
        .clone()
        .requires_grad_(),
    }
    weight = case["weight"].double()
    start = case["magnitude"].double() if fresh_a is None else weight.norm(dim=1)
    leaves["magnitude"] = start.clone().requires_grad_()
    v = weight + case["alpha"] / case["rank"] * leaves["B"] @ leaves["A"]
    length = (v.detach() if norm else v).norm(dim=1, keepdim=True)
    w = leaves["magnitude"][:, None] * (v if numerator else v.detach()) / length
    (leaves["x"] @ w.T).backward(case["upstream"].double())
    return {name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for name, leaf in leaves.items()}


def check_gradient(observe, i, case, step, name, says):
    fresh = observe.tensor(f"gradients/{step}/A_start") if step.startswith("fresh") else None
    want = reference(case, fresh_a=fresh)[name]
    label = f"lora_{name}" if name in ("A", "B") else name
    through = reference(case, norm=False, fresh_a=fresh)[name]
    mistakes = [
        ("Only the magnitude learns: the factors get no gradient.", torch.zeros_like(want)),
        (
            "Your gradient flows through the norm too: treat the norm as a constant, which saves memory and hardly changes the result.",
            through,
        ),
    ]
    scaling = case["alpha"] / case["rank"]
    if name in ("A", "B"):
        mistakes.append((f"The gradient to {label} lacks the factor alpha / rank.", want / scaling))
    close(
        observe.tensor(
            f"gradients/{step}/{name}",
            "Only the magnitude learns: the factors get no gradient."
            if name in ("A", "B")
            else f"No gradient reaches {label}.",
        ),
        want,
        says,
        rtol=1e-3,
        atol=1e-4,
        device=observe.device,
        call=f"backward of {call_of(case, case['x'][2])}, gradient to {label}",
        mistakes=mistakes if name in ("A", "B") else (),
    )


@behaviour(4)
def test_gradients_of_the_factors(observe):
    for i, case in cases(observe):
        for name in ("A", "B"):
            check_gradient(
                observe,
                i,
                case,
                f"filled{i}",
                name,
                "The gradient is not that of the formula with the norm detached.",
            )
        check_gradient(
            observe,
            i,
            case,
            f"fresh{i}",
            "B",
            "The gradient is not that of the formula with the norm detached.",
        )


@behaviour(4)
def test_gradients_of_magnitude_and_input(observe):
    for i, case in cases(observe):
        for name in ("magnitude", "x"):
            for step in (f"filled{i}", f"fresh{i}"):
                check_gradient(observe, i, case, step, name, f"The gradient to {name} is wrong.")


@behaviour(4, presumes=("gradients_of_magnitude_and_input", "trainable_parameters"))
def test_gradients_in_eval_mode(observe):
    for i, case in cases(observe):
        for name in ("A", "B", "magnitude", "x"):
            check_gradient(
                observe,
                i,
                case,
                f"evaluated{i}",
                name,
                "After eval() the gradient is another one: the norm is a constant in every mode.",
            )


@behaviour(5)
def test_bias_is_added_unchanged(observe):
    for i, case in cases(observe):
        x = case["x"][1]
        out = observe.tensor(f"formula/{i}/1/out", "The output is a tensor.").double()
        expect(out.shape == (len(x), len(case["weight"])), "The output has the wrong shape.", describe(out))
        if case["bias"] is not None:
            without = x.double() @ adapted(case).T
            close(
                out - without,
                bias_of(case).expand_as(without),
                "Only the weight is decomposed: the bias is added as it is.",
                **LOOSE,
                device=observe.device,
                call=call_of(case, x),
                mistakes={"The bias is missing.": torch.zeros_like(without)},
            )
            kept = observe[f"gradients/filled{i}/bias_now"]
            expect(torch.equal(kept, case["bias"]), "The bias of the base layer was changed.")


@behaviour(6)
def test_row_of_zeros(observe):
    case = observe.given["rows"]
    dead = case["dead"]
    for name, bias in (("plain", 0.0), ("biased", case["bias"][dead].item())):
        for path in (f"rows/{name}/out", f"rows/{name}/merged/rows"):
            out = observe.tensor(path, "The output is a tensor.")
            expect(bool(out.isfinite().all()), "A dead row became NaN.")
            want = torch.full((4,), bias if path.endswith("out") else 0.0)
            close(out[:, dead], want, "A row of zeros must give zeros, plus bias.", **LOOSE)


@behaviour(6, presumes=("output_follows_later_changes",))
def test_row_of_zeros_after_training(observe):
    case = observe.given["rows"]
    out = observe.tensor("rows/longer/out", "The output is a tensor.")
    dead = case["dead"]
    says = "A row of zeros must give zeros, plus bias, also once its magnitude is not 0."
    expect(bool(out.isfinite().all()), says, "the output is not finite")
    close(out[:, dead], case["bias"][dead].expand(len(out)), says, **LOOSE)
    close(
        observe["rows/turned/out"],
        output(case | {"alpha": 3.0, "rank": 2}, case["x"]),
        "Where lora_B turns a row of zeros into another one, the formula holds: divide by the norm of V.",
        **LOOSE,
        device=observe.device,
    )


@behaviour(6)
def test_gradients_beside_a_row_of_zeros(observe):
    case = observe.given["rows"]
    for name in ("plain", "biased"):
        for key in ("x", "A", "B", "magnitude"):
            grad = observe[f"rows/{name}/grad_{key}"]
            expect(
                grad is None or bool(grad.isfinite().all()),
                "A dead row became NaN in the backward pass: all gradients must be finite.",
                f"gradient to {key}",
            )
        close(
            observe[f"rows/{name}/grad_x"],
            case["upstream"].double() @ case["weight"].double(),
            "Beside a row of zeros the gradient to x is wrong.",
            rtol=1e-3,
            atol=1e-4,
            device=observe.device,
        )


@behaviour(6)
def test_row_of_tiny_weights(observe):
    case = observe.given["rows"]
    tiny = case["tiny"]
    want = case["x"].double() @ case["weight"][tiny].double()
    for path in ("rows/plain/out", "rows/plain/merged/rows"):
        out = observe.tensor(path, "The output is a tensor.")
        shrunk = bool((out[:, tiny].double() < want * 0.99).all())
        close(
            out[:, tiny],
            want,
            "Small rows were shrunk." if shrunk else "A row of weights around 1e-5 does not keep its values.",
            rtol=1e-2,
            atol=0.0,
        )
    unit = case["weight"][tiny].double() / case["weight"][tiny].double().norm()
    close(
        observe.tensor("rows/plain/grad_magnitude", "No gradient reaches magnitude.")[tiny],
        (case["upstream"][:, tiny].double() @ (case["x"].double() @ unit)).item(),
        "Small rows were shrunk: the gradient of their magnitude is wrong.",
        rtol=1e-2,
        atol=1e-3,
    )


@behaviour(7)
def test_merged_layer_is_a_plain_linear(observe):
    for i, case in cases(observe):
        d_out, d_in = case["weight"].shape
        names = ["weight"] if case["bias"] is None else ["bias", "weight"]
        expect(
            observe[f"merge/{i}/plain"] is True, "merge() must return exactly an nn.Linear.", call_of(case)
        )
        expect(observe[f"merge/{i}/hooks"] == 0, "The merged layer must not carry hooks.")
        expect(
            observe[f"merge/{i}/names"] == names,
            "The merged layer has a weight, a bias only where the base has one, and nothing else.",
            f"{call_of(case)}: {observe[f'merge/{i}/names']}",
        )
        expect(
            observe[f"merge/{i}/features"] == [d_in, d_out],
            "The merged layer has wrong in_features or out_features.",
        )
        expect(
            observe[f"merge/{i}/dtypes"] == [str(case["weight"].dtype)] * len(names)
            and observe[f"merge/{i}/devices"],
            "The merged layer must have the dtype and device of the base.",
        )


@behaviour(7)
def test_merged_output(observe):
    for i, case in cases(observe):
        for k, x in enumerate(case["x"]):
            close(
                observe[f"merge/{i}/out{k}"],
                output(case, x),
                "The merged layer must give the same output and stand on its own.",
                **LOOSE,
                device=observe.device,
                call=f"{call_of(case)}.merge() on x of shape {tuple(x.shape)}",
                mistakes=[
                    *formula_mistakes(case, x),
                    ("The merged layer is the base.", x.double() @ case["weight"].double().T + bias_of(case)),
                ],
            )


@behaviour(7, presumes=("merged_output",))
def test_merge_changes_nothing(observe):
    for i, case in cases(observe):
        before, after = observe[f"merge/{i}/before"], observe[f"merge/{i}/after"]
        expect(
            before["flags"] == after["flags"] and before["training"] == after["training"],
            "merge() changed what the adapter trains, or its mode.",
        )
        expect(
            before["values"].keys() == after["values"].keys()
            and all(torch.equal(value, after["values"][key]) for key, value in before["values"].items()),
            "merge() changed the adapter's tensors: build a new layer.",
        )
        close(
            observe[f"merge/{i}/second"],
            output(case, case["x"][1]),
            "The result of a second merge() is wrong.",
            **LOOSE,
            device=observe.device,
        )
        x = case["x"][1].double()
        close(
            observe[f"merge/{i}/doubled"],
            2 * (x @ adapted(case).T) + bias_of(case),
            "After the parameters changed, the result of merge() is wrong.",
            rtol=1e-4,
            atol=4e-5,
            device=observe.device,
            mistakes={"After the parameters changed, merge() still gives the old result.": output(case, x)},
        )


@behaviour(7)
def test_merged_layer_shares_no_storage(observe):
    for i, case in cases(observe):
        for name in ("adapter", "kept"):
            close(
                observe[f"merge/{i}/{name}"],
                output(case, case["x"][1]),
                "The merged layer must give the same output and stand on its own: editing one layer changed the other.",
                **LOOSE,
                device=observe.device,
            )
        x = case["x"][1]
        close(
            observe[f"merge_fresh/{i}/adapter"],
            x.double() @ case["weight"].double().T + bias_of(case),
            "What an untrained adapter merges shares storage with it: editing one layer changed the other.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(8, on_error="float64 and bfloat16 layers must work too.")
def test_dtypes(observe):
    case = observe.given["cases"][0]
    says = "The new parameters do not have the dtype of the layer that they adapt."
    for name in ("float64", "bfloat16", "float32"):
        got = observe[f"dtypes/{name}/params"]
        expect(all(dtype == name for dtype, _ in got), says, f"{[dtype for dtype, _ in got]} for {name}")
        expect(observe[f"dtypes/{name}/all"] == [name], says, f"{observe[f'dtypes/{name}/all']} for {name}")
        for path in (f"dtypes/{name}/out", f"dtypes/{name}/merged/out"):
            out = observe.tensor(path, "The output is a tensor.")
            expect(
                str(out.dtype) == f"torch.{name}",
                "The output must have the dtype of the input.",
                f"got {out.dtype}",
            )
            rtol, atol = (5e-2, 0.15) if name == "bfloat16" else (1e-4, 2e-5)
            close(
                out,
                case["x"][1].double() @ case["weight"].double().T + bias_of(case),
                f"A fresh {name} layer does not give the base layer's output.",
                rtol=rtol,
                atol=atol,
                device=observe.device,
            )


@behaviour(8, on_error="Create the parameters from base.weight, wherever it lies.")
def test_device_of_the_parameters(observe):
    says = "The new parameters do not have the dtype and device of the layer that they adapt."
    for name, dtype in (("meta", "float32"), ("meta_half", "bfloat16")):
        error = observe.error(f"dtypes/{name}")
        if error is not None and error.wants_values:
            continue  # allowed: it works wherever tensors have values
        got = observe[f"dtypes/{name}/params"]
        expect(got == [[dtype, "meta"]] * 3, says, f"got {got}")
    if "dtypes/meta_default/params" in observe:
        got = observe["dtypes/meta_default/params"]
        device = observe.device.split(":")[0]
        expect(got == [["float32", device]] * 3, says, f"got {got} with another default device")


@behaviour(9)
def test_bad_rank_is_refused(observe):
    for name in ("zero", "negative"):
        observe.raised(f"errors/{name}", "ValueError", says="A rank below 1 must be refused.")


@behaviour(9, on_error="Any rank from 1 is valid.")
def test_valid_ranks(observe):
    expect(
        observe["errors/valid/shapes"] == [[[r, 5], [3, r]] for r in (1, 3, 7)], "Any rank from 1 is valid."
    )
