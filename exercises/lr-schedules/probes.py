from quizapp.judge.testing.probes import number

INF, NAN = float("inf"), float("nan")


SCENES = {
    "zigzag": ([4.0, 6.0, 5.0, 6.0, 5.0, 6.0, 5.0, 4.5, 4.25], {"lr": 1.0, "factor": 0.5, "patience": 2}),
    "slow": (
        [1.0, 0.875, 0.75, 0.625, 0.5, 0.4375, 0.375, 0.25, 0.1875],
        {"lr": 1.0, "factor": 0.5, "patience": 1, "threshold": 0.25},
    ),
    "equal": ([3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0], {"lr": 1.0, "factor": 0.5, "patience": 1}),
    "negative": (
        [-1.0, -1.125, -1.5, -1.5, -1.625, -2.0, -3.0, -3.0],
        {"lr": 1.0, "factor": 0.5, "patience": 0, "threshold": 0.25},
    ),
    "patience": ([1.0] + [2.0] * 12, {"lr": 1.0, "factor": 0.5, "patience": 2}),
    "none": ([1.0, 2.0, 2.0, 0.5, 2.0], {"lr": 1.0, "factor": 0.5, "patience": 0}),
    "in_a_row": (
        [8.0, 9.0, 9.0, 7.0, 9.0, 9.0, 6.0, 9.0, 9.0, 9.0],
        {"lr": 1.0, "factor": 0.5, "patience": 2},
    ),
    "best_kept": ([1.0, 5.0, 5.0, 4.0, 3.0, 2.0, 1.5], {"lr": 1.0, "factor": 0.5, "patience": 1}),
    "defaults": ([1.0] + [1.0] * 23, {"lr": 0.5}),
    "large": ([3e12, 2e12, 1e12, 1e12, 2e11], {"lr": 1.0, "factor": 0.5, "patience": 0}),
    "zero": ([2.0, 0.0, 1.0, 0.0, -1.0, 0.0], {"lr": 1.0, "factor": 0.5, "patience": 0}),
    "minus_inf": ([1.0, -INF, 0.5, -INF, 2.0], {"lr": 1.0, "factor": 0.5, "patience": 0}),
    "tiny": ([1.0, 2.0, 2.0, 2.0], {"lr": 1e-8, "factor": 0.5, "patience": 0}),
    "floor": ([1.0] + [2.0] * 8, {"lr": 1.0, "factor": 0.3, "patience": 0, "min_lr": 0.2}),
    "floor_start": ([1.0] + [2.0] * 4, {"lr": 0.2, "factor": 0.3, "patience": 0, "min_lr": 0.2}),
    "nan_first": ([NAN, NAN, 5.0, 6.0, 4.0, 6.0], {"lr": 1.0, "factor": 0.5, "patience": 0}),
    "nan_later": ([5.0, NAN, 4.0, NAN, NAN, 3.0, 2.0, NAN], {"lr": 1.0, "factor": 0.5, "patience": 1}),
    "nan_counts": ([5.0, 6.0, NAN, 6.0, 4.0, NAN, NAN, NAN], {"lr": 1.0, "factor": 0.5, "patience": 2}),
}


def wander(draw, count, nan=0.0):
    """A metric in sixteenths, so that every comparison is exact; drifts down, with plateaus and zigzags."""
    values, level = [], 64
    for _ in range(count):
        level += draw.choice([-6, -3, -2, -1, 0, 0, 1, 1, 2, 4])
        values.append(NAN if draw.uniform(0, 1) < nan else level / 16)
    return values


def scaled(draw, metrics, options):
    """The same course of a metric in other units, by a power of two so that comparisons stay exact."""
    unit, rate = draw.choice([1.0, 2.0]), draw.uniform(0.5, 2.0)
    options = {**options, "lr": rate * options["lr"]}
    if "threshold" in options:
        options["threshold"] *= unit
    if "min_lr" in options:
        options["min_lr"] *= rate
    return [unit * metric for metric in metrics], options


def inputs(draw):
    sparse = sorted(draw.sample(range(4, 60), 4))
    order = [sparse[2], sparse[0], sparse[3], sparse[1]]
    runs = []
    for threshold, nan in ((0.0, 0.0), (0.125, 0.0), (0.25, 0.15), (0.0, 0.2)):
        for patience in (0, 1, 2, 4):
            runs.append(
                {
                    "options": {
                        "lr": draw.uniform(0.5, 2.0),
                        "factor": draw.uniform(0.3, 0.8),
                        "patience": patience,
                        "min_lr": 0.0,
                        "threshold": threshold,
                    },
                    "metrics": wander(draw, 40, nan),
                }
            )
    return {
        "decay": [
            {"lr": draw.uniform(0.1, 2.0), "milestones": sparse, "gamma": draw.uniform(0.2, 0.7)},
            {"lr": draw.uniform(0.1, 2.0), "milestones": order, "gamma": draw.uniform(0.2, 0.7)},
            {"lr": draw.uniform(0.1, 2.0), "milestones": order[::-1], "gamma": 0.1},
        ],
        "cosine": [
            {"lr": draw.uniform(0.5, 2.0), "period": 10, "mult": 2, "min_lr": 0.0, "count": 160},
            {
                "lr": draw.uniform(0.5, 2.0),
                "period": draw.integer(5, 9),
                "mult": 1,
                "min_lr": draw.uniform(0.05, 0.2),
                "count": 60,
            },
            {
                "lr": draw.uniform(0.5, 2.0),
                "period": draw.integer(3, 5),
                "mult": 3,
                "min_lr": draw.uniform(0.05, 0.2),
                "count": 170,
            },
            {"lr": draw.uniform(0.5, 2.0), "period": 1, "mult": 2, "min_lr": 0.01, "count": 70},
            {"lr": draw.uniform(0.5, 2.0), "period": 1, "mult": 1, "min_lr": 0.01, "count": 5},
            {"lr": draw.uniform(0.5, 2.0), "period": 3, "mult": 3, "min_lr": 0.01, "count": 380},
        ],
        "plateau": runs,
        "scenes": {name: scaled(draw, *scene) for name, scene in SCENES.items()},
    }


def probe_decay(code, given, record):
    for i, case in enumerate(given["decay"]):
        with record.step(i):
            milestones = list(case["milestones"])
            steps = range(70)
            values = [number(code.step_decay(s, case["lr"], milestones, case["gamma"])) for s in steps]
            record("values", values)
            record("milestones", milestones)
    with record.step("other"):
        record("default", number(code.step_decay(30, 0.5, (60, 30))))
        record("none", number(code.step_decay(7, 0.5, [])))
        record("zero", number(code.step_decay(0, 0.5, [0, 3], 0.5)))
        record("twice", number(code.step_decay(7, 0.5, [5, 3, 5], 0.5)))


def probe_cosine(code, given, record):
    for i, case in enumerate(given["cosine"]):
        with record.step(i):
            arguments = case["lr"], case["period"], case["mult"], case["min_lr"]
            record("values", [number(code.cosine_restarts(s, *arguments)) for s in range(case["count"])])
    with record.step("default"):
        record("values", [number(code.cosine_restarts(s, 1.0, 6)) for s in range(20)])


def run(code, record, name, metrics, **options):
    with record.step(name):
        schedule = code.ReduceOnPlateau(**options)
        record("start", number(schedule.lr))
        returned, kept = [], []
        for metric in metrics:
            returned.append(number(schedule.step(metric)))
            kept.append(number(schedule.lr))
        record("returned", returned)
        record("kept", kept)


def probe_plateau(code, given, record):
    for name, (metrics, options) in given["scenes"].items():
        run(code, record, name, metrics, **options)
    for i, case in enumerate(given["plateau"]):
        run(code, record, f"random{i}", case["metrics"], **case["options"])
    with record.step("two"):
        first, second = code.ReduceOnPlateau(1.0, 0.5, 1), code.ReduceOnPlateau(1.0, 0.5, 1)
        record("returned", [[number(s.step(m)) for s in (first, second)] for m in (1.0, 2.0, 2.0, 0.5)])


def probe_errors(code, given, record):
    record.raises("decay_step", lambda: code.step_decay(-1, 0.1, [3]))
    record.raises("decay_step_alone", lambda: code.step_decay(-1, 0.1, []))
    record.raises("cosine_step", lambda: code.cosine_restarts(-1, 0.1, 3))
    record.raises("period", lambda: code.cosine_restarts(2, 0.1, 0))
    record.raises("period_negative", lambda: code.cosine_restarts(0, 0.1, -3))
    record.raises("mult", lambda: code.cosine_restarts(2, 0.1, 5, 0))
    record.raises("mult_negative", lambda: code.cosine_restarts(2, 0.1, 5, -1))
    for name, options in {
        "factor_zero": {"factor": 0.0},
        "factor_one": {"factor": 1.0},
        "factor_above": {"factor": 1.5},
        "factor_negative": {"factor": -0.5},
        "patience": {"patience": -1},
        "threshold": {"threshold": -0.1},
    }.items():
        record.raises(name, lambda o=options: type(code.ReduceOnPlateau(0.1, **o)).__name__)
