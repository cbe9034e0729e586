"""Checks that a tag, the version and the changelog agree.

``python -m tools.release.check_version v1.2.3`` prints the release's section of the changelog. It exits with
1 and a sentence where something differs. It needs only the standard library.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_RELEASE = re.compile(r"(\d+\.\d+\.\d+\S*) - \d{4}-\d{2}-\d{2}")


class ReleaseFault(Exception):
    """Something that keeps a tag from being published; the message is one sentence."""


def read_version(root: Path = ROOT) -> str:
    """The version of the checkout in ``root``, which is also that of its wheel."""
    source = (root / "quizapp" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if found is None:
        raise ReleaseFault('quizapp/__init__.py has no line __version__ = "...".')
    return found[1]


def release_notes(tag: str, version: str, changelog: str) -> str:
    """The section of ``changelog`` on the release that ``tag`` names.

    Raises `ReleaseFault` if the tag is not ``v`` and the ``version``, or if the section is missing, empty,
    not dated, or not the first below "Unreleased".
    """
    if tag != f"v{version}":
        raise ReleaseFault(
            f"The tag {tag} is not v{version}: set __version__ in quizapp/__init__.py, or rename the tag."
        )
    headings = list(_HEADING.finditer(changelog))
    names = [heading[1] for heading in headings]
    if names[:1] != ["Unreleased"]:
        raise ReleaseFault('CHANGELOG.md must begin with a section "## Unreleased", even if it is empty.')
    latest = _RELEASE.fullmatch(names[1]) if len(names) > 1 else None
    if latest is None or latest[1] != version:
        raise ReleaseFault(
            f'CHANGELOG.md needs a section "## {version} - YYYY-MM-DD" directly below "## Unreleased".'
        )
    ends = headings[2].start() if len(headings) > 2 else len(changelog)
    notes = changelog[headings[1].end() : ends].strip()
    if not re.search(r"^- ", notes, re.MULTILINE):
        raise ReleaseFault(f"The section on {version} in CHANGELOG.md has no entries.")
    return notes


def main(arguments: list[str]) -> int:
    """Check the tag named on the command line."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tools.release.check_version TAG\n")
        return 2
    try:
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        sys.stdout.write(release_notes(arguments[0], read_version(), changelog) + "\n")
    except ReleaseFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
