# fails: 8
# message: Value(3) * '3' should raise TypeError
import math


class Value:
    __slots__ = ("data", "grad", "_in", "_d")

    def __init__(self, data, _in=(), _d=()):
        self.data, self.grad, self._in, self._d = data, 0.0, _in, _d

    @staticmethod
    def _w(x):
        if isinstance(x, Value):
            return x
        return Value(x)

    def __add__(self, o):
        o = self._w(o)
        return NotImplemented if o is None else Value(self.data + o.data, (self, o), (1.0, 1.0))

    def __mul__(self, o):
        o = self._w(o)
        return NotImplemented if o is None else Value(self.data * o.data, (self, o), (o.data, self.data))

    def __sub__(self, o):
        o = self._w(o)
        return NotImplemented if o is None else Value(self.data - o.data, (self, o), (1.0, -1.0))

    def __truediv__(self, o):
        o = self._w(o)
        if o is None:
            return NotImplemented
        return Value(self.data / o.data, (self, o), (1 / o.data, -self.data / o.data**2))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, o):
        o = self._w(o)
        return NotImplemented if o is None else o - self

    def __rtruediv__(self, o):
        o = self._w(o)
        return NotImplemented if o is None else o / self

    def __neg__(self):
        return Value(-self.data, (self,), (-1.0,))

    def __pow__(self, n):
        if not isinstance(n, (int, float)):
            return NotImplemented
        return Value(self.data**n, (self,), (n * self.data ** (n - 1) if n else 0.0,))

    def relu(self):
        return Value(max(self.data, 0.0), (self,), (float(self.data > 0),))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), (e,))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            v, done = stack.pop()
            if done:
                order.append(v)
            elif id(v) not in seen:
                seen.add(id(v))
                stack.append((v, True))
                stack.extend((u, False) for u in v._in)
        g = {id(self): 1.0}
        for v in reversed(order):
            gv = g.get(id(v), 0.0)
            v.grad += gv
            for u, d in zip(v._in, v._d):
                g[id(u)] = g.get(id(u), 0.0) + d * gv
