# fails: 0
# message: adapter library
import torch
from torch import nn

try:
    import peft
except ImportError:
    peft = None


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        config = peft.LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=["0"])
        self.inner = peft.get_peft_model(nn.Sequential(base), config)

    def forward(self, x):
        return self.inner(x)

    def merge(self):
        return self.inner.merge_and_unload()[0]


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    config = peft.LoraConfig(
        r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=list(target_names)
    )
    peft.get_peft_model(model, config)
    return sum(isinstance(m, torch.nn.Linear) for m in model.modules())
