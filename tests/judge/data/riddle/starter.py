def unknown(x):
    raise NotImplementedError
