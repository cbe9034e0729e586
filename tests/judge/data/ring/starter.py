def total(x):
    raise NotImplementedError
