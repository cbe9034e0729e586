"""A safe evaluator for the formulas of numeric questions, and for templates that contain formulas.

Anyone can write a deck, so everything that could run long or grow large is bounded: the length and depth of
a formula, the size of every whole number, and the width of a format.
"""

import ast
import functools
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping

from quizapp.bank.model import Number, Value
from quizapp.errors import ContentError
from quizapp.util.text import number_text

MAX_LENGTH = 400
MAX_DEPTH = 40
MAX_BITS = 1000  # a whole number of 300 digits; it still fits into a float
MAX_FIELDS = 100
MAX_RENDERED = 100_000
_BRACE = re.compile(r"\{\{|\}\}|[{}]")
_FORMAT = re.compile(r"(?:[^{}]?[<>=^])?[-+ ]?#?0?\d{0,2}[,_]?(?:\.\d{1,2})?[a-zA-Z%]?")


class ExpressionError(ContentError):
    """A formula that cannot be parsed, uses something unknown, or has no value."""


_ARITHMETIC: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _comb(n: int, k: int) -> int:
    """``math.comb``, except that it raises instead of computing a number that is too large."""
    fewer = min(k, n - k)
    # comb(n, k) is at least (n / k) ** k.
    if fewer > 0 and fewer * math.log2(n / fewer) > MAX_BITS:
        raise ExpressionError(f"comb({n}, {k}) is too large")
    return math.comb(n, k)


def _round(number: Number, digits: int = 0) -> Number:
    """``round`` with a bounded number of digits: ``round(1, -10**9)`` would compute ``10**10**9``."""
    if not -MAX_BITS <= digits <= MAX_BITS:
        raise ExpressionError(f"{digits} digits are too many to round to")
    return round(number, digits) if digits else round(number)


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "gcd": math.gcd,
    "comb": _comb,
    "abs": abs,
    "min": min,
    "max": max,
    "round": _round,
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the formula is longer than {MAX_LENGTH} characters")
    try:
        with warnings.catch_warnings(action="ignore"):  # an escape such as '\\d' only warns
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is not a valid formula") from None
    # Go down level by level: recursion could overflow before the limit is noticed.
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise ExpressionError(f"the formula is nested more than {MAX_DEPTH} levels deep")


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """Compute the formula ``text`` with the values in ``names``.

    Raises `ExpressionError`, which gives the reason, if the formula is invalid or has no value.
    """
    try:
        return _evaluate(_parse(text), names)
    except ExpressionError:
        raise
    except ZeroDivisionError:
        raise ExpressionError(f"{text!r} divides by zero for {_listing(names)}") from None
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        raise ExpressionError(f"{text!r} has no value for {_listing(names)}: {error}") from None


def _listing(names: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={value}" for name, value in names.items())[:200]


def _evaluate(node: ast.expr, names: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=str() as value):
            return value
        case ast.Constant(value=bool() | int() | float() as value):
            return _bounded(value)
        case ast.Name(id=name) if name in names or name in CONSTANTS:
            return names[name] if name in names else CONSTANTS[name]
        case ast.Name(id=name):
            raise ExpressionError(f"the name '{name}' is unknown; define it under values or let")
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_number(left, names), _number(right, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _bounded(_ARITHMETIC[type(op)](_number(left, names), _number(right, names)))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_number(operand, names))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return _bounded(FUNCTIONS[name](*[_number(arg, names) for arg in args]))
        case ast.BoolOp() | ast.IfExp() | ast.Compare():
            return _logic(node, names)
    raise ExpressionError(f"'{ast.unparse(node)}' is not allowed in a formula")


def _number(node: ast.expr, names: Mapping[str, Value]) -> Number:
    value = _evaluate(node, names)
    if isinstance(value, str):
        raise ExpressionError("a text can only be compared, not computed with")
    return value


def _bounded(value: object) -> Number:
    if not isinstance(value, int | float):
        raise ExpressionError("the result is not a real number")  # such as the root of a negative number
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError("a whole number gets longer than 300 digits")
    return value


def _power(base: Number, exponent: Number) -> Number:
    whole = isinstance(base, int) and isinstance(exponent, int)
    # Check before computing, since a tower such as 9**9**9 would never return.
    if whole and exponent * (int(base).bit_length() - 1) > MAX_BITS:
        raise ExpressionError(f"the exponent {number_text(exponent)} is too large")
    return _bounded(base**exponent)


def _logic(node: ast.BoolOp | ast.IfExp | ast.Compare, names: Mapping[str, Value]) -> Value:
    if isinstance(node, ast.IfExp):
        return _evaluate(node.body if _evaluate(node.test, names) else node.orelse, names)
    if isinstance(node, ast.BoolOp):
        results = (_evaluate(value, names) for value in node.values)
        return all(results) if isinstance(node.op, ast.And) else any(results)
    left = _evaluate(node.left, names)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        if type(op) not in _COMPARE:
            raise ExpressionError("only == != < <= > >= compare in a formula")
        right = _evaluate(comparator, names)
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True


def render(template: str, names: Mapping[str, Value]) -> str:
    """Fill in the fields ``{expression}`` and ``{expression:format}``; ``{{`` is a literal brace.

    Raises `ExpressionError` if a formula or a format is not valid.
    """
    text = "".join(_field(text, names) if field else text for field, text in _pieces(template))
    if len(text) > MAX_RENDERED:
        raise ExpressionError(f"a text gets longer than {MAX_RENDERED:,} characters")
    return text


@functools.lru_cache(maxsize=1024)
def _pieces(template: str) -> tuple[tuple[bool, str], ...]:
    """Split a template into pairs: whether the part is a field, and its text."""
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
    if sum(field for field, _ in out) > MAX_FIELDS:
        raise ExpressionError(f"a text has more than {MAX_FIELDS} fields in braces")
    return (*out, (False, template[position:]))


def _field(text: str, names: Mapping[str, Value]) -> str:
    expression, _, spec = text.rpartition(":") if ":" in text else (text, "", "")
    value = evaluate(expression, names)
    if not spec:
        return number_text(value)
    try:
        # The pattern allows two digits: a width or a precision of a billion would fill the memory.
        if _FORMAT.fullmatch(spec):
            return format(value, spec)
    except (ValueError, TypeError, OverflowError):
        pass
    raise ExpressionError(f"the format '{spec}' does not fit in '{{{text}}}'")
