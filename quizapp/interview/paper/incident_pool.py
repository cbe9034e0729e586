"""Lists the incidents to choose from, the recommended one first, each with its last result."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quizapp.bank import LEVELS
from quizapp.errors import QuizError
from quizapp.incidents.model import Incident, IncidentLibrary
from quizapp.incidents.selection import is_false_alarm_turn, usable_incidents
from quizapp.interview.paper.knowledge import BAND, CardKnowledge, knowledge
from quizapp.interview.report.model import Report, load_report

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


@dataclass(frozen=True, slots=True)
class LastSitting:
    """The last time that the learner saw an incident, in an interview or alone; marks from 0 to 100."""

    report: Report
    marks: int


@dataclass(frozen=True, slots=True)
class ListedIncident:
    """An incident with its history.

    ``last`` is None if it was never asked. ``state`` describes how well the learner knows its fault class.
    ``due`` says whether that class is due for review.
    """

    incident: Incident
    last: LastSitting | None
    state: CardKnowledge | None
    due: bool

    @property
    def weak(self) -> bool:
        """Whether its class is due, or its recall has dropped to the band of cards worth asking."""
        return self.due or (self.state is not None and self.state.recall <= BAND[1])

    @property
    def resting(self) -> bool:
        """Whether its class was asked within 48 hours, or is suspended."""
        return self.state is not None and (self.state.fresh or self.state.suspended)

    @property
    def topic(self) -> str:
        """Its topic once it was asked, else "": where the fault is follows from it more often than not."""
        return "" if self.last is None else self.incident.topic

    @property
    def standing(self) -> str:
        """Its state in a word or two: ``new``, or the last marks and whether its class is due.

        A new incident does not show whether its class is due: that would give away part of the answer.
        """
        if self.last is None:
            return "new"
        return f"{self.last.marks} due" if self.due else str(self.last.marks)

    def rank(self) -> tuple[bool, bool, int, float, int, str]:
        """The sort key; the lowest comes first.

        A class asked within 48 hours waits, so that others come in between. New incidents come before
        repeated ones, weak classes before unknown ones, easy before hard. Repeated incidents come in the
        order in which they were last asked.
        """
        familiarity = 0 if self.weak else 1 if self.state is None else 2
        last = 0.0 if self.last is None else self.last.report.started_at.timestamp()
        level = LEVELS.index(self.incident.level)
        return (
            self.resting,
            self.last is not None,
            0 if self.weak else familiarity,
            last,
            level,
            self.incident.id,
        )


def list_incidents(study: "Study", library: IncidentLibrary) -> list[ListedIncident]:
    """All incidents that the bank has an exercise and a topic for, the recommended one first.

    Only the first place depends on whether a false alarm or a fault is due. The others are sorted by rank,
    so that the list does not give away which are false alarms. Raises ``QuizError`` if there is none.
    """
    states = knowledge(study)
    sittings = list(_past_incidents(load_report(mock.document) for mock in study.mocks("done")))
    last = dict(sittings)
    due = study.due_ids()
    incidents = [
        ListedIncident(one, last.get(one.id), states.get(one.card), one.card in due)
        for one in usable_incidents(library, study.bank)
    ]
    if not incidents:
        raise QuizError("there is no incident to diagnose; 'quizapp check' says what is wrong with them")
    return _by_turns(sorted(incidents, key=ListedIncident.rank), alarm=is_false_alarm_turn(len(sittings)))


def _by_turns(ranked: list[ListedIncident], *, alarm: bool) -> list[ListedIncident]:
    """Move the best incident of the kind whose turn it is to the front.

    A repeated false alarm does not come before a new fault. A repeated fault does come before a new false
    alarm out of turn; otherwise the last new incidents would all be false alarms.
    """
    first = ranked[0]
    for case in ranked:
        repeated = alarm and case.last is not None and first.last is None
        if case.incident.false_alarm == alarm and case.resting == first.resting and not repeated:
            return [case, *(other for other in ranked if other is not case)]
    return ranked


def _past_incidents(reports: Iterable[Report]) -> Iterator[tuple[str, LastSitting]]:
    """Yield (incident id, sitting) for each time that an incident was opened, the latest last."""
    for report in sorted(reports, key=lambda report: report.started_at):
        for question in report.questions:
            asked = question.asked
            if asked.kind == "incident" and asked.opened_ms is not None and not asked.practice:
                yield asked.incident.id, LastSitting(report, question.marks.total)
