"""Folders beside the user's own file, such as ``stages/``: a module to edit, and a document about the run."""

from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.submission import create_module, user_path
from quizapp.util.atomic import write_atomic

Document = TypeVar("Document", bound=msgspec.Struct)

_DOCUMENT = "run.json"


class PracticeMode(StrEnum):
    """What an exercise is practiced as, beside writing the user's own file; the value names the folder."""

    STAGES = "stages"
    FAULTS = "debug"


class PracticeFolder:
    """The folder of one mode of one exercise. The user's own file is never touched.

    Every change is one step on disk. A kill between two steps leaves a folder without a run, or a run whose
    module is created again from its first text.
    """

    def __init__(self, exercise: Exercise, mode: PracticeMode) -> None:
        folder = user_path(exercise).parent / mode
        self.path = folder / exercise.module
        """The module that the user edits."""
        self.former = folder / f"{self.path.stem}_previous.py"
        """The module of the run before this one, if there was one."""
        self.document = folder / _DOCUMENT

    def read(self, kind: type[Document], remedy: str) -> Document | None:
        """The stored document; None without one. Raises `QuizError`, which ends with ``remedy``."""
        try:
            return msgspec.json.decode(self.document.read_bytes(), type=kind)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            return None
        except OSError as error:
            raise QuizError(f"{self.document} cannot be read: {error.strerror}; {remedy}.") from None
        except msgspec.DecodeError:
            raise QuizError(f"{self.document} is not the record of a run; {remedy}.") from None

    def write(self, document: msgspec.Struct) -> None:
        """Store the document; it is on disk when this returns. Raises `QuizError`."""
        text = msgspec.json.format(msgspec.json.encode(document), indent=1)
        try:
            write_atomic(self.document, text + b"\n", durable=True)
        except OSError as error:
            raise _unwritable(self.document, error) from None

    def begin(self, text: str, document: msgspec.Struct) -> None:
        """Start a run whose module is ``text``; a module with another text is kept as ``former``."""
        try:
            self.document.unlink(missing_ok=True)  # first, so that no run ever has the module of another one
            if self.path.exists() and self.path.read_bytes() != text.encode():
                self.path.replace(self.former)
            create_module(self.path, text)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        self.write(document)

    def ensure_module(self, text: str) -> None:
        """Create the module again if it was deleted. Raises `QuizError`."""
        try:
            if not self.path.exists():
                create_module(self.path, text)
        except OSError as error:
            raise _unwritable(self.path, error) from None


def _unwritable(path: Path, error: OSError) -> QuizError:
    return QuizError(f"{path} cannot be written: {error.strerror}; make room for it or set QUIZAPP_HOME.")
