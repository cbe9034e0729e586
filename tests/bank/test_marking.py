import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.bank.answers import (
    gaps,
    mark_choice,
    mark_cloze,
    mark_numeric,
    mark_order,
    shuffled,
)
from quizapp.bank.key_terms import shown_terms, weak_term
from quizapp.bank.model import KeyPoint, Option, Question, Tolerance
from quizapp.bank.parameters import sample_question


def question(kind: str, **fields: object) -> Question:
    base = {"id": "q", "topic": "t", "level": "easy", "prompt": "p", "answer": "a", "exercise": "warmup"}
    return Question(kind=kind, **{**base, **fields})  # type: ignore[arg-type]


NUMERIC = question(
    "numeric",
    prompt="{P} billion parameters?",
    values={"P": (7, 13)},
    formula="P * 16",
    unit="GB",
    tolerance=Tolerance(relative=0.01),
    worked="{P} x 16 = {result}",
)


def test_number_within_tolerance_is_right_in_any_unit() -> None:
    drawn = sample_question(NUMERIC, 1)
    for text in (f"{drawn.result}", f"{drawn.result * 1.009} GB", f"{drawn.result / 1000} TB"):
        assert mark_numeric(NUMERIC, drawn, text).right == 1


def test_wrong_number_is_told_by_how_much() -> None:
    drawn = sample_question(NUMERIC, 1)
    mark = mark_numeric(NUMERIC, drawn, f"{drawn.result * 8}")
    assert mark.right == 0
    assert "8 times too large" in mark.note


def test_gib_taken_for_gb_is_wrong() -> None:
    drawn = sample_question(NUMERIC, 1)
    assert mark_numeric(NUMERIC, drawn, f"{drawn.result} GiB").right == 0


def test_same_seed_draws_the_same_values() -> None:
    assert [sample_question(NUMERIC, s).prompt for s in range(20)] == [
        sample_question(NUMERIC, s).prompt for s in range(20)
    ]
    assert len({sample_question(NUMERIC, s).prompt for s in range(20)}) == 2


CHOICE = question(
    "choice", options=(Option("a", "because", right=True), Option("b", "no"), Option("c", "no"))
)


def test_choice_tells_why() -> None:
    assert mark_choice(CHOICE, 0).right == 1
    assert mark_choice(CHOICE, 2).note == "no"


def test_options_appear_in_every_position() -> None:
    assert {shuffled(CHOICE, seed).index(0) for seed in range(50)} == {0, 1, 2}


ORDER = question("order", steps=("one", "two", "three", "four"))


def test_steps_are_never_shown_in_the_right_order() -> None:
    assert all(shuffled(ORDER, seed) != (0, 1, 2, 3) for seed in range(200))


def test_order_gives_credit_for_right_neighbours() -> None:
    assert mark_order(ORDER, (0, 1, 2, 3)).right == 1
    assert mark_order(ORDER, (1, 2, 3, 0)).right == pytest.approx(2 / 3)
    assert mark_order(ORDER, (3, 2, 1, 0)).right == 0
    assert mark_order(ORDER, (0, 0, 1, 2)).right == 0


@given(st.permutations(range(4)))
def test_only_the_right_order_has_full_marks(order: list[int]) -> None:
    assert (mark_order(ORDER, order).right == 1) == (order == [0, 1, 2, 3])


CLOZE = question(
    "cloze", text="β₂ is [[0.999]], ε is [[1e-8|10^-8]], call [[zero_grad]] first: [[pre-norm]]."
)


def test_gaps_accept_every_form() -> None:
    assert len(gaps(CLOZE)) == 4
    assert mark_cloze(CLOZE, ["0.9990", "10^-8", " Zero_Grad ", "Pre norm"]).right == 1


@pytest.mark.parametrize("wrong", ["1e8", "", "0.00000002"])
def test_another_number_does_not_fill_a_gap(wrong: str) -> None:
    assert mark_cloze(CLOZE, ["0.999", wrong, "zero_grad", "pre-norm"]).parts == (True, False, True, True)


def test_terms_are_found_in_other_forms_of_the_word() -> None:
    point = KeyPoint("x", terms=("second moment", "unscale + before clip|clip after", "regularise"))
    assert shown_terms(point, "The second moments are noisy.") == ("second moment",)
    assert shown_terms(point, "We unscaled the gradients before clipping them.") == (
        "unscale + before clip|clip after",
    )
    assert shown_terms(point, "Unscale it; clip later.") == ()
    assert shown_terms(point, "It regularizes.") == ("regularise",)


def test_part_of_a_word_shows_nothing() -> None:
    assert shown_terms(KeyPoint("x", terms=("norm",)), "an enormous abnormality") == ()


def test_a_plus_without_spaces_belongs_to_the_formula() -> None:
    point = KeyPoint("x", terms=("4+4+8",))
    assert shown_terms(point, "It is 4 + 4 + 8 = 16 bytes.") == ("4+4+8",)
    assert shown_terms(point, "4 bytes here and 8 there") == ()


@pytest.mark.parametrize(
    ("term", "why"),
    [
        ("scheduler+once|update", "joins words"),
        ("eta ||g||^2", "alternative without a word"),
        ("on", "everyday word"),
        ("I + F|identity", "everyday word"),
        ("1/|one over n", "everyday word"),
    ],
)
def test_a_term_that_shows_itself_in_any_answer_is_refused(term: str, why: str) -> None:
    assert why in weak_term(term)


@pytest.mark.parametrize(
    "term", ["p - y", "1/B", "(p-1)/(m+p-1)", "skip + halve|halved", "η", "zero++", "8P|8N"]
)
def test_formulas_and_words_are_good_terms(term: str) -> None:
    assert weak_term(term) == ""
