"""The drill's card: taken from the queue, shown unanswered, the next one prepared; and the end."""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from quizapp.bank.answers import Mark
from quizapp.errors import QuizError
from quizapp.scheduling.views import CardFilter
from quizapp.tui.rendering.card_text import Card, prepare
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.drill.session_summary import Session
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.cloze import Cloze
from quizapp.tui.widgets.key_points import KeyPoints
from quizapp.tui.widgets.number_field import NumberField
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.rating_bar import RatingBar
from quizapp.tui.widgets.session_bar import SessionBar
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.scheduling.rating_rules import Proposal
    from quizapp.scheduling.views import DueCard

ASIDE = "Say your answer aloud, or type it with t; then reveal."


class DrillCard(Place):
    """``flt`` narrows the queue; ``limit`` ends the session after so many answers."""

    def __init__(
        self,
        flt: CardFilter | None = None,
        *,
        topic: str = "",
        level: str = "",
        kind: str = "",
        limit: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        self.flt = flt or CardFilter(topic=topic, level=level, kind=kind)
        self.limit = limit
        self.clock = clock
        self.session = Session(clock())
        self.card: Card | None = None
        self.ahead: Card | None = None
        self.mark: Mark | None = None
        self.proposal: Proposal | None = None
        self.confidence: int | None = None
        self.position: int | None = None
        self.shown_at = self.revealed_after = clock()
        self.follow_ups = 0
        self.fitted_at = 0
        self._phase = "empty"

    def body(self) -> ComposeResult:
        """The card, the end of the session, the ratings."""
        yield SessionBar()
        with ContentSwitcher(initial="card", id="switch"):
            with VerticalScroll(id="card", can_focus=False), Container(id="column"):
                yield Static("", id="prompt", markup=False)
                yield Static(ASIDE, id="aside", classes="muted", markup=False)
                yield AnswerBox(id="typed")
                yield Static("", id="heard", markup=False)
                with ContentSwitcher(id="work"):
                    yield NumberField(id="numeric")
                    yield Choice(id="choice")
                    yield Order(id="order")
                    yield Cloze(id="cloze")
                yield Static("", id="note", markup=False)
                yield Static("", id="own", markup=False)
                yield KeyPoints(id="points")
                yield Static("", id="answer", markup=False)
                yield Static("", id="follow", markup=False)
            with VerticalScroll(id="end", can_focus=False):
                yield Static("", id="summary", markup=False)
        yield RatingBar(id="ratings")

    def on_mount(self) -> None:
        """Start with an empty card; the first one comes when the data is open."""
        for name in (
            "#aside",
            "#typed",
            "#heard",
            "#work",
            "#note",
            "#own",
            "#points",
            "#answer",
            "#follow",
            "#ratings",
        ):
            self.query_one(name).display = False
        self.set_interval(1.0, self._tick)
        if self.quiz.ready:
            self.next()
        else:
            self.query_one("#prompt", Static).update(Content.styled("Opening the questions…", "$text-muted"))

    def opened(self) -> None:
        """The data is open."""
        if self.card is None:
            self.next()

    def returned(self) -> None:
        """Back from an exercise or a search: the same card, its thinking time restarted."""
        if self.card is None:
            self.next()

    def on_unmount(self) -> None:
        """Nothing to save: every rating is on disk."""
        self.card = self.ahead = None
        self._ended()

    def _ended(self) -> None:
        """Cards were answered and no more come: the weights may be fitted to them."""
        if self.session.done > self.fitted_at:
            from quizapp.tui.weights_bridge import session_ended

            self.fitted_at = self.session.done
            session_ended(self.quiz)

    # showing cards

    def next(self) -> None:
        """Show the next card of the queue, or the end."""
        if self.limit is not None and self.session.done >= self.limit:
            self._finish()
            return
        due = self.quiz.study.next_card(self.flt)
        if due is None:
            self._finish()
            return
        card = self.ahead if self.ahead is not None and self.ahead.id == due.id else self._prepare(due)
        self.ahead = None
        if card is None:
            self.call_later(self.next)
            return
        self.show(card)

    def _prepare(self, due: "DueCard") -> Card | None:
        try:
            return prepare(self.quiz.bank, due, self.quiz.study.seed(due.id))
        except QuizError as error:
            if self.quiz.study.leave_out(due.id):
                self.quiz.say(f"{due.id} is left out: {error}", bad=True)
            return None

    def show(self, card: Card) -> None:
        """Put a card on the screen, unanswered."""
        self.card, self.mark, self.proposal = card, None, None
        self.confidence = self.position = None
        self.follow_ups = 0
        self.shown_at = self.clock()
        with self.app.batch_update():
            self.query_one("#switch", ContentSwitcher).current = "card"
            self.query_one("#prompt", Static).update(card.prompt)
            for name in ("#note", "#own", "#points", "#answer", "#follow", "#ratings", "#typed", "#heard"):
                self.query_one(name).display = False
            self._show_work(card)
            self.query_one("#aside").display = card.kind == "recall"
            self.query_one("#card").scroll_home(animate=False)
            self.enter_phase(card.kind)
            self._bar()
        if self.quiz.study.changed(card.id):
            self.quiz.say("This question was changed since you last saw it; T begins it again as new.")
        self.set_timer(0.03, self._ahead)

    def _show_work(self, card: Card) -> None:
        question = card.question
        work = self.query_one("#work", ContentSwitcher)
        work.display = card.kind in {"numeric", "choice", "order", "cloze"}
        self.set_focus(None)
        if not work.display:
            return
        work.current = card.kind
        if card.kind == "numeric":
            self.query_one(NumberField).show(question.unit)
            self.query_one("#numeric Input", Input).focus()
        elif card.kind == "choice":
            self.query_one(Choice).show(question.options, card.order)
        elif card.kind == "order":
            self.query_one(Order).show(question.steps, card.order)
        else:
            self.query_one(Cloze).show(question.text, card.gap_count)
            self.query_one("#cloze Input", Input).focus()

    def _ahead(self) -> None:
        """Prepare what comes next while the person thinks."""
        if self.card is None or not self.is_attached:
            return
        width = self.query_one("#prompt").content_size.width or 76
        self.card.lay_out(width)
        due = self.quiz.study.next_card(self.flt, after={self.card.id})
        if due is not None and (self.ahead is None or self.ahead.id != due.id):
            self.ahead = self._prepare(due)
            if self.ahead is not None:
                self.ahead.lay_out(width)

    def _bar(self) -> None:
        bar = self.query_one(SessionBar)
        bar.done, bar.right = self.session.done, self.session.right
        counts = self.quiz.study.counts(self.flt)
        left = counts.total
        bar.left = left if self.limit is None else min(left, max(0, self.limit - self.session.done))
        if self.card is not None:
            topic = self.quiz.bank.topics.get(self.card.topic)
            name = topic.name if topic else self.card.topic
            flag = ("flagged",) if self.quiz.study.card(self.card.id).flagged else ()
            bar.about = (*flag, name, self.card.level, self.card.state)
        self._tick()

    def _tick(self) -> None:
        bar = self.query_one(SessionBar)
        if self.card is not None:
            bar.seconds = self.clock() - self.session.started
        bar.refresh()

    def scroller(self) -> Widget:
        """What page keys scroll."""
        return self.query_one("#card")

    # the end

    def _finish(self) -> None:
        self.card = self.ahead = None
        with self.app.batch_update():
            self.set_focus(None)
            self.query_one("#ratings").display = False
            self.query_one("#switch", ContentSwitcher).current = "end"
            done = bool(self.session.done)
            self.query_one("#summary", Static).update(Document(self._end_text()))
            bar = self.query_one(SessionBar)
            bar.done, bar.right, bar.left = self.session.done, self.session.right, 0
            bar.about = ()
            bar.refresh()
            self.enter_phase("done" if done else "empty")
        self._ended()

    def _end_text(self) -> str:
        study = self.quiz.study
        now = study.clock.now()
        if self.session.done:
            text = self.session.summary(now, self.clock(), self.quiz.bank)
        else:
            text = "## Nothing is due\n\nNo card is waiting here now."
        today = study.today()
        later = [(day, cards) for day, cards in study.stats(14).forecast if day > today and cards]
        if later:
            day, cards = later[0]
            name = "Tomorrow" if (day - today).days == 1 else f"In {(day - today).days} days"
            text += f"\n\n{name}: {plural(cards, 'card')}."
        return text

    def action_more(self) -> None:
        """Look for more cards."""
        if self.limit is not None:
            self.limit = None
        self.next()
        if self.card is None:
            self.quiz.say("Still nothing due.")

    def on_resize(self, event: events.Resize) -> None:
        """Lay the prepared card out for the new width."""
        del event
