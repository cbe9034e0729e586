import math

import torch


class DynamicLossScaler:
    """The scale is a float32 tensor, as in PyTorch's own scaler; gradients are looked at one by one."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
        if not init_scale > 0:
            raise ValueError("init_scale")
        if not growth_factor > 1:
            raise ValueError("growth_factor")
        if not (backoff_factor > 0 and backoff_factor < 1):
            raise ValueError("backoff_factor")
        if not growth_interval >= 1:
            raise ValueError("growth_interval")
        self.current = torch.tensor(float(init_scale))
        self.growth_factor = growth_factor
        self.backoff_factor = backoff_factor
        self.growth_interval = growth_interval
        self.count = 0
        self.unscaled_optimizers = []
        self.stepped_optimizers = []
        self.bad_optimizers = []
        self.skipped = False

    @property
    def scale_value(self):
        return float(self.current)

    def scale(self, loss):
        if loss.dtype == torch.float16 or loss.dtype == torch.bfloat16:
            loss = loss.float()
        return loss * self.current

    def _contains(self, items, item):
        for other in items:
            if other is item:
                return True
        return False

    def _is_bad(self, optimizer):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                for value in p.grad.detach().reshape(-1).tolist():
                    if math.isnan(value) or math.isinf(value):
                        return True
        return False

    def unscale_(self, optimizer):
        if self._contains(self.unscaled_optimizers, optimizer):
            raise RuntimeError("unscale_() has already been called on this optimizer")
        if self._is_bad(optimizer):
            self.bad_optimizers.append(optimizer)
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.data.copy_(p.grad.data / self.current)
        self.unscaled_optimizers.append(optimizer)

    def step(self, optimizer):
        if self._contains(self.stepped_optimizers, optimizer):
            raise RuntimeError("step() has already been called on this optimizer")
        if not self._contains(self.unscaled_optimizers, optimizer):
            self.unscale_(optimizer)
        self.stepped_optimizers.append(optimizer)
        if self._contains(self.bad_optimizers, optimizer) or self._is_bad(optimizer):
            self.skipped = True
            return False
        optimizer.step()
        return True

    def update(self):
        if len(self.stepped_optimizers) == 0:
            raise RuntimeError("call step() first")
        if self.skipped:
            self.current = self.current * self.backoff_factor
            self.count = 0
        else:
            self.count = self.count + 1
            if self.count >= self.growth_interval:
                self.current = self.current * self.growth_factor
                self.count = 0
        self.unscaled_optimizers = []
        self.stepped_optimizers = []
        self.bad_optimizers = []
        self.skipped = False

    def state_dict(self):
        return {
            "numbers": [
                float(self.current),
                self.growth_factor,
                self.backoff_factor,
                self.growth_interval,
                self.count,
            ]
        }

    def load_state_dict(self, state):
        numbers = list(state["numbers"])
        self.current = torch.tensor(numbers[0])
        self.growth_factor = numbers[1]
        self.backoff_factor = numbers[2]
        self.growth_interval = numbers[3]
        self.count = numbers[4]
