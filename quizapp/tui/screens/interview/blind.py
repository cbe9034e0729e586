"""An old answer marked again without its marks; both markings are compared."""

from typing import Any

from textual.content import Content
from textual.widgets import Static

from quizapp.interview.session.question import InterviewQuestion
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.screens.interview.deciding import Marking
from quizapp.util.text import plural


class BlindScreen(Marking):
    """What is decided now is compared with what was decided then, so every point has to be decided."""

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
        super().__init__([InterviewQuestion.from_json(row)], [fresh])
        self.document, self.number = document, number
        self.held: dict[int, float] = {}

    def show(self) -> None:
        """The whole question: it may be weeks old."""
        super().show()
        self.query_one("#prompt", Static).update(Document(self.item.question["prompt"]))

    def _show_head(self) -> None:
        left = Content.styled("Marked again", "bold $primary")
        left = left.append(Content.styled(f"  an answer of {self.document['started'][:10]}", "$text-muted"))
        right = f"{len(self.held)} of {len(self.marking['points'])} decided"
        gap = max(1, self.size.width - 2 - left.cell_length - len(right))
        self.query_one("#head", Static).update(left.append(" " * gap).append(right))

    def hold(self, index: int, held: float, quote: str) -> None:
        """Blind marks need no phrase: they are compared, not counted."""
        del quote
        self.marking["points"][index]["held"] = held
        self.held[index] = held
        self._show_head()

    def action_take(self) -> None:
        """Compare, once everything is decided: what was left open would count as not said."""
        left = len(self.marking["points"]) - len(self.held)
        if left:
            self.quiz.say(f"Decide every point: {plural(left, 'point')} left, y, h or n.")
            return
        super().action_take()

    def finish(self) -> None:
        """Store the blind marks beside the first."""
        from quizapp.interview.archive import kappa, remark, save_report

        study = self.quiz.study
        held = [point["held"] for point in self.marking["points"]]
        row = next(item for item in self.document["items"] if item["number"] == self.number)
        remark(self.document, self.number, held, study.clock.now())
        save_report(study, self.document)
        pairs = [(p["held"], again) for p, again in zip(row["marking"]["points"], held, strict=True)]
        same = sum(a == b for a, b in pairs)
        found = kappa(pairs)
        agreement = "" if found is None else f", kappa {found:.2f}"
        self.quiz.say(f"{same} of {len(pairs)} points as the first time{agreement}. The first marks stay.")
        self.quiz.go_back(self)
