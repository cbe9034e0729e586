import copy

import torch

from quizapp.judge.testing.probes import number


def inputs(draw):
    cases = []
    for min_ratio in (0.0, draw.uniform(0.08, 0.2), draw.uniform(0.25, 0.45)):
        warmup = draw.integer(3, 9)
        cases.append({"warmup": warmup, "total": warmup + draw.integer(7, 15), "min_ratio": min_ratio})
    return {
        "cases": cases,
        "half": {"warmup": draw.integer(3, 6), "half": draw.integer(4, 8), "min_ratio": 0.1},
        "no_warmup": {"total": draw.integer(6, 13), "min_ratio": draw.uniform(0.1, 0.4)},
        "peaks": [draw.uniform(0.2, 0.5), draw.uniform(0.02, 0.08), draw.uniform(1.5, 3.0)],
    }


def curve(code, steps, warmup, total, min_ratio):
    return [number(code.warmup_cosine(step, warmup, total, min_ratio)) for step in steps]


def late(total):
    return [total + 1, total + 2, total + 5, total + 10, 2 * total + 3, 10 * total]


def probe_curve(code, given, record):
    for i, case in enumerate(given["cases"]):
        warmup, total, min_ratio = case["warmup"], case["total"], case["min_ratio"]
        with record.step(i):
            with record.step("ramp"):
                record("values", curve(code, range(warmup + 1), warmup, total, min_ratio))
            with record.step("decay"):
                record("values", curve(code, range(warmup, total + 1), warmup, total, min_ratio))
            with record.step("late"):
                record("values", curve(code, late(total), warmup, total, min_ratio))
    case = given["cases"][0]
    with record.step("default"):
        steps = range(case["total"] + 4)
        record("values", [number(code.warmup_cosine(s, case["warmup"], case["total"])) for s in steps])
    with record.step("integer"):  # min_ratio as an int, 0 or 1
        steps = range(case["total"] + 4)
        record("zero", [number(code.warmup_cosine(s, case["warmup"], case["total"], 0)) for s in steps])
        record("one", [number(code.warmup_cosine(s, case["warmup"], case["total"], 1)) for s in steps])
    with record.step("one"):
        record("values", curve(code, range(5), 1, 3, 0.25))
    half = given["half"]
    with record.step("half"):
        end = half["warmup"] + 2 * half["half"]
        step = half["warmup"] + half["half"]
        record("value", number(code.warmup_cosine(step, half["warmup"], end, half["min_ratio"])))


def probe_no_warmup(code, given, record):
    case = given["no_warmup"]
    record("values", curve(code, range(case["total"] + 3), 0, case["total"], case["min_ratio"]))


def probe_errors(code, given, record):
    record.raises("warmup", lambda: code.warmup_cosine(2, -1, 10, 0.1))
    record.raises("equal", lambda: code.warmup_cosine(2, 5, 5, 0.1))
    record.raises("shorter", lambda: code.warmup_cosine(2, 5, 4, 0.1))
    record.raises("both_zero", lambda: code.warmup_cosine(0, 0, 0))
    record.raises("low", lambda: code.warmup_cosine(2, 3, 10, -0.1))
    record.raises("high", lambda: code.warmup_cosine(2, 3, 10, 1.1))
    record.raises("step", lambda: code.warmup_cosine(-1, 3, 10, 0.1))
    for name, arguments in (
        ("make_warmup", (-1, 10, 0.1)),
        ("make_equal", (5, 5, 0.1)),
        ("make_shorter", (7, 5, 0.1)),
        ("make_low", (3, 10, -0.1)),
        ("make_high", (3, 10, 1.1)),
    ):
        record.raises(name, lambda a=arguments: type(code.make_scheduler(optimizer([0.1]), *a)).__name__)
    with record.step("valid"):
        record("ends", [number(code.warmup_cosine(s, 2, 3, 1.0)) for s in range(5)])


def optimizer(peaks):
    groups = [{"params": [torch.nn.Parameter(torch.ones(3))], "lr": peak} for peak in peaks]
    return torch.optim.SGD(groups, lr=0.7)


def rates(opt):
    return [float(group["lr"]) for group in opt.param_groups]


def advance(opt, scheduler, count):
    seen = []
    for _ in range(count):
        opt.step()
        scheduler.step()
        seen.append(rates(opt))
    return seen


def probe_scheduler(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            opt = optimizer(given["peaks"])
            scheduler = code.make_scheduler(opt, case["warmup"], case["total"], case["min_ratio"])
            record("is_lambda", isinstance(scheduler, torch.optim.lr_scheduler.LambdaLR))
            record("first", rates(opt))
            record("rates", advance(opt, scheduler, case["total"] + 6))
    with record.step("no_warmup"):
        opt = optimizer(given["peaks"])
        case = given["no_warmup"]
        scheduler = code.make_scheduler(opt, 0, case["total"], case["min_ratio"])
        record("first", rates(opt))
        record("rates", advance(opt, scheduler, case["total"] + 2))
    case = given["cases"][0]
    with record.step("default"):
        opt = optimizer(given["peaks"])
        scheduler = code.make_scheduler(opt, case["warmup"], case["total"])
        record("rates", advance(opt, scheduler, case["total"] + 2))


def probe_resume(code, given, record):
    for i, case in enumerate(given["cases"][1:], 1):
        arguments = case["warmup"], case["total"], case["min_ratio"]
        for name, stop in (("ramp", case["warmup"] - 2), ("decay", case["warmup"] + 3)):
            with record.step(f"{name}{i}"):
                opt = optimizer(given["peaks"])
                scheduler = code.make_scheduler(opt, *arguments)
                advance(opt, scheduler, stop)
                saved = copy.deepcopy(scheduler.state_dict())
                advance(opt, scheduler, 2)
                opt = optimizer(given["peaks"])
                scheduler = code.make_scheduler(opt, *arguments)
                scheduler.load_state_dict(saved)
                record("rates", advance(opt, scheduler, case["total"]))
