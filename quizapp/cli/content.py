"""Commands on the question bank: list it, show a question, check content."""

import json
import os
import sys
from argparse import Namespace
from pathlib import Path

from quizapp import paths
from quizapp.bank.loader import find_question, load_bank, retirement, unknown_topic
from quizapp.bank.model import Bank, Fault
from quizapp.errors import DONE, FAULTS, QuizError
from quizapp.util.sanitize import escape_controls, escape_unprintable
from quizapp.util.text import plural


def load_user_bank() -> Bank:
    """Load the shipped bank together with the user's own decks."""
    from quizapp.settings.model import load_settings

    return load_bank([Path(deck).expanduser() for deck in load_settings(paths.config()).decks])


def questions(options: Namespace) -> int:
    """List the bank: id, topic, level, kind, exercise."""
    from quizapp.bank.search import search

    bank = load_user_bank()
    if options.topic and options.topic not in bank.topics:
        raise unknown_topic(options.topic, bank)
    matches = [
        question
        for question in search(bank, options.search or "")
        if options.topic in (None, question.topic)
        and options.level in (None, question.level)
        and options.kind in (None, question.kind)
    ]
    rows = [(q.id, q.topic, q.level, q.kind, q.exercise) for q in matches]
    if options.json:
        keys = ("id", "topic", "level", "kind", "exercise")
        listed = [dict(zip(keys, (*row[:-1], row[-1] or None), strict=True)) for row in rows]
        sys.stdout.write(json.dumps(listed, indent=1) + "\n")
        return DONE
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(5)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(escape_unprintable(line.rstrip()) + "\n")
    if not rows:
        sys.stderr.write("quizapp: no question matches\n")
    if bank.faults:
        count = plural(len(bank.faults), "fault")
        sys.stderr.write(f"quizapp: {count} in the content; 'quizapp check' names them\n")
    return DONE


def show(options: Namespace) -> int:
    """Print one question with its answer."""
    from quizapp.bank.render import question_text

    bank = load_user_bank()
    if options.id in bank.retired:
        sys.stdout.write(retirement(bank, options.id) + "\n")
        return DONE
    text = question_text(find_question(bank, options.id), options.seed)
    sys.stdout.write(escape_controls(text) + "\n")
    return DONE


def check(options: Namespace) -> int:
    """Validate content and exercises; print every fault with file, line and what to do."""
    from quizapp.bank.validate import check_content
    from quizapp.interview.code_review.candidates import pair_faults
    from quizapp.judge.authoring.mutants import wrong_submission_faults

    named = options.paths
    for path in named:
        if not path.exists():
            raise QuizError(f"{path} does not exist; name a deck, a content folder or an exercise folder")
    folders = [folder for path in named for folder in _exercise_folders(path)]
    if folders:
        from quizapp.judge.authoring.exercise_check import CheckPlan, check_folders

        code = check_folders(
            folders, CheckPlan(options.seeds, sample=options.sample, jobs=os.cpu_count() or 1)
        )
        if all(_exercise_folders(path) for path in named):  # no other content was named
            return code
    content = _content_folder(named)
    cases = [] if content else [path for path in named if _incidents_of(path) or _material_of(path)]
    if cases and len(cases) == len(named):
        return _check_rehearsal(cases)
    whole = content is not None
    others = [p for p in named if not _exercise_folders(p) and p not in cases]
    sources = [content / "questions"] if content else others
    order = content / "paths.yaml" if content else Path("/nonexistent")
    bank, faults = check_content(sources, paths.exercises(), order, whole=whole)
    for exercise in bank.exercises.values() if whole else ():
        faults += [*wrong_submission_faults(exercise), *pair_faults(exercise)]
    if not whole:
        faults = [fault for fault in faults if _within(fault.file, sources)]
        if len(sources) < 2:  # a single file may link to questions that were not loaded
            faults = [fault for fault in faults if not fault.missing]
        faults += _taken_ids(bank)
    elif not named:
        faults += load_user_bank().faults
    faults = [*dict.fromkeys(faults), *_rehearsal_faults([content] if content else cases, bank)]
    _print_faults(faults)
    good = f"{plural(len(bank.questions), 'question')} and {plural(len(bank.exercises), 'exercise')}"
    sys.stdout.write(f"{good}: {plural(len(faults), 'fault')}\n" if faults else f"{good}: no faults\n")
    return FAULTS if faults else DONE


def _taken_ids(bank: Bank) -> list[Fault]:
    """The faults of cards whose ids the bank or another of the user's decks has already."""
    from quizapp.bank.decks.read_deck import of_the_bank

    faults = []
    others = load_user_bank().questions
    for card in bank.questions.values():
        other, path = others.get(card.id), Path(card.file)
        if other and not of_the_bank(path) and Path(other.file).resolve() != path.resolve():
            text = f"the id '{card.id}' is taken by {other.file}:{other.line}; rename one"
            faults.append(Fault(card.file, card.line, text, card.id))
    return faults


def _print_faults(faults: list[Fault]) -> None:
    # A fault quotes the file, which may contain control sequences for the terminal.
    sys.stdout.writelines(f"{escape_unprintable(str(fault))}\n" for fault in faults)


def _content_folder(named: list[Path]) -> Path | None:
    """The folder to check as a whole; None if single files are named."""
    if not named:
        return paths.content()
    only = named[0] if len(named) == 1 else None
    return only if only and (only / "paths.yaml").is_file() else None


def _incidents_of(path: Path) -> Path | None:
    """The incident folder that ``path`` is, contains or is a file of; None if there is none."""
    # A baseline is a folder of its own among the incidents.
    folders = (path, path.parent, path / "incidents", path.parent.parent)
    return next((folder for folder in folders if (folder / "causes.yaml").is_file()), None)


def _material_of(path: Path) -> Path | None:
    """The folder of what only interviews ask that ``path`` is, contains or is a file of."""
    folders = (path, path.parent, path / "interviews" / "rounds", path / "rounds")
    names = ("design.yaml", "napkin.yaml", "project.yaml")
    return next((folder for folder in folders if any((folder / name).is_file() for name in names)), None)


def _rehearsal_faults(named: list[Path], bank: Bank) -> list[Fault]:
    """The faults of incidents and of the material of interviews."""
    from quizapp.incidents.validate import check_incidents
    from quizapp.interview.rounds.check_material import check_material

    incidents = dict.fromkeys(folder for path in named if (folder := _incidents_of(path)))
    materials = dict.fromkeys(folder for path in named if (folder := _material_of(path)))
    faults = [fault for folder in incidents for fault in check_incidents(folder, bank)]
    faults += [fault for folder in materials for fault in check_material(folder, bank)]
    return [fault for fault in faults if _within(fault.file, named)]


def _check_rehearsal(named: list[Path]) -> int:
    faults = _rehearsal_faults(named, load_bank())
    _print_faults(faults)
    sys.stdout.write(f"{plural(len(faults), 'fault')}\n" if faults else "no faults\n")
    return FAULTS if faults else DONE


def _exercise_folders(path: Path) -> list[Path]:
    if (path / "exercise.yaml").is_file():
        return [path]
    return sorted(p.parent for p in path.glob("*/exercise.yaml")) if path.is_dir() else []


def _within(file: str, sources: list[Path]) -> bool:
    return any(Path(file).resolve().is_relative_to(source.resolve()) for source in sources)
