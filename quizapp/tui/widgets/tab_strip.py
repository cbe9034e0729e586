"""A line of names for panes or pages: the one in front stands out, and a click goes to another."""

from collections.abc import Callable, Sequence
from typing import Any

from textual.content import Content
from textual.widgets import Static

from quizapp.tui.rendering.text import link


class TabStrip(Static):
    """Set by its screen, which names the action of each tab."""

    auto_links = False

    def __init__(self, **options: Any) -> None:
        super().__init__("", markup=False, **options)

    def show(self, names: Sequence[str], current: int, action: Callable[[int], str]) -> None:
        """Show the tabs; ``action`` gives what a click on a tab runs."""
        tabs = [tab(name, action(index), current=index == current) for index, name in enumerate(names)]
        self.update(Content(" ").join(tabs))


def tab(name: str, action: str, *, current: bool) -> Content:
    """One tab, also for a head line that holds other things as well."""
    return link(f" {name} ", action, "bold reverse $primary" if current else "$text-muted")
