# fails: 9
# message: can run code when it is loaded
# ruff: noqa
import os
import pickle
import random
from pathlib import Path

import numpy as np
import torch


def _random_state() -> dict:
    version, internal, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "python": [version, torch.tensor(internal), gauss],
        "numpy": [
            kind,
            torch.from_numpy(keys.astype(np.int64)),
            int(position),
            int(has_gauss),
            float(cached),
        ],
    }


def _restore_random_state(state: dict) -> None:
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal.tolist()), gauss))
    kind, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, cached))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available():
        for device, cuda_state in enumerate(state["cuda"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(cuda_state, device)


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
    """Write everything that the next training step depends on to the file at path, atomically."""
    path = Path(path)
    content = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": None if scheduler is None else scheduler.state_dict(),
        "scaler": None if scaler is None else scaler.state_dict(),
        "random": _random_state(),
        "step": step,
        "extra": {} if extra is None else extra,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            pickle.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_checkpoint(path: str | os.PathLike, *, model, optimizer, scheduler=None, scaler=None) -> dict:
    """Restore a checkpoint into freshly built objects; returns {"step": step, "extra": extra}."""
    with open(path, "rb") as file:
        content = pickle.load(file)
    for name, target in (("scheduler", scheduler), ("scaler", scaler)):
        if (content[name] is None) != (target is None):
            raise ValueError(f"{name} is in the checkpoint or in the call, but not in both")
    model.load_state_dict(content["model"])
    optimizer.load_state_dict(content["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict(content["scheduler"])
    if scaler is not None:
        scaler.load_state_dict(content["scaler"])
    _restore_random_state(content["random"])
    return {"step": content["step"], "extra": content["extra"]}
