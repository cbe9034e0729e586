import torch


class DynamicLossScaler:
    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
        assert_range(init_scale, 0, None, "init_scale")
        assert_range(growth_factor, 1, None, "growth_factor")
        assert_range(backoff_factor, 0, 1, "backoff_factor")
        assert_range(growth_interval, 0, None, "growth_interval")
        self._s = float(init_scale)
        self._config = (growth_factor, backoff_factor, growth_interval)
        self._good = 0
        self._iteration = 0
        self._bad_iteration = -1
        self._step_iteration = -1
        self._marks = {}

    @property
    def scale_value(self) -> float:
        return self._s

    def scale(self, loss):
        low = loss.dtype in {torch.float16, torch.bfloat16}
        return self._s * (loss.float() if low else loss)

    def _mark(self, optimizer):
        mark = self._marks.get(optimizer)
        if mark is None or mark["iteration"] != self._iteration:
            mark = {"iteration": self._iteration, "unscaled": False, "stepped": False, "bad": False}
            self._marks[optimizer] = mark
        return mark

    def unscale_(self, optimizer):
        mark = self._mark(optimizer)
        if mark["unscaled"]:
            raise RuntimeError("unscale_() was called twice")
        mark["unscaled"] = True
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                mark["bad"] |= not torch.isfinite(p.grad).all().item()
                p.grad.copy_(p.grad / self._s)

    def step(self, optimizer):
        mark = self._mark(optimizer)
        if mark["stepped"]:
            raise RuntimeError("step() was called twice")
        if not mark["unscaled"]:
            self.unscale_(optimizer)
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        flat = torch.cat([g.reshape(-1) for g in grads])
        mark["bad"] |= bool((flat != flat).any() or (flat.abs() == float("inf")).any())
        mark["stepped"] = True
        self._step_iteration = self._iteration
        if mark["bad"]:
            self._bad_iteration = self._iteration
        else:
            optimizer.step()
        return not mark["bad"]

    def update(self):
        if self._step_iteration != self._iteration:
            raise RuntimeError("update() without step()")
        growth, backoff, interval = self._config
        if self._bad_iteration == self._iteration:
            self._s, self._good = self._s * backoff, 0
        else:
            self._good += 1
            if self._good == interval:
                self._s, self._good = self._s * growth, 0
        self._iteration += 1

    def state_dict(self):
        return {"s": self._s, "config": list(self._config), "good": self._good}

    def load_state_dict(self, state):
        self._s, self._good, self._config = float(state["s"]), int(state["good"]), tuple(state["config"])


def assert_range(value, low, high, name):
    if value <= low or (high is not None and value >= high):
        raise ValueError(f"{name}={value}")
