"""Copies are found through renames, reordering and layout; independent solutions are not flagged."""

import ast
import itertools
import json
import re
import time
from pathlib import Path

import pytest

from quizapp.judge.cohort import similar_code
from quizapp.judge.cohort.class_folder import StudentSubmission
from quizapp.judge.cohort.fingerprints import fingerprints, normalized_tokens
from quizapp.judge.cohort.similar_code import find_similar
from tests.judge.cohort.classes import exercises

# Right submissions of the repository that were written from each other.
DERIVED = {("rlhf-kl", "plain_loops.py", "where_on_both_ends.py")}


def by(student: str, slug: str, source: str) -> StudentSubmission:
    return StudentSubmission(student, exercises()[slug], f"{student}/{slug}.py", source.encode())


class Renamer(ast.NodeTransformer):
    """Renames every variable, argument and function that the source itself defines."""

    def __init__(self, tree: ast.AST):
        self.names: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                self.names[node.arg] = f"argument_{len(self.names)}"
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.names[node.id] = f"variable_{len(self.names)}"
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                self.names[node.name] = f"function_{len(self.names)}"

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        self.generic_visit(node)
        return node


def renamed(source: str) -> str:
    """The source with other names, no comments and another layout."""
    tree = ast.parse(source)
    return ast.unparse(Renamer(tree).visit(tree))


def reordered(source: str) -> str:
    """The source with its functions and classes in reverse order."""
    body = ast.parse(source).body
    kinds = (ast.FunctionDef, ast.ClassDef)
    return "\n\n\n".join(
        ast.unparse(node)
        for node in [
            *(node for node in body if not isinstance(node, kinds)),
            *reversed([node for node in body if isinstance(node, kinds)]),
        ]
    )


def right(slug: str, name: str) -> str:
    return (exercises()[slug].folder / "right" / name).read_text("utf-8")


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        ("lora", "own_parameters.py"),
        ("training-loop", "autograd_grad.py"),
        ("data-dedup", "brute_force.py"),
    ],
)
def test_a_copy_is_found_through_renames_order_and_layout(slug: str, name: str) -> None:
    original = right(slug, name)
    copy = reordered(renamed(original))
    assert copy != original
    (pair,) = find_similar([by("ada", slug, original), by("bob", slug, copy)]).pairs
    assert (pair.first, pair.second) == (f"ada/{slug}.py", f"bob/{slug}.py")
    assert pair.share > 0.55
    assert pair.lines
    lengths = len(original.splitlines()), len(copy.splitlines())
    for places in pair.lines:
        assert all(1 <= first <= last <= n for (first, last), n in zip(places, lengths, strict=True))


def test_a_copy_padded_with_other_code_is_found() -> None:
    original, other = right("lora", "own_parameters.py"), right("training-loop", "autograd_grad.py")
    (pair,) = find_similar([by("ada", "lora", original), by("bob", "lora", other + original)]).pairs
    assert pair.share > 0.9


@pytest.mark.exhaustive
def test_nearly_all_disguised_copies_are_found() -> None:
    found, long_enough = 0, 0
    for slug, exercise in exercises().items():
        for path in sorted(exercise.folder.glob("right/*.py"))[:2]:
            source = path.read_text("utf-8")
            result = find_similar([by("ada", slug, source), by("bob", slug, reordered(renamed(source)))])
            long_enough += result.compared == 2
            found += len(result.pairs)
    assert found >= 0.97 * long_enough > 100


@pytest.mark.exhaustive
def test_right_submissions_of_the_repository_are_not_flagged() -> None:
    flagged, pairs = set(), 0
    for slug, exercise in exercises().items():
        files = sorted(exercise.folder.glob("right/*.py"))
        pairs += len(list(itertools.combinations(files, 2)))
        found = find_similar([by(path.name, slug, path.read_text("utf-8")) for path in files])
        flagged |= {(slug, pair.first.split("/")[0], pair.second.split("/")[0]) for pair in found.pairs}
    assert pairs > 500
    assert flagged == DERIVED


def test_starter_and_reference_do_not_count() -> None:
    lora = exercises()["lora"]
    for source in (lora.starter, lora.solution):
        found = find_similar([by("ada", "lora", source), by("bob", "lora", source)])
        assert (found.pairs, found.compared, found.too_short) == ((), 0, 2)


def test_names_literals_comments_and_docstrings_leave_no_trace() -> None:
    one = b'def f(x):\n    """Say."""\n    y = x.sum(dim=1) + 2  # two\n    return len(y)\n'
    two = b"def other(tensor): value = tensor.sum(dim=17) + 3.5; return len(value)\n"
    assert [t.text for t in normalized_tokens(one)] == [t.text for t in normalized_tokens(two)]
    texts = {token.text for token in normalized_tokens(one)}
    assert {"sum", "len", "return"} <= texts  # what a copy cannot rename stays
    assert not {"f", "x", "y", "2", "Say."} & texts


@pytest.mark.parametrize(
    "source",
    [b"", b"def broken(:\n", b"x = '''never closed\n", b"\tif x:\n  y\n", b"(" * 5000, b"x = 1\n" * 10_000],
    ids=["empty", "broken", "open string", "tabs", "parentheses", "long"],
)
def test_any_source_has_fingerprints_in_time(source: bytes) -> None:
    start = time.process_time()
    fingerprints(source)
    assert time.process_time() - start < 30


def test_hostile_strings_cost_no_quadratic_time() -> None:
    start = time.process_time()
    fingerprints(b"''\n" * 20_000)
    assert time.process_time() - start < 30


def test_the_report_names_files_and_lines(tmp_path: Path) -> None:
    original = right("lora", "own_parameters.py")
    found = find_similar(
        [by("ada", "lora", original), by("bob", "lora", renamed(original)), by("ada", "lora", original)]
    )
    assert len(found.pairs) == 2  # never a student with themselves
    found.write(tmp_path)
    text = (tmp_path / similar_code.REPORT).read_text()
    assert "`ada/lora.py` and `bob/lora.py`" in text
    assert re.search(r"\| lines \d+ to \d+ \| lines \d+ to \d+ \|", text)
    document = json.loads((tmp_path / similar_code.DOCUMENT).read_text())
    assert document["schema"] == "quizapp.similar/1"
    assert document["pairs"][0]["share"] >= 0.8
