import math
from contextlib import suppress
from fractions import Fraction

import torch
from torch import Tensor

from quizapp.judge.testing.checks import Finding, alike, behaviour, close, describe, expect

RTOL = 1e-4


def value(got):
    """``got`` as a float, also out of a tensor with one element; the type is another test's matter."""
    if isinstance(got, Tensor | int | float):
        with suppress(TypeError, ValueError, RuntimeError, OverflowError):
            return float(got)
    raise Finding(f"A number is expected. Got {describe(got)}.")


def pair(got, says):
    expect(isinstance(got, list | tuple) and len(got) == 2, says, f"got {describe(got)}")
    return value(got[0]), value(got[1])


def log_probs_of(given, ids):
    """(n,) ids to the log-probabilities (n, vocabulary) after each of them, in float64."""
    h = given["emb"].double()[ids]
    steps = torch.arange(1, len(ids) + 1, dtype=torch.float64)[:, None]
    h = torch.tanh(h + 1.5 * h.cumsum(0) / steps + torch.sin(steps))
    return (h @ given["head"].double().T + given["bias"].double()).log_softmax(-1)


def bigram_log_probs(table):
    return lambda ids: table.double()[ids].log_softmax(-1)


def starts_of(n, window, stride):
    found = [0]
    while found[-1] + window < n:
        found.append(found[-1] + stride)
    return found


def windows_of(case, stride=None):
    tokens, window = case["tokens"], case["window"]
    return [tokens[s : s + window] for s in starts_of(len(tokens), window, stride or case["stride"])]


def scored(after, window, skip=0):
    """The sum over tokens skip + 1 and later of a window, and their number."""
    found = after(window)[:-1].gather(-1, window[1:, None])[skip:]
    return -found.sum().item(), len(found)


def strided(after, case, mistake=""):
    """(nll, count) of a text; ``mistake`` names a typical way to get another value."""
    stride = case["window"] if mistake == "disjoint" else case["stride"]
    n, window = len(case["tokens"]), case["window"]
    parts, end = [], 1
    for start, ids in zip(starts_of(n, window, stride), windows_of(case, stride), strict=True):
        if mistake == "overlap" or mistake == "disjoint":
            parts.append(scored(after, ids))
        elif mistake == "no shift":
            new = range(end - start, len(ids))
            parts.append((-sum(after(ids)[i, ids[i]].item() for i in new), len(new)))
        else:
            parts.append(scored(after, ids, end - start - 1))
        end = start + len(ids)
    total, count = sum(nll for nll, _ in parts), sum(k for _, k in parts)
    if mistake == "means":
        return sum(nll / k for nll, k in parts) / len(parts) * (n - 1), n - 1
    if mistake == "mean of sums":
        return sum(nll / k for nll, k in parts) / len(parts), n - 1
    if mistake == "mean":
        return total / count, count
    if mistake == "sign":
        return -total, count
    if mistake == "bits":
        return total / math.log(2), count
    return total, count


TWICE = "Context tokens are counted twice."
BLIND = "Each window starts blind."
COUNTING = {TWICE: "overlap", BLIND: "disjoint"}
SUMMING = {
    "A short last window weighs as much as a full one: add up the tokens, not the means of windows.": (
        "means",
        "mean of sums",
    ),
    "Logits at t predict t + 1.": ("no shift",),
    "nll is a sum; perplexity divides it by count.": ("mean",),
    "nll is the negative log-likelihood: your sign is wrong.": ("sign",),
    "nll is in nats, with the natural logarithm.": ("bits",),
}


def call_of(case):
    return f"strided_nll on {len(case['tokens'])} tokens, window={case['window']}, stride={case['stride']}"


def near(got, want):
    return abs(got - want) <= 1e-4 * abs(want) + 1e-6


@behaviour(1)
def test_windows(observe):
    for i, case in enumerate(observe.given["texts"]):
        calls = observe[f"text/{i}/calls"]
        observe[f"text/{i}/result"]
        call = call_of(case)
        expect(len(calls) > 0, "The model was not called.", call)
        odd = [shape for shape, _ in calls if len(shape) != 2 or shape[0] != 1]
        expect(not odd, "The model takes ids of shape (1, T).", f"got shape {odd and tuple(odd[0])}; {call}")
        got = sorted(ids for _, ids in calls)
        want = sorted(ids.tolist() for ids in windows_of(case))
        says = "The model should be called once on each window tokens[k * stride : k * stride + window]."
        if got == want:
            continue
        if len(want) > 1 and got == sorted(ids.tolist() for ids in windows_of(case, case["window"])):
            says = f"{BLIND} The next window begins stride tokens later, and most of it is context."
        elif len(got) > len(want) and all(ids in got for ids in want):
            says = "The first window that reaches the end of the text is the last one."
            if len({tuple(ids) for ids in got}) == len({tuple(ids) for ids in want}):
                says = "The model should be called only once on each window."
        elif 0 < len(got) < len(want) and all(ids in want for ids in got):
            says = "Windows are missing: go on until one reaches the end of the text."
        lengths = [len(ids) for _, ids in calls]
        expect(False, says, f"{call}: {len(calls)} calls with {lengths[:12]} tokens")


@behaviour(2)
def test_each_token_is_scored_once(observe):
    after = lambda ids: log_probs_of(observe.given, ids)  # noqa: E731
    for i, case in enumerate(observe.given["texts"]):
        says = "strided_nll should return (nll, count)."
        nll, count = pair(observe[f"text/{i}/result"], says)
        n, call = len(case["tokens"]), call_of(case)
        want, _ = strided(after, case)
        for sentence, mistake in COUNTING.items():
            wrong, number = strided(after, case, mistake)
            same = near(nll, wrong) and not near(want, wrong)
            # A wrong count alone does not show which tokens were scored.
            expect(not same, sentence, f"{call}: got nll {nll:.5g}, expected {want:.5g}")
        says = "count should be len(tokens) - 1: each token except the first is scored exactly once."
        if near(count, n):
            says = "The first token has no context: it is not scored, and count is len(tokens) - 1."
        close(count, n - 1, says, rtol=0, atol=0, call=call)
        windows = starts_of(n, case["window"], case["stride"])
        late = later_windows(after, case)
        if len(windows) > 1 and near(nll, late) and not near(want, late):
            expect(
                False,
                "A token is scored in the first window that contains it, where it has most context.",
                call,
            )


def later_windows(after, case):
    """The sum if every token is scored in the last window in which it has any context."""
    best = {}
    for start, ids in zip(
        starts_of(len(case["tokens"]), case["window"], case["stride"]), windows_of(case), strict=True
    ):
        found = after(ids)[:-1].gather(-1, ids[1:, None]).squeeze(-1)
        best |= {start + 1 + j: found[j].item() for j in range(len(found))}
    return -sum(best.values())


@behaviour(3)
def test_nll(observe):
    after = lambda ids: log_probs_of(observe.given, ids)  # noqa: E731
    for i, case in enumerate(observe.given["texts"]):
        nll, _ = pair(observe[f"text/{i}/result"], "strided_nll should return (nll, count).")
        want = strided(after, case)[0]
        mistakes = [
            (sentence, strided(after, case, mistake)[0])
            for sentence, names in SUMMING.items()
            for mistake in names
        ]
        mistakes += [(sentence, strided(after, case, mistake)[0]) for sentence, mistake in COUNTING.items()]
        says = "nll is not the sum of -log p of the scored tokens."
        close(nll, want, says, rtol=RTOL, atol=1e-6, call=call_of(case), mistakes=mistakes)


@behaviour(3)
def test_perplexity(observe):
    for i, case in enumerate(observe.given["numbers"]):
        mean = case["nll"] / case["count"]
        close(
            value(observe[f"numbers/perplexity{i}/value"]),
            math.exp(mean),
            "perplexity should be exp(nll / count).",
            rtol=RTOL,
            call=f"perplexity({case['nll']:.5g}, {case['count']})",
            mistakes={
                "nll is in nats: the base is e, not 2.": 2**mean,
                "This is the mean negative log-likelihood; perplexity is exp of it.": mean,
                "Divide the sum by the number of tokens before exp.": math.exp(min(case["nll"], 700.0)),
                "The sign is wrong: perplexity is at least 1.": math.exp(-mean),
            },
        )


@behaviour(4)
def test_bits_per_byte(observe):
    for i, case in enumerate(observe.given["numbers"]):
        nll, size = case["nll"], case["bytes"]
        close(
            value(observe[f"numbers/bits{i}/value"]),
            nll / math.log(2) / size,
            "bits_per_byte should be nll / (ln 2 * num_bytes).",
            rtol=RTOL,
            call=f"bits_per_byte({nll:.5g}, {size})",
            mistakes={
                "These are nats per byte: divide by bytes, and by ln 2.": nll / size,
                "A nat is 1 / ln 2 bits: divide by ln 2 instead of multiplying.": nll * math.log(2) / size,
                "This is 2 to the bits per byte.": 2 ** (nll / math.log(2) / size),
                "Tokenizers differ: divide by bytes, and by ln 2.": nll / math.log(2),
            },
        )


def summed(after, context, choice, mistake=""):
    ids = torch.cat([context, choice])
    found = after(ids)[:-1].gather(-1, ids[1:, None]).squeeze(-1)
    n = len(context)
    if mistake == "context":
        return found.sum().item()
    if mistake == "first":
        return found[n:].sum().item()
    if mistake == "early":
        return found[max(n - 2, 0) :].sum().item()
    if mistake == "no shift":
        return sum(after(ids)[n + j, choice[j]].item() for j in range(len(choice)))
    if mistake == "blind":
        return -scored(after, choice)[0] if len(choice) > 1 else 0.0
    return found[n - 1 :].sum().item()


def all_summed(given, case, mistake=""):
    after = lambda ids: log_probs_of(given, ids)  # noqa: E731
    return torch.tensor(
        [summed(after, case["context"], choice, mistake) for choice in case["choices"]], dtype=torch.float64
    )


def sizes(case):
    return f"context of {len(case['context'])} tokens, choices of {[len(c) for c in case['choices']]}"


@behaviour(5)
def test_choice_scores(observe):
    for i, case in enumerate(observe.given["questions"]):
        want = all_summed(observe.given, case)
        got = observe.tensor(f"choices/plain{i}/scores", "choice_scores should return a tensor.")
        count = torch.tensor([len(choice) for choice in case["choices"]], dtype=torch.float64)
        close(
            got,
            want,
            "The scores are not the summed log-probabilities of the choices' tokens after the context.",
            rtol=RTOL,
            atol=1e-6,
            call=f"choice_scores with {sizes(case)}",
            mistakes=[
                ("A long question drowns the options: its own tokens do not count.", all_summed(observe.given, case, "context")),
                ("The context's last position predicts the first choice token: it counts too.", all_summed(observe.given, case, "first")),
                ("Your score begins one token too early: the context's last token is no part of the choice.", all_summed(observe.given, case, "early")),
                ("Logits at t predict t + 1.", all_summed(observe.given, case, "no shift")),
                ("The choices are scored without the question before them.", all_summed(observe.given, case, "blind")),
                ("Without lengths the score is the sum, not the mean.", want / count),
                ("A score is a log-probability, so the likeliest choice has the highest one: your sign is wrong.", -want),
                ("Add log-probabilities, do not multiply probabilities.", want.exp()),
            ],
        )  # fmt: skip


@behaviour(6)
def test_scores_with_lengths(observe):
    for i, case in enumerate(observe.given["questions"]):
        lengths = torch.tensor(case["lengths"], dtype=torch.float64)
        count = torch.tensor([len(choice) for choice in case["choices"]], dtype=torch.float64)
        # Judge the division alone: what is divided is another behavior.
        plain = observe.tensor(f"choices/plain{i}/scores", "choice_scores should return a tensor.")
        want = all_summed(observe.given, case)
        if plain.shape == want.shape and not torch.allclose(plain.double(), want, rtol=RTOL, atol=1e-6):
            want = plain.double()
        for name in ("lengths", "tuple"):
            close(
                observe.tensor(f"choices/{name}{i}/scores", "choice_scores should return a tensor."),
                want / lengths,
                "With lengths, score i should be divided by lengths[i].",
                rtol=3 * RTOL,
                atol=1e-6,
                call=f"choice_scores with {sizes(case)}, lengths={case['lengths']}",
                mistakes={
                    "Your lengths have no effect.": want,
                    "Divide by the lengths that were passed, not by the number of tokens.": want / count,
                    "Divide by the length, not by its root.": want / lengths.sqrt(),
                    "Multiplied instead of divided: long options lose even more.": want * lengths,
                    "Divided twice, by the number of tokens too.": want / lengths / count,
                },
            )


@behaviour(6)
def test_choose(observe):
    for i, case in enumerate(observe.given["questions"]):
        scores = all_summed(observe.given, case)
        for name in ("plain", "lengths", "tuple"):
            divided = scores if name == "plain" else scores / torch.tensor(case["lengths"])
            own = observe[f"choices/{name}{i}/scores"]
            if isinstance(own, Tensor) and own.shape == scores.shape and own.is_floating_point():
                divided = own.double()  # a wrong score is another behavior
            got = value(observe[f"choices/choose_{name}{i}/index"])
            expect(got in range(len(scores)), "choose should return the index of a choice.", f"got {got}")
            index = int(got)
            best = divided.max()
            says = "choose should return the index of the highest score."
            # A choice of the lowest score fails without lengths already, which come first.
            if name != "plain" and index == int(scores.argmax()):
                says = "choose ignores the lengths."
            elif len(scores) > 1 and divided[index] == divided.min():
                says = (
                    "choose took the lowest score: log-probabilities are negative, the best is the highest."
                )
            expect(
                divided[index] >= best - RTOL * abs(best),
                says,
                f"got {index} of scores {[round(s, 4) for s in divided.tolist()]}",
            )


@behaviour(6)
def test_ties(observe):
    lengths = [len(choice) for choice in observe.given["tied"]["choices"]]
    want = lengths.index(min(lengths))
    says = "On ties choose should return the first index of the highest score."
    got = value(observe["choices/tied/index"])
    detail = f"uniform model, choices of {lengths} tokens: got {got:g}, expected {want}"
    expect(got == want, says, detail)


def pass_exactly(n, c, k):
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


def check_pass(observe, path, case, says):
    counts, k = case["counts"], case["k"]
    exact = [pass_exactly(n, c, k) for n, c in counts]
    plugged = [1 - (1 - c / n) ** k for n, c in counts]
    total, correct = sum(n for n, _ in counts), sum(c for _, c in counts)
    few = [0.0 if n - c < k else float(p) for p, (n, c) in zip(exact, counts, strict=True)]
    shown = ", ".join(map(str, counts[:4])) + (", ..." if len(counts) > 4 else "")
    close(
        value(observe[path]),
        float(sum(exact) / len(exact)),
        says,
        rtol=0,
        atol=1e-9,
        call=f"pass_at_k([{shown}], {k})",
        mistakes=[
            ("Too low on average: 1 - (1 - c/n)^k draws with replacement; count the subsets.", sum(plugged) / len(counts)),
            ("Where fewer than k samples fail, every subset of k has a correct one: the value is 1.", sum(few) / len(counts)),
            ("Average over the problems; do not pool their samples.", float(pass_exactly(total, correct, k))),
            ("This is the chance that all k samples fail.", float(1 - sum(exact) / len(exact))),
            ("This is the sum over problems: take the mean.", float(sum(exact))),
        ],
    )  # fmt: skip


@behaviour(7)
def test_pass_at_k(observe):
    # The last case has no problem with n - c < k, so it shows a wrong formula alone.
    cases = list(enumerate(observe.given["problems"]))
    for i, case in [cases[-1], *cases[:-1]]:
        check_pass(
            observe,
            f"pass/problems{i}/value",
            case,
            "pass_at_k is not the mean of 1 - C(n - c, k) / C(n, k).",
        )


@behaviour(
    7, on_error="10,000 samples have binomials far beyond a float: use integers, or a product of ratios."
)
def test_pass_at_k_of_many_samples(observe):
    for i, case in enumerate(observe.given["large"]):
        check_pass(
            observe, f"pass/large{i}/value", case, "With 10,000 samples pass_at_k is not exact to 1e-9."
        )


@behaviour(8)
def test_paired_difference(observe):
    for i, (a, b) in enumerate(observe.given["paired"]):
        a, b = a.double(), b.double()
        n, d = len(a), a.double() - b.double()
        mean, error = pair(
            observe[f"paired/{i}/result"], "paired_difference should return (mean, standard error)."
        )
        call = f"paired_difference of {n} scores"
        close(
            mean,
            d.mean(),
            "The first value should be the mean of a - b.",
            rtol=RTOL,
            atol=1e-6,
            call=call,
            mistakes={"The difference is a - b, not b - a.": -d.mean()},
        )
        s = d.std(correction=1)
        unpaired = (a.var() / n + b.var() / n).sqrt()
        close(
            error,
            s / n**0.5,
            "The second value should be the standard deviation of the differences over sqrt(n).",
            rtol=RTOL,
            atol=1e-6,
            call=call,
            mistakes=[
                ("Pairing removes the noise of hard questions: take the deviation of the differences.", unpaired),
                ("Pairing removes the noise of hard questions: take the deviation of the differences.",
                 (a.std() - b.std()).abs() / n**0.5),
                ("A sample deviation divides by n - 1.", d.std(correction=0) / n**0.5),
                ("This is the deviation of one difference; the mean's error is smaller by sqrt(n).", s),
                ("Divide the deviation by sqrt(n), not by n.", s / n),
                ("This is the variance of the mean: take its root.", s**2 / n),
                ("Return the standard error itself, not the half-width of an interval.", 1.96 * s / n**0.5),
            ],
        )  # fmt: skip


INTERVAL = "paired_bootstrap should return (low, high)."
BOTH = "Both models need the same questions: draw the questions once and use the draw for both."


def simulated(a, b, confidence, how="paired"):
    """(low, high) by the judge's own draws."""
    source = torch.Generator().manual_seed(20)
    n, count = len(a), 8000
    size = n // 2 if how == "half" else n
    first = torch.randint(n, (count, size), generator=source)
    second = torch.randint(n, (count, size), generator=source) if how == "unpaired" else first
    means = a.double()[first].mean(1) - b.double()[second].mean(1)
    low, high = (1 - confidence) / 2, (1 + confidence) / 2
    if how == "one sided":
        low, high = 1 - confidence, confidence
    return [means.quantile(low).item(), means.quantile(high).item()]


def check_interval(observe, path, confidence, says):
    """Compare with the judge's own draws; 0.3 standard errors are 5 standard deviations of 1,500 draws or more."""
    a, b = observe.given["scores"]
    low, high = pair(observe[path], INTERVAL)
    got = [low, high]
    error = ((a - b).std(correction=0) / len(a) ** 0.5).item()

    def same(want, wider=1.0):
        return all(abs(x - y) <= 0.3 * error * wider for x, y in zip(got, want, strict=True))

    want = simulated(a, b, confidence)
    for sentence, wrong in {
        BOTH: simulated(a, b, confidence, "unpaired"),
        "The confidence is that of both sides: cut (1 - confidence) / 2 on each.": simulated(a, b, confidence, "one sided"),
        "The interval is for a - b, not for b - a.": [-want[1], -want[0]],
        "Draw as many questions as there are, n.": simulated(a, b, confidence, "half"),
        "Low comes first.": want[::-1],
    }.items():  # fmt: skip
        # The draws scatter with the width of their interval.
        wider = max((wrong[1] - wrong[0]) / (want[1] - want[0]), 1.0)
        if same(wrong, wider) and not same(want):
            says = sentence
            break
    if 0 <= got[1] - got[0] < 0.01 * error:
        says = "All means are equal: draw the questions with replacement."
    expect(
        same(want),
        says,
        f"{len(a)} questions, 1,500 samples, confidence {confidence:.3f}: got {got[0]:.5g} to {got[1]:.5g}, "
        f"expected about {want[0]:.5g} to {want[1]:.5g}",
    )


@behaviour(9)
def test_bootstrap_interval(observe):
    for i, confidence in enumerate(observe.given["confidence"]):
        says = "The interval is not that of the mean difference over questions drawn with replacement."
        check_interval(observe, f"bootstrap/wide{i}/result", confidence, says)


@behaviour(9)
def test_default_confidence(observe):
    a, b = observe.given["scores"]
    says = "By default the interval should have a confidence of 0.95."
    low, high = pair(observe["bootstrap/default/result"], INTERVAL)
    close(low, simulated(a, b, 0.95)[0], says, rtol=0, atol=0.35 * spread(a, b))
    close(high, simulated(a, b, 0.95)[1], says, rtol=0, atol=0.45 * spread(a, b))


def spread(a, b):
    return ((a - b).std(correction=0) / len(a) ** 0.5).item()


@behaviour(9)
def test_bootstrap_of_two_questions(observe):
    a, b = observe.given["two"]
    d = (a - b).sort().values
    for name, want, confidence in (("middle", [d.mean()] * 2, 0.3), ("ends", [d[0], d[1]], 0.76)):
        low, high = pair(observe[f"bootstrap/{name}/result"], INTERVAL)
        close(
            torch.tensor([low, high], dtype=torch.float64),
            torch.tensor([float(v) for v in want], dtype=torch.float64),
            "With two questions a mean over drawn questions has three possible values: both of one, or one of each.",
            rtol=RTOL,
            call=f"paired_bootstrap of 2 scores, 600 samples, confidence={confidence}",
            mistakes={BOTH: two_unpaired(a, b, confidence)},
        )


@behaviour(9)
def test_bootstrap_of_a_rare_difference(observe):
    a, b = observe.given["rare"]
    gap = float((a - b).abs().max())
    want = torch.tensor([0.0, gap / 4], dtype=torch.float64)
    low, high = pair(observe["bootstrap/rare/result"], INTERVAL)
    close(
        torch.tensor([low, high], dtype=torch.float64),
        want,
        "Where one question of twelve differs the means are skewed, and the interval holds their quantiles.",
        rtol=RTOL,
        atol=1e-5,
        call="paired_bootstrap of 12 scores, 1,500 samples, confidence=0.924",
        mistakes={
            "Your interval is turned around the mean: take the quantiles as they are.": gap / 6 - want.flip(0)
        },
    )


def two_unpaired(a, b, confidence):
    return torch.tensor(simulated(a, b, confidence, "unpaired"), dtype=torch.float64)


@behaviour(9)
def test_single_sample(observe):
    a, b = observe.given["two"]
    d = a - b
    for result in observe["bootstrap/single/results"]:
        low, high = pair(result, INTERVAL)
        says = "With one sample both quantiles are its mean difference."
        close(high, low, says, rtol=RTOL, atol=1e-9)
        possible = [d[0], d[1], d.mean()]
        expect(
            any(near(low, float(v)) for v in possible),
            "The mean difference of n drawn questions is expected, with the same questions for both models.",
            f"2 questions with differences {d[0]:.5g} and {d[1]:.5g}: got {low:.5g}",
        )


USES = {"text": "strided_nll", "scores": "choice_scores", "choose": "choose"}


@behaviour(10)
def test_dropout_is_off(observe):
    after = lambda ids: log_probs_of(observe.given, ids)  # noqa: E731
    says = "Two runs give two results: dropout is on. Put the model into eval mode."
    for name, call in USES.items():
        for mode in ("train", "eval"):
            for modes in observe[f"modes/{name}_{mode}/modes"]:
                expect(not any(modes), says, f"{call} ran the model in training mode")
    # The result must be that of eval mode too, except where it is wrong in eval mode anyway.
    case = observe.given["texts"][1]
    want, _ = strided(after, case)
    usual, _ = pair(observe["text/1/result"], "strided_nll should return (nll, count).")
    if near(usual, want):
        nll, _ = pair(observe["modes/text_train/result"], "strided_nll should return (nll, count).")
        close(nll, want, says, rtol=RTOL, call="strided_nll, model in training mode")
    want = all_summed(observe.given, observe.given["questions"][1])
    usual = observe["choices/plain1/scores"]
    if (
        isinstance(usual, Tensor)
        and usual.shape == want.shape
        and torch.allclose(usual.double(), want, rtol=RTOL)
    ):
        close(
            observe["modes/scores_train/result"],
            want,
            says,
            rtol=RTOL,
            call="choice_scores, model in training mode",
        )


@behaviour(10)
def test_modes_come_back(observe):
    for name, call in USES.items():
        for mode in ("train", "eval"):
            before, after = (observe[f"modes/{name}_{mode}/{when}"] for when in ("before", "after"))
            says = "After the call a module has another mode than before."
            if mode == "train" and not any(after):
                says = "The model came back in eval mode: a training loop would go on without dropout."
            elif all(after):
                says = "Modules that were in eval mode came back in training mode: restore each module's own mode."
            expect(before == after, says, f"{call}: training was {before}, is {after}")


@behaviour(10)
def test_no_gradients(observe):
    for name, call in USES.items():
        for mode in ("train", "eval"):
            recorded = observe[f"modes/{name}_{mode}/grad"]
            says = "The model ran with gradients enabled: its activations are kept for a backward pass."
            expect(not any(recorded), says, call)


WRONG = "The result is wrong with float32 logits of usual size, too (behaviors 1 to 5)."


def usual_is_right(observe, i):
    """Whether text and question ``i`` have right results with the float32 model."""
    case, question = observe.given["texts"][i], observe.given["questions"][i]
    result, scores = observe[f"text/{i}/result"], observe[f"choices/plain{i}/scores"]
    nll = strided(lambda ids: log_probs_of(observe.given, ids), case)[0]
    want = all_summed(observe.given, question)
    text = isinstance(result, list | tuple) and len(result) == 2 and near(value(result[0]), nll)
    same = isinstance(scores, Tensor) and scores.shape == want.shape
    return text, same and torch.allclose(scores.double(), want, rtol=RTOL, atol=1e-6)


def check_table(observe, name, inexact, atol):
    after = bigram_log_probs(observe.given[f"table_{name}"])
    for i in (0, 2, 4):
        case, question = observe.given["texts"][i], observe.given["questions"][i]
        text_right, scores_right = usual_is_right(observe, i)
        says = inexact if text_right else WRONG
        nll, _ = pair(observe[f"dtypes/{name}{i}/text"], "strided_nll should return (nll, count).")
        want, _ = strided(after, case)
        others = [strided(after, case, m)[0] for m in ("overlap", "disjoint", "means", "mean of sums", "no shift", "mean", "sign", "bits")]  # fmt: skip
        if not any(near(nll, other) for other in others):  # a wrong sum is another behavior
            close(nll, want, says, rtol=RTOL, atol=atol, call=call_of(case))
        got = observe.tensor(f"dtypes/{name}{i}/scores", "choice_scores should return a tensor.")
        scores = [summed(after, question["context"], choice) for choice in question["choices"]]
        others = [
            [summed(after, question["context"], choice, m) for choice in question["choices"]]
            for m in ("context", "first", "early", "no shift", "blind")
        ]
        others += [[-s for s in scores], [math.exp(max(s, -700.0)) for s in scores]]
        others += [[s / len(c) for s, c in zip(scores, question["choices"], strict=True)]]
        wrong = (torch.tensor(other, dtype=torch.float64) for other in others)
        if got.shape == (len(scores),) and any(
            torch.allclose(got.double(), w, rtol=RTOL, atol=1e-6) for w in wrong
        ):
            continue
        call, says = f"choice_scores with {sizes(question)}", inexact if scores_right else WRONG
        close(got, torch.tensor(scores, dtype=torch.float64), says, rtol=RTOL, atol=atol, call=call)


@behaviour(10, on_error="The logits may be bfloat16.")
def test_bfloat16_logits(observe):
    says = "With bfloat16 logits the result is inexact: compute log-softmax and sums in float32 or better."
    check_table(observe, "bf16", says, 1e-5)


@behaviour(10)
def test_large_logits(observe):
    says = "With logits of 10,000 the result is wrong: use log_softmax, not the logarithm of a softmax."
    # float32 resolves 0.001 near 10,000, which x - logsumexp(x) may lose.
    check_table(observe, "large", says, 4e-3)


@behaviour(11)
def test_bootstrap_is_reproducible(observe):
    first, again, other = observe["state/repeat/results"]
    expect(alike(first, again), "Equal generator states should give equal intervals.", f"{first} and {again}")
    reseeded = observe["state/repeat/reseeded"]
    says = "The interval depends on the global random state: draw from the generator that was passed."
    expect(alike(first, reseeded), says, f"{first} and {reseeded}")
    says = "Generators with other seeds gave the same interval: draw from the generator that was passed."
    expect(not alike(first, other), says, f"{first}")


@behaviour(11)
def test_global_random_state(observe):
    before, after = observe["state/inputs/states_before"], observe["state/inputs/states_after"]
    for name, old, new in zip(("torch", "random"), before, after, strict=True):
        expect(alike(old, new), f"The global random state of {name} changed.")


@behaviour(11)
def test_inputs_are_not_modified(observe):
    before, after = observe["state/inputs/before"], observe["state/inputs/after"]
    expect(alike(before, after), "An input tensor was modified.")
    before, after = observe["state/inputs/lists_before"], observe["state/inputs/lists_after"]
    for name, old, new in zip(("lengths", "counts", "choices"), before, after, strict=True):
        expect(alike(old, new), f"The list of {name} was modified.")
    for name, got in zip(("emb", "head", "bias"), observe["state/inputs/weights"], strict=True):
        expect(torch.equal(got, observe.given[name]), "A weight of the model was modified.")


@behaviour(11)
def test_numbers_are_python_numbers(observe):
    for name, kinds in {
        "nll, count": (float, int),
        "perplexity": (float,),
        "bits_per_byte": (float,),
        "choose": (int,),
        "pass_at_k": (float,),
        "paired_difference": (float, float),
        "paired_bootstrap": (float, float),
    }.items():
        got = observe[f"state/types/{name}"]
        parts = (got,) if len(kinds) == 1 else got
        ok = isinstance(parts, list | tuple) and len(parts) == len(kinds)
        ok = ok and all(
            type(p) is k or (k is float and type(p) is int) for p, k in zip(parts, kinds, strict=True)
        )
        wanted = " and ".join(k.__name__ for k in kinds)
        expect(ok, f"The result should be a Python {wanted}.", f"{name}: got {describe(got)}")


REFUSED = {
    "stride_zero": "stride=0 never moves: strided_nll should refuse it.",
    "stride_negative": "strided_nll should refuse a negative stride.",
    "stride_window": "With stride = window no token at a window's start has context: strided_nll should refuse it.",
    "stride_large": "strided_nll should refuse a stride above the window: tokens would be skipped.",
    "window_one": "A window of 1 predicts nothing: strided_nll should refuse it.",
    "token": "A single token has nothing to score: strided_nll should refuse it.",
    "no_token": "strided_nll should refuse an empty text.",
    "count": "perplexity should refuse count=0.",
    "count_negative": "perplexity should refuse a negative count.",
    "bytes": "bits_per_byte should refuse num_bytes=0.",
    "bytes_negative": "bits_per_byte should refuse a negative num_bytes.",
    "context": "choice_scores should refuse an empty context.",
    "choice": "choice_scores should refuse an empty choice: it would always win.",
    "choices": "choice_scores should refuse an empty list of choices.",
    "choose": "choose should refuse an empty list of choices.",
    "lengths_few": "choice_scores should refuse fewer lengths than choices.",
    "lengths_many": "choice_scores should refuse more lengths than choices.",
    "lengths_one": "One length for several choices should be refused, not broadcast.",
    "lengths_none": "An empty list of lengths should be refused: only None means no lengths.",
    "length_zero": "choice_scores should refuse a length of 0.",
    "length_negative": "choose should refuse a negative length.",
    "c_large": "pass_at_k should refuse c > n.",
    "c_negative": "pass_at_k should refuse c < 0.",
    "k_zero": "pass_at_k should refuse k=0.",
    "k_negative": "pass_at_k should refuse a negative k.",
    "k_large": "pass_at_k should refuse k > n of any problem.",
    "k_no_samples": "pass_at_k should refuse a problem without samples: no k is in [1, 0].",
    "no_problems": "pass_at_k should refuse an empty list.",
    "shapes": "paired_difference should refuse scores of different shapes.",
    "shapes_long": "paired_difference should refuse scores of different shapes.",
    "shapes_column": "paired_difference should refuse to broadcast shape (n, 1) against (n,).",
    "shapes_one": "paired_difference should refuse to broadcast one score against many.",
    "few": "paired_difference should refuse a single question.",
    "none": "paired_difference should refuse scores without entries.",
    "boot_shapes": "paired_bootstrap should refuse scores of different shapes.",
    "boot_shapes_long": "paired_bootstrap should refuse scores of different shapes.",
    "boot_shapes_column": "paired_bootstrap should refuse to broadcast shape (n,) against (n, 1).",
    "boot_few": "paired_bootstrap should refuse a single question.",
    "samples": "paired_bootstrap should refuse samples=0.",
    "samples_negative": "paired_bootstrap should refuse a negative number of samples.",
    "confidence_zero": "paired_bootstrap should refuse confidence=0.",
    "confidence_one": "paired_bootstrap should refuse confidence=1.",
    "confidence_percent": "paired_bootstrap should refuse confidence=95: it is a fraction.",
    "confidence_negative": "paired_bootstrap should refuse a negative confidence.",
}


@behaviour(12)
def test_bad_arguments_are_refused(observe):
    for name, says in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(12, on_error="window=2 with stride=1, k=n, num_bytes=1 and count=1 are valid.")
def test_limits_are_valid(observe):
    for name in ("stride", "k", "bytes", "zero"):
        value(observe[f"errors/valid/{name}"])
