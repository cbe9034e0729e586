"""Answering a drill's card: typed words, the reveal, the proposed rating, the rating on disk."""

from textual import on
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from quizapp.bank.answers import Mark, mark_choice, mark_cloze, mark_numeric, mark_order
from quizapp.errors import QuizError
from quizapp.scheduling.cards import Rating
from quizapp.tui import actions
from quizapp.tui.rendering.card_text import Card
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.drill.card import DrillCard
from quizapp.tui.widgets.answer_box import AnswerBox, heard, own_words
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.cloze import Cloze
from quizapp.tui.widgets.key_points import KeyPoints
from quizapp.tui.widgets.number_field import NumberField
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.rating_bar import RatingBar
from quizapp.tui.widgets.row_list import RowList
from quizapp.util.text import plural

LONGEST = 600.0
"""Seconds after which a pause no longer counts as thinking."""


class DrillAnswer(DrillCard):
    """From the first key on a card to its rating."""

    def action_reveal(self) -> None:
        """Show the answer, after the confidence where the user wants it asked."""
        card = self.card
        if card is None:
            return
        if self.phase == actions.TYPING:
            self.set_focus(None)
        if card.kind == "choice" and self.position is None:
            self.position = self.query_one(Choice).cursor
        self.revealed_after = self.clock() - self.shown_at
        if self.quiz.study.settings.confidence and self.confidence is None:
            self.query_one("#aside").display = False
            self._note("How sure are you, from 1 (not at all) to 5 (certain)?", "$primary")
            self.enter_phase("confidence")
            return
        self._reveal(card)

    action_check = action_reveal

    def action_exercise(self) -> None:
        """Open the exercise of the card; closing it comes back here."""
        card = self.card
        if card is None:
            return
        slug = card.question.exercise
        if slug not in self.quiz.bank.exercises:
            self.quiz.say(f"The exercise {slug!r} is not in the bank.", bad=True)
            return
        self.quiz.go("exercise", slug=slug)

    def on_number_field_given(self) -> None:
        """Enter in the number's field: a slip of the keys is not yet an answer, an empty field is one."""
        number = self.query_one(NumberField)
        if number.text.strip() and not number.understood:
            self.quiz.say("This is no number yet: mend it, or press ctrl+r to see the answer.")
            return
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

    @on(RowList.Picked, "#choice")
    def _option_clicked(self, event: RowList.Picked) -> None:
        """An option was clicked."""
        if self.phase == "choice":
            self.action_pick(event.place)

    def _reveal(self, card: Card) -> None:
        question = card.question
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
        if card.kind == "numeric":
            number = self.query_one(NumberField)
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
        typed = self.query_one(AnswerBox).text if self.query_one("#typed").display else ""
        self.query_one("#typed").display = self.query_one("#heard").display = False
        own = self.query_one("#own", Static)
        own.display = bool(typed.strip())
        if own.display:
            own.update(own_words(typed, question.key_points))
        points = self.query_one(KeyPoints)
        points.show(question.key_points, heard(question.key_points, typed))
        points.display = bool(question.key_points)

    def _note(self, text: str, style: str) -> None:
        note = self.query_one("#note", Static)
        note.update(plain(text, f"bold {style}"))
        note.display = bool(text)

    def _propose(self) -> None:
        """Ask for a proposed rating and show it on the buttons."""
        from quizapp.scheduling.rating_rules import propose_mark, propose_recall

        card = self.card
        if card is None:
            return
        if self.mark is not None:
            self.proposal = propose_mark(self.mark, self.revealed_after, 0)
        elif card.question.key_points:
            ticks = sorted(self.query_one(KeyPoints).ticks)
            self.proposal = propose_recall(card.question.key_points, ticks)
        previews = self.quiz.study.previews(card.id)
        proposed = int(self.proposal.rating) if self.proposal else 0
        reason = self.proposal.reason if self.proposal else ""
        texts = {int(rating): preview.text for rating, preview in previews.items()}
        self.query_one(RatingBar).show(texts, proposed, reason)

    def on_key_points_ticked(self) -> None:
        """The evidence changed."""
        self._propose()

    def action_take(self) -> None:
        """Rate as proposed."""
        if self.proposal is not None:
            self.action_rate(int(self.proposal.rating))

    def action_rate(self, rating: int) -> None:
        """Write the rating; it is on disk before the next card is drawn."""
        card = self.card
        if card is None or self.phase not in actions.ANSWER:
            return
        points = self.query_one(KeyPoints)
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

    # answers in one's own words

    def action_type(self) -> None:
        """Go to the field of the card, or open one for an answer in one's own words."""
        card = self.card
        if card is None:
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
        if card is None or not box.display or self.phase in actions.ANSWER:
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

    # what is asked next

    def action_follow_up(self) -> None:
        """Ask what an interviewer asks next, then show its answer."""
        card = self.card
        total = len(card.question.follow_ups) if card is not None else 0
        if not total:
            self.quiz.say("No follow-up for this question.")
            return
        self.follow_ups = min(2 * total, self.follow_ups + 1)
        self._show_follow_ups()
        self.call_after_refresh(self.query_one("#card").scroll_end, animate=False)

    def _show_follow_ups(self) -> None:
        card = self.card
        view = self.query_one("#follow", Static)
        asked = card.question.follow_ups if card is not None else ()
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
