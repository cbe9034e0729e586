"""Progress by topic: a list with a cursor, below a line that says what the parts of the bars mean."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from quizapp.tui.widgets.meter import REST, meter
from quizapp.tui.widgets.row_list import RowList
from quizapp.util.sanitize import one_line

if TYPE_CHECKING:
    from quizapp.scheduling.views import TopicProgress

_LEARNED, _LEARNING, _NEW = "█", "▒", "░"


class TopicList(RowList):
    """A line per topic with questions. The cursor is shown while ``choosing``."""

    def __init__(self) -> None:
        super().__init__()
        self.topics: Sequence[TopicProgress] = ()
        self.choosing = False

    def show(self, topics: "Sequence[TopicProgress]") -> None:
        """Show the topics that have questions."""
        self.topics = [topic for topic in topics if topic.total]
        self.keep_cursor()
        self.changed()

    def choose(self, choosing: bool) -> None:
        """Show the cursor at the first topic, or hide it."""
        self.choosing, self.cursor = choosing, 0
        self.changed()

    @property
    def current(self) -> "TopicProgress | None":
        """The topic under the cursor."""
        return self.topics[self.cursor] if self.topics else None

    def count(self) -> int:
        """How many topics there are."""
        return len(self.topics)

    def heading(self, place: int, width: int) -> list[Content]:
        """The legend, above the first topic."""
        if place:
            return []
        total = sum(topic.total for topic in self.topics)
        learned, seen = (sum(getattr(topic, what) for topic in self.topics) for what in ("learned", "seen"))
        parts = (
            (_LEARNED, "$success", f"{learned} learned"),
            (_LEARNING, "$accent", f"{seen - learned} learning"),
            (_NEW, REST, f"{total - seen} not seen yet"),
        )
        legend = Content("   ").join(
            Content.assemble("  ", (mark, style), (f" {text}", "$text-muted")) for mark, style, text in parts
        )
        return [legend.truncate(width, ellipsis=True)]

    def row(self, place: int, width: int) -> list[Content]:
        """Name, bar, learned of all cards, due cards, and whether the topic is weak."""
        topic = self.topics[place]
        here = self.choosing and place == self.cursor
        longest = max(len(other.name) for other in self.topics)
        name_width = min(34, longest, max(16, width - 32))
        bar = max(6, min(60, width - name_width - 26))
        name = one_line(topic.name)
        if len(name) > name_width:
            name = name[: name_width - 1] + "…"
        shares = (
            (topic.learned / topic.total, "$warning" if topic.weak else "$success", _LEARNED),
            ((topic.seen - topic.learned) / topic.total, "$accent", _LEARNING),
        )
        line = Content.assemble(
            ("▸ " if here else "  ", "$primary bold"),
            (f"{name:<{name_width}}", "bold" if here else ""),
            "  ",
            meter(shares, bar, _NEW),
            standing(topic),
        )
        return [line.append(Content.styled("  weak" if topic.weak else "", "$warning"))]

    def lines(self, width: int) -> list[Content]:
        """All topics, or a sign that they are still being read."""
        return super().lines(width) if self.topics else [Content.styled("…", "$text-muted")]


def standing(topic: "TopicProgress") -> Content:
    """Learned of all cards of a topic, and how many are due."""
    due = Content.styled(f"  {topic.due} due" if topic.due else "", "$accent")
    return Content(f"  {topic.learned:>3}/{topic.total:<3}").append(due)
