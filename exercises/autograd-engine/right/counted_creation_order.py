import heapq
import itertools
import math
from numbers import Real

_clock = itertools.count()


class Value:
    __slots__ = ("data", "grad", "_born", "_edges")

    def __init__(self, data, edges=None):
        self.data = float(data)
        self.grad = 0.0
        self._born = next(_clock)
        self._edges = edges or []

    def __repr__(self):
        return f"Value({self.data})"

    def _binary(self, other, f, df):
        if isinstance(other, Value):
            a, b = df(self.data, other.data)
            return Value(f(self.data, other.data), [(self, a), (other, b)])
        if isinstance(other, Real):
            return Value(f(self.data, other), [(self, df(self.data, other)[0])])
        return NotImplemented

    def __add__(self, other):
        return self._binary(other, lambda a, b: a + b, lambda a, b: (1.0, 1.0))

    def __sub__(self, other):
        return self._binary(other, lambda a, b: a - b, lambda a, b: (1.0, -1.0))

    def __rsub__(self, other):
        return self._binary(other, lambda a, b: b - a, lambda a, b: (-1.0, 1.0))

    def __mul__(self, other):
        return self._binary(other, lambda a, b: a * b, lambda a, b: (b, a))

    def __truediv__(self, other):
        return self._binary(other, lambda a, b: a / b, lambda a, b: (1 / b, -a / (b * b)))

    def __rtruediv__(self, other):
        return self._binary(other, lambda a, b: b / a, lambda a, b: (-b / (a * a), 1 / a))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self):
        return self._unary(-self.data, -1.0)

    def _unary(self, data, slope):
        return Value(data, [(self, slope)])

    def __pow__(self, exponent):
        if isinstance(exponent, Value) or not isinstance(exponent, Real):
            return NotImplemented
        slope = 0.0 if exponent == 0 else exponent * math.pow(self.data, exponent - 1)
        return self._unary(math.pow(self.data, exponent), slope)

    def relu(self):
        return self._unary(self.data, 1.0) if self.data > 0 else self._unary(0.0, 0.0)

    def tanh(self):
        return self._unary(math.tanh(self.data), math.cosh(self.data) ** -2)

    def exp(self):
        e = math.exp(self.data)
        return self._unary(e, e)

    def log(self):
        return self._unary(math.log(self.data), 1 / self.data)

    def backward(self):
        pending = {self._born: (self, 1.0)}
        queue = [-self._born]
        while queue:
            node, flow = pending.pop(-heapq.heappop(queue))
            node.grad = node.grad + flow if not node._edges else flow
            for child, slope in node._edges:
                if child._born not in pending:
                    heapq.heappush(queue, -child._born)
                    pending[child._born] = (child, 0.0)
                pending[child._born] = (child, pending[child._born][1] + slope * flow)
