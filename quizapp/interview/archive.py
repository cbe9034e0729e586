"""Finds and lists stored interviews, and marks old answers again without showing the first marks."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from quizapp.errors import UnknownName
from quizapp.interview.blueprint import MOCK, Blueprint, InterviewForm, form_of
from quizapp.interview.report.model import BlindMarks, Report, load_report
from quizapp.interview.scoring.calibration import kappa
from quizapp.interview.session.session import InterviewSession

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study
    from quizapp.store.documents import MockDocument

BLIND_EVERY = 10
BLIND_AFTER = timedelta(days=3)


def running(study: "Study") -> "MockDocument | None":
    """The newest interview or single incident that was cut off or is not marked yet."""
    return next(iter(study.mocks("running")), None)


def interviews(study: "Study") -> "list[MockDocument]":
    """The mock interviews that were not undone, finished or not, newest first."""
    return [mock for mock in study.mocks() if mock.state != "undone" and form_of(mock.document) is MOCK]


def done(study: "Study", form: InterviewForm = MOCK) -> list[Report]:
    """The finished reports of a form that count and were not undone, newest first."""
    documents = (mock.document for mock in study.mocks("done"))
    return [
        load_report(document)
        for document in documents
        if form_of(document) is form and document.get("counts", True)
    ]


def finished(study: "Study") -> list[Report]:
    """All finished mock interviews that were not undone, whether they count or not, newest first."""
    documents = (mock.document for mock in study.mocks("done"))
    return [load_report(document) for document in documents if form_of(document) is MOCK]


def find_report(study: "Study", name: str) -> Report:
    """Find a finished report by its id or a unique prefix of it.

    Raises ``UnknownName`` if none or several match, or if the interview is not finished.
    """
    mocks = study.mocks()
    matches = [mock for mock in mocks if mock.id == name] or [
        mock for mock in mocks if name and mock.id.startswith(name)
    ]
    if len(matches) != 1:
        hint = "several ids begin with it" if matches else "'quizapp mock list' shows them"
        raise UnknownName(f"there is no mock interview {name!r}; {hint}")
    if matches[0].state == "running":
        raise UnknownName(f"The mock interview {name!r} is not finished: `quizapp mock` resumes it.")
    return load_report(matches[0].document)


def can_discard(document: Mapping[str, Any]) -> bool:
    """Whether a stored interview that is not finished has no answer yet, so that it may leave no trace."""
    session = InterviewSession.from_json(document["running"])
    return not any(item.answered or item.code for item in session.items)


def save_report(study: "Study", report: Report) -> None:
    """Store a finished report again after a peer review or blind marks. The card reviews do not change."""
    study.save_mock(report.as_json(), mock_id=report.id, done=True)


def undo_marks(study: "Study", report: Report) -> bool:
    """Undo the marks and reviews of an interview; False, with nothing changed, unless they came last."""
    stored = next((mock for mock in study.mocks("done") if mock.id == report.id), None)
    undone = study.undo() if stored is not None else None
    if stored is None or undone is None:
        return False
    # Undo takes back the last step, whatever it was. If that was not this interview, put it back.
    if undone.event != stored.event:
        study.redo()
        return False
    return True


def first_role(blueprint: Blueprint, tracks: Sequence[str], reports: Sequence[Report]) -> str:
    """The role to suggest: the learner's first track that is a role, else the role of the newest report.

    ``reports`` are sorted newest first. Without either, it is the first role of the blueprint.
    """
    candidates = [*tracks, *(report.role for report in reports), *blueprint.roles]
    return next(role for role in candidates if role in blueprint.roles)


def blind_queue(reports: Sequence[Report], now: datetime) -> list[tuple[str, int]]:
    """Return (interview id, question number) of each answer that is due to be marked again.

    Every tenth self-marked answer is due three days after its interview, unless it was marked again.
    """
    queue = []
    count = 0
    for report in sorted(reports, key=lambda report: report.started):
        marked_again = {marks.item for marks in report.remarks}
        old = now - datetime.fromisoformat(report.finished) >= BLIND_AFTER
        for question in report.questions:
            if not question.in_words or not question.asked.typed.strip():
                continue
            count += 1
            if count % BLIND_EVERY == 0 and old and question.asked.number not in marked_again:
                queue.append((report.id, question.asked.number))
    return queue


def remark(report: Report, number: int, held: Sequence[float], now: datetime) -> None:
    """Add the blind marks of a question's key points to the report."""
    at = now.astimezone(UTC).isoformat(timespec="seconds")
    report.remarks = [*report.remarks, BlindMarks(number, at, list(held))]


def store_remark(study: "Study", report: Report, number: int, held: Sequence[float]) -> str:
    """Store the blind marks of a question; return a phrase on how well they agree with the first marks."""
    remark(report, number, held, study.clock.now())
    save_report(study, report)
    points = report.question(number).points
    pairs = [(point.held, again) for point, again in zip(points, held, strict=True)]
    agreement = kappa(pairs)
    text = f"{sum(first == again for first, again in pairs)} of {len(pairs)} points as the first time"
    return text if agreement is None else f"{text}, kappa {agreement:.2f}"


class Drift(NamedTuple):
    """How well blind marks agree with the first ones.

    ``points`` counts the pairs of marks. ``change`` is the mean of first minus blind marks, in percent of a
    point. Both other figures are None without blind marks.
    """

    points: int
    kappa: float | None
    change: float | None


def drift(reports: Sequence[Report]) -> Drift:
    """Compare all blind marks with the first marks of the same key points."""
    pairs: list[tuple[float, float]] = []
    for report in reports:
        for marks in report.remarks:
            points = report.question(marks.item).points
            pairs += [(point.held, again) for point, again in zip(points, marks.held, strict=False)]
    if not pairs:
        return Drift(0, None, None)
    change = sum(Fraction(first) - Fraction(again) for first, again in pairs) / len(pairs)
    return Drift(len(pairs), kappa(pairs), round(float(100 * change), 1))


def drift_text(reports: Sequence[Report]) -> str:
    """Describe the drift of the learner's marks in one sentence; empty before the first blind marks."""
    result = drift(reports)
    if result.change is None:
        return ""
    agreement = "" if result.kappa is None else f"weighted kappa {result.kappa:.2f}, "
    change = round(result.change)
    side = "kinder" if change > 0 else "stricter"
    first = f"{abs(change)} of 100 {side} than" if change else "as kind as"
    return (
        f"Blind re-marking of {result.points} key points: {agreement}the first marks were {first} the second."
    )
