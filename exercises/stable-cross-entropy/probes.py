import torch


def labels(draw, classes, *shape):
    """Targets in which every class comes up, as far as there is room."""
    count = 1
    for n in shape:
        count *= n
    values = torch.cat(
        [draw.permutation(classes)[:count], draw.integers(0, classes, max(0, count - classes))]
    )
    return values[draw.permutation(count)].reshape(shape)


def some_ignored(draw, targets, ignore):
    """A third to a half of the positions become ``ignore``; at least one stays."""
    flat = targets.flatten().clone()
    flat[flat == ignore] = (ignore + 1) % 3
    chosen = draw.permutation(flat.numel())[: draw.integer(flat.numel() // 3 + 1, flat.numel() // 2)]
    flat[chosen] = ignore
    return flat.reshape(targets.shape)


def inputs(draw):
    a, b, c, d = draw.sizes(4)
    cases = []
    for shape, dtype in (
        ((a,), torch.float64),
        ((b,), torch.float32),
        ((a, b), torch.float64),
        ((2, 3, 5), torch.float32),
        ((), torch.float64),
        ((1,), torch.float32),
        ((2, 1, 3), torch.float64),
    ):
        cases.append(
            {
                "logits": draw.normal(*shape, c, scale=2.5, dtype=dtype),
                "targets": labels(draw, c, *shape),
                "up": draw.rand(*shape, low=0.5, high=2.0, dtype=dtype),
            }
        )
    ignored = []
    for ignore in (-100, -1, 1, c + 4, 0):
        targets = some_ignored(draw, labels(draw, c, b, d), ignore)
        logits = draw.normal(b, d, c, scale=2.0, dtype=torch.float64)
        if ignore in (
            -1,
            1,
        ):  # at ignored positions most classes are masked, whichever one is looked up there
            logits[..., torch.arange(c) != 2] = torch.where(
                (targets == ignore)[..., None], -torch.inf, logits[..., torch.arange(c) != 2]
            )
        ignored.append(
            {
                "logits": logits,
                "targets": targets,
                "ignore": ignore,
            }
        )
    order = draw.permutation(3).tolist()
    high = draw.rand(6, 3, low=-2, high=2)
    offsets = torch.tensor([1e4, -1e4, 1e4, -1e4, 0.0, 0.0])
    rows = high + offsets[:, None]
    rows[4] = torch.tensor([1e4, -1e4, 0.0])[order]
    rows[5] = torch.tensor([-1e4, 1e4, 1e4])[order]
    targets = labels(draw, 3, 6)
    targets[4], targets[5] = order.index(1), order.index(0)
    masked = draw.normal(4, c, dtype=torch.float64)
    hole = draw.integers(0, c, 4)
    masked[torch.arange(4), hole] = -torch.inf
    sure = draw.normal(5, c, dtype=torch.float64)
    certain = labels(draw, c, 5)
    sure[torch.arange(2), certain[:2]] += 1000.0
    return {
        "dims": [
            {"logits": draw.normal(*shape, scale=2.5, dtype=dtype), "up": draw.normal(*shape, dtype=dtype)}
            for shape, dtype in (
                ((c,), torch.float64),
                ((a, b), torch.float32),
                ((a, b, c), torch.float64),
                ((2, a, 3, b), torch.float32),
                ((1, a, b, 3), torch.float64),
            )
        ],
        "offset": draw.normal(4, c, dtype=torch.float64)
        + torch.tensor([1000.0, -1000.0, 0.0, -1500.0], dtype=torch.float64)[:, None],
        "cases": cases,
        "ignored": ignored,
        "extreme": {"logits": rows, "targets": targets},
        "masked": {"logits": masked, "targets": (hole + draw.integers(1, c, 4)) % c, "hole": hole},
        "sure": {"logits": sure, "targets": certain},
        "half": [
            {"logits": draw.normal(7, 300, scale=2.0, dtype=dtype), "targets": draw.integers(0, 300, 7)}
            for dtype in (torch.float16, torch.bfloat16)
        ],
        "sequence": {
            "logits": draw.normal(a, b + 1, c, dtype=torch.float64),
            "targets": labels(draw, c, a, b + 1),
        },
    }


def leaf(values):
    return values.clone().requires_grad_()


def probe_log_softmax(code, given, record):
    for i, case in enumerate(given["dims"]):
        for dim in range(-case["logits"].dim(), case["logits"].dim()):
            with record.step(f"{i}/{dim}"):
                logits = leaf(case["logits"])
                result = code.log_softmax(logits, dim)
                record("out", result)
                record("same_device", result.device == logits.device)
                result.backward(case["up"])
                record("grad", logits.grad)
        with record.step(f"{i}/default"):
            record("out", code.log_softmax(case["logits"]))
    with record.step("offset"):
        record("out", code.log_softmax(given["offset"]))
    with record.step("transposed"):
        record("out", code.log_softmax(given["dims"][1]["logits"].t(), dim=1))
    for i, case in enumerate(given["half"]):
        with record.step(f"half{i}"):
            record("out", code.log_softmax(case["logits"]))


def probe_extreme(code, given, record):
    case = given["extreme"]
    with record.step("log_softmax"):
        record("out", code.log_softmax(case["logits"]))
    with record.step("losses"):
        record("out", code.cross_entropy(case["logits"], case["targets"], reduction="none"))
        record("mean", code.cross_entropy(case["logits"], case["targets"], reduction="mean"))
    for reduction in ("mean", "sum"):
        with record.step(reduction):
            logits = leaf(case["logits"])
            code.cross_entropy(logits, case["targets"], reduction=reduction).backward()
            record("grad", logits.grad)
    with record.step("masked"):
        record("out", code.log_softmax(given["masked"]["logits"]))
    for reduction in ("mean", "none"):
        with record.step(f"masked_{reduction}"):
            logits = leaf(given["masked"]["logits"])
            loss = code.cross_entropy(logits, given["masked"]["targets"], reduction=reduction)
            record("loss", loss)
            loss.sum().backward()
            record("grad", logits.grad)
    with record.step("hit"):
        record("loss", code.cross_entropy(given["masked"]["logits"], given["masked"]["hole"], "none"))
    with record.step("sure"):
        record(
            "loss", code.cross_entropy(given["sure"]["logits"], given["sure"]["targets"], reduction="mean")
        )


def probe_cases(code, given, record):
    for i, case in enumerate(given["cases"]):
        for reduction in ("mean", "sum", "none"):
            with record.step(f"{i}/{reduction}"):
                logits = leaf(case["logits"])
                loss = code.cross_entropy(logits, case["targets"], reduction)
                record("loss", loss)
                loss.backward(case["up"] if reduction == "none" else None)
                record("grad", logits.grad)
        with record.step(f"{i}/default"):
            record("loss", code.cross_entropy(case["logits"], case["targets"]))
    with record.step("sequence"):
        logits, targets = given["sequence"]["logits"], given["sequence"]["targets"]
        record("loss", code.cross_entropy(logits[:, :-1], targets[:, 1:]))


def probe_ignored(code, given, record):
    for i, case in enumerate(given["ignored"]):
        more = {} if case["ignore"] == -100 else {"ignore_index": case["ignore"]}
        for reduction in ("mean", "sum", "none"):
            with record.step(f"{i}/{reduction}"):
                logits = leaf(case["logits"])
                loss = code.cross_entropy(logits, case["targets"].clone(), reduction=reduction, **more)
                record("loss", loss)
                loss.sum().backward()
                record("grad", logits.grad)
        for reduction in ("mean", "sum", "none"):
            with record.step(f"all{i}/{reduction}"):
                logits = leaf(case["logits"])
                targets = torch.full_like(case["targets"], case["ignore"])
                loss = code.cross_entropy(logits, targets, reduction=reduction, **more)
                record("loss", loss)
                if loss.requires_grad:
                    loss.sum().backward()
                record("grad", logits.grad)


def probe_half(code, given, record):
    for i, case in enumerate(given["half"]):
        for reduction in ("mean", "sum", "none"):
            with record.step(f"{i}/{reduction}"):
                logits = leaf(case["logits"])
                loss = code.cross_entropy(logits, case["targets"], reduction=reduction)
                record("loss", loss)
                loss.sum().backward()
                record("grad", logits.grad)


def probe_untouched(code, given, record):
    for i, case in enumerate(given["ignored"]):
        for name, call in {
            "log_softmax": lambda logits, targets, ignore: code.log_softmax(logits),
            "mean": lambda logits, targets, ignore: code.cross_entropy(logits, targets, "mean", ignore),
            "sum": lambda logits, targets, ignore: code.cross_entropy(logits, targets, "sum", ignore),
            "none": lambda logits, targets, ignore: code.cross_entropy(logits, targets, "none", ignore),
        }.items():
            with record.step(f"{i}/{name}"):
                logits, targets = case["logits"].clone(), case["targets"].clone()
                call(logits, targets, case["ignore"])
                record("logits", logits)
                record("targets", targets)


def probe_errors(code, given, record):
    case = given["cases"][2]
    logits, targets = case["logits"], case["targets"]
    classes = logits.shape[-1]

    def changed(value):
        result = targets.clone()
        result[-1, -1] = value
        return result

    record.raises("reduction", lambda: code.cross_entropy(logits, targets, reduction="average"))
    record.raises("capital", lambda: code.cross_entropy(logits, targets, reduction="Mean"))
    record.raises("batchmean", lambda: code.cross_entropy(logits, targets, reduction="batchmean"))
    record.raises("no_reduction", lambda: code.cross_entropy(logits, targets, reduction=""))
    record.raises("extra", lambda: code.cross_entropy(logits, targets.unsqueeze(-1)))
    record.raises("missing", lambda: code.cross_entropy(logits, targets[0]))
    record.raises("swapped", lambda: code.cross_entropy(logits, targets.t()))
    record.raises("flat", lambda: code.cross_entropy(logits, targets.flatten()))
    record.raises("one", lambda: code.cross_entropy(logits, targets[:, :1]))
    record.raises("onehot", lambda: code.cross_entropy(logits, torch.zeros_like(logits, dtype=torch.int64)))
    record.raises("c", lambda: code.cross_entropy(logits, changed(classes)))
    record.raises("minus_one", lambda: code.cross_entropy(logits, changed(-1)))
    record.raises("minus_one_none", lambda: code.cross_entropy(logits, changed(-1), reduction="none"))
    record.raises("other_ignore", lambda: code.cross_entropy(logits, changed(-100), ignore_index=-1))
    record.raises(
        "beyond_ignore", lambda: code.cross_entropy(logits, changed(classes + 1), ignore_index=classes)
    )
