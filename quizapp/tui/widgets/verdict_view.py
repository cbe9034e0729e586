"""A verdict: the finding, each behavior with its message, what was printed, and the hints shown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual.content import Content

from quizapp.bank.model import Exercise
from quizapp.judge.verdict import NO_CUDA_NOTE, isolation
from quizapp.tui.rendering.layout import hanging, lay_out
from quizapp.tui.rendering.markdown import parse
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.lines import Lines
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.judge.verdict import TestResult, Verdict

_FINDINGS = {
    "passed": ("✓ passed", "$success"),
    "failed": ("✗ failed", "$error"),
    "error": ("✗ error", "$error"),
    "timeout": ("✗ too slow", "$error"),
    "memory": ("✗ out of memory", "$error"),
}
_PRINTED = 40
_MESSAGES = 4


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
        head = Content.styled(name, f"bold {color}")
        if verdict.tests:
            head = head.append(f"  {verdict.held} of {len(verdict.tests)} tests")
        head = head.append(
            Content.styled(f"  {verdict.seconds:.2f} s on {escape_controls(verdict.device)}", "$text-muted")
        )
        lines = hanging(Content(""), head, width)
        if self.stale:
            lines.append(Content.styled("The code has changed since.", "$warning"))
        if self.note:
            lines += hanging(Content(""), plain(self.note, "$success"), width)
        if self.warning:
            lines += hanging(Content(""), plain(self.warning, "bold $warning"), width)
        if len(verdict.stages) > 1 and verdict.tests:
            lines += _stages(verdict, width)
        if verdict.error:
            lines += [Content(""), *_block(verdict.error, width)]
        lines += self._tests(verdict.tests, width)
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

    def _tests(self, tests: "Sequence[TestResult]", width: int) -> list[Content]:
        """Tests by behavior, failed ones first. A message that most of them share is shown once, on top."""
        lines: list[Content] = []
        groups: dict[int, list[TestResult]] = {}
        for test in tests:
            groups.setdefault(test.behaviour, []).append(test)
        # 0 is the check of the means that the task allows, which is not on the task's list: it comes last.
        in_order = sorted(groups, key=lambda number: (number == 0, number))
        failed = [number for number in in_order if not all(test.passed for test in groups[number])]
        held = [number for number in in_order if number not in failed]
        shared = _shared(groups[number] for number in failed)
        if shared:
            lines += [Content(""), *_block(shared, width)]
        for number in failed:
            messages = [m for m in _messages(groups[number]) if m != shared]
            if messages or not shared or number == failed[0]:
                lines.append(Content(""))
            lines += self._behaviour(number, width, passed=False)
            for message in messages[:_MESSAGES]:
                lines += _block(message, width, "  ")
            if len(messages) > _MESSAGES:
                lines.append(Content.styled(f"  and {len(messages) - _MESSAGES} more", "$text-muted"))
        if held:
            lines.append(Content(""))
        for number in held:
            lines += self._behaviour(number, width, passed=True)
        return lines

    def _behaviour(self, number: int, width: int, *, passed: bool) -> list[Content]:
        sentence = self._behaviours().get(number, "Only the means that the task allows are used.")
        mark = Content.styled("✓ " if passed else "✗ ", "$success bold" if passed else "$error bold")
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


def _messages(group: "Sequence[TestResult]") -> list[str]:
    """The messages of the failed tests of a behavior, without repetitions."""
    return list(dict.fromkeys(test.message for test in group if not test.passed and test.message))


def _shared(groups: "Iterable[Sequence[TestResult]]") -> str:
    """The message that at least three failed behaviors, and most of them, share; empty without one."""
    by_behaviour = [_messages(group) for group in groups]
    counts = Counter(message for messages in by_behaviour for message in messages)
    message, times = counts.most_common(1)[0] if counts else ("", 0)
    return message if times >= 3 and times * 2 > len(by_behaviour) else ""


def _block(text: str, width: int, indent: str = "") -> list[Content]:
    lines: list[Content] = []
    for line in escape_controls(text.strip("\n")).split("\n"):
        lines += hanging(Content(indent), Content(line), width) if line.strip() else [Content("")]
    return lines
