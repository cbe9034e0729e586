"""Double a tensor."""


def double(x):
    """Twice x."""
    return 2 * x
