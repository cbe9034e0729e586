import torch

from quizapp.judge.testing.checks import behaviour, close, describe, expect

WORLDS = (2, 3)
OPTIMIZERS = {
    "adam": (torch.optim.Adam, {"lr": 0.05, "betas": (0.8, 0.95), "eps": 0.02}),
    "adamw": (torch.optim.AdamW, {"lr": 0.03, "weight_decay": 0.2, "amsgrad": True}),
    "sgd": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.7, "weight_decay": 0.05}),
}
CASES = {  # step of the probe: inputs, optimizer
    "adam": ("plain", "adam"),
    "sgd": ("plain", "sgd"),
    "double": ("double", "adamw"),
    "few": ("few", "adamw"),
    "missing": ("missing", "adamw"),
    "sub": ("plain", "adam"),
    "sub_few": ("few", "adam"),
}


def lists_of(value, count, where):
    ok = isinstance(value, list | tuple) and all(
        isinstance(part, list | tuple) and all(type(i) is int for i in part) for part in value
    )
    expect(ok, "partition should return a list of lists of indices.", f"{where} gave {describe(value)}")
    expect(
        len(value) == count, "partition should return one list per rank.", f"{where} gave {len(value)} lists"
    )
    return [list(part) for part in value]


def partitions(observe):
    for i, numels in enumerate(observe.given["lists"]):
        for world in (1, 2, 3, 4, 7):
            where = f"partition({numels}, {world})"
            yield numels, where, lists_of(observe[f"partition/{i}/{world}/lists"], world, where), i, world


@behaviour(1)
def test_every_index_is_owned_once(observe):
    for numels, where, lists, _, _ in partitions(observe):
        found = sorted(index for part in lists for index in part)
        expect(
            found == list(range(len(numels))),
            "The lists should hold every index exactly once.",
            f"{where} gave {lists}",
        )


@behaviour(1)
def test_lists_are_ascending(observe):
    for _, where, lists, _, _ in partitions(observe):
        expect(
            all(part == sorted(part) for part in lists),
            "The index lists should be ascending.",
            f"{where} gave {lists}",
        )


@behaviour(2)
def test_loads_are_balanced(observe):
    for numels, where, lists, _, _ in partitions(observe):
        loads = [sum(numels[i] for i in part if 0 <= i < len(numels)) for part in lists]
        expect(
            max(loads) - min(loads) <= max(numels),
            "Equal numbers of parameters are not equal numbers of elements: one rank holds most of the memory.",
            f"{where} gave loads {loads}",
        )


@behaviour(2)
def test_partition_depends_on_its_arguments_only(observe):
    for _, where, lists, i, world in partitions(observe):
        again = lists_of(observe[f"partition/{i}/{world}/tuple"], world, where)
        expect(
            again == lists,
            "A second call of partition with the same sizes gave another result.",
            f"{where}: {lists}, then {again}",
        )


def reference(observe, step, members, reduce="mean"):
    """Values after each step and state bytes per parameter, as one process would have them."""
    name, optimizer = CASES[step]
    data = observe.given[name]
    kind, settings = OPTIMIZERS[optimizer]
    params = [torch.nn.Parameter(value.double().clone()) for value in data["values"]]
    opt = kind(params, **settings)
    values, sizes = [], []
    for grads in data["grads"]:
        for i, p in enumerate(params):
            own = [grads[rank][i] for rank in members]
            if own[0] is None:
                p.grad = None
                continue
            total = sum(grad.double() for grad in own)
            p.grad = (
                total / len(members) if reduce == "mean" else total if reduce == "sum" else own[0].double()
            )
        opt.step()
        values.append([p.detach().clone() for p in params])
        width = data["values"][0].element_size()
        sizes.append(
            [
                sum(
                    t.numel() * (width if t.dtype == torch.float64 else t.element_size())
                    for t in opt.state[p].values()
                )
                if p in opt.state
                else 0
                for p in params
            ]
        )
    return values, sizes


def members_of(step, world):
    return [0, 2] if step.startswith("sub") else list(range(world))


def check_values(
    observe, step, world, says="The parameters are not those of one process with averaged gradients."
):
    members = members_of(step, world)
    want, _ = reference(observe, step, members)
    start = observe.given[CASES[step][0]]["values"]
    alternatives = {
        "The owner must see the mean of all ranks' gradients, not their sum.": reference(
            observe, step, members, "sum"
        )[0],
        "The owner must see the mean of all ranks' gradients.": reference(observe, step, members[:1], "own")[
            0
        ],
        "The owner must see the mean of all ranks' gradients. ": reference(
            observe, step, members[1:2], "own"
        )[0],
        "The owner must see the mean of all ranks' gradients.  ": reference(
            observe, step, members[-1:], "own"
        )[0],
    }
    for rank in members:
        path = f"train/world{world}/rank{rank}/{step}"
        for k, values in enumerate(want):
            got = observe[f"{path}/values/{k}"]
            for i, value in enumerate(values):
                mistakes = {text: other[k][i] for text, other in alternatives.items()}
                if any(
                    not torch.equal(observe[f"train/world{world}/rank{other}/{step}/values/{k}"][i], start[i])
                    for other in members
                ):
                    mistakes[
                        "Only the owner has the new value; the other ranks trained on with the old one."
                    ] = start[i]
                close(
                    got[i],
                    value,
                    says,
                    rtol=1e-5,
                    atol=2e-6,
                    call=f"{CASES[step][1]}, parameter {i} after step {k + 1}, rank {rank} of {world}",
                    mistakes={text.strip(): other for text, other in mistakes.items()}
                    if k
                    else [(text.strip(), other) for text, other in mistakes.items()],
                )


@behaviour(3)
def test_steps_equal_one_process(observe):
    for step in ("adam", "sgd", "double"):
        for world in WORLDS:
            check_values(observe, step, world)


def check_equal(observe, step, world):
    members = members_of(step, world)
    for k in range(len(observe.given["plain"]["grads"])):
        first = observe[f"train/world{world}/rank{members[0]}/{step}/values/{k}"]
        for rank in members[1:]:
            other = observe[f"train/world{world}/rank{rank}/{step}/values/{k}"]
            for i, (a, b) in enumerate(zip(first, other, strict=True)):
                expect(
                    a.dtype == b.dtype and torch.equal(a, b),
                    "After a step the ranks hold different parameters: the others need the owner's new value, bit for bit.",
                    f"parameter {i} after step {k + 1}, ranks {members[0]} and {rank} of {world}",
                )


@behaviour(4)
def test_ranks_hold_the_same_bits(observe):
    for step in ("adam", "sgd", "double"):
        for world in WORLDS:
            check_equal(observe, step, world)


@behaviour(4)
def test_parameters_keep_their_storage(observe):
    for step in ("adam", "sgd"):
        for world in WORLDS:
            for rank in range(world):
                expect(
                    all(observe[f"train/world{world}/rank{rank}/{step}/places"]),
                    "A parameter moved to another storage: write the new value into the one that is there.",
                    f"rank {rank} of {world}",
                )
                expect(
                    observe[f"train/world{world}/rank{rank}/{step}/trainable"],
                    "After step a parameter no longer requires a gradient.",
                    f"rank {rank} of {world}",
                )


def owned(observe, step, world):
    members = members_of(step, world)
    for place, rank in enumerate(members):
        path = f"train/world{world}/rank{rank}/{step}"
        yield path, rank, list(observe[f"{path}/partition"][place])


def check_shards(observe, step, world):
    data = observe.given[CASES[step][0]]
    updated = {i for grads in data["grads"] for i, grad in enumerate(grads[0]) if grad is not None}
    states = []
    for path, rank, mine in owned(observe, step, world):
        made = observe[f"{path}/owned"]
        where = f"rank {rank} of {world}, which owns {mine}"
        expect(
            len(made) <= 1,
            "optimizer_class should be created at most once.",
            f"{where}: {len(made)} were created",
        )
        got = made[0] if made else []
        expect(
            got == mine,
            "Every rank holds the whole optimizer state, so nothing was saved."
            if got == list(range(len(data["values"]))) != mine
            else "optimizer_class should get exactly the parameters that partition assigns to this rank.",
            f"{where}: it got {got}",
        )
        started = observe[f"{path}/started"]
        expect(
            set(started) <= set(mine),
            "optimizer_class should get only the parameters that partition assigns to this rank, from the start.",
            f"{where}: it was made with {started}",
        )
        states += observe[f"{path}/state"]
    expect(
        sorted(states) == sorted(updated),
        "Each parameter's state should exist on exactly one rank.",
        f"the ranks hold state for the parameters {sorted(states)} instead of {sorted(updated)}"
        if states
        else f"{CASES[step][1]}: no rank holds any state after the last step",
    )


@behaviour(5)
def test_state_is_sharded(observe):
    for step in ("adam", "sgd", "double"):
        for world in WORLDS:
            check_shards(observe, step, world)


def check_bytes(observe, step, world):
    _, sizes = reference(observe, step, members_of(step, world))
    for path, rank, mine in owned(observe, step, world):
        for k in range(len(sizes)):
            want = sum(sizes[k][i] for i in mine)
            got = observe[f"{path}/bytes/{k}"]
            where = (
                f"{CASES[step][1]}, step {k + 1}, rank {rank} of {world}: {describe(got)} instead of {want}"
            )
            data = observe.given[CASES[step][0]]["values"]
            held = sum(data[i].numel() * data[i].element_size() for i in mine)
            says = "state_bytes is not the bytes of the tensors in this rank's optimizer state."
            if type(got) is int and got in (held, want + held):
                says = "state_bytes counts optimizer state, not the parameters."
            elif type(got) is int and got == sum(sizes[k]):
                says = "state_bytes is this rank's own share, not that of all ranks."
            expect(type(got) is int and got == want, says, where)


@behaviour(5)
def test_memory_is_that_of_a_share(observe):
    whole = 36 << 20
    for world in WORLDS:
        for rank in range(world):
            growth = observe[f"occupied/world{world}/rank{rank}/large/growth"]
            # Some buffers of 4.5 MiB for all gradients are fine, in addition to the share.
            expect(
                growth < whole / world + (13 << 20),
                "Every rank keeps the state of all parameters, in some form.",
                f"an optimizer with 36 MiB of state for 4.5 MiB of parameters: rank {rank} of {world} occupies "
                f"{growth / 2**20:.1f} MiB more after the steps, its share is {whole / world / 2**20:.0f} MiB",
            )


@behaviour(6)
def test_state_bytes(observe):
    for step in ("adam", "sgd", "double"):
        for world in WORLDS:
            check_bytes(observe, step, world)


@behaviour(6)
def test_no_state_before_the_first_step(observe):
    for step in ("adam", "sgd", "double"):
        for world in WORLDS:
            for rank in range(world):
                got = observe[f"train/world{world}/rank{rank}/{step}/bytes/start"]
                expect(
                    type(got) is int and got == 0,
                    "Before the first step there is no optimizer state: 0 bytes.",
                    f"rank {rank} of {world}: {describe(got)}",
                )


@behaviour(7, on_error="torch optimizers refuse an empty list; this rank must still join every collective.")
def test_a_rank_without_parameters_takes_part(observe):
    for world in WORLDS:
        check_values(observe, "few", world)
        check_equal(observe, "few", world)
        check_bytes(observe, "few", world)
        check_shards(observe, "few", world)


@behaviour(
    8,
    on_error="A parameter whose gradient is None on all ranks should be skipped.",
    presumes=("steps_equal_one_process",),
)
def test_unused_parameters_are_left_alone(observe):
    says = "An unused parameter was decayed, or got momentum: skip it on all ranks."
    for step in ("missing",):
        for world in WORLDS:
            check_values(observe, step, world, says)
            check_equal(observe, step, world)


@behaviour(8, on_error="A parameter whose gradient is None on all ranks should be skipped.")
def test_unused_parameters_get_no_state(observe):
    for step in ("missing",):
        for world in WORLDS:
            for path, rank, _ in owned(observe, step, world):
                expect(
                    4 not in observe[f"{path}/state"],
                    "A parameter that never had a gradient got optimizer state.",
                    f"rank {rank} of {world}",
                )
            check_bytes(observe, step, world)


@behaviour(9)
def test_zero_grad_clears_all_gradients(observe):
    for world in WORLDS:
        for rank in range(world):
            paths = [f"fresh/world{world}/rank{rank}/zero/cleared"]
            paths += [
                f"train/world{world}/rank{rank}/{step}/cleared/{k}"
                for step in ("adam", "sgd")
                for k in (0, 3)
            ]
            for path in paths:
                expect(
                    all(observe[path]),
                    "Old gradients of parameters were kept and will be added to the next ones: "
                    "zero_grad sets all of them to None, owned or not.",
                    f"rank {rank} of {world}",
                )


@behaviour(10)
def test_bad_arguments_are_refused(observe):
    for name, says in {
        "zero_world": "partition should refuse world_size 0.",
        "negative_world": "partition should refuse a negative world_size.",
        "empty_zero_world": "partition should refuse world_size 0, also without parameters.",
        "negative_numel": "partition should refuse a negative numel.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(10)
def test_no_parameters_are_refused(observe):
    for world in WORLDS:
        for rank in range(world):
            for name in ("empty_list", "empty_generator"):
                observe.raised(
                    f"fresh/world{world}/rank{rank}/{name}/call",
                    "ValueError",
                    says="ShardedOptimizer should refuse to be made without parameters, on every rank.",
                )


@behaviour(10)
def test_partition_of_nothing(observe):
    got = observe["partition/empty/lists"]
    for count, lists in zip((1, 3), got, strict=True):
        expect(
            not any(lists_of(lists, count, f"partition([], {count})")),
            "partition([], n) should be n empty lists.",
        )


@behaviour(
    10,
    on_error="params may be a generator: read it once and keep the list.",
    presumes=("steps_equal_one_process",),
)
def test_params_may_be_a_generator(observe):
    data = observe.given["plain"]
    for world in WORLDS:
        for rank in range(world):
            got = observe[f"fresh/world{world}/rank{rank}/generator/values"]
            for i, value in enumerate(data["values"]):
                mean = sum(data["grads"][0][r][i].double() for r in range(world)) / world
                close(
                    got[i],
                    value.double() - 0.1 * mean,
                    "With a generator of parameters not all of them are updated.",
                    rtol=1e-5,
                    atol=2e-6,
                    call=f"SGD, parameter {i}, rank {rank} of {world}",
                )


GROUP = "In a subgroup the owner's place in the group is not its global rank."


@behaviour(11, on_error=GROUP)
def test_a_subgroup_trains_by_itself(observe):
    for step in ("sub", "sub_few"):
        check_values(observe, step, 3, "Within a group of ranks 0 and 2 the parameters are wrong.")
        check_equal(observe, step, 3)


@behaviour(11, on_error=GROUP)
def test_a_subgroup_shards_by_place(observe):
    for step in ("sub", "sub_few"):
        check_shards(observe, step, 3)
        check_bytes(observe, step, 3)
