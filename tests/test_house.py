"""The rules of the house that a machine can check: sizes, unique names, paths in documents."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "quizapp"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.stem not in ("__init__", "__main__"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# One widget per file; the folder is a shelf, not a concept.
SHELVES = {PACKAGE / "tui" / "widgets"}
# Words that each package uses for its own part of the same idea.
SHARED_MODULE_NAMES = {
    "checks", "draw", "errors", "hidden", "loader", "main", "markdown", "model", "ranks", "record", "render",
    "running", "scorecard", "service", "statistics", "text", "validate",
}  # fmt: skip


def test_no_folder_holds_more_than_fifteen_entries() -> None:
    crowded = {}
    for folder in {PACKAGE, *(path.parent for path in MODULES)} - SHELVES:
        entries = {path.name for path in folder.iterdir()} - {"__init__.py", "__pycache__"}
        if len(entries) > 15:
            crowded[folder.relative_to(ROOT)] = len(entries)
    assert crowded == {}


def test_no_module_is_longer_than_420_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > 420} == {}


def test_a_public_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_a_module_name_repeats_only_where_packages_share_an_idea() -> None:
    places = defaultdict(list)
    for path in MODULES:
        places[path.stem].append(str(path.relative_to(ROOT)))
    repeated = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert {name: repeated[name] for name in repeated.keys() - SHARED_MODULE_NAMES} == {}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_in_documents_exist(document: Path) -> None:
    text = document.read_text("utf-8")
    named = re.findall(r"`((?:quizapp|content|tools|tests|benchmarks|docs)/[\w./-]+)`", text)
    named += re.findall(r"\]\(([\w./-]+\.(?:md|svg))\)", text)
    missing = [name for name in named if not any((base / name).exists() for base in (ROOT, document.parent))]
    assert missing == []


def test_the_map_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    packages = [path.parent for path in PACKAGE.glob("*/__init__.py")]
    assert [path.name for path in packages if f"quizapp/{path.name}" not in text] == []
