"""Loads the bank: shipped and added questions, exercises and paths, with a compiled cache."""

import contextlib
import gc
import hashlib
import itertools
import marshal
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from quizapp import __version__, paths
from quizapp.bank.decks.find_decks import MAX_FILES, beside, deck_files
from quizapp.bank.model import Bank, Exercise, Fault, Question, Topic
from quizapp.errors import QuizError, UnknownName
from quizapp.util.suggest import did_you_mean

_RETIRED = "retired.yaml"

# Called with the number of files read and the number of all files.
ReportProgress = Callable[[int, int], None]


def load_bank(
    extra: Sequence[Path] = (), progress: ReportProgress | None = None, *, cache: bool = True
) -> Bank:
    """Load the shipped bank and the decks in ``extra`` (files or folders).

    ``progress`` is called only if the compiled cache is out of date, so that files have to be read. Faulty
    questions are left out and listed in ``Bank.faults``. Bad content never raises.
    """
    content, exercises = paths.content(), paths.exercises()
    order = content / "paths.yaml"
    # Include the code that reads the files: in a checkout it changes while the version stays the same.
    here = Path(__file__).parent
    program = sorted([*here.glob("*.py"), *here.glob("decks/*.py")])
    shipped = [content / "questions", order, order.with_name(_RETIRED), exercises, *program]

    def parse_shipped() -> Bank:
        return parse_bank([content / "questions"], order, exercises, progress)

    def load_shipped() -> Bank:
        return _cached("bank.pickle", _fingerprint(shipped), parse_shipped) if cache else parse_shipped()

    if not extra:
        return load_shipped()

    def add_decks() -> Bank:
        # A deck that changes daily must not cost the parsing of everything else.
        bank = load_shipped()
        start = _Reading(dict(bank.exercises), dict(bank.questions), dict(bank.topics), list(bank.faults))
        return _assemble(_read_sources(extra, start, progress, keep_ids=True), order)

    if not cache:
        return add_decks()
    decks = [file for source in extra for path in _deck_files(source) for file in (path, beside(path))]
    return _cached("decks.pickle", _fingerprint([*shipped, *decks]), add_decks)


def _cached(name: str, key: str, make: Callable[[], Bank]) -> Bank:
    """The bank that the cache file ``name`` holds under ``key``; else made, and kept there."""
    file = paths.cache() / name
    bank = _read_cache(file, key)
    if bank is None:
        bank = make()
        _write_cache(file, key, bank)
    return bank


def _fingerprint(sources: Iterable[Path]) -> str:
    """A key that changes with the version and with any file's name, size or modification time."""
    seen: list[tuple[str, int, int]] = []
    for source in sources:
        for path in _content_files(source):
            with contextlib.suppress(OSError):
                stat = path.stat()
                seen.append((str(path), stat.st_size, stat.st_mtime_ns))
    return hashlib.sha256(marshal.dumps((__version__, seen))).hexdigest()


def _content_files(source: Path) -> Iterable[Path]:
    """The YAML files of a source. From a folder of exercises, only their descriptions."""
    if not source.is_dir():
        return [source]
    # Exercise folders hold thousands of submissions and other YAML files, which would slow down every start.
    if descriptions := sorted(source.glob("*/exercise.yaml")):
        return descriptions
    return yaml_files(source)


def _deck_files(source: Path) -> list[Path]:
    return deck_files(source) if source.is_dir() else [source]


def yaml_files(folder: Path) -> list[Path]:
    """List the YAML files below ``folder``, sorted; at most `MAX_FILES`, in case it is a whole disk."""
    files = (path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml") and path.is_file())
    return sorted(itertools.islice(files, MAX_FILES))


def _read_cache(path: Path, key: str) -> Bank | None:
    """Read the compiled bank; None if it is out of date, damaged or owned by another user.

    Unpickling runs code, so a file that this user does not own is never read.
    """
    import pickle  # costs 4 ms

    try:
        with path.open("rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            if file.readline().strip() != key.encode():
                return None
            with _without_collections():
                bank = pickle.load(file)  # noqa: S301 - written by this program for this user
    except (OSError, EOFError, ImportError, LookupError, TypeError, ValueError, AttributeError):
        return None
    except pickle.UnpicklingError:
        return None
    return bank if isinstance(bank, Bank) else None


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Pause the garbage collector: it would walk the growing bank again and again, for 40 % of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _write_cache(path: Path, key: str, bank: Bank) -> None:
    """Keep the compiled bank for the next start. If that fails, the next start is only slower."""
    import pickle

    from quizapp.util.atomic import write_atomic

    with contextlib.suppress(OSError):
        write_atomic(path, key.encode() + b"\n" + pickle.dumps(bank, pickle.HIGHEST_PROTOCOL), mode=0o600)


def parse_bank(
    sources: Sequence[Path], paths_file: Path, exercises_folder: Path, progress: ReportProgress | None = None
) -> Bank:
    """Read the bank from its YAML files, without the cache. Arguments and faults as for `load_bank`.

    Withdrawn questions are listed in ``retired.yaml`` beside ``paths_file``.
    """
    from quizapp.bank.parse_exercise import load_exercises

    exercises, faults = load_exercises(exercises_folder)
    return _assemble(_read_sources(sources, _Reading(exercises, {}, {}, faults), progress), paths_file)


class _Reading(NamedTuple):
    """What was read so far, before the links between questions were followed."""

    exercises: dict[str, Exercise]
    questions: dict[str, Question]
    topics: dict[str, Topic]
    faults: list[Fault]


def _read_sources(
    sources: Sequence[Path], start: _Reading, progress: ReportProgress | None, *, keep_ids: bool = False
) -> _Reading:
    """Add the questions of ``sources`` to ``start``, which is changed and returned.

    With ``keep_ids``, the ids that cards without one get are written into their files or beside them.
    """
    from quizapp.bank.decks.read_deck import read_deck

    files: dict[Path, None] = {}  # a file may be named twice, by itself and by its folder
    for source in sources:
        if not source.exists():
            start.faults.append(Fault(str(source), 1, "does not exist; remove the deck or correct its path"))
            continue
        found = _deck_files(source)
        if len(found) > MAX_FILES:
            text = f"has more than {MAX_FILES:,} files of cards; the rest is not read, so name folders in it"
            start.faults.append(Fault(str(source), 1, text))
        files |= dict.fromkeys(found[:MAX_FILES])
    for number, path in enumerate(files):
        if progress is not None:
            progress(number, len(files))
        start.faults.extend(read_deck(path, start.questions, start.topics, keep_ids=keep_ids))
    return start


def _assemble(read: _Reading, paths_file: Path) -> Bank:
    """Order what was read, take withdrawn ids out, and follow the links."""
    order, tracks, faults = _read_paths(paths_file)
    for slug in order.exercises:
        if read.exercises and slug not in read.exercises:
            text = f"'exercises' names '{slug}', which does not exist; correct the slug"
            faults.append(Fault(str(paths_file), 1, text))
    exercises = {
        slug: read.exercises[slug] for slug in [*order.exercises, *read.exercises] if slug in read.exercises
    }
    retired, retired_faults = _read_retired(paths_file.with_name(_RETIRED), read.questions)
    faults = [*read.faults, *faults, *retired_faults, *_link_faults(read.questions, exercises)]
    topics = {slug: read.topics[slug] for slug in [*order.topics, *read.topics] if slug in read.topics}
    rank = {slug: place for place, slug in enumerate(topics)}
    ordered = dict(sorted(read.questions.items(), key=lambda item: rank.get(item[1].topic, len(rank))))
    ordered = {name: _with_inherited(question, ordered) for name, question in ordered.items()}
    aliases = {alias: q.id for q in ordered.values() for alias in q.aliases if alias not in ordered}
    unique = tuple(dict.fromkeys(faults))  # with decks, the faults of the shipped bank come twice
    return Bank(ordered, topics, exercises, aliases, tracks, unique, retired)


def _with_inherited(question: Question, questions: Mapping[str, Question]) -> Question:
    """Let a card that has no tracks or prerequisites inherit those of its parent."""
    parent = questions.get(question.parent)
    if parent is None or (question.tracks and question.requires):
        return question
    return replace(
        question,
        tracks=question.tracks or parent.tracks,
        requires=question.requires or parent.requires,
    )


class _Order(NamedTuple):
    """The order in which topics are listed and exercises introduced; what is not named comes last."""

    topics: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()


def _read_paths(path: Path) -> tuple[_Order, dict[str, tuple[str, ...]], list[Fault]]:
    """The order of topics and exercises, the questions of each track, and the faults."""
    from quizapp.bank.yaml_loader import LINE, read_yaml

    if not path.is_file():
        return _Order(), {}, []
    data, fault = read_yaml(path)
    if fault is not None:
        return _Order(), {}, [fault]
    try:
        tracks = {"core": tuple(map(str, data.get("core") or ()))}
        for name, ids in (data.get("tracks") or {}).items():
            if name != LINE:
                tracks[str(name)] = tuple(map(str, ids))
        order = _Order(*(tuple(map(str, data.get(key) or ())) for key in _Order._fields))
        return order, tracks, []
    except (AttributeError, TypeError):
        text = "must hold lists under topics, exercises and core, and lists by name under tracks"
        return _Order(), {}, [Fault(str(path), 1, text)]


def _read_retired(path: Path, questions: dict[str, Question]) -> tuple[dict[str, str], list[Fault]]:
    """The withdrawn ids and what covers each now, and the faults.

    A question that uses a withdrawn id again is taken out of ``questions``, because the id's history in the
    logs of learners belongs to another question.
    """
    from quizapp.bank.yaml_loader import LINE, read_yaml

    if not path.is_file():
        return {}, []
    data, fault = read_yaml(path)
    if fault is not None:
        return {}, [fault]
    entries = data.get("retired") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return {}, [Fault(str(path), 1, "must hold a list under 'retired:'")]
    retired: dict[str, str] = {}
    faults: list[Fault] = []
    for entry in entries:
        if not isinstance(entry, dict) or not entry.get("id") or set(entry) - {"id", "into", LINE}:
            line = entry[LINE] if isinstance(entry, dict) else 1
            faults.append(Fault(str(path), line, "each entry must have 'id' and may have 'into'"))
            continue
        name, into = str(entry["id"]), str(entry.get("into") or "")
        if into and into not in questions:
            text = f"'into' names '{into}', which does not exist; correct the id"
            faults.append(Fault(str(path), entry[LINE], text, missing=into))
        if (question := questions.pop(name, None)) is not None:
            text = f"the id '{name}' belongs to a withdrawn question; choose another"
            faults.append(Fault(question.file, question.line, text, name))
        retired[name] = into
    return retired, faults


def _link_faults(questions: Mapping[str, Question], exercises: Mapping[str, Exercise]) -> list[Fault]:
    """Report links to ids and exercises that do not exist. The questions themselves stay in the bank."""
    aliases = {alias for question in questions.values() for alias in question.aliases}
    faults = []
    for question in questions.values():
        links = {"requires": question.requires, "siblings": question.siblings, "parent": (question.parent,)}
        for key, names in links.items():
            for name in names:
                if name and name not in questions and name not in aliases:
                    problem = f"'{key}' names '{name}', which does not exist; correct the id"
                    text = f"question '{question.id}': {problem}"
                    faults.append(Fault(question.file, question.line, text, question.id, missing=name))
        if exercises and question.exercise and question.exercise not in exercises:
            problem = f"there is no exercise '{question.exercise}'; correct the slug"
            text = f"question '{question.id}': {problem}"
            faults.append(Fault(question.file, question.line, text, question.id))
    return faults


def find_question(bank: Bank, question_id: str) -> Question:
    """Find a question by its id or alias. Raises `UnknownName`, which suggests similar ids."""
    question = bank.questions.get(bank.resolve(question_id))
    if question is None:
        if question_id in bank.retired:
            raise UnknownName(retirement(bank, question_id))
        hint = did_you_mean(question_id, bank.questions, "'quizapp questions' lists them")
        raise UnknownName(f"there is no question '{question_id}'; {hint}")
    return question


def retirement(bank: Bank, question_id: str) -> str:
    """Say that a question was withdrawn, and which one covers it now. The id must be in `Bank.retired`."""
    into = bank.retired[question_id]
    return f"The question '{question_id}' was withdrawn" + (f"; '{into}' covers it now." if into else ".")


def unknown_topic(topic: str, bank: Bank) -> QuizError:
    """The error for a topic that does not exist. Its message names the closest ones, or else all that do."""
    hint = did_you_mean(topic, bank.topics, f"the topics are {', '.join(bank.topics)}")
    return QuizError(f"there is no topic '{topic}'; {hint}")


def find_exercise(bank: Bank, slug: str) -> Exercise:
    """Find an exercise by its slug. Raises `UnknownName`, which suggests similar slugs.

    Of an exercise that was left out because of a fault, the error names the fault.
    """
    exercise = bank.exercises.get(slug)
    if exercise is None:
        for fault in bank.faults:
            if Path(fault.file).parent.name == slug:
                raise UnknownName(f"the exercise '{slug}' is left out: {fault}")
        hint = did_you_mean(slug, bank.exercises, "'quizapp exercise' lists them")
        raise UnknownName(f"there is no exercise '{slug}'; {hint}")
    return exercise
