import torch


def labels(draw, count, classes):
    """Targets that hold every class where there is room, in random order."""
    base = [i % classes for i in range(count)]
    return torch.tensor(draw.shuffled(base))


def inputs(draw):
    cases = []
    for _ in range(3):
        n, k = draw.sizes(2, 5, 11)
        cases.append(
            {
                "logits": draw.normal(n, k, scale=2.5),
                "targets": labels(draw, n, k),
                "eps": draw.uniform(0.05, 0.4),
            }
        )
    k = draw.integer(5, 7)
    one = {
        "logits": draw.normal(1, k, scale=2.0),
        "targets": draw.integers(0, k, 1),
        "eps": draw.uniform(0.1, 0.3),
    }
    known = labels(draw, 8, k)
    sure = {  # every prediction is right
        "logits": draw.normal(8, k) + 9.0 * torch.nn.functional.one_hot(known, k),
        "targets": known,
        "eps": draw.uniform(0.1, 0.3),
    }
    huge = draw.normal(7, 5)
    huge = torch.where(huge > 0, 1e4, -1e4) + draw.normal(7, 5)
    return {
        "cases": [*cases, one, sure],
        "double": {
            "logits": draw.normal(6, 5, dtype=torch.float64),
            "targets": labels(draw, 6, 5),
            "eps": 0.2,
        },
        "shifted": {
            "logits": draw.normal(7, 5) + torch.tensor([1e4, -1e4, 0.0, -1e4, 1e4, 0.0, -3e3])[:, None],
            "targets": labels(draw, 7, 5),
            "eps": draw.uniform(0.1, 0.3),
        },
        "huge": {"logits": huge, "targets": labels(draw, 7, 5), "eps": draw.uniform(0.1, 0.3)},
        "floors": [
            [draw.integer(2, 3), draw.uniform(0.05, 0.2)],
            [draw.integer(5, 40), draw.uniform(0.2, 0.5)],
            [1000, 0.1],
        ],
    }


def probe_targets(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            targets, classes = case["targets"], case["logits"].shape[1]
            before = targets.clone()
            out = code.smooth_targets(targets, classes, case["eps"])
            record("out", out)
            record("same_device", out.device == targets.device)
            record("default", code.smooth_targets(targets, classes))
            record("untouched", [before, targets])
            first = code.smooth_targets(targets, classes, case["eps"])
            kept = first.clone()
            code.smooth_targets(targets.flip(0), classes, case["eps"])
            record("kept", [kept, first])
    with record.step("more_classes"):
        record("out", code.smooth_targets(given["cases"][0]["targets"], 13, 0.25))
    with record.step("eps_zero"):
        record("out", code.smooth_targets(given["cases"][0]["targets"], 11, 0.0))


def probe_loss(code, given, record):
    for i, case in enumerate([*given["cases"], given["double"]]):
        with record.step(i):
            logits, targets = case["logits"], case["targets"]
            before = logits.clone(), targets.clone()
            record("loss", code.smoothed_cross_entropy(logits, targets, case["eps"]))
            record("default", code.smoothed_cross_entropy(logits, targets))
            record("plain", code.smoothed_cross_entropy(logits, targets, 0.0))
            record("untouched", [before, (logits, targets)])
            record("flags", [logits.requires_grad, targets.requires_grad])
            wide = torch.stack([logits, logits], dim=2)[:, :, 0]
            record("strided", code.smoothed_cross_entropy(wide, targets, case["eps"]))


def probe_huge(code, given, record):
    for name, key, plain in (
        ("smooth", "huge", False),
        ("plain", "huge", True),
        ("shifted", "shifted", False),
    ):
        case = given[key]
        eps = 0.0 if plain else case["eps"]
        with record.step(name):
            logits = case["logits"].clone().requires_grad_()
            loss = code.smoothed_cross_entropy(logits, case["targets"], eps)
            record("loss", loss)
            loss.backward()
            record("grad", logits.grad)


def probe_gradient(code, given, record):
    for i, case in enumerate([*given["cases"], given["double"]]):
        with record.step(i):
            logits = case["logits"].clone().requires_grad_()
            code.smoothed_cross_entropy(logits, case["targets"], case["eps"]).backward()
            record("grad", logits.grad)


def probe_floor(code, given, record):
    for i, (classes, eps) in enumerate(given["floors"]):
        with record.step(i):
            record("value", code.loss_floor(classes, eps))
            record("default", code.loss_floor(classes))
            record("zero", code.loss_floor(classes, 0.0))


def probe_errors(code, given, record):
    targets = torch.tensor([0, 2, 1], device=record.device)
    logits = torch.zeros(3, 3, device=record.device)
    smooth, loss, floor = code.smooth_targets, code.smoothed_cross_entropy, code.loss_floor
    calls = {
        "smooth_eps_low": lambda: smooth(targets, 3, -0.1),
        "smooth_eps_one": lambda: smooth(targets, 3, 1.0),
        "smooth_classes": lambda: smooth(torch.zeros_like(targets), 1, 0.1),
        "smooth_target_high": lambda: smooth(targets, 2, 0.1),
        "smooth_target_low": lambda: smooth(targets - 1, 3, 0.1),
        "loss_eps_low": lambda: loss(logits, targets, -0.1),
        "loss_eps_one": lambda: loss(logits, targets, 1.0),
        "loss_eps_high": lambda: loss(logits, targets, 1.5),
        "loss_target_high": lambda: loss(logits, targets + 1, 0.1),
        "loss_target_low": lambda: loss(logits, targets - 1, 0.1),
        "loss_length": lambda: loss(logits, targets[:2], 0.1),
        "loss_length_one": lambda: loss(logits, targets[:1], 0.1),
        "loss_length_more": lambda: loss(logits[:2], targets, 0.1),
        "smooth_target_ignored": lambda: smooth(torch.full_like(targets, -100), 3, 0.1),
        "loss_target_ignored": lambda: loss(logits, torch.tensor([0, -100, 1], device=record.device), 0.1),
        "floor_eps_low": lambda: floor(3, -0.1),
        "floor_eps_one": lambda: floor(3, 1.0),
        "floor_classes": lambda: floor(1, 0.1),
    }
    for name, call in calls.items():
        record.raises(name, call)
    with record.step("two_classes"):
        record("rows", smooth(torch.tensor([0, 1, 1], device=record.device), 2, 0.1))
        record(
            "loss",
            loss(torch.zeros(3, 2, device=record.device), torch.tensor([0, 1, 1], device=record.device), 0.1),
        )
        record("floor", floor(2, 0.1))
