import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

WORLDS = (2, 3)
OUT = "A rank that has run out of data must stay in step: it still has to join every collective."
STEP = "The ranks are out of step: every rank has to make the same collective calls in every iteration."
ALONE = "One rank skipped the collective, the others wait for it: agree on the decision first."
ENTER = "Evaluation calls a collective, so every rank must enter it; only the printing belongs to rank 0."
STOPPED = "Ranks decided differently; base the decision on the value that all share."
LOCAL = "Which parameters take part must not depend on local data."


def forward(values, x, *, training):
    other = "other.weight" in values and bool(x.sum() < 0)
    name = "other" if other else "inner"
    hidden = torch.tanh(x @ values[f"{name}.weight"].T + values[f"{name}.bias"])
    return (hidden if training else 0.5 * hidden) @ values["outer.weight"].T + values["outer.bias"]


def simulate(one, world, *, evals=None, rule="samples", cut=False, stays=False):
    """One process on the joined batches; ``rule`` is how ranks are weighted, ``evals`` the evaluations' rule.

    With ``stays`` the model is left in eval mode by the first evaluation.
    """
    values = {k: v.double().clone() for k, v in one["weights"].items()}
    counts = [len(one["batches"][r]) for r in range(world)]
    skipped, losses, index = 0, [], -1
    target = one["targets"][world] if "targets" in one else -1.0
    for index in range(min(counts) if cut else max(counts)):
        leaves = {k: v.clone().requires_grad_() for k, v in values.items()}
        parts = []
        for r in range(world):
            if index < counts[r]:
                x, y = (t.double() for t in one["batches"][r][index])
                parts.append(((forward(leaves, x, training=not (stays and losses)) - y) ** 2, len(x)))
        means = [p.mean() for p, _ in parts]
        if all(bool(torch.isfinite(m)) for m in means):
            if rule == "samples":
                loss = sum(m * n for m, (_, n) in zip(means, parts, strict=True)) / sum(n for _, n in parts)
            else:
                loss = sum(means) / (world if rule == "world" else len(means))
            grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
            for (k, v), g in zip(values.items(), grads, strict=True):
                values[k] = v if g is None else v - one["lr"] * g
        else:
            skipped += 1
        if (index + 1) % one["eval_every"] == 0:
            parts = []
            for r in range(world):
                x, y = (t.double() for t in one["val"][r])
                if len(x):
                    parts.append(
                        (float(((forward(values, x, training=evals == "train") - y) ** 2).mean()), len(x))
                    )
            if evals == "means":
                losses.append(sum(m for m, _ in parts) / world)
            else:
                losses.append(sum(m * n for m, n in parts) / sum(n for _, n in parts))
            if losses[-1] <= target:
                break
    return {"values": values, "skipped": skipped, "losses": losses, "iterations": index + 1}


def places(name):
    for world in WORLDS:
        for rank in range(world):
            yield world, rank, f"train/world{world}/rank{rank}/{name}", f"rank {rank} of {world}"


def check_params(observe, name, says, mistakes=()):
    one = observe.given[name]
    for world, _, path, where in places(name):
        want = simulate(one, world)["values"]
        others = [(sentence, simulate(one, world, **options)["values"]) for sentence, options in mistakes]
        params = observe[f"{path}/params"]
        expect(isinstance(params, dict) and set(params) == set(want), "The model's parameters changed names.")
        for key, value in want.items():
            close(
                params[key],
                value,
                says,
                rtol=1e-4,
                atol=2e-5,
                call=f"{key} after training, {where}",
                mistakes=[(sentence, other[key]) for sentence, other in others],
            )


def check_counts(observe, name, says, keys=("iterations", "skipped")):
    one = observe.given[name]
    for _, _, path, _ in places(name):
        observe[f"{path}/iterations"]  # an exception on any rank says more than another one's count
    for world, _, path, where in places(name):
        want = simulate(one, world)
        for key in keys:
            got = observe[f"{path}/{key}"]
            expect(
                type(got) is int and got == want[key],
                says,
                f"{key} is {describe(got)} instead of {want[key]}, {where}",
            )


def check_losses(observe, name, says, mistakes=()):
    one = observe.given[name]
    for world, _, path, where in places(name):
        want = simulate(one, world)["losses"]
        got = observe[f"{path}/val_losses"]
        expect(isinstance(got, list | tuple), "val_losses should be a list.", f"got {describe(got)}")
        expect(
            len(got) == len(want),
            "There should be one validation loss per eval_every iterations, skipped ones counted.",
            f"{len(got)} instead of {len(want)}, {where}",
        )
        expect(
            all(isinstance(loss, float) for loss in got),
            "val_losses should hold floats on every rank.",
            f"got {describe(got)}, {where}",
        )
        first = observe[f"train/world{world}/rank0/{name}/val_losses"]
        close(
            got,
            want,
            says,
            rtol=1e-4,
            atol=1e-5,
            call=where,
            mistakes=[
                (sentence, simulate(one, world, **options)["losses"]) for sentence, options in mistakes
            ],
        )
        expect(list(got) == list(first), "val_losses should hold the same floats on every rank.", where)


def check_reports(observe, name):
    one = observe.given[name]
    for world, rank, path, where in places(name):
        want = simulate(one, world)["losses"]
        told = observe[f"{path}/told"]
        if rank:
            expect(not told, "on_eval should be called on rank 0 only.", where)
            continue
        steps = [one["eval_every"] * (i + 1) for i in range(len(want))]
        expect(
            [i for i, _ in told] == steps,
            "on_eval should be called once per evaluation, with the iteration counted from 1.",
            f"iterations {[i for i, _ in told]} instead of {steps}",
        )
        close(
            [loss for _, loss in told],
            want,
            "on_eval should get the shared validation loss.",
            rtol=1e-4,
            atol=1e-5,
            call=where,
        )


CUT = ("The hang is gone, but so is part of the data.", {"cut": True})
BY_WORLD = (
    "A rank with 2 samples weighed as much as one with 8: divide the summed gradient by the samples.",
    {"rule": "world"},
)
BY_RANKS = (
    "A rank with 2 samples weighed as much as one with 8: divide the summed gradient by the samples. ",
    {"rule": "ranks"},
)


@behaviour(1, on_error=STEP)
def test_equal_data_equals_one_process(observe):
    check_params(observe, "quiet", "The model is not where SGD on the joined batches takes it.")
    check_counts(observe, "quiet", "The counts in the result are wrong.")


@behaviour(1, on_error=STEP)
def test_ranks_end_with_equal_parameters(observe):
    for name in ("quiet", "sizes"):
        for world, _, path, where in places(name):
            first = observe[f"train/world{world}/rank0/{name}/params"]
            for key, value in observe[f"{path}/params"].items():
                close(
                    value, first[key].double(), "The ranks drifted apart.", rtol=1e-6, atol=1e-7, call=where
                )


@behaviour(11, on_error=ENTER)
def test_gradients_from_before_do_not_enter(observe):
    check_params(observe, "stale", "Gradients from before this call entered the first step.")


@behaviour(12, on_error=OUT)
def test_no_batches_at_all(observe):
    check_counts(observe, "nobody", "Without any batch on any rank there is no iteration.")
    check_losses(observe, "nobody", "Without any batch there is no evaluation.")
    check_params(observe, "nobody", "Without any batch the model stays as it was.")


@behaviour(2, on_error=OUT)
def test_uneven_numbers_of_batches(observe):
    for name in ("quiet_uneven", "quiet_none"):
        cut = [CUT] if name == "quiet_uneven" else []
        check_counts(observe, name, "Iterations should run until the last batch of the rank that has most.")
        divided = ("Ranks without data still count in the divisor.", {"rule": "world"})
        check_params(
            observe,
            name,
            "With uneven numbers of batches the model is not where it should be.",
            [*cut, divided],
        )


@behaviour(11, on_error=OUT)
def test_gradients_from_before_where_data_ran_out(observe):
    check_params(
        observe, "stale_out", "On a rank that ran out of data the gradients from before entered the mean."
    )


@behaviour(3, on_error=STEP)
def test_batches_of_different_sizes(observe):
    check_params(
        observe,
        "sizes",
        "With batches of different sizes the update is not that of the joined batch.",
        [BY_WORLD, BY_RANKS],
    )


@behaviour(4, on_error=ALONE)
def test_unusable_losses_are_skipped_by_all(observe):
    for name in ("bad", "bad_last"):
        check_counts(
            observe,
            name,
            "A loss that is NaN or infinite on any rank skips the iteration on all: counted in skipped, and in iterations.",
        )
        for _, _, path, where in places(name):
            finite = all(bool(torch.isfinite(v).all()) for v in observe[f"{path}/params"].values())
            expect(finite, "An unusable gradient reached the parameters.", where)
        check_params(observe, name, "After a skipped iteration the model is not where it should be.")


@behaviour(4, on_error=ALONE)
def test_evaluations_count_skipped_iterations(observe):
    for name in ("bad", "bad_last"):
        check_losses(observe, name, "A validation loss beside skipped iterations is wrong.")
    check_reports(observe, "bad")


@behaviour(4, on_error=ALONE)
def test_large_losses_are_used(observe):
    check_counts(observe, "large", "A large loss is finite: only NaN and infinity make an iteration skipped.")


@behaviour(5, on_error=ENTER)
def test_validation_losses(observe):
    for name in ("equal", "uneven", "none"):
        check_losses(
            observe,
            name,
            "A validation loss is not the mean over all samples in eval mode.",
            [("The validation loss was taken in train mode.", {"evals": "train"})],
        )


@behaviour(5, on_error=ENTER)
def test_training_goes_on_after_an_evaluation(observe):
    stays = ("After the first evaluation dropout is off for good.", {"stays": True})
    for name in ("equal", "uneven"):
        check_params(observe, name, "With evaluations the model is not where it should be.", [stays])
        check_counts(observe, name, "With evaluations the counts in the result are wrong.")


@behaviour(5, on_error=ENTER)
def test_train_mode_and_gradients(observe):
    for name in ("equal", "none", "parts"):
        for _, _, path, where in places(name):
            expect(
                all(observe[f"{path}/training"]),
                "After the first evaluation dropout is off for good: put the model back into train mode.",
                where,
            )
            for training, grad in observe[f"{path}/seen"]:
                expect(training or not grad, "The evaluation recorded a graph: use torch.no_grad().", where)
        one = observe.given[name]
        for world, rank, path, where in places(name):
            steps = sum(training and grad for training, grad in observe[f"{path}/seen"])
            expect(
                steps >= len(one["batches"][rank]),
                "After the first evaluation dropout is off for good: train in train mode.",
                f"{steps} training passes for {len(one['batches'][rank])} batches, {where}",
            )


@behaviour(5, on_error=STOPPED)
def test_train_mode_after_an_early_stop(observe):
    for name in ("stop", "zero"):
        for _, _, path, where in places(name):
            says = "After an evaluation that stops the training, too, the model is back in train mode."
            expect(all(observe[f"{path}/training"]), says, where)


@behaviour(6, on_error="A rank with an empty validation part must take part and add nothing.")
def test_validation_parts_are_weighted(observe):
    for name in ("parts", "empty"):
        check_losses(
            observe,
            name,
            "Validation parts are not weighted by their samples.",
            [("Two ranks with 1 and 9 samples do not count half each.", {"evals": "means"})],
        )


@behaviour(7, on_error=STOPPED)
def test_all_stop_on_the_shared_loss(observe):
    check_counts(observe, "stop", STOPPED, keys=("iterations",))
    check_losses(observe, "stop", "The validation losses up to the stop are wrong.")
    check_params(observe, "stop", "After an early stop the model is not where it should be.")


@behaviour(7, on_error=STOPPED)
def test_a_loss_equal_to_the_target_stops(observe):
    for world, _, path, where in places("zero"):
        got = observe[f"{path}/iterations"]
        expect(
            got == 2,
            "A validation loss equal to target_loss (0 by default) should stop the training.",
            f"iterations is {describe(got)} instead of 2, {where}",
        )


@behaviour(7, on_error=STOPPED)
def test_default_target_is_zero(observe):
    for _, _, path, where in places("small"):
        got = observe[f"{path}/iterations"]
        expect(
            got == 4,
            "Without a target_loss only a validation loss of 0 stops the training, not a small one.",
            f"iterations is {describe(got)} instead of 4, validation losses 0.0001, {where}",
        )


@behaviour(8, on_error=ENTER)
def test_on_eval_runs_on_rank_zero(observe):
    for name in ("equal", "uneven", "none", "stop"):
        check_reports(observe, name)


@behaviour(9, on_error=LOCAL)
def test_unused_branches_count_as_zero(observe):
    check_counts(observe, "branch", "The counts in the result are wrong.")
    check_params(
        observe,
        "branch",
        "Where some ranks did not use a branch, the update is not that of the joined batch.",
        [BY_WORLD, BY_RANKS],
    )


@behaviour(10)
def test_bad_eval_every_is_refused(observe):
    for name in ("zero", "negative"):
        for world in WORLDS:
            for rank in range(world):
                path = f"errors/world{world}/rank{rank}/{name}"
                observe.raised(f"{path}/call", "ValueError", says="eval_every below 1 should be refused.")
                expect(observe[f"{path}/sent"] == 0, "Check eval_every before the first collective.")


@behaviour(10, on_error=ENTER)
def test_data_are_not_modified(observe):
    for name in ("equal", "uneven", "bad", "parts"):
        for _, _, path, where in places(name):
            expect(
                alike(*observe[f"{path}/data"]), "The batches or the validation data were modified.", where
            )
            expect(
                not any(observe[f"{path}/wanted"]),
                "The batches or the validation data were modified: they require a gradient now.",
                where,
            )
