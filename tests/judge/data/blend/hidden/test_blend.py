import torch

from quizapp.judge.testing.checks import behaviour, close


@behaviour(1)
def test_blend(observe):
    for i, case in enumerate(observe.given["cases"]):
        x, y, w = case["x"].double(), case["y"].double(), case["w"]
        close(
            observe[f"blend/{i}/got"],
            w * x + (1 - w) * y,
            "The result is not w * x + (1 - w) * y.",
            rtol=1e-5,
            atol=1e-6,
            call=f"blend(x, y, {w:.3f}) with x of shape {tuple(x.shape)}",
            mistakes={"w is the share of x, not of y.": w * y + (1 - w) * x},
        )


@behaviour(2)
def test_gradients(observe):
    case = observe.given["cases"][1]
    x, y = case["x"].double().requires_grad_(), case["y"].double().requires_grad_()
    w = torch.tensor(case["w"], dtype=torch.float64, requires_grad=True)
    (w * x + (1 - w) * y).pow(2).sum().backward()
    for name, want in (("x", x), ("y", y), ("w", w)):
        close(
            observe[f"gradient/{name}"], want.grad, f"The gradient of {name} is wrong.", rtol=1e-4, atol=1e-5
        )


@behaviour(3)
def test_gate(observe):
    x, grad = observe.given["x"].double(), observe.given["grad"].double()
    close(observe["gate/first"], x / 2, "A fresh gate halves its input.", rtol=1e-5, atol=1e-6)
    w = -(x * grad).sum(0) / 4
    close(observe["gate/after"], x * torch.sigmoid(w), "The gate does not learn.", rtol=1e-4, atol=1e-5)


@behaviour(4)
def test_bad_weight(observe):
    observe.raised("errors/below", "ValueError", says="A weight below 0 must be refused.")
    observe.raised("errors/above", "ValueError", says="A weight above 1 must be refused.")
