# fails: 0
# message: Shard the layer yourself
"""Torch's own sharding, wrapped."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class ShardedLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        self.inner = fully_shard(full)

    def forward(self, x):
        return self.inner(x)


def clip_grad_norm_(model, max_norm, group=None):
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
