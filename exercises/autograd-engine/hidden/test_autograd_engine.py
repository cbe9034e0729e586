import math

from quizapp.judge.testing.checks import behaviour, close, expect

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
DATA = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}
SLOPES = {
    "add": lambda a, b: [1.0, 1.0],
    "sub": lambda a, b: [1.0, -1.0],
    "mul": lambda a, b: [b, a],
    "div": lambda a, b: [1 / b, -a / b**2],
}
SIGN = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
UNARY = {
    "neg": lambda a: (-a, -1.0),
    "relu": lambda a: (max(a, 0.0), float(a > 0)),
    "tanh": lambda a: (math.tanh(a), 1 - math.tanh(a) ** 2),
    "exp": lambda a: (math.exp(a), math.exp(a)),
    "log": lambda a: (math.log(a), 1 / a),
    "square": lambda a: (a * a, 2 * a),
    "cube": lambda a: (a**3, 3 * a * a),
    "root": lambda a: (math.sqrt(a), 0.5 / math.sqrt(a)),
    "inverse": lambda a: (1 / a, -1 / a**2),
    "rsub": lambda a: (2 - a, -1.0),
    "rdiv": lambda a: (1.5 / a, -1.5 / a**2),
}


def evaluate(leaves, lines):
    """Data of the last node and its derivative by every leaf."""
    values, edges = list(leaves), [[] for _ in leaves]
    for op, i, j in lines:
        if op in DATA:
            values.append(DATA[op](values[i], values[j]))
            edges.append(list(zip((i, j), SLOPES[op](values[i], values[j]), strict=True)))
        else:
            data, slope = UNARY[op](values[i])
            values.append(data)
            edges.append([(i, slope)])
    grads = [0.0] * len(values)
    grads[-1] = 1.0
    for n in reversed(range(len(values))):
        for source, slope in edges[n]:
            grads[source] += slope * grads[n]
    return values[-1], grads[: len(leaves)]


@behaviour(1)
def test_data_of_operations(observe):
    for i, (a, b) in enumerate(observe.given["pairs"]):
        for name, call in DATA.items():
            close(
                observe[f"arithmetic/{name}{i}/data"],
                call(a, b),
                "An operation on two Values has the wrong data.",
                **TIGHT,
                call=f"Value({a:.4g}) {SIGN[name]} Value({b:.4g})",
            )
        close(
            observe[f"arithmetic/neg{i}/data"], -a, "-x has the wrong data.", **TIGHT, call=f"-Value({a:.4g})"
        )


@behaviour(1)
def test_plain_number_on_the_right(observe):
    a = observe.given["pairs"][0][0]
    for i, c in enumerate(observe.given["constants"]):
        for name, call in DATA.items():
            close(
                observe[f"plain_numbers/right/{name}{i}/data"],
                call(a, c),
                "An operation with a plain number on the right has the wrong data.",
                **TIGHT,
                call=f"Value({a:.4g}) {SIGN[name]} {c:.4g}",
            )


@behaviour(1, on_error="2 - x failed, or gave x - 2.")
def test_plain_number_on_the_left(observe):
    a = observe.given["pairs"][0][0]
    for i, c in enumerate(observe.given["constants"]):
        for name, call in DATA.items():
            close(
                observe[f"plain_numbers/left/{name}{i}/data"],
                call(c, a),
                "An operation with a plain number on the left has the wrong data.",
                **TIGHT,
                call=f"{c:.4g} {SIGN[name]} Value({a:.4g})",
                mistakes={
                    "2 - x failed, or gave x - 2.": call(a, c) if name == "sub" else math.nan,
                    "1 / x gave x / 1: with the number on the left the operands swap roles.": (
                        call(a, c) if name == "div" else math.nan
                    ),
                },
            )


@behaviour(1)
def test_data_of_powers(observe):
    for i, (base, exponent) in enumerate(observe.given["powers"]):
        close(
            observe[f"powers/{i}/data"],
            base**exponent,
            "x ** n has the wrong data.",
            **TIGHT,
            call=f"Value({base:.4g}) ** {exponent}",
        )


ZEROS = {
    "x * 3": (0.0, 3.0),
    "x / 2": (0.0, 0.5),
    "x ** 2": (0.0, 0.0),
    "x ** 1": (0.0, 1.0),
    "x ** 1.5": (0.0, 0.0),
    "x.tanh()": (0.0, 1.0),
    "x.exp()": (1.0, 1.0),
}


@behaviour(2, on_error="With x = 0 every operation but 1 / x and log works.")
def test_operations_at_zero(observe):
    for i, (text, (data, slope)) in enumerate(ZEROS.items()):
        says = f"With x = 0 {text} is wrong; do not divide by x to get a slope."
        close(observe[f"zero/{i}/data"], data, says, **TIGHT, call=f"x = Value(0.0); {text}")
        close(observe[f"zero/{i}/grad"], slope, says, **TIGHT, call=f"x = Value(0.0); ({text}).backward()")


@behaviour(2)
def test_operations_with_a_zero(observe):
    y = observe.given["y"]
    for name, slopes in SLOPES.items():
        close(
            observe[f"zero_operand/{name}/grads"],
            slopes(0.0, y),
            "With 0 as the first of two operands a derivative is wrong.",
            **TIGHT,
            call=f"(Value(0.0) {SIGN[name]} Value({y:.4g})).backward()",
        )


@behaviour(1)
def test_values_made_from_ints(observe):
    for name, call in DATA.items():
        text = f"Value(7) {SIGN[name]} Value(2)"
        says = "Values that were made from whole numbers give a wrong result."
        close(observe[f"whole_numbers/{name}/data"], float(call(7, 2)), says, **TIGHT, call=text)
        close(
            observe[f"whole_numbers/{name}/grads"],
            [float(slope) for slope in SLOPES[name](7, 2)],
            says,
            **TIGHT,
            call=f"({text}).backward()",
        )


@behaviour(1)
def test_results_are_new_values(observe):
    steps = [
        f"arithmetic/{name}{i}" for i in range(len(observe.given["pairs"])) for name in ("neg", *DATA)
    ] + [
        f"plain_numbers/{side}/{name}{i}"
        for i in range(len(observe.given["constants"]))
        for side in ("right", "left")
        for name in DATA
    ]
    steps += [f"powers/{i}" for i in range(len(observe.given["powers"]))]
    for step in steps:
        expect(observe[f"{step}/new"] is True, "Every operation should return a new Value.")
    for name in ("x + 0", "0 + x", "x - 0", "x * 1", "x over 1", "x ** 1"):
        text = name.replace("over", "/")
        expect(
            observe[f"neutral/{name}/new"] is True,
            "An operation returned its operand instead of a new Value.",
            text,
        )
        close(
            observe[f"neutral/{name}/data"], observe.given["x"], f"{text} should have the data of x.", **TIGHT
        )


@behaviour(1)
def test_operands_are_not_changed(observe):
    says = "An operation changed the data or grad of its operands."
    x = observe.given["x"]
    augmented = "y = x; y += 1.0 (-=, *=, /=) makes a new Value; x stays as it was."
    close(observe["in_place/operand"], [x, 0.0], augmented, **TIGHT)
    close(observe["in_place/data"], (x - 1.5) / 2, augmented, **TIGHT)
    close(observe["in_place/grad"], 0.5, augmented, **TIGHT)
    for i, (a, b) in enumerate(observe.given["pairs"]):
        for name in DATA:
            close(observe[f"arithmetic/{name}{i}/operands"], [[a, 0.0], [b, 0.0]], says, **TIGHT)
        close(observe[f"arithmetic/neg{i}/operands"], [[a, 0.0]], says, **TIGHT)
    for i in range(len(observe.given["constants"])):
        for side in ("right", "left"):
            for name in DATA:
                close(
                    observe[f"plain_numbers/{side}/{name}{i}/operands"],
                    [[observe.given["pairs"][0][0], 0.0]],
                    says,
                    **TIGHT,
                )
    for i, (base, _) in enumerate(observe.given["powers"]):
        close(observe[f"powers/{i}/operands"], [[base, 0.0]], says, **TIGHT)


@behaviour(2)
def test_derivatives_of_operations(observe):
    for i, (a, b) in enumerate(observe.given["pairs"]):
        for name, slopes in SLOPES.items():
            close(
                observe[f"derivatives/{name}{i}/grads"],
                slopes(a, b),
                "The derivatives of an operation by its two operands are wrong.",
                **TIGHT,
                call=f"(Value({a:.4g}) {SIGN[name]} Value({b:.4g})).backward()",
                mistakes={
                    "The derivative of a - b by b is -1.": [1.0, 1.0] if name == "sub" else [math.nan] * 2,
                    "The derivative of a * b by a is b, and the other way round.": (
                        [a, b] if name == "mul" else [math.nan] * 2
                    ),
                    "The derivative of a / b by b is -a / b**2.": (
                        [1 / b, a / b**2] if name == "div" else [math.nan] * 2
                    ),
                },
            )
        close(
            observe[f"derivatives/neg{i}/grads"],
            [-1.0],
            "The derivative of -x is -1.",
            **TIGHT,
        )


@behaviour(2, presumes=("values_made_from_ints",))
def test_equal_numbers_are_two_values(observe):
    x = observe.given["x"]
    for name, slopes in SLOPES.items():
        close(
            observe[f"equal/{name}/grads"],
            [3.0 * slope for slope in slopes(x, x)],
            "Two Values that hold the same number are still two: each has its own derivative.",
            **TIGHT,
            call=f"x, y = Value({x:.4g}), Value({x:.4g}); ((x {SIGN[name]} y) * 3.0).backward()",
        )


@behaviour(2)
def test_derivatives_with_plain_numbers(observe):
    a = observe.given["pairs"][0][0]
    for i, c in enumerate(observe.given["constants"]):
        for name, slopes in SLOPES.items():
            close(
                observe[f"plain_numbers/right/{name}{i}/grad"],
                slopes(a, c)[0],
                "The derivative is wrong where a plain number stands on the right.",
                **TIGHT,
                call=f"(Value({a:.4g}) {SIGN[name]} {c:.4g}).backward()",
            )
            close(
                observe[f"plain_numbers/left/{name}{i}/grad"],
                slopes(c, a)[1],
                "The derivative is wrong where a plain number stands on the left.",
                **TIGHT,
                call=f"({c:.4g} {SIGN[name]} Value({a:.4g})).backward()",
            )


@behaviour(2)
def test_derivatives_of_powers(observe):
    for i, (base, exponent) in enumerate(observe.given["powers"]):
        close(
            observe[f"powers/{i}/grad"],
            exponent * base ** (exponent - 1),
            "The derivative of x ** n is n * x ** (n - 1).",
            **TIGHT,
            call=f"(Value({base:.4g}) ** {exponent}).backward()",
        )


@behaviour(2)
def test_every_value_gets_its_derivative(observe):
    x, y, z = (observe.given[name] for name in "xyz")
    s = x + y
    q = s * z / y
    r = q - 2.0
    d = 2 * r
    close(
        observe["derivatives/inner/grads"],
        [d * z / y, d * (z / y - s * z / y**2), d * s / y, d * z / y, d / y, d, d],
        "Not every Value that took part holds the derivative of the result by it.",
        **TIGHT,
        call="s = x + y; p = s * z; q = p / y; r = q - 2.0; (r * r).backward(); grads of x, y, z, s, p, q, r",
    )


@behaviour(2)
def test_other_values_stay_at_zero(observe):
    close(observe["derivatives/fresh/grads"], [0.0, 0.0], "grad should be 0.0 at first.", **TIGHT)
    close(
        observe["derivatives/inner/aside"],
        0.0,
        "A Value that the result does not depend on should keep grad 0.",
        **TIGHT,
    )


@behaviour(3)
def test_functions(observe):
    for name in ("relu", "tanh", "exp", "log"):
        points = observe.given["functions"] + (observe.given["negatives"] if name != "log" else [])
        for i, point in enumerate(points):
            data, slope = UNARY[name](point)
            close(
                observe[f"functions/{name}{i}/data"],
                data,
                f"{name} has the wrong data.",
                **TIGHT,
                call=f"Value({point:.4g}).{name}()",
            )
            close(
                observe[f"functions/{name}{i}/grad"],
                2.5 * slope,
                f"The derivative of {name} is wrong.",
                **TIGHT,
                call=f"(Value({point:.4g}).{name}() * 2.5).backward()",
            )
            close(observe[f"functions/{name}{i}/kept"], point, f"{name} changed its operand.", **TIGHT)


@behaviour(3)
def test_relu_makes_a_value_of_its_own(observe):
    close(
        observe["functions/own/grads"],
        [2.0, 5.0],
        "relu should return a new Value, which holds its own derivative.",
        **TIGHT,
        call="r = x.relu(); (r * 2.0 + x * 3.0).backward() with x > 0; grads of r, x",
    )


@behaviour(3)
def test_relu_at_zero(observe):
    close(observe["functions/zero/data"], 0.0, "relu(0) should be 0.", **TIGHT)
    close(
        observe["functions/zero/grad"],
        0.5,
        "The derivative of relu at exactly 0 is wrong.",
        **TIGHT,
        call="x = Value(0.0); (x.relu() * 2.5 + x * 0.5).backward()",
        mistakes={
            "By convention the slope at 0 is 0 here.": 3.0,
            "By convention the slope at 0 is 0 here, not a half.": 1.75,
        },
    )


@behaviour(4)
def test_same_value_twice_in_one_operation(observe):
    x = observe.given["x"]
    overwritten = "d(x + x)/dx is 2; the second use overwrote the first."
    for name, data, want, one_use in (
        ("x + x", 2 * x, 2.0, [1.0]),
        ("x * x", x * x, 2 * x, [x]),
        ("x - x", 0.0, 0.0, [-1.0, 1.0]),
        ("x over x", 1.0, 0.0, [-1 / x, 1 / x]),
    ):
        text = name.replace("over", "/")
        close(observe[f"reuse/{name}/data"], data, f"{text} has the wrong data.", **TIGHT)
        close(
            observe[f"reuse/{name}/grad"],
            want,
            f"The derivative of {text} misses a use of x.",
            **TIGHT,
            call=f"({text}).backward() with x = {x:.4g}",
            mistakes=[(overwritten, value) for value in one_use],
        )


@behaviour(4)
def test_reuse_across_branches(observe):
    a, b, c = (observe.given[name] for name in "xyz")
    lines = [
        ["mul", 0, 1],  # 3
        ["add", 3, 2],  # 4 left
        ["sub", 0, 1],  # 5
        ["tanh", 5, 0],  # 6
        ["mul", 6, 0],  # 7 right
        ["mul", 4, 7],  # 8
        ["mul", 0, 2],  # 9
        ["add", 8, 9],
    ]
    close(
        observe["reuse/branches/grads"],
        evaluate([a, b, c], lines)[1],
        "A Value used in several branches should collect a contribution from every use.",
        **TIGHT,
        call="((x * y + w) * ((x - y).tanh() * x) + x * w).backward(); grads of x, y, w",
    )


EARLY = "A node sent its gradient on before its second consumer had reported."


@behaviour(5)
def test_node_with_a_short_and_a_long_way(observe):
    x, factor = observe.given["x"], observe.given["y"]
    a = x * factor
    t = math.tanh(a + 1)
    slope = factor * (2 * t + a * 2 * (1 - t * t))
    for name, text in (("short first", "a * b"), ("long first", "b * a")):
        close(
            observe[f"meeting_branches/{name}/grad"],
            slope,
            EARLY,
            **TIGHT,
            call=f"a = x * {factor:.4g}; b = (a + 1.0).tanh() * 2.0; ({text}).backward(); x.grad",
        )


@behaviour(5)
def test_random_graphs(observe):
    for i, case in enumerate(observe.given["programs"]):
        data, grads = evaluate(case["leaves"], case["lines"])
        close(
            observe[f"meeting_branches/program{i}/data"],
            data,
            "A graph of 25 operations has the wrong data.",
            **TIGHT,
        )
        scale = max(1.0, *(abs(g) for g in grads))
        close(
            observe[f"meeting_branches/program{i}/grads"],
            grads,
            EARLY,
            rtol=1e-9,
            atol=1e-9 * scale,
            call="backward on a graph of 25 operations over three leaves whose branches meet again",
        )


@behaviour(5)
def test_many_paths(observe):
    # The probe stops there: forty doublings would take longer than any time limit, and cost the other stages.
    expect(
        not observe["meeting_branches/doubling/walks every path"],
        "Each path through the graph was walked by itself; a node passes its gradient on only once.",
        "y = y + y 14 times, then backward, took far longer than backward through 14 sums",
    )
    close(
        observe["meeting_branches/doubling/grad"],
        float(2**40),
        EARLY,
        rtol=1e-9,
        call="y = y + y 40 times, then backward",
    )


@behaviour(6)
def test_two_losses_add_up(observe):
    x, y = observe.given["x"], observe.given["y"]
    one = [2 * y, 2 * x]
    close(observe["accumulation/two losses/first"], one, "The first loss has wrong gradients.", **TIGHT)
    close(
        observe["accumulation/two losses/both"],
        [one[0] + 2 * x, one[1] + 1],
        "Gradients of two losses built on the same leaves should add up.",
        **TIGHT,
        mistakes={
            "The second backward threw away the gradients of the first: leaves accumulate.": [2 * x, 1.0]
        },
    )


@behaviour(6)
def test_losses_with_a_shared_part(observe):
    x, y = observe.given["x"], observe.given["y"]
    h = math.tanh(x * y)
    slope = 1 - h * h
    one = [3 * slope * y, 3 * slope * x]
    two = [(3 + 2 * h) * slope * y, (3 + 2 * h) * slope * x]
    close(observe["accumulation/shared/first"], one, "The first loss has wrong gradients.", **TIGHT)
    close(
        observe["accumulation/shared/both"],
        two,
        "The second loss shares an inner node with the first, and the node's old gradient was passed on again.",
        **TIGHT,
        call="h = (x * y).tanh(); (h * 3.0).backward(); (h * h).backward(); grads of x, y",
    )


def once(observe):
    x, y, w = (observe.given[name] for name in "xyz")
    h = x * y + w
    t = math.tanh(h)
    inner = (1 - t * t + 1) * x
    return [t + h + inner * y, inner * x, inner]


@behaviour(6)
def test_backward_twice_doubles(observe):
    want = once(observe)
    close(observe["accumulation/twice/once"], want, "The first backward gives wrong gradients.", **TIGHT)
    for name, times in (("twice", 2), ("thrice", 3)):
        close(
            observe[f"accumulation/twice/{name}"],
            [times * g for g in want],
            "The second backward on the same result should add the same amount, not more.",
            **TIGHT,
            call=f"backward called {times} times on ((x * y + w).tanh() + (x * y + w)) * x",
            mistakes={
                "A second backward on the same result should double the gradients of the leaves.": want
            },
        )


@behaviour(6)
def test_zeroed_leaves_start_anew(observe):
    close(
        observe["accumulation/twice/anew"],
        once(observe),
        "After setting leaf.grad = 0.0 a backward should give the plain derivative again.",
        **TIGHT,
    )
    x, target, path = observe.given["x"], observe.given["y"], []
    for _ in range(4):
        path.append(3 * (x - target))
        x -= 0.1 * path[-1]
    close(
        observe["accumulation/descent/path"],
        path,
        "Gradient descent with x.grad = 0.0 before and x.data -= 0.1 * x.grad after each backward took a wrong path.",
        **TIGHT,
    )


LONG = "Python stops at about 1000 nested calls; walk the graph with your own stack."


@behaviour(7, on_error=LONG)
def test_chain_of_sums(observe):
    close(
        observe["chain/sum/data"],
        observe.given["x"] + 5000.0,
        "10,000 additions have the wrong data.",
        **TIGHT,
    )
    close(observe["chain/sum/grad"], 1.0, "The derivative through 10,000 additions is wrong.", **TIGHT)


@behaviour(7, on_error=LONG)
def test_chain_of_mixed_operations(observe):
    x, w, factor, count = observe.given["x"], observe.given["y"], observe.given["factor"], 5000
    series = (1 - factor**count) / (1 - factor)
    close(
        observe["chain/mixed/data"],
        x * factor**count + w * series,
        "10,000 operations have the wrong data.",
        rtol=1e-9,
        call="y = y * c + w 5,000 times",
    )
    close(
        observe["chain/mixed/grads"],
        [factor**count, series],
        "The derivatives through 10,000 operations are wrong.",
        rtol=1e-9,
        call="y = y * c + w 5,000 times; grads of x and w",
    )


@behaviour(8)
def test_value_exponent_is_refused(observe):
    says = "The rule for a constant exponent is wrong for a variable one; refuse it."
    observe.raised("errors/exponent", "TypeError", says=says)
    observe.raised("errors/same", "TypeError", says=says)
    observe.raised("errors/exponent_of_a_number", "TypeError", says=f"2.0 ** Value: {says}")


@behaviour(8)
def test_unsupported_operands_are_refused(observe):
    for op in ("add", "sub", "mul", "div"):
        for other, text in (("text", "'3'"), ("none", "None"), ("list", "[1.0]"), ("word", "'abc'")):
            observe.raised(
                f"errors/{op}_{other}", "TypeError", says=f"Value {SIGN[op]} {text} should raise TypeError."
            )
    for name, text in (("text", "'3'"), ("list", "[1.0]")):
        observe.raised(
            f"errors/repeat_{name}", "TypeError", says=f"Value(3) * {text} should raise TypeError."
        )
        observe.raised(
            f"errors/left_repeat_{name}", "TypeError", says=f"{text} * Value(3) should raise TypeError."
        )
    for op in ("add", "sub", "div"):
        observe.raised(f"errors/left_{op}", "TypeError", says=f"'3' {SIGN[op]} Value should raise TypeError.")
    observe.raised("errors/exponent_text", "TypeError", says="Value ** '2' should raise TypeError.")
