"""The line at the top of a screen: a title at the left, facts at the right."""

from textual.content import Content
from textual.widgets import Static


class HeadLine(Static):
    """Draws again only what has changed, because some screens update it several times a second."""

    _shown: Content | None = None

    def show(self, title: str, facts: str, width: int) -> None:
        """Show a title, which is cut where there is no room, and facts, in ``width`` cells."""
        left = Content.styled(title, "bold $primary")
        left = left.truncate(max(8, width - len(facts) - 2), ellipsis=True)
        gap = " " * max(1, width - left.cell_length - len(facts))
        head = left.append(Content.styled(gap + facts, "$text-muted"))
        if self._shown is None or not head.is_same(self._shown):
            self._shown = head
            self.update(head)
