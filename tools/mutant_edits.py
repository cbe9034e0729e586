"""Converts wrong submissions from whole files to edits of the solution, and shows edits as source.

``python -m tools.mutant_edits exercises/SLUG [NAME...]`` moves ``wrong/NAME.py`` to ``mutants.yaml``. Without
names it moves all files of ``wrong/``. A file moves only if the edited solution is the same program, and
stays if it changes a large part of the solution. ``--dry-run`` prints the entries and changes nothing.
``--show NAME`` prints the source of one wrong submission, for grading it by hand.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import yaml

from quizapp.errors import QuizError
from quizapp.judge.authoring.mutants import (
    MUTANTS,
    EditError,
    MutantEdit,
    WrongSubmission,
    apply_edits,
    wrong_submission,
    wrong_submissions,
)

MOST_CHANGED = 0.4  # of the solution's lines; a program with more changes is easier to read as a file
_Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_HEADERS = re.compile(r"\A(# (fails|message|ruff):.*\n)+")
_DEFINITION = re.compile(r"(async def|def|class) \w+[(:]")

ScopeDocstring = tuple[str, str]
"""The qualified name of a module (empty), class or function, and its docstring."""


class NotAnEdit(Exception):
    """The wrong submission should stay a file. The message says why."""


@dataclass(frozen=True)
class Hunk:
    """Lines ``start`` to ``stop`` (excluded) of the solution, and the lines that replace them."""

    start: int
    stop: int
    lines: list[str]

    @property
    def size(self) -> int:
        """The number of lines that change."""
        return max(self.stop - self.start, len(self.lines))


def edits_of(
    solution: str, wrong: str, outdated: frozenset[ScopeDocstring] = frozenset()
) -> list[MutantEdit]:
    """Return edits that turn ``solution`` into the program ``wrong``.

    The result keeps the solution's comments and layout. It also keeps the solution's docstrings where
    ``wrong`` has none or has one in ``outdated``; any other docstring that differs becomes an edit. Raises
    `NotAnEdit` if the edits would be too large or give another program.
    """
    old = solution.splitlines()
    new = _with_docstrings_of(solution, _HEADERS.sub("", wrong), outdated).splitlines()
    hunks = _needed(old, _hunks(old, new))
    changed = sum(hunk.size for hunk in hunks)
    if changed > MOST_CHANGED * len(old):
        raise NotAnEdit(f"{changed} of {len(old)} lines change")
    edits = [_edit(solution, old, hunk) for hunk in _joined(old, hunks)]
    if not same_program(apply_edits(solution, edits), wrong, outdated):
        raise NotAnEdit("the edits give another program")
    return edits


def same_program(edited: str, wrong: str, outdated: frozenset[ScopeDocstring] = frozenset()) -> bool:
    """Whether the syntax trees are equal, ignoring docstrings that ``wrong`` lacks or that are outdated."""
    left, right = ast.parse(edited), ast.parse(wrong)
    wanted = dict(_scopes(right))
    for name, scope in _scopes(left):
        other = wanted.get(name)
        if other is None:
            continue
        text = ast.get_docstring(other, clean=False)
        if text is None or (name, text) in outdated:
            for each in (scope, other):
                each.body = each.body[ast.get_docstring(each) is not None :]
    return ast.dump(left) == ast.dump(right)


def outdated_docstrings(solution: str, sources: Sequence[str]) -> frozenset[ScopeDocstring]:
    """Return the docstrings that several wrong submissions share and the solution no longer has.

    They were copied from an earlier solution. A docstring that was changed on purpose occurs in one file.
    """
    counts = Counter(
        (name, text)
        for source in sources
        for name, scope in _scopes(ast.parse(source))
        if (text := ast.get_docstring(scope, clean=False)) is not None
    )
    current = {name: ast.get_docstring(scope, clean=False) for name, scope in _scopes(ast.parse(solution))}
    return frozenset(
        (name, text) for (name, text), n in counts.items() if n > 1 and current.get(name, text) != text
    )


def _scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, _Scope]]:
    """Yield the module and every class and function in it, with their qualified names."""
    if isinstance(node, ast.Module):
        yield "", node
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}.{child.name}"
            yield name, child
        yield from _scopes(child, name)


def _with_docstrings_of(solution: str, wrong: str, outdated: frozenset[ScopeDocstring]) -> str:
    """Return ``wrong`` with the solution's docstrings where it has none or an outdated one."""
    source, lines = solution.splitlines(), wrong.splitlines()
    current = dict(_scopes(ast.parse(solution)))
    changes: list[tuple[int, int, list[str]]] = []
    for name, scope in _scopes(ast.parse(wrong)):
        mine, text = current.get(name), ast.get_docstring(scope, clean=False)
        if mine is None or type(mine) is not type(scope) or ast.get_docstring(mine) is None:
            continue
        if text is not None and (name, text) not in outdated:
            continue
        docstring = mine.body[0]
        inserted = source[docstring.lineno - 1 : docstring.end_lineno]
        first = scope.body[0] if scope.body else None
        if first is None or isinstance(scope, ast.Module):
            # A module docstring goes first, with an empty line after it.
            stop = 0 if text is None or first is None else first.end_lineno or 0
            changes.append((0, stop, inserted if stop else [*inserted, ""]))
        elif first.lineno > scope.lineno:
            decorators = getattr(first, "decorator_list", [])
            start = min([first.lineno, *(each.lineno for each in decorators)]) - 1
            changes.append((start, start if text is None else first.end_lineno or start, inserted))
    # From the end, so that the line numbers of earlier changes stay valid.
    for start, stop, inserted in sorted(changes, reverse=True):
        lines[start:stop] = inserted
    return "\n".join(lines) + "\n"


def _hunks(old: list[str], new: list[str]) -> list[Hunk]:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Hunk(i, j, new[k:m]) for kind, i, j, k, m in codes if kind != "equal"]


def _needed(old: list[str], hunks: list[Hunk]) -> list[Hunk]:
    """Drop the hunks that change only comments or layout."""
    program = ast.dump(ast.parse(_replaced(old, hunks)))
    for hunk in list(hunks):
        fewer = [other for other in hunks if other is not hunk]
        try:
            same = ast.dump(ast.parse(_replaced(old, fewer))) == program
        except SyntaxError:
            continue
        if same:
            hunks = fewer
    return hunks


def _replaced(old: list[str], hunks: list[Hunk]) -> str:
    lines = list(old)
    for hunk in reversed(hunks):
        lines[hunk.start : hunk.stop] = hunk.lines
    return "\n".join(lines) + "\n"


def _joined(old: list[str], hunks: list[Hunk]) -> list[Hunk]:
    """Merge hunks with at most one line between them, which is easier to read."""
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else None
        if last is not None and hunk.start - last.stop <= 1:
            lines = [*last.lines, *old[last.stop : hunk.start], *hunk.lines]
            joined[-1] = Hunk(last.start, hunk.stop, lines)
        else:
            joined.append(hunk)
    return joined


def _edit(solution: str, old: list[str], hunk: Hunk) -> MutantEdit:
    wanted = _replaced(old, [hunk])
    fitting = []
    for wider in _widened(old, hunk):
        for edit in _spelled(old, wider):
            try:
                if apply_edits(solution, [edit]) == wanted:
                    fitting.append(edit)
            except EditError:
                continue
    if not fitting:
        raise NotAnEdit(f"no edit makes the change at line {hunk.start + 1} of the solution")
    return min(fitting, key=lambda edit: len(_edit_lines(edit)))


def _widened(old: list[str], hunk: Hunk) -> Iterator[Hunk]:
    """Yield the hunk alone, then with lines around it. An insertion needs such a line to replace."""
    for before, after in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (2, 2)):
        start, stop = hunk.start - before, hunk.stop + after
        if start >= 0 and stop <= len(old) and start < stop:
            yield Hunk(start, stop, [*old[start : hunk.start], *hunk.lines, *old[hunk.stop : stop]])


def _spelled(old: list[str], hunk: Hunk) -> Iterator[MutantEdit]:
    """Yield ways to write a hunk: without an anchor, and after the nearest unique lines above it."""
    before = old[hunk.start : hunk.stop]
    filled = [line for line in [*before, *hunk.lines] if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    replace, replacement = ("\n".join(line[indent:] for line in lines) for lines in (before, hunk.lines))
    if not replace.strip():
        return
    yield MutantEdit(replace, replacement)
    above = [line.strip() for line in reversed(old[: hunk.start]) if line.strip()]
    definitions = [match[0] for line in above if (match := _DEFINITION.match(line))]
    unique = [
        [text for text in texts if "\n".join(old).count(text) == 1][:2] for texts in (definitions, above)
    ]
    for anchor in (*unique[0], *unique[1]):
        yield MutantEdit(replace, replacement, anchor)


def entry_of(submission: WrongSubmission, edits: Sequence[MutantEdit]) -> str:
    """Format the entry of ``mutants.yaml`` for a submission."""
    numbers = submission.breaks
    breaks = str(numbers[0]) if len(numbers) == 1 else f"[{', '.join(map(str, numbers))}]"
    lines = [f"- name: {submission.name}", f"  breaks: {breaks}"]
    if submission.says:
        lines.append(f"  says: {_scalar(submission.says, 4)}")
    lines.append("  edits:")
    for edit in edits:
        first, *rest = _edit_lines(edit)
        lines += [f"    - {first}", *(f"      {line}" if line else "" for line in rest)]
    return "\n".join(lines) + "\n"


def _edit_lines(edit: MutantEdit) -> list[str]:
    pairs = [("replace", edit.replace), ("with", edit.replacement), ("after", edit.after)]
    return [
        line
        for key, text in pairs
        if text or key == "with"
        for line in f"{key}: {_scalar(text, 2)}".split("\n")
    ]


def _scalar(text: str, indent: int) -> str:
    """Format a text as YAML: several lines as a block, one line plain if possible, else quoted."""
    if "\n" in text:
        # If the first line is indented, YAML needs an explicit indentation for the block.
        indicator = "2" if text.startswith((" ", "\n")) else ""
        space = " " * indent
        return f"|{indicator}-\n" + "\n".join(space + line if line else "" for line in text.split("\n"))
    try:
        if text and yaml.safe_load(f"- key: {text}") == [{"key": text}]:
            return text
    except yaml.YAMLError:
        pass
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def convert(folder: Path, names: Sequence[str] = (), *, dry_run: bool = False) -> Iterator[str]:
    """Move files of ``wrong/`` to ``mutants.yaml`` and yield a line about each.

    With ``dry_run`` it changes nothing and yields the entries. Raises `QuizError` for an unknown name.
    """
    solution = (folder / "solution.py").read_text(encoding="utf-8")
    files = [each for each in wrong_submissions(folder)[0] if not each.edits]
    missing = sorted(set(names) - {each.name for each in files})
    if missing:
        raise QuizError(f"{folder / 'wrong' / missing[0]}.py does not exist; name a file of wrong/.")
    outdated = outdated_docstrings(solution, [each.source for each in files])
    for submission in files:
        if names and submission.name not in names:
            continue
        try:
            edits = edits_of(solution, submission.source, outdated)
        except NotAnEdit as reason:
            yield f"{submission.name} stays a file: {reason}\n"
            continue
        entry = entry_of(submission, edits)
        if dry_run:
            yield entry
            continue
        with (folder / MUTANTS).open("a", encoding="utf-8") as file:
            file.write(entry)
        submission.file.unlink()
        yield f"{submission.name}: {len(edits)} edit{'s' if len(edits) > 1 else ''}\n"


def main() -> int:
    """Convert the files named on the command line, or show one wrong submission."""
    parser = argparse.ArgumentParser(description="Turn files of wrong/ into edits in mutants.yaml.")
    parser.add_argument("folder", type=Path, help="an exercise folder")
    parser.add_argument("names", nargs="*", help="files of wrong/ without .py; all if none is named")
    parser.add_argument("--dry-run", action="store_true", help="print the entries and change nothing")
    parser.add_argument("--show", metavar="NAME", help="print the source of this wrong submission")
    options = parser.parse_args()
    try:
        if options.show:
            sys.stdout.write(wrong_submission(options.folder, options.show).source)
        else:
            sys.stdout.writelines(convert(options.folder, options.names, dry_run=options.dry_run))
    except QuizError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
