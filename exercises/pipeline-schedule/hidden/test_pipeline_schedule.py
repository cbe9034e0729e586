from functools import partial

from quizapp.judge.testing.checks import behaviour, close, describe, expect

FIXED = [
    [[("F", 0), ("B", 0), ("F", 1), ("B", 1)]] * 2,
    [[("F", 0), ("F", 1), ("F", 2), ("B", 2), ("B", 1), ("B", 0)]] * 3,
    [[("F", 2), ("F", 0), ("F", 1), ("B", 2), ("B", 0), ("B", 1)]] * 2,
    [
        [("F", 0), ("F", 1), ("F", 2), ("B", 0), ("B", 1), ("B", 2)],
        [("F", 0), ("F", 1), ("F", 2), ("B", 0), ("B", 1), ("B", 2)],
        [("F", 0), ("F", 1), ("B", 0), ("F", 2), ("B", 1), ("B", 2)],
    ],
    [[("F", 0), ("F", 1), ("F", 2)]] * 3,
    [
        [("F", 0), ("F", 1), ("F", 2), ("B", 0)],
        [("F", 0), ("B", 0), ("F", 1), ("F", 2)],
        [("F", 0), ("B", 0)],
    ],
]


def textbook(kind, p, m, extra=0):
    schedule = []
    for s in range(p):
        warmup = m if kind == "gpipe" else max(0, min(m, p - 1 - s + extra))
        stage = [("F", j) for j in range(warmup)]
        for j in range(m):
            stage += [("F", warmup + j)] if warmup + j < m else []
            stage.append(("B", j))
        schedule.append(stage)
    return schedule


def text(stage):
    return " ".join(f"{kind}{j}" for kind, j in stage)


def others(observe):
    return [*observe.given["random"], *FIXED]


def simulate(schedule, forward, backward, *, wait_after=True, wait_before=True, own=True, end=max):
    """Bubble; the options drop one kind of waiting, ``end`` takes the makespan from the stages' ends."""
    done, clock, place = {}, [0.0] * len(schedule), [0] * len(schedule)
    last, busy, moved = len(schedule) - 1, 0.0, True
    while moved:
        moved = False
        for s, stage in enumerate(schedule):
            while place[s] < len(stage):
                kind, j = stage[place[s]]
                needed = []
                if kind == "F" and s and wait_before:
                    needed.append(("F", j, s - 1))
                if kind == "B":
                    needed += [("F", j, s)] * own + [("B", j, s + 1)] * (s < last and wait_after)
                if any(key not in done for key in needed):
                    break
                length = forward if kind == "F" else backward
                clock[s] = done[kind, j, s] = max([clock[s], *(done[key] for key in needed)]) + length
                busy, place[s], moved = busy + length, place[s] + 1, True
    return 1 - busy / (len(schedule) * end(clock))


def generated(observe, kind):
    for p, m in observe.given["sizes"]:
        got = observe[f"generators/{kind}/{p}/{m}/schedule"]
        call = f"{kind}({p}, {m})"
        ok = isinstance(got, list) and len(got) == p and all(isinstance(stage, list) for stage in got)
        expect(
            ok, "A schedule is a list with one list of operations per stage.", f"{call} gave {describe(got)}"
        )
        yield p, m, got, call


@behaviour(1)
def test_every_operation_occurs_once(observe):
    for kind in ("gpipe", "one_f_one_b"):
        for _, m, schedule, call in generated(observe, kind):
            for s, stage in enumerate(schedule):
                tuples = all(type(op) is tuple and len(op) == 2 for op in stage)
                expect(
                    tuples and all(type(op[0]) is str and type(op[1]) is int for op in stage),
                    "An operation is a tuple of a string and an int.",
                    f"stage {s} of {call}: {describe(stage)}",
                )
                expect(
                    sorted(stage) == sorted((k, j) for k in "FB" for j in range(m)),
                    "Every micro-batch has exactly one F and one B on every stage.",
                    f"stage {s} of {call}: {text(stage)}",
                )


@behaviour(2)
def test_gpipe(observe):
    for p, m, schedule, call in generated(observe, "gpipe"):
        for s, (got, want) in enumerate(zip(schedule, textbook("gpipe", p, m), strict=True)):
            kinds = [op[0] for op in got]
            says = "GPipe runs the forwards and the backwards each in the order 0 .. m-1."
            if kinds != ["F"] * m + ["B"] * m:
                says = "GPipe runs every forward before the first backward."
            expect(got == want, says, f"stage {s} of {call}: {describe(got)}, expected {text(want)}")


@behaviour(3)
def test_one_f_one_b(observe):
    for p, m, schedule, call in generated(observe, "one_f_one_b"):
        for s, (got, want) in enumerate(zip(schedule, textbook("1f1b", p, m), strict=True)):
            says = "1F1B warms up, then alternates one forward and one backward, then drains."
            kinds = [op[0] for op in got]
            backwards = [op[1] for op in got if op[0] == "B"]
            if kinds == [op[0] for op in want] and backwards != sorted(backwards):
                says = "The oldest micro-batch in flight is the first to go backward."
            elif m < p and kinds.count("F") != m:
                says = "With m < p a stage cannot warm up with more than m forwards."
            elif "B" in kinds and kinds.index("B") != min(m, p - s):
                says = "Stage s starts its first backward after p - s forwards; the last stage after one."
            expect(got == want, says, f"stage {s} of {call}: {describe(got)}, expected {text(want)}")


@behaviour(3, presumes=("one_f_one_b",))
def test_schedules_are_fresh(observe):
    for i, (p, m) in enumerate(observe.given["again"]):
        expect(
            observe[f"generators/again/{i}/schedule"] == textbook("1f1b", p, m),
            "A second call returned a schedule that the caller had changed in the meantime.",
        )


def check_peaks(observe, path, schedule, where):
    want, forwards = [], []
    for stage in schedule:
        levels, level = [0], 0
        for kind, _ in stage:
            level += 1 if kind == "F" else -1
            levels.append(level)
        want.append(max(levels))
        forwards.append(sum(kind == "F" for kind, _ in stage))
    got = observe[path]
    says = "peak_in_flight is not the largest number of micro-batches between forward and backward."
    if got == forwards:
        says = "A backward frees its activations; take the maximum of forwards minus backwards so far."
    elif got == want[::-1]:
        says = "Stage 0 fills first and holds the most micro-batches."
    ok = isinstance(got, list) and got == want and all(type(n) is int for n in got)
    expect(ok, says, f"{where}: {describe(got)} instead of {want}")


@behaviour(4)
def test_peaks_of_the_textbook_schedules(observe):
    for kind in ("one_f_one_b", "gpipe"):
        for p, m in observe.given["judged"]:
            check_peaks(observe, f"peaks/{kind}/{p}/{m}/peaks", textbook(kind, p, m), f"{kind}({p}, {m})")


@behaviour(4)
def test_peaks_of_other_schedules(observe):
    for i, schedule in enumerate(others(observe)):
        where = "; ".join(text(stage) for stage in schedule)
        check_peaks(observe, f"peaks/other{i}/peaks", schedule, where)


def share_of_useful(schedule, *times):
    return 1 - simulate(schedule, *times)


def idle_per_useful(schedule, *times):
    idle = simulate(schedule, *times)
    return idle / (1 - idle)


def formula(schedule, *_):
    p, m = len(schedule), sum(kind == "F" for kind, _ in schedule[0])
    return (p - 1) / (m + p - 1)


def formula_of_the_length(schedule, *_):
    p, m = len(schedule), len(schedule[0]) // 2
    return (p - 1) / (m + p - 1)


def other_default(schedule, *times):
    return simulate(schedule, 1.0, 1.0) if times == (1.0, 2.0) else simulate(schedule, *times)


LAST = "The schedule ends when the last operation of all stages has ended, on whichever stage that is."
MISTAKES = (
    ("This schedule is neither of the two, and your bubble is the textbook one.", formula),
    ("This schedule is neither of the two, and your bubble is the textbook one.", formula_of_the_length),
    ("Without times a forward takes 1 and a backward 2.", other_default),
    (
        "That compares the idle time with the useful time; the idle share has m + p - 1 below the line.",
        idle_per_useful,
    ),
    ("The share of the useful time is asked the other way round: the idle share.", share_of_useful),
    (
        "A gradient arrives only when the stage after it has finished its backward.",
        partial(simulate, wait_after=False),
    ),
    (
        "An activation arrives only when the stage before has finished its forward.",
        partial(simulate, wait_before=False),
    ),
    ("The times that were given are not used.", lambda schedule, *_: simulate(schedule, 1.0, 2.0)),
    ("The times of forward and backward are swapped.", lambda schedule, f, b: simulate(schedule, b, f)),
    ("Forward and backward do not take the same time.", lambda schedule, *_: simulate(schedule, 1.0, 1.0)),
    (LAST, partial(simulate, end=lambda clock: clock[0])),
    (LAST, partial(simulate, end=lambda clock: clock[-1])),
)


def bubbles(observe):
    """(path, schedule, description) of all schedules that are judged."""
    for kind in ("gpipe", "one_f_one_b"):
        for p, m in observe.given["judged"]:
            yield f"bubbles/{kind}/{p}/{m}", textbook(kind, p, m), f"{kind}({p}, {m})"
    for i, schedule in enumerate(others(observe)):
        yield f"bubbles/other{i}", schedule, "; ".join(text(stage) for stage in schedule)


def timed(observe, path):
    yield (1.0, 2.0), observe[f"{path}/default"]
    yield from zip(observe.given["times"], observe[f"{path}/timed"], strict=True)


def explanation(observe, otherwise):
    """The mistake that explains every bubble; one alone may be chance."""
    cases = [
        (schedule, times, got)
        for path, schedule, _ in bubbles(observe)
        if observe.error(path) is None
        for times, got in timed(observe, path)
    ]
    if not all(isinstance(got, int | float) for _, _, got in cases):
        return otherwise
    for says, model in MISTAKES:
        if all(abs(got - model(schedule, *times)) < 1e-9 for schedule, times, got in cases):
            return says
    return otherwise


def check_bubbles(observe, path, schedule, call, says):
    for times, got in timed(observe, path):
        want = simulate(schedule, *times)
        if not (isinstance(got, int | float) and abs(got - want) <= 1e-9):
            says = explanation(observe, says)
        close(got, want, says, rtol=0, atol=1e-9, call=f"{call}, times {times[0]:.4g} and {times[1]:.4g}")


@behaviour(5)
def test_bubble_of_the_textbook_schedules(observe):
    for path, schedule, call in bubbles(observe):
        if "other" not in path:
            says = "The bubble of this schedule is (p - 1) / (m + p - 1)."
            check_bubbles(observe, path, schedule, call, says)


@behaviour(6)
def test_bubble_of_other_schedules(observe):
    for path, schedule, call in bubbles(observe):
        if "other" in path:
            says = (
                "The bubble of this schedule is wrong: simulate the operations in list order, "
                "each as early as possible."
            )
            check_bubbles(observe, path, schedule, call, says)


STUCK = {
    "cross": "two stages that wait for each other",
    "backward_first": "a last stage that runs B0 before F0",
    "single_backward_first": "a single stage that runs B0 before F0",
    "missing_forward": "a forward whose micro-batch never ran on the stage before",
    "missing_backward": "a backward that the stage after never runs",
    "own_forward_missing": "a backward without its own forward",
    "behind_the_first": "a last stage that runs B0 before F0, while the first stage can finish",
    "empty_stage": "a last stage without operations",
}


@behaviour(7)
def test_stuck_schedules_are_refused(observe):
    for name, what in STUCK.items():
        observe.raised(
            f"stuck/{name}", "ValueError", says=f"No stage can proceed: say so with ValueError ({what})."
        )


@behaviour(8)
def test_schedules_are_left_unchanged(observe):
    expect(observe["kept/before"] == observe["kept/after"], "The schedule was changed.")
    first, second = observe["kept/peaks"]
    expect(
        first == second, "peak_in_flight gave another answer when called again.", f"{first}, then {second}"
    )
    bubbles = [*observe["kept/bubbles"], observe["kept/again"]]
    close(
        bubbles,
        [bubbles[0]] * 4,
        "bubble_fraction gave another answer when called again.",
        rtol=0,
        atol=1e-9,
    )


@behaviour(9)
def test_bad_sizes_are_refused(observe):
    for kind in ("gpipe", "one_f_one_b"):
        for name, what in {
            "stages": "stages=0",
            "negative_stages": "negative stages",
            "batches": "microbatches=0",
            "negative_batches": "negative microbatches",
        }.items():
            observe.raised(f"errors/{kind}_{name}", "ValueError", says=f"{kind} should refuse {what}.")


@behaviour(9)
def test_bad_times_are_refused(observe):
    for name, what in {
        "forward": "a forward_time of 0",
        "backward": "a backward_time of 0",
        "negative_forward": "a negative forward_time",
        "negative_backward": "a negative backward_time",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=f"bubble_fraction should refuse {what}.")


@behaviour(9)
def test_empty_schedules_are_refused(observe):
    for kind, function in (("bubble", "bubble_fraction"), ("peak", "peak_in_flight")):
        for name, what in (("nothing", "an empty list"), ("empty_stages", "stages without operations")):
            observe.raised(f"errors/{kind}_{name}", "ValueError", says=f"{function} should refuse {what}.")
