"""Writes the plan to an interview as a calendar file (RFC 5545), with an event for each day.

Events last the whole day, because the plan knows how many minutes a day has, not when they are. The id of an
event follows from its date, and there is one id for the interview, so that a later import updates the events
of an earlier one, even if the interview has moved.
"""

from collections.abc import Iterator
from datetime import date, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp import __version__
from quizapp.bank.model import Bank
from quizapp.errors import QuizError
from quizapp.scheduling.planner.calendar import MOCK
from quizapp.scheduling.planner.plan import PlannedDay, StudyPlan, exercise_parts
from quizapp.scheduling.study_day import as_datetime
from quizapp.util.atomic import write_atomic
from quizapp.util.sanitize import one_line
from quizapp.util.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quizapp.scheduling.events import Moment

_LINE_OCTETS = 75  # RFC 5545, 3.1; the line break does not count


def check_calendar_path(path: Path) -> None:
    """Refuse a path that cannot be written, before a plan is computed for it. Raises `QuizError`."""
    if path.is_dir():
        raise _not_written(path, "Is a directory")
    if not path.parent.is_dir():
        raise _not_written(path, "No such file or directory")


def write_calendar(plan: StudyPlan, path: Path, bank: Bank, now: "Moment", role: str = "") -> int:
    """Write the plan to ``path`` in one step and return the number of days with something to do.

    Replaces the file that is there. ``role`` goes into the commands for mock interviews. Raises `QuizError`.
    """
    text = calendar_text(plan, bank, now, role)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(text.encode())  # a device or a pipe must not be replaced by a file
        else:
            write_atomic(path.resolve(), text)  # a link stays a link
    except OSError as error:
        raise _not_written(path, str(error.strerror)) from None
    return sum(1 for _ in _study_days(plan))


def calendar_text(plan: StudyPlan, bank: Bank, now: "Moment", role: str = "") -> str:
    """The plan as the text of a calendar file, made at ``now``: the days with work, then the interview."""
    in_utc = as_datetime(now.time)
    local = in_utc.astimezone(timezone(timedelta(seconds=now.offset)))
    made = f"{local.day} {local:%B %Y}"
    stamp = f"{in_utc:%Y%m%dT%H%M%SZ}"
    # Calendars keep the event with the higher number, so it has to grow from one file to the next.
    sequence = now.time // 60_000

    def event(uid: str, when: date, summary: str, description: str) -> Iterator[str]:
        yield "BEGIN:VEVENT"
        yield f"UID:{uid}@quizapp"
        yield f"DTSTAMP:{stamp}"
        yield f"SEQUENCE:{sequence}"
        yield f"DTSTART;VALUE=DATE:{when:%Y%m%d}"
        yield f"DTEND;VALUE=DATE:{when + timedelta(days=1):%Y%m%d}"
        yield f"SUMMARY:{_escaped(summary)}"
        yield f"DESCRIPTION:{_escaped(description)}"
        yield "TRANSP:TRANSPARENT"  # the day stays free for appointments
        yield "END:VEVENT"

    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//quizapp//quizapp {__version__}//EN"]
    lines += ["CALSCALE:GREGORIAN", "X-WR-CALNAME:Interview plan"]
    for day in _study_days(plan):
        when = day.calendar_day.date
        work = "\n".join(_work(day, bank, role))
        lines += event(f"study-{when:%Y%m%d}", when, _summary(day), f"{work}\n\nPlanned on {made}.")
    forecast = (
        f"Expected recall on the day: {100 * plan.recall:.0f} % "
        f"(80 % interval {100 * plan.low:.0f}-{100 * plan.high:.0f}), as planned on {made}."
    )
    lines += event("interview", plan.date, "Interview", forecast)
    lines.append("END:VCALENDAR")
    return "".join(map(_folded, lines))


def _study_days(plan: StudyPlan) -> "Iterable[PlannedDay]":
    return (day for day in plan.days if day.minutes > 0)


def _summary(day: PlannedDay) -> str:
    """A title that says the most in its first words: a phone shows few of them."""
    done, slot = day.done, day.calendar_day
    parts = ["mock interview" if slot.rehearsal == MOCK else slot.rehearsal] if slot.rehearsal else []
    parts += [plural(done.reviews, "review")] if done.reviews else []
    parts += [f"{done.new} new"] if done.new else []
    parts += [slug for slug, _, _ in exercise_parts([day])]
    return f"quizapp {day.minutes} min" + (f": {', '.join(parts)}" if parts else "")


def _work(day: PlannedDay, bank: Bank, role: str) -> Iterator[str]:
    """What to do on the day, one task in a line, with its command."""
    done, slot = day.done, day.calendar_day
    if slot.rehearsal:
        name, command = ("Mock interview", "mock") if slot.rehearsal == MOCK else ("Incident", "incident")
        if slot.rehearsal == MOCK:
            command += f" --minutes {slot.rehearsal_minutes}" + (f" --role {role}" if role else "")
        yield f"{name}, {slot.rehearsal_minutes} min: quizapp {command}"
    if done.reviews or done.new:
        cards = [plural(done.reviews, "review")] if done.reviews else []
        cards += [plural(done.new, "new card")] if done.new else []
        topics = ", ".join(
            f"{one_line(bank.topics[slug].name) if slug in bank.topics else slug} {count}"
            for slug, count in done.topics.items()
        )
        yield f"{' and '.join(cards)}{f' ({topics})' if topics else ''}: quizapp drill"
    for slug, seconds, finished in exercise_parts([day]):
        title = one_line(bank.exercises[slug].title) if slug in bank.exercises else slug
        part = "" if finished else ", a part"
        yield f"Exercise {title}{part}, {max(1, round(seconds / 60))} min: quizapp exercise {slug}"


def _escaped(text: str) -> str:
    r"""Text as the value of a property: ``\``, ``;``, ``,`` and line breaks have meanings of their own."""
    for sign in "\\;,":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", "\\n")


def _folded(line: str) -> str:
    """Break a line after at most 75 octets of UTF-8, never inside a character."""
    lines, octets = [""], 0
    for character in line:
        size = len(character.encode())
        if octets + size > _LINE_OCTETS:
            lines.append(" ")
            octets = 1
        lines[-1] += character
        octets += size
    return "".join(f"{part}\r\n" for part in lines)


def _not_written(path: Path, reason: str) -> QuizError:
    return QuizError(f"{path} cannot be written: {reason}; name a file in a folder that exists")
