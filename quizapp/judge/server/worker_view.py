"""Decides which parts of an exercise the untrusted worker may see.

Expected answers and the code that generates inputs stay with the judge.
"""

import ast
from collections.abc import Iterator
from typing import Any


def strip_expected_answers(given: Any, rank: int = 0) -> Any:
    """Copy the inputs as the worker of ``rank`` gets them.

    The values under the key ``kept`` of any dict are answers and are left out. Of a list under the key
    ``by_rank``, the worker gets only the entry of its own rank, so that it has to communicate to learn the
    others. Without an entry for the rank, it gets None.
    """
    if isinstance(given, dict):
        return {
            key: strip_expected_answers(_entry(value, rank) if key == "by_rank" else value, rank)
            for key, value in given.items()
            if key != "kept"
        }
    if isinstance(given, list | tuple):
        return type(given)(strip_expected_answers(value, rank) for value in given)
    return given


def _entry(values: Any, rank: int) -> Any:
    return values[rank] if rank < len(values) else None


def depends_on_rank(given: Any) -> bool:
    """Whether ``given`` has the key ``by_rank`` anywhere."""
    if isinstance(given, dict):
        return "by_rank" in given or any(map(depends_on_rank, given.values()))
    return isinstance(given, list | tuple) and any(map(depends_on_rank, given))


def probe_code_without_inputs(text: str) -> ast.Module:
    """The syntax tree of ``text``, a ``probes.py``, without what only its ``inputs`` needs.

    Code that generates inputs often computes the answers too. This leaves out ``inputs`` and every top-level
    function, class and plain assignment that no other statement uses, directly or indirectly. Line numbers
    stay the same.
    """
    tree = ast.parse(text)
    definitions: dict[str, list[ast.stmt]] = {}
    unvisited: list[ast.stmt] = []
    for statement in tree.body:
        names = list(_bound_names(statement))
        for name in names:
            definitions.setdefault(name, []).append(statement)
        if not names or any(name.startswith("probe_") for name in names):
            unvisited.append(statement)
    needed: set[ast.stmt] = set()
    while unvisited:
        statement = unvisited.pop()
        if statement in needed:
            continue
        needed.add(statement)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                unvisited += definitions.get(node.id, [])
    tree.body = [statement for statement in tree.body if statement in needed]
    return tree


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition or a plain assignment binds; none for a statement that must stay."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign) and not _contains_call(statement.value):
        targets = [t for target in statement.targets for t in ast.walk(target)]
        if all(isinstance(t, ast.Name | ast.Tuple | ast.expr_context) for t in targets):
            yield from (t.id for t in targets if isinstance(t, ast.Name))


def _contains_call(node: ast.AST) -> bool:
    """Whether evaluating ``node`` calls something. The body of a lambda does not count."""
    if isinstance(node, ast.Call):
        return True
    return not isinstance(node, ast.Lambda) and any(map(_contains_call, ast.iter_child_nodes(node)))
