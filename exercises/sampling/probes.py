import math

import torch

DRAWS = 1500  # per kind of row


def well_apart(logits, t=1.0, k=None, p=None):
    """No ties at the border of a filter, and no sum near top_p, with a margin."""
    rows = logits.double().reshape(-1, logits.shape[-1]) / t
    if k is not None and k < rows.shape[1]:
        ordered = rows.sort(dim=-1, descending=True).values
        if ((ordered[:, k - 1] - ordered[:, k]) < 0.01).any():
            return False
        rows = rows.masked_fill(rows < ordered[:, k - 1 : k], -math.inf)
    if p is not None and p < 1:
        probs = rows.softmax(-1).sort(dim=-1, descending=True)
        sums = probs.values.cumsum(-1)
        if ((sums - p).abs() < 3e-3).any():
            return False
    return True


def kept_by(logits, t=1.0, k=None, p=None, nucleus=None):
    """Which tokens stay, in float64. ``nucleus`` takes the probabilities for top-p from other logits."""
    scores = logits.double() / t
    keep = torch.ones_like(scores, dtype=torch.bool)
    if k is not None and k < scores.shape[-1]:
        keep = scores >= scores.topk(k, dim=-1).values[..., -1:]
    if p is not None and p < 1:
        source = scores.masked_fill(~keep, -math.inf) if nucleus is None else nucleus.double()
        ordered, index = source.softmax(-1).sort(dim=-1, descending=True)
        before = ordered.cumsum(-1) - ordered
        keep = keep & torch.zeros_like(keep).scatter(-1, index, before < p)
    return keep


def spread_logits(draw, *shape, dtype=torch.float32):
    """Rows that differ in level and in how peaked they are."""
    widths = draw.rand(*shape[:-1], 1, low=0.7, high=2.5, dtype=torch.float64)
    levels = draw.normal(*shape[:-1], 1, scale=5.0, dtype=torch.float64)
    return (draw.normal(*shape, dtype=torch.float64) * widths + levels).to(dtype)


def temperature_cases(draw):
    b, t, v = draw.sizes(3)
    values = draw.shuffled([draw.uniform(0.3, 0.8), draw.uniform(1.4, 3.0), draw.uniform(0.3, 0.8)])
    shapes = [(v,), (b, v), (b, t, v)]
    dtypes = [torch.float32, torch.float64, torch.float32]
    return [
        {"logits": spread_logits(draw, *shape, dtype=dtype), "t": value}
        for shape, value, dtype in zip(shapes, values, dtypes, strict=True)
    ]


def top_k_cases(draw):
    found = []
    for dims, dtype in ((2, torch.float32), (1, torch.float32), (3, torch.float64), (2, torch.float32)):
        while True:
            shape = draw.sizes(dims, 5, 13)
            case = {
                "logits": spread_logits(draw, *shape, dtype=dtype),
                "t": draw.choice([draw.uniform(0.4, 0.8), draw.uniform(1.3, 2.5)]),
                "k": draw.integer(2, shape[-1] - 2),
            }
            if well_apart(case["logits"], case["t"], case["k"]):
                break
        found.append(case)
    return found


def nucleus_case(draw, shape, t=1.0, with_k=False, dtype=torch.float32):
    """Some rows whose first token exceeds p and some with several tokens kept; every shortcut shows."""
    while True:
        logits = spread_logits(draw, *shape, dtype=dtype)
        k = draw.integer(3, shape[-1] - 2) if with_k else None
        p = draw.uniform(0.45, 0.9)
        if not well_apart(logits, t, k, p):
            continue
        keep = kept_by(logits, t, k, p)
        counts = keep.sum(-1)
        if (
            int(counts.flatten()[0]) == 1
            or int(counts.max()) < 3
            or (len(shape) > 1 and not (counts == 1).any())
        ):
            continue
        if t != 1.0 and (keep == kept_by(logits, t, k, p, nucleus=logits)).all():
            continue
        if k is not None and (keep == kept_by(logits, t, k, p, nucleus=logits.double() / t)).all():
            continue
        return {"logits": logits, "t": t, "k": k, "p": p}


def two_kinds(draw, t=1.0, k=None, with_p=False):
    """Two rows of logits from which many draws are taken, clearly not uniform."""
    while True:
        vocab = draw.integer(5, 7)
        rows = draw.normal(2, vocab, scale=1.6, dtype=torch.float32)
        p = draw.uniform(0.5, 0.85) if with_p else None
        probs = (rows.double() / t).softmax(-1)
        twice = probs.softmax(-1)
        if probs.amax() > 0.8 or (probs - twice).abs().amax(-1).min() < 0.12:
            continue
        plain = rows.double().softmax(-1)
        if t != 1.0 and (probs - plain).abs().amax() < 0.12:
            continue
        kept = kept_by(rows, t, k, p)
        filtered = (rows.double() / t).masked_fill(~kept, -math.inf).softmax(-1)
        if (k is not None or with_p) and (filtered - probs).abs().amax() < 0.14:
            continue
        if well_apart(rows, t, k, p) and (kept.sum(-1) > 1).all():
            return {"rows": rows, "t": t, "k": k, "p": p}


def long_tail(draw):
    """One likely token and many unlikely ones on two levels; the border lies between the levels."""
    first, second = draw.integer(500, 900), draw.integer(500, 900)
    head = 5 + draw.integer(0, 15) / 16
    logits = torch.tensor([head] + [0.0] * first + [-1.0] * second, dtype=torch.float64)
    probs = logits.softmax(0)
    p = float(probs[: first + 1].sum() - probs[1] / 2)
    return {"logits": logits[draw.permutation(len(logits))], "p": p}


def half_case(draw, dtype):
    """Logits that differ clearly in half precision too."""
    while True:
        logits = draw.normal(draw.integer(2, 3), draw.integer(7, 9), scale=2.0).to(dtype)
        k, p, t = draw.integer(2, 5), draw.uniform(0.5, 0.9), draw.choice([0.5, 2.0])
        rows = logits.double().sort(dim=-1).values
        if (rows.diff(dim=-1) > 0.05).all() and well_apart(logits, t, k) and well_apart(logits, t, None, p):
            return {"logits": logits, "t": t, "k": k, "p": p}


def coarse_case(draw):
    """Distinct bfloat16 logits; divided by 3 and rounded, many of them would be the same."""
    logits = 6.0 + torch.arange(64)[draw.permutation(64)] / 32
    ordered = (logits.double() / 3).sort(descending=True).values.softmax(0)
    sums = ordered.cumsum(0)
    cuts = draw.sample(range(4, 60), 12)
    return {
        "logits": logits.to(torch.bfloat16),
        "t": 3.0,
        "runs": [{"k": cut} for cut in cuts[:8]]
        + [{"p": float(sums[cut] - ordered[cut] / 2)} for cut in cuts[8:]],
    }


def script(draw, eos=None):
    """What a scripted model answers per row and position, and where its end token comes (not 0 if drawn)."""
    batch, vocab = draw.sizes(2, 5, 7)
    start, n_new = draw.integer(3, 6), draw.integer(9, 12)
    eos = draw.integer(1, vocab - 1) if eos is None else eos
    others = [token for token in range(vocab) if token != eos]
    answers = [[draw.choice(others) for _ in range(start + n_new)] for _ in range(batch)]
    prompt = [[draw.choice(others) for _ in range(start)] for _ in range(batch)]
    prompt[0][start - 1] = eos
    prompt[1][0] = eos
    ends = draw.sample(range(1, n_new - 1), batch)
    ends[2] = 0
    longest = max(ends)
    for row, end in enumerate(ends):
        answers[row][start - 1 + end] = eos
    return {
        "prompt": torch.tensor(prompt),
        "answers": torch.tensor(answers),
        "vocab": vocab,
        "n_new": n_new,
        "eos": eos,
        "ends": ends,
        "columns": longest + 1,
        "short": draw.integer(2, 3),
    }


def forbidden_case(draw):
    logits = draw.normal(1, 9, scale=1.5).repeat(120, 1)
    banned = draw.sample(range(9), 6)
    logits[:, banned] = -math.inf
    return {"logits": logits, "banned": banned, "k": draw.integer(4, 6)}


def inputs(draw):
    b, t, v = draw.sizes(3, 5, 13)
    huge = draw.permutation(11).double()
    return {
        "temperature": temperature_cases(draw),
        "top_k": top_k_cases(draw),
        "wide": {"logits": spread_logits(draw, b, v), "t": draw.uniform(0.4, 0.8)},
        "greedy": {
            "logits": [spread_logits(draw, v), spread_logits(draw, b, v), spread_logits(draw, b, t, v)]
        },
        "frequencies": [
            two_kinds(draw),
            two_kinds(draw, t=draw.choice([draw.uniform(0.35, 0.5), draw.uniform(2.2, 3.0)])),
            two_kinds(draw, t=draw.uniform(0.5, 0.7), k=3),
        ],
        "nucleus_frequencies": two_kinds(draw, t=draw.uniform(1.3, 1.8), k=4, with_p=True),
        "nucleus": [nucleus_case(draw, (draw.integer(5, 8), draw.integer(7, 12))) for _ in range(2)]
        + [nucleus_case(draw, (draw.integer(5, 8), draw.integer(7, 12)), dtype=torch.float64)],
        "warm": [
            nucleus_case(draw, (b, v), t=draw.uniform(0.4, 0.7)),
            nucleus_case(draw, (b, v), t=draw.uniform(1.5, 2.5)),
            nucleus_case(draw, (v,), t=draw.uniform(1.5, 2.5)),
            nucleus_case(draw, (3, draw.integer(2, 4), v), t=draw.uniform(1.5, 2.5)),
        ],
        "both": [
            nucleus_case(draw, (b, v), with_k=True),
            nucleus_case(draw, (b, v), t=draw.uniform(1.3, 2.0), with_k=True),
        ],
        "peaked": torch.stack([draw.permutation(9) * 30.0, draw.permutation(9) * 0.3]),
        "flat": draw.normal(2, 613, scale=0.1),
        "seeds": [draw.seed() for _ in range(3)],
        "broad": draw.normal(40, 23, scale=0.3),
        "script": script(draw),
        "constant": [
            {
                **two_kinds(draw, t=draw.choice([draw.uniform(0.35, 0.5), draw.uniform(2.2, 3.0)])),
                "eos": None,
            },
            {**two_kinds(draw, k=3), "eos": None},
            {**two_kinds(draw, t=draw.uniform(1.3, 1.8), with_p=True), "eos": None},
        ],
        "huge": {
            # Gaps of 0.01 at a temperature of 0.01 are gaps of 1.
            "logits": torch.stack([1e4 - 0.0078125 * huge, -1e4 + 0.0078125 * huge.flip(0)]).float(),
            "k": draw.integer(3, 6),
        },
        "forbidden": forbidden_case(draw),
        "half": [half_case(draw, torch.bfloat16), half_case(draw, torch.float16)],
        "coarse": coarse_case(draw),
        "tail": [long_tail(draw), long_tail(draw)],
        "apart": nucleus_case(draw, (b, v), t=draw.uniform(1.3, 2.0), with_k=True),
        "zero": script(draw, eos=0),
    }


def options(case):
    found = {"temperature": case["t"]} if case["t"] != 1.0 else {}
    if case.get("k") is not None:
        found["top_k"] = case["k"]
    if case.get("p") is not None:
        found["top_p"] = case["p"]
    return found


def probe_filter(code, given, record):
    for i, case in enumerate(given["temperature"]):
        with record.step(f"temperature{i}"):
            record("out", code.filter_logits(case["logits"].clone(), temperature=case["t"]))
    with record.step("default"):
        record("out", code.filter_logits(given["wide"]["logits"].clone()))
    for name in ("top_k", "nucleus", "warm", "both"):
        for i, case in enumerate(given[name]):
            with record.step(f"{name}{i}"):
                record("out", code.filter_logits(case["logits"].clone(), **options(case)))
    wide = given["wide"]
    for i, k in enumerate((1, wide["logits"].shape[-1], wide["logits"].shape[-1] + 4)):
        with record.step(f"limit{i}"):
            record("out", code.filter_logits(wide["logits"].clone(), wide["t"], k))
    for i, logits in enumerate(given["greedy"]["logits"]):
        with record.step(f"greedy{i}"):
            record("out", code.filter_logits(logits.clone(), temperature=0.0))
        with record.step(f"greedy_k{i}"):
            record("out", code.filter_logits(logits.clone(), temperature=0, top_k=3))
        with record.step(f"greedy_p{i}"):
            record("out", code.filter_logits(logits.clone(), temperature=0.0, top_p=0.9))
    for name in ("peaked", "flat"):
        with record.step(name):
            record("out", code.filter_logits(given[name].clone(), top_p=1.0))


def many(rows):
    """The two kinds of rows in turn."""
    return rows.repeat(DRAWS, 1)


def probe_sample(code, given, record):
    for i, case in enumerate(given["frequencies"]):
        with record.step(i):
            record("out", code.sample(many(case["rows"]), **options(case)))
    with record.step("nucleus"):
        case = given["nucleus_frequencies"]
        record("out", code.sample(many(case["rows"]), **options(case)))
    with record.step("one"):
        record("out", code.sample(given["broad"][:1].clone()))
    logits = given["greedy"]["logits"][1]
    for name, extra in (
        ("plain", {}),
        ("k", {"top_k": 3}),
        ("p", {"top_p": 0.3}),
        ("both", {"top_k": 2, "top_p": 0.5}),
    ):
        with record.step(f"greedy_{name}"):
            record("out", code.sample(logits.clone(), temperature=0.0, **extra))
    with record.step("greedy_cold"):
        record("out", code.sample(logits.clone(), temperature=0))


def generator(record, seed):
    return torch.Generator(device=record.device).manual_seed(seed)


def numbers(record, source=None):
    """What a generator, or the global one, gives next; this shows its state."""
    return torch.rand(4, generator=source, device=record.device)


def steady(logits):
    """A model that returns the same logits (B, V) at the last position of any tokens."""

    def step(tokens):
        out = torch.zeros(*tokens.shape, logits.shape[-1], device=logits.device)
        out[:, -1] = logits
        return out

    return step


def probe_random(code, given, record):
    one, other, third = given["seeds"]
    broad = given["broad"]
    prompt = torch.zeros(len(broad), 2, dtype=torch.int64, device=record.device)
    calls = {
        "sample": lambda **kw: code.sample(broad.clone(), **kw),
        "generate": lambda **kw: code.generate(steady(broad), prompt.clone(), 3, **kw),
    }
    for name, call in calls.items():
        with record.step(f"{name}_given"):
            first, second = generator(record, one), generator(record, one)
            record("before", numbers(record, generator(record, one)))
            torch.manual_seed(third)
            record("global_before", numbers(record))
            torch.manual_seed(third)
            record("out", call(generator=first))
            record("global_after", numbers(record))
            torch.manual_seed(other)
            record("again", call(generator=second))
            record("next", call(generator=first))
            record("after", numbers(record, second))
        with record.step(f"{name}_global"):
            torch.manual_seed(one)
            record("out", call())
            record("next", call())
            torch.manual_seed(one)
            record("again", call())
            torch.manual_seed(other)
            record("other", call())
        with record.step(f"{name}_greedy"):
            source = generator(record, one)
            record("before", numbers(record, generator(record, one)))
            torch.manual_seed(third)
            record("global_before", numbers(record))
            torch.manual_seed(third)
            call(temperature=0.0, generator=source)
            record("global_after", numbers(record))
            record("after", numbers(record, source))
            torch.manual_seed(third)
            call(temperature=0.0)
            record("global_without", numbers(record))


def scripted(case, record, seen):
    """A model that follows a script. Only the last position says what comes next."""
    answers = case["answers"]

    def step(tokens):
        seen.append(tokens.detach().clone())
        rows, width = tokens.shape
        out = torch.zeros(rows, width, case["vocab"], device=record.device)
        out.scatter_(2, (answers[:rows, :width, None] + 1) % case["vocab"], 35.0)
        out[:, -1] = 0.0
        out[:, -1].scatter_(1, answers[:rows, width - 1, None], 35.0)
        return out

    return step


def probe_generate(code, given, record):
    case = given["script"]
    prompt = case["prompt"]
    late = [row for row in range(len(prompt)) if case["ends"][row] >= case["short"]]
    runs = {
        "eos": (prompt, case["n_new"], {"eos_id": case["eos"], "temperature": 0.0}),
        "sampled": (prompt, case["n_new"], {"eos_id": case["eos"], "temperature": 0.5}),
        "short": (prompt[late], case["short"], {"eos_id": case["eos"]}),
        "endless": (prompt, case["n_new"], {}),
        "nothing": (prompt, 0, {"eos_id": case["eos"]}),
        "single": (prompt[:1], case["n_new"], {"eos_id": case["eos"]}),
    }
    for name, (tokens, n_new, extra) in runs.items():
        with record.step(name):
            seen = []
            script = {**case, "answers": case["answers"][late]} if name == "short" else case
            record("out", code.generate(scripted(script, record, seen), tokens.clone(), n_new, **extra))
            record("calls", len(seen))
            record("seen", seen[:40])
    with record.step("zero"):
        seen, zero = [], given["zero"]
        step = scripted(zero, record, seen)
        record("out", code.generate(step, zero["prompt"].clone(), zero["n_new"], eos_id=0))
        record("calls", len(seen))
        record("seen", seen[:40])
    for i, case in enumerate(given["constant"]):
        with record.step(f"constant{i}"):
            rows = case["rows"].repeat(DRAWS // 4, 1)
            tokens = torch.zeros(len(rows), 1, dtype=torch.int64, device=record.device)
            record("out", code.generate(steady(rows), tokens, 4, **options(case)))


def probe_extreme(code, given, record):
    huge = given["huge"]
    for name, extra in (("plain", {}), ("k", {"top_k": huge["k"]}), ("p", {"top_p": 0.85})):
        with record.step(f"huge_{name}"):
            record("out", code.filter_logits(huge["logits"].clone(), 0.01, **extra))
    with record.step("huge_sample"):
        record("out", code.sample(huge["logits"].repeat(DRAWS // 2, 1), 0.01))
    case = given["forbidden"]
    for name, extra in (
        ("plain", {}),
        ("hot", {"temperature": 50.0}),
        ("k", {"top_k": case["k"], "temperature": 3.0}),
        ("p", {"top_p": 0.9, "temperature": 3.0}),
        ("all", {"top_p": 1.0, "temperature": 3.0}),
        ("greedy", {"temperature": 0.0}),
    ):
        with record.step(f"forbidden_{name}"):
            record("out", code.sample(case["logits"].clone(), **extra))
            record("filtered", code.filter_logits(case["logits"][:1].clone(), **extra))
    for i, case in enumerate(given["half"]):
        logits = case["logits"]
        with record.step(f"half_k{i}"):
            record("out", code.filter_logits(logits.clone(), case["t"], top_k=case["k"]))
        with record.step(f"half_p{i}"):
            record("out", code.filter_logits(logits.clone(), case["t"], top_p=case["p"]))
        with record.step(f"half_plain{i}"):
            record("out", code.filter_logits(logits.clone(), case["t"]))
        with record.step(f"half_greedy{i}"):
            record("out", code.filter_logits(logits.clone(), 0.0))
        with record.step(f"half_sample{i}"):
            record("out", code.sample(logits.repeat(50, 1), case["t"], top_k=case["k"]))
    case = given["coarse"]
    for i, run in enumerate(case["runs"]):
        with record.step(f"coarse{i}"):
            record("out", code.filter_logits(case["logits"][None].clone(), **options({**case, **run})))
    for i, case in enumerate(given["tail"]):
        with record.step(f"tail{i}"):
            record("out", code.filter_logits(case["logits"].bfloat16()[None], top_p=case["p"]))


def probe_errors(code, given, record):
    logits = torch.arange(12.0, device=record.device).reshape(3, 4) % 5
    tokens = torch.zeros(3, 2, dtype=torch.int64, device=record.device)
    bad = {
        "temperature": {"temperature": -0.5},
        "k_zero": {"top_k": 0},
        "k_negative": {"top_k": -1},
        "p_zero": {"top_p": 0.0},
        "p_negative": {"top_p": -0.1},
        "p_above": {"top_p": 1.1},
    }
    for name, extra in bad.items():
        record.raises(f"filter_{name}", lambda extra=extra: code.filter_logits(logits.clone(), **extra))
        record.raises(f"sample_{name}", lambda extra=extra: code.sample(logits.clone(), **extra))
        record.raises(
            f"generate_{name}", lambda extra=extra: code.generate(steady(logits), tokens.clone(), 2, **extra)
        )
    record.raises("n_new", lambda: code.generate(steady(logits), tokens.clone(), -1))
    nan, plus, minus = logits.clone(), logits.clone(), logits.clone()
    nan[1, 2], plus[2, 0], minus[1] = math.nan, math.inf, -math.inf
    allowed = ({}, {"temperature": 0.0}, {"top_k": 2}, {"top_p": 0.8})
    for name, values in (
        ("nan", nan),
        ("plus", plus),
        ("minus", minus),
        ("nans", torch.full_like(logits, math.nan)),
    ):
        for i, extra in enumerate(allowed):
            record.raises(
                f"{name}{i}", lambda values=values, extra=extra: code.sample(values.clone(), **extra)
            )


def probe_untouched(code, given, record):
    case = given["apart"]
    logits, t, k, p = case["logits"], case["t"], case["k"], case["p"]
    settings = {
        "plain": {},
        "warm": {"temperature": t},
        "k": {"top_k": k},
        "p": {"top_p": 0.6},
        "all": {"temperature": t, "top_k": k, "top_p": p},
        "greedy": {"temperature": 0.0},
    }
    for name, extra in settings.items():
        with record.step(f"filter_{name}"):
            values = logits.clone()
            code.filter_logits(values, **extra)
            record("after", values)
        with record.step(f"sample_{name}"):
            values = logits.clone()
            code.sample(values, **extra)
            record("after", values)
    with record.step("generate"):
        prompt = given["script"]["prompt"].clone()
        values = given["broad"][: len(prompt)].clone()
        shown = values[:, None].repeat(1, prompt.shape[1] + 3, 1)
        code.generate(
            lambda tokens: shown[:, : tokens.shape[1]], prompt, 3, eos_id=0, temperature=0.7, top_k=3
        )
        record("after", [prompt, shown])
    layouts = {
        "turned": logits.T.contiguous().T,
        "strided": torch.stack([logits, logits + 1], dim=-1)[..., 0],
        "swapped": torch.stack([logits, logits], dim=1).transpose(0, 1).contiguous().transpose(0, 1),
    }
    for name, values in layouts.items():
        with record.step(f"layout_{name}"):
            record("out", code.filter_logits(values, t, k, p))
        with record.step(f"layout_greedy_{name}"):
            record("out", code.filter_logits(values, 0.0))
    with record.step("layout_sample"):
        record("out", code.sample(logits.T.contiguous().T, 0.0))
        record("drawn", code.sample(logits.T.contiguous().T, t, k, p))
