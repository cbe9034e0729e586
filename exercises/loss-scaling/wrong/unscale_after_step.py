# fails: 4
# message: between step and update
import torch
from dataclasses import dataclass, field, asdict
from torch import Tensor


@dataclass
class _Persistent:
    scale: float
    growth_factor: float
    backoff_factor: float
    growth_interval: int
    clean: int = 0


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
        self._s = _Persistent(
            float(init_scale), float(growth_factor), float(backoff_factor), int(growth_interval)
        )
        self._fresh()

    def _fresh(self):
        self._bad = {}
        self._stepped = {}

    @property
    def scale_value(self):
        return self._s.scale

    def scale(self, loss):
        if loss.dtype in (torch.float16, torch.bfloat16):
            loss = loss.float()
        return loss * self._s.scale

    @staticmethod
    def _grads(optimizer):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield p.grad

    def _finite(self, optimizer):
        flags = [torch.isfinite(g).all().cpu() for g in self._grads(optimizer)]
        return all(flags)

    def unscale_(self, optimizer):
        key = id(optimizer)
        if key in self._bad and key not in self._stepped:
            raise RuntimeError("already unscaled")
        self._bad[key] = not self._finite(optimizer)
        with torch.no_grad():
            for g in self._grads(optimizer):
                g.div_(self._s.scale)

    def step(self, optimizer):
        key = id(optimizer)
        if key in self._stepped:
            raise RuntimeError("already stepped")
        if key not in self._bad:
            self.unscale_(optimizer)
        ok = not self._bad[key] and self._finite(optimizer)
        self._stepped[key] = ok
        if ok:
            optimizer.step()
        return ok

    def update(self):
        if not self._stepped:
            raise RuntimeError("no step")
        s = self._s
        if all(self._stepped.values()):
            s.clean += 1
            if s.clean >= s.growth_interval:
                s.scale *= s.growth_factor
                s.clean = 0
        else:
            s.scale *= s.backoff_factor
            s.clean = 0
        self._fresh()

    def state_dict(self):
        return asdict(self._s)

    def load_state_dict(self, state):
        self._s = _Persistent(**state)
