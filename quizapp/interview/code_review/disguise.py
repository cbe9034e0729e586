"""Writes a program differently: local variables renamed, functions and classes in another order.

A learner's test must not tell two programs apart that do the same. A test that looks at the source instead of
at what the code does holds on the reference and fails on a disguised copy of it.
"""

import ast
import builtins
from collections.abc import Iterator, Sequence

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_BUILT_IN = frozenset(dir(builtins))


def disguise(source: str) -> str:
    """Return a program that does the same as ``source`` and looks different.

    Parameters, attributes and everything that is visible outside keep their names. Raises `SyntaxError` if
    ``source`` is not valid Python.
    """
    tree = ast.parse(source)
    visible = {name for statement in tree.body for name in _bound(statement)} | _BUILT_IN
    for function in _outermost_functions(tree.body):
        _rename_locals(function, visible)
    tree.body = _reordered(tree.body)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            node.body = _reordered(node.body)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level of a module may bind."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(statement, _Function | ast.ClassDef):
        yield statement.name
    else:
        yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and _binds(n))


def _binds(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store | ast.Del)


def _outermost_functions(body: Sequence[ast.stmt]) -> Iterator[_Function]:
    for statement in body:
        if isinstance(statement, _Function):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from _outermost_functions(statement.body)


def _rename_locals(function: _Function, visible: set[str]) -> None:
    """Rename the local variables of a function and of the functions in it, all of them consistently.

    A name that also means something else anywhere in the function keeps its spelling: a parameter, a global
    name, an attribute of a class defined inside, or a name that occurs as a string in the syntax tree.
    """
    kept = set(visible)
    local: dict[str, None] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            kept.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            kept |= set(node.names)
        elif isinstance(node, _Function):
            kept.add(node.name)
        elif isinstance(node, ast.ClassDef):
            kept |= {node.name, *(name for statement in node.body for name in _bound(statement))}
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            kept.add(node.name or "")
        elif isinstance(node, ast.MatchMapping):
            kept.add(node.rest or "")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            kept |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and _binds(node):
            local[node.id] = None
    names = {name: f"local{number}" for number, name in enumerate(local, 1) if name not in kept}
    taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)} | kept
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and names.get(node.id, node.id) not in taken:
            node.id = names[node.id]


def _reordered(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with each run of definitions reversed, unless a definition needs an earlier one."""
    result: list[ast.stmt] = []
    run: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, _Function | ast.ClassDef):
            run.append(statement)
            continue
        result += [*_reversed_run(run), statement]
        run = []
    return result + _reversed_run(run)


def _reversed_run(run: list[ast.stmt]) -> list[ast.stmt]:
    names = [statement.name for statement in run if isinstance(statement, _Function | ast.ClassDef)]
    needed = {name for statement in run for name in _used_at_once(statement)}
    # A name that is defined twice, as a property and its setter, has to keep its order.
    return run if needed & set(names) or len(set(names)) < len(names) else run[::-1]


def _used_at_once(statement: ast.stmt) -> Iterator[str]:
    """The names that Python looks up when it executes a definition, before anything calls it."""
    parts: list[ast.AST | None] = []
    if isinstance(statement, _Function):
        arguments = statement.args
        parts += [*statement.decorator_list, *arguments.defaults, *arguments.kw_defaults, statement.returns]
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parts += [argument.annotation for argument in (*given, arguments.vararg, arguments.kwarg) if argument]
    elif isinstance(statement, ast.ClassDef):
        parts += [*statement.decorator_list, *statement.bases, *statement.keywords]
        for inner in statement.body:
            if isinstance(inner, _Function | ast.ClassDef):
                yield from _used_at_once(inner)
            else:
                parts.append(inner)
    else:
        parts.append(statement)
    for part in parts:
        for node in ast.walk(part) if part is not None else ():
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value  # a quoted annotation, which nothing but a type checker looks up
