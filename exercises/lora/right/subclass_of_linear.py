"""Low-rank adapters, in the style of a library."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["LoRALinear", "inject_lora"]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Config:
    rank: int
    alpha: float
    dropout: float

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank must be >= 1, got {self.rank}")
        if not (0.0 <= self.dropout < 1.0):
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")

    @property
    def scaling(self) -> float:
        return self.alpha / self.rank


class LoRALinear(nn.Linear):
    """Takes over the base's own Parameter objects: weight, bias plus the factors."""

    scaling: Final[float]

    def __init__(
        self, base: nn.Linear, rank: int, alpha: float, dropout: float = 0.0, *, init_std: float | None = None
    ):
        nn.Module.__init__(self)
        self.cfg = _Config(rank, alpha, dropout)
        self.in_features = base.in_features
        self.out_features = base.out_features
        self.scaling = self.cfg.scaling
        self.weight = base.weight
        self.bias = base.bias
        self.weight.requires_grad_(False)
        if self.bias is not None:
            self.bias.requires_grad_(False)
        self.register_parameter(
            "lora_A",
            nn.Parameter(
                torch.empty_like(self.weight, requires_grad=False)
                .resize_(0)
                .new_empty(rank, base.in_features)
            ),
        )
        self.register_parameter("lora_B", nn.Parameter(self.weight.new_zeros((base.out_features, rank))))
        self.reset_parameters()
        self.train(base.training)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        nn.init.normal_(self.lora_A, std=1 / math.sqrt(self.in_features))
        nn.init.zeros_(self.lora_B)

    def forward(self, input: Tensor) -> Tensor:
        low = F.dropout(input, p=self.cfg.dropout, training=self.training)
        delta = F.linear(F.linear(low, self.lora_A), self.lora_B)
        return torch.add(F.linear(input, self.weight, self.bias), delta, alpha=self.scaling)

    @torch.inference_mode(False)
    @torch.no_grad()
    def merge(self) -> nn.Linear:
        merged = nn.utils.skip_init(
            nn.Linear,
            self.in_features,
            self.out_features,
            bias=self.bias is not None,
            device=self.weight.device,
            dtype=self.weight.dtype,
        )
        merged.weight.copy_(torch.addmm(self.weight, self.lora_B, self.lora_A, alpha=self.scaling))
        if self.bias is not None:
            merged.bias.copy_(self.bias)
        return merged.train(self.training)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, rank={self.cfg.rank}"


def _targets(model: nn.Module, names: Collection[str]) -> Iterator[tuple[nn.Module, str, nn.Linear]]:
    for path, module in model.named_modules(remove_duplicate=False):
        parent_path, _, name = path.rpartition(".")
        if path and name in names and type(module) is nn.Linear:
            yield model.get_submodule(parent_path), name, module


def inject_lora(
    model: nn.Module, target_names: Collection[str], rank: int, alpha: float, dropout: float = 0.0
) -> int:
    names = frozenset(target_names)
    cfg = _Config(rank, alpha, dropout)
    found = list(_targets(model, names))
    for parent, name, child in found:
        parent.register_module(name, LoRALinear(child, cfg.rank, cfg.alpha, cfg.dropout))
    adapters = [m for m in model.modules() if isinstance(m, LoRALinear)]
    trainable = {id(p) for m in adapters for p in (m.lora_A, m.lora_B)}
    for p in model.parameters():
        p.requires_grad_(id(p) in trainable)
    if not found:
        log.warning("nothing matched %s", sorted(names))
    return len(found)
