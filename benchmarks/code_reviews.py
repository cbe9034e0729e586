"""Draws and grades code reviews of every exercise automatically, and prints JSON with what was misjudged.

``python benchmarks/code_reviews.py [--count N] [--only SLUG]``. For each review: the original must pass as a
fix, the code shown must fail on a behavior of every fault, an ideal test must be accepted, tests that accept
or refuse everything or read the source must earn nothing, and correct code must be judged so. The ideal test
holds on a program exactly if the hidden tests pass, so it also shows that disguised copies do the same. The
useless tests run in real workers. Exercises without a mutant that suits a review are listed.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence

from quizapp.bank.loader import load_bank
from quizapp.bank.model import Exercise
from quizapp.interview.code_review.model import CodeReview, Decision, ReviewAnswer
from quizapp.interview.code_review.proof import prove
from quizapp.interview.code_review.sample_review import can_review, sample_review
from quizapp.interview.code_review.service import judge_review
from quizapp.judge import grade
from quizapp.judge.client.learner_test_client import LearnerTestClient
from quizapp.judge.verdict import ProgramOutcome, ProgramRun, Verdict

ACCEPTS_ALL = "def check(m):\n    pass\n"
REFUSES_ALL = "def check(m):\n    assert False\n"
READS_SOURCE = "def check(m):\n    assert 'return' in open(m.__file__).read()\n"


class Grader:
    """The judge for one exercise, with the verdicts that were given before."""

    def __init__(self, exercise: Exercise, client: LearnerTestClient) -> None:
        self.exercise = exercise
        self._client = client
        self._verdicts: dict[str, Verdict] = {}

    def grade(self, source: str) -> Verdict:
        """The verdict on a source."""
        if source not in self._verdicts:
            self._verdicts[source] = grade(self.exercise, source.encode(), device="cpu")
        return self._verdicts[source]

    def run(self, test: str, programs: Sequence[str], seed: int) -> list[ProgramRun]:
        """Run a test in real workers."""
        return self._client.run(self.exercise, test, programs, seed=seed)

    def run_ideal(self, _: str, programs: Sequence[str], __: int) -> list[ProgramRun]:
        """The outcomes of a test that holds exactly where the hidden tests pass."""
        outcomes = (ProgramOutcome.FAILED, ProgramOutcome.HELD)
        return [ProgramRun(outcomes[self.grade(program).passed]) for program in programs]


def misjudged(review: CodeReview, grader: Grader) -> list[str]:
    """What is wrong with one review."""
    problems = []
    original, shown = grader.grade(review.original), grader.grade(review.shown)
    if not original.passed:
        problems.append(f"the original fails: {original.error or sorted(original.failing_behaviours)}")
    if review.is_correct != shown.passed:
        problems.append(f"the code shown is {shown.status}")
    for fault in review.faults:
        if not shown.failing_behaviours & set(fault.behaviours):
            problems.append(
                f"{fault.mutant} does not show: {shown.error or sorted(shown.failing_behaviours)}"
            )
        if grader.grade(fault.alone).passed:
            problems.append(f"{fault.mutant} alone passes")
    right = Decision.CORRECT if review.is_correct else Decision.FAULTY
    answer = ReviewAnswer(
        decision=right,
        confidence=100,
        lines=[fault.lines[0] for fault in review.faults],
        words="\n".join(fault.why for fault in review.faults),
        fixed=review.original,
    )
    marks = judge_review(review, grader.exercise, answer, run=grader.run, grade=grader.grade).marks
    parts = (marks.decision, marks.line, marks.fix)
    if parts != ((60, 0, 0) if review.is_correct else (25, 20, 20)):
        problems.append(f"a right answer gets {parts}")
    if review.faults and marks.consequence != 15:
        problems.append(f"the consequence itself gets {marks.consequence} of 15")
    ideal = prove(review, grader.exercise, ACCEPTS_ALL, grader.run_ideal)
    if not ideal.accepted or not set(ideal.caught) >= {fault.mutant for fault in review.faults}:
        problems.append(f"an ideal test is refused: {ideal.text}")
    if review.is_correct and not ideal.caught:
        problems.append("an ideal test catches no mutant")
    for test in (ACCEPTS_ALL, REFUSES_ALL, READS_SOURCE):
        proof = prove(review, grader.exercise, test, grader.run)
        if proof.accepted and proof.caught:
            problems.append(f"a test that proves nothing is accepted: {test!r}: {proof.text}")
    return problems


def main() -> int:
    """Print the result; 1 if any review was misjudged."""
    parser = argparse.ArgumentParser(description="Draw and grade code reviews.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--only", default="", help="only this exercise")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    begin = time.monotonic()
    bank = load_bank()
    reviewable = [
        exercise
        for slug, exercise in bank.exercises.items()
        if options.only in ("", slug) and can_review(exercise)
    ]
    wrong: list[dict[str, object]] = []
    counts: Counter[str] = Counter()
    with LearnerTestClient() as client:
        client.connect()
        for number, exercise in enumerate(reviewable):
            grader = Grader(exercise, client)
            # Every exercise gets its share, so that consecutive seeds of one share the verdicts kept here.
            share = range(number, options.count, len(reviewable))
            for seed in (options.first + place // len(reviewable) for place in share):
                review = sample_review(exercise, seed)
                counts[f"{len(review.faults)} faults"] += 1
                counts["from a right variant"] += review.program != "solution"
                problems = misjudged(review, grader)
                counts["misjudged"] += bool(problems)
                if problems:
                    wrong.append({"exercise": exercise.slug, "seed": seed, "problems": problems})
                    sys.stderr.write(f"{exercise.slug} {seed}: {problems}\n")
    result = {
        "reviews": sum(count for name, count in counts.items() if name.endswith("faults")),
        "counts": dict(sorted(counts.items())),
        "misjudged": wrong,
        "exercises": len(reviewable),
        "without": [slug for slug, each in bank.exercises.items() if not can_review(each)],
        "seconds": round(time.monotonic() - begin),
    }
    print(json.dumps(result, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
