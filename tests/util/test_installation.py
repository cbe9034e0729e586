"""The command that adds an optional part, for each way of installing."""

import json
import sys
from pathlib import Path

import pytest

from quizapp.util import installation
from quizapp.util.installation import PartMissing, install_command, require, require_torch

ROOT = Path(__file__).parents[2]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that nothing is known about."""
    folder = tmp_path / "cache" / "environments" / "quizapp"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(installation, "has_package", lambda name: name != "no_such_package")
    return folder


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the installer noted about where the distribution came from."""
    noted: dict[str, object] = {}

    class Noted:
        def read_text(self, _: str) -> str | None:
            return json.dumps(noted) if noted else None

    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Noted())
    return noted


def test_an_environment_with_pip(prefix: Path) -> None:
    assert install_command("judge") == f"{sys.executable} -m pip install 'quizapp-ml[judge]'"


def test_an_environment_without_pip(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "has_package", lambda name: name != "pip")
    assert install_command("mcp") == f"uv pip install --python {sys.executable} 'quizapp-ml[mcp]'"


def test_a_tool_of_pipx(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").touch()
    assert install_command("judge") == "pipx runpip quizapp-ml install 'quizapp-ml[judge]'"


def test_a_tool_of_uv(prefix: Path, origin: dict[str, object]) -> None:
    (prefix / "uv-receipt.toml").touch()
    assert install_command("judge") == "uv tool install 'quizapp-ml[judge]'"


def test_a_single_use_by_uvx(prefix: Path, origin: dict[str, object]) -> None:
    (prefix.parent.parent / "CACHEDIR.TAG").touch()
    assert install_command("judge") == "uvx --from 'quizapp-ml[judge]' quizapp"


@pytest.mark.parametrize(
    ("noted", "source"),
    [
        ({"url": "file:///w/q.whl", "archive_info": {}}, "file:///w/q.whl"),
        (
            {"url": "https://host/q", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "git+https://host/q@c0ffee",
        ),
        (
            {
                "url": "https://host/q",
                "vcs_info": {"vcs": "git", "commit_id": "c0ffee", "requested_revision": "v1"},
            },
            "git+https://host/q@v1",
        ),
    ],
)
def test_uv_is_told_where_quizapp_came_from(
    prefix: Path, origin: dict[str, object], noted: dict[str, object], source: str
) -> None:
    (prefix / "uv-receipt.toml").touch()
    origin.update(noted)
    assert install_command("judge") == f"uv tool install 'quizapp-ml[judge] @ {source}'"


def test_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert install_command("judge") == f"make -C {ROOT} run"
    assert install_command("mcp").endswith(" 'quizapp-ml[mcp]'")


def test_what_is_missing_is_one_sentence_and_what_is_there_none(prefix: Path) -> None:
    with pytest.raises(PartMissing) as raised:
        require("Grading", "no_such_package", "judge")
    assert str(raised.value) == (
        "Grading needs no_such_package, which is not installed; "
        f"install it with: {sys.executable} -m pip install 'quizapp-ml[judge]'"
    )
    assert raised.value.exit_code == 2
    require("Grading", "json", "judge")


def test_torch_is_found_without_being_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    require_torch()
