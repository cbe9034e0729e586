import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

PRUNED_ONLY = "Only the weights of nn.Linear and nn.Conv2d are pruned here: biases, norms and embeddings are few or sensitive."


def masks_at(observe, path, shapes):
    """The recorded masks, demanded to have the right names, dtype and shapes."""
    masks = observe[f"{path}/masks"]
    expect(isinstance(masks, dict), "magnitude_masks returns a dict.", f"got {describe(masks)}")
    extra, missing = sorted(set(masks) - set(shapes)), sorted(set(shapes) - set(masks))
    expect(not extra, PRUNED_ONLY, f"there is a mask for {', '.join(map(str, extra))}")
    expect(
        not missing,
        "Every nn.Linear and nn.Conv2d needs a mask under its name in named_parameters(), at any depth.",
        f"none for {', '.join(missing)}",
    )
    for name, shape in shapes.items():
        mask = masks[name]
        expect(
            isinstance(mask, torch.Tensor) and mask.dtype == torch.bool and mask.shape == shape,
            "A mask is a bool tensor with the shape of its weight.",
            f"{name}: got {describe(mask)}",
        )
    return masks


def shapes_of(observe):
    return {name: value.shape for name, value in observe.given["values"].items()}


@behaviour(1)
def test_one_bool_mask_for_each_weight(observe):
    for i, _ in enumerate(observe.given["sparsities"]):
        masks_at(observe, f"masks/{i}", shapes_of(observe))
        expect(all(observe[f"masks/{i}/devices"]), "A mask lies on another device than its weight.")
    masks_at(observe, "masks/single", {"weight": (2, 3)})


@behaviour(1, presumes=("number_of_removed_weights",))
def test_frozen_weights_have_masks_too(observe):
    masks = observe["masks/frozen/masks"]
    expect(
        isinstance(masks, dict) and "0.weight" in masks,
        "A frozen weight is the weight of an nn.Linear too and needs a mask.",
    )
    masks = masks_at(observe, "masks/frozen", {"0.weight": (5, 7), "1.weight": (9, 5)})
    removed = sum(int((~mask).sum()) for mask in masks.values())
    expect(removed == 40, "Frozen weights count in the total too.", f"removed {removed} of 80, expected 40")
    expect(
        observe["masks/frozen/flags"] == [False, False, True, True],
        "magnitude_masks changed the requires_grad of a parameter.",
    )


@behaviour(1)
def test_true_means_kept(observe):
    masks = masks_at(observe, "masks/none", shapes_of(observe))
    expect(
        all(mask.all() for mask in masks.values()),
        "True means that the weight is kept: sparsity 0 keeps everything.",
    )
    single = masks_at(observe, "masks/single", {"weight": (2, 3)})["weight"]
    want = torch.tensor([[True, False, True], [True, False, False]])
    expect(not torch.equal(single, ~want), "True means that the weight is kept.")


@behaviour(2)
def test_ranking_is_global(observe):
    for i, sparsity in enumerate(observe.given["sparsities"]):
        masks = masks_at(observe, f"masks/{i}", shapes_of(observe))
        values = observe.given["values"]
        flat = torch.cat([value.abs().flatten() for value in values.values()])
        kept = torch.cat([masks[name].flatten() for name in values])
        if kept.all() or not kept.any():
            continue
        smallest, largest = flat[kept].min().item(), flat[~kept].max().item()
        expect(
            largest <= smallest,
            "A removed weight is larger in size than a kept one: rank magnitudes over all layers together.",
            f"sparsity {sparsity:.3g}: removed {largest:.4g}, kept {smallest:.4g}",
        )


@behaviour(11)
def test_close_and_tiny_magnitudes_are_ranked(observe):
    for name, says in (
        (
            "fine",
            "Magnitudes of a float64 model that differ by 1e-9 were not told apart: rank them in their own dtype.",
        ),
        (
            "tiny",
            "Magnitudes around 1e-30 were not told apart: their squares are 0, so rank absolute values.",
        ),
    ):
        mask = masks_at(observe, f"masks/{name}", {"weight": (7, 9)})["weight"]
        size = observe.given["close"][name].abs()
        expect(not mask.all() and bool(mask.any()), says)
        kept, removed = size[mask].min().item(), size[~mask].max().item()
        expect(removed <= kept, says, f"removed {removed:.12g}, kept {kept:.12g}")


@behaviour(3)
def test_number_of_removed_weights(observe):
    total = sum(value.numel() for value in observe.given["values"].values())
    for i, sparsity in enumerate(observe.given["sparsities"]):
        masks = masks_at(observe, f"masks/{i}", shapes_of(observe))
        removed = sum(int((~mask).sum()) for mask in masks.values())
        want = round(sparsity * total)
        expect(
            removed == want,
            "The number of removed weights is not round(sparsity * total).",
            f"removed {removed} of {total}, expected {want}",
        )


@behaviour(3, presumes=("number_of_removed_weights",))
def test_equal_magnitudes(observe):
    for i, sparsity in enumerate(observe.given["tie_sparsities"]):
        masks = masks_at(observe, f"ties/{i}", {"0.weight": (5, 7), "1.weight": (9, 5)})
        removed = sum(int((~mask).sum()) for mask in masks.values())
        want = round(sparsity * 80)
        expect(
            removed == want,
            "Many weights equal the threshold, so too many (or too few) were removed: choose by rank, not by value.",
            f"removed {removed} of 80, expected {want}",
        )
    mask = masks_at(observe, "ties/zeros", {"weight": (5, 7)})["weight"]
    removed = int((~mask).sum())
    expect(
        removed == round(0.5 * 35),
        "Weights that are 0 already count among the removed ones.",
        f"removed {removed} of 35, expected {round(0.5 * 35)}",
    )


@behaviour(12)
def test_half_a_weight(observe):
    mask = masks_at(observe, "ties/half", {"weight": (5, 5)})["weight"]
    removed = int((~mask).sum())
    expect(
        removed == 12,
        "The number of removed weights is Python's round(sparsity * total), which takes 12.5 to 12.",
        f"sparsity 0.5 removed {removed} of 25",
    )


@behaviour(4)
def test_model_is_unchanged(observe):
    for i, _ in enumerate(observe.given["sparsities"]):
        expect(alike(*observe[f"masks/{i}/same"]), "Making the masks has already changed the model.")
        expect(observe[f"masks/{i}/requires_grad"], "Making the masks has frozen parameters of the model.")
        expect(all(observe[f"masks/{i}/grads"]), "Making the masks has left gradients behind.")


@behaviour(4)
def test_buffers_modes_and_gradients_are_unchanged(observe):
    before, after = observe["masks/picture/same"]
    for what, left, right in zip(("A gradient", "A buffer", "A train/eval mode"), before, after, strict=True):
        expect(alike(left, right), f"{what} of the model changed while the masks were made.")


def keep_mask(value):
    return (torch.arange(value.numel()) % 3 != 1).view(value.shape)


@behaviour(5)
def test_removed_weights_become_zero(observe):
    after = observe["apply/plain/after"]
    for name, value in observe.given["values"].items():
        mask = keep_mask(value)
        expect(not after[name][~mask].any(), "A removed weight is not exactly 0 after apply_masks.", name)
    nan = observe["apply/nan/after"]
    for name, value in observe.given["values"].items():
        got = nan[name][~keep_mask(value)]
        expect(
            bool((got == 0).all()),
            "NaN times 0 is NaN: a removed weight must become 0 whatever it was.",
            name,
        )


@behaviour(5)
def test_other_values_stay(observe):
    after = observe["apply/plain/after"]
    for name, value in after.items():
        want = observe.given["values"].get(name)
        if want is None:
            stays = {0.01, observe.given["small_bias"]}
            expect(
                bool(torch.isin(value, torch.tensor(sorted(stays))).all()),
                "apply_masks changed a parameter that has no mask.",
                name,
            )
        else:
            mask = keep_mask(want)
            expect(torch.equal(value[mask], want[mask]), "apply_masks changed a weight that is kept.", name)


@behaviour(5)
def test_kept_values_stay_whatever_they_are(observe):
    want, got = observe.given["odd_values"], observe.tensor("apply/odd_values/after")
    kept = observe.given["odd_mask"]
    for what, chosen in (
        ("NaN", torch.isnan(want)),
        ("inf", torch.isinf(want)),
        ("negative zero", (want == 0) & torch.signbit(want)),
        ("number", torch.isfinite(want)),
    ):
        a, b = got[kept & chosen], want[kept & chosen]
        same = torch.isnan(a) & torch.isnan(b) | (a == b) & (torch.signbit(a) == torch.signbit(b))
        expect(bool(same.all()), f"A kept weight that is a {what} has changed: leave kept weights alone.")
    expect(bool((got[~kept] == 0).all()), "A removed weight must become 0 whatever it was.")


@behaviour(5)
def test_frozen_float64_weights(observe):
    want, got = observe.given["close"]["fine"], observe.tensor("apply/double/after")
    mask = keep_mask(want)
    expect(not got[~mask].any(), "A frozen weight that has a mask is pruned like any other.")
    expect(
        got.dtype == want.dtype and torch.equal(got[mask], want[mask]),
        "A kept weight of a float64 model was rounded: leave kept weights alone.",
    )


@behaviour(5)
def test_masks_are_found_by_name(observe):
    after = observe["apply/turned/after"]
    mask = keep_mask(observe.given["values"]["block.0.weight"])
    for name, want in (("0.weight", ~mask), ("1.weight", mask)):
        expect(
            torch.equal(after[name] != 0, want),
            "A mask belongs to the parameter of its name, whatever the order of the dict.",
            name,
        )


@behaviour(5)
def test_parameters_stay_the_same_objects(observe):
    says = "The optimizer still updates the old parameter, so the model no longer trains: change weights in place."
    expect(observe["apply/plain/same_objects"] and observe["apply/plain/same_storage"], says)
    expect(all(observe["apply/plain/flags"]), "Parameters must stay trainable leaves.")
    expect(alike(*observe["apply/plain/masks_same"]), "apply_masks changed the masks.")


@behaviour(5)
def test_masks_hold_through_training(observe):
    start = observe.given["values"]["block.0.weight"].double()
    update, lr = observe.given["update"].double(), observe.given["lr"]
    mask = keep_mask(start)
    # With momentum 0.9 and a constant gradient the three steps sum to 1 + 1.9 + 2.71 of it.
    close(
        observe["apply/training/after"],
        torch.where(mask, start - lr * 5.61 * update, 0.0),
        "After three steps with momentum, removed weights must be 0 and the others must have trained.",
        rtol=1e-4,
        atol=1e-5,
        device=observe.device,
    )


def scores(case):
    return case["w1"].double().norm(dim=1) * case["w2"].double().norm(dim=0)


def cases(observe):
    for i, case in enumerate(observe.given["pairs"]):
        hidden = len(case["w1"])
        for keep in (1, 2, hidden - 2, hidden - 1, hidden):
            yield f"neurons/{i}-{keep}", case, keep


def best(case, keep):
    return scores(case).topk(keep).indices.sort().values


def other_norms(case, keep):
    """The neurons that other norms than L2 in one layer or both would keep."""
    w1, w2 = case["w1"].double(), case["w2"].double()
    found = []
    for p in (1, 2, float("inf")):
        for q in (1, 2, float("inf")):
            if (p, q) != (2, 2):
                score = torch.linalg.vector_norm(w1, p, dim=1) * torch.linalg.vector_norm(w2, q, dim=0)
                found.append(sorted(score.topk(keep).indices.tolist()))
    return found


def matching(case, rows):
    """Which neuron each row of a new first layer is; -1 for none of them."""
    distances = torch.cdist(rows.double(), case["w1"].double())
    closest = distances.argmin(1)
    return torch.where(distances.min(1).values < 1e-6 * (1 + case["w1"].abs().max()), closest, -1)


def largest(values, keep):
    return sorted(values.topk(keep).indices.tolist())


def by_incoming(case, keep):
    return [largest(case["w1"].double().norm(dim=1), keep)]


def by_outgoing(case, keep):
    return [largest(case["w2"].double().norm(dim=0), keep)]


def lowest(case, keep):
    return [largest(-scores(case), keep)]


MISTAKES = (
    (
        by_incoming,
        "A neuron with large inputs but no influence on the output was kept: its outgoing weights count too.",
    ),
    (by_outgoing, "A neuron that hardly ever gets an input was kept: its incoming weights count too."),
    (other_norms, "The norms of the score are L2 norms, in both layers."),
    (lowest, "The neurons with the lowest scores were kept."),
)


@behaviour(6)
def test_neurons_with_the_highest_scores_are_kept(observe):
    wrong = []
    for path, case, keep in cases(observe):
        rows = observe.tensor(f"{path}/w1")
        expect(
            rows.shape == (keep, case["w1"].shape[1]),
            f"With keep={keep} the first layer has {keep} neurons.",
            f"got a weight of shape {tuple(rows.shape)}",
        )
        got, want = sorted(matching(case, rows).tolist()), best(case, keep).tolist()
        if got != want:
            wrong.append((case, keep, got, want))
    # One case may look like several mistakes, so the one is named that explains most of them.
    fits = [sum(got in choose(case, keep) for case, keep, got, _ in wrong) for choose, _ in MISTAKES]
    says = "The kept neurons are not those with the highest ||incoming|| * ||outgoing||."
    if 2 * max(fits) > len(wrong):
        says = MISTAKES[fits.index(max(fits))][1]
    for _, keep, got, want in wrong:
        expect(got == want, says, f"keep={keep}: kept {got}, expected {want}")


@behaviour(7)
def test_order_is_kept(observe):
    for path, case, _ in cases(observe):
        got = matching(case, observe.tensor(f"{path}/w1")).tolist()
        expect(got == sorted(got), "The kept neurons changed places.", f"order {got}")


@behaviour(9)
def test_dtype_is_kept(observe):
    for path, case, _ in cases(observe):
        for name in ("w1", "w2"):
            got = observe.tensor(f"{path}/{name}")
            expect(
                got.dtype == case["w1"].dtype, f"{case['w1'].dtype} became {got.dtype}.".replace("torch.", "")
            )


@behaviour(8)
def test_output_is_that_of_switched_off_neurons(observe):
    for path, case, keep in cases(observe):
        if any(observe.tensor(f"{path}/{name}").dtype != case[name].dtype for name in ("w1", "w2")):
            continue  # it cannot run; the dtype has a test of its own
        index = best(case, keep)
        x, w1, w2 = case["x"].double(), case["w1"].double(), case["w2"].double()
        b1 = torch.zeros(len(w1)) if case["b1"] is None else case["b1"]
        b2 = torch.zeros(len(w2)) if case["b2"] is None else case["b2"]
        hidden = torch.tanh(x @ w1.T + b1.double())
        on = torch.zeros(len(w1), dtype=torch.float64)
        on[index] = 1.0
        want = (hidden * on) @ w2.T + b2.double()
        no_b1 = (torch.tanh(x @ w1.T) * on) @ w2.T + b2.double()
        close(
            observe[f"{path}/run/out"],
            want,
            "The output differs from the original with the removed neurons switched off.",
            rtol=1e-4,
            atol=1e-4 * float(want.abs().max()),
            device=observe.device,
            call=f"prune_neurons of {tuple(case['w1'].shape)} and {tuple(case['w2'].shape)}, keep={keep}",
            mistakes={
                "The bias of fc2 was lost: it belongs to the outputs, not to the neurons.": want
                - b2.double(),
                "The bias of fc1 was lost; it is cut along with the neurons.": no_b1,
            },
        )


@behaviour(8)
def test_biases(observe):
    for path, case, keep in cases(observe):
        index = best(case, keep)
        for name, want in (("b1", None if case["b1"] is None else case["b1"][index]), ("b2", case["b2"])):
            got = observe[f"{path}/{name}"]
            if want is None:
                expect(got is None, "A missing bias stays missing.", f"{name}: got {describe(got)}")
            else:
                expect(got is not None, "A bias was lost.", name)
                close(
                    got,
                    want,
                    f"{name} is not the bias of the kept neurons, or of the outputs.",
                    rtol=1e-6,
                    atol=1e-7,
                )


@behaviour(9)
def test_layers_are_plain_and_trainable(observe):
    for path, case, keep in cases(observe):
        expect(all(observe[f"{path}/plain"]), "The new layers must be plain nn.Linear layers.")
        expect(observe[f"{path}/trainable"], "The new layers' parameters must be trainable leaves.")
        expect(observe[f"{path}/device"], "The new layers lie on another device.")
        sizes = [case["w1"].shape[1], keep, keep, case["w2"].shape[0]]
        got = observe[f"{path}/sizes"]
        expect(
            got == sizes,
            "in_features and out_features must fit the new weights.",
            f"got {got}, expected {sizes}",
        )


@behaviour(9)
def test_layers_are_trainable_whatever_the_old_ones_were(observe):
    for name in ("some", "all"):
        how = "keep=2" if name == "some" else "keep = all neurons"
        expect(
            all(observe[f"old_layers/frozen_{name}/trainable"]),
            "The new layers must be trainable even if the old ones were frozen.",
            how,
        )


@behaviour(6)
def test_keep_is_a_number_of_neurons(observe):
    hidden, d_in = observe.given["pairs"][0]["w1"].shape
    d_out = len(observe.given["pairs"][0]["w2"])
    for keep in (hidden - 1, hidden):
        got = [tuple(shape) for shape in observe[f"old_layers/dead_{keep}/shapes"]]
        want = [(keep, d_in), (d_out, keep)]
        expect(
            got == want,
            f"keep={keep} keeps {keep} neurons, also where several have a score of 0.",
            f"weights of shape {got}, expected {want}",
        )


@behaviour(9)
def test_old_layers_are_untouched(observe):
    for path, case, keep in cases(observe):
        for n in (1, 2):
            for got, want in zip(observe[f"{path}/old{n}"], (case[f"w{n}"], case[f"b{n}"]), strict=True):
                same = got is None if want is None else got is not None and torch.equal(got, want)
                expect(same, "Changing the pruned layers also changed the originals.", f"fc{n}, keep={keep}")


@behaviour(10)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "sparsity_one": "sparsity = 1 would remove everything; it must be refused.",
        "sparsity_high": "sparsity above 1 must be refused.",
        "sparsity_negative": "A negative sparsity must be refused.",
        "keep_zero": "keep = 0 must be refused.",
        "keep_negative": "A negative keep must be refused.",
        "keep_too_many": "keep above the number of neurons must be refused.",
        "no_fit": "Layers that do not fit together must be refused.",
        "swapped": "Layers in the wrong order do not fit together; they must be refused.",
    }
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
