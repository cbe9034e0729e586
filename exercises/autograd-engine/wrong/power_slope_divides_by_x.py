# fails: 2
# message: x = 0
import math


class Value:
    __slots__ = ("data", "grad", "_edges", "_id")
    _made = 0

    def __init__(self, data, edges=()):
        self.data = data
        self.grad = 0.0
        self._edges = edges
        Value._made += 1
        self._id = Value._made

    @staticmethod
    def _lift(other):
        if isinstance(other, Value):
            return other
        if isinstance(other, (int, float)):
            return Value(other)
        return None

    def __add__(self, other):
        o = Value._lift(other)
        if o is None:
            return NotImplemented
        return Value(self.data + o.data, ((self, 1.0), (o, 1.0)))

    __radd__ = __add__

    def __mul__(self, other):
        o = Value._lift(other)
        if o is None:
            return NotImplemented
        return Value(self.data * o.data, ((self, o.data), (o, self.data)))

    __rmul__ = __mul__

    def __neg__(self):
        return Value(-self.data, ((self, -1.0),))

    def __sub__(self, other):
        o = Value._lift(other)
        if o is None:
            return NotImplemented
        return Value(self.data - o.data, ((self, 1.0), (o, -1.0)))

    def __rsub__(self, other):
        o = Value._lift(other)
        return NotImplemented if o is None else o - self

    def __truediv__(self, other):
        o = Value._lift(other)
        if o is None:
            return NotImplemented
        return Value(self.data / o.data, ((self, 1 / o.data), (o, -self.data / o.data**2)))

    def __rtruediv__(self, other):
        o = Value._lift(other)
        return NotImplemented if o is None else o / self

    def __pow__(self, n):
        if isinstance(n, Value) or not isinstance(n, (int, float)):
            raise TypeError("constant exponent")
        slope = n * self.data**n / self.data
        return Value(self.data**n, ((self, slope),))

    def __rpow__(self, other):
        raise TypeError("exponent")

    def relu(self):
        return Value(max(self.data, 0.0), ((self, 1.0 if self.data > 0 else 0.0),))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, ((self, 1 - t * t),))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, ((self, e),))

    def log(self):
        return Value(math.log(self.data), ((self, 1 / self.data),))

    def backward(self):
        found = {self._id: self}
        stack = [self]
        while stack:
            for child, _ in stack.pop()._edges:
                if child._id not in found:
                    found[child._id] = child
                    stack.append(child)
        flow = dict.fromkeys(found, 0.0)
        flow[self._id] = 1.0
        for i in sorted(found, reverse=True):
            node = found[i]
            for child, slope in node._edges:
                flow[child._id] += flow[i] * slope
            node.grad += flow[i]
