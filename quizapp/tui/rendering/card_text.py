"""Prepares cards for the screen; writes questions, answers and card facts as Markdown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from quizapp.bank.answers import GAP, gaps, shuffled
from quizapp.bank.model import Bank, Question
from quizapp.bank.parameters import SampledQuestion, sample_question
from quizapp.scheduling.views import CardFacts, DueCard
from quizapp.tui.rendering.markdown import Document
from quizapp.util.sanitize import one_line
from quizapp.util.text import duration, percent


@dataclass(slots=True)
class PreparedCard:
    """One card ready to be shown."""

    id: str
    kind: str
    topic: str
    level: str
    state: str
    seed: int
    prompt: Document
    question: Question
    sampled: SampledQuestion
    order: tuple[int, ...] = ()
    gap_count: int = 0
    _answer: Document | None = field(default=None)

    @property
    def answer(self) -> Document:
        """The text after the reveal. Parsed on first use, which `lay_out` causes ahead of time."""
        if self._answer is None:
            self._answer = Document(answer_text(self.question, self.sampled))
        return self._answer

    def lay_out(self, width: int) -> None:
        """Lay out prompt and answer for a width ahead of time, so that showing them is instant."""
        self.prompt.at(width)
        self.answer.at(width)


def prepare_card(bank: Bank, due: DueCard, seed: int) -> PreparedCard | None:
    """The card of a queue entry; None if the bank no longer has its question."""
    question = bank.questions.get(bank.resolve(due.id))
    if question is None:
        return None
    sampled = sample_question(question, seed)
    return PreparedCard(
        question.id, question.kind, question.topic, question.level, due.state, seed,
        Document(sampled.prompt), question=question, sampled=sampled,
        order=shuffled(question, seed) if question.kind in {"choice", "order"} else (),
        gap_count=len(gaps(question)) if question.kind == "cloze" else 0,
    )  # fmt: skip


def answer_text(question: Question, sampled: SampledQuestion | None) -> str:
    """The answer as Markdown: the spoken answer, the full one, common misconceptions, sources."""
    parts = []
    if question.say:
        parts.append(f"*{question.say.strip()}*")
    if question.kind == "numeric" and sampled is not None and sampled.worked:
        parts.append(sampled.worked.strip())
    parts.append((sampled.answer if sampled is not None else question.answer).strip())
    if question.misconceptions:
        lines = [f"- “{item.wrong}” {item.right}" for item in question.misconceptions]
        parts.append("### Often confused\n\n" + "\n".join(lines))
    if question.sources:
        parts.append("### Sources\n\n" + "\n".join(f"- {source}" for source in question.sources))
    return "\n\n".join(parts)


def question_text(question: Question, seed: int = 0) -> str:
    """A whole question as Markdown, for the preview and for copying."""
    sampled = sample_question(question, seed)
    parts = [f"**{sampled.prompt.strip()}**"]
    if question.options:
        parts.append("\n".join(f"- {'✓' if o.right else '✗'} {o.text}. *{o.why}*" for o in question.options))
    if question.steps:
        parts.append("\n".join(f"{i}. {step}" for i, step in enumerate(question.steps, 1)))
    if question.text:
        parts.append(GAP.sub(lambda match: f"**{match[1].split('|')[0].strip()}**", question.text))
    if question.key_points:
        parts.append("\n".join(f"- {point.text}" for point in question.key_points))
    parts.append(answer_text(question, sampled))
    return "\n\n".join(parts)


def facts_text(facts: CardFacts, now: datetime) -> str:
    """The memory of a card as Markdown: figures, then its reviews, newest first."""
    marks = [name for name in ("suspended", "buried", "flagged", "leech") if getattr(facts, name)]
    rows = [("state", facts.state + (f" ({', '.join(marks)})" if marks else ""))]
    rows.append(("due", when(facts.due, now) if facts.due else "not yet seen"))
    if facts.stability is not None:
        rows.append(("stability", f"{facts.stability:.1f} days"))
    if facts.difficulty is not None:
        rows.append(("difficulty", f"{facts.difficulty:.1f} of 10"))
    if facts.retrievability is not None:
        rows.append(("retrievability", percent(facts.retrievability)))
    rows.append(("reviews, lapses", f"{facts.reps}, {facts.lapses}"))
    text = _table(("", ""), rows)
    if facts.history:
        reviews = [
            (
                f"{review.time.astimezone():%Y-%m-%d %H:%M}", review.rating.label,
                _span(review.interval.total_seconds()), duration(review.seconds), review.source,
            )
            for review in reversed(facts.history)
        ]  # fmt: skip
        text += "\n\n### Reviews\n\n"
        text += _table(("when", "rating", "interval", "took", "from"), reviews)
    return text


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _span(seconds: float) -> str:
    if seconds < 86400:
        return duration(seconds)
    return f"{seconds / 86400:.0f} d"


def when(due: datetime, now: datetime) -> str:
    """A due date as people say it, relative to ``now`` (both aware)."""
    seconds = (due - now).total_seconds()
    if seconds <= 0:
        return "now" if seconds > -86400 else f"{-seconds / 86400:.0f} d ago"
    if seconds < 86400:
        return f"in {duration(seconds)}"
    days = round(seconds / 86400)
    return f"in {days} d, {due.astimezone():%-d %B}" if days < 300 else f"in {days} d"
