import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect


def simulate(case, variant=""):
    """Flags and bests; `variant` makes one of the typical mistakes."""
    best, count, flags, bests, previous = None, 0, [], [], None
    up = (case["mode"] == "max") != (variant == "mode")
    delta, patience = case["delta"], case["patience"]
    for metric in case["metrics"]:
        if variant == "deaf" and any(flags):
            flags.append(True)
            bests.append(best)
            continue
        anchor = previous if variant == "previous" else best
        if anchor is None:
            better = not math.isnan(metric)
            if variant == "worst":
                better = better and metric != (-math.inf if up else math.inf)
        elif variant == "ties":
            better = metric >= anchor + delta if up else metric <= anchor - delta
        elif variant == "no delta":
            better = metric > anchor if up else metric < anchor
        elif variant == "share":
            better = metric > anchor + delta * abs(anchor) if up else metric < anchor - delta * abs(anchor)
        elif variant == "delta sign":
            better = metric > anchor - delta if up else metric < anchor + delta
        else:
            better = metric > anchor + delta if up else metric < anchor - delta
        if variant == "finite":
            better = better and math.isfinite(metric)
        gain = best is None or (metric > best if up else metric < best)
        if better or (variant == "creep" and gain and not math.isnan(metric)):
            best = metric
        bad = not better
        if (variant == "small gains" and gain) or (variant == "equal" and metric == anchor):
            bad = False
        count = 0 if better and variant not in ("total", "total but improved") else count + bad
        flags.append(count > patience if variant == "late" else count >= patience)
        if (variant == "total but improved" and better) or (variant == "small gains" and gain):
            flags[-1] = False
        if variant == "one call" and count > patience:
            flags[-1] = False
        if variant == "latched" and any(flags):
            flags[-1] = True
        if variant == "early":
            flags[-1] = count >= max(1, patience - 1)
        if variant == "once" and flags[-1]:
            count = 0
        bests.append(best)
        previous = metric
    return flags, bests


SAID = {
    "worst": "The first metric that is not NaN is an improvement, even if it is infinite.",
    "finite": "Only NaN is never an improvement: an infinite metric may be one.",
    "share": "min_delta is an amount, not a share of best.",
    "mode": "min and max are mixed up: an accuracy that rises is good news in mode max.",
    "late": "Off by one: patience=2 stops at the second bad call in a row.",
    "early": "Off by one: it stops one call too early.",
    "total": "Bad, good, bad is not two bad calls in a row: an improvement starts the count afresh.",
    "total but improved": "Bad, good, bad is not two bad calls in a row: an improvement starts the count afresh.",
    "one call": "After stopping once it should keep returning True on further calls without improvement.",
    "latched": "An improvement returns False and starts the count afresh, also after step has returned True.",
    "small gains": "A gain too small for min_delta is a call without improvement: it counts.",
    "deaf": "After step has returned True an improvement still counts: it moves best and returns False.",
    "equal": "A metric equal to the best is a call without improvement: it counts.",
    "previous": "A metric that wobbles below its best is not improving: compare with the best, not with the previous value.",
    "creep": "Ten gains of 0.001 with min_delta 0.01 are ten bad calls: a gain that is too small must not move best.",
    "ties": "The improvement has to be strict: a metric at exactly the threshold is none.",
    "no delta": "min_delta is ignored.",
    "delta sign": "min_delta has the wrong sign: it makes an improvement harder, not easier.",
    "once": "After stopping once it should keep returning True on further calls without improvement.",
}


COUNTED = (
    "step returned the wrong answer: True after patience calls in a row without improvement, else False."
)


def describe(case):
    shown = ", ".join(f"{m:g}" for m in case["metrics"][:12]) + (", ..." if len(case["metrics"]) > 12 else "")
    return f"patience={case['patience']}, min_delta={case['delta']:g}, mode={case['mode']!r}, metrics {shown}"


def number(value):
    """A recorded best as a float, or None."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    return value


def same(left, right):
    return left == right or (
        isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right)
    )


def truth(flags):
    return [number(flag) for flag in flags]


def diagnose(observe, says, mode=""):
    """The typical mistake that explains all sequences (of a mode), otherwise `says`."""
    for variant, sentence in SAID.items():
        for i, case in enumerate(observe.given["sequences"]):
            if mode and case["mode"] != mode:
                continue
            flags = truth(observe[f"sequences/sequences{i}/flags"])
            bests = [number(best) for best in observe[f"sequences/sequences{i}/bests"]]
            other_flags, other_bests = simulate(case, variant)
            if [bool(f) for f in flags] != other_flags or not all(map(same, bests, other_bests)):
                break
        else:
            return sentence
    return says


def compare(flags, bests, case, says):
    """Flags and bests against the reference."""
    flags, bests = truth(flags), [number(best) for best in bests]
    want_flags, want_bests = simulate(case)
    good = [bool(a) == b for a, b in zip(flags, want_flags, strict=True)]
    good_best = [same(a, b) for a, b in zip(bests, want_bests, strict=True)]
    if all(good) and all(good_best):
        return
    k = next(k for k in range(len(good)) if not (good[k] and good_best[k]))
    if not good[k]:
        detail = (
            f"call {k + 1} with metric {case['metrics'][k]:g} returned {flags[k]!r}, expected {want_flags[k]}"
        )
    else:
        detail = f"after call {k + 1} with metric {case['metrics'][k]:g} best is {bests[k]!r}, expected {want_bests[k]!r}"
    expect(False, says, f"{detail}; {describe(case)}")


def follow(observe, mode, says):
    cases = [(i, case) for i, case in enumerate(observe.given["sequences"]) if case["mode"] == mode]
    if all(
        same(number(got), want)
        for i, case in cases
        for got, want in zip(observe[f"sequences/sequences{i}/bests"], simulate(case)[1], strict=True)
    ):
        says = COUNTED
    says = diagnose(observe, says, mode)
    for i, case in cases:
        compare(
            observe[f"sequences/sequences{i}/flags"], observe[f"sequences/sequences{i}/bests"], case, says
        )


@behaviour(1)
def test_mode_min(observe):
    follow(observe, "min", "In mode min an improvement is a metric strictly below best - min_delta.")


@behaviour(2)
def test_mode_max(observe):
    follow(observe, "max", "In mode max an improvement is a metric strictly above best + min_delta.")


@behaviour(3)
def test_when_to_stop(observe):
    for i, case in enumerate(observe.given["sequences"]):
        flags = truth(observe[f"sequences/sequences{i}/flags"])
        want, _ = simulate(case)
        if [bool(flag) for flag in flags] != want:
            compare(
                flags,
                observe[f"sequences/sequences{i}/bests"],
                case,
                diagnose(observe, COUNTED),
            )


@behaviour(3)
def test_answer_is_a_bool(observe):
    for i, case in enumerate(observe.given["sequences"]):
        for flag in observe[f"sequences/sequences{i}/flags"]:
            expect(
                isinstance(flag, bool), "step should return True or False.", f"got {flag!r}; {describe(case)}"
            )


@behaviour(3)
def test_defaults(observe):
    case = {
        "patience": 5,
        "delta": 0.0,
        "mode": "min",
        "metrics": [5.0, 6.0, 4.0, 4.0, 4.5, 4.5, 4.0, 4.0, 4.0, 3.0],
    }
    flags = [bool(flag) for flag in observe["sequences/defaults/flags"]]
    expect(
        flags == simulate(case)[0], "The defaults are patience=5, min_delta=0 and mode min.", f"got {flags}"
    )
    flags = [bool(flag) for flag in observe["sequences/keywords/flags"]]
    expect(
        flags == [False, True, False, True],
        "patience, min_delta and mode can be given by name.",
        f"got {flags}",
    )


@behaviour(4)
def test_best(observe):
    for i, case in enumerate(observe.given["sequences"]):
        bests = [number(best) for best in observe[f"sequences/sequences{i}/bests"]]
        if not all(same(a, b) for a, b in zip(bests, simulate(case)[1], strict=True)):
            says = diagnose(observe, "Only an improvement changes best.")
            compare(observe[f"sequences/sequences{i}/flags"], bests, case, says)


@behaviour(4)
def test_best_is_a_float(observe):
    expect(observe["sequences/defaults/start"] is None, "best is None before the first improvement.")
    for path in ("scalar", "double", "one"):
        for best in observe[f"kinds/{path}/bests"]:
            expect(type(best) is float, "best is a Python float, also for tensors.", f"got {best!r}")
    best = observe["kinds/int/best"]
    expect(type(best) is float and best == 4.0, "best is a Python float, also for integers.", f"got {best!r}")


@behaviour(1)
def test_small_gains(observe):
    flags = [bool(flag) for flag in observe["kinds/small/flags"]]
    says = "By default min_delta is 0, so a small gain is an improvement."
    expect(flags == [False] * 3, says, f"metrics 0.3, 0.3 - 5e-5, 0.3 - 6e-5: got {flags}")


@behaviour(10)
def test_gains_of_every_size(observe):
    flags, best = [bool(flag) for flag in observe["kinds/fine/flags"]], observe["kinds/fine/best"]
    expect(
        flags == [False] * 3 and best == 0.3 - 2e-10,
        "With min_delta = 0 a gain of any size is an improvement, and best is that very number.",
        f"metrics 0.3, 0.3 - 1e-10, 0.3 - 2e-10: got {flags} and best {best!r}",
    )


@behaviour(5, presumes=("state_is_copied",))
def test_watchers_keep_their_own_copies(observe):
    expect(
        alike(*observe["kinds/two/pairs"]),
        "Two watchers, each with a model of its own: one brought back the weights of the other's model.",
    )


@behaviour(4, on_error="A metric may be a number or a one-element tensor.")
def test_kinds_of_metrics(observe):
    case = observe.given["sequences"][4]
    for path, what in (
        ("scalar", "a zero-dimensional tensor"),
        ("double", "a float64 tensor"),
        ("one", "a tensor of shape (1,)"),
        ("reused", "a tensor whose memory is used again"),
    ):
        says = f"With {what} as metric the answers differ from those for a float."
        compare(observe[f"kinds/{path}/flags"], observe[f"kinds/{path}/bests"], case, says)


@behaviour(3)
def test_instances_are_separate(observe):
    flags = [bool(flag) for flag in observe["kinds/instances/flags"]]
    expect(
        flags == [False, False, False, False, True, False] and observe["kinds/instances/bests"] == [3.0, 4.0],
        "Two EarlyStopping objects used in turn influence each other.",
        f"{flags}",
    )


def unequal(left, right):
    return [
        name
        for name, value in left.items()
        if not (isinstance(right.get(name), torch.Tensor) and torch.equal(value, right[name]))
    ]


@behaviour(5, on_error="Keep a copy of the model's state at every improvement.")
def test_state_is_copied(observe):
    for mode in ("min", "max"):
        for name in ("first", "second"):
            path = f"copy/{mode}/{name}"
            want, _ = observe[f"{path}/step0"]
            wrong = unequal(want, observe[f"{path}/got"])
            says = "restore does not bring back the values of the last improvement."
            if wrong and all("running" in n or "num_batches" in n or n in ("steps", "trace") for n in wrong):
                says = "Buffers belong to the best state too: BatchNorm's running statistics were not brought back."
            elif len(wrong) == len(want):
                says = (
                    "The state dict shares memory with the model: your best weights have been trained further. "
                    "Or they are of another call than the last improvement."
                )
            expect(not wrong, says, f"mode={mode!r}: {', '.join(wrong)}")


@behaviour(5)
def test_step_leaves_the_model_alone(observe):
    for mode in ("min", "max"):
        for name, moves in (("first", 3), ("second", 2)):
            for k in range(moves):
                before, after = observe[f"copy/{mode}/{name}/step{k}"]
                wrong = unequal(before, after)
                expect(not wrong, "step changed the model.", ", ".join(wrong))
    before, after = observe["restore/step/modes"]
    expect(before == after, "step changed the model's training mode.")
    for name in ("improved", "failed"):
        before, after = observe[f"restore/step/{name}"]
        wrong = unequal(before, after)
        expect(not wrong, "step changed gradients of the model.", ", ".join(wrong))


@behaviour(6, presumes=("state_is_copied",))
def test_restore_can_be_used_again(observe):
    for mode in ("min", "max"):
        for name in ("first", "second"):
            path = f"copy/{mode}/{name}"
            want, _ = observe[f"{path}/step0"]
            wrong = unequal(want, observe[f"{path}/again/got"])
            expect(
                not wrong,
                "After restore, more training and a second restore the best values are not back: the copy was changed.",
                ", ".join(wrong),
            )


@behaviour(6)
def test_best_output_is_back(observe):
    want = observe.tensor("restore/best_out")
    for path, what in (("restore", "the model"), ("other", "another model of the same kind")):
        close(
            observe[f"restore/{path}/out"],
            want,
            f"After restore {what} should give its best validation output again, BatchNorm included.",
            rtol=1e-6,
            atol=1e-9,
            device=observe.device,
        )


@behaviour(6)
def test_restore_works_in_place(observe):
    expect(
        observe["restore/restore/objects"] is True, "restore replaced the model's parameters by new objects."
    )
    expect(observe["restore/restore/leaves"] is True, "restore was recorded by autograd.")


@behaviour(6)
def test_restore_changes_nothing_else(observe):
    before, after = observe["restore/restore/modes"]
    expect(before == after, "restore changed the model's training mode.")
    now, start = observe["restore/restore/requires_grad"]
    expect(now == start, "restore changed requires_grad of a parameter.")
    left, right = observe["restore/restore/grads"]
    kept = len(left) == len(right) and all(torch.equal(a, b) for a, b in zip(left, right, strict=True))
    expect(kept, "restore changed gradients.")
    expect(observe["restore/restore/best"] == 1.0, "restore changed best.")
    flags = [bool(flag) for flag in observe["restore/count/flags"]]
    expect(flags == [False, False, True], "restore changed the count of bad calls.", f"got {flags}")


@behaviour(7)
def test_nan(observe):
    for i, case in enumerate(observe.given["nans"]):
        says = "NaN is never an improvement, and counts as a call without one."
        compare(observe[f"sequences/nans{i}/flags"], observe[f"sequences/nans{i}/bests"], case, says)
    case = observe.given["nans"][0]
    compare(observe["kinds/nan/flags"], observe["kinds/nan/bests"], case, "A NaN in a tensor is a NaN too.")


@behaviour(8)
def test_restore_without_improvement(observe):
    observe.raised("errors/restore", "RuntimeError", says="restore before any step should be refused.")
    observe.raised("errors/nan/restore", "RuntimeError", says="restore after NaN alone should be refused.")


@behaviour(9)
def test_bad_arguments(observe):
    for name, says in {
        "patience_zero": "patience=0 should be refused.",
        "patience_negative": "A negative patience should be refused.",
        "delta": "A negative min_delta should be refused.",
        "mode": "mode='minimum' should be refused.",
        "mode_capital": "mode='MAX' should be refused.",
        "mode_empty": "An empty mode should be refused.",
        "mode_part": "mode='m' should be refused.",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
