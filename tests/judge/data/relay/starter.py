def total(x, group=None):
    raise NotImplementedError
