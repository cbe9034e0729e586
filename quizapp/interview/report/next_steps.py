"""What to do next: the cards, the exercise stage and the incident that would have brought the most marks."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quizapp.interview.blueprint import form_of_role
from quizapp.interview.paper.model import InterviewHead
from quizapp.interview.report.model import MarkedQuestion, NextStep, WeakTopic, costliest
from quizapp.interview.rounds.material import CARDS, PROJECT_TOPIC
from quizapp.interview.session.question import CODING, DEBUG, INCIDENT, REVIEW
from quizapp.util.sanitize import one_line

GOOD_MARK = 80  # topics and exercises below it are worth a next step
MOST_CARDS = 3
MOST_REVIEWS = 2
_MOST_STEPS = 5
_TITLE_CHARACTERS = 60


class StepTarget(NamedTuple):
    """What a step opens, with its name: a card, an exercise, a review, an incident, a drill or a mock."""

    kind: str
    name: str


def next_steps(
    head: InterviewHead,
    weak_topics: Sequence[WeakTopic],
    questions: Sequence[MarkedQuestion],
    titles: Mapping[str, str],
) -> list[NextStep]:
    """The steps, best first. ``titles`` maps slugs of exercises to titles."""
    if head.rules > 1:
        steps = [*_cards(questions), *_exercise(questions, titles), *_incident(questions)]
        steps += _reviews(questions, titles)
    else:
        steps = [*_topics_and_exercises(weak_topics, questions)]
    if head.loop:
        command = f"quizapp mock --round loop --role {head.role}"
        return [*steps, NextStep("Go on with the loop after a break, or begin another", command)]
    return [*steps, NextStep(*form_of_role(head.role).another(head.role, head.minutes, head.round))]


def _costly(questions: Sequence[MarkedQuestion]) -> list[MarkedQuestion]:
    return [question for question in costliest(questions) if question.marks.total < GOOD_MARK]


def _cards(questions: Sequence[MarkedQuestion]) -> Iterator[NextStep]:
    cards = [
        question
        for question in _costly(questions)
        if question.asked.kind not in (CODING, INCIDENT, REVIEW) and not question.asked.card.startswith(CARDS)
    ]
    for question in cards[:MOST_CARDS]:
        title = _short(question.asked.asked.prompt)
        yield NextStep(f"Answer again: {title}", f"quizapp show {question.asked.card}")


def _exercise(questions: Sequence[MarkedQuestion], titles: Mapping[str, str]) -> Iterator[NextStep]:
    """The stage at which the costliest coding task stopped, else the exercise of the costliest question."""
    costly = [question for question in _costly(questions) if question.asked.exercise in titles]
    coding = next((question for question in costly if question.asked.kind == CODING), None)
    question = coding or next(iter(costly), None)
    if question is None:
        return
    slug, asked = question.asked.exercise, question.asked
    title = titles[slug]
    if coding is not None and asked.stages and asked.slot != DEBUG:
        stage = asked.staged_run.current.name
        yield NextStep(f"Write {title} up to stage {stage}", f"quizapp exercise {slug} --stages")
    else:
        yield NextStep(f"Write {title}", f"quizapp exercise {slug}")


def _incident(questions: Sequence[MarkedQuestion]) -> Iterator[NextStep]:
    question = next((one for one in _costly(questions) if one.asked.kind == INCIDENT), None)
    if question is not None:
        incident = question.asked.incident
        yield NextStep(f"Diagnose again: {_short(incident.title)}", f"quizapp incident {incident.id}")


def _reviews(questions: Sequence[MarkedQuestion], titles: Mapping[str, str]) -> Iterator[NextStep]:
    slugs = [one.asked.exercise for one in _costly(questions) if one.asked.kind == REVIEW]
    for slug in [slug for slug in slugs if slug in titles][:MOST_REVIEWS]:
        yield NextStep(f"Review code of {titles[slug]}", f"quizapp review {slug}")


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
        case ["quizapp", "exercise", slug, *_]:
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
