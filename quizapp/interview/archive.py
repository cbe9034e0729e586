"""Stored interviews: finding, listing, resuming, and re-marking old answers blind."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quizapp.errors import UnknownName
from quizapp.interview.blueprint import MOCK, InterviewForm, form_of
from quizapp.interview.session.question import IN_WORDS

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study
    from quizapp.store.documents import MockDocument

EVERY = 10
WAIT = timedelta(days=3)
LEVELS = (0.0, 0.5, 1.0)


def running(study: "Study") -> "MockDocument | None":
    """The newest interview, or single incident, that was cut off or not marked yet."""
    return next(iter(study.mocks("running")), None)


def interviews(study: "Study") -> "list[MockDocument]":
    """The interviews that stand, finished or not, newest first, without single incidents."""
    return [mock for mock in study.mocks() if mock.state != "undone" and form_of(mock.document) is MOCK]


def done(study: "Study", form: InterviewForm = MOCK) -> list[Mapping[str, Any]]:
    """The finished reports that stand, newest first: by default of mock interviews."""
    found = (mock.document for mock in study.mocks("done"))
    return [document for document in found if form_of(document) is form]


def report(study: "Study", name: str) -> Mapping[str, Any]:
    """A finished report by its id or the beginning of it. Raises ``UnknownName``."""
    known = study.mocks()
    found = [mock for mock in known if mock.id == name] or [
        m for m in known if name and m.id.startswith(name)
    ]
    if len(found) != 1:
        hint = "several ids begin with it" if found else "`quizapp mock list` shows them"
        raise UnknownName(f"There is no mock interview {name!r}: {hint}.")
    if found[0].state == "running":
        raise UnknownName(f"The mock interview {name!r} is not finished: `quizapp mock` resumes it.")
    return found[0].document


def save_report(study: "Study", document: Mapping[str, Any]) -> None:
    """Store a finished report again, with a friend's marks or a re-marking in it; reviews stay."""
    study.save_mock(document, mock_id=document["id"], done=True)


def blind_queue(documents: Sequence[Mapping[str, Any]], now: datetime) -> list[tuple[str, int]]:
    """(interview, item) of every tenth self-marked answer that is old enough and not marked again yet."""
    queue = []
    number = 0
    for document in sorted(documents, key=lambda d: d["started"]):
        again = {remark["item"] for remark in document["remarks"]}
        old = now - datetime.fromisoformat(document["finished"]) >= WAIT
        for item in document["items"]:
            if item["kind"] not in IN_WORDS or not item["typed"].strip():
                continue
            number += 1
            if number % EVERY == 0 and old and item["number"] not in again:
                queue.append((document["id"], item["number"]))
    return queue


def remark(document: dict[str, Any], item: int, held: Sequence[float], now: datetime) -> None:
    """Note the blind marks of an item's key points."""
    at = now.astimezone(UTC).isoformat(timespec="seconds")
    document["remarks"] = [*document["remarks"], {"item": item, "at": at, "held": list(held)}]


def item_of(document: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """An item of a report by its number."""
    return next(item for item in document["items"] if item["number"] == number)


def store_remark(study: "Study", document: dict[str, Any], item: int, held: Sequence[float]) -> str:
    """Store the blind marks of an item in its report; says how they agree with the first."""
    remark(document, item, held, study.clock.now())
    save_report(study, document)
    points = item_of(document, item)["marking"]["points"]
    pairs = [(point["held"], again) for point, again in zip(points, held, strict=True)]
    agreement = kappa(pairs)
    text = f"{sum(first == again for first, again in pairs)} of {len(pairs)} points as the first time"
    return text if agreement is None else f"{text}, kappa {agreement:.2f}"


def drift(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How the blind marks agree with the first: weighted kappa, and drift (first minus blind, percent)."""
    pairs = []
    for document in documents:
        by_number = {item["number"]: item for item in document["items"]}
        for row in document["remarks"]:
            points = by_number[row["item"]]["marking"]["points"]
            pairs += [(p["held"], again) for p, again in zip(points, row["held"], strict=False)]
    if not pairs:
        return {"points": 0, "kappa": None, "drift": None}
    change = sum(Fraction(first) - Fraction(again) for first, again in pairs) / len(pairs)
    return {"points": len(pairs), "kappa": kappa(pairs), "drift": round(float(100 * change), 1)}


def drift_text(documents: Sequence[Mapping[str, Any]]) -> str:
    """What blind re-marking says, in a sentence; empty before the first."""
    found = drift(documents)
    if not found["points"]:
        return ""
    known = "" if found["kappa"] is None else f"weighted kappa {found['kappa']:.2f}, "
    change = round(found["drift"])
    side = "kinder" if change > 0 else "stricter"
    first = f"{abs(change)} of 100 {side} than" if change else "as kind as"
    return f"Blind re-marking of {found['points']} key points: {known}the first marks {first} the second."


def kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Cohen's kappa with quadratic weights over none, half and full; None where chance explains all."""
    number = len(pairs)
    if not number:
        return None
    observed = sum((a - b) ** 2 for a, b in pairs) / number
    firsts = [sum(a == level for a, _ in pairs) / number for level in LEVELS]
    seconds = [sum(b == level for _, b in pairs) / number for level in LEVELS]
    expected = sum(
        p * q * (a - b) ** 2
        for a, p in zip(LEVELS, firsts, strict=True)
        for b, q in zip(LEVELS, seconds, strict=True)
    )
    return round(1 - observed / expected, 3) if expected else None
