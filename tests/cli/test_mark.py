"""``quizapp mark``: what an answer shows, as text and as JSON, and errors in one line."""

import io
import json
import sys
from pathlib import Path

import pytest

from quizapp import paths
from tests.bank.voice_server import closed_port, quoting, serving
from tests.cli.calling import run

WARM_UP = (
    "Adam's second moment is estimated from a handful of gradients early on, so it is high-variance, and yet "
    "every parameter already moves by about the learning rate. Curvature is often high at initialization, so "
    "the full rate can exceed the stability limit, worst with post-LN."
)

UNSURE = "Adam's early steps are too big, because few gradients have been seen by then."


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> object:
    def give(text: str) -> None:
        stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stdin)

    return give


def test_an_answer_is_marked_with_its_own_sentences(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "answer.txt"
    file.write_text(WARM_UP)
    code, out, _ = run(capsys, "mark", "lr-warmup", str(file), "--json")
    marking = json.loads(out)
    assert code == 0
    assert marking["schema"] == "quizapp.marking/1"
    assert marking["question"] == "lr-warmup"
    assert {"text", "weight", "must", "probability", "proposed", "evidence"} <= set(marking["points"][0])
    assert {"wrong", "probability", "proposed", "evidence"} <= set(marking["misconceptions"][0])
    proposed = [point for point in marking["points"] if point["proposed"]]
    assert proposed
    assert all(point["evidence"] in WARM_UP for point in proposed)
    assert all(point["evidence"] == "" for point in marking["points"] if not point["proposed"])
    total = sum(point["weight"] for point in marking["points"])
    assert marking["share"] == pytest.approx(sum(p["weight"] for p in proposed) / total, abs=1e-3)
    _, text, _ = run(capsys, "mark", "lr-warmup", str(file))
    assert "you said: " in text
    assert "Proposed rating: " in text


def test_an_empty_answer_shows_nothing(capsys: pytest.CaptureFixture[str], typed) -> None:
    typed("")
    code, out, _ = run(capsys, "mark", "lr-warmup", "--json")
    marking = json.loads(out)
    assert (code, marking["share"], marking["rating"]) == (0, 0, None)


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        ("gradient-descent-update-largest-rate", "3", 1),
        ("gradient-descent-update-largest-rate", "Anything below 0.2", 1),
        ("gradient-descent-update-largest-rate", "1", 0),
        ("gd-vs-backprop-training-step-order", "3 7 6 5 4 2 1", 1),
        ("gd-vs-backprop-training-step-order", "1 2 3 4 5 6 7", 4 / 21),
        ("relu-backward-at-zero", "nonsense", 0),
    ],
)
def test_other_kinds_are_marked_as_in_a_drill(
    capsys: pytest.CaptureFixture[str], typed, question: str, text: str, share: float
) -> None:
    typed(text)
    code, out, _ = run(capsys, "mark", question, "-", "--json")
    marking = json.loads(out)
    assert code == 0
    assert (marking["points"], marking["misconceptions"]) == ([], [])
    assert marking["share"] == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["no-such-question"], "x"),
        (["lr-warmup", "/no/such/file"], ""),
        (["gradient-descent-update-largest-rate"], "9"),
        (["gd-vs-backprop-training-step-order"], "1 2 3"),
        (["lr-warmup"], "x" * 300_000),
    ],
)
def test_a_mistake_of_the_user_is_one_line(
    capsys: pytest.CaptureFixture[str], typed, arguments: list[str], text: str
) -> None:
    typed(text)
    code, out, err = run(capsys, "mark", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def voice_at(endpoint: str) -> None:
    paths.config().parent.mkdir(parents=True, exist_ok=True)
    paths.config().write_text(f'[voice]\nendpoint = "{endpoint}"\nmodel = "small"\n')


def test_the_second_voice_adds_a_key_and_changes_no_mark(
    capsys: pytest.CaptureFixture[str], typed, home: Path
) -> None:
    with serving(quoting("few gradients have been seen")) as server:
        voice_at(server.endpoint)
        typed(UNSURE)
        _, out, _ = run(capsys, "mark", "lr-warmup", "--json")
        alone = json.loads(out)
        assert server.requests == []
        typed(UNSURE)
        code, out, err = run(capsys, "mark", "lr-warmup", "--json", "--voice")
        both = json.loads(out)
        found = both.pop("second_voice")
        assert (code, err, both) == (0, "", alone)
        assert found["asked"]
        assert found == {
            "model": "small",
            "asked": found["asked"],
            "quotes": [{"point": i, "quote": "few gradients have been seen"} for i in found["asked"]],
            "trouble": "",
        }
        assert not any(alone["points"][i]["proposed"] for i in found["asked"])
        typed(UNSURE)
        _, out, _ = run(capsys, "mark", "lr-warmup", "--voice")
        assert out.count("second voice: you said “few gradients have been seen”") == len(found["asked"])


def test_a_second_voice_that_fails_is_one_line_beside_the_marks(
    capsys: pytest.CaptureFixture[str], typed, home: Path
) -> None:
    voice_at(f"http://127.0.0.1:{closed_port()}/v1")
    typed(UNSURE)
    code, out, err = run(capsys, "mark", "lr-warmup", "--json", "--voice")
    assert (code, len(err.splitlines())) == (0, 1)
    assert "does not answer" in err
    assert json.loads(out)["second_voice"]["quotes"] == []


def test_a_second_voice_that_is_off_is_one_line(
    capsys: pytest.CaptureFixture[str], typed, home: Path
) -> None:
    for question in ("lr-warmup", "gradient-descent-update-largest-rate"):
        typed(UNSURE)
        code, out, err = run(capsys, "mark", question, "--voice")
        assert (code, out, len(err.splitlines())) == (2, "", 1)
