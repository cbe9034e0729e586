"""The code that a review shows: without docstrings, and with the lines that a planted fault touches."""

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

_LONGEST_STATEMENT = 6  # lines; pointing anywhere in a longer one would not show that the fault was found

_Block = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=256)
def strip_docstrings(source: str) -> str:
    """Return ``source`` without its docstrings. Everything else keeps its text.

    A body that had nothing but a docstring becomes ``...``. Raises `SyntaxError` if it is not valid Python.
    """
    lines = source.split("\n")
    for block, docstring in reversed(list(_docstrings(ast.parse(source)))):
        first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
        before = lines[first][: _column(lines[first], docstring.col_offset)]
        replaced = [] if isinstance(block, ast.Module) or len(block.body) > 1 else [f"{before}..."]
        if before.strip() or lines[last][_column(lines[last], docstring.end_col_offset) :].strip(" \t#;"):
            continue  # it shares its lines with other code
        end = last + 1
        while not replaced and end < len(lines) and not lines[end].strip():
            end += 1
        lines[first:end] = replaced
    return "\n".join(lines)


def _docstrings(tree: ast.Module) -> Iterator[tuple[_Block, ast.Expr]]:
    """Yield each block that begins with a docstring, and the docstring, in the order of the source."""
    for node in (tree, *_statements(tree)):
        if isinstance(node, _Block):
            first = node.body[0] if node.body else None
            text = first.value if isinstance(first, ast.Expr) else None
            if isinstance(first, ast.Expr) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node, first


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements in the order of the source, and handlers and cases, which hold statements too.

    ``ast.walk`` would visit every expression as well, which takes ten times as long.
    """
    waiting = list(reversed(_inner(tree)))
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(_inner(node))


def _inner(node: ast.AST) -> list[ast.AST]:
    blocks = (getattr(node, name, None) for name in ("body", "handlers", "cases", "orelse", "finalbody"))
    return [inner for block in blocks if isinstance(block, list) for inner in block]


def _column(line: str, offset: int | None) -> int:
    """The index in ``line`` of an offset that `ast` counts in UTF-8 bytes."""
    return len(line.encode()[: offset or 0].decode(errors="ignore"))


def touched_lines(before: str, after: str) -> int:
    """How many lines an edit that turns ``before`` into ``after`` touches."""
    return sum(
        max(before_end - before_start, after_end - after_start)
        for _, before_start, before_end, after_start, after_end in _changes(before, after)
    )


@lru_cache(maxsize=256)
def fault_lines(before: str, after: str) -> tuple[int, ...]:
    """The lines of ``after``, counted from 1, that show how it differs from ``before``.

    These are the changed lines and the rest of the statements that they belong to. Where lines are missing,
    they are the two lines around the gap and the header of the function around it.
    """
    changed: set[int] = set()
    gaps: set[int] = set()
    last = len(after.splitlines())
    for _, _, _, start, end in _changes(before, after):
        changed |= set(range(start + 1, end + 1))
        if start == end:
            gaps |= {line for line in (start, start + 1) if 1 <= line <= last}
    nodes = list(_statements(ast.parse(after)))
    statements = [node for node in nodes if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    for statement in statements:
        span = set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
        if span & changed and len(span) <= _LONGEST_STATEMENT:
            changed |= span
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for gap in sorted(gaps):
        around = [node for node in functions if node.lineno <= gap <= (node.end_lineno or 0)]
        changed |= {gap, *(node.lineno for node in around[-1:])}
    return tuple(sorted(changed))


def _changes(before: str, after: str) -> Iterator[tuple[str, int, int, int, int]]:
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return (change for change in matcher.get_opcodes() if change[0] != "equal")
