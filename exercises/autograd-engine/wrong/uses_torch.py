# fails: 9
# message: standard library
import math

import torch


class Value:
    def __init__(self, data, node=None):
        self._t = torch.tensor(float(data), dtype=torch.float64, requires_grad=True) if node is None else node

    data = property(lambda self: self._t.item())
    grad = property(lambda self: 0.0 if self._t.grad is None else self._t.grad.item())

    def __add__(self, other):
        return Value(0, self._t + (other._t if isinstance(other, Value) else other))

    def __mul__(self, other):
        return Value(0, self._t * (other._t if isinstance(other, Value) else other))

    __radd__, __rmul__ = __add__, __mul__

    def tanh(self):
        return Value(0, self._t.tanh())

    def backward(self):
        self._t.backward(retain_graph=True)
