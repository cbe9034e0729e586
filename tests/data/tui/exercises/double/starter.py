"""Double a tensor."""


def double(x):
    """Twice x."""
    raise NotImplementedError
