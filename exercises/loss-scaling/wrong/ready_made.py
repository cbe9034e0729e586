# fails: 12
# message: without GradScaler
import torch
from torch.amp import GradScaler


class DynamicLossScaler(GradScaler):
    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval)

    @property
    def scale_value(self):
        return self.get_scale()

    def step(self, optimizer):
        before = [p.clone() for g in optimizer.param_groups for p in g["params"]]
        super().step(optimizer)
        after = [p for g in optimizer.param_groups for p in g["params"]]
        return not all(torch.equal(a, b) for a, b in zip(before, after))
