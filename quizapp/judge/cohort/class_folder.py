"""Reads the submissions of a class: ``DIR/student/slug.py``, or the name of the exercise's module."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.submission import read_source
from quizapp.util.sanitize import escape_unprintable
from quizapp.util.suggest import did_you_mean


@dataclass(frozen=True)
class StudentSubmission:
    """What one student handed in for one exercise.

    ``file`` is relative to the class's folder. ``student`` and ``file`` are safe to print, on one line.
    ``fault`` says why the file cannot be graded; ``source`` is empty then.
    """

    student: str
    exercise: Exercise
    file: str
    source: bytes = b""
    fault: str = ""

    @cached_property
    def source_hash(self) -> str:
        """The SHA-256 of the source, in hexadecimal digits."""
        return hashlib.sha256(self.source).hexdigest()

    @cached_property
    def seed(self) -> int:
        """The seed of the grade. It depends on student, exercise and source alone, so reruns agree."""
        parts = (self.student, self.exercise.slug, self.source_hash)
        digest = hashlib.sha256("\0".join(parts).encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1  # the judge's seeds are signed 64-bit integers


@dataclass(frozen=True)
class LeftOutFile:
    """A file or folder that is not a submission, with the reason, both safe to print on one line."""

    file: str
    reason: str


@dataclass(frozen=True)
class ClassFolder:
    """Everything that a class handed in. Each entry of the folder is in one of the two lists, in order."""

    students: tuple[str, ...]
    submissions: tuple[StudentSubmission, ...]
    left_out: tuple[LeftOutFile, ...]


def read_class(
    folder: Path, exercises: Mapping[str, Exercise], wanted: frozenset[str] = frozenset()
) -> ClassFolder:
    """Read the submissions below ``folder``, those of the exercises ``wanted`` (default: of all).

    ``exercises`` are all exercises, by slug. Raises `QuizError` if the folder cannot be read.
    """
    return _ClassReader(folder, exercises, wanted).read()


def printable_name(name: str) -> str:
    """A file name on one line, with control characters escaped. Different names stay different."""
    text = escape_unprintable(name.replace("\\", "\\\\"))
    return text.replace("\n", "\\n").replace("\t", "\\t")


class _ClassReader:
    def __init__(self, folder: Path, exercises: Mapping[str, Exercise], wanted: frozenset[str]):
        self._folder = folder
        self._wanted = wanted
        self._by_file_name = {exercise.module: exercise for exercise in exercises.values()}
        self._by_file_name |= {f"{slug}.py": exercise for slug, exercise in exercises.items()}
        self._students: list[str] = []
        self._submissions: list[StudentSubmission] = []
        self._left_out: list[LeftOutFile] = []

    def read(self) -> ClassFolder:
        try:
            entries = _entries(self._folder)
        except OSError as error:
            raise QuizError(
                f"{self._folder} cannot be read as a folder ({error.strerror}); "
                "name the folder that holds a folder for each student."
            ) from None
        for entry in entries:
            name = printable_name(entry.name)
            if reason := _no_student(entry):
                self._leave_out(name, reason)
            else:
                self._students.append(name)
                self._read_student(name, Path(entry.path))
        return ClassFolder(tuple(self._students), tuple(self._submissions), tuple(self._left_out))

    def _leave_out(self, file: str, reason: str) -> None:
        self._left_out.append(LeftOutFile(file, reason))

    def _read_student(self, student: str, folder: Path) -> None:
        try:
            entries = _entries(folder)
        except OSError as error:
            self._leave_out(student, f"cannot be read: {error.strerror}")
            return
        found: dict[str, list[os.DirEntry[str]]] = {}
        for entry in entries:
            file = f"{student}/{printable_name(entry.name)}"
            exercise = self._by_file_name.get(entry.name)
            if entry.is_dir(follow_symlinks=False):
                self._leave_out(file, "a folder; submissions are directly in the student's folder")
            elif exercise is None:
                self._leave_out(file, self._unknown(entry.name))
            elif self._wanted and exercise.slug not in self._wanted:
                self._leave_out(file, "left out by --exercise")
            else:
                found.setdefault(exercise.slug, []).append(entry)
        for slug in sorted(found):
            self._submissions += self._submitted(student, slug, found[slug])

    def _unknown(self, name: str) -> str:
        stem, dot, ending = name.rpartition(".")
        if not dot or ending != "py":
            return "not a Python file"
        hint = did_you_mean(stem, (file[:-3] for file in self._by_file_name))
        return f"no exercise has this name; {hint or 'quizapp exercise lists them'}"

    def _submitted(
        self, student: str, slug: str, entries: list[os.DirEntry[str]]
    ) -> Iterator[StudentSubmission]:
        exercise = self._by_file_name[f"{slug}.py"]
        names = " and ".join(printable_name(entry.name) for entry in entries)
        for entry in entries:
            file = f"{student}/{printable_name(entry.name)}"
            if len(entries) > 1:
                # Which of them the student meant is not ours to guess.
                fault = f"{names} are for the same exercise; keep one"
                yield StudentSubmission(student, exercise, file, fault=fault)
            elif entry.is_symlink():
                # A link could present another student's file, or any file of whoever grades.
                yield StudentSubmission(student, exercise, file, fault="a link; hand in the file itself")
            else:
                yield _read(student, exercise, file, Path(entry.path))


def _read(student: str, exercise: Exercise, file: str, path: Path) -> StudentSubmission:
    try:
        return StudentSubmission(student, exercise, file, read_source(path))
    except QuizError as error:
        # The path on this machine would make the same class's gradebook differ from place to place.
        reason = str(error).replace(str(path), "").strip().rstrip(".")
        return StudentSubmission(student, exercise, file, fault=printable_name(reason))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: os.fsencode(entry.name))


def _no_student(entry: os.DirEntry[str]) -> str:
    """Why an entry of the class's folder is not a student's folder; empty if it is one."""
    if entry.is_symlink():
        return "a link; put the student's folder itself here"
    if not entry.is_dir(follow_symlinks=False):
        return "not in a student's folder"
    if entry.name.startswith((".", "__")):
        return "not a student's folder: its name begins with a dot or two underscores"
    return ""
