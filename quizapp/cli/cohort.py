"""The command that grades a whole class."""

import json
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp.bank.loader import find_exercise, load_bank
from quizapp.cli.progress import Progress
from quizapp.errors import DONE, FAULTS, INTERRUPTED, QuizError
from quizapp.util.installation import require, require_torch
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.judge.cohort.cluster import GradingCluster
    from quizapp.judge.cohort.grading_run import ClassRun, GradedSubmission, GradingOptions


def cohort(options: Namespace) -> int:
    """Grade every submission below a folder on a Dask cluster, and write the gradebook."""
    require("Grading a class", "distributed", "cohort")
    from quizapp.judge.cohort.class_folder import read_class
    from quizapp.judge.cohort.gradebook import Gradebook
    from quizapp.judge.cohort.grading_run import ClassRun, GradingOptions
    from quizapp.judge.cohort.similar_code import find_similar
    from quizapp.judge.cohort.verdict_log import VerdictLog

    bank = load_bank()  # not the user's own decks: the workers have only what is shipped
    wanted = frozenset(find_exercise(bank, slug).slug for slug in options.exercise)
    handed_in = read_class(options.folder, bank.exercises, wanted)
    if not handed_in.submissions:
        raise QuizError(
            f"{options.folder} holds no submission; put files such as student/lora.py into it, "
            "named after exercises"
        )
    out = _output_folder(options.folder, options.out)
    grading = GradingOptions(options.device, options.timeout, options.tier)
    with VerdictLog(out) as log:
        run = ClassRun(handed_in, grading, log)
        interrupted = False
        try:
            _grade(run, grading, options)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Also after a failure: what is known so far is worth having, and marked as incomplete.
            book = Gradebook(
                handed_in.students, run.graded, handed_in.left_out, run.exercise_versions, grading
            )
            book.write(out)
        if not interrupted:
            with Progress("comparing code"):
                find_similar(handed_in.submissions).write(out)
    count = plural(len(handed_in.submissions) - run.waiting, "submission")
    if interrupted:
        sys.stderr.write(
            f"quizapp: stopped; {count} of {len(handed_in.submissions)} done, kept in {out}, "
            "and the same command goes on\n"
        )
        return INTERRUPTED
    sys.stderr.write(f"gradebook of {count} by {plural(len(handed_in.students), 'student')}: {out}\n")
    if run.waiting:
        sys.stderr.write(f"{run.waiting} without a verdict; the same command tries again\n")
    return DONE if book.all_passed else FAULTS


def _output_folder(folder: Path, named: Path | None) -> Path:
    """Where to write: the folder that was named, or one beside the class's."""
    place = folder.resolve()
    out = place.parent / f"{place.name}-cohort" if named is None else named.resolve()
    if out == place or place in out.parents:
        raise QuizError(f"{out} is inside the class's folder; name one outside of it with --out")
    return out


def _grade(run: "ClassRun", grading: "GradingOptions", options: Namespace) -> None:
    from quizapp.judge.cohort.cluster import ClusterOptions, GradingCluster
    from quizapp.judge.protocol.orders import check_options

    resource = options.resource or ("GPU" if grading.device.startswith("cuda") else "")
    waiting = run.waiting
    with Progress("grading", waiting, estimate=True) as progress:
        for entry in run.handed_in.left_out:
            _write(progress, options, f"{'left out':8} {entry.file}: {entry.reason}", vars(entry))
        for graded in run.graded:
            if graded.settled:
                _write_graded(progress, options, graded)
        if not waiting:
            return
        check_options(device=grading.device, timeout=grading.timeout, tier=grading.tier)
        if not options.scheduler:  # a lab's workers have what this machine may lack
            require_torch()
            require("A cluster on this machine", "cryptography", "cohort")
        workers = options.workers or min(waiting, os.cpu_count() or 1)
        with GradingCluster(ClusterOptions(workers, options.scheduler or "", resource)) as cluster:
            _warn_of_low_isolation(cluster, grading)
            for graded in run.grade(cluster):
                _write_graded(progress, options, graded)
                progress.tick()


def _warn_of_low_isolation(cluster: "GradingCluster", grading: "GradingOptions") -> None:
    """Say it before the first submission runs, while ctrl+c still helps."""
    if grading.device == "cpu" and grading.tier != "T0" and "T0" not in cluster.tiers():
        return
    from quizapp.judge.verdict import isolation

    sys.stderr.write(f"quizapp: warning: {isolation('T0')}; grade only code that you trust there\n")


def _write_graded(progress: Progress, options: Namespace, graded: "GradedSubmission") -> None:
    from quizapp.judge.cohort.gradebook import submission_json

    line = f"{graded.status:8} {graded.submission.file}"
    if graded.reason:
        line += f": {graded.reason}"
    document = {"student": graded.submission.student, **submission_json(graded)}
    _write(progress, options, line, document)


def _write(progress: Progress, options: Namespace, line: str, document: dict[str, object]) -> None:
    progress.write(json.dumps(document) if options.json else line)
