# fails: 10
# message: require a gradient now
import torch
import torch.distributed as dist
import torch.nn.functional as F


def device_of(model):
    return next(model.parameters()).device


def evaluate(model, val):
    x, y = val
    model.eval()
    total = torch.zeros(2, dtype=torch.float64, device=device_of(model))
    with torch.no_grad():
        if len(x):
            loss = F.mse_loss(model(x), y)
            total[0] = loss.double() * len(x)
            total[1] = len(x)
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def train(model, batches, val, *, lr, eval_every, target_loss=0.0, on_eval=None):
    if eval_every < 1:
        raise ValueError("eval_every must be at least 1")
    device = device_of(model)
    params = [p for p in model.parameters() if p.requires_grad]
    count = torch.tensor(len(batches), device=device)
    dist.all_reduce(count, op=dist.ReduceOp.MAX)
    iterations = skipped = 0
    val_losses = []
    model.train()
    for i in range(int(count)):
        iterations += 1
        for p in params:
            p.grad = None
        samples, bad = 0, 0.0
        if i < len(batches):
            x, y = batches[i]
            x.requires_grad_()
            loss = F.mse_loss(model(x), y)
            samples = len(x)
            bad = float(not torch.isfinite(loss))
            if not bad:
                (loss * samples).backward()
        agreed = torch.tensor([float(samples), bad], dtype=torch.float64, device=device)
        dist.all_reduce(agreed)
        if agreed[1] > 0:
            skipped += 1
        else:
            with torch.no_grad():
                for p in params:
                    grad = torch.zeros_like(p) if p.grad is None else p.grad
                    dist.all_reduce(grad)
                    p -= lr * (grad / agreed[0]).to(p.dtype)
        if iterations % eval_every == 0:
            value = evaluate(model, val)
            val_losses.append(value)
            if on_eval is not None and dist.get_rank() == 0:
                on_eval(iterations, value)
            if value <= target_loss:
                break
    return {"iterations": iterations, "skipped": skipped, "val_losses": val_losses}
