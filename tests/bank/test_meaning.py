"""Marking by meaning: what words stand for, what a sentence claims, and what an answer shows."""

import pytest

from quizapp.bank.meaning.concepts import concepts
from quizapp.bank.meaning.lexicon import load_lexicon, parse_lexicon
from quizapp.bank.meaning.space import load_space
from quizapp.bank.meaning.text_marking import Card, mark_text
from quizapp.bank.model import KeyPoint, Misconception
from quizapp.incidents.loader import load_library

PROMPT = "Why do Transformers use learning-rate warm-up?"
ANSWER = (
    "The early second-moment estimate of Adam rests on a few gradients, so its variance is high, while every "
    "parameter already moves by about the full learning rate. The loss is sharp at initialization, so a full "
    "step can exceed the stability limit."
)
CARD = Card(
    PROMPT,
    (
        KeyPoint(
            "Adam's early second moment is high-variance, while each parameter already moves by about η.",
            3,
            terms=("second moment", "high variance", "noisy estimate"),
            must=True,
        ),
        KeyPoint("Curvature is high at initialization, so the full η can exceed the stability limit.", 3),
        KeyPoint("Warm-up lasts about 2,000 steps or under 1 % of a long run.", 1),
    ),
    (
        Misconception(
            "Warm-up makes the final loss lower because it saves compute.", "It prevents divergence."
        ),
    ),
    (ANSWER,),
)
OTHER_WORDS = (
    "In the first iterations Adam's v is only a noisy estimate built from a handful of grads, and yet each "
    "weight is already updated by roughly a whole lr. And the curvature is large at init, so a full-size lr "
    "would be beyond what is stable."
)


def signs(text: str) -> dict[str, int]:
    return {token.name: token.sign for token in concepts(text)}


def shown(text: str, card: Card = CARD) -> set[int]:
    return set(mark_text(card, text).proposed)


@pytest.mark.parametrize(
    "spelling", ["η", "the lr", "the learning rate", "learning-rate", "step size", "eta"]
)
def test_spellings_of_a_concept_are_one_concept(spelling: str) -> None:
    assert set(signs(spelling)) == {"learn rat"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It raises the noise.", "It lowers the noise."),
        ("It raises the noise.", "It does not raise the noise."),
        ("Clip before the step.", "Clip after the step."),
        ("Multiply by the scale.", "Divide by the scale."),
        ("It is shared.", "It isn't shared."),
        ("The mean grows.", "The mean shrinks rather than the sum."),
    ],
)
def test_opposite_claims_have_opposite_signs(one: str, other: str) -> None:
    first, second = signs(one), signs(other)
    assert any(first[name] == -second[name] for name in first.keys() & second.keys())


def test_a_negation_ends_with_its_clause() -> None:
    read = signs("It is not the dropout, but the mask raises it.")
    assert read["dropout"] == -1
    assert read["mask"] == 1
    assert signs("It not only raises the norm.")["~increas"] == 1


def test_numbers_are_compared_as_values() -> None:
    assert set(signs("0.001")) == set(signs("1e-3")) == set(signs("1.0e-3"))
    assert set(signs("2,000")) == set(signs("2000"))
    assert set(signs("eight")) == set(signs("8"))


def test_a_typing_error_is_read_as_the_words_of_the_card() -> None:
    known = frozenset({"schedul", "clipp"})
    assert concepts("schedlu", known)[0].name == concepts("schedule")[0].name


def test_a_phrase_has_one_meaning() -> None:
    lexicon = parse_lexicon("[same]\nlr, step size\n[opposite]\nraise <> lower, step size\n")
    assert lexicon.phrases[("step", "siz")].name == "lr"
    assert lexicon.phrases[("lower",)].sign == -1
    assert len(load_lexicon().phrases) > 1000


def test_a_right_answer_in_other_words_shows_its_points() -> None:
    assert shown(OTHER_WORDS) >= {0}
    assert shown(ANSWER) >= {0, 1}


def test_evidence_is_a_passage_of_the_answer() -> None:
    text = "Well.\n" + OTHER_WORDS + "\nThat is all I know."
    for evidence in mark_text(CARD, text).proposed.values():
        assert evidence
        assert evidence in text


def test_each_point_of_an_incident_quotes_its_own_sentence() -> None:
    incident = load_library().incidents["amp-clip-before-unscale"]
    points = tuple(
        KeyPoint(point.text, point.weight, point.terms)
        for section in incident.points.values()
        for point in section
    )
    answer = {
        "Call scaler.unscale_": "The fix is to call scaler.unscale_(optimizer) before clip_grad_norm_.",
        "Verify on several": "I run three seeds: the norms agree with float32 and few steps are clipped.",
        "Guard: alarm": "In CI I would add an assert that alarms when almost all steps are clipped.",
        "The true threshold": "With a threshold of 1 on scaled gradients the update is practically zero.",
        "Adam hides it": "Adam would hide it because it normalizes the gradient magnitude.",
    }
    card = Card(f"{incident.setup}\n\n{incident.symptom}", points, references=(incident.answer,))
    marking = mark_text(card, " ".join(answer.values()))
    evidence = {
        start: found.evidence
        for point, found in zip(points, marking.points, strict=True)
        for start in answer
        if point.text.startswith(start)
    }
    assert evidence == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        PROMPT,
        "I would have to look that up, but in my last project we always found a way around it.",
        "second moment, high variance, noisy estimate, curvature, initialization, stability limit, steps",
        "Dropout zeroes random activations in training and does nothing at inference.",
    ],
)
def test_what_says_nothing_shows_nothing(text: str) -> None:
    assert shown(text) == set()


def test_a_claim_turned_around_is_less_probable() -> None:
    point = KeyPoint("A larger batch lowers the noise of the gradient.", 3)
    card = Card("What does the batch size change?", (point,), (), (point.text,))
    right, turned, denied = (
        mark_text(card, text).points[0].probability
        for text in (
            "With a bigger batch the gradient noise goes down.",
            "With a bigger batch the gradient noise goes up.",
            "A bigger batch does not reduce the gradient noise.",
        )
    )
    assert right > turned
    assert right > denied


def test_a_stated_misconception_is_proposed_and_earns_nothing() -> None:
    wrong = CARD.misconceptions[0].wrong
    marking = mark_text(CARD, wrong)
    assert marking.misconceptions[0].proposed
    assert marking.misconceptions[0].evidence == wrong
    assert not marking.proposed
    assert not mark_text(CARD, OTHER_WORDS).misconceptions[0].proposed


def test_an_unproposed_point_names_no_evidence() -> None:
    for found in mark_text(CARD, "It saves memory.").points:
        assert found.proposed or found.evidence == ""


def test_the_share_counts_weights() -> None:
    marking = mark_text(CARD, ANSWER)
    held = sum(CARD.points[index].weight for index in marking.proposed)
    assert marking.share(CARD.points) == pytest.approx(held / 7)
    assert mark_text(CARD, "").share(CARD.points) == 0


def test_the_space_knows_the_words_of_the_bank() -> None:
    """If this fails after many new cards, run ``python -m tools.marking.fit_space`` and ``fit_weights``."""
    from quizapp.bank.loader import load_bank

    known = load_space().index
    texts = [point.text for question in load_bank().questions.values() for point in question.key_points]
    names = [token.name for text in texts for token in concepts(text) if not token.name.startswith("#")]
    assert sum(name in known for name in names) / len(names) > 0.95
