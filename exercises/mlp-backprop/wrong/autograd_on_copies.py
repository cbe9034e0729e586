# fails: 6
# message: by hand
import torch


def forward(X, y, W1, b1, W2, b2):
    if len(X) != len(y) or X.shape[1] != W1.shape[0] or W1.shape[1] != W2.shape[0]:
        raise ValueError("shapes")
    if y.min() < 0 or y.max() >= W2.shape[1]:
        raise ValueError("label")
    tensors = [t.detach().clone().requires_grad_() for t in (X, W1, b1, W2, b2)]
    with torch.enable_grad():
        x, w1, c1, w2, c2 = tensors
        z = (x @ w1 + c1).relu() @ w2 + c2
        loss = -z.log_softmax(1)[torch.arange(len(y), device=y.device), y].mean()
    return loss.detach(), (loss, tensors)


def backward(cache):
    loss, tensors = cache
    for t in tensors:
        t.grad = None
    loss.backward(retain_graph=True)
    return dict(zip(("X", "W1", "b1", "W2", "b2"), (t.grad.clone() for t in tensors)))


def gradient_check(f, x, eps=1e-6):
    out = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
        step[i] = eps
        step = step.view(x.shape)
        out.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * eps)
    return out
