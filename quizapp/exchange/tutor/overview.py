"""What a tutor may know besides the open question: what is due, how it goes, the plan, broken runs."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from quizapp.exchange.tutor.results import (
    BrokenRuns,
    ListedRun,
    PlanFigures,
    PricedReading,
    RunBrief,
    StudyStatus,
    TopicFigures,
)
from quizapp.scheduling.cards import EXERCISE

if TYPE_CHECKING:
    from quizapp.incidents.model import Incident, IncidentLibrary
    from quizapp.scheduling.planner.plan import PlanInputs, StudyPlan
    from quizapp.scheduling.service import Study


class RunToChoose(Protocol):
    """A broken run as the list of incidents shows it."""

    @property
    def incident(self) -> "Incident":
        """The run itself."""

    @property
    def standing(self) -> str:
        """``new``, or the last marks."""

    @property
    def topic(self) -> str:
        """Its topic, "" until it was sat."""


class Rehearsal(NamedTuple):
    """What only interviews know, given by the caller because the exchange does not import them.

    ``plan`` returns what a plan follows from, None without a date in the settings. ``runs`` lists the broken
    runs, the recommended one first. ``seconds`` is the length of one run.
    """

    plan: Callable[["Study"], "PlanInputs | None"]
    runs: Callable[["Study", "IncidentLibrary"], Sequence[RunToChoose]]
    seconds: Callable[[], int]


class Overview:
    """Reads the learner's standing; changes nothing."""

    def __init__(self, study: "Study", rehearsal: Rehearsal) -> None:
        self._study = study
        self._rehearsal = rehearsal

    def plan_inputs(self) -> "PlanInputs | None":
        """What the plan follows from. Its ``plan`` takes seconds and may be called on any thread."""
        return self._rehearsal.plan(self._study)

    def status(self, plan: "StudyPlan | None") -> StudyStatus:
        """The counts, the statistics, and ``plan`` in figures."""
        study = self._study
        counts, figures = study.counts(), study.stats()
        return StudyStatus(
            counts.text,
            counts.due,
            counts.learning,
            counts.new,
            counts.minutes,
            study.next_exercise() or "",
            [card.id.removeprefix(EXERCISE) for card in study.due_exercises()],
            figures.reviews,
            figures.seen,
            figures.learned,
            figures.retention,
            figures.streak,
            [
                TopicFigures(topic, of_topic.total, of_topic.seen, of_topic.learned)
                for topic, of_topic in figures.topics.items()
            ],
            self._figures(plan) if plan else None,
        )

    def _figures(self, plan: "StudyPlan") -> PlanFigures:
        from quizapp.scheduling.planner.plan_sentences import verdict

        today = plan.days[0] if plan.days else None
        return PlanFigures(
            plan.date.isoformat(),
            len(plan.days),
            round(plan.recall, 4),
            plan.target,
            [line for line in verdict(plan, self._study.settings) if line],
            today.minutes if today else 0,
            today.done.reviews if today else 0,
            today.done.new if today else 0,
        )

    def broken_runs(self, name: str = "") -> BrokenRuns:
        """The runs to choose from, or the brief of one. Ids of runs are unknown here: they name the fault."""
        from quizapp.incidents.loader import find_incident, load_library

        library = load_library()
        listed = self._rehearsal.runs(self._study, library)
        if not name:
            return BrokenRuns([_entry(run) for run in listed], None)
        chosen = find_incident(library, name, by_id=False)
        topic = next((run.topic for run in listed if run.incident.id == chosen.id), "")
        readings = [library.readings[reading] for reading in chosen.readings]
        brief = RunBrief(
            chosen.name,
            chosen.title,
            chosen.level,
            topic,
            self._rehearsal.seconds(),
            chosen.setup.strip(),
            chosen.symptom.strip(),
            [
                PricedReading(one.title, one.seconds, " ".join(one.asks.split()), one.outcomes)
                for one in readings
            ],
            f"quizapp incident {chosen.name}",
        )
        return BrokenRuns([], brief)


def _entry(run: RunToChoose) -> ListedRun:
    one = run.incident
    return ListedRun(one.name, one.title, one.level, run.topic, run.standing)
