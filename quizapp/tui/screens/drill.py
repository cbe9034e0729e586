"""Drill: one card at a time, revealed, rated, saved, and the next one is already prepared."""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static, TextArea

from quizapp.bank.marking import Mark, mark_choice, mark_cloze, mark_numeric, mark_order
from quizapp.errors import QuizError
from quizapp.memory.facts import Filter
from quizapp.memory.rating import Rating
from quizapp.tui import clipboard, keys
from quizapp.tui.cards import Card, facts_text, prepare, question_text
from quizapp.tui.markdown import Document
from quizapp.tui.screens.place import Place
from quizapp.tui.session import Session
from quizapp.tui.text import plain, plural
from quizapp.tui.widgets.answerbox import AnswerBox, heard, own_words
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.fields import Cloze, Number
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.points import Points
from quizapp.tui.widgets.ratingbar import RatingBar
from quizapp.tui.widgets.sessionbar import SessionBar

if TYPE_CHECKING:
    from quizapp.memory.facts import DueCard
    from quizapp.memory.propose import Proposal

ASIDE = "Say your answer aloud, or type it with t; then reveal."
LONGEST = 600.0
"""Seconds after which a pause no longer counts as thinking."""


class DrillScreen(Place):
    """``flt`` narrows the queue; ``limit`` ends the session after so many answers."""

    place = "drill"
    BINDINGS: ClassVar[list[object]] = keys.bindings("drill")  # type: ignore[assignment]
    CSS_PATH = "drill.tcss"

    def __init__(
        self,
        flt: Filter | None = None,
        *,
        topic: str = "",
        level: str = "",
        kind: str = "",
        limit: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        self.flt = flt or Filter(topic=topic, level=level, kind=kind)
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
                    yield Number(id="numeric")
                    yield Choice(id="choice")
                    yield Order(id="order")
                    yield Cloze(id="cloze")
                yield Static("", id="note", markup=False)
                yield Static("", id="own", markup=False)
                yield Points(id="points")
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
            self.quiz.study.suspend(due.id)
            self.call_later(self.next)
            return
        self.show(card)

    def _prepare(self, due: "DueCard") -> Card | None:
        try:
            return prepare(self.quiz.bank, due, self.quiz.study.seed(due.id))
        except QuizError as error:
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
            self.enter_phase(card.kind if card.kind in keys.QUESTION else "exercise")
            self._bar()
        if self.quiz.study.changed(card.id):
            self.quiz.say("This question was changed since you last saw it; T begins it again as new.")
        self.set_timer(0.03, self._ahead)

    def _show_work(self, card: Card) -> None:
        question = card.question
        work = self.query_one("#work", ContentSwitcher)
        work.display = card.kind in {"numeric", "choice", "order", "cloze"}
        self.set_focus(None)
        if question is None or not work.display:
            return
        work.current = card.kind
        if card.kind == "numeric":
            self.query_one(Number).show(question.unit)
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
        if self.card.exercise is not None:
            self.quiz.warm_judge()

    def _bar(self) -> None:
        bar = self.query_one(SessionBar)
        bar.done, bar.right = self.session.done, self.session.right
        counts = self.quiz.study.counts(self.flt)
        left = counts.total
        bar.left = left if self.limit is None else min(left, max(0, self.limit - self.session.done))
        if self.card is not None:
            topic = self.quiz.bank.topics.get(self.card.topic)
            name = topic.name if topic else self.card.topic
            flag = " · flagged" if self.quiz.study.card(self.card.id).flagged else ""
            bar.about = f"{name} · {self.card.level} · {self.card.state}{flag}"
        self._tick()

    def _tick(self) -> None:
        bar = self.query_one(SessionBar)
        if self.card is not None:
            bar.seconds = self.clock() - self.session.started
        bar.refresh()

    # answering

    def action_reveal(self) -> None:
        """Show the answer, after the confidence where the user wants it asked."""
        card = self.card
        if card is None:
            return
        if card.exercise is not None:
            self.action_exercise()
            return
        if self.phase == keys.TYPING:
            self.set_focus(None)
        if card.kind == "choice" and self.position is None:
            self.position = self.query_one(Choice).cursor
        self.revealed_after = self.clock() - self.shown_at
        if self.quiz.study.settings.confidence and self.confidence is None:
            self._note("How sure are you?  1 0 %   2 25 %   3 50 %   4 75 %   5 100 %", "$primary")
            self.enter_phase("confidence")
            return
        self._reveal(card)

    action_check = action_reveal

    def on_number_given(self) -> None:
        """Enter in the number's field."""
        self.action_reveal()

    def on_cloze_given(self) -> None:
        """Enter in the last gap."""
        self.action_reveal()

    def action_confide(self, percent: int) -> None:
        """Confidence given: reveal."""
        self.confidence = percent
        if self.card is not None:
            self._reveal(self.card)

    def action_pick(self, position: int) -> None:
        """Answer with an option."""
        if position < len(self.query_one(Choice).order):
            self.position = position
            self.action_reveal()

    def on_choice_picked(self, event: Choice.Picked) -> None:
        """An option was clicked."""
        if self.phase == "choice":
            self.action_pick(event.position)

    def _reveal(self, card: Card) -> None:
        question = card.question
        if question is None:
            return
        with self.app.batch_update():
            self.set_focus(None)
            self.query_one("#aside").display = False
            if card.kind == "recall":
                self._reveal_points(card)
            else:
                self.mark = self._marked(card)
                self._note(self.mark.note, "$success" if self.mark.right == 1 else "$warning")
            answer = self.query_one("#answer", Static)
            answer.update(card.answer)
            answer.display = True
            self._show_follow_ups()
            self.enter_phase("points" if card.kind == "recall" and question.key_points else "answer")
            self._propose()
            self.query_one("#ratings").display = True

    def _marked(self, card: Card) -> Mark:
        question, drawn = card.question, card.drawn
        assert question is not None
        assert drawn is not None
        if card.kind == "numeric":
            number = self.query_one(Number)
            self.query_one("#work").display = False
            return mark_numeric(question, drawn, number.text)
        if card.kind == "choice":
            position = self.position if self.position is not None else 0
            self.query_one(Choice).reveal(position)
            mark = mark_choice(question, card.order[position])
            return Mark(mark.right, "Right." if mark.right else "Not this one.", mark.parts)
        if card.kind == "order":
            order = self.query_one(Order)
            order.reveal()
            return mark_order(question, order.sequence)
        cloze = self.query_one(Cloze)
        mark = mark_cloze(question, cloze.answers)
        cloze.settle(mark.parts)
        return mark

    def _reveal_points(self, card: Card) -> None:
        question = card.question
        assert question is not None
        typed = self.query_one(AnswerBox).text if self.query_one("#typed").display else ""
        self.query_one("#typed").display = self.query_one("#heard").display = False
        own = self.query_one("#own", Static)
        own.display = bool(typed.strip())
        if own.display:
            own.update(own_words(typed, question.key_points))
        points = self.query_one(Points)
        points.show(question.key_points, heard(question.key_points, typed))
        points.display = bool(question.key_points)

    def _note(self, text: str, style: str) -> None:
        note = self.query_one("#note", Static)
        note.update(plain(text, f"bold {style}"))
        note.display = bool(text)

    def _propose(self) -> None:
        """Ask for a proposed rating and show it on the buttons."""
        from quizapp.memory.propose import propose_mark, propose_recall

        card = self.card
        if card is None or card.question is None:
            return
        if self.mark is not None:
            self.proposal = propose_mark(self.mark, self.revealed_after, 0)
        elif card.question.key_points:
            ticks = sorted(self.query_one(Points).ticks)
            self.proposal = propose_recall(card.question.key_points, ticks)
        previews = self.quiz.study.previews(card.id)
        proposed = int(self.proposal.rating) if self.proposal else 0
        reason = self.proposal.reason if self.proposal else ""
        texts = {int(rating): preview.text for rating, preview in previews.items()}
        self.query_one(RatingBar).show(texts, proposed, reason)

    def on_points_ticked(self) -> None:
        """The evidence changed."""
        self._propose()

    def action_take(self) -> None:
        """Rate as proposed."""
        if self.proposal is not None:
            self.action_rate(int(self.proposal.rating))

    def action_rate(self, rating: int) -> None:
        """Write the rating; it is on disk before the next card is drawn."""
        card = self.card
        if card is None or self.phase not in keys.ANSWER:
            return
        points = self.query_one(Points)
        typed = self.query_one(AnswerBox).text if card.kind == "recall" else ""
        try:
            answered = self.quiz.study.answer(
                card.id,
                Rating(rating),
                proposed=self.proposal.rating if self.proposal else None,
                seconds=min(LONGEST, self.clock() - self.shown_at),
                ticks=sorted(points.ticks) if card.kind == "recall" else (),
                seed=card.seed,
                confidence=self.confidence,
                typed=typed,
                source="drill",
            )
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self.session.add(card, answered)
        if answered.leech:
            self.quiz.say("This card lapses again and again: read its answer, or rewrite the question.")
        self.next()

    # typing, moving, ticking

    def action_type(self) -> None:
        """Go to the field of the card, or open one for an answer in one's own words."""
        card = self.card
        if card is None or card.question is None:
            return
        if card.kind == "recall":
            if not self.quiz.study.settings.typed_answers:
                self.quiz.say("Typed answers are switched off in the settings.")
                return
            box = self.query_one(AnswerBox)
            if not box.display:
                box.show(card.question.key_points)
                box.display = True
                self.query_one("#aside").display = False
            box.focus()
            self._show_heard()
        elif card.kind in {"numeric", "cloze"}:
            self.query_one(f"#{card.kind} Input", Input).focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Count the key points that the typed words show."""
        event.stop()
        self._show_heard()

    def _show_heard(self) -> None:
        card = self.card
        box = self.query_one(AnswerBox)
        if card is None or card.question is None or not box.display or self.phase in keys.ANSWER:
            return
        total = len(card.question.key_points)
        found = len(box.found)
        line = self.query_one("#heard", Static)
        dots = Content.styled("●" * found, "$success").append(
            Content.styled("○" * (total - found), "$text-muted")
        )
        line.update(
            dots.append(Content.styled(f"  {found} of {plural(total, 'key point')} heard", "$text-muted"))
        )
        line.display = True

    def action_leave_field(self) -> None:
        """Leave the field; its text stays."""
        self.set_focus(None)

    def _list(self) -> "Choice | Order | Points | None":
        if self.phase == "choice":
            return self.query_one(Choice)
        if self.phase == "order":
            return self.query_one(Order)
        return self.query_one(Points) if self.phase == "points" else None

    def _step(self, step: int) -> None:
        found = self._list()
        if found is None:
            self.query_one("#card").scroll_relative(y=step, animate=False)
            return
        if isinstance(found, Points):
            at_end = found.cursor == (0 if step < 0 else len(found.points) - 1)
            if at_end:
                self.query_one("#card").scroll_relative(y=step * 2, animate=False)
                return
        found.move(step)
        if isinstance(found, Points):
            scroll = self.query_one("#card")
            line = found.virtual_region.y + found.cursor_line()
            if not scroll.scroll_offset.y <= line < scroll.scroll_offset.y + scroll.size.height - 2:
                scroll.scroll_to(y=max(0, line - 2), animate=False)

    def action_up(self) -> None:
        """Up in the list, or scroll."""
        self._step(-1)

    def action_down(self) -> None:
        """Down in the list, or scroll."""
        self._step(1)

    def action_lift(self, step: int) -> None:
        """Move a step of an order question."""
        self.query_one(Order).lift(step)

    def action_tick(self) -> None:
        """Tick the key point under the cursor."""
        self.query_one(Points).toggle()

    def action_tick_all(self) -> None:
        """Tick all or none."""
        self.query_one(Points).toggle_all()

    def action_follow_up(self) -> None:
        """Ask what an interviewer asks next, then show its answer."""
        card = self.card
        total = len(card.question.follow_ups) if card is not None and card.question is not None else 0
        if not total:
            self.quiz.say("No follow-up for this question.")
            return
        self.follow_ups = min(2 * total, self.follow_ups + 1)
        self._show_follow_ups()
        self.call_after_refresh(self.query_one("#card").scroll_end, animate=False)

    def _show_follow_ups(self) -> None:
        card = self.card
        view = self.query_one("#follow", Static)
        asked = card.question.follow_ups if card is not None and card.question is not None else ()
        view.display = bool(asked)
        if not asked:
            return
        if not self.follow_ups:
            view.update(
                Content.styled(f"n  {plural(len(asked), 'follow-up')}: what is asked next", "$text-muted")
            )
            return
        parts = []
        for index, item in enumerate(asked):
            if 2 * index < self.follow_ups:
                parts.append(f"**{item.ask}**")
            if 2 * index + 1 < self.follow_ups:
                parts.append(item.answer)
        if self.follow_ups % 2:
            parts.append("*n shows the answer*")
        view.update(Document("### Asked next\n\n" + "\n\n".join(parts)))

    # acts on the card

    def _act(self, act: Callable[[str], Any], said: str, *, leave: bool) -> None:
        card = self.card
        if card is None:
            return
        try:
            act(card.id)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self.quiz.say(said)
        if leave:
            self.next()
        else:
            self._bar()

    def action_treat_as_new(self) -> None:
        """Begin a changed question again as new."""
        card = self.card
        if card is None or not self.quiz.study.changed(card.id):
            self.quiz.say("This question has not changed since you last saw it.")
            return
        self.quiz.study.acknowledge(card.id, treat_as_new=True)
        self._show_again(card.id)

    def action_bury(self) -> None:
        """Put the card off until tomorrow."""
        self._act(self.quiz.study.bury, "Put off until tomorrow; u takes it back.", leave=True)

    def action_suspend(self) -> None:
        """Take the card out of the queue."""
        self._act(self.quiz.study.suspend, "Suspended; u takes it back.", leave=True)

    def action_flag(self) -> None:
        """Flag the card, or remove its flag."""
        card = self.card
        if card is not None:
            flagged = self.quiz.study.card(card.id).flagged
            act = self.quiz.study.unflag if flagged else self.quiz.study.flag
            self._act(act, "Flag removed." if flagged else "Flagged.", leave=False)

    def action_undo(self) -> None:
        """Take back the last act and show its card again."""
        undone = self.quiz.study.undo()
        if undone is None:
            self.quiz.say("Nothing to undo.")
            return
        self.session.undo(undone.card)
        self.quiz.say(f"Undone: {undone.type}.")
        self._show_again(undone.card)

    def action_redo(self) -> None:
        """Take back the undo."""
        redone = self.quiz.study.redo()
        if redone is None:
            self.quiz.say("Nothing to redo.")
            return
        self.quiz.say(f"Done again: {redone.type} of {redone.card}.")
        self.next()

    def _show_again(self, card_id: str) -> None:
        from quizapp.memory.facts import DueCard

        question = self.quiz.bank.questions.get(card_id)
        if question is None:
            self.next()
            return
        facts = self.quiz.study.card(card_id)
        due = DueCard(card_id, question.kind, question.level, question.topic, facts.due, facts.state)
        card = self._prepare(due)
        if card is not None:
            self.show(card)

    def action_exercise(self) -> None:
        """Open the exercise of the card; closing it comes back here."""
        card = self.card
        if card is None:
            return
        slug = card.exercise.slug if card.exercise else card.question.exercise if card.question else ""
        if slug not in self.quiz.bank.exercises:
            self.quiz.say(f"The exercise {slug!r} is not in the bank.", bad=True)
            return
        if card.exercise is not None:
            self.card = None
        self.quiz.go("exercise", slug=slug)

    def action_facts(self) -> None:
        """Stability, due date and history."""
        if self.card is not None:
            study = self.quiz.study
            self.quiz.read(self.card.id, facts_text(study.card(self.card.id), study.clock.now()))

    def action_source(self) -> None:
        """Open the question's file in the editor."""
        from quizapp.tui.editor import open_source

        if self.card is not None and self.card.question is not None:
            open_source(self.quiz, self.card.question.file, self.card.question.line)

    def action_copy(self) -> None:
        """Copy question and answer."""
        if self.card is not None and self.card.question is not None:
            clipboard.copy(self.quiz, question_text(self.card.question, self.card.seed))

    def action_search(self) -> None:
        """Search all questions."""
        self.quiz.go("browse")

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
            bar.about = ""
            bar.refresh()
            self.enter_phase("done" if done else "empty")

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
        if self.card is not None:
            self.set_timer(0.05, self._ahead)
