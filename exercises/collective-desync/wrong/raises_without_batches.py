# fails: 12
# message: stay in step
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train(model, batches, val, *, lr, eval_every, target_loss=0.0, on_eval=None):
    if eval_every < 1:
        raise ValueError("eval_every must be at least 1")
    params = list(model.parameters())
    device = batches[0][0].device if len(batches) else val[0].device
    optimizer = torch.optim.SGD(params, lr=lr)
    total = torch.tensor(float(len(batches)), device=device)
    dist.all_reduce(total, op=dist.ReduceOp.MAX)
    iterations = skipped = 0
    val_losses = []
    model.train()
    if total.item() == 0:
        raise ValueError("no data")
    for i in range(int(total.item())):
        iterations += 1
        optimizer.zero_grad()
        count = torch.zeros(2, device=device)
        loss = None
        if i < len(batches):
            x, y = batches[i]
            loss = F.mse_loss(model(x), y)
            count[0] = y.shape[0]
            if not torch.isfinite(loss):
                count[1] = 1.0
        dist.all_reduce(count)
        if count[1].item() > 0:
            skipped += 1
        else:
            if loss is not None:
                (loss * (batches[i][1].shape[0] / count[0].item())).backward()
            for p in params:
                if not p.requires_grad:
                    continue
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                dist.all_reduce(p.grad)
            optimizer.step()
        if iterations % eval_every == 0:
            model.eval()
            sums = torch.zeros(2, dtype=torch.float64, device=device)
            x, y = val
            if len(x) > 0:
                with torch.no_grad():
                    sums[0] = F.mse_loss(model(x), y).item() * y.numel()
                sums[1] = y.numel()
            dist.all_reduce(sums)
            model.train()
            v = (sums[0] / sums[1]).item()
            val_losses.append(v)
            if on_eval is not None and dist.get_rank() == 0:
                on_eval(iterations, v)
            if v <= target_loss:
                break
    return {"iterations": iterations, "skipped": skipped, "val_losses": val_losses}
