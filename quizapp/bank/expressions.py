"""A safe evaluator for the formulas of numeric questions, and templates that hold them."""

import ast
import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from quizapp.bank.model import Value
from quizapp.util.text import number_text

MAX_LENGTH = 400
_MAX_EXPONENT = 400
_BRACE = re.compile(r"\{\{|\}\}|[{}]")

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("floor", "ceil", "sqrt", "exp", "log", "log2", "log10")},
    **{name: getattr(math, name) for name in ("sin", "cos", "tanh", "gcd", "comb")},
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}


class ExpressionError(ValueError):
    """A formula that cannot be parsed, uses something unknown, or has no value."""


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the formula is longer than {MAX_LENGTH} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is no valid formula") from None


def evaluate(text: str, names: Mapping[str, Value]) -> Any:
    """The value of the formula ``text``; raises `ExpressionError` with the reason where it has none."""
    try:
        return _evaluate(_parse(text), names)
    except ExpressionError:
        raise
    except ZeroDivisionError:
        raise ExpressionError(f"{text!r} divides by zero for {_listing(names)}") from None
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        raise ExpressionError(f"{text!r} has no value for {_listing(names)}: {error}") from None


def _listing(names: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={value}" for name, value in names.items())


def _evaluate(node: ast.expr, names: Mapping[str, Value]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in names or name in CONSTANTS:
            return names[name] if name in names else CONSTANTS[name]
        case ast.Name(id=name):
            raise ExpressionError(f"the name '{name}' is unknown; define it under values or let")
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_evaluate(left, names), _evaluate(right, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _arithmetic(_BINARY[type(op)], _evaluate(left, names), _evaluate(right, names))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_evaluate(operand, names))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*[_evaluate(arg, names) for arg in args])
        case ast.BoolOp() | ast.IfExp() | ast.Compare():
            return _logic(node, names)
    raise ExpressionError(f"'{ast.unparse(node)}' is not allowed in a formula")


def _logic(node: ast.BoolOp | ast.IfExp | ast.Compare, names: Mapping[str, Value]) -> Any:
    if isinstance(node, ast.IfExp):
        return _evaluate(node.body if _evaluate(node.test, names) else node.orelse, names)
    if isinstance(node, ast.BoolOp):
        results = (_evaluate(value, names) for value in node.values)
        return all(results) if isinstance(node.op, ast.And) else any(results)
    return _comparison(_evaluate(node.left, names), node.ops, [_evaluate(c, names) for c in node.comparators])


def _arithmetic(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise ExpressionError("a text takes part in comparisons only")
    return function(left, right)


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > _MAX_EXPONENT:
        raise ExpressionError(f"the exponent {exponent} is too large")
    return _arithmetic(operator.pow, base, exponent)


def _comparison(left: Any, ops: list[ast.cmpop], values: list[Any]) -> bool:
    for op, right in zip(ops, values, strict=True):
        if type(op) not in _COMPARE:
            raise ExpressionError("only == != < <= > >= compare in a formula")
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True


def render(template: str, names: Mapping[str, Value]) -> str:
    """``template`` with ``{expression}`` and ``{expression:format}`` replaced; ``{{`` is a literal brace."""
    return "".join(_field(text, names) if field else text for field, text in _pieces(template))


@functools.lru_cache(maxsize=1024)
def _pieces(template: str) -> tuple[tuple[bool, str], ...]:
    """The parts of a template: fields and literal text."""
    out: list[tuple[bool, str]] = []
    position = 0
    while match := _BRACE.search(template, position):
        out.append((False, template[position : match.start()]))
        position = match.end()
        if len(match[0]) == 2:
            out.append((False, match[0][0]))
        elif match[0] == "}":
            raise ExpressionError("a '}' has no '{'; write '}}' for a literal brace")
        else:
            end = template.find("}", position)
            if end < 0:
                raise ExpressionError("a '{' is never closed; write '{{' for a literal brace")
            out.append((True, template[position:end]))
            position = end + 1
    return (*out, (False, template[position:]))


def _field(text: str, names: Mapping[str, Value]) -> str:
    expression, _, spec = text.rpartition(":") if ":" in text else (text, "", "")
    value = evaluate(expression, names)
    if not spec:
        return number_text(value)
    try:
        return format(value, spec)
    except (ValueError, TypeError):
        raise ExpressionError(f"the format '{spec}' does not fit in '{{{text}}}'") from None
