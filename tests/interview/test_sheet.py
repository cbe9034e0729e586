"""A friend's sheet: one file without the learner's marks, filled in anywhere, and read back."""

from pathlib import Path

import pytest

from quizapp.errors import QuizError
from quizapp.interview.peer.peer_review import answers_to_mark
from quizapp.interview.peer.peer_sheet import read_sheet, sheet_text
from quizapp.interview.report.model import Report, load_report
from tests.interview.mock_kit import begin, done, small_bank, study
from tests.interview.test_code import FAILED


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return load_report(done(tmp_path_factory.mktemp("sat"), 3, bank=small_bank()))


def filled(report: Report, mark: str) -> str:
    return sheet_text(report).replace("\n[ ] ", f"\n[{mark}] ").replace("Your name:", "Your name: Ada")


def test_the_sheet_shows_answers_and_points_and_no_marks(report: Report) -> None:
    text = sheet_text(report)
    for question in answers_to_mark(report):
        assert question.asked.typed.strip().splitlines()[0] in text
        assert all(point.text in text for point in question.points)
    assert "held" not in text


def test_a_sheet_that_was_filled_in_is_a_column_of_its_own(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "sheet.txt"
    path.write_text(filled(report, "y"), encoding="utf-8")
    review = read_sheet(report, path)
    assert review.by == "Ada"
    assert set(review.items) == {str(question.asked.number) for question in answers_to_mark(report)}
    assert all(set(marks.points) == {1.0} for marks in review.items.values())
    path.write_text(filled(report, "n"), encoding="utf-8")
    assert read_sheet(report, path).total < review.total


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text, r"sheet.txt:\d+: put y, h or n between the brackets, not ''"),
        (lambda text: text.replace("\n[ ] ", "\n[maybe] "), "not 'maybe'"),
        (lambda text: text.replace("\n[ ] ", "\nx ", 1), "lines to mark, not"),
        (lambda text: "hello", "is not a sheet"),
        (lambda text: text.replace("interview ", "interview other", 1), "is the sheet of interview other"),
        (lambda text: "", "is not a sheet"),
    ],
)
def test_a_faulty_sheet_is_one_sentence(report: Report, tmp_path: Path, change, says: str) -> None:
    path = tmp_path / "sheet.txt"
    path.write_text(change(sheet_text(report)), encoding="utf-8")
    with pytest.raises(QuizError, match=says):
        read_sheet(report, path)


def test_a_missing_sheet_is_one_sentence(report: Report, tmp_path: Path) -> None:
    with pytest.raises(QuizError, match="cannot be read"):
        read_sheet(report, tmp_path / "none.txt")


@pytest.mark.slow
def test_the_explanation_of_code_is_marked_like_an_answer(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        interview, _ = begin(made, "post-training", 45, seed=3, round_name="coding")
        interview.session.proceed()
        item = interview.session.item
        interview.submitted(0, "x", FAILED, interview.session.elapsed_ms)
        item.typed = "It keeps the invariant because every step is weighted."
        interview.session.submit()
        interview.session.end("early")
        coding = interview.record()
    assert item.typed in sheet_text(coding)
    path = tmp_path / "sheet.txt"
    path.write_text(filled(coding, "y"), encoding="utf-8")
    review = read_sheet(coding, path)
    assert list(review.items) == [str(item.number)]
    assert review.total > coding.totals.raw
