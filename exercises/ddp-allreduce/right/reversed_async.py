import torch
import torch.distributed as dist


def broadcast_parameters(module, src=0, group=None):
    with torch.no_grad():
        for t in list(module.buffers()) + list(module.parameters()):
            buffer = t.data.contiguous()
            dist.broadcast(buffer, src, group)
            if buffer.data_ptr() != t.data_ptr():
                t.data.copy_(buffer)


class _Bucket:
    def __init__(self):
        self.params, self.nbytes = [], 0

    def launch(self, group, n):
        first = self.params[0]
        self.flat = torch.zeros(sum(p.numel() for p in self.params), dtype=first.dtype, device=first.device)
        start = 0
        for p in self.params:
            if p.grad is not None:
                self.flat[start : start + p.numel()].copy_(p.grad.flatten())
            start += p.numel()
        self.flat.div_(n)
        self.work = dist.all_reduce(self.flat, op=dist.ReduceOp.SUM, group=group, async_op=True)

    def land(self):
        self.work.wait()
        start = 0
        for p in self.params:
            piece = self.flat.narrow(0, start, p.numel()).view_as(p)
            if p.grad is None:
                p.grad = piece.clone()
            else:
                p.grad.copy_(piece)
            start += p.numel()


def average_gradients(module, bucket_bytes=25 * 2**20, group=None):
    """Reverse order, one open bucket per dtype, all in flight together."""
    if bucket_bytes <= 0:
        raise ValueError(f"bucket_bytes must be positive, got {bucket_bytes}")
    n = dist.get_world_size(group)
    if n == 1:
        return
    params = [p for p in module.parameters() if p.requires_grad][::-1]
    if len(params) == 0:
        return
    mine = torch.tensor([float(p.grad is not None) for p in params])
    gathered = [torch.zeros_like(mine) for _ in range(n)]
    dist.all_gather(gathered, mine, group=group)
    used = torch.stack(gathered).sum(dim=0) > 0
    full, opened = [], {}
    for p, u in zip(params, used):
        if not u:
            continue
        size = p.numel() * p.element_size()
        b = opened.get(p.dtype)
        if b is None or b.nbytes + size > bucket_bytes:
            b = opened[p.dtype] = _Bucket()
            full.append(b)
        b.params.append(p)
        b.nbytes += size
    with torch.no_grad():
        for b in full:
            b.launch(group, n)
        for b in full:
            b.land()
