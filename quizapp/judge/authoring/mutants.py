"""Wrong submissions of an exercise: edits of the solution in ``mutants.yaml``, whole files in ``wrong/``.

An entry of ``mutants.yaml``::

    - name: dropout_in_eval
      breaks: 6                   # the behavior whose tests must find it, or a list of them
      says: In eval mode          # optional: a part of the feedback that must be shown
      why: ...                    # optional: one sentence for the reader of a code review
      edits:
        - replace: low = F.dropout(x, self.dropout, self.training)
          with: low = F.dropout(x, self.dropout)
          after: def forward      # optional: the first occurrence after this text, which must be unique

If ``replace`` and ``with`` have at most one line each, they exchange a piece of a line. If either has several
lines, whole lines are exchanged, and both are written without the indentation that the lines have in the
solution. An empty ``with`` deletes the text, and also the line if nothing else is on it.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise, Fault
from quizapp.bank.yaml_loader import LINE, read_yaml
from quizapp.errors import QuizError
from quizapp.util.text import plural

MUTANTS = "mutants.yaml"
LEAST_WRONG = 8
_KEYS = ("name", "breaks", "says", "why", "edits")
_EDIT_KEYS = ("replace", "with", "after")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class EditError(QuizError):
    """A mutant's edits cannot be applied. ``line`` is where the edit is in ``mutants.yaml``."""

    def __init__(self, line: int, message: str):
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class MutantEdit:
    """Exchanges ``replace`` for ``replacement`` in the solution.

    Without ``after``, ``replace`` must occur exactly once. Otherwise ``after`` must occur exactly once, and
    the first occurrence of ``replace`` after it is exchanged.
    """

    replace: str
    replacement: str
    after: str = ""
    line: int = 0

    @property
    def whole_lines(self) -> bool:
        """Whether whole lines are exchanged, rather than a piece of one line."""
        return "\n" in self.replace or "\n" in self.replacement


@dataclass(frozen=True, slots=True)
class WrongSubmission:
    """A plausible wrong submission: the behaviors that it breaks, and its source.

    ``says`` is a part of the feedback that the learner must get. ``file`` and ``line`` say where an author
    finds it. ``edits`` is empty for a file in ``wrong/``.
    """

    name: str
    breaks: tuple[int, ...]
    says: str
    source: str
    file: Path
    line: int = 1
    why: str = ""
    edits: tuple[MutantEdit, ...] = ()


def apply_edits(solution: str, edits: Iterable[MutantEdit], file: str = "solution.py") -> str:
    """Apply all edits to the solution. Raises `EditError` if one does not fit or two overlap.

    Every edit is located in the original solution, so their order does not matter. ``file`` is what errors
    call the solution.
    """
    changes = sorted(
        ((*_change(solution, edit, file), edit) for edit in edits), key=lambda change: change[:2]
    )
    for (_, end, _, first), (start, _, _, second) in pairwise(changes):
        if start < end:
            line = max(first.line, second.line)
            raise EditError(line, "overlaps with another edit; make them one edit")
    for start, end, text, _ in reversed(changes):
        solution = solution[:start] + text + solution[end:]
    return solution


def _change(solution: str, edit: MutantEdit, file: str) -> tuple[int, int, str]:
    """The start and end of the text that an edit exchanges, and its replacement."""
    match = _locate(solution, edit, file)
    start, end = match.span()
    if not edit.replacement:
        line_start = solution.rfind("\n", 0, start) + 1
        line_end = solution.find("\n", end)
        if line_end >= 0 and not (solution[line_start:start] + solution[end:line_end]).strip():
            return line_start, line_end + 1, ""
    if not edit.whole_lines:
        return start, end, edit.replacement
    indent = match["indent"]
    return start, end, "\n".join(indent + line if line else "" for line in edit.replacement.split("\n"))


def _locate(solution: str, edit: MutantEdit, file: str) -> re.Match[str]:
    text = _lines_pattern(edit.replace) if edit.whole_lines else re.escape(edit.replace)
    pattern = re.compile(text, re.MULTILINE)
    if edit.after:
        anchors = solution.count(edit.after)
        if anchors != 1:
            raise EditError(
                edit.line, _misfit("after", edit.after, anchors, file, "quote a text that occurs once")
            )
        match = pattern.search(solution, solution.index(edit.after) + len(edit.after))
        if match is None:
            raise EditError(edit.line, f"'replace' does not occur after {edit.after!r}; update the edit")
        return match
    matches = list(pattern.finditer(solution))
    if len(matches) != 1:
        remedy = "quote more of it, or say which one with 'after'" if matches else "update the edit"
        raise EditError(edit.line, _misfit("replace", edit.replace, len(matches), file, remedy))
    return matches[0]


def _lines_pattern(text: str) -> str:
    """A pattern for whole lines that may all be indented further than in ``text``, by the same ``indent``."""
    first, *others = (re.escape(line.rstrip()) for line in text.split("\n"))
    return "".join(
        [rf"^(?P<indent> *){first}", *(rf"\n(?P=indent){line}" if line else r"\n *" for line in others), "$"]
    )


def _misfit(key: str, text: str, count: int, file: str, remedy: str) -> str:
    first, *more = text.split("\n")
    quoted = f"{first!r}{' …' if more else ''}"
    times = f"occurs {count} times in" if count else "does not occur in"
    return f"'{key}' {times} {file}: {quoted}; {remedy}"


def wrong_submissions(
    folder: Path, behaviours: Iterable[int] | None = None, *, compare: bool = True
) -> tuple[list[WrongSubmission], list[Fault]]:
    """The wrong submissions of the exercise in ``folder``, sorted by name, and the faults of invalid ones.

    ``behaviours`` are the numbers that a mutant may break; None allows any. Without ``compare``, an edited
    solution that is not valid Python, or still the same program, is no fault; that is ten times as fast.
    """
    submissions: list[WrongSubmission] = []
    faults: list[Fault] = []
    for path in sorted((folder / "wrong").glob("*.py")):
        try:
            submissions.append(_from_file(path))
        except (OSError, UnicodeDecodeError) as error:
            faults.append(Fault(str(path), 1, f"cannot be read as UTF-8: {error}"))
    if (folder / MUTANTS).is_file():
        used_names = {submission.name for submission in submissions}
        reader = _MutantReader(folder, used_names, behaviours, compare=compare)
        submissions += reader.read()
        faults += reader.faults
    return sorted(submissions, key=lambda submission: submission.name), faults


def wrong_submission(folder: Path, name: str) -> WrongSubmission:
    """The wrong submission ``name`` of the exercise in ``folder``; raises `QuizError` if there is none."""
    for submission in wrong_submissions(folder)[0]:
        if submission.name == name:
            return submission
    raise QuizError(f"{folder} has no wrong submission {name!r}; see its {MUTANTS} and wrong/.")


def wrong_submission_faults(exercise: Exercise) -> list[Fault]:
    """Find the faults of an exercise's wrong submissions without running any."""
    # A forbidden name without a number of its own counts as behavior 0.
    behaviours = {*exercise.behaviours, *(rule.behaviour for rule in exercise.forbidden)}
    submissions, faults = wrong_submissions(exercise.folder, behaviours)
    if len(submissions) + len(faults) < LEAST_WRONG:
        text = f"has {plural(len(submissions), 'wrong submission')}; write at least {LEAST_WRONG}"
        faults.append(Fault(str(exercise.folder / MUTANTS), 1, text))
    return faults


def _from_file(path: Path) -> WrongSubmission:
    source = path.read_text(encoding="utf-8")
    breaks = tuple(int(number) for number in re.findall(r"\d+", _header(source, "fails")))
    return WrongSubmission(path.stem, breaks, _header(source, "message"), source, path)


def _header(source: str, key: str) -> str:
    """The value of a ``# key: value`` comment in a wrong submission's file."""
    match = re.search(rf"^# {key}: (.+)$", source, re.MULTILINE)
    return match[1].strip() if match else ""


class _MutantReader:
    """Reads one ``mutants.yaml``; every entry becomes a submission or faults."""

    def __init__(
        self, folder: Path, used_names: set[str], behaviours: Iterable[int] | None, *, compare: bool
    ):
        self.faults: list[Fault] = []
        self._path = folder / MUTANTS
        self._solution = ""
        self._used_names = used_names
        self._behaviours = None if behaviours is None else set(behaviours)
        self._compare = compare

    def read(self) -> list[WrongSubmission]:
        data, fault = read_yaml(self._path)
        if fault is not None:
            self.faults.append(fault)
            return []
        if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
            self._fault(1, "must be a list of mutants, each with name, breaks and edits")
            return []
        try:
            self._solution = self._path.with_name("solution.py").read_text(encoding="utf-8")
            program = _statements(self._solution)
        except (OSError, SyntaxError, ValueError) as error:
            self._fault(1, f"cannot be applied: solution.py is not a readable Python file: {error}")
            return []
        return [mutant for entry in data if (mutant := self._mutant(entry, program)) is not None]

    def _fault(self, line: int, message: str) -> None:
        self.faults.append(Fault(str(self._path), line, message))

    def _mutant(self, entry: dict[Any, Any], program: "_Program") -> WrongSubmission | None:
        name, line = entry.get("name"), int(entry[LINE])
        problems = list(self._problems(entry))
        if not problems:
            self._used_names.add(entry["name"])
            edits = tuple(read_edit(edit) for edit in entry["edits"])
            try:
                source = self._edited(edits, line, program)
            except EditError as error:
                problems = [(error.line, str(error))]
        for at, problem in problems:
            self._fault(at, f"mutant {name!r}: {problem}" if isinstance(name, str) else problem)
        if problems:
            return None
        says, why = (str(entry.get(key, "")).strip() for key in ("says", "why"))
        breaks = tuple(_numbers(entry["breaks"]))
        return WrongSubmission(entry["name"], breaks, says, source, self._path, line, why, edits)

    def _edited(self, edits: tuple[MutantEdit, ...], line: int, program: "_Program") -> str:
        source = apply_edits(self._solution, edits)
        if not self._compare:
            return source
        try:
            edited = _statements(source)
        except SyntaxError as error:
            where = f"{error.msg}: {(error.text or '').strip()!r}"
            raise EditError(line, f"the edited solution is not valid Python ({where})") from None
        if _same_program(edited, program):
            raise EditError(line, "the edited solution is the same program as the solution; change the code")
        return source

    def _problems(self, entry: dict[Any, Any]) -> Iterator[tuple[int, str]]:
        """Yield the line and the description of everything that is malformed in an entry."""
        line = int(entry[LINE])
        yield from _form_problems(entry, _KEYS, ("says", "why"))
        name, numbers, edits = entry.get("name"), _numbers(entry.get("breaks")), entry.get("edits")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield line, "needs a name of lower-case letters, digits and _, such as 'dropout_in_eval'"
        elif name in self._used_names:
            yield line, "another wrong submission has this name; rename one of them"
        if not numbers:
            yield line, "'breaks' must be the number of a behavior, or a list of such numbers"
        elif self._behaviours is not None and (unknown := sorted(set(numbers) - self._behaviours)):
            yield line, f"exercise.yaml has no behavior {unknown[0]}; correct 'breaks'"
        yield from edit_problems(edits, "edits", line)


def edit_problems(edits: Any, key: str, line: int) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of everything that is malformed in a list of edits."""
    if not isinstance(edits, list) or not edits or not all(isinstance(edit, dict) for edit in edits):
        yield line, f"{key!r} must be a list of edits, each with 'replace' and 'with'"
        return
    for edit in edits:
        yield from _form_problems(edit, _EDIT_KEYS, _EDIT_KEYS)
        if edit.keys() >= {"replace", "with"} and str(edit["replace"]).strip():
            continue
        yield int(edit[LINE]), "an edit needs 'replace', the text to exchange, and 'with'"


def _form_problems(
    entry: dict[Any, Any], expected: tuple[str, ...], texts: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    for key, value in entry.items():
        if key not in (*expected, LINE):
            yield int(entry[LINE]), f"unknown key {key!r}; use {', '.join(expected)}"
        elif key in texts and not isinstance(value, str):
            yield int(entry[LINE]), f"{key!r} must be a text; put it in quotes"


_Program = list[tuple[str, ast.stmt]]


def _statements(source: str) -> _Program:
    """The top-level statements of a module, each with its text and the comments above it."""
    lines, start, statements = source.split("\n"), 0, []
    for statement in ast.parse(source).body:
        end = statement.end_lineno or start
        statements.append(("\n".join(lines[start:end]), statement))
        start = end
    return statements


def _same_program(left: _Program, right: _Program) -> bool:
    # Comparing every node takes a millisecond or two, and there are thousands of mutants. Skip statements
    # with the same text and stop at the first difference, which comparing two dumps could not do.
    return len(left) == len(right) and all(
        text == other_text or _same_tree(statement, other)
        for (text, statement), (other_text, other) in zip(left, right, strict=True)
    )


def _same_tree(left: object, right: object) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, ast.AST):
        return all(_same_tree(getattr(left, name), getattr(right, name)) for name in left._fields)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same_tree, left, right))
    return left == right


def _numbers(value: Any) -> list[int]:
    """The behaviors that ``breaks`` names; empty if it is malformed."""
    values = value if isinstance(value, list) else [value]
    return values if all(type(number) is int for number in values) else []


def read_edit(data: Mapping[Any, Any]) -> MutantEdit:
    """Read one edit in which `edit_problems` has found nothing."""
    # A YAML block scalar ends with a line break that the author did not intend.
    replace, replacement = (data[key].rstrip("\n") for key in ("replace", "with"))
    return MutantEdit(replace, replacement, data.get("after", "").rstrip("\n"), int(data[LINE]))
