import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

INF = math.inf
FREQUENCY = {"rtol": 0.0, "atol": 0.07}


def holds(observe, *tests):
    """Whether these tests pass. What builds on them accuses nobody of another mistake if they do not."""
    for test in tests:
        try:
            test(observe)
        except AssertionError:
            return False
    return True


def ranks(scores):
    """The place of each token in its row, 0 for the most likely."""
    return scores.argsort(dim=-1, descending=True).argsort(dim=-1)


def before(scores):
    """Per token the total probability of all more likely ones."""
    ordered, index = scores.softmax(-1).sort(dim=-1, descending=True)
    return torch.zeros_like(ordered).scatter(-1, index, ordered.cumsum(-1) - ordered)


def only(scores, keep, other=-INF):
    return torch.where(keep, scores, other)


def parameters(case):
    return case["logits"].double(), case.get("t", 1.0), case.get("k"), case.get("p")


def expected(case):
    logits, t, k, p = parameters(case)
    scores = logits / t
    if k is not None:
        scores = only(scores, ranks(scores) < k)
    if p is not None and p < 1:
        scores = only(scores, before(scores) < p)
    return scores


def call_of(name, case):
    shape = tuple(case["logits"].shape)
    found = [f"logits of shape {shape}"]
    for key, text in (("t", "temperature"), ("k", "top_k"), ("p", "top_p")):
        if case.get(key) is not None and not (key == "t" and case["t"] == 1.0):
            value = case[key]
            found.append(f"{text}={value:.3g}" if isinstance(value, float) else f"{text}={value}")
    return f"{name}({', '.join(found)})"


SHARPEN = "A temperature below 1 must sharpen the distribution."


@behaviour(1)
def test_temperature(observe):
    for i, case in enumerate(observe.given["temperature"]):
        logits = case["logits"].double()
        close(
            observe[f"filter/temperature{i}/out"],
            logits / case["t"],
            "filter_logits must return logits / temperature.",
            rtol=1e-5,
            atol=1e-6,
            device=observe.device,
            call=call_of("filter_logits", case),
            mistakes=[
                (f"{SHARPEN} Yours multiplies the logits by it.", logits * case["t"]),
                ("The temperature has no effect.", logits),
                ("These are probabilities: filter_logits returns logits.", (logits / case["t"]).softmax(-1)),
                (
                    "These are log-probabilities: filter_logits returns logits / temperature.",
                    (logits / case["t"]).log_softmax(-1),
                ),
                (
                    "The logits were shifted: filter_logits returns logits / temperature.",
                    (logits - logits.amax(-1, keepdim=True)) / case["t"],
                ),
            ],
        )
    close(
        observe["filter/default/out"],
        observe.given["wide"]["logits"],
        "Without arguments nothing changes: the temperature is 1 and no filter is on.",
        rtol=1e-5,
        atol=1e-6,
        device=observe.device,
    )


def top_k_mistakes(case):
    logits, t, k, _ = parameters(case)
    scores = logits / t
    vocab = logits.shape[-1]
    place = ranks(scores)
    flat = scores.reshape(-1, vocab)
    kth = flat.sort(dim=-1, descending=True).values[:, min(k, vocab) - 1]
    found = [
        ("A logit of 0 still has probability: use -inf.", only(scores, place < k, 0.0)),
        ("The kept logits are not divided by the temperature.", only(logits, place < k)),
        ("The kept logits are not divided by the temperature but multiplied.", only(logits * t, place < k)),
        ("top_k keeps k tokens; yours keeps one less.", only(scores, place < k - 1)),
        ("top_k keeps k tokens; yours keeps one more.", only(scores, place <= k)),
        ("top_k keeps the largest logits; yours keeps the smallest.", only(scores, place >= vocab - k)),
        ("top_k removes the others; yours removes the largest.", only(scores, place >= k)),
        (
            "Removed logits become -inf; yours only get a large negative number.",
            only(scores, place < k, -1e9),
        ),
        (
            "Removed logits become -inf; yours only get a large negative number.",
            only(scores, place < k, torch.finfo(torch.float32).min),
        ),
        ("top_k has no effect.", scores),
        (
            "filter_logits returns a logit for every token; yours are sorted.",
            scores.sort(dim=-1, descending=True).values.masked_fill(torch.arange(vocab) >= k, -INF),
        ),
    ]
    if logits.dim() > 1:
        own = "Each row has its own k."
        everything = scores.flatten().sort(descending=True).values
        found += [
            (own, only(scores, scores >= kth[0])),
            (own, only(scores, scores >= kth.min())),
            (own, only(scores, scores >= kth.max())),
            (own, only(scores, scores >= kth[-1])),
            (own, only(scores, scores >= everything[min(k, vocab) - 1])),
        ]
    return found


@behaviour(2)
def test_top_k(observe):
    for i, case in enumerate(observe.given["top_k"]):
        close(
            observe[f"filter/top_k{i}/out"],
            expected(case),
            "top_k must keep the k largest logits of each row, divided by the temperature, and set the others to -inf.",
            rtol=1e-5,
            atol=1e-6,
            device=observe.device,
            call=call_of("filter_logits", case),
            mistakes=top_k_mistakes(case),
        )


@behaviour(2, on_error="top_k may be 1, and as large as the vocabulary or larger.")
def test_limits_of_top_k(observe):
    wide = observe.given["wide"]
    vocab = wide["logits"].shape[-1]
    for i, k in enumerate((1, vocab, vocab + 4)):
        case = {**wide, "k": k}
        says = (
            "With top_k=1 only the largest logit stays." if k == 1 else "With top_k >= V nothing is removed."
        )
        close(
            observe[f"filter/limit{i}/out"],
            expected(case),
            says,
            rtol=1e-5,
            atol=1e-6,
            device=observe.device,
            call=call_of("filter_logits", case),
            mistakes=top_k_mistakes(case),
        )


def shares(tokens, vocab):
    return torch.bincount(tokens, minlength=vocab)[:vocab].double() / len(tokens)


def drawn(observe, path, rows, vocab):
    """The tokens at ``path`` as one list per kind of row, or a finding."""
    out = observe.tensor(path, "sample returns a tensor of tokens.")
    expect(out.dtype == torch.int64, "The tokens must be int64.", f"got {out.dtype}")
    expect(
        out.shape == (rows,),
        "sample returns one token for each row, of shape (B,).",
        f"got {tuple(out.shape)} for {rows} rows",
    )
    expect(bool(((out >= 0) & (out < vocab)).all()), "A token is an index of the vocabulary.")
    return out[::2], out[1::2]


def check_shares(observe, got, case, kind, call, extra=()):
    rows = {**case, "logits": case["rows"]}
    want = expected(rows).softmax(-1)[kind]
    raw = case["rows"].double()[kind]
    t = case["t"]
    seen = shares(got, len(raw))
    mistakes = [
        ("You applied softmax twice: almost uniform.", want.softmax(-1)),
        ("You applied softmax twice: almost uniform.", raw.softmax(-1).softmax(-1)),
        ("The tokens are uniform over the vocabulary.", torch.full_like(want, 1 / len(want))),
        ("The filters have no effect on the tokens.", raw.softmax(-1)),
        (f"{SHARPEN} Yours multiplies the logits by it.", (raw * t).softmax(-1)),
        ("The temperature was applied twice.", (raw / t / t).softmax(-1)),
        (
            "sample always takes the most likely token, or draws once for all rows.",
            torch.nn.functional.one_hot(raw.argmax(), len(raw)).double(),
        ),
        *extra,
    ]
    # Frequencies are rough, so several mistakes may fit: the closest one is named.
    distances = [float((seen - wrong).abs().max()) for _, wrong in mistakes]
    nearest = mistakes[distances.index(min(distances))]
    close(
        seen,
        want,
        "The tokens do not have the probabilities softmax(filter_logits(...)).",
        **FREQUENCY,
        call=call + f"; these are the frequencies of the tokens over {len(got)} draws",
        mistakes=[nearest],
    )


def check_many(observe, path, case):
    vocab = case["rows"].shape[1]
    count = len(observe.tensor(path).flatten())
    kinds = drawn(observe, path, count, vocab)
    expect(count > 1000, "sample returns one token for each row, of shape (B,).", f"got {count} tokens")
    call = call_of("sample", {**case, "logits": case["rows"].repeat(count // 2, 1)})
    probs = expected({**case, "logits": case["rows"]}).softmax(-1)
    for kind, got in enumerate(kinds):
        other = probs[1 - kind]
        check_shares(
            observe,
            got,
            case,
            kind,
            call,
            [
                ("Each row has its own distribution.", other),
                ("Each row has its own distribution.", probs.mean(0)),
            ],
        )
    pairs = shares(kinds[0] * vocab + kinds[1], vocab * vocab)
    close(
        pairs,
        torch.outer(probs[0], probs[1]).flatten(),
        "Rows must be drawn independently: neighbors depend on each other.",
        **FREQUENCY,
        call=call,
    )


@behaviour(3)
def test_frequencies(observe):
    observe["sample/0/out"]
    if not holds(observe, test_temperature, test_top_k):
        return
    for i, case in enumerate(observe.given["frequencies"]):
        check_many(observe, f"sample/{i}/out", case)


@behaviour(3, on_error="A batch of one row is a batch, too.")
def test_one_row(observe):
    logits = observe.given["broad"]
    out = observe.tensor("sample/one/out", "sample returns a tensor of tokens.")
    expect(
        out.shape == (1,),
        "sample returns one token for each row, of shape (B,).",
        f"got {tuple(out.shape)} for one row",
    )
    expect(0 <= int(out[0]) < logits.shape[1], "A token is an index of the vocabulary.")


ZERO = "Temperature 0 gives NaN: treat it as argmax."
GREEDY = "Temperature 0 is greedy decoding and must not fail."


def check_greedy_filter(observe, path, logits):
    want = only(logits.double(), ranks(logits.double()) == 0)
    out = observe.tensor(path, "filter_logits returns a tensor.")
    divided = out.isnan().any() or out.isposinf().any()
    expect(not divided, ZERO, "filter_logits returned NaN or inf")
    low = torch.finfo(logits.dtype).min
    close(
        out,
        want,
        "At temperature 0 filter_logits keeps only the largest logit, at its own value, and the others become -inf.",
        rtol=1e-5,
        atol=1e-6,
        device=observe.device,
        call=f"filter_logits(logits of shape {tuple(logits.shape)}, temperature=0)",
        mistakes=[
            ("At temperature 0 the logits were returned unfiltered.", logits),
            (ZERO, torch.full_like(want, -INF)),
            (
                "At temperature 0 the largest logit keeps its own value; yours is 0.",
                only(torch.zeros_like(want), want > -INF),
            ),
            ("A logit of 0 still has probability: use -inf.", only(logits.double(), want > -INF, 0.0)),
            (
                "Removed logits become -inf; yours only get a large negative number.",
                only(logits.double(), want > -INF, low),
            ),
        ],
    )


@behaviour(4, on_error=GREEDY)
def test_greedy_filter(observe):
    for i, logits in enumerate(observe.given["greedy"]["logits"]):
        check_greedy_filter(observe, f"filter/greedy{i}/out", logits)
        check_greedy_filter(observe, f"filter/greedy_k{i}/out", logits)


def check_greedy_sample(observe, name):
    logits = observe.given["greedy"]["logits"][1]
    out = observe.tensor(f"sample/greedy_{name}/out", "sample returns a tensor of tokens.")
    expect(
        out.shape == logits.shape[:1],
        "sample returns one token for each row, of shape (B,).",
        f"got {tuple(out.shape)}",
    )
    expect(out.dtype == torch.int64, "The tokens must be int64.", f"got {out.dtype}")
    close(
        out,
        logits.argmax(-1),
        "With temperature 0 sample returns the argmax of each row.",
        rtol=0.0,
        atol=0.0,
        device=observe.device,
        call=f"sample(logits of shape {tuple(logits.shape)}, temperature=0)",
    )


@behaviour(4, on_error=GREEDY)
def test_greedy_sample(observe):
    for name in ("plain", "k", "cold"):
        check_greedy_sample(observe, name)


# --- top-p

CROSSING = "The kept set does not reach p."
EMPTY = "A first token above p leaves the row empty."


def top_p_mistakes(case):
    logits, t, k, p = parameters(case)
    scores = logits / t
    if k is not None:
        scores = only(scores, ranks(scores) < k)
    place, start, probs = ranks(scores), before(scores), scores.softmax(-1)
    end = start + probs
    order = scores.argsort(dim=-1, descending=True)
    in_order = start.gather(-1, order) < p
    full = logits / t
    found = [
        (f"{CROSSING} The token that crosses p stays.", only(scores, (end < p) | (place == 0))),
        (f"{CROSSING} The token that crosses p stays.", only(scores, end < p)),
        ("Bring the mask back with scatter. Yours is applied in sorted order.", only(scores, in_order)),
        (
            "Bring the mask back with scatter. Yours is applied in sorted order.",
            only(scores, in_order.gather(-1, order)),
        ),
        (
            "Kept logits stay at their places; yours are sorted.",
            scores.gather(-1, order).masked_fill(~in_order, -INF),
        ),
        (
            "Yours keeps one token too many: the sum before a token decides.",
            only(scores, torch.where(place == 0, 0.0, start - before_last(probs, order)) < p),
        ),
        ("top_p sums the most likely tokens; yours starts with the least likely.", only(scores, 1 - end < p)),
        (
            "top_p bounds the sum of the probabilities, not each one.",
            only(scores, (probs >= p) | (place == 0)),
        ),
        (
            "top_p bounds the sum; yours keeps tokens of at least p times the largest probability.",
            only(scores, probs >= p * probs.amax(-1, keepdim=True)),
        ),
        ("A logit of 0 still has probability: use -inf.", only(scores, start < p, 0.0)),
        ("top_p has no effect.", scores),
        ("The kept logits are not divided by the temperature.", only(logits, start < p)),
    ]
    taken = "Take the nucleus of the distribution that you sample."
    if t != 1.0:
        source = logits if k is None else only(logits, ranks(logits) < k)
        found.append((f"{taken} Yours is that before the temperature.", only(scores, before(source) < p)))
    if k is not None:
        found.append((f"{taken} Yours is that before top-k.", only(scores, before(full) < p)))
        found.append(
            (f"{taken} Yours is that before top-k and temperature.", only(scores, before(logits) < p))
        )
    if logits.dim() > 1:
        own = "Each row has its own nucleus."
        rows = scores.reshape(-1, scores.shape[-1])
        counts = (start < p).reshape(rows.shape).sum(-1)
        for count in (counts[0], counts[-1], counts.max(), counts.min()):
            found.append((own, only(scores, place < count)))
        found.append((own, only(scores.flatten(), before(scores.flatten()) < p).reshape(scores.shape)))
    return found


def before_last(probs, order):
    """Per token the probability of the token just before it in descending order."""
    ordered = probs.gather(-1, order)
    shifted = torch.cat([torch.zeros_like(ordered[..., :1]), ordered[..., :-1]], -1)
    return torch.zeros_like(probs).scatter(-1, order, shifted)


def check_nucleus(observe, path, case):
    want = expected(case)
    out = observe[path]
    if isinstance(out, torch.Tensor) and out.shape == want.shape and not out.is_complex():
        empty = (out == -INF).all(-1)
        sure = (want > -INF).sum(-1) == 1
        expect(
            not empty.any() or not alike(empty, sure),
            EMPTY,
            f"{int(empty.sum())} rows; called: {call_of('filter_logits', case)}",
        )
    close(
        out,
        want,
        "top_p must keep exactly the tokens for which the total probability of all more likely ones is below p.",
        rtol=1e-5,
        atol=1e-6,
        device=observe.device,
        call=call_of("filter_logits", case),
        mistakes=top_p_mistakes(case),
    )


@behaviour(5)
def test_nucleus(observe):
    for i, case in enumerate(observe.given["nucleus"]):
        check_nucleus(observe, f"filter/nucleus{i}/out", case)


@behaviour(6)
def test_nucleus_after_temperature(observe):
    for i, case in enumerate(observe.given["warm"]):
        check_nucleus(observe, f"filter/warm{i}/out", case)


@behaviour(6)
def test_nucleus_after_top_k(observe):
    for i, case in enumerate(observe.given["both"]):
        check_nucleus(observe, f"filter/both{i}/out", case)


FILTERS = (
    test_temperature,
    test_top_k,
    test_nucleus,
    test_nucleus_after_temperature,
    test_nucleus_after_top_k,
)


@behaviour(6)
def test_sampling_from_the_nucleus(observe):
    case = observe.given["nucleus_frequencies"]
    observe["sample/nucleus/out"]
    if not holds(observe, *FILTERS, test_frequencies):
        return
    check_many(observe, "sample/nucleus/out", case)


@behaviour(6)
def test_top_p_of_one(observe):
    for name in ("peaked", "flat"):
        logits = observe.given[name]
        close(
            observe[f"filter/{name}/out"],
            logits,
            "top_p=1 must remove nothing, even if the sum of the likely tokens rounds to 1.",
            rtol=1e-5,
            atol=1e-6,
            device=observe.device,
            call=f"filter_logits(logits of shape {tuple(logits.shape)}, top_p=1.0)",
        )


@behaviour(6, on_error=GREEDY)
def test_greedy_with_top_p(observe):
    for i, logits in enumerate(observe.given["greedy"]["logits"]):
        check_greedy_filter(observe, f"filter/greedy_p{i}/out", logits)
    for name in ("p", "both"):
        check_greedy_sample(observe, name)


# --- randomness

SAME = "Every call returns the same token."


def state(observe, seed, recorded):
    """What a generator with this seed gives first: computed here where the device allows it."""
    if observe.device == "cpu":
        return torch.rand(4, generator=torch.Generator().manual_seed(seed))
    return observe[recorded]


@behaviour(7)
def test_given_generator(observe):
    one, _, third = observe.given["seeds"]
    for name in ("sample", "generate"):
        path = f"random/{name}_given"
        expect(
            alike(observe[f"{path}/out"], observe[f"{path}/again"]),
            f"{name}: two generators in the same state must give the same tokens.",
        )
        expect(
            not alike(observe[f"{path}/out"], observe[f"{path}/next"]),
            f"{SAME} {name} must advance the given generator.",
        )
        expect(
            not alike(observe[f"{path}/after"], state(observe, one, f"{path}/before")),
            f"{name} must draw from the given generator; its state did not change.",
        )
        expect(
            alike(observe[f"{path}/global_after"], state(observe, third, f"{path}/global_before")),
            f"{name} must leave the global generator alone when it is given one.",
        )


@behaviour(7)
def test_global_generator(observe):
    for name in ("sample", "generate"):
        path = f"random/{name}_global"
        out = observe[f"{path}/out"]
        expect(
            not alike(out, observe[f"{path}/next"]),
            f"{SAME} Without a generator {name} draws from the global one.",
        )
        expect(
            alike(out, observe[f"{path}/again"]),
            f"{name}: without a generator the global one is used, so torch.manual_seed repeats a run.",
        )
        expect(
            not alike(out, observe[f"{path}/other"]),
            f"{SAME} After another torch.manual_seed {name} must draw other tokens.",
        )


@behaviour(7)
def test_greedy_draws_nothing(observe):
    one, _, third = observe.given["seeds"]
    for name in ("sample", "generate"):
        path = f"random/{name}_greedy"
        expect(
            alike(observe[f"{path}/after"], state(observe, one, f"{path}/before")),
            f"{name}: greedy decoding draws nothing; the generator changed.",
        )
        for when in ("after", "without"):
            expect(
                alike(observe[f"{path}/global_{when}"], state(observe, third, f"{path}/global_before")),
                f"{name}: greedy decoding draws nothing; the global generator changed.",
            )


# --- generate


def continued(case, prompt, n_new, eos, rows=None):
    """The right tokens, and the number of calls of step."""
    answers = case["answers"] if rows is None else case["answers"][rows]
    tokens, done = prompt, torch.zeros(len(prompt), dtype=torch.bool)
    for calls in range(n_new):
        if eos is not None and bool(done.all()):
            return tokens, calls
        new = answers[: len(prompt), tokens.shape[1] - 1]
        if eos is not None:
            new = torch.where(done, eos, new)
            done = done | (new == eos)
        tokens = torch.cat([tokens, new[:, None]], 1)
    return tokens, n_new


def generate_runs(observe):
    case = observe.given["script"]
    prompt, n_new, eos = case["prompt"], case["n_new"], case["eos"]
    late = [row for row in range(len(prompt)) if case["ends"][row] >= case["short"]]
    zero = observe.given["zero"]
    return {
        "eos": (case, prompt, n_new, eos, None),
        "sampled": (case, prompt, n_new, eos, None),
        "short": (case, prompt[late], case["short"], eos, late),
        "endless": (case, prompt, n_new, None, None),
        "nothing": (case, prompt, 0, eos, None),
        "single": (case, prompt[:1], n_new, eos, None),
        "zero": (zero, zero["prompt"], zero["n_new"], zero["eos"], None),
    }


def generate_mistakes(case, prompt, n_new, eos, rows):
    """Sentences with the tokens that a typical mistake gives."""
    if eos is None:
        return []
    answers = case["answers"] if rows is None else case["answers"][rows]
    start = prompt.shape[1]
    raw = torch.cat([prompt, answers[: len(prompt), start - 1 : start - 1 + n_new]], 1)
    new = raw[:, start:]
    hits = (new == eos).int()
    done = hits.cumsum(1) - hits > 0
    held = torch.where(done, eos, new)
    found = [("An eos_id of 0 ends a row too: compare with None.", raw)] if eos == 0 else []
    found.append(
        ("The loop must end as soon as all rows have produced eos_id.", torch.cat([prompt, held], 1))
    )
    goes_on = "Text goes on behind the end token."
    found.append((goes_on, raw))
    ends = [int(row.argmax()) if row.any() else n_new for row in hits]
    first, last = min(ends), max(ends)
    found.append((goes_on, raw[:, : start + last + 1]))
    found.append(
        ("The others are cut off: stop when all rows have produced eos_id.", raw[:, : start + first + 1])
    )
    found.append(
        ("The others are cut off: stop when all rows have produced eos_id.", raw[:, : start + first])
    )
    found.append(
        (
            "A finished row repeats eos_id; yours gets another token.",
            torch.cat([prompt, torch.where(done, 0, new)], 1)[:, : start + last + 1],
        )
    )
    seen = (prompt == eos).any(1)
    quiet = torch.where(seen[:, None], eos, held)
    found.append(("An eos_id in the prompt does not count.", torch.cat([prompt, quiet], 1)))
    rest = [end for end, row in zip(ends, seen.tolist(), strict=True) if not row]
    if rest:
        found.append(
            (
                "An eos_id in the prompt does not count.",
                torch.cat([prompt, quiet], 1)[:, : start + max(rest) + 1],
            )
        )
    ended = prompt[:, -1] == eos
    quiet = torch.where(ended[:, None], eos, held)
    found.append(
        ("An eos_id in the prompt does not count.", torch.cat([prompt, quiet], 1)[:, : start + last + 1])
    )
    rest = [end for end, row in zip(ends, ended.tolist(), strict=True) if not row]
    if rest:
        found.append(
            (
                "An eos_id in the prompt does not count.",
                torch.cat([prompt, quiet], 1)[:, : start + max(rest) + 1],
            )
        )
    want, _ = continued(case, prompt, n_new, eos, rows)
    found += [
        ("generate returns the prompt and the new tokens; yours lacks the prompt.", want[:, start:]),
        ("The end token is part of the text; yours is missing.", want[:, :-1]),
    ]
    return found


@behaviour(8)
def test_generated_tokens(observe):
    observe["generate/eos/out"]
    greedy, sampled = holds(observe, test_greedy_sample), holds(observe, test_frequencies)
    for name, (case, prompt, n_new, eos, rows) in generate_runs(observe).items():
        if not (greedy if name == "eos" else sampled):
            continue
        want, _ = continued(case, prompt, n_new, eos, rows)
        out = observe.tensor(f"generate/{name}/out", "generate returns a tensor of tokens.")
        expect(out.dtype == torch.int64, "The tokens must be int64.", f"got {out.dtype}")
        call = f"generate(step, tokens of shape {tuple(prompt.shape)}, n_new={n_new}, eos_id={eos})"
        for sentence, wrong in generate_mistakes(case, prompt, n_new, eos, rows):
            if not alike(wrong, want):
                expect(not alike(out, wrong), sentence, call)
        says = (
            "n_new=0 returns the prompt."
            if n_new == 0
            else "The generated tokens are wrong: take those of the last position, row by row."
        )
        close(out, want, says, rtol=0.0, atol=0.0, device=observe.device, call=call)


@behaviour(8)
def test_calls_of_step(observe):
    for name, (case, prompt, n_new, eos, rows) in generate_runs(observe).items():
        want, calls = continued(case, prompt, n_new, eos, rows)
        if not alike(observe[f"generate/{name}/out"], want):
            continue  # reported by the test of the tokens
        count = observe[f"generate/{name}/calls"]
        expect(
            count == calls,
            "generate calls step once for each new column.",
            f"{count} calls for {calls} columns",
        )
        seen = observe[f"generate/{name}/seen"]
        width = prompt.shape[1]
        for i, tokens in enumerate(seen):
            expect(
                alike(tokens, want[:, : width + i]),
                "step gets all tokens so far, (B, T).",
                f"call {i + 1} got {tuple(tokens.shape)}, expected {(len(prompt), width + i)}"
                if isinstance(tokens, torch.Tensor) and tokens.shape != (len(prompt), width + i)
                else f"call {i + 1} got other tokens",
            )


@behaviour(8)
def test_generate_passes_the_parameters_on(observe):
    observe["generate/constant0/out"]
    if not holds(observe, *FILTERS, test_frequencies, test_generated_tokens):
        return
    for i, case in enumerate(observe.given["constant"]):
        out = observe.tensor(f"generate/constant{i}/out", "generate returns a tensor of tokens.")
        vocab, kinds = case["rows"].shape[1], 2
        expect(
            out.dim() == 2 and out.shape[1] == 5,
            "Without eos_id generate appends n_new tokens.",
            f"got {tuple(out.shape)}",
        )
        new = out[:, 1:]
        expect(bool(((new >= 0) & (new < vocab)).all()), "A token is an index of the vocabulary.")
        call = call_of("generate", {**case, "logits": case["rows"].repeat(len(out) // 2, 1)})
        probs = expected({**case, "logits": case["rows"]}).softmax(-1)
        for kind in range(kinds):
            check_shares(observe, new[kind::2].flatten(), case, kind, call)
            neighbors = new[kind::2, 1] * vocab + new[kind::2, 0]
            close(
                shares(neighbors, vocab * vocab),
                torch.outer(probs[kind], probs[kind]).flatten(),
                f"{SAME} The columns must be drawn independently.",
                rtol=0.0,
                atol=0.12,
                call=call,
            )


# --- robust


@behaviour(9)
def test_huge_logits(observe):
    observe["extreme/huge_plain/out"]
    if not holds(observe, *FILTERS, test_frequencies):
        return
    huge = observe.given["huge"]
    for name, extra in (("plain", {}), ("k", {"k": huge["k"]}), ("p", {"p": 0.85})):
        case = {"logits": huge["logits"], "t": 0.01, **extra}
        out = observe.tensor(f"extreme/huge_{name}/out", "filter_logits returns a tensor.")
        expect(
            not out.isnan().any(),
            "Logits of size 1e4 at a temperature of 0.01 gave NaN.",
            call_of("filter_logits", case),
        )
        close(
            out,
            expected(case),
            "Logits of size 1e4 at a temperature of 0.01 are filtered wrongly.",
            rtol=1e-5,
            device=observe.device,
            call=call_of("filter_logits", case),
        )
    tokens = observe.tensor("extreme/huge_sample/out", "sample returns a tensor of tokens.")
    vocab = huge["logits"].shape[1]
    kinds = drawn(observe, "extreme/huge_sample/out", len(tokens), vocab)
    for kind, got in enumerate(kinds):
        want = (huge["logits"].double()[kind] / 0.01).softmax(-1)
        close(
            shares(got, vocab),
            want,
            "Logits of size 1e4 at a temperature of 0.01 are sampled wrongly.",
            rtol=0.0,
            atol=0.1,
            call="sample(huge logits, temperature=0.01)",
        )


@behaviour(9)
def test_forbidden_tokens(observe):
    observe["extreme/forbidden_plain/out"]
    if not holds(observe, *FILTERS, test_frequencies, test_one_row):
        return
    case = observe.given["forbidden"]
    banned = torch.tensor(case["banned"])
    for name in ("plain", "hot", "k", "p", "all", "greedy"):
        out = observe.tensor(f"extreme/forbidden_{name}/out", "sample returns a tensor of tokens.")
        expect(not torch.isin(out, banned).any(), "A token with logit -inf must never be chosen.", name)
        filtered = observe.tensor(f"extreme/forbidden_{name}/filtered", "filter_logits returns a tensor.")
        expect(
            filtered.shape == (1, 9) and bool((filtered[:, case["banned"]] == -INF).all()),
            "A logit of -inf must stay at -inf.",
            f"got {filtered.flatten().tolist()}",
        )
    for name in ("plain", "hot", "k", "all"):
        filtered = observe.tensor(f"extreme/forbidden_{name}/filtered")
        expect(
            int((filtered > -INF).sum()) == 9 - len(case["banned"]) and not filtered.isnan().any(),
            "With logits of -inf the other tokens stay.",
            f"got {filtered.flatten().tolist()}",
        )


HALF = {torch.bfloat16: "bfloat16", torch.float16: "float16"}


@behaviour(9)
def test_half_precision_keeps_the_set(observe):
    observe["extreme/half_p0/out"]
    if not holds(observe, *FILTERS, test_frequencies, test_greedy_filter):
        return
    for i, case in enumerate(observe.given["half"]):
        name = HALF[case["logits"].dtype]
        for kind, each in (
            ("k", {**case, "p": None}),
            ("p", {**case, "k": None}),
            ("plain", {**case, "k": None, "p": None}),
        ):
            out = observe.tensor(f"extreme/half_{kind}{i}/out", "filter_logits returns a tensor.")
            want = expected(each)
            expect(
                out.shape == want.shape and bool(((out > -INF) == (want > -INF)).all()),
                f"In {name} the kept set must be that of the same logits in float32.",
                call_of("filter_logits", each),
            )
            close(
                out,
                want,
                f"The kept logits are wrong in {name}.",
                rtol=1e-2,
                atol=1e-2,
                device=observe.device,
            )
        out = observe.tensor(f"extreme/half_greedy{i}/out", "filter_logits returns a tensor.")
        close(
            out,
            only(case["logits"].double(), ranks(case["logits"].double()) == 0),
            f"At temperature 0 filter_logits is wrong in {name}.",
            rtol=1e-3,
            device=observe.device,
        )
        tokens = observe.tensor(f"extreme/half_sample{i}/out", "sample returns a tensor of tokens.")
        allowed = (expected({**case, "p": None}) > -INF).repeat(50, 1)
        expect(
            tokens.shape == allowed.shape[:1],
            "sample returns one token for each row, of shape (B,).",
            f"got {tuple(tokens.shape)}",
        )
        expect(
            tokens.dtype == torch.int64
            and bool(((tokens >= 0) & (tokens < allowed.shape[1])).all())
            and bool(allowed.gather(1, tokens[:, None]).all()),
            f"In {name} sample drew a token outside top_k.",
        )


@behaviour(9)
def test_sum_in_bfloat16(observe):
    observe["extreme/tail0/out"]
    if not holds(observe, test_nucleus):
        return
    for i, case in enumerate(observe.given["tail"]):
        logits = case["logits"].double()[None]
        want = before(logits) < case["p"]
        out = observe.tensor(f"extreme/tail{i}/out", "filter_logits returns a tensor.")
        expect(out.shape == want.shape, "filter_logits keeps the shape.", f"got {tuple(out.shape)}")
        kept = out > -INF
        expect(
            bool((kept == want).all()),
            "Small probabilities vanish in a bfloat16 sum. Compute the sums in float32.",
            f"{int(kept.sum())} of {kept.numel()} tokens kept, expected {int(want.sum())} at top_p={case['p']:.4f}",
        )


@behaviour(9)
def test_division_in_bfloat16(observe):
    observe["extreme/coarse0/out"]
    if not holds(observe, test_temperature, test_top_k, test_nucleus):
        return
    case = observe.given["coarse"]
    for i, run in enumerate(case["runs"]):
        logits = case["logits"].double()[None]
        want = expected({"k": None, "p": None, **run, "t": case["t"], "logits": logits}) > -INF
        out = observe.tensor(f"extreme/coarse{i}/out", "filter_logits returns a tensor.")
        expect(out.shape == want.shape, "filter_logits keeps the shape.", f"got {tuple(out.shape)}")
        filters = ", ".join(f"top_{name}={value:.4g}" for name, value in run.items())
        expect(
            bool(((out > -INF) == want).all()),
            "In bfloat16 the kept set is that of the same logits in float32: divide and compare in float32, round at the end.",
            f"{int((out > -INF).sum())} of {out.numel()} tokens kept, expected {int(want.sum())}; called: temperature={case['t']}, {filters}",
        )


@behaviour(9)
def test_dtype_is_kept(observe):
    runs = [
        (f"filter/temperature{i}/out", case["logits"]) for i, case in enumerate(observe.given["temperature"])
    ]
    for name in ("top_k", "nucleus", "warm", "both"):
        runs += [(f"filter/{name}{i}/out", case["logits"]) for i, case in enumerate(observe.given[name])]
    for i, case in enumerate(observe.given["half"]):
        runs += [(f"extreme/half_{kind}{i}/out", case["logits"]) for kind in ("k", "p", "plain", "greedy")]
    for path, logits in runs:
        if path in observe:
            out = observe.tensor(path, "filter_logits returns a tensor.")
            expect(
                out.dtype == logits.dtype,
                f"filter_logits keeps the dtype: {logits.dtype} must give {logits.dtype}.",
                f"got {out.dtype}",
            )


REFUSED = {
    "temperature": "A negative temperature must be refused.",
    "k_zero": "top_k = 0 must be refused.",
    "k_negative": "A negative top_k must be refused.",
    "p_zero": "top_p = 0 must be refused.",
    "p_negative": "A negative top_p must be refused.",
    "p_above": "top_p above 1 must be refused.",
}


@behaviour(10)
def test_parameters_are_checked(observe):
    for name, says in REFUSED.items():
        for function in ("filter", "sample", "generate"):
            observe.raised(f"errors/{function}_{name}", "ValueError", says=says)
    observe.raised("errors/n_new", "ValueError", says="A negative n_new must be refused.")


@behaviour(10)
def test_logits_are_checked(observe):
    sentences = {
        "nan": "sample must refuse a row that holds NaN.",
        "nans": "sample must refuse a row that holds NaN.",
        "plus": "sample must refuse a row that holds +inf.",
        "minus": "sample must refuse a row that has no finite logit.",
    }
    for name, says in sentences.items():
        for i in range(4):
            observe.raised(f"errors/{name}{i}", "ValueError", says=says)


@behaviour(11)
def test_inputs_are_left_alone(observe):
    logits = observe.given["apart"]["logits"]
    for name in ("plain", "warm", "k", "p", "all", "greedy"):
        for function in ("filter", "sample"):
            path = f"untouched/{function}_{name}/after"
            if path in observe:
                called = "filter_logits" if function == "filter" else "sample"
                says = f"{called} changed the model's logits."
                wrong = observe[path]
                if alike(wrong, logits / observe.given["apart"]["t"]):
                    says = "`/=` changed the model's logits."
                expect(alike(wrong, logits), says)
    prompt = observe.given["script"]["prompt"]
    values = observe.given["broad"][: len(prompt)]
    shown = values[:, None].repeat(1, prompt.shape[1] + 3, 1)
    if "untouched/generate/after" in observe:
        got = observe["untouched/generate/after"]
        expect(alike(got[0], prompt), "generate changed the prompt.")
        expect(alike(got[1], shown), "generate changed the logits that step returned.")


@behaviour(11, on_error="Logits need not be contiguous.")
def test_layouts(observe):
    observe["untouched/layout_turned/out"]
    if not holds(observe, *FILTERS, test_frequencies, test_greedy_filter, test_greedy_sample):
        return
    case = observe.given["apart"]
    logits = case["logits"]
    layouts = {"turned": logits, "strided": logits, "swapped": torch.stack([logits, logits], 1)}
    for name, values in layouts.items():
        each = {**case, "logits": values}
        for prefix, want in (
            ("layout", expected(each)),
            ("layout_greedy", only(values.double(), ranks(values.double()) == 0)),
        ):
            close(
                observe[f"untouched/{prefix}_{name}/out"],
                want,
                "Logits that are not contiguous are filtered wrongly.",
                rtol=1e-5,
                atol=1e-6,
                device=observe.device,
            )
    close(
        observe["untouched/layout_sample/out"],
        logits.argmax(-1),
        "Logits that are not contiguous are sampled wrongly.",
        rtol=0.0,
        atol=0.0,
        device=observe.device,
    )
    tokens = observe.tensor("untouched/layout_sample/drawn", "sample returns a tensor of tokens.")
    allowed = expected(case) > -INF
    expect(
        tokens.shape == allowed.shape[:1]
        and tokens.dtype == torch.int64
        and bool(((tokens >= 0) & (tokens < allowed.shape[1])).all())
        and bool(allowed.gather(1, tokens[:, None]).all()),
        "From logits that are not contiguous sample drew a token that the filters removed.",
    )
