"""Home, browse, exercises, statistics, settings and tour."""

import io
import sys
from collections.abc import Callable

import pytest
from textual.screen import ModalScreen
from textual.widgets import Input

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.service import Study
from quizapp.scheduling.views import CardFilter
from quizapp.settings.model import load_settings
from quizapp.tui import app as tui
from quizapp.tui.app import QuizApp
from quizapp.tui.widgets.table import Table
from tests.tui.drawn import text
from tests.tui.waiting import opened, shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]


def name(app: QuizApp) -> str:
    return type(app.screen).__name__


async def test_home_says_what_is_due_and_one_key_starts(app: App) -> None:
    running = app()
    async with running.run_test() as pilot:
        await shows(pilot, "Schedules", "6 new", "Precision [and] scaling", "Double a tensor")
        await pilot.press("enter")
        assert name(running) == "DrillScreen"


async def test_home_opens_the_users_own_data(bank, monkeypatch: pytest.MonkeyPatch) -> None:
    from quizapp.tui.startup import mark_tour_seen

    mark_tour_seen()
    monkeypatch.setattr("quizapp.bank.loader.load_bank", lambda *_: bank)
    running = QuizApp()
    async with running.run_test() as pilot:
        await opened(pilot)
        await shows(pilot, "6 new")
    assert paths.database().exists()


async def test_data_that_cannot_be_opened_ends_with_a_sentence(bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quizapp.bank.loader.load_bank", lambda *_: bank)

    def refuse(_bank: object) -> Study:
        raise QuizError("The database is newer than this program; update quizapp.")

    monkeypatch.setattr("quizapp.scheduling.service.Study.open", refuse)
    running = QuizApp()
    async with running.run_test() as pilot:
        await until(pilot, lambda: running.return_code)
    assert running.return_code == 2


def test_refuses_to_draw_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "__stdout__", io.StringIO())
    assert tui.run() == 2
    assert "needs a terminal" in capsys.readouterr().err


async def test_every_way_onward_from_home_and_back(app: App) -> None:
    running = app()
    async with running.run_test() as pilot:
        for key, screen in [("e", "ExercisesScreen"), ("b", "BrowseScreen"),
                            ("s", "StatisticsScreen"),
                            ("comma", "SettingsScreen"), ("n", "ExerciseScreen"),
                            ("i", "TourScreen")]:  # fmt: skip
            await pilot.press(key)
            await pilot.pause()
            assert name(running) == screen
            await pilot.press("escape")
            if name(running) != "HomeScreen":
                await pilot.press("escape")
            await pilot.pause()
            assert name(running) == "HomeScreen"


async def test_home_drills_a_chosen_topic(app: App) -> None:
    running = app()
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("t", "enter")
        await pilot.pause()
        assert name(running) == "DrillScreen"
        assert running.screen.feed.flt.topic in {"precision", "schedules"}


async def test_browse_filters_as_one_types(app: App, study: Study) -> None:
    study.answer("warm-up", Rating.GOOD)
    running = app("browse")
    async with running.run_test(size=(120, 40)) as pilot:
        table = running.screen.query_one(Table)
        for query, ids in [("topic:prec", ["fp16-range"]), ("kind:cloze", ["adam-defaults"]),
                           ("level:hard", ["adam-defaults"]),
                           ("state:learning", ["warm-up"]), ("due:week", ["warm-up"]),
                           ("half-precision", ["fp16-range"]),
                           ("no such words", [])]:  # fmt: skip
            running.screen.query_one("#filter", Input).value = query
            await until(pilot, lambda wanted=ids: [row.question.id for row in table.rows] == wanted)
        running.screen.query_one("#filter", Input).value = "transformer"
        await until(pilot, lambda: "It costs a few hundred steps." in text(running))


async def test_the_first_match_is_under_the_cursor_unless_another_row_was_chosen(app: App) -> None:
    running = app("browse", query="topic:sched")
    async with running.run_test(size=(120, 40)) as pilot:
        table, field = running.screen.query_one(Table), running.screen.query_one("#filter", Input)
        shown = lambda: [row.question.id for row in table.rows]  # noqa: E731
        await until(pilot, lambda: len(shown()) > 2)
        few = shown()
        field.value = ""
        await until(pilot, lambda: len(shown()) > len(few))
        everything = shown()
        assert everything[0] != few[0]  # else the way here would not tell
        assert table.current.question.id == everything[0]
        await pilot.press("down")
        chosen = table.current.question.id
        await pilot.press(*"step")
        await until(pilot, lambda: len(shown()) < len(everything))
        assert chosen in shown()
        assert shown()[0] != chosen
        assert table.current.question.id == chosen


async def test_a_page_is_offered_only_where_the_text_is_longer_than_the_box(app: App) -> None:
    running = app()
    async with running.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        running.read("Long", "word " * 2000)
        await until(pilot, lambda: "page down" in text(running))
        await pilot.press("escape")
        running.read("Short", "A line.")
        await until(pilot, lambda: "A line." in text(running))
        await until(pilot, lambda: "copy" in text(running) and "page down" not in text(running))


async def test_browse_acts_on_the_chosen_card(app: App, study: Study) -> None:
    running = app("browse", query="warm-up")
    async with running.run_test() as pilot:
        await until(pilot, lambda: len(running.screen.query_one(Table).rows) == 2)
        await pilot.press("escape", "f", "s")
        await pilot.pause()
        facts = study.card("warm-up")
        assert facts.flagged
        assert facts.suspended
        await pilot.press("u", "i")
        await pilot.pause()
        assert name(running) == "Pager"
        await shows(pilot, "new (flagged)")
        await pilot.press("escape", "d")
        await pilot.pause()
        assert name(running) == "DrillScreen"


async def test_ten_thousand_questions_stay_fluid(app: App, study: Study) -> None:
    """Only the rows in view are drawn, so moving through them costs the same at any length."""
    from dataclasses import replace as changed

    question = study.bank.questions["warm-up"]
    many = {f"q{n}": changed(question, id=f"q{n}", prompt=f"Question {n}?") for n in range(10_000)}
    study.bank = changed(study.bank, questions=many)
    running = app("browse")
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: running.screen.query_one(Table).current is not None)
        table = running.screen.query_one(Table)
        drawn: list[int] = []
        draw = table._draw_row
        table._draw_row = lambda row, width: drawn.append(1) or draw(row, width)
        await pilot.press("escape", "end")
        await pilot.pause()
        assert table.current.question.id == "q9999"
        assert len(drawn) < 200


async def test_exercises_are_filtered_and_opened(app: App) -> None:
    running = app("exercises")
    async with running.run_test() as pilot:
        await pilot.pause()
        await shows(pilot, "Double a tensor")
        await pilot.press("slash", *"nothing", "escape")
        await shows(pilot, "No exercise matches.")
        await pilot.press("slash", *(["backspace"] * 7), *"doub", "enter")
        await pilot.pause()
        assert name(running) == "ExerciseScreen"


async def test_statistics_pages_and_export(app: App, study: Study, clock, home) -> None:
    for _ in range(4):
        study.answer("warm-up", Rating.GOOD, seconds=12)
        clock.forward(days=8)
    running = app("statistics")
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        await shows(pilot, "Reviews")
        for words in ("Recalled", "days from today", "learned", "Mock interviews", "Ratings"):
            await pilot.press("right")
            await until(pilot, lambda words=words: words in text(running))
            if words == "days from today":
                await shows(pilot, "0 reviews in the last 7 days")
        await pilot.press("x")
        await pilot.pause()
    assert {path.name for path in (home / "exports").iterdir()} == {
        "reviews-per-day.csv",
        "topics.csv",
        "statistics.svg",
    }


async def test_settings_are_written_with_their_comments_and_take_effect(app: App, study: Study) -> None:
    paths.config().write_text("# mine\nnew_per_day = 3  # few\n")
    study.settings = load_settings(paths.config())
    running = app("settings")
    async with running.run_test() as pilot:
        await pilot.press("down", "enter")
        await pilot.pause()
    written = paths.config().read_text()
    assert "# mine" in written
    assert "# few" in written
    assert load_settings(paths.config()).new_per_day == 5
    assert running.study.settings.new_per_day == 5


async def test_the_memory_model_is_reset_once_that_is_confirmed(app: App, study: Study) -> None:
    from quizapp.scheduling.events import Draft, EventType
    from quizapp.scheduling.models.model import FSRS_6_WEIGHTS as DEFAULT_WEIGHTS

    running = app("settings")
    async with running.run_test() as pilot:
        await pilot.press("w")
        assert "Nothing has been fitted" in next(iter(running._notifications)).message
        fitted = [2 * DEFAULT_WEIGHTS[0], *DEFAULT_WEIGHTS[1:]]
        study.store.append(
            Draft(EventType.SETTINGS, study.now(), data={"model": "FSRS-6", "weights": fitted})
        )
        study.queue.outdated()
        assert study.model != "FSRS-6/default"
        for keys, reset in (
            (("w", "enter"), False),
            (("w", "escape"), False),
            (("w", "down", "enter"), True),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            assert (study.model == "FSRS-6/default") is reset
            assert name(running) == "SettingsScreen"


async def test_a_wrong_typed_setting_is_refused_with_a_sentence(app: App) -> None:
    running = app("settings")
    async with running.run_test() as pilot:
        await pilot.press(*["down"] * 11, "enter", *"nvim", "enter")
        await pilot.pause()
        assert load_settings(paths.config()).editor == "nvim"
        await pilot.press("r")
        assert load_settings(paths.config()).editor == ""


async def test_a_theme_chosen_by_key_is_there_at_the_next_start(app: App) -> None:
    path = paths.config()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('# mine\nnew_per_day = 7  # few\ntheme = "dark"\n')
    running = app("settings")
    async with running.run_test(size=(80, 40)) as pilot:
        await pilot.press("f9", "f9", "f9")
        await pilot.pause()
        assert load_settings(path).theme == "ansi"
        await until(
            pilot, lambda: any(line.split()[:2] == ["Theme", "ansi"] for line in text(running).splitlines())
        )
    assert path.read_text() == '# mine\nnew_per_day = 7  # few\ntheme = "ansi"\n'
    again = QuizApp(study=running.study)
    assert again.theme == "ansi-dark"


async def test_a_theme_that_cannot_be_kept_is_shown_and_said(app: App) -> None:
    paths.config().mkdir(parents=True)  # a folder in the file's place: not to be written by anybody
    running = app()
    async with running.run_test() as pilot:
        await pilot.pause()
        before = running.theme
        await pilot.press("f9")
        assert running.theme != before
        assert "cannot be written" in next(iter(running._notifications)).message


async def test_the_first_reading_of_the_content_shows_how_far_it_is(
    bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    from quizapp.tui.startup import mark_tour_seen

    mark_tour_seen()
    seen, go_on = Event(), Event()

    def load(_, progress):
        progress(1, 2)
        seen.set()
        go_on.wait(10)
        return bank

    monkeypatch.setattr("quizapp.bank.loader.load_bank", load)
    running = QuizApp()
    async with running.run_test() as pilot:
        await until(pilot, seen.is_set)
        await pilot.pause()
        await shows(pilot, "Reading the questions")
        go_on.set()
        await opened(pilot)
        assert "Reading the questions" not in text(running)
        await shows(pilot, "drill")


async def test_a_new_settings_file_explains_itself(app: App) -> None:
    running = app("settings")
    async with running.run_test() as pilot:
        await pilot.press("down", "enter")
        await pilot.pause()
    written = paths.config().read_text()
    assert "# How many cards not yet seen are shown each day." in written
    assert "new_per_day = 25" in written
    assert load_settings(paths.config()).new_per_day == 25


async def test_a_notice_never_covers_the_ratings(app: App) -> None:
    running = app("drill")
    async with running.run_test(notifications=True) as pilot:
        await pilot.pause()
        if running.focused is not None:
            await pilot.press("escape")
        await pilot.press("space", "f")
        await until(pilot, lambda: "Flagged." in text(running))
        await shows(pilot, "4 Easy")


async def test_a_wrong_theme_and_a_wrong_action_name_their_lines(
    bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quizapp.tui.startup import mark_tour_seen

    mark_tour_seen()
    monkeypatch.setattr("quizapp.bank.loader.load_bank", lambda *_: bank)
    paths.config().write_text('theme = "pink"\n\n[keys]\n"drill.burry" = "z"\n"drill.bury" = "y"\n')
    running = QuizApp()
    async with running.run_test(notifications=True) as pilot:
        await until(pilot, lambda: len(list(running._notifications)) >= 2)
        said = [note.message for note in running._notifications]
        assert f"{paths.config()}:1: there is no theme 'pink'." in said
        assert f"{paths.config()}:4: there is no action 'drill.burry'." in said
        assert len(said) == 2


@pytest.mark.parametrize("keys", [("question_mark",), ("ctrl+p",), ("t",)])
async def test_the_program_can_be_left_from_every_overlay(app: App, keys: tuple[str, ...]) -> None:
    running = app("home")
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert isinstance(running.screen, ModalScreen)
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert running.leaving


async def test_the_facts_of_a_card_have_help(app: App) -> None:
    running = app("drill", flt=CardFilter(ids=frozenset({"warm-up"})))
    async with running.run_test() as pilot:
        await pilot.press("i", "question_mark")
        await pilot.pause()
        assert running.screen.place == "help"


async def test_an_exercise_lists_its_behaviors_at_once(app: App) -> None:
    running = app("exercise", slug="double")
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("f4")
        await pilot.pause()
        await shows(pilot, "They check:")
        first = next(iter(running.screen.exercise.behaviours.values()))
        await shows(pilot, first[:20])
