"""One mock interview from the first second to the stored report; what commands and screens hold."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from quizapp import __version__
from quizapp.errors import QuizError, TakenOver
from quizapp.incidents.loader import find_incident, load_library
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview import archive
from quizapp.interview.blueprint import Beat, Blueprint, InterviewForm, form_of, load_blueprint
from quizapp.interview.effects import linked, outcome, review_of
from quizapp.interview.marking.propose import propose
from quizapp.interview.paper.knowledge import knowledge, variants_seen
from quizapp.interview.paper.model import Paper
from quizapp.interview.paper.sample import sample_paper
from quizapp.interview.report.build import build
from quizapp.interview.report.model import SCHEMA, QuestionEffect, Report
from quizapp.interview.session.clock import Steady, steady
from quizapp.interview.session.question import INCIDENT, InterviewQuestion, make_item
from quizapp.interview.session.session import InterviewSession
from quizapp.interview.session.state import phases_of
from quizapp.interview.single_run import paper_of
from quizapp.scheduling.recorder import MockReview

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

AUTOSAVE_MS = 1000
IDLE_SAVE_MS = 5000
MARKING = "marking"


class Interview:
    """The session, its markings, and the facts of the report that do not change.

    ``taken`` says why, once another window has resumed or finished it: nothing is written from then on.
    """

    def __init__(self, study: "Study", head: dict[str, Any], session: InterviewSession) -> None:
        self.study = study
        self.head = head
        self.session = session
        self.markings: list[dict[str, Any]] = []
        self.saved_ms = -AUTOSAVE_MS
        self.sitting = os.urandom(6).hex()
        self.taken = ""

    @property
    def id(self) -> str:
        """The id under which it is stored."""
        return str(self.head["id"])

    @property
    def form(self) -> InterviewForm:
        """Whether it is a mock interview or a single incident."""
        return form_of(self.head)

    # beginning and going on

    @classmethod
    def begin(
        cls,
        study: "Study",
        role: str,
        minutes: int,
        *,
        code: bool = True,
        seed: int | None = None,
        blueprint: Blueprint | None = None,
        library: IncidentLibrary | None = None,
        clock: Steady = steady,
    ) -> "Interview":
        """Draw the paper; the clock waits for ``start``. Raises ``QuizError`` where nothing can be asked."""
        import secrets

        blueprint = blueprint or load_blueprint()
        library = library or load_library()
        seed = secrets.randbelow(1_000_000) if seed is None else seed
        plan = blueprint.plan(role, minutes, code=code)
        paper = sample_paper(
            blueprint, plan, study.bank, knowledge(study), seed, library, variants_seen(study)
        )
        if not paper.picks:
            raise QuizError(
                "The bank holds no question that may be asked now: all were seen within 48 hours."
            )
        return cls._on(paper, study, blueprint, library, clock)

    @classmethod
    def begin_incident(
        cls,
        study: "Study",
        name: str,
        *,
        seed: int | None = None,
        blueprint: Blueprint | None = None,
        library: IncidentLibrary | None = None,
        clock: Steady = steady,
    ) -> "Interview":
        """One incident by itself; the clock waits for ``start``. Raises ``UnknownName`` for ``name``."""
        import secrets

        blueprint = blueprint or load_blueprint()
        library = library or load_library()
        incident = find_incident(library, name)
        seed = secrets.randbelow(1_000_000) if seed is None else seed
        state = knowledge(study).get(incident.card)
        unseen = incident.id not in variants_seen(study)
        paper = paper_of(incident, blueprint, state, seed, unseen=unseen)
        return cls._on(paper, study, blueprint, library, clock)

    @classmethod
    def _on(
        cls, paper: Paper, study: "Study", blueprint: Blueprint, library: IncidentLibrary, clock: Steady
    ) -> "Interview":
        import secrets

        items = [make_item(number, pick, study.bank, library) for number, pick in enumerate(paper.picks)]
        session = InterviewSession(phases_of(paper.seconds, blueprint.format.titles), items, clock)
        return cls(study, _head(study, blueprint, paper, items, secrets.token_hex(4)), session)

    def start(self) -> None:
        """Start the clock and store the interview."""
        self.head["started"] = self._now().isoformat(timespec="seconds")
        self.session.start()
        self.save()

    @classmethod
    def resume(cls, study: "Study", document: Mapping[str, Any], clock: Steady = steady) -> "Interview":
        """Go on with a stored interview; the clock moves on by the time that passed meanwhile."""
        running = document["running"]
        head = {key: document[key] for key in _HEAD}
        found = cls(study, head, InterviewSession.from_json(running, clock))
        if not found.session.ended:
            found.session.resume(max(0, found._wall_ms() - int(running["wall_ms"])))
        elif running.get(MARKING):
            found.markings = [dict(marking) for marking in running[MARKING]]
        found.save(take=True)
        return found

    # saving

    def _now(self) -> datetime:
        return self.study.clock.now().astimezone(UTC)

    def _wall_ms(self) -> int:
        return round(self._now().timestamp() * 1000)

    def tick(self) -> list[str]:
        """Let the clock catch up and save where a second of work is not on disk yet."""
        said = self.session.tick()
        waited = self.session.elapsed_ms - self.saved_ms
        if said or waited >= (AUTOSAVE_MS if self.session.changed else IDLE_SAVE_MS):
            self.save()
        return said

    def save(self, *, take: bool = False) -> None:
        """Write the running interview; it is on disk when this returns, unless it was ``taken``.

        ``take`` takes it from the window that has it.
        """
        own = {"wall_ms": self._wall_ms(), MARKING: self.markings, "sitting": self.sitting}
        document = self.head | {"running": self.session.as_json() | own}
        try:
            self.study.save_mock(document, mock_id=self.id, sitting="" if take else self.sitting)
        except TakenOver as error:
            self.taken = str(error)
        self.saved_ms = self.session.elapsed_ms
        self.session.changed = False

    # marking

    def beats(self, item: InterviewQuestion) -> tuple[Beat, ...]:
        """The beats of an answer to the item, as they were when the interview began."""
        kind = INCIDENT if item.kind == INCIDENT else "scenario" if item.scenario else "concept"
        rows = self.head["beats"][kind]
        return tuple(Beat(row["name"], row["check"]) for row in rows)

    def propose(self) -> None:
        """Mark what the machine can, and propose the rest. Asked again it keeps what the learner said."""
        if not self.markings:
            self.markings = [propose(item, self.beats(item)) for item in self.session.items]
            self.save()

    def finished(self) -> Report:
        """The report as it would be stored now."""
        self.propose()
        return build(
            self.head | {"finished": self._now().isoformat(timespec="seconds")},
            self.session,
            self.markings,
            archive.done(self.study, self.form),
        )

    def record(self) -> Report:
        """Store report, reviews and recalls in one transaction; one undo takes all of it back.

        Raises ``TakenOver`` where another window went on with the interview or finished it.
        """
        report = self.finished()
        reviews, recalls = self._effects(report)
        self.study.record_mock(
            report.as_json(), reviews, recalls=recalls, mock_id=self.id, sitting=self.sitting
        )
        return report

    def _effects(self, report: Report) -> tuple[list[MockReview], list[str]]:
        """Set the effect of each question in the report; returns the reviews and tomorrow's first cards."""
        bank = self.study.bank
        asked = frozenset(item.card for item in self.session.items)
        reviews: list[MockReview] = []
        recalls: list[str] = []
        for question in report.questions:
            item, marking, mark = question.asked, question.marking, question.marks.total
            result = outcome(item, mark, marking)
            question.effect = effect = QuestionEffect(result.why, None, None, list(result.caps))
            if item.kind != INCIDENT and not _known(bank, item.card):
                effect.why = "the question is no longer in the bank"
                continue
            if result.rating is None:
                recalls += [] if item.kind == INCIDENT else [item.card]
                continue
            reviews.append(review_of(item, result, marking))
            effect.rating = result.rating.label
            effect.due = self.study.previews(item.card)[result.rating].due.isoformat(timespec="seconds")
            effect.linked = linked(item, mark, marking, bank, asked)
            recalls += effect.linked
        report.tomorrow = list(dict.fromkeys(recalls))
        return reviews, recalls


def _known(bank: Any, card: str) -> bool:
    name = bank.resolve(card)
    return name in bank.questions or name.removeprefix("exercise:") in bank.exercises


_HEAD = (
    "schema", "id", "seed", "role", "title", "minutes", "code", "pass_mark", "blueprint", "content_hash",
    "app", "torch", "device", "beats", "started",
)  # fmt: skip


def _head(
    study: "Study", blueprint: Blueprint, paper: Paper, items: Sequence[InterviewQuestion], name: str
) -> dict[str, Any]:
    import hashlib
    from importlib.metadata import PackageNotFoundError, version

    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    hashes = [item.question["content_hash"] for item in items if item.kind != "coding"]
    return {
        "schema": SCHEMA,
        "id": name,
        "seed": paper.seed,
        "role": paper.plan.role.name,
        "title": paper.plan.role.title,
        "minutes": paper.plan.minutes,
        "code": paper.plan.code,
        "pass_mark": paper.plan.role.pass_mark,
        "blueprint": blueprint.hash,
        "content_hash": hashlib.sha256("".join(hashes).encode()).hexdigest()[:16],
        "app": __version__,
        "torch": torch,
        "device": "cpu",
        "beats": {
            kind: [{"name": beat.name, "check": beat.check} for beat in beats]
            for kind, beats in blueprint.format.beats.items()
        },
        "started": study.clock.now().astimezone(UTC).isoformat(timespec="seconds"),
    }
