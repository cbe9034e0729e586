"""A loop: the rounds of a role on one day, with breaks between them, and one report at the end.

Nothing is stored for a loop itself. Each of its rounds is an interview that carries the id of the loop, so
that a killed program, an undo and a merge of two devices need no rules of their own.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from quizapp.errors import QuizError, UnknownName
from quizapp.interview import archive
from quizapp.interview.blueprint import Role
from quizapp.interview.report.model import Report
from quizapp.interview.rounds.round_table import InterviewRound, find_round

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

LOOP = "loop"
"""What stands in place of the name of a round."""
LONGEST = timedelta(days=1)
BREAK_MINUTES = 10


@dataclass(frozen=True, slots=True)
class Loop:
    """The rounds of a role in order, and the reports of those that were sat, oldest first."""

    id: str
    role: str
    rounds: tuple[str, ...]
    reports: tuple[Report, ...] = ()

    @property
    def next_round(self) -> InterviewRound | None:
        """The first round that was not sat yet."""
        sat = {report.round_name for report in self.reports}
        name = next((name for name in self.rounds if name not in sat), None)
        return None if name is None else find_round(name)

    @property
    def place(self) -> str:
        """Which round comes next, as in ``2 of 5``."""
        return f"{min(len(self.reports) + 1, len(self.rounds))} of {len(self.rounds)}"


def minutes_of(kind: InterviewRound) -> int:
    """How long a round takes in a loop: as long as it can."""
    return max(kind.lengths)


def check_loop_options(minutes: int | None, *, code: bool) -> None:
    """Raise ``QuizError`` for an option that a loop does not have."""
    if minutes is not None:
        raise QuizError("a loop takes as long as its rounds; leave --minutes out")
    if not code:
        raise QuizError("a loop has no round without code; leave --no-code out")


def current_loop(study: "Study", role: Role) -> Loop:
    """The loop of the role that goes on: begun within a day and not complete; else a new one."""
    now = study.clock.now()
    for loop in _loops(archive.finished(study)):
        recent = now - loop.reports[0].started_at < LONGEST
        if loop.role == role.name and recent and loop.next_round is not None:
            # The role's rounds may have changed since; those that are left are the role's of today.
            return Loop(loop.id, role.name, role.rounds, loop.reports)
    return Loop(secrets.token_hex(4), role.name, role.rounds)


def find_loop(study: "Study", name: str) -> Loop:
    """A loop by its id or a unique prefix of it. Raises ``UnknownName``."""
    loops = _loops(archive.finished(study))
    matches = [loop for loop in loops if loop.id == name] or [
        loop for loop in loops if name and loop.id.startswith(name)
    ]
    if len(matches) != 1:
        hint = "several ids begin with it" if matches else "'quizapp mock list' shows them"
        raise UnknownName(f"there is no loop {name!r}; {hint}")
    return matches[0]


def all_loops(study: "Study") -> list[Loop]:
    """All loops of which a round was finished, newest first."""
    return _loops(archive.finished(study))


def loop_of(study: "Study", report: Report) -> Loop | None:
    """The loop that a report belongs to."""
    loops = _loops(archive.finished(study))
    return next((loop for loop in loops if report.loop and loop.id == report.loop), None)


def _loops(reports: Sequence[Report]) -> list[Loop]:
    """The loops of reports that are sorted newest first."""
    by_id: dict[str, list[Report]] = {}
    for report in reports:
        if report.loop:
            by_id.setdefault(report.loop, []).insert(0, report)
    return [Loop(name, rows[0].role, tuple(rows[0].loop_rounds), tuple(rows)) for name, rows in by_id.items()]


def next_text(loop: Loop) -> str:
    """What comes next in a loop, in a sentence."""
    kind = loop.next_round
    if kind is None:
        return f"The loop is complete: 'quizapp mock report {loop.id}' has its one report."
    return (
        f"Take a break of {BREAK_MINUTES} minutes; then round {loop.place} of the loop: "
        f"{kind.title.lower()}, {minutes_of(kind)} minutes."
    )
