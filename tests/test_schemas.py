"""The published JSON schemas match the types that they are generated from, and the documents match them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from quizapp import paths
from quizapp.judge.verdict import TestResult, Verdict, VerdictStatus
from tools.schemas import FOLDER, SCHEMAS, schema_text


def published(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_published_schema_is_up_to_date(name: str) -> None:
    written = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert written == schema_text(name), "run 'python -m tools.schemas' and commit what it writes"


def test_every_published_file_has_a_type() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(SCHEMAS)


def test_a_verdict_matches_its_schema() -> None:
    tests = (TestResult("blend", 1, passed=False, message="Wrong."),)
    failed = Verdict("blend", "b.py", "cpu", VerdictStatus.FAILED, tests, seed=-3, notes=("A note.",))
    broken = Verdict(
        "blend", "b.py", "cpu", VerdictStatus.ERROR, error="It crashed.", versions={"torch": "2"}
    )
    for verdict in (failed, broken):
        jsonschema.validate(json.loads(json.dumps(verdict.as_json())), published("verdict"))


def test_a_verdict_of_another_status_does_not_match() -> None:
    document = dict(Verdict("blend", "b.py", "cpu", VerdictStatus.FAILED).as_json())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"status": "unknown"}, published("verdict"))


QUESTION_FILES = sorted((paths.content() / "questions").glob("*.yaml"))


def questions(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@pytest.mark.slow
@pytest.mark.parametrize("path", QUESTION_FILES, ids=lambda path: path.stem)
def test_every_shipped_question_matches_its_schema(path: Path) -> None:
    jsonschema.Draft202012Validator(published("question")).validate(questions(path))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"level": "trivial"}, "'trivial' is not one of"),
        ({"anwser": "x"}, "'anwser' was unexpected"),
        ({"tags": "a"}, "is not of type 'array'"),
        ({"kind": "cloze"}, "'text' is a required property"),
        ({"key_points": []}, "[] is too short"),
        ({"sources": [{"authors": "a", "year": "x", "title": "t"}]}, "'x' is not of type 'integer'"),
    ],
)
def test_a_slip_in_a_question_is_found_by_the_schema(change: dict[str, Any], says: str) -> None:
    document = questions(QUESTION_FILES[0])
    recall = next(question for question in document["questions"] if question["kind"] == "recall")
    document["questions"] = [recall | change]
    errors = list(jsonschema.Draft202012Validator(published("question")).iter_errors(document))
    assert any(says in error.message for error in errors), errors


@pytest.mark.parametrize(
    ("card", "says"),
    [
        ({"prompt": "Why?", "answer": "So."}, ""),
        ({"prompt": "Why?", "answer": "So.", "kind": "cloze", "text": "[[a]]", "tags": ["x"]}, ""),
        ({"prompt": "Why?"}, "'answer' is a required property"),
        ({"prompt": "Why?", "answer": "So.", "options": []}, "'options' was unexpected"),
        ({"prompt": "Why?", "answer": "So.", "kind": "choice"}, "'options' is a required property"),
    ],
)
def test_a_short_card_matches_the_schema(card: dict[str, Any], says: str) -> None:
    document = {"questions": [card]}
    errors = list(jsonschema.Draft202012Validator(published("question")).iter_errors(document))
    assert any(says in error.message for error in errors) if says else not errors
