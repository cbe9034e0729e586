"""A verdict as text for a terminal or a pipe."""

import textwrap

from quizapp.bank.model import Exercise
from quizapp.judge.render.failures import MessagesOnPage, group_failures, messages_of
from quizapp.judge.verdict import NO_CUDA_NOTE, Verdict, VerdictStatus, isolation
from quizapp.util.text import plural

WIDTH = 96
"""The columns that a verdict is wrapped to if the terminal is wide enough."""
_HEADS = {
    VerdictStatus.PASSED: "passed",
    VerdictStatus.ERROR: "error",
    VerdictStatus.TIMEOUT: "too slow",
    VerdictStatus.MEMORY: "out of memory",
}
CONSEQUENCE = "Probably a consequence"
"""What views say above the failures that probably follow from the first one."""
CORE_PASSED = "core passed"
"""What views say where every core stage holds and a stage beyond the core fails."""
_PRINTED_LINES = 20
_BOLD, _GREEN, _RED, _GRAY = "1", "32", "1;31", "2"


def verdict_text(
    verdict: Verdict,
    exercise: Exercise,
    width: int = WIDTH,
    *,
    color: bool = False,
    every_message: bool = False,
) -> str:
    """Render the verdict, wrapped to ``width``: the result, what fails and why, what was printed.

    A behavior that holds takes one line, and so does one that probably fails as a consequence of the first,
    unless ``every_message`` is true. ``color`` adds the escape sequences of a terminal.
    """

    def paint(lines: list[str], style: str) -> list[str]:
        return [f"\x1b[{style}m{line}\x1b[0m" if line else line for line in lines] if color else lines

    count = f": {verdict.held} of {len(verdict.tests)} tests hold" if verdict.tests else ""
    finding = CORE_PASSED if core_holds(verdict, exercise) else _HEADS.get(verdict.status, verdict.status)
    good = verdict.passed or finding == CORE_PASSED
    head = f"{exercise.title}: {finding}{count}"
    lines = paint(_wrapped(head, "  ", width, first=""), _GREEN if good else _RED)
    if verdict.error:
        lines += _wrapped(verdict.error, "  ", width)
    lines += paint(_stages(verdict, width), _BOLD)
    broken = verdict.failing_behaviours
    held = sorted({test.behaviour for test in verdict.tests} - broken - {0})
    lines += paint([_one_line("✓", number, exercise, width) for number in held], _GREEN)
    page = MessagesOnPage()

    def in_full(number: int) -> list[str]:
        """A behavior with its message, or with all that are not on the page already."""
        head = _wrapped(f"✗ {number or '-'}  {sentence_of(number, exercise)}", "     ", width, first="  ")
        messages = messages_of([test for test in verdict.tests if test.behaviour == number])
        texts = page.show(messages, every_message=every_message)
        if not every_message and len(messages) > 1:
            texts.append(f"({plural(len(messages) - 1, 'more message')} with --all)")
        body = [line for text in texts for line in _wrapped(text, "       ", width)]
        return ["", *paint(head, _RED), *body]

    groups = group_failures(verdict)
    for number in groups.causes:
        lines += in_full(number)
    for title, numbers in (("Not written yet", groups.unwritten), (CONSEQUENCE, groups.consequences)):
        if not numbers:
            continue
        if every_message:
            lines += ["", *paint([f"  {title}:"], _BOLD)]
            lines += [line for number in numbers for line in in_full(number)]
        else:
            lines += ["", *paint([f"  {title} (--all shows the messages):"], _BOLD)]
            lines += [_one_line("✗", number, exercise, width) for number in numbers]
    if verdict.printed:
        lines += ["", "  Your code printed:", *_shortened(verdict.printed)]
    notes = [note for note in verdict.notes if note != NO_CUDA_NOTE]  # the last line names the device
    lines += ["", *_wrapped(" ".join(notes), "  ", width)] if notes else [""]
    end = f"{verdict.seconds:.2f} s on {verdict.device}, --seed {verdict.seed}"
    lines += paint([*_wrapped(end, "  ", width), *_wrapped(isolation(verdict.tier), "  ", width)], _GRAY)
    return "\n".join(lines)


def core_holds(verdict: Verdict, exercise: Exercise) -> bool:
    """Whether the verdict failed although every core stage of the exercise holds."""
    held = {stage.name for stage in verdict.stages if stage.passed}
    core = [stage.name for stage in exercise.stages if stage.is_core]
    return verdict.status == VerdictStatus.FAILED and bool(core) and held.issuperset(core)


def sentence_of(number: int, exercise: Exercise) -> str:
    """The sentence of a behavior; 0 is the check of the allowed means."""
    return " ".join(exercise.behaviours.get(number, "The code uses only what the task allows.").split())


def _one_line(mark: str, number: int, exercise: Exercise, width: int) -> str:
    """A behavior, cut to one line."""
    line = f"  {mark} {number or '-'}  {sentence_of(number, exercise)}"
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def _stages(verdict: Verdict, width: int) -> list[str]:
    """One line with the stages and whether each holds, if the exercise has more than one."""
    if len(verdict.stages) < 2 or not verdict.tests:
        return []
    marks = (f"{'✓' if stage.passed else '✗'} {stage.name}" for stage in verdict.stages)
    return _wrapped("   ".join(marks), "  ", width)


def _wrapped(text: str, indent: str, width: int, first: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def _shortened(printed: str) -> list[str]:
    lines = printed.rstrip("\n").split("\n")
    if len(lines) > _PRINTED_LINES:
        half = _PRINTED_LINES // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half} more lines ...", *lines[-half:]]
    return [f"  | {line[:400]}" for line in lines]
