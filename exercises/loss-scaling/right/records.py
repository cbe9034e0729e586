import math
from dataclasses import asdict, dataclass

import torch


@dataclass
class _State:
    scale: float
    growth_factor: float
    backoff_factor: float
    growth_interval: int
    streak: int = 0


class _Record:
    def __init__(self):
        self.unscaled = False
        self.stepped = False
        self.bad = False


class DynamicLossScaler:
    """One small record per optimizer and iteration, one dataclass for what lasts."""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
        problems = {
            "init_scale": init_scale <= 0,
            "growth_factor": growth_factor <= 1,
            "backoff_factor": backoff_factor <= 0 or backoff_factor >= 1,
            "growth_interval": growth_interval < 1,
        }
        for name, bad in problems.items():
            if bad:
                raise ValueError(f"{name} is out of range")
        self.state = _State(float(init_scale), growth_factor, backoff_factor, growth_interval)
        self.records = {}

    @property
    def scale_value(self):
        return self.state.scale

    def _record(self, optimizer):
        return self.records.setdefault(optimizer, _Record())

    def scale(self, loss):
        wide = torch.promote_types(loss.dtype, torch.float32)
        return loss.to(wide) * loss.new_tensor(self.state.scale, dtype=wide)

    @staticmethod
    def _bad(optimizer):
        return any(
            not p.grad.isfinite().all().item()
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None
        )

    @torch.no_grad()
    def unscale_(self, optimizer):
        record = self._record(optimizer)
        if record.unscaled:
            raise RuntimeError("unscaled twice in one iteration")
        record.unscaled = True
        record.bad = self._bad(optimizer)
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if grads:
            torch._foreach_mul_(grads, 1.0 / self.state.scale)

    def step(self, optimizer):
        record = self._record(optimizer)
        if record.stepped:
            raise RuntimeError("stepped twice in one iteration")
        if not record.unscaled:
            self.unscale_(optimizer)
        record.stepped = True
        record.bad = record.bad or self._bad(optimizer)
        if record.bad:
            return False
        optimizer.step()
        return True

    def update(self):
        stepped = [record for record in self.records.values() if record.stepped]
        if not stepped:
            raise RuntimeError("no step to judge")
        self.records = {}
        if any(record.bad for record in stepped):
            self.state.scale *= self.state.backoff_factor
            self.state.streak = 0
            return
        self.state.streak += 1
        if self.state.streak >= self.state.growth_interval:
            self.state.streak = 0
            self.state.scale *= self.state.growth_factor

    def state_dict(self):
        return asdict(self.state)

    def load_state_dict(self, state):
        assert math.isfinite(state["scale"])
        self.state = _State(**state)
        self.records = {}
