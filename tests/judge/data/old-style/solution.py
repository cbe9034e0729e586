import torch.distributed as dist


def average(x):
    total = x.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def apply(layer, x):
    return layer(x)
