"""What every test shares: a data folder of its own, so that no test touches a person's data."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh QUIZAPP_HOME."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("QUIZAPP_HOME", str(folder))
    return folder
