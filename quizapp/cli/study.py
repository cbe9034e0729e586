"""Commands on the schedule: home, drill, due, answer, stats and plan."""

import json
import sys
from argparse import Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from quizapp.bank.loader import find_question, unknown_topic
from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, QuizError
from quizapp.util.text import plural

if TYPE_CHECKING:
    from pathlib import Path

    from quizapp.scheduling.planner.plan import StudyPlan
    from quizapp.scheduling.service import Study
    from quizapp.scheduling.views import CardFilter


def _in_terminal() -> bool:
    return sys.stdout.isatty() and sys.stdin.isatty()


def home(_options: Namespace) -> int:
    """Open the app at its home screen; outside a terminal, print what is due."""
    if _in_terminal():
        from quizapp.tui.app import run

        return run("home")
    from quizapp.scheduling.service import Study

    with Study.open(load_user_bank()) as study:
        counts = study.counts()
        sys.stdout.write(f"{counts.text}, about {plural(counts.minutes, 'minute')}\n")
        for card in study.due(limit=20):
            sys.stdout.write(f"{card.id}\n")
    sys.stdout.write("run 'quizapp drill' in a terminal to start; 'quizapp --help' lists the commands\n")
    return DONE


def _filter(options: Namespace) -> "CardFilter":
    from quizapp.scheduling.views import CardFilter

    if options.topic:
        bank = load_user_bank()
        if options.topic not in bank.topics:
            raise unknown_topic(options.topic, bank)
    return CardFilter(topic=options.topic, level=options.level, kind=options.kind)


def drill(options: Namespace) -> int:
    """Go straight into the due cards."""
    chosen = _filter(options)
    if not _in_terminal():
        raise QuizError("a drill needs a terminal; use 'quizapp due' and 'quizapp answer' in scripts")
    from quizapp.tui.app import run

    return run("drill", flt=chosen, limit=options.limit)


def due(options: Namespace) -> int:
    """List what is due, then new cards within the day's limit."""
    from quizapp.scheduling.service import Study

    with Study.open(load_user_bank()) as study:
        cards = study.due(_filter(options))
    if options.json:
        sys.stdout.write(json.dumps([card.as_json() for card in cards], indent=1) + "\n")
        return DONE
    width = max((len(card.id) for card in cards), default=0)
    for card in cards:
        when = card.due.astimezone().strftime("%Y-%m-%d %H:%M") if card.due else ""
        sys.stdout.write(
            f"{card.id:{width}}  {card.kind:7}  {card.level:6}  {card.state:10}  {when}".rstrip() + "\n"
        )
    if not cards:
        sys.stdout.write("nothing is due\n")
    return DONE


def _utc(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else None


def answer(options: Namespace) -> int:
    """Rate a card and print its next due date once it is on disk."""
    from quizapp.scheduling.cards import Rating
    from quizapp.scheduling.service import Study

    bank = load_user_bank()
    question = find_question(bank, options.id)
    with Study.open(bank) as study:
        answered = study.answer(question.id, Rating[options.rating.upper()], source="script")
    sys.stdout.write(f"{question.id} {_utc(answered.due)}\n")
    return DONE


def stats(options: Namespace) -> int:
    """Print retention, forecast and progress per topic."""
    from quizapp.scheduling.service import Study

    with Study.open(load_user_bank()) as study:
        statistics = study.stats()
    if options.json:
        sys.stdout.write(json.dumps(statistics.as_json(), indent=1) + "\n")
        return DONE
    from quizapp.cli.render import stats_text

    sys.stdout.write(stats_text(statistics) + "\n")
    return DONE


def plan(options: Namespace) -> int:
    """Plan each day until the interview, and predict how much will be recalled."""
    from shutil import get_terminal_size

    from quizapp import paths
    from quizapp.cli.progress import Progress
    from quizapp.interview.blueprint import load_blueprint
    from quizapp.interview.topic_weights import inputs_to_interview
    from quizapp.scheduling.next_step import open_tasks
    from quizapp.scheduling.planner.interview_date import check_interview_date, named_day
    from quizapp.scheduling.planner.plan import as_json
    from quizapp.scheduling.service import Study

    with Study.open(load_user_bank()) as study, Progress("planning", unit="courses simulated") as progress:
        settings = study.settings
        today = study.today()
        until = settings.plan.until if options.date is None else named_day(options.date, today)
        if until is None:
            raise QuizError(
                "name the day of the interview, such as --date 2026-12-24, or set it on the plan screen"
            )
        check_interview_date(until, today, f"--date {until}" if options.date else f"date = {until}")
        if options.ics is not None:
            from quizapp.exchange.plan_calendar import check_calendar_path

            check_calendar_path(options.ics)
        role = options.role or settings.plan.role
        inputs = inputs_to_interview(study, load_blueprint(), until, minutes=options.minutes, role=role)
        study_plan = inputs.plan(progress.tick) if inputs else None
        tasks, exercises = open_tasks(study), study.bank.exercises
        if options.ics is not None:
            return _write_calendar(study, study_plan, options.ics, role)
    if options.json:
        limits = settings.new_per_day, settings.reviews_per_day
        document = as_json(study_plan, *limits) if study_plan else None
        if document is not None:
            document["besides"] = [task._asdict() | {"command": task.command} for task in tasks]
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return DONE
    if study_plan is None:
        sys.stdout.write("nothing to plan: there are no cards, or all are suspended\n")
        return DONE
    from quizapp.cli.render import plan_text
    from quizapp.scheduling.planner.plan_sentences import besides

    width = get_terminal_size().columns
    own = not (options.minutes or settings.plan.minutes)
    lines = plan_text(study_plan, settings, str(paths.config()), width=width, weeks=options.weeks, own=own)
    lines += ["", *besides(tasks, exercises)] if tasks else []
    sys.stdout.write("\n".join(lines) + "\n")
    return DONE


def _write_calendar(study: "Study", plan: "StudyPlan | None", path: "Path", role: str) -> int:
    """Write the days of the plan to a calendar file; without a plan there is no file, which is an error."""
    from quizapp.exchange.plan_calendar import write_calendar

    if plan is None:
        raise QuizError(f"{path} was not written: there are no cards to plan, or all are suspended")
    days = write_calendar(plan, path, study.bank, study.now(), role)
    sys.stdout.write(f"{plural(days, 'day')} and the interview written to {path}\n")
    return DONE
