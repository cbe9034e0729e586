import json

from quizapp.judge.testing.checks import Finding, behaviour, close, describe, expect

ATOL = 1e-6
PARTS = ("time", "compute", "exposed_comm", "exposed_copy", "idle")


def number(got, what):
    ok = isinstance(got, int | float) and not isinstance(got, bool) and abs(got) < 1e18
    expect(ok, f"{what} should be a number.", f"got {describe(got)}")
    return got


def near(a, b):
    return abs(a - b) <= ATOL


def cases(observe):
    for i, case in enumerate(observe.given["clean"]):
        form = "dict" if case["wrapped"] else "list"
        yield f"clean/{i}", case, f"{len(case['events'])} events in a {form}"


BUSY = {
    "added": "Streams overlap: merge the intervals before you add them.",
    "all events": "The window runs from the first to the last GPU event.",
    "both": "Streams overlap, and the window runs from the first to the last GPU event.",
    "kernels": "Copies and memsets keep the GPU busy too.",
    "compute": "Communication and copies keep the GPU busy too.",
    "total": "This is the busy time: divide it by the window.",
    "idle": "This is the idle fraction.",
}


@behaviour(1)
def test_busy_fraction(observe):
    for path, case, call in cases(observe):
        kept = case["kept"]
        got = number(observe[f"{path}/busy/result"], "busy_fraction")
        mistakes = {BUSY[name]: wrong for name, wrong in kept["busy_mistakes"].items()}
        says = "busy_fraction is not the time with a GPU event, divided by the window."
        close(got, kept["busy"], says, rtol=0, atol=ATOL, call=call, mistakes=mistakes)


def rows_of(got):
    """[name, self time, calls] of what top returned."""
    says = "top should return a list of (name, self time, calls)."
    expect(isinstance(got, list | tuple), says, f"got {describe(got)}")
    for row in got:
        ok = isinstance(row, list | tuple) and len(row) == 3 and isinstance(row[0], str)
        ok = ok and all(isinstance(v, int | float) for v in row[1:]) and abs(row[1]) < 1e18
        expect(ok, says, f"one of them is {describe(row)}")
    return [list(row) for row in got]


def same_rows(got, want):
    return len(got) == len(want) and all(
        a[0] == b[0] and near(a[1], b[1]) and a[2] == b[2] for a, b in zip(got, want, strict=True)
    )


TOP = {
    "total": "The outer operator contains its children: subtract them.",
    "threads": "An operator of another thread is not nested in this one.",
    "pids": "Two processes may use the same tid: a thread is a pid and a tid.",
    "processes": "An operator of another thread is not nested in this one: compare the tid too.",
    "cats": "Only events of the same category are subtracted, such as operators inside operators.",
    "twice": "A grandchild is taken from its parent only: it is in the parent's time already.",
}


def check_top(got, kept, cat, n, says, call):
    rows, want = rows_of(got), kept["top"][cat]
    if same_rows(rows, want[:n]):
        return
    for name, wrong in kept["top_mistakes"].get(cat, {}).items():
        if same_rows(rows, wrong[:n]) and not same_rows(wrong[:n], want[:n]):
            says = TOP[name.removesuffix(" cut")]
            break
    else:
        ranked = sorted(rows, key=lambda row: -row[1])
        if len(rows) != min(n, len(want)):
            says = f"top should return {min(n, len(want))} names here: n, or all if there are fewer."
        elif same_rows(ranked, want[:n]):
            says = "The name with most self time comes first."
        elif same_rows([[*row[:2], 0] for row in rows], [[*row[:2], 0] for row in want[:n]]):
            says = "calls is the number of events of that name."
        elif same_rows(
            sorted(([row[0], row[1] * row[2], row[2]] for row in rows), key=lambda row: -row[1]), want
        ):
            says = "This is the mean of a call: sum the self time by name."
    missing = next((w for w in want[:n] if not any(same_rows([row], [w]) for row in rows)), None)
    detail = f"got {describe([tuple(row) for row in rows[:2]])}"
    if missing:
        own = next((tuple(row) for row in rows if row[0] == missing[0]), None)
        detail = f"expected {tuple(missing)}, got {describe(own)}"
    raise Finding(f"{says} ({call}, cat {cat!r}, n={n}: {detail})")


@behaviour(2)
def test_top_of_gpu_events(observe):
    says = "top does not give the self time and the calls of each name, largest first."
    for path, case, call in cases(observe):
        for cat in ("kernel", "gpu_memcpy"):
            check_top(observe[f"{path}/top_{cat}/result"], case["kept"], cat, 50, says, call)


@behaviour(2)
def test_number_of_names(observe):
    says = "top does not return the n names with most self time."
    for path, case, call in cases(observe):
        for n in (1, case["n"]):
            check_top(observe[f"{path}/few{n}/result"], case["kept"], "kernel", n, says, call)


@behaviour(3)
def test_self_time(observe):
    says = "The self time is not dur without the nested events of the same cat, pid and tid."
    for path, case, call in cases(observe):
        for cat in ("cpu_op", "user_annotation", "cuda_runtime"):
            check_top(observe[f"{path}/top_{cat}/result"], case["kept"], cat, 50, says, call)


EXPOSED = {
    "all": "Communication behind compute costs nothing: subtract the overlap.",
    "all added": "Communication behind compute costs nothing: subtract the overlap.",
    "hidden": "This is the hidden part of the communication, the overlap with compute.",
    "difference": "Not all compute overlaps communication: subtract intervals, not totals.",
    "copies": "Copies hide no communication: only compute kernels do.",
    "added": "Communication on two streams may overlap too: merge it before you add.",
}


@behaviour(4)
def test_exposed_comm(observe):
    for path, case, call in cases(observe):
        kept = case["kept"]
        got = number(observe[f"{path}/exposed/result"], "exposed_comm")
        mistakes = [(EXPOSED[name], wrong) for name, wrong in kept["exposed_mistakes"].items()]
        says = "exposed_comm is not the time in which a communication kernel runs and no compute kernel does."
        close(got, kept["exposed"], says, rtol=0, atol=ATOL, call=call, mistakes=mistakes)


def steps_from(got):
    says = "step_breakdown should return a list of dicts with step, time, compute, exposed_comm, exposed_copy and idle."
    expect(isinstance(got, list | tuple), says, f"got {describe(got)}")
    for row in got:
        ok = isinstance(row, dict) and all(isinstance(row.get(key), int | float) for key in PARTS)
        expect(ok, says, f"one of them is {describe(row)}")
        expect(type(row.get("step")) is int, "step should be an int.", f"got {describe(row.get('step'))}")
    return got


def same_steps(got, want, parts=PARTS):
    """``want`` comes from the judge, by the number of the step."""
    return len(got) == len(want) and all(
        row["step"] == right["step"] and all(near(row[key], right[key]) for key in parts)
        for row, right in zip(sorted(got, key=lambda row: row["step"]), want, strict=True)
    )


@behaviour(5)
def test_steps_in_order(observe):
    for path, case, call in cases(observe):
        got = steps_from(observe[f"{path}/steps/result"])
        numbers, want = [row["step"] for row in got], [row["step"] for row in case["kept"]["steps"]]
        says = "There should be one dict for each user_annotation ProfilerStep#, in the order of the numbers."
        if numbers == sorted(want, key=str) and numbers != want:
            says = "Step 10 comes after step 9: the numbers are text in your order."
        expect(numbers == want, says, f"{call}: got {describe(numbers)}, expected {want}")


WHOLE = {
    "by_start": "A kernel across a border counts in both steps: cut it there.",
    "inside": "A kernel across a border counts in both steps, not in none: cut it there.",
    "touching": "A kernel across a border counts in each step with its part inside: cut it there.",
}


def wrong_borders(got, kept):
    """The sentence if the parts are those of whole GPU events chosen by place."""
    for name, says in WHOLE.items():
        keys = ("compute", "exposed_comm", "exposed_copy")
        if same_steps(got, kept[name], keys) and not same_steps(got, kept["steps"], keys):
            return says
    return ""


@behaviour(5)
def test_precedence(observe):
    for path, case, call in cases(observe):
        kept = case["kept"]
        got = {row["step"]: row for row in steps_from(observe[f"{path}/steps/result"])}
        if wrong_borders(list(got.values()), kept):
            continue  # which is behavior 6
        for want in kept["steps"]:
            row = got.get(want["step"])
            if row is None:
                continue  # which another test says
            for key in ("time", "compute", "exposed_comm", "exposed_copy"):
                says = {
                    "time": "time is the dur of the annotation.",
                    "compute": "compute is the time in which a compute kernel runs, whatever else does.",
                    "exposed_comm": "exposed_comm is the time with communication and without compute.",
                    "exposed_copy": "exposed_copy is the time with a copy, without compute and communication.",
                }[key]
                where = f"{call}, step {want['step']}, {key}"
                close(row[key], want[key], says, rtol=0, atol=ATOL, call=where)


@behaviour(6)
def test_borders_of_steps(observe):
    for path, case, call in cases(observe):
        kept = case["kept"]
        got = steps_from(observe[f"{path}/steps/result"])
        says = wrong_borders(got, kept)
        expect(not says, says, call)
        right = {row["step"]: row for row in kept["steps"]}
        for row in got:
            total = sum(row[key] for key in PARTS[1:])
            says = "The four parts should sum to the time of the step."
            close(total, row["time"], says, rtol=0, atol=ATOL, call=f"{call}, step {row['step']}")
            if row["step"] in right:
                says = "idle is the time of the step in which no GPU event runs."
                want = right[row["step"]]["idle"]
                close(row["idle"], want, says, rtol=0, atol=ATOL, call=f"{call}, step {row['step']}")


def gaps_from(got):
    says = "idle_gaps should return a list of dicts with start, end and cause."
    expect(isinstance(got, list | tuple), says, f"got {describe(got)}")
    for row in got:
        ok = isinstance(row, dict) and all(isinstance(row.get(key), int | float) for key in ("start", "end"))
        ok = ok and "cause" in row and isinstance(row["cause"], str | None)
        expect(ok, says, f"one of them is {describe(row)}")
    return got


def same_gaps(got, want):
    return len(got) == len(want) and all(
        near(row["start"], start) and near(row["end"], end)
        for row, (start, end) in zip(got, want, strict=True)
    )


def limits(rows):
    return [(row["start"], row["end"]) for row in rows]


def check_gaps(got, kept, min_us, says, call):
    want = [pair for pair in limits(kept["gaps"]) if pair[1] - pair[0] > min_us]
    if same_gaps(got, want):
        return
    every, per_stream = limits(kept["gaps"]), [tuple(gap) for gap in kept["stream_gaps"]]
    ranked = sorted(got, key=lambda row: row["start"])
    found = set(limits(got))
    longer = [pair for pair in per_stream if pair[1] - pair[0] > min_us]
    if same_gaps(ranked, want):
        says = "The gaps come in the order of their start."
    elif same_gaps(got, [pair for pair in every if pair[1] - pair[0] >= min_us]):
        says = "Only gaps that are longer than min_us count, not those of exactly this length."
    elif min_us and same_gaps(got, every):
        says = "min_us has no effect."
    elif len(found) > len(want) and found <= {*per_stream, *every} and found & ({*longer} - {*every}):
        says = "The GPU idles only when all streams do."
    raise Finding(f"{says} ({call}, min_us={min_us}: got {len(got)} gaps, expected {len(want)})")


@behaviour(7)
def test_gaps(observe):
    says = "These are not the gaps between GPU events inside the window."
    for path, case, call in cases(observe):
        for name in ("gaps", "keyword"):
            check_gaps(gaps_from(observe[f"{path}/{name}/result"]), case["kept"], 0.0, says, call)


@behaviour(7)
def test_minimum_length(observe):
    says = "These are not the gaps longer than min_us."
    for path, case, call in cases(observe):
        got = gaps_from(observe[f"{path}/long/result"])
        if same_gaps(gaps_from(observe[f"{path}/gaps/result"]), limits(case["kept"]["gaps"])):
            check_gaps(got, case["kept"], case["min_us"], says, call)


CAUSES = {
    "outermost": "The outermost operator covers everything: use self time in the gap.",
    "longest": "The longest operator covers everything: use self time in the gap.",
    "other threads": "Follow the correlation to the thread that launched late.",
    "same tid": "A thread is a pid and a tid: another process uses the same tid.",
    "not cut": "Only self time inside the gap counts: cut it at the gap's borders.",
    "by name": "The cause is the single event with most self time, not the name with the largest sum.",
    "around the launch": "The operator that launched need not be the one that kept the thread busy before.",
    "launch": "The cause is a CPU operator, not the launch.",
}


@behaviour(8)
def test_causes(observe):
    for path, case, call in cases(observe):
        rows = case["kept"]["gaps"]
        got = gaps_from(observe[f"{path}/gaps/result"])
        pairs = [
            (row, right)
            for row in got
            for right in rows
            if near(row["start"], right["start"]) and near(row["end"], right["end"])
        ]
        wrong = [(row, right) for row, right in pairs if row["cause"] != right["cause"]]
        if not wrong:
            continue
        says = "cause is not the operator with most self time in the gap, on the thread that launched."
        # A mistake is named only where it explains every cause.
        named = [m for m in CAUSES if all(row["cause"] == right[m] for row, right in pairs)]
        if named:
            says = CAUSES[named[0]]
        elif all(right["cause"] is None for _, right in wrong):
            says = "Without a launch, or without an operator on its thread in the gap, cause is None."
            if all(right["launched"] for _, right in wrong):
                says = "If the launching thread runs no operator in the gap, cause is None."
            elif not any(right["launched"] for _, right in wrong):
                says = "Without a launch of the same correlation cause is None."
        row, right = wrong[0]
        span = f"gap {right['start']:.3f} to {right['end']:.3f}"
        detail = f"{call}, {span}: got {describe(row['cause'])}, expected {describe(right['cause'])}"
        raise Finding(f"{says} ({detail}; {len(wrong)} of {len(pairs)} wrong)")


FUNCTIONS = ("busy", "top_kernel", "top_cpu_op", "exposed", "steps", "gaps")
CALLED = {"busy": "busy_fraction", "top_kernel": "top", "top_cpu_op": "top", "exposed": "exposed_comm",
          "steps": "step_breakdown", "gaps": "idle_gaps"}  # fmt: skip


def right(got, kept, name):
    """Whether a result is the expected one. Results of a wrong form raise a finding."""
    if name == "busy":
        return near(number(got, "busy_fraction"), kept["busy"])
    if name == "exposed":
        return near(number(got, "exposed_comm"), kept["exposed"])
    if name.startswith("top_"):
        return same_rows(rows_of(got), kept["top"][name.removeprefix("top_")])
    if name == "steps":
        rows = steps_from(got)
        same = [row["step"] for row in rows] == [row["step"] for row in kept["steps"]]
        return same and same_steps(rows, kept["steps"])
    rows = gaps_from(got)
    causes = [row["cause"] for row in kept["gaps"]]
    return same_gaps(rows, limits(kept["gaps"])) and [row["cause"] for row in rows] == causes


def right_on_clean(observe, name):
    """Whether the function is right on the clean trace; if not, other tests say what is wrong."""
    path = f"clean/0/{name}/result"
    if path not in observe:
        return False
    try:
        return right(observe[path], observe.given["clean"][0]["kept"], name)
    except Finding:
        return False


def check_variant(observe, variant, says):
    for name in FUNCTIONS:
        if right_on_clean(observe, name):
            got = observe[f"messy/{variant}/{name}/result"]
            kept = observe.given["messy"][variant]["kept"]
            expect(right(got, kept, name), says, f"{CALLED[name]} gives another result")


@behaviour(9, on_error="Events may come in any order.")
def test_any_order(observe):
    check_variant(observe, "order", "Events may come in any order, children before their parents too.")


@behaviour(9, on_error="Events of other phases may lack any key but ph.")
def test_other_phases(observe):
    check_variant(observe, "phases", "Only complete events, with ph 'X', count.")


@behaviour(9)
def test_other_categories(observe):
    check_variant(observe, "categories", "Events of other categories are ignored, whatever their names are.")


@behaviour(9)
def test_events_of_no_length(observe):
    check_variant(
        observe, "zeros", "Events with dur 0 are ignored: they open no window, end no gap and are no calls."
    )


@behaviour(9, on_error="args may be missing, and may lack the correlation.")
def test_missing_args(observe):
    check_variant(observe, "args", "args may be missing; an event without correlation has no launch.")


@behaviour(9, on_error="The function raised on a valid trace.")
def test_trace_is_not_modified(observe):
    messy = observe.given["messy"]
    given = {"list": messy["order"], "dict": observe.given["clean"][1], "args": messy["args"]}
    for form, case in given.items():
        for function in ("busy_fraction", "top", "exposed_comm", "step_breakdown", "idle_gaps"):
            path = f"kept/{form}/{function}"
            if observe.error(path):
                continue  # which other tests say
            same = observe[f"{path}/trace"] == [str(json.loads(text)) for text in case["events"]]
            keys = ["displayTimeUnit", "schemaVersion", "traceEvents"] if case["wrapped"] else []
            same = same and observe[f"{path}/keys"] == keys
            expect(
                same, f"{function} modified the trace.", "events were added, changed or put in another order"
            )


@behaviour(10, on_error="A trace may have no GPU events.")
def test_no_gpu_events(observe):
    for case, what in {
        "no_gpu": "without GPU events",
        "only_zero": "whose only GPU event has dur 0",
        "empty": "without events",
    }.items():
        kept = observe.given["bare"][case]["kept"]
        for name in FUNCTIONS:
            if case == "empty" or right_on_clean(observe, name) or name in ("busy", "exposed", "gaps"):
                got = observe[f"bare/{case}/{name}/result"]
                says = f"{CALLED[name]} is wrong for a trace {what}."
                if name == "steps" and case != "empty":
                    says = f"A step {what} is all idle."
                shown = describe(got)
                expect(right(got, kept, name), says, f"got {shown}")


@behaviour(11)
def test_bad_arguments_are_refused(observe):
    for n in (0, -1):
        observe.raised(f"errors/n{n}", "ValueError", says=f"top should refuse n={n}.")
    observe.raised("errors/n_empty", "ValueError", says="top should refuse n=0 for an empty trace too.")
    for value in (-0.5, -1e-9):
        observe.raised(f"errors/min{value}", "ValueError", says=f"idle_gaps should refuse min_us={value}.")
    says = "idle_gaps should refuse a negative min_us for an empty trace too."
    observe.raised("errors/min_empty", "ValueError", says=says)


@behaviour(11)
def test_negative_durations_are_refused(observe):
    for cat in observe.given["wrong"]:
        for function in ("busy_fraction", "top", "exposed_comm", "step_breakdown", "idle_gaps"):
            says = f"{function} should refuse a complete event with a negative dur, here of category {cat}."
            observe.raised(f"errors/{cat}_{function}", "ValueError", says=says)
