"""A verdict as text for a terminal or a pipe."""

import textwrap

from quizapp.bank.model import Exercise
from quizapp.judge.verdict import NO_CUDA_NOTE, TestResult, Verdict, VerdictStatus, isolation

WIDTH = 96
"""The columns that a verdict is wrapped to if the terminal is wide enough."""
_HEADS = {
    VerdictStatus.PASSED: "passed",
    VerdictStatus.ERROR: "error",
    VerdictStatus.TIMEOUT: "too slow",
    VerdictStatus.MEMORY: "out of memory",
}
_PRINTED_LINES = 20
_BOLD, _GREEN, _RED, _GRAY = "1", "32", "1;31", "2"


def verdict_text(verdict: Verdict, exercise: Exercise, width: int = WIDTH, *, color: bool = False) -> str:
    """Render the whole verdict, wrapped to ``width``: the result, what fails and why, what was printed.

    A behavior that holds takes one line. ``color`` adds the escape sequences of a terminal.
    """

    def paint(lines: list[str], style: str) -> list[str]:
        return [f"\x1b[{style}m{line}\x1b[0m" if line else line for line in lines] if color else lines

    count = f": {verdict.held} of {len(verdict.tests)} tests hold" if verdict.tests else ""
    head = f"{exercise.title}: {_HEADS.get(verdict.status, verdict.status)}{count}"
    lines = paint(_wrapped(head, "  ", width, first=""), _GREEN if verdict.passed else _RED)
    if verdict.error:
        lines += _wrapped(verdict.error, "  ", width)
    lines += paint(_stages(verdict, width), _BOLD)
    failed = [test for test in verdict.tests if not test.passed]
    broken = {test.behaviour for test in failed}
    held = sorted({test.behaviour for test in verdict.tests} - broken - {0})
    lines += paint([_held_line(number, exercise, width) for number in held], _GREEN)
    for number in sorted(broken):
        sentence = exercise.behaviours.get(number, "Only what the task allows is used.")
        lines.append("")
        lines += paint(_wrapped(f"✗ {number or '-'}  {sentence}", "     ", width, first="  "), _RED)
        lines += _reasons([test for test in failed if test.behaviour == number], width)
    if verdict.printed:
        lines += ["", "  Your code printed:", *_shortened(verdict.printed)]
    notes = [note for note in verdict.notes if note != NO_CUDA_NOTE]  # the last line names the device
    lines += ["", *_wrapped(" ".join(notes), "  ", width)] if notes else [""]
    end = f"{verdict.seconds:.2f} s on {verdict.device}, --seed {verdict.seed}"
    lines += paint([*_wrapped(end, "  ", width), *_wrapped(isolation(verdict.tier), "  ", width)], _GRAY)
    return "\n".join(lines)


def _held_line(number: int, exercise: Exercise, width: int) -> str:
    """A behavior that holds, cut to one line."""
    sentence = " ".join(exercise.behaviours.get(number, "").split())
    line = f"  ✓ {number}  {sentence}"
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def _stages(verdict: Verdict, width: int) -> list[str]:
    """One line with the stages and whether each holds, if the exercise has more than one."""
    if len(verdict.stages) < 2 or not verdict.tests:
        return []
    marks = (f"{'✓' if stage.passed else '✗'} {stage.name}" for stage in verdict.stages)
    return _wrapped("   ".join(marks), "  ", width)


def _reasons(tests: list[TestResult], width: int) -> list[str]:
    lines: list[str] = []
    for message in dict.fromkeys(test.message for test in tests):
        lines += _wrapped(message, "       ", width)
    return lines


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
