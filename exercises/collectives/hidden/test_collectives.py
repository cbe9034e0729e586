import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

WORLDS = (3, 4)
SUBS = {3: [0, 2], 4: [0, 2, 3]}
TOO_LONG = "on a ring each link carries one piece per step."


def places(probe, step, worlds=WORLDS):
    for world in worlds:
        for rank in range(world):
            yield world, rank, f"{probe}/world{world}/rank{rank}/all/{step}", f"rank {rank} of {world}"


def wide(values):
    return values if values.dtype == torch.int64 else values.double()


def tensors(case, members):
    return [wide(case["by_rank"][member]) for member in members]


def total(case, members):
    return sum(tensors(case, members))


def product(x, w, members):
    return sum(a @ b for a, b in zip(tensors(x, members), tensors(w, members), strict=True))


def part(values, place, size):
    width = values.shape[0] // size
    return values[place * width : (place + 1) * width]


def exact(got, want, says, where, mistakes=()):
    """Compare with a tensor of the same dtype, bit for bit."""
    if isinstance(got, torch.Tensor) and got.dtype == want.dtype and alike(got, want):
        return
    for sentence, value in mistakes:
        if isinstance(got, torch.Tensor) and got.dtype == value.dtype and alike(got, value):
            says = sentence
    detail = where
    if isinstance(got, torch.Tensor) and got.shape == want.shape and got.dtype == want.dtype:
        bad = int((got != want).sum())
        detail = f"{where}, {bad} of {want.numel()} elements differ"
    else:
        detail = f"{where}: got {describe(got)}, expected {describe(want)}"
    expect(False, says, detail)


def gather_mistakes(case, members, place):
    values = [case["by_rank"][member] for member in members]
    size = len(values)
    arrived = torch.cat([values[(place - step) % size] for step in range(size)])
    onwards = torch.cat([values[(place + step) % size] for step in range(size)])
    says = "Pieces arrive in ring order; put each at its owner's place."
    return [
        (says, arrived),
        (says, onwards),
        (says, torch.cat([arrived[len(values[0]) :], arrived[: len(values[0])]])),
        ("The ranks' tensors are joined from last to first.", torch.cat(values[::-1])),
        ("Every piece of the result is this rank's own tensor.", torch.cat([values[place]] * size)),
    ]


def check_gather(observe, path, case, members, place, where, says):
    want = torch.cat([case["by_rank"][member] for member in members])
    exact(observe[path], want, says, where, gather_mistakes(case, members, place))


def scatter_mistakes(values, whole, place, size):
    """Values that typical mistakes give; `values` are the ranks' tensors, `whole` their sum."""
    neighbor = "A rank ended up with the sum of its neighbor's piece."
    return [
        (neighbor, part(whole, (place + 1) % size, size)),
        (neighbor, part(whole, (place - 1) % size, size)),
        ("This is this rank's own piece: nothing was added to it.", part(values[place], place, size)),
        ("Reductions are sums; this is the mean.", part(whole, place, size) / size),
        (
            "The pieces are interleaved: place r keeps consecutive rows.",
            whole[place::size],
        ),
        *(
            ("One rank's piece is missing from the sum.", part(whole - other, place, size))
            for other in values
        ),
        *(("One rank's piece was added twice.", part(whole + other, place, size)) for other in values),
    ]


# Relative to sums of standard normal values, of which some are near 0.
NEAR = {"rtol": 1e-5, "atol": 1e-5}


@behaviour(1)
def test_all_gather(observe):
    for i, case in enumerate(observe.given["gather"]):
        shape = tuple(case["by_rank"][0].shape)
        for world, rank, path, where in places("ring", f"gather{i}"):
            check_gather(
                observe,
                f"{path}/call/out",
                case,
                range(world),
                rank,
                f"all_gather of {shape}, {where}",
                "all_gather does not give all ranks' tensors joined in the order of their places.",
            )


@behaviour(2)
def test_reduce_scatter(observe):
    for i, case in enumerate(observe.given["scatter"]):
        shape = tuple(case["by_rank"][0].shape)
        for world, rank, path, where in places("ring", f"scatter{i}"):
            whole, values = total(case, range(world)), tensors(case, range(world))
            close(
                observe[f"{path}/call/out"],
                part(whole, rank, world),
                "reduce_scatter does not give this rank's rows of the sum over all ranks.",
                call=f"reduce_scatter of {shape}, {where}",
                mistakes=scatter_mistakes(values, whole, rank, world),
                **NEAR,
            )


def check_ring(sent, count, elements, place, size, name, where, members):
    """Exactly `count` messages of `elements` each, all to the right neighbor."""
    where = f"{name}, {where}"
    targets = sorted({message[0] for message in sent})
    right = (place + 1) % size
    expect(
        targets in ([], [right]),
        f"Messages go to place {right} only, the right neighbor: {TOO_LONG}",
        f"{where} sent to {', '.join(map(str, targets))}",
    )
    expect(
        len(sent) == count,
        f"A rank sends exactly p - 1 messages in {name.split()[0]}: {TOO_LONG}",
        f"{where}: {len(sent)} messages instead of {count}",
    )
    for message in sent:
        expect(
            message[1] == elements,
            "A message of all_gather has as many elements as x."
            if name.startswith("all_gather")
            else "A message of reduce_scatter is one piece, 1/p of x.",
            f"{where}: a message of {message[1]} elements instead of {elements}",
        )
        expect(message[3] == members, "A message went through another group.", where)


@behaviour(3)
def test_ring_messages(observe):
    for name, key, share in (("all_gather", "gather", False), ("reduce_scatter", "scatter", True)):
        for i, case in enumerate(observe.given[key]):
            numel = case["by_rank"][0].numel()
            for world, rank, path, where in places("ring", f"{key}{i}"):
                sent, elements = observe[f"{path}/call/sent"], numel // world if share else numel
                shape = tuple(case["by_rank"][0].shape)
                check_ring(
                    sent, world - 1, elements, rank, world, f"{name} of {shape}", where, list(range(world))
                )


def check_wire(observe, name, world, rank, elements, says):
    """At most `elements` of 8 bytes, and gloo's own few bytes for each message, left this rank."""
    base, order = f"large/world{world}/rank{rank}/all", [*CALLS, "end"]
    before, sent = observe[f"{base}/{name}/wire"], observe[f"{base}/{name}/sent"]
    after = observe[f"{base}/{order[order.index(name) + 1]}/wire"]
    if type(before) is not int or type(after) is not int:
        return
    allowed = 8 * elements + 500 * len(sent) + 2000
    expect(
        after - before <= allowed,
        says,
        f"{name}, rank {rank} of {world}: {after - before} bytes left the process; "
        f"the messages may have {8 * elements}",
    )


def check_digest(observe, path, want, says, where):
    signs = torch.arange(want.numel(), dtype=torch.float64).mul_(12.9898).sin_()
    expect(observe[f"{path}/numel"] == want.numel(), says, where)
    close(
        observe[f"{path}/digest"],
        (want.reshape(-1) * signs).sum(),
        says,
        rtol=1e-9,
        atol=1e-6,
        call=f"{where}; a weighted sum of the result is shown",
    )


@behaviour(3)
def test_nothing_travels_beside_the_messages(observe):
    case = observe.given["large"]
    for world, rank, path, where in places("large", "gather"):
        want = torch.cat(tensors(case["gather"], range(world)))
        check_digest(observe, path, want, "all_gather of a large tensor is wrong.", where)
        numel = case["gather"]["by_rank"][0].numel()
        check_ring(
            observe[f"{path}/sent"], world - 1, numel, rank, world, "all_gather", where, list(range(world))
        )
        says = "More bytes left the process than the messages of all_gather may hold."
        check_wire(observe, "gather", world, rank, (world - 1) * numel, says)
    for world, rank, path, where in places("large", "scatter"):
        want = part(total(case["scatter"], range(world)), rank, world)
        check_digest(observe, path, want, "reduce_scatter of a large tensor is wrong.", where)
        check_ring(
            observe[f"{path}/sent"],
            world - 1,
            want.numel(),
            rank,
            world,
            "reduce_scatter",
            where,
            list(range(world)),
        )
        says = "More bytes left the process than the messages of reduce_scatter may hold."
        check_wire(observe, "scatter", world, rank, (world - 1) * want.numel(), says)


def reduce_mistakes(case, members, place):
    values = tensors(case, members)
    whole, size = sum(values), len(values)
    cut = whole.numel() // size * size
    lost, zeroed = values[place].reshape(-1).clone(), torch.zeros_like(whole).reshape(-1)
    lost[:cut] = zeroed[:cut] = whole.reshape(-1)[:cut]
    remainder = "Elements beyond a multiple of p were not reduced."
    return [
        *(
            [(remainder, lost.reshape(whole.shape)), (remainder, zeroed.reshape(whole.shape))]
            if cut < whole.numel()
            else []
        ),
        ("This is this rank's own tensor: nothing was added to it.", values[place]),
        ("Reductions are sums; this is the mean.", whole / size),
    ]


@behaviour(4)
def test_all_reduce(observe):
    for i, case in enumerate(observe.given["reduce"]):
        shape = tuple(case["by_rank"][0].shape)
        for world, rank, path, where in places("reduce", i):
            close(
                observe[f"{path}/call/out"],
                total(case, range(world)),
                "all_reduce does not give the sum over all ranks.",
                call=f"all_reduce of shape {shape}, {where}",
                mistakes=reduce_mistakes(case, range(world), rank),
                **NEAR,
            )


@behaviour(4, presumes=("all_reduce",))
def test_all_ranks_get_the_same_bits(observe):
    for i, case in enumerate(observe.given["reduce"]):
        for world in WORLDS:
            first = observe[f"reduce/world{world}/rank0/all/{i}/call/out"]
            for rank in range(1, world):
                expect(
                    alike(observe[f"reduce/world{world}/rank{rank}/all/{i}/call/out"], first),
                    "The ranks got different bits: each adds in another order.",
                    f"all_reduce of shape {tuple(case['by_rank'][0].shape)}, ranks 0 and {rank} of {world}",
                )


def check_reduce_traffic(sent, numel, place, size, where, name="all_reduce"):
    right = (place + 1) % size
    targets = sorted({message[0] for message in sent})
    elements = sum(message[1] for message in sent)
    allowed = 2 * (size - 1) * -(-numel // size)
    expect(
        targets in ([], [right]),
        f"Messages go to place {right} only, the right neighbor.",
        f"{name}, {where} sent to {', '.join(map(str, targets))}",
    )
    if elements > allowed:
        says = (
            "In pieces a rank sends less than twice the tensor, whatever p is."
            if sent and all(message[1] == numel for message in sent)
            else "A rank sends at most 2 (p - 1) ceil(numel / p) elements."
        )
        expect(False, says, f"{name}, {where}: {elements} elements sent, {allowed} allowed")
    expect(
        len(sent) <= 2 * (size - 1),
        "A rank sends at most 2 (p - 1) messages.",
        f"{name}, {where}: {len(sent)} messages instead of {2 * (size - 1)}",
    )


@behaviour(5)
def test_all_reduce_traffic(observe):
    for i, case in enumerate(observe.given["reduce"]):
        tensor = case["by_rank"][0]
        for world, rank, path, where in places("reduce", i):
            name = f"all_reduce of shape {tuple(tensor.shape)}"
            check_reduce_traffic(observe[f"{path}/call/sent"], tensor.numel(), rank, world, where, name)


@behaviour(5)
def test_all_reduce_bytes(observe):
    case = observe.given["large"]["reduce"]
    for world, rank, path, where in places("large", "reduce"):
        want = total(case, range(world))
        check_digest(observe, path, want, "all_reduce of a large tensor is wrong.", where)
        check_reduce_traffic(observe[f"{path}/sent"], want.numel(), rank, world, where)
        elements = 2 * (world - 1) * -(-want.numel() // world)
        says = "More bytes left the process than the messages of all_reduce may hold."
        check_wire(observe, "reduce", world, rank, elements, says)


def product_mistakes(case, members, place):
    xs, ws = tensors(case["x"], members), tensors(case["w"], members)
    whole = product(case["x"], case["w"], members)
    return [
        ("This is the product of this rank's part alone: sum it over the ranks.", xs[place] @ ws[place]),
        ("Reductions are sums; this is the mean.", whole / len(xs)),
    ]


@behaviour(6)
def test_sharded_matmul(observe):
    for i, case in enumerate(observe.given["product"]):
        shapes = tuple(case["x"]["by_rank"][0].shape), tuple(case["w"]["by_rank"][0].shape)
        for world, rank, path, where in places("matmul", f"product{i}"):
            close(
                observe[f"{path}/call/out"],
                product(case["x"], case["w"], range(world)),
                "sharded_matmul does not give the whole product.",
                rtol=1e-4,
                atol=1e-4,
                call=f"sharded_matmul of {shapes[0]} and {shapes[1]}, {where}",
                mistakes=product_mistakes(case, range(world), rank),
            )


@behaviour(6)
def test_sharded_matmul_traffic(observe):
    for i, case in enumerate(observe.given["product"]):
        for world, rank, path, where in places("matmul", f"product{i}"):
            numel = product(case["x"], case["w"], range(world)).numel()
            check_reduce_traffic(observe[f"{path}/call/sent"], numel, rank, world, where, "sharded_matmul")
    case = observe.given["large"]
    for world, rank, path, where in places("large", "product"):
        want = product(case["x"], case["w"], range(world))
        check_digest(observe, path, want, "sharded_matmul of large tensors is wrong.", where)
        check_reduce_traffic(observe[f"{path}/sent"], want.numel(), rank, world, where, "sharded_matmul")
        elements = 2 * (world - 1) * -(-want.numel() // world)
        says = "More bytes left the process than one all-reduce of the product may send."
        check_wire(observe, "product", world, rank, elements, says)


@behaviour(7)
def test_scattered_product(observe):
    for i, case in enumerate(observe.given["parts"]):
        shapes = tuple(case["x"]["by_rank"][0].shape), tuple(case["w"]["by_rank"][0].shape)
        for world, rank, path, where in places("matmul", f"parts{i}"):
            whole = product(case["x"], case["w"], range(world))
            values = [a @ b for a, b in zip(*(tensors(case[k], range(world)) for k in "xw"), strict=True)]
            got = observe[f"{path}/call/out"]
            says = "sharded_matmul with scatter=True does not give this rank's part of the product."
            if isinstance(got, torch.Tensor) and got.shape == whole.shape:
                says = "With scatter=True a rank returns its own rows of the product only."
            close(
                got,
                part(whole, rank, world),
                says,
                rtol=1e-4,
                atol=1e-4,
                call=f"sharded_matmul of {shapes[0]} and {shapes[1]}, scatter=True, {where}",
                mistakes=scatter_mistakes(values, whole, rank, world),
            )


def check_parts_traffic(sent, numel, place, size, where, members):
    elements = sum(message[1] for message in sent)
    expect(
        elements <= (size - 1) * (numel // size),
        "Half of this traffic was for rows that you threw away."
        if elements
        in range(2 * (size - 1) * (numel // size) - size, 2 * (size - 1) * (numel // size) + 2 * size)
        else "With scatter=True a rank sends p - 1 messages of 1/p of the product each.",
        f"{where}: {elements} elements sent, {(size - 1) * (numel // size)} needed",
    )
    right = (place + 1) % size
    targets = sorted({message[0] for message in sent})
    expect(
        len(sent) == size - 1 and all(message[1] == numel // size for message in sent),
        "With scatter=True a rank sends p - 1 messages of 1/p of the product each.",
        f"{where}: messages of {[message[1] for message in sent]} elements, the product has {numel}",
    )
    expect(targets == [right], f"Messages go to place {right} only, the right neighbor.", where)


@behaviour(7)
def test_scattered_product_traffic(observe):
    for i, case in enumerate(observe.given["parts"]):
        for world, rank, path, where in places("matmul", f"parts{i}"):
            numel = product(case["x"], case["w"], range(world)).numel()
            check_parts_traffic(observe[f"{path}/call/sent"], numel, rank, world, where, list(range(world)))
    case = observe.given["large"]
    for world, rank, path, where in places("large", "parts"):
        want = part(product(case["x"], case["w"], range(world)), rank, world)
        check_digest(observe, path, want, "sharded_matmul with scatter=True is wrong.", where)
        check_parts_traffic(
            observe[f"{path}/sent"], want.numel() * world, rank, world, where, list(range(world))
        )
        says = "More bytes left the process than the rows that the other ranks keep."
        check_wire(observe, "parts", world, rank, (world - 1) * want.numel(), says)


CALLS = {
    "gather": "all_gather",
    "scatter": "reduce_scatter",
    "reduce": "all_reduce",
    "product": "sharded_matmul",
    "parts": "sharded_matmul with scatter=True",
}


def given_inputs(observe, probe, step):
    """The inputs of a step on all ranks: pairs of a case and the name of the call."""
    given = observe.given
    if probe == "ring" or probe == "reduce" or probe == "matmul":
        name = step.rstrip("0123456789") or "reduce"
        case = given[name][int(step.removeprefix(name) or step)]
        return [case["x"], case["w"]] if probe == "matmul" else [case], CALLS[name]
    dtype, name = ("float64", step.split("_")[1]) if probe == "groups" else step.split("_")
    case = given["typed"][dtype]
    return [case["x"], case["w"]] if name in ("product", "parts") else [case[name]], CALLS[name]


def check_inputs(observe, probe, step, worlds=WORLDS):
    cases, name = given_inputs(observe, probe, step)
    for world, rank, path, where in places(probe, step, worlds):
        want = [case["by_rank"][rank] for case in cases]
        expect(
            alike(observe[f"{path}/call/inputs"], want),
            f"{name} modified its input.",
            where,
        )
        expect(
            alike(observe[f"{path}/call/after"], want),
            "The result shares memory with the input. Writing into it changed the input.",
            f"{name}, {where}",
        )


@behaviour(8)
def test_inputs_are_left_alone(observe):
    for i in range(len(observe.given["gather"])):
        check_inputs(observe, "ring", f"gather{i}")
    for i in range(len(observe.given["scatter"])):
        check_inputs(observe, "ring", f"scatter{i}")
    for i in range(len(observe.given["reduce"])):
        check_inputs(observe, "reduce", str(i))
    for i in range(len(observe.given["product"])):
        check_inputs(observe, "matmul", f"product{i}")
    for i in range(len(observe.given["parts"])):
        check_inputs(observe, "matmul", f"parts{i}")


def check_call(observe, path, step, case, members, place, where, limits, says):
    """The result of one of the five calls within a group."""
    size, got = len(members), observe[f"{path}/call/out"]
    if step == "gather":
        check_gather(observe, f"{path}/call/out", case["gather"], members, place, where, says)
        return
    want = (
        total(case[step], members)
        if step in ("scatter", "reduce")
        else product(case["x"], case["w"], members)
    )
    if step in ("scatter", "parts"):
        want = part(want, place, size)
    if want.dtype == torch.int64:
        exact(got, want, says, where)
    else:
        close(got, want, says, call=where, **limits)


DOUBLE = {"rtol": 1e-12, "atol": 1e-12}
PLACES = "In a subgroup the neighbor is a place, not rank + 1."


@behaviour(8, on_error="A group of one rank has nobody to send to.")
def test_a_group_of_one(observe):
    case = observe.given["typed"]["float64"]
    for step, name in CALLS.items():
        for _, rank, path, where in places("groups", f"alone_{step}"):
            where = f"{name}, a group of rank {rank} alone, {where}"
            says = f"{name} in a group of one rank gives that rank's own values."
            check_call(observe, path, step, case, [rank], 0, where, DOUBLE, says)
            expect(observe[f"{path}/call/sent"] == [], "A group of one rank sends nothing.", where)
        check_inputs(observe, "groups", f"alone_{step}")


@behaviour(9, on_error=PLACES)
def test_a_part_of_the_ranks(observe):
    case = observe.given["typed"]["float64"]
    for step, name in CALLS.items():
        for world, members in SUBS.items():
            for place, rank in enumerate(members):
                path = f"groups/world{world}/rank{rank}/all/sub_{step}"
                where = f"{name}, ranks {members} of {world}, on rank {rank}"
                check_call(observe, path, step, case, members, place, where, DOUBLE, PLACES)
                for message in observe[f"{path}/call/sent"]:
                    expect(
                        message[3] == members and message[0] == (place + 1) % len(members),
                        "Within a group the messages go to the next place of that group.",
                        where,
                    )


LIMITS = {
    "float64": (DOUBLE, "A float64 tensor was reduced in a smaller precision."),
    "int64": ({}, "An int64 tensor must be reduced exactly, without a detour over floating point."),
    "bfloat16": ({"rtol": 2e-2, "atol": 1e-3}, "The result for bfloat16 is off by more than 2 %."),
}


@behaviour(10, presumes=("sharded_matmul", "scattered_product"))
def test_dtypes(observe):
    for dtype, (limits, says) in LIMITS.items():
        case = observe.given["typed"][dtype]
        for step, name in CALLS.items():
            for world, rank, path, where in places("dtypes", f"{dtype}_{step}"):
                where = f"{name}, {dtype}, {where}"
                got = observe[f"{path}/call/out"]
                expect(
                    isinstance(got, torch.Tensor) and got.dtype == getattr(torch, dtype),
                    f"The result for {dtype} should be {dtype}.",
                    f"got {describe(got)}, {where}",
                )
                check_call(observe, path, step, case, range(world), rank, where, limits, says)


@behaviour(10)
def test_strides(observe):
    cases = {
        "gather": [observe.given["gather"][0]],
        "scatter": [observe.given["scatter"][2]],
        "reduce": [observe.given["reduce"][7]],
        "product": [observe.given["product"][0][k] for k in "xw"],
        "parts": [observe.given["parts"][1][k] for k in "xw"],
    }
    says = "The result for an input that is not contiguous is wrong."
    for step, case in cases.items():
        for world, rank, path, where in places("strides", step):
            where = f"{CALLS[step]}, {where}"
            if step in ("product", "parts"):
                want = product(*case, range(world))
            else:
                want = (
                    torch.cat(tensors(case[0], range(world)))
                    if step == "gather"
                    else total(case[0], range(world))
                )
            if step in ("scatter", "parts"):
                want = part(want, rank, world)
            tolerance = {"rtol": 1e-4, "atol": 1e-4} if len(case) == 2 else NEAR
            close(observe[f"{path}/call/out"], want, says, call=where, **tolerance)
            expect(
                alike(observe[f"{path}/call/inputs"], [c["by_rank"][rank] for c in case]),
                f"{CALLS[step]} modified an input that is not contiguous.",
                where,
            )
            expect(observe[f"{path}/call/contiguous"] is True, "The result should be contiguous.", where)


@behaviour(11)
def test_bad_shapes_are_refused(observe):
    before = "Fail before the first message, or the ranks hang."
    for name, says in {
        "scatter": "reduce_scatter should refuse a dimension 0 that p does not divide.",
        "scatter_few": "reduce_scatter should refuse fewer rows than ranks.",
        "parts": "sharded_matmul with scatter=True should refuse a dimension 0 that p does not divide.",
        "gather_scalar": "all_gather should refuse a 0-dimensional tensor.",
        "scatter_scalar": "reduce_scatter should refuse a 0-dimensional tensor.",
        "weight_vector": "sharded_matmul should refuse a weight that is not 2-dimensional.",
        "weight_stack": "sharded_matmul should refuse a weight that is not 2-dimensional.",
        "weight_size": "sharded_matmul should refuse a weight that does not fit x.",
        "weight_turned": "sharded_matmul should refuse a weight that does not fit x.",
    }.items():
        for _, _, path, where in places("errors", name):
            observe.raised(f"{path}/call", "ValueError", says=f"{says} {before}")
            expect(observe[f"{path}/sent"] == [], before, f"{name}, {where}")


@behaviour(11, on_error="Dimension 0 has to be divisible by the size of the group, not by all ranks.")
def test_the_size_of_the_group_counts(observe):
    says = "Dimension 0 has to be divisible by the size of the group, not by all ranks."
    for world, members in SUBS.items():
        for rank in members:
            path = f"errors/world{world}/rank{rank}/all"
            observe.raised(f"{path}/sub/call", "ValueError", says=says)
            expect(observe[f"{path}/sub_valid/call/returned"] == [1, 2], says, f"ranks {members} of {world}")
