import torch


class ScalerError(RuntimeError):
    pass


class DynamicLossScaler:
    """The scale is a float64 tensor; the sum of 0 * g is NaN if any element is not finite."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
        if not init_scale > 0.0:
            raise ValueError("init_scale")
        if not growth_factor > 1.0:
            raise ValueError("growth_factor")
        if not 0.0 < backoff_factor < 1.0:
            raise ValueError("backoff_factor")
        if not growth_interval >= 1:
            raise ValueError("growth_interval")
        self._scale = torch.tensor(init_scale, dtype=torch.float64)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._tracker = int(growth_interval), 0
        self._phase = {}
        self._overflow = {}

    @property
    def scale_value(self):
        return self._scale.item()

    def scale(self, loss):
        if loss.dtype.itemsize == 2:
            loss = loss.to(torch.float32)
        return loss * self._scale.to(device=loss.device, dtype=loss.dtype)

    def _params(self, optimizer):
        for group in optimizer.param_groups:
            yield from (p for p in group["params"] if p.grad is not None)

    def _check(self, optimizer):
        found = False
        for p in self._params(optimizer):
            found = found or bool(torch.isnan((p.grad * 0).sum()))
        self._overflow[id(optimizer)] = self._overflow.get(id(optimizer), False) or found

    def unscale_(self, optimizer):
        if self._phase.get(id(optimizer)) is not None:
            raise ScalerError("unscale_ must come once, before step")
        self._phase[id(optimizer)] = "unscaled"
        self._check(optimizer)
        with torch.no_grad():
            for p in self._params(optimizer):
                p.grad.div_(self._scale.to(p.grad.device))

    def step(self, optimizer):
        phase = self._phase.get(id(optimizer))
        if phase == "stepped":
            raise ScalerError("step must come once")
        if phase is None:
            self.unscale_(optimizer)
        self._phase[id(optimizer)] = "stepped"
        self._check(optimizer)
        if not self._overflow[id(optimizer)]:
            optimizer.step()
        return not self._overflow[id(optimizer)]

    def update(self):
        stepped = [key for key, phase in self._phase.items() if phase == "stepped"]
        if not stepped:
            raise ScalerError("nothing was stepped")
        clean = not any(self._overflow[key] for key in stepped)
        self._tracker = self._tracker + 1 if clean else 0
        if not clean:
            self._scale = self._scale * self._backoff_factor
        elif self._tracker % self._growth_interval == 0:
            self._scale = self._scale * self._growth_factor
            self._tracker = 0
        self._phase, self._overflow = {}, {}

    def state_dict(self):
        return {
            "scale": self._scale.item(),
            "config": [self._growth_factor, self._backoff_factor, self._growth_interval],
            "tracker": self._tracker,
        }

    def load_state_dict(self, state):
        self._scale = torch.tensor(state["scale"], dtype=torch.float64)
        self._growth_factor, self._backoff_factor, self._growth_interval = state["config"]
        self._tracker = state["tracker"]
