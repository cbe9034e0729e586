"""Small banks and studies at a fixed time for the tests of the schedule."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from quizapp.bank.model import Bank, Exercise, Question, Topic
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.store import Store

BERLIN_WINTER = timezone(timedelta(hours=1))
MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=BERLIN_WINTER)


def question(name: str, **fields) -> Question:
    given = {
        "topic": "warmup",
        "level": "easy",
        "kind": "recall",
        "prompt": "What?",
        "answer": "That.",
        "exercise": "lora",
        "content_hash": f"hash-of-{name}",
    }
    return Question(id=name, **(given | fields))


def bank(*questions: Question, slugs: Iterable[str] = ("lora",), **fields) -> Bank:
    topics = {q.topic: Topic(q.topic, q.topic.title(), "") for q in questions}
    exercises = {
        slug: Exercise(slug, slug.title(), "easy", "warmup", 20, slug, {}, (), Path()) for slug in slugs
    }
    return Bank({q.id: q for q in questions}, topics, exercises, **fields)


def simple_bank(number: int) -> Bank:
    return bank(*(question(f"q{index}", topic=f"topic-{index % 3}") for index in range(number)))


def study(folder: Path, questions: Bank | int = 5, *, clock=None, **settings) -> Study:
    made = simple_bank(questions) if isinstance(questions, int) else questions
    return Study(made, Store.open(folder / "quizapp.db"), Settings(**settings), clock or FixedClock(MORNING))
