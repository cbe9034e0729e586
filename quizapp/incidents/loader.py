"""Loads the shipped incidents when an interview asks for them."""

import re
from functools import lru_cache
from pathlib import Path

from quizapp import paths
from quizapp.bank.model import Fault
from quizapp.incidents.model import Incident, Library

VOCABULARY = "causes.yaml"


def load_library(folder: Path | None = None) -> Library:
    """The incidents in ``folder`` (default: the shipped ones); empty where there are none.

    Faulty incidents are left out and named in ``Library.faults``; nothing raises because of bad content.
    """
    return _kept(folder or paths.content() / "incidents")


@lru_cache(4)
def _kept(folder: Path) -> Library:
    return parse_library(folder)


def parse_library(folder: Path) -> Library:
    """The incidents read from their YAML files."""
    if not (folder / VOCABULARY).is_file():
        return Library()
    from quizapp.bank.yaml_loader import yaml_files
    from quizapp.incidents.parse import Reader, read_incident
    from quizapp.incidents.validate import link_faults

    words = read_vocabulary(folder / VOCABULARY)
    if words.faults:
        return words  # each incident would only echo them
    faults: list[Fault] = []
    found: dict[str, Incident] = {}
    for path in yaml_files(folder):
        if path.name == VOCABULARY:
            continue
        data, fault = _read(path)
        reader = Reader(str(path), "")
        incident = read_incident(data, reader) if fault is None else None
        wrong = [fault] if fault else reader.faults
        if incident is not None:
            wrong = [
                Fault(str(path), _line(path, key), f"incident '{incident.id}': {text}")
                for key, text in link_faults(incident, words)
            ]
            if not wrong:
                found[incident.id] = incident
        faults += wrong
    return Library(words.readings, words.places, words.states, words.causes, found, tuple(faults))


def read_vocabulary(path: Path) -> Library:
    """Readings, places, states and causes, without incidents."""
    from quizapp.incidents.parse import Reader, read_causes, read_readings, read_states

    data, fault = _read(path)
    if fault is not None or not isinstance(data, dict):
        return Library(faults=(fault or Fault(str(path), 1, "must be a mapping"),))
    reader = Reader(str(path), "")
    reader.only(data, ("readings", "places", "states", "causes"), 1)
    readings = read_readings(data.get("readings"), reader)
    places = {name: str(text) for name, text in reader.mapping(data.get("places"), "places", 1).items()}
    states = read_states(data.get("states"), reader)
    causes = read_causes(data.get("causes"), readings, places, reader)
    return Library(readings, places, states, causes, {}, tuple(reader.faults))


def _read(path: Path) -> tuple[object, Fault | None]:
    from quizapp.bank.yaml_loader import read_yaml

    return read_yaml(path)


def _line(path: Path, key: str) -> int:
    """The line on which a key stands, 1 where it does not."""
    pattern = re.compile(rf"\s*(?:- )?\{{?\s*{re.escape(key)}\s*:")
    for number, text in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if pattern.match(text):
            return number
    return 1
