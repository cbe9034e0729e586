"""What of an exercise a worker gets to see: not the answers that its inputs were made from."""

import ast
from collections.abc import Iterator
from typing import Any


def strip_expected_answers(given: Any) -> Any:
    """The inputs without what stands under the key ``kept`` of any dict in them: answers, for the judge."""
    if isinstance(given, dict):
        return {key: strip_expected_answers(value) for key, value in given.items() if key != "kept"}
    if isinstance(given, list | tuple):
        return type(given)(map(strip_expected_answers, given))
    return given


def probe_code_without_inputs(text: str) -> ast.Module:
    """The syntax tree of ``text``, a ``probes.py``, without what only ``inputs`` needs.

    Whoever draws inputs often knows the answers to them. Left out are ``inputs`` and every function, class
    and plain assignment at the top that no other line names, directly or through others; line numbers stay.
    """
    tree = ast.parse(text)
    named: dict[str, list[ast.stmt]] = {}
    todo: list[ast.stmt] = []
    for statement in tree.body:
        own = list(_bound(statement))
        for name in own:
            named.setdefault(name, []).append(statement)
        if not own or any(name.startswith("probe_") for name in own):
            todo.append(statement)
    needed: set[ast.stmt] = set()
    while todo:
        statement = todo.pop()
        if statement in needed:
            continue
        needed.add(statement)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                todo += named.get(node.id, [])
    tree.body = [statement for statement in tree.body if statement in needed]
    return tree


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a definition or a plain assignment binds; none for a statement that must stay."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign) and not _calls(statement.value):
        targets = [t for target in statement.targets for t in ast.walk(target)]
        if all(isinstance(t, ast.Name | ast.Tuple | ast.expr_context) for t in targets):
            yield from (t.id for t in targets if isinstance(t, ast.Name))


def _calls(node: ast.AST) -> bool:
    """Whether evaluating ``node`` calls something; what a lambda would call is not called yet."""
    if isinstance(node, ast.Call):
        return True
    return not isinstance(node, ast.Lambda) and any(map(_calls, ast.iter_child_nodes(node)))
