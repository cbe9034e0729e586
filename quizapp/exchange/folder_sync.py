"""Two devices, one folder: each writes a file of its own there and reads those of the others.

A file holds what no other file there holds, one JSON object a line: events of the log, submissions and
finished interviews. Merging is the union by id, so that order and repetition do not matter.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quizapp.errors import QuizError
from quizapp.exchange.log_import import LogLineError, read_document, read_event, read_object
from quizapp.scheduling.events import Event, compact
from quizapp.store.documents import MockDocument, Submission
from quizapp.util.atomic import write_atomic

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

SUFFIX = ".quizlog"


class SyncResult(NamedTuple):
    """What a merge brought: new events, submissions and interviews; files left out or cut, in sentences.

    ``made``: the folder did not exist.
    """

    events: int
    documents: int
    others: int
    complaints: tuple[str, ...]
    made: bool = False


class LogContent(NamedTuple):
    """The content of one or more files."""

    events: list[Event]
    documents: list[Submission | MockDocument]


def read_file(path: Path, complaints: list[str]) -> LogContent:
    """Read a file of `sync` or of ``quizapp export json``; a line still on its way is left and complained of.

    Raises `QuizError` that names the line where one is wrong, and where the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise QuizError(f"{path} cannot be read: {error.strerror}; name a log") from None
    except UnicodeDecodeError:
        raise QuizError(f"{path} is no log: it is not UTF-8; 'quizapp export json PATH' writes one") from None
    lines = text.split("\n")
    if lines.pop():
        complaints.append(f"{path} ends within a line, which is left out; it has not arrived in full")
    found = LogContent([], [])
    for number, line in enumerate(lines, 1):
        try:
            row = read_object(line)
            if len(row) == 1:
                found.documents.append(read_document(row))
            else:
                found.events.append(read_event(row))
        except LogLineError as bad:
            where = f"{path}:{number}: the line {bad}"
            raise QuizError(f"{where}; nothing of this file was taken, write it anew at its origin") from None
    return found


def take(study: "Study", found: LogContent) -> tuple[int, int]:
    """Merge into the log and replay, in one transaction; how many events and documents were new."""
    return study.merge(found.events, found.documents)


def sync(study: "Study", folder: Path) -> SyncResult:
    """Merge what the others left in ``folder`` and leave there what they lack. Raises `QuizError`."""
    own = folder / f"{study.device}{SUFFIX}"
    complaints: list[str] = []
    theirs = LogContent([], [])
    others = 0
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        paths = sorted(path for path in folder.glob(f"*{SUFFIX}") if path.name != own.name)
    except OSError as error:
        raise QuizError(f"{folder} cannot be used: {error.strerror}; name a folder that exists") from None
    for path in paths:
        try:
            found = read_file(path, complaints)
        except QuizError as error:
            complaints.append(str(error))
            continue
        others += 1
        theirs.events.extend(found.events)
        theirs.documents.extend(found.documents)
    events, documents = take(study, theirs)
    _write(own, _lines(study, theirs))
    return SyncResult(events, documents, others, tuple(complaints), made)


def _lines(study: "Study", theirs: LogContent) -> Iterator[str]:
    there = {event.id for event in theirs.events}
    for event in study.events():
        if event.id not in there:
            yield json.dumps(event._asdict()) + "\n"
    known = {_key(document) for document in theirs.documents}
    for document in study.documents():
        if _key(document) not in known:
            yield compact({_kind(document): document._asdict()}) + "\n"


def _kind(document: Submission | MockDocument) -> str:
    return "mock" if isinstance(document, MockDocument) else "submission"


def _key(document: Submission | MockDocument) -> tuple[Any, ...]:
    if isinstance(document, MockDocument):
        return (document.id,)
    return document.slug, document.time, document.source


def _write(path: Path, lines: Iterable[str]) -> None:
    """Replace the file in one step: what another device reads is whole or is the old one."""
    try:
        write_atomic(path, lines, durable=True)
    except OSError as error:
        raise QuizError(
            f"{path} cannot be written: {error.strerror}; free space or name another folder"
        ) from None
