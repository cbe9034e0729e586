"""The rules by which a paper is drawn hold for every role, length, seed and state."""

import pytest

from quizapp.bank.model import Bank, FollowUp, KeyPoint, Question, Topic
from quizapp.interview.blueprint import LENGTHS, split
from quizapp.interview.paper.sample import sample_paper
from tests.interview import paper_rules as rules
from tests.interview.mock_kit import ROLES, blueprint, incidents, knowledge, library_of, real_bank


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_every_rule_holds_over_many_seeds(role: str, share: float) -> None:
    bank = real_bank()
    for seed in range(24):
        known = knowledge(bank, seed, share)
        plan = blueprint().plan(role, LENGTHS[seed % 4], code=seed % 3 > 0)
        for library in (incidents(), library_of(bank)):
            paper = sample_paper(blueprint(), plan, bank, known, seed, library)
            assert list(rules.broken(paper, blueprint(), bank, known, library)) == []


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("minutes", LENGTHS)
def test_a_new_learner_gets_a_full_paper_with_fair_topic_shares(role: str, minutes: int) -> None:
    bank = real_bank()
    for seed in range(5):
        paper = sample_paper(blueprint(), blueprint().plan(role, minutes, code=False), bank, {}, seed)
        assert list(rules.unmet(paper, {})) == []
        assert rules.shares(paper, bank) < 2.0


def test_the_same_seed_and_state_draw_the_same_paper() -> None:
    bank = real_bank()
    known = knowledge(bank, 5, 0.4)
    plan = blueprint().plan("training-infrastructure", 45)
    first = sample_paper(blueprint(), plan, bank, known, 77, incidents()).picks
    assert any(pick.kind == "incident" for pick in first)
    assert sample_paper(blueprint(), plan, bank, known, 77, incidents()).picks == first
    assert sample_paper(blueprint(), plan, bank, known, 78, incidents()).picks != first


def test_the_time_of_the_coding_phase_goes_to_the_others_without_exercises() -> None:
    real = real_bank()
    bank = Bank(real.questions, real.topics, {})
    paper = sample_paper(blueprint(), blueprint().plan("research-engineer", 60), bank, {}, 1)
    assert "coding" not in dict(paper.seconds)
    assert sum(seconds for _, seconds in paper.seconds) == 3600
    assert not any(pick.slot == "coding" for pick in paper.picks)


def test_a_small_bank_gives_a_shorter_paper_within_the_rules() -> None:
    questions = {
        name: Question(name, "debugging", level, "recall", "Why?", "So.", slug, scenario=staged,
                       key_points=(KeyPoint("So", 3, terms=("so",)),), follow_ups=(FollowUp("And?", "Yes."),))
        for name, level, slug, staged in [
            ("a", "easy", "one", False), ("b", "medium", "two", False), ("c", "hard", "three", True),
            ("d", "medium", "two", False),
        ]
    }  # fmt: skip
    bank = Bank(questions, {"debugging": Topic("debugging", "Debugging", "")}, {})
    for role in ROLES:
        paper = sample_paper(blueprint(), blueprint().plan(role, 30), bank, {}, 3)
        assert list(rules.broken(paper, blueprint(), bank, {})) == []
        assert {pick.card for pick in paper.picks} - {"b", "d"} <= {"a", "c"}
        assert len(paper.picks) >= 2


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("minutes", LENGTHS)
@pytest.mark.parametrize("code", [True, False])
def test_the_phases_of_every_plan_sum_to_its_length(role: str, minutes: int, code: bool) -> None:
    plan = blueprint().plan(role, minutes, code=code)
    assert sum(plan.seconds.values()) == 60 * minutes
    assert min(plan.seconds.values()) >= 0


def test_split_parts_sum_to_the_whole() -> None:
    for total in range(0, 200, 7):
        for weights in ([1.0], [1, 1, 1], [60, 90, 150.5], [3, 1, 1, 1, 9]):
            parts = split(total, weights)
            assert sum(parts) == total
            assert all(
                abs(part - total * weight / sum(weights)) < 1
                for part, weight in zip(parts, weights, strict=True)
            )
