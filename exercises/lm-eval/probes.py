import random
import sys

import torch
from torch import nn

from quizapp.judge.testing.probes import random_states


def bigram_table(draw, size, scale, dtype):
    """Logits after each token that ``dtype`` holds exactly, so that the judge's float64 copy is the same."""
    return draw.normal(size, size, scale=scale).to(dtype).float()


def spread_scores(draw, n):
    """Scores of two models that agree on which questions are hard: the differences are small and skewed."""
    difficulty = draw.normal(n, scale=2.0, shift=draw.uniform(-1, 1), dtype=torch.float64)
    gain = draw.rand(n, low=0.05, high=1.0, dtype=torch.float64) ** 2
    return [(difficulty + gain), difficulty + draw.normal(n, scale=0.05, dtype=torch.float64)]


def text_case(draw, vocab, n, window, stride):
    return {"tokens": draw.integers(0, vocab, n), "window": window, "stride": stride}


def inputs(draw):
    vocab, width = draw.sizes(2, 5, 13)
    texts = []
    window = draw.integer(6, 9)
    stride = draw.integer(2, window - 2)
    texts.append(text_case(draw, vocab, window + 3 * stride, window, stride))  # the last window is full
    window = draw.integer(7, 10)
    stride = draw.integer(3, window - 3)
    texts.append(text_case(draw, vocab, window + 3 * stride + 1, window, stride))  # one new token is left
    window = draw.integer(6, 9)
    stride = window // 2
    texts.append(text_case(draw, vocab, window + 2 * stride + stride - 1, window, stride))
    window = draw.integer(4, 6)
    texts.append(text_case(draw, vocab, window + draw.integer(3, 5), window, 1))
    window = draw.integer(5, 8)
    texts.append(text_case(draw, vocab, 3 * window + draw.integer(0, 2), window, window - 1))
    window = draw.integer(7, 10)
    texts.append(text_case(draw, vocab, window - 2, window, draw.integer(1, 3)))  # shorter than the window
    window = draw.integer(5, 8)
    texts.append(text_case(draw, vocab, window, window, draw.integer(1, 3)))
    texts.append(text_case(draw, vocab, draw.integer(4, 6), 2, 1))
    texts.append(text_case(draw, vocab, 2, draw.integer(2, 5), 1))
    questions = []
    for context, sizes in (
        (draw.integer(6, 9), draw.shuffled([1, 2, 4])),
        (draw.integer(3, 5), draw.shuffled([1, 3, 3, 6])),
        (1, draw.shuffled([1, 5, 7])),
        (draw.integer(4, 6), [draw.integer(2, 4)]),
        (draw.integer(4, 6), draw.shuffled([2, 3, 5, 8])),
    ):
        questions.append(
            {
                "context": draw.integers(0, vocab, context),
                "choices": [draw.integers(0, vocab, size) for size in sizes],
                "lengths": [size * draw.integer(2, 4) + draw.integer(0, 1) for size in sizes],
            }
        )
    tied = draw.integer(2, 3)
    problems = []
    for k in (1, draw.integer(2, 4), draw.integer(5, 9)):
        counts = [(n, draw.integer(1, n - 1)) for n in (draw.integer(k + 1, 30) for _ in range(4))]
        counts += [(k + 3, 0), (k + 2, k + 2), (k, draw.integer(1, k)), (k, 0), (k + 4, 4), (k + 4, 5)]
        problems.append({"counts": draw.shuffled(counts), "k": k})
    # Here no term is special, so that a wrong value for n - c < k does not hide a wrong formula.
    k = draw.integer(2, 4)
    problems.append({"counts": [(n, draw.integer(1, 3)) for n in (k + 5, k + 9, k + 14)], "k": k})
    large = [
        {
            "counts": [(10_000, draw.integer(2, 40)), (9_000, draw.integer(2, 900))],
            "k": draw.integer(50, 200),
        },
        {"counts": [(10_000, draw.integer(1, 3))], "k": draw.integer(3_000, 6_000)},
        {"counts": [(10_000, draw.integer(1, 9)), (10_000, 9_999)], "k": draw.integer(1, 3)},
    ]
    first, gap = draw.uniform(-1.0, 1.0), draw.uniform(0.3, 2.0)
    base = draw.normal(2, scale=3.0, dtype=torch.float64)
    same = draw.normal(12, scale=3.0, dtype=torch.float64)
    one = torch.zeros(12, dtype=torch.float64)
    one[draw.integer(0, 11)] = gap
    return {
        "emb": draw.normal(vocab, width),
        "head": draw.normal(vocab, width, scale=1.5),
        "bias": draw.normal(vocab),
        "texts": texts,
        "questions": questions,
        "tied": {
            "context": draw.integers(0, vocab, 4),
            "choices": [
                draw.integers(0, vocab, size) for size in (tied + 2, tied, tied + 1, tied, tied + 3, tied)
            ],
        },
        "numbers": [
            {"nll": draw.uniform(20.0, 300.0), "count": draw.integer(30, 90), "bytes": draw.integer(100, 400)}
            for _ in range(4)
        ],
        "problems": problems,
        "large": large,
        "paired": [spread_scores(draw, n) for n in (draw.integer(5, 9), draw.integer(20, 40), 2)]
        + [[s.float() for s in spread_scores(draw, draw.integer(10, 15))]]
        + [[(draw.rand(n) < 0.6).float() for _ in range(2)] for n in (draw.integer(30, 40),)],
        "scores": spread_scores(draw, draw.integer(21, 27)),
        "two": [torch.stack([base[0] + first, base[1] + first + gap]), base],
        # One question of twelve differs: the means are multiples of gap / 12, mostly 0, 1 or 2 of them.
        "rare": [same + one, same],
        "seeds": [draw.seed() for _ in range(6)],
        "confidence": [draw.uniform(0.45, 0.6), draw.uniform(0.7, 0.8)],
        "table_bf16": bigram_table(draw, vocab, 3.0, torch.bfloat16),
        "table_large": draw.choice([-1.0, 1.0])
        * draw.integers(-10_000, 10_001, vocab, vocab).float().clamp(-10_000, 10_000),
    }


class Reader(nn.Module):
    """A causal model whose logits depend on every token since the start of its input, and on their number."""

    def __init__(self, given, log=None):
        super().__init__()
        vocab, width = given["emb"].shape
        self.emb = nn.Embedding(vocab, width)
        self.drop = nn.Dropout(0.5)
        self.frozen = nn.Sequential(nn.Dropout(0.5), nn.Identity())
        self.head = nn.Linear(width, vocab)
        with torch.no_grad():
            self.emb.weight.copy_(given["emb"])
            self.head.weight.copy_(given["head"])
            self.head.bias.copy_(given["bias"])
        self.to(given["emb"].device)
        self.log = log

    def forward(self, ids):
        h = self.emb(ids)
        steps = torch.arange(1, ids.shape[1] + 1, device=ids.device, dtype=h.dtype)[:, None]
        h = torch.tanh(h + 1.5 * h.cumsum(1) / steps + torch.sin(steps))
        logits = self.head(self.frozen(self.drop(h)))
        if self.log is not None:
            self.log(self, ids, logits)
        return logits


class Bigram(nn.Module):
    """The logits after a token are a row of a table."""

    def __init__(self, table, dtype):
        super().__init__()
        self.table = nn.Parameter(table.to(dtype))

    def forward(self, ids):
        return self.table[ids]


def logger(calls):
    """A function that notes each call of a model. Copies of the model share it."""

    def log(model, ids, logits):
        shape = tuple(ids.shape)
        calls.append(
            {
                "ids": ids[0].tolist() if len(shape) == 2 and shape[0] == 1 else [],
                "shape": list(shape),
                "modes": [module.training for module in model.modules()],
                "grad": logits.requires_grad,
            }
        )

    return log


def probe_text(code, given, record):
    for i, case in enumerate(given["texts"]):
        with record.step(i):
            calls = []
            model = Reader(given, logger(calls)).eval()
            with torch.no_grad():
                result = code.strided_nll(model, case["tokens"].clone(), case["window"], case["stride"])
            record("calls", [[call["shape"], call["ids"]] for call in calls])
            record("result", result)


def probe_numbers(code, given, record):
    for i, case in enumerate(given["numbers"]):
        with record.step(f"perplexity{i}"):
            record("value", code.perplexity(case["nll"], case["count"]))
        with record.step(f"bits{i}"):
            record("value", code.bits_per_byte(case["nll"], case["bytes"]))


def probe_choices(code, given, record):
    for i, case in enumerate(given["questions"]):
        arguments = (case["context"], case["choices"])
        for name, extra in (
            ("plain", ()),
            ("lengths", (case["lengths"],)),
            ("tuple", (tuple(case["lengths"]),)),
        ):
            with record.step(f"{name}{i}"), torch.no_grad():
                choices = tuple(case["choices"]) if name == "tuple" else case["choices"]
                record("scores", code.choice_scores(Reader(given).eval(), case["context"], choices, *extra))
            with record.step(f"choose_{name}{i}"), torch.no_grad():
                record("index", code.choose(Reader(given).eval(), *arguments, *extra))
    with record.step("tied"), torch.no_grad():
        model = Bigram(torch.zeros(len(given["emb"]), len(given["emb"]), device=record.device), torch.float32)
        record("index", code.choose(model, given["tied"]["context"], given["tied"]["choices"]))


def probe_pass(code, given, record):
    for group in ("problems", "large"):
        for i, case in enumerate(given[group]):
            with record.step(f"{group}{i}"):
                record("value", code.pass_at_k(case["counts"], case["k"]))


def probe_paired(code, given, record):
    for i, (a, b) in enumerate(given["paired"]):
        with record.step(i):
            record("result", code.paired_difference(a.cpu(), b.cpu()))


def generator(seed):
    return torch.Generator().manual_seed(seed)


def probe_bootstrap(code, given, record):
    a, b = (s.cpu() for s in given["scores"])
    seeds = given["seeds"]
    for i, confidence in enumerate(given["confidence"]):
        with record.step(f"wide{i}"):
            record("result", code.paired_bootstrap(a, b, 1500, generator(seeds[i]), confidence))
    with record.step("default"):
        record("result", code.paired_bootstrap(a, b, 1500, generator(seeds[2])))
    a, b = (s.cpu() for s in given["two"])
    for name, confidence in (("middle", 0.3), ("ends", 0.76)):
        with record.step(name):
            record("result", code.paired_bootstrap(a, b, 600, generator(seeds[3]), confidence))
    a, b = (s.cpu() for s in given["rare"])
    with record.step("rare"):
        record("result", code.paired_bootstrap(a, b, 1500, generator(seeds[4]), 0.924))
    a, b = (s.cpu() for s in given["two"])
    with record.step("single"):
        record("results", [code.paired_bootstrap(a, b, 1, generator(seed), 0.6) for seed in seeds])


def training_model(given, calls):
    """In training mode, except for one part that is frozen."""
    model = Reader(given, logger(calls)).train()
    model.frozen.eval()
    model.frozen[1].train()
    return model


def probe_modes(code, given, record):
    text, question = given["texts"][1], given["questions"][1]
    uses = {
        "text": lambda model: code.strided_nll(model, text["tokens"].clone(), text["window"], text["stride"]),
        "scores": lambda model: code.choice_scores(model, question["context"], question["choices"]),
        "choose": lambda model: code.choose(model, question["context"], question["choices"]),
    }
    for name, use in uses.items():
        for mode in ("train", "eval"):
            with record.step(f"{name}_{mode}"):
                calls = []
                model = (
                    training_model(given, calls) if mode == "train" else Reader(given, logger(calls)).eval()
                )
                before = [module.training for module in model.modules()]
                record("result", use(model))
                record("modes", [call["modes"] for call in calls])
                record("grad", [call["grad"] for call in calls])
                record("before", before)
                record("after", [module.training for module in model.modules()])


def probe_dtypes(code, given, record):
    for i in (0, 2, 4):
        text, question = given["texts"][i], given["questions"][i]
        for name, dtype in (("bf16", torch.bfloat16), ("large", torch.float32)):
            with record.step(f"{name}{i}"):
                model = Bigram(given[f"table_{name}"], dtype)
                record(
                    "text", code.strided_nll(model, text["tokens"].clone(), text["window"], text["stride"])
                )
                record("scores", code.choice_scores(model, question["context"], question["choices"]))


def probe_state(code, given, record):
    text, question = given["texts"][0], given["questions"][0]
    a, b = (s.cpu() for s in given["scores"])
    with record.step("repeat"):
        seed, other = given["seeds"][4:6]
        record("results", [code.paired_bootstrap(a, b, 40, generator(s), 0.7) for s in (seed, seed, other)])
        random.seed(1)
        torch.manual_seed(1)
        record("reseeded", code.paired_bootstrap(a, b, 40, generator(seed), 0.7))
    with record.step("types"):
        model = Reader(given).eval()
        record("nll, count", code.strided_nll(model, text["tokens"].clone(), text["window"], text["stride"]))
        record("perplexity", code.perplexity(77.0, 31))
        record("bits_per_byte", code.bits_per_byte(77.0, 131))
        record("choose", code.choose(model, question["context"], question["choices"]))
        record("pass_at_k", code.pass_at_k([(7, 3), (5, 0)], 2))
        record("paired_difference", code.paired_difference(a, b))
        record("paired_bootstrap", code.paired_bootstrap(a, b, 40, generator(5), 0.7))
    with record.step("inputs"):
        kept = [text["tokens"], question["context"], *question["choices"], a, b]
        lengths, counts, choices = list(question["lengths"]), [(7, 3), (5, 0)], list(question["choices"])
        record("before", kept)
        model = training_model(given, [])
        record("states_before", random_states())
        code.strided_nll(model, text["tokens"], text["window"], text["stride"])
        code.choice_scores(model, question["context"], choices, lengths)
        code.choose(model, question["context"], choices, lengths)
        code.pass_at_k(counts, 2)
        code.paired_difference(a, b)
        code.paired_bootstrap(a, b, 40, generator(5), 0.7)
        record("states_after", random_states())
        record("after", kept)
        record("lists_before", [question["lengths"], [(7, 3), (5, 0)], question["choices"]])
        record("lists_after", [lengths, counts, choices])
        record("weights", [model.emb.weight, model.head.weight, model.head.bias])


LINES = 30_000


def ending(call):
    """``call``, which ends with a RuntimeError after LINES lines: a stride of 0 makes some loops endless."""

    def limited():
        left = LINES

        def trace(frame, event, argument):  # noqa: ARG001
            nonlocal left
            left -= 1
            if left < 0:
                raise RuntimeError("it does not end")
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            return call()
        finally:
            sys.settrace(before)

    return limited


def probe_errors(code, given, record):
    model = Reader(given).eval()
    text, question = given["texts"][0], given["questions"][0]
    tokens, context, choices = text["tokens"], question["context"], question["choices"]
    size = len(choices)
    a, b = (s.cpu() for s in given["scores"])
    for name, call in {
        "stride_zero": ending(lambda: code.strided_nll(model, tokens, 6, 0)),
        "stride_negative": ending(lambda: code.strided_nll(model, tokens, 6, -2)),
        "stride_window": ending(lambda: code.strided_nll(model, tokens, 6, 6)),
        "stride_large": ending(lambda: code.strided_nll(model, tokens, 6, 9)),
        "window_one": ending(lambda: code.strided_nll(model, tokens, 1, 1)),
        "token": ending(lambda: code.strided_nll(model, tokens[:1], 6, 3)),
        "no_token": ending(lambda: code.strided_nll(model, tokens[:0], 6, 3)),
        "count": lambda: code.perplexity(3.0, 0),
        "count_negative": lambda: code.perplexity(3.0, -2),
        "bytes": lambda: code.bits_per_byte(3.0, 0),
        "bytes_negative": lambda: code.bits_per_byte(3.0, -7),
        "context": lambda: code.choice_scores(model, context[:0], choices),
        "choice": lambda: code.choice_scores(model, context, [*choices, context[:0]]),
        "choices": lambda: code.choice_scores(model, context, []),
        "choose": lambda: code.choose(model, context, []),
        "lengths_few": lambda: code.choice_scores(model, context, choices, [3] * (size - 1)),
        "lengths_many": lambda: code.choice_scores(model, context, choices, [3] * (size + 1)),
        "lengths_one": lambda: code.choice_scores(model, context, choices, [3]),
        "lengths_none": lambda: code.choice_scores(model, context, choices, []),
        "length_zero": lambda: code.choice_scores(model, context, choices, [3] * (size - 1) + [0]),
        "length_negative": lambda: code.choose(model, context, choices, [-3] + [3] * (size - 1)),
        "c_large": lambda: code.pass_at_k([(9, 3), (6, 7)], 2),
        "c_negative": lambda: code.pass_at_k([(9, 3), (6, -1)], 2),
        "k_zero": lambda: code.pass_at_k([(9, 3), (6, 2)], 0),
        "k_negative": lambda: code.pass_at_k([(9, 3), (6, 2)], -1),
        "k_large": lambda: code.pass_at_k([(9, 3), (6, 2)], 7),
        "k_no_samples": lambda: code.pass_at_k([(9, 3), (0, 0)], 1),
        "no_problems": lambda: code.pass_at_k([], 1),
        "shapes": lambda: code.paired_difference(a, b[:-1]),
        "shapes_long": lambda: code.paired_difference(a[:-1], b),
        "shapes_column": lambda: code.paired_difference(a[:, None], b),
        "shapes_one": lambda: code.paired_difference(a, b[:1]),
        "few": lambda: code.paired_difference(a[:1], b[:1]),
        "none": lambda: code.paired_difference(a[:0], b[:0]),
        "boot_shapes": lambda: code.paired_bootstrap(a, b[:-1], 10, generator(1)),
        "boot_shapes_long": lambda: code.paired_bootstrap(a[:-1], b, 10, generator(1)),
        "boot_shapes_column": lambda: code.paired_bootstrap(a, b[:, None], 10, generator(1)),
        "boot_few": lambda: code.paired_bootstrap(a[:1], b[:1], 10, generator(1)),
        "samples": lambda: code.paired_bootstrap(a, b, 0, generator(1)),
        "samples_negative": lambda: code.paired_bootstrap(a, b, -1, generator(1)),
        "confidence_zero": lambda: code.paired_bootstrap(a, b, 10, generator(1), 0.0),
        "confidence_one": lambda: code.paired_bootstrap(a, b, 10, generator(1), 1.0),
        "confidence_percent": lambda: code.paired_bootstrap(a, b, 10, generator(1), 95.0),
        "confidence_negative": lambda: code.paired_bootstrap(a, b, 10, generator(1), -0.5),
    }.items():
        record.raises(name, call)
    with record.step("valid"):
        record("stride", code.strided_nll(model, tokens, 2, 1)[1])
        record("k", code.pass_at_k([(6, 0), (6, 6)], 6))
        record("bytes", code.bits_per_byte(1.0, 1))
        record("zero", code.perplexity(0.0, 1))
