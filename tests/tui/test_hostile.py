"""Text from outside is shown literally: markup, escapes, wide and combining characters, any direction."""

import random
from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual.app import App
from textual.content import Content
from textual.widgets import Static

from quizapp.bank.model import KeyPoint, Option, Question
from quizapp.judge.verdict import TestResult, Verdict
from quizapp.scheduling.service import Study
from quizapp.scheduling.views import CardFilter, SearchRow
from quizapp.tui.app import QuizApp
from quizapp.tui.rendering.layout import fold_code
from quizapp.tui.rendering.markdown import document
from quizapp.tui.rendering.text import ascii_character, plain
from quizapp.tui.screens.browse import format_row
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.cloze import ClozeText
from quizapp.tui.widgets.key_points import KeyPoints
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.verdict_view import VerdictView
from quizapp.util.sanitize import escape_controls, one_line

pytestmark = pytest.mark.slow

PIECES = [
    "[red]", "[/x]", "[/]", "[@click=app.quit]x[/]", "\x1b[31m", "\x1b]52;c;eA==\x07", "\x9b2J", "\x00",
    "\x07",
    "\u202e", "\u2066",
    "e\u0301", "a" + "\u0300" * 30, "漢字", "👩‍👩‍👧‍👦", "שלום", "مرحبا", "{P}", "{", "<bos>",
    "</s>", "&amp;", "<script>", "`", "```", "**", "| a | b |",
    "\t", "\r", "\ufeff", "\ud800", "x" * 400, "$text", "loss[i]", "\\[", "$primary 50%",
]  # fmt: skip


def hostile(count: int) -> list[str]:
    rng = random.Random(7)
    return ["".join(rng.choices(PIECES, k=rng.randint(1, 6))) for _ in range(count)]


def test_ten_thousand_hostile_strings_are_literal_and_harmless() -> None:
    for raw in hostile(10_000):
        shown = escape_controls(raw)
        assert not any(ord(c) < 32 and c != "\n" for c in shown)
        assert not set(shown) & set("\x7f\x9b\u202e\u2066\ufeff\ud800")
        for piece in ("[red]", "[/x]", "<bos>", "$text", "loss[i]"):
            assert (piece in shown) == (piece in raw)
        assert plain(raw).plain == shown
        assert "\n" not in one_line(raw)


def test_markdown_keeps_tags_and_brackets_and_fits_its_width() -> None:
    for raw in hostile(600):
        laid = document(raw).at(40).plain
        assert all(cell_len(line) <= 42 for line in laid.split("\n"))
    assert "<bos> loss[i] [/x]" in document("say <bos> loss[i] [/x] now").at(60).plain


SURFACES = {
    "verdict": lambda raw: _verdict(raw).lines(60),
    "options": lambda raw: _choice(raw).lines(60),
    "steps": lambda raw: _order(raw).lines(60),
    "points": lambda raw: _points(raw).lines(60),
    "gaps": lambda raw: _gaps(raw).lines(60),
    "table": lambda raw: [format_row(_row(raw), 100)],
    "prompt": lambda raw: document(raw).at(60).split("\n", allow_blank=True),
    "code": lambda raw: [
        piece
        for line in Content(escape_controls(raw)).split("\n", allow_blank=True)
        for piece in fold_code(line, 60)
    ],
}
LITERAL = {"verdict", "gaps", "code"}
"""Surfaces on which nothing at all is markup; in the others code in backticks is, in the prompt Markdown."""


def _verdict(raw: str) -> VerdictView:
    view = VerdictView()
    tests = (TestResult("test_x", 1, False, raw),)
    view.verdict = Verdict("lora", "lora.py", "cpu", "failed", tests, 0.1, 7, "T3", printed=raw, error=raw)
    return view


def _choice(raw: str) -> Choice:
    view = Choice()
    view.options, view.order = (Option(raw, raw, True), Option("b", "c")), (0, 1)
    view.revealed = True
    return view


def _order(raw: str) -> Order:
    view = Order()
    view.steps, view.sequence = (raw, "b"), [1, 0]
    return view


def _points(raw: str) -> KeyPoints:
    view = KeyPoints()
    view.points, view.ticks, view.heard = (KeyPoint(raw, terms=("x",)),), {0}, {0: (raw,)}
    return view


def _gaps(raw: str) -> ClozeText:
    view = ClozeText()
    view.text, view.answers = "one [[two]] three", [raw]
    return view


def _row(raw: str) -> SearchRow:
    return SearchRow(Question(raw, "t", "easy", "recall", raw, "answer", "lora"), None, None)


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("surface", SURFACES)
def test_hostile_strings_on_every_surface(surface: str, count: int) -> None:
    for raw in hostile(count):
        lines = SURFACES[surface](raw)
        shown = "\n".join(line.plain for line in lines)
        assert all(ord(c) >= 32 or c == "\n" for c in shown), raw
        assert not set(shown) & set("\x7f\x9b\u202e\u2066\ufeff\ud800"), raw
        if surface in LITERAL:
            assert _solid(escape_controls(raw)) in _solid(shown), raw
        if surface != "table":  # which cuts
            assert all(line.cell_length <= 62 for line in lines), raw


def _solid(text: str) -> str:
    """Text without its blanks and line ends, which wrapping changes."""
    return "".join(text.split())


@pytest.mark.parametrize("character", "─│█▓θ→漢é👩…")
def test_ascii_stand_ins_are_as_wide(character: str) -> None:
    assert len(ascii_character(character)) == cell_len(character)
    assert ascii_character(character).isascii()


async def test_a_screen_draws_what_it_was_given() -> None:
    class Bare(App[None]):
        def compose(self):
            yield Static(
                plain("\n".join(text[:60] for text in map(escape_controls, hostile(20)))), markup=False
            )

    running = Bare()
    async with running.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        shown = "".join(
            segment.text for strip in running.screen._compositor.render_strips() for segment in strip
        )
        assert "\x1b" not in shown


async def test_a_hostile_question_is_drilled_and_browsed(study: Study) -> None:
    worst = " ".join(hostile(12))
    question = replace(
        study.bank.questions["warm-up"],
        prompt=worst,
        answer=worst,
        say=worst,
        key_points=tuple(KeyPoint(text, terms=("x",)) for text in hostile(3)),
    )
    bank = replace(study.bank, questions={"warm-up": question})
    hostile_study = Study(bank, study.store, study.settings, study.clock)
    for place, keys in (("drill", "space"), ("browse", "escape"), ("home", "t")):
        running = QuizApp(
            place,
            study=hostile_study,
            **({"flt": CardFilter(ids=frozenset({"warm-up"}))} if place == "drill" else {}),
        )
        async with running.run_test() as pilot:
            await pilot.pause()
            await pilot.press(keys)
            await pilot.pause(0.2)
            strips = running.screen._compositor.render_strips()
            shown = "".join(segment.text for strip in strips for segment in strip)
            assert "\x1b" not in shown
            assert "\u202e" not in shown
