"""Marks a typed answer: the probability of each key point and misconception, and what each rests on.

The program proposes and the learner decides. Importing this module is cheap; the first answer loads numpy,
the space and the weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from quizapp.bank.meaning.sentences import sentences
from quizapp.bank.model import KeyPoint, Misconception, Question


@dataclass(frozen=True)
class Card:
    """What an answer is marked against. ``references`` are the card's own answers, spoken and written.

    Words of the prompt are weak evidence, unless ``gives_away`` is False: the task of an exercise names the
    very things that its explanation must name. Cards ``of_a_form`` share much of their wording, as the key
    points of incidents do (command, control run, seeds, guard): the answer to another one earns nothing.
    """

    prompt: str
    points: tuple[KeyPoint, ...]
    misconceptions: tuple[Misconception, ...] = ()
    references: tuple[str, ...] = ()
    gives_away: bool = True
    of_a_form: bool = False


def card_of(question: Question) -> Card:
    """The card of a question of the bank."""
    follow_ups = (row.answer for row in question.follow_ups)
    references = tuple(text for text in (question.answer, question.say, *follow_ups) if text)
    return Card(question.prompt, question.key_points, question.misconceptions, references)


class TextFinding(NamedTuple):
    """Whether an answer holds a statement. ``nearest`` is the passage that says most of it."""

    probability: float = 0.0
    proposed: bool = False
    nearest: str = ""

    @property
    def evidence(self) -> str:
        """The learner's sentence, or two neighboring ones, as typed; empty if nothing is proposed."""
        return self.nearest if self.proposed else ""


class TextMarking(NamedTuple):
    """The findings of an answer, in the order of the card's key points and misconceptions."""

    points: tuple[TextFinding, ...]
    misconceptions: tuple[TextFinding, ...]

    @property
    def proposed(self) -> dict[int, str]:
        """The indices of the proposed points, each with its evidence."""
        return {index: found.evidence for index, found in enumerate(self.points) if found.proposed}

    def share(self, points: Sequence[KeyPoint]) -> float:
        """The proposed share of the weights, 0 to 1."""
        total = sum(point.weight for point in points)
        got = sum(p.weight for p, found in zip(points, self.points, strict=True) if found.proposed)
        return got / total if total else 0.0


@lru_cache(64)
def mark_text(card: Card, text: str) -> TextMarking:
    """Mark a typed answer to a card. Copied prompts and lists of words show nothing."""
    nothing = TextMarking(
        tuple(TextFinding() for _ in card.points), tuple(TextFinding() for _ in card.misconceptions)
    )
    if not text.strip() or not (card.points or card.misconceptions):
        return nothing
    from quizapp.bank.meaning.features import features  # imports numpy
    from quizapp.bank.meaning.model import load_model, probabilities

    measured = features(card, text)
    if measured is None:
        return nothing
    model = load_model()
    shown, stated = probabilities(model, measured, of_a_form=card.of_a_form)
    misconceptions = []
    rivals: dict[str, float] = {}  # sentences that state a misconception, with its probability
    for p, unit in zip(stated, measured.wrong_units, strict=True):
        proposed = p >= model.propose_wrong
        misconceptions.append(TextFinding(p, proposed, _passage(text, unit)))
        if proposed:
            rivals.update((sentence, max(p, rivals.get(sentence, 0.0))) for sentence in unit)
    points = []
    for p, unit, evidence in zip(shown, measured.point_units, measured.point_evidence, strict=True):
        # A sentence that rather states a misconception earns nothing.
        proposed = p >= model.propose and p > max(rivals.get(sentence, 0.0) for sentence in unit)
        points.append(TextFinding(p, proposed, _passage(text, evidence)))
    return TextMarking(tuple(points), tuple(misconceptions))


def _passage(text: str, chosen: Sequence[str]) -> str:
    """The passage of the text from the first to the last of some sentences, as it was typed."""
    start = text.find(chosen[0])
    end = text.find(chosen[-1], start)
    if start < 0 or end < 0:
        return chosen[0]
    end += len(chosen[-1])
    if chosen[-1].endswith(":") and (rest := sentences(text[end:])):
        end = text.find(rest[0], end) + len(rest[0])  # a colon ends a sentence for the marking only
    return text[start:end]
