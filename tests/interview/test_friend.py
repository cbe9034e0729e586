"""A friend marks: what is asked, what is shown, what is stored."""

import copy
from collections.abc import Callable

import msgspec
import pytest

from quizapp.interview.peer.peer_review import answers_to_mark, ask_reviewer, columns_text
from quizapp.interview.report.model import MarkedQuestion, PeerReview, Report, load_report
from tests.interview.mock_kit import done, small_bank


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """With an answer in words whose own marks are all over the place."""
    found = load_report(done(tmp_path_factory.mktemp("friend"), 3, bank=small_bank()))
    for item in answers_to_mark(found):
        for number, point in enumerate(item.points):
            point.held = (1.0, 0.5, 0.0)[number % 3]
    return found


def only(report: Report, question: MarkedQuestion) -> Report:
    return msgspec.structs.replace(report, questions=[question])


class Friend:
    """Answers by a function of the prompt and keeps what was on the screen."""

    def __init__(self, choose: Callable[[str], str]) -> None:
        self.choose, self.lines, self.asked = choose, [], []

    def ask(self, prompt: str) -> str:
        self.lines.append(prompt)
        if prompt.endswith("Your name: "):
            return " Ada \n"
        self.asked.append(prompt)
        return self.choose(prompt)

    def mark(self, report: Report, width: int = 80) -> PeerReview:
        return ask_reviewer(report, self.ask, lambda text: self.lines.append(str(text)), width)


def test_question_answer_and_points_are_told_apart_and_nothing_of_the_own_marks_is_shown(
    report: Report,
) -> None:
    friend = Friend(lambda prompt: "n")
    found = friend.mark(report)
    assert found.by == "Ada"
    text = "\n".join(friend.lines)
    items = answers_to_mark(report)
    for word in ("QUESTION\n", "ANSWER\n", "WHAT A GOOD ANSWER CONTAINS"):
        assert text.count(word) == len(items)
    assert all(len(line) <= 80 + len("  [y/h/n] ") for line in text.splitlines())
    for own in ("held", "missing", "unsupported", "you said", str(report.totals.raw) + " of 100"):
        assert own not in text


def test_only_yes_half_and_no_are_answers(report: Report) -> None:
    said = iter(["", "maybe", "Y", *["n"] * 500])
    friend = Friend(lambda prompt: next(said))
    found = friend.mark(report)
    first = next(iter(found.items.values()))
    assert first.points[0] == 1.0
    assert friend.asked[0] == friend.asked[1] == friend.asked[2] != friend.asked[3]
    assert sum("Please answer" in line for line in friend.lines) == 2


def test_half_is_no_answer_to_a_misconception(report: Report) -> None:
    friend = Friend(lambda prompt: "n" if friend.asked.count(prompt) > 1 or "[y/h/n]" in prompt else "h")
    found = friend.mark(report)
    wrong = [prompt for prompt in friend.asked if "[y/n]" in prompt]
    assert wrong
    assert sum("Please answer y or n;" in line for line in friend.lines) == len(set(wrong))
    assert not any(stated for column in found.items.values() for stated in column.misconceptions)


def test_the_last_answer_can_be_taken_back_also_over_items(report: Report) -> None:
    plain = Friend(lambda prompt: "n")
    plain.mark(report)
    steps = len(plain.asked)
    back = iter(["b", "y", *["y"] * (steps - 1), *["b"] * 0])
    friend = Friend(lambda prompt: next(back))
    assert all(all(h == 1.0 for h in c.points) for c in friend.mark(report).items.values())
    said = iter([*["y"] * (steps - 1), *["b"] * (steps - 1), *["n"] * steps])
    friend = Friend(lambda prompt: next(said))
    found = friend.mark(report)
    assert not any(any(column.points) for column in found.items.values())
    openings = [line for line in friend.lines if line.strip().startswith("--- ")]
    assert len(openings) == len(answers_to_mark(report)) * 3 - 2


def test_stopping_half_way_gives_nothing(report: Report) -> None:
    def stop(prompt: str) -> str:
        raise EOFError

    with pytest.raises(EOFError):
        Friend(stop).mark(report)


def test_control_characters_of_an_answer_do_not_reach_the_terminal(report: Report) -> None:
    question = copy.deepcopy(answers_to_mark(report)[0])
    question.asked.typed = "red \x1b[31m and \x07 bell"
    friend = Friend(lambda prompt: "n")
    friend.mark(only(report, question))
    text = "\n".join(friend.lines)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b[31m and \\x07 bell" in text


def test_a_friend_who_hears_something_where_the_machine_heard_nothing_counts(report: Report) -> None:
    silent = copy.deepcopy(answers_to_mark(report)[0])
    silent.marking.empty = True
    heard = Friend(lambda prompt: "y" if "[y/h/n]" in prompt else "n").mark(only(report, silent))
    unheard = Friend(lambda prompt: "n").mark(only(report, silent))
    assert unheard.items[str(silent.asked.number)].mark == 0
    assert heard.items[str(silent.asked.number)].mark >= 50


def test_both_columns_and_the_agreement_are_printed(report: Report) -> None:
    found = Friend(lambda prompt: "y" if "[y/h/n]" in prompt else "n").mark(report)
    lines = list(columns_text(report, found))
    assert lines[0].split() == ["own", "Ada"]
    number = next(iter(found.items))
    own, theirs = str(report.question(int(number)).marks.total), str(found.items[number].mark)
    assert lines[1].split()[-2:] == [own, theirs]
    assert f"{found.agreement.percent} %" in lines[-2]
    assert all(len(line) <= 100 for line in lines)
