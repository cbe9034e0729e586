# fails: 13
# message: did not back off
import torch


class DynamicLossScaler:
    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
        if not (init_scale > 0 and growth_factor > 1 and 0 < backoff_factor < 1 and growth_interval >= 1):
            raise ValueError("bad arguments")
        self._s, self._g, self._b, self._n = float(init_scale), growth_factor, backoff_factor, growth_interval
        self._count = 0
        self._new()

    def _new(self):
        self._bad, self._stepped = {}, {}

    @property
    def scale_value(self):
        return float(self._s)

    def scale(self, loss):
        return (loss.float() if loss.dtype in (torch.float16, torch.bfloat16) else loss) * self._s

    @staticmethod
    def _grads(opt):
        return [p.grad for g in opt.param_groups for p in g["params"] if p.grad is not None]

    @torch.no_grad()
    def unscale_(self, opt):
        if id(opt) in self._bad:
            raise RuntimeError("already unscaled")
        bad = False
        for g in self._grads(opt):
            bad |= not torch.isfinite(g).all()
            g.div_(self._s)
        self._bad[id(opt)] = bool(bad)

    def step(self, opt):
        if id(opt) in self._stepped:
            raise RuntimeError("already stepped")
        if id(opt) not in self._bad:
            self.unscale_(opt)
        ok = not self._bad[id(opt)] and all(torch.isfinite(g).all() for g in self._grads(opt))
        self._stepped[id(opt)] = ok or not self._bad[id(opt)]
        if ok:
            opt.step()
        return bool(ok)

    def update(self):
        if not self._stepped:
            raise RuntimeError("no step")
        if all(self._stepped.values()):
            self._count += 1
            if self._count >= self._n:
                self._s *= self._g
                self._count = 0
        else:
            self._s *= self._b
            self._count = 0
        self._new()

    def state_dict(self):
        return dict(s=self._s, g=self._g, b=self._b, n=self._n, c=self._count)

    def load_state_dict(self, state):
        self._s, self._g, self._b, self._n, self._count = (state[k] for k in "sgbnc")
