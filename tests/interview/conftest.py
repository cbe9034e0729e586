"""What the tests of interviews share."""

import pytest

from tests.tui.waiting import keep_notices


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A modern terminal, whatever the machine's own is."""
    for name in ("NO_COLOR", "QUIZAPP_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(autouse=True)
def lasting_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notices that stay until they are read."""
    keep_notices(monkeypatch)
