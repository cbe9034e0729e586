import itertools

import torch
import torch.distributed as dist
import torch.nn.functional as F


def total(*values):
    message = torch.stack([torch.as_tensor(v, dtype=torch.float64).detach() for v in values])
    dist.all_reduce(message, op=dist.ReduceOp.SUM)
    return message


def train(model, batches, val, *, lr, eval_every, target_loss=0.0, on_eval=None):
    """A rank without a batch runs the model on no rows at all: its gradients are zeros or missing."""
    if eval_every < 1:
        raise ValueError("eval_every must be positive")
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    nothing = (val[0][:0], val[1][:0])
    supply = itertools.chain(((*b, 1) for b in batches), itertools.repeat((*nothing, 0)))
    iterations, skipped, val_losses = 0, 0, []
    model.train()
    for x, y, left in supply:
        if not total(left)[0]:
            break
        iterations += 1
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        loss = F.mse_loss(model(x), y, reduction="sum") / y.shape[1]
        samples, bad = total(x.shape[0], 1 - int(loss.isfinite()))
        if bad > 0:
            skipped += 1
        else:
            loss.backward()
            works = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
            for p, work in zip(model.parameters(), works):
                work.wait()
                p.grad.div_(samples.item())
            optimizer.step()
        if iterations % eval_every == 0:
            model.eval()
            with torch.no_grad():
                sums = total(F.mse_loss(model(val[0]), val[1], reduction="sum"), val[1].numel())
            model.train()
            val_losses.append(float(sums[0] / sums[1]))
            if on_eval is not None and dist.get_rank() == 0:
                on_eval(iterations, val_losses[-1])
            if val_losses[-1] <= target_loss:
                break
    return {"iterations": iterations, "skipped": skipped, "val_losses": val_losses}
