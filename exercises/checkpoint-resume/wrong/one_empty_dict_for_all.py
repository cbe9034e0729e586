# fails: 12
# message: a new one by every load
import os
import random
import tempfile
from pathlib import Path

import numpy as np
import torch

_EMPTY = {}


def save_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None, step, extra=None):
    np_state = np.random.get_state()
    py = random.getstate()
    data = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": None if scheduler is None else scheduler.state_dict(),
        "scaler": None if scaler is None else scaler.state_dict(),
        "has_scheduler": scheduler is not None,
        "has_scaler": scaler is not None,
        "step": step,
        "extra": {} if extra is None else extra,
        "torch_rng": torch.get_rng_state(),
        "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy_rng": [
            np_state[0],
            [int(x) for x in np_state[1]],
            int(np_state[2]),
            int(np_state[3]),
            float(np_state[4]),
        ],
        "python_rng": [py[0], list(py[1]), py[2]],
    }
    path = Path(path)
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    fd, tmp = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(fd, "wb") as f:
            torch.save(data, f)
            f.flush()
            os.fsync(f.fileno())
        Path(tmp).replace(path)
    except BaseException:
        if Path(tmp).exists():
            Path(tmp).unlink()
        raise


def load_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None):
    if not Path(path).exists():
        raise FileNotFoundError(path)
    data = torch.load(path, map_location="cpu", weights_only=True)
    if data["has_scheduler"] != (scheduler is not None):
        raise ValueError("scheduler mismatch")
    if data["has_scaler"] != (scaler is not None):
        raise ValueError("scaler mismatch")
    model.load_state_dict(data["model"])
    optimizer.load_state_dict(data["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict(data["scheduler"])
    if scaler is not None:
        scaler.load_state_dict(data["scaler"])
    torch.set_rng_state(data["torch_rng"])
    if torch.cuda.is_available() and data["cuda_rng"]:
        for i, s in enumerate(data["cuda_rng"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(s, i)
    n = data["numpy_rng"]
    np.random.set_state((n[0], np.array(n[1], dtype=np.uint32), n[2], n[3], n[4]))
    p = data["python_rng"]
    random.setstate((p[0], tuple(p[1]), p[2]))
    return {"step": data["step"], "extra": data["extra"] or _EMPTY}
