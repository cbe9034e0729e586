"""What every test shares: a data folder of its own, so that no test touches a person's data."""

import os
import shutil
from pathlib import Path

import pytest

# One test process per core: more threads of torch would only wait for each other, which doubles the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def filled_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder that a first start leaves: the compiled bank and the isolation tiers that work.

    Without it every test that starts the program would compile all questions, for seconds of CPU time.
    """
    from quizapp.bank.loader import load_bank
    from quizapp.judge.sandbox.tiers import describe

    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUIZAPP_HOME", str(folder))
        load_bank()
        describe(folder / "cache")
    return folder / "cache"


@pytest.fixture(autouse=True)
def home(
    tmp_path_factory: pytest.TempPathFactory, filled_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A fresh QUIZAPP_HOME."""
    folder = tmp_path_factory.mktemp("home")
    # Links cost nothing, and the program replaces its cache files whole, so no test can change another's.
    shutil.copytree(filled_cache, folder / "cache", copy_function=os.link)
    monkeypatch.setenv("QUIZAPP_HOME", str(folder))
    return folder
