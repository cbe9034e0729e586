"""What an interview asks, stored with everything that marking needs, so that later edits change nothing.

An incident is stored as an ``IncidentSnapshot``.
"""

from typing import Any

import msgspec

from quizapp.bank import QuestionKind
from quizapp.bank.answers import shuffled
from quizapp.bank.model import Exercise, FollowUp, KeyPoint, Misconception, Option, Question, Tolerance
from quizapp.bank.parameters import sample_question


class AskedQuestion(msgspec.Struct, kw_only=True):
    """A question of the bank as asked under one seed; as it is for recall, with more fields for others."""

    content_hash: str
    prompt: str
    answer: str
    say: str = ""
    key_points: list[KeyPoint]
    misconceptions: list[Misconception]
    follow_ups: list[FollowUp]


class AskedNumber(AskedQuestion, kw_only=True):
    """A numeric question with its sampled values filled in; ``result`` is the right number."""

    result: float
    unit: str
    worked: str
    tolerance: Tolerance


class AskedChoice(AskedQuestion, kw_only=True):
    """A choice question; ``order`` holds indices into ``options`` as they are displayed."""

    options: list[Option] = []
    order: list[int] = []


class AskedOrder(AskedQuestion, kw_only=True):
    """An order question; ``order`` holds indices into ``steps`` as they are displayed."""

    steps: list[str] = []
    order: list[int] = []


class AskedCloze(AskedQuestion, kw_only=True):
    """A text with gaps."""

    text: str = ""


class AskedExercise(AskedQuestion, kw_only=True):
    """An exercise, with the rubric of what is to be explained. ``behaviours`` are texts by number."""

    title: str
    module: str
    starter: str
    behaviours: dict[str, str]


def ask_question(question: Question, seed: int) -> AskedQuestion:
    """The question as asked under ``seed``, with its rubric."""
    sampled = sample_question(question, seed)
    common: dict[str, Any] = {
        "content_hash": question.content_hash,
        "prompt": sampled.prompt,
        "answer": sampled.answer,
        "say": question.say,
        "key_points": list(question.key_points),
        "misconceptions": list(question.misconceptions),
        "follow_ups": list(question.follow_ups),
    }
    order = list(shuffled(question, seed))
    match question.kind:
        case QuestionKind.NUMERIC:
            return AskedNumber(
                **common,
                result=sampled.result,
                unit=question.unit,
                worked=sampled.worked,
                tolerance=question.tolerance,
            )
        case QuestionKind.CHOICE:
            return AskedChoice(**common, options=list(question.options), order=order)
        case QuestionKind.ORDER:
            return AskedOrder(**common, steps=list(question.steps), order=order)
        case QuestionKind.CLOZE:
            return AskedCloze(**common, text=question.text)
        case _:
            return AskedQuestion(**common)


def ask_exercise(exercise: Exercise) -> AskedExercise:
    """The exercise as asked, with the rubric of what is to be explained."""
    return AskedExercise(
        content_hash="",
        title=exercise.title,
        prompt=exercise.prompt,
        answer=exercise.solution,
        module=exercise.module,
        starter=exercise.starter,
        behaviours={str(number): text for number, text in exercise.behaviours.items()},
        key_points=list(exercise.rubric),
        misconceptions=[],
        follow_ups=[],
    )
