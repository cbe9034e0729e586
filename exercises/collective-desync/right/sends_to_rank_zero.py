import torch
import torch.distributed as dist
import torch.nn.functional as F


def train(model, batches, val, *, lr, eval_every, target_loss=0.0, on_eval=None):
    if eval_every < 1:
        raise ValueError("eval_every has to be at least 1")
    params = [p for p in model.parameters() if p.requires_grad]
    device = next(model.parameters()).device

    def total_of(t, op):
        if dist.get_rank() == 0:
            box = torch.empty_like(t)
            for other in range(1, dist.get_world_size()):
                dist.recv(box, src=other)
                t.copy_(torch.maximum(t, box) if op == dist.ReduceOp.MAX else t + box)
            for other in range(1, dist.get_world_size()):
                dist.send(t, dst=other)
        else:
            dist.send(t, dst=0)
            dist.recv(t, src=0)

    def reduced(*values, op=dist.ReduceOp.SUM):
        t = torch.tensor(values, dtype=torch.float64, device=device)
        total_of(t, op)
        return t.tolist()

    total = int(reduced(len(batches), op=dist.ReduceOp.MAX)[0])
    iterations = skipped = 0
    val_losses = []
    model.train()
    while iterations < total:
        for p in params:
            p.grad = None
        n, bad = 0, 0
        if iterations < len(batches):
            x, y = batches[iterations]
            loss = F.mse_loss(model(x), y)
            n, bad = len(x), int(not torch.isfinite(loss))
        iterations += 1
        count, any_bad = reduced(n, bad)
        if any_bad:
            skipped += 1
        else:
            if n:
                (loss * (n / count)).backward()
            for p in params:
                g = torch.zeros_like(p) if p.grad is None else p.grad
                total_of(g, dist.ReduceOp.SUM)
                p.data -= lr * g
        if iterations % eval_every == 0:
            model.eval()
            with torch.no_grad():
                s = F.mse_loss(model(val[0]), val[1]).item() * len(val[0]) if len(val[0]) else 0.0
            model.train()
            s, c = reduced(s, len(val[0]))
            val_losses.append(s / c)
            if on_eval is not None and dist.get_rank() == 0:
                on_eval(iterations, val_losses[-1])
            if val_losses[-1] <= target_loss:
                break
    return {"iterations": iterations, "skipped": skipped, "val_losses": val_losses}
