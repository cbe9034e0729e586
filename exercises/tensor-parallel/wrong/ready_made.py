# fails: 0
# message: yourself
import torch.distributed.nn.functional as dnn
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class ColumnParallelLinear(nn.Linear):
    def __init__(self, full, group=None):
        super().__init__(full.in_features, full.out_features // dist.get_world_size(group))


class RowParallelLinear(nn.Linear):
    def __init__(self, full, group=None):
        super().__init__(full.in_features // dist.get_world_size(group), full.out_features)

    def forward(self, x):
        return dnn.all_reduce(F.linear(x, self.weight)) + self.bias
