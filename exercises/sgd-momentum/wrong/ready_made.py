# fails: 11
# message: without a ready-made optimizer
import torch.optim as optim


class SGD(optim.SGD):
    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
        if momentum >= 1:
            raise ValueError("momentum")
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)
