"""A verdict: the finding, each behavior with its message, what was printed, and the hints shown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textual.content import Content

from quizapp.bank.model import Exercise
from quizapp.judge.render.failures import MEANS, MessagesOnPage, group_failures, messages_of
from quizapp.judge.render.text import CONSEQUENCE, CORE_PASSED, core_holds
from quizapp.judge.verdict import NO_CUDA_NOTE, isolation
from quizapp.tui.rendering.layout import hanging, lay_out
from quizapp.tui.rendering.markdown import parse
from quizapp.tui.rendering.text import link, plain
from quizapp.tui.widgets.lines import Lines
from quizapp.util.sanitize import escape_controls, one_line

if TYPE_CHECKING:
    from quizapp.judge.verdict import Verdict

_FINDINGS = {
    "passed": ("✓ passed", "$success"),
    "failed": ("✗ failed", "$error"),
    "error": ("✗ error", "$error"),
    "timeout": ("✗ too slow", "$error"),
    "memory": ("✗ out of memory", "$error"),
}
_PRINTED = 40
STALE = "Of the code before your last change. ctrl+r grades it as it is now."
"""Stands above a verdict on other code than the editor holds."""


class VerdictView(Lines):
    """Shows the state of grading; the screen sets it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.exercise: Exercise | None = None
        self.verdict: Verdict | None = None
        self.running: float | None = None
        self.stale = False
        self.warming = False
        self.message = ""
        self.tone = "$error"
        self.hints: list[str] = []
        self.note = ""
        self.warning = ""
        self.every_message = False
        """Whether it also shows the messages of failures that probably follow from the first one."""
        self.lists_behaviours = True
        """Whether it lists what the tests check before the first grade; an interviewer would not."""

    def lines(self, width: int) -> list[Content]:
        """Progress, message, verdict and hints."""
        lines: list[Content] = []
        if self.running is not None:
            dots = "●" * (1 + int(self.running * 2) % 3)
            doing = "Starting PyTorch, once" if self.warming else "Grading"
            lines += [Content.styled(f"{doing} {dots:<3} {self.running:.1f} s", "bold $primary"), Content("")]
        if self.message:
            lines += [*hanging(Content(""), plain(self.message, f"bold {self.tone}"), width), Content("")]
        if self.verdict is not None:
            lines += self._verdict(self.verdict, width)
        elif self.running is None and not self.message:
            lines += self._nothing_yet(width)
        for number, hint in enumerate(self.hints, 1):
            lines += [Content(""), Content.styled(f"Hint {number}", "bold $accent")]
            lines += lay_out(parse(hint), width)
        return lines

    def _nothing_yet(self, width: int) -> list[Content]:
        lines = [Content.styled("Not graded yet", "bold"), Content("")]
        text = "ctrl+r runs the hidden tests"
        text += ". They check:" if self.lists_behaviours else " of the stages shown so far."
        lines += hanging(Content(""), Content.styled(text, "$text-muted"), width)
        if not self.lists_behaviours:
            return lines
        lines.append(Content(""))
        for number, sentence in self._behaviours().items():
            lines += hanging(Content.styled(f"{number:>2}  ", "$text-muted"), plain(sentence), width)
        return lines

    def _behaviours(self) -> Mapping[int, str]:
        return self.exercise.behaviours if self.exercise is not None else {}

    def _verdict(self, verdict: "Verdict", width: int) -> list[Content]:
        name, color = _FINDINGS.get(verdict.status, (verdict.status, "$warning"))
        if self.exercise is not None and core_holds(verdict, self.exercise):
            name, color = f"✓ {CORE_PASSED}", "$success"
        lines: list[Content] = []
        if self.stale:
            lines = [*hanging(Content(""), Content.styled(STALE, "bold $warning"), width), Content("")]
            color = "$text-muted"
        head = Content.styled(name, f"bold {color}")
        if verdict.tests:
            head = head.append(f"  {verdict.held} of {len(verdict.tests)} tests")
        head = head.append(
            Content.styled(f"  {verdict.seconds:.2f} s on {escape_controls(verdict.device)}", "$text-muted")
        )
        lines += hanging(Content(""), head, width)
        if self.note:
            lines += hanging(Content(""), plain(self.note, "$success"), width)
        if self.warning:
            lines += hanging(Content(""), plain(self.warning, "bold $warning"), width)
        if len(verdict.stages) > 1 and verdict.tests:
            lines += _stages(verdict, width)
        if verdict.error:
            lines += [Content(""), *_block(verdict.error, width)]
        lines += self._tests(verdict, width)
        for note in verdict.notes:
            if note == NO_CUDA_NOTE:  # the head already names the device
                continue
            lines += [Content(""), *hanging(Content(""), plain(note, "$text-muted"), width)]
        if verdict.printed.strip():
            lines += [Content(""), Content.styled("Printed", "bold")]
            lines += _block(verdict.printed, width)[:_PRINTED]
        end = (f"seed {verdict.seed}", isolation(verdict.tier))
        lines += [
            Content(""),
            *(line for text in end for line in Content.styled(text, "$text-muted").wrap(width)),
        ]
        return lines

    def _tests(self, verdict: "Verdict", width: int) -> list[Content]:
        """The cause in full, what follows from it in one line per behavior, then what holds."""
        lines: list[Content] = []
        page = MessagesOnPage()

        def messages(number: int) -> list[str]:
            return messages_of([test for test in verdict.tests if test.behaviour == number])

        def in_full(number: int) -> list[Content]:
            """A behavior with its message, or with all that are not on the page already."""
            texts = page.show(messages(number), every_message=self.every_message)
            head = self._behaviour(number, width, passed=False)
            return [Content(""), *head, *(line for each in texts for line in _block(each, width, "  "))]

        groups = group_failures(verdict)
        for number in groups.causes:
            lines += in_full(number)
        for title, numbers in (("Not written yet", groups.unwritten), (CONSEQUENCE, groups.consequences)):
            if not numbers:
                continue
            lines += [Content(""), Content.styled(title, "bold")]
            if self.every_message:
                lines += [line for number in numbers for line in in_full(number)]
                continue
            lines += [self._behaviour(number, width, passed=False, whole=False)[0] for number in numbers]
        if groups.unwritten or groups.consequences or any(len(messages(n)) > 1 for n in groups.causes):
            does = "fewer messages" if self.every_message else "all messages"
            lines += [Content(""), link(f"f4, then a: {does}", "screen.all_messages", "$text-muted")]
        broken = verdict.failing_behaviours
        held = sorted({test.behaviour for test in verdict.tests} - broken, key=lambda n: (n == MEANS, n))
        if held:
            lines.append(Content(""))
        for number in held:
            lines += self._behaviour(number, width, passed=True)
        return lines

    def _behaviour(self, number: int, width: int, *, passed: bool, whole: bool = True) -> list[Content]:
        """A behavior's sentence with its mark; without ``whole``, one line."""
        sentence = self._behaviours().get(number, "The code uses only what the task allows.")
        mark = Content.styled("✓ " if passed else "✗ ", "$success bold" if passed else "$error bold")
        if not whole:
            return [mark.append(plain(one_line(sentence)).truncate(width - 2, ellipsis=True))]
        return hanging(mark, plain(sentence, "" if passed else "bold"), width)


def _stages(verdict: "Verdict", width: int) -> list[Content]:
    """The stages of the exercise in order, each with a mark that says whether it holds."""
    marks = [
        Content.styled(f"✓ {stage.name}", "$success")
        if stage.passed
        else Content.styled(f"✗ {stage.name}", "$error")
        for stage in verdict.stages
    ]
    return Content("   ").join(marks).wrap(width)


def _block(text: str, width: int, indent: str = "") -> list[Content]:
    lines: list[Content] = []
    for line in escape_controls(text.strip("\n")).split("\n"):
        lines += hanging(Content(indent), Content(line), width) if line.strip() else [Content("")]
    return lines
