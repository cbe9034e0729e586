import array
import copy
import math
import random
import zlib
from pathlib import Path

import numpy as np
import torch

CAUSES = ("healthy", "label_permute", "huge_lr", "missing_zero_grad", "loss_sum", "amp_no_scaling")
DIVERGING = ("huge_lr", "loss_sum", "missing_zero_grad")
POOL, RUNS, STEPS, KEYS = 160, 60, 60, 4
SCALES = (2.0**-7, 2.0**24, 2.0**7, 2.0**-30)


def read_pool():
    """By cause: (classes, batch size) of every run, and its rows as a tensor."""
    data = zlib.decompress(Path(__file__).with_name("runs.bin").read_bytes())
    pool, at = {}, 0
    for cause in CAUSES:
        sizes = torch.tensor(list(data[at : at + 2 * POOL])).view(POOL, 2)
        at += 2 * POOL
        values = array.array("f", data[at : at + 4 * POOL * STEPS * KEYS])
        at += 4 * POOL * STEPS * KEYS
        pool[cause] = sizes, torch.tensor(values).view(POOL, STEPS, KEYS)
    return pool


def inputs(draw):
    pool = read_pool()
    # Whoever looks around while diagnose runs finds groups, not causes: the judge alone knows the names.
    given = {"runs": {}, "kept": {cause: f"group{n}" for n, cause in enumerate(draw.shuffled(CAUSES))}}
    for cause, group in given["kept"].items():
        sizes, rows = pool[cause]
        chosen = draw.permutation(POOL)[:RUNS]
        given["runs"][group] = {"sizes": sizes[chosen], "rows": rows[chosen]}
    given["diverging"] = draw.shuffled([given["kept"][cause] for cause in DIVERGING])
    sizes, rows = pool["amp_no_scaling"]
    partial = [
        i for i in range(POOL) if rows[i, 0, 2] < 0.97 and rows[i, -10:, 0].mean() < 0.7 * rows[i, 0, 0]
    ]
    chosen = [("amp_no_scaling", i) for i in draw.sample(partial, min(RUNS, len(partial)))]
    # Among as many others, so that where a log stands says nothing about it.
    chosen += [(draw.choice(CAUSES[:-1]), draw.integer(0, POOL - 1)) for _ in chosen]
    chosen = draw.shuffled(chosen)
    given["mixed"] = {
        "sizes": torch.stack([pool[cause][0][i] for cause, i in chosen]),
        "rows": torch.stack([pool[cause][1][i] for cause, i in chosen]),
        "kept": [n for n, (cause, _) in enumerate(chosen) if cause == "amp_no_scaling"],
    }
    given["cut"] = draw.shuffled(range(20, 60))  # every length
    given["broken_from"] = [draw.choice([12, 12, 13, draw.integer(14, 30)]) for _ in range(RUNS)]
    given["bad"] = [draw.choice([float("nan"), float("inf")]) for _ in range(RUNS)]
    return given


def log_of(runs, i):
    classes, batch = runs["sizes"][i].tolist()
    return [
        {
            "step": step,
            "batch_size": batch,
            "num_classes": classes,
            "loss": loss,
            "grad_norm": norm,
            "grad_zero_fraction": zeros,
            "val_accuracy": accuracy,
        }
        for step, (loss, norm, zeros, accuracy) in enumerate(runs["rows"][i].tolist())
    ]


def plain(found):
    """A member of an enumeration of strings is a string too."""
    return str.__str__(found) if isinstance(found, str) else found


def answer(code, log):
    try:
        return plain(code.diagnose(log))
    except Exception as error:  # noqa: BLE001 - one of hundreds of answers
        return f"raised {type(error).__name__}: {error}"[:120]


def probe_full(code, given, record):
    for group, runs in given["runs"].items():
        with record.step(group):
            record("answers", [answer(code, log_of(runs, i)) for i in range(RUNS)])
    with record.step("mixed"):
        runs = given["mixed"]
        record("answers", [answer(code, log_of(runs, i)) for i in range(len(runs["rows"]))])


def probe_nonfinite(code, given, record):
    for group in given["diverging"]:
        with record.step(group):
            answers = []
            for i in range(RUNS):
                log = log_of(given["runs"][group], i)
                for row in log[given["broken_from"][i] :]:
                    row["loss"] = row["grad_norm"] = given["bad"][i]
                answers.append(answer(code, log))
            record("answers", answers)


def probe_sparse(code, given, record):
    for group, runs in given["runs"].items():
        with record.step(group):
            answers = []
            for i in range(RUNS):
                log = log_of(runs, i)
                for row in log[:-1]:
                    if (STEPS - 1 - row["step"]) % 10:
                        row["val_accuracy"] = None
                answers.append(answer(code, log))
            record("answers", answers)


def probe_cut(code, given, record):
    for group, runs in given["runs"].items():
        with record.step(group):
            logs = [log_of(runs, i)[:length] for i, length in enumerate(given["cut"])]
            for log in logs[:15]:
                for row in log[:-1]:
                    row["val_accuracy"] = None if row["step"] % 10 else row["val_accuracy"]
            record("answers", [plain(code.diagnose(log)) for log in logs])


def probe_between(code, given, record):
    """Runs that learn a part of what can be learnt, and some whose gradient has a few more zeros."""
    for group, runs in given["runs"].items():
        with record.step(group):
            answers = []
            for i in range(RUNS):
                log, part = log_of(runs, i), i / RUNS
                for row in log:
                    row["loss"] += part * (math.log(row["num_classes"]) - row["loss"])
                    row["grad_zero_fraction"] += 0.3 * (i % 3) * (1.0 - row["grad_zero_fraction"])
                answers.append(answer(code, log))
            record("answers", answers)


def probe_scaled(code, given, record):
    for group, runs in given["runs"].items():
        with record.step(group):
            found = []
            for i in range(25):
                answers = [answer(code, log_of(runs, i))]
                for scale in SCALES:
                    log = log_of(runs, i)
                    for row in log:
                        row["grad_norm"] *= scale
                    answers.append(answer(code, log))
                found.append(answers)
            record("answers", found)


def state():
    return [random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()]


def text(log):
    """Everything in a log; repr tells NaN from None and 1 from 1.0."""
    return repr(log)


def probe_pure(code, given, record):
    for group, runs in given["runs"].items():
        with record.step(group):
            untouched, found = [], []
            for i in range(12):
                log = log_of(runs, i)
                for row in log[:-1]:  # some with gaps in the validation, some that end in NaN
                    if i % 2 and (STEPS - 1 - row["step"]) % 10:
                        row["val_accuracy"] = None
                for row in log[18:] if i % 3 == 2 else []:
                    row["loss"] = row["grad_norm"] = float("nan")
                before = text(log)
                first = answer(code, log)
                untouched.append(text(log) == before)
                other = [dict(reversed(row.items())) | {"lr": 0.1, "note": "x", "tags": [1]} for row in log]
                moved = [{k: row[k] for k in sorted(row, key=lambda k: (len(k), k))} for row in other]
                random.seed(i)
                torch.manual_seed(i)
                np.random.seed(i)
                found.append(
                    [first, answer(code, copy.deepcopy(log)), answer(code, other), answer(code, moved)]
                )
            record("untouched", all(untouched))
            record("answers", found)
    with record.step("order"):
        picks = [(runs, i) for i in range(6) for runs in given["runs"].values()]
        there = [answer(code, log_of(runs, i)) for runs, i in picks]
        back = [answer(code, log_of(runs, i)) for runs, i in reversed(picks)]
        record("same", there == back[::-1])
    with record.step("random"):
        random.seed(123)
        torch.manual_seed(123)
        np.random.seed(123)
        before = state()
        for runs in given["runs"].values():
            answer(code, log_of(runs, 0))
        after = state()
        record("left", [a == b for a, b in zip(before, after, strict=True)])


def probe_errors(code, given, record):
    log = log_of(given["runs"]["group0"], 0)
    for name, length in (("nineteen", 19), ("one", 1), ("empty", 0)):
        record.raises(name, lambda length=length: code.diagnose(log[:length]))
    with record.step("twenty"):
        record("answer", plain(code.diagnose(log[:20])))
