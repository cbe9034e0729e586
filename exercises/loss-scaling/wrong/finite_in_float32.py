# fails: 14
# message: is finite: test and divide it in its own dtype
import math
import torch


class DynamicLossScaler:
    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
        if not init_scale > 0:
            raise ValueError("init_scale")
        if not growth_factor > 1:
            raise ValueError("growth_factor")
        if not 0 < backoff_factor < 1:
            raise ValueError("backoff_factor")
        if not growth_interval >= 1:
            raise ValueError("growth_interval")
        self._scale = float(init_scale)
        self._growth = growth_factor
        self._backoff = backoff_factor
        self._interval = growth_interval
        self._count = 0
        self._unscaled = {}
        self._stepped = set()
        self._skipped = False

    @property
    def scale_value(self):
        return self._scale

    def scale(self, loss):
        if loss.dtype in (torch.float16, torch.bfloat16):
            loss = loss.float()
        return loss * self._scale

    def _bad(self, optimizer):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None and not torch.isfinite(p.grad.float()).all():
                    return True
        return False

    def unscale_(self, optimizer):
        key = id(optimizer)
        if key in self._unscaled:
            raise RuntimeError("already unscaled")
        if key in self._stepped:
            raise RuntimeError("already stepped")
        bad = self._bad(optimizer)
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(self._scale)
        self._unscaled[key] = bad

    def step(self, optimizer):
        key = id(optimizer)
        if key in self._stepped:
            raise RuntimeError("already stepped")
        if key not in self._unscaled:
            self.unscale_(optimizer)
        self._stepped.add(key)
        if self._unscaled[key] or self._bad(optimizer):
            self._skipped = True
            return False
        optimizer.step()
        return True

    def update(self):
        if not self._stepped:
            raise RuntimeError("no step")
        if self._skipped:
            self._scale *= self._backoff
            self._count = 0
        else:
            self._count += 1
            if self._count == self._interval:
                self._scale *= self._growth
                self._count = 0
        self._unscaled = {}
        self._stepped = set()
        self._skipped = False

    def state_dict(self):
        return {
            "scale": self._scale,
            "growth": self._growth,
            "backoff": self._backoff,
            "interval": self._interval,
            "count": self._count,
        }

    def load_state_dict(self, state):
        self._scale = state["scale"]
        self._growth = state["growth"]
        self._backoff = state["backoff"]
        self._interval = state["interval"]
        self._count = state["count"]
