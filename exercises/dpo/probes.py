import torch


def sequence(draw, batch, length, vocab, counted, dtype=torch.float32, scale=2.0):
    """Logits and labels; `counted` lists per row the positions that keep their id."""
    ids = draw.integers(0, vocab, batch, length)
    labels = torch.full((batch, length), -100)
    for row, positions in enumerate(counted):
        for position in positions:
            labels[row, position] = ids[row, position]
    # Id 0 is scored for certain, and the first label is set although it is never scored.
    labels[0, counted[0][-1]] = 0
    labels[1, 0] = ids[1, 0]
    return {"logits": draw.normal(batch, length, vocab, scale=scale, dtype=dtype), "labels": labels}


def pairs(draw, count, spread, dtype=torch.float32):
    names = ("policy_chosen", "policy_rejected", "ref_chosen", "ref_rejected")
    base = {name: draw.normal(count, scale=spread, shift=-40.0, dtype=torch.float64) for name in names}
    return {name: value.to(dtype) for name, value in base.items()}


def inputs(draw):
    vocab = draw.sizes(1, 9, 13)[0]
    masked = sequence(draw, 4, 11, vocab, [range(4, 9), range(2, 11), [3, 5, 6, 9], [7, 8]])
    full = sequence(draw, 3, 7, vocab, [range(7), range(7), range(7)])
    double = sequence(draw, 3, 7, vocab, [range(2, 7), [1, 6], range(3, 5)], dtype=torch.float64)
    long = sequence(draw, 2, 190, 13, [range(1, 190), range(30, 190)], scale=1.0)
    steep = sequence(draw, 2, 6, vocab, [range(1, 6), range(2, 6)])
    steep["logits"] = steep["logits"].sign() * 1e4 + steep["logits"]
    kinds = [0, 1, 2, 3, 4, *(draw.integer(0, 3) for _ in range(draw.integer(1, 6)))]
    return {
        "kinds": torch.tensor(draw.shuffled(kinds)),
        "masked": masked,
        "full": full,
        "double": double,
        "long": long["logits"],
        "long_labels": long["labels"],
        "steep": steep,
        "pairs": [
            {**pairs(draw, draw.integer(5, 9), 3.0), "beta": draw.uniform(0.15, 0.6)} for _ in range(3)
        ],
        "pairs_double": {**pairs(draw, 5, 3.0, torch.float64), "beta": draw.uniform(0.15, 0.6)},
        "smoothing": draw.uniform(0.1, 0.3),
        "extreme": torch.tensor(
            [draw.uniform(1500.0, 2500.0), -draw.uniform(1500.0, 2500.0), 150.0, -150.0, 30.0]
        ),
    }


def probe_logprobs(code, given, record):
    for name in ("masked", "full", "double"):
        case = given[name]
        with record.step(name):
            logits, labels = case["logits"].clone().requires_grad_(), case["labels"].clone()
            out = code.sequence_logprobs(logits, labels)
            record("out", out)
            record("untouched", [[logits, labels], [case["logits"], case["labels"]]])
            weights = torch.arange(1, len(out) + 1, device=out.device, dtype=out.dtype)
            (out * weights).sum().backward()
            record("grad", logits.grad)


def probe_layouts(code, given, record):
    case = given["masked"]
    with record.step("plain"):  # logits without a gradient, as those of the reference model
        logits, labels = case["logits"].clone(), case["labels"].clone()
        record("out", code.sequence_logprobs(logits, labels))
        record("untouched", [[logits, labels], [case["logits"], case["labels"]]])
    with record.step("transposed"):
        logits = case["logits"].transpose(0, 1).contiguous().transpose(0, 1)
        labels = case["labels"].T.contiguous().T
        record("out", code.sequence_logprobs(logits, labels))
    with record.step("single"):
        record("out", code.sequence_logprobs(case["logits"][:1], case["labels"][:1]))
    case = given["full"]
    with record.step("two"):  # one scored label per row: dimensions of size 1 come and go
        record("out", code.sequence_logprobs(case["logits"][:, :2], case["labels"][:, :2]))


def probe_nothing(code, given, record):
    case = given["masked"]
    with record.step("unlabelled"):
        labels = case["labels"].clone()
        labels[2] = -100
        logits = case["logits"].clone().requires_grad_()
        out = code.sequence_logprobs(logits, labels)
        record("out", out)
        out.sum().backward()
        record("grad", logits.grad)
    with record.step("first_only"):
        labels = torch.full_like(case["labels"], -100)
        labels[:, 0] = 1
        record("out", code.sequence_logprobs(case["logits"], labels))
    with record.step("one"):
        record("out", code.sequence_logprobs(case["logits"][:, :1], case["labels"].abs()[:, :1] % 5))
    with record.step("one_half"):
        logits = case["logits"][:, :1].to(torch.bfloat16)
        record("out", code.sequence_logprobs(logits, case["labels"].abs()[:, :1] % 5))


def probe_half(code, given, record):
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        with record.step(name):
            record("out", code.sequence_logprobs(given["long"].to(dtype), given["long_labels"].clone()))
    with record.step("steep"):
        logits = given["steep"]["logits"].clone().requires_grad_()
        out = code.sequence_logprobs(logits, given["steep"]["labels"])
        record("out", out)
        out.sum().backward()
        record("grad", logits.grad)


NAMES = ("policy_chosen", "policy_rejected", "ref_chosen", "ref_rejected")


def run(code, case, record, **options):
    leaves = [case[name].clone().requires_grad_() for name in NAMES]
    loss, chosen, rejected, accuracy = code.dpo_loss(*leaves, **options)
    record("loss", loss)
    record("chosen", chosen)
    record("rejected", rejected)
    record("accuracy", accuracy)
    record("graphs", [getattr(t, "requires_grad", False) for t in (chosen, rejected, accuracy)])
    loss.backward()
    for name, leaf in zip(NAMES, leaves, strict=True):
        record(f"grad_{name}", leaf.grad)
    record("untouched", [leaves, [case[name] for name in NAMES]])
    record("flags", [leaf.requires_grad for leaf in leaves])


def probe_loss(code, given, record):
    for i, case in enumerate([*given["pairs"], given["pairs_double"]]):
        with record.step(f"plain{i}"):
            run(code, case, record, beta=case["beta"])
        with record.step(f"smooth{i}"):
            run(code, case, record, beta=case["beta"], label_smoothing=given["smoothing"])
    with record.step("default"):
        run(code, given["pairs"][0], record)
    with record.step("values"):  # nothing requires a gradient, as in an evaluation
        case = given["pairs"][0]
        values = [case[name].clone() for name in NAMES]
        record("loss", code.dpo_loss(*values, beta=case["beta"])[0])
        record("untouched", [values, [case[name] for name in NAMES]])
    with record.step("same"):
        case = given["pairs"][0]
        same = (case["policy_chosen"], case["policy_rejected"]) * 2
        record("loss", code.dpo_loss(*same, beta=case["beta"])[0])


def probe_half_pairs(code, given, record):
    case = given["pairs"][0]
    names = ("policy_chosen", "policy_rejected", "ref_chosen", "ref_rejected")
    with record.step("bfloat16"):
        loss, chosen, rejected, _ = code.dpo_loss(*(case[name].to(torch.bfloat16) for name in names))
        record("dtypes", [str(t.dtype) for t in (loss, chosen, rejected)])


def probe_extreme(code, given, record):
    margins = given["extreme"]
    zeros = torch.zeros_like(margins)
    case = {"policy_chosen": margins, "policy_rejected": zeros, "ref_chosen": zeros, "ref_rejected": zeros}
    for name, smoothing in (("plain", 0.0), ("smooth", given["smoothing"])):
        with record.step(name):
            run(code, case, record, beta=1.0, label_smoothing=smoothing)
    for i in range(len(margins)):
        with record.step(f"single{i}"):
            one = {key: value[i : i + 1] for key, value in case.items()}
            run(code, one, record, beta=1.0)


def probe_accuracy(code, given, record):
    # Rewards 2 > 1, a tie, 1 < 2, and two pairs that raw log-probabilities would rank the other way round.
    kinds = given["kinds"]
    policy_chosen = torch.tensor([-10.0, -10.0, -11.0, -20.0, -9.0], device=record.device)[kinds]
    ref_chosen = torch.tensor([-14.0, -12.0, -13.0, -30.0, -4.0], device=record.device)[kinds]
    policy_rejected = torch.tensor([-9.0, -8.0, -10.0, -5.0, -12.0], device=record.device)[kinds]
    ref_rejected = torch.tensor([-11.0, -10.0, -14.0, -4.0, -10.0], device=record.device)[kinds]
    out = code.dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.5)[3]
    record("value", out)
    with record.step("close"):  # rewards that differ by 2**-12
        near = policy_chosen + 2.0**-11
        record("value", code.dpo_loss(near, policy_chosen, ref_chosen, ref_chosen, beta=0.5)[3])


def probe_errors(code, given, record):
    a = torch.zeros(4, device=record.device)
    logits = torch.zeros(2, 5, 3, device=record.device)
    labels = torch.zeros(2, 5, dtype=torch.int64, device=record.device)
    calls = {
        "beta_zero": lambda: code.dpo_loss(a, a, a, a, beta=0.0),
        "beta_negative": lambda: code.dpo_loss(a, a, a, a, beta=-0.1),
        "smoothing_negative": lambda: code.dpo_loss(a, a, a, a, label_smoothing=-0.1),
        "smoothing_half": lambda: code.dpo_loss(a, a, a, a, label_smoothing=0.5),
        "length": lambda: code.dpo_loss(a, a[:3], a, a),
        "broadcast": lambda: code.dpo_loss(a, a, a, a[:1]),
        "two_dims": lambda: code.dpo_loss(a[:, None], a[:, None], a[:, None], a[:, None]),
        "no_dims": lambda: code.dpo_loss(a[0], a[0], a[0], a[0]),
        "one_two_dims": lambda: code.dpo_loss(a, a, a[None], a),
        "labels_short": lambda: code.sequence_logprobs(logits, labels[:, :4]),
        "labels_batch": lambda: code.sequence_logprobs(logits, labels[:1]),
        "labels_turned": lambda: code.sequence_logprobs(logits, labels.T),
        "labels_dims": lambda: code.sequence_logprobs(logits, labels[0]),
        "logits_dims": lambda: code.sequence_logprobs(logits[0], labels[0]),
        "logits_four_dims": lambda: code.sequence_logprobs(logits[None], labels[None]),
    }
    for name, call in calls.items():
        record.raises(name, call)
