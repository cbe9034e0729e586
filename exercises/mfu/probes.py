from quizapp.judge.testing.probes import number


def inputs(draw):
    models = []
    for _ in range(3):
        layers, hidden, seq = draw.integer(5, 90), draw.integer(100, 9000), draw.integer(100, 9000)
        models.append({"params": draw.integer(10**6, 10**9), "layers": layers, "hidden": hidden, "seq": seq})
    runs = []
    for count, warmup in ((9, 3), (8, 2), (6, 1), (5, 0), (2, 1)):
        usual = [draw.uniform(0.8, 1.2) for _ in range(count - warmup)]
        if len(usual) > 2:
            usual[draw.integer(0, len(usual) - 1)] = draw.uniform(9.0, 20.0)
        # The warm-up steps of the third run are its fastest: they are dropped for their place.
        first = draw.uniform(0.1, 0.2) if count == 6 else draw.uniform(25.0, 60.0)
        times = [first + draw.uniform(0.0, 0.1) for _ in range(warmup)] + usual
        runs.append({"times": times, "tokens": draw.integer(10_000, 900_000), "warmup": warmup})
    fleets = []
    for recompute in (0.0, 1.0, draw.uniform(0.2, 0.45), draw.uniform(0.55, 0.8)):
        devices, peak = draw.integer(3, 900), draw.uniform(1e14, 2e15)
        flops, mfu = draw.uniform(1e9, 5e11), draw.uniform(0.15, 0.7)
        fleets.append(
            {
                "rate": mfu * devices * peak / flops,
                "flops": flops,
                "devices": devices,
                "peak": peak,
                "recompute": recompute,
                "tokens": draw.uniform(1e10, 1e13),
                "mfu": draw.uniform(0.15, 0.7),
                "goodput": draw.uniform(0.5, 0.92),
            }
        )
    most = fleets[0]["devices"] * fleets[0]["peak"] / fleets[0]["flops"]
    excess, busy = draw.uniform(1.2, 1.9), draw.uniform(0.8, 0.95)
    return {
        "models": models,
        "runs": runs,
        "fleets": fleets,
        "excess": excess * most,
        "busy": busy * most,
        "kept": {"excess": excess, "busy": busy},
    }


def probe_flops(code, given, record):
    for i, m in enumerate(given["models"]):
        with record.step(i):
            record("full", number(code.flops_per_token(m["params"], m["layers"], m["hidden"], m["seq"])))
            record("plain", number(code.flops_per_token(m["params"])))
            record("no_layers", number(code.flops_per_token(m["params"], 0, m["hidden"], m["seq"])))
            record("no_hidden", number(code.flops_per_token(m["params"], m["layers"], 0, m["seq"])))
            record("no_seq", number(code.flops_per_token(m["params"], m["layers"], m["hidden"], 0)))
            record("no_seq_given", number(code.flops_per_token(m["params"], m["layers"], m["hidden"])))
    with record.step("one"):
        record("value", number(code.flops_per_token(1)))


def probe_causal(code, given, record):
    for i, m in enumerate(given["models"]):
        with record.step(i):
            arguments = m["params"], m["layers"], m["hidden"], m["seq"]
            record("causal", number(code.flops_per_token(*arguments, causal=True)))
            record("odd", number(code.flops_per_token(7, 3, 5, 7, causal=True)))


def probe_throughput(code, given, record):
    for i, run in enumerate(given["runs"]):
        with record.step(i):
            times = list(run["times"])
            record("list", number(code.tokens_per_second(times, run["tokens"], warmup=run["warmup"])))
            record("after", times)
            record(
                "tuple",
                number(code.tokens_per_second(tuple(run["times"]), run["tokens"], warmup=run["warmup"])),
            )
    with record.step("default"):
        run = given["runs"][3]
        record("value", number(code.tokens_per_second(list(run["times"]), run["tokens"])))


def probe_utilization(code, given, record):
    for i, f in enumerate(given["fleets"]):
        with record.step(i):
            pair = code.utilization(f["rate"], f["flops"], f["devices"], f["peak"], recompute=f["recompute"])
            record("pair", [number(value) for value in pair])
            record(
                "default",
                [number(v) for v in code.utilization(f["rate"], f["flops"], f["devices"], f["peak"])],
            )
    f = given["fleets"][0]
    with record.step("excess"):
        pair = code.utilization(given["excess"], f["flops"], f["devices"], f["peak"], recompute=1.0)
        record("pair", [number(value) for value in pair])
    with record.step("busy"):
        pair = code.utilization(given["busy"], f["flops"], f["devices"], f["peak"], recompute=1.0)
        record("pair", [number(value) for value in pair])
    with record.step("idle"):
        record("pair", [number(v) for v in code.utilization(0.0, f["flops"], f["devices"], f["peak"])])


def probe_days(code, given, record):
    for i, f in enumerate(given["fleets"]):
        with record.step(i):
            arguments = f["tokens"], f["flops"], f["devices"], f["peak"], f["mfu"]
            record("goodput", number(code.days_to_train(*arguments, goodput=f["goodput"])))
            record("default", number(code.days_to_train(*arguments)))
    with record.step("limits"):
        f = given["fleets"][0]
        record(
            "whole",
            number(code.days_to_train(f["tokens"], f["flops"], f["devices"], f["peak"], 1.0, goodput=1.0)),
        )
        record("none", number(code.days_to_train(0, f["flops"], f["devices"], f["peak"], 0.5)))


def probe_errors(code, given, record):
    flops, rate, use, days = (
        code.flops_per_token,
        code.tokens_per_second,
        code.utilization,
        code.days_to_train,
    )
    calls = {
        "params": lambda: flops(0, 2, 3, 5),
        "layers": lambda: flops(100, -1, 3, 5),
        "hidden": lambda: flops(100, 2, -3, 5),
        "seq_len": lambda: flops(100, 2, 3, -5),
        "layers_alone": lambda: flops(100, -1),
        "hidden_alone": lambda: flops(100, hidden=-3),
        "seq_len_alone": lambda: flops(100, 2, 0, -5),
        "two_negative": lambda: flops(100, -2, -3, 5),
        "warmup": lambda: rate([1.0, 2.0, 3.0], 100, warmup=-1),
        "no_steps": lambda: rate([], 100),
        "none_left": lambda: rate([1.0, 2.0], 100, warmup=2),
        "fewer_than_warmup": lambda: rate([1.0, 2.0], 100, warmup=3),
        "step_time": lambda: rate([1.0, 0.0, 2.0], 100),
        "negative_time": lambda: rate([1.0, 2.0, -0.5, 3.0, 4.0], 100),
        "warmup_time": lambda: rate([-1.0, 1.0, 2.0], 100, warmup=1),
        "tokens_per_step": lambda: rate([1.0, 2.0], 0),
        "throughput": lambda: use(-1.0, 1e9, 8, 1e14),
        "flops": lambda: use(10.0, 0.0, 8, 1e14),
        "devices": lambda: use(10.0, 1e9, 0, 1e14),
        "devices_negative": lambda: use(10.0, 1e9, -8, 1e14),
        "days_devices_negative": lambda: days(1e9, 1e9, -8, 1e14, 0.4),
        "tokens_per_step_negative": lambda: rate([1.0, 2.0], -100),
        "params_negative": lambda: flops(-100, 2, 3, 5),
        "peak": lambda: use(10.0, 1e9, 8, 0.0),
        "recompute_low": lambda: use(10.0, 1e9, 8, 1e14, recompute=-0.1),
        "recompute_high": lambda: use(10.0, 1e9, 8, 1e14, recompute=1.1),
        "total_tokens": lambda: days(-1.0, 1e9, 8, 1e14, 0.4),
        "days_flops": lambda: days(1e9, 0.0, 8, 1e14, 0.4),
        "days_devices": lambda: days(1e9, 1e9, 0, 1e14, 0.4),
        "days_peak": lambda: days(1e9, 1e9, 8, -1e14, 0.4),
        "days_peak_zero": lambda: days(1e9, 1e9, 8, 0.0, 0.4),
        "days_flops_negative": lambda: days(1e9, -1e9, 8, 1e14, 0.4),
        "flops_negative": lambda: use(10.0, -1e9, 8, 1e14),
        "peak_negative": lambda: use(10.0, 1e9, 8, -1e14),
        "mfu_negative": lambda: days(1e9, 1e9, 8, 1e14, -0.4),
        "goodput_negative": lambda: days(1e9, 1e9, 8, 1e14, 0.4, goodput=-0.4),
        "mfu_zero": lambda: days(1e9, 1e9, 8, 1e14, 0.0),
        "mfu_high": lambda: days(1e9, 1e9, 8, 1e14, 1.1),
        "goodput_zero": lambda: days(1e9, 1e9, 8, 1e14, 0.4, goodput=0.0),
        "goodput_high": lambda: days(1e9, 1e9, 8, 1e14, 0.4, goodput=1.2),
    }
    for name, call in calls.items():
        record.raises(name, call)
    with record.step("valid"):
        record("use", [number(share) for share in use(10.0, 1e9, 1, 1e14)])
        record("days", number(days(1e9, 1e9, 1, 1e14, 0.4)))
        record("idle", [*map(number, use(0.0, 1e9, 1, 1e14)), number(days(0, 1e9, 1, 1e14, 0.4))])
