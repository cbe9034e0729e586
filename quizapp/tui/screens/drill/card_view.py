"""The card on the screen: the question with its fields, then the answer with its follow-ups."""

from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import ContentSwitcher, Input, Static, TextArea

from quizapp.bank.answers import Mark, mark_choice, mark_cloze, mark_numeric, mark_sequence
from quizapp.tui.bridges.voice_bridge import VoiceBridge
from quizapp.tui.rendering.card_text import PreparedCard
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.answer_box import AnswerBox, light_evidence, load_marking, mark_question
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.cloze import Cloze
from quizapp.tui.widgets.key_points import SENTENCE_WIDTH, KeyPoints
from quizapp.tui.widgets.number_field import NumberField
from quizapp.tui.widgets.order import Order
from quizapp.tui.workers import run_in_thread
from quizapp.util.sanitize import escape_controls
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.bank.meaning.text_marking import TextMarking
    from quizapp.bank.model import Question
    from quizapp.tui.app import QuizApp

WITH_FIELD = frozenset({"numeric", "choice", "order", "cloze"})
"""Kinds of questions that are answered in a widget of their own."""
ASIDE = "Say your answer aloud, or type it with t; then reveal."
_PARTS = ("aside", "typed", "work", "note", "own", "points", "stated", "answer", "follow")


def _stated(question: "Question", marking: "TextMarking") -> Iterator[Content]:
    """The misconceptions that the learner's own words seem to state, each with what is right."""
    for row, found in zip(question.misconceptions, marking.misconceptions, strict=True):
        if found.proposed:
            said = plain(f"“{shorten(escape_controls(found.evidence), SENTENCE_WIDTH)}”", "$error")
            yield Content.styled("A misconception? You said: ", "bold $error").append(said)
            yield plain(f"Common: {row.wrong}")
            yield plain(f"Right: {row.right}", "$text-muted")


class CardView(VerticalScroll):
    """Shows one card and reads the answer back; the screen decides what follows from it."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="card")
        self.card: PreparedCard | None = None
        self.revealed = False
        self.typed = ""
        """The answer in one's own words, once revealed; empty where the box was not opened for this card."""
        self._follow_ups = 0  # how many questions and answers of the follow-ups are shown
        self._second_voice = VoiceBridge(self._quote_second_voice)

    def compose(self) -> ComposeResult:
        """The parts for all kinds of questions; most are hidden at any time."""
        with Container(id="column"):
            yield Static("", id="prompt", markup=False)
            yield Static(ASIDE, id="aside", classes="muted", markup=False)
            yield AnswerBox(id="typed")
            with ContentSwitcher(id="work"):
                yield NumberField(id="numeric")
                yield Choice(id="choice")
                yield Order(id="order")
                yield Cloze(id="cloze")
            yield Static("", id="note", markup=False)
            yield Static("", id="own", markup=False)
            yield KeyPoints(id="points")
            yield Static("", id="stated", markup=False)
            yield Static("", id="answer", markup=False)
            yield Static("", id="follow", markup=False)

    def on_mount(self) -> None:
        """Start with the prompt alone."""
        self._hide(*_PARTS)

    def on_unmount(self) -> None:
        """Nobody waits for a second voice any more."""
        self._second_voice.drop()

    def _hide(self, *parts: str) -> None:
        for part in parts:
            self.query_one(f"#{part}").display = False

    # the question

    def show_notice(self, text: str) -> None:
        """Show a sentence instead of a card."""
        self.query_one("#prompt", Static).update(Content.styled(text, "$text-muted"))

    def show(self, card: PreparedCard) -> None:
        """Show a card, unanswered."""
        self.card, self.revealed, self.typed, self._follow_ups = card, False, "", 0
        self._second_voice.drop()
        self.query_one("#prompt", Static).update(card.prompt)
        self._hide(*_PARTS)
        draft = self._drafts.get(card.id, ())
        self._show_field(card)
        self.query_one("#aside").display = card.kind == "recall"
        if draft:
            self._restore(card, draft)
        self.scroll_home(animate=False)

    def _show_field(self, card: PreparedCard) -> None:
        self.screen.set_focus(None)
        if card.kind not in WITH_FIELD:
            return
        work, question = self.query_one("#work", ContentSwitcher), card.question
        work.display = True
        work.current = card.kind
        if card.kind == "numeric":
            self.query_one(NumberField).show(question.unit)
        elif card.kind == "choice":
            self.query_one(Choice).show(question.options, card.order)
        elif card.kind == "order":
            self.query_one(Order).show(question.steps, card.order)
        else:
            self.query_one(Cloze).show(question.text, card.gap_count)
        self.focus_field()

    def focus_field(self) -> None:
        """Go to the field of a numeric or cloze question."""
        if self.card is not None and self.card.kind in {"numeric", "cloze"}:
            self.query_one(f"#{self.card.kind} Input", Input).focus()

    def open_answer_box(self, card: PreparedCard) -> None:
        """Open a box for an answer in the learner's own words, and focus it."""
        if not self.query_one(AnswerBox).display:
            self._show_answer_box(card, "")
        self.query_one(AnswerBox).focus()

    def _show_answer_box(self, card: PreparedCard, typed: str) -> None:
        box = self.query_one(AnswerBox)
        box.load_text(typed)
        box.display = True
        self._hide("aside")
        # Loading what marking needs takes 300 ms, so it happens while the learner types.
        run_in_thread(cast("QuizApp", self.app), lambda: load_marking(card.question), "marking")

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Remember what is typed."""
        event.stop()
        self._note_draft()

    def on_input_changed(self) -> None:
        """Remember what is typed in a field."""
        self._note_draft()

    # what was typed and not answered yet: it survives an undo and leaving the drill

    @property
    def _drafts(self) -> dict[str, tuple[str, ...]]:
        return cast("QuizApp", self.app).drafts

    def keep_draft(self, card_id: str, texts: Sequence[str]) -> None:
        """Remember what is typed for a card; nothing if it is empty."""
        if any(text.strip() for text in texts):
            self._drafts[card_id] = tuple(texts)
        else:
            self._drafts.pop(card_id, None)

    def _note_draft(self) -> None:
        if self.card is None or self.revealed:
            return
        box = self.query_one(AnswerBox)
        texts = {
            "recall": (box.text,) if box.display else (),
            "numeric": (self.query_one(NumberField).text,),
            "cloze": self.query_one(Cloze).answers,
        }
        self.keep_draft(self.card.id, texts.get(self.card.kind, ()))

    def _restore(self, card: PreparedCard, draft: Sequence[str]) -> None:
        if card.kind == "recall":
            self._show_answer_box(card, draft[0])
        elif card.kind == "numeric":
            self.query_one("#numeric Input", Input).value = draft[0]
        elif card.kind == "cloze":
            self.query_one(Cloze).fill(draft)

    def hide_aside(self) -> None:
        """Hide the hint on how to answer."""
        self._hide("aside")

    def show_note(self, text: str, style: str) -> None:
        """A line below the field, such as how right the answer is."""
        note = self.query_one("#note", Static)
        note.update(plain(text, f"bold {style}"))
        note.display = bool(text)

    # the answer

    @property
    def is_answered(self) -> bool:
        """Whether something was typed or moved in the card's field. Choices are answered by the screen."""
        if self.card is None or self.card.kind not in WITH_FIELD:
            return False
        if self.card.kind == "numeric":
            return bool(self.query_one(NumberField).text.strip())
        if self.card.kind == "cloze":
            return any(answer.strip() for answer in self.query_one(Cloze).answers)
        return self.card.kind == "order" and list(self.query_one(Order).sequence) != list(self.card.order)

    def mark_unanswered(self, card: PreparedCard) -> Mark:
        """Show what is right in the card's field, which was left unanswered."""
        if card.kind == "numeric":
            self._hide("work")
            return mark_numeric(card.question, card.sampled, "")
        if card.kind == "choice":
            self.query_one(Choice).reveal(None)
        elif card.kind == "order":
            self.query_one(Order).reveal(answered=False)
        else:
            self.query_one(Cloze).settle(mark_cloze(card.question, ()).parts)
        return Mark(0.0, "")

    def mark(self, card: PreparedCard, position: int | None) -> Mark:
        """Mark what is in the card's field, and show the marks there; ``position`` is the chosen option."""
        question = card.question
        if card.kind == "numeric":
            self._hide("work")
            return mark_numeric(question, card.sampled, self.query_one(NumberField).text)
        if card.kind == "choice":
            chosen = position or 0
            self.query_one(Choice).reveal(chosen)
            mark = mark_choice(question, card.order[chosen])
            return Mark(mark.right, "Right." if mark.right else "Not this one.", mark.parts)
        if card.kind == "order":
            order = self.query_one(Order)
            order.reveal()
            return mark_sequence(question, order.sequence)
        cloze = self.query_one(Cloze)
        mark = mark_cloze(question, cloze.answers)
        cloze.settle(mark.parts)
        return mark

    def reveal(self, card: PreparedCard, mark: Mark | None) -> None:
        """Show the answer: with its mark, or with the key points to tick where there is none."""
        self.revealed = True
        self._drafts.pop(card.id, None)
        self.screen.set_focus(None)
        self._hide("aside")
        if mark is None:
            self._reveal_points(card)
        else:
            self.show_note(mark.note, "$success" if mark.right == 1 else "$warning")
        answer = self.query_one("#answer", Static)
        answer.update(card.answer)
        answer.display = True
        self._show_follow_ups(card)

    def _reveal_points(self, card: PreparedCard) -> None:
        points, box = card.question.key_points, self.query_one(AnswerBox)
        if box.display:
            self.typed = box.text
        self._hide("typed", "note")
        typed_text = self.query_one("#own", Static)
        typed_text.display = bool(self.typed.strip())
        marking = mark_question(card.question, self.typed)
        if typed_text.display:
            typed_text.update(light_evidence(self.typed, marking))
        rows = self.query_one(KeyPoints)
        rows.show(points, marking.proposed, asks=typed_text.display)
        rows.display = bool(points)
        stated = self.query_one("#stated", Static)
        stated.update(Content("\n").join(_stated(card.question, marking)))
        stated.display = any(found.proposed for found in marking.misconceptions)
        self._second_voice.ask(cast("QuizApp", self.app), card.question, self.typed, marking)

    def _quote_second_voice(self, place: int, quote: str) -> None:
        self.query_one(KeyPoints).show_second_voice(place, quote)

    @property
    def ticks(self) -> Sequence[int]:
        """The key points that are ticked."""
        return sorted(self.query_one(KeyPoints).ticks)

    # what is asked next

    def next_follow_up(self, card: PreparedCard) -> None:
        """Show the next follow-up, or the answer of the one that was asked last."""
        self._follow_ups = min(2 * len(card.question.follow_ups), self._follow_ups + 1)
        self._show_follow_ups(card)
        self.screen.call_after_refresh(self.scroll_end, animate=False)

    def _show_follow_ups(self, card: PreparedCard) -> None:
        view, follow_ups = self.query_one("#follow", Static), card.question.follow_ups
        view.display = bool(follow_ups)
        if not self._follow_ups:
            text = f"n  {plural(len(follow_ups), 'follow-up')}: what an interviewer asks next"
            view.update(Content.styled(text, "$text-muted"))
            return
        parts = [part for item in follow_ups for part in (f"**{item.ask}**", item.answer)]
        parts = parts[: self._follow_ups]
        if self._follow_ups % 2:
            parts.append("*n shows the answer*")
        view.update(Document("### Asked next\n\n" + "\n\n".join(parts)))
