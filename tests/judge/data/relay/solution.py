import torch.distributed as dist


def total(x, group=None):
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x
