"""Finds what practices the same as a question that went badly: cards, an exercise, a broken run."""

from collections.abc import Iterable
from dataclasses import dataclass

from quizapp.bank import QuestionKind
from quizapp.bank.model import Bank, Exercise, Question
from quizapp.incidents.model import Incident, IncidentLibrary
from quizapp.interview.session.question import InterviewQuestion


@dataclass(frozen=True, slots=True)
class RelatedTasks:
    """The bank and the broken runs, looked up by what a question was about.

    The nearest comes first: what names the question's exercise, then what shares its topic.
    """

    bank: Bank
    library: IncidentLibrary

    def cards(self, asked: InterviewQuestion) -> Iterable[Question]:
        """The cards about the same that are answered in words, nearest first.

        The prompts of others may have numbers to fill in, and options say less about what was missing.
        """
        questions = [one for one in self.bank.questions.values() if one.kind == QuestionKind.RECALL]
        yield from (one for one in questions if asked.exercise and one.exercise == asked.exercise)
        yield from (one for one in questions if one.topic == asked.topic and one.exercise != asked.exercise)

    def exercise(self, asked: InterviewQuestion) -> Exercise | None:
        """The exercise of a question, else the first of its topic; None without either."""
        own = self.bank.exercises.get(asked.exercise)
        return own or next((one for one in self.bank.exercises.values() if one.topic == asked.topic), None)

    def incident(self, asked: InterviewQuestion, seed: int) -> Incident | None:
        """A broken run on the same topic, else any; ``seed`` picks it, so that reports differ."""
        runs = list(self.library.incidents.values())
        near = [one for one in runs if one.topic == asked.topic] or runs
        return near[seed % len(near)] if near else None


NOTHING_RELATED = RelatedTasks(Bank({}, {}, {}), IncidentLibrary())
