"""Finds the names that an exercise forbids in a submission's syntax tree, without running it."""

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

# Where torch offers its functions for all, and where it keeps what these call.
_FRONT_DOORS = ("", "torch", "torch.nn.functional", "torch.special")
_BACK_DOORS = ("torch._", "torch.ops.")


def used_names(source: str | bytes) -> Iterator[tuple[str, int]]:
    """Every dotted name that ``source`` refers to, imports resolved, with its line.

    Attributes of unknown objects come as ``.name``; names given as constant strings to ``getattr``,
    ``__import__`` and ``import_module`` are included. Comments, docstrings and names that the source
    gives to things of its own (a variable ``adapters``, ``self._scale`` in a class of its own) are not.
    Bytes are read in the encoding that they name, as Python reads them. Raises what `ast.parse` raises.
    """
    nodes = list(ast.walk(ast.parse(source)))
    aliases: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node.lineno
                aliases[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                aliases[name.asname or name.name] = f"{node.module or ''}.{name.name}"
                yield f"{node.module or ''}.{name.name}", node.lineno
                yield f".{name.name}", node.lineno
    own = _own_names(nodes) - aliases.keys()
    members = _own_members(nodes)
    # Of a chain a.b.c the whole tells all: one name for each of its parts would take time with its square.
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            dotted = None if id(node) in inner or _root(node) in own else _dotted(node, aliases)
            if dotted:
                yield dotted, node.lineno
            if (_holder(node.value), node.attr) not in members:
                yield f".{node.attr}", node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            yield aliases.get(node.id, node.id), node.lineno
        elif isinstance(node, ast.Call):
            yield from _by_string(node, aliases)


def _own_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names bound by assignment, as arguments or by a definition; none where modules come in by a call."""
    own: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == "__import__":
            return set()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif "import_module" in (getattr(node, "attr", ""), getattr(node, "name", "")):
            return set()
    return own - set(dir(builtins))


def _own_members(nodes: Sequence[ast.AST]) -> set[tuple[str | None, str]]:
    """Pairs such as (``self``, ``_scale``): what the source sets on self, and the methods of its classes.

    The methods belong to the class, to a call of it, and to what is bound once and to such a call.
    """
    members: set[tuple[str | None, str]] = set()
    methods: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                members.add(("self", node.attr))
        elif isinstance(node, ast.ClassDef):
            methods[node.name] = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            for name in methods[node.name]:
                members |= {(place, name) for place in ("self", "cls", node.name, f"{node.name}()")}
    for place, kind in _instances(nodes):
        members |= {(place, name) for name in methods.get(kind, ())}
    return members


def _instances(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Names, and attributes of self, that are bound once, and to the call of a name: both names."""
    bound: Counter[str | None] = Counter()
    made: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            bound[_holder(node)] += 1
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                place, called = _holder(target), _holder(node.value.func)
                if place and called:
                    made[place] = called
    yield from ((place, called) for place, called in made.items() if bound[place] == 1)


def _holder(node: ast.expr) -> str | None:
    """How a name, an attribute of self or a call of a name is called here; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"{node.func.id}()"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])


def _by_string(node: ast.Call, aliases: dict[str, str]) -> Iterator[tuple[str, int]]:
    called = _dotted(node.func, aliases) if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Name):
        called = aliases.get(node.func.id, node.func.id)
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if called in ("getattr", "builtins.getattr", "operator.attrgetter") and texts:
        target = _dotted(node.args[0], aliases) if isinstance(node.args[0], ast.Attribute) else None
        if isinstance(node.args[0], ast.Name):
            target = aliases.get(node.args[0].id, node.args[0].id)
        yield f".{texts[0]}", node.lineno
        if target:
            yield f"{target}.{texts[0]}", node.lineno
    elif called in ("__import__", "builtins.__import__", "importlib.import_module") and texts:
        yield texts[0], node.lineno


def first_of(uses: Iterable[tuple[str, int]], names: Iterable[str]) -> tuple[str, int] | None:
    """The first of ``uses`` that is one of the forbidden ``names``, or None.

    A name such as ``torch.optim.Adam`` also forbids what lies below it; ``.nan_to_num`` forbids the
    attribute on any object; ``Adam`` alone forbids the bare name. ``torch.dropout`` and ``.dropout`` also
    forbid what torch has in private and among its operators for it, such as ``torch._VF.dropout``.
    """
    wanted = set(names)
    doors = [(door, name.strip("_")) for door, dot, name in (n.rpartition(".") for n in wanted) if dot]
    operators = {name for door, name in doors if door in _FRONT_DOORS}
    depth = max((name.count(".") + 1 for name in wanted), default=0)
    hits = []
    for used, line in uses:
        if used.startswith("."):
            prefixes = {used}
        else:
            parts = used.split(".", depth)[:depth]
            prefixes = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
        if prefixes & wanted or (used.startswith(_BACK_DOORS) and _is_one(used, operators)):
            hits.append((used[:100].lstrip("."), line))
    return min(hits, key=lambda hit: hit[1], default=None)


def _is_one(used: str, operators: set[str]) -> bool:
    """Whether a part of ``used`` is one of the operators or a form of it, such as ``_fused_dropout``."""
    words = [part.strip("_").split("_") for part in used.split(".", 8)[1:]]
    starts = {"_".join(part[:n]) for part in words for n in range(1, len(part) + 1)}
    ends = {"_".join(part[n:]) for part in words for n in range(len(part))}
    return bool(operators & (starts | ends))
