import math

import torch

from quizapp.judge.testing.checks import behaviour, close, expect


def least_squares(columns, values):
    """Coefficients of a least-squares fit in float64."""
    matrix = torch.tensor(columns, dtype=torch.float64)
    return torch.linalg.lstsq(
        matrix, torch.tensor(values, dtype=torch.float64).unsqueeze(1)
    ).solution.flatten()


def vertex_of(params, losses):
    logs = [math.log(n) for n in params]
    centre = sum(logs) / len(logs)
    c0, c1, c2 = least_squares([[1.0, u - centre, (u - centre) ** 2] for u in logs], losses).tolist()
    return math.exp(centre - c1 / (2 * c2)), c0 - c1 * c1 / (4 * c2)


@behaviour(1)
def test_budget_is_spent_at_the_ratio(observe):
    for i, case in enumerate(observe.given["budgets"]):
        for name, ratio in (("pair", case["ratio"]), ("default", 20.0)):
            n = math.sqrt(case["flops"] / 6 / ratio)
            d = n * ratio
            free = math.sqrt(case["flops"] / ratio)
            close(
                observe[f"budget/{i}/{name}"],
                [n, d],
                "N and D must satisfy 6 N D = C and D = tokens_per_param * N.",
                rtol=1e-9,
                call=f"compute_optimal({case['flops']:.4g}, {ratio:.4g})",
                mistakes={
                    "A token costs 6 FLOPs per parameter: 2 forward and 4 backward.": [free, free * ratio],
                    f"{ratio:.3g} tokens per parameter: D is that many times N, not N that many times D.": [
                        d,
                        n,
                    ],
                },
            )


@behaviour(
    2,
    on_error="The minimum of the fitted curve is inside the runs here, so the parabola is not the one in ln N.",
)
def test_vertex_of_an_exact_parabola(observe):
    for i, case in enumerate(observe.given["exact"]):
        n, loss = observe[f"isoflop/exact{i}/pair"]
        low, high = min(case["params"]), max(case["params"])
        where = f"isoflop_minimum of {len(case['params'])} sizes from {low:.3g} to {high:.3g}"
        best = case["params"][case["losses"].index(min(case["losses"]))]
        close(
            n,
            case["kept"]["vertex"],
            "The points lie on a parabola in ln N, yet the N of its vertex is missed.",
            rtol=1e-6,
            call=where,
            mistakes={
                "That is the best run you made, not the minimum of the curve.": best,
                "Fitted with log10 but converted back with exp.": case["kept"]["vertex"]
                ** (1 / math.log(10)),
                "The vertex comes back as a logarithm; N itself is asked.": math.log(case["kept"]["vertex"]),
            },
        )
        close(
            loss, case["kept"]["floor"], "The loss at the vertex is wrong.", atol=1e-8, rtol=0.0, call=where
        )


@behaviour(3, on_error="The parabola through all runs has its minimum inside them; every point counts.")
def test_every_point_counts(observe):
    for i, case in enumerate(observe.given["noisy"]):
        n, loss = vertex_of(case["params"], case["losses"])
        smallest = min(case["losses"])
        best = case["params"][case["losses"].index(smallest)]
        three = sorted(zip(case["losses"], case["params"], strict=True))[:3]
        part = vertex_of([p for _, p in three], [value for value, _ in three])
        close(
            observe[f"isoflop/noisy{i}/pair"],
            [n, loss],
            "The result is not the vertex of the least-squares parabola in ln N through all points.",
            rtol=1e-6,
            call=f"isoflop_minimum of {len(case['params'])} noisy runs",
            mistakes=[
                ("That is the best run you made, not the minimum of the curve.", [best, smallest]),
                ("Only the points around the minimum were used; every point counts.", list(part)),
            ],
        )
    n, loss = vertex_of([1e8, 1e9, 1e9, 1e10], [3.0, 2.4, 2.6, 2.8])
    close(observe["isoflop/repeated/pair"], [n, loss], "Two runs of one size both count.", rtol=1e-6)
    sizes = [1e8, 1e9, 1e9, 1e9, 4e9, 3e10]
    close(
        observe["isoflop/uneven/pair"],
        list(vertex_of(sizes, [3.0, 2.4, 2.5, 2.6, 2.7, 2.9])),
        "Three runs of one size are three points of the fit, not one of their mean.",
        rtol=1e-6,
    )


@behaviour(4)
def test_no_minimum_to_report(observe):
    sentences = {
        "none": "No runs fix no parabola.",
        "two": "Two runs do not fix a parabola.",
        "two_different": "Three runs of two sizes do not fix a parabola.",
        "same": "Runs of one size do not fix a parabola.",
        "maximum": "This parabola has a maximum there.",
        "line": "These losses lie on a straight line in ln N, which has no minimum.",
        "flat": "Equal losses have no minimum.",
        "left": "The minimum lies beyond your smallest or largest model: train more sizes instead of extrapolating.",
        "right": "The minimum lies beyond your smallest or largest model: train more sizes instead of extrapolating.",
        "right_shuffled": "The minimum lies beyond your largest model, whatever the order of the runs.",
    }
    for name, says in sentences.items():
        observe.raised(f"refused/{name}", "ValueError", says=says)
    for i, _ in enumerate(observe.given["flat"]):
        says = "Equal losses have no minimum; a curvature of 1e-17 is rounding, not a parabola."
        observe.raised(f"refused/flat{i}", "ValueError", says=says)


@behaviour(4, on_error="The vertex lies inside the runs, though the lowest loss is at their edge: report it.")
def test_lowest_run_at_the_edge(observe):
    close(
        observe["isoflop/edge/pair"],
        [10**8.4, 2.0],
        "The vertex lies inside the runs, though the lowest loss is at their edge: report it.",
        rtol=1e-6,
        call="isoflop_minimum([1e8, 1e9, 1e10], [2.016, 2.036, 2.256])",
    )


@behaviour(5)
def test_exact_power_law(observe):
    for i, case in enumerate(observe.given["powers"]):
        k, a = case["kept"]["k"], case["kept"]["a"]
        close(
            observe[f"power/exact{i}/pair"],
            [k, a],
            "The points lie on y = k x^a, yet k and a are not recovered.",
            rtol=1e-8,
            call=f"fit_power_law with k={k:.4g}, a={a:.4g} over 13 to 19 decades",
            mistakes={
                "The intercept is ln k; k is its exponential.": [math.log(k), a],
                "The results are swapped: return (k, a).": [a, k],
                "Fitted with log10 but converted back with exp.": [k ** (1 / math.log(10)), a],
            },
        )
    close(observe["power/two/pair"], [2.0, 1.0], "Two different x are enough.", rtol=1e-8)
    close(
        observe["power/constant/pair"],
        [7.0, 0.0],
        "Equal y lie on y = k x^0.",
        rtol=1e-8,
        atol=1e-10,
        call="fit_power_law([2, 30, 500], [7, 7, 7])",
    )


@behaviour(5, presumes=("exact_power_law",))
def test_power_law_is_fitted_on_logarithms(observe):
    for i, case in enumerate(observe.given["scatter"]):
        logs = [[1.0, math.log(x)] for x in case["x"]]
        c, a = least_squares(logs, [math.log(y) for y in case["y"]]).tolist()
        close(
            observe[f"power/scatter{i}/pair"],
            [math.exp(c), a],
            "The largest point dominates: fit straight lines to logarithms.",
            rtol=1e-8,
            mistakes={"The intercept is ln k; k is its exponential.": [c, a]},
        )
    x, y = [2.0, 2.0, 2.0, 30.0, 400.0], [5.0, 6.0, 9.0, 20.0, 90.0]
    c, a = least_squares([[1.0, math.log(v)] for v in x], [math.log(v) for v in y]).tolist()
    close(observe["power/repeated/pair"], [math.exp(c), a], "Points with the same x all count.", rtol=1e-8)


@behaviour(5)
def test_power_law_needs_two_sizes(observe):
    observe.raised("power/one", "ValueError", says="One point does not fix a power law.")
    observe.raised("power/same", "ValueError", says="Points at one x do not fix a power law.")


@behaviour(6)
def test_parametric_optimum(observe):
    published = {"flops": 5.76e23, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}
    small = {"flops": 600.0, "A": 1e-3, "B": 4.0, "alpha": 0.5, "beta": 0.25}
    cases = [(f"{i}", law) for i, law in enumerate(observe.given["laws"])]
    cases += [("published", published), ("small", small)]
    for name, law in cases:
        A, B, alpha, beta = law["A"], law["B"], law["alpha"], law["beta"]
        product = law["flops"] / 6
        total = alpha + beta
        g = (alpha * A / (beta * B)) ** (1 / total)
        n = g * product ** (beta / total)
        swapped = g * product ** (alpha / total)
        plain = (A / B) ** (1 / total) * product ** (beta / total)
        free = g * law["flops"] ** (beta / total)
        close(
            observe[f"parametric/{name}/pair"],
            [n, product / n],
            "(N, D) does not minimize A / N^alpha + B / D^beta under 6 N D = C.",
            rtol=1e-9,
            call=f"parametric_optimum({law['flops']:.4g}, {A:.4g}, {B:.4g}, {alpha:.3g}, {beta:.3g})",
            mistakes=[
                ("N grows with C to the power beta / (alpha + beta).", [swapped, product / swapped]),
                ("The derivatives bring down alpha and beta as factors.", [plain, product / plain]),
                (
                    "A token costs 6 FLOPs per parameter: 2 forward and 4 backward.",
                    [free, law["flops"] / free],
                ),
                ("The results are swapped: return (N, D).", [product / n, n]),
            ],
        )


@behaviour(7)
def test_results_are_python_floats(observe):
    paths = [
        "budget/0/pair",
        "isoflop/exact0/pair",
        "isoflop/whole/pair",
        "power/exact0/pair",
        "power/two/pair",
        "parametric/0/pair",
    ]
    for path in paths:
        for value in observe[path]:
            expect(
                type(value) is float,
                f"{path.split('/')[0]}: every result must be a Python float.",
                f"got {value!r}",
            )


@behaviour(7)
def test_sequences_are_accepted_and_left_alone(observe):
    for i, case in enumerate(observe.given["exact"]):
        same = observe[f"isoflop/exact{i}/after"] == [case["params"], case["losses"]]
        expect(same, "isoflop_minimum changed the caller's lists.")
        close(
            observe[f"isoflop/exact{i}/tuples"],
            observe[f"isoflop/exact{i}/pair"],
            "Tuples must give what lists give.",
            rtol=1e-9,
        )
    for i, case in enumerate(observe.given["scatter"]):
        expect(
            observe[f"power/scatter{i}/after"] == [case["x"], case["y"]],
            "fit_power_law changed the caller's lists.",
        )
        close(
            observe[f"power/scatter{i}/tuples"],
            observe[f"power/scatter{i}/pair"],
            "Tuples must give what lists give.",
            rtol=1e-9,
        )


@behaviour(
    7, on_error="A range, an array of the standard library and large integers are sequences of numbers, too."
)
def test_other_sequences(observe):
    says = "A range or an array must give what a list gives."
    close(observe["isoflop/array/pair"], observe["isoflop/exact0/pair"], says, rtol=1e-9)
    case = observe.given["exact"][0]
    same = observe["isoflop/array/after"] == [case["params"], case["losses"]]
    expect(same, "isoflop_minimum changed the caller's arrays.")
    same = observe["power/array/after"] == [[1.0, 10.0, 40.0], [3.0, 0.3, 0.075]]
    expect(same, "fit_power_law changed the caller's arrays.")
    close(observe["power/range/pair"], [2.5, -1.0], says, rtol=1e-8)
    close(observe["power/integers/pair"], [1.0, 0.5], "Large integers must give what floats give.", rtol=1e-8)


@behaviour(8)
def test_bad_values_are_refused(observe):
    subjects = {
        "flops": "the budget",
        "ratio": "tokens_per_param",
        "params": "a size",
        "losses": "a loss",
        "x": "an x",
        "y": "a y",
        **{f"law_{name}": f"{name} of the parametric law" for name in ("flops", "A", "B", "alpha", "beta")},
    }
    kinds = {"zero": "zero", "negative": "negative", "inf": "infinite", "nan": "NaN"}
    for subject, words in subjects.items():
        for kind, text in kinds.items():
            says = f"{words[0].upper()}{words[1:]} that is {text} must be refused."
            observe.raised(f"errors/{subject}_{kind}", "ValueError", says=says)


@behaviour(8)
def test_different_lengths_are_refused(observe):
    names = ("isoflop_lengths", "isoflop_lengths_losses", "isoflop_one_loss")
    for name in (*names, "power_lengths", "power_one_y", "power_one_x"):
        observe.raised(f"errors/{name}", "ValueError", says="Sequences of different lengths must be refused.")
    observe.raised("errors/empty", "ValueError", says="Empty sequences must be refused.")
