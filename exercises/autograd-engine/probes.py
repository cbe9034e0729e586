import math
from time import process_time  # bound before the submission is imported

UNARY = {
    "neg": lambda a: -a,
    "relu": lambda a: a.relu(),
    "tanh": lambda a: a.tanh(),
    "exp": lambda a: a.exp(),
    "log": lambda a: a.log(),
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "root": lambda a: a**0.5,
    "inverse": lambda a: a**-1,
    "rsub": lambda a: 2 - a,
    "rdiv": lambda a: 1.5 / a,
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}
PLAIN = {
    "neg": lambda a: -a,
    "relu": lambda a: max(a, 0.0),
    "tanh": math.tanh,
    "exp": math.exp,
    "log": math.log,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "root": lambda a: a**0.5,
    "inverse": lambda a: 1 / a,
    "rsub": lambda a: 2 - a,
    "rdiv": lambda a: 1.5 / a,
}
BOTH = {
    "add": lambda a, b: a + b,
    "add_right": lambda a, b: b + a,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mul_right": lambda a, b: b * a,
    "div": lambda a, b: a / b,
}
REFLECTED = {
    "add": lambda a, c: c + a,
    "sub": lambda a, c: c - a,
    "mul": lambda a, c: c * a,
    "div": lambda a, c: c / a,
}


def allowed(op, a, b):
    """Whether the operation is smooth here and its result of moderate size."""
    if op == "relu" and abs(a) < 0.1:
        return False
    if op in ("log", "root") and a < 0.3:
        return False
    if op in ("inverse", "rdiv") and abs(a) < 0.5:
        return False
    if op == "div" and abs(b) < 0.5:
        return False
    if op == "exp" and a > 1.2:
        return False
    return 0.05 < abs(BOTH[op](a, b) if op in BINARY else PLAIN[op](a)) < 3.5


def program(draw, leaves, length):
    """A random graph: each line is an operation and the numbers of its operands."""
    values, lines = list(leaves), []
    while len(lines) < length:
        op = draw.choice([*UNARY, *BINARY, *BINARY, *BINARY])
        recent = len(values) - 1 if lines else 0
        i = draw.choice([recent, recent, draw.integer(0, len(values) - 1)])
        j = draw.integer(0, len(values) - 1)
        if allowed(op, values[i], values[j]):
            values.append(BOTH[op](values[i], values[j]) if op in BINARY else PLAIN[op](values[i]))
            lines.append([op, i, j])
    return {"leaves": list(leaves), "lines": lines}


def inputs(draw):
    def number():
        return draw.choice([-1, 1]) * draw.uniform(0.7, 1.8)

    return {
        "pairs": [[number(), number()] for _ in range(4)],
        "constants": [3, -2, draw.uniform(0.4, 0.9), -draw.uniform(1.2, 2.2)],
        "powers": [[number(), n] for n in (2, 3, -1, -2, 1, 2.0)]
        + [[-draw.uniform(0.7, 1.8), 3.0]]
        + [[draw.uniform(0.5, 2.0), p] for p in (0.5, -0.5, 1.7, 2.5)],
        "functions": [draw.uniform(0.3, 0.9), draw.uniform(1.1, 2.2), 1.0],
        "negatives": [-draw.uniform(0.2, 0.8), -draw.uniform(1.1, 2.0)],
        "x": draw.uniform(1.2, 1.9),
        "y": draw.uniform(0.3, 0.8),
        "z": -draw.uniform(0.4, 0.9),
        "programs": [program(draw, [number() for _ in range(3)], 25) for _ in range(4)],
        "factor": draw.uniform(0.9990, 0.9995),
    }


def plain(value):
    return [value.data, value.grad]


def probe_arithmetic(code, given, record):
    V = code.Value
    for i, (a, b) in enumerate(given["pairs"]):
        for name in BINARY:
            with record.step(f"{name}{i}"):
                x, y = V(a), V(b)
                result = BINARY[name](x, y)
                record("data", result.data)
                record("new", isinstance(result, V) and result is not x and result is not y)
                record("operands", [plain(x), plain(y)])
        with record.step(f"neg{i}"):
            x = V(a)
            result = -x
            record("data", result.data)
            record("new", isinstance(result, V) and result is not x)
            record("operands", [plain(x)])


def probe_plain_numbers(code, given, record):
    V = code.Value
    a = given["pairs"][0][0]
    for i, c in enumerate(given["constants"]):
        for name in BINARY:
            with record.step(f"right/{name}{i}"):
                x = V(a)
                result = BINARY[name](x, c)
                record("data", result.data)
                record("new", isinstance(result, V))
                record("operands", [plain(x)])
                result.backward()
                record("grad", x.grad)
            with record.step(f"left/{name}{i}"):
                x = V(a)
                result = REFLECTED[name](x, c)
                record("data", result.data)
                record("new", isinstance(result, V))
                record("operands", [plain(x)])
                result.backward()
                record("grad", x.grad)


def probe_neutral(code, given, record):
    for name, call in {
        "x + 0": lambda x: x + 0,
        "0 + x": lambda x: 0 + x,
        "x - 0": lambda x: x - 0,
        "x * 1": lambda x: x * 1,
        "x / 1": lambda x: x / 1,
        "x ** 1": lambda x: x**1,
    }.items():
        with record.step(name.replace("/", "over")):
            x = code.Value(given["x"])
            result = call(x)
            record("data", result.data)
            record("new", result is not x)


def probe_in_place(code, given, record):
    """x += c and its relatives bind the name to a new Value."""
    x = code.Value(given["x"])
    y = x
    y += 1.0
    y -= 2.5
    y *= 2.0
    y /= 4.0
    record("data", y.data)
    record("operand", plain(x))
    y.backward()
    record("grad", x.grad)


def probe_whole_numbers(code, given, record):
    """Values that were made from an int."""
    for name in BINARY:
        with record.step(name):
            x, y = code.Value(7), code.Value(2)
            result = BINARY[name](x, y)
            record("data", result.data)
            result.backward()
            record("grads", [x.grad, y.grad])


def probe_equal(code, given, record):
    """Two Values that hold the same number."""
    for name in BINARY:
        with record.step(name):
            x, y = code.Value(given["x"]), code.Value(given["x"])
            (BINARY[name](x, y) * 3.0).backward()
            record("grads", [x.grad, y.grad])


ZEROS = {
    "x * 3": lambda x: x * 3.0,
    "x / 2": lambda x: x / 2.0,
    "x ** 2": lambda x: x**2,
    "x ** 1": lambda x: x**1,
    "x ** 1.5": lambda x: x**1.5,
    "x.tanh()": lambda x: x.tanh(),
    "x.exp()": lambda x: x.exp(),
}


def probe_zero(code, given, record):
    for i, call in enumerate(ZEROS.values()):
        with record.step(i):
            x = code.Value(0.0)
            result = call(x)
            record("data", result.data)
            result.backward()
            record("grad", x.grad)


def probe_zero_operand(code, given, record):
    for name in BINARY:
        with record.step(name):
            x, y = code.Value(0.0), code.Value(given["y"])
            BINARY[name](x, y).backward()
            record("grads", [x.grad, y.grad])


def probe_powers(code, given, record):
    for i, (base, exponent) in enumerate(given["powers"]):
        with record.step(i):
            x = code.Value(base)
            result = x**exponent
            record("data", result.data)
            record("new", isinstance(result, code.Value) and result is not x)
            record("operands", [plain(x)])
            result.backward()
            record("grad", x.grad)


def probe_derivatives(code, given, record):
    V = code.Value
    for i, (a, b) in enumerate(given["pairs"]):
        for name in BINARY:
            with record.step(f"{name}{i}"):
                x, y = V(a), V(b)
                BINARY[name](x, y).backward()
                record("grads", [x.grad, y.grad])
        with record.step(f"neg{i}"):
            x = V(a)
            (-x).backward()
            record("grads", [x.grad])
    with record.step("inner"):
        x, y, z = V(given["x"]), V(given["y"]), V(given["z"])
        aside = x * 3.0
        s = x + y
        p = s * z
        q = p / y
        r = q - 2.0
        (r * r).backward()
        record("grads", [v.grad for v in (x, y, z, s, p, q, r)])
        record("aside", aside.grad)
    with record.step("fresh"):
        x = V(given["x"])
        record("grads", [x.grad, (x * 2.0).grad])


def probe_functions(code, given, record):
    for name in ("relu", "tanh", "exp", "log"):
        points = given["functions"] + (given["negatives"] if name != "log" else [])
        for i, point in enumerate(points):
            with record.step(f"{name}{i}"):
                x = code.Value(point)
                result = getattr(x, name)()
                record("data", result.data)
                (result * 2.5).backward()
                record("grad", x.grad)
                record("kept", x.data)
    with record.step("own"):  # the result of relu and its operand are two Values with two derivatives
        x = code.Value(given["x"])
        result = x.relu()
        (result * 2.0 + x * 3.0).backward()
        record("grads", [result.grad, x.grad])
    with record.step("zero"):
        x = code.Value(0.0)
        result = x.relu()
        record("data", result.data)
        (result * 2.5 + x * 0.5).backward()
        record("grad", x.grad)


def probe_reuse(code, given, record):
    V = code.Value
    a, b, c = given["x"], given["y"], given["z"]
    for name, call in {
        "x + x": lambda x: x + x,
        "x * x": lambda x: x * x,
        "x - x": lambda x: x - x,
        "x over x": lambda x: x / x,
    }.items():
        with record.step(name):
            x = V(a)
            result = call(x)
            result.backward()
            record("data", result.data)
            record("grad", x.grad)
    with record.step("branches"):
        x, y, w = V(a), V(b), V(c)
        left = x * y + w
        right = (x - y).tanh() * x
        (left * right + x * w).backward()
        record("grads", [x.grad, y.grad, w.grad])


def build(code, case):
    leaves = [code.Value(v) for v in case["leaves"]]
    nodes = list(leaves)
    for op, i, j in case["lines"]:
        nodes.append(BINARY[op](nodes[i], nodes[j]) if op in BINARY else UNARY[op](nodes[i]))
    return leaves, nodes


def probe_meeting_branches(code, given, record):
    V = code.Value
    for i, case in enumerate(given["programs"]):
        with record.step(f"program{i}"):
            leaves, nodes = build(code, case)
            record("data", nodes[-1].data)
            nodes[-1].backward()
            record("grads", [leaf.grad for leaf in leaves])
    for name, call in {
        "short first": lambda a, b: a * b,
        "long first": lambda a, b: b * a,
    }.items():
        with record.step(name):
            x = V(given["x"])
            a = x * given["y"]
            b = (a + 1.0).tanh() * 2.0
            call(a, b).backward()
            record("grad", x.grad)
    with record.step("doubling"):
        walks = fastest_backward(V, 14, lambda y: y + y) > 100 * fastest_backward(V, 14, lambda y: y + 1.0)
        record("walks every path", walks)
        if not walks:
            x = V(given["x"])
            y = x
            for _ in range(40):
                y = y + y
            y.backward()
            record("grad", x.grad)


def fastest_backward(V, count, operation):
    """CPU seconds of a backward pass through ``count`` operations, the least of three."""
    seconds = []
    for _ in range(3):
        y = V(1.0)
        for _ in range(count):
            y = operation(y)
        start = process_time()
        y.backward()
        seconds.append(process_time() - start)
    return min(seconds)


def probe_accumulation(code, given, record):
    V = code.Value
    a, b, c = given["x"], given["y"], given["z"]
    with record.step("two losses"):
        x, y = V(a), V(b)
        (x * y * 2.0).backward()
        record("first", [x.grad, y.grad])
        (x * x + y).backward()
        record("both", [x.grad, y.grad])
    with record.step("shared"):
        x, y = V(a), V(b)
        h = (x * y).tanh()
        one, two = h * 3.0, h * h
        one.backward()
        record("first", [x.grad, y.grad])
        two.backward()
        record("both", [x.grad, y.grad])
    with record.step("twice"):
        x, y, w = V(a), V(b), V(c)
        h = x * y + w
        loss = (h.tanh() + h) * x
        loss.backward()
        record("once", [x.grad, y.grad, w.grad])
        loss.backward()
        record("twice", [x.grad, y.grad, w.grad])
        loss.backward()
        record("thrice", [x.grad, y.grad, w.grad])
        x.grad = 0.0
        y.grad = 0.0
        w.grad = 0.0
        loss.backward()
        record("anew", [x.grad, y.grad, w.grad])
    with record.step("descent"):
        x = V(a)
        path = []
        for _ in range(4):
            x.grad = 0.0
            ((x - b) ** 2 * 1.5).backward()
            path.append(x.grad)
            x.data -= 0.1 * x.grad
        record("path", path)


def probe_chain(code, given, record):
    V, factor = code.Value, given["factor"]
    with record.step("sum"):
        x = V(given["x"])
        y = x
        for _ in range(10_000):
            y = y + 0.5
        record("data", y.data)
        y.backward()
        record("grad", x.grad)
    with record.step("mixed"):
        x, w = V(given["x"]), V(given["y"])
        y = x
        for _ in range(5_000):
            y = y * factor + w
        record("data", y.data)
        y.backward()
        record("grads", [x.grad, w.grad])


def probe_errors(code, given, record):
    def value():
        return code.Value(given["x"])

    def answer(result):
        return getattr(result, "data", None)

    record.raises("exponent", lambda: answer(value() ** code.Value(2.0)))
    with record.step("same"):
        x = value()
        record("returned", answer(x**x))
    record.raises("exponent_of_a_number", lambda: answer(2.0 ** value()))
    record.raises("exponent_text", lambda: answer(value() ** "2"))
    for name, other in (("text", "3"), ("none", None), ("list", [1.0]), ("word", "abc")):
        record.raises(f"add_{name}", lambda o=other: answer(value() + o))
        record.raises(f"sub_{name}", lambda o=other: answer(value() - o))
        record.raises(f"mul_{name}", lambda o=other: answer(value() * o))
        record.raises(f"div_{name}", lambda o=other: answer(value() / o))
    for name, other in (("text", "3"), ("list", [1.0])):  # which a plain int would repeat
        record.raises(f"repeat_{name}", lambda o=other: answer(code.Value(3) * o))
        record.raises(f"left_repeat_{name}", lambda o=other: answer(o * code.Value(3)))
    record.raises("left_add", lambda: answer("3" + value()))
    record.raises("left_sub", lambda: answer("3" - value()))
    record.raises("left_div", lambda: answer("3" / value()))
