def exact_limits(draw):
    """Limits that are hit exactly, and where flooring a float quotient loses a parameter."""
    found = [{"N": 6, "stage": 2, "bytes": (2, 2, 12), "act": 0, "gpu": 130026, "kept": {"P": 30006}}]
    rounded, floored = [], []
    for _ in range(4000):
        if len(found) >= 7 and len(rounded) >= 3 and len(floored) >= 3:
            break
        n, stage = draw.choice([3, 5, 6, 7, 9, 12, 24, 48]), draw.integer(1, 3)
        p, g, o = draw.choice([2, 0.5, 4, 1]), draw.choice([2, 4, 0.5]), draw.choice([12, 6, 8, 2.5])
        count = n * draw.integer(1000, 900000)
        total = count * p / (n if stage > 2 else 1) + count * g / (n if stage > 1 else 1) + count * o / n
        rate = p / (n if stage > 2 else 1) + g / (n if stage > 1 else 1) + o / n
        act = draw.choice([0, draw.integer(1, 10**6)])
        case = {"N": n, "stage": stage, "bytes": (p, g, o), "act": act, "gpu": total + act}
        case["kept"] = {"P": count}
        best = total / count  # the float next to the exact bytes per parameter
        if len(rounded) < 3 and count * best > total:
            rounded.append(case)
        elif len(floored) < 3 and int(total / best) != count:
            floored.append(case)
        elif len(found) < 7 and (int(total / rate) != count or total // rate != count):
            found.append(case)
    return found + rounded + floored


def inputs(draw):
    odd = [3, 5, 6, 7, 10, 12, 24, 96]
    sizes = [
        {"P": draw.integer(10**6, 10**9), "N": draw.choice(odd), "bytes": (2, 2, 12)},
        {"P": draw.integer(10**6, 10**9), "N": draw.choice(odd), "bytes": (4, 4, 8)},
        {"P": draw.integer(10**6, 10**9), "N": draw.choice(odd), "bytes": (2, 4, 6)},
        {"P": draw.integer(10**6, 10**9), "N": draw.choice(odd), "bytes": (0.5, 2, 1.25)},
        {"P": draw.integer(10**6, 10**9), "N": 1, "bytes": (1, 4, 12)},
        {"P": draw.integer(10**6, 10**9), "N": draw.choice(odd), "bytes": (0.515625, 2, 2.0625)},
    ]
    stages = []
    for sizes_of in ((2, 2, 12), (4, 4, 8), (0.5, 2, 6)):
        count, n = 1024 * draw.integer(1000, 90000), draw.choice([2, 4, 8, 64])
        p, g, o = sizes_of
        # Sizes of a GPU that one stage fills exactly; in random order, which stage is the answer.
        gpus = [count * each for each in (p + g + o, p + g + o / n, p + (g + o) / n, (p + g + o) / n)]
        act = draw.integer(10**4, 10**8)
        stages.append({"P": count, "N": n, "bytes": sizes_of, "act": act, "gpus": draw.shuffled(gpus)})
    free = []
    for i in range(8):
        free.append(
            {
                "gpu": draw.integer(10**6, 10**11),
                "act": draw.integer(0, 10**6) if i % 2 else 0,
                "N": draw.choice(odd) if i else 1,
                "stage": i % 4,
                "bytes": draw.choice([(2, 2, 12), (4, 4, 8), (2, 4, 6), (0.5, 2, 1.25)]),
            }
        )
    free.append({"gpu": 80 * 10**9, "act": 0, "N": 4096, "stage": 3, "bytes": (0.5, 0, 0)})
    free.append({"gpu": 17, "act": 1, "N": 1, "stage": 0, "bytes": (2, 2, 12)})
    free.append({"gpu": 10, "act": 0, "N": 64, "stage": 3, "bytes": (2, 2, 12)})
    free.append({"gpu": 48 - 2**-47, "act": 0, "N": 1, "stage": 0, "bytes": (2, 2, 12)})
    free.append({"gpu": 17, "act": 2, "N": 1, "stage": 0, "bytes": (2, 2, 12)})
    return {"sizes": sizes, "stages": stages, "exact": exact_limits(draw), "free": free}


def number(value):
    """A numpy float is a float and an IntEnum's member an int; everything else is recorded as it is."""
    if isinstance(value, float):
        return float(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def named(sizes):
    return dict(zip(("param_bytes", "grad_bytes", "optim_bytes"), sizes, strict=True))


def probe_bytes(code, given, record):
    for i, case in enumerate(given["sizes"]):
        for stage in range(4):
            with record.step(f"{i}/{stage}"):
                options = named(case["bytes"]) if i else {}
                record("size", number(code.model_state_bytes(case["P"], case["N"], stage, **options)))
    with record.step("examples"):
        record("seven", number(code.model_state_bytes(7_000_000_000, 64, 0)))
        record("thirteen", [number(code.model_state_bytes(13_000_000_000, 8, s)) for s in (1, 2, 3)])
    with record.step("tiny"):
        record("third", number(code.model_state_bytes(1, 3, 3)))
        record("none", number(code.model_state_bytes(0, 4, 2)))


def probe_stages(code, given, record):
    def fits(*arguments, **options):
        return number(code.lowest_stage_that_fits(*arguments, **options))

    for i, case in enumerate(given["stages"]):
        params, n, act, options = case["P"], case["N"], case["act"], named(case["bytes"]) if i else {}
        for k, gpu in enumerate(case["gpus"]):
            with record.step(f"{i}/{k}"):
                record("plain", [fits(params, n, gpu, **options), fits(params, n, gpu - 1, **options)])
                record(
                    "act",
                    [
                        fits(params, n, gpu + act, act, **options),
                        fits(params, n, gpu + act - 1, act, **options),
                    ],
                )
    with record.step("ends"):
        record(
            "results",
            [
                fits(1000, 1, 16000),
                fits(1000, 1, 15999),
                fits(1000, 4, 10**6),
                fits(0, 4, 0),
                fits(1000, 4, 5000.0, activation_bytes=5000.5),
            ],
        )


def probe_limit(code, given, record):
    for i, case in enumerate(given["exact"]):
        n, stage, act, options = case["N"], case["stage"], case["act"], named(case["bytes"])
        with record.step(f"exact{i}"):
            record("at", code.max_params(case["gpu"], n, stage, act, **options))
            record("below", code.max_params(case["gpu"] - 0.015625, n, stage, act, **options))
    for i, case in enumerate(given["free"]):
        with record.step(f"free{i}"):
            options = named(case["bytes"])
            record("count", code.max_params(case["gpu"], case["N"], case["stage"], case["act"], **options))
    with record.step("default"):
        record("count", code.max_params(80e9, 7, 1))
    with record.step("fraction"):  # 31.5 and 32 bytes are left for 16 per parameter
        record("counts", [code.max_params(32.25, 1, 0, 0.75), code.max_params(32.75, 1, 0, 0.75)])
    for stage in range(4):
        with record.step(f"full{stage}"):
            record("equal", code.max_params(5000, 4, stage, 5000))
            record("above", code.max_params(5000.0, 4, stage, activation_bytes=7500.5))
            record("zero", code.max_params(0, 4, stage))


def probe_errors(code, given, record):
    good = {
        "model_state_bytes": {"params": 10, "world_size": 2, "stage": 1},
        "lowest_stage_that_fits": {"params": 10, "world_size": 2, "gpu_bytes": 500},
        "max_params": {"gpu_bytes": 500, "world_size": 2, "stage": 1},
    }
    for name, arguments in good.items():
        bad = {"world_zero": {"world_size": 0}, "world_negative": {"world_size": -2}}
        if "stage" in arguments:
            bad |= {"stage_four": {"stage": 4}, "stage_negative": {"stage": -1}, "stage_half": {"stage": 1.5}}
        if "params" in arguments:
            bad["params"] = {"params": -1}
        if "gpu_bytes" in arguments:
            bad |= {"gpu_bytes": {"gpu_bytes": -1.0}, "activation_bytes": {"activation_bytes": -1}}
        for size in ("param_bytes", "grad_bytes", "optim_bytes"):
            bad[size] = {size: -0.5}
        with record.step(name):
            for key, change in bad.items():
                call = {**arguments, **change}
                record.raises(key, lambda f=name, c=call: getattr(code, f)(**c))
    full = {"gpu_bytes": 500, "activation_bytes": 600, "world_size": 2, "stage": 1}
    with record.step("full"):
        for key, change in {
            "world_zero": {"world_size": 0},
            "stage_four": {"stage": 4},
            "stage_negative": {"stage": -1},
            "param_bytes": {"param_bytes": -1},
        }.items():
            record.raises(key, lambda c={**full, **change}: code.max_params(**c))
    record.raises("all_zero", lambda: code.max_params(500, 2, 1, param_bytes=0, grad_bytes=0, optim_bytes=0))
    with record.step("zero_is_valid"):
        record("bytes", number(code.model_state_bytes(10, 2, 1, grad_bytes=0, optim_bytes=0)))
        record(
            "nothing", number(code.model_state_bytes(10, 2, 1, param_bytes=0, grad_bytes=0, optim_bytes=0))
        )
        record("count", code.max_params(500, 2, 1, grad_bytes=0, optim_bytes=0))
