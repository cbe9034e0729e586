"""The incidents to choose from, the one to sit next first, each with how it went the last time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quizapp.bank import LEVELS
from quizapp.errors import QuizError
from quizapp.incidents.model import Incident, IncidentLibrary
from quizapp.interview.paper.incident_selection import alarm_turn, at_hand
from quizapp.interview.paper.knowledge import BAND, CardKnowledge, knowledge
from quizapp.interview.report.model import Report, load_report

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


@dataclass(frozen=True, slots=True)
class LastSitting:
    """The last time that an incident was put before the learner, in an interview or by itself."""

    report: Report
    marks: int


@dataclass(frozen=True, slots=True)
class ListedIncident:
    """An incident; ``had`` is None where it was never sat.

    ``state`` is what is known of its fault class, ``due`` whether that class is to be reviewed.
    """

    incident: Incident
    had: LastSitting | None
    state: CardKnowledge | None
    due: bool

    @property
    def weak(self) -> bool:
        """Whether its class was had and is being forgotten."""
        return self.due or (self.state is not None and self.state.recall <= BAND[1])

    @property
    def resting(self) -> bool:
        """Whether its class was had within 48 hours, or is suspended."""
        return self.state is not None and (self.state.fresh or self.state.suspended)

    @property
    def standing(self) -> str:
        """In a word or two: ``new``, or the last marks and whether its class is due.

        Of a new one the class is not told, for it says a part of the answer.
        """
        if self.had is None:
            return "new"
        return f"{self.had.marks} due" if self.due else str(self.had.marks)

    def rank(self) -> tuple[bool, bool, int, float, int, str]:
        """Lowest first.

        A class of the last 48 hours waits, so that others come between; then what was not had yet, then
        weak classes, then unknown ones; then the easy; what was had comes back in the order it was had.
        """
        known = 1 if self.state is None else 2
        last = 0.0 if self.had is None else self.had.report.started_at.timestamp()
        level = LEVELS.index(self.incident.level)
        return self.resting, self.had is not None, 0 if self.weak else known, last, level, self.incident.id


def list_incidents(study: "Study", library: IncidentLibrary) -> list[ListedIncident]:
    """All incidents that the bank has an exercise and a topic for, the one to sit next first.

    Only the first place goes by turns of false alarms and faults: further down they stand as they rank, so
    that the list does not tell them apart. Raises ``QuizError`` where there is none.
    """
    known = knowledge(study)
    sat = list(_past_incidents(load_report(mock.document) for mock in study.mocks("done")))
    had = dict(sat)
    due = study.due_ids()
    found = [
        ListedIncident(one, had.get(one.id), known.get(one.card), one.card in due)
        for one in at_hand(library, study.bank)
    ]
    if not found:
        raise QuizError("there is no incident to diagnose; 'quizapp check' says what is wrong with them")
    return _by_turns(sorted(found, key=ListedIncident.rank), alarm=alarm_turn(len(sat)))


def _by_turns(ranked: list[ListedIncident], *, alarm: bool) -> list[ListedIncident]:
    """The best case whose turn it is to the front.

    A false alarm that was had does not come before faults that were not; a fault that was had does come
    before an alarm out of turn, since the last new ones would otherwise all be alarms.
    """
    first = ranked[0]
    for case in ranked:
        repeated = alarm and case.had is not None and first.had is None
        if case.incident.false_alarm == alarm and case.resting == first.resting and not repeated:
            return [case, *(other for other in ranked if other is not case)]
    return ranked


def _past_incidents(reports: Iterable[Report]) -> Iterator[tuple[str, LastSitting]]:
    """(incident, report) for each time that an incident was opened, the latest last."""
    for report in sorted(reports, key=lambda report: report.started_at):
        for question in report.questions:
            asked = question.asked
            if asked.kind == "incident" and asked.opened_ms is not None:
                yield asked.incident.id, LastSitting(report, question.marks.total)
