# fails: 1
# message: hyperparameters did not come back
# ruff: noqa
import os
import random
import tempfile
from pathlib import Path

import numpy as np
import torch


def save_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None, step, extra=None):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    name, keys, *rest = np.random.get_state()
    ckpt = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "step": step,
        "extra": {} if extra is None else extra,
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "python": random.getstate(),
        "numpy": [str(name), [int(k) for k in keys], *rest],
    }
    for key, obj in (("scheduler", scheduler), ("scaler", scaler)):
        if obj is not None:
            ckpt[key] = obj.state_dict()
    fd, tmp = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as f:
            torch.save(ckpt, f)
            f.flush()
            os.fsync(f.fileno())
        torch.load(tmp, weights_only=True)
        os.replace(tmp, path)
    except BaseException:
        os.unlink(tmp)
        raise


def load_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None):
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    for key, obj in (("scheduler", scheduler), ("scaler", scaler)):
        if (obj is None) != (key not in ckpt):
            raise ValueError(f"{key}: given or saved, but not both")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    for g in optimizer.param_groups[1:]:
        g["lr"] = optimizer.param_groups[0]["lr"]
    if scheduler is not None:
        scheduler.load_state_dict(ckpt["scheduler"])
    if scaler is not None:
        scaler.load_state_dict(ckpt["scaler"])
    torch.set_rng_state(ckpt["torch"])
    if torch.cuda.is_available() and len(ckpt["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(ckpt["cuda"])
    version, internal, gauss = ckpt["python"]
    random.setstate((version, tuple(internal), gauss))
    name, keys, *rest = ckpt["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    return {"step": ckpt["step"], "extra": ckpt["extra"]}
