import torch


def shares(x):
    with torch.no_grad():
        e = (x - x.max()).exp()
        return e / e.sum()
