"""Loads the incidents from their YAML files, and finds one by the name that somebody types."""

import re
from functools import lru_cache
from pathlib import Path

from quizapp import paths
from quizapp.bank.model import Fault
from quizapp.errors import UnknownName
from quizapp.incidents.model import Incident, IncidentLibrary
from quizapp.util.suggest import did_you_mean

VOCABULARY = "causes.yaml"
MOST_SUGGESTIONS = 3


def load_library(folder: Path | None = None) -> IncidentLibrary:
    """Return the incidents in ``folder`` (default: the shipped ones), an empty library without any.

    Faulty incidents are left out and reported in ``IncidentLibrary.faults``. Bad content never raises.
    """
    return _cached_library(folder or paths.content() / "incidents")


@lru_cache(4)
def _cached_library(folder: Path) -> IncidentLibrary:
    return parse_library(folder)


def parse_library(folder: Path) -> IncidentLibrary:
    """Read the incidents from their YAML files, without the cache."""
    if not (folder / VOCABULARY).is_file():
        return IncidentLibrary()
    # Imported here because most commands never load an incident.
    from quizapp.bank.yaml_loader import read_yaml
    from quizapp.incidents.mapping_reader import MappingReader
    from quizapp.incidents.parse import read_incident
    from quizapp.incidents.validate import link_faults

    vocabulary = read_vocabulary(folder / VOCABULARY)
    if vocabulary.faults:
        return vocabulary  # every incident would only repeat the same faults
    faults: list[Fault] = []
    incidents: dict[str, Incident] = {}
    for path in sorted(folder.glob("*.yaml")):  # the folders beside them hold the baselines of live runs
        if path.name == VOCABULARY:
            continue
        data, fault = read_yaml(path)
        reader = MappingReader(str(path), "")
        incident = read_incident(data, reader) if fault is None else None
        file_faults = [fault] if fault else reader.faults
        if incident is not None:
            file_faults = [
                Fault(str(path), _line_of_key(path, key), f"incident '{incident.id}': {text}")
                for key, text in link_faults(incident, vocabulary)
            ]
            if not file_faults:
                incidents[incident.id] = incident
        faults += file_faults
    return IncidentLibrary(
        vocabulary.readings, vocabulary.places, vocabulary.states, vocabulary.causes, incidents, tuple(faults)
    )


def read_vocabulary(path: Path) -> IncidentLibrary:
    """Read the readings, places, states and causes into a library without incidents."""
    from quizapp.bank.yaml_loader import read_yaml
    from quizapp.incidents.mapping_reader import MappingReader
    from quizapp.incidents.parse import read_causes, read_readings, read_states

    data, fault = read_yaml(path)
    if fault is not None or not isinstance(data, dict):
        return IncidentLibrary(faults=(fault or Fault(str(path), 1, "must be a mapping"),))
    reader = MappingReader(str(path), "")
    reader.only(data, ("readings", "places", "states", "causes"), 1)
    readings = read_readings(data.get("readings"), reader)
    places = {name: str(text) for name, text in reader.mapping(data.get("places"), "places", 1).items()}
    states = read_states(data.get("states"), reader)
    causes = read_causes(data.get("causes"), readings, places, reader)
    return IncidentLibrary(readings, places, states, causes, {}, tuple(reader.faults))


def _line_of_key(path: Path, key: str) -> int:
    pattern = re.compile(rf"\s*(?:- )?\{{?\s*{re.escape(key)}\s*:")
    for number, text in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if pattern.match(text):
            return number
    return 1


def find_incident(library: IncidentLibrary, text: str, *, by_id: bool = True) -> Incident:
    """Find an incident by its id or name, or by a prefix that only one incident has.

    Without ``by_id`` neither the search nor the suggestions know the ids, which name the faults. Raises
    ``UnknownName`` with suggestions if no incident or more than one matches.
    """
    wanted = text.strip().casefold()
    by_word = {
        word: incident
        for incident in library.incidents.values()
        for word in ((incident.name, incident.id) if by_id else (incident.name,))
    }
    if wanted in by_word:
        return by_word[wanted]
    with_prefix = {word: one for word, one in by_word.items() if wanted and word.startswith(wanted)}
    if len({incident.id for incident in with_prefix.values()}) == 1:
        return next(iter(with_prefix.values()))
    if with_prefix:
        names = sorted(with_prefix)
        more = ", ..." * (len(names) > MOST_SUGGESTIONS)
        hint = f"several names begin with it: {', '.join(names[:MOST_SUGGESTIONS])}{more}"
    else:
        hint = did_you_mean(wanted, by_word, "'quizapp incident | cat' lists them", most=MOST_SUGGESTIONS)
    raise UnknownName(f"there is no incident '{text}'; {hint}")
