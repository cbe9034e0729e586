"""Stylesheets parsed once for all apps of a test process."""

from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[Any, list[RuleSet]] = {}


def _parse_once(
    self: Stylesheet,
    css: str,
    read_from: Any,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    text = (css, read_from, is_default_rules, tie_breaker, scope)
    # The colors of a theme are variables, so the rules of one theme are not those of another.
    key = (*text, *self._variables.items())
    if key not in _parsed:
        _parsed[key] = _parse(self, *text)
    return _parsed[key]


def share() -> None:
    """Parse each stylesheet once per process: with an app per test it would take a tenth of the time."""
    Stylesheet._parse_rules = _parse_once  # type: ignore[method-assign]
