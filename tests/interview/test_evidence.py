"""What typed answers are taken to show: what pretends gets little, what says it in other words gets much."""

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from quizapp.bank.model import Question
from quizapp.interview.effects import effect_of
from quizapp.interview.marking.model import WordsMarking
from quizapp.interview.marking.propose import propose
from quizapp.interview.marking.text_evidence import (
    propose_follow_up,
    says_quote,
)
from quizapp.interview.scoring import score
from quizapp.interview.scoring.terms import terms_of
from quizapp.interview.session.asked import ask_question
from quizapp.interview.session.question import InterviewQuestion
from tests.interview.mock_kit import blueprint, real_bank

STRONG = yaml.safe_load(Path(__file__).with_name("strong_answers.yaml").read_text(encoding="utf-8"))
SURE_LIMIT = 15
STRONG_LEAST = 60
STRONG_ALONE = 30


def marked(
    question: Question, text: str, *, share: float = 0.8, **change
) -> tuple[InterviewQuestion, WordsMarking, int]:
    """The item, the program's own marking of ``text`` (nothing corrected), and the mark."""
    budget = 100
    item = InterviewQuestion(
        0, "medium", "concept", question.id, question.exercise, question.topic, question.level, "recall",
        budget, budget, 1, None, True, ask_question(question, 1), state="frozen", opened_ms=0,
        used_ms=round(1000 * budget * share), typed=text, confidence=100,
    )  # fmt: skip
    for name, value in change.items():
        setattr(item, name, value)
    found = propose(item, blueprint().format.beats["concept"])
    return item, found, score.mark_of(terms_of(item, found))


def recall_questions(number: int) -> list[Question]:
    found = [q for q in real_bank().questions.values() if q.kind == "recall" and not q.scenario]
    return random.Random(7).sample(found, number)


def pretended(question: Question) -> Iterator[tuple[str, str]]:
    """Ways of filling the box without answering."""
    terms = [t.replace("|", " ").replace(" + ", " ") for p in question.key_points for t in p.terms]
    yield "soup with commas", ", ".join(terms)
    yield "soup without", " ".join(terms)
    yield "soup by lines", "\n".join(f"- {term}" for term in terms)
    yield "soup in one breath", " and ".join(terms)
    yield "the question back", question.prompt
    yield "the question thrice", f"{question.prompt} {question.prompt} So the answer is: {question.prompt}"
    yield "empty", ""
    yield "blank", " \n\t "
    yield (
        "off the matter",
        "I would have to look that up, but in my last project we always found a way around it.",
    )
    yield "one word again", "gradient " * 60


@pytest.mark.slow
def test_two_hundred_pretended_answers_stay_low() -> None:
    marks = {}
    for question in recall_questions(20):
        for name, text in pretended(question):
            marks[question.id, name] = marked(question, text)[2]
    assert len(marks) == 200
    high = {key: mark for key, mark in marks.items() if mark > SURE_LIMIT}
    assert high == {}


def test_a_learner_who_ticks_everything_on_a_pretended_answer_gets_half_at_most() -> None:
    for question in recall_questions(20):
        for name, text in pretended(question):
            item, found, _ = marked(question, text)
            for index in range(len(found.points)):
                found.tick(index, text, ticked=True, quote="")
            mark = score.mark_of(terms_of(item, found))
            assert mark <= 60, (question.id, name)
            if not text.strip() or name == "the question back":
                assert mark == 0


def test_an_answer_far_over_time_loses_its_time_and_is_rated_again_when_cut() -> None:
    question = recall_questions(1)[0]
    item, found, mark = marked(question, question.answer, share=1.5, state="cut")
    assert next(t for t in terms_of(item, found) if t.name == "time").share == 0
    assert effect_of(item, mark, found).rating.label == "Again"


@pytest.mark.slow
def test_model_answers_are_heard() -> None:
    marks = [marked(question, question.answer)[2] for question in recall_questions(60)]
    assert sorted(marks)[3] >= 70
    assert sum(marks) / len(marks) >= 85


@pytest.mark.parametrize("name", sorted(STRONG))
def test_strong_answers_in_other_words_pass_once_their_phrases_are_named(name: str) -> None:
    question = real_bank().questions[real_bank().resolve(name)]
    text = STRONG[name]
    item, found, own = marked(question, text)
    assert not found.empty
    words = text.split()
    for index, point in enumerate(found.points):
        if not point.proposed and point.weight > 1:  # the learner names the phrase that says it
            found.tick(index, text, ticked=True, quote=" ".join(words[index * 3 : index * 3 + 4]))
    assert own >= STRONG_ALONE
    assert score.mark_of(terms_of(item, found)) >= STRONG_LEAST


def test_a_quick_perfect_answer_keeps_its_time_but_a_quick_poor_one_does_not() -> None:
    question = recall_questions(3)[2]
    quick = marked(question, question.answer, share=0.2)
    poor = marked(question, "It is large because of that, I think.", share=0.2)
    assert next(t for t in terms_of(poor[0], poor[1]) if t.name == "time").share == 0
    assert quick[2] > poor[2]


def test_follow_ups_are_compared_with_their_reference() -> None:
    ask, answer = "And with a sum?", "Then the gradient grows with the batch size."
    assert propose_follow_up(answer, ask, "the gradient grows with batch size") == 1.0
    assert propose_follow_up(answer, ask, ask) == 0.0
    assert propose_follow_up(answer, ask, "") == 0.0


def test_a_quote_must_stand_in_the_answer() -> None:
    text = "We look at the norms, then at the loss."
    assert says_quote("at the norms", text)
    assert says_quote("At the NORMS, then", text)
    assert not says_quote("norms loss", text)
    assert not says_quote("norms", text)


def test_unsupported_ticks_count_half_and_phrases_in_full() -> None:
    question = next(q for q in real_bank().questions.values() if q.kind == "recall" and len(q.key_points) > 3)
    text = "We simply look at the thing and decide, because it says so."
    _, found, _ = marked(question, text)
    found.tick(0, text, ticked=True)
    assert (found.points[0].held, found.points[0].supported) == (0.5, False)
    found.tick(0, text, ticked=True, quote="look at the thing")
    assert (found.points[0].held, found.points[0].supported) == (1.0, True)
    found.tick(0, text, ticked=True, quote="words that are nowhere")
    assert found.points[0].held == 0.5
    found.tick(0, text, ticked=False)
    assert found.points[0].held == 0.0
    assert Fraction(found.points[0].held) == 0
