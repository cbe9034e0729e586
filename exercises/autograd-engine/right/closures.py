import math


class Value:
    def __init__(self, data, _children=(), _op=""):
        self.data = data
        self.grad = 0.0
        self._backward = None
        self._prev = tuple(_children)
        self._op = _op

    def _other(self, other):
        if isinstance(other, Value):
            return other
        if isinstance(other, (int, float)) and not isinstance(other, complex):
            return Value(other)
        return None

    def __add__(self, other):
        other = self._other(other)
        if other is None:
            return NotImplemented
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = self._other(other)
        if other is None:
            return NotImplemented
        out = Value(self.data * other.data, (self, other), "*")
        a, b = self.data, other.data

        def _backward():
            self.grad += b * out.grad
            other.grad += a * out.grad

        out._backward = _backward
        return out

    def __pow__(self, exponent):
        if not isinstance(exponent, (int, float)):
            raise TypeError("only int and float exponents")
        return self._chain(self.data**exponent, lambda a=self.data: exponent * a ** (exponent - 1))

    def _chain(self, data, slope):
        out = Value(data, (self,))

        def _backward():
            self.grad += slope() * out.grad

        out._backward = _backward
        return out

    def relu(self):
        return self._chain(0.0 if self.data <= 0 else self.data, lambda on=self.data > 0: float(on))

    def tanh(self):
        t = math.tanh(self.data)
        return self._chain(t, lambda: 1 - t**2)

    def exp(self):
        e = math.exp(self.data)
        return self._chain(e, lambda: e)

    def log(self):
        a = self.data
        return self._chain(math.log(a), lambda: 1 / a)

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        other = self._other(other)
        return NotImplemented if other is None else self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __truediv__(self, other):
        other = self._other(other)
        return NotImplemented if other is None else self * other**-1

    def __rtruediv__(self, other):
        return self**-1 * other

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def backward(self):
        topo, visited, stack = [], set(), [(self, iter(self._prev))]
        visited.add(self)
        while stack:
            node, children = stack[-1]
            for child in children:
                if child not in visited:
                    visited.add(child)
                    stack.append((child, iter(child._prev)))
                    break
            else:
                topo.append(node)
                stack.pop()
        for node in topo:
            if node._backward:
                node.grad = 0.0
        self.grad = 1.0
        for node in reversed(topo):
            if node._backward:
                node._backward()
