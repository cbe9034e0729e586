"""One data folder for all judge tests, so that they share the warm judges that they start."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp.judge.sandbox.tiers import describe
from tests.judge.field import Field

collect_ignore = ["data"]  # exercises for the judge, not tests for pytest
WORKING = [
    report.name for report in describe(Path(tempfile.gettempdir()) / "quizapp-tests-tiers") if report.works
]
# `make test` judges at the best tier that this machine offers, `make test-all` at the lower ones.
BEST, *LOWER = sorted(WORKING, reverse=True)
TIERS = [BEST, *(pytest.param(tier, marks=pytest.mark.exhaustive) for tier in LOWER)]
# Files that need no process of the judge.
WITHOUT_A_JUDGE = (
    *("test_batch", "test_hidden", "test_name_rules"),
    *("test_public_api", "test_submission", "test_transcript"),
    *("test_class_folder", "test_gradebook", "test_similar_code", "test_verdict_log"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what grades, and keep the tests of one file together, so that they share warm judges."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.path.stem not in WITHOUT_A_JUDGE:
            item.add_marker(pytest.mark.judge)
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session")
def judge_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of this session's judges."""
    return tmp_path_factory.mktemp("judge-home")


@pytest.fixture(autouse=True, scope="session")
def home(judge_home: Path) -> Iterator[Path]:
    """QUIZAPP_HOME for the session."""
    before = os.environ.get("QUIZAPP_HOME")
    os.environ["QUIZAPP_HOME"] = str(judge_home)
    yield judge_home
    if before is None:
        os.environ.pop("QUIZAPP_HOME", None)
    else:
        os.environ["QUIZAPP_HOME"] = before


@pytest.fixture(scope="session", params=TIERS)
def field(request: pytest.FixtureRequest, home: Path) -> Iterator[Field]:
    """A judge of each tier that this machine offers, one after the other."""
    # With several processes the tiers come round again, file by file, so each field needs a new folder.
    place = Path(tempfile.mkdtemp(prefix=f"field-{request.param}-", dir=home))
    ready = Field(request.param, place)
    yield ready
    ready.close()
