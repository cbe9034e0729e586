from quizapp.judge.testing.probes import number


def measured(draw, signal, noise, small, large):
    """Two batch sizes with the squared gradient norms that they give; the judge keeps G and S."""
    G, S = draw.uniform(*signal), draw.uniform(*noise)
    sizes = draw.integer(*small), draw.integer(*large)
    return {
        "small": [G + S / sizes[0], sizes[0]],
        "large": [G + S / sizes[1], sizes[1]],
        "kept": {"G": G, "S": S},
    }


def inputs(draw):
    return {
        "sizes": [[draw.integer(3, 70), draw.integer(3, 30), draw.integer(3, 700)] for _ in range(4)],
        "rates": [
            {"lr": draw.uniform(1e-4, 0.5), "base": base, "batch": batch}
            for base, batch in (
                (256, draw.choice([384, 320, 448])),
                (draw.integer(200, 300), draw.integer(2000, 9000)),
                (draw.integer(900, 5000), draw.integer(20, 300)),
                (draw.integer(33, 61), draw.integer(67, 119)),
            )
        ],
        "norms": [measured(draw, (0.5, 4.0), (40.0, 900.0), (3, 20), (50, 900)) for _ in range(4)],
        "close": measured(draw, (0.5, 4.0), (40.0, 90.0), (1, 1), (2, 2)),
        "signal": measured(draw, (300.0, 900.0), (0.5, 4.0), (2, 4), (8, 16)),
        "tiny": measured(draw, (0.5e-9, 4.0e-9), (40.0e-9, 900.0e-9), (3, 20), (50, 900)),
        "up": {"low": draw.uniform(1.0, 2.0), "high": draw.uniform(2.5, 4.0)},
    }


def probe_size(code, given, record):
    for i, (micro, accum, world) in enumerate(given["sizes"]):
        with record.step(i):
            record("all", code.effective_batch_size(micro, accum, world))
            record("keywords", code.effective_batch_size(micro, world_size=world, accum_steps=accum))
            record("micro", code.effective_batch_size(micro))
            record("accum", code.effective_batch_size(micro, accum))
    with record.step("ones"):
        record("value", code.effective_batch_size(1, 1, 1))


def probe_rate(code, given, record):
    for i, case in enumerate(given["rates"]):
        lr, base, batch = case["lr"], case["base"], case["batch"]
        with record.step(i):
            record("default", number(code.scaled_lr(lr, base, batch)))
            record("linear", number(code.scaled_lr(lr, base, batch, rule="linear")))
            record("sqrt", number(code.scaled_lr(lr, base, batch, rule="sqrt")))
            record("equal", number(code.scaled_lr(lr, base, base, "sqrt")))


def probe_cap(code, given, record):
    for i, case in enumerate(given["rates"]):
        lr, base, batch = case["lr"], case["base"], case["batch"]
        for rule, factor in (("linear", batch / base), ("sqrt", (batch / base) ** 0.5)):
            with record.step(f"{rule}{i}"):
                record("below", number(code.scaled_lr(lr, base, batch, rule, 0.7 * lr * factor)))
                record("above", number(code.scaled_lr(lr, base, batch, rule, max_lr=1.3 * lr * factor)))
                record("same_batch", number(code.scaled_lr(lr, base, base, rule, 0.7 * lr)))


def probe_noise(code, given, record):
    for i, case in enumerate([*given["norms"], given["close"], given["tiny"], given["signal"]]):
        with record.step(i):
            record("small_first", number(code.noise_scale(*case["small"], *case["large"])))
        with record.step(f"swapped{i}"):
            record("large_first", number(code.noise_scale(*case["large"], *case["small"])))
    with record.step("whole"):
        record("value", number(code.noise_scale(12, 10, 3, 100)))


def probe_limits(code, given, record):
    low, high = given["up"]["low"], given["up"]["high"]
    cases = {
        "growing": (low, 10, high, 100),
        "growing_swapped": (high, 100, low, 10),
        "equal": (low, 10, low, 100),
        "both_zero": (0.0, 10, 0.0, 100),
        "g_negative": (100 * low, 10, low, 100),
        "g_negative_swapped": (low, 100, 100 * low, 10),
        "g_zero": (8.0, 16, 2.0, 64),
        "zero_norm": (high, 10, 0.0, 100),
    }
    for name, arguments in cases.items():
        with record.step(name):
            record("value", number(code.noise_scale(*arguments)))


def probe_errors(code, given, record):
    size, rate, noise = code.effective_batch_size, code.scaled_lr, code.noise_scale
    calls = {
        "micro": lambda: size(0),
        "accum": lambda: size(4, 0),
        "world": lambda: size(4, 2, 0),
        "negative_pair": lambda: size(-4, -2, 3),
        "negative_micro": lambda: size(-4),
        "negative_accum": lambda: size(4, -1, 2),
        "negative_world": lambda: size(4, 1, -2),
        "negative_base_batch": lambda: rate(0.1, -256, 512),
        "negative_batch": lambda: rate(0.1, 256, -512),
        "negative_batch_a": lambda: noise(12.0, -10, 3.0, 100),
        "negative_batch_b": lambda: noise(12.0, 10, 3.0, -100),
        "base_lr": lambda: rate(0.0, 256, 512),
        "negative_lr": lambda: rate(-0.1, 256, 512),
        "max_lr": lambda: rate(0.1, 256, 512, "linear", 0.0),
        "negative_max_lr": lambda: rate(0.1, 256, 512, "sqrt", -1.0),
        "base_batch": lambda: rate(0.1, 0, 512),
        "batch": lambda: rate(0.1, 256, 0),
        "rule": lambda: rate(0.1, 256, 512, "cubic"),
        "rule_case": lambda: rate(0.1, 256, 512, "linear_sqrt"),
        "rule_capital": lambda: rate(0.1, 256, 512, "Linear"),
        "rule_same_batch": lambda: rate(0.1, 256, 256, "cubic"),
        "norm_a": lambda: noise(-1.0, 10, 3.0, 100),
        "norm_b": lambda: noise(12.0, 10, -1.0, 100),
        "batch_a": lambda: noise(12.0, 0, 3.0, 100),
        "batch_b": lambda: noise(12.0, 10, 3.0, 0),
        "same_batch": lambda: noise(12.0, 10, 3.0, 10),
        "same_batch_same_norm": lambda: noise(3.0, 10, 3.0, 10),
    }
    for name, call in calls.items():
        record.raises(name, call)
    with record.step("valid"):
        record("micro", size(1, 1, 1))
        record("rates", [number(rate(0.1, 1, 4)), number(rate(0.1, 4, 1))])
        record("noise", [number(noise(12.0, 1, 3.0, 100)), number(noise(0.02, 10, 0.005, 100))])
