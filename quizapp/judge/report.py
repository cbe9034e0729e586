"""A verdict as text for the terminal: what holds, what does not, and what to do next."""

from quizapp.bank.model import Exercise
from quizapp.judge.verdict import FAILED, PASSED, Verdict

_HEADS = {
    "error": "error: your code could not be run to the end",
    "timeout": "timeout: your code was stopped",
    "memory": "memory: your code was stopped",
}


def headline(verdict: Verdict) -> str:
    """The verdict in one line."""
    good, all_of = behaviours_held(verdict)
    if verdict.status == PASSED:
        return f"passed: all {all_of} behaviours hold ({verdict.seconds:.2f} s)"
    if verdict.status == FAILED:
        return f"failed: {good} of {all_of} behaviours hold"
    return _HEADS.get(verdict.status, verdict.status)


def behaviours_held(verdict: Verdict) -> tuple[int, int]:
    """How many behaviours hold, of how many that were tested."""
    numbers = {test.behaviour for test in verdict.tests if test.behaviour}
    broken = {test.behaviour for test in verdict.tests if not test.passed}
    return len(numbers - broken), len(numbers)


def verdict_text(verdict: Verdict, exercise: Exercise) -> str:
    """The whole verdict as plain text."""
    lines = [headline(verdict)]
    if verdict.error:
        lines += ["", *_indented(verdict.error)]
    if verdict.status == FAILED:
        lines.append("")
        for number, text in exercise.behaviours.items():
            broken = [t for t in verdict.tests if t.behaviour == number and not t.passed]
            if broken:
                lines += [f" x {number:2}  {text}", *_indented(broken[0].message)]
        rest = [t for t in verdict.tests if t.behaviour not in exercise.behaviours and not t.passed]
        lines += [line for test in rest for line in _indented(test.message)]
    if verdict.printed:
        lines += ["", "your code printed:", *_indented(verdict.printed)]
    lines += [f"note: {note}" for note in verdict.notes]
    lines.append("")
    lines.append(f"{verdict.device}, tier {verdict.tier}, --seed {verdict.seed} repeats this verdict")
    return "\n".join(lines)


def _indented(text: str) -> list[str]:
    return [f"      {line}" for line in text.splitlines()]
