"""Questions as an interview asked them.

They are stored with everything that marking needs, so that later edits of the content do not change old
interviews. An incident is stored as an ``IncidentSnapshot``.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from quizapp.bank import QuestionKind
from quizapp.bank.answers import shuffled
from quizapp.bank.model import Exercise, FollowUp, KeyPoint, Misconception, Option, Question, Tolerance
from quizapp.bank.parameters import sample_question
from quizapp.incidents.diagnosis import IncidentSnapshot
from quizapp.incidents.live.live_work import LiveTask
from quizapp.interview.code_review.model import CodeReview
from quizapp.practice.faults import FaultyProgram
from quizapp.practice.stage_task import without_docstrings
from quizapp.util.text import plural

NOTHING_BROKEN = "nothing is broken."


class AskedQuestion(msgspec.Struct, kw_only=True):
    """A question of the bank as asked with one seed. Recall uses this type; other kinds add fields."""

    content_hash: str
    prompt: str
    answer: str
    say: str = ""
    key_points: list[KeyPoint]
    misconceptions: list[Misconception]
    follow_ups: list[FollowUp]


class AskedNumber(AskedQuestion, kw_only=True):
    """A numeric question with its sampled values filled in. ``result`` is the right number."""

    result: float
    unit: str
    worked: str
    tolerance: Tolerance


class AskedChoice(AskedQuestion, kw_only=True):
    """A choice question. ``order`` holds indices into ``options`` in the order of display."""

    options: list[Option] = []
    order: list[int] = []


class AskedOrder(AskedQuestion, kw_only=True):
    """An order question. ``order`` holds indices into ``steps`` in the order of display."""

    steps: list[str] = []
    order: list[int] = []


class AskedCloze(AskedQuestion, kw_only=True):
    """A text with gaps."""

    text: str = ""


class AskedExercise(AskedQuestion, kw_only=True):
    """An exercise with the rubric for its explanation. ``behaviours`` maps numbers to texts."""

    title: str
    module: str
    starter: str
    behaviours: dict[str, str]


class AskedReview(AskedQuestion, kw_only=True):
    """A code review. Its key points are the consequences of its faults."""

    title: str
    review: CodeReview


def ask_question(question: Question, seed: int) -> AskedQuestion:
    """Return the question as asked with ``seed``, with its rubric."""
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


def ask_hypotheses(exercise: Exercise, program: FaultyProgram) -> AskedQuestion:
    """Return the question for hypotheses on a faulty program; its key points are the faults."""
    points = [
        KeyPoint(fault.why or f"{exercise.behaviours[fault.behaviour]} This does not hold.", 2)
        for fault in program.faults
    ]
    return _open_question(
        f"{_faulty_text(exercise, program)}\n\nDo not fix anything yet. Where would you look for each, "
        f"in which order, and what would you check first?\n\n```python\n{program.source.strip()}\n```",
        points,
    )


def ask_about_runs(runs: Sequence[IncidentSnapshot]) -> AskedQuestion:
    """Return the question for hypotheses on runs that may be broken; its key points are their causes."""
    shown = "\n\n".join(
        f"## {number}. {run.title}\n\n{run.prompt.strip()}" for number, run in enumerate(runs, 1)
    )
    points = [KeyPoint(f"Run {number}: {_cause_text(run)}", 2) for number, run in enumerate(runs, 1)]
    return _open_question(
        f"# {plural(len(runs), 'run')}\n\nTake no reading yet. For each run: which causes fit the "
        f"symptom, in which order would you test them, and with which reading?\n\n{shown}",
        points,
    )


def ask_about_live_run(run: IncidentSnapshot, script: LiveTask) -> AskedQuestion:
    """Return the question for hypotheses on a run whose script is repaired afterwards.

    Its key points are the cause, and for each decoy of the run that it fits too and what excludes it.
    """
    points = [KeyPoint(_cause_text(run), 2)]
    points += [KeyPoint(f"It could also be: {rival}") for rival in run.rejections()]
    return _open_question(
        f"# {run.title}\n\nTake no reading yet, and run nothing. Which causes fit the symptom, where in the "
        "script would each lie, in which order would you test them, and with which reading or run?\n\n"
        f"{run.prompt.strip()}\n\n{script.brief.strip()}\n\n"
        f"```python\n{script.broken.strip()}\n```",
        points,
    )


def _cause_text(run: IncidentSnapshot) -> str:
    return next((cause.text for cause in run.causes if cause.id == run.cause), NOTHING_BROKEN)


def _open_question(prompt: str, points: list[KeyPoint]) -> AskedQuestion:
    """A question that belongs to no card; its answer lists the key points."""
    return AskedQuestion(
        content_hash="",
        prompt=prompt,
        answer="\n".join(f"- {point.text}" for point in points),
        key_points=points,
        misconceptions=[],
        follow_ups=[],
    )


def ask_debugging(exercise: Exercise, program: FaultyProgram) -> AskedExercise:
    """Return an exercise whose module begins as a faulty solution; nothing has to be explained."""
    asked = ask_exercise(exercise)
    asked.prompt = f"{_faulty_text(exercise, program)}\n\n{asked.prompt}"
    asked.starter = program.source
    asked.key_points = []
    return asked


def ask_review(review: CodeReview) -> AskedReview:
    """Return a code review as asked."""
    whys = [fault.why for fault in review.faults]
    return AskedReview(
        content_hash="",
        title=f"Review: {review.title}",
        prompt="Is this code correct? If not: where is the fault, what goes wrong for a user, how do you "
        f"prove it, and what is the fix?\n\n```python\n{review.shown.strip()}\n```",
        answer="\n".join(f"- {why}" for why in whys) or "The code is correct.",
        key_points=[KeyPoint(why, 2) for why in whys],
        misconceptions=[],
        follow_ups=[],
        review=review,
    )


def _faulty_text(exercise: Exercise, program: FaultyProgram) -> str:
    failing = "\n".join(f"- {exercise.behaviours[fault.behaviour]}" for fault in program.faults)
    title = f"# {exercise.title}: {len(program.faults)} faults"
    return f"{title}\n\nThis program fails the tests of these behaviors:\n\n{failing}"


def ask_exercise(exercise: Exercise, *, staged: bool = False) -> AskedExercise:
    """Return the exercise as asked, with the rubric for its explanation.

    ``staged``, it begins without docstrings, because the briefs of the stages say what to write.
    """
    return AskedExercise(
        content_hash="",
        title=exercise.title,
        prompt=exercise.prompt,
        answer=exercise.solution,
        module=exercise.module,
        starter=without_docstrings(exercise.starter) if staged else exercise.starter,
        behaviours={str(number): text for number, text in exercise.behaviours.items()},
        key_points=list(exercise.rubric),
        misconceptions=[],
        follow_ups=[],
    )
