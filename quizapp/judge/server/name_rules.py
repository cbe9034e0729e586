"""Finds the names that an exercise forbids in a submission's source, without running it.

A submission may consist of any 256 KiB, so time and memory must grow only linearly with its length. That is
why names are cut at `MAX_NAME`, and why nothing is stored per prefix of a name or per pair of an object and
a method.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from quizapp.bank.model import Forbidden
from quizapp.judge.verdict import TestResult

MAX_NAME = 300
"""Characters of a dotted name that are compared. torch's longest public name is less than a third of that."""

# Where torch offers its public functions, and where it keeps the private ones that they call.
_PUBLIC_PLACES = ("", "torch", "torch.nn.functional", "torch.special")
_PRIVATE_PLACES = ("torch._", "torch.ops.")

_AFTER_NAME = re.compile(r"[^\w.].*", re.DOTALL)
# The parts of a dotted name among which a forbidden module is looked for, which is more than any name has.
_MOST_PARTS = 8

NameUse = tuple[str, int]
"""A dotted name and the line that uses it."""


def check_names(rules: Sequence[Forbidden], source: bytes) -> list[TestResult]:
    """Check a submission against an exercise's rules on forbidden names. Returns one result per rule."""
    if not rules:
        return []
    try:
        uses = list(used_names(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Python has run this code, so it is valid. But `ast` gives up on nesting that Python still accepts,
        # and the parser's memory grows with the square of the length of a dotted module name.
        text = "Your module is nested too deeply or too large to check it for names that are not allowed."
        return [TestResult("not_allowed", rule.behaviour, passed=False, message=text) for rule in rules]
    results = []
    for rule in rules:
        use = first_forbidden(uses, rule.names)
        message = f"{rule.says} ({use[0]}, line {use[1]})" if use else ""
        results.append(TestResult("not_allowed", rule.behaviour, use is None, message))
    return results


def used_names(source: str | bytes) -> Iterator[NameUse]:
    """Every dotted name that ``source`` refers to, imports resolved, with its line.

    An attribute of an unknown object is reported as ``.name``. Names given as constant strings to
    ``getattr``, ``__import__`` and ``import_module`` are included. Not included are comments, docstrings, and
    names that the source defines itself (a variable ``adapters``, ``self._scale`` in one of its classes).
    Bytes are decoded as Python does. Raises what `ast.parse` raises.
    """
    nodes = list(ast.walk(ast.parse(source)))
    aliases: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                full = name.name[:MAX_NAME]
                top = name.name.split(".", 1)[0]
                yield full, node.lineno
                aliases[name.asname or top] = full if name.asname else top[:MAX_NAME]
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "")[:MAX_NAME]
            for name in node.names:
                full = f"{module}.{name.name}"[:MAX_NAME]
                aliases[name.asname or name.name] = full
                yield full, node.lineno
                yield f".{name.name}"[:MAX_NAME], node.lineno
    own_names = _own_names(nodes) - aliases.keys()
    members = _OwnMembers(nodes)
    # For `a.b.c`, report only the full name. Reporting every prefix would be quadratic in the length of the
    # chain, and a rule on a prefix matches the full name too.
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            if id(node) not in inner and _root(node) not in own_names and (dotted := _dotted(node, aliases)):
                yield dotted, node.lineno
            if not members.has(_holder(node.value), node.attr):
                yield f".{node.attr}"[:MAX_NAME], node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own_names:
            yield aliases.get(node.id, node.id)[:MAX_NAME], node.lineno
        elif isinstance(node, ast.Call):
            yield from _names_in_strings(node, aliases)


def _own_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that the source binds itself; none if a call imports modules, since a name may then be one."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == "__import__":
            return set()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif "import_module" in (getattr(node, "attr", ""), getattr(node, "name", "")):
            return set()
    return names - set(dir(builtins))


class _OwnMembers:
    """The attributes that the source defines itself: what it sets on self, and the methods of its classes.

    A method counts as defined on the class, on a call of the class, and on a name or an attribute of self
    that is bound only once, to such a call.
    """

    def __init__(self, nodes: Sequence[ast.AST]):
        self._members: set[tuple[str, str]] = set()
        self._methods: dict[str, set[str]] = {}
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    self._members.add(("self", node.attr))
            elif isinstance(node, ast.ClassDef):
                names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                self._methods[node.name] = names
                for place in ("self", "cls", node.name, f"{node.name}()"):
                    self._members |= {(place, name) for name in names}
        self._class_of = dict(_instances(nodes))

    def has(self, holder: str | None, attribute: str) -> bool:
        """Whether the source defines ``attribute`` of ``holder``, which is written as `_holder` does."""
        if holder is None:
            return False
        if (holder, attribute) in self._members:
            return True
        return attribute in self._methods.get(self._class_of.get(holder, ""), ())


def _instances(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield names and attributes of self that are bound only once, to a call, with the called name."""
    bound: Counter[str | None] = Counter()
    called_for: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            bound[_holder(node)] += 1
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                holder, called = _holder(target), _holder(node.value.func)
                if holder and called:
                    called_for[holder] = called
    yield from ((holder, called) for holder, called in called_for.items() if bound[holder] == 1)


def _holder(node: ast.expr) -> str | None:
    """A key for a name, an attribute of self or a call of a name; None for anything else."""
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
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])[:MAX_NAME]


def _names_in_strings(node: ast.Call, aliases: dict[str, str]) -> Iterator[NameUse]:
    """Yield the names that a call looks up or imports by a constant string."""
    called = _dotted(node.func, aliases) if isinstance(node.func, ast.Name | ast.Attribute) else None
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if not texts:
        return
    name = texts[0][:MAX_NAME]
    if called in ("getattr", "builtins.getattr", "operator.attrgetter"):
        yield f".{name}", node.lineno
        if holder := _dotted(node.args[0], aliases):
            yield f"{holder}.{name}"[:MAX_NAME], node.lineno
    elif called in ("__import__", "builtins.__import__", "importlib.import_module"):
        yield name, node.lineno


def first_forbidden(uses: Iterable[NameUse], names: Iterable[str]) -> NameUse | None:
    """The use of a forbidden name with the lowest line, or None.

    ``torch.optim.Adam`` also forbids everything below it. ``.nan_to_num`` forbids the attribute on any
    object. ``struct`` forbids that module or variable, also as a part of another module, such as
    ``zipfile.struct``. ``torch.dropout`` and ``.dropout`` also forbid the private
    functions and operators that they call, such as ``torch._VF.dropout``.
    """
    wanted = set(names)
    places = [(place, name.strip("_")) for place, dot, name in (n.rpartition(".") for n in wanted) if dot]
    operators = {name for place, name in places if place in _PUBLIC_PLACES}
    modules = {name for name in wanted if "." not in name}
    depth = max((name.count(".") + 1 for name in wanted), default=0)
    hits = []
    for used, line in uses:
        if used.startswith("."):
            prefixes = {used}
        else:
            parts = used.split(".", depth)[:depth]
            prefixes = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
            prefixes |= modules.intersection(used.split(".", _MOST_PARTS)[:_MOST_PARTS])
        if prefixes & wanted or (used.startswith(_PRIVATE_PLACES) and _uses_operator(used, operators)):
            # A text that the source gives to `getattr` may go on with more than a name.
            hits.append((_AFTER_NAME.sub("", used.lstrip("."))[:100], line))
    return min(hits, key=lambda hit: hit[1], default=None)


def _uses_operator(used: str, operators: set[str]) -> bool:
    """Whether a part of ``used`` is one of the operators or a variant such as ``_fused_dropout``."""
    parts = [part.strip("_") for part in used.split(".", 8)[1:]]
    return any(
        part == operator or part.startswith(f"{operator}_") or part.endswith(f"_{operator}")
        for part in parts
        for operator in operators
    )
