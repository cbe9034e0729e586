"""A line of tabs for panes or pages; the current one stands out, and a click goes to another."""

from collections.abc import Callable, Sequence
from typing import Any

from textual.content import Content
from textual.widgets import Static

from quizapp.tui.rendering.text import link


class TabStrip(Static):
    """A line of tabs; the screen sets their names and actions."""

    auto_links = False

    def __init__(self, **options: Any) -> None:
        super().__init__("", markup=False, **options)

    def show(self, names: Sequence[str], current: int, action: Callable[[int], str]) -> None:
        """Show the tabs; ``action`` maps the index of a tab to the action of a click on it."""
        tabs = [tab(name, action(index), current=index == current) for index, name in enumerate(names)]
        self.update(Content(" ").join(tabs))


def tab(name: str, action: str, *, current: bool) -> Content:
    """One tab, for use in other lines too."""
    return link(f" {name} ", action, "bold reverse $primary" if current else "$text-muted")
