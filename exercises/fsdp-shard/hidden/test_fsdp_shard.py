import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

WORLDS = (2, 3)
GATHER = ("all_gather", "all_gather_into_tensor", "all_gather_single", "all_gather_coalesced")
SCATTER = ("reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_single")
NEAR = {"rtol": 1e-5, "atol": 1e-5}
GRADIENT = {"rtol": 1e-4, "atol": 2e-5}
LIMITS = {
    "float64": {"rtol": 1e-10, "atol": 1e-10},
    "bfloat16": {"rtol": 5e-2, "atol": 1e-3},
}


def places(probe, step, worlds=WORLDS):
    for world in worlds:
        for rank in range(world):
            yield range(world), rank, f"{probe}/world{world}/rank{rank}/{step}", f"rank {rank} of {world}"


def flat(case):
    """Weight and bias of a layer as one vector, in double precision."""
    parts = [case["weight"].double().flatten()]
    return torch.cat([*parts, case["bias"].double()] if case["bias"] is not None else parts)


def cut(vector, place, size):
    """The part of one rank, after padding."""
    width = -(-vector.numel() // size)
    padded = torch.zeros(width * size, dtype=vector.dtype)
    padded[: vector.numel()] = vector
    return padded[place * width : (place + 1) * width]


def output(case, x):
    out = x.double() @ case["weight"].double().T
    return out if case["bias"] is None else out + case["bias"].double()


def flat_gradient(case, x, g):
    """The gradient of one rank's loss with respect to the flat parameters."""
    rows, columns = case["weight"].shape
    x, g = x.double().reshape(-1, columns), g.double().reshape(-1, rows)
    parts = [(g.T @ x).flatten()]
    return torch.cat([*parts, g.sum(0)] if case["bias"] is not None else parts)


def text(case):
    rows, columns = case["weight"].shape
    return f"ShardedLinear(Linear({columns}, {rows}, bias={case['bias'] is not None}))"


def shard_mistakes(case, place, size):
    rows, columns = case["weight"].shape
    weight, whole = case["weight"].double(), flat(case)
    turned = weight.T.flatten()
    mistakes = [
        ("The weight is flattened column by column: flatten it row by row.", cut(turned, place, size))
    ]
    if case["bias"] is not None:
        bias = case["bias"].double()
        mistakes = [
            (mistakes[0][0], cut(torch.cat([turned, bias]), place, size)),
            ("The weight comes first, then the bias.", cut(torch.cat([bias, weight.flatten()]), place, size)),
        ]
    padded = torch.cat([cut(whole, other, size) for other in range(size)])
    missing = padded.numel() - whole.numel()
    front = torch.cat([torch.zeros(missing, dtype=torch.float64), whole]).view(size, -1)[place]
    return [
        *mistakes,
        ("Rank r keeps consecutive elements, not every p-th one.", padded[place::size]),
        ("The padding belongs at the end of the vector.", front),
        *(
            ("Every rank keeps the part of its own place in the group.", cut(whole, other, size))
            for other in range(size)
            if other != place
        ),
    ]


def check_shard(observe, path, case, members, place, where, says, limits):
    whole, size = flat(case), len(members)
    width = -(-whole.numel() // size)
    call = f"{text(case)}, {where}"
    names = observe[f"{path}/names"]
    expect(names == ["shard"], "The only parameter should be shard.", f"{call}: {names}")
    expect(observe[f"{path}/trains"] is True, "shard should require a gradient.", call)
    got = observe.tensor(f"{path}/shard", "shard should be a parameter.")
    if got.numel() != width and whole.numel() % size:
        if place and got.numel() == whole.numel() - place * width:
            says = "All shards have the same size: pad the vector with zeros at its end."
        elif got.numel() == whole.numel() // size:
            says = "The flat size does not divide by p, and the last elements were lost."
    close(got, cut(whole, place, size), says, call=call, mistakes=shard_mistakes(case, place, size), **limits)
    dtype = case["weight"].dtype
    expect(got.dtype == dtype, "Buffers must have the dtype of the shard.", f"{call}: {describe(got)}")
    view = "Your shard is a view, so the full weight stays in memory."
    held, own = observe[f"{path}/bytes"], width * got.element_size()
    expect(held == own, view, f"{call}: the shard has {own} bytes, its storage {held}")
    weight, bias = observe[f"{path}/weight"], observe[f"{path}/bias"]
    shared = "The shard shares memory with the full layer: overwriting the one changed the other."
    expect(alike(weight, case["weight"]) and alike(bias, case["bias"]), shared, call)
    expect(
        observe[f"{path}/full"] == [["weight", "bias"], True, True],
        "The full layer should not be changed.",
        call,
    )


@behaviour(1)
def test_the_shard(observe):
    says = "shard is not this rank's part of the flat padded parameters."
    for i, case in enumerate(observe.given["cases"]):
        for members, rank, path, where in places("layer", i):
            check_shard(observe, f"{path}/shard", case, members, rank, where, says, {"rtol": 0, "atol": 0})


def full_bytes(observe):
    """Bytes of the weights in the memory probe, and of its smallest weight."""
    sizes = [4 * layer["weight"].numel() for layer in observe.given["large"]["layers"]]
    return sum(sizes), min(sizes)


def check_memory(sizes, smallest, says, pieces, where):
    """No storage as large as a weight, and not one in pieces. The activations are far smaller."""
    expect(not sizes or sizes[0] < smallest, says, f"{where}: {sizes[:1]} bytes in one storage are alive")
    expect(sum(sizes) < 0.8 * smallest, pieces, f"{where}: {sum(sizes)} bytes are alive")


@behaviour(1)
def test_no_full_copy_is_kept(observe):
    _, smallest = full_bytes(observe)
    says = "The full weight, or a copy of it, stays in memory after the constructor."
    for _, _, path, where in places("memory", "all"):
        check_memory(observe[f"{path}/built"], smallest, says, says, where)


def check_output(observe, path, case, rank, where, says, limits):
    for i, x in enumerate(case["x"]):
        x = x["by_rank"][rank]
        got = observe[f"{path}/out{i}"]
        want = output(case, x)
        columns = case["weight"].shape[1]
        call = f"{text(case)} on x of shape {tuple(x.shape)}, {where}"
        mistakes = {}
        if case["bias"] is not None:
            mistakes["The bias is missing from the output."] = x.double() @ case["weight"].double().T
        if case["weight"].shape[0] == columns:
            mistakes["The weight is transposed."] = x.double() @ case["weight"].double()
        close(got, want, says, call=call, mistakes=mistakes, **limits)
        expect(
            isinstance(got, torch.Tensor) and got.dtype == x.dtype,
            "The output should have the dtype of the layer.",
            f"{call}: {describe(got)}",
        )


@behaviour(2)
def test_the_output(observe):
    for i, case in enumerate(observe.given["cases"]):
        for _, rank, path, where in places("layer", i):
            says = "The output does not equal full(x)."
            check_output(observe, f"{path}/forward", case, rank, where, says, NEAR)


def parts_of_full(case, vector):
    rows, columns = case["weight"].shape
    bias = vector[rows * columns :][:rows] if case["bias"] is not None else None
    return vector[: rows * columns].view(rows, columns), bias


def changed_shards(case, members):
    width = -(-flat(case).numel() // len(members))
    return [case["changed"]["by_rank"][member].double()[:width] for member in members]


def check_full(observe, path, case, members, place, where, says, limits):
    shards = changed_shards(case, members)
    weight, bias = parts_of_full(case, torch.cat(shards))
    old_weight, old_bias = case["weight"].double(), case["bias"]
    call = f"{text(case)}.full_parameters(), {where}"
    old = "full_parameters must gather the shards as they are now."
    own = "full_parameters repeats this rank's own shard."
    mine = parts_of_full(case, torch.cat([shards[place]] * len(shards)))
    close(
        observe[f"{path}/weight"],
        weight,
        says,
        call=call,
        mistakes=[(old, old_weight), (own, mine[0])],
        **limits,
    )
    got = observe[f"{path}/bias"]
    if bias is None:
        expect(got is None, "The bias of a layer without one is None.", f"{call}: {describe(got)}")
    else:
        close(got, bias, says, call=call, mistakes=[(old, old_bias.double()), (own, mine[1])], **limits)
    expect(observe[f"{path}/attached"] is False, "full_parameters should return detached tensors.", call)
    close(
        observe[f"{path}/shard"],
        shards[place],
        "Overwriting what full_parameters returned changed shard: they share memory.",
        call=call,
        rtol=0,
        atol=0,
    )


@behaviour(3)
def test_full_parameters(observe):
    says = "full_parameters does not return weight and bias of the whole layer."
    for i, case in enumerate(observe.given["cases"]):
        for members, rank, path, where in places("layer", i):
            check_full(observe, f"{path}/full", case, members, rank, where, says, {"rtol": 0, "atol": 0})


def check_x_gradient(observe, path, case, members, rank, where, says, limits):
    weight = case["weight"].double()
    for i, g in enumerate(case["g"]):
        all_x = [g["by_rank"][member].double() @ weight for member in members]
        want, size = g["by_rank"][rank].double() @ weight, len(members)
        mistakes = []
        if size > 1:
            local = "Activations are local; only parameter gradients are reduced."
            mistakes = [("Activations are local: their gradient is not divided by p.", want / size)]
            if all(x.shape == want.shape for x in all_x):
                mistakes += [(local, sum(all_x) / size), (local, sum(all_x))]
        call = f"{text(case)}, x of shape {tuple(want.shape)}, {where}"
        close(observe[f"{path}/x_grad{i}"], want, says, call=call, mistakes=mistakes, **limits)


@behaviour(4)
def test_the_gradient_to_x(observe):
    says = "The gradient to x is not that of the rank's own loss."
    for i, case in enumerate(observe.given["cases"]):
        for members, rank, path, where in places("layer", i):
            check_x_gradient(observe, f"{path}/backward", case, members, rank, where, says, GRADIENT)


def gradients(case, members, i):
    pairs = zip(case["x"][i]["by_rank"], case["g"][i]["by_rank"], strict=True)
    every = [flat_gradient(case, x, g) for x, g in pairs]
    return [every[member] for member in members]


def check_shard_gradient(observe, path, case, members, rank, where, says, limits, world=None):
    place, size = list(members).index(rank), len(members)
    before = torch.zeros(flat(case).numel(), dtype=torch.float64)
    for i in range(len(case["g"])):
        every = gradients(case, members, i)
        mean, own = sum(every) / size, every[place]
        whole = before + mean
        mistakes = []
        if size > 1:
            lone = "Each rank updated its shard with its own data only."
            mistakes = [
                ("Divide by p, or the step grows with the number of ranks.", (before + mean) * size),
                ("The gradient is divided by p twice.", (before + mean) / size),
                (lone, before + own),
                (lone, before + own / size),
            ]
        if world and world != size:
            mistakes.append(("Divide by the size of the group.", whole * size / world))
        if i:
            replaced = "The second backward pass replaced the gradient of the first: add to it."
            mistakes.append((replaced, mean))
        close(
            observe[f"{path}/shard_grad{i}"],
            cut(whole, place, size),
            says,
            call=f"{text(case)}, after backward pass {i + 1}, {where}",
            mistakes=[(sentence, cut(value, place, size)) for sentence, value in mistakes],
            **limits,
        )
        before = whole


@behaviour(5, on_error="A layer may run forward twice before the first backward pass.")
def test_two_forward_passes_before_backward(observe):
    case = observe.given["cases"][0]
    weight = case["weight"].double()
    for members, rank, path, where in places("layer", "interleaved"):
        call = f"{text(case)}, two forward passes, then two backward passes, {where}"
        says = "Each backward pass needs the input of its own forward pass, not of the last one."
        every = [gradients(case, members, i) for i in range(len(case["g"]))]
        want = cut(sum(map(sum, every)) / len(members), rank, len(members))
        close(observe[f"{path}/shard_grad"], want, says, call=call, **GRADIENT)
        for got, g in zip(observe[f"{path}/x_grads"], case["g"], strict=True):
            says = "The gradient to x is wrong if two forward passes precede the backward passes."
            close(got, g["by_rank"][rank].double() @ weight, says, call=call, **GRADIENT)


@behaviour(5, on_error="Backward has to give every rank the gradient of its shard.")
def test_the_gradient_of_the_shard(observe):
    says = "shard.grad is not this rank's part of the gradient averaged over the ranks."
    for i, case in enumerate(observe.given["cases"]):
        for members, rank, path, where in places("layer", i):
            check_shard_gradient(observe, f"{path}/backward", case, members, rank, where, says, GRADIENT)


def reference(case, optimizer, members):
    """The flat parameters of each layer after each step of one process on the mean of the ranks' losses."""
    name, settings = {
        "sgd": ("SGD", {"lr": 0.2, "momentum": 0.7, "weight_decay": 0.05}),
        "adamw": ("AdamW", {"lr": 0.03, "betas": (0.8, 0.95), "eps": 0.02, "weight_decay": 0.2}),
    }[optimizer]
    params = [torch.nn.Parameter(flat(layer)) for layer in case["layers"]]
    stepper = getattr(torch.optim, name)(params, **settings)
    trace = []
    for x, y in zip(case["x"], case["y"], strict=True):
        stepper.zero_grad()
        losses = []
        for member in members:
            value = x["by_rank"][member].double()
            for i, (layer, param) in enumerate(zip(case["layers"], params, strict=True)):
                weight, bias = parts_of_full(layer, param)
                value = torch.nn.functional.linear(torch.tanh(value) if i else value, weight, bias)
            losses.append((value - y["by_rank"][member].double()).square().mean())
        (sum(losses) / len(losses)).backward()
        stepper.step()
        trace.append([param.detach().clone() for param in params])
    return trace


def check_training(observe, path, trace, place, size, where, says):
    for step, params in enumerate(trace):
        for i, got in enumerate(observe[f"{path}/{step}"]):
            call = f"shard of layer {i} after step {step + 1}, {where}"
            close(got, cut(params[i], place, size), says, call=call, **GRADIENT)


@behaviour(6)
def test_training_equals_one_process(observe):
    case = observe.given["train"]
    for name, title in (("sgd", "SGD with momentum"), ("adamw", "AdamW")):
        for world in WORLDS:
            trace = reference(case, name, range(world))
            for rank in range(world):
                path, where = f"train/world{world}/rank{rank}/{name}", f"{title}, rank {rank} of {world}"
                says = "Training on the shards does not equal one process on the mean of the ranks' losses."
                check_training(observe, path, trace, rank, world, where, says)


def check_gathers(calls, expected, numels, when, where):
    """`expected` all-gathers and nothing else; `numels` are the elements of the layers' shards."""
    shown = f"{where}, a model of {len(numels)} layers: {', '.join(call[0] for call in calls) or 'no calls'}"
    count = sum(call[0] in GATHER for call in calls)
    if expected and not count:
        says = f"A layer should gather its weight {when}."
    elif count > expected and count % len(numels) == 0:
        says = f"A layer gathers once {when}: weight and bias are in one vector."
    else:
        says = f"A layer makes one all-gather {when}."
    expect(count == expected, says, shown)


@behaviour(7)
def test_forward_traffic(observe):
    layers = observe.given["large"]["layers"]
    for _, _, base, where in places("traffic", ""):
        for name in ("inner", "first"):
            for pass_name, when in (
                ("forward", "in the forward pass"),
                ("no_grad", "in the forward pass, also under no_grad"),
            ):
                calls = observe[f"{base}{name}/{pass_name}"]
                shown = f"{where}: {', '.join(call[0] for call in calls)}"
                other = [call[0] for call in calls if call[0] not in GATHER]
                expect(not other, f"A layer makes nothing but one all-gather {when}.", shown)
                check_gathers(calls, len(layers), layers, when, where)


@behaviour(7)
def test_backward_traffic(observe):
    layers = observe.given["large"]["layers"]
    for _, _, base, where in places("traffic", ""):
        for name in ("inner", "first"):
            calls = [call[0] for call in observe[f"{base}{name}/backward"]]
            shown = f"{where}, a model of {len(layers)} layers: {', '.join(calls) or 'no calls'}"
            scatters = sum(call in SCATTER for call in calls)
            gathers = sum(call in GATHER for call in calls)
            if not scatters and {"all_reduce", "reduce"} & set(calls):
                expect(False, "Reduce-scatter moves half as much: a rank needs only its part.", shown)
            expect(
                scatters == len(layers),
                "In the backward pass a layer makes exactly one reduce-scatter.",
                shown,
            )
            expect(
                gathers <= len(layers),
                "In the backward pass a layer gathers its weight at most once.",
                shown,
            )
            other = [call for call in calls if call not in (*GATHER, *SCATTER)]
            expect(
                not other,
                "In the backward pass a layer needs one reduce-scatter and one all-gather, nothing else.",
                shown,
            )


@behaviour(8)
def test_no_full_weight_survives_the_forward_pass(observe):
    _, smallest = full_bytes(observe)
    for _, _, path, where in places("memory", "all"):
        layer = "The layer keeps the gathered weight after the forward pass."
        check_memory(observe[f"{path}/no_grad"], smallest, layer, layer, f"{where}, under no_grad")
        check_memory(observe[f"{path}/dropped"], smallest, layer, layer, where)
        graph = "Autograd keeps the gathered weight, so nothing was saved: gather it again."
        check_memory(observe[f"{path}/forward"], smallest, graph, graph, where)


def check_occupied(observe, name, says):
    whole = 12 << 20
    for world, rank, path, where in places("occupied", "all"):
        growth, share = observe[f"{path}/{name}"], whole / len(world)
        # Gloo keeps what it gathered last for a while. A copy of everything occupies more than that, since
        # the share is there as well.
        expect(
            growth < whole,
            says,
            f"{where}: twelve weights of 1 MiB occupy {growth / 2**20:.1f} MiB, "
            f"the shards have {share / 2**20:.1f} MiB",
        )


@behaviour(1)
def test_memory_once_built(observe):
    check_occupied(observe, "built", "The constructor keeps the full weight in memory, in some form.")


@behaviour(8)
def test_memory_after_the_forward_pass(observe):
    check_occupied(observe, "forward", "The layer keeps the full weight in memory, in some form.")


@behaviour(8)
def test_no_full_gradient_survives_the_backward_pass(observe):
    _, smallest = full_bytes(observe)
    says = "After the backward pass a full gradient or weight is still in memory."
    for _, _, path, where in places("memory", "all"):
        check_memory(observe[f"{path}/backward"], smallest, says, says, where)


def clip_gradients(case, members, missing=None):
    """Gradients by rank and layer; None where missing."""
    width = [-(-flat(layer).numel() // len(members)) for layer in case["layers"]]
    return [
        [
            None if missing is not None and i in missing[member] else grad["by_rank"][member].double()[:n]
            for i, (grad, n) in enumerate(zip(case["grads"], width, strict=False))
        ]
        for member in members
    ]


def norm_of(grads):
    return sum(
        (g.square().sum() for g in grads if g is not None), torch.zeros((), dtype=torch.float64)
    ).sqrt()


def scaled(grads, norm, max_norm):
    return [None if g is None else g * min(1.0, max_norm / (float(norm) + 1e-6)) for g in grads]


def check_clip(observe, path, grads, place, max_norm, where):
    own = grads[place]
    norm = norm_of([g for rank in grads for g in rank])
    size = len(grads)
    call = f"clip_grad_norm_(model, {max_norm}), {where}"
    got = observe[f"{path}/norm"]
    local = "Each rank clipped with the norm of its own shard: sum the squares first."
    mistakes = []
    if size > 1:
        mistakes = [
            (local, norm_of(own)),
            ("The root comes last: sum squares over the ranks, not norms.", sum(map(norm_of, grads))),
            ("The squares are summed over the ranks, not averaged.", norm / size**0.5),
        ]
    mistakes.append(("The norm is the root of the sum of squares.", norm.square()))
    if float(norm) > max_norm:
        clipped = "The norm before clipping should be returned."
        mistakes.append((clipped, torch.tensor(max_norm, dtype=torch.float64)))
    says = "clip_grad_norm_ does not return the norm of all gradients over all layers and ranks."
    if isinstance(got, torch.Tensor) and got.dim() == 0 or not isinstance(got, torch.Tensor):
        close(got, norm, says, call=call, rtol=1e-4, atol=1e-6, mistakes=mistakes)
    expect(
        isinstance(got, torch.Tensor) and got.dim() == 0,
        "The norm should be returned as a 0-dimensional tensor.",
        f"{call}: {describe(got)}",
    )
    values = observe[f"{path}/grads"]
    for i, (value, want) in enumerate(zip(values, scaled(own, norm, max_norm), strict=True)):
        if want is None:
            says = "A gradient that is None should stay None."
            expect(value is None, says, f"layer {i}, {call}: {describe(value)}")
            continue
        says = "The gradients are not scaled to a global norm of max_norm."
        if float(norm) <= max_norm:
            says = "Gradients whose global norm is within max_norm should stay as they are."
        close(
            value,
            want,
            says,
            call=f"gradient of layer {i}, {call}",
            rtol=1e-4,
            atol=1e-6,
            mistakes=[
                (local, own[i] * min(1.0, max_norm / float(norm_of(own)))),
                (says, own[i]),
                ("Gradients are only made smaller, never larger.", own[i] * max_norm / float(norm)),
            ],
        )
    in_place = "The gradients should be scaled in place."
    expect(observe[f"{path}/same"] == [True] * len(own), in_place, call)


LIMIT = {"small": 1.25, "large": 1000.0, "missing": 0.75, "none": 2.0, "nested": 1.5, "alone": 0.5}


def clip_cases(observe):
    model = observe.given["clip"]
    for name, max_norm in LIMIT.items():
        case = {**model, "layers": model["layers"][:1]} if name == "alone" else model
        missing = {"missing": case["missing"]["by_rank"], "none": [(0, 1, 2)] * 3}.get(name)
        for members, rank, path, where in places("clip", name):
            yield path, clip_gradients(case, members, missing), rank, max_norm, where, name


@behaviour(9)
def test_clipping(observe):
    for path, grads, rank, max_norm, where, name in clip_cases(observe):
        if name in ("small", "large"):
            check_clip(observe, path, grads, rank, max_norm, where)


@behaviour(9, on_error="A gradient that is None counts as 0, and its rank still joins the all-reduce.")
def test_clipping_without_some_gradients(observe):
    for path, grads, rank, max_norm, where, name in clip_cases(observe):
        if name in ("missing", "none"):
            says = "A gradient that is None counts as 0, and its rank still joins the all-reduce."
            expect(observe[f"{path}/calls"], says, f"clip_grad_norm_(model, {max_norm}), {where}: no calls")
            check_clip(observe, path, grads, rank, max_norm, f"some gradients are None, {where}")


@behaviour(9, on_error="The model may be nested, or a sharded layer itself.")
def test_clipping_models_of_other_shapes(observe):
    kinds = {"nested": "a model in a model", "alone": "the model is one layer"}
    for path, grads, rank, max_norm, where, name in clip_cases(observe):
        if name in kinds:
            check_clip(observe, path, grads, rank, max_norm, f"{kinds[name]}, {where}")


@behaviour(9)
def test_clipping_traffic(observe):
    for path, _, _, max_norm, where, _ in clip_cases(observe):
        names = [call[0] for call in observe[f"{path}/calls"]]
        expect(
            names == ["all_reduce"],
            "clip_grad_norm_ makes one all-reduce for the whole model, and nothing else.",
            f"clip_grad_norm_(model, {max_norm}), {where}: {', '.join(names) or 'no calls'}",
        )


def check_life(observe, path, case, members, rank, where, says, limits, world=None):
    place = list(members).index(rank)
    exact = {"rtol": 0, "atol": 0}
    check_shard(observe, f"{path}/shard", case, members, place, where, says, exact)
    check_output(observe, f"{path}/forward", case, rank, where, says, limits[0])
    check_full(observe, f"{path}/full", case, members, place, where, says, exact)
    check_output(observe, f"{path}/backward", case, rank, where, says, limits[0])
    check_x_gradient(observe, f"{path}/backward", case, members, rank, where, says, limits[1])
    check_shard_gradient(observe, f"{path}/backward", case, members, rank, where, says, limits[1], world)


def check_group(observe, path, members, rank, where, world, says):
    case, size = observe.given["group"], len(members)
    check_life(observe, path, case, members, rank, where, says, (NEAR, GRADIENT), world)
    place = list(members).index(rank)
    trace = reference(observe.given["train"], "sgd", members)[:2]
    check_training(observe, f"{path}/train", trace, place, size, f"SGD, {where}", says)
    grads = clip_gradients(observe.given["clip"], members)
    check_clip(observe, f"{path}/clip", grads, place, 1.25, where)


@behaviour(10, on_error="Within a group, size and places are those of the group.")
def test_a_part_of_the_ranks(observe):
    members = [0, 2]
    for rank in members:
        where = f"a group of ranks 0 and 2, on rank {rank} of 3"
        says = "Within a group, size and places are those of the group."
        check_group(observe, f"groups/world3/rank{rank}/sub", members, rank, where, 3, says)


@behaviour(10, on_error="A group of one rank should work.")
def test_a_group_of_one(observe):
    for world in WORLDS:
        for rank in range(world):
            where = f"a group of rank {rank} alone, {world} ranks in all"
            says = "In a group of one rank the layer works like the full one."
            check_group(observe, f"groups/world{world}/rank{rank}/alone", [rank], rank, where, world, says)


@behaviour(11, on_error="Buffers must have the dtype of the shard.", presumes=("a_part_of_the_ranks",))
def test_dtypes(observe):
    for dtype, case in observe.given["typed"].items():
        limits = (LIMITS[dtype], LIMITS[dtype])
        for members, rank, path, where in places("dtypes", dtype):
            says = f"The values for {dtype} are off by more than that dtype allows."
            check_life(observe, path, case, members, rank, f"{dtype}, {where}", says, limits)
            for name in ("x_grad0", "shard_grad0", "shard_grad1"):
                got = observe[f"{path}/backward/{name}"]
                expect(
                    isinstance(got, torch.Tensor) and str(got.dtype) == f"torch.{dtype}",
                    "Buffers must have the dtype of the shard.",
                    f"{name.rstrip('01')}, {dtype}, {where}: {describe(got)}",
                )


@behaviour(11, on_error="Inputs and output gradients need not be contiguous.")
def test_strides(observe):
    case = observe.given["cases"][0]
    for members, rank, path, where in places("strides", "strided"):
        where = f"{where}, x and output gradient not contiguous"
        says = "The result for tensors that are not contiguous is wrong."
        check_output(observe, path, case, rank, where, says, NEAR)
        check_x_gradient(observe, path, case, members, rank, where, says, GRADIENT)
        check_shard_gradient(observe, path, case, members, rank, where, says, GRADIENT)
    ones = {**case, "x": case["x"][:1]}
    ones["g"] = [
        {"by_rank": [torch.ones(*x.shape[:-1], len(case["weight"])) for x in ones["x"][0]["by_rank"]]}
    ]
    for members, rank, path, where in places("strides", "expanded"):
        where = f"{where}, output gradient expanded from one element"
        says = "The gradient after out.sum().backward() is wrong."
        for name, want in (
            ("x_grad", ones["g"][0]["by_rank"][rank].double() @ case["weight"].double()),
            ("shard_grad", cut(sum(gradients(ones, members, 0)) / len(members), rank, len(members))),
        ):
            close(observe[f"{path}/{name}"], want, says, call=f"{text(case)}, {where}", **GRADIENT)


@behaviour(11)
def test_inputs_are_left_alone(observe):
    runs = [("layer", f"{i}/backward", case) for i, case in enumerate(observe.given["cases"])]
    runs.append(("strides", "strided", observe.given["cases"][0]))
    for probe, step, case in runs:
        for _, rank, path, where in places(probe, step):
            for i in range(len(case["x"])):
                x, g = observe[f"{path}/after{i}"]
                call = f"{text(case)}, {where}"
                expect(alike(x, case["x"][i]["by_rank"][rank]), "The layer modified its input.", call)
                says = "The backward pass modified the output gradient that it was given."
                expect(alike(g, case["g"][i]["by_rank"][rank]), says, call)


@behaviour(12)
def test_bad_arguments_are_refused(observe):
    for name, kind, says in (
        ("conv", "TypeError", "ShardedLinear should refuse a convolution."),
        ("bilinear", "TypeError", "ShardedLinear should refuse an nn.Bilinear, which is no nn.Linear."),
        ("embedding", "TypeError", "ShardedLinear should refuse an nn.Embedding, which is no nn.Linear."),
        ("tensor", "TypeError", "ShardedLinear should refuse a tensor."),
        ("none", "TypeError", "ShardedLinear should refuse None."),
        ("zero", "ValueError", "clip_grad_norm_ should refuse a max_norm of 0."),
        ("negative", "ValueError", "clip_grad_norm_ should refuse a negative max_norm."),
    ):
        for _, _, path, where in places("errors", name):
            observe.raised(f"{path}/call", kind, says=says)
            expect(
                observe[f"{path}/calls"] == [],
                "Refuse bad arguments before any communication, or other ranks may wait.",
                where,
            )
