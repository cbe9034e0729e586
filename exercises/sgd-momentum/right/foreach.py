import torch


class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
        if lr < 0.0:
            raise ValueError(f"invalid lr {lr}")
        if momentum < 0.0 or momentum >= 1.0:
            raise ValueError(f"invalid momentum {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"invalid weight_decay {weight_decay}")
        if nesterov and not momentum:
            raise ValueError("nesterov momentum needs momentum")
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov))

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if params:
                    self._step_group(group, params)
        return loss

    def _step_group(self, group, params):
        grads = torch._foreach_add([p.grad for p in params], params, alpha=group["weight_decay"])
        for p, g in zip(params, grads):
            if group["momentum"] != 0:
                buffer = self.state[p].get("momentum_buffer")
                if buffer is None:
                    buffer = self.state[p]["momentum_buffer"] = g.clone()
                else:
                    buffer.mul_(group["momentum"]).add_(g)
                g = g.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
            p.add_(g, alpha=-group["lr"])
