import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect


def differences(a, b, path=""):
    """Where two nested states differ."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        good = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype == b.dtype
        good = good and torch.equal(a, b)
        return [] if good else [path]
    if isinstance(a, dict) and isinstance(b, dict):
        found = [f"{path}/{key}" for key in a.keys() ^ b.keys()]
        for key in a.keys() & b.keys():
            found += differences(a[key], b[key], f"{path}/{key}")
        return sorted(found)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [
            d for i, (x, y) in enumerate(zip(a, b, strict=True)) for d in differences(x, y, f"{path}/{i}")
        ]
    return [] if type(a) is type(b) and a == b else [path]


def equal(a, b, says):
    found = differences(a, b)
    expect(not found, says, "differs at " + ", ".join(found[:3]) if found else "")


def resumed(observe, path, says, keys=("losses", "rates", "scales")):
    got, want = observe[f"{path}/step"], observe.given["before"]
    expect(got == want, LOST, f"step {got!r} instead of {want}")
    for key in keys:
        want, got = observe[f"reference/{path}"][key], observe[f"{path}/resumed"][key]
        if observe.device == "cpu":
            expect(got == want, says, f"{key} {got[:3]}, uninterrupted {want[:3]}")
        else:
            close(got, want, says, rtol=1e-5)


LOST = "The data position did not come back, so batches are repeated or skipped."
ADAM = "Adam's moments started from zero, so the loss jumped after the resume."


@behaviour(1)
def test_parameters_and_buffers_come_back(observe):
    for name in ("state", "state/sgd"):
        equal(
            observe[f"{name}/loaded_model"],
            observe[f"reference/{name}/model"],
            "Parameters or buffers did not come back bit for bit.",
        )
    expect(
        observe["state/same_parameters"],
        "Load into the parameters that the model has: the optimizer still refers to them.",
    )


@behaviour(1)
def test_optimizer_state_comes_back(observe):
    for name in ("state", "state/sgd"):
        got, want = observe[f"{name}/loaded_optimizer"], observe[f"reference/{name}/optimizer"]
        expect(got["state"] or not want["state"], ADAM)
        equal(got["state"], want["state"], "The optimizer's state did not come back bit for bit.")
        equal(
            got["param_groups"],
            want["param_groups"],
            "The optimizer's hyperparameters did not come back: a new run may have been built with others.",
        )


@behaviour(1)
def test_training_goes_on_the_same(observe):
    if observe.device == "cpu":
        expect(
            observe["state/loaded_later"] == observe["reference/state/later"],
            "The losses after the resume differ.",
        )
        equal(
            observe["state/loaded_final"],
            observe["reference/state/final"],
            "The parameters drift after the resume.",
        )
    else:
        close(
            observe["state/loaded_later"],
            observe["reference/state/later"],
            "The losses after the resume differ.",
            rtol=1e-5,
        )


def goes_on_in_a_new_process(observe, name, says):
    want = observe[f"reference/first_process/{name}"]
    got = observe[f"second_process/{name}/step"]
    expect(got == observe.given["before"] and observe[f"second_process/{name}/extra"] == {"at": got}, says)
    for key, values in observe[f"second_process/{name}/resumed"].items():
        if observe.device == "cpu":
            expect(values == want[key], says, f"{key} {values[:3]}, uninterrupted {want[key][:3]}")
        else:
            close(values, want[key], says, rtol=1e-5)


IN_THE_FILE = "In a new process the run does not go on: all that counts must be in the file."
STATES_IN_THE_FILE = (
    "In a new process the random numbers do not go on: all random states must be in the file."
)


@behaviour(
    1,
    on_error=IN_THE_FILE,
    presumes=(
        "parameters_and_buffers_come_back",
        "optimizer_state_comes_back",
        "scheduler_comes_back",
        "scaler_comes_back",
        "step_comes_back",
        "extra_comes_back",
    ),
)
def test_the_file_holds_everything(observe):
    goes_on_in_a_new_process(observe, "quiet", IN_THE_FILE)


@behaviour(
    3,
    on_error=STATES_IN_THE_FILE,
    presumes=(
        "the_file_holds_everything",
        "torch_state_comes_back",
        "python_state_comes_back",
        "numpy_state_comes_back",
    ),
)
def test_the_file_holds_the_random_states(observe):
    goes_on_in_a_new_process(observe, "random", STATES_IN_THE_FILE)


@behaviour(1)
def test_devices_are_those_of_the_target(observe):
    expect(
        observe["state/devices"] == [observe.device.split(":")[0]],
        "The model changed its device while loading.",
    )
    for name in ("to_cpu", "from_cpu"):
        equal(
            observe[f"state/{name}/loaded_model"],
            observe[f"reference/state/{name}/model"],
            "A checkpoint must load on another device than the one it was made on.",
        )
        expect(
            observe[f"state/{name}/devices"] == [observe[f"state/{name}/device"]],
            "The model changed its device while loading.",
        )


@behaviour(2)
def test_dropout_goes_on_the_same(observe):
    resumed(
        observe,
        "dropout/dropout",
        "The dropout masks after the resume are not those of the uninterrupted run: restore the generator's "
        "state, a seed starts another sequence.",
    )


@behaviour(2)
def test_torch_state_comes_back(observe):
    expect(
        torch.equal(observe["dropout/odd/resumed"], observe["reference/odd"]),
        "torch's random numbers after the load are not those that followed the save: restore the generator's "
        "state, a seed starts another sequence.",
    )


PATH = "Augmentation that uses random or numpy took another path after the resume."


@behaviour(3)
def test_augmentation_goes_on_the_same(observe):
    for name in ("python", "numpy", "both"):
        resumed(observe, f"generators/{name}", PATH)


def draws(observe, kind):
    for taken in (1, 2):
        path = f"generators/{kind}{taken}"
        got, want = observe[f"{path}/resumed"], observe[f"reference/{kind}{taken}"]
        if got != want and taken % 2 and got[-2:] != want[-2:] and want[1] in got[:1]:
            expect(False, f"The second normal value that {kind} keeps in reserve was lost.")
        if got != want and not taken % 2 and want[0] in got[1:2]:
            expect(
                False,
                f"A normal value that {kind} had in reserve before the load was handed out after it.",
            )
        expect(got == want, f"{PATH} {kind}: {got[:2]} instead of {want[:2]} after {taken} normal values.")


@behaviour(3)
def test_python_state_comes_back(observe):
    draws(observe, "python")


@behaviour(3)
def test_numpy_state_comes_back(observe):
    draws(observe, "numpy")


@behaviour(4)
def test_scheduler_comes_back(observe):
    for name in ("torch", "own"):
        resumed(observe, f"schedule/{name}", "The learning rate started over.")


@behaviour(4)
def test_scaler_comes_back(observe):
    resumed(observe, "schedule/scaler", "The loss scale started over.")


@behaviour(3)
def test_all_of_it_together(observe):
    resumed(observe, "schedule/all", "With scheduler, scaler and augmentation the resumed run differs.")


@behaviour(5)
def test_step_comes_back(observe):
    for name, step in (("full", observe.given["step"]), ("none", 0), ("explicit", 3), ("empty", 1)):
        got = observe[f"extra/{name}/step"]
        expect(type(got) is int and got == step, LOST, f"step {got!r} instead of {step}")


@behaviour(5)
def test_extra_comes_back(observe):
    expect(observe["extra/full/is_dict"], "extra must come back as a dict.")
    equal(observe["extra/full/extra"], observe.given["extra"], f"{LOST} extra has changed.")


@behaviour(5)
def test_no_extra_is_an_empty_dict(observe):
    for name in ("none", "explicit", "empty"):
        got = observe[f"extra/{name}/extra"]
        expect(
            got == {} and observe[f"extra/{name}/is_dict"],
            "Without extra an empty dict is returned.",
            repr(got),
        )


@behaviour(12)
def test_every_load_has_its_own_extra(observe):
    got = observe["extra/again/none"]
    expect(got == {}, "Without extra an empty dict is returned, a new one by every load.", repr(got))


@behaviour(5, on_error="extra may have any keys, those of your own checkpoint too.")
def test_extra_with_names_of_the_checkpoint(observe):
    says = "extra may have any keys: store it apart from your own entries."
    got = observe["extra/names/extra"]
    expect(isinstance(got, dict) and len(got) == 11 and set(got.values()) == {"mine"}, says, repr(got)[:80])
    expect(
        observe["extra/names/step"] == 5
        and alike(observe["extra/names/model"], observe["reference/extra/model"]),
        says,
    )


@behaviour(5)
def test_extra_with_numbers_as_keys(observe):
    got = observe["extra/numbered/keys"]
    want = [["str", "seen"], ["int", 7], ["int", 0], ["int", 1]]
    expect(got == want, f"{LOST} The keys of extra have changed.", repr(got))


EXTRA = {"kept": [1, 2], "t": torch.ones(2)}
RANDOM = "Saving changed the run: with a checkpoint it takes another path than without."


@behaviour(6)
def test_saving_draws_no_random_numbers(observe):
    for mode in ("mixed", "eval", "train"):
        before, after = observe[f"reference/saving/{mode}_random"], observe[f"saving/disturbs/{mode}_random"]
        expect(alike(before, after), RANDOM)
    for path in ("dropout/dropout", "generators/both", "schedule/all"):
        want, got = observe[f"reference/{path}"], observe[f"{path}/saved"]
        if observe.device == "cpu":
            expect(got == want, RANDOM)
        else:
            close(got["losses"], want["losses"], RANDOM, rtol=1e-5)


@behaviour(6)
def test_saving_changes_no_mode_and_no_value(observe):
    sentences = {
        "modes": "Saving switched the training flags of the model.",
        "model": "Saving changed parameters or buffers.",
        "grads": "Saving changed the gradients.",
        "needs_grad": "Saving changed requires_grad.",
        "optimizer": "Saving changed the optimizer.",
        "scheduler": "Saving changed the scheduler.",
        "scaler": "Saving changed the scaler.",
        "extra": "Saving changed the caller's extra.",
    }
    for mode in ("mixed", "eval", "train"):
        for key, says in sentences.items():
            before = observe[f"reference/saving/{mode}_{key}"] if key != "extra" else EXTRA
            expect(alike(before, observe[f"saving/disturbs/{mode}_{key}"]), says)


@behaviour(6, on_error="Missing folders are made, and a bare file name is a valid path.")
def test_folders_are_made(observe):
    expect(
        observe["saving/parents/files"] == ["a/b/last.pt"], "Missing parent folders are made, at any depth."
    )
    got = observe["saving/pathlike/files"]
    expect(got == ["last"], "The checkpoint must stand exactly at the path given.", repr(got))
    expect(observe["saving/pathlike/loads"] == 1, "The file cannot be found under the path it was saved to.")


@behaviour(13, on_error="A bare file name means the current folder.")
def test_bare_file_name(observe):
    expect(observe["saving/bare/loads"] == 4, "A bare file name means the current folder.")


@behaviour(6)
def test_a_single_file_is_left(observe):
    for name, want in (
        ("parents", ["a/b/last.pt"]),
        ("bare", ["last.ckpt"]),
        ("again", ["best.pt", "last.pt"]),
    ):
        got = observe[f"saving/{name}/files"]
        expect(
            got == want, "After a save the folder holds the checkpoint and nothing else of yours.", repr(got)
        )
    strays = [f for f in observe["saving/again/strays"] if not f.endswith(("again/best.pt", "again/last.pt"))]
    expect(not strays, "A save leaves files in another folder.", ", ".join(strays))
    expect(
        observe["saving/again/last"] == 2 and observe["saving/again/best"] == 7,
        "A second save must replace the first, and other checkpoints in the folder must survive.",
    )


UNFIT = ("lock", "function", "stream", "nested")
CRASH = "A crash while saving destroyed the only good checkpoint: write beside it, then rename."


@behaviour(7)
def test_failed_save_raises(observe):
    for name in (*UNFIT, "first"):
        expect(
            observe.error(f"atomic/{name}/save") is not None,
            "Something in extra cannot be serialised: the error must reach the caller.",
        )


@behaviour(7)
def test_failed_save_keeps_the_old_file(observe):
    for name in UNFIT:
        expect(observe[f"atomic/{name}/intact"], CRASH)
    for name in ("scheduler", "scaler"):
        says = f"Where the state_dict of the {name} raises, the error must reach the caller."
        expect(observe.error(f"atomic/{name}/save") is not None, says)
        expect(observe[f"atomic/{name}/intact"], CRASH)
    expect(not observe["atomic/first/exists"], "A failed first save left a broken file at path.")
    expect(observe["atomic/recovers/step"] == 5, "After failed saves a good one must work.")


@behaviour(7)
def test_old_file_stands_until_the_new_one_is_complete(observe):
    expect(not observe["atomic/window/overwritten"], CRASH)
    expect(
        not observe["atomic/window/missing"],
        f"{CRASH} There is a moment in which no checkpoint exists: a rename replaces the old file by itself.",
    )
    expect(observe["atomic/crash/intact"], CRASH)


@behaviour(8)
def test_failed_save_leaves_nothing(observe):
    piles = "Failed saves pile up files until the disk is full."
    for name in (*UNFIT, "first", "recovers", "scheduler", "scaler"):
        left = observe[f"atomic/{name}/left"]
        expect(not left, piles, ", ".join(left))
    for name in UNFIT:
        strays = observe[f"atomic/{name}/strays"]
        expect(not strays, piles, ", ".join(strays))


@behaviour(9, on_error="This file can run code when it is loaded; store tensors and plain values only.")
def test_file_is_plain(observe):
    expect(observe["file/plain/dict"], "The file must hold a dict.")


@behaviour(9)
def test_loading_is_safe(observe):
    expect(
        not observe["file/unsafe"],
        "weights_only=False runs whatever code is in the file: load with weights_only=True.",
    )


SILENT = (
    "You asked for the {}, the checkpoint has none, and nobody noticed. Check before you change anything.",
    "The checkpoint has a {}, none is given, and nobody noticed. Check before you change anything.",
)
CASES = {"none": set(), "scheduler": {"scheduler"}, "scaler": {"scaler"}, "both": {"scheduler", "scaler"}}


@behaviour(10)
def test_mismatch_is_refused(observe):
    for saved, wanted in observe.given["mismatches"]:
        lacking, lost = CASES[wanted] - CASES[saved], CASES[saved] - CASES[wanted]
        says = SILENT[0].format(min(lacking)) if lacking else SILENT[1].format(min(lost))
        observe.raised(f"mismatch/{saved}_into_{wanted}/load", "ValueError", says=says)


@behaviour(10)
def test_refused_load_changes_nothing(observe):
    for saved, wanted in observe.given["mismatches"]:
        path = f"mismatch/{saved}_into_{wanted}"
        before, after = observe[f"reference/mismatch/{wanted}"], observe[f"{path}/after"]
        changed = [key for key in before if not alike(before[key], after[key])]
        expect(not changed, "A refused load had changed something already: check first.", ", ".join(changed))


@behaviour(10, on_error="An empty state dict (a disabled GradScaler has one) is a state like any other.")
def test_empty_state_is_a_state(observe):
    for index, name in enumerate(("scaler", "scheduler")):
        path = f"stateless/{name}"
        says = f"A {name} with an empty state dict was saved and is given again: the checkpoint has one."
        expect(observe[f"{path}/step"] == 2, says)
        also = f"also where its state dict is empty ({('a disabled GradScaler', 'a constant rate')[index]})"
        observe.raised(f"{path}/lost", "ValueError", says=f"{SILENT[1].format(name)} {also}")
        observe.raised(f"{path}/lacking", "ValueError", says=f"{SILENT[0].format(name)} {also}")


@behaviour(11)
def test_missing_file(observe):
    for name in ("missing", "missing_folder"):
        observe.raised(f"errors/{name}", "FileNotFoundError", says="There is no such file.")


@behaviour(11)
def test_other_architecture(observe):
    if observe.error("errors/save") is not None:
        expect(False, "Saving failed.")
    for name in ("shape", "layer_more", "layer_less"):
        observe.raised(
            f"errors/{name}", "RuntimeError", says="The model has another architecture than the checkpoint."
        )
