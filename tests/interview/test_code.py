"""The coding item: the own check, what a submission counts, and what is explained."""

from pathlib import Path

import pytest

from quizapp.interview.marking.propose import propose
from quizapp.interview.marking.self_check import checks_itself, run_check
from quizapp.interview.scoring.terms import coding_terms
from quizapp.interview.service import Interview
from tests.interview.mock_kit import begin, small_bank, study, wait

FAILED = {"schema": "quizapp.verdict/1", "exercise": "lora", "file": "lora.py", "device": "cpu",
    "seconds": 1.0, "seed": 1, "tier": "T0", "error": None, "printed": "", "notes": [], "versions": {},
    "status": "failed", "passed": False, "stages": [{"name": "all", "passed": False}], "tests": [
    {"name": "a", "behaviour": 1, "passed": True, "message": "", "seconds": 0.1},
    {"name": "b", "behaviour": 1, "passed": False, "message": "no", "seconds": 0.1},
    {"name": "c", "behaviour": 2, "passed": True, "message": "", "seconds": 0.1},
]}  # fmt: skip
PASSED = FAILED | {"status": "passed", "passed": True, "stages": [{"name": "all", "passed": True}],
    "tests": FAILED["tests"][::2]}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ("def f():\n    return 1\n", False),
        ("def f():\n    return 1\nif __name__ == '__main__':\n    assert f() == 1\n", True),
        ("def test_f():\n    assert True\n", True),
        ("def check_all():\n    assert 1 == 1\n", True),
        ("assert 1\n", True),
        ("def broken(:\n", False),
    ],
)
def test_a_check_is_code_that_asserts(source: str, counts: bool) -> None:
    assert checks_itself(source) is counts


def test_the_own_check_runs_the_module_and_its_check_functions() -> None:
    good = run_check("def test_sum():\n    assert 1 + 1 == 2\n", "m.py")
    assert (good.ok, good.counts) == (True, True)
    assert "test_sum held" in good.output
    bad = run_check("def f():\n    return 2\nif __name__ == '__main__':\n    assert f() == 1\n", "m.py")
    assert (bad.ok, bad.counts) == (False, True)
    assert "AssertionError" in bad.output
    idle = run_check("x = 1\n", "m.py")
    assert (idle.ok, idle.counts) == (True, False)
    assert "This run checks nothing" in idle.output
    broken = run_check("def f(:\n", "m.py")
    assert (broken.ok, broken.counts) == (False, False)
    assert "SyntaxError" in broken.output
    assert "checks nothing" not in broken.output


@pytest.fixture
def coding(tmp_path: Path):
    made = study(tmp_path, small_bank())
    interview, hand = begin(made, "applied-fine-tuning", 30, seed=1)
    session = interview.session
    session.proceed()
    session.items[:] = [item for item in session.items if item.kind == "coding"]
    item = session.items[0]
    item.number = 0
    session.state.phase = next(i for i, phase in enumerate(session.phases) if phase.name == "coding")
    session.state.current = None
    session.open(0)
    yield interview, hand, item
    made.close()


def shares(interview: Interview, item) -> dict[str, float]:
    return {term.name: float(term.share) for term in coding_terms(item, propose(item, ()))}


def test_behaviours_count_when_all_their_tests_hold(coding) -> None:
    interview, hand, item = coding
    interview.session.write_code("x = 1\n")
    wait(interview, hand, 0.5 * item.budget)
    interview.session.submitted(0, "x = 1\n", FAILED, interview.session.elapsed_ms)
    found = shares(interview, item)
    assert found["hidden behaviours"] == 0.5
    assert found["verification"] == 0.0
    assert found["time"] == 1.0


def test_an_own_check_before_the_first_submission_is_verification(coding) -> None:
    interview, hand, item = coding
    interview.session.checked(ok=False)
    wait(interview, hand, 30)
    for verdict in (FAILED, FAILED, FAILED, PASSED):
        wait(interview, hand, 5)
        interview.session.submitted(0, "", verdict, interview.session.elapsed_ms)
    found = shares(interview, item)
    assert found["verification"] == 0.5  # two failed submissions after the first, 2.5 of 10 each
    assert found["hidden behaviours"] == 1.0


def test_a_check_after_submitting_verifies_nothing(coding) -> None:
    interview, hand, item = coding
    interview.session.submitted(0, "", PASSED, interview.session.elapsed_ms)
    wait(interview, hand, 10)
    interview.session.checked(ok=True)
    assert shares(interview, item)["verification"] == 0.0
    how = next(t.how for t in coding_terms(item, propose(item, ())) if t.name == "verification")
    assert how.startswith("no check of your own before the first submission")


def test_a_verdict_on_code_sent_in_time_counts_when_it_comes_late_and_no_other(coding) -> None:
    interview, hand, item = coding
    wait(interview, hand, 20)
    sent = interview.session.elapsed_ms
    interview.session.submit()
    wait(interview, hand, 5)
    interview.session.submitted(0, "in time", PASSED, sent)
    interview.session.submitted(0, "too late", FAILED, interview.session.elapsed_ms)
    assert [submission.source for submission in item.submissions] == ["in time"]


def test_work_in_an_editor_of_ones_own_is_not_lost_time(coding) -> None:
    interview, hand, item = coding
    hand.seconds += 60
    assert "lost" not in interview.session.tick(present=True)
    assert item.state == "open"
    assert item.used_ms == 60_000


def test_an_explanation_may_use_the_words_of_the_task_but_not_its_sentences(coding) -> None:
    interview, _, item = coding
    task = "The base model stays as it is: frozen. Only the adapter is trained, and it starts from zero."
    item.asked.prompt = task
    interview.session.type("Since gradients reach nothing but the adapter, I switch them off for W.")
    assert [row.proposed for row in propose(item, ()).points] == [True]
    interview.session.type(task)
    assert [row.proposed for row in propose(item, ()).points] == [False]
