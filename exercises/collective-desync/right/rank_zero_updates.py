"""Rank 0 decides and computes; the others send sums and receive parameters."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def train(model, batches, val, *, lr, eval_every, target_loss=0.0, on_eval=None):
    if eval_every < 1:
        raise ValueError
    params = [p for p in model.parameters() if p.requires_grad]
    device = next(model.parameters()).device
    lead = dist.get_rank() == 0
    stream = iter(batches)
    iterations = skipped = 0
    val_losses = []
    model.train()
    while True:
        batch = next(stream, None)
        waiting = torch.tensor(float(batch is not None), device=device)
        dist.all_reduce(waiting, op=dist.ReduceOp.MAX)
        if not waiting:
            break
        iterations += 1
        info = torch.zeros(2, device=device)
        model.zero_grad(set_to_none=False)
        for p in params:
            p.grad = torch.zeros_like(p)
        if batch is not None:
            error = F.mse_loss(model(batch[0]), batch[1], reduction="sum")
            per_sample = batch[1].numel() // len(batch[1])
            if torch.isfinite(error / batch[1].numel()):
                (error / per_sample).backward()
                info[0] = len(batch[0])
            else:
                info[1] = 1
        dist.reduce(info, 0)
        dist.broadcast(info, 0)
        if info[1] > 0:
            skipped += 1
        else:
            for p in params:
                dist.reduce(p.grad, 0)
                with torch.no_grad():
                    if lead:
                        p.add_(p.grad, alpha=-lr / info[0].item())
                    new = p.detach().clone()
                    dist.broadcast(new, 0)
                    p.copy_(new)
        if iterations % eval_every == 0:
            model.eval()
            sums = torch.zeros(2, dtype=torch.float64, device=device)
            if len(val[0]):
                with torch.no_grad():
                    sums[0] = F.mse_loss(model(val[0]), val[1]).double() * len(val[0])
                sums[1] = len(val[0])
            dist.all_reduce(sums)
            model.train()
            val_losses.append(float(sums[0] / sums[1]))
            if lead and on_eval:
                on_eval(iterations, val_losses[-1])
            if val_losses[-1] <= target_loss:
                break
    return dict(iterations=iterations, skipped=skipped, val_losses=val_losses)
