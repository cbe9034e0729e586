"""Commands on one exercise in interview mode (``--stages``) and on code with faults (``--faults``)."""

import random
import sys
import textwrap
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from quizapp.bank.model import Bank, Exercise
from quizapp.cli.exercise import write_verdict
from quizapp.errors import DONE, FAULTS, QuizError
from quizapp.judge.render.text import WIDTH
from quizapp.judge.submission import read_source
from quizapp.practice.practice_folder import PracticeMode
from quizapp.util.text import clock, plural

if TYPE_CHECKING:
    from pathlib import Path

    from quizapp.judge.verdict import Verdict
    from quizapp.practice.debug_files import DebugFiles
    from quizapp.scheduling.views import RecordedReview


def exercise(bank: Bank, chosen: Exercise, options: Namespace) -> int:
    """Begin or go on with a run: open its screen, or print what the learner may see and the file."""
    if options.stages and options.faults is not None:
        raise QuizError("--stages and --faults are two ways to practice; choose one")
    if options.stages and options.seed is not None:
        raise QuizError("--seed chooses faults, and --stages has nothing to choose; leave it out")
    text = _begin_stages(bank, chosen, options) if options.stages else _begin_faults(bank, chosen, options)
    if sys.stdout.isatty() and sys.stdin.isatty():
        from quizapp.tui.app import run

        mode = PracticeMode.STAGES if options.stages else PracticeMode.FAULTS
        return run("exercise", slug=chosen.slug, mode=mode)
    sys.stdout.write(text)
    return DONE


def grade(bank: Bank, chosen: Exercise, options: Namespace) -> int:
    """Grade the file of the run in progress, and say what the grade means for the run."""
    flag = "--stages" if options.stages else "--faults"
    if options.stages and options.faults:
        raise QuizError("--stages and --faults grade two different files; choose one")
    if options.file is not None:
        raise QuizError(f"{flag} grades the file of your run; leave out {options.file} or {flag}")
    if options.watch:
        raise QuizError(f"{flag} and --watch do not go together; grade when you are ready")
    return (_grade_stages if options.stages else _grade_faults)(bank, chosen, options)


def _now(bank: Bank) -> int:
    from quizapp.scheduling.service import Study

    with Study.open(bank) as study:
        return study.now().time


def _judge(
    chosen: Exercise, path: "Path", source: bytes, options: Namespace, stages: int | None = None
) -> "Verdict":
    # The bytes and not the path, so that exactly what is logged is graded.
    from quizapp.judge import grade as judge

    verdict = judge(
        chosen,
        source,
        device=options.device,
        timeout=options.timeout,
        seed=options.seed,
        tier=options.tier,
        stages=stages,
    )
    return replace(verdict, file=str(path))


def _write_review(review: "RecordedReview | None") -> None:
    if review is not None:
        rated = f"rated {review.rating.label}, comes back in {review.text}"
        sys.stdout.write(f"The exercise is passed: {rated}.\n")


# stages


def _begin_stages(bank: Bank, chosen: Exercise, options: Namespace) -> str:
    from quizapp.practice.stage_files import StageFiles

    files = StageFiles.open(chosen, _now(bank), restart=options.restart)
    return f"{files.task}\n\nYour file: {files.path}\nGrade it: quizapp grade {chosen.slug} --stages\n"


def _grade_stages(bank: Bank, chosen: Exercise, options: Namespace) -> int:
    from quizapp.practice.log_grade import log_stage_grade
    from quizapp.practice.stage_files import StageFiles
    from quizapp.practice.stage_task import stage_heading
    from quizapp.practice.staged_run import outcome_sentence
    from quizapp.scheduling.service import Study

    files = StageFiles.in_progress(chosen)
    source = read_source(files.path)
    verdict = _judge(chosen, files.path, source, options, files.run.shown)
    with Study.open(bank) as study:
        outcome, review = log_stage_grade(study, files, verdict, source.decode("utf-8-sig"))
        seconds = files.seconds(study.now().time)
    revealed = outcome.revealed
    facts = {
        "shown": [stage.name for stage in files.run.shown_stages],
        "broken_again": list(outcome.broken_again),
        "revealed": {"name": revealed.name, "minutes": revealed.minutes, "brief": revealed.brief}
        if revealed
        else None,
        "finished": outcome.finished,
        "seconds": seconds,
    }
    write_verdict(verdict, chosen, options, run=facts)
    if not options.json:
        elapsed = f"{clock(seconds)} of {files.run.minutes} minutes"
        sys.stdout.write(f"\n{outcome_sentence(outcome)} ({elapsed})\n")
        _write_review(review)
        if revealed:
            brief = textwrap.fill(revealed.brief, WIDTH)
            sys.stdout.write(f"\n{stage_heading(revealed, files.run.shown)}\n{brief}\n")
    return DONE if verdict.passed else FAULTS


# faults


def _begin_faults(bank: Bank, chosen: Exercise, options: Namespace) -> str:
    from quizapp.judge import grade as judge
    from quizapp.practice.debug_files import DebugFiles

    files = None
    if not options.restart:
        files = DebugFiles.continued(chosen, options.faults, options.seed)
    if files is None:
        if sys.stderr.isatty():
            sys.stderr.write("planting the faults and grading them once ...\n")
        seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
        files = DebugFiles.begin(
            chosen, _now(bank), options.faults, seed, lambda source: judge(chosen, source)
        )
    return _debug_text(files)


def _behaviour_text(chosen: Exercise, number: int) -> str:
    text = f"  ✗ {number}  {chosen.behaviours.get(number, 'The code uses only what the task allows.')}"
    return textwrap.fill(text, WIDTH, subsequent_indent="     ", break_on_hyphens=False)


def _debug_text(files: "DebugFiles") -> str:
    program, slug = files.program, files.exercise.slug
    lines = [
        f"{files.exercise.title}: code with {plural(len(program.faults), 'fault')} (--seed {files.seed})",
        *([program.shortfall] if program.shortfall else []),
        "",
        "A first grade finds these behaviors broken:",
        *(_behaviour_text(files.exercise, number) for number in files.failing),
        "",
        f"Your file: {files.path}",
        f"Grade it: quizapp grade {slug} --faults",
    ]
    return "\n".join(lines) + "\n"


def _grade_faults(bank: Bank, chosen: Exercise, options: Namespace) -> int:
    from quizapp.practice.debug_files import DebugFiles, behaviours_only
    from quizapp.practice.faults import debug_sentence
    from quizapp.practice.log_grade import log_debug_grade
    from quizapp.scheduling.service import Study

    files = DebugFiles.in_progress(chosen)
    source = read_source(files.path)
    verdict = _judge(chosen, files.path, source, options)
    with Study.open(bank) as study:
        outcome, review = log_debug_grade(study, files, verdict, source.decode("utf-8-sig"))
        seconds = files.seconds(study.now().time)
    facts = {
        "found": list(outcome.found),
        "open": list(outcome.open),
        "finished": outcome.passed,
        "seconds": seconds,
    }
    write_verdict(behaviours_only(verdict), chosen, options, run=facts)
    if not options.json:
        sys.stdout.write(f"\n{debug_sentence(outcome)} ({clock(seconds)})\n")
        _write_review(review)
        if outcome.passed:
            for fault in files.program.faults:
                sys.stdout.write(f"  {fault.behaviour}  {fault.why or fault.mutant.replace('_', ' ')}\n")
    return DONE if verdict.passed else FAULTS
