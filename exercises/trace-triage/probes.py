import copy
import json

BASE = 4096.0  # microseconds; traces do not begin at 0
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH = ("cuda_runtime", "cuda_driver")
MAIN, BACKWARD, LOADER, HELPER = (4000, 100), (4000, 101), (4001, 100), (4000, 102)
LOOP = (4000, 99)  # has the annotations and no operators
CATS = (*GPU, "cpu_op", *LAUNCH, "user_annotation")
COMPUTE = [
    "sm80_gemm_128x64",
    "elementwise_kernel",
    "softmax_forward",
    "layer_norm_kernel",
    "flash_fwd_kernel",
]
COMM = [
    "ncclDevKernel_AllReduce_Sum_bf16",
    "void ncclKernel_AllGather",
    "NCCL_ReduceScatter",
    "Nccl_SendRecv",
]
COPIES = [
    ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"),
    ("gpu_memcpy", "Memcpy DtoD (nccl staging)"),
    ("gpu_memset", "Memset (Device)"),
]
OPS = ["aten::linear", "aten::mm", "aten::to", "aten::item", "aten::copy_", "aten::add_", "autograd::engine",
       "nccl:all_reduce", "optimizer_step"]  # fmt: skip


def event(cat, name, thread, start, end, args=None):
    """Times are whole 64ths of a microsecond, which floats hold exactly."""
    ts, dur = BASE + start / 64, (end - start) / 64
    found = {"ph": "X", "cat": cat, "name": name, "pid": thread[0], "tid": thread[1], "ts": ts, "dur": dur}
    return {**found, "args": {} if args is None else args}


def ticks(e):
    """Start and end of an event in 64ths of a microsecond."""
    return int((e["ts"] - BASE) * 64), int((e["ts"] + e["dur"] - BASE) * 64)


def some(draw, low, high):
    return draw.integer(8 * low, 8 * high)


def operators(draw, thread, start, end, depth=0):
    """Nested operators between start and end. A child may begin or end with its parent."""
    found, t = [], start
    while t < end - 96:
        stop = min(t + some(draw, 90, 340) // (3**depth), end)
        if draw.integer(0, 5):
            found.append(
                event("cpu_op", draw.choice(OPS), thread, t, stop, {"External id": draw.integer(1, 999)})
            )
            if depth < 2 and stop - t > 128 and thread != LOADER:
                first, last = draw.choice([(0, 40), (32, 0), (24, 32), (48, 16)])
                found += operators(draw, thread, t + first, stop - last, depth + 1)
        t = stop + draw.choice([0, 0, some(draw, 1, 12)])
    return found


def slots(draw, found, thread, total):
    """Places for launches on a thread: in operators without children, or anywhere on a thread without operators."""
    spans = [ticks(e) for e in found]
    leaves = [
        (a, b)
        for i, (a, b) in enumerate(spans)
        if b - a >= 60 and not any(i != j and a <= c and d <= b for j, (c, d) in enumerate(spans))
    ]
    if not found:
        leaves = [(a, a + 60) for a in range(0, total, 248)]
    return [(thread, a + 16, a + some(draw, 3, 5)) for a, _ in leaves]


def gpu_work(draw, blocks):
    """Blocks of GPU events on five streams, and quiet times between them, in which no stream works.

    Two streams communicate, at times both at once. A compute kernel comes last, for a step inside it.
    Returns the events, the first event of each block, and the end of the last.
    """
    found, begins, t, last = [], [], some(draw, 60, 90), 0
    names = draw.shuffled(COMM)
    for _ in range(blocks):
        end = t + some(draw, 70, 150)
        at = t
        begins.append(len(found))
        while at < end:  # this compute stream begins each block
            stop = min(at + some(draw, 9, 30), end)
            found.append(event("kernel", draw.choice(COMPUTE), (0, 7), at, stop))
            at = stop + draw.choice([0, 0, some(draw, 3, 25)])
        for stream, first in ((9, 5), (20, 13), (21, 17), (24, 22)):
            at = t + 8 * first + some(draw, 0, 20)
            while at < end:
                stop = at + some(draw, 9, 40)
                if draw.integer(0, 3):
                    cat, name = draw.choice(COPIES) if stream == 24 else ("kernel", names[0])
                    if stream == 9:
                        name = draw.choice(COMPUTE)
                    elif stream != 24:  # in turn, so that every name occurs
                        names = [*names[1:], names[0]]
                    found.append(event(cat, name, (0, stream), at, stop))
                at = stop + some(draw, 2, 40)
        last = max(ticks(e)[1] for e in found)
        t = last + some(draw, 25, 110)
    found.append(event("kernel", draw.choice(COMPUTE), (0, 7), last, last + 64))
    # The GPU event that begins last ends before another one does.
    found.append(event("kernel", draw.choice(COMPUTE), (0, 9), last + 8, last + 24))
    last += 64
    return found, [found[i] for i in begins], last


def launch_all(draw, gpu, begins, free):
    """Give every GPU event a correlation, and nearly all of them a launch that comes before it."""
    found, used = [], set()
    lost, helped = draw.sample(begins[1:], 2)
    for i, e in enumerate(sorted(gpu, key=lambda e: e["ts"])):
        number = 31 + 7 * i
        e["args"] = {"correlation": number, "stream": e["tid"]}
        places = [
            s for s in free if s[2] <= ticks(e)[0] and s not in used and (s[0] == HELPER) == (e is helped)
        ]
        if e is lost or not places:
            continue
        thread = draw.choice(sorted({s[0] for s in places}))
        place = max(s for s in places if s[0] == thread)
        used.add(place)
        cat, name = draw.choice([("cuda_runtime", "cudaLaunchKernel"), ("cuda_driver", "cuLaunchKernelEx")])
        found.append(event(cat, name, *place, {"correlation": number}))
    return found


def steps_of(draw, first, last, number):
    """Four steps that lie close together; the first begins after the first GPU event."""
    length = (last - first) // 4
    cuts = [first + i * length + draw.integer(-length // 4, length // 4) for i in (1, 2, 3)]
    borders = list(zip([first + some(draw, 5, 20), *cuts], [*cuts, last - some(draw, 3, 9)], strict=True))
    found = []
    for i, (start, end) in enumerate(borders):
        end -= draw.choice([0, 16])
        found.append(event("user_annotation", f"ProfilerStep#{number + i}", LOOP, start, end))
        found.append(event("user_annotation", f"epoch#{i}", LOOP, start + 8, start + 28 + 5 * i))
        found.append(event("user_annotation", "Optimizer.step#AdamW.step", LOOP, end - 56, end - 8))
    return found


def repeat_in_a_gap(draw, events):
    """Give two short operators of a gap one name, so that together they outlast the single longest one."""
    gpu = [e for e in events if kind_of(e)]
    for start, end in draw.shuffled(quiet(gpu)):
        own = own_times(events, "cpu_op", start, end)
        for thread in (MAIN, BACKWARD):
            ranked = sorted(((t, i) for i, t in own.items() if thread_of(events[i]) == thread), reverse=True)
            if len(ranked) > 2 and ranked[1][0] + ranked[2][0] > ranked[0][0] + 0.1 and ranked[2][0] > 0:
                for _, i in ranked[1:3]:
                    events[i]["name"] = "aten::as_strided"


def fill_an_operator(draw, events):
    """Give an operator two children that leave it no self time; it is still a call."""
    own = stacked(events, "cpu_op", thread_of)
    plain = [e for e in (events[i] for i, t in own.items() if t == events[i]["dur"]) if e["dur"] > 1]
    parent = draw.choice([e for e in plain if thread_of(e) == BACKWARD])
    start, end = ticks(parent)
    middle = start + draw.integer(24, end - start - 24)
    for a, b in ((start, middle), (middle, end)):
        events.append(event("cpu_op", draw.choice(OPS), BACKWARD, a, b))


def draw_trace(draw):
    """A trace in the order of time, and its gaps."""
    while True:
        gpu, begins, last = gpu_work(draw, draw.integer(5, 7))
        total = last + 480
        threads = {
            thread: operators(draw, thread, some(draw, 0, 9), total) for thread in (MAIN, BACKWARD, LOADER)
        }
        free = [s for thread in (MAIN, BACKWARD) for s in slots(draw, threads[thread], thread, total)]
        free += slots(draw, [], HELPER, total)
        events = [*gpu, *launch_all(draw, gpu, begins, free), *sum(threads.values(), [])]
        repeat_in_a_gap(draw, events)
        fill_an_operator(draw, events)
        # The helper thread has an operator, but not in the gap before the work that it launched.
        events.append(event("cpu_op", draw.choice(OPS), HELPER, total + 40, total + 90))
        number = draw.choice([8, 9, 98, 99])
        numbered = steps_of(draw, 480, last, number)
        # Inside the last kernel: a step in which nothing begins or ends. After it: one that is all idle.
        for i, (start, end) in enumerate([(last - 20, last - 4), (last + 72, last + 400)], start=4):
            numbered.append(event("user_annotation", f"ProfilerStep#{number + i}", LOOP, start, end))
        found = sorted([*events, *numbered], key=lambda e: (e["ts"], -e["dur"]))
        gaps = usable_gaps(found)
        if gaps:
            return found, gaps


def end_of(e):
    return e["ts"] + e["dur"]


def segments(events, low=None, high=None):
    """The pieces of time between the borders of events, each with the events that run in it."""
    borders = {e["ts"] for e in events} | {end_of(e) for e in events} | ({low, high} - {None})
    borders = sorted(b for b in borders if (low is None or b >= low) and (high is None or b <= high))
    for a, b in zip(borders, borders[1:], strict=False):
        yield a, b, [e for e in events if e["ts"] <= a and end_of(e) >= b]


def kind_of(e):
    if e["cat"] != "kernel":
        return "copy" if e["cat"] in GPU else None
    return "comm" if "nccl" in e["name"].lower() else "compute"


def own_times(events, cat, low, high):
    """For each event of a category (by position): the time in a gap in which it is the innermost one on its thread."""
    inside = [(i, e) for i, e in enumerate(events) if e["cat"] == cat and e["ts"] < high and end_of(e) > low]
    times = dict.fromkeys((i for i, _ in inside), 0.0)
    place = {id(e): i for i, e in inside}
    for thread in {thread_of(e) for _, e in inside}:
        for a, b, running in segments([e for _, e in inside if thread_of(e) == thread], low, high):
            if running:
                times[place[id(max(running, key=lambda e: (e["ts"], -e["dur"])))]] += b - a
    return times


def table(events, times, calls=None):
    """Self time and calls by name, largest first."""
    rows = {}
    for i, time in times.items():
        total, count = rows.get(events[i]["name"], (0.0, 0))
        rows[events[i]["name"]] = (total + time, count + 1)
    return sorted(([name, time, count] for name, (time, count) in rows.items()), key=lambda r: -r[1])


def stacked(events, cat, key, among=None, all_parents=False, cut=False):
    """Self times by a stack over the events with the same key; another key than the thread is a typical mistake.

    ``cut`` subtracts only what of a child lies in its parent, which makes a difference for a wrong key.
    """
    times, stacks, children = {}, {}, {}
    for i, e in sorted(enumerate(events), key=lambda pair: (pair[1]["ts"], -pair[1]["dur"])):
        if e["cat"] not in (among or (cat,)):
            continue
        stack = stacks.setdefault(key(e), [])
        while stack and end_of(events[stack[-1]]) <= e["ts"]:
            stack.pop()
        for parent in stack if all_parents else stack[-1:]:
            times[parent] -= e["dur"]
            children[parent].append(e)
        stack.append(i)
        times[i], children[i] = e["dur"], []
    if cut:
        times = {i: events[i]["dur"] - union(children[i], events[i]["ts"], end_of(events[i])) for i in times}
    return {i: time for i, time in times.items() if events[i]["cat"] == cat}


def thread_of(e):
    return e["pid"], e["tid"]


def merged(events):
    """The union of the events' times as a list of [start, end], by start."""
    found = []
    for e in sorted(events, key=lambda e: e["ts"]):
        if found and e["ts"] <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end_of(e))
        else:
            found.append([e["ts"], end_of(e)])
    return found


def union(events, low=0.0, high=1e18):
    """Time between low and high in which an event runs."""
    return sum(max(0.0, min(b, high) - max(a, low)) for a, b in merged(events))


def breakdown(gpu, low, high):
    compute = [e for e in gpu if kind_of(e) == "compute"]
    kernels = [e for e in gpu if kind_of(e) != "copy"]
    first, second, third = (union(events, low, high) for events in (compute, kernels, gpu))
    return {"compute": first, "comm": second - first, "copy": third - second}


def row_of(number, time, parts):
    return {"step": number, "time": time, "compute": parts["compute"], "exposed_comm": parts["comm"],
            "exposed_copy": parts["copy"], "idle": time - parts["compute"] - parts["comm"] - parts["copy"]}  # fmt: skip


def step_rows(events, choose=None):
    rows, gpu = [], [e for e in events if kind_of(e)]
    for e in events:
        number = e["name"].removeprefix("ProfilerStep#")
        if e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#") and number.isdigit():
            low, high = e["ts"], end_of(e)
            if choose is None:
                parts = breakdown(gpu, low, high)
            else:  # whole events, chosen by where they are
                parts = breakdown([g for g in gpu if choose(g, low, high)], 0.0, 1e18)
            rows.append(row_of(int(number), e["dur"], parts))
    return sorted(rows, key=lambda row: row["step"])


def quiet(gpu):
    found = merged(gpu)
    return [(a[1], b[0]) for a, b in zip(found, found[1:], strict=False)]


def most(times):
    """The key with most time, None without any; with the distance to the second."""
    ranked = sorted(times.items(), key=lambda pair: -pair[1])
    if not ranked or ranked[0][1] <= 0:
        return None, 1.0
    return ranked[0][0], ranked[0][1] - (ranked[1][1] if len(ranked) > 1 else 0.0)


def gap_rows(events):
    """The gaps with their causes, and for each the causes that typical mistakes give; the least distance of two."""
    gpu = [e for e in events if kind_of(e)]
    launches = {
        e["args"]["correlation"]: e
        for e in events
        if e["cat"] in LAUNCH and "correlation" in e.get("args", {})
    }
    whole = stacked(events, "cpu_op", thread_of)
    rows, distance = [], 1.0
    for start, end in quiet(gpu):
        first = next(e for e in gpu if e["ts"] == end)
        launch = launches.get(first.get("args", {}).get("correlation"))
        own = own_times(events, "cpu_op", start, end)
        clipped = {i: max(0.0, min(end_of(events[i]), end) - max(events[i]["ts"], start)) for i in own}
        here = [i for i in own if launch and thread_of(events[i]) == thread_of(launch)]
        inside, apart = most({i: own[i] for i in here})
        distance = min(distance, apart)
        by_name = {}
        for i in here:
            by_name[events[i]["name"]] = by_name.get(events[i]["name"], 0.0) + own[i]
        around = [
            i
            for i, e in enumerate(events)
            if launch
            and e["cat"] == "cpu_op"
            and thread_of(e) == thread_of(launch)
            and e["ts"] <= launch["ts"]
            and end_of(e) >= end_of(launch)
        ]

        def name(i):
            return None if i is None else events[i]["name"]

        rows.append({
            "start": start, "end": end, "cause": name(inside), "launched": launch is not None,
            "outermost": name(most({i: clipped[i] for i in here})[0]),
            "other threads": name(most(own)[0]),
            "same tid": name(most({i: own[i] for i in own if launch and events[i]["tid"] == launch["tid"]})[0]),
            "not cut": name(most({i: whole[i] for i in here if own[i] > 0})[0]),
            "longest": name(most({i: events[i]["dur"] for i in here if clipped[i] > 0})[0]),
            "by name": most(by_name)[0],
            "around the launch": name(max(around, key=lambda i: events[i]["ts"], default=None)),
            "launch": launch and launch["name"],
        })  # fmt: skip
    return rows, distance


def stream_gaps(gpu):
    return sorted(
        gap for tid in {e["tid"] for e in gpu} for gap in quiet([e for e in gpu if e["tid"] == tid])
    )


MISTAKES = ("outermost", "other threads", "same tid", "not cut", "longest", "by name", "around the launch")


def usable_gaps(events):
    """The gaps, if a test can ask for them: no ties, and every typical mistake gives another answer."""
    for cat in CATS:
        rows = table(events, stacked(events, cat, thread_of))
        if any(a[1] - b[1] < 0.01 for a, b in zip(rows, rows[1:], strict=False)):
            return None
    gpu = [e["ts"] for e in events if kind_of(e)]
    gaps, distance = gap_rows(events)
    if (
        sum(row["cause"] is not None for row in gaps) < 4
        or distance < 0.01
        or any(gpu.count(row["end"]) > 1 for row in gaps)
    ):
        return None
    if any(all(row["cause"] == row[mistake] for row in gaps) for mistake in MISTAKES):
        return None
    return gaps


def answers(trace, gaps):
    """What each function should return, and what it returns after typical mistakes."""
    events = [e for e in trace if e["ph"] == "X" and e["dur"] > 0 and e["cat"] in CATS]
    gpu = [e for e in events if kind_of(e)]
    kinds = {kind: [e for e in gpu if kind_of(e) == kind] for kind in ("compute", "comm", "copy")}
    window = max(map(end_of, gpu), default=0.0) - min((e["ts"] for e in gpu), default=0.0)
    everything = max(map(end_of, events), default=1.0) - min((e["ts"] for e in events), default=0.0)
    total, busy = sum(e["dur"] for e in gpu), union(gpu)
    comm, compute, copies = (union(kinds[kind]) for kind in ("comm", "compute", "copy"))
    hidden = comm + compute - union(kinds["comm"] + kinds["compute"])
    kept = {
        "busy": busy / window if gpu else 0.0,
        "busy_mistakes": {
            "added": total / window if gpu else 0.0,
            "all events": busy / everything,
            "both": total / everything,
            "kernels": union(kinds["comm"] + kinds["compute"]) / window if gpu else 0.0,
            "compute": compute / window if gpu else 0.0,
            "total": busy,
            "idle": 1 - busy / window if gpu else 0.0,
        },
        "top": {cat: table(events, stacked(events, cat, thread_of)) for cat in CATS},
        "top_mistakes": {
            cat: {
                "total": table(events, {i: e["dur"] for i, e in enumerate(events) if e["cat"] == cat}),
                **{
                    name + " cut" * cut: table(events, stacked(events, cat, key, cut=cut))
                    for cut in (False, True)
                    for name, key in {
                        "threads": lambda e: 0,
                        "pids": lambda e: e["tid"],
                        "processes": lambda e: e["pid"],
                    }.items()
                },
                "cats": table(
                    events, stacked(events, cat, thread_of, ("cpu_op", *LAUNCH, "user_annotation"))
                ),
                "twice": table(events, stacked(events, cat, thread_of, all_parents=True)),
            }
            for cat in ("cpu_op", "user_annotation")
        },
        "exposed": comm - hidden,
        "exposed_mistakes": {
            "all": comm,
            "all added": sum(e["dur"] for e in kinds["comm"]),
            "hidden": hidden,
            "difference": comm - compute,
            "copies": union(gpu) - union(kinds["compute"] + kinds["copy"]),
            "added": sum(union([*kinds["compute"], e]) - compute for e in kinds["comm"]),
        },
        "steps": step_rows(events),
        "by_start": step_rows(events, lambda g, low, high: low <= g["ts"] < high),
        "inside": step_rows(events, lambda g, low, high: low <= g["ts"] and end_of(g) <= high),
        "touching": step_rows(events, lambda g, low, high: g["ts"] < high and end_of(g) > low),
        "gaps": gaps,
        "stream_gaps": [list(gap) for gap in stream_gaps(gpu)],
    }
    kept["exposed_mistakes"] = {
        k: v for k, v in kept["exposed_mistakes"].items() if abs(v - kept["exposed"]) > 1e-3
    }
    return kept


def with_phases(draw, trace):
    """Events of other phases among the others. They may lack any other key."""
    ts = [e["ts"] for e in trace]
    extra = [
        {"ph": "M"},
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
        {"ph": "s", "id": 31, "pid": 4000, "tid": 100, "ts": draw.choice(ts), "cat": "ac2g", "name": "ac2g"},
        {
            "ph": "f",
            "id": 31,
            "pid": 0,
            "tid": 7,
            "ts": draw.choice(ts),
            "cat": "ac2g",
            "name": "ac2g",
            "bp": "e",
        },
        {"ph": "i", "cat": "kernel", "name": "[memory]", "ts": min(ts) - 900.0, "pid": 0, "tid": 7, "s": "t"},
        {"ph": "C", "name": "GPU memory", "ts": draw.choice(ts), "pid": 0, "args": {"bytes": 4}},
        *(
            {**e, "ph": "b", "dur": e["dur"] + 300.0, "ts": e["ts"] - 100.0}
            for e in draw.sample([e for e in trace if e["cat"] in ("kernel", "cpu_op", "user_annotation")], 6)
        ),
        {"ph": "e", "cat": "kernel", "name": "gemm", "ts": max(ts), "dur": -3.0, "pid": 0, "tid": 7},
    ]
    return sorted([*trace, *extra], key=lambda e: e.get("ts", 0.0))


def with_categories(draw, trace):
    """Complete events of other categories, some with names that mean something elsewhere."""
    low, high = min(e["ts"] for e in trace) - 50.0, max(map(end_of, trace)) + 50.0
    step = next(e for e in trace if e["name"].startswith("ProfilerStep#"))
    whole = {"ph": "X", "ts": low, "dur": high - low}
    extra = [
        {
            **whole,
            "cat": "python_function",
            "name": "train.py(12): main",
            "pid": 4000,
            "tid": 100,
            "args": {},
        },
        {
            **whole,
            "cat": "Trace",
            "name": "PyTorch Profiler (0)",
            "pid": "Spans",
            "tid": "PyTorch Profiler",
            "args": {},
        },
        {**whole, "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "pid": 0, "tid": 20, "args": {}},
        {**whole, "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0, "args": {}},
        {**step, "cat": "gpu_user_annotation", "pid": 0, "tid": 99, "ts": step["ts"] + 2.0},
        {**step, "cat": "cpu_op_annotation", "name": "ProfilerStep#3"},
        *(
            {
                **e,
                "cat": "python_function",
                "name": "kernel launcher",
                "pid": 4001,
                "tid": 101,
                "args": dict(e["args"]),
            }
            for e in trace
            if e["cat"] in LAUNCH
        ),
    ]
    return sorted([*trace, *extra], key=lambda e: (e["ts"], -e["dur"]))


def with_zeros(draw, trace, gaps):
    """Events of no length: in gaps and at their ends, outside the window, among operators."""
    gpu = [e for e in trace if e["cat"] in GPU]
    extra = []
    for row in gaps:
        at = row["start"] + (row["end"] - row["start"]) / 2
        extra.append({**draw.choice(gpu), "ts": at, "dur": 0.0, "tid": 7})
        extra.append({**draw.choice(gpu), "ts": row["end"], "dur": 0.0, "tid": 8})
    for at in (min(e["ts"] for e in trace) - 20.0, max(map(end_of, trace)) + 20.0):
        extra.append({**draw.choice(gpu), "ts": at, "dur": 0.0})
    for e in draw.sample([e for e in trace if e["cat"] == "cpu_op"], 5):
        extra.append({**e, "ts": e["ts"] + e["dur"], "dur": 0.0})
    return sorted([*extra, *trace], key=lambda e: e["ts"])


def with_missing_args(draw, trace, gaps):
    """Args are missing, or have no correlation, also where a gap ends and where work was launched."""
    found = copy.deepcopy(trace)
    known = draw.shuffled([row["end"] for row in gaps if row["cause"] is not None])[:2]
    launches = [i for i, e in enumerate(found) if e["cat"] in LAUNCH and thread_of(e) == MAIN]
    chosen = [next(e for e in found if e["cat"] in GPU and e["ts"] == end) for end in known]
    chosen += [found[i] for i in draw.sample(launches, 2)]
    for i, e in enumerate(chosen):
        if i % 2:
            del e["args"]
        else:
            del e["args"]["correlation"]
    for e in found:
        if e["cat"] in ("cpu_op", "user_annotation") and draw.integer(0, 1):
            del e["args"]
    return found


def untied_without_args(draw, trace, gaps):
    while True:
        found = with_missing_args(draw, trace, gaps)
        changed, distance = gap_rows(found)
        if distance > 0.01 and changed != gaps:
            return found, changed


def packed(events, kept=None, wrapped=False, **more):
    """A trace for the worker, each event as text, since the number of values is limited."""
    return {"events": [json.dumps(e) for e in events], "wrapped": wrapped, "kept": kept, **more}


def inputs(draw):
    (first, gaps), (second, other_gaps) = draw_trace(draw), draw_trace(draw)
    clean = []
    for events, found, wrapped in ((first, gaps, False), (second, other_gaps, True)):
        lengths = sorted(row["end"] - row["start"] for row in found)
        min_us = lengths[draw.integer(1, len(lengths) - 2)]
        clean.append(packed(events, answers(events, found), wrapped, min_us=min_us, n=draw.integer(2, 3)))
    kept = clean[0]["kept"]
    messy = {
        "order": packed(draw.shuffled(first), kept),
        "phases": packed(with_phases(draw, first), kept),
        "categories": packed(with_categories(draw, first), kept),
        "zeros": packed(with_zeros(draw, first, gaps), kept),
    }
    without, changed = untied_without_args(draw, first, gaps)
    messy["args"] = packed(without, {**kept, "gaps": changed})
    no_gpu = [e for e in second if e["cat"] not in GPU]
    only_zero = [*no_gpu, {**first[0], "cat": "kernel", "name": "gemm", "dur": 0.0, "pid": 0, "tid": 7}]
    return {
        "clean": clean,
        "messy": messy,
        "bare": {
            "no_gpu": packed(no_gpu, answers(no_gpu, [])),
            "only_zero": packed(only_zero, answers(no_gpu, [])),
            "empty": packed([], answers([], [])),
        },
        "wrong": {
            cat: packed(
                [*first[: draw.integer(10, 30)], {**first[0], "cat": cat, "dur": -draw.uniform(0.5, 3.0)}]
            )
            for cat in (
                "kernel",
                "gpu_memset",
                "cpu_op",
                "cuda_runtime",
                "user_annotation",
                "python_function",
            )
        },
    }


def trace_of(case):
    """A new trace each time, so that no call sees what another one did to it."""
    events = [json.loads(text) for text in case["events"]]
    extra = {"schemaVersion": 1, "traceEvents": events, "displayTimeUnit": "ms"}
    return extra if case["wrapped"] else events


def record_all(code, record, case):
    """Each function in a step of its own, on a trace of its own."""
    calls = {
        "busy": lambda trace: code.busy_fraction(trace),
        "top_kernel": lambda trace: code.top(trace, "kernel", 50),
        "top_cpu_op": lambda trace: code.top(trace, "cpu_op", 50),
        "exposed": lambda trace: code.exposed_comm(trace),
        "steps": lambda trace: code.step_breakdown(trace),
        "gaps": lambda trace: code.idle_gaps(trace),
    }
    for name, call in calls.items():
        with record.step(name):
            record("result", call(trace_of(case)))


def probe_clean(code, given, record):
    for i, case in enumerate(given["clean"]):
        with record.step(i):
            record_all(code, record, case)
            for cat in ("gpu_memcpy", "cuda_runtime", "user_annotation"):
                with record.step(f"top_{cat}"):
                    record("result", code.top(trace_of(case), cat, 50))
            for n in (1, case["n"]):
                with record.step(f"few{n}"):
                    record("result", code.top(trace_of(case), "kernel", n))
            with record.step("long"):
                record("result", code.idle_gaps(trace_of(case), case["min_us"]))
            with record.step("keyword"):
                record("result", code.idle_gaps(trace_of(case), min_us=0.0))


def probe_messy(code, given, record):
    for name, case in given["messy"].items():
        with record.step(name):
            record_all(code, record, case)


def probe_bare(code, given, record):
    for name, case in given["bare"].items():
        with record.step(name):
            record_all(code, record, case)


def probe_kept(code, given, record):
    forms = {"list": given["messy"]["order"], "dict": given["clean"][1], "args": given["messy"]["args"]}
    for name, case in forms.items():
        with record.step(name):
            calls = {
                "busy_fraction": lambda t: code.busy_fraction(t),
                "top": lambda t: code.top(t, "cpu_op", 3),
                "exposed_comm": lambda t: code.exposed_comm(t),
                "step_breakdown": lambda t: code.step_breakdown(t),
                "idle_gaps": lambda t: code.idle_gaps(t),
            }
            for function, call in calls.items():
                with record.step(function):
                    mine = trace_of(case)
                    call(mine)
                    record(
                        "trace", [str(e) for e in (mine["traceEvents"] if isinstance(mine, dict) else mine)]
                    )
                    record("keys", sorted(mine) if isinstance(mine, dict) else [])


def probe_errors(code, given, record):
    trace = trace_of(given["clean"][0])
    for n in (0, -1):
        record.raises(f"n{n}", lambda n=n: code.top(trace, "kernel", n))
    record.raises("n_empty", lambda: code.top([], "kernel", 0))
    for value in (-0.5, -1e-9):
        record.raises(f"min{value}", lambda value=value: code.idle_gaps(trace, value))
    record.raises("min_empty", lambda: code.idle_gaps([], -2.0))
    for cat, wrong in given["wrong"].items():
        for name, call in {
            "busy_fraction": lambda t: code.busy_fraction(t),
            "top": lambda t: code.top(t, "cpu_op", 3),
            "exposed_comm": lambda t: code.exposed_comm(t),
            "step_breakdown": lambda t: code.step_breakdown(t),
            "idle_gaps": lambda t: code.idle_gaps(t),
        }.items():
            record.raises(f"{cat}_{name}", lambda call=call, wrong=wrong: call(trace_of(wrong)))
