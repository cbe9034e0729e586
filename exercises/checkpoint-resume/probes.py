import contextlib
import io
import os
import random
import sys
import threading
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from quizapp.judge.testing.probes import new_process, without_submission

watched = {"path": None, "fail": False, "missing": 0}
FILE_EVENTS = {"open", "os.rename", "os.remove", "os.link", "os.truncate", "shutil.move", "shutil.copyfile"}


class Cut(RuntimeError):
    """The crash that is staged at the moment of renaming."""


def watch(event, arguments):
    """Look, at every file operation of a save, whether the checkpoint is still there."""
    if watched["path"] is None or event not in FILE_EVENTS:
        return
    if not Path(watched["path"]).exists():
        watched["missing"] += 1
    if event == "os.rename" and watched["fail"]:
        raise Cut("the machine stopped while renaming")


@contextlib.contextmanager
def watching(path, fail=False):
    if not watched.get("installed"):
        sys.addaudithook(watch)
        watched["installed"] = True
    watched.update(path=str(path), fail=fail, missing=0)
    try:
        yield
    finally:
        watched["path"] = None


class Scaler:
    """A loss scale that grows after every third step."""

    def __init__(self, scale=8.0):
        self.scale, self.good = scale, 0

    def update(self):
        self.good += 1
        if self.good % 3 == 0:
            self.scale *= 2.0

    def state_dict(self):
        return {"scale": self.scale, "good": self.good}

    def load_state_dict(self, state):
        self.scale, self.good = state["scale"], state["good"]


class Schedule:
    """A home-made schedule with a state of its own."""

    def __init__(self, optimizer):
        self.optimizer, self.count, self.base = optimizer, 0, optimizer.param_groups[0]["lr"]

    def step(self):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.base / (1 + 0.3 * self.count)

    def state_dict(self):
        return {"count": self.count, "base": self.base}

    def load_state_dict(self, state):
        self.count, self.base = state["count"], state["base"]


def inputs(draw):
    d, hidden = draw.sizes(2)
    return {
        "d": d,
        "hidden": hidden,
        "x": draw.normal(24, 6, d),
        "y": draw.normal(24, 6, 1),
        "mismatches": [
            *(["none", "scheduler"], ["scheduler", "none"], ["none", "scaler"], ["scaler", "none"]),
            *draw.sample(
                [["both", "scheduler"], ["both", "scaler"], ["scheduler", "both"], ["scaler", "both"]], 2
            ),
            draw.choice(
                [["scheduler", "scaler"], ["scaler", "scheduler"], ["none", "both"], ["both", "none"]]
            ),
        ],
        "seed": draw.seed(),
        "before": draw.integer(3, 6),
        "step": draw.integer(2, 10**6),
        "extra": {
            "sample": draw.integer(10**9, 10**12),
            "ratio": draw.uniform(0.1, 0.9),
            "name": draw.choice(["train-a", "größe", "shard 7"]),
            "order": draw.permutation(7).tolist(),
            "nested": {
                "epochs": [1, [2.5, "x"], {"deep": 3}],
                "empty": {},
                "none_left": [],
                "no": None,
                "on": True,
            },
            "weights": draw.normal(2, 3, dtype=torch.float64),
            "ids": draw.integers(0, 1000, 5),
            "half": draw.normal(4, dtype=torch.bfloat16),
        },
    }


def network(given, device, seed, dropout=0.0, extra_layer=False, hidden=None):
    d, h = given["d"], hidden or given["hidden"]
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    layers = [nn.Linear(d, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(dropout), nn.Linear(h, 1)]
    if extra_layer:
        layers.append(nn.Linear(1, 1))
    model = nn.Sequential(*layers)
    torch.set_rng_state(state)
    return model.to(device)


def adam(model, lr=0.013, betas=(0.85, 0.97)):
    first, rest = list(model[0].parameters()), [p for m in model[1:] for p in m.parameters()]
    groups = [{"params": first, "weight_decay": 0.07}, {"params": rest, "lr": 0.6 * lr}]
    return torch.optim.AdamW(groups, lr=lr, betas=betas)


class Run:
    """A training run; with `noise`, batches are augmented from Python's and numpy's global generators."""

    def __init__(self, given, device, seed, dropout=0.0, schedule="", scaler=False, noise=(), lr=0.013):
        self.given, self.device, self.noise = given, device, noise
        self.model = network(given, device, seed, dropout)
        self.optimizer = adam(self.model, lr, (0.85, 0.97) if lr == 0.013 else (0.6, 0.7))
        self.scheduler = None
        if schedule == "torch":
            self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=2, gamma=0.6)
        elif schedule:
            self.scheduler = Schedule(self.optimizer)
        self.scaler = Scaler(8.0 if lr == 0.013 else 3.0) if scaler else None
        self.step = 0

    def parts(self):
        """The keyword arguments for both functions."""
        found = {"model": self.model, "optimizer": self.optimizer}
        if self.scheduler is not None:
            found["scheduler"] = self.scheduler
        if self.scaler is not None:
            found["scaler"] = self.scaler
        return found

    def train(self, steps):
        """Losses, rates and scales of some steps."""
        losses, rates, scales = [], [], []
        for _ in range(steps):
            x = self.given["x"][self.step % 24].to(self.device)
            y = self.given["y"][self.step % 24].to(self.device)
            for source in self.noise:
                x = x + (random.gauss(0.0, 1.0) if source == "python" else float(np.random.standard_normal()))
            scale = self.scaler.scale if self.scaler else 1.0
            loss = F.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            (loss * scale).backward()
            for p in self.model.parameters():
                p.grad /= scale
            rates.append(self.optimizer.param_groups[0]["lr"])
            scales.append(scale)
            self.optimizer.step()
            if self.scheduler is not None:
                self.scheduler.step()
            if self.scaler is not None:
                self.scaler.update()
            losses.append(loss.item())
            self.step += 1
        return {"losses": losses, "rates": rates, "scales": scales}


def seed_all(seed):
    torch.manual_seed(seed)
    random.seed(seed + 1)
    np.random.seed(seed % 2**31)


def random_state():
    """Every random state as plain data."""
    kind, keys, position, has_gauss, cached = np.random.get_state()
    found = {
        "torch": torch.get_rng_state(),
        "python": torch.tensor(random.getstate()[1]),
        "gauss": random.getstate()[2],
        "numpy": [
            kind,
            torch.from_numpy(keys.astype(np.int64)),
            int(position),
            int(has_gauss),
            float(cached),
        ],
    }
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state_all()
    return found


def plain(value):
    """A copy of nested state with tensors on the CPU; keys as text."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def everything(run):
    """All that a save or a refused load must leave alone."""
    return {
        "model": plain(run.model.state_dict()),
        "grads": [None if p.grad is None else plain(p.grad) for p in run.model.parameters()],
        "modes": [m.training for m in run.model.modules()],
        "needs_grad": [p.requires_grad for p in run.model.parameters()],
        "optimizer": plain(run.optimizer.state_dict()),
        "scheduler": plain(run.scheduler.state_dict()) if run.scheduler is not None else None,
        "scaler": plain(run.scaler.state_dict()) if run.scaler is not None else None,
        "random": random_state(),
    }


def folder(name):
    """A new empty folder below the current one."""
    os.fsync = os.fdatasync = lambda descriptor: None  # right, but it waits for a disk that others use too
    path = Path.cwd() / f"runs-{name}"
    path.mkdir()
    return path


def files(path):
    return sorted(str(found.relative_to(path)) for found in path.rglob("*") if not found.is_dir())


def disturb():
    """Draws an odd number from every generator, as another process would stand elsewhere."""
    seed_all(99)
    torch.rand(7)
    torch.randn(3)
    random.gauss(0, 1)
    np.random.standard_normal()


def trained_by_sgd(given, device):
    """A model in float64 after three steps with momentum, and its optimizer."""
    model = network(given, device, 3).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.8)
    for i in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(given["x"][i].double()), given["y"][i].double()).backward()
        optimizer.step()
    return model, optimizer


def moves(device):
    """From which device a checkpoint is loaded onto which, by name."""
    return {"to_cpu": (device, torch.device("cpu")), "from_cpu": ("cpu", device)}


def trained_elsewhere(given, device):
    seed_all(given["seed"])
    run = Run(given, device, 5, dropout=0.3)
    run.train(2)
    return run


def trained(given, device, **options):
    """A run at the place where it is saved."""
    seed_all(given["seed"])
    run = Run(given, device, 1, **options)
    run.train(given["before"])
    return run


def probe_state(code, given, record):
    place = folder("state")
    run = Run(given, record.device, 1)
    run.train(given["before"])
    path = str(place / "last.pt")
    code.save_checkpoint(path, **run.parts(), step=run.step)
    fresh = Run(given, record.device, 2, lr=0.4)
    owned = [id(p) for p in fresh.model.parameters()]
    code.load_checkpoint(path, **fresh.parts())
    record("loaded_model", plain(fresh.model.state_dict()))
    record("loaded_optimizer", plain(fresh.optimizer.state_dict()))
    record("same_parameters", owned == [id(p) for p in fresh.model.parameters()])
    record("devices", sorted({t.device.type for t in fresh.model.state_dict().values()}))
    fresh.step = run.step
    record("loaded_later", fresh.train(4)["losses"])
    record("loaded_final", plain(fresh.model.state_dict()))
    with record.step("sgd"):
        a, first = trained_by_sgd(given, record.device)
        b = network(given, record.device, 4)
        b.double()
        second = torch.optim.SGD(b.parameters(), lr=0.5)
        code.save_checkpoint(place / "sgd.pt", model=a, optimizer=first, step=3)
        code.load_checkpoint(place / "sgd.pt", model=b, optimizer=second)
        record("loaded_model", plain(b.state_dict()))
        record("loaded_optimizer", plain(second.state_dict()))
    for name, (source, target) in moves(record.device).items():
        with record.step(name):
            here = trained_elsewhere(given, source)
            code.save_checkpoint(place / "moved.pt", **here.parts(), step=2)
            there = Run(given, target, 6, dropout=0.3)
            code.load_checkpoint(place / "moved.pt", **there.parts())
            record("loaded_model", plain(there.model.state_dict()))
            record("device", str(torch.device(target).type))
            record("devices", sorted({t.device.type for t in there.model.state_dict().values()}))
            there.train(1)


RESUMED = {
    "dropout": {"dropout": {"dropout": 0.4}},
    "generators": {
        "python": {"noise": ("python",)},
        "numpy": {"noise": ("numpy",)},
        "both": {"noise": ("python", "numpy"), "dropout": 0.3},
    },
    "schedule": {
        "torch": {"schedule": "torch"},
        "own": {"schedule": "own"},
        "scaler": {"scaler": True},
        "all": {"schedule": "torch", "scaler": True, "dropout": 0.3, "noise": ("python", "numpy")},
    },
    "first_process": {
        "quiet": {"schedule": "torch", "scaler": True},
        "random": {"dropout": 0.4, "schedule": "torch", "scaler": True, "noise": ("python", "numpy")},
    },
}
"""Options of the runs that are resumed, by probe and name."""


@without_submission
def probe_reference(code, given, record):
    """The runs of the other probes, never saved and never loaded."""
    for probe, runs in RESUMED.items():
        for name, options in runs.items():
            record(f"{probe}/{name}", trained(given, record.device, **options).train(5))
    run = Run(given, record.device, 1)
    run.train(1)
    record("extra/model", plain(run.model.state_dict()))
    run = Run(given, record.device, 1)
    run.train(given["before"])
    record("state/model", plain(run.model.state_dict()))
    record("state/optimizer", plain(run.optimizer.state_dict()))
    record("state/later", run.train(4)["losses"])
    record("state/final", plain(run.model.state_dict()))
    model, optimizer = trained_by_sgd(given, record.device)
    record("state/sgd/model", plain(model.state_dict()))
    record("state/sgd/optimizer", plain(optimizer.state_dict()))
    for name, (source, _) in moves(record.device).items():
        record(f"state/{name}/model", plain(trained_elsewhere(given, source).model.state_dict()))
    seed_all(given["seed"])
    leave_an_odd_value()
    record("odd", torch_values())
    for taken in (1, 2):
        seed_all(given["seed"])
        for _ in range(taken):
            random.gauss(0, 1)
            np.random.standard_normal()
        record(f"python{taken}", python_values())
        record(f"numpy{taken}", numpy_values())
    run = run_to_disturb(given, record.device)
    for mode in MODES:
        set_mode(run, mode)
        for key, value in everything(run).items():
            record(f"saving/{mode}_{key}", value)
    for _, wanted in given["mismatches"]:
        record(f"mismatch/{wanted}", everything(run_to_refuse(given, record.device, wanted)))


def leave_an_odd_value():
    """Draw an odd number of normal values from torch, so that one is left over in the generator."""
    torch.randn(3)
    torch.normal(torch.zeros(1), torch.ones(1))


def torch_values():
    return torch.cat([torch.randn(1), torch.randn(1), torch.rand(2), torch.randn(20)])


def python_values():
    return [random.gauss(0, 1) for _ in range(3)] + [random.random()]


def numpy_values():
    return [float(v) for v in np.random.randn(3)] + [float(np.random.rand())]


MODES = ("mixed", "eval", "train")


def run_to_disturb(given, device):
    return trained(given, device, dropout=0.3, schedule="torch", scaler=True)


def set_mode(run, mode):
    run.model.train(mode != "eval")
    if mode == "mixed":
        run.model[1].eval()
    run.model[4].bias.requires_grad_(mode != "mixed")
    np.random.standard_normal()
    random.gauss(0, 1)


PARTS = {
    "none": {},
    "scheduler": {"schedule": "torch"},
    "scaler": {"scaler": True},
    "both": {"schedule": "own", "scaler": True},
}


def run_to_refuse(given, device, parts):
    disturb()
    run = Run(given, device, 2, lr=0.4, **PARTS[parts])
    run.train(1)
    return run


def resume(code, given, record, place, name, **options):
    """The same run with a save, and resumed in fresh objects."""
    with record.step(name):
        run = trained(given, record.device, **options)
        path = place / f"{name}.pt"
        code.save_checkpoint(path, **run.parts(), step=run.step, extra={"at": run.step})
        record("saved", run.train(5))
        disturb()
        fresh = Run(given, record.device, 2, lr=0.4, **options)
        fresh.step = code.load_checkpoint(path, **fresh.parts())["step"]
        record("step", fresh.step)
        record("resumed", fresh.train(5))


def probe_first_process(code, given, record):
    """Saves two runs and hands the files on."""
    place = folder("first_process")
    for name, options in RESUMED["first_process"].items():
        with record.step(name):
            run = trained(given, record.device, **options)
            path = place / f"{name}.pt"
            code.save_checkpoint(path, **run.parts(), step=run.step, extra={"at": run.step})
            record.carry(name, torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8))


@new_process
def probe_second_process(code, given, record):
    """Loads the files where the runs that wrote them never existed."""
    place = folder("second_process")
    for name, options in RESUMED["first_process"].items():
        if name not in given["carried"]:
            continue
        with record.step(name):
            path = place / f"{name}.pt"
            path.write_bytes(bytes(given["carried"][name].cpu().tolist()))
            disturb()
            fresh = Run(given, record.device, 2, lr=0.4, **options)
            found = code.load_checkpoint(path, **fresh.parts())
            fresh.step = found["step"]
            record("step", found["step"])
            record("extra", plain(found["extra"]))
            record("resumed", fresh.train(5))


def probe_dropout(code, given, record):
    place = folder("dropout")
    for name, options in RESUMED["dropout"].items():
        resume(code, given, record, place, name, **options)
    with record.step("odd"):
        run = Run(given, record.device, 1)
        seed_all(given["seed"])
        leave_an_odd_value()
        code.save_checkpoint(place / "odd.pt", **run.parts(), step=0)
        torch_values()
        disturb()
        code.load_checkpoint(place / "odd.pt", **run.parts())
        record("resumed", torch_values())


def probe_generators(code, given, record):
    place = folder("generators")
    for name, options in RESUMED["generators"].items():
        resume(code, given, record, place, name, **options)
    # `taken` values before the save: after an odd number a second one is in reserve, after an even one not.
    for taken in (1, 2):
        with record.step(f"python{taken}"):
            run = Run(given, record.device, 1)
            seed_all(given["seed"])
            for _ in range(taken):
                random.gauss(0, 1)
            code.save_checkpoint(place / "a.pt", **run.parts(), step=0)
            python_values()
            random.seed(3)
            if taken % 2 == 0:
                random.gauss(0, 1)
            code.load_checkpoint(place / "a.pt", **run.parts())
            record("resumed", python_values())
        with record.step(f"numpy{taken}"):
            run = Run(given, record.device, 1)
            seed_all(given["seed"])
            for _ in range(taken):
                np.random.standard_normal()
            code.save_checkpoint(place / "b.pt", **run.parts(), step=0)
            numpy_values()
            np.random.seed(3)
            if taken % 2 == 0:
                np.random.standard_normal()
            code.load_checkpoint(place / "b.pt", **run.parts())
            record("resumed", numpy_values())


def probe_schedule(code, given, record):
    place = folder("schedule")
    for name, options in RESUMED["schedule"].items():
        resume(code, given, record, place, name, **options)


def probe_extra(code, given, record):
    place = folder("extra")
    run = Run(given, record.device, 1)
    run.train(1)
    for name, step, options in (
        ("full", given["step"], {"extra": given["extra"]}),
        ("none", 0, {}),
        ("explicit", 3, {"extra": None}),
        ("empty", 1, {"extra": {}}),
    ):
        with record.step(name):
            path = place / f"{name}.pt"
            code.save_checkpoint(path, **run.parts(), step=step, **options)
            found = code.load_checkpoint(path, **run.parts())
            record("step", found["step"])
            record("extra", plain(found["extra"]))
            record("is_dict", isinstance(found["extra"], dict))
    with record.step("again"):  # what the caller does to the answer stays with the caller
        for name in ("none", "full"):
            code.load_checkpoint(place / f"{name}.pt", **run.parts())["extra"]["added"] = 1
        record("none", plain(code.load_checkpoint(place / "none.pt", **run.parts())["extra"]))
    with record.step("names"):
        code.save_checkpoint(place / "names.pt", **run.parts(), step=5, extra=dict(NAMES))
        found = code.load_checkpoint(place / "names.pt", **run.parts())
        record("step", found["step"])
        record("extra", plain(found["extra"]))
        record("model", plain(run.model.state_dict()))
    with record.step("numbered"):
        extra = {"seen": {0: 12, 1: 30}, 7: "shard"}
        code.save_checkpoint(place / "numbered.pt", **run.parts(), step=5, extra=extra)
        found = code.load_checkpoint(place / "numbered.pt", **run.parts())["extra"]
        record("keys", [[type(key).__name__, key] for part in (found, found.get("seen", {})) for key in part])


# names that a checkpoint is likely to use itself
NAMES = dict.fromkeys(
    ("step", "extra", "model", "optimizer", "scheduler", "scaler", "rng", "torch", "python", "numpy", "cuda"),
    "mine",
)


def probe_saving(code, given, record):
    place = folder("saving")
    with record.step("disturbs"):
        run = run_to_disturb(given, record.device)
        for mode in MODES:
            set_mode(run, mode)
            extra = {"kept": [1, 2], "t": torch.ones(2)}
            code.save_checkpoint(place / "disturbs" / "a.pt", **run.parts(), step=1, extra=extra)
            for key, value in everything(run).items():
                record(f"{mode}_{key}", value)
            record(f"{mode}_extra", plain(extra))
    run = Run(given, record.device, 1)
    with record.step("parents"):
        target = place / "parents" / "a" / "b" / "last.pt"
        code.save_checkpoint(str(target), **run.parts(), step=1)
        record("files", files(place / "parents"))
    with record.step("pathlike"):
        code.save_checkpoint(place / "pathlike" / "last", **run.parts(), step=1)
        record("files", files(place / "pathlike"))
        record("loads", code.load_checkpoint(place / "pathlike" / "last", **run.parts())["step"])
    with record.step("bare"):
        # A bare file name: the folder is the current one.
        here = Path.cwd()
        (place / "bare").mkdir()
        os.chdir(place / "bare")
        try:
            code.save_checkpoint("last.ckpt", **run.parts(), step=4)
            record("loads", code.load_checkpoint("last.ckpt", **run.parts())["step"])
            record("files", files(place / "bare"))
        finally:
            os.chdir(here)
    with record.step("again"):
        outside = set(files(Path.cwd()))
        path = place / "again" / "last.pt"
        code.save_checkpoint(path, **run.parts(), step=1)
        code.save_checkpoint(place / "again" / "best.pt", **run.parts(), step=7)
        code.save_checkpoint(path, **run.parts(), step=2)
        record("files", files(place / "again"))
        record("strays", sorted(set(files(Path.cwd())) - outside))
        record("last", code.load_checkpoint(path, **run.parts())["step"])
        record("best", code.load_checkpoint(place / "again" / "best.pt", **run.parts())["step"])


class Broken:
    """A part whose state cannot be had."""

    def state_dict(self):
        raise RuntimeError("no state today")

    def load_state_dict(self, state):
        pass


def probe_atomic(code, given, record):
    place = folder("atomic")
    run = Run(given, record.device, 1)
    run.train(2)
    unfit = {
        "lock": lambda: threading.Lock(),
        "function": lambda: lambda: None,
        "stream": lambda: (i for i in range(3)),
        "nested": lambda: [1, {"deep": [io.StringIO, threading.Lock()]}],
    }
    for name, make in unfit.items():
        with record.step(name):
            inside = place / name
            path = inside / "last.pt"
            code.save_checkpoint(path, **run.parts(), step=1)
            old = path.read_bytes()
            outside = set(files(Path.cwd()))
            extra = {"fine": torch.ones(3), "unfit": make()}
            record.raises("save", lambda: code.save_checkpoint(path, **run.parts(), step=2, extra=extra))
            record("intact", path.is_file() and path.read_bytes() == old)
            record("left", [f for f in files(inside) if f != "last.pt"])
            record("strays", sorted(set(files(Path.cwd())) - outside))
    with record.step("first"):
        inside = place / "first"
        extra = {"unfit": threading.Lock()}
        record.raises(
            "save", lambda: code.save_checkpoint(inside / "a.pt", **run.parts(), step=2, extra=extra)
        )
        record("exists", (inside / "a.pt").exists())
        record("left", [f for f in files(inside) if f != "a.pt"] if inside.exists() else [])
    for name in ("scheduler", "scaler"):
        with record.step(name):
            inside, broken = place / name, {name: Broken()}
            path = inside / "last.pt"
            code.save_checkpoint(path, **run.parts(), step=1)
            old = path.read_bytes()
            record.raises("save", lambda: code.save_checkpoint(path, **run.parts(), **broken, step=2))
            record("intact", path.is_file() and path.read_bytes() == old)
            record("left", [f for f in files(inside) if f != "last.pt"])
    with record.step("recovers"):
        # A save after failed ones.
        inside = place / "recovers"
        for _ in range(3):
            with contextlib.suppress(Exception):
                code.save_checkpoint(inside / "a.pt", **run.parts(), step=2, extra=extra)
        code.save_checkpoint(inside / "a.pt", **run.parts(), step=5)
        record("step", code.load_checkpoint(inside / "a.pt", **run.parts())["step"])
        record("left", [f for f in files(inside) if f != "a.pt"])
    with record.step("window"):
        path = place / "window" / "a.pt"
        code.save_checkpoint(path, **run.parts(), step=1)
        old = path.read_bytes()
        with path.open("rb") as reader:
            run.train(1)
            with watching(path):
                code.save_checkpoint(path, **run.parts(), step=2)
            record("missing", watched["missing"])
            # Whoever had the old file open still reads the old one, unless it was written over.
            record("overwritten", reader.read() != old)
    with record.step("crash"):
        path = place / "crash" / "a.pt"
        code.save_checkpoint(path, **run.parts(), step=1)
        old = path.read_bytes()
        ended = False
        with watching(path, fail=True):
            try:
                code.save_checkpoint(path, **run.parts(), step=2)
            except BaseException:  # noqa: BLE001 - whatever the staged crash became
                ended = True
        record("intact", not ended or (path.is_file() and path.read_bytes() == old))


def probe_file(code, given, record):
    place = folder("file")
    run = Run(given, record.device, 1, dropout=0.2, schedule="torch", scaler=True, noise=("python", "numpy"))
    seed_all(given["seed"])
    run.train(3)
    path = place / "a.pt"
    code.save_checkpoint(path, **run.parts(), step=3, extra=given["extra"])
    trusted = list(torch.serialization.get_safe_globals())
    torch.serialization.clear_safe_globals()
    try:
        with record.step("plain"):
            found = torch.load(path, map_location="cpu", weights_only=True)
            record("dict", isinstance(found, dict))
    finally:
        torch.serialization.add_safe_globals(trusted)
    modes = []
    original = torch.load

    def spy(*arguments, **options):
        modes.append(options.get("weights_only"))
        return original(*arguments, **options)

    torch.load = spy
    try:
        with record.step("loading"):
            code.load_checkpoint(path, **run.parts())
    finally:
        torch.load = original
    record("unsafe", any(mode is not None and not mode for mode in modes))


def probe_mismatch(code, given, record):
    place = folder("mismatch")
    for name, chosen in PARTS.items():
        run = Run(given, record.device, 1, dropout=0.2, **chosen)
        run.train(3)
        with record.step(f"save_{name}"):
            code.save_checkpoint(place / f"{name}.pt", **run.parts(), step=3)
    for saved, wanted in given["mismatches"]:
        with record.step(f"{saved}_into_{wanted}"):
            fresh = run_to_refuse(given, record.device, wanted)
            record.raises(
                "load",
                lambda saved=saved, fresh=fresh: code.load_checkpoint(place / f"{saved}.pt", **fresh.parts()),
            )
            record("after", everything(fresh))


class Constant:
    """A schedule without any state."""

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def probe_stateless(code, given, record):
    """A disabled GradScaler has an empty state dict, and so may a scheduler."""
    place = folder("stateless")
    run = Run(given, record.device, 1)
    run.train(2)
    for name, thing in {
        "scaler": torch.amp.GradScaler(record.device.type, enabled=False),
        "scheduler": Constant(),
    }.items():
        with record.step(name):
            code.save_checkpoint(place / f"{name}.pt", **run.parts(), **{name: thing}, step=2)
            code.save_checkpoint(place / "without.pt", **run.parts(), step=2)
            record.raises("lost", lambda n=name: code.load_checkpoint(place / f"{n}.pt", **run.parts()))
            record.raises(
                "lacking",
                lambda n=name, t=thing: code.load_checkpoint(place / "without.pt", **run.parts(), **{n: t}),
            )
            found = code.load_checkpoint(place / f"{name}.pt", **run.parts(), **{name: thing})
            record("step", found["step"])


def probe_errors(code, given, record):
    place = folder("errors")
    run = Run(given, record.device, 1)
    run.train(2)
    record.raises("missing", lambda: code.load_checkpoint(place / "none.pt", **run.parts()))
    record.raises(
        "missing_folder", lambda: code.load_checkpoint(str(place / "no" / "none.pt"), **run.parts())
    )
    path = place / "a.pt"
    with record.step("save"):
        code.save_checkpoint(path, **run.parts(), step=2)
        longer = network(given, record.device, 2, extra_layer=True)
        code.save_checkpoint(place / "longer.pt", model=longer, optimizer=adam(longer), step=2)
    wide = network(given, record.device, 2, hidden=given["hidden"] + 1)
    longer = network(given, record.device, 2, extra_layer=True)
    record.raises("shape", lambda: code.load_checkpoint(path, model=wide, optimizer=adam(wide)))
    record.raises("layer_more", lambda: code.load_checkpoint(path, model=longer, optimizer=adam(longer)))
    record.raises("layer_less", lambda: code.load_checkpoint(place / "longer.pt", **run.parts()))
