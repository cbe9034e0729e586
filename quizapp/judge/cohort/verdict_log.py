"""Keeps the verdicts on a class in a file that only grows, so that a run can be continued after any end."""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from quizapp.errors import QuizError
from quizapp.judge.verdict import Verdict

FILE = "verdicts.jsonl"
_LOCK = ".lock"


@dataclass(frozen=True)
class GradeKey:
    """Everything that a verdict depends on. A submission whose key has a verdict is not graded again.

    ``source`` is a hash. ``exercise_version`` and ``judge_version`` are those of `grading_version`. The
    seed follows from the first three.
    """

    student: str
    exercise: str
    source: str
    exercise_version: str
    judge_version: str
    device: str = "cpu"
    timeout: float | None = None
    tier: str | None = None


class VerdictLog:
    """The verdicts in a folder, which no other program may write to meanwhile.

    Use it as a context manager. Raises `QuizError` if the folder is in use, cannot be written, or holds
    something that is not a verdict.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._path = folder / FILE
        self._verdicts: dict[GradeKey, Verdict] = {}
        self._lock: IO[bytes] | None = None
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self._folder / _LOCK).open("ab")
            self._take_lock(self._lock)
            self._file = self._path.open("a+b")
            self._read(self._file)
        except OSError as error:
            self.close()
            raise QuizError(
                f"{self._folder} cannot be written ({error.strerror}); name another folder with --out"
            ) from None
        except QuizError:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let other programs use the folder. May be called twice."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()

    def get(self, key: GradeKey) -> Verdict | None:
        """The verdict that was kept under ``key``, if there is one."""
        return self._verdicts.get(key)

    def add(self, key: GradeKey, verdict: Verdict, *, worker: str = "") -> None:
        """Keep a verdict; it is on the disk when this returns. A second one under the same key is dropped.

        ``worker`` tells a reader of the file where the submission was graded. Raises ``OSError``.
        """
        if key in self._verdicts or self._file is None:
            return
        line = json.dumps({"key": asdict(key), "worker": worker, "verdict": verdict.as_json()})
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._verdicts[key] = verdict

    def _take_lock(self, lock: IO[bytes]) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise QuizError(
                f"another 'quizapp cohort' is writing to {self._folder}; wait until it ends, "
                "or name another folder with --out"
            ) from None

    def _read(self, file: IO[bytes]) -> None:
        file.seek(0)
        whole = 0
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                file.truncate(whole)  # a program that was killed left half of its last line
                return
            whole += len(line)
            try:
                record: dict[str, Any] = json.loads(line)
                self._verdicts[GradeKey(**record["key"])] = Verdict.from_json(record["verdict"])
            except (KeyError, TypeError, ValueError):
                raise QuizError(
                    f"{self._path}:{number}: is not a verdict; remove the line, "
                    "or name another folder with --out"
                ) from None
