import re

import torch
from torch.nn.functional import cross_entropy

from quizapp.judge.testing.checks import alike, behaviour, close, expect

NAMES = ("w1", "b1", "w2", "b2")
LOSS = {"rtol": 1e-5, "atol": 1e-6}
STEP = {"rtol": 1e-4, "atol": 1e-6}


def net(params, x):
    w1, b1, w2, b2 = params
    return torch.tanh(x @ w1.T + b1) @ w2.T + b2


def scores(params, batches):
    x = torch.cat([b[0] for b in batches])
    y = torch.cat([b[1] for b in batches])
    logits = net(params, x)
    return float(cross_entropy(logits, y)), float((logits.argmax(1) == y).double().mean())


def gradient(params, batch):
    leaves = [p.clone().requires_grad_() for p in params]
    loss = cross_entropy(net(leaves, batch[0]), batch[1])
    return float(loss.detach()), flatten(torch.autograd.grad(loss, leaves))


def flatten(tensors):
    return torch.cat([t.flatten() for t in tensors])


def unflatten(vector, params):
    parts = vector.split([p.numel() for p in params])
    return [part.view_as(p) for part, p in zip(parts, params, strict=True)]


def clipped(grad, bound):
    return grad if bound is None else grad * min(1.0, bound / float(grad.norm()))


def simulate(given, key, epochs=2, k=1, bound=None, schedule=False, stop=None):
    """What a right loop does: gradients, rates, parameters and history; ``stop`` ends it at that batch."""
    params = [given["weights"][name] for name in NAMES]
    data, size = given["train"][key], None
    run = {"grads": [], "rates": [], "windows": [], "before": [], "history": []}
    seen = 0
    for epoch in range(epochs):
        losses, count, window = 0.0, 0, []
        for i, batch in enumerate(data):
            if stop is not None and seen == stop:
                return run | {"params": flatten(params)}
            seen += 1
            size = len(batch[1])
            loss, grad = gradient(params, batch)
            losses, count = losses + loss * size, count + size
            window.append(grad)
            if len(window) == k or i + 1 == len(data):
                rate = given["lr"] / (1 + len(run["grads"])) if schedule else given["lr"]
                grad = clipped(sum(window) / len(window), bound)
                run["before"].append(flatten(params))
                run["grads"].append(grad)
                run["rates"].append(rate)
                run["windows"].append(window)
                params = [p - rate * g for p, g in zip(params, unflatten(grad, params), strict=True)]
                window = []
        loss, accuracy = scores(params, given["val"])
        run["history"].append(
            {"epoch": epoch, "train_loss": losses / count, "val_loss": loss, "val_accuracy": accuracy}
        )
    return run | {"params": flatten(params)}


def steps_agree(observe, path, run, says, count_says, mistakes=lambda run, i: []):
    got = observe[f"{path}/history"] and observe[f"{path}/grads"]
    expect(
        len(got) == len(run["grads"]),
        count_says,
        f"{len(got)} optimizer steps in {len(run['history'])} epochs, expected {len(run['grads'])}",
    )
    for i, want in enumerate(run["grads"]):
        close(
            got[i],
            want,
            says,
            **STEP,
            device=observe.device,
            call=f"gradient that optimizer step {i} used",
            mistakes=mistakes(run, i),
        )


def check_scores(result, want, says, **more):
    expect(isinstance(result, dict), "evaluate should return a dict.")
    for name, value in zip(("loss", "accuracy"), want, strict=True):
        expect(name in result, f"evaluate should return {name!r}.")
        close(result[name], value, says.format(name), **LOSS, **more.get(name, {}))


@behaviour(1)
def test_means_over_samples(observe):
    params = [observe.given["weights"][name] for name in NAMES]
    for path, name in (("uneven", "uneven"), ("generator", "uneven"), ("one", "one")):
        batches = observe.given[name]
        each = [scores(params, [b]) for b in batches]
        once = "A last batch of one sample counted as much as a full one."
        result = observe[f"evaluate/{path}/result"]
        total = sum(len(b[1]) for b in batches)
        wrong = [sum(e[n] for e in each) / len(each) for n in (0, 1)]
        check_scores(
            result,
            scores(params, batches),
            "The {} is not the mean over all samples.",
            loss={"mistakes": {once: wrong[0]}},
            accuracy={
                "mistakes": {
                    once: wrong[1],
                    "accuracy is a share between 0 and 1, not a count.": scores(params, batches)[1] * total,
                    "accuracy is a share between 0 and 1, not a percentage.": scores(params, batches)[1]
                    * 100,
                }
            },
        )


@behaviour(1, on_error="The inputs of a batch may be token ids: move them, but keep their dtype.")
def test_dtype_of_inputs(observe):
    dtypes = observe["token_ids/dtypes"]
    expect(
        dtypes == ["torch.int64"],
        "The inputs of a batch may be token ids: move them to the device, but keep their dtype.",
        f"the model got {', '.join(dtypes)} for torch.int64",
    )


@behaviour(1, on_error="evaluate reports a NaN; only a training loss raises.")
def test_nan_is_reported(observe):
    result = observe["evaluate/nan/result"]
    params = [observe.given["weights"][name] for name in NAMES]
    want = (float("nan"), scores(params, observe.given["uneven"])[1])
    check_scores(result, want, "With a loss of NaN the {} is wrong.")


@behaviour(1)
def test_scores_are_floats(observe):
    for name in ("uneven", "one"):
        result = observe[f"evaluate/{name}/result"]
        for key in ("loss", "accuracy"):
            expect(
                type(result[key]) is float,
                f"{key} should be a Python float.",
                f"got {type(result[key]).__name__}",
            )


@behaviour(2, presumes=("means_over_samples",))
def test_eval_mode(observe):
    given = observe.given
    norm, params = given["norm"], [given["weights"][name] for name in NAMES]
    normal = [[(x - norm["mean"]) / torch.sqrt(norm["var"] + 1e-5), y] for x, y in given["train"]["4"]]
    for start in ("train", "eval"):
        for name in ("result", "again"):
            check_scores(
                observe[f"eval_mode/{start}/{name}"],
                scores(params, normal),
                "Two evaluations of the same model differ: dropout or batch statistics are still active.",
            )
        for _, _, training, _ in observe[f"eval_mode/{start}/log"]:
            expect(not training, "A module was in train mode while evaluate ran the model.")


@behaviour(2)
def test_no_gradients_are_tracked(observe):
    for start in ("train", "eval"):
        for *_, tracking in observe[f"eval_mode/{start}/log"]:
            expect(not tracking, "evaluate ran the model with gradient tracking switched on.")
        expect(
            observe[f"eval_mode/{start}/grad_enabled"] is True, "After evaluate gradients stay switched off."
        )


@behaviour(2)
def test_evaluate_changes_no_state(observe):
    for start in ("train", "eval"):
        before, after = observe[f"eval_mode/{start}/states"]
        for name, value in before.items():
            expect(alike(value, after[name]), "evaluate changed a parameter or buffer.", name)


@behaviour(3)
def test_modes_come_back(observe):
    for name in ("train", "eval", "frozen_norm", "frozen_block", "dropout_on"):
        before, after = observe[f"modes/{name}/before"], observe[f"modes/{name}/after"]
        if before == after:
            continue
        says = "After evaluate a module has another mode than before: put back each module's own."
        if not any(before) and all(after):
            says = "The model was in eval mode before evaluate and is in train mode now."
        elif not any(after):
            says = "After evaluate the model is still in eval mode."
        expect(False, says)


@behaviour(4)
def test_training_in_train_mode(observe):
    for start in ("train", "eval", "mixed"):
        runs = [entry for entry in observe[f"fit_modes/{start}/log"] if entry[0] == 1.0]
        expect(len(runs) >= 9, "fit should run the model on every training batch in every epoch.")
        for _, training, some, tracking in runs:
            says = "A training batch ran in eval mode: dropout and batch norm did not train."
            if start == "eval":
                says = (
                    "The model came in eval mode and was trained in it: dropout and batch norm did not train."
                )
            elif some:
                says = "A module was in eval mode in a training batch: call train() on the whole model in each epoch."
            expect(training, says)
            expect(tracking, "A training batch ran without gradients.")


@behaviour(4)
def test_validation_in_eval_mode(observe):
    for start in ("train", "eval", "mixed"):
        log = observe[f"fit_modes/{start}/log"]
        runs = [entry for entry in log if entry[0] == 0.0]
        expect(len(runs) >= 6, "fit should validate after every epoch.")
        for _, _, training, tracking in runs:
            expect(not training, "Validation ran with a module in train mode.")
            expect(not tracking, "Validation ran with gradients.")
        order = [entry[0] for entry in log]
        expect(
            order == [1.0, 1.0, 1.0, 0.0, 0.0] * 3,
            "Each epoch should train on all batches and then validate.",
        )


OWN = "Every batch should make one step from its own gradient."


def uncleared(run, i):
    if i == 0:
        return []
    return [("Every step also uses the gradients of all earlier steps.", sum(run["grads"][: i + 1]))]


@behaviour(5)
def test_one_step_per_batch(observe):
    run = simulate(observe.given, "5")
    for path in ("plain/fresh", "plain/loader"):
        steps_agree(observe, path, run, OWN, "With accumulate=1 every batch makes one step.", uncleared)
        close(
            observe[f"{path}/params"],
            run["params"],
            "The trained parameters are wrong.",
            **STEP,
            device=observe.device,
        )


@behaviour(5)
def test_batches_are_read_anew(observe):
    heard, n = observe["order/heard"], len(observe.given["train"]["7"])
    first, second = heard[:n], heard[n:]
    expect(
        sorted(first) == sorted(second),
        "With accumulate=1 every batch makes one step.",
        f"{len(heard)} forward passes in two epochs of {n} batches",
    )
    expect(
        first != second,
        "Iterate train_batches anew in every epoch: a loader that shuffles then gives another order.",
        "the second epoch had the batches in the order of the first",
    )


@behaviour(5)
def test_gradients_from_before(observe):
    run = simulate(observe.given, "5")
    params = [observe.given["weights"][name] for name in NAMES]
    junk = flatten([torch.full_like(p, float(v)) for p, v in zip(params, observe.given["junk"], strict=True)])
    for path, key, k in (("plain/junk", "5", 1), ("windows/7by3", "7", 3)):
        run = simulate(observe.given, key, k=k)
        close(
            observe[f"{path}/grads"][0],
            run["grads"][0],
            "Gradients from before fit play no part.",
            **STEP,
            device=observe.device,
            call="first optimizer step of a model that came with gradients",
            mistakes={"The first step used gradients from before fit.": run["grads"][0] + junk},
        )


def window_mistakes(k):
    def mistakes(run, i):
        window = run["windows"][i]
        found = [
            ("A window's gradients were added, not averaged.", sum(window)),
            ("Only the last batch of the window was used.", window[-1]),
        ]
        if len(window) < k:
            found.insert(
                0,
                (
                    f"The last window has {len(window)} of {k} batches and is averaged over its own size.",
                    sum(window) / k,
                ),
            )
        if i and len(run["windows"][i - 1]) < k:
            found.append(
                (
                    "Gradients of the last window of an epoch leaked into the next epoch.",
                    run["grads"][i - 1] + run["grads"][i],
                )
            )
        return [*found, *uncleared(run, i)]

    return mistakes


@behaviour(6)
def test_windows(observe):
    for key, k in (("4", 2), ("5", 2), ("7", 3), ("5", 4), ("4", 9)):
        n, count = len(observe.given["train"][key]), -(-int(key) // k)
        says = f"{n} batches in windows of {k} make {count} steps per epoch, each with the mean of its gradients."
        if (key, k) == ("5", 2):
            says = "Five batches in windows of two make three steps; the last has one batch and is averaged over one."
        run = simulate(observe.given, key, k=k)
        steps_agree(observe, f"windows/{key}by{k}", run, says, says, window_mistakes(k))
        close(
            observe[f"windows/{key}by{k}/params"],
            run["params"],
            "The trained parameters are wrong.",
            **STEP,
            device=observe.device,
        )


@behaviour(6)
def test_windows_of_a_data_loader(observe):
    says = "Five batches in windows of two make three steps; the last has one batch and is averaged over one."
    run = simulate(observe.given, "5", k=2)
    steps_agree(observe, "windows/loader", run, says, says, window_mistakes(2))


@behaviour(7)
def test_clipping(observe):
    bound = observe.given["max_norm"]
    for name, k in (("tight1", 1), ("tight2", 2), ("groups", 2)):

        def mistakes(run, i, k=k):
            window = run["windows"][i]
            whole = sum(window) / len(window)
            apart = [clipped(g, bound) for g in window]
            parts = torch.cat([clipped(g, bound).flatten() for g in unflatten(whole, like)])
            running = [0, 0]
            for g in window:
                running = [clipped(running[0] + g, bound), clipped(running[1] + g / len(window), bound)]
            return [
                ("max_norm was ignored.", whole),
                (
                    "Clip what the optimizer is about to use: the gradient of the whole window.",
                    sum(apart) / len(apart),
                ),
                *(
                    ("Clip what the optimizer is about to use: the gradient of the whole window.", wrong)
                    for wrong in (running[0], running[1], running[0] / len(window))
                ),
                ("Clip what the optimizer is about to use: the gradient of the whole window.", sum(apart)),
                (
                    "Clip what the optimizer is about to use: the mean over the window, not the sum.",
                    clipped(whole, bound) / len(window),
                ),
                ("The norm is that of all gradients together, not of each parameter.", parts),
                (
                    "Clip the gradients of all param groups together, not only the first group.",
                    torch.cat([clipped(whole[: like[0].numel()], bound), whole[like[0].numel() :]]),
                ),
                ("Clip the norm, not each element.", whole.clamp(-bound, bound)),
            ]

        like = [observe.given["weights"][n] for n in NAMES]
        run = simulate(observe.given, "5", k=k, bound=bound)
        steps_agree(
            observe,
            f"clipping/{name}",
            run,
            f"With max_norm={bound:.3g} the gradient of a step should have at most this global norm.",
            "The number of steps is wrong with max_norm.",
            mistakes,
        )


@behaviour(12)
def test_bound_of_zero(observe):
    steps_agree(
        observe,
        "clipping/to_zero",
        simulate(observe.given, "5", epochs=1, bound=0.0),
        "Only max_norm=None clips nothing; max_norm=0.0 leaves no gradient.",
        "The number of steps is wrong with max_norm.",
    )


@behaviour(7)
def test_large_bound_clips_nothing(observe):
    steps_agree(
        observe,
        "clipping/loose",
        simulate(observe.given, "5", k=2),
        "A gradient whose norm is below max_norm should stay as it is.",
        "The number of steps is wrong with max_norm.",
    )


@behaviour(8)
def test_schedule(observe):
    for k in (1, 2, 3):
        run = simulate(observe.given, "5", k=k, schedule=True)
        got = observe[f"scheduler/{k}/history"] and observe[f"scheduler/{k}/rates"]
        steps = len(run["rates"])
        close(
            got,
            run["rates"],
            "The schedule counts optimizer steps.",
            rtol=1e-9,
            call=f"learning rates of the {steps} steps with accumulate={k}",
            mistakes={"The scheduler was never stepped.": [observe.given["lr"]] * steps},
        )
        expect(
            observe[f"scheduler/{k}/last_epoch"] == steps,
            "scheduler.step() should run once after every optimizer step, the last one included.",
            f"{observe[f'scheduler/{k}/last_epoch']} scheduler steps for {steps} optimizer steps",
        )


CASES = [
    ("plain/fresh", "5", 1),
    ("windows/5by2", "5", 2),
    ("windows/7by3", "7", 3),
    ("windows/4by9", "4", 9),
]


@behaviour(9)
def test_history(observe):
    for path, key, k in CASES:
        history, want = observe[f"{path}/history"], simulate(observe.given, key, k=k)["history"]
        expect(isinstance(history, list) and len(history) == 2, "fit should return one dict per epoch.")
        for entry, right in zip(history, want, strict=True):
            expect(
                isinstance(entry, dict) and set(entry) >= set(right),
                "Each entry should have epoch, train_loss, val_loss and val_accuracy.",
            )
            expect(entry["epoch"] == right["epoch"], "epoch should count from 0.", f"got {entry['epoch']!r}")
            for name in ("val_loss", "val_accuracy"):
                close(
                    entry[name],
                    right[name],
                    f"{name} is not what evaluate gives after the epoch.",
                    **LOSS,
                    call=f"epoch {right['epoch']}, accumulate={k}",
                )


@behaviour(9)
def test_train_loss(observe):
    for path, key, k in CASES:
        history, want = observe[f"{path}/history"], simulate(observe.given, key, k=k)["history"]
        data = observe.given["train"][key]
        for entry, right in zip(history, want, strict=True):
            wrong = []
            if right["epoch"] == 0 and k >= len(data):  # all losses come from the untrained model
                params = [observe.given["weights"][n] for n in NAMES]
                means = [scores(params, [b])[0] for b in data]
                wrong.append(("A last batch counted as much as a full one.", sum(means) / len(means)))
            if k > 1 and len(data) % k == 0 or k > len(data):
                wrong.append((DIVIDED, right["train_loss"] / min(k, len(data))))
            close(
                entry["train_loss"],
                right["train_loss"],
                DIVIDED
                if k > 1 and float(entry["train_loss"]) < 0.7 * right["train_loss"]
                else "train_loss is not the mean over the epoch's samples of the losses as computed during training.",
                **LOSS,
                call=f"epoch {right['epoch']} of {len(data)} batches, accumulate={k}",
                mistakes=wrong,
            )


DIVIDED = "The reported loss changed with the accumulation setting, though the data did not."


@behaviour(9)
def test_history_holds_floats(observe):
    for path, _, _ in CASES:
        for entry in observe[f"{path}/history"]:
            for name in ("train_loss", "val_loss", "val_accuracy"):
                expect(
                    type(entry[name]) is float,
                    f"{name} should be a Python float.",
                    f"got {type(entry[name]).__name__}",
                )


@behaviour(9)
def test_no_graph_is_kept(observe):
    alive = observe["memory/alive"]
    expect(
        max(alive) <= 4,
        "The sum of the losses keeps the graphs of all old batches alive: add plain numbers.",
        f"at the last of {len(alive)} batches {alive[-1]} old graphs were alive",
    )


BROKEN = {
    "nan": (8, 1),
    "inf": (9, 1),
    "minus_inf": (7, 1),
    "window": (8, 2),
    "window_start": (7, 2),
    "window_inf": (8, 3),
    "first": (0, 1),
}


@behaviour(10)
def test_bad_loss_raises(observe):
    for name, (at, _) in BROKEN.items():
        path, epoch, batch = f"nonfinite/{name}", at // 5, at % 5
        what = "-inf" if name == "minus_inf" else "inf" if name.endswith("inf") else "NaN"
        observe.raised(path, "FloatingPointError", says=f"A training loss of {what} should end the run.")
        message = observe.error(path).message
        numbers = [int(n) for n in re.findall(r"\d+", message)]
        expect(
            epoch in numbers and batch in numbers and (epoch != batch or numbers.count(epoch) > 1),
            f"The error should name epoch {epoch} and batch {batch}, both counted from 0.",
            f"it says {message!r}",
        )


@behaviour(10)
def test_parameters_are_still_sound(observe):
    for name, (at, k) in BROKEN.items():
        observe.raised(
            f"nonfinite/{name}", "FloatingPointError", says="A bad training loss should end the run."
        )
        run = simulate(observe.given, "5", epochs=3, k=k, stop=at)
        params = observe[f"nonfinite/{name}/params"]
        says = "When the error is raised the parameters are not those from before the bad batch."
        if not torch.isfinite(params).all():
            says = "The parameters are already NaN when the error is raised."
        close(
            params,
            run["params"],
            says,
            **STEP,
            device=observe.device,
            call=f"bad loss in batch {at % 5}, accumulate={k}",
        )


@behaviour(10, on_error="A large loss is finite: only NaN and inf raise.")
def test_large_loss_is_no_reason_to_stop(observe):
    steps = observe["nonfinite/huge/history"] and observe["nonfinite/huge/grads"]
    expect(len(steps) == 5, "A large loss is finite: only NaN and inf raise.", f"{len(steps)} of 5 steps")


@behaviour(11)
def test_bad_arguments(observe):
    for name, says in {
        "epochs": "epochs=0 should raise ValueError.",
        "negative_epochs": "Negative epochs should raise ValueError.",
        "accumulate": "accumulate=0 should raise ValueError.",
        "negative_accumulate": "A negative accumulate should raise ValueError.",
        "empty": "Empty train_batches should raise ValueError.",
        "evaluate": "evaluate without batches should raise ValueError.",
        "evaluate_iterator": "evaluate with an iterator that yields nothing should raise ValueError.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
