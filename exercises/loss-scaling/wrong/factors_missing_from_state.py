# fails: 11
# message: factors
import torch
from torch import Tensor
from torch.optim import Optimizer


def gradients(optimizer: Optimizer) -> list[Tensor]:
    """Every gradient that the optimizer would use."""
    return [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]


def overflowed(grads: list[Tensor]) -> bool:
    """Whether any element is inf or NaN, with one host synchronisation."""
    if not grads:
        return False
    return not bool(torch.stack([torch.isfinite(g).all().to(grads[0].device) for g in grads]).all())


class DynamicLossScaler:
    """Scales the loss, unscales gradients, skips steps that overflowed, and adapts the scale."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ):
        if not init_scale > 0:
            raise ValueError("init_scale must be positive")
        if not growth_factor > 1:
            raise ValueError("growth_factor must be greater than 1")
        if not 0 < backoff_factor < 1:
            raise ValueError("backoff_factor must lie in (0, 1)")
        if growth_interval < 1:
            raise ValueError("growth_interval must be at least 1")
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._clean = 0
        self._unscaled: dict[int, bool] = {}  # optimizer -> whether it overflowed when unscaled
        self._stepped: dict[int, bool] = {}  # optimizer -> whether its step was skipped

    @property
    def scale_value(self) -> float:
        """The current scale."""
        return self._scale

    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the scale; half-precision losses are multiplied in float32."""
        if loss.dtype in (torch.float16, torch.bfloat16):
            loss = loss.float()
        return loss * self._scale

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place."""
        key = id(optimizer)
        if key in self._unscaled or key in self._stepped:
            raise RuntimeError(
                "the gradients of this optimizer were already unscaled since the last update()"
            )
        grads = gradients(optimizer)
        self._unscaled[key] = overflowed(grads)
        for grad in grads:
            grad.div_(self._scale)

    def step(self, optimizer: Optimizer) -> bool:
        """Step if every gradient is finite. True: stepped, False: skipped."""
        key = id(optimizer)
        if key in self._stepped:
            raise RuntimeError("step() was already called for this optimizer since the last update()")
        if key not in self._unscaled:
            self.unscale_(optimizer)
        skip = self._unscaled[key] or overflowed(gradients(optimizer))
        self._stepped[key] = skip
        if not skip:
            optimizer.step()
        return not skip

    def update(self) -> None:
        """End the iteration: back off after an overflow, grow after enough clean iterations."""
        if not self._stepped:
            raise RuntimeError("update() needs a step() since the last update()")
        if any(self._stepped.values()):
            self._scale *= self._backoff_factor
            self._clean = 0
        else:
            self._clean += 1
            if self._clean == self._growth_interval:
                self._scale *= self._growth_factor
                self._clean = 0
        self._unscaled.clear()
        self._stepped.clear()

    def state_dict(self) -> dict:
        """A snapshot of plain numbers."""
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "clean": self._clean,
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue from a snapshot."""
        self._scale = state["scale"]
        self._growth_interval = state["growth_interval"]
        self._clean = state["clean"]
