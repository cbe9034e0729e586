"""Measures how far the fitted line is from the true one."""

import torch


def measure(checkpoint, seed, options):
    """Return the mean squared error on points that the script never saw."""
    expected = torch.nn.Linear(3, options.get("outputs", 1))
    checkpoint.require(expected.state_dict())
    expected.load_state_dict(checkpoint.tensors)
    draw = torch.Generator().manual_seed(seed)
    torch.randn(64, 3, generator=draw)
    line = torch.randn(3, 1, generator=draw)
    x = torch.randn(256, 3, generator=torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        error = ((expected(x) - x @ line) ** 2).mean().item()
    return {"error": error, "reported": checkpoint.report.get("loss", -1.0)}
