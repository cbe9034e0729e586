import torch


def inputs(draw):
    shapes = [(5,), (3, 7), (3, 5, 6)]
    return {
        "cases": [{"x": draw.normal(*s), "y": draw.normal(*s), "w": draw.uniform(0.1, 0.9)} for s in shapes],
        "size": 5,
        "x": draw.normal(3, 5),
        "grad": draw.normal(3, 5),
    }


def probe_blend(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            record("got", code.blend(case["x"], case["y"], case["w"]))


def probe_gradient(code, given, record):
    case = given["cases"][1]
    x, y = case["x"].requires_grad_(), case["y"].requires_grad_()
    w = torch.tensor(case["w"], requires_grad=True)
    code.blend(x, y, w).pow(2).sum().backward()
    record("x", x.grad)
    record("y", y.grad)
    record("w", w.grad)


def probe_gate(code, given, record):
    gate = code.Gate(given["size"])
    record("first", gate(given["x"]))
    gate(given["x"]).backward(given["grad"])
    with torch.no_grad():
        for parameter in gate.parameters():
            parameter.sub_(parameter.grad)
    record("after", gate(given["x"]))


def probe_errors(code, given, record):
    case = given["cases"][0]
    for name, w in (("below", -0.1), ("above", 1.5)):
        record.raises(name, lambda w=w: code.blend(case["x"], case["y"], w))
