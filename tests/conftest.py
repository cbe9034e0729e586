"""What every test shares: a data folder of its own, so that no test touches a person's data."""

import fcntl
import gc
import importlib.util
import os
import re
import secrets
import shutil
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from quizapp.util.installation import PartMissing
from tests import stylesheets

# One test process per core: more threads of torch would only wait for each other, which doubles the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A test process holds torch, Textual and the bank, and walking them again for each 700 new objects takes a
# tenth of its time.
gc.set_threshold(50_000, 20, 100)
stylesheets.share()


if importlib.util.find_spec("torch") is None:

    def _skipped_without_torch() -> Generator[None, object, object]:
        """Skip a test where it asks for torch, so that an environment without it can run all others."""
        try:
            return (yield)
        except (PartMissing, ModuleNotFoundError) as error:
            if "torch" not in str(error):
                raise
            pytest.skip("torch is not installed")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup() -> Generator[None, object, object]:
        """Skip a test whose fixtures need torch."""
        return (yield from _skipped_without_torch())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call() -> Generator[None, object, object]:
        """Skip a test that needs torch."""
        return (yield from _skipped_without_torch())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Name failed tests for `--last-failed` as one process does: `--dist loadgroup` appends their group."""
    cache = session.config.cache
    if cache is not None and not hasattr(session.config, "workerinput"):
        failed = cache.get("cache/lastfailed", {})
        cache.set("cache/lastfailed", {re.sub(r"@\w+$", "", name): known for name, known in failed.items()})


@pytest.fixture(scope="session")
def filled_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder that a first start leaves: the compiled bank and the isolation tiers that work.

    Without it every test that starts the program would compile all questions, for seconds of CPU time. The
    first test process fills it for all.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "filled"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _fill_cache(folder)
            (folder / "complete").touch()
    return folder / "cache"


def _fill_cache(folder: Path) -> None:
    from quizapp.bank.loader import load_bank
    from quizapp.judge.sandbox.tiers import describe

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUIZAPP_HOME", str(folder))
        load_bank()
        describe(folder / "cache")


@pytest.fixture(autouse=True)
def home(
    tmp_path_factory: pytest.TempPathFactory, filled_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A fresh QUIZAPP_HOME."""
    folder = tmp_path_factory.mktemp("home")
    # Links cost nothing, and the program replaces its cache files whole. A test that changes one must do the
    # same: writing into it would change it for all tests.
    shutil.copytree(filled_cache, folder / "cache", copy_function=os.link)
    monkeypatch.setenv("QUIZAPP_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def warm_judge_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The key of a judge that stays warm for all tests of this process that ask for it."""
    from quizapp.judge.client.process import end_judge, start_judge
    from quizapp.judge.protocol import discovery

    key = f"tests-{secrets.token_hex(8)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUIZAPP_HOME", str(tmp_path_factory.mktemp("warm-judge")))
        process, sock = start_judge(socket_key=key)
    with sock:
        deadline = time.monotonic() + 60
        while (found := discovery.connect_running(key)) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if found is not None:
            found.close()
        yield key
    end_judge(process)


@pytest.fixture
def warm_judge(warm_judge_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever looks for this user's warm judge finds one, as if the app were open."""
    from quizapp.judge.protocol import discovery

    monkeypatch.setattr(discovery, "socket_key", lambda: warm_judge_key)
