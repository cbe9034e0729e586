"""Checks incidents against the vocabulary, the bank and their own text."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from quizapp.bank.key_terms import shown_terms
from quizapp.bank.model import Bank, Fault, KeyPoint
from quizapp.incidents.model import CONTROL, NO_FAULT, ONE_BATCH, Incident, IncidentLibrary, RubricPoint

LEAST_OFFERED = 12
LEAST_READINGS = 3
HINTS = 2
DECOYS = (2, 4)
ANSWER_WORDS = (80, 250)
_PASSES = frozenset({"down", "passes"})


def check_incidents(folder: Path, bank: Bank) -> list[Fault]:
    """Return every fault of the incidents in a folder, none if the folder does not exist."""
    from quizapp.incidents.live.check_live import baseline_faults, live_faults
    from quizapp.incidents.loader import parse_library

    library = parse_library(folder)
    faults = [*library.faults, *baseline_faults(folder)]
    for incident in library.incidents.values():
        faults += [
            Fault(incident.file, incident.line, f"incident '{incident.id}': {text}")
            for text in _bank_faults(incident, bank)
        ]
        faults += [
            Fault(incident.file, point.line, f"incident '{incident.id}': {text}")
            for point, text in _unshown(incident)
        ]
        faults += live_faults(incident, folder)
    return faults


def _bank_faults(incident: Incident, bank: Bank) -> Iterator[str]:
    if incident.topic not in bank.topics:
        yield f"there is no topic '{incident.topic}'; correct the slug"
    if incident.exercise not in bank.exercises:
        yield f"there is no exercise '{incident.exercise}'; correct the slug"


def _unshown(incident: Incident) -> Iterator[tuple[RubricPoint, str]]:
    """Yield points that the strong answer does not show, not counting terms of setup or symptom."""
    given = f"{incident.setup}\n{incident.symptom}"
    for point in itertools.chain.from_iterable(incident.points.values()):
        own = KeyPoint(point.text, terms=_own_terms(point, given))
        if not shown_terms(own, incident.answer):
            text = f"the answer does not show the key point '{point.text[:40]}…'"
            yield point, f"{text}; say it there, or add the words that do as a term"


def _own_terms(point: RubricPoint, given: str) -> tuple[str, ...]:
    given_away = set(shown_terms(KeyPoint(point.text, terms=point.terms), given))
    return tuple(term for term in point.terms if term not in given_away)


def link_faults(incident: Incident, library: IncidentLibrary) -> Iterator[tuple[str, str]]:
    """Yield (key, fault text) for everything that contradicts the vocabulary or the incident itself."""
    if Path(incident.file).stem != incident.id:
        yield "id", f"the file must be called {incident.id}.yaml"
    names = {*incident.offered, *incident.decoys, incident.cause}
    unknown = sorted(name for name in names if name not in library.causes)
    if unknown:
        yield "offered", f"there is no cause {', '.join(map(repr, unknown))}; causes.yaml lists them"
        return
    yield from _offer_faults(incident)
    yield from _state_faults(incident, library)
    yield from _reading_faults(incident, library)
    yield from _decoy_faults(incident, library)
    yield from _text_faults(incident)


def _state_faults(incident: Incident, library: IncidentLibrary) -> Iterator[tuple[str, str]]:
    known = {part.id for part in library.states}
    if unknown := sorted(set(incident.state) - known):
        yield "state", f"there is no state {', '.join(map(repr, unknown))}; causes.yaml lists them"
    elif known <= set(incident.state):
        yield "state", "every state is right; a list to choose from needs wrong ones"


def _offer_faults(incident: Incident) -> Iterator[tuple[str, str]]:
    if len(set(incident.offered)) != len(incident.offered):
        yield "offered", "a cause is offered twice"
    if len(set(incident.offered)) < LEAST_OFFERED:
        yield "offered", f"{len(incident.offered)} causes are offered; at least {LEAST_OFFERED} are needed"
    missing = sorted({incident.cause, NO_FAULT, *incident.decoys} - set(incident.offered))
    if missing:
        yield "offered", f"{', '.join(map(repr, missing))} must be offered too"
    low, high = DECOYS
    if not low <= len(set(incident.decoys)) <= high:
        yield "decoys", f"{len(incident.decoys)} decoys; {low} to {high} are needed"
    if incident.cause in incident.decoys:
        yield "decoys", "the cause is among its own decoys"


def _reading_faults(incident: Incident, library: IncidentLibrary) -> Iterator[tuple[str, str]]:
    if len(incident.readings) < LEAST_READINGS:
        yield "readings", f"{len(incident.readings)} readings; at least {LEAST_READINGS} are needed"
    expects = library.causes[incident.cause].expects
    for name, shown in incident.readings.items():
        reading = library.readings.get(name)
        if reading is None:
            yield name, f"there is no reading '{name}'; causes.yaml lists them"
        elif shown.outcome not in reading.outcomes:
            yield (
                name,
                f"'{shown.outcome}' is not an outcome of {name}; these are: {', '.join(reading.outcomes)}",
            )
        elif name in expects and shown.outcome not in expects[name]:
            seen = " or ".join(expects[name])
            yield name, f"the outcome of {name} is '{shown.outcome}', but its cause gives {seen}"
    shown_one = incident.readings.get(ONE_BATCH)
    if shown_one is not None and (shown_one.outcome in _PASSES) != (incident.one_batch == "passes"):
        yield "one_batch", f"'one_batch' contradicts the outcome '{shown_one.outcome}' of {ONE_BATCH}"
    if incident.false_alarm and CONTROL not in incident.readings:
        yield "readings", f"a false alarm needs the reading '{CONTROL}', its evidence"


def _decoy_faults(incident: Incident, library: IncidentLibrary) -> Iterator[tuple[str, str]]:
    for name in incident.decoys:
        cause = library.causes[name]
        if not any(cause.excluded_by(reading, row.outcome) for reading, row in incident.readings.items()):
            yield "decoys", f"no reading of this run rejects the decoy '{name}'; take another one"


def _text_faults(incident: Incident) -> Iterator[tuple[str, str]]:
    given = f"{incident.setup}\n{incident.symptom}"
    for section, points in incident.points.items():
        for point in points:
            if not _own_terms(point, given):
                text = f"all terms of '{point.text[:40]}…' appear in setup or symptom and prove nothing"
                yield section, f"{text}; add other terms"
    if len(incident.hints) != HINTS:
        yield "hints", f"{len(incident.hints)} hints; {HINTS} are needed, the second stronger"
    named = re.sub(r"-", " ", incident.cause)
    for key in ("title", "setup", "symptom"):
        if named in str(getattr(incident, key)).casefold():
            yield key, f"'{key}' names the cause ({named}); it must not give it away"
    if any(named in hint.casefold() for hint in incident.hints):
        yield "hints", f"a hint names the cause ({named})"
    low, high = ANSWER_WORDS
    if not low <= len(incident.answer.split()) <= high:
        yield "answer", f"the answer has {len(incident.answer.split())} words; {low} to {high} are needed"
