"""The marking after an interview, and the blind marking of an old answer."""

from typing import TYPE_CHECKING, Any

from quizapp.errors import QuizError
from quizapp.interview.item import Item
from quizapp.tui.screens.mockdecide import Marking

if TYPE_CHECKING:
    from quizapp.interview.interview import Interview


class MarkScreen(Marking):
    """The marking of an interview that has ended; at its end the marks and reviews are stored."""

    def __init__(self, interview: "Interview") -> None:
        super().__init__(interview.session.items, interview.markings)
        self.interview = interview

    def changed(self) -> None:
        """Every decision is on disk."""
        self.interview.save()

    def finish(self) -> None:
        """Store marks and reviews in one transaction, then show the scorecard."""
        from quizapp.tui.screens.mockcard import CardScreen

        try:
            document = self.interview.record()
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self.quiz.switch_screen(CardScreen(document))


class BlindScreen(Marking):
    """An old answer without its marks; what is decided now is compared with what was decided then."""

    blind = True

    def __init__(self, document: dict[str, Any], number: int) -> None:
        row = next(item for item in document["items"] if item["number"] == number)
        fresh = {
            **row["marking"],
            "empty": False,
            "misconceptions": [],
            "probes": [],
            "points": [
                dict(
                    p, proposed=False, words=[], ticked=False, half=False, quote="", supported=False, held=0.0
                )
                for p in row["marking"]["points"]
            ],
        }
        super().__init__([Item.from_json(row)], [fresh])
        self.document, self.number = document, number

    def hold(self, index: int, held: float, quote: str) -> None:
        """Blind marks need no phrase: they are compared, not counted."""
        del quote
        self.marking["points"][index]["held"] = held

    def finish(self) -> None:
        """Store the blind marks beside the first."""
        from quizapp.interview.past import kappa, remark, save_report

        study = self.quiz.study
        held = [point["held"] for point in self.marking["points"]]
        row = next(item for item in self.document["items"] if item["number"] == self.number)
        remark(self.document, self.number, held, study.clock.now())
        save_report(study, self.document)
        pairs = [(p["held"], again) for p, again in zip(row["marking"]["points"], held, strict=True)]
        same = sum(a == b for a, b in pairs)
        found = kappa(pairs)
        agreement = "" if found is None else f", kappa {found:.2f}"
        self.quiz.say(f"{same} of {len(pairs)} points as the first time{agreement}.")
        self.quiz.go_back()
