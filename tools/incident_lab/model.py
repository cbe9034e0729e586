"""The models and losses of the lab, healthy and faulty."""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, nll_loss, softmax

from tools.incident_lab.data import CLASSES, FEATURES, IGNORED
from tools.incident_lab.setups import Setup

Loss = Callable[[Tensor, Tensor], Tensor]


class Net(nn.Module):
    """An MLP that keeps the hidden activations of its last forward pass in ``hidden``."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        widths = [FEATURES, *setup.hidden]
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.head = nn.Linear(widths[-1], 1 if setup.task == "regression" else CLASSES)
        self.norms = nn.ModuleList(_norm(setup.norm, width) for width in setup.hidden)
        self.drop = nn.Dropout(setup.dropout) if setup.dropout else nn.Identity()
        self.act: Callable[[Tensor], Tensor] = torch.sigmoid if setup.activation == "sigmoid" else torch.relu
        self.detach = setup.detach
        self.hidden: list[Tensor] = []
        _initialise(self, setup.init)
        if setup.frozen:
            for name, parameter in self.named_parameters():
                parameter.requires_grad = name.startswith("head")

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs of shape (B, 32) to logits (B, 10), or in a regression to predictions (B, 1)."""
        self.hidden = []
        for linear, norm in zip(self.linears, self.norms, strict=True):
            x = self.act(norm(linear(x)))
            self.hidden.append(x.detach())
            x = self.drop(x)
        if self.detach:
            x = x.detach()
        out: Tensor = self.head(x)
        return out


def _norm(kind: str, width: int) -> nn.Module:
    if kind == "batch":
        return nn.BatchNorm1d(width)
    return nn.LayerNorm(width) if kind == "layer" else nn.Identity()


def _initialise(net: Net, kind: str) -> None:
    linears = [m for m in net.modules() if isinstance(m, nn.Linear)]
    for layer in linears if kind != "default" else []:
        if kind == "he":
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        elif kind == "normal":
            nn.init.normal_(layer.weight)
        elif kind == "zero":
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        elif kind == "dead" and layer is not net.head:
            nn.init.constant_(layer.bias, -30.0)


def loss_of(setup: Setup) -> Loss:
    """Return the loss of ``setup``, which maps outputs (B, C) and targets (B,) to a scalar."""
    if setup.ignored:
        return _guarded if setup.guard_empty else cross_entropy
    return LOSSES[setup.loss]


def _guarded(z: Tensor, y: Tensor) -> Tensor:
    # The built-in mean is 0 / 0 = NaN for a batch in which every label is ignored.
    total = cross_entropy(z, y, reduction="sum", ignore_index=IGNORED)
    return total / max(int((y != IGNORED).sum()), 1)


def _double_softmax(z: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(softmax(z, dim=1), y)


def _wrong_axis(z: Tensor, y: Tensor) -> Tensor:
    return nll_loss(log_softmax(z, dim=0), y)


def _naive(z: Tensor, y: Tensor) -> Tensor:
    e = torch.exp(z)
    return -torch.log((e / e.sum(1, keepdim=True))[torch.arange(len(y)), y]).mean()


def _sum(z: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(z, y, reduction="sum")


def _smoothed(z: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(z, y, label_smoothing=0.1)


def _mse(z: Tensor, y: Tensor) -> Tensor:
    return (z.squeeze(1) - y).square().mean()


def _mse_broadcast(z: Tensor, y: Tensor) -> Tensor:
    return (z - y).square().mean()  # (B, 1) minus (B,) is (B, B); F.mse_loss would warn about it


LOSSES: dict[str, Loss] = {
    "cross-entropy": cross_entropy,
    "double-softmax": _double_softmax,
    "wrong-axis": _wrong_axis,
    "naive": _naive,
    "sum": _sum,
    "smoothed": _smoothed,
    "mse": _mse,
    "mse-broadcast": _mse_broadcast,
}
