"""Commands that exchange data: export, import and sync, and the user's own decks."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

from quizapp import paths
from quizapp.bank.model import Fault, Question
from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, FAULTS, QuizError
from quizapp.util.sanitize import escape_unprintable
from quizapp.util.text import plural

_MOST_NAMED, _MOST_FAULTS = 8, 3  # files and faults that are named when a deck is added
_PROMPT_WIDTH = 48


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


def import_file(options: Namespace) -> int:
    """Add the reviews of another log, or the notes and reviews of an Anki package."""
    suffix = options.path.suffix.lower()
    if suffix == ".colpkg":
        raise QuizError(
            f"{options.path}: a .colpkg file is a backup of a whole collection, which is not imported; "
            "in Anki, choose File, Export and an .apkg file"
        )
    return _import_package(options.path) if suffix == ".apkg" else _import_log(options)


def _import_package(path: Path) -> int:
    from quizapp.exchange.anki.package_import import import_package

    result = import_package(path)
    where = f", in {result.folder}" if result.new or result.changed else ""
    sys.stdout.write(
        f"{plural(result.cards, 'card')} in {path}: {result.new} new, {result.changed} changed{where}\n"
        f"new in the log: {plural(result.answers, 'answer')}, "
        f"{plural(result.states, 'card')} suspended, buried, flagged, or reset\n"
    )
    sys.stdout.writelines(f"{loss}\n" for loss in result.losses)
    return DONE


def _import_log(options: Namespace) -> int:
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
        _list_decks(decks)
        return DONE
    if options.path is None:
        raise QuizError(f"name the file or folder to {options.action}")
    path = str(options.path.expanduser().resolve())
    if options.action == "remove":
        if path not in decks:
            raise QuizError(f"{path} is not one of your decks; 'quizapp deck list' shows them")
        decks.remove(path)
        write_setting(paths.config(), "decks", decks)
        sys.stdout.write(f"removed {path}\n")
        return DONE
    _refuse_empty(Path(path))
    if path not in decks:
        decks.append(path)
    write_setting(paths.config(), "decks", decks)
    sys.stdout.write(f"added {path}\n")
    _say_what_was_added(Path(path))
    return DONE


def _refuse_empty(path: Path) -> None:
    from quizapp.bank.decks.find_decks import SUFFIXES, deck_files
    from quizapp.bank.decks.read_deck import read_deck
    from quizapp.bank.model import Topic

    if not path.exists():
        raise QuizError(
            f"{path} does not exist; name a file of cards (YAML, Markdown, CSV) or a folder of them"
        )
    good: dict[str, Question] = {}
    topics: dict[str, Topic] = {}
    files = deck_files(path) if path.is_dir() else [path]
    faults = [fault for file in files for fault in read_deck(file, good, topics)]
    if good:
        return
    if not path.is_dir() and path.suffix.lower() not in SUFFIXES:
        raise QuizError(
            f"{path} is not a deck; a deck is a YAML, Markdown or CSV file: {', '.join(SUFFIXES)}"
        )
    if not files:
        raise QuizError(f"{path} holds no file of cards; a deck has files such as {', '.join(SUFFIXES)}")
    raise QuizError(f"{path} has no valid question{': ' + str(faults[0]) if faults else ''}")


def _of_deck(path: Path) -> tuple[list[Question], list[Fault]]:
    """The cards of one of the user's decks in the bank, and the faults of those that were left out."""
    bank = load_user_bank()
    cards = [card for card in bank.questions.values() if Path(card.file).is_relative_to(path)]
    return cards, [fault for fault in bank.faults if Path(fault.file).is_relative_to(path)]


def _list_decks(decks: Sequence[str]) -> None:
    if not decks:
        sys.stdout.write("you have added no decks yet\n")
    for name in decks:
        path = Path(name).expanduser()
        cards, faults = _of_deck(path)
        counts = [plural(len(cards), "card"), *([plural(len(faults), "fault")] if faults else ())]
        sys.stdout.write(escape_unprintable(f"{name}  {', '.join(counts)}") + "\n")


def _say_what_was_added(path: Path) -> None:
    """Name the cards, where their ids are kept, and what to do next."""
    import shlex

    from quizapp.bank.decks.find_decks import beside

    cards, faults = _of_deck(path)
    by_file: dict[Path, list[Question]] = {}
    for card in cards:
        by_file.setdefault(Path(card.file), []).append(card)
    lines = []
    for file, own in [*by_file.items()][:_MOST_NAMED]:
        first = [shorten(" ".join(card.prompt.split()), _PROMPT_WIDTH, placeholder=" …") for card in own[:2]]
        more = f", and {len(own) - 2} more" if len(own) > 2 else ""
        lines.append(f"{plural(len(own), 'card')} from {file.name}: {' / '.join(first)}{more}")
    if len(by_file) > _MOST_NAMED:
        lines.append(f"{plural(len(cards), 'card')} from {len(by_file)} files")
    if kept := [file for file in by_file if beside(file).exists()]:
        lines.append(f"{beside(kept[0]).name} holds their ids: keep it beside {kept[0].name}.")
    topics = dict.fromkeys(card.topic for card in cards)
    if topics:
        # Without a topic, a drill would begin with the new cards of the bank.
        topic, *others = [shlex.quote(topic) for topic in topics]
        also = f" (or {', '.join(others[:_MOST_NAMED])})" if others else ""
        lines.append(f"Next: quizapp drill --topic {topic}{also}")
    sys.stdout.writelines(escape_unprintable(line) + "\n" for line in lines)
    for fault in faults[:_MOST_FAULTS]:
        sys.stderr.write(escape_unprintable(f"quizapp: left out: {fault}") + "\n")
    if faults:
        check = shlex.join(["quizapp", "check", str(path)])
        sys.stderr.write(
            f"quizapp: {plural(len(faults), 'fault')}; '{escape_unprintable(check)}' names them\n"
        )
