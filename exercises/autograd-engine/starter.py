"""Reverse-mode differentiation on a graph of scalars."""


class Value:
    """A number that remembers how it was computed."""

    data: float
    grad: float

    def __init__(self, data: float) -> None:
        raise NotImplementedError

    # Add + - * / and unary minus, with a Value, int or float on either side.

    def __pow__(self, exponent: int | float) -> "Value":
        """This value to a constant power."""
        raise NotImplementedError

    def relu(self) -> "Value":
        """max(0, x); its slope at exactly 0 is 0."""
        raise NotImplementedError

    def tanh(self) -> "Value":
        """The hyperbolic tangent."""
        raise NotImplementedError

    def exp(self) -> "Value":
        """e to this value."""
        raise NotImplementedError

    def log(self) -> "Value":
        """The natural logarithm."""
        raise NotImplementedError

    def backward(self) -> None:
        """Add the derivative of this value to the ``grad`` of every Value that
        it was computed from.
        """
        raise NotImplementedError
