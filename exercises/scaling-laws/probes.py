import array
import math

UNEVEN = ([1e8, 1e9, 1e9, 1e9, 4e9, 3e10], [3.0, 2.4, 2.5, 2.6, 2.7, 2.9])

REPEATED = ([2.0, 2.0, 2.0, 30.0, 400.0], [5.0, 6.0, 9.0, 20.0, 90.0])


def parabola(draw, spread, noise):
    """Sizes around a vertex inside them, and losses on a parabola in ln N, with noise where asked for."""
    vertex = draw.uniform(math.log(1e6), math.log(1e11))
    low, high = vertex - draw.uniform(1.5, 3.0), vertex + draw.uniform(3.5, 6.0)
    count = draw.integer(5, 8)
    logs = [low + (high - low) * i / (count - 1) + draw.uniform(-0.1, 0.1) * spread for i in range(count)]
    curvature, floor = draw.uniform(0.03, 0.08), draw.uniform(1.8, 3.0)
    losses = [
        floor + curvature * (u - vertex) ** 2 + noise * draw.uniform(0.01, 0.03) * (-1) ** i
        for i, u in enumerate(logs)
    ]
    rows = draw.shuffled([[math.exp(u), loss] for u, loss in zip(logs, losses, strict=True)])
    return {
        "params": [row[0] for row in rows],
        "losses": [row[1] for row in rows],
        "kept": {"vertex": math.exp(vertex), "floor": floor},
    }


def extreme(draw, low, high, vertex):
    logs = [math.log(low) + (math.log(high) - math.log(low)) * i / 6 for i in range(7)]
    u0, c = math.log(vertex), draw.uniform(0.03, 0.06)
    return {
        "params": [math.exp(u) for u in logs],
        "losses": [2.1 + c * (u - u0) ** 2 for u in logs],
        "kept": {"vertex": vertex, "floor": 2.1},
    }


def shallow(draw, low, high):
    """A curve that hardly bends, but bends: curvature is small, not zero within rounding."""
    logs = [math.log(3e8) + 1.1 * i for i in range(6)]
    u0, c = draw.uniform(logs[1], logs[4]), draw.uniform(low, high)
    return {
        "params": [math.exp(u) for u in logs],
        "losses": [2.3 + c * (u - u0) ** 2 for u in logs],
        "kept": {"vertex": math.exp(u0), "floor": 2.3},
    }


def power(draw, a):
    k = 10 ** draw.uniform(-6, 6)
    x = [10 ** draw.uniform(low, high) for low, high in ((-8, -6), (-3, 3), (5, 7), (9, 11))]
    return {"x": x, "y": [k * v**a for v in x], "kept": {"k": k, "a": a}}


def inputs(draw):
    return {
        "flat": [draw.uniform(1.5, 3.5) for _ in range(6)],
        "flat_logs": [[draw.uniform(18, 26) for _ in range(5)] for _ in range(6)],
        "budgets": [
            {"flops": 10 ** draw.uniform(18, 26), "ratio": ratio}
            for ratio in (20.0, draw.uniform(25.0, 60.0), draw.uniform(0.3, 0.8), draw.uniform(100.0, 400.0))
        ]
        + [{"flops": 10 ** draw.uniform(3, 6), "ratio": 20.0}],
        "exact": [
            *(parabola(draw, 1.0, 0.0) for _ in range(4)),
            extreme(draw, 1.3e5, 4e6, draw.uniform(4e5, 8e5)),
            extreme(draw, 3e10, 9e11, draw.uniform(1e11, 2e11)),
            extreme(draw, 1e5, 1e12, draw.uniform(1e9, 9e9)),
            shallow(draw, 1e-4, 3e-4),
            shallow(draw, 3e-5, 6e-5),
        ],
        "noisy": [parabola(draw, 1.0, 1.0) for _ in range(4)],
        "powers": [
            power(draw, a)
            for a in (draw.uniform(-0.6, -0.2), draw.uniform(0.3, 0.9), draw.uniform(-1.5, -1.1))
        ],
        "scatter": [
            {
                "x": [10.0**i for i in range(1, 7)],
                "y": [
                    3.0 * 10 ** (-0.4 * i + draw.uniform(0.05, 0.2) * (-1) ** (i * (i - 1) // 2))
                    for i in range(1, 7)
                ],
            }
            for _ in range(2)
        ],
        "laws": [
            {
                "flops": 10 ** draw.uniform(19, 26),
                "A": draw.uniform(100.0, 700.0),
                "B": draw.uniform(800.0, 3000.0),
                "alpha": draw.uniform(0.4, 0.5),
                "beta": draw.uniform(0.2, 0.32),
            }
            for _ in range(3)
        ],
    }


def probe_budget(code, given, record):
    for i, case in enumerate(given["budgets"]):
        with record.step(i):
            record("pair", list(code.compute_optimal(case["flops"], case["ratio"])))
            record("default", list(code.compute_optimal(case["flops"])))


def probe_isoflop(code, given, record):
    for name in ("exact", "noisy"):
        for i, case in enumerate(given[name]):
            with record.step(f"{name}{i}"):
                params, losses = list(case["params"]), list(case["losses"])
                record("pair", list(code.isoflop_minimum(params, losses)))
                record("after", [params, losses])
                record("tuples", list(code.isoflop_minimum(tuple(params), tuple(losses))))
    with record.step("whole"):
        record("pair", list(code.isoflop_minimum([10**8, 10**9, 10**10], [3, 2.5, 2.8])))
    with record.step("edge"):
        params = [1e8, 1e9, 1e10]
        losses = [2.0 + 0.1 * (t - 8.4) ** 2 for t in (8, 9, 10)]
        record("pair", list(code.isoflop_minimum(params, losses)))
    with record.step("array"):
        case = given["exact"][0]
        params, losses = (array.array("d", case[name]) for name in ("params", "losses"))
        record("pair", list(code.isoflop_minimum(params, losses)))
        record("after", [params.tolist(), losses.tolist()])
    with record.step("repeated"):
        record("pair", list(code.isoflop_minimum([1e8, 1e9, 1e9, 1e10], [3.0, 2.4, 2.6, 2.8])))
    with record.step("uneven"):
        record("pair", list(code.isoflop_minimum(*UNEVEN)))


def probe_refused(code, given, record):
    f = code.isoflop_minimum
    record.raises("two", lambda: f([1e8, 1e9], [3.0, 2.5]))
    record.raises("two_different", lambda: f([1e8, 1e9, 1e9], [3.0, 2.5, 2.6]))
    record.raises("same", lambda: f([1e9, 1e9, 1e9], [2.4, 2.5, 2.6]))
    record.raises("none", lambda: f([], []))
    record.raises("maximum", lambda: f([1e8, 1e9, 1e10], [2.5, 3.0, 2.6]))
    record.raises("line", lambda: f([1e8, 1e9, 1e10, 1e11], [3.0, 2.8, 2.6, 2.4]))
    for i, (loss, logs) in enumerate(zip(given["flat"], given["flat_logs"], strict=True)):
        record.raises(f"flat{i}", lambda v=loss, u=logs: f([math.exp(x) for x in u], [v] * 5))
    record.raises("flat", lambda: f([1e8, 1e9, 1e10], [2.5, 2.5, 2.5]))
    record.raises("left", lambda: f([1e8, 1e9, 1e10], [2.0, 2.5, 3.3]))
    record.raises("right", lambda: f([1e8, 1e9, 1e10], [3.3, 2.5, 2.0]))
    record.raises("right_shuffled", lambda: f([1e10, 1e8, 1e9], [2.0, 3.3, 2.5]))


def probe_power(code, given, record):
    for i, case in enumerate(given["powers"]):
        with record.step(f"exact{i}"):
            record("pair", list(code.fit_power_law(case["x"], case["y"])))
    for i, case in enumerate(given["scatter"]):
        with record.step(f"scatter{i}"):
            x, y = list(case["x"]), list(case["y"])
            record("pair", list(code.fit_power_law(x, y)))
            record("after", [x, y])
            record("tuples", list(code.fit_power_law(tuple(x), tuple(y))))
    with record.step("two"):
        record("pair", list(code.fit_power_law([1, 10], [2, 20])))
    with record.step("range"):
        record(
            "pair", list(code.fit_power_law(range(1, 6), array.array("d", [2.5 / i for i in range(1, 6)])))
        )
    with record.step("integers"):
        record("pair", list(code.fit_power_law([10**18, 10**20, 10**22], [10**9, 10**10, 10**11])))
    with record.step("constant"):
        record("pair", list(code.fit_power_law([2.0, 30.0, 500.0], [7.0, 7.0, 7.0])))
    with record.step("repeated"):
        record("pair", list(code.fit_power_law(*REPEATED)))
    with record.step("array"):
        x, y = array.array("d", [1.0, 10.0, 40.0]), array.array("d", [3.0, 0.3, 0.075])
        code.fit_power_law(x, y)
        record("after", [x.tolist(), y.tolist()])
    record.raises("one", lambda: code.fit_power_law([3.0], [2.0]))
    record.raises("same", lambda: code.fit_power_law([3.0, 3.0, 3.0], [2.0, 2.5, 3.0]))


def probe_parametric(code, given, record):
    for i, law in enumerate(given["laws"]):
        with record.step(i):
            record(
                "pair",
                list(code.parametric_optimum(law["flops"], law["A"], law["B"], law["alpha"], law["beta"])),
            )
    with record.step("small"):
        record("pair", list(code.parametric_optimum(600.0, 1e-3, 4.0, 0.5, 0.25)))
    with record.step("published"):
        record("pair", list(code.parametric_optimum(5.76e23, 406.4, 410.7, 0.34, 0.28)))


def probe_errors(code, given, record):
    bad = {"zero": 0.0, "negative": -1.0, "inf": math.inf, "nan": math.nan}
    for name, value in bad.items():
        record.raises(f"flops_{name}", lambda v=value: code.compute_optimal(v))
        record.raises(f"ratio_{name}", lambda v=value: code.compute_optimal(1e20, v))
        record.raises(
            f"params_{name}", lambda v=value: code.isoflop_minimum([1e8, v, 1e9, 1e10], [3.0, 2.6, 2.5, 2.8])
        )
        record.raises(
            f"losses_{name}", lambda v=value: code.isoflop_minimum([1e8, 3e8, 1e9, 1e10], [3.0, v, 2.5, 2.8])
        )
        record.raises(f"x_{name}", lambda v=value: code.fit_power_law([1.0, 10.0, v], [3.0, 2.0, 1.0]))
        record.raises(f"y_{name}", lambda v=value: code.fit_power_law([1.0, 10.0, 100.0], [3.0, v, 1.0]))
        for place, argument in enumerate(("flops", "A", "B", "alpha", "beta")):
            values = [1e22, 400.0, 410.0, 0.34, 0.28]
            values[place] = value
            record.raises(f"law_{argument}_{name}", lambda v=tuple(values): code.parametric_optimum(*v))
    record.raises("isoflop_lengths", lambda: code.isoflop_minimum([1e8, 1e9, 1e10, 1e11], [3.0, 2.5, 2.8]))
    record.raises(
        "isoflop_lengths_losses", lambda: code.isoflop_minimum([1e8, 1e9, 1e10], [3.0, 2.5, 2.8, 3.0])
    )
    record.raises("power_lengths", lambda: code.fit_power_law([1.0, 10.0, 100.0], [3.0, 2.0]))
    record.raises("isoflop_one_loss", lambda: code.isoflop_minimum([1e8, 1e9, 1e10], [2.5]))
    record.raises("power_one_y", lambda: code.fit_power_law([1.0, 10.0, 100.0], [3.0]))
    record.raises("power_one_x", lambda: code.fit_power_law([2.0], [3.0, 2.0, 1.0]))
    record.raises("empty", lambda: code.fit_power_law([], []))
