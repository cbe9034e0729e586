import torch
import torch.distributed as dist
import torch.nn.functional as F


def train(model, batches, val, *, lr, eval_every, target_loss=0.0, on_eval=None):
    """Gradients, counts and flags of an iteration travel in one flat message; SGD is written out."""
    if eval_every < 1:
        raise ValueError("eval_every")
    params = list(model.parameters())
    sizes = [p.numel() for p in params]
    result = {"iterations": 0, "skipped": 0, "val_losses": []}
    model.train()
    step = 0
    while True:
        here = step < len(batches)
        grads, count, bad = [None] * len(params), 0, 0
        if here:
            x, y = batches[step]
            loss = F.mse_loss(model(x), y, reduction="sum") / y[0].numel()
            count = x.shape[0]
            if torch.isfinite(loss):
                grads = torch.autograd.grad(loss, params, allow_unused=True)
            else:
                bad = 1
        flat = torch.cat(
            [
                *(torch.zeros(n) if g is None else g.flatten() for g, n in zip(grads, sizes)),
                torch.tensor([count, bad, here]),
            ]
        )
        dist.all_reduce(flat)
        count, bad, here = flat[-3:].tolist()
        if not here:
            return result
        step += 1
        result["iterations"] += 1
        if bad:
            result["skipped"] += 1
        else:
            with torch.no_grad():
                for p, g in zip(params, flat[:-3].split(sizes)):
                    p.sub_(lr * g.view_as(p) / count)
        if step % eval_every:
            continue
        model.eval()
        with torch.inference_mode():
            both = torch.zeros(2, dtype=torch.float64)
            if val[0].shape[0] > 0:
                both[0] = F.mse_loss(model(val[0]), val[1], reduction="sum").double()
                both[1] = val[1].numel()
            dist.all_reduce(both)
        model.train()
        result["val_losses"].append((both[0] / both[1]).item())
        if on_eval and not dist.get_rank():
            on_eval(step, result["val_losses"][-1])
        if result["val_losses"][-1] <= target_loss:
            return result
