LARGEST = 99


def made(n):
    return n * n + 7


def inverse(x):
    return next(n for n in range(LARGEST + 1) if made(n) == x)


def inputs(draw):
    numbers = [draw.integer(0, LARGEST) for _ in range(3)]
    return {
        "cases": [{"x": made(n), "kept": {"n": inverse(made(n))}} for n in numbers],
        "kept": numbers,
        "pair": ({"x": made(5), "kept": 5}, 1),
    }


class Box:
    def __init__(self, value):
        self.value = value


def unboxed(box):
    return box.value


def probe_unknown(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            record("got", unboxed(Box(code.unknown(case["x"]))))
