"""Loads the bank: shipped and added questions, exercises and paths, with a compiled cache."""

import hashlib
import marshal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from quizapp import __version__, paths
from quizapp.bank.model import Bank, Exercise, Fault, Question, Topic
from quizapp.errors import UnknownName
from quizapp.util.suggest import did_you_mean

Progress = Callable[[int, int], None]


def load_bank(extra: Sequence[Path] = (), progress: Progress | None = None, *, cache: bool = True) -> Bank:
    """The shipped bank and the decks in ``extra`` (files or folders).

    ``progress`` hears how many files of how many are read, where the compiled cache does not serve.
    Faulty questions are left out and named in ``Bank.faults``; nothing raises because of bad content.
    """
    sources = [paths.content() / "questions", *extra]
    program = Path(__file__).parent.glob("*.py")  # one that changes without its version, as in a checkout
    key = fingerprint([*sources, paths.content() / "paths.yaml", paths.exercises(), *sorted(program)])
    if cache:
        from quizapp.bank.compiled_cache import read_cache

        known = read_cache(paths.cache() / "bank.pickle", key)
        if known is not None:
            return known
    bank = parse_bank(sources, paths.content() / "paths.yaml", paths.exercises(), progress)
    if cache:
        from quizapp.bank.compiled_cache import write_cache

        write_cache(paths.cache() / "bank.pickle", key, bank)
    return bank


def fingerprint(sources: Iterable[Path]) -> str:
    """A key that changes with any content file's name, size or time of change, and with the program."""
    seen: list[tuple[str, int, int]] = []
    for source in sources:
        files = sorted(_content_files(source)) if source.is_dir() else [source]
        for path in files:
            try:
                stat = path.stat()
            except OSError:
                continue
            seen.append((str(path), stat.st_size, stat.st_mtime_ns))
    return hashlib.sha256(marshal.dumps((__version__, seen))).hexdigest()


def _content_files(folder: Path) -> Iterable[Path]:
    """The YAML files that a bank is made of: of an exercise folder, its description only."""
    if (folder / "lora" / "exercise.yaml").is_file():
        return folder.glob("*/exercise.yaml")
    return (path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml"))


def parse_bank(
    sources: Sequence[Path], paths_file: Path, exercises_folder: Path, progress: Progress | None = None
) -> Bank:
    """The bank read from its YAML files."""
    from quizapp.bank.parse_exercise import load_exercises
    from quizapp.bank.yaml_loader import read_yaml, yaml_files

    exercises, faults = load_exercises(exercises_folder)
    questions: dict[str, Question] = {}
    topics: dict[str, Topic] = {}
    files: list[Path] = []
    for source in sources:
        if source.is_dir():
            files += yaml_files(source)
        elif source.exists():
            files.append(source)
        else:
            faults.append(Fault(str(source), 1, "does not exist; remove the deck or mend its path"))
    for number, path in enumerate(files):
        if progress is not None:
            progress(number, len(files))
        faults += read_file(path, questions, topics)
    order, tracks, found = (
        _read_paths(paths_file, read_yaml(paths_file)) if paths_file.is_file() else ([], {}, [])
    )
    faults += found
    faults += _link_faults(questions, exercises)
    topics = {slug: topics[slug] for slug in [*order, *topics] if slug in topics}
    rank = {slug: place for place, slug in enumerate(topics)}
    ordered = dict(sorted(questions.items(), key=lambda item: rank.get(item[1].topic, len(rank))))
    ordered = {name: _with_inherited(question, ordered) for name, question in ordered.items()}
    aliases = {alias: q.id for q in ordered.values() for alias in q.aliases if alias not in ordered}
    return Bank(ordered, topics, exercises, aliases, tracks, tuple(faults))


def read_file(path: Path, questions: dict[str, Question], topics: dict[str, Topic]) -> list[Fault]:
    """Add the good questions of one YAML file; returns the faults of the others."""
    from quizapp.bank.parse_question import read_question
    from quizapp.bank.yaml_loader import LINE, read_yaml

    data, fault = read_yaml(path)
    if fault is not None:
        return [fault]
    file = str(path)
    if not isinstance(data, dict) or not isinstance(data.get("questions"), list):
        return [Fault(file, 1, "must hold 'topic: ...' and a list under 'questions:'")]
    faults = [
        Fault(file, 1, f"unknown key '{key}'; a file has topic, name, about, questions")
        for key in data
        if key not in ("topic", "name", "about", "questions", LINE)
    ]
    topic = str(data.get("topic") or "")
    if not topic:
        faults.append(Fault(file, 1, "lacks 'topic'; name it at the top of the file"))
        topic = path.stem
    topics.setdefault(topic, Topic(topic, str(data.get("name") or topic), str(data.get("about") or "")))
    for item in data["questions"]:
        question, found = read_question(item, topic, file)
        faults += found
        if question is not None and question.id in questions:
            first = questions[question.id]
            where = f"{first.file}:{first.line}"
            faults.append(
                Fault(file, question.line, f"the id '{question.id}' is taken by {where}; rename one")
            )
        elif question is not None:
            questions[question.id] = question
    return faults


def _with_inherited(question: Question, questions: dict[str, Question]) -> Question:
    """A card inherits its parent's tracks and prerequisites."""
    parent = questions.get(question.parent)
    if parent is None or (question.tracks and question.requires):
        return question
    return replace(
        question,
        tracks=question.tracks or parent.tracks,
        requires=question.requires or parent.requires,
    )


def _read_paths(
    path: Path, read: tuple[object, Fault | None]
) -> tuple[list[str], dict[str, tuple[str, ...]], list[Fault]]:
    data, fault = read
    if fault is not None or not isinstance(data, dict):
        return [], {}, [fault] if fault else [Fault(str(path), 1, "must be a mapping")]
    tracks = {"core": tuple(data.get("core") or ())}
    for name, ids in (data.get("tracks") or {}).items():
        if isinstance(ids, list):
            tracks[str(name)] = tuple(ids)
    return list(data.get("topics") or []), tracks, []


def _link_faults(questions: dict[str, Question], exercises: dict[str, Exercise]) -> list[Fault]:
    """Links to ids and exercises that do not exist; the question stays."""
    aliases = {alias for question in questions.values() for alias in question.aliases}
    faults = []
    for question in questions.values():
        for key in ("requires", "siblings", "parent"):
            value = getattr(question, key)
            for name in (value,) if isinstance(value, str) else value:
                if name and name not in questions and name not in aliases:
                    text = (
                        f"question '{question.id}': '{key}' names '{name}', which does not exist; mend the id"
                    )
                    faults.append(Fault(question.file, question.line, text, question.id, missing=name))
        if exercises and question.exercise not in exercises:
            text = f"question '{question.id}': there is no exercise '{question.exercise}'; mend the slug"
            faults.append(Fault(question.file, question.line, text, question.id))
    return faults


def find_question(bank: Bank, question_id: str) -> Question:
    """The question of that id or alias; raises `UnknownName` with close ids."""
    known = bank.questions.get(bank.resolve(question_id))
    if known is not None:
        return known
    raise UnknownName(_unknown("question", question_id, bank.questions, "quizapp questions"))


def find_exercise(bank: Bank, slug: str) -> Exercise:
    """The exercise of that slug; raises `UnknownName` with close slugs."""
    known = bank.exercises.get(slug)
    if known is not None:
        return known
    raise UnknownName(_unknown("exercise", slug, bank.exercises, "quizapp exercise"))


def _unknown(what: str, name: str, known: Iterable[str], command: str) -> str:
    hint = did_you_mean(name, known, f"'{command}' lists them")
    return f"there is no {what} '{name}'; {hint}"
