"""How well the learner knows each card when a paper is made."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

FRESH_HOURS = 48.0
BAND = (0.60, 0.95)  # retrievability at which asking a card tells the most


@dataclass(frozen=True, slots=True)
class CardKnowledge:
    """The state of a card: its retrievability now (0 to 1), and the hours since its last review."""

    recall: float
    hours: float
    suspended: bool = False

    @property
    def fresh(self) -> bool:
        """Whether it was seen so recently that asking it would only measure the last study session."""
        return self.hours < FRESH_HOURS

    @property
    def in_band(self) -> bool:
        """Whether asking it is most informative: neither almost forgotten nor certain."""
        return BAND[0] <= self.recall <= BAND[1]


Knowledge = Mapping[str, CardKnowledge]
"""Maps card ids to states. A card without an entry was never reviewed."""


def knowledge(study: "Study") -> dict[str, CardKnowledge]:
    """Return the state of all cards that were seen or suspended."""
    now = study.now()
    cards = {}
    for row in study.cards():
        if row.state:
            hours = max(0.0, (now.time - row.last) / 3_600_000)
            cards[row.card] = CardKnowledge(study.recall_of(row, now), hours, bool(row.suspended))
        elif row.suspended:
            # It was suspended before its first review, so it is never fresh.
            cards[row.card] = CardKnowledge(0.0, 1e9, suspended=True)
    return cards


def variants_seen(study: "Study") -> frozenset[str]:
    """Return the ids of the incidents that the learner opened in finished interviews."""
    return frozenset(
        item["question"]["id"]
        for mock in study.mocks("done")
        for item in mock.document["items"]
        if item["kind"] == "incident" and item["opened_ms"] is not None
    )


def times_asked(study: "Study") -> Counter[str]:
    """Return how often each card was asked in finished interviews."""
    return Counter(
        item["card"]
        for mock in study.mocks("done")
        for item in mock.document["items"]
        if item["opened_ms"] is not None
    )
