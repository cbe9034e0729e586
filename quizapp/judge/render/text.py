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


def verdict_text(verdict: Verdict, exercise: Exercise, width: int = WIDTH) -> str:
    """Render the whole verdict, wrapped to ``width``: the result, what fails and why, what was printed."""
    count = f": {verdict.held} of {len(verdict.tests)} tests hold" if verdict.tests else ""
    head = f"{exercise.title}: {_HEADS.get(verdict.status, verdict.status)}{count}"
    lines = _wrapped(head, "  ", width, first="")
    if verdict.error:
        lines += _wrapped(verdict.error, "  ", width)
    lines += _stages(verdict, width)
    failed = [test for test in verdict.tests if not test.passed]
    for number in sorted({test.behaviour for test in failed}):
        sentence = exercise.behaviours.get(number, "Only what the task allows is used.")
        lines += ["", *_wrapped(f"✗ {number or '-'}  {sentence}", "     ", width, first="  ")]
        lines += _reasons([test for test in failed if test.behaviour == number], width)
    if verdict.printed:
        lines += ["", "  Your code printed:", *_shortened(verdict.printed)]
    notes = [note for note in verdict.notes if note != NO_CUDA_NOTE]  # the last line names the device
    lines += ["", *_wrapped(" ".join(notes), "  ", width)] if notes else [""]
    lines += _wrapped(f"{verdict.seconds:.2f} s on {verdict.device}, --seed {verdict.seed}", "  ", width)
    lines += _wrapped(isolation(verdict.tier), "  ", width)
    return "\n".join(lines)


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
