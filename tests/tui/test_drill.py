"""Drilling with keys and mouse, on a real store."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from quizapp.bank.model import Bank
from quizapp.errors import QuizError
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.service import Study
from quizapp.scheduling.views import CardFilter, DueCard
from quizapp.tui.app import QuizApp
from quizapp.tui.rendering.card_text import PreparedCard, prepare_card
from quizapp.tui.screens.drill.drill_screen import DrillScreen
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.key_points import KeyPoints
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.rating_bar import RatingBar
from tests.tui.drawn import text
from tests.tui.waiting import settled, shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]


def only(question: str) -> CardFilter:
    return CardFilter(ids=frozenset({question}))


def drill(app: QuizApp) -> DrillScreen:
    assert isinstance(app.screen, DrillScreen)
    return app.screen


async def press(pilot: Pilot, *pressed: str) -> None:
    """Press keys outside any field: a numeric or cloze card begins in its field."""
    await pilot.pause()
    if pilot.app.focused is not None:
        await pilot.press("escape")
    await pilot.press(*pressed)
    await pilot.pause()


async def test_enter_without_a_proposal_asks_for_a_rating_and_zero_rates_again(
    app: App, study: Study
) -> None:
    running = app("drill", flt=only("state-growth"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await press(pilot, "space", "enter")
        assert [note.message for note in running._notifications] == [
            "You only looked, so no rating is proposed: rate yourself with 1 to 4."
        ]
        await press(pilot, "0")
        assert study.card("state-growth").history[0].rating == Rating.AGAIN


@pytest.mark.parametrize("key", ["space", "enter"])
async def test_reveal_then_digit_rates_and_shows_the_next_card(app: App, study: Study, key: str) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await pilot.pause()
        first = drill(running).card
        await press(pilot, key, "3")
        assert study.card(first.id).reps == 1
        assert study.card(first.id).history[0].rating == Rating.GOOD
        assert drill(running).card.id != first.id
        assert drill(running).session.done == 1


async def test_ticks_change_the_proposal_which_enter_takes(app: App, study: Study) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("space")
        assert drill(running).attempt.proposal is None
        await pilot.press("enter")
        assert study.card("warm-up").history == ()
        assert ["Tick what you said" in note.message for note in running._notifications] == [True]
        await pilot.press("a")
        assert drill(running).attempt.proposal.rating in {Rating.GOOD, Rating.EASY}
        await shows(pilot, "3 of 3 key points")
        await pilot.press("enter")
        event = study.card("warm-up").history[0]
        assert event.rating >= Rating.GOOD


async def test_sentences_that_show_a_point_light_up_and_tick_it(app: App) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("t")
        said = "At first the second moment is estimated from only a few gradients."
        running.screen.query_one(AnswerBox).load_text(f"Well.\n{said}\nWarm-up replaces clipping.")
        await pilot.press("ctrl+r")
        assert running.screen.query_one(KeyPoints).ticks == {0}
        own = running.screen.query_one("#own", Static).content
        assert said in [own.plain[span.start : span.end] for span in own.spans]
        await shows(pilot, f"you said: {said[:30]}", "Did you say this?", "A misconception?")
        await until(pilot, lambda: "It does not; both are used." in " ".join(text(running).split()))
        assert drill(running).attempt.proposal.rating == Rating.HARD


async def test_nothing_lights_up_before_the_reveal(app: App) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("t", *"second moment")
        assert "recognized" not in text(running)


async def test_a_click_ticks_a_point(app: App) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("space")
        points = running.screen.query_one(KeyPoints)
        await until(pilot, lambda: points.region.height > 1)
        await pilot.click(points, offset=(8, 1))
        await until(pilot, lambda: points.ticks == {1})


async def test_right_number_is_proposed_good_and_wrong_again(app: App) -> None:
    running = app("drill", flt=only("rate-at-step"))
    async with running.run_test() as pilot:
        await pilot.pause()
        result = drill(running).card.sampled.result
        assert isinstance(running.focused, Input)
        await pilot.press(*f"{result:g}", "enter")
        assert drill(running).attempt.mark.right == 1
        assert drill(running).attempt.proposal.rating >= Rating.GOOD
        await shows(pilot, "Half of")
        await press(pilot, "1")
        await press(pilot, "u")
        assert isinstance(running.focused, Input)
        await pilot.press(*"99", "enter")
        assert drill(running).attempt.proposal.rating == Rating.AGAIN


async def test_the_field_says_how_it_reads_a_number(app: App) -> None:
    running = app("drill", flt=only("rate-at-step"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press(*"6*7e2/3")
        await shows(pilot, "understood as 1,400")
        await pilot.press("plus")
        await shows(pilot, "That is not a number")
        await pilot.press(*["backspace"] * 8)
        await shows(pilot, "are understood")


async def test_a_slip_in_a_number_can_be_corrected_and_an_empty_field_is_an_answer(app: App) -> None:
    running = app("drill", flt=only("rate-at-step"))
    async with running.run_test() as pilot:
        await pilot.pause()
        result = f"{drill(running).card.sampled.result:g}"
        await pilot.press(*result, "q", "enter")
        await pilot.pause()
        assert ["Correct the number" in note.message for note in running._notifications] == [True]
        assert drill(running).attempt.mark is None
        await pilot.press("backspace", "enter")
        assert drill(running).attempt.mark.right == 1
        await press(pilot, "1")
        await press(pilot, "u")
        await pilot.press("enter")
        await shows(pilot, "Not answered. Right is")
        await press(pilot, "1")
        await press(pilot, "u")
        await pilot.press(*"12q", "ctrl+r")
        await shows(pilot, "That is not a number")


async def test_numbers_are_fresh_after_a_review(app: App, study: Study, clock) -> None:
    seeds = set()
    for _ in range(3):
        seeds.add(study.seed("rate-at-step"))
        study.answer("rate-at-step", Rating.GOOD)
        clock.forward(days=3)
    assert len(seeds) == 3


async def test_choice_is_answered_by_its_digit(app: App) -> None:
    running = app("drill", flt=only("state-growth"))
    async with running.run_test() as pilot:
        await pilot.pause()
        choice = running.screen.query_one(Choice)
        right = next(i for i, at in enumerate(choice.order) if choice.options[at].right)
        await pilot.press(str(right + 1))
        assert drill(running).attempt.mark.right == 1
        await shows(pilot, "There is no third, [not even] <one>.")


async def test_reasons_of_a_choice_leave_room_for_the_explanation(app: App) -> None:
    running = app("drill", flt=only("state-growth"))
    async with running.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("1")
        await pilot.pause()
        view, answer = drill(running).view, running.screen.query_one("#answer")
        assert view.scroll_y == 0
        assert answer.region.y < view.region.bottom
        choice = running.screen.query_one(Choice)
        rows = [line.plain for place in range(choice.count()) for line in choice.row(place, 70)]
        assert all(rows)


async def test_choice_is_answered_by_a_click(app: App) -> None:
    running = app("drill", flt=only("state-growth"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.click(Choice, offset=(6, 2))
        assert running.screen.query_one(Choice).answer == 1
        assert drill(running).phase == "answer"


@pytest.mark.parametrize("key", ["space", "enter"])
async def test_looking_at_a_choice_answers_nothing_for_the_learner(app: App, study: Study, key: str) -> None:
    running = app("drill", flt=only("state-growth"))
    async with running.run_test() as pilot:
        await press(pilot, key)
        screen = drill(running)
        assert screen.attempt.position is None
        assert screen.attempt.proposal is None
        assert screen.query_one(Choice).answer is None
        await press(pilot, "enter")
        assert study.card("state-growth").history == ()
        await press(pilot, "2")
        assert study.card("state-growth").history[0].rating == Rating.HARD


async def test_enter_answers_with_the_option_that_was_moved_to(app: App) -> None:
    running = app("drill", flt=only("state-growth"))
    async with running.run_test() as pilot:
        await press(pilot, "j", "enter")
        assert drill(running).attempt.position == 1
        assert drill(running).attempt.proposal is not None


async def test_the_key_bar_names_the_digits_of_the_options(app: App) -> None:
    running = app("drill", flt=only("state-growth"))
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        count = len(drill(running).query_one(Choice).order)
        await shows(pilot, f"1-{count} answer")
        await pilot.press("question_mark")
        await until(pilot, lambda: f"option {count}." in text(running).split("At other moments")[0])
        assert f"option {count + 1}." not in text(running).split("At other moments")[0]


@pytest.mark.parametrize("card", ["warm-up", "state-growth", "step-order", "rate-at-step", "adam-defaults"])
async def test_not_knowing_is_proposed_as_again(app: App, study: Study, card: str) -> None:
    running = app("drill", flt=only(card))
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("ctrl+n")
        await pilot.pause()
        assert drill(running).attempt.proposal.rating == Rating.AGAIN
        await press(pilot, "enter")
        assert study.card(card).history[0].rating == Rating.AGAIN


async def test_steps_are_moved_by_keys(app: App) -> None:
    running = app("drill", flt=only("step-order"))
    async with running.run_test() as pilot:
        await pilot.pause()
        order = running.screen.query_one(Order)
        for target in range(3):
            while order.sequence.index(target) > target:
                while order.cursor < order.sequence.index(target):
                    await pilot.press("down")
                await pilot.press("K")
            while order.cursor > 0:
                await pilot.press("up")
        assert order.sequence == [0, 1, 2]
        await pilot.press("space")
        assert drill(running).attempt.mark.right == 1


async def test_the_way_back_and_undo_stay_in_the_key_bar_of_a_narrow_terminal(app: App) -> None:
    running = app("drill", flt=only("step-order"))
    async with running.run_test(size=(60, 20)) as pilot:
        for part in ("space reveal", "K raise", "J lower", "u undo", "q back", "? help"):
            await until(pilot, lambda part=part: part in text(running).splitlines()[-1])


async def test_steps_are_dragged_with_the_mouse(app: App) -> None:
    running = app("drill", flt=only("step-order"))
    async with running.run_test() as pilot:
        await pilot.pause()
        order = running.screen.query_one(Order)
        before = list(order.sequence)
        await pilot.mouse_down(Order, offset=(5, 0))
        await pilot.hover(Order, offset=(5, 2))
        await pilot.mouse_up(Order, offset=(5, 2))
        assert order.sequence == [before[1], before[2], before[0]]


async def test_gaps_are_filled_and_marked(app: App) -> None:
    running = app("drill", flt=only("adam-defaults"))
    async with running.run_test() as pilot:
        await pilot.press(*"0.9", "enter", *"0.99", "enter")
        assert drill(running).attempt.mark.parts == (True, False)
        await shows(pilot, "[0.999]")


async def test_undo_brings_the_card_back_and_redo_takes_it_again(app: App, study: Study) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await pilot.pause()
        first = drill(running).card.id
        await press(pilot, "space", "4")
        await press(pilot, "u")
        assert drill(running).card.id == first
        assert study.card(first).reps == 0
        assert drill(running).session.done == 0
        await press(pilot, "U")
        assert study.card(first).reps == 1


@pytest.mark.parametrize(("key", "state"), [("b", "buried"), ("s", "suspended")])
async def test_bury_and_suspend_take_the_card_away(app: App, study: Study, key: str, state: str) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await pilot.pause()
        first = drill(running).card.id
        await press(pilot, key)
        assert getattr(study.card(first), state)
        assert drill(running).card.id != first


async def test_flag_is_set_and_removed(app: App, study: Study) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("f")
        assert study.card("warm-up").flagged
        await pilot.press("f")
        assert not study.card("warm-up").flagged


async def test_exercise_opens_and_returns_to_the_same_card(app: App) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("space", "e")
        await pilot.pause()
        assert type(running.screen).__name__ == "ExerciseScreen"
        await pilot.press("escape")
        await pilot.pause()
        assert drill(running).card.id == "warm-up"
        assert drill(running).phase == "points"


async def test_follow_up_asks_then_answers(app: App) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test(size=(80, 50)) as pilot:
        await pilot.press("space", "n")
        await shows(pilot, "How long is it usually?")
        assert "few thousand" not in text(running)
        await pilot.press("n")
        await shows(pilot, "few thousand")


async def test_confidence_is_asked_before_the_reveal_when_wanted(app: App, study: Study) -> None:
    study.settings = replace(study.settings, confidence=True)
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("space")
        assert drill(running).phase == "confidence"
        await pilot.press("4")
        assert drill(running).attempt.confidence == 75
        assert running.screen.query_one(RatingBar).display


async def test_the_question_about_confidence_goes_with_the_answer(app: App, study: Study) -> None:
    study.settings = replace(study.settings, confidence=True)
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.press("space")
        await shows(pilot, "How sure are you")
        await pilot.press("3")
        assert "How sure are you" not in text(running)


async def test_undoing_a_flag_leaves_the_answers_of_the_session(app: App, study: Study) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await press(pilot, "space", "3")
        await press(pilot, "f", "u")
        assert drill(running).session.done == 1


async def test_session_ends_with_a_summary(app: App, study: Study) -> None:
    running = app("drill", limit=1)
    async with running.run_test() as pilot:
        await press(pilot, "space", "1")
        await pilot.pause()
        assert drill(running).phase == "done"
        limit = "The limit of this session, 1 card, is reached."
        await shows(pilot, "1 card", "Comes back", "not recalled", limit)
        assert "daily limit" not in text(running)
        before = study.counts()
        await press(pilot, "enter")
        await until(pilot, lambda: drill(running).card is not None)
        assert study.counts() == before


async def test_quitting_in_the_middle_loses_nothing(app: App, study: Study) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await press(pilot, "space", "3")
        await press(pilot, "q")
    assert sum(study.card(question).reps for question in study.bank.questions) == 1


async def test_a_changed_question_can_begin_again_as_new(app: App, study: Study) -> None:
    study.answer("warm-up", Rating.GOOD)
    question = replace(
        study.bank.questions["warm-up"], prompt="Why, in the new edition?", content_hash="other"
    )
    study.bank = replace(study.bank, questions={**study.bank.questions, "warm-up": question})
    study.clock.forward(days=1)
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await shows(pilot, "Why, in the new edition?")
        await pilot.press("T")
        assert study.card("warm-up").state == "new"
        assert not study.changed("warm-up")


async def test_a_follow_up_is_offered_only_where_there_is_one(app: App) -> None:
    for question, offered in (("warm-up", True), ("state-growth", False)):
        running = app("drill", flt=only(question))
        async with running.run_test(size=(140, 40)) as pilot:
            await press(pilot, "space")
            await settled(pilot)
            assert ("n follow-up" in text(running).splitlines()[-1]) is offered


@pytest.mark.slow
async def test_no_empty_gap_is_broken_at_any_width(app: App, study: Study) -> None:
    question = study.bank.questions["adam-defaults"]
    longer = replace(question, text="w " * 22 + question.text)
    study.bank = replace(study.bank, questions={"adam-defaults": longer})
    running = app("drill", flt=only("adam-defaults"))
    async with running.run_test() as pilot:
        for width in range(56, 80):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            await until(pilot, lambda: len(re.findall(r"\[\d: ?____\]", text(running))) == 2)


async def test_code_in_options_is_shown_without_its_backticks(app: App, study: Study) -> None:
    question = study.bank.questions["state-growth"]
    options = tuple(replace(option, text="`x[0]` * **2**") for option in question.options)
    study.bank = replace(study.bank, questions={"state-growth": replace(question, options=options)})
    running = app("drill", flt=only("state-growth"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await shows(pilot, "x[0] * **2**")
        assert "`" not in text(running)


async def test_words_typed_for_one_card_are_not_logged_with_the_next(app: App, study: Study) -> None:
    running = app("drill", flt=CardFilter(ids=frozenset({"warm-up", "fp16-range"})))
    async with running.run_test() as pilot:
        await pilot.pause()
        first = drill(running).card.id
        await pilot.press("t", *"second moment", "ctrl+r", "3")
        await pilot.pause()
        assert drill(running).card.id != first
        await pilot.press("space", "3")
        await pilot.pause()
    typed = [event.details.get("typed", "") for event in study.events() if event.type == "answer"]
    assert typed == ["second moment", ""]


async def test_a_card_that_cannot_be_shown_is_passed_over_with_one_sentence(
    app: App, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(bank: Bank, due: DueCard, seed: int) -> PreparedCard | None:
        if due.id == "warm-up":
            raise QuizError("its formula divides by zero.")
        return prepare_card(bank, due, seed)

    monkeypatch.setattr("quizapp.tui.screens.drill.card_feed.prepare_card", prepare)
    running = app("drill")
    async with running.run_test(notifications=True) as pilot:
        seen = set()
        while (card := drill(running).card) is not None:
            seen.add(card.id)
            await press(pilot, "space", "4")
        notices = [notice.message for notice in running._notifications]
        assert [text for text in notices if "left out" in text] == [
            "warm-up is left out: its formula divides by zero."
        ]
    assert seen == set(study.bank.questions) - {"warm-up"}
    assert {event.type for event in study.events()} == {"answer"}
    assert not study.card("warm-up").suspended


async def test_the_end_of_the_day_says_why_and_three_keys_go_on(app: App, study: Study, clock) -> None:
    study.settings = replace(study.settings, new_per_day=1)
    study = study.with_settings(study.settings)
    for name in list(study.bank.questions)[:2]:
        study.answer(name, Rating.EASY)
    clock.forward(days=1)
    study.answer(next(card.id for card in study.due()), Rating.EASY)
    running = QuizApp("drill", study=study)
    async with running.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "Your daily limit is reached." in text(running))
        await shows(pilot, "10 more")
        before = study.counts().total
        assert before == 0
        await pilot.press("enter")
        await until(pilot, lambda: running.screen.card is not None)
        await pilot.press("escape")
        again = QuizApp("drill", study=study)
    async with again.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "study ahead" in text(again))
        await pilot.press("a")
        await until(pilot, lambda: again.screen.card is not None)
        assert again.screen.card.state == "review"


async def test_what_the_browser_lists_is_drilled_even_if_nothing_is_due(app: App, study: Study) -> None:
    study.settings = replace(study.settings, new_per_day=0)
    running = QuizApp("browse", study=study.with_settings(study.settings), query="id:adam-defaults")
    async with running.run_test() as pilot:
        await until(pilot, lambda: "1 question" in text(running))
        await pilot.press("escape", "d")
        await until(pilot, lambda: getattr(running.screen, "card", None) is not None)
        assert running.screen.card.id == "adam-defaults"


async def test_a_finished_selection_is_no_dead_end(app: App, study: Study) -> None:
    running = app("drill", flt=CardFilter(ids=frozenset({"no-such-card"})))
    async with running.run_test() as pilot:
        await until(pilot, lambda: "No question matches this selection." in text(running))
        await pilot.press("enter")
        assert any("nothing is due" in notice.message for notice in running._notifications)


async def test_typed_words_survive_escape_leaving_and_an_undo(app: App, study: Study) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("t", *"the second moment", "escape", "q")
        await until(pilot, lambda: running.screen.place == "home")
        running.go("drill", flt=only("warm-up"))
        await until(pilot, lambda: "the second moment" in text(running))
        await press(pilot, "ctrl+r") if running.focused else await press(pilot, "space")
        await until(pilot, lambda: "1 Again" in text(running))
        await pilot.press("3")
        await pilot.pause()
        await pilot.press("u")
        await until(pilot, lambda: "the second moment" in text(running) and not drill(running).view.revealed)
        # Answered, the words belong to the log and not to the card's next repetition.
        await press(pilot, "space", "3")
        assert running.drafts == {}


async def test_a_number_and_gaps_are_still_there_after_leaving(app: App) -> None:
    running = app("drill", flt=only("rate-at-step"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("4", "2", "escape", "q")
        await until(pilot, lambda: running.screen.place == "home")
        running.go("drill", flt=only("rate-at-step"))
        await until(
            pilot, lambda: isinstance(running.screen, DrillScreen) and drill(running).card is not None
        )
        assert drill(running).query_one("#numeric Input", Input).value == "42"


async def test_a_card_that_another_window_answered_is_not_rated_twice(app: App, study: Study) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test() as pilot:
        await pilot.pause()
        await press(pilot, "space")
        study.answer("warm-up", Rating.AGAIN)
        await pilot.press("4")
        await pilot.pause()
        assert [review.rating for review in study.card("warm-up").history] == [Rating.AGAIN]
        assert any("another window" in notice.message for notice in running._notifications)


async def test_escape_and_a_letter_in_one_breath_are_two_keys(app: App) -> None:
    running = app("drill", flt=only("rate-at-step"))
    async with running.run_test() as pilot:
        await pilot.pause()
        assert running.focused is not None
        await pilot.press("alt+q")
        await until(pilot, lambda: running.screen.place == "home")


async def test_a_notice_is_drawn_once_and_never_over_the_question(app: App) -> None:
    running = app("drill", flt=only("warm-up"))
    async with running.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        await pilot.press("f")
        await until(pilot, lambda: "Flagged." in text(running))
        question = running.screen.query_one("#prompt")
        toast = running.screen.query_one("Toast")
        assert not toast.region.overlaps(question.region)
        await pilot.press("question_mark")
        await until(pilot, lambda: running.screen.place == "help")
        running.say("Still here.")
        await until(pilot, lambda: "Still here." in text(running))
        await settled(pilot)
        assert text(running).count("Flagged.") <= 1
        assert text(running).count("Still here.") == 1
