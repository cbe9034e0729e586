# fails: 9
# message: layers that this call replaced
import torch
from torch import Tensor, nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        if rank < 1:
            raise ValueError("rank")
        if not 0.0 <= dropout < 1.0:
            raise ValueError("dropout")
        self.inner = base
        for p in base.parameters():
            p.requires_grad = False
        w = base.weight
        self.lora_A = nn.Parameter(torch.randn_like(w[:1].expand(rank, -1)).div_(w.shape[1] ** 0.5))
        self.lora_B = nn.Parameter(w.new_zeros(w.shape[0], rank))
        self.scaling = alpha / rank
        self.p = dropout
        self.train(base.training)

    def forward(self, x):
        z = nn.functional.dropout(x, self.p, self.training)
        update = torch.einsum("...i,ri,or->...o", z, self.lora_A, self.lora_B)
        return self.inner(x) + self.scaling * update

    @torch.no_grad()
    def merge(self):
        w = self.inner.weight
        out = nn.Linear(
            w.shape[1], w.shape[0], bias=self.inner.bias is not None, device=w.device, dtype=w.dtype
        )
        out.weight.copy_(w + self.scaling * (self.lora_B @ self.lora_A))
        if out.bias is not None:
            out.bias.copy_(self.inner.bias)
        out.train(self.training)
        return out


def _children(module):
    if isinstance(module, LoRALinear):
        return
    for name, child in module.named_children():
        yield module, name, child
        yield from _children(child)


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    names = " ".join(sorted(target_names))
    todo = [(m, n, c) for m, n, c in _children(model) if n in names and type(c) is nn.Linear]
    done = {}
    for parent, name, child in todo:
        setattr(parent, name, LoRALinear(child, rank, alpha, dropout))
    for p in model.parameters():
        p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, LoRALinear):
            m.lora_A.requires_grad_(True)
            m.lora_B.requires_grad_(True)
    return len(todo)
