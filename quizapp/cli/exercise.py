"""Commands on exercises: list, open, grade, and how a verdict is written."""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from quizapp.bank.loader import find_exercise
from quizapp.bank.model import Bank, Exercise
from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, FAULTS, QuizError

if TYPE_CHECKING:
    from quizapp.judge.verdict import Verdict


def exercise(options: Namespace) -> int:
    """List the exercises with their state, open one, or scaffold a new one."""
    if options.slug == "new":
        return _new(options.name)
    if options.name:
        raise QuizError(f"'{options.name}' is one argument too many; open one exercise at a time")
    bank = load_user_bank()
    is_practice = options.stages or options.faults is not None
    if options.slug is None:
        if is_practice:
            raise QuizError("name the exercise to practice, such as 'quizapp exercise lora --stages'")
        return _list(bank, as_json=options.json)
    chosen = find_exercise(bank, options.slug)
    if is_practice:
        from quizapp.cli import practice

        return practice.exercise(bank, chosen, options)
    if options.restart or options.seed is not None:
        raise QuizError("--restart and --seed are for runs with --stages or --faults; add one of them")
    if sys.stdout.isatty() and sys.stdin.isatty():
        from quizapp.tui.app import run

        return run("exercise", slug=chosen.slug)
    from quizapp.judge.submission import user_file

    path = user_file(chosen)
    sys.stdout.write(f"{chosen.prompt.strip()}\n\nYour file: {path}\nGrade it: quizapp grade {chosen.slug}\n")
    return DONE


def _new(slug: str | None) -> int:
    from quizapp.judge.authoring.scaffold import scaffold

    if not slug:
        raise QuizError("name the exercise to scaffold, such as 'quizapp exercise new my-exercise'")
    if slug in load_user_bank().exercises:
        raise QuizError(f"there is an exercise '{slug}' already; choose another name")
    sys.stdout.write(f"created {scaffold(Path('exercises') / slug)}\n")
    return DONE


def _list(bank: Bank, *, as_json: bool) -> int:
    from quizapp.scheduling.service import Study

    with Study.open(bank) as study:
        states = study.exercise_states()
        rows: list[dict[str, str | int]] = [
            {
                "slug": item.slug,
                "title": item.title,
                "level": item.level,
                "topic": item.topic,
                "minutes": item.minutes,
                "state": states[item.slug].state,
            }
            for item in bank.exercises.values()
        ]
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=1) + "\n")
        return DONE
    width = max(map(len, bank.exercises), default=0)
    for row in rows:
        facts = f"{row['level']:6}  {row['minutes']:3} min  {row['state']:8}"
        open_stage = states[str(row["slug"])].open_stage
        left = f"  ({open_stage} open)" if open_stage else ""
        sys.stdout.write(f"{row['slug']:{width}}  {facts}  {row['title']}{left}\n")
    return DONE


def grade(options: Namespace) -> int:
    """Grade a file (the user's own by default), a folder of files, or every save of a file."""
    bank = load_user_bank()
    chosen = find_exercise(bank, options.slug)
    if options.stages or options.faults:
        from quizapp.cli import practice

        return practice.grade(bank, chosen, options)
    if options.file is not None and options.file.is_dir():
        return _grade_folder(chosen, options)
    from quizapp.judge.submission import user_file, user_path

    if options.file is None and not options.watch and not os.path.lexists(user_path(chosen)):
        # A grade of the untouched starter would count as a failed submission of code that nobody wrote.
        raise QuizError(f"no {chosen.module} yet; 'quizapp exercise {chosen.slug}' makes one")
    path = options.file if options.file is not None else user_file(chosen)
    if options.watch:
        return _watch(bank, chosen, path, options)
    from quizapp.judge import grade as judge
    from quizapp.scheduling.exercises import open_stage_sentence

    verdict = judge(
        chosen, path, device=options.device, timeout=options.timeout, seed=options.seed, tier=options.tier
    )
    open_stage = _remember(bank, chosen, verdict, path, asked=True) if options.file is None else ""
    write_verdict(verdict, chosen, options)
    if open_stage and not options.json:
        sys.stdout.write(f"{open_stage_sentence(open_stage)}\n")
    return DONE if verdict.passed else FAULTS


def _remember(bank: Bank, chosen: Exercise, verdict: "Verdict", path: Path, *, asked: bool) -> str:
    """Log the verdict on the user's own file, which also schedules the exercise.

    Returns the name of the stage that this verdict leaves open although it passes the exercise, or "".
    """
    from quizapp.scheduling.exercises import progress_of
    from quizapp.scheduling.service import Study

    source = path.read_text(encoding="utf-8-sig", errors="replace")
    with Study.open(bank) as study:
        study.record_verdict(chosen.slug, verdict.as_json(), source_text=source, asked=asked)
        progress = progress_of(verdict.as_json(), chosen)
        if progress.complete or not progress.passed:
            return ""
        return study.exercise_state(chosen.slug).open_stage


def _grade_folder(chosen: Exercise, options: Namespace) -> int:
    from quizapp.cli.progress import Progress
    from quizapp.judge.client.batch import grade_folder, submissions_in
    from quizapp.util.sanitize import escape_unprintable

    verdicts = []
    files = submissions_in(options.file)
    if not files:
        raise QuizError(f"{options.file} holds no .py file; name a folder of submissions")
    with Progress(f"grading {chosen.slug}", len(files)) as progress:
        for verdict in grade_folder(
            chosen,
            files,
            jobs=options.jobs,
            device=options.device,
            timeout=options.timeout,
            seed=options.seed,
            tier=options.tier,
        ):
            verdicts.append(verdict)
            # A name may contain a line break, and every file gets exactly one line.
            line = f"{verdict.status:8} {escape_unprintable(verdict.file)}".replace("\n", "\\n")
            progress.write(json.dumps(verdict.as_json()) if options.json else line)
            progress.tick()
    if options.junit is not None:
        from quizapp.judge.render.junit import write_junit

        write_junit(options.junit, verdicts)
    return DONE if all(verdict.passed for verdict in verdicts) else FAULTS


def _outcome(verdict: "Verdict") -> str:
    if not verdict.tests:
        return verdict.status
    return f"{verdict.status}, {verdict.held} of {len(verdict.tests)} tests hold"


def _time_of_change(path: Path) -> str:
    """When the file was last saved, as part of a sentence; empty while it is missing."""
    from datetime import datetime

    try:
        saved = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    except OSError:
        return ""
    return f"; saved at {saved:%H:%M:%S}"


def _watch(bank: Bank, chosen: Exercise, path: Path, options: Namespace) -> int:
    from quizapp.judge.client.watch import watch

    code = FAULTS
    sys.stderr.write(f"watching {path}: every save is graded; ctrl+c stops\n")
    try:
        for verdict in watch(
            chosen, path, device=options.device, timeout=options.timeout, seed=options.seed, tier=options.tier
        ):
            if isinstance(verdict, QuizError):
                code = verdict.exit_code
                sys.stderr.write(f"{verdict}\nwaiting for the next save of {path.name}, ctrl+c stops\n")
                continue
            if options.file is None:
                _remember(bank, chosen, verdict, path, asked=False)
            if not options.json:
                clear_screen()
            write_verdict(verdict, chosen, options)
            code = DONE if verdict.passed else FAULTS
            # The verdict's first line may have scrolled away.
            saved = _time_of_change(path)
            sys.stderr.write(f"{_outcome(verdict)}{saved}\n")
            sys.stderr.write(f"waiting for the next save of {path.name}, ctrl+c stops\n")
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    return code


def write_verdict(
    verdict: "Verdict", chosen: Exercise, options: Namespace, *, run: Mapping[str, object] | None = None
) -> None:
    """Write one verdict. ``run`` is what it means for a run in stages or with faults, a key of the JSON."""
    from quizapp.judge.render.text import WIDTH, verdict_text

    if options.junit is not None:
        from quizapp.judge.render.junit import write_junit

        write_junit(options.junit, [verdict])
    if options.json:
        document = verdict.as_json() if run is None else {**verdict.as_json(), "run": run}
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        columns = get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH
        width = max(40, min(WIDTH, columns))
        text = verdict_text(verdict, chosen, width, color=has_color(), every_message=options.all)
        sys.stdout.write(text + "\n")
    sys.stdout.flush()


def has_color() -> bool:
    """Whether standard output is a terminal that shows colors, and the user has not asked for none."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def clear_screen() -> None:
    """Begin at the top of an empty terminal; a pipe or a file gets nothing."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        sys.stdout.write("\x1b[H\x1b[2J\x1b[3J")
        sys.stdout.flush()
