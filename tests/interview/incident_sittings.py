"""Incidents sat by program in the read-only form: whoever pastes, guesses or buys, and who knows the answer.

A sitter is a function of the incident as asked, another incident, and a source of chance. It returns what was
typed, what was chosen and which readings were taken.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from quizapp.incidents.diagnosis import BoughtReading, IncidentSnapshot, StatedDiagnosis
from quizapp.incidents.model import NO_FAULT, NOTHING, IncidentLibrary
from quizapp.interview.blueprint import Blueprint
from quizapp.interview.marking.model import IncidentMarking
from quizapp.interview.marking.propose import propose
from quizapp.interview.paper.model import PaperQuestion
from quizapp.interview.scoring.arithmetic import Term
from quizapp.interview.scoring.score import mark_of
from quizapp.interview.scoring.terms import terms_of
from quizapp.interview.session.make_question import make_question
from quizapp.interview.session.question import FROZEN, InterviewQuestion

ALONE, IN_INTERVIEW = 1, 2
"""The rules by which an incident is weighed: by itself, and in an interview."""

_SAME_ANSWER = (
    "The cause is the learning rate, because the loss spikes after a few steps. I re-run with the same seed, "
    "the same data order and the same commit. I overfit one batch, compare the gradient norms with those of "
    "the reference and check the labels. The fix is a smaller learning rate with warm-up and clipping. I "
    "verify on three seeds past the failing step. To prevent it, an assert on finite losses and a unit test."
)
_FILLER = ("the", "is", "of", "and", "because", "it", "in", "with", "so", "that", "to", "was")
_DENIALS = (
    "It is not true that {}",
    "It is wrong to say that {}",
    "Nobody should believe that {}",
    "I doubt that {}",
    "{} That is false.",
    "{} No, it is the opposite.",
)


class Sitting(NamedTuple):
    """What a sitter did: words, choices, and readings with predictions."""

    typed: str = ""
    stated: StatedDiagnosis | None = None
    bought: tuple[BoughtReading, ...] = ()


Sitter = Callable[[IncidentSnapshot, IncidentSnapshot, random.Random], Sitting]


class Result(NamedTuple):
    """The mark of a sitting, with its terms."""

    mark: int
    terms: Sequence[Term]
    marking: IncidentMarking


def ask(library: IncidentLibrary, name: str, rules: int, seed: int = 1) -> InterviewQuestion:
    """An incident as a question, by the rules of a single run or of an interview."""
    incident = library.incidents[name]
    pick = PaperQuestion(
        "scenario", incident.card, incident.exercise, incident.topic, incident.level, "incident", None, True,
        seed, incident=name, planned=360, budget=360,
    )  # fmt: skip
    return make_question(0, pick, None, library, rules=rules)  # type: ignore[arg-type]


def sit(item: InterviewQuestion, sitting: Sitting, blueprint: Blueprint) -> Result:
    """The mark of an incident if every proposal of the program is accepted."""
    item.typed, item.given, item.bought = sitting.typed, sitting.stated, list(sitting.bought)
    item.state, item.used_ms = FROZEN, 240_000
    marking = propose(item, blueprint.format.beats["incident"])
    assert isinstance(marking, IncidentMarking)
    terms = terms_of(item, marking)
    return Result(mark_of(terms), terms, marking)


# words


def _soup(asked: IncidentSnapshot, rng: random.Random) -> list[str]:
    terms = [term.replace(" + ", " ").split("|")[0] for point in asked.key_points for term in point.terms]
    return rng.sample(terms, len(terms))


def soup(asked: IncidentSnapshot, _: IncidentSnapshot, rng: random.Random) -> str:
    """The rubric's words, one after the other."""
    return " ".join(_soup(asked, rng))


def soup_lines(asked: IncidentSnapshot, _: IncidentSnapshot, rng: random.Random) -> str:
    """The rubric's words, three on each line."""
    terms = _soup(asked, rng)
    return "\n".join(", ".join(terms[at : at + 3]) for at in range(0, len(terms), 3))


def soup_prose(asked: IncidentSnapshot, _: IncidentSnapshot, rng: random.Random) -> str:
    """The rubric's words with small words between them, cut into sentences."""
    words = " ".join(
        f"{term} {rng.choice(_FILLER)} {rng.choice(_FILLER)}" for term in _soup(asked, rng)
    ).split()
    return " ".join(f"{' '.join(words[at : at + 14]).capitalize()}." for at in range(0, len(words), 14))


def denial(form: str) -> "Words":
    """Every key point, denied in one form."""
    return lambda asked, _, __: "\n".join(form.format(point.text) for point in asked.key_points)


def denied_answer(asked: IncidentSnapshot, _: IncidentSnapshot, __: random.Random) -> str:
    """The answer, each sentence denied."""
    return " ".join(f"It is not true that {part}" for part in re.split(r"(?<=[.])\s+", asked.answer))


def prompt(asked: IncidentSnapshot, _: IncidentSnapshot, __: random.Random) -> str:
    """Setup and symptom, copied."""
    return asked.prompt


def prompt_pieces(asked: IncidentSnapshot, _: IncidentSnapshot, rng: random.Random) -> str:
    """Pieces of the prompt of nine to fifteen words, in another order."""
    words, pieces = asked.prompt.split(), []
    while words:
        size = rng.randint(9, 15)
        pieces.append(" ".join(words[:size]).rstrip(".,;:") + ".")
        words = words[size:]
    rng.shuffle(pieces)
    return " ".join(pieces)


def prompt_ends(asked: IncidentSnapshot, _: IncidentSnapshot, rng: random.Random) -> str:
    """Each sentence of the prompt with another first and last word."""
    fresh = ("Clearly", "Here", "Apparently", "indeed", "obviously", "then")
    sentences = re.split(r"(?<=[.;:])\s+", " ".join(asked.prompt.split()))
    return " ".join(
        f"{rng.choice(fresh)} {' '.join(s.split()[1:-1])} {rng.choice(fresh)}." for s in sentences
    )


def offered(asked: IncidentSnapshot, _: IncidentSnapshot, __: random.Random) -> str:
    """All that is offered to choose from, copied: causes, places, states, readings."""
    rows = (*asked.causes, *asked.places, *asked.states, *asked.readings)
    return "\n".join(f"{row.text}." for row in rows)


def other_answer(_: IncidentSnapshot, other: IncidentSnapshot, __: random.Random) -> str:
    """The answer to another incident."""
    return other.answer


def other_points(_: IncidentSnapshot, other: IncidentSnapshot, __: random.Random) -> str:
    """The key points of another incident."""
    return "\n".join(point.text for point in other.key_points)


def same_answer(_: IncidentSnapshot, __: IncidentSnapshot, ___: random.Random) -> str:
    """One answer to everything."""
    return _SAME_ANSWER


def own_points(asked: IncidentSnapshot, _: IncidentSnapshot, __: random.Random) -> str:
    """The incident's own key points, typed out."""
    return "\n".join(point.text for point in asked.key_points)


def own_answer(asked: IncidentSnapshot, _: IncidentSnapshot, __: random.Random) -> str:
    """The incident's own answer."""
    return asked.answer


def nothing(_: IncidentSnapshot, __: IncidentSnapshot, ___: random.Random) -> str:
    """No words at all."""
    return ""


Words = Callable[[IncidentSnapshot, IncidentSnapshot, random.Random], str]


# choices and readings


def no_choice(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """Nothing chosen, no reading taken."""
    del asked, rng
    return Sitting()


def no_fault(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """No fault, whatever the run, and no reading."""
    del asked, rng
    return Sitting(stated=StatedDiagnosis(NO_FAULT, NOTHING))


def no_fault_controlled(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """No fault, with the control run, predicted flat."""
    del rng
    return Sitting(stated=StatedDiagnosis(NO_FAULT, NOTHING), bought=_bought(asked, ["control-run"], "flat"))


def all_bought(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """Every reading, always with the same prediction, and nothing chosen."""
    del rng
    return Sitting(bought=_bought(asked, [row.id for row in asked.readings], "flat"))


def all_states(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """The first cause, the first place, every state, and one free reading."""
    del rng
    stated = StatedDiagnosis(asked.causes[0].id, asked.places[0].id, [row.id for row in asked.states])
    return Sitting(stated=stated, bought=_bought(asked, [asked.readings[0].id], "flat"))


def at_random(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """A cause, a place, states, a rejection, and readings with predictions, all by chance."""
    names = [row.id for row in asked.readings]
    taken = [name for name in names if rng.random() < 0.4]
    stated = StatedDiagnosis(
        rng.choice(asked.causes).id,
        rng.choice(asked.places).id,
        [row.id for row in asked.states if rng.random() < 0.5],
        rng.choice(asked.causes).id,
        rng.choice(taken or [""]),
    )
    return Sitting(stated=stated, bought=_bought(asked, taken, "", rng))


def right(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """The right choices, by the cheapest path."""
    del rng
    taken = list(asked.cheapest.readings)
    others = [row for row in asked.causes if row.id in asked.decoys and set(row.rejected_by) & set(taken)]
    decoy = others[0] if others else None
    stated = StatedDiagnosis(
        asked.cause,
        asked.place,
        [row.id for row in asked.states if row.right],
        decoy.id if decoy else "",
        next(name for name in taken if name in decoy.rejected_by) if decoy else "",
    )
    outcomes = {row.id: row.outcome for row in asked.readings}
    bought = tuple(row for name in taken for row in _bought(asked, [name], outcomes[name]))
    return Sitting(stated=stated, bought=bought)


def _bought(
    asked: IncidentSnapshot, names: Sequence[str], predicted: str, rng: random.Random | None = None
) -> tuple[BoughtReading, ...]:
    rows = [row for row in asked.readings if row.id in names]
    return tuple(
        BoughtReading(
            row.id,
            row.seconds,
            rng.choice(row.outcomes) if rng else predicted if predicted in row.outcomes else row.outcomes[0],
            row.outcome,
            number,
        )
        for number, row in enumerate(rows)
    )


Choices = Callable[[IncidentSnapshot, random.Random], Sitting]

PASTED: Mapping[str, Words] = {
    "soup": soup,
    "soup on lines": soup_lines,
    "soup as prose": soup_prose,
    **{f"denial: {form.format('…')}": denial(form) for form in _DENIALS},
    "answer denied": denied_answer,
    "copied prompt": prompt,
    "prompt in pieces": prompt_pieces,
    "prompt with other ends": prompt_ends,
    "offered texts": offered,
    "another incident's answer": other_answer,
    "another incident's key points": other_points,
    "the same answer to all": same_answer,
}
"""Words that show no thought about the run."""
CHOSEN: Mapping[str, Choices] = {
    "nothing chosen": no_choice,
    "no fault": no_fault,
    "no fault, control run": no_fault_controlled,
    "all readings bought": all_bought,
    "first choices, all states": all_states,
    "chance": at_random,
}
"""Choices that show no thought about the run."""


def combined(words: Words, choices: Choices) -> Sitter:
    """A sitter who types these words and makes these choices."""
    return lambda asked, other, rng: choices(asked, rng)._replace(typed=words(asked, other, rng))


HONEST: Mapping[str, Sitter] = {
    "own answer": combined(own_answer, right),
    "own key points": combined(own_points, right),
}
"""Whoever knows the answer."""
right_without_words = combined(nothing, right)
