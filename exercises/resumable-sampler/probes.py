import json
import random

import torch

from quizapp.judge.testing.probes import new_process, random_states


def pairs(draw):
    """Pairs of seed and epoch, many of which a careless mixture of the two turns into the same number."""
    chosen = [[s, e] for s in (0, 1, 2, 5, 100, 65536) for e in (0, 1, 2, 3)]
    # Where a sum such as 1000 * seed + epoch meets the orders above.
    chosen += [[0, e] for e in (31, 37, 97, 100, 101, 128, 256, 500, 512, 997, 999, 1000, 1001, 1024)]
    # Digits that read alike when glued together, and bits that meet when shifted.
    chosen += [[1, 11], [11, 1], [1, 23], [12, 3]]
    chosen += [[2**k, 0] for k in (8, 10, 12, 20, 24, 31)]
    chosen += [[10**k, 0] for k in (3, 4, 5, 6)]
    # The same for numbers that nobody knows beforehand: swapped, equal sums, and glued digits.
    for _ in range(2):
        seed, epoch, shift = draw.integer(200, 2000), draw.integer(10, 99), draw.integer(1, 9)
        chosen += [[seed, epoch], [epoch, seed], [seed + shift, epoch - shift], [0, seed + epoch]]
        chosen += [[10 * seed + shift, epoch], [seed, int(f"{shift}{epoch}")]]
    return draw.shuffled([list(pair) for pair in dict.fromkeys(map(tuple, chosen))])


def inputs(draw):
    n = draw.choice([23, 29, 31])
    return {
        "n": n,
        "seed": draw.integer(3, 10**6),
        "stop": draw.integer(4, 9),
        "late": draw.integer(2, 4),
        "pairs": pairs(draw),
        "length": draw.integer(23, 30),
    }


def take(sampler, count):
    """Take `count` indices and leave the iterator open."""
    iterator = iter(sampler)
    return [next(iterator) for _ in range(count)], iterator


def copy_state(sampler):
    return json.loads(json.dumps(sampler.state_dict()))


def passes(sampler, count):
    return [list(sampler) for _ in range(count)]


def probe_order(code, given, record):
    n, seed = given["n"], given["seed"]
    with record.step("shuffled"):
        sampler = code.ResumableSampler(n, seed=seed)
        record("passes", passes(sampler, 3))
    with record.step("again"):
        record("passes", passes(code.ResumableSampler(n, seed=seed), 3))
    with record.step("plain"):
        record("passes", passes(code.ResumableSampler(n, shuffle=False), 2))
        record("same_seed", passes(code.ResumableSampler(n, seed=seed, shuffle=False), 2))
    with record.step("defaults"):
        record("pass", list(code.ResumableSampler(n)))
        record("zero", list(code.ResumableSampler(n, seed=0, shuffle=True, rank=0, world_size=1)))
    with record.step("types"):
        record("kinds", sorted({type(i).__name__ for i in code.ResumableSampler(n, seed=seed)}))
        record("plain", sorted({type(i).__name__ for i in code.ResumableSampler(n, shuffle=False)}))
    with record.step("loader"):
        data = list(range(100, 100 + n))
        sampler = code.ResumableSampler(n, seed=seed)
        loader = torch.utils.data.DataLoader(data, batch_size=5, sampler=sampler)
        record("batches", [batch.tolist() for batch in loader])
        record("is_sampler", isinstance(sampler, torch.utils.data.Sampler))
    with record.step("length"):
        sampler = code.ResumableSampler(n, seed=seed, world_size=2, rank=1)
        lengths = [len(sampler)]
        iterator = iter(sampler)
        for _ in range(n // 2):
            next(iterator)
            lengths.append(len(sampler))
        record("lengths", lengths)
        record("exhausted", next(iterator, None))


def probe_global_state(code, given, record):
    n, seed = given["n"], given["seed"]
    orders = []
    for start in (7, 8):
        torch.manual_seed(start)
        random.seed(start)
        before = random_states()
        sampler = code.ResumableSampler(n, seed=seed)
        orders.append(list(sampler))
        record(f"states{start}", [before, random_states()])
    record("orders", orders)
    with record.step("saved"):
        before = random_states()
        state = code.ResumableSampler(n, seed=seed).state_dict()
        code.ResumableSampler(n, seed=seed).load_state_dict(state)
        record("states", [before, random_states()])
    try:
        import numpy as np
    except ImportError:
        return
    # A state of its own: an earlier sampler may have left the one that the next will leave.
    np.random.seed(12345)
    state = numpy_state(np)
    list(code.ResumableSampler(n, seed=seed))
    record("numpy", [state, numpy_state(np)])


def numpy_state(np):
    """numpy's global random state as a list of numbers."""
    _, keys, place, has_gauss, gauss = np.random.get_state()
    return [*keys.tolist(), place, has_gauss, gauss]


def probe_hash(code, given, record):
    """Notes what kinds of things the submission hashes: strings hash otherwise in every process."""
    kinds = set()

    def noting(value):
        todo = [value]
        while todo:
            part = todo.pop()
            kinds.add(type(part).__name__)
            todo += part if isinstance(part, tuple | frozenset) else []
        return hash(value)

    code.hash = noting
    try:
        list(code.ResumableSampler(given["n"], seed=given["seed"]))
    finally:
        del code.hash
    record("kinds", sorted(kinds))


def probe_pairs(code, given, record):
    orders = []
    for seed, epoch in given["pairs"]:
        sampler = code.ResumableSampler(given["length"], seed=seed)
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    record("orders", orders)


def probe_ranks(code, given, record):
    n, seed = given["n"], given["seed"]
    for world in (2, 3, 5):
        with record.step(world):
            samplers = [code.ResumableSampler(n, seed=seed, rank=r, world_size=world) for r in range(world)]
            record("passes", [passes(s, 2) for s in samplers])
    with record.step("plain"):
        samplers = [code.ResumableSampler(7, shuffle=False, rank=r, world_size=2) for r in range(2)]
        record("passes", [list(s) for s in samplers])
    with record.step("every"):
        record(
            "passes", [list(code.ResumableSampler(5, shuffle=False, rank=r, world_size=5)) for r in range(5)]
        )


def probe_resume(code, given, record):
    n, seed, k = given["n"], given["seed"], given["stop"]
    with record.step("fresh"):
        sampler = code.ResumableSampler(n, seed=seed)
        before, iterator = take(sampler, k)
        state = copy_state(sampler)
        resumed = code.ResumableSampler(n, seed=seed)
        resumed.load_state_dict(state)
        record("length", len(resumed))
        record("before", before)
        record("after", passes(resumed, 3))
        record("original", [*iterator, -1, *list(sampler)])
    with record.step("same"):
        sampler = code.ResumableSampler(n, seed=seed)
        before, iterator = take(sampler, k)
        iterator.close() if hasattr(iterator, "close") else None
        record("before", before)
        record("after", passes(sampler, 2))
    with record.step("later"):
        sampler = code.ResumableSampler(n, seed=seed, rank=1, world_size=2)
        list(sampler)
        before, _ = take(sampler, 3)
        state = copy_state(sampler)
        resumed = code.ResumableSampler(n, seed=seed, rank=1, world_size=2)
        resumed.load_state_dict(state)
        record("before", before)
        record("after", passes(resumed, 2))
    with record.step("used"):
        sampler = code.ResumableSampler(n, seed=seed)
        list(sampler)
        take(sampler, 3)
        used = code.ResumableSampler(n, seed=seed)
        _, iterator = take(used, k)
        del iterator
        used.load_state_dict(copy_state(sampler))
        record("length", len(used))
        record("after", passes(used, 2))
    with record.step("untouched"):
        resumed = code.ResumableSampler(n, seed=seed)
        resumed.load_state_dict(copy_state(code.ResumableSampler(n, seed=seed)))
        record("after", passes(resumed, 2))
    with record.step("twice"):
        sampler = code.ResumableSampler(n, seed=seed)
        first, _ = take(sampler, k)
        second_sampler = code.ResumableSampler(n, seed=seed)
        second_sampler.load_state_dict(copy_state(sampler))
        second, _ = take(second_sampler, 3)
        third = code.ResumableSampler(n, seed=seed)
        third.load_state_dict(copy_state(second_sampler))
        record("parts", [first, second, list(third)])


def probe_saved(code, given, record):
    n, seed, k = given["n"], given["seed"], given["stop"]
    sampler = code.ResumableSampler(n, seed=seed)
    _, iterator = take(sampler, k)
    record.carry("early", json.dumps(sampler.state_dict()))
    list(iterator)
    take(sampler, 3)
    record.carry("late", json.dumps(sampler.state_dict()))


@new_process
def probe_resumed(code, given, record):
    """Loads the states where the sampler that gave them never existed."""
    for name, text in given["carried"].items():
        with record.step(name):
            sampler = code.ResumableSampler(given["n"], seed=given["seed"])
            sampler.load_state_dict(json.loads(text))
            record("passes", passes(sampler, 2))


def probe_worlds(code, given, record):
    n, seed, k = given["n"], given["seed"], given["late"]
    for old, new in ((2, 3), (3, 2), (4, 1), (1, 4), (2, 5)):
        with record.step(f"{old}to{new}"):
            samplers = [code.ResumableSampler(n, seed=seed, rank=r, world_size=old) for r in range(old)]
            taken = [take(s, k) for s in samplers]
            states = [copy_state(s) for s in samplers]
            record("states_equal", all(state == states[0] for state in states))
            record("before", [part for part, _ in taken])
            after, following, lengths = [], [], []
            for r in range(new):
                sampler = code.ResumableSampler(n, seed=seed, rank=r, world_size=new)
                sampler.load_state_dict(dict(states[r % old]))
                lengths.append(len(sampler))
                after.append(list(sampler))
                following.append(list(sampler))
            record("after", after)
            record("following", following)
            record("lengths", lengths)

    with record.step("uneven"):
        sampler = code.ResumableSampler(24, seed=seed)
        take(sampler, 3)
        resumed = code.ResumableSampler(24, seed=seed, rank=2, world_size=4)
        resumed.load_state_dict(copy_state(sampler))
        record("lengths", [len(resumed), len(list(resumed))])


def probe_end(code, given, record):
    seed = given["seed"]
    for name, n, world in (("even", 26, 2), ("tail", 35, 3), ("one", 9, 1)):
        with record.step(name):
            sampler = code.ResumableSampler(n, seed=seed, rank=world - 1, world_size=world)
            _, iterator = take(sampler, n // world)
            record("left", len(sampler))
            state = copy_state(sampler)
            resumed = code.ResumableSampler(n, seed=seed, rank=world - 1, world_size=world)
            resumed.load_state_dict(state)
            record("length", len(resumed))
            record("resumed", passes(resumed, 2))
            alone = code.ResumableSampler(n, seed=seed)
            alone.load_state_dict(dict(state))
            record("alone", list(alone))
            record("rest", list(iterator))
            record("original", list(sampler))
    for name, n, world in (("even", 26, 2), ("tail", 35, 3), ("one", 9, 1)):
        with record.step(f"nearly_{name}"):
            sampler = code.ResumableSampler(n, seed=seed, rank=world - 1, world_size=world)
            _, iterator = take(sampler, n // world - 1)
            resumed = code.ResumableSampler(n, seed=seed, rank=world - 1, world_size=world)
            resumed.load_state_dict(copy_state(sampler))
            record("length", len(resumed))
            record("resumed", list(resumed))
            record("rest", list(iterator))
    with record.step("finished"):
        sampler = code.ResumableSampler(9, seed=seed)
        list(sampler)
        resumed = code.ResumableSampler(9, seed=seed)
        resumed.load_state_dict(copy_state(sampler))
        record("resumed", passes(resumed, 1))
    with record.step("reopened"):
        sampler = code.ResumableSampler(9, seed=seed)
        take(sampler, 9)
        record("passes", passes(sampler, 2))


def probe_set_epoch(code, given, record):
    n, seed, k = given["n"], given["seed"], given["stop"]
    with record.step("keeps"):
        sampler = code.ResumableSampler(n, seed=seed)
        list(sampler)
        take(sampler, k)
        resumed = code.ResumableSampler(n, seed=seed)
        resumed.load_state_dict(copy_state(sampler))
        out = []
        for epoch in range(1, 4):
            resumed.set_epoch(epoch)
            out.append(list(resumed))
        record("passes", out)
    with record.step("in_use"):
        sampler = code.ResumableSampler(n, seed=seed)
        before, _ = take(sampler, k)
        sampler.set_epoch(0)
        record("length", len(sampler))
        record("pass", [*before, *list(sampler)])
    with record.step("used_up"):
        sampler = code.ResumableSampler(n, seed=seed)
        take(sampler, n)
        sampler.set_epoch(0)
        record("pass", list(sampler))
    with record.step("other"):
        sampler = code.ResumableSampler(n, seed=seed)
        take(sampler, k)
        sampler.set_epoch(3)
        record("length", len(sampler))
        record("pass", list(sampler))
    with record.step("back"):
        sampler = code.ResumableSampler(n, seed=seed)
        list(sampler)
        sampler.set_epoch(0)
        record("pass", list(sampler))
    with record.step("plain"):
        sampler = code.ResumableSampler(n, shuffle=False)
        take(sampler, k)
        sampler.set_epoch(2)
        record("pass", list(sampler))
    with record.step("usual"):
        sampler = code.ResumableSampler(n, seed=seed)
        out = []
        for epoch in range(3):
            sampler.set_epoch(epoch)
            out.append(list(sampler))
        record("passes", out)


def size(value):
    """The number of plain values in a state."""
    if isinstance(value, dict):
        return sum(size(v) for v in value.values())
    return sum(size(v) for v in value) if isinstance(value, list | tuple) else 1 + len(str(value)) // 60


def probe_snapshot(code, given, record):
    n, seed, k = given["n"], given["seed"], given["stop"]
    with record.step("snapshot"):
        sampler = code.ResumableSampler(n, seed=seed)
        _, iterator = take(sampler, k)
        state = sampler.state_dict()
        text = json.dumps(state)
        next(iterator)
        next(iterator)
        record("unchanged", json.dumps(state) == text)
        record("size", size(json.loads(text)))
        big = code.ResumableSampler(5000, seed=seed)
        take(big, 7)
        record("big_size", size(json.loads(json.dumps(big.state_dict()))))
        resumed = code.ResumableSampler(n, seed=seed)
        resumed.load_state_dict(json.loads(text))
        record("after", list(resumed))
    with record.step("not_kept"):
        sampler = code.ResumableSampler(n, seed=seed)
        take(sampler, k)
        state = copy_state(sampler)
        text = json.dumps(state)
        resumed = code.ResumableSampler(n, seed=seed)
        resumed.load_state_dict(state)
        part, _ = take(resumed, 2)
        record("loaded_unchanged", json.dumps(state) == text)
        state.clear()
        record("part", part)
        record("rest", list(resumed))


def probe_foreign(code, given, record):
    n, seed, k = given["n"], given["seed"], given["stop"]
    for name, options, length in (
        ("length", {"seed": seed}, n + 1),
        ("seed", {"seed": seed + 1}, n),
        ("shuffle", {"seed": seed, "shuffle": False}, n),
        ("shorter", {"seed": seed}, n - 1),
        ("plain_seed", {"seed": seed + 1, "shuffle": False}, n),
    ):
        with record.step(name):
            other = code.ResumableSampler(length, **options)
            list(other)
            take(other, 3)
            state = copy_state(other)
            sampler = code.ResumableSampler(n, seed=seed, shuffle=name != "plain_seed")
            before, _ = take(sampler, k)
            record.raises("load", lambda sampler=sampler, state=state: sampler.load_state_dict(state))
            record("before", before)
            record("rest", list(sampler))


def probe_errors(code, given, record):
    calls = {
        "world_zero": lambda: code.ResumableSampler(10, world_size=0),
        "rank_negative": lambda: code.ResumableSampler(10, rank=-1, world_size=2),
        "rank_high": lambda: code.ResumableSampler(10, rank=2, world_size=2),
        "rank_alone": lambda: code.ResumableSampler(10, rank=1),
        "short": lambda: code.ResumableSampler(2, rank=0, world_size=3),
        "empty": lambda: code.ResumableSampler(0),
        "negative": lambda: code.ResumableSampler(-5),
    }
    for name, call in calls.items():
        record.raises(name, lambda call=call: type(call()).__name__)
    with record.step("just"):
        record("pass", list(code.ResumableSampler(3, shuffle=False, rank=2, world_size=3)))
