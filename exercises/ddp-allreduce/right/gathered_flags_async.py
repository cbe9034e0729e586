import torch
import torch.distributed as dist


def broadcast_parameters(module, src=0, group=None):
    # bytes, so that any dtype travels as it is
    works = []
    for t in list(module.state_dict().values()) + [b for b in module.buffers()]:
        if t.numel() == 0:
            continue
        raw = t.detach().contiguous()
        works.append((dist.broadcast(raw, src=src, group=group, async_op=True), raw, t))
    for work, raw, t in works:
        work.wait()
        with torch.no_grad():
            t.copy_(raw)


def average_gradients(module, bucket_bytes=25 * 2**20, group=None):
    if not bucket_bytes >= 1:
        raise ValueError("bucket_bytes")
    n = dist.get_world_size(group)
    params = [p for p in module.parameters() if p.requires_grad]
    if n == 1 or not params:
        return
    mine = torch.tensor([p.grad is not None for p in params], dtype=torch.uint8, device=params[0].device)
    table = [torch.empty_like(mine) for _ in range(n)]
    dist.all_gather(table, mine, group=group)
    anywhere = torch.stack(table).amax(0).bool().tolist()

    def pack(items, bucket=(), size=0):
        if not items:
            return [bucket] if bucket else []
        p, *rest = items
        need = p.numel() * p.element_size()
        if bucket and (size + need > bucket_bytes or bucket[-1].dtype != p.dtype):
            return [bucket] + pack(items)
        return pack(rest, (*bucket, p), size + need)

    pending = []
    for bucket in pack([p for p, a in zip(params, anywhere) if a]):
        parts = []
        for p in bucket:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            parts.append(p.grad.detach().contiguous().view(-1))
        flat = torch.cat(parts)
        pending.append((bucket, flat, dist.all_reduce(flat, group=group, async_op=True)))
    for bucket, flat, work in pending:
        work.wait()
        for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
            p.grad.detach().copy_(piece.reshape(p.shape).div(n))
