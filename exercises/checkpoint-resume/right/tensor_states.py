import contextlib
import copy
import random
import uuid
from pathlib import Path

import numpy as np
import torch


class _Part:
    """One thing with a state, under a name."""

    def __init__(self, name, get, put):
        self.name, self.get, self.put = name, get, put


def _python_get():
    version, words, gauss = random.getstate()
    return {"version": version, "words": torch.tensor(words, dtype=torch.int64), "gauss": gauss}


def _python_put(state):
    random.setstate((state["version"], tuple(state["words"].tolist()), state["gauss"]))


def _numpy_get():
    name, keys, pos, has, gauss = np.random.get_state()
    return (name, torch.from_numpy(keys.astype(np.int64)), pos, has, gauss)


def _numpy_put(state):
    name, keys, pos, has, gauss = state
    np.random.set_state((name, keys.numpy().astype(np.uint32), pos, has, gauss))


def _cuda_get():
    return [torch.cuda.get_rng_state(i) for i in range(torch.cuda.device_count())]


def _cuda_put(states):
    for i, state in enumerate(states):
        if i < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, i)


GENERATORS = [
    _Part("torch", torch.get_rng_state, torch.set_rng_state),
    _Part("cuda", _cuda_get, _cuda_put),
    _Part("python", _python_get, _python_put),
    _Part("numpy", _numpy_get, _numpy_put),
]


def _objects(model, optimizer, scheduler, scaler):
    named = [("model", model), ("optimizer", optimizer), ("scheduler", scheduler), ("scaler", scaler)]
    return {name: thing for name, thing in named if thing is not None}


@contextlib.contextmanager
def _beside(path):
    spare = path.parent / f"{path.name}.{uuid.uuid4().hex}"
    done = False
    try:
        yield spare
        spare.replace(path)
        done = True
    finally:
        if not done:
            with contextlib.suppress(FileNotFoundError):
                spare.unlink()


def save_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None, step, extra=None):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    objects = _objects(model, optimizer, scheduler, scaler)
    with _beside(path) as spare:
        torch.save(
            {
                "states": {name: thing.state_dict() for name, thing in objects.items()},
                "generators": {part.name: part.get() for part in GENERATORS},
                "meta": {"step": step, "extra": copy.deepcopy(extra) if extra else {}},
            },
            spare,
        )


def load_checkpoint(path, *, model, optimizer, scheduler=None, scaler=None):
    saved = torch.load(Path(path), map_location=lambda storage, location: storage, weights_only=True)
    objects = _objects(model, optimizer, scheduler, scaler)
    if objects.keys() != saved["states"].keys():
        raise ValueError(f"the checkpoint has {sorted(saved['states'])}, the call {sorted(objects)}")
    for name, thing in objects.items():
        thing.load_state_dict(saved["states"][name])
    for part in GENERATORS:
        part.put(saved["generators"][part.name])
    return dict(saved["meta"])
