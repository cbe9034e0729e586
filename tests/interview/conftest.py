"""What the tests of interviews share."""

import pytest
from textual.notifications import Notification


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A modern terminal, whatever the machine's own is."""
    for name in ("NO_COLOR", "QUIZAPP_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(autouse=True)
def lasting_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notices that never expire: on a busy machine one would be gone before the test reads it."""
    monkeypatch.setattr(Notification, "has_expired", False)
