"""Kahn's algorithm: count the consumers, release a node when all have reported; everything from + * ** exp log."""

import math


class Value:
    def __init__(self, data: float, parents=(), slopes=()):
        self.data = data
        self.grad = 0.0
        self.parents = parents
        self.slopes = slopes

    @classmethod
    def of(cls, thing):
        if isinstance(thing, cls):
            return thing
        if type(thing) in (int, float):
            return cls(thing)
        raise TypeError(f"cannot compute with {type(thing).__name__}")

    def __add__(self, other):
        other = Value.of(other)
        return Value(self.data + other.data, (self, other), (1, 1))

    def __mul__(self, other):
        other = Value.of(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, exponent):
        if type(exponent) not in (int, float):
            raise TypeError("the exponent must be constant")
        return Value(self.data**exponent, (self,), (exponent * self.data ** (exponent - 1),))

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-Value.of(other))

    def __truediv__(self, other):
        return self * Value.of(other) ** -1

    def __radd__(self, other):
        return Value.of(other) + self

    def __rmul__(self, other):
        return Value.of(other) * self

    def __rsub__(self, other):
        return Value.of(other) + (-self)

    def __rtruediv__(self, other):
        return Value.of(other) * self**-1

    def relu(self):
        positive = self.data > 0
        return Value(self.data if positive else 0, (self,), (int(positive),))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), (e,))

    def tanh(self):
        doubled = (self * 2).exp()
        return (doubled - 1) / (doubled + 1)

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def backward(self):
        waiting = {self: 0}
        stack = [self]
        while stack:
            for parent in stack.pop().parents:
                if parent not in waiting:
                    waiting[parent] = 0
                    stack.append(parent)
                waiting[parent] += 1
        local = dict.fromkeys(waiting, 0.0)
        local[self] = 1.0
        ready = [self]
        while ready:
            node = ready.pop()
            for parent, slope in zip(node.parents, node.slopes, strict=True):
                local[parent] += local[node] * slope
                waiting[parent] -= 1
                if not waiting[parent]:
                    ready.append(parent)
        for node, amount in local.items():
            node.grad += amount
