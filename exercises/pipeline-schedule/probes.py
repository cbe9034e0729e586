import copy

from quizapp.judge.testing.probes import number


def random_schedule(draw, stages, microbatches):
    """A valid schedule: operations in a random order in which each has its inputs."""
    done = [set() for _ in range(stages)]
    schedule = [[] for _ in range(stages)]
    while True:
        ready = []
        for s in range(stages):
            for j in range(microbatches):
                if ("F", j) not in done[s] and (s == 0 or ("F", j) in done[s - 1]):
                    ready.append((s, ("F", j)))
                late = s == stages - 1 or ("B", j) in done[s + 1]
                if ("B", j) not in done[s] and ("F", j) in done[s] and late:
                    ready.append((s, ("B", j)))
        if not ready:
            return schedule
        stage, operation = draw.choice(ready)
        done[stage].add(operation)
        schedule[stage].append(operation)


def sizes(draw, taken=()):
    """Stages and micro-batches of every kind: one of either, fewer, as many and more micro-batches than stages.

    None of them is in ``taken``: what the generators are asked for would be the answers of the judging functions.
    """
    kinds = [
        lambda: (1, draw.integer(2, 7)),
        lambda: (draw.integer(1, 6), 1),
        lambda: (2, draw.integer(3, 8)),
        lambda: (3, draw.integer(4, 9)),
        lambda: (draw.integer(3, 4), 2),
        lambda: (draw.integer(5, 6), draw.integer(2, 4)),
        lambda: (4, draw.integer(5, 10)),
        lambda: (5, draw.integer(6, 11)),
        lambda: (draw.integer(3, 6),) * 2,
        lambda: (6, draw.integer(8, 13)),
        lambda: (draw.integer(3, 4), draw.integer(30, 50)),
    ]
    found = []
    for kind in kinds:
        while (pair := kind()) in (*taken, *found):
            pass
        found.append(pair)
    return found


def textbook(kind, p, m):
    """What the generators should give: the judging functions are checked without them."""
    schedule = []
    for s in range(p):
        warmup = m if kind == "gpipe" else min(m, p - 1 - s)
        stage = [("F", j) for j in range(warmup)]
        for j in range(m):
            stage += [("F", warmup + j)] if warmup + j < m else []
            stage.append(("B", j))
        schedule.append(stage)
    return schedule


FIXED = {  # two stages that wait for each other at every step, and three with other orders
    "serial": [[("F", 0), ("B", 0), ("F", 1), ("B", 1)]] * 2,
    "lifo": [[("F", 0), ("F", 1), ("F", 2), ("B", 2), ("B", 1), ("B", 0)]] * 3,
    "turned": [[("F", 2), ("F", 0), ("F", 1), ("B", 2), ("B", 0), ("B", 1)]] * 2,
    "late": [
        [("F", 0), ("F", 1), ("F", 2), ("B", 0), ("B", 1), ("B", 2)],
        [("F", 0), ("F", 1), ("F", 2), ("B", 0), ("B", 1), ("B", 2)],
        [("F", 0), ("F", 1), ("B", 0), ("F", 2), ("B", 1), ("B", 2)],
    ],
    # Not every stage runs every operation, and yet nothing waits forever.
    "forwards": [[("F", 0), ("F", 1), ("F", 2)]] * 3,
    "middle_ends": [
        [("F", 0), ("F", 1), ("F", 2), ("B", 0)],
        [("F", 0), ("B", 0), ("F", 1), ("F", 2)],
        [("F", 0), ("B", 0)],
    ],
}

STUCK = {
    "cross": [
        [("F", 0), ("B", 0), ("F", 1), ("B", 1)],
        [("F", 0), ("F", 1), ("B", 0), ("B", 1)],
    ],
    "backward_first": [[("F", 0), ("B", 0)], [("B", 0), ("F", 0)]],
    "single_backward_first": [[("B", 0), ("F", 0)]],
    "missing_forward": [[("F", 0), ("B", 0)], [("F", 0), ("F", 1), ("B", 0), ("B", 1)]],
    "missing_backward": [[("F", 0), ("F", 1), ("B", 0), ("B", 1)], [("F", 0), ("F", 1), ("B", 0)]],
    "own_forward_missing": [[("F", 0), ("B", 0), ("B", 1)], [("F", 0), ("B", 0), ("B", 1)]],
    "behind_the_first": [[("F", 0)], [("B", 0), ("F", 0)]],
    "empty_stage": [[("F", 0), ("B", 0)], []],
}


def stuck(draw):
    """Schedules that never finish, some of them after a few micro-batches that do."""
    found = {}
    for name, schedule in STUCK.items():
        before = 0 if name == "empty_stage" else draw.integer(0, 3)
        found[name] = [
            start + [(kind, j + before) for kind, j in stage]
            for start, stage in zip(textbook("one_f_one_b", len(schedule), before), schedule, strict=True)
        ]
    return found


def inputs(draw):
    asked = sizes(draw)
    judged = sizes(draw, asked)
    return {
        "sizes": asked,
        "judged": judged,
        "again": draw.sample([(2, 3), (2, 5), (3, 2), (3, 4), (4, 3), (4, 6)], 2),
        "stuck": stuck(draw),
        "times": [
            [draw.uniform(0.3, 0.9), draw.uniform(1.1, 3.0)],
            [draw.uniform(1.1, 3.0), draw.uniform(0.3, 0.9)],
        ],
        "random": [random_schedule(draw, *draw.choice([(2, 3), (3, 4), (4, 3), (3, 6)])) for _ in range(12)],
        "textbook": {kind: [textbook(kind, p, m) for p, m in judged] for kind in ("gpipe", "one_f_one_b")},
    }


def plain(schedule):
    """Named tuples are tuples."""
    if not isinstance(schedule, list | tuple):
        return schedule
    return [
        [tuple(op) if isinstance(op, tuple) else op for op in stage]
        if isinstance(stage, list | tuple)
        else stage
        for stage in schedule
    ]


def probe_generators(code, given, record):
    for p, m in given["sizes"]:
        for name in ("gpipe", "one_f_one_b"):
            with record.step(f"{name}/{p}/{m}"):
                record("schedule", plain(getattr(code, name)(p, m)))
    for i, (p, m) in enumerate(given["again"]):
        with record.step(f"again/{i}"):
            first = code.one_f_one_b(p, m)
            for stage in first:
                stage.append(("F", 99))
            record("schedule", plain(code.one_f_one_b(p, m)))
            first = code.gpipe(p, m)
            first[0].append(("F", 99))
            record("gpipe", plain(first[1:]))


def operations(schedule):
    return [[(str(kind), int(j)) for kind, j in stage] for stage in schedule]


def probe_peaks(code, given, record):
    for kind, schedules in given["textbook"].items():
        for (p, m), schedule in zip(given["judged"], schedules, strict=True):
            with record.step(f"{kind}/{p}/{m}"):
                record("peaks", code.peak_in_flight(schedule))
    for i, schedule in enumerate([*map(operations, given["random"]), *FIXED.values()]):
        with record.step(f"other{i}"):
            record("peaks", code.peak_in_flight(copy.deepcopy(schedule)))


def probe_bubbles(code, given, record):
    for kind, schedules in given["textbook"].items():
        for (p, m), schedule in zip(given["judged"], schedules, strict=True):
            with record.step(f"{kind}/{p}/{m}"):
                record("default", number(code.bubble_fraction(schedule)))
                record("timed", [number(code.bubble_fraction(schedule, f, b)) for f, b in given["times"]])
    for i, schedule in enumerate([*map(operations, given["random"]), *FIXED.values()]):
        with record.step(f"other{i}"):
            schedule = copy.deepcopy(schedule)
            record("default", number(code.bubble_fraction(schedule)))
            timed = [
                number(code.bubble_fraction(schedule, forward_time=f, backward_time=b))
                for f, b in given["times"]
            ]
            record("timed", timed)


def probe_stuck(code, given, record):
    for name, schedule in given["stuck"].items():
        record.raises(name, lambda s=schedule: code.bubble_fraction(copy.deepcopy(s)))


def probe_kept(code, given, record):
    schedule = operations(given["random"][0])
    before = copy.deepcopy(schedule)
    record("before", before)
    record("peaks", [code.peak_in_flight(schedule) for _ in range(2)])
    record("bubbles", [number(code.bubble_fraction(schedule)) for _ in range(3)])
    code.bubble_fraction(schedule, 3.0, 0.5)
    record("again", number(code.bubble_fraction(schedule)))
    record("after", schedule)


def probe_errors(code, given, record):
    for name in ("gpipe", "one_f_one_b"):
        make = getattr(code, name)
        for text, p, m in (
            ("stages", 0, 4),
            ("negative_stages", -2, 4),
            ("batches", 3, 0),
            ("negative_batches", 3, -1),
        ):
            record.raises(f"{name}_{text}", lambda make=make, p=p, m=m: make(p, m))
    one = copy.deepcopy(FIXED["serial"])
    for text, f, b in (
        ("forward", 0.0, 1.0),
        ("backward", 1.0, 0.0),
        ("negative_forward", -1.0, 2.0),
        ("negative_backward", 1.0, -2.0),
    ):
        record.raises(text, lambda f=f, b=b: code.bubble_fraction(one, f, b))
    for text, schedule in (("nothing", []), ("empty_stages", [[], []])):
        record.raises(f"bubble_{text}", lambda s=schedule: code.bubble_fraction(s))
        record.raises(f"peak_{text}", lambda s=schedule: code.peak_in_flight(s))
