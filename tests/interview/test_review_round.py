"""A review round as it is sat: three code reviews, their marks, the schedule, and the screen."""

import json
from pathlib import Path

import jsonschema
import pytest

from quizapp.interview import archive
from quizapp.interview.code_review.model import (
    Decision,
    FixOutcome,
    JudgedReview,
    ProofOutcome,
    ReviewAnswer,
)
from quizapp.interview.code_review.service import marked
from quizapp.interview.report.build import redacted
from quizapp.interview.report.files import rendered
from quizapp.interview.report.model import load_report
from quizapp.interview.service import Interview
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.scorecard import CardScreen
from tests.interview import recompute
from tests.interview.mock_kit import begin, mark_as_proposed, real_bank, review_answer, sit_down, study, wait
from tests.tui.drawn import text
from tests.tui.waiting import shows, until
from tools.schemas import FOLDER

pytestmark = pytest.mark.slow


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, real_bank()) as one:
        yield one


def start(made, seed: int = 5):
    interview, hand = begin(made, "post-training", 30, seed=seed, round_name="review")
    interview.session.proceed()
    return interview, hand, interview.session.item


def found(item) -> JudgedReview:
    """What a judge finds out about a test that catches every fault, and a fix that repairs them."""
    names = [fault.mutant for fault in item.reviewed.review.faults] or ["any"]
    return JudgedReview(ProofOutcome(accepted=True, caught=names, text="It fails."), FixOutcome(passed=True))


def test_three_reviews_are_asked_each_with_the_minutes_of_its_length(made) -> None:
    interview, _, _ = start(made)
    items = interview.session.items
    assert len({item.exercise for item in items}) == 3
    assert all(item.budget == item.planned == 60 * item.reviewed.review.minutes for item in items)
    assert [phase.name for phase in interview.session.phases] == ["brief", "review", "reserve"]


def test_a_review_is_marked_as_it_is_by_itself(made) -> None:
    interview, _, item = start(made)
    answer = review_answer(item)
    interview.session.answer_review(answer)
    interview.session.submit()
    interview.judged(0, found(item))
    interview.session.end("early")
    alone = marked(item.reviewed.review, answer, found(item)).marks
    marks = interview.finished().questions[0].marks
    assert [term.points for term in marks.terms] == [
        alone.decision, alone.line, alone.consequence, alone.proof, alone.fix
    ]  # fmt: skip
    assert marks.total == alone.total == 100


def test_the_report_can_be_read_recomputed_and_rendered(made) -> None:
    interview, _, item = start(made)
    interview.session.answer_review(review_answer(item))
    interview.session.submit()
    interview.judged(0, found(item))
    interview.session.answer_review(review_answer(interview.session.item, "no idea"))
    interview.session.end("early")
    report = interview.record()
    stored = json.loads(json.dumps(report.as_json()))
    assert stored["schema"] == "quizapp.mock/2"
    jsonschema.validate(stored, json.loads((FOLDER / "report.json").read_text(encoding="utf-8")))
    assert load_report(stored).as_json() == stored
    assert recompute.differences(stored) == []
    for form in ("md", "html"):
        assert item.reviewed.title in rendered(report, form)
    assert "no idea" not in json.dumps(redacted(report).as_json())


def test_an_answered_review_is_scheduled_behind_the_interview(made) -> None:
    interview, _, item = start(made)
    interview.session.answer_review(review_answer(item))
    interview.session.submit()
    interview.judged(0, found(item))
    interview.session.end("early")
    report = interview.record()
    card = f"review:{item.exercise}"
    assert report.questions[0].effect.rating == "Good"
    assert made.card(card).reps == 1
    assert report.tomorrow == []  # a review that was not reached waits for its own turn
    assert made.undo() is not None
    assert card not in {row.card for row in made.cards() if row.reps}


def test_a_killed_review_goes_on_with_everything_that_was_answered(made) -> None:
    interview, hand, item = start(made)
    answer = ReviewAnswer(
        decision=Decision.FAULTY, confidence=75, lines=[3], words="It is wrong.", check="def check(m): ..."
    )
    interview.session.answer_review(answer)
    wait(interview, hand, 2)
    again = Interview.resume(made, archive.running(made).document, hand)
    assert again.session.items[0].review_answer.words == "It is wrong."
    assert again.session.items[0].review == item.review
    assert not again.can_discard


def test_the_judge_s_word_outlives_the_window(made) -> None:
    interview, hand, item = start(made)
    interview.session.answer_review(review_answer(item))
    interview.session.end("early")
    interview.propose()
    assert [one.number for one in interview.unjudged()] == [0]
    interview.judged(0, found(item))
    again = Interview.resume(made, archive.running(made).document, hand)
    assert again.unjudged() == []
    assert again.finished().questions[0].marks.total == 100


async def test_a_review_is_answered_step_by_step(tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        interview, _, item = start(made)
        await sit_down(app, pilot, interview)
        await shows(pilot, "Is it correct (c)")
        await pilot.press("4")  # how sure of what? Nothing is decided yet
        await shows(pilot, "Is it correct (c)")
        assert item.review_answer.confidence is None
        await pilot.press("x", "4")
        await until(pilot, lambda: "Point (space)" in text(app))
        await pilot.press("j", "j", "space", "f3", *"it leaks", "f5", *"x")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, Choose))
        await shows(pilot, "still missing: a test")
        await pilot.press("j", "enter")
        await until(pilot, lambda: interview.session.item.number == 1)
    answer = item.review_answer
    assert (answer.decision, answer.confidence, answer.lines) == (Decision.FAULTY, 75, [3])
    assert answer.words == "it leaks"
    assert answer.fixed.splitlines()[2].startswith("x")  # at the line pointed at
    assert "Is it correct (c)" not in answer.check


@pytest.mark.slow
@pytest.mark.judge
async def test_the_marks_wait_for_the_judge(tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        interview, _, item = start(made)
        interview.session.answer_review(review_answer(item))
        interview.session.end("early")
        interview.propose()
        app.push_screen(MarkScreen(interview))
        await pilot.pause()
        await until(pilot, lambda: interview.unjudged() == [])
        await mark_as_proposed(pilot)
        if isinstance(app.screen, Choose):  # whether so short an interview counts
            await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CardScreen))
    assert item.judged.fix.passed


@pytest.mark.slow
async def test_the_line_pointed_at_stays_in_view_beside_the_fix(tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(120, 40)) as pilot:
        interview, _, item = start(made, seed=11)
        await sit_down(app, pilot, interview)
        await shows(pilot, "Is it correct (c)")
        down = len(item.reviewed.review.shown.splitlines()) - 4
        await pilot.press("x", "4", *["j"] * down, "space", "f5")
        await shows(pilot, "Fix the code")
        await until(pilot, lambda: "●" in text(app))
        assert app.screen.query_one("#fixed").cursor_location == (down, 0)
    made.close()
