# fails: 15
# message: no lower limit
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
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._good_steps = 0
        self._reset()

    def _reset(self):
        self._unscaled = {}
        self._stepped = set()
        self._overflow = False

    @property
    def scale_value(self):
        return self._scale

    def scale(self, loss):
        if loss.dtype in (torch.float16, torch.bfloat16):
            loss = loss.float()
        return loss * self._scale

    @staticmethod
    def _grads(optimizer):
        return [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]

    def _all_finite(self, optimizer):
        return all(bool(torch.isfinite(g).all()) for g in self._grads(optimizer))

    @torch.no_grad()
    def unscale_(self, optimizer):
        if id(optimizer) in self._unscaled or id(optimizer) in self._stepped:
            raise RuntimeError("already unscaled since the last update")
        grads = self._grads(optimizer)
        finite = self._all_finite(optimizer)
        for g in grads:
            g.div_(self._scale)
        self._unscaled[id(optimizer)] = finite

    def step(self, optimizer):
        if id(optimizer) in self._stepped:
            raise RuntimeError("step already called")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        ok = self._unscaled[id(optimizer)] and self._all_finite(optimizer)
        self._stepped.add(id(optimizer))
        if ok:
            optimizer.step()
        else:
            self._overflow = True
        return ok

    def update(self):
        if not self._stepped:
            raise RuntimeError("no step")
        if self._overflow:
            self._scale = max(self._scale * self._backoff_factor, 1.0)
            self._good_steps = 0
        else:
            self._good_steps += 1
            if self._good_steps >= self._growth_interval:
                self._scale *= self._growth_factor
                self._good_steps = 0
        self._reset()

    def state_dict(self):
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "good_steps": self._good_steps,
        }

    def load_state_dict(self, state):
        self._scale = float(state["scale"])
        self._growth_factor = state["growth_factor"]
        self._backoff_factor = state["backoff_factor"]
        self._growth_interval = state["growth_interval"]
        self._good_steps = state["good_steps"]
