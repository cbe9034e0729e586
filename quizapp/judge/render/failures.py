"""Sorts the failed behaviors of a verdict: what to read first, and what probably follows from it.

One mistake usually breaks several behaviors. Each message describes what its test saw, so most of them
describe symptoms. The best place to begin is a result that a known mistake produces; without one, it is the
first broken behavior in the order of the stages.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quizapp.judge.verdict import TestResult, Verdict

MEANS = 0
"""The number of a test that is on no list of behaviors: it checks the means that the task allows."""

_NOT_ALLOWED = "not_allowed"  # the name of the results about an exercise's forbidden names
_BLOCKED = re.compile(r"\braised NotAllowed\b")
_UNWRITTEN = re.compile(r"\braised NotImplementedError\b")
_ACCEPTED = re.compile(r"\. Expected [\w. ]+; the call returned ")  # what `Observe.raised` says
_REFERENCE = 76  # characters of a message that is referred to
_ERROR = re.compile(r"\braised (\w+).*\(line (\d+) of ")


@dataclass(frozen=True, slots=True)
class FailureGroups:
    """The numbers of the failed behaviors, each in exactly one group and in the order to show them.

    ``causes`` are to be read in full, the most promising first; later ones are there for a reason of their
    own, such as a bad argument that was accepted. ``unwritten`` still raise NotImplementedError.
    ``consequences`` probably follow from the first cause.
    """

    causes: tuple[int, ...] = ()
    unwritten: tuple[int, ...] = ()
    consequences: tuple[int, ...] = ()


def group_failures(verdict: "Verdict") -> FailureGroups:
    """Group the failed behaviors of a verdict.

    Failures without a message all count as causes, because nothing is known about them.
    """
    failed: dict[int, list[TestResult]] = {}
    for test in verdict.tests:
        if not test.passed:
            failed.setdefault(test.behaviour, []).append(test)
    if not failed:
        return FailureGroups()
    place = {stage.name: index for index, stage in enumerate(verdict.stages)}
    in_order = sorted(failed, key=lambda n: (n == MEANS, place.get(failed[n][0].stage, 0), n))
    messages = {number: messages_of(tests) for number, tests in failed.items()}
    not_allowed = [n for n in in_order if any(test.name == _NOT_ALLOWED for test in failed[n])]
    blocked = [n for n in in_order if not_allowed and n not in not_allowed and _all(_BLOCKED, messages[n])]
    unwritten = [n for n in in_order if _all(_UNWRITTEN, messages[n])]
    real = [n for n in in_order if n not in (*not_allowed, *blocked, *unwritten)]
    # `min` is stable: among equals, the first in the order of the stages.
    first = min(
        real or not_allowed or unwritten, key=lambda n: not any(test.recognized for test in failed[n])
    )
    error = _errors(messages[first])

    def has_own_reason(number: int) -> bool:
        if error & _errors(messages[number]):
            return False
        return number == MEANS or not messages[number] or _all(_ACCEPTED, messages[number])

    own = [n for n in in_order if n in not_allowed or (n in real and has_own_reason(n))]
    causes = (first, *(n for n in own if n != first))
    later = tuple(n for n in unwritten if n != first)
    return FailureGroups(causes, later, tuple(n for n in in_order if n not in (*causes, *later)))


class MessagesOnPage:
    """Gives each message of a page once and in full; later it refers to the place above."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def show(self, messages: Sequence[str], *, every_message: bool) -> list[str]:
        """What to show of a behavior's messages: those that are new on the page, or only the first of them.

        Where all of them stand above, it is a reference, so that no failed behavior is without a reason.
        """
        new = [message for message in messages if message not in self._shown]
        if messages and not new:
            return [f"See above: {textwrap.shorten(messages[0], _REFERENCE, placeholder=' …')}"]
        new = new if every_message else new[:1]
        self._shown.update(new)
        return new


def messages_of(tests: "Sequence[TestResult]") -> list[str]:
    """The messages of those of ``tests`` that failed, without repetitions; recognized mistakes come first."""
    failed = [test for test in tests if not test.passed and test.message]
    return list(dict.fromkeys(test.message for test in sorted(failed, key=lambda test: not test.recognized)))


def _all(pattern: re.Pattern[str], messages: Sequence[str]) -> bool:
    return bool(messages) and all(pattern.search(message) for message in messages)


def _errors(messages: Sequence[str]) -> set[tuple[str, str]]:
    """The type and the line of each exception that the messages quote."""
    return {error for message in messages for error in _ERROR.findall(message)}
