"""The events of the log; once written they never change."""

import json
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple


class EventType(StrEnum):
    """The kinds of events. The values are stored, so they must stay as they are."""

    ANSWER = "answer"
    UNDO = "undo"
    BURY = "bury"
    SUSPEND = "suspend"
    UNSUSPEND = "unsuspend"
    FLAG = "flag"
    UNFLAG = "unflag"
    EDIT_SEEN = "edit_seen"
    VERDICT = "verdict"
    MOCK_MARK = "mock_mark"
    CODE_REVIEW = "code_review"
    DEBUGGING = "debugging"
    SETTINGS = "settings"
    """New weights of FSRS-6. Every program that ever wrote a log knows this type."""
    MODEL = "model"
    """The memory model and its weights from now on. An older program skips it and stays with FSRS-6."""
    RECALL = "recall"
    """The card comes first in the queue of the next study day. Not a review."""
    CREDIT = "credit"
    """The card is not asked before the next study day. Not a review."""
    RENAME = "rename"
    """The history of ``target`` belongs to ``card`` from now on."""


TYPES = frozenset(EventType)
# The events that one "undo" takes back, together with the events that have them as parent.
ACTS = (
    EventType.ANSWER,
    EventType.BURY,
    EventType.SUSPEND,
    EventType.UNSUSPEND,
    EventType.FLAG,
    EventType.UNFLAG,
    EventType.EDIT_SEEN,
    EventType.VERDICT,
    EventType.MOCK_MARK,
    EventType.CODE_REVIEW,
    EventType.DEBUGGING,
)


class Moment(NamedTuple):
    """A point in time as the log keeps it.

    ``time``: UTC in milliseconds since 1970; ``offset``: local time minus UTC in seconds;
    ``day``: the learner's study day as a proleptic ordinal (``date.toordinal``).
    """

    time: int
    offset: int
    day: int


class Event(NamedTuple):
    """One row of the log, in the order of its columns.

    A named tuple instead of a dataclass, because a rebuild makes hundreds of thousands straight from rows.
    ``type`` is plain text for the same reason; it compares equal to its ``EventType``.

    ``stamp`` orders the events of all devices. It is the time, but always later than any event in the log
    when it was written, so that a clock set back cannot reorder history. ``ms`` is the answering time in
    milliseconds and ``interval`` the wait in seconds that the button promised. ``ticks`` and ``data`` are
    JSON.
    """

    seq: int
    id: str
    device: str
    device_seq: int
    stamp: int
    time: int
    offset: int
    day: int
    type: str
    card: str
    content: str
    proposed: int | None
    rating: int | None
    ms: int
    hints: int
    ticks: str
    seed: int | None
    confidence: int | None
    model: str
    source: str
    interval: int | None
    target: str
    parent: str
    data: str

    @property
    def details(self) -> dict[str, Any]:
        """The JSON of ``data``; empty where there is none."""
        loaded: dict[str, Any] = json.loads(self.data) if self.data else {}
        return loaded


COLUMNS = ", ".join(Event._fields)


class Draft(NamedTuple):
    """An event that has no place in the log yet; fields as in ``Event``."""

    type: EventType
    moment: Moment
    card: str = ""
    content: str = ""
    proposed: int | None = None
    rating: int | None = None
    ms: int = 0
    hints: int = 0
    ticks: Sequence[int] = ()
    seed: int | None = None
    confidence: int | None = None
    model: str = ""
    source: str = ""
    interval: int | None = None
    target: str = ""
    parent: str = ""
    data: Mapping[str, object] | None = None
    id: str = ""

    def placed(self, seq: int, device: str, device_seq: int, stamp: int) -> Event:
        """The event at its place in the log."""
        return Event(
            seq,
            self.id or new_id(),
            device,
            device_seq,
            stamp,
            *self.moment,
            EventType(self.type).value,
            self.card,
            self.content,
            self.proposed,
            self.rating,
            self.ms,
            self.hints,
            compact(list(self.ticks)) if self.ticks else "",
            self.seed,
            self.confidence,
            self.model,
            self.source,
            self.interval,
            self.target,
            self.parent,
            compact(self.data) if self.data else "",
        )


def new_id() -> str:
    """A random id of 128 bits, unique across devices."""
    return os.urandom(16).hex()


def compact(value: object) -> str:
    """JSON with sorted keys and no spaces: the same value is always the same text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
