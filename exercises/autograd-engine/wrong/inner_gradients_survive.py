# fails: 6
# message: should add the same amount, not more
import math


class Value:
    """A number that remembers how it was computed."""

    def __init__(self, data: float, inputs: tuple["tuple[Value, float]", ...] = ()) -> None:
        self.data = data
        self.grad = 0.0
        self._inputs = inputs

    def __add__(self, other: "Value | int | float") -> "Value":
        other = _lift(other)
        if other is None:
            return NotImplemented
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: "Value | int | float") -> "Value":
        other = _lift(other)
        if other is None:
            return NotImplemented
        return Value(self.data * other.data, ((self, other.data), (other, self.data)))

    def __sub__(self, other: "Value | int | float") -> "Value":
        other = _lift(other)
        if other is None:
            return NotImplemented
        return Value(self.data - other.data, ((self, 1.0), (other, -1.0)))

    def __truediv__(self, other: "Value | int | float") -> "Value":
        other = _lift(other)
        if other is None:
            return NotImplemented
        quotient = self.data / other.data
        return Value(quotient, ((self, 1.0 / other.data), (other, -quotient / other.data)))

    def __rsub__(self, other: int | float) -> "Value":
        other = _lift(other)
        return NotImplemented if other is None else other - self

    def __rtruediv__(self, other: int | float) -> "Value":
        other = _lift(other)
        return NotImplemented if other is None else other / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> "Value":
        return Value(-self.data, ((self, -1.0),))

    def __pow__(self, exponent: int | float) -> "Value":
        """This value to a constant power."""
        if not isinstance(exponent, int | float):
            raise TypeError("the exponent must be a plain number")
        slope = exponent * self.data ** (exponent - 1) if exponent else 0.0
        return Value(self.data**exponent, ((self, slope),))

    def relu(self) -> "Value":
        """max(0, x); its slope at exactly 0 is 0."""
        return Value(max(self.data, 0.0), ((self, 1.0 if self.data > 0 else 0.0),))

    def tanh(self) -> "Value":
        """The hyperbolic tangent."""
        result = math.tanh(self.data)
        return Value(result, ((self, 1.0 - result * result),))

    def exp(self) -> "Value":
        """e to this value."""
        result = math.exp(self.data)
        return Value(result, ((self, result),))

    def log(self) -> "Value":
        """The natural logarithm."""
        return Value(math.log(self.data), ((self, 1.0 / self.data),))

    def backward(self) -> None:
        """Add the derivative of this value to the ``grad`` of every Value that it was computed from."""
        order = self._post_order()
        for node in order:
            pass
        self.grad = 1.0
        for node in reversed(order):
            for child, slope in node._inputs:
                child.grad += slope * node.grad

    def _post_order(self) -> "list[Value]":
        order: list[Value] = []
        seen: set[int] = set()
        stack: list[tuple[Value, bool]] = [(self, False)]
        while stack:
            node, finished = stack.pop()
            if finished:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((child, False) for child, _ in node._inputs)
        return order


def _lift(value: object) -> Value | None:
    if isinstance(value, Value):
        return value
    return Value(float(value)) if isinstance(value, int | float) else None
