"""Separates a learner's guard from the repair that they made in the same script.

A guard is the assertions that the learner added. Moved into the broken script by themselves they must fail;
left in the repaired script they must hold. So the guard can be written where its names are known, and nobody
has to say separately what it is. A function that does nothing but assert moves with its calls.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

GUARD_MARK = "# guard"
"""The comment at the end of a line that belongs to the guard without being an assertion."""


@dataclass(frozen=True, slots=True)
class SplitScript:
    """A script taken apart.

    ``repair`` is the script without its guard, ``guarded`` the broken script with nothing but the guard
    added, and ``guard`` the lines of the guard.
    """

    repair: str
    guarded: str
    guard: tuple[str, ...]


def split_guard(broken: str, source: str) -> SplitScript:
    """Take the guard out of ``source``, an edited copy of ``broken``.

    Lines that the broken script has too are not part of a guard. A source that Python cannot parse has none.
    """
    before, after = broken.splitlines(), source.splitlines()
    candidates = _guard_lines(source, after)
    repair: list[str] = []
    guarded: list[str] = []
    guard: list[str] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, stop, first, last in matcher.get_opcodes():
        if kind == "equal":
            repair += after[first:last]
            guarded += before[start:stop]
            continue
        own = [number for number in range(first, last) if number in candidates]
        edited = [number for number in range(first, last) if number not in candidates]
        repair += [after[number] for number in edited]
        # What the guard says before the first repaired line, it says before the broken one too.
        ahead = [after[number] for number in own if edited and number < edited[0]]
        behind = [after[number] for number in own if not edited or number > edited[0]]
        guarded += [*ahead, *before[start:stop], *behind]
        guard += [after[number] for number in own]
    return SplitScript(_joined(repair), _joined(guarded), tuple(guard))


def is_repair_attempted(broken: str, source: str) -> bool:
    """Whether ``source`` changes more of the broken script than adding a guard to it."""
    return split_guard(broken, source).repair.splitlines() != broken.splitlines()


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""


def _guard_lines(source: str, lines: list[str]) -> frozenset[int]:
    """The numbers, from 0, of all lines that could belong to a guard."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    marked = {number for number, line in enumerate(lines) if line.rstrip().endswith(GUARD_MARK)}
    asserted = {
        number
        for statement in _asserting(tree.body, _helpers(tree))
        for number in range(statement.lineno - 1, statement.end_lineno or statement.lineno)
    }
    return frozenset(marked | asserted)


def _helpers(tree: ast.Module) -> frozenset[str]:
    """The functions that do nothing but assert, if each of their calls is a statement of its own.

    Such a function can be taken out of a script together with its calls.
    """
    used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    called = Counter(_called_name(node) for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and used[node.name] == called[node.name]
        and _all_assert(node.body[ast.get_docstring(node, clean=False) is not None :])
    )


def _called_name(statement: ast.Expr) -> str:
    """The function that a statement calls by its name; empty if it is anything else."""
    call = statement.value
    return call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""


def _asserting(body: list[ast.stmt], helpers: frozenset[str]) -> Iterator[ast.stmt]:
    """The assertions among the statements, and each block that holds nothing else."""
    for statement in body:
        if _only_asserts(statement, helpers):
            yield statement
            continue
        for name in ("body", "orelse", "finalbody"):
            inner: list[ast.stmt] = getattr(statement, name, [])
            # A block without a single statement left would not be Python, so it stays as it is.
            if not _all_assert(inner, helpers):
                yield from _asserting(inner, helpers)


def _all_assert(body: list[ast.stmt], helpers: frozenset[str] = frozenset()) -> bool:
    return bool(body) and all(_only_asserts(statement, helpers) for statement in body)


def _only_asserts(statement: ast.stmt, helpers: frozenset[str]) -> bool:
    if isinstance(statement, ast.Assert):
        return True
    if isinstance(statement, ast.Expr):
        return _called_name(statement) in helpers
    if isinstance(statement, ast.FunctionDef):
        return statement.name in helpers
    if not isinstance(statement, ast.If | ast.For | ast.With):
        return False
    otherwise: list[ast.stmt] = getattr(statement, "orelse", [])
    return all(_only_asserts(inner, helpers) for inner in (*statement.body, *otherwise))
