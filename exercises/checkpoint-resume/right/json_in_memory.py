# ruff: noqa
import io
import json
import os
import random
import tempfile

import numpy
import torch


def save_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None, step, extra=None):
    buffer = io.BytesIO()
    payload = dict(model=model.state_dict(), optim=optimizer.state_dict(), step=step, extra=extra or {})
    if scheduler is not None:
        payload["scheduler"] = scheduler.state_dict()
    if scaler is not None:
        payload["scaler"] = scaler.state_dict()
    payload["cpu_rng"] = torch.random.get_rng_state()
    if torch.cuda.is_available():
        payload["cuda_rng"] = torch.cuda.get_rng_state_all()
    payload["py_rng"] = json.dumps(random.getstate())
    np_state = numpy.random.get_state(legacy=False)
    np_state["state"]["key"] = np_state["state"]["key"].tolist()
    payload["np_rng"] = json.dumps(np_state)
    torch.save(payload, buffer)

    path = os.path.abspath(os.fspath(path))
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    fd, name = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(fd, "wb") as out:
            out.write(buffer.getvalue())
        os.rename(name, path)
    except Exception:
        os.remove(name)
        raise


def load_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None):
    payload = torch.load(os.fspath(path), map_location=torch.device("cpu"))
    if ("scheduler" in payload) is (scheduler is None):
        raise ValueError("scheduler mismatch")
    if ("scaler" in payload) is (scaler is None):
        raise ValueError("scaler mismatch")
    model.load_state_dict(payload["model"])
    optimizer.load_state_dict(payload["optim"])
    if scheduler is not None:
        scheduler.load_state_dict(payload["scheduler"])
    if scaler is not None:
        scaler.load_state_dict(payload["scaler"])
    torch.random.set_rng_state(payload["cpu_rng"])
    if torch.cuda.is_available() and "cuda_rng" in payload:
        torch.cuda.set_rng_state_all(payload["cuda_rng"][: torch.cuda.device_count()])
    version, words, gauss = json.loads(payload["py_rng"])
    random.setstate((version, tuple(words), gauss))
    np_state = json.loads(payload["np_rng"])
    np_state["state"]["key"] = numpy.array(np_state["state"]["key"], dtype=numpy.uint32)
    numpy.random.set_state(np_state)
    return {"step": payload["step"], "extra": payload["extra"]}
