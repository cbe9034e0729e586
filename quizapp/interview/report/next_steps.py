"""What to do next: the cards, the exercise stage and the incident that would have brought the most marks."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from quizapp.interview.blueprint import form_of_role
from quizapp.interview.paper.model import InterviewHead
from quizapp.interview.report.model import MarkedQuestion, NextStep, WeakTopic, costliest
from quizapp.interview.report.related_tasks import RelatedTasks
from quizapp.interview.rounds.material import CARDS, PROJECT_TOPIC
from quizapp.interview.session.question import CODING, DEBUG, INCIDENT, REVIEW
from quizapp.util.sanitize import one_line

GOOD_MARK = 80  # topics and exercises below it are worth a next step
MOST_CARDS = 3
MOST_REVIEWS = 1
_MOST_STEPS = 5
_TITLE_CHARACTERS = 60


class StepTarget(NamedTuple):
    """What a step opens, with its name.

    The kinds are card, exercise, stages (an exercise in interview mode), review, incident, drill and mock.
    """

    kind: str
    name: str


def next_steps(
    head: InterviewHead,
    weak_topics: Sequence[WeakTopic],
    questions: Sequence[MarkedQuestion],
    related: RelatedTasks,
) -> list[NextStep]:
    """The steps, best first. Where no card, exercise or run was asked, ``related`` has what is nearest."""
    if head.rules > 1:
        steps = [*_cards(questions, related), *_exercise(questions, related)]
        steps += [*_incident(questions, related, head.seed), *_reviews(questions, related)]
    else:
        steps = [*_topics_and_exercises(weak_topics, questions)]
    if head.loop:
        command = f"quizapp mock --round loop --role {head.role}"
        return [*steps, NextStep("Go on with the loop after a break, or begin another", command)]
    return [*steps, NextStep(*form_of_role(head.role).another(head.role, head.minutes, head.round))]


def _costly(questions: Sequence[MarkedQuestion]) -> list[MarkedQuestion]:
    return [question for question in costliest(questions) if question.marks.total < GOOD_MARK]


def _cards(questions: Sequence[MarkedQuestion], related: RelatedTasks) -> Iterator[NextStep]:
    costly = _costly(questions)
    missed = [
        question.asked
        for question in costly
        if question.asked.kind not in (CODING, INCIDENT, REVIEW) and not question.asked.card.startswith(CARDS)
    ]
    for asked in missed[:MOST_CARDS]:
        yield NextStep(f"Answer again: {_short(asked.asked.prompt)}", f"quizapp show {asked.card}")
    known = {question.asked.card for question in questions}
    near = (card for question in costly for card in related.cards(question.asked) if card.id not in known)
    for card in islice({card.id: card for card in near}.values(), max(0, MOST_CARDS - len(missed))):
        yield NextStep(f"Answer: {_short(card.prompt)}", f"quizapp show {card.id}")


def _exercise(questions: Sequence[MarkedQuestion], related: RelatedTasks) -> Iterator[NextStep]:
    """The stage at which the costliest coding task stopped, else the exercise of the costliest question."""
    costly = [question.asked for question in _costly(questions)]
    tasks = [asked for asked in costly if asked.kind == CODING and asked.exercise in related.bank.exercises]
    for asked in [*tasks, *costly]:
        exercise = related.exercise(asked)
        if exercise is None:
            continue
        command = f"quizapp exercise {exercise.slug}"
        if asked.kind == CODING and asked.stages and asked.slot != DEBUG:
            stage = asked.staged_run.current.name
        elif len(exercise.stages) > 1:
            stage = exercise.stages[0].name
        else:
            yield NextStep(f"Write {exercise.title}", command)
            return
        yield NextStep(f'Write {exercise.title}, up to stage "{stage}"', f"{command} --stages")
        return


def _incident(questions: Sequence[MarkedQuestion], related: RelatedTasks, seed: int) -> Iterator[NextStep]:
    costly = [question.asked for question in _costly(questions)]
    missed = next((asked for asked in costly if asked.kind == INCIDENT), None)
    if missed is not None:
        title, command = _short(missed.incident.title), f"quizapp incident {missed.incident.id}"
        if missed.live is not None:
            yield NextStep(f"Repair again: {title}", f"{command} --live")
        else:
            yield NextStep(f"Diagnose again: {title}", command)
        return
    runs = (run for asked in costly if (run := related.incident(asked, seed)) is not None)
    for run in islice(runs, 1):
        # The id names the fault, which is still to be found.
        yield NextStep(f"Diagnose a broken run: {_short(run.title)}", f"quizapp incident {run.name}")


def _reviews(questions: Sequence[MarkedQuestion], related: RelatedTasks) -> Iterator[NextStep]:
    slugs = [one.asked.exercise for one in _costly(questions) if one.asked.kind == REVIEW]
    exercises = [related.bank.exercises[slug] for slug in slugs if slug in related.bank.exercises]
    for exercise in exercises[:MOST_REVIEWS]:
        yield NextStep(f"Review code of {exercise.title}", f"quizapp review {exercise.slug}")


def _topics_and_exercises(
    weak_topics: Sequence[WeakTopic], questions: Sequence[MarkedQuestion]
) -> Iterator[NextStep]:
    """The steps of version 1."""
    topics = [row for row in weak_topics[:2] if row.mean < GOOD_MARK and row.topic != PROJECT_TOPIC]
    yield from (NextStep(f"Drill {row.topic}", f"quizapp drill --topic {row.topic}") for row in topics)
    slugs = dict.fromkeys(question.asked.exercise for question in _costly(questions))
    for slug in [*filter(None, slugs)][: _MOST_STEPS - len(topics)]:
        yield NextStep(f"Write {slug}", f"quizapp exercise {slug}")


def _short(text: str) -> str:
    line = one_line(text)
    if len(line) <= _TITLE_CHARACTERS:
        return line
    return f"{line[: _TITLE_CHARACTERS - 1].rsplit(' ', 1)[0]} …"


def target_of(step: NextStep) -> StepTarget | None:
    """What a step opens in the app; None if its command is not one of those above."""
    match shlex.split(step.command):
        case ["quizapp", "show", name]:
            return StepTarget("card", name)
        case ["quizapp", "exercise", slug, "--stages"]:
            return StepTarget("stages", slug)
        case ["quizapp", "exercise", slug]:
            return StepTarget("exercise", slug)
        case ["quizapp", "review", slug]:
            return StepTarget("review", slug)
        case ["quizapp", "incident", *names]:
            return StepTarget("incident", next(iter(names), ""))
        case ["quizapp", "drill", "--topic", topic]:
            return StepTarget("drill", topic)
        case ["quizapp", "mock", *_]:
            return StepTarget("mock", "")
        case _:
            return None
