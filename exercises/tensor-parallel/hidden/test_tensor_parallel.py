import torch
import torch.nn.functional as F

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

WORLDS = (2, 3)
PRECISION = {torch.float32: {"rtol": 1e-5, "atol": 1e-5}, torch.float64: {"rtol": 1e-9, "atol": 1e-9}}


def places(probe, step, worlds=WORLDS):
    for world in worlds:
        for rank in range(world):
            yield world, rank, f"{probe}/world{world}/rank{rank}/{step}", f"rank {rank} of {world}"


def shard(value, dim, rank, world):
    return None if value is None else value.chunk(world, dim)[rank]


def interleaved(value, dim, rank, world):
    return value[rank::world] if dim == 0 else value[:, rank::world]


@behaviour(1)
def test_slices(observe):
    for step, up, down in (("slices", 3, 3), ("plain", 1, 2)):
        for world, rank, path, where in places("layers", step):
            for name, values, dim in (
                ("column", observe.given["blocks"][up]["up"], 0),
                ("row", observe.given["blocks"][down]["down"], 1),
            ):
                got = observe[f"{path}/{name}/weight"]
                want = shard(values["weight"], dim, rank, world)
                expect(isinstance(got, torch.Tensor), "The layer has no weight.", f"{name} parallel, {where}")
                says = "This rank's weight is not its consecutive slice of full.weight."
                if name == "row" and got.shape != want.shape:
                    says = "The row-parallel layer splits the input features: the second dimension of weight."
                close(
                    got,
                    want,
                    says,
                    rtol=0,
                    atol=0,
                    call=f"{name} parallel, {where}",
                    mistakes={
                        "The slices are interleaved: every rank keeps consecutive ones.": interleaved(
                            values["weight"], dim, rank, world
                        )
                    },
                )
                expect(
                    got.dtype == want.dtype, "The weight has another dtype than full's.", f"got {got.dtype}"
                )
                bias = observe[f"{path}/{name}/bias"]
                want = values["bias"]
                if want is None:
                    expect(
                        bias is None, "Without a bias in full there is none here.", f"got {describe(bias)}"
                    )
                    continue
                want = shard(want, 0, rank, world) if name == "column" else want
                close(
                    bias,
                    want,
                    "The bias is not this rank's part of it."
                    if name == "column"
                    else "The bias should be the whole one.",
                    rtol=0,
                    atol=0,
                    call=f"{name} parallel, {where}",
                )


@behaviour(1)
def test_shards_are_parameters_with_their_own_storage(observe):
    for world, rank, path, where in places("layers", "slices"):
        for name in ("column", "row"):
            for key in ("weight", "bias"):
                expect(
                    observe[f"{path}/{name}/{key}_parameter"] is True,
                    "weight and bias should be nn.Parameters.",
                    f"{key} of {name} parallel, {where}",
                )
                held, needed, shared = observe[f"{path}/{name}/{key}_memory"]
                expect(
                    held == needed and not shared,
                    "Your shard is a view, so the full weight stays in memory on every rank."
                    if key == "weight"
                    else "The bias is not a copy of its own size.",
                    f"{name} parallel: {held} bytes held for {needed}, {where}",
                )
            block = observe.given["blocks"][3]["up" if name == "column" else "down"]
            own = block["weight"].numel() // world
            own += block["bias"].numel() // (world if name == "column" else 1)
            expect(
                observe[f"{path}/{name}/elements"] == own,
                "The layer has more parameters than its shard.",
                f"{observe[f'{path}/{name}/elements']} elements instead of {own}, {where}",
            )
            for got, want in zip(
                observe[f"{path}/{name}/full"], (block["weight"], block["bias"]), strict=True
            ):
                expect(torch.equal(got, want), "full was changed.", where)
            expect(
                all(observe[f"{path}/{name}/trained"]),
                "full was changed: its parameters no longer require a gradient.",
                f"{name} parallel, {where}",
            )


@behaviour(1, on_error="A layer on another device than the CPU must be split, too (here: meta).")
def test_parameters_are_where_full_is(observe):
    for _, _, path, where in places("layers", "elsewhere"):
        for name in ("column", "row"):
            expect(
                observe[f"{path}/{name}"] == ["meta", "meta"],
                "The parameters belong on full's device.",
                f"{name} parallel, full on the device meta, {where}",
            )


@behaviour(2)
def test_column_gives_its_slice(observe):
    block = observe.given["blocks"][3]
    x, w, b = block["x"].double(), block["up"]["weight"].double(), block["up"]["bias"].double()
    whole = F.linear(x, w, b)
    for world, rank, path, where in places("layers", "forward"):
        got = observe[f"{path}/column"]
        gathered = isinstance(got, torch.Tensor) and got.shape == whole.shape
        close(
            got,
            whole.chunk(world, -1)[rank],
            "The next layer needs only this rank's part; gathering it costs traffic for nothing."
            if gathered
            else "The column layer's output is not this rank's slice of full(x).",
            rtol=1e-5,
            atol=1e-5,
            call=where,
            mistakes={"The bias is missing.": (whole - b).chunk(world, -1)[rank]},
        )
        expect(not observe[f"{path}/made"], "Making a layer needs no communication.", where)
        expect(
            not observe[f"{path}/calls"],
            "The forward pass of the column layer needs no communication.",
            where,
        )


@behaviour(3)
def test_row_gives_the_whole_output(observe):
    row = observe.given["row"]
    x, w, b = row["x"].double(), row["down"]["weight"].double(), row["down"]["bias"].double()
    out = F.linear(x, w)
    for world, rank, path, where in places("layers", "row"):
        width = x.shape[1] // world
        part = slice(rank * width, (rank + 1) * width)
        local = F.linear(x[:, part], w[:, part])
        close(
            observe[f"{path.rpartition('/')[0]}/row/out"],
            out + b,
            "The row layer's output is not that of full on the joined inputs.",
            rtol=1e-5,
            atol=1e-5,
            call=where,
            mistakes={
                "The bias was added t times: add it after the reduction.": out + world * b,
                "The partial results were not summed over the ranks.": local + b,
                "The partial results are summed over the ranks, not averaged.": out / world + b,
                "The bias is missing.": out,
            },
        )


def reference(block, act=torch.tanh, twice=False):
    x = block["x"].double().clone().requires_grad_()
    values = [
        None if t is None else t.double().clone().requires_grad_()
        for key in ("up", "down")
        for t in (block[key]["weight"], block[key]["bias"])
    ]
    out = F.linear(act(F.linear(x, *values[:2])), *values[2:])
    loss = (out * block["c"].double()).sum()
    if twice:
        loss = loss + (out**2).sum()
    loss.backward()
    return out.detach(), x.grad, [None if v is None else v.grad for v in values]


def local_input_grad(block, rank, world):
    """What one rank's part of the hidden features contributes to the gradient of x."""
    x = block["x"].double().clone().requires_grad_()
    up = [shard(block["up"][k], 0, rank, world) for k in ("weight", "bias")]
    up = [None if t is None else t.double() for t in up]
    out = F.linear(torch.tanh(F.linear(x, *up)), shard(block["down"]["weight"], 1, rank, world).double())
    (out * block["c"].double()).sum().backward()
    return x.grad


def blocks(observe):
    for i, block in enumerate(observe.given["blocks"]):
        for world, rank, path, where in places("blocks", i):
            text = f"x of shape {tuple(block['x'].shape)}, {block['x'].dtype}, {where}".replace("torch.", "")
            yield block, world, rank, path, text, PRECISION[block["x"].dtype]


@behaviour(4)
def test_pair_equals_the_unsharded_pair(observe):
    for block, _, _, path, where, precision in blocks(observe):
        got = observe[f"{path}/out"]
        close(
            got,
            reference(block)[0],
            "Column, function, row differs from the unsharded pair.",
            **precision,
            call=where,
        )
        expect(got.dtype == block["x"].dtype, "The output changed its dtype.", f"got {got.dtype}, {where}")


@behaviour(
    4,
    on_error="The pair must work in eval mode and under torch.no_grad(), too.",
    presumes=("pair_equals_the_unsharded_pair",),
)
def test_pair_without_gradients(observe):
    block = observe.given["blocks"][3]
    for _, _, path, where in places("blocks", "quiet"):
        close(
            observe[f"{path}/out"],
            reference(block)[0],
            "In eval mode under torch.no_grad() the pair differs from the unsharded pair: the forward pass sums there, too.",
            rtol=1e-5,
            atol=1e-5,
            call=where,
        )
        close(
            observe[f"{path}/again"],
            reference(block)[0][0],
            "The same layers give another result for a second input of another shape.",
            rtol=1e-5,
            atol=1e-5,
            call=where,
        )


@behaviour(11, on_error="An input need not be contiguous.")
def test_input_that_is_not_contiguous(observe):
    block = observe.given["blocks"][3]
    for _, _, path, where in places("blocks", "quiet"):
        says = "The pair differs from the unsharded pair for an input that is not contiguous."
        want = reference(block)[0].transpose(0, 2)
        close(observe[f"{path}/turned"], want, says, rtol=1e-5, atol=1e-5, call=where)


@behaviour(
    11, on_error="The input of the row layer need not be contiguous, nor the gradient that reaches it."
)
def test_row_layer_with_turned_tensors(observe):
    values, given = observe.given["blocks"][3]["down"], observe.given["turned"]
    out = F.linear(
        given["column"].double().transpose(0, 2), values["weight"].double(), values["bias"].double()
    )
    grad = given["row"].double() @ values["weight"].double()
    for world, rank, path, where in places("blocks", "turned_row"):
        says = "The row layer's output is wrong for an input that is not contiguous."
        close(observe[f"{path}/out"], out, says, rtol=1e-5, atol=1e-5, call=where)
        says = "The input gradient is wrong where the gradient that reaches the row layer is not contiguous."
        want = grad.chunk(world, -1)[rank]
        close(observe[f"{path}/x_grad"], want, says, rtol=1e-5, atol=1e-5, call=where)


@behaviour(
    11,
    on_error="The gradient that reaches the column layer need not be contiguous.",
    presumes=("input_gradient_is_complete",),
)
def test_column_layer_with_a_turned_gradient(observe):
    want = observe.given["turned"]["column"].double() @ observe.given["blocks"][3]["up"]["weight"].double()
    for _, _, path, where in places("blocks", "turned_column"):
        says = (
            "The input gradient is wrong where the gradient that reaches the column layer is not contiguous."
        )
        close(observe[f"{path}/x_grad"], want.transpose(0, 2), says, rtol=1e-5, atol=1e-5, call=where)


@behaviour(4)
def test_output_of_an_earlier_pass(observe):
    says = "A later pass overwrote the output of an earlier one: every output is a tensor of its own."
    for _, _, path, where in places("blocks", "kept"):
        for i in (1, 3):
            want = reference(observe.given["blocks"][i])[0]
            close(observe[f"{path}/{i}"], want, says, rtol=1e-5, atol=1e-5, call=where)


def stacked(observe):
    stack = observe.given["stack"]
    x = stack["x"].double().clone().requires_grad_()
    layers = [
        [{k: v.double().clone().requires_grad_() for k, v in layer.items()} for layer in pair]
        for pair in stack["layers"]
    ]
    h = x
    for up, down in layers:
        h = h + F.linear(F.gelu(F.linear(h, up["weight"], up["bias"])), down["weight"], down["bias"])
    (h * stack["c"].double()).sum().backward()
    return h.detach(), x.grad, layers


@behaviour(4)
def test_stacked_blocks_with_residuals(observe):
    out, _, _ = stacked(observe)
    for _, _, path, where in places("stack", "residual"):
        close(
            observe[f"{path}/out"],
            out,
            "Two blocks with residual connections differ from the unsharded ones.",
            rtol=2e-5,
            atol=2e-5,
            call=where,
        )


@behaviour(5)
def test_input_gradient_is_complete(observe):
    for block, world, rank, path, where, precision in blocks(observe):
        want = reference(block)[1]
        close(
            observe[f"{path}/x_grad"],
            want,
            "The gradient to the block's input is not the complete one.",
            **precision,
            call=where,
            mistakes={
                "Each rank has only its part of the input gradient; the parts must be summed.": local_input_grad(
                    block, rank, world
                ),
                "The gradient of a sum passes through unchanged; summing it again makes it t times too large.": want
                * world,
                "The parts of the input gradient are summed over the ranks, not averaged.": want / world,
            },
        )


@behaviour(5)
def test_input_gradient_through_residuals(observe):
    _, grad, _ = stacked(observe)
    for _, _, path, where in places("stack", "residual"):
        close(
            observe[f"{path}/x_grad"],
            grad,
            "Through two blocks with residual connections the gradient to the input is wrong.",
            rtol=3e-5,
            atol=5e-5,
            call=where,
        )


AGAIN = "The gradient of a sum passes through unchanged; summing it again makes it t times too large."


def check_grads(got, want, rank, world, where, precision):
    names = ("up_weight", "up_bias", "down_weight", "down_bias")
    for name, value, whole in zip(names, got, want, strict=True):
        if whole is None:
            continue
        dim = {"up_weight": 0, "up_bias": 0, "down_weight": 1}.get(name)
        part = whole if dim is None else shard(whole, dim, rank, world)
        layer = "column" if name.startswith("up") else "row"
        close(
            value,
            part,
            f"The gradient of the {layer} layer's {name.partition('_')[2]} is not the matching part of the unsharded one.",
            **precision,
            call=where,
            mistakes={
                AGAIN: part * world,
                "A gradient is t times too small: on every rank the parameter has its whole effect.": part
                / world,
            },
        )


@behaviour(6)
def test_parameter_gradients(observe):
    for block, world, rank, path, where, precision in blocks(observe):
        got = [observe[f"{path}/{layer}_{key}"] for layer in ("up", "down") for key in ("weight", "bias")]
        check_grads(got, reference(block)[2], rank, world, where, precision)


@behaviour(6)
def test_parameter_gradients_in_a_stack(observe):
    _, _, layers = stacked(observe)
    want = [layer[k].grad for pair in layers for layer in pair for k in ("weight", "bias")]
    for world, rank, path, where in places("stack", "residual"):
        got = [value for grads in observe[f"{path}/grads"] for value in grads]
        for i in (0, 4):
            precision = {"rtol": 3e-5, "atol": 1e-4}
            check_grads(got[i : i + 4], want[i : i + 4], rank, world, f"stacked blocks, {where}", precision)


def check_calls(found, sizes, says, where):
    text = ", ".join(f"{name} of {n}" for name, n, _ in found[:8]) or "none"
    good = [name for name, _, _ in found] == ["all_reduce"] * len(sizes) and [n for _, n, _ in found] == sizes
    expect(good, says, f"calls: {text}; {where}")


@behaviour(7)
def test_traffic_of_a_pair(observe):
    for block, _, _, path, where, _ in blocks(observe):
        check_calls(
            observe[f"{path}/forward_calls"],
            [block["c"].numel()],
            "The forward pass of a pair is one all-reduce of (..., out): weights stay where they are, only activations travel.",
            where,
        )
        check_calls(
            observe[f"{path}/backward_calls"],
            [block["x"].numel()],
            "The backward pass of a pair is one all-reduce of (..., in), nothing else.",
            where,
        )


@behaviour(7)
def test_bytes_on_the_wire(observe):
    for world in WORLDS:
        for rank in range(world):
            for name in ("first", "second"):
                sent = observe[f"wire/world{world}/rank{rank}/large/{name}"]
                # One kibibyte of activations each way, and gloo's own few bytes for each message.
                expect(
                    sent is None or sent < 16 << 10,
                    "Weights stay where they are, only activations travel.",
                    f"{name} pass, rank {rank} of {world}: {sent} bytes left the process; the weights have 245760",
                )


@behaviour(7)
def test_traffic_without_gradients(observe):
    block = observe.given["blocks"][3]
    for _, _, path, where in places("blocks", "quiet"):
        check_calls(
            observe[f"{path}/calls"],
            [block["c"].numel()],
            "The forward pass is one all-reduce, without gradients, too.",
            where,
        )


@behaviour(7)
def test_no_backward_traffic_without_input_gradient(observe):
    block = observe.given["blocks"][3]
    for world, rank, path, where in places("blocks", "data"):
        check_calls(
            observe[f"{path}/forward_calls"],
            [block["c"].numel()],
            "The forward pass is one all-reduce.",
            where,
        )
        check_calls(
            observe[f"{path}/backward_calls"],
            [],
            "An input that requires no gradient needs no all-reduce in the backward pass.",
            where,
        )


@behaviour(8)
def test_nothing_is_modified(observe):
    for block, _, _, path, where, _ in blocks(observe):
        close(observe[f"{path}/x"], block["x"], "The input was modified.", rtol=0, atol=0, call=where)
        expect(
            all(alike(now, then) for now, then in observe[f"{path}/handed"]),
            "A gradient buffer of autograd was overwritten; reduce a copy.",
            where,
        )


@behaviour(8)
def test_nothing_is_modified_without_gradients(observe):
    x = observe.given["blocks"][3]["x"]
    for _, _, path, where in places("blocks", "quiet"):
        close(observe[f"{path}/x_after"], x, "The input was modified.", rtol=0, atol=0, call=where)
        close(
            observe[f"{path}/hidden_after"],
            observe[f"{path}/hidden_before"],
            "The row layer modified its input.",
            rtol=0,
            atol=0,
            call=where,
        )


@behaviour(8)
def test_outputs_may_be_used_twice(observe):
    block = observe.given["blocks"][3]
    _, grad, grads = reference(block, lambda h: h * torch.sigmoid(h), twice=True)
    for world, rank, path, where in places("stack", "twice"):
        precision = {"rtol": 3e-5, "atol": 1e-4}
        close(
            observe[f"{path}/x_grad"],
            grad,
            "With outputs used twice the input gradient is wrong.",
            **precision,
            call=where,
        )
        check_grads(observe[f"{path}/grads"], grads, rank, world, f"outputs used twice, {where}", precision)


@behaviour(9, on_error="The slices and sums belong to the group, not to all ranks.")
def test_groups(observe):
    block = observe.given["blocks"][3]
    out, grad, grads = reference(block)
    for place, rank in enumerate((0, 2)):
        path, where = f"blocks/world3/rank{rank}/sub", f"group of ranks 0 and 2, rank {rank}"
        says = "The slices and sums belong to the group, not to all ranks."
        close(observe[f"{path}/out"], out, says, rtol=1e-5, atol=1e-5, call=where)
        close(observe[f"{path}/x_grad"], grad, says, rtol=1e-5, atol=1e-5, call=where)
        got = [observe[f"{path}/{layer}_{key}"] for layer in ("up", "down") for key in ("weight", "bias")]
        check_grads(got, grads, place, 2, where, {"rtol": 1e-5, "atol": 1e-5})


@behaviour(9, on_error="A layer keeps the group that it was made with, whatever groups other layers have.")
def test_layers_of_two_groups_side_by_side(observe):
    block = observe.given["blocks"][3]
    for rank in range(3):
        close(
            observe[f"blocks/world3/rank{rank}/both/out"],
            reference(block)[0],
            "A layer keeps the group that it was made with, whatever groups other layers have.",
            rtol=1e-5,
            atol=1e-5,
            call=f"layers of all ranks, used after layers of a part of them were made, rank {rank}",
        )


@behaviour(10)
def test_indivisible_dimensions_are_refused(observe):
    for name, says in {
        "column": "ColumnParallelLinear should refuse out features that do not divide by the ranks.",
        "row": "RowParallelLinear should refuse in features that do not divide by the ranks.",
    }.items():
        for _, _, path, _ in places("errors", name):
            observe.raised(f"{path}/call", "ValueError", says=says)


@behaviour(10)
def test_fewer_features_than_ranks(observe):
    for name, says in {
        "column": "One output feature cannot be split over several ranks.",
        "row": "One input feature cannot be split over several ranks.",
    }.items():
        for _, _, path, _ in places("errors", "narrow"):
            observe.raised(f"{path}/{name}", "ValueError", says=says)


@behaviour(
    10, on_error="The split dimension has to be divisible by the ranks of the group, not by all ranks."
)
def test_the_size_of_the_group_counts(observe):
    says = "The split dimension has to be divisible by the ranks of the group, not by all ranks."
    for rank in (0, 2):
        path = f"errors/world3/rank{rank}/sub"
        for name in ("column", "row"):
            observe.raised(
                f"{path}/{name}", "ValueError", says=f"9 features, a group of 2 of 3 ranks: {says}"
            )
        says = "Cut the slice of the rank's place in the group: the shard has another shape."
        expect(observe[f"{path}/shape"] == [5, 5], says, "10 out features, a group of 2 of 3 ranks")
        expect(observe[f"{path}/more"] == [5, 5], says, "10 in features, a group of 2 of 3 ranks")


@behaviour(10, on_error="Only the split dimension has to be divisible.")
def test_only_the_split_dimension_matters(observe):
    for world, _, path, where in places("errors", "valid"):
        expect(
            observe[f"{path}/shapes"] == [[12 // world, 7]], "The column layer has the wrong shape.", where
        )
        expect(observe[f"{path}/more"] == [[7, 12 // world]], "The row layer has the wrong shape.", where)
