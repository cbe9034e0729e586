"""One question at a time, in states that no order of calls can leave: asked, frozen, revealed, rated."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING

from quizapp.bank import QuestionKind
from quizapp.bank.loader import unknown_topic
from quizapp.bank.model import Question, musts
from quizapp.errors import AnsweredElsewhere, ContentError, QuizError
from quizapp.exchange.tutor.results import (
    AnswerState,
    FrozenAnswer,
    MarkedPoint,
    NumberedPoint,
    ProposedMarks,
    RatedCard,
    RevealedAnswer,
    StatedMisconception,
    TutorQuestion,
)
from quizapp.scheduling.cards import LONGEST_ANSWER_S, Rating
from quizapp.scheduling.rating_rules import Proposal, propose_mark, propose_recall
from quizapp.scheduling.views import CardFilter

if TYPE_CHECKING:
    from quizapp.bank.answers import Mark
    from quizapp.bank.meaning.text_marking import TextMarking
    from quizapp.scheduling.service import Study

SOURCE = "mcp"
"""The source of the events in the log."""
LONGEST_ANSWER = 20_000
"""Characters of an answer."""
MIN_QUOTE_WORDS = 3
"""Words of a quote, unless it is the whole answer: fewer stand in nearly every answer."""

_HOW = {
    QuestionKind.RECALL: "Answer in words.",
    QuestionKind.NUMERIC: "Answer with a number and its unit.",
    QuestionKind.CHOICE: "Answer with the number of one option.",
    QuestionKind.ORDER: "Answer with the numbers of the steps in the right order, such as 2 1 3.",
    QuestionKind.CLOZE: "Answer with one line for each gap.",
}
_NOT_READABLE = {
    QuestionKind.CHOICE: "Name one option, by its number or its text.",
    QuestionKind.ORDER: "Name every step once, by the numbers (2 1 3 ...) or by their texts, one on a line.",
}


@dataclass(slots=True)
class _OpenCard:
    """A card from the moment it is asked. ``shown`` holds the quotes of the points that count as shown."""

    question: Question
    seed: int
    asked_at: int
    prompt: str
    state: AnswerState = AnswerState.ASKED
    answer: str = ""
    unknown: bool = False
    seconds: float = 0.0
    mark: "Mark | None" = None
    shown: dict[int, str] = field(default_factory=dict)
    proposal: Proposal | None = None

    @property
    def id(self) -> str:
        return self.question.id

    @property
    def share(self) -> float:
        """The share of the full marks that is proposed, 0 to 1."""
        if self.mark is not None:
            return round(self.mark.right, 3)
        points = self.question.key_points
        total = sum(point.weight for point in points)
        got = sum(point.weight for index, point in enumerate(points) if index in self.shown)
        return round(got / total, 3) if total else 0.0

    @property
    def marked_points(self) -> list[MarkedPoint]:
        return [MarkedPoint(index + 1, quote) for index, quote in sorted(self.shown.items())]

    @property
    def proposed_rating(self) -> int | None:
        return int(self.proposal.rating) if self.proposal else None

    @property
    def reason(self) -> str:
        return self.proposal.reason if self.proposal else "nothing was recognized; the learner decides"


class CardSession:
    """The questions of one conversation. Nothing of an answer leaves it before the learner's own is frozen.

    Methods raise `QuizError` if the open question is not in the state that they need.
    """

    def __init__(self, study: "Study") -> None:
        self._study = study
        self._card: _OpenCard | None = None
        self._skipped: list[str] = []

    def ask(self, topic: str = "", *, skip: bool = False) -> TutorQuestion:
        """The open question, or else the next one that is due, of one topic if it is named.

        ``skip`` leaves an open question that was not revealed; it comes back after the others, and nothing is
        logged.
        """
        if topic and topic not in self._study.bank.topics:
            raise unknown_topic(topic, self._study.bank)
        card = self._card
        if card is not None and card.state == AnswerState.RATED:
            card = None
        if card is not None and skip:
            if card.state == AnswerState.REVEALED:
                raise QuizError("The answer was revealed, so the question cannot be skipped; rate it.")
            self._skipped.append(card.id)
            card = None
        if card is None:
            self._card = card = self._next(CardFilter(topic=topic))
        return self._shown(card, topic)

    def _next(self, flt: CardFilter) -> _OpenCard | None:
        study = self._study
        while True:
            row = study.next_card(flt, after=self._skipped)
            if row is None and self._skipped:
                self._skipped.clear()
                row = study.next_card(flt)
            if row is None:
                return None
            question, seed = study.bank.questions[row.id], study.seed(row.id)
            try:
                return _OpenCard(question, seed, study.now().time, _prompt(question, seed))
            except ContentError:
                study.leave_out(row.id)  # a faulty card of a deck, as in the drill

    def _shown(self, card: _OpenCard | None, topic: str) -> TutorQuestion:
        waiting = self._study.counts(CardFilter(topic=topic)).text
        if card is None:
            say = f"Nothing waits {f'in {topic} ' if topic else ''}now. The day's limits are in the settings."
            return TutorQuestion(AnswerState.NONE, "", "", "", "", "", "", say, waiting)
        question = card.question
        return TutorQuestion(
            card.state,
            question.id,
            question.kind,
            question.level,
            question.topic,
            question.exercise,
            card.prompt,
            _HOW[question.kind],
            waiting,
        )

    def submit(self, answer: str, *, unknown: bool = False) -> FrozenAnswer:
        """Freeze the learner's answer; ``unknown`` if they say that they do not know.

        An answer that names no option, or not every step once, is refused and can be given again.
        """
        card = self._in_state(AnswerState.ASKED, "It is frozen already; call reveal.")
        if not answer.strip() and not unknown:
            raise QuizError("The answer is empty; pass the learner's own words, or unknown.")
        if len(answer) > LONGEST_ANSWER:
            raise QuizError(f"The answer is longer than {LONGEST_ANSWER} characters; shorten it.")
        if not unknown:
            _check_readable(card.question, answer, card.seed)
        card.answer, card.unknown, card.state = answer, unknown, AnswerState.FROZEN
        card.seconds = min(LONGEST_ANSWER_S, (self._study.now().time - card.asked_at) / 1000)
        return FrozenAnswer(card.state, card.id, answer)

    def reveal(self) -> RevealedAnswer:
        """The full answer, and what the program proposes for the frozen one. It can be asked for again."""
        card = self._in_state(
            AnswerState.FROZEN, "", also=AnswerState.REVEALED, early="Nothing is revealed before an answer."
        )
        from quizapp.bank.render import solved

        question = card.question
        marking = _marking(card)
        if card.state == AnswerState.FROZEN:
            card.shown = dict(marking.proposed) if marking else {}
            card.mark = _mark(card)
            card.proposal = _proposal(card)
            card.state = AnswerState.REVEALED
        required = musts(question.key_points)
        return RevealedAnswer(
            card.state,
            question.id,
            card.answer,
            "\n\n".join(solved(question, card.seed)),
            [
                NumberedPoint(number, point.text, point.weight, point in required)
                for number, point in enumerate(question.key_points, 1)
            ],
            card.marked_points,
            _stated(question, marking),
            card.mark.note if card.mark else "",
            card.share,
            card.proposed_rating,
            card.reason,
        )

    def propose_marks(self, marks: Sequence[MarkedPoint]) -> ProposedMarks:
        """Replace the points that count as shown, each by a quote that stands verbatim in the answer.

        All are refused if one names no point of the question, or has no such quote.
        """
        card = self._in_state(AnswerState.REVEALED, "", early="Marks are proposed after reveal.")
        count = len(card.question.key_points)
        if card.question.kind != QuestionKind.RECALL or not count:
            raise QuizError("The program marks this kind of answer itself; there are no points to propose.")
        for mark in marks:
            if not 1 <= mark.point <= count:
                raise QuizError(f"There is no key point {mark.point}; the question has {count}.")
            _check_quote(mark, card.answer)
        card.shown = {mark.point - 1: mark.quote.strip() for mark in marks}
        card.proposal = _proposal(card)
        return ProposedMarks(
            card.state, card.id, card.marked_points, card.share, card.proposed_rating, card.reason
        )

    def rate(self, rating: int) -> RatedCard:
        """Log the review under the rating that the learner decided on, 1 (Again) to 4 (Easy)."""
        card = self._in_state(AnswerState.REVEALED, "", early="A question is rated after reveal.")
        if rating not in tuple(Rating):
            raise QuizError(f"There is no rating {rating}; 1 is Again, 2 Hard, 3 Good, 4 Easy.")
        try:
            review = self._study.answer(
                card.id,
                Rating(rating),
                proposed=card.proposal.rating if card.proposal else None,
                seconds=card.seconds,
                ticks=sorted(card.shown),
                seed=card.seed,
                typed=card.answer,
                source=SOURCE,
                as_shown=True,
            )
        except AnsweredElsewhere:
            card.state = AnswerState.RATED
            raise
        card.state = AnswerState.RATED
        due = review.due.astimezone(UTC).isoformat(timespec="seconds")
        return RatedCard(card.state, card.id, rating, due, review.text, review.event)

    def _in_state(
        self, wanted: AnswerState, late: str, *, also: AnswerState | None = None, early: str = ""
    ) -> _OpenCard:
        """The open card, if it is in the state ``wanted`` or ``also``; otherwise says what to call."""
        card = self._card
        if card is None or card.state == AnswerState.RATED:
            raise QuizError("No question is open; call next_question.")
        if card.state in (wanted, also):
            return card
        if card.state == AnswerState.ASKED:
            raise QuizError(f"{early} Call submit_answer with the learner's answer first.")
        if card.state == AnswerState.FROZEN:
            raise QuizError(late or f"{early} The answer is frozen; call reveal.")
        raise QuizError("The answer was revealed, so it cannot be changed; rate it.")


def _prompt(question: Question, seed: int) -> str:
    from quizapp.bank.render import asked

    return "\n\n".join(asked(question, seed))


def _check_readable(question: Question, answer: str, seed: int) -> None:
    """Refuse what a machine could not mark. Raises `QuizError` that says nothing of what is right."""
    if question.kind == QuestionKind.RECALL:
        return
    from quizapp.bank.typed_answer import mark_typed

    try:
        mark_typed(question, answer, seed)
    except QuizError as error:
        raise QuizError(_NOT_READABLE.get(question.kind, str(error))) from None


def _check_quote(mark: MarkedPoint, answer: str) -> None:
    quote = mark.quote.strip()
    if not quote or quote not in answer:
        raise QuizError(
            f"The quote for key point {mark.point} is not in the answer word for word; copy it exactly."
        )
    if len(quote.split()) < MIN_QUOTE_WORDS and quote != answer.strip():
        raise QuizError(
            f"The quote for key point {mark.point} is too short; copy at least {MIN_QUOTE_WORDS} words."
        )


def _marking(card: _OpenCard) -> "TextMarking | None":
    if card.question.kind != QuestionKind.RECALL or card.unknown:
        return None
    from quizapp.bank.meaning.text_marking import card_of, mark_text

    return mark_text(card_of(card.question), card.answer)


def _mark(card: _OpenCard) -> "Mark | None":
    if card.question.kind == QuestionKind.RECALL or card.unknown:
        return None
    from quizapp.bank.typed_answer import mark_typed

    return mark_typed(card.question, card.answer, card.seed)


def _proposal(card: _OpenCard) -> Proposal | None:
    if card.mark is not None:
        return propose_mark(card.mark)
    return propose_recall(card.question.key_points, card.shown, unknown=card.unknown)


def _stated(question: Question, marking: "TextMarking | None") -> list[StatedMisconception]:
    if marking is None:
        return []
    return [
        StatedMisconception(row.wrong, row.right, found.evidence)
        for row, found in zip(question.misconceptions, marking.misconceptions, strict=True)
        if found.proposed
    ]
