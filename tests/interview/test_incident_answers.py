"""What typed answers to incidents earn: copied, denied, pasted, and right, in every incident."""

import random
from functools import cache
from pathlib import Path

import pytest
import yaml

from quizapp.bank.meaning.sentences import is_copied, sentences
from quizapp.incidents.diagnosis import StatedDiagnosis
from quizapp.incidents.loader import load_library
from quizapp.incidents.model import NO_FAULT
from quizapp.interview.session.question import InterviewQuestion
from tests.interview import incident_sittings as sittings
from tests.interview.incident_sittings import ALONE, IN_INTERVIEW, Result, Sitter, combined
from tests.interview.mock_kit import blueprint

SOME = ("clipped-spike-false-alarm", "double-softmax", "resume-without-optimizer")
IN_OTHER_WORDS = yaml.safe_load(Path(__file__).with_name("incident_answers.yaml").read_text(encoding="utf-8"))
MODES = (ALONE, IN_INTERVIEW)


@cache
def names() -> list[str]:
    return sorted(load_library().incidents)


def sat(name: str, sitter: Sitter, rules: int = ALONE) -> Result:
    item = sittings.ask(load_library(), name, rules)
    other = sittings.ask(load_library(), names()[names().index(name) - 7], rules).incident
    return sittings.sit(item, sitter(item.incident, other, random.Random(1)), blueprint())


def question(name: str) -> InterviewQuestion:
    return sittings.ask(load_library(), name, ALONE)


# copying


@pytest.mark.parametrize("name", names())
def test_no_key_point_of_a_run_counts_as_copied_from_its_prompt(name: str) -> None:
    asked = question(name).incident
    parts = [part for point in asked.key_points for part in sentences(point.text)]
    assert [part for part in parts if is_copied(part, asked.prompt)] == []


@pytest.mark.parametrize("words", ["copied prompt", "prompt in pieces", "prompt with other ends"])
@pytest.mark.parametrize("name", SOME)
def test_a_copied_prompt_holds_no_point(name: str, words: str) -> None:
    result = sat(name, combined(sittings.PASTED[words], sittings.right))
    assert [point.text for point in result.marking.points if point.held] == []


def test_eight_words_in_a_row_are_copied_and_single_shared_words_are_not() -> None:
    prompt = (
        "The training loss falls for ten steps and then rises without end. Gradients look normal. Rate 0.1."
    )
    assert is_copied(
        "So training loss falls for ten steps and then it explodes somewhere, I suppose.", prompt
    )
    assert is_copied("Gradients look normal", prompt)
    assert is_copied("It rises without end and the training loss falls ten steps.", prompt)
    assert not is_copied("The loss rises, since gradients add up when the rate of clearing is zero.", prompt)


# denials and other pasted words


@pytest.mark.parametrize("words", [name for name in sittings.PASTED if name.startswith("denial")])
@pytest.mark.parametrize("name", SOME)
def test_a_denied_key_point_is_not_held(name: str, words: str) -> None:
    result = sat(name, combined(sittings.PASTED[words], sittings.right))
    assert [point.text for point in result.marking.points if point.held] == []


@pytest.mark.parametrize("rules", MODES)
@pytest.mark.parametrize("words", sittings.PASTED)
def test_pasted_words_earn_at_most_ten_of_100(words: str, rules: int) -> None:
    for name in SOME:
        assert sat(name, combined(sittings.PASTED[words], sittings.no_choice), rules).mark <= 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", sittings.PASTED)
def test_pasted_words_earn_at_most_ten_of_100_in_every_incident(words: str) -> None:
    marks = {name: sat(name, combined(sittings.PASTED[words], sittings.no_choice)).mark for name in names()}
    assert {name: mark for name, mark in marks.items() if mark > 10} == {}


@pytest.mark.parametrize("name", SOME)
def test_the_answer_to_another_run_earns_nothing_beside_right_choices(name: str) -> None:
    right, words = sat(name, sittings.right_without_words), sittings.other_answer
    assert sat(name, combined(words, sittings.right)).mark == right.mark


# right answers


@pytest.mark.parametrize("rules", MODES)
@pytest.mark.parametrize("name", SOME)
def test_own_key_points_and_the_own_answer_earn_nearly_everything(name: str, rules: int) -> None:
    for sitter in sittings.HONEST.values():
        assert sat(name, sitter, rules).mark >= 95


@pytest.mark.exhaustive
@pytest.mark.parametrize("sitter", sittings.HONEST)
def test_right_answers_earn_nearly_everything_in_every_incident(sitter: str) -> None:
    marks = {name: sat(name, sittings.HONEST[sitter]).mark for name in names()}
    assert {name: mark for name, mark in marks.items() if mark < 90} == {}


@pytest.mark.parametrize("name", IN_OTHER_WORDS)
def test_right_answers_in_other_words_earn_most_marks(name: str) -> None:
    result = sat(name, combined(lambda *_: IN_OTHER_WORDS[name], sittings.right))
    assert result.mark >= 80


# caps


def caps(result: Result) -> list[str]:
    return [term.how for term in result.terms if term.name == "cap"]


@pytest.mark.parametrize("rules", MODES)
def test_words_without_a_cause_or_a_reading_are_capped_with_the_reason(rules: int) -> None:
    name, typed = "double-softmax", combined(sittings.own_points, sittings.no_choice)
    nothing = sat(name, typed, rules)
    assert nothing.mark == 10
    assert set(caps(nothing)) == {"no cause named and no reading taken: at most 10 for words"}
    cause = question(name).incident.cause
    unread = sat(name, lambda *_: typed(*_)._replace(stated=StatedDiagnosis(cause)), rules)
    assert "no reading taken: at most 10 for words" in caps(unread)
    assert unread.mark <= 10 + 12


@pytest.mark.parametrize("rules", MODES)
def test_a_broken_run_called_healthy_earns_at_most_15(rules: int) -> None:
    result = sat("double-softmax", combined(sittings.own_answer, sittings.no_fault_controlled), rules)
    assert result.mark <= 15
    assert "a broken run called healthy: at most 15 in all" in caps(result)


def test_buying_every_reading_without_a_cause_earns_at_most_15() -> None:
    result = sat("double-softmax", combined(sittings.nothing, sittings.all_bought), IN_INTERVIEW)
    assert result.mark <= 15


def test_a_cause_that_an_own_reading_excludes_caps_the_whole_at_30() -> None:
    def contradicting(asked, other, chance):
        excluded = next(row for row in asked.decoys if row != NO_FAULT)
        return sittings.HONEST["own answer"](asked, other, chance)._replace(stated=StatedDiagnosis(excluded))

    result = sat("double-softmax", contradicting, IN_INTERVIEW)
    assert result.mark == 30
    assert caps(result) == ["the cause named is excluded by a reading that was taken: at most 30 in all"]


def test_the_same_prediction_for_everything_is_right_about_one_kind_of_outcome() -> None:
    result = sat("double-softmax", combined(sittings.nothing, sittings.all_bought), IN_INTERVIEW)
    predictions = next(term for term in result.terms if term.name == "predictions")
    assert predictions.share <= 0.5


def test_older_questions_have_no_caps_and_keep_their_mark() -> None:
    item = question("double-softmax")
    stored = item.as_json()
    assert stored.pop("incident_rules") == 2
    old = InterviewQuestion.from_json(stored)
    assert "incident_rules" not in old.as_json()
    words = combined(sittings.own_points, sittings.no_choice)
    result = sittings.sit(old, words(old.incident, old.incident, random.Random(1)), blueprint())
    assert (result.mark > 60, caps(result)) == (True, [])


def test_a_false_alarm_that_is_recognized_has_no_cap() -> None:
    result = sat("clipped-spike-false-alarm", combined(sittings.own_answer, sittings.no_fault_controlled))
    assert caps(result) == []
    assert result.mark >= 90
    assert question("clipped-spike-false-alarm").incident.cause == NO_FAULT
