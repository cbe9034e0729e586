"""An incident as asked, the diagnosis that the learner states, and its marking.

No reading is run again: everything is compared with the readings stored in the content. All functions work
on the snapshot that an interview stores, so later edits of the content do not change old marks.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from quizapp.bank.model import FollowUp, Misconception
from quizapp.incidents.live.live_work import LiveTask
from quizapp.incidents.model import CONTROL, NO_FAULT, NOTHING, SECTIONS, Incident, IncidentLibrary

STATES_OFFERED = (8, 10)  # the fewest and the most that a sheet lists


class OfferedCause(msgspec.Struct):
    """A cause to choose from. ``rejected_by`` names the readings whose stored outcome excludes it."""

    id: str
    text: str
    rejected_by: list[str]


class OfferedPlace(msgspec.Struct):
    """A place in the code to choose from."""

    id: str
    text: str


class OfferedState(msgspec.Struct):
    """A part of the run's state. ``right`` says whether a replay must restore it."""

    id: str
    text: str
    right: bool


class OfferedReading(msgspec.Struct):
    """A reading for sale. ``seconds`` is its price. Buying it reveals ``outcome`` and ``shows``."""

    id: str
    title: str
    seconds: int
    asks: str
    outcomes: list[str]
    outcome: str
    shows: str

    @property
    def text(self) -> str:
        """Its title, under the attribute name that causes, places and states use."""
        return self.title


class CheapestPath(msgspec.Struct):
    """The readings that settle the incident at the lowest price in ``seconds``."""

    readings: list[str]
    seconds: int


class SnapshotPoint(msgspec.Struct):
    """A key point of the full answer. ``kind`` is its section. ``verify`` marks points on proving the fix."""

    text: str
    weight: int
    kind: str
    terms: list[str]
    verify: bool = False


class IncidentSnapshot(msgspec.Struct):
    """An incident as asked with one seed, with everything that marking needs."""

    id: str
    fault_class: str
    content_hash: str
    title: str
    setup: str
    symptom: str
    one_batch: str
    cause: str
    place: str
    decoys: list[str]
    causes: list[OfferedCause]
    places: list[OfferedPlace]
    states: list[OfferedState]
    readings: list[OfferedReading]
    cheapest: CheapestPath
    prompt: str
    answer: str
    key_points: list[SnapshotPoint]
    misconceptions: list[Misconception]
    hints: list[str] = []
    say: str = ""
    follow_ups: list[FollowUp] = []
    live: LiveTask | msgspec.UnsetType = msgspec.UNSET
    """The program to repair, if the incident is sat live."""

    @property
    def false_alarm(self) -> bool:
        """Whether the run is healthy."""
        return self.cause == NO_FAULT

    def reading(self, name: str) -> OfferedReading | None:
        """Return a reading by its id."""
        return next((row for row in self.readings if row.id == name), None)

    def excluded_by(self, name: str) -> list[str]:
        """The texts of the offered causes that a reading excludes."""
        return [cause.text for cause in self.causes if name in cause.rejected_by]

    def cheapest_text(self) -> str:
        """The cheapest path in words."""
        titles = [text_of(self.readings, name) for name in self.cheapest.readings]
        return f"{' and '.join(titles)}, {self.cheapest.seconds} s"

    def rejections(self) -> list[str]:
        """The run's decoys, each with the cheapest reading that rejects it."""
        prices = {row.id: row.seconds for row in self.readings}
        parts = []
        for cause in self.causes:
            if cause.id in self.decoys and cause.rejected_by:
                reading = min(cause.rejected_by, key=lambda name: prices[name])
                parts.append(f"{cause.text} (by {text_of(self.readings, reading)})")
        return parts


class BoughtReading(msgspec.Struct):
    """A reading that the learner paid for, after predicting its outcome."""

    reading: str
    seconds: int
    predicted: str
    outcome: str
    at_ms: int

    @property
    def predicted_right(self) -> bool | None:
        """Whether the prediction came true; None if a redacted report leaves it out."""
        return self.predicted == self.outcome if self.predicted else None


class StatedDiagnosis(msgspec.Struct, omit_defaults=True):
    """The learner's diagnosis. ``decoy`` is a cause that they reject, ``reading`` the reading behind that."""

    cause: str = ""
    place: str = ""
    states: list[str] = []
    decoy: str = ""
    reading: str = ""

    def commit(self, field: str, value: str | list[str]) -> None:
        """Set a field and the fields that depend on it.

        Naming a cause clears the same cause as decoy, since it cannot be both. Stating that there is no fault
        also sets the place to "nothing", and stating another cause clears that place again.
        """
        setattr(self, field, value)
        if field != "cause":
            return
        if self.decoy == value:
            self.decoy = ""
        if value == NO_FAULT:
            self.place = NOTHING
        elif self.place == NOTHING:
            self.place = ""

    def toggle_state(self, name: str) -> list[str]:
        """Return the states with ``name`` added, or removed if it is among them."""
        return [other for other in self.states if other != name] + ([] if name in self.states else [name])

    def missing(self) -> list[str]:
        """The fields that a complete diagnosis needs and this one lacks."""
        return [field for field in ("cause", "place", "decoy") if not getattr(self, field)]


class DiagnosisMark(msgspec.Struct):
    """The parts of a diagnosis that were right, before weights.

    ``predicted`` of ``predictions`` were right. ``evidence`` is 1 if the learner rejected a decoy of the
    incident by a reading that they bought and that excludes it, 0.5 for another offered cause, else 0. In a
    false alarm it is 1 if they bought the control run. ``paid`` and ``cheapest`` are seconds. ``edit`` says
    that a fault was named in a healthy run.
    """

    cause: bool
    place: bool
    predicted: int
    predictions: int
    evidence: float
    paid: int
    cheapest: int
    states_right: int
    states_wrong: int
    states: int
    false_alarm: bool
    edit: bool


class DiagnosisRow(NamedTuple):
    """A part of the diagnosis as stated, beside the right answer.

    ``right_share`` says how right it was, from 0 to 1. It is None if nothing was stated, or if the part does
    not count.
    """

    name: str
    stated: str
    right: str
    right_share: float | None


def text_of(
    rows: Sequence[OfferedCause | OfferedPlace | OfferedState | OfferedReading], name: str | None
) -> str:
    """Return the text for an id among causes, places, states or readings, or an empty string."""
    return next((row.text for row in rows if row.id == name), "")


def snapshot(
    incident: Incident, library: IncidentLibrary, seed: int, live: LiveTask | None = None
) -> IncidentSnapshot:
    """Return the incident as asked with ``seed``, which alone picks the states and sets the order.

    ``live`` is its program, if it is sat live.
    """
    rng = random.Random(f"{incident.id}:{seed}")  # noqa: S311 - a shuffle, not a secret
    offered = rng.sample(incident.offered, len(incident.offered))
    path, seconds = cheapest_path(incident, library)
    return IncidentSnapshot(
        id=incident.id,
        fault_class=incident.fault_class,
        content_hash=incident.content_hash,
        title=incident.title,
        setup=incident.setup,
        symptom=incident.symptom,
        one_batch=incident.one_batch,
        cause=incident.cause,
        place=library.causes[incident.cause].place,
        decoys=list(incident.decoys),
        causes=[_offered_cause(name, incident, library) for name in offered],
        places=[OfferedPlace(name, text) for name, text in library.places.items()],
        states=_offered_states(incident, library, rng),
        readings=[
            OfferedReading(
                name,
                reading.title,
                reading.seconds,
                reading.asks,
                list(reading.outcomes),
                incident.readings[name].outcome,
                incident.readings[name].shows,
            )
            for name, reading in library.readings.items()
            if name in incident.readings
        ],
        cheapest=CheapestPath(list(path), seconds),
        prompt=f"{incident.setup}\n\n{incident.symptom}",
        answer=incident.answer,
        key_points=[
            SnapshotPoint(point.text, point.weight, section, list(point.terms), point.verify)
            for section in SECTIONS
            for point in incident.points[section]
        ],
        misconceptions=list(incident.misconceptions),
        hints=list(incident.hints),
        live=live or msgspec.UNSET,
    )


def _offered_states(incident: Incident, library: IncidentLibrary, rng: random.Random) -> list[OfferedState]:
    """Return eight to ten parts of state in random order: two or more that are right, and wrong ones.

    A short vocabulary is offered as a whole.
    """
    right = [part for part in library.states if incident.restores(part)]
    wrong = [part for part in library.states if not incident.restores(part)]
    count = rng.randint(*STATES_OFFERED)
    if len(library.states) > STATES_OFFERED[0]:
        # The number of right ones varies, so that counting does not replace thinking.
        right = rng.sample(right, rng.randint(min(2, len(right)), len(right)))
        wrong = rng.sample(wrong, min(count - len(right), len(wrong)))
    parts = rng.sample([*right, *wrong], len(right) + len(wrong))
    return [OfferedState(part.id, part.text, incident.restores(part)) for part in parts]


def _offered_cause(name: str, incident: Incident, library: IncidentLibrary) -> OfferedCause:
    cause = library.causes[name]
    rejected = [key for key, row in incident.readings.items() if cause.excluded_by(key, row.outcome)]
    return OfferedCause(name, cause.text, rejected)


def cheapest_path(incident: Incident, library: IncidentLibrary) -> tuple[tuple[str, ...], int]:
    """Return the cheapest readings that settle the incident, and their price in seconds.

    They reject every decoy. For a false alarm it is the control run alone.
    """
    if incident.false_alarm:
        return (CONTROL,), library.readings[CONTROL].seconds
    # Dynamic programming over the sets of rejected decoys. There are at most four decoys, hence 16 sets.
    best: dict[frozenset[str], tuple[int, tuple[str, ...]]] = {frozenset(): (0, ())}
    for name, row in incident.readings.items():
        price = library.readings[name].seconds
        rejects = {d for d in incident.decoys if library.causes[d].excluded_by(name, row.outcome)}
        for done, (seconds, path) in list(best.items()):
            more, cost = done | rejects, seconds + price
            if more not in best or (cost, len(path)) < (best[more][0], len(best[more][1]) - 1):
                best[more] = (cost, (*path, name))
    seconds, path = best[frozenset(incident.decoys)]
    return path, seconds


def diagnose(
    asked: IncidentSnapshot, stated: StatedDiagnosis | None, bought: Sequence[BoughtReading]
) -> DiagnosisMark:
    """Mark a diagnosis that was stated after buying readings.

    Predictions of free readings count only if no reading was paid for.
    """
    stated = stated or StatedDiagnosis()
    counted = [row for row in bought if row.seconds] or bought
    rights = {state.id for state in asked.states if state.right}
    named = set(stated.states)
    return DiagnosisMark(
        cause=stated.cause == asked.cause,
        place=stated.place == asked.place,
        predicted=sum(row.predicted == row.outcome for row in counted),
        predictions=len(counted),
        evidence=_evidence(asked, stated, bought),
        paid=sum(row.seconds for row in bought),
        cheapest=asked.cheapest.seconds,
        states_right=len(named & rights),
        states_wrong=len(named - rights),
        states=len(rights),
        false_alarm=asked.false_alarm,
        edit=asked.false_alarm and stated.cause not in ("", NO_FAULT),
    )


def _evidence(asked: IncidentSnapshot, stated: StatedDiagnosis, bought: Sequence[BoughtReading]) -> float:
    if asked.false_alarm:
        return float(any(row.reading == CONTROL for row in bought))
    return _rejection(asked, stated, bought)


def _rejection(asked: IncidentSnapshot, stated: StatedDiagnosis, bought: Sequence[BoughtReading]) -> float:
    """Credit for the rejected cause: 1 for a decoy of the run, 0.5 for another, 0 if nothing excludes it."""
    if stated.reading not in {row.reading for row in bought} or stated.decoy == stated.cause:
        return 0.0
    rejected = next((cause for cause in asked.causes if cause.id == stated.decoy), None)
    if rejected is None or stated.reading not in rejected.rejected_by:
        return 0.0
    return 1.0 if rejected.id in asked.decoys else 0.5


def compare_diagnosis(
    asked: IncidentSnapshot, stated: StatedDiagnosis | None, bought: Sequence[BoughtReading]
) -> list[DiagnosisRow]:
    """Compare the diagnosis part by part, in words, with the right one."""
    stated = stated or StatedDiagnosis()
    return [
        _compare_choice("cause", asked.causes, stated.cause, asked.cause),
        _compare_choice("place", asked.places, stated.place, asked.place),
        _compare_states(asked, stated),
        _compare_rejection(asked, stated, bought),
    ]


def _compare_choice(
    name: str, rows: Sequence[OfferedCause | OfferedPlace], stated: str, right: str
) -> DiagnosisRow:
    text = text_of(rows, stated)
    return DiagnosisRow(name, text, text_of(rows, right), float(stated == right) if text else None)


def _compare_states(asked: IncidentSnapshot, stated: StatedDiagnosis) -> DiagnosisRow:
    """Compare the states. ``right`` lists the missing states and those that no replay needs."""
    named = [state for state in asked.states if state.id in stated.states]
    missing = "; ".join(state.text for state in asked.states if state.right and state not in named)
    needless = "; ".join(state.text for state in named if not state.right)
    parts = [f"{'also ' if named else ''}{missing}" if missing else "", f"not {needless}" if needless else ""]
    share = float(not missing and not needless) if named else None
    text = "; ".join(state.text for state in named)
    return DiagnosisRow("state to save", text, "; ".join(part for part in parts if part), share)


def _compare_rejection(
    asked: IncidentSnapshot, stated: StatedDiagnosis, bought: Sequence[BoughtReading]
) -> DiagnosisRow:
    text = text_of(asked.causes, stated.decoy)
    # In a healthy run the evidence is the control run, so a rejection does not count.
    counts = text and not asked.false_alarm
    share = _rejection(asked, stated, bought) if counts else None
    reading = text_of(asked.readings, stated.reading)
    if text and reading:
        text = f"{text} (by {reading}{_missing_evidence(stated, bought) if share == 0 else ''})"
    elif counts:
        text = f"{text} (no reading named)"
    return DiagnosisRow("rejected", text, "; ".join(asked.rejections()), share)


def _missing_evidence(stated: StatedDiagnosis, bought: Sequence[BoughtReading]) -> str:
    """Why the named reading earns nothing for the rejected cause."""
    if stated.decoy == stated.cause:
        return ", but it is also named as the cause"
    if stated.reading not in {row.reading for row in bought}:
        return ", which was not taken"
    return ", which does not exclude it"
