"""Keeps what is remembered of a deck: in a file beside the deck, and once more in the user's data folder.

The file beside the deck travels with it. The copy covers a folder that cannot be written, and a file that
was deleted, damaged, or replaced by an older one. Writing is atomic, and one process at a time reads and
writes; a process that is killed in between leaves one of the two behind, which the next one catches up.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from quizapp import paths
from quizapp.bank.decks.find_decks import IDS_SUFFIX, beside
from quizapp.bank.decks.id_document import IdDocument, decode, encode, merged
from quizapp.bank.model import Fault
from quizapp.errors import ContentError
from quizapp.util.atomic import write_atomic

_MAX_BYTES = 32 << 20
_LOCK_WAIT_S = 5.0
_LOCK_STEP_S = 0.01
_MOST_ORPHANS = 100


def _copy_of(deck: Path) -> Path:
    place = hashlib.sha256(str(deck.resolve()).encode(errors="replace")).hexdigest()
    return paths.deck_ids() / f"{place[:24]}{IDS_SUFFIX}"


@contextmanager
def turn() -> Iterator[bool]:
    """Read and write while no other process does. Yields False while another one does not let go.

    Where nothing can be locked, writing is still atomic.
    """
    try:
        import fcntl

        paths.deck_ids().mkdir(parents=True, exist_ok=True)
        file = (paths.deck_ids() / "lock").open("a")
    except (ImportError, OSError):
        yield True
        return
    with file:
        end = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:  # the other one is stopped or stuck on a slow disk
                    yield False
                    return
                time.sleep(_LOCK_STEP_S)
        yield True


def read_ids(deck: Path, prompts: Sequence[str]) -> tuple[IdDocument, list[Fault]]:
    """What is remembered of a deck that holds ``prompts``, and the fault of a damaged file beside it.

    A deck without a memory of its own gets that of a deck in its folder which is gone and had most of its
    prompts: it was renamed or split.
    """
    copy = _read(_copy_of(deck))
    faults = []
    try:
        kept = _read_strictly(beside(deck))
    except ContentError as error:
        kept = None
        remedy = "restore it, or delete it to have it written anew"
        faults = [Fault(str(deck), 1, f"its file of ids, {beside(deck).name}, is damaged: {error}; {remedy}")]
    if kept is not None and copy is not None:
        return merged(kept, copy), faults
    return kept or copy or _of_a_renamed_deck(deck, prompts) or IdDocument(), faults


def keep_ids(deck: Path, document: IdDocument, *, in_the_folder: bool) -> list[Fault]:
    """Remember the ids of a deck, with ``in_the_folder`` in a file beside it too.

    A damaged file beside it stays as it is. Returns a fault if nothing could be written.
    """
    text = encode(document, deck.name)
    written = [_write(_copy_of(deck), text)]
    if in_the_folder:
        written.append(_write(beside(deck), text))
    if any(written):
        return []
    remedy = f"make {deck.parent} writable, or give each card an id"
    return [Fault(str(deck), 1, f"the ids of its cards cannot be kept; {remedy}")]


def _write(path: Path, text: str) -> bool:
    try:
        if path.exists() and (path.read_bytes() == text.encode() or _is_damaged(path)):
            return True
        write_atomic(path, text, durable=True)
    except OSError:
        return False
    return True


def _is_damaged(path: Path) -> bool:
    try:
        return _read_strictly(path) is None
    except ContentError:
        return path.parent != paths.deck_ids()  # our own copy is simply written anew


def _read(path: Path) -> IdDocument | None:
    with suppress(ContentError):
        return _read_strictly(path)
    return None


def _read_strictly(path: Path) -> IdDocument | None:
    """The document at ``path``; None if there is none. Raises `ContentError` if it is damaged."""
    try:
        if not path.is_file():
            return None
        if path.stat().st_size > _MAX_BYTES:
            raise ContentError("it is too large")
        return decode(path.read_bytes())
    except OSError as error:
        raise ContentError(f"it cannot be read ({error.strerror})") from None


def _of_a_renamed_deck(deck: Path, prompts: Sequence[str]) -> IdDocument | None:
    wanted = set(prompts)
    with suppress(OSError):
        for path in sorted(islice(deck.parent.glob(f"*{IDS_SUFFIX}"), _MOST_ORPHANS)):
            if path.with_name(path.name.removesuffix(IDS_SUFFIX)).exists():
                continue
            document = _read(path)
            if document and 2 * len(wanted & {card.prompt for card in document.cards}) >= len(wanted) > 0:
                return document
    return None
