"""What the tests of interviews share."""

from typing import Any

import pytest
from textual.app import App


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A modern terminal, whatever the machine's own is."""
    for name in ("NO_COLOR", "QUIZAPP_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(autouse=True)
def lasting_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notices that stay: on a busy machine one would be gone before the test reads it."""
    notify = App.notify

    def notify_for_an_hour(app: App[None], message: str, **options: Any) -> None:
        notify(app, message, **options | {"timeout": 3600.0})

    monkeypatch.setattr(App, "notify", notify_for_an_hour)
