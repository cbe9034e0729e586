# fails: 2
# message: are still two
import math


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.data = data
        self.grad = 0.0
        self.parents = parents
        self.slopes = slopes

    def __eq__(self, other):
        return isinstance(other, Value) and self.data == other.data

    def __hash__(self):
        return hash(self.data)

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    @staticmethod
    def _lift(other):
        if isinstance(other, Value):
            return other
        if isinstance(other, (int, float)):
            return Value(other)
        return None

    def __add__(self, other):
        other = Value._lift(other)
        if other is None:
            return NotImplemented
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    __radd__ = __add__

    def __mul__(self, other):
        other = Value._lift(other)
        if other is None:
            return NotImplemented
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    __rmul__ = __mul__

    def __neg__(self):
        return Value(-self.data, (self,), (-1.0,))

    def __sub__(self, other):
        other = Value._lift(other)
        if other is None:
            return NotImplemented
        return Value(self.data - other.data, (self, other), (1.0, -1.0))

    def __rsub__(self, other):
        other = Value._lift(other)
        if other is None:
            return NotImplemented
        return other - self

    def __truediv__(self, other):
        other = Value._lift(other)
        if other is None:
            return NotImplemented
        return Value(self.data / other.data, (self, other), (1 / other.data, -self.data / other.data**2))

    def __rtruediv__(self, other):
        other = Value._lift(other)
        if other is None:
            return NotImplemented
        return other / self

    def __pow__(self, exponent):
        if not isinstance(exponent, (int, float)):
            raise TypeError("exponent must be a number")
        slope = 0.0 if exponent == 0 else exponent * self.data ** (exponent - 1)
        return Value(self.data**exponent, (self,), (slope,))

    def relu(self):
        return Value(max(0.0, self.data), (self,), (1.0 if self.data > 0 else 0.0,))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), (e,))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def backward(self):
        order = []
        seen = set()
        stack = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            stack.append((node, True))
            for parent in node.parents:
                stack.append((parent, False))
        for node in order:
            if node.parents:
                node.grad = 0.0
        self.grad += 1.0
        for node in reversed(order):
            for parent, slope in zip(node.parents, node.slopes):
                parent.grad += slope * node.grad
