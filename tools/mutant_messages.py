"""Lists what each wrong submission of an exercise is told beside the message that its author expects.

``python -m tools.mutant_messages FOLDER...`` runs every wrong submission once and prints the messages beside
the expected one: those that the verdict shows in full, and those that it folds. A message that is not true of
the wrong submission accuses the learner of a mistake that is not there.

``--sample N`` prints N of these messages, chosen at random, with the edits to read them against. ``--misled``
prints only the wrong submissions whose verdict does not begin with a behavior that they break.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from quizapp.bank.parse_exercise import load_exercise
from quizapp.judge.authoring.exercise_check import ExerciseChecker
from quizapp.judge.authoring.mutants import WrongSubmission, wrong_submissions
from quizapp.judge.render.failures import FailureGroups, group_failures
from quizapp.judge.verdict import StageResult, TestResult, Verdict, VerdictStatus

SEED = 1000


@dataclass(frozen=True)
class MutantVerdict:
    """What one wrong submission is told: its failed tests, and how a verdict groups them."""

    slug: str
    mutant: WrongSubmission
    failed: tuple[TestResult, ...]
    groups: FailureGroups

    @property
    def begins_right(self) -> bool:
        """Whether the verdict begins with a behavior that the submission breaks."""
        return not self.failed or self.groups.causes[0] in self.mutant.breaks

    @property
    def others(self) -> list[TestResult]:
        """The failed tests beside the expected message, without repetitions; those in full first."""
        order = (*self.groups.causes, *self.groups.unwritten, *self.groups.consequences)
        seen: set[str] = set()
        others = []
        for test in sorted(self.failed, key=lambda test: order.index(test.behaviour)):
            if self.mutant.says.lower() not in test.message.lower() and test.message not in seen:
                seen.add(test.message)
                others.append(test)
        return others

    def heading(self) -> str:
        """One line: which submission, what it breaks, and how many other messages it gets."""
        breaks = ", ".join(map(str, self.mutant.breaks))
        others = len(self.others)
        begins = "" if self.begins_right else f"; the verdict begins with {self.groups.causes[0]}"
        return (
            f"{self.slug} {self.mutant.name} (breaks {breaks}: {self.mutant.says!r}): {others} others{begins}"
        )

    def line(self, test: TestResult) -> str:
        """One other message, marked with + if it is shown in full and - if it is folded."""
        return f"  {'+' if test.behaviour in self.groups.causes else '-'} {test.behaviour} {test.message}"


def mutant_verdicts(checker: ExerciseChecker, folder: Path, jobs: int = 1) -> Iterator[MutantVerdict]:
    """Run every wrong submission of the exercise in ``folder`` once."""
    exercise, _ = load_exercise(folder)
    if exercise is None:
        raise SystemExit(f"{folder} holds no exercise that can be read; 'quizapp check {folder}' says why")
    mutants = wrong_submissions(folder)[0]
    with ThreadPoolExecutor(jobs) as pool:
        runs = pool.map(lambda mutant: checker.observe(folder, mutant.source, SEED), mutants)
        for mutant, run in zip(mutants, runs, strict=True):
            failed = tuple(
                replace(test, stage=exercise.stage_of(test.behaviour))
                for test in run.tests
                if not test.passed
            )
            stages = tuple(StageResult(stage.name, passed=False) for stage in exercise.stages)
            verdict = Verdict(folder.name, "", "cpu", VerdictStatus.FAILED, failed, stages=stages)
            yield MutantVerdict(folder.name, mutant, failed, group_failures(verdict))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the list, or a sample of it, and the totals."""
    parser = argparse.ArgumentParser(description="List what wrong submissions are told.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, metavar="N", help="print N of the messages, with the edits")
    parser.add_argument(
        "--misled", action="store_true", help="only verdicts that begin with another behavior"
    )
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    checker = ExerciseChecker()
    verdicts: list[MutantVerdict] = []
    try:
        for folder in options.folders:
            for verdict in mutant_verdicts(checker, folder.resolve(), options.jobs):
                verdicts.append(verdict)
                if options.sample is None and not (options.misled and verdict.begins_right):
                    _print([verdict.heading(), *(verdict.line(test) for test in verdict.others)])
    finally:
        checker.close()
    if options.sample is not None:
        _print(_sampled(verdicts, options.sample))
    others = sum(len(verdict.others) for verdict in verdicts)
    right = sum(verdict.begins_right for verdict in verdicts)
    _print(
        [f"{len(verdicts)} wrong submissions, {others} other messages, {right} begin with what they break"]
    )
    return 0


def _sampled(verdicts: Sequence[MutantVerdict], count: int) -> Iterator[str]:
    """Messages chosen at random, the same ones each time, each under its submission and the edits of that."""
    messages = [(verdict, test) for verdict in verdicts for test in verdict.others]
    for verdict, test in random.Random(0).sample(messages, min(count, len(messages))):  # noqa: S311 - not a secret
        yield verdict.heading()
        for edit in verdict.mutant.edits:
            yield from (f"    - {line}" for line in edit.replace.splitlines())
            yield from (f"    + {line}" for line in edit.replacement.splitlines())
        yield verdict.line(test)


def _print(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
