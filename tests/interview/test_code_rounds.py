"""Coding and debug rounds as they are sat: stages, a second exercise, planted faults."""

from dataclasses import replace
from pathlib import Path

import pytest

from quizapp.incidents.loader import find_incident, load_library
from quizapp.interview.marking.propose import propose
from quizapp.interview.paper.code_rounds import CodeStock, sample_code_paper
from quizapp.interview.report.next_steps import target_of
from quizapp.interview.report.text import verdict_line
from quizapp.interview.scoring.terms import coding_terms
from quizapp.judge.verdict import Verdict
from quizapp.practice.faults import plant_faults
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.views import ExerciseProgress
from quizapp.tui.app import QuizApp
from quizapp.tui.bridges.judge_bridge import PendingSubmission
from tests.interview.mock_kit import begin, blueprint, real_bank, sit_down, study, wait
from tests.interview.test_code import FAILED
from tests.tui.drawn import text
from tests.tui.waiting import shows, until


def verdict(item, held: set[int], stages: int | None = None) -> dict:
    """A verdict in which the behaviors ``held`` hold, of the leading stages or of all."""
    exercise = real_bank().exercises[item.exercise]
    asked = exercise.stages[:stages]
    tests = [
        {"name": f"t{number}", "behaviour": number, "passed": number in held, "message": "", "seconds": 0.1}
        for stage in asked
        for number in stage.behaviours
    ]
    passed = all(test["passed"] for test in tests)
    rows = [{"name": stage.name, "passed": held >= set(stage.behaviours)} for stage in asked]
    status = "passed" if passed else "failed"
    return FAILED | {"status": status, "passed": passed, "tests": tests, "stages": rows}


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path) as one:
        yield one


def start(made, round_name: str):
    """A round about code: with this seed a debug round has faults, not runs."""
    interview, hand = begin(made, "post-training", 45, seed=3, round_name=round_name)
    interview.session.proceed()
    return interview, hand, interview.session.item


def behaviours(item) -> set[int]:
    return set(real_bank().exercises[item.exercise].behaviours)


def test_green_reveals_the_next_stage_and_only_the_stages_asked_for_count(made) -> None:
    interview, hand, item = start(made, "coding")
    assert item.staged_run.shown == 1
    first = set(item.stages[0].behaviours)
    wait(interview, hand, 60)
    outcome = interview.submitted(0, "x", verdict(item, first, 1), interview.session.elapsed_ms)
    assert outcome.revealed is not None
    assert item.staged_run.shown == 2
    core = {number for stage in item.stages if stage.name != "robust" for number in stage.behaviours}
    share = next(t.share for t in coding_terms(item, propose(item, ())) if t.name == "hidden behaviours")
    assert float(share) == pytest.approx(len(first) / len(core))


def test_only_a_second_red_grade_of_a_stage_costs(made) -> None:
    interview, hand, item = start(made, "coding")
    interview.session.checked(ok=True)
    first = set(item.stages[0].behaviours)

    def verification() -> float:
        terms = coding_terms(item, propose(item, ()))
        return float(next(t.share for t in terms if t.name == "verification"))

    for held, left in ((set(), 1.0), (first, 1.0), (first, 1.0), (first, 0.75)):
        wait(interview, hand, 5)
        now = interview.session.elapsed_ms
        interview.submitted(0, "x", verdict(item, held, item.staged_run.shown), now)
        assert verification() == left


def test_a_check_that_began_before_the_first_submission_counts_even_if_it_ended_later(made) -> None:
    interview, hand, item = start(made, "coding")
    wait(interview, hand, 5)
    began = interview.session.elapsed_ms
    wait(interview, hand, 5)
    interview.submitted(0, "x", verdict(item, set(), 1), interview.session.elapsed_ms)
    wait(interview, hand, 5)
    interview.session.checked(True, began)
    assert propose(item, ()).checked
    assert item.checks[0].before == 0


def test_a_pass_of_the_core_is_rated_whatever_becomes_of_robust(made) -> None:
    interview, hand, item = start(made, "coding")
    assert item.stages[-1].name == "robust"
    core: set[int] = set()
    for stage in item.stages[:-1]:
        core |= set(stage.behaviours)
        wait(interview, hand, 5)
        shown = item.staged_run.shown
        interview.submitted(0, "x", verdict(item, core, shown), interview.session.elapsed_ms)
    wait(interview, hand, 5)
    interview.submitted(0, "x", verdict(item, core), interview.session.elapsed_ms)  # robust is red
    interview.session.submit()
    interview.session.end("early")
    assert interview.record().questions[0].effect.rating == Rating.GOOD.label
    assert made.exercise_states()[item.exercise].state == ExerciseProgress.PASSED


def test_one_stage_of_several_is_no_pass(made) -> None:
    interview, hand, item = start(made, "coding")
    wait(interview, hand, 5)
    interview.submitted(
        0, "x", verdict(item, set(item.stages[0].behaviours), 1), interview.session.elapsed_ms
    )
    interview.session.submit()
    interview.session.end("early")
    question = interview.record().questions[0]
    assert question.effect.rating == Rating.AGAIN.label
    assert verdict_line(question.coding_marking, 1).startswith("not all stages were reached, ")


@pytest.mark.parametrize("round_name", ["coding", "review"])
def test_a_round_of_code_alone_ends_with_cards_a_stage_and_a_broken_run_too(
    tmp_path: Path, round_name: str
) -> None:
    with study(tmp_path, real_bank()) as made:
        minutes = 45 if round_name == "coding" else 30
        interview, _ = begin(made, "post-training", minutes, seed=3, round_name=round_name)
        interview.session.proceed()
        interview.session.end("early")
        steps = interview.record().next_steps
        targets = [target_of(step) for step in steps]
        reviews = ["review"] * (round_name == "review")
        kinds = ["card", "card", "card", "stages", "incident", *reviews, "mock"]
        assert [target.kind for target in targets] == kinds
        exercise = interview.session.items[0].exercise
        assert made.bank.questions[targets[0].name].exercise == exercise
        assert made.bank.questions[targets[0].name].kind == "recall"
        # The id of a run that was not sat would name its fault.
        assert targets[4].name not in load_library().incidents
        assert find_incident(load_library(), targets[4].name).name == targets[4].name


@pytest.mark.slow
async def test_the_brief_of_a_new_stage_is_in_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with study(tmp_path, real_bank()) as made:
        interview, _ = begin(made, "post-training", 45, seed=3, round_name="coding")
        interview.session.proceed()
        item = interview.session.item
        app = QuizApp(study=made)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = await sit_down(app, pilot, interview)
            await shows(pilot, "Stage 1:")
            await pilot.press("pagedown", "pagedown")
            await until(pilot, lambda: "Stage 1:" not in text(app))
            sent = []
            monkeypatch.setattr(app.judge, "submit", lambda *arguments: sent.append(arguments))
            await pilot.press("ctrl+s")
            exercise, source, device, on_result, stages = sent[0]
            submission = PendingSubmission(exercise, source, device, on_result, stages)
            green = verdict(item, set(item.stages[0].behaviours), 1)
            on_result(submission, Verdict.from_json(green))
            await shows(pilot, "Stage 2:")
            name = item.stages[0].name
            assert f'Stage "{name}" holds. Next: stage' in screen.query_one("#output").content.plain


def test_a_second_exercise_comes_only_if_the_first_is_complete_early(made) -> None:
    interview, hand, item = start(made, "coding")
    wait(interview, hand, 120)
    while not item.staged_run.finished:
        assert len(interview.session.items) == 1
        now = interview.session.elapsed_ms
        interview.submitted(0, "x", verdict(item, behaviours(item), item.staged_run.shown), now)
    second = interview.session.items[1]
    assert second.exercise != item.exercise
    assert second.budget == 60 * sum(stage.minutes for stage in second.stages)
    assert sum(phase.seconds for phase in interview.session.phases) == 45 * 60
    assert second.budget <= interview.session.left_ms / 1000
    interview.session.submit()
    interview.session.confide(75)
    assert interview.session.item is second


def test_without_time_there_is_no_second_exercise(made) -> None:
    interview, hand, item = start(made, "coding")
    wait(interview, hand, 43 * 60 - 70, step=5.0)
    if interview.session.item is not item:
        pytest.skip("the task was cut before")
    for _ in item.stages:
        now = interview.session.elapsed_ms
        interview.submitted(0, "x", verdict(item, behaviours(item), item.staged_run.shown), now)
    assert len(interview.session.items) == 1


def test_each_planted_fault_counts_by_itself_and_is_never_forgotten(made) -> None:
    interview, hand, item = start(made, "debug")
    assert item.slot == "hypotheses"
    assert len(item.asked.key_points) >= 2
    interview.session.type("I would check the mask first.")
    interview.session.submit()
    interview.session.confide(50)
    fix = interview.session.item
    assert fix.code == ""
    assert fix.coding.starter in item.asked.prompt + "\n"
    faults = set(fix.stages[0].behaviours)
    one = next(iter(faults))
    wait(interview, hand, 300)
    now = interview.session.elapsed_ms
    interview.submitted(1, "x", verdict(fix, behaviours(fix) - faults | {one}), now)
    share = next(t.share for t in coding_terms(fix, propose(fix, ())) if t.name == "hidden behaviours")
    assert float(share) == pytest.approx(1 / len(faults))
    interview.session.submit()
    interview.session.confide(50)
    report = interview.record()
    assert [q.effect.rating for q in report.questions] == [None, None]
    assert report.tomorrow == []


def test_all_green_after_debugging_is_rated_hard(made) -> None:
    interview, hand, _ = start(made, "debug")
    interview.session.submit()
    interview.session.confide(50)
    fix = interview.session.item
    wait(interview, hand, 60)
    interview.submitted(1, "x", verdict(fix, behaviours(fix)), interview.session.elapsed_ms)
    assert fix.staged_run.finished
    interview.session.end("early")
    assert interview.record().questions[1].effect.rating == Rating.HARD.label


def test_a_debug_round_may_have_broken_runs_after_hypotheses_on_all_of_them(made) -> None:
    for seed in range(20):
        interview, _ = begin(made, "post-training", 45, seed=seed, round_name="debug")
        think, *runs = interview.session.items
        if runs[0].kind == "incident" and runs[0].live is None:
            break
    assert (think.slot, think.budget, think.phase) == ("hypotheses", 600, "hypotheses")
    assert {run.phase for run in runs} == {"debug"}
    assert len({run.incident.fault_class for run in runs}) == len(runs) == 4
    assert all(run.incident.title in think.asked.prompt for run in runs)
    causes = [
        next((cause.text for cause in run.incident.causes if cause.id == run.incident.cause), "")
        for run in runs
    ]
    shown = [point.text for point in think.key_points]
    assert all(cause in point for cause, point in zip(causes, shown, strict=True))
    # The readings are sold in the second phase only.
    assert not any(run.incident.readings[0].shows in think.asked.prompt for run in runs)


def test_papers_of_faulty_code_are_drawn_from_the_programs_that_were_planted_before(made) -> None:
    exercise = real_bank().exercises["lora"]
    assert plant_faults(exercise, 3, 7) is plant_faults(exercise, 3, 7)


def test_a_pool_that_fills_only_a_part_of_a_round_is_named(made) -> None:
    interview, _ = begin(made, "post-training", 30, seed=5, round_name="review")
    assert interview.note == ""
    plan = blueprint().plan("post-training", 30, round_name="review")
    bank = real_bank()
    few = replace(bank, exercises={slug: bank.exercises[slug] for slug in ("lora", "adamw")})
    paper = sample_code_paper(CodeStock(plan, few, {}, 1))
    assert paper.note.startswith("Only 2 of the 3 reviews of this round can be asked now")
