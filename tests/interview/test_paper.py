"""The rules by which a paper is drawn hold for every round, role, length, seed and state."""

from collections import Counter
from dataclasses import replace

import pytest

from quizapp.bank.model import Bank, FollowUp, KeyPoint, Question, Topic
from quizapp.errors import QuizError, UnknownName
from quizapp.interview.paper.code_rounds import CODE_ROUNDS, CodeStock, sample_code_paper
from quizapp.interview.paper.model import Paper
from quizapp.interview.paper.open_rounds import OPEN_ROUNDS, sample_open_paper
from quizapp.interview.paper.sample import sample_paper
from quizapp.interview.rounds.material import RoundMaterial
from quizapp.interview.rounds.read_material import load_material
from quizapp.interview.rounds.round_table import ROUNDS
from tests.interview import paper_rules as rules
from tests.interview.mock_kit import ROLES, blueprint, incidents, knowledge, library_of, real_bank

pytestmark = pytest.mark.slow

LENGTHS = ROUNDS["mixed"].lengths
SITTINGS = [(kind.name, minutes) for kind in ROUNDS.values() for minutes in kind.lengths]


def paper_of(round_name: str, minutes: int, role: str, seed: int, share: float, library=None) -> Paper:
    bank = real_bank()
    known = knowledge(bank, seed, share)
    plan = blueprint().plan(role, minutes, round_name=round_name, code=seed % 3 > 0)
    if round_name in OPEN_ROUNDS:
        return sample_open_paper(plan, load_material(), {}, seed)
    if round_name in CODE_ROUNDS:
        return sample_code_paper(CodeStock(plan, bank, known, seed, library or library_of(bank)))
    return sample_paper(plan, bank, known, seed, library or library_of(bank))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("round_name", "minutes"), SITTINGS)
def test_every_rule_holds_over_many_seeds(role: str, round_name: str, minutes: int) -> None:
    bank = real_bank()
    for seed in range(6):
        for library in (incidents(), library_of(bank)):
            share = (0.0, 0.5, 0.95)[seed % 3]
            paper = paper_of(round_name, minutes, role, seed, share, library)
            known = knowledge(bank, seed, share)
            assert list(rules.broken(paper, blueprint(), bank, known, library)) == []


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("round_name", "minutes"), SITTINGS)
def test_a_new_learner_gets_a_full_paper_with_fair_topic_shares(
    role: str, round_name: str, minutes: int
) -> None:
    if round_name in {*OPEN_ROUNDS, *CODE_ROUNDS}:
        return
    for seed in range(3):
        plan = blueprint().plan(role, minutes, round_name=round_name, code=False)
        paper = sample_paper(plan, real_bank(), {}, seed, library_of(real_bank()))
        assert list(rules.unmet(paper, {})) == []
        assert rules.shares(paper, real_bank()) < 2.0
        assert dict(paper.seconds).get("reserve", 0) <= 0.15 * 60 * minutes


def test_a_fifteen_minute_interview_has_warm_up_and_concepts_only() -> None:
    for role in ROLES:
        paper = paper_of("mixed", 15, role, 1, 0.0)
        assert {pick.phase for pick in paper.picks} == {"warm-up", "concept"}


def test_a_thirty_minute_interview_asks_for_one_stage() -> None:
    for seed in (1, 2, 4, 5):
        for role in ROLES:
            (task,) = (p for p in paper_of("mixed", 30, role, seed, 0.0).picks if p.slot == "coding")
            assert len(task.stages) == 1


def test_the_same_seed_and_state_draw_the_same_paper() -> None:
    bank = real_bank()
    known = knowledge(bank, 5, 0.4)
    plan = blueprint().plan("training-infrastructure", 45)
    first = sample_paper(plan, bank, known, 77, incidents()).picks
    assert any(pick.kind == "incident" for pick in first)
    assert sample_paper(plan, bank, known, 77, incidents()).picks == first
    assert sample_paper(plan, bank, known, 78, incidents()).picks != first


def test_the_time_of_the_coding_phase_goes_to_the_others_without_exercises() -> None:
    real = real_bank()
    bank = Bank(real.questions, real.topics, {})
    plan = blueprint().plan("research-engineer", 60)
    paper = sample_paper(plan, bank, {}, 1)
    assert "coding" not in dict(paper.seconds)
    assert sum(seconds for _, seconds in paper.seconds) == 3600
    assert not any(pick.slot == "coding" for pick in paper.picks)
    assert sum(p.slot != "coding" for p in paper.picks) > sum(plan.counts.values()) - plan.counts["coding"]


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
        paper = sample_paper(blueprint().plan(role, 30), bank, {}, 3)
        assert list(rules.broken(paper, blueprint(), bank, {})) == []
        assert {pick.card for pick in paper.picks} - {"b", "d"} <= {"a", "c"}
        assert len(paper.picks) >= 2
        assert dict(paper.seconds)["reserve"] > 900


def test_cards_without_an_exercise_may_meet_in_a_paper_if_they_can_be_marked() -> None:
    points = (KeyPoint("So"),)
    questions = {
        name: Question(name, "debugging", level, "recall", "Why?", "So.", "", key_points=points)
        for name, level in [("a", "easy"), ("b", "easy"), ("c", "medium"), ("d", "medium"), ("e", "hard")]
    }
    questions["f"] = replace(questions["e"], id="f", key_points=())
    bank = Bank(questions, {"debugging": Topic("debugging", "Debugging", "")}, {})
    seen = Counter(
        pick.card
        for seed in range(12)
        for pick in sample_paper(blueprint().plan(ROLES[0], 60), bank, {}, seed).picks
    )
    assert set(seen) == {"a", "b", "c", "d", "e"}
    assert max(seen.values()) > 6


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("minutes", LENGTHS)
@pytest.mark.parametrize("code", [True, False])
def test_the_phases_of_every_plan_sum_to_its_length(role: str, minutes: int, code: bool) -> None:
    plan = blueprint().plan(role, minutes, code=code)
    assert sum(plan.seconds.values()) == 60 * minutes
    assert min(plan.seconds.values()) >= 0


def test_a_quiz_mixes_kinds_and_asks_no_follow_ups() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(8):
        paper = paper_of("quiz", 20, "research-engineer", seed, 0.0)
        kinds.update(pick.kind for pick in paper.picks)
        assert not any(pick.follow_ups for pick in paper.picks)
        assert {pick.phase for pick in paper.picks} == {"quiz"}
    assert len(kinds) >= 4


def test_a_napkin_round_asks_for_different_quantities_and_prefers_what_was_not_asked() -> None:
    material = load_material()
    plan = blueprint().plan("training-infrastructure", 30, round_name="napkin")
    paper = sample_open_paper(plan, material, {}, 3)
    wanted = min(5, len(material.estimates))
    assert len({pick.card for pick in paper.picks}) == len(paper.picks) == wanted
    asked = {pick.card: 1 for pick in paper.picks}
    again = sample_open_paper(plan, material, asked, 3)
    if len(material.estimates) > 30:
        assert not {pick.card for pick in again.picks} & asked.keys()


def test_a_design_round_has_its_five_phases_and_their_minutes() -> None:
    paper = paper_of("design", 45, "research-engineer", 2, 0.0)
    assert paper.seconds == (
        ("requirements", 300), ("arithmetic", 600), ("plan", 900), ("failure-modes", 600), ("metrics", 300)
    )  # fmt: skip
    assert len({pick.card.rpartition(pick.phase)[0] for pick in paper.picks}) == 1


def test_a_project_round_begins_with_the_presentation() -> None:
    paper = paper_of("project", 30, "applied-fine-tuning", 2, 0.0)
    assert [pick.slot for pick in paper.picks][:2] == ["presentation", "probe"]
    assert len(paper.picks) <= 7


def test_a_coding_round_asks_for_the_stages_that_fit_and_prefers_the_role() -> None:
    for seed in range(4):
        (task,) = paper_of("coding", 45, "research-engineer", seed, 0.0).picks
        assert task.exercise in blueprint().role("research-engineer").coding_pool
        assert task.budget <= 44 * 60
        stages = real_bank().exercises[task.exercise].stages
        left = stages[len(task.stages) :]
        assert not left or task.budget + 60 * left[0].minutes > 44 * 60


def test_a_debug_round_begins_with_ten_minutes_of_hypotheses() -> None:
    paper = paper_of("debug", 45, "post-training", 3, 0.0)
    assert paper.seconds[:2] == (("brief", 60), ("hypotheses", 600))
    think, fix = paper.picks
    assert think.exercise == fix.exercise
    assert fix.budget % 480 == 0
    assert fix.budget >= 960


@pytest.mark.parametrize("round_name", sorted(OPEN_ROUNDS))
def test_without_material_a_round_says_so(round_name: str) -> None:
    plan = blueprint().plan("research-engineer", ROUNDS[round_name].lengths[0], round_name=round_name)
    with pytest.raises(QuizError, match=f"nothing to ask in a {round_name} round"):
        sample_open_paper(plan, RoundMaterial(), {}, 1)


@pytest.mark.parametrize(
    ("round_name", "minutes", "says"),
    [
        ("quiz", 30, "a quiz round takes 20 minutes, not 30"),
        ("concepts", 20, "a concepts round takes 30 or 45 minutes, not 20"),
        ("mixed", 7, "a mixed round takes 15, 30, 45 or 60 minutes, not 7"),
    ],
)
def test_a_wrong_length_names_the_right_ones(round_name: str, minutes: int, says: str) -> None:
    with pytest.raises(QuizError, match=says):
        blueprint().plan("research-engineer", minutes, round_name=round_name)


def test_a_wrong_round_or_manner_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'concepts'"):
        blueprint().plan("research-engineer", 30, round_name="concept")
    with pytest.raises(QuizError, match="a quiz round cannot be spoken; concepts and project can"):
        blueprint().plan("research-engineer", 20, round_name="quiz", spoken=True)


GROUPS = {
    "research-engineer": {
        ("transformers", "moe"): 20, ("debugging",): 20, ("optimizers", "lr-schedules"): 15,
        ("backpropagation", "gradient-flow"): 10, ("scaling", "data"): 15,
        ("distributed", "performance", "kernels"): 10, ("alignment", "post-training"): 10,
    },
    "post-training": {
        ("alignment", "post-training"): 35, ("fine-tuning",): 15, ("transformers",): 15, ("debugging",): 15,
        ("evaluation",): 10, ("distributed", "performance"): 10,
    },
}  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_topic_weights_sum_to_a_hundred_and_groups_have_their_share(role: str) -> None:
    weights = blueprint().role(role).topic_weights
    assert sum(weights.values()) == 100
    assert set(weights) <= set(real_bank().topics)
    for topics, share in GROUPS.get(role, {}).items():
        assert sum(weights.get(topic, 0) for topic in topics) == share


@pytest.mark.parametrize("role", ROLES)
def test_a_role_names_rounds_and_pools_that_exist(role: str) -> None:
    chosen = blueprint().role(role)
    assert chosen.rounds
    assert set(chosen.rounds) <= set(ROUNDS)
    assert set(chosen.coding_pool) <= set(real_bank().exercises)
    assert set(chosen.scenario_pool) <= set(library_of(real_bank()).incidents)
