# fails: 5
# message: before its second consumer
import math


class Value:
    def __init__(self, data, _parents=(), _backward=lambda g: ()):
        self.data = data
        self.grad = 0.0
        self._parents = _parents
        self._backward = _backward

    @staticmethod
    def _wrap(other):
        if isinstance(other, Value):
            return other
        if isinstance(other, (int, float)):
            return Value(other)
        raise TypeError(f"unsupported operand {other!r}")

    def __add__(self, other):
        other = self._wrap(other)
        return Value(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        other = self._wrap(other)
        return Value(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def __pow__(self, n):
        if not isinstance(n, (int, float)):
            raise TypeError("constant exponents only")
        return Value(self.data**n, (self,), lambda g: (g * n * self.data ** (n - 1),))

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -self._wrap(other)

    def __rsub__(self, other):
        return self._wrap(other) - self

    def __truediv__(self, other):
        return self * self._wrap(other) ** -1

    def __rtruediv__(self, other):
        return self._wrap(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def relu(self):
        return Value(max(0.0, self.data), (self,), lambda g: (g * (self.data > 0),))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), lambda g: (g * (1 - t * t),))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), lambda g: (g * e,))

    def log(self):
        return Value(math.log(self.data), (self,), lambda g: (g / self.data,))

    def backward(self):
        nodes, seen = [self], {self}
        for node in nodes:
            for parent in node._parents:
                if parent not in seen:
                    seen.add(parent)
                    nodes.append(parent)
        for node in nodes:
            if node._parents:
                node.grad = 0.0
        self.grad = 1.0
        for node in nodes:
            for parent, g in zip(node._parents, node._backward(node.grad)):
                parent.grad += g
