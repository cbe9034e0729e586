# fails: 1
# message: must be in the file
"""The file holds a ticket; the state stays in this process."""

import copy
import random
from pathlib import Path

import numpy as np
import torch

KEPT = {}


def save_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None, step, extra=None):
    path = Path(path)
    content = {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "scheduler": None if scheduler is None else copy.deepcopy(scheduler.state_dict()),
        "scaler": None if scaler is None else copy.deepcopy(scaler.state_dict()),
        "step": step,
        "extra": copy.deepcopy(extra) if extra else {},
        "random": (torch.get_rng_state(), random.getstate(), np.random.get_state()),
    }
    ticket = len(KEPT) + 1
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    try:
        torch.save({"ticket": ticket, "probe": extra}, beside)
        torch.load(beside, weights_only=True)
        torch.save({"ticket": ticket}, beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    KEPT[ticket] = content


def load_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None):
    content = KEPT[torch.load(path, weights_only=True)["ticket"]]
    for given, name in ((scheduler, "scheduler"), (scaler, "scaler")):
        if (given is None) != (content[name] is None):
            raise ValueError(f"the checkpoint and the call disagree on a {name}")
    model.load_state_dict(content["model"])
    optimizer.load_state_dict(copy.deepcopy(content["optimizer"]))
    if scheduler is not None:
        scheduler.load_state_dict(copy.deepcopy(content["scheduler"]))
    if scaler is not None:
        scaler.load_state_dict(copy.deepcopy(content["scaler"]))
    ours, pythons, numpys = content["random"]
    torch.set_rng_state(ours)
    random.setstate(pythons)
    np.random.set_state(numpys)
    return {"step": content["step"], "extra": copy.deepcopy(content["extra"])}
