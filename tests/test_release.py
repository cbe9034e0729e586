"""A release: the tag, the version and the changelog agree, and workflows run nothing that is not pinned."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from quizapp import __version__
from tools.release.check_version import ReleaseFault, read_version, release_notes

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHANGELOG = """# Changelog

## Unreleased

## 1.2.0 - 2026-12-24

### Added

- A thing.

## 1.1.0 - 2026-11-01

- An older thing.
"""


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    assert release_notes("v1.2.0", "1.2.0", CHANGELOG) == "### Added\n\n- A thing."


@pytest.mark.parametrize(
    ("tag", "changelog", "sentence"),
    [
        ("v1.2.1", CHANGELOG, "The tag v1.2.1 is not v1.2.0"),
        ("1.2.0", CHANGELOG, "The tag 1.2.0 is not v1.2.0"),
        ("v1.2.0", CHANGELOG.replace("1.2.0", "1.3.0"), 'needs a section "## 1.2.0 - YYYY-MM-DD"'),
        ("v1.2.0", CHANGELOG.replace(" - 2026-12-24", ""), 'needs a section "## 1.2.0 - YYYY-MM-DD"'),
        ("v1.2.0", CHANGELOG.replace("## Unreleased\n", ""), 'must begin with a section "## Unreleased"'),
        ("v1.2.0", CHANGELOG.replace("- A thing.", ""), "has no entries"),
        ("v1.2.0", "", 'must begin with a section "## Unreleased"'),
    ],
)
def test_what_keeps_a_tag_from_being_published_is_one_sentence(
    tag: str, changelog: str, sentence: str
) -> None:
    with pytest.raises(ReleaseFault) as raised:
        release_notes(tag, "1.2.0", changelog)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_version_is_that_of_the_package() -> None:
    assert read_version() == __version__


def test_the_changelog_is_ready_for_the_next_release() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    dated = changelog.replace("## Unreleased", f"## Unreleased\n\n## {__version__} - 2026-12-24", 1)
    assert "### Added" in release_notes(f"v{__version__}", __version__, dated)


def test_a_wrong_tag_fails_the_workflow_before_anything_is_built() -> None:
    command = [sys.executable, "-m", "tools.release.check_version", "v0.0.0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_their_actions_and_have_only_the_rights_that_they_need(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for used in re.findall(r"uses: (\S+)", path.read_text()):
        assert used.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), used
    for name, job in workflow["jobs"].items():
        wanted = {"id-token": "write"} if name == "publish" else {"contents": "read"}
        assert job["permissions"] == wanted, name


def test_every_python_that_is_named_is_tested() -> None:
    checks = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text())
    named = re.findall(r"Python :: (\d\.\d+)", (ROOT / "pyproject.toml").read_text())
    for job in ("test", "install"):
        assert checks["jobs"][job]["strategy"]["matrix"]["python"] == named
