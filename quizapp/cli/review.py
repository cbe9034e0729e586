"""The command for code reviews: the screen in a terminal; elsewhere the task as text, and answers as JSON."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp.bank.loader import find_exercise
from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, QuizError
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.interview.code_review.model import CodeReview, ReviewAnswer, ReviewResult


def review(options: Namespace) -> int:
    """Review plausible code: open the screen, print the task, or mark an answer."""
    if options.answer is None and sys.stdout.isatty() and sys.stdin.isatty():
        from quizapp.tui.app import run

        if options.slug is not None:
            find_exercise(
                load_user_bank(), options.slug
            )  # an unknown name is an error before the screen opens
        return run("review", slug=options.slug, seed=options.seed)
    if options.answer is not None and (options.slug is None or options.seed is None):
        raise QuizError(
            "an answer belongs to one review; give its exercise and its seed: review SLUG --seed S"
        )
    from quizapp.interview.code_review.service import next_review
    from quizapp.scheduling.service import Study

    with Study.open(load_user_bank()) as study:
        task = next_review(study, options.slug, options.seed)
        if options.answer is None:
            _print_task(task, as_json=options.json)
            return DONE
        from quizapp.interview.code_review.running_review import read_answer
        from quizapp.interview.code_review.service import record_result

        answer = read_answer(_read(options.answer))
        exercise = study.bank.exercises[task.exercise]
        result = _judged(task, exercise, answer)
        recorded = record_result(study, result)
    _print_result(result, exercise, as_json=options.json)
    if recorded is not None and not options.json:
        sys.stdout.write(
            f"\n{recorded.rating.label}: the next review of {task.exercise} is due in {recorded.text}.\n"
        )
    return DONE


def _read(path: Path) -> str:
    if str(path) == "-":
        return sys.stdin.read()
    from quizapp.judge.submission import read_source

    return read_source(path).decode("utf-8-sig")


def _judged(task: "CodeReview", exercise: "Exercise", answer: "ReviewAnswer") -> "ReviewResult":
    from quizapp.interview.code_review.judging import judge_with_client

    return judge_with_client(task, exercise, answer)


def _print_task(task: "CodeReview", *, as_json: bool) -> None:
    from quizapp.interview.code_review.review_text import task_lines

    if as_json:
        keys = ("exercise", "title", "module", "seed", "minutes", "shown")
        sys.stdout.write(json.dumps({key: getattr(task, key) for key in keys}) + "\n")
        return
    sys.stdout.write(escape_controls("\n".join(task_lines(task))) + "\n\n")
    sys.stdout.write(
        'Answer with a JSON object, such as {"decision": "faulty", "confidence": 75, "lines": [12],\n'
        '"words": "what goes wrong for a user", "check": "def check(m): ...", "fixed": "the whole file"}:\n'
        f"quizapp review {task.exercise} --seed {task.seed} --answer FILE\n"
    )


def _print_result(result: "ReviewResult", exercise: "Exercise", *, as_json: bool) -> None:
    from quizapp.interview.code_review.review_text import reveal_lines
    from quizapp.interview.code_review.service import stored

    if as_json:
        sys.stdout.write(json.dumps(stored(result)) + "\n")
    else:
        sys.stdout.write(escape_controls("\n".join(reveal_lines(result, exercise))) + "\n")
