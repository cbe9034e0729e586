import os


def save_checkpoint(
    path: str | os.PathLike,
    *,
    model,
    optimizer,
    scheduler=None,
    scaler=None,
    step: int,
    extra: dict | None = None,
) -> None:
    """Write everything that the next training step depends on to the file at
    path, atomically.
    """
    raise NotImplementedError


def load_checkpoint(
    path: str | os.PathLike,
    *,
    model,
    optimizer,
    scheduler=None,
    scaler=None,
) -> dict:
    """Restore a checkpoint into freshly built objects; returns {"step": step,
    "extra": extra}.
    """
    raise NotImplementedError
