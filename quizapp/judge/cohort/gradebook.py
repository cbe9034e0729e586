"""The gradebook of a class: by student, exercise and behavior, as CSV and JSON.

It holds no times, seeds of chance or names of machines, so every rerun over the same files gives the same
bytes.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise
from quizapp.judge.cohort.class_folder import LeftOutFile
from quizapp.judge.cohort.grading_run import GradedSubmission, GradingOptions
from quizapp.judge.cohort.grading_version import judge_version
from quizapp.util.atomic import write_atomic

SCHEMA = "quizapp.gradebook/1"
BY_BEHAVIOR, BY_STUDENT, DOCUMENT = "gradebook.csv", "summary.csv", "gradebook.json"
_COLUMNS = ("student", "exercise", "file", "status", "behaviour", "stage", "passed", "sentence", "reason")


@dataclass(frozen=True)
class Gradebook:
    """Everything that is known of a class's submissions.

    ``students`` lists all, also who handed in nothing. ``versions`` holds the version of each exercise.
    """

    students: Sequence[str]
    graded: Sequence[GradedSubmission]
    left_out: Sequence[LeftOutFile]
    versions: Mapping[str, str]
    options: GradingOptions

    @property
    def complete(self) -> bool:
        """Whether every submission that can be graded is."""
        return all(graded.settled for graded in self.graded)

    @property
    def all_passed(self) -> bool:
        """Whether every submission passed, and no file was left out for a reason of its own."""
        return all(graded.passed for graded in self.graded)

    def write(self, folder: Path) -> None:
        """Write the three files of the gradebook, each in one step. Raises ``OSError``."""
        write_atomic(folder / BY_BEHAVIOR, self.by_behavior(), durable=True)
        write_atomic(folder / BY_STUDENT, self.by_student(), durable=True)
        document = json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n"
        write_atomic(folder / DOCUMENT, document, durable=True)

    def by_behavior(self) -> str:
        """A table in CSV with a row for each behavior of each submission."""
        return _csv(_COLUMNS, (row for graded in self.graded for row in _behavior_rows(graded)))

    def by_student(self) -> str:
        """A table in CSV with a row for each student and a column for each exercise."""
        cells: dict[tuple[str, str], str] = {}
        passed = dict.fromkeys(self.students, 0)
        for graded in self.graded:
            submission = graded.submission
            cells[submission.student, submission.exercise.slug] = _cell(graded)
            passed[submission.student] += graded.passed
        slugs = sorted(self.versions)
        rows = (
            [student, str(passed[student]), *(cells.get((student, slug), "missing") for slug in slugs)]
            for student in self.students
        )
        return _csv(("student", "passed", *slugs), rows)

    def as_json(self) -> dict[str, Any]:
        """The whole gradebook as plain data."""
        exercises = {graded.submission.exercise.slug: graded.submission.exercise for graded in self.graded}
        by_student: dict[str, list[dict[str, Any]]] = {student: [] for student in self.students}
        for graded in self.graded:
            by_student[graded.submission.student].append(submission_json(graded))
        return {
            "schema": SCHEMA,
            "complete": self.complete,
            "judge": judge_version(),
            "device": self.options.device,
            "exercises": [
                {
                    "exercise": slug,
                    "title": exercise.title,
                    "version": self.versions[slug],
                    "behaviours": {str(number): text for number, text in _behaviors(exercise).items()},
                }
                for slug, exercise in sorted(exercises.items())
            ],
            "students": [
                {"student": student, "passed": sum(row["passed"] for row in rows), "submissions": rows}
                for student, rows in by_student.items()
            ],
            "left_out": [{"file": entry.file, "reason": entry.reason} for entry in self.left_out],
        }


def submission_json(graded: GradedSubmission) -> dict[str, Any]:
    """One submission as plain data. ``passed`` of a behavior is None if there is no evidence of it."""
    submission, verdict = graded.submission, graded.verdict
    return {
        "exercise": submission.exercise.slug,
        "file": submission.file,
        "status": graded.status,
        "passed": graded.passed,
        "stages": [] if verdict is None else [{"name": s.name, "passed": s.passed} for s in verdict.stages],
        "behaviours": {str(number): passed for number, passed in _results(graded).items()},
        "source": submission.source_hash,
        "seed": submission.seed,
        "reason": graded.reason,
    }


def _behaviors(exercise: Exercise) -> dict[int, str]:
    """The behaviors of an exercise by number. The check of the allowed means is behavior 0."""
    allowed = {0: "Uses only the allowed means."} if exercise.forbidden else {}
    return allowed | dict(sorted(exercise.behaviours.items()))


def _results(graded: GradedSubmission) -> dict[int, bool | None]:
    """Whether each behavior passed, by number; None where there is no evidence."""
    results: dict[int, bool | None] = dict.fromkeys(_behaviors(graded.submission.exercise))
    for test in () if graded.verdict is None else graded.verdict.tests:
        results[test.behaviour] = results.get(test.behaviour) is not False and test.passed
    return results


def _behavior_rows(graded: GradedSubmission) -> Iterable[list[str]]:
    submission = graded.submission
    sentences = _behaviors(submission.exercise)
    for number, passed in _results(graded).items():
        yield [
            submission.student,
            submission.exercise.slug,
            submission.file,
            graded.status,
            str(number),
            submission.exercise.stage_of(number),
            "" if passed is None else "yes" if passed else "no",
            sentences.get(number, ""),
            graded.reason,
        ]


def _cell(graded: GradedSubmission) -> str:
    """The status, and of a failed submission how many of its behaviors hold."""
    if graded.status != "failed":
        return graded.status
    results = _results(graded).values()
    return f"failed, {sum(map(bool, results))} of {len(results)}"


def _csv(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_plain_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain_cell(text: str) -> str:
    """A cell that a spreadsheet shows as it is: a leading ``=`` or the like would make it a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "'")) else text
