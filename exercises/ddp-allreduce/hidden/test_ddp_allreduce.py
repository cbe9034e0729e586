from collections import Counter

import torch

from quizapp.judge.testing.checks import behaviour, close, expect

WORLDS = (2, 3)
PARAMS = ("weight", "turned", "wide", "brief", "frozen", "scalar", "conv")
TRAINED = tuple(name for name in PARAMS if name != "frozen")
LAYOUT = {
    "turned": "the transposed parameter",
    "conv": "the channels-last parameter",
    "wide": "the float64 parameter",
    "brief": "the bfloat16 parameter",
    "frozen": "the frozen parameter",
    "scalar": "the parameter without dimensions",
    "weight": "the first parameter",
}
BUFFERS = {
    "running_mean": "mean",
    "running_var": "var",
    "num_batches_tracked": "counter",
    "table": "table",
}
RELATIVE = {torch.float32: (1e-5, 2e-6), torch.float64: (1e-13, 1e-13), torch.bfloat16: (2e-2, 2e-2)}


def bits(value):
    """The value's bits as integers: -0.0 differs from 0.0."""
    kinds = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}
    return value.contiguous().view(kinds[value.element_size()])


def same_bits(got, want):
    return (
        isinstance(got, torch.Tensor)
        and got.dtype == want.dtype
        and got.shape == want.shape
        and torch.equal(bits(got), bits(want))
    )


def places(probe, step, worlds=WORLDS):
    for world in worlds:
        for rank in range(world):
            yield world, rank, f"{probe}/world{world}/rank{rank}/{step}"


@behaviour(1)
def test_parameters_equal_those_of_src(observe):
    for step in ("default", "last"):
        for world, rank, path in places("broadcast", step):
            src = 0 if step == "default" else world - 1
            for name in PARAMS:
                got, want = observe[f"{path}/value/{name}"], observe.given["models"][src][name]
                says = f"After the broadcast {LAYOUT[name]} of a rank is not that of rank src, bit for bit."
                if same_bits(got, observe.given["models"][0][name]) and src:
                    says = "src was ignored: every rank got rank 0's parameters."
                elif same_bits(got, observe.given["models"][rank][name]):
                    says = f"The broadcast never reached {LAYOUT[name]}."
                expect(same_bits(got, want), says, f"src={src}, rank {rank} of {world}")


@behaviour(2)
def test_buffers_equal_those_of_src(observe):
    for step in ("default", "last"):
        for world, rank, path in places("broadcast", step):
            src = 0 if step == "default" else world - 1
            for name, key in BUFFERS.items():
                got, want = observe[f"{path}/value/{name}"], observe.given["models"][src][key]
                says = "Running statistics still differ between ranks, so evaluation will too."
                if name == "table":
                    says = "A non-persistent buffer still differs between ranks: use module.buffers()."
                expect(same_bits(got, want), says, f"buffer {name!r}, src={src}, rank {rank} of {world}")


@behaviour(3)
def test_broadcast_writes_in_place(observe):
    for step in ("default", "last"):
        for world, rank, path in places("broadcast", step):
            for name in (*PARAMS, *BUFFERS):
                same, place, wants = observe[f"{path}/kept/{name}"]
                where = f"{name!r}, rank {rank} of {world}"
                expect(
                    same is True,
                    "The parameter was replaced by a new tensor; the optimizer keeps updating the old one.",
                    where,
                )
                expect(place is True, "The tensor moved to another storage or layout: copy into it.", where)
                expect(wants is True, "The broadcast changed requires_grad.", where)


@behaviour(3)
def test_broadcast_leaves_gradients_alone(observe):
    for step in ("default", "last"):
        for world, rank, path in places("broadcast", step):
            for name in PARAMS:
                same, grad = observe[f"{path}/grad/{name}"]
                want = None if name == "scalar" else observe.given["grads"][rank][name]
                expect(
                    same is True and (grad is None if want is None else same_bits(grad, want)),
                    "broadcast_parameters changed a gradient.",
                    f"{name!r}, rank {rank} of {world}",
                )


def mean_of(values, count):
    return torch.stack([value.double() for value in values]).sum(0) / count


def check_mean(observe, path, name, members, where, factor=1.0, divisor=None):
    own = [observe.given["grads"][rank][name] for rank in members]
    got = observe[f"{path}/grad/{name}"]
    want = mean_of(own, len(members)) * factor
    expect(isinstance(got, torch.Tensor), "After average_gradients a gradient is missing.", where)
    expect(
        got.dtype == own[0].dtype, "A gradient changed its dtype.", f"{name!r}: {own[0].dtype} -> {got.dtype}"
    )
    rtol, atol = RELATIVE[own[0].dtype]
    rank = int(path.split("/rank")[1].split("/")[0])
    mistakes = {
        "Your step is world_size times too large: divide the sum.": want * len(members),
        "The averaged values never reached this gradient.": own[members.index(rank)].double() * factor,
    }
    if name in ("turned", "conv", "weight"):
        mistakes["The averaged values never reached this non-contiguous gradient."] = mistakes.pop(
            "The averaged values never reached this gradient."
        )
    if divisor:
        mistakes["Divide by the size of the group that took part."] = want * len(members) / divisor
        mistakes["The sum ran over all ranks: pass the group to every collective."] = mean_of(
            [observe.given["grads"][r][name] for r in range(divisor)], len(members)
        )
    close(
        got,
        want,
        "A gradient is not the mean over the ranks.",
        rtol=rtol,
        atol=atol * factor,
        call=f"{LAYOUT[name]}, {where}",
        mistakes=mistakes,
    )


@behaviour(4)
def test_gradients_are_averaged(observe):
    for step, factor in (("mean", 1.0), ("small", 3.0)):
        for world, rank, path in places("average", step):
            for name in ("scalar", "brief"):
                check_mean(observe, path, name, list(range(world)), f"rank {rank} of {world}", factor)


@behaviour(4)
def test_parameters_keep_their_values(observe):
    for step in ("mean", "small"):
        for world, rank, path in places("average", step):
            for name in PARAMS:
                expect(
                    same_bits(observe[f"{path}/param/{name}"], observe.given["models"][rank][name]),
                    "average_gradients changed the value of a parameter.",
                    f"{name!r}, rank {rank} of {world}",
                )


@behaviour(5)
def test_non_contiguous_gradients_are_averaged(observe):
    for step, factor in (("mean", 1.0), ("small", 3.0)):
        for world, rank, path in places("average", step):
            for name in ("weight", "turned", "conv"):
                check_mean(observe, path, name, list(range(world)), f"rank {rank} of {world}", factor)


@behaviour(5)
def test_gradients_stay_the_same_tensors(observe):
    for step in ("mean", "small"):
        for world, rank, path in places("average", step):
            for name in PARAMS:
                where = f"{name!r}, rank {rank} of {world}"
                expect(
                    observe[f"{path}/same/{name}"] is True,
                    "A gradient was replaced by a new tensor: copy the mean into the one that is there.",
                    where,
                )
                expect(
                    observe[f"{path}/layout/{name}"] is True,
                    "A gradient changed its dtype, shape or strides.",
                    where,
                )


HOLDERS = {
    "weight": lambda world: set(range(world)),
    "first": lambda world: {0},
    "last": lambda world: {world - 1},
    "nobody": lambda world: set(),
    "middle": lambda world: {world // 2},
    "turned": lambda world: {0},
    "wide": lambda world: set(range(1, world)),
    "tail": lambda world: set(range(world)),
}
DIFFERENT = (
    "Ranks sent different buckets: whether a parameter takes part must not depend on the local gradient."
)


@behaviour(6, on_error=DIFFERENT)
def test_missing_gradients_count_as_zeros(observe):
    for step in ("large", "tiny", "all_first", "all_last"):
        for world, rank, path in places("holes", step):
            for name, holders in HOLDERS.items():
                owners = sorted(holders(world))
                if owners and step.startswith("all"):
                    owners = [0 if step == "all_first" else world - 1]
                if not owners:
                    continue
                got = observe[f"{path}/grad/{name}"]
                where = f"rank {rank} of {world}, gradients only on ranks {owners}"
                expect(
                    isinstance(got, torch.Tensor),
                    "A parameter that another rank used has no gradient here: every rank needs the mean.",
                    where,
                )
                total = mean_of([observe.given["holes"][owner][name] for owner in owners], 1)
                close(
                    got,
                    total / world,
                    "Where some ranks have no gradient, the result is not the mean with zeros in their place.",
                    rtol=1e-5,
                    atol=2e-6,
                    call=where,
                    mistakes={
                        "A rank that did not use the parameter still counts in the mean.": total / len(owners)
                    },
                )


@behaviour(7, on_error=DIFFERENT)
def test_unused_parameters_keep_none(observe):
    for step in ("large", "tiny", "unused"):
        for world, rank, path in places("holes", step):
            for name in HOLDERS if step == "unused" else ("nobody",):
                expect(
                    observe[f"{path}/grad/{name}"] is None,
                    "A parameter that nobody used should keep grad None, or weight decay and momentum will move it.",
                    f"rank {rank} of {world}",
                )


WIDTH = {"float16": 2, "float32": 4, "float64": 8, "bfloat16": 2}


def greedy(items, limit, *, ends):
    """Buckets of (dtype, elements) items; ``ends``: another dtype in between ends a bucket."""
    done, opened = [], {}
    for kind, size in items:
        if ends:
            done += [v for k, v in opened.items() if k[0] != kind]
            opened = {k: v for k, v in opened.items() if k[0] == kind}
        now = opened.get((kind,))
        if now is not None and (now[1] + size) * WIDTH[kind] <= limit:
            opened[(kind,)] = (kind, now[1] + size)
        else:
            if now is not None:
                done.append(now)
            opened[(kind,)] = (kind, size)
    return Counter([*done, *opened.values()])


def check_buckets(observe, step, items, limit, says=""):
    allowed = []
    for order in (items, items[::-1]):
        for ends in (True, False):
            allowed.append(greedy(order, limit, ends=ends))
    fewest = max(sum(buckets.values()) for buckets in allowed)
    for world, rank, path in places("buckets", step):
        calls = observe[f"{path}/calls"]
        reduces = Counter((kind.removeprefix("torch."), n) for name, n, kind in calls if name == "all_reduce")
        others = [(name, n) for name, n, kind in calls if name != "all_reduce"]
        where = (
            f"bucket_bytes={limit}, {len(items)} gradients, rank {rank} of {world}: "
            + ", ".join(f"{name} of {n} {kind.removeprefix('torch.')}" for name, n, kind in calls[:12])
            + ("..." if len(calls) > 12 else "")
        )
        for buckets in allowed:
            rest = list((reduces - buckets).elements())
            extra = [n for _, n in [*rest, *others]]
            if not buckets - reduces and len(extra) <= 1 and all(n <= 64 for n in extra):
                break
        else:
            large = [n for (_, n) in reduces.elements() if n > 64]
            small = len(calls) - len(large)
            if says:
                message = says
            elif len(calls) > 2 * len(items) + 1:
                message = "There are more collectives than the buckets and one small extra."
            elif sum(large) < sum(n for _, n in items):
                message = "Some gradients did not travel in an all-reduce of a bucket."
            elif len(large) >= len(items) > fewest or (len(large) == 1 < fewest):
                message = (
                    "Bucket the gradients: latency dominates for small messages, memory for one giant copy."
                )
            elif small > 1:
                message = "There are more collectives than the buckets and one small extra."
            else:
                message = "The buckets are not as many whole gradients in a row as fit into bucket_bytes, and nothing else."
            expect(False, message, where)


def check_values(observe, step, count, only=None):
    for world, _, path in places("buckets", step):
        want = [(world + 1) / 2 * (i + 1) for i in range(count)]
        got = observe[f"{path}/values"]
        keep = range(count) if only is None else only
        close(
            [got[i] for i in keep], [want[i] for i in keep], "A bucketed gradient is not the mean.", rtol=1e-5
        )


@behaviour(8)
def test_buckets_of_equal_gradients(observe):
    items = [("float32", 1024)] * 8
    for step, limit in (("two", 16384), ("below", 16383), ("default", 25 * 2**20), ("eight", 1)):
        check_buckets(observe, step, items, limit)
        check_values(observe, step, 8)
    says = "By default a bucket holds 25 MiB: two gradients of 2.8 MB travel together."
    check_buckets(observe, "megabytes", [("float32", 700_000)] * 2, 25 * 2**20, says)


@behaviour(8)
def test_buckets_of_uneven_gradients(observe):
    uneven = observe.given["uneven"]
    check_buckets(observe, "uneven", [("float32", n) for n in uneven], 1200)
    check_values(observe, "uneven", 9)
    large = [*uneven[:4], 700, *uneven[4:]]
    check_buckets(observe, "large", [("float32", n) for n in large], 1500)
    check_values(observe, "large", 10)
    check_buckets(
        observe, "eval", [("float32", n) for n in uneven], 1200, "In eval mode nothing was averaged."
    )
    check_values(observe, "eval", 9)
    for kind, limit in (("float64", 2400), ("bfloat16", 600)):
        check_buckets(observe, kind, [(kind, n) for n in uneven], limit)


@behaviour(8)
def test_tied_parameter_travels_once(observe):
    items = [("float32", n) for n in observe.given["uneven"]]
    check_buckets(
        observe, "tied", items, 1200, "A parameter that two modules share has one gradient: send it once."
    )
    check_values(observe, "tied", 9)


@behaviour(8, on_error=DIFFERENT)
def test_buckets_do_not_depend_on_local_gradients(observe):
    check_buckets(observe, "holes", [("float32", n) for n in observe.given["uneven"]], 1200)


@behaviour(9)
def test_buckets_hold_one_dtype(observe):
    kinds = ("float64", "float32", "float32", "bfloat16")
    items = [(kinds[i % 4], n) for i, n in enumerate(observe.given["uneven"])]
    check_buckets(observe, "mixed", items, 2100, "Mixing dtypes in a bucket rounds or widens gradients.")
    items = [(("float16", "bfloat16")[i % 2], n) for i, n in enumerate(observe.given["uneven"])]
    check_buckets(observe, "halves", items, 600, "float16 and bfloat16 are two dtypes, although of one size.")


@behaviour(9)
def test_float64_keeps_its_precision(observe):
    for step, factor in (("mean", 1.0), ("small", 3.0)):
        for world, rank, path in places("average", step):
            check_mean(observe, path, "wide", list(range(world)), f"rank {rank} of {world}", factor)
            got = observe[f"{path}/grad/brief"]
            expect(got.dtype == torch.bfloat16, "A bfloat16 gradient changed its dtype.", f"got {got.dtype}")


@behaviour(9)
def test_frozen_parameters_are_left_out(observe):
    for step, factor in (("mean", 1.0), ("small", 3.0)):
        for world, rank, path in places("average", step):
            close(
                observe[f"{path}/grad/frozen"],
                observe.given["grads"][rank]["frozen"].double() * factor,
                "The old gradient of a frozen parameter was averaged: leave it out.",
                call=f"rank {rank} of {world}",
            )
    items = [("float32", n) for i, n in enumerate(observe.given["uneven"]) if i not in (1, 5)]
    check_buckets(observe, "frozen", items, 1200, "A frozen parameter traveled with the gradients.")


@behaviour(9, on_error="A module whose parameters are all frozen is valid: nothing is to be sent.")
def test_module_without_trained_parameters(observe):
    for world, rank, path in places("buckets", "all_frozen"):
        where = f"two frozen parameters, rank {rank} of {world}"
        sent = [n for _, n, _ in observe[f"{path}/calls"]]
        expect(
            len(sent) <= 1 and all(n <= 64 for n in sent),
            "A frozen parameter traveled with the gradients.",
            where,
        )
        close(
            observe[f"{path}/values"],
            [(rank + 1.0) * (i + 1) for i in range(2)],
            "The old gradient of a frozen parameter was averaged: leave it out.",
            call=where,
        )


GROUP = "Within a group of ranks 0 and 2, every collective must run in the group."


@behaviour(10, on_error=GROUP)
def test_group_averages_over_its_members(observe):
    for rank in (0, 2):
        path = f"average/world3/rank{rank}/sub"
        for name in TRAINED:
            check_mean(observe, path, name, [0, 2], f"rank {rank}, group of ranks 0 and 2", divisor=3)


@behaviour(10, on_error=GROUP)
def test_group_broadcasts_from_a_global_rank(observe):
    for rank in (0, 2):
        for name in (*PARAMS, *BUFFERS):
            expect(
                same_bits(
                    observe[f"broadcast/world3/rank{rank}/sub/value/{name}"],
                    observe.given["models"][2][BUFFERS.get(name, name)],
                ),
                "Within a group the values did not come from global rank src.",
                f"src=2, group of ranks 0 and 2, rank {rank}, {name!r}",
            )


@behaviour(11)
def test_bad_bucket_bytes_is_refused(observe):
    for name in ("zero", "negative"):
        for _, _, path in places("errors", name):
            observe.raised(f"{path}/call", "ValueError", says="bucket_bytes below 1 must be refused.")
            expect(
                observe[f"{path}/sent"] == 0, "Check bucket_bytes before the first collective, on every rank."
            )
    for world in WORLDS:
        observe.raised(
            f"errors/world{world}/rank0/one/call",
            "ValueError",
            says="bucket_bytes below 1 must be refused in a group of one rank too.",
        )


@behaviour(11, on_error="A group of one rank is valid.")
def test_a_group_of_one_changes_nothing(observe):
    for world in WORLDS:
        for name in PARAMS:
            where = f"group of rank 0 alone, {world} ranks in all, {name!r}"
            got = observe[f"average/world{world}/rank0/one/grad/{name}"]
            want = observe.given["grads"][0][name]
            if name == "scalar":
                expect(got is None, "In a group of one, a gradient that was None did not stay so.", where)
            else:
                expect(isinstance(got, torch.Tensor), "In a group of one a gradient was lost.", where)
                close(got, want, "In a group of one a gradient changed.", rtol=1e-6, atol=1e-6, call=where)
            expect(
                same_bits(
                    observe[f"broadcast/world{world}/rank0/one/value/{name}"],
                    observe.given["models"][0][name],
                ),
                "In a group of one a parameter changed.",
                where,
            )
