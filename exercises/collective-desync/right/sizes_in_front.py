import torch
import torch.distributed as dist
import torch.nn.functional as F


def table(row, device):
    """Every rank's row, (world, len(row))."""
    mine = torch.tensor(row, dtype=torch.float64, device=device)
    rows = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, mine)
    return torch.stack(rows)


def plan(batches, device):
    """Generator of (own batch or None, samples of all ranks): sizes are exchanged once, in front."""
    most = int(table([len(batches)], device).max())
    sizes = [float(len(x)) for x, _ in batches] + [0.0] * (most - len(batches))
    sizes = table(sizes, device).sum(0).tolist() if most else []
    for i, n in enumerate(sizes):
        yield (batches[i] if i < len(batches) else None), n


def train(model, batches, val, *, lr, eval_every, target_loss=0.0, on_eval=None):
    if eval_every < 1:
        raise ValueError("eval_every < 1")
    ps = [p for p in model.parameters()]
    device = ps[0].device
    out = {"iterations": 0, "skipped": 0, "val_losses": []}

    def validation():
        model.eval()
        with torch.inference_mode():
            x, y = val
            pairs = [len(x), float(F.mse_loss(model(x), y, reduction="mean")) if len(x) else 0.0]
        model.train()
        n, mean = table(pairs, device).unbind(1)
        return float((n * mean).sum() / n.sum())

    model.train()
    for batch, n in plan(batches, device):
        out["iterations"] += 1
        grads = [torch.zeros_like(p) for p in ps]
        fine = 1.0
        if batch is not None:
            x, y = batch
            loss = F.mse_loss(model(x), y)
            fine = float(torch.isfinite(loss))
            if fine and loss.grad_fn is not None:
                found = torch.autograd.grad(loss, [p for p in ps if p.requires_grad], allow_unused=True)
                found = iter(found)
                for k, p in enumerate(ps):
                    g = next(found) if p.requires_grad else None
                    if g is not None:
                        grads[k] = g * (len(x) / n)
        if bool(table([fine], device).all()):
            handles = [dist.all_reduce(g, async_op=True) for g in grads]
            for h in handles:
                h.wait()
            with torch.no_grad():
                torch._foreach_add_(ps, grads, alpha=-lr)
        else:
            out["skipped"] += 1
        if out["iterations"] % eval_every:
            continue
        out["val_losses"].append(validation())
        if on_eval is not None and not dist.get_rank():
            on_eval(out["iterations"], out["val_losses"][-1])
        if out["val_losses"][-1] <= target_loss:
            return out
    return out
