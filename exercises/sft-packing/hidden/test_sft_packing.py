import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

LOOSE = {"rtol": 1e-4, "atol": 1e-6}
IGNORED = -100


def holds(observe, *tests):
    """Whether these tests pass. What builds on them accuses nobody of another mistake if they do not."""
    for test in tests:
        try:
            test(observe)
        except AssertionError:
            return False
    return True


def same(got, want, says, mistakes=(), call=""):
    """Compare integers or bools exactly; tensors of the wrong shape may still show a known mistake."""
    if not (isinstance(got, torch.Tensor) and alike(got.long(), want.long())):
        for sentence, wrong in mistakes:
            if (
                isinstance(got, torch.Tensor)
                and alike(got.long(), wrong.long())
                and not alike(wrong.long(), want.long())
            ):
                expect(False, sentence, call)
    close(got, want, says, rtol=0.0, atol=0.0, call=call)


# --- encode_chat


def encoded(turns, special, *, eot=True, every=True):
    """Ids and mask; without ``eot`` it is not learned, without ``every`` only the last assistant turn is."""
    ids, mask = [special["bos"]], [False]
    last = max((i for i, (role, _) in enumerate(turns) if role == "assistant"), default=-1)
    for i, (role, tokens) in enumerate(turns):
        learned = role == "assistant" and (every or i == last)
        ids += [special[role], *tokens, special["eot"]]
        mask += [False] + [learned] * len(tokens) + [learned and eot]
    return ids, mask


@behaviour(1)
def test_encoded_ids(observe):
    special = observe.given["special"]
    cases = [(str(i), turns) for i, turns in enumerate(observe.given["chats"])] + [
        ("tuples", observe.given["chats"][1])
    ]
    for name, turns in cases:
        want, _ = encoded(turns, special)
        got = observe[f"encode/{name}/ids"]
        bos, eot = special["bos"], special["eot"]
        roles = [role for role, _ in turns]
        expect(isinstance(got, list), "encode_chat returns token ids and a mask, two lists.")
        if got != want and all(isinstance(token, int) for token in got):
            expect(
                got.count(bos) == 1,
                "bos comes once, in front of the conversation.",
                f"{got.count(bos)} times",
            )
            expect(
                got.count(eot) == len(turns),
                "Every turn is closed by one eot.",
                f"{got.count(eot)} for {len(turns)} turns",
            )
            ids = [token for token in got if token in [special[role] for role in roles]]
            expect(ids == [special[role] for role in roles], "Every turn starts with the id of its role.")
        expect(
            got == want,
            "The ids are not bos, then for each turn role, tokens, eot.",
            f"turns of {', '.join(roles)}: got {got}, expected {want}",
        )


@behaviour(2)
def test_encoded_mask(observe):
    special = observe.given["special"]
    for i, turns in enumerate(observe.given["chats"]):
        ids, want = encoded(turns, special)
        got = observe[f"encode/{i}/mask"]
        roles = ", ".join(role for role, _ in turns)
        if isinstance(got, list) and len(got) != len(ids) and observe[f"encode/{i}/ids"] != ids:
            continue  # the ids are wrong, which their own test reports
        expect(
            isinstance(got, list) and len(got) == len(ids),
            "The mask has one entry for each token.",
            f"turns of {roles}",
        )
        everyone, header = [], []
        for role, tokens in turns:
            everyone += [False] + [True] * (len(tokens) + 1)
            header += [role == "assistant"] * (len(tokens) + 2)
        eots, user = [False], [False]
        for role, tokens in turns:
            learned = role == "assistant"
            eots += [False] + [learned] * len(tokens) + [True]
            user += [False] + [role in ("user", "assistant")] * (len(tokens) + 1)
        mistakes = [
            (
                "The model never learns to stop. The eot that closes an assistant turn is learned too.",
                encoded(turns, special, eot=False)[1],
            ),
            ("All assistant turns count, not only the last.", encoded(turns, special, every=False)[1]),
            (
                "All assistant turns count, not only the last.",
                encoded(turns, special, eot=False, every=False)[1],
            ),
            ("You train the model to write questions. Only assistant turns are learned.", [False, *everyone]),
            ("You train the model to write questions. Only assistant turns are learned.", user),
            ("You train the model to write questions. Only assistant turns are learned.", [True] * len(ids)),
            ("The mask is turned around: True is what the model learns.", [not each for each in want]),
            ("The id of the role is given to the model, not learned.", [False, *header]),
            ("Only the eot of assistant turns is learned.", eots),
            ("Nothing is learned.", [False] * len(ids)),
        ]
        if got != want:
            for sentence, wrong in mistakes:
                expect(got != wrong or wrong == want, sentence, f"turns of {roles}")
        expect(
            got == want,
            "The mask is not True exactly for the tokens of assistant turns and the eot that closes them.",
            f"turns of {roles}: got {got}, expected {want}",
        )


# --- collate


def cut(case, limit):
    return [(ids[:limit], mask[:limit]) for ids, mask in case["examples"]]


def collated(case, limit=None, width=None, first=False):
    """Ids, labels and attention mask; with ``first`` the first token may be a target."""
    examples = cut(case, limit)
    width = width or max(len(ids) for ids, _ in examples)
    pad = case["pad"]
    ids = torch.tensor([ids + [pad] * (width - len(ids)) for ids, _ in examples])
    labels = torch.tensor(
        [
            [t if m and (i > 0 or first) else IGNORED for i, (t, m) in enumerate(zip(ids, mask, strict=True))]
            + [IGNORED] * (width - len(ids))
            for ids, mask in examples
        ]
    )
    real = torch.tensor([[True] * len(ids) + [False] * (width - len(ids)) for ids, _ in examples])
    return ids, labels, real


def part(observe, path, name):
    batch = observe[path]
    function = path.split("/")[0]
    expect(isinstance(batch, dict) and name in batch, f"{function} returns a dict with the key {name}.")
    value = batch[name]
    expect(isinstance(value, torch.Tensor), f"{name} must be a tensor.")
    dtype = torch.bool if name == "attention_mask" else torch.int64
    expect(
        value.dtype == dtype,
        f"{name} must be {'bool' if dtype == torch.bool else 'int64'}.",
        f"got {value.dtype}",
    )
    return value


def left(tensor, real):
    """The same rows padded on the left."""
    rows = [torch.cat([row[~on], row[on]]) for row, on in zip(tensor, real, strict=True)]
    return torch.stack(rows)


def collate_call(case, limit=None):
    extra = "" if limit is None else f", max_length={limit}"
    return f"collate of examples with {', '.join(str(len(ids)) for ids, _ in case['examples'])} tokens{extra}"


def shift(labels):
    return torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], IGNORED)], 1)


def check_batch(observe, path, case, limit=None):
    ids, labels, real = collated(case, limit)
    call = collate_call(case, limit)
    right = "Padding goes to the right."
    wide = limit or 0
    longer = collated(case, limit, wide) if wide > ids.shape[1] else (ids, labels, real)
    full = collated(case) if limit is not None else (ids, labels, real)
    much = "Pad to the longest example, not to max_length."
    more = "Examples longer than max_length are cut to their first tokens."
    useful = (labels[:, 1:] != IGNORED).any(1)
    last = {**case, "examples": [(i[-limit:], m[-limit:]) for i, m in case["examples"]]} if limit else case
    ends = collated(last)
    same(
        part(observe, path, "input_ids"),
        ids,
        "input_ids are not the tokens, padded on the right to the longest example.",
        [
            (right, left(ids, real)),
            (much, longer[0]),
            (more, full[0]),
            (f"{more} Yours keeps the last ones.", ends[0]),
            ("collate keeps an example without a target.", ids[useful]),
        ],
        call,
    )
    same(
        part(observe, path, "attention_mask"),
        real,
        "attention_mask is not True at tokens and False at padding.",
        [
            ("attention_mask is turned around.", ~real),
            ("attention_mask is about tokens and padding, not about what is learned.", labels != IGNORED),
            ("Padding must not be attended to.", torch.ones_like(real)),
        ],
        call,
    )
    got = part(observe, path, "labels")
    twice = "The loss shifts already, so you shift twice."
    if got.shape == labels.shape and got.shape[1] > 1:
        same(
            got[:, 1:],
            labels[:, 1:],
            "labels are not the token itself where the mask is True and -100 elsewhere.",
            [
                (twice, shift(collated(case, limit, first=True)[1])[:, 1:]),
                (twice, shift(labels)[:, 1:]),
                (
                    f"{twice} Yours are shifted the other way.",
                    torch.cat([torch.full_like(labels[:, :1], IGNORED), labels[:, :-1]], 1)[:, 1:],
                ),
                (
                    "Labels where the mask is False must be -100: they are the prompt.",
                    torch.where(real, ids, IGNORED)[:, 1:],
                ),
                ("Labels at padding and where the mask is False must be -100.", ids[:, 1:]),
                ("Ignored labels are -100, not 0.", labels.clamp(min=0)[:, 1:]),
                ("Labels at padding must be -100.", torch.where(real, labels, case["pad"])[:, 1:]),
                (
                    "Ignored labels are -100, not the padding id.",
                    torch.where(labels == IGNORED, case["pad"], labels)[:, 1:],
                ),
                ("The mask is turned around.", torch.where(real & (labels == IGNORED), ids, IGNORED)[:, 1:]),
            ],
            call,
        )
    else:
        same(got, labels, "labels do not have the shape of input_ids.", [], call)


@behaviour(3)
def test_batches(observe):
    for i, case in enumerate(observe.given["collate"]):
        check_batch(observe, f"collate/{i}/batch", case)


def learned_token(case):
    ids, mask = max(case["examples"], key=lambda item: len(item[0]))
    return next(token for token, learned in list(zip(ids, mask, strict=True))[1:] if learned)


@behaviour(4)
def test_padding_is_found_by_position(observe):
    observe["collate/shared/batch"]
    if not holds(observe, test_batches):
        return
    shared, digit = observe.given["shared"], observe.given["digit"]
    for name, case in (("shared", shared), ("digit", {**digit, "pad": learned_token(digit)})):
        ids, labels, real = collated(case)
        by_id = "Padding shares its id with end-of-turn, so real stops were ignored."
        if name == "digit":
            by_id = "Padding shares its id with a real token, which was ignored."
        call = f"{collate_call(case)}, pad_id equal to {'eot' if name == 'shared' else 'the id of a learned token'}"
        got = part(observe, f"collate/{name}/batch", "labels")
        if got.shape == labels.shape:
            hidden = torch.where(ids == case["pad"], IGNORED, labels)
            same(
                got[:, 1:],
                labels[:, 1:],
                "Labels must follow positions, not ids.",
                [(by_id, hidden[:, 1:])],
                call,
            )
        same(
            part(observe, f"collate/{name}/batch", "attention_mask"),
            real,
            "attention_mask must follow positions, not ids.",
            [(f"{by_id} attention_mask hides them.", ids != case["pad"])],
            call,
        )
        same(
            part(observe, f"collate/{name}/batch", "input_ids"),
            ids,
            "input_ids are wrong if pad_id is a real token too.",
            [],
            call,
        )


@behaviour(4)
def test_padding_is_found_by_position_in_packs(observe):
    case = observe.given["shared_pack"]
    if "pack/shared0/batch" not in observe or not holds(
        observe, test_packed_rows, test_packed_positions, test_document_ids
    ):
        return  # pack is missing or wrong in general, which its own tests report
    want = laid_out(case)
    hidden = torch.where(want["input_ids"] == case["pad"], IGNORED, want["labels"])
    starts = want["position_ids"] == 0
    for name in ("labels", "document_ids", "position_ids"):
        got = part(observe, "pack/shared0/batch", name)
        mistakes = [
            (
                "Padding shares its id with end-of-turn, so real stops were ignored.",
                torch.where(starts, IGNORED, hidden),
            )
        ]
        if name == "labels" and got.shape == starts.shape:
            got = torch.where(starts, IGNORED, got)
        same(
            got,
            want[name],
            f"With pad_id equal to eot the {name} of pack must follow positions, not ids.",
            mistakes,
            pack_call(case),
        )


FIRST = "The first token of an example is never a target: nothing in the example predicts it."


@behaviour(5)
def test_first_token_of_a_batch(observe):
    observe["collate/0/batch"]
    if not holds(observe, test_batches):
        return
    for i, case in enumerate(observe.given["collate"]):
        got = part(observe, f"collate/{i}/batch", "labels")
        expect(
            got.dim() == 2 and bool((got[:, 0] == IGNORED).all()),
            FIRST,
            f"labels[:, 0] is {got[:, 0].tolist() if got.dim() == 2 else got.tolist()}; {collate_call(case)}",
        )


@behaviour(5)
def test_first_token_of_a_packed_example(observe):
    # Submissions that do not pack yet, or that pack wrongly, hear of it from the tests of pack.
    if not holds(observe, test_packed_rows):
        return
    for i, case in enumerate(observe.given["packs"]):
        want = laid_out(case)
        got = part(observe, f"pack/fit{i}/batch", "labels")
        starts = (want["position_ids"] == 0) & (want["document_ids"] >= 0)
        expect(
            bool((got[starts] == IGNORED).all()),
            f"{FIRST} In a packed row the example before it would.",
            pack_call(case),
        )


# --- loss


def token_losses(logits, labels):
    """The cross-entropy of every next label in float64 and which of them count, both (B, T - 1)."""
    targets = labels[:, 1:]
    counted = targets != IGNORED
    logprobs = logits.double()[:, :-1].log_softmax(-1)
    return -logprobs.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0], counted


def expected_loss(logits, labels):
    values, counted = token_losses(logits, labels)
    return values[counted].sum() / max(int(counted.sum()), 1)


def expected_grad(logits, labels):
    _, counted = token_losses(logits, labels)
    grad = torch.zeros(logits.shape, dtype=torch.float64)
    hot = torch.nn.functional.one_hot(labels[:, 1:].clamp(min=0), logits.shape[2])
    inner = (logits.double()[:, :-1].softmax(-1) - hot) * counted[:, :, None]
    grad[:, :-1] = inner / max(int(counted.sum()), 1)
    return grad


def loss_mistakes(logits, labels):
    values, counted = token_losses(logits, labels)
    kept = torch.where(counted, values, 0.0)
    full = logits.double().log_softmax(-1)

    def scored(source, targets):
        on = targets != IGNORED
        found = -source.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0]
        return found[on].sum() / on.sum()

    rows = counted.any(1)
    means = kept.sum(1)[rows] / counted.sum(1)[rows]
    copy = "The model learns to copy its input. The logits at t belong to the label at t + 1."
    row = "A target weighs more in a row with few targets."
    return [
        (copy, scored(full, labels)),
        (copy, scored(full[:, :-1], labels[:, :-1])),
        (copy, scored(full[:, 1:], labels[:, 1:])),
        (
            "The logits at t belong to the label at t + 1; yours are shifted the other way.",
            scored(full[:, 1:], labels[:, :-1]),
        ),
        (row, means.mean()),
        (row, (kept.sum(1) / counted.sum(1).clamp(min=1)).mean()),
        ("The loss is the mean over the targets, not their sum.", kept.sum()),
        ("Ignored labels are in the mean: divide by the number of targets.", kept.mean()),
        ("Ignored labels are in the mean: divide by the number of targets.", kept.sum() / labels.numel()),
        ("Divide by the number of targets, not of rows.", kept.sum() / len(labels)),
        ("The first label is never scored, so it does not count.", kept.sum() / (labels != IGNORED).sum()),
        ("Labels of -100 are scored as if they were a token.", values.mean()),
        (
            "Token 0 is an ordinary target; only -100 is ignored.",
            values[counted & (labels[:, 1:] != 0)].mean(),
        ),
        ("The sign is wrong: cross-entropy is positive.", -kept.sum() / counted.sum()),
    ]


@behaviour(6)
def test_loss(observe):
    for i, case in enumerate(observe.given["losses"]):
        logits, labels = case["logits"], case["labels"]
        close(
            observe[f"loss/{i}/loss"],
            expected_loss(logits, labels),
            "The loss is not the mean cross-entropy of logits[:, t] and labels[:, t + 1] over all targets.",
            **LOOSE,
            device=observe.device,
            call=f"causal_lm_loss of logits {tuple(logits.shape)}",
            mistakes=loss_mistakes(logits, labels),
        )


@behaviour(6, on_error="The loss must have a gradient to the logits.")
def test_gradient_of_the_loss(observe):
    observe["loss/0/grad"]
    if not holds(observe, test_loss):
        return
    for i, case in enumerate(observe.given["losses"]):
        logits, labels = case["logits"], case["labels"]
        close(
            observe.tensor(f"loss/{i}/grad", "No gradient reaches the logits."),
            expected_grad(logits, labels),
            "The gradient to the logits is wrong.",
            **LOOSE,
            device=observe.device,
            call=f"causal_lm_loss of logits {tuple(logits.shape)}",
        )


# --- pack


def kept_examples(case, targetless=False):
    """Ids and labels after the cut and rule 5, without those that teach nothing."""
    found = []
    for ids, mask in cut(case, case["length"]):
        labels = [t if m and i > 0 else IGNORED for i, (t, m) in enumerate(zip(ids, mask, strict=True))]
        if targetless or any(label != IGNORED for label in labels):
            found.append((ids, labels))
    return found


def place_rows(items, size, policy):
    rows, rooms = [], []
    for item in items:
        n = len(item[0])
        fitting = [i for i, room in enumerate(rooms) if room >= n]
        if policy == "next":
            fitting = [i for i in fitting if i == len(rooms) - 1]
        if policy == "strict":
            fitting = [i for i in fitting if rooms[i] > n]
        if policy == "alone":
            fitting = []
        place = len(rooms)
        if fitting:
            place = min(fitting, key=lambda i: rooms[i]) if policy == "best" else fitting[0]
            if policy == "worst":
                place = max(fitting, key=lambda i: rooms[i])
        else:
            rows.append([])
            rooms.append(size)
        rows[place].append(item)
        rooms[place] -= n
    return rows


def laid_out(case, policy="first", targetless=False, items=None):
    """The four tensors for a way of packing."""
    size = case["length"]
    items = kept_examples(case, targetless) if items is None else items
    if policy == "sorted":
        items = sorted(items, key=lambda item: -len(item[0]))
    rows = place_rows(items, size, policy)
    shape = (len(rows), size)
    out = {
        "input_ids": torch.full(shape, case["pad"]),
        "labels": torch.full(shape, IGNORED),
        "position_ids": torch.zeros(shape, dtype=torch.int64),
        "document_ids": torch.full(shape, -1),
    }
    for r, documents in enumerate(rows):
        start = 0
        for number, (ids, labels) in enumerate(documents):
            here = slice(start, start + len(ids))
            out["input_ids"][r, here] = torch.tensor(ids)
            out["labels"][r, here] = torch.tensor(labels)
            out["position_ids"][r, here] = torch.arange(len(ids))
            out["document_ids"][r, here] = number
            start += len(ids)
    return out


def pack_call(case):
    lengths = ", ".join(str(len(ids)) for ids, _ in case["examples"])
    return f"pack of examples with {lengths} tokens, length={case['length']}"


PLACED = {
    "next": "First fit looks at every open row.",
    "best": "First fit takes the first row with enough room, not the fullest.",
    "worst": "First fit takes the first row with enough room, not the emptiest.",
    "sorted": "Examples are taken in order, not by length.",
    "strict": "An example that fills a row exactly fits.",
    "alone": "Each example got a row of its own: nothing is packed.",
}


@behaviour(7)
def test_packed_rows(observe):
    for i, case in enumerate(observe.given["packs"]):
        want = laid_out(case)
        ids = part(observe, f"pack/fit{i}/batch", "input_ids")
        same(
            ids,
            want["input_ids"],
            "The rows are not those of first fit, filled up with pad_id.",
            [(says, laid_out(case, policy)["input_ids"]) for policy, says in PLACED.items()],
            pack_call(case),
        )
        labels = part(observe, f"pack/fit{i}/batch", "labels")
        starts = (want["position_ids"] == 0) & (want["document_ids"] >= 0)
        if labels.shape == starts.shape:
            labels = torch.where(starts, IGNORED, labels)
        real = want["document_ids"] >= 0
        twice = "The loss shifts already, so you shift twice."
        same(
            labels,
            want["labels"],
            "The labels of pack are not the learned tokens, with -100 elsewhere.",
            [
                (twice, torch.where(starts, IGNORED, shift(want["labels"]))),
                (
                    "The rest of a row must have the label -100.",
                    torch.where(real, want["labels"], case["pad"]),
                ),
                (
                    "Labels where the mask is False must be -100: they are the prompt.",
                    torch.where(real & ~starts, want["input_ids"], IGNORED),
                ),
            ],
            pack_call(case),
        )


@behaviour(8)
def test_packed_positions(observe):
    observe["pack/fit0/batch"]
    if not holds(observe, test_packed_rows):
        return
    for i, case in enumerate(observe.given["packs"]):
        want = laid_out(case)
        real = want["document_ids"] >= 0
        shape = real.shape
        row = torch.arange(shape[1]).expand(shape)
        alone = "Alone, the second conversation would start at 0."
        filled = torch.where(real, want["position_ids"], row)
        start = real.sum(1, keepdim=True)
        same(
            part(observe, f"pack/fit{i}/batch", "position_ids"),
            want["position_ids"],
            "position_ids do not restart at 0 with each example.",
            [
                (alone, row),
                (alone, torch.where(real, row, 0)),
                ("Padding has position 0.", filled),
                ("Padding has position 0.", torch.where(real, want["position_ids"], row - start)),
                ("Positions start at 0, not at 1.", torch.where(real, want["position_ids"] + 1, 0)),
                ("Padding has position 0.", torch.where(real, want["position_ids"], -1)),
            ],
            pack_call(case),
        )


@behaviour(8)
def test_document_ids(observe):
    observe["pack/fit0/batch"]
    if not holds(observe, test_packed_rows):
        return
    for i, case in enumerate(observe.given["packs"]):
        want = laid_out(case)["document_ids"]
        real = want >= 0
        counts = want.amax(1, keepdim=True) + 1
        running = torch.where(real, want + counts.cumsum(0) - counts, -1)
        same(
            part(observe, f"pack/fit{i}/batch", "document_ids"),
            want,
            "document_ids do not number the examples of a row 0, 1, 2, ... with -1 at padding.",
            [
                ("Documents are numbered from 0 in each row; yours are numbered over all rows.", running),
                ("Documents are numbered from 0; yours start at 1.", torch.where(real, want + 1, -1)),
                ("Documents are numbered from 0; yours start at 1, with 0 at padding.", want + 1),
                ("Padding belongs to no document: its id is -1.", torch.where(real, want, 0)),
                ("Padding belongs to no document: its id is -1.", torch.where(real, want, counts)),
                ("Padding belongs to no document: its id is -1.", torch.where(real, want, counts - 1)),
            ],
            pack_call(case),
        )


@behaviour(9)
def test_document_mask(observe):
    for i, documents in enumerate(observe.given["documents"]):
        T = documents.shape[1]
        t = torch.arange(T)
        causal = (t[:, None] >= t)[None]
        itself = (t[:, None] == t)[None]
        linked = documents[:, :, None] == documents[:, None, :]
        real = (documents >= 0)[:, :, None]
        want = (linked & causal & (real | itself))[:, None]
        got = observe.tensor(f"documents/{i}/out", "document_mask returns a tensor.")
        call = f"document_mask of {tuple(documents.shape)}"
        expect(got.dtype == torch.bool, "The mask must be bool.", f"got {got.dtype}")
        expect(
            got.shape == want.shape,
            "The mask has the shape (R, 1, T, T).",
            f"got {tuple(got.shape)} for {tuple(documents.shape)}",
        )
        nothing = "Softmax over nothing is NaN. A padding position attends to itself."
        keys = (documents >= 0)[:, None, :]
        same(
            got,
            want,
            "Position i may attend to j exactly if j <= i and both belong to the same document.",
            [
                (
                    "One conversation reads another one. Yours is a plain causal mask.",
                    causal[:, None].expand(want.shape),
                ),
                (
                    "One conversation reads another one. Yours is causal and only hides padding.",
                    (causal & real & keys)[:, None],
                ),
                (
                    "One conversation reads another one. Yours is causal and only hides padding.",
                    (causal & ((real & keys) | itself))[:, None],
                ),
                (
                    "One conversation reads another one. Yours is causal and only hides padding.",
                    (causal & (keys | itself))[:, None],
                ),
                (nothing, (linked & causal & real)[:, None]),
                (
                    "A padding position attends to itself only, not to other padding.",
                    (linked & causal)[:, None],
                ),
                ("A token must not see later ones: causality is missing.", (linked & real)[:, None]),
                (
                    "A token must not see later ones: causality is missing.",
                    ((linked & real) | itself)[:, None],
                ),
                ("A token must not see later ones: causality is missing.", linked[:, None]),
                ("Every token sees itself: j <= i includes i.", (linked & real & causal & ~itself)[:, None]),
                ("The mask is turned around: True means may attend.", ~want),
                ("Rows and columns are exchanged: i is the row.", want.transpose(2, 3)),
            ],
            call,
        )


@behaviour(10)
def test_batches_are_cut(observe):
    observe["collate/limit0_0/batch"]
    if not holds(observe, test_batches):
        return
    for i, case in enumerate(observe.given["collate"]):
        for j, limit in enumerate(observe.given["limits"]):
            check_batch(observe, f"collate/limit{i}_{j}/batch", case, limit)


@behaviour(10)
def test_packs_are_cut(observe):
    observe["pack/cut0/batch"]
    if not holds(observe, test_packed_rows):
        return
    numbered = holds(observe, test_packed_positions, test_document_ids)
    for i, case in enumerate(observe.given["cuts"]):
        want = laid_out(case)
        size = case["length"]
        fitting = {**case, "examples": [item for item in case["examples"] if len(item[0]) <= size]}
        tails = {**case, "examples": [(ids[-size:], mask[-size:]) for ids, mask in case["examples"]]}
        early, raw = [], []
        for ids, mask in case["examples"]:
            labels = [t if m and k > 0 else IGNORED for k, (t, m) in enumerate(zip(ids, mask, strict=True))]
            if any(label != IGNORED for label in labels):
                early.append((ids[:size], labels[:size]))
            if any(mask[:size]):
                raw.append((ids[:size], labels[:size]))
        nothing = "This row teaches nothing. Leave out examples without a target."
        same(
            part(observe, f"pack/cut{i}/batch", "input_ids"),
            want["input_ids"],
            "Long examples are cut to their first tokens, and those without a target are left out.",
            [
                (nothing, laid_out(case, targetless=True)["input_ids"]),
                (f"{nothing} Look for targets after the cut.", laid_out(case, items=early)["input_ids"]),
                (f"{nothing} The first token is no target.", laid_out(case, items=raw)["input_ids"]),
                ("Long examples are cut, not left out.", laid_out(fitting)["input_ids"]),
                (
                    "Long examples are cut to their first tokens; yours keeps the last ones.",
                    laid_out(tails)["input_ids"],
                ),
            ],
            pack_call(case),
        )
        starts = (want["position_ids"] == 0) & (want["document_ids"] >= 0)
        for name in ("labels", "document_ids", "position_ids"):
            got = part(observe, f"pack/cut{i}/batch", name)
            if name == "labels" and got.shape == starts.shape:
                got = torch.where(starts, IGNORED, got)
            if name != "labels" and not numbered:
                continue
            same(
                got,
                want[name],
                f"The {name} of examples that were cut or left out are wrong.",
                [],
                pack_call(case),
            )


# --- robust


@behaviour(11, on_error="Without any target the loss is 0 and backward works.")
def test_no_target(observe):
    for i in (0, 1):
        for name in ("none", "first"):
            path = f"loss/{name}{i}"
            if name == "first" and not holds(observe, test_loss):
                continue
            close(
                observe[f"{path}/loss"],
                0.0,
                "One empty batch ruins the weights: without any target the loss must be 0.",
                rtol=0.0,
                atol=0.0,
                call="causal_lm_loss with labels of -100"
                + (" behind the first column" if name == "first" else ""),
            )
            grad = observe[f"{path}/grad"]
            expect(
                grad is not None,
                "Without any target backward must give zeros; here the logits get no gradient.",
            )
            expect(
                isinstance(grad, torch.Tensor) and not grad.any(),
                "One empty batch ruins the weights: without any target backward must give zeros.",
            )


@behaviour(11)
def test_bfloat16(observe):
    observe[f"loss/{len(observe.given['losses'])}/loss"]
    if not holds(observe, test_loss):
        return
    case = observe.given["long"]
    path = f"loss/{len(observe.given['losses'])}/loss"
    loss = observe.tensor(path, "The loss is a tensor.")
    expect(
        loss.dtype == torch.float32,
        "The loss of bfloat16 logits is returned in float32.",
        f"got {loss.dtype}",
    )
    close(
        loss,
        expected_loss(case["logits"], case["labels"]),
        "The loss of bfloat16 logits must be computed in float32.",
        **LOOSE,
        device=observe.device,
        call=f"causal_lm_loss of bfloat16 logits {tuple(case['logits'].shape)}",
        mistakes=loss_mistakes(case["logits"], case["labels"]),
    )
    grad = observe.tensor(f"{path.removesuffix('loss')}grad", "No gradient reaches the logits.")
    close(
        grad,
        expected_grad(case["logits"], case["labels"]),
        "The gradient to bfloat16 logits is wrong.",
        rtol=2e-2,
        atol=1e-4,
        device=observe.device,
    )


@behaviour(11, on_error="If pack leaves out everything, it returns tensors of shape (0, length).")
def test_nothing_to_pack(observe):
    case = observe.given["packs"][0]
    for name in ("input_ids", "labels", "position_ids", "document_ids"):
        got = part(observe, "pack/empty/batch", name)
        expect(
            got.shape == (0, case["length"]),
            "If pack leaves out everything, its tensors are (0, length).",
            f"{name} has shape {tuple(got.shape)} for length={case['length']}",
        )


@behaviour(12)
def test_unknown_role(observe):
    observe.raised("errors/role", "ValueError", says="An unknown role must be refused.")


@behaviour(12)
def test_bad_examples(observe):
    sentences = {
        "none": "No examples at all must be refused.",
        "empty": "An example without tokens must be refused.",
        "short_mask": "An example whose mask is shorter than its ids must be refused.",
        "long_mask": "An example whose mask is longer than its ids must be refused.",
    }
    for name, says in sentences.items():
        for function in ("collate", "pack"):
            observe.raised(f"errors/{function}_{name}", "ValueError", says=f"{function}: {says}")
        observe.raised(f"errors/cut_{name}", "ValueError", says=f"collate with a max_length: {says}")


@behaviour(12)
def test_bad_lengths(observe):
    for length in (0, -3):
        observe.raised(
            f"errors/max_length{length}", "ValueError", says="collate: a max_length below 1 must be refused."
        )
        observe.raised(f"errors/length{length}", "ValueError", says="pack: a length below 1 must be refused.")


def plain(value):
    """Tuples as lists: a copy of the inputs may hold either."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


@behaviour(12)
def test_inputs_are_left_alone(observe):
    if "untouched/encode/after" in observe:
        want = [[[role, tokens] for role, tokens in observe.given["chats"][2]], observe.given["special"]]
        expect(plain(observe["untouched/encode/after"]) == want, "encode_chat changed its inputs.")
    cases = {
        "collate0": observe.given["collate"][0],
        "collate1": observe.given["cuts"][0],
        "pack0": observe.given["packs"][0],
        "pack1": observe.given["cuts"][0],
    }
    for name, case in cases.items():
        if f"untouched/{name}/after" in observe:
            says = f"{name[:-1]} changed the caller's lists."
            expect(plain(observe[f"untouched/{name}/after"]) == plain(case["examples"]), says)
    for i, case in enumerate([*observe.given["losses"], observe.given["long"]]):
        if f"loss/plain{i}/after" in observe:
            want = [case["logits"], case["labels"]]
            expect(
                alike(observe[f"loss/plain{i}/after"], want), "causal_lm_loss changed its inputs in place."
            )
    for i, documents in enumerate(observe.given["documents"]):
        if f"documents/{i}/after" in observe:
            expect(
                alike(observe[f"documents/{i}/after"], documents), "document_mask changed its input in place."
            )
