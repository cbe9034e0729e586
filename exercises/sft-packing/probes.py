import torch

ROLES = ("system", "user", "assistant", "tool")


def specials(draw):
    ids = draw.sample(range(60, 99), 6)
    return dict(zip(("bos", "eot", *ROLES), ids, strict=True))


def content(draw, count):
    return [draw.integer(1, 49) for _ in range(count)]


def chats(draw):
    orders = [
        ["user", "assistant"],
        ["system", "user", "assistant", "user", "assistant"],
        ["system", "user", "assistant", "tool", "assistant", "assistant", "user"],
        ["assistant", "user", "assistant", "user"],
        ["user", "user"],
    ]
    filled = [[(role, content(draw, draw.integer(1, 6))) for role in order] for order in orders]
    silent = [("user", content(draw, 3)), ("assistant", []), ("user", content(draw, 2))]
    return [*filled, silent]


def example(draw, length, targets=True):
    """Runs of learned tokens. The first token is marked as learned in about half of the examples."""
    ids = content(draw, length)
    if not targets:
        return ids, [False] * length
    start = draw.integer(1, max(1, length // 2))
    mask = [i >= start and not (start + 2 <= i < start + 4) for i in range(length)]
    mask[0] = draw.choice([True, False])
    mask[-1] = length > 1
    return ids, mask


def with_ends(item, eot, every=4):
    """The same example with end-of-turn tokens in it, some learned and some not."""
    ids, mask = item
    ids = [eot if i % every == every - 1 else token for i, token in enumerate(ids)]
    ids[-1] = eot
    return ids, mask


def fit(lengths, size, policy):
    """The row of each example for first fit and its relatives."""
    rooms, places = [], []
    for n in lengths:
        fitting = [i for i, room in enumerate(rooms) if room > n or (room == n and policy != "strict")]
        if policy == "next":
            fitting = [i for i in fitting if i == len(rooms) - 1]
        choose = {"best": min, "worst": max}.get(policy)
        if not fitting:
            place = len(rooms)
            rooms.append(size)
        else:
            place = choose(fitting, key=lambda i: rooms[i]) if choose else fitting[0]
        rooms[place] -= n
        places.append(place)
    return places


def pack_case(draw):
    """Lengths for which first fit differs from its relatives, with one row filled exactly."""
    while True:
        size = draw.integer(17, 23)
        lengths = [draw.integer(3, size - 2) for _ in range(draw.integer(8, 10))]
        ways = [fit(lengths, size, policy) for policy in ("first", "next", "best", "worst", "strict")]
        places = ways[0]
        if any(ways.count(way) > 1 for way in ways):
            continue
        used = [
            sum(n for n, place in zip(lengths, places, strict=True) if place == row)
            for row in range(max(places) + 1)
        ]
        if size in used and max(places.count(row) for row in set(places)) >= 3 and min(used) < size - 1:
            break
    return {"examples": [example(draw, n) for n in lengths], "length": size, "pad": draw.choice([0, 50, 55])}


def cut_case(draw):
    """Examples that are too long, and examples that teach nothing, between ordinary ones."""
    size = draw.integer(13, 17)
    ids = content(draw, size + 4)
    late = (ids, [i >= size + 1 for i in range(size + 4)])
    edge = (content(draw, size + 2), [i >= size - 1 for i in range(size + 2)])
    first_only = (content(draw, 4), [True, False, False, False])
    nothing = example(draw, draw.integer(3, 5), targets=False)
    one_token = ([draw.integer(1, 49)], [True])
    ordinary = [example(draw, draw.integer(3, 6)) for _ in range(4)]
    long = example(draw, size + draw.integer(2, 6))
    items = draw.shuffled([late, edge, first_only, nothing, one_token, long, *ordinary])
    return {"examples": items, "length": size, "pad": draw.choice([0, 50, 55])}


def loss_case(draw, batch, length, dtype=torch.float32):
    vocab = draw.sizes(1, 9, 13)[0]
    labels = draw.integers(0, vocab, batch, length)
    keep = torch.zeros(batch, length, dtype=torch.bool)
    for row in range(batch):
        for position in draw.sample(range(1, length), 1 + row * (length - 3) // batch):
            keep[row, position] = True
        keep[row, 0] = row % 2 == 0
    labels = torch.where(keep, labels, -100)
    labels[0, int(keep[0, 1:].nonzero()[0]) + 1] = 0
    return {"logits": draw.normal(batch, length, vocab, scale=2.0, dtype=dtype), "labels": labels}


def document_case(draw):
    width = draw.integer(9, 12)
    rows = []
    for kind in range(4):
        row = []
        for number in range(draw.integer(2, 4)):
            row += [number] * draw.integer(1, 4)
        if kind == 0:
            row = row + [row[-1]] * width  # no padding
        row = row[: width - 2] + [-1] * 2 if kind == 1 else row[:width]
        rows.append((row + [-1] * width)[:width])
    rows.append([-1] * width)
    rows.append([0] * width)
    return torch.tensor(draw.shuffled(rows))


def inputs(draw):
    special = specials(draw)
    lengths = draw.sample(range(4, 13), 5)
    collated = [example(draw, n) for n in lengths]
    collated.insert(draw.integer(0, 4), example(draw, draw.integer(3, 6), targets=False))
    masks = {i: mask for i, (_, mask) in enumerate(collated)}
    masks[0][0] = True
    masks[1][0] = False
    same = draw.integer(5, 9)
    fits = pack_case(draw)
    fits["examples"][0][1][0] = True
    fits["examples"][1][1][0] = True
    shared = pack_case(draw)
    shared["examples"] = [with_ends(item, special["eot"]) for item in shared["examples"]]
    long = loss_case(draw, 3, 61)
    long["logits"] = long["logits"].to(torch.bfloat16)
    return {
        "special": special,
        "chats": chats(draw),
        "collate": [
            {"examples": collated, "pad": draw.choice([0, 50, 55])},
            {"examples": [example(draw, same) for _ in range(3)], "pad": 50},
            {"examples": [example(draw, draw.integer(4, 7))], "pad": 50},
        ],
        "shared": {
            "examples": [with_ends(example(draw, n), special["eot"]) for n in lengths],
            "pad": special["eot"],
        },
        "digit": {"examples": [example(draw, n) for n in lengths], "pad": None},
        "losses": [
            loss_case(draw, draw.integer(4, 5), draw.integer(9, 12)),
            loss_case(draw, draw.integer(3, 4), draw.integer(7, 9), torch.float64),
            loss_case(draw, 1, draw.integer(7, 9)),
        ],
        "long": long,
        "packs": [fits, pack_case(draw)],
        "shared_pack": {**shared, "pad": special["eot"]},
        "cuts": [cut_case(draw), cut_case(draw)],
        "limits": [draw.integer(5, 7), 30],
        "documents": [document_case(draw), document_case(draw)],
    }


def fresh(examples):
    return [(list(ids), list(mask)) for ids, mask in examples]


def batch_of(result):
    """The tensors of a batch as a plain dict."""
    names = ("input_ids", "labels", "attention_mask", "position_ids", "document_ids")
    return {name: result[name] for name in names if name in result}


def digit_pad(case):
    """A padding id that is also an ordinary, learned token of the longest example."""
    ids, mask = max(case["examples"], key=lambda item: len(item[0]))
    return next(token for token, learned in list(zip(ids, mask, strict=True))[1:] if learned)


def probe_encode(code, given, record):
    for i, turns in enumerate(given["chats"]):
        with record.step(i):
            ids, mask = code.encode_chat(
                [(role, list(tokens)) for role, tokens in turns], dict(given["special"])
            )
            record("ids", list(ids))
            record("mask", [bool(each) for each in mask])
    with record.step("tuples"):
        turns = tuple((role, tuple(tokens)) for role, tokens in given["chats"][1])
        ids, mask = code.encode_chat(turns, dict(given["special"]))
        record("ids", list(ids))
        record("mask", [bool(each) for each in mask])


def probe_collate(code, given, record):
    for i, case in enumerate(given["collate"]):
        with record.step(i):
            record("batch", batch_of(code.collate(fresh(case["examples"]), case["pad"])))
        for j, limit in enumerate(given["limits"]):
            with record.step(f"limit{i}_{j}"):
                record("batch", batch_of(code.collate(fresh(case["examples"]), case["pad"], limit)))
    with record.step("shared"):
        case = given["shared"]
        record("batch", batch_of(code.collate(fresh(case["examples"]), case["pad"])))
    with record.step("digit"):
        case = given["digit"]
        record("batch", batch_of(code.collate(fresh(case["examples"]), digit_pad(case))))


def probe_loss(code, given, record):
    for i, case in enumerate([*given["losses"], given["long"]]):
        with record.step(i):
            logits = case["logits"].clone().requires_grad_()
            loss = code.causal_lm_loss(logits, case["labels"].clone())
            record("loss", loss)
            loss.backward()
            record("grad", logits.grad)
        with record.step(f"plain{i}"):
            logits, labels = case["logits"].clone(), case["labels"].clone()
            code.causal_lm_loss(logits, labels)
            record("after", [logits, labels])
    for i, case in enumerate([given["losses"][0], given["long"]]):
        for name, column in (("none", None), ("first", 0)):
            with record.step(f"{name}{i}"):
                labels = torch.full_like(case["labels"], -100)
                if column is not None:
                    labels[:, column] = 1
                logits = case["logits"].clone().requires_grad_()
                loss = code.causal_lm_loss(logits, labels)
                record("loss", loss)
                loss.backward()
                record("grad", logits.grad)


def probe_pack(code, given, record):
    for name, cases in (("fit", given["packs"]), ("shared", [given["shared_pack"]]), ("cut", given["cuts"])):
        for i, case in enumerate(cases):
            with record.step(f"{name}{i}"):
                record("batch", batch_of(code.pack(fresh(case["examples"]), case["length"], case["pad"])))
    with record.step("empty"):
        case = given["packs"][0]
        examples = [(list(ids), [False] * len(ids)) for ids, _ in case["examples"]]
        record("batch", batch_of(code.pack(examples, case["length"], case["pad"])))


def probe_documents(code, given, record):
    for i, documents in enumerate(given["documents"]):
        with record.step(i):
            values = documents.clone()
            record("out", code.document_mask(values))
            record("after", values)


def probe_errors(code, given, record):
    special, good = given["special"], ([5, 6, 7], [False, True, True])
    turns = [("user", [5]), ("narrator", [6])]
    record.raises("role", lambda: code.encode_chat(turns, dict(special)))
    bad = {
        "none": [],
        "empty": [good, ([], [])],
        "short_mask": [good, ([5, 6, 7], [True, True])],
        "long_mask": [good, ([5, 6], [False, True, True])],
    }
    for name, examples in bad.items():
        record.raises(f"collate_{name}", lambda examples=examples: code.collate(fresh(examples), 0))
        record.raises(f"cut_{name}", lambda examples=examples: code.collate(fresh(examples), 0, 1))
        record.raises(f"pack_{name}", lambda examples=examples: code.pack(fresh(examples), 8, 0))
    for length in (0, -3):
        record.raises(f"max_length{length}", lambda length=length: code.collate(fresh([good]), 0, length))
        record.raises(f"length{length}", lambda length=length: code.pack(fresh([good]), length, 0))


def probe_untouched(code, given, record):
    with record.step("encode"):
        turns = [(role, list(tokens)) for role, tokens in given["chats"][2]]
        special = dict(given["special"])
        ids, mask = code.encode_chat(turns, special)
        record("after", [turns, special])
    for i, case in enumerate([given["collate"][0], given["cuts"][0]]):
        with record.step(f"collate{i}"):
            examples = fresh(case["examples"])
            code.collate(examples, case["pad"], given["limits"][0])
            record("after", examples)
    for i, case in enumerate([given["packs"][0], given["cuts"][0]]):
        with record.step(f"pack{i}"):
            examples = fresh(case["examples"])
            code.pack(examples, case["length"], case["pad"])
            record("after", examples)
