"""Runs one interview from its first second to the stored report, for commands and screens."""

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from quizapp import __version__
from quizapp.errors import QuizError, TakenOver
from quizapp.incidents.live.live_work import HandIn, LiveMode
from quizapp.incidents.loader import find_incident, load_library
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview import RoundName, archive
from quizapp.interview.blueprint import Beat, Blueprint, InterviewForm, load_blueprint
from quizapp.interview.code_review.model import JudgedReview
from quizapp.interview.effects import code_reviews, effect_of, linked_cards, passed_code, review_of
from quizapp.interview.marking.model import Marking, ReviewMarking
from quizapp.interview.marking.propose import propose
from quizapp.interview.paper.code_rounds import CODE_ROUNDS, CodeStock, sample_code_paper, second_task
from quizapp.interview.paper.knowledge import knowledge, times_asked, variants_seen
from quizapp.interview.paper.model import InterviewHead, Paper
from quizapp.interview.paper.open_rounds import OPEN_ROUNDS, sample_open_paper
from quizapp.interview.paper.sample import sample_paper, single_incident_paper
from quizapp.interview.report.build import build
from quizapp.interview.report.model import SCHEMA, SCHEMA_2, QuestionEffect, Report
from quizapp.interview.report.related_tasks import RelatedTasks
from quizapp.interview.rounds.loop import Loop
from quizapp.interview.rounds.material import CARDS, RoundMaterial
from quizapp.interview.rounds.read_material import load_material
from quizapp.interview.rounds.round_table import ROUNDS, RULES
from quizapp.interview.session.clock import Steady, steady
from quizapp.interview.session.flow import SessionEvent, phases_of
from quizapp.interview.session.live_sitting import lose_runs
from quizapp.interview.session.make_question import make_question
from quizapp.interview.session.question import CODING, DEBUG, INCIDENT, REVIEW, InterviewQuestion
from quizapp.interview.session.session import InterviewSession
from quizapp.practice.staged_run import StageOutcome
from quizapp.scheduling.recorder import MockReview
from quizapp.util.installation import has_package, require_torch

if TYPE_CHECKING:
    from quizapp.bank.model import Bank
    from quizapp.scheduling.service import Study

AUTOSAVE_MS = 1000
IDLE_SAVE_MS = 5000
_EXPLAIN_S = 60
"""What stays for the explanation of a task that is complete, before a second one begins."""


class Interview:
    """An interview in progress: its session, its markings, and the fixed head of its report.

    Once another window has resumed or finished it, ``taken`` holds the reason and nothing more is written.
    ``note`` says if it has fewer questions than its round, and is shown in the brief.
    """

    def __init__(self, study: "Study", head: InterviewHead, session: InterviewSession) -> None:
        self.study = study
        self.head = head
        self.session = session
        self.markings: list[Marking] = []
        self.saved_ms = -AUTOSAVE_MS
        self.sitting = os.urandom(6).hex()
        self.taken = ""
        self.note = ""

    @property
    def id(self) -> str:
        """The id under which it is stored."""
        return self.head.id

    @property
    def form(self) -> InterviewForm:
        """Whether it is a mock interview or a single incident."""
        return self.head.form

    @property
    def title(self) -> str:
        """Its role, round and length, in a few words."""
        kind = ROUNDS[self.head.round].title.lower() if self.head.round else ""
        return ", ".join(part for part in (self.head.title, kind, f"{self.head.minutes} minutes") if part)

    # starting and resuming

    @classmethod
    def begin(
        cls,
        study: "Study",
        role: str,
        minutes: int,
        *,
        round_name: str = RoundName.MIXED,
        code: bool = True,
        spoken: bool = False,
        seed: int | None = None,
        blueprint: Blueprint | None = None,
        library: IncidentLibrary | None = None,
        material: RoundMaterial | None = None,
        loop: Loop | None = None,
        clock: Steady = steady,
    ) -> "Interview":
        """Sample a paper, as a round of ``loop`` if it is given. The clock does not run before ``start``.

        Raises ``QuizError`` if no question may be asked now or the round does not take so long, and
        ``UnknownName`` for the role and the round, and ``PartMissing`` for code without torch to grade it.
        """
        blueprint = blueprint or load_blueprint()
        library = library or load_library()
        material = material or load_material()
        seed = secrets.randbelow(1_000_000) if seed is None else seed
        plan = blueprint.plan(role, minutes, code=code, round_name=round_name, spoken=spoken)
        if plan.round.name in OPEN_ROUNDS:
            paper = sample_open_paper(plan, material, times_asked(study), seed)
        elif plan.round.name in CODE_ROUNDS:
            paper = sample_code_paper(
                CodeStock(
                    plan,
                    study.bank,
                    knowledge(study),
                    seed,
                    library,
                    variants_seen(study),
                    torch=has_package("torch"),
                )
            )
        else:
            paper = sample_paper(plan, study.bank, knowledge(study), seed, library, variants_seen(study))
        if not paper.picks:
            raise QuizError(
                "This round has no question left: all were seen within 48 hours. Choose another round."
            )
        items = [
            make_question(number, pick, study.bank, library, material, rules=RULES, spoken=spoken)
            for number, pick in enumerate(paper.picks)
        ]
        plan.round.check_judge(graded=any(item.kind in {CODING, REVIEW} or item.live for item in items))
        interview = cls._on(paper, items, study, blueprint, clock, rules=RULES)
        interview.note = paper.note
        if loop is not None:
            interview.head.loop, interview.head.loop_rounds = loop.id, list(loop.rounds)
        return interview

    @classmethod
    def begin_incident(
        cls,
        study: "Study",
        name: str,
        *,
        live: LiveMode | None = None,
        seed: int | None = None,
        blueprint: Blueprint | None = None,
        library: IncidentLibrary | None = None,
        clock: Steady = steady,
    ) -> "Interview":
        """Begin a single incident, ``live`` if its script is to be repaired. ``start`` starts the clock.

        Raises ``UnknownName`` if there is no incident of that ``name``, ``QuizError`` if it has no live form.
        """
        blueprint = blueprint or load_blueprint()
        library = library or load_library()
        incident = find_incident(library, name)
        if live:
            require_torch("A live incident")
        seed = secrets.randbelow(1_000_000) if seed is None else seed
        state = knowledge(study).get(incident.card)
        unseen = incident.id not in variants_seen(study)
        paper = single_incident_paper(incident, blueprint, state, seed, unseen=unseen, live=live)
        items = [make_question(number, pick, study.bank, library) for number, pick in enumerate(paper.picks)]
        # By itself an incident keeps the weights of version 1.
        return cls._on(paper, items, study, blueprint, clock, rules=1)

    @classmethod
    def _on(
        cls,
        paper: Paper,
        items: list[InterviewQuestion],
        study: "Study",
        blueprint: Blueprint,
        clock: Steady,
        *,
        rules: int,
    ) -> "Interview":
        session = InterviewSession(phases_of(paper.seconds, blueprint.format.titles), items, clock)
        return cls(study, _head(study, blueprint, paper, items, rules), session)

    def start(self) -> None:
        """Start the clock and store the interview."""
        self.head.started = self._now().isoformat(timespec="seconds")
        self.session.start()
        self.save()

    @classmethod
    def resume(cls, study: "Study", document: Mapping[str, Any], clock: Steady = steady) -> "Interview":
        """Continue a stored interview. The time since the last save counts as passed."""
        running = document["running"]
        session = InterviewSession.from_json(running, clock)
        interview = cls(study, msgspec.convert(document, InterviewHead), session)
        for item in session.items:
            lose_runs(item)
        if not session.ended:
            session.resume(max(0, interview._wall_ms() - int(running["wall_ms"])))
        else:
            # An interview that ended before marking has an empty list here, or no key in old documents.
            rows = zip(session.items, running.get("marking", ()), strict=False)
            interview.markings = [Marking.from_json(item.kind, row) for item, row in rows]
        interview.save(take_over=True)
        return interview

    # saving

    def _now(self) -> datetime:
        return self.study.clock.now().astimezone(UTC)

    def _wall_ms(self) -> int:
        return round(self._now().timestamp() * 1000)

    def tick(self) -> list[SessionEvent]:
        """Advance the session to now, and save if a second of work is not on disk yet."""
        events = self.session.tick()
        unsaved_ms = self.session.elapsed_ms - self.saved_ms
        if events or unsaved_ms >= (AUTOSAVE_MS if self.session.flow.changed else IDLE_SAVE_MS):
            self.save()
        return events

    def save(self, *, take_over: bool = False) -> None:
        """Write the running interview. It is on disk when this returns, unless it was ``taken``.

        With ``take_over`` this window becomes the owner, and the window that was it stops writing.
        """
        running = self.session.as_json() | {
            "wall_ms": self._wall_ms(),
            "marking": [marking.as_json() for marking in self.markings],
            "sitting": self.sitting,
        }
        if self.taken:
            return
        document = self.head.as_json() | {"running": running}
        try:
            self.study.save_mock(document, mock_id=self.id, sitting="" if take_over else self.sitting)
        except TakenOver as error:
            self.taken = str(error)
        self.saved_ms = self.session.elapsed_ms
        self.session.flow.changed = False

    # code

    def submitted(
        self, number: int, source: str, verdict: Mapping[str, Any], at_ms: int
    ) -> StageOutcome | None:
        """Record a verdict and save it; see ``InterviewSession.submitted``.

        In a coding round, a first exercise that is complete early brings a second one, if one fits into the
        time that is left.
        """
        outcome = self.session.submitted(number, source, verdict, at_ms)
        if outcome is not None and outcome.finished and self.head.round == RoundName.CODING:
            self._add_second(number)
        self.save()
        return outcome

    def _add_second(self, number: int) -> None:
        items = self.session.items
        if len(items) > 1 or self.session.ended:
            return
        plan = load_blueprint().plan(self.head.role, self.head.minutes, round_name=RoundName.CODING)
        seconds = self.session.left_ms // 1000 - _EXPLAIN_S
        first = items[number].exercise
        pick = second_task(plan, self.study.bank, knowledge(self.study), self.head.seed, first, seconds)
        if pick is not None:
            item = make_question(len(items), pick, self.study.bank, rules=self.head.rules)
            self.session.add_question(item, leave_s=_EXPLAIN_S)

    def unjudged(self) -> list[InterviewQuestion]:
        """The code reviews and live incidents with an answer that the judge has not run yet."""
        return [item for item in self.session.items if item.unjudged and item.reached and item.answered]

    def judged(self, number: int, outcome: JudgedReview) -> None:
        """Store what the judge found out about a code review."""
        self.session.items[number].judged = outcome
        if self.markings:
            marking = self.markings[number]
            assert isinstance(marking, ReviewMarking)
            marking.judged = outcome
        self.save()

    def measured(self, number: int, result: HandIn) -> None:
        """Store what the judge measured of a live incident."""
        self.session.items[number].live_work.measured = result
        self.save()

    # marking

    def beats(self, item: InterviewQuestion) -> tuple[Beat, ...]:
        """The beats of a good answer to the question, as they were when the interview began."""
        kind = INCIDENT if item.kind == INCIDENT else "scenario" if item.scenario else "concept"
        return tuple(self.head.beats[kind])

    def propose(self) -> None:
        """Mark what the machine can and propose the rest. A second call keeps the learner's decisions."""
        if not self.markings:
            self.markings = [propose(item, self.beats(item)) for item in self.session.items]
            self.save()

    def finished(self) -> Report:
        """The report as it would be stored now."""
        self.propose()
        finished = self._now().isoformat(timespec="seconds")
        past = archive.done(self.study, self.form)
        related = RelatedTasks(self.study.bank, load_library())
        return build(self.head, finished, self.session, self.markings, past, related)

    def record(self, *, counts: bool = True) -> Report:
        """Store the report, reviews and recalls in one transaction, so that one undo reverts all of it.

        One that does not count is in no trend, comparison or pooled total; its reviews are real all the same.
        Raises ``TakenOver`` if another window resumed or finished the interview.
        """
        report = self.finished()
        report.counts = counts and not any(item.practice for item in self.session.items)
        reviews, recalls = self._effects(report)
        self.study.record_mock(
            report.as_json(),
            reviews,
            recalls=recalls,
            mock_id=self.id,
            sitting=self.sitting,
            passes=passed_code(self.session.items, self.study.bank),
            code_reviews=code_reviews(report, self.id),
        )
        return report

    @property
    def can_discard(self) -> bool:
        """Whether it can still be discarded without a trace: nothing was answered or typed yet."""
        return not any(item.answered or item.code for item in self.session.items)

    def discard(self) -> None:
        """Remove it without a trace. Nothing is written any more."""
        self.taken = "The interview was discarded; nothing of it is stored."
        self.study.discard_mock(self.id)

    @property
    def reached_half(self) -> bool:
        """Whether at least half of the questions were reached."""
        return 2 * sum(item.reached for item in self.session.items) >= len(self.session.items)

    def _effects(self, report: Report) -> tuple[list[MockReview], list[str]]:
        """Set the effect of each question in the report; return the reviews and tomorrow's first cards."""
        bank = self.study.bank
        asked = [question.asked.card for question in report.questions]
        reviews: list[MockReview] = []
        recalls: list[str] = []
        for question in report.questions:
            item, marking, mark = question.asked, question.marking, question.marks.total
            effect = effect_of(item, mark, marking)
            question.effect = record = QuestionEffect(effect.why, None, None, list(effect.caps))
            if item.card.startswith(CARDS):
                record.why = "asked only in interviews: nothing to schedule"
            elif item.kind != INCIDENT and not _in_bank(bank, item):
                record.why = "the question is no longer in the bank"
            elif effect.rating is None and item.slot == DEBUG:
                pass
            elif effect.rating is None:
                recalls += [] if item.kind in (INCIDENT, REVIEW) else [item.card]
            else:
                if item.kind != REVIEW:  # a code review is an event of its own
                    reviews.append(review_of(item, effect, marking))
                due = self.study.previews(item.card)[effect.rating].due
                record.rating, record.due = effect.rating.label, due.isoformat(timespec="seconds")
                record.linked = linked_cards(item, mark, marking, bank, asked)
                recalls += record.linked
        report.tomorrow = list(dict.fromkeys(recalls))
        return reviews, recalls


def _in_bank(bank: "Bank", item: InterviewQuestion) -> bool:
    return bank.resolve(item.card) in bank.questions or item.exercise in bank.exercises


def _head(
    study: "Study", blueprint: Blueprint, paper: Paper, items: Sequence[InterviewQuestion], rules: int
) -> InterviewHead:
    from importlib.metadata import PackageNotFoundError, version

    try:
        # From the metadata, because importing torch takes seconds.
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    hashes = [item.asked.content_hash for item in items if item.kind != CODING]
    role = paper.plan.role
    return InterviewHead(
        schema=SCHEMA if rules == 1 else SCHEMA_2,
        id=secrets.token_hex(4),
        seed=paper.seed,
        role=role.name,
        title=role.title,
        minutes=paper.plan.minutes,
        code=paper.plan.code,
        pass_mark=role.pass_mark,
        blueprint=blueprint.hash,
        content_hash=hashlib.sha256("".join(hashes).encode()).hexdigest()[:16],
        app=__version__,
        torch=torch,
        device="cpu",
        beats={kind: list(beats) for kind, beats in blueprint.format.beats.items()},
        started=study.clock.now().astimezone(UTC).isoformat(timespec="seconds"),
        rules=rules,
        round=paper.plan.round.name if rules > 1 else "",
        spoken=paper.plan.spoken,
    )
