import torch.distributed as dist


def total(x):
    x = x.clone()
    dist.all_reduce(x)
    return x
