"""Commands that exchange data: export, import and sync, and the user's own decks."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from quizapp import paths
from quizapp.bank.model import Question
from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, FAULTS, QuizError
from quizapp.util.text import plural


def export(options: Namespace) -> int:
    """Write the bank as a book or as notes for Anki, or the review log as JSON or CSV."""
    if options.format == "anki" and options.path.suffix.lower() in {".apkg", ".colpkg"}:
        return _export_package(options.path)
    if options.format in {"markdown", "anki"}:
        from quizapp.exchange.anki.text_notes import write_text_notes
        from quizapp.exchange.book import write_book

        write = write_book if options.format == "markdown" else write_text_notes
        count = write(load_user_bank(), options.path)
        sys.stdout.write(f"{plural(count, 'question')} written to {options.path}\n")
        return DONE
    from quizapp.exchange.log_export import write_log
    from quizapp.scheduling.service import Study

    with Study.open(load_user_bank()) as study:
        count = write_log(study, options.path, options.format)
    sys.stdout.write(f"{plural(count, 'event')} written to {options.path}\n")
    return DONE


def _export_package(path: Path) -> int:
    from quizapp.exchange.anki.package_export import write_package
    from quizapp.scheduling.service import Study

    if path.suffix.lower() != ".apkg":
        raise QuizError(
            f"{path}: a .colpkg file would replace a whole collection of Anki; name an .apkg file such as "
            f"{path.with_suffix('.apkg').name}"
        )
    with Study.open(load_user_bank()) as study:
        written = write_package(study, path)
    notes, reviews = plural(written.notes, "note"), plural(written.reviews, "review")
    sys.stdout.write(f"{notes} and {reviews} written to {path}\n")
    return DONE


def import_log(options: Namespace) -> int:
    """Add the reviews of another log."""
    from quizapp.exchange.folder_sync import read_file
    from quizapp.scheduling.service import Study

    complaints: list[str] = []
    imported = read_file(options.path, complaints)
    with Study.open(load_user_bank()) as study:
        events, documents = study.merge(imported.events, imported.documents)
    return _report(f"{_new(events, documents)} imported from {options.path}", complaints)


def sync(options: Namespace) -> int:
    """Share the log with other devices through a folder."""
    from quizapp.exchange.folder_sync import sync as share
    from quizapp.scheduling.service import Study

    with Study.open(load_user_bank()) as study:
        done = share(study, options.folder)
    if done.created:
        sys.stderr.write(
            f"quizapp: {options.folder} did not exist and was created; is it the shared folder?\n"
        )
    others = plural(done.others, "other device")
    return _report(f"{_new(done.events, done.documents)} from {others} in {options.folder}", done.complaints)


def _new(events: int, documents: int) -> str:
    both = plural(documents, "submission or interview", "submissions and interviews")
    return f"new: {plural(events, 'event')} of the log, {both},"


def _report(text: str, complaints: Sequence[str]) -> int:
    sys.stdout.write(text + "\n")
    for complaint in complaints:
        sys.stderr.write(f"quizapp: {complaint}\n")
    return FAULTS if complaints else DONE


def deck(options: Namespace) -> int:
    """Add, remove or list the user's own decks."""
    from quizapp.settings.file import write_setting
    from quizapp.settings.model import load_settings

    decks = list(load_settings(paths.config()).decks)
    if options.action == "list":
        sys.stdout.write("".join(f"{deck}\n" for deck in decks) or "you have added no decks yet\n")
        return DONE
    if options.path is None:
        raise QuizError(f"name the file or folder to {options.action}")
    path = str(options.path.expanduser().resolve())
    if options.action == "remove":
        if path not in decks:
            raise QuizError(f"{path} is not one of your decks; 'quizapp deck list' shows them")
        decks.remove(path)
    else:
        _refuse_empty(Path(path))
        if path not in decks:
            decks.append(path)
    write_setting(paths.config(), "decks", decks)
    sys.stdout.write(f"{'removed' if options.action == 'remove' else 'added'} {path}\n")
    return DONE


def _refuse_empty(path: Path) -> None:
    from quizapp.bank.decks.read_deck import read_deck
    from quizapp.bank.loader import yaml_files
    from quizapp.bank.model import Topic

    if not path.exists():
        raise QuizError(f"{path} does not exist; name a YAML file or a folder of them")
    good: dict[str, Question] = {}
    topics: dict[str, Topic] = {}
    faults = [
        f for file in (yaml_files(path) if path.is_dir() else [path]) for f in read_deck(file, good, topics)
    ]
    if not good:
        raise QuizError(f"{path} has no valid question{': ' + str(faults[0]) if faults else ''}")
    if faults:
        sys.stderr.write(f"quizapp: {plural(len(faults), 'fault')}; 'quizapp check {path}' names them\n")
