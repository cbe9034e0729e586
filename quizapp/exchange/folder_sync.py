"""Synchronizes devices through a shared folder: each writes its own file and reads those of the others.

A file has one JSON object per line: an event of the log, a submission or a finished interview. It leaves out
everything that another file already has. Merging is the union by id, so order and repetition do not matter.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quizapp.errors import QuizError
from quizapp.exchange.log_import import (
    Document,
    DocumentKind,
    LogLineError,
    read_document,
    read_event,
    read_object,
)
from quizapp.scheduling.events import Event, compact
from quizapp.store.documents import MockDocument
from quizapp.util.atomic import write_atomic

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

SUFFIX = ".quizlog"


class SyncResult(NamedTuple):
    """The result of a merge.

    ``events`` and ``documents`` count what was new, ``others`` the files that were read. ``complaints`` are
    sentences about files that were skipped or cut short. ``created`` says that the folder is new.
    """

    events: int
    documents: int
    others: int
    complaints: tuple[str, ...]
    created: bool = False


class LogContent(NamedTuple):
    """The events and documents of one or more files."""

    events: list[Event]
    documents: list[Document]


def read_file(path: Path, complaints: list[str]) -> LogContent:
    """Read a file written by `sync` or by ``quizapp export json``.

    A last line without a line break is still being copied by the sync service: it is left out, and a
    sentence is added to ``complaints``. Raises `QuizError` if the file cannot be read, or with the number of
    the line if one is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise QuizError(f"{path} cannot be read: {error.strerror}; name a log") from None
    except UnicodeDecodeError:
        raise QuizError(
            f"{path} is not a log: it is not UTF-8; 'quizapp export json PATH' writes one"
        ) from None
    lines = text.split("\n")
    if lines.pop():
        complaints.append(f"{path} ends within a line, which is left out; it has not arrived in full")
    content = LogContent([], [])
    for number, line in enumerate(lines, 1):
        try:
            row = read_object(line)
            # A document is wrapped in an object with its kind as the only key; an event has many keys.
            if len(row) == 1:
                content.documents.append(read_document(row))
            else:
                content.events.append(read_event(row))
        except LogLineError as error:
            raise QuizError(
                f"{path}:{number}: the line {error}; nothing of this file was merged, write it again"
            ) from None
    return content


def sync(study: "Study", folder: Path) -> SyncResult:
    """Merge the other devices' files in ``folder``, then write what they lack to this device's file.

    A file that cannot be read is skipped with a complaint. Raises `QuizError` if the folder or this device's
    file cannot be used.
    """
    file = folder / f"{study.device}{SUFFIX}"
    complaints: list[str] = []
    theirs = LogContent([], [])
    others = 0
    created = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        paths = sorted(path for path in folder.glob(f"*{SUFFIX}") if path.name != file.name)
    except OSError as error:
        if folder.is_file():
            raise QuizError(f"{folder} is a file; name the folder that your devices share") from None
        raise QuizError(f"{folder} cannot be used: {error.strerror}; name a folder that exists") from None
    for path in paths:
        try:
            content = read_file(path, complaints)
        except QuizError as error:
            complaints.append(str(error))
            continue
        others += 1
        theirs.events.extend(content.events)
        theirs.documents.extend(content.documents)
    events, documents = study.merge(theirs.events, theirs.documents)
    try:
        # The sync service may copy the file at any moment, so it must never be half written.
        write_atomic(file, _lines(study, theirs), durable=True)
    except OSError as error:
        raise QuizError(
            f"{file} cannot be written: {error.strerror}; free space or name another folder"
        ) from None
    return SyncResult(events, documents, others, tuple(complaints), created)


def _lines(study: "Study", theirs: LogContent) -> Iterator[str]:
    ids = {event.id for event in theirs.events}
    for event in study.events():
        if event.id not in ids:
            yield json.dumps(event._asdict()) + "\n"
    keys = {_key(document) for document in theirs.documents}
    for document in study.documents():
        if _key(document) not in keys:
            yield compact({_kind(document): document._asdict()}) + "\n"


def _kind(document: Document) -> DocumentKind:
    return DocumentKind.MOCK if isinstance(document, MockDocument) else DocumentKind.SUBMISSION


def _key(document: Document) -> tuple[object, ...]:
    """Return the identity of a document across devices. The id of a submission is only a local number."""
    if isinstance(document, MockDocument):
        return (document.id,)
    return document.slug, document.time, document.source
