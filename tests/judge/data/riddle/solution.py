def unknown(x):
    return next(n for n in range(100) if n * n + 7 == x)
