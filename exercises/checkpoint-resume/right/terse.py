# ruff: noqa
import os
import random
import shutil
import tempfile

import numpy as np
import torch


def save_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None, step, extra=None):
    np_state = list(np.random.get_state())
    np_state[1] = np_state[1].tolist()
    ckpt = {
        "model_state_dict": {k: v.cpu() for k, v in model.state_dict().items()},
        "optimizer_state_dict": optimizer.state_dict(),
        "has": [scheduler is not None, scaler is not None],
        "scheduler_state_dict": scheduler.state_dict() if scheduler is not None else {},
        "scaler_state_dict": scaler.state_dict() if scaler is not None else {},
        "rng": (torch.get_rng_state(), random.getstate(), np_state),
        "cuda": torch.cuda.get_rng_state_all(),
        "step": step,
        "extra": dict(extra or {}),
    }
    where = os.path.dirname(str(path)) or "."
    os.makedirs(where, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=where) as d:
        torch.save(ckpt, os.path.join(d, "x"))
        shutil.move(os.path.join(d, "x"), str(path))


def load_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None):
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    if ckpt["has"] != [scheduler is not None, scaler is not None]:
        raise ValueError("scheduler/scaler mismatch")
    model.load_state_dict(ckpt["model_state_dict"])
    optimizer.load_state_dict(ckpt["optimizer_state_dict"])
    for key, thing in (("scheduler", scheduler), ("scaler", scaler)):
        if thing is not None:
            thing.load_state_dict(ckpt[key + "_state_dict"])
    t, p, n = ckpt["rng"]
    torch.set_rng_state(t)
    random.setstate(p)
    np.random.set_state(tuple(n))
    if ckpt["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(ckpt["cuda"][: torch.cuda.device_count()])
    return {"step": ckpt["step"], "extra": ckpt["extra"]}
