"""Measures the marking of typed answers on the labeled answers, beside the rule that it replaced.

``python benchmarks/marking.py [--questions held-out|fitted] [--peer] [--json]`` prints a table, the
reliability curve and the ten worst misjudgments. ``--peer`` adds a sentence-embedding model that is fitted on
the same answers; it needs two packages that the program does not depend on. The old rule looks for the
terms of the points in the sentences of the learner. Times are processor time; measuring memory needs Linux.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from quizapp.bank.key_terms import shown_terms, words
from quizapp.bank.loader import load_bank
from quizapp.bank.meaning.sentences import affirmed, own_sentences
from quizapp.bank.meaning.text_marking import Card, mark_text
from quizapp.bank.model import Bank
from tools.marking.embedding_peer import PACKAGES, EmbeddingPeer, load_encoder
from tools.marking.labeled import Labeled, read_labeled

RIGHT, OTHER_WORDS, WRONG, OPPOSITE = "complete", "spoken", "wrong", "opposite"
_SLICES = 10  # of the reliability curve
_WORDS_PER_POINT = 4  # of a sentence, in the old rule
_COST = """
import json, sys, time
from pathlib import Path
from quizapp.bank.loader import load_bank
from quizapp.bank.meaning.text_marking import card_of, mark_text
text = sys.argv[2]
card = card_of(load_bank().questions[sys.argv[1]])
resident = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * 4
before, start = resident(), time.process_time()
mark_text(card, text)
cold, after = time.process_time() - start, resident()
warm = []
for n in range(50):
    start = time.process_time()
    mark_text(card, f"{text} And so on, {n}.")
    warm.append(time.process_time() - start)
print(json.dumps([sorted(warm)[25] * 1e3, cold * 1e3, (after - before) / 1024]))
"""


@dataclass(frozen=True)
class Marked:
    """What a rule says about the key points of a labeled answer: probabilities and proposals."""

    answer: Labeled
    probabilities: tuple[float, ...]
    proposed: tuple[bool, ...]

    @property
    def weights(self) -> list[int]:
        """The weights of the key points."""
        return [point.weight for point in self.answer.card.points]

    @property
    def labels(self) -> list[bool]:
        """For each key point, whether the answer shows it."""
        shown = self.answer.shown or frozenset()
        return [index in shown for index in range(len(self.proposed))]

    def share(self, held: Sequence[float]) -> float:
        """The share of the weights that is held."""
        return float(np.average(held, weights=self.weights))


Rule = Callable[[Card, str], tuple[Sequence[float], Sequence[bool]]]


def by_meaning(card: Card, text: str) -> tuple[Sequence[float], Sequence[bool]]:
    """The rule of the program."""
    marking = mark_text(card, text)
    return [found.probability for found in marking.points], [found.proposed for found in marking.points]


def by_terms(card: Card, text: str) -> tuple[Sequence[float], Sequence[bool]]:
    """The rule that it replaced: a term of the point in a sentence that does not deny it."""
    shown = [False] * len(card.points)
    order = sorted(range(len(card.points)), key=lambda index: -card.points[index].weight)
    for sentence in own_sentences(text, card.prompt, card.points):
        room = max(1, len(words(sentence)) // _WORDS_PER_POINT)
        for index in order:
            point = card.points[index]
            given = set(shown_terms(point, card.prompt))
            if room and not shown[index] and set(shown_terms(point, affirmed(sentence))) - given:
                shown[index] = True
                room -= 1
    return [float(held) for held in shown], shown


def marked(rule: Rule, answers: Iterable[Labeled]) -> list[Marked]:
    """Mark labeled answers by a rule."""
    return [Marked(row, *map(tuple, rule(row.card, row.text))) for row in answers]  # type: ignore[arg-type]


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The probability that one of ``higher`` exceeds one of ``lower``; ties count half."""
    one, two = np.asarray(higher)[:, None], np.asarray(lower)[None, :]
    return float(((one > two) + 0.5 * (one == two)).mean())


def rank_correlation(one: Sequence[float], two: Sequence[float]) -> float:
    """Spearman's rank correlation, with mean ranks for ties."""
    return float(np.corrcoef(_ranks(one), _ranks(two))[0, 1])


def _ranks(values: Sequence[float]) -> "np.ndarray[Any, Any]":
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray[Any, Any] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def junk(answers: Sequence[Labeled]) -> Iterator[Labeled]:
    """Answers that say nothing: the prompt, the rubric's words, and a right answer to another question."""
    chance = random.Random(7)
    complete = [row for row in answers if row.kind == RIGHT]
    for row in complete:
        terms = [term.replace("|", " ").replace(" + ", " ") for p in row.card.points for term in p.terms]
        chance.shuffle(terms)
        other = chance.choice([one for one in complete if one.question != row.question])
        for kind, text in (("prompt", row.card.prompt), ("soup", " ".join(terms)), ("other", other.text)):
            yield row._replace(kind=kind, text=text, shown=frozenset())


def table(rows: Sequence[Marked], nonsense: Sequence[Marked]) -> dict[str, float]:
    """The measures of a rule."""

    def shares(kind: str) -> list[float]:
        return [row.share(row.proposed) for row in rows if row.answer.kind == kind]

    def soft(kind: str) -> list[float]:
        return [row.share(row.probabilities) for row in rows if row.answer.kind == kind]

    proposed = np.concatenate([row.proposed for row in rows])
    labels = np.concatenate([row.labels for row in rows])
    p = np.concatenate([row.probabilities for row in rows])
    return {
        "AUC, other words against wrong, by proposed share": auc(shares(OTHER_WORDS), shares(WRONG)),
        "AUC, other words against wrong, by mean probability": auc(soft(OTHER_WORDS), soft(WRONG)),
        "AUC, complete against wrong, by proposed share": auc(shares(RIGHT), shares(WRONG)),
        "AUC of single points": auc(p[labels], p[~labels]),
        "rank correlation with the labeled share": rank_correlation(
            [row.share(row.proposed) for row in rows], [row.share(row.labels) for row in rows]
        ),
        "not shown, but proposed (of the points not shown)": float(proposed[~labels].mean()),
        "not shown (of the points proposed)": float((~labels)[proposed].mean()),
        "shown, but not proposed (of the points shown)": float((~proposed)[labels].mean()),
        "junk: mean marks of 100": 100 * float(np.mean([row.share(row.proposed) for row in nonsense])),
        "opposite: marks as a share of the complete answer's": float(
            np.mean(shares(OPPOSITE)) / max(1e-6, np.mean(shares(RIGHT)))
        ),
    }


def reliability(rows: Sequence[Marked]) -> Iterator[str]:
    """The reliability curve as text: for each slice of probability, how many points are shown."""
    labels = np.concatenate([row.labels for row in rows])
    p = np.concatenate([row.probabilities for row in rows])
    for low in np.arange(_SLICES) / _SLICES:
        inside = (p >= low) & (p < low + 1 / _SLICES + 1e-9)
        if inside.any():
            held = float(labels[inside].mean())
            yield f"{low:.1f}  {held:5.0%} of {int(inside.sum()):5}  {'#' * round(40 * held)}"


def worst(rows: Sequence[Marked], count: int = 10) -> Iterator[str]:
    """The points that the rule is surest about and wrong."""
    errors = [
        (abs(p - label), row, index)
        for row in rows
        for index, (p, label) in enumerate(zip(row.probabilities, row.labels, strict=True))
    ]
    for error, row, index in sorted(errors, key=lambda one: -one[0])[:count]:
        verdict = "shown" if row.labels[index] else "not shown"
        yield (
            f"{row.answer.question} ({row.answer.kind}), off by {error:.2f}, {verdict}:\n"
            f"  point:  {row.answer.card.points[index].text}\n"
            f"  answer: {' '.join(row.answer.text.split())}"
        )


def cost(answers: Sequence[Labeled]) -> dict[str, float]:
    """Processor time and memory of one answer of about 120 words, in a fresh interpreter."""
    longest = max(answers, key=lambda row: len(row.text))
    text = " ".join((longest.text + " " + longest.text).split()[:120])
    run = subprocess.run(
        [sys.executable, "-c", _COST, longest.question, text], capture_output=True, text=True, check=True
    )
    warm, cold, memory = json.loads(run.stdout)
    return {"warm, ms": warm, "with loading, ms": cold, "memory, MB": memory}


def measure(bank: Bank, *, held_out: bool, peer: EmbeddingPeer | None = None) -> dict[str, Any]:
    """Everything about one third or two thirds of the questions."""
    answers = list(read_labeled(bank, held_out=held_out))
    nonsense = list(junk(answers))
    rules: dict[str, Rule] = {"terms": by_terms, "meaning": by_meaning}
    if peer is not None:
        rules["peer"] = peer
        peer.embed_all([*answers, *nonsense])
    found = {name: marked(rule, answers) for name, rule in rules.items()}
    return {
        "questions": len({row.question for row in answers}),
        "answers": len(answers),
        "labels": sum(len(row.card.points) for row in answers),
        **{name: table(found[name], marked(rule, nonsense)) for name, rule in rules.items()},
        "reliability": list(reliability(found["meaning"])),
        "worst": list(worst(found["meaning"])),
        "cost": cost(answers),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", choices=("held-out", "fitted"), default="held-out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--peer", action="store_true", help=f"beside an embedding model ({PACKAGES})")
    options = parser.parse_args()
    bank, peer = load_bank(), None
    if options.peer:
        try:
            peer = EmbeddingPeer(load_encoder(), read_labeled(bank, held_out=False))
        except ImportError as error:
            parser.exit(2, f"The peer is not installed ({error}). Do: pip install {PACKAGES}\n")
    result = measure(bank, held_out=options.questions == "held-out", peer=peer)
    if options.json:
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return
    print(f"{options.questions}: {result['questions']} questions, {result['answers']} answers,", end=" ")
    rules = [name for name in ("terms", "meaning", "peer") if name in result]
    print(f"{result['labels']} labels\n\n{'':56}", *(f"{name:>7}" for name in rules))
    for measure_name in result["meaning"]:
        print(f"{measure_name:56}", *(f"{result[name][measure_name]:7.2f}" for name in rules))
    for name, value in result["cost"].items():
        print(f"{name:56} {'':7} {value:7.1f}")
    print("\nprobability  shown\n" + "\n".join(result["reliability"]))
    print("\nWorst misjudgments\n" + "\n".join(result["worst"]))


if __name__ == "__main__":
    main()
