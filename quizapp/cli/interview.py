"""Commands for rehearsal: mock interviews and their reports, and incidents."""

import json
import secrets
import shlex
import sys
import threading
from argparse import Namespace
from typing import TYPE_CHECKING

from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, FAULTS, QuizError, UnknownName

if TYPE_CHECKING:
    from pathlib import Path

    from quizapp.incidents.live.live_work import LiveTask
    from quizapp.incidents.model import Incident, IncidentLibrary
    from quizapp.interview.rounds.loop import Loop
    from quizapp.scheduling.service import Study

_SITTINGS = 1_000_000


def mock(options: Namespace) -> int:
    """Take a timed mock interview; list, report on, explain or review past ones."""
    if options.explain:
        return _explain(options.explain)
    if options.action == "list":
        return _list()
    if options.action and not options.id:
        raise QuizError(
            f"name the interview: 'quizapp mock {options.action} ID'; 'quizapp mock list' shows them"
        )
    if options.action == "report":
        return _report(options)
    if options.action == "sheet":
        return _write_sheet(options.id)
    if options.action == "review":
        return _review(options.id, options.sheet)
    wanted = _wanted_round(options)
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise QuizError(
            "a mock interview needs a terminal; 'quizapp mock list' and 'report' work without one"
        )
    from quizapp.tui.app import run

    return run(
        "mock",
        role=options.role,
        round_name=wanted,
        minutes=options.minutes,
        code=not options.no_code,
        spoken=options.spoken,
        seed=options.seed,
    )


def _wanted_round(options: Namespace) -> str:
    """The round to sit, or a loop. Raises ``QuizError`` for an option that it does not have."""
    from quizapp.interview import RoundName
    from quizapp.interview.rounds.loop import LOOP, check_loop_options
    from quizapp.interview.rounds.round_table import find_round

    if options.round == LOOP:
        check_loop_options(options.minutes, code=not options.no_code)
        return LOOP
    kind = find_round(options.round or RoundName.MIXED)
    if options.minutes is not None:
        kind.check_minutes(options.minutes)
    kind.check_spoken(spoken=options.spoken)
    kind.check_judge()
    return kind.name


def incident(options: Namespace) -> int:
    """Diagnose a broken run against the clock; outside a terminal, print the list or one run."""
    if _script_step(options):
        return _step_of_script(options)
    if options.live and not options.id:
        raise QuizError("name the run to repair: 'quizapp incident ID --live'; 'quizapp incident' lists them")
    if sys.stdout.isatty() and sys.stdin.isatty():
        return _start(options.id, live=options.live)
    from quizapp.cli.render import incident_list, incident_sheet, live_sheet
    from quizapp.incidents.loader import find_incident, load_library
    from quizapp.interview.blueprint import load_blueprint
    from quizapp.interview.paper.incident_pool import list_incidents

    library = load_library()
    wanted = find_incident(library, options.id) if options.id else None
    with _study() as study:
        incidents = list_incidents(study, library)
    if wanted is None:
        sys.stdout.write("\n".join(incident_list(incidents)) + "\n")
        return DONE
    case = next((case for case in incidents if case.incident is wanted), None)
    if case is None:
        raise QuizError(
            f"the bank lacks the exercise or topic of '{options.id}'; 'quizapp check' names the fault"
        )
    if options.live:
        from quizapp.incidents.live.live_work import LIVE_S
        from quizapp.incidents.live.make_task import make_task
        from quizapp.incidents.live.script_file import ScriptFile

        task, script = make_task(case.incident, library), ScriptFile(case.incident.name)
        if script.read() is None:  # one that is there may be that of a sitting
            script.write(task.broken)
        lines = [*incident_sheet(case, library, LIVE_S), *live_sheet(task, script.path)]
    else:
        lines = [*incident_sheet(case, library, load_blueprint().incident_seconds)]
    sys.stdout.write("\n".join(lines) + "\n")
    return DONE


def _script_step(options: Namespace) -> str:
    """The step with a script in the learner's own editor that is asked for; "" if none is."""
    steps = {"--write": options.write, "--run": options.script, "--hand-in": options.hand_in}
    asked = [name for name, file in steps.items() if file is not None]
    if len(asked) > 1:
        raise QuizError(f"{' and '.join(asked)} are different steps; ask for one at a time")
    step = asked[0] if asked else ""
    if step and not (options.live and options.id):
        raise QuizError(f"{step} belongs to a live incident: 'quizapp incident ID --live {step}'")
    if step != "--run" and (options.steps is not None or options.seed is not None):
        raise QuizError("--steps and --seed belong to --run")
    if step not in ("--run", "--hand-in") and options.json:
        raise QuizError("--json belongs to --run and --hand-in")
    return step


def _step_of_script(options: Namespace) -> int:
    """Write, run or hand in a script as practice, of which nothing is stored."""
    from quizapp import paths
    from quizapp.incidents.live.make_task import make_task
    from quizapp.incidents.loader import load_library
    from quizapp.judge.submission import read_source
    from quizapp.util.installation import require_torch

    library = load_library()
    one = _find_live(options.id, library)
    task = make_task(one, library)
    steps = (options.write, options.script, options.hand_in)
    path = next(file for file in steps if file is not None)
    if not path.name:
        path = paths.workspace() / "live" / f"{one.name}.py"
    if options.write is not None:
        return _write_script(task, path)
    require_torch("A live incident")
    source = read_source(path).decode("utf-8-sig")
    if options.script is not None:
        return _run_script(task, source, options)
    if not source.strip():
        raise QuizError(f"{path} is empty; --write FILE writes the broken script to another file")
    return _hand_in_script(task, source, healthy=one.false_alarm, as_json=options.json)


def _write_script(task: "LiveTask", path: "Path") -> int:
    from quizapp.util.atomic import create_atomic

    try:
        written = create_atomic(path, task.broken, mode=0o644)
    except OSError as error:
        raise QuizError(f"{path} cannot be written: {error.strerror}; name another file") from None
    if not written:
        raise QuizError(f"{path} is there, and nothing overwrites it; remove it, or name another file")
    file = shlex.quote(str(path))
    sys.stdout.write(
        f"The broken script: {path}\n"
        f"Run it: quizapp incident {task.name} --live --run {file}\n"
        f"Measure it once it is repaired: quizapp incident {task.name} --live --hand-in {file}\n"
    )
    return DONE


def _run_script(task: "LiveTask", source: str, options: Namespace) -> int:
    """Run the script in the judge; its log goes to stdout as it is printed."""
    from quizapp.incidents.live.live_work import RunCommand
    from quizapp.incidents.live.make_task import script_order
    from quizapp.judge.client.script_client import ScriptClient

    steps = task.steps if options.steps is None else options.steps
    if not 1 <= steps <= task.most_steps:
        raise QuizError(f"--steps takes 1 to {task.most_steps} here, not {steps}")
    command = RunCommand(steps, task.seed if options.seed is None else options.seed)

    reader_left = threading.Event()

    def write_line(line: str) -> None:
        try:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        except BrokenPipeError:  # the client would take it for an error of its own connection
            reader_left.set()

    with ScriptClient() as client:
        order = script_order(task, source, command, measured=False)
        run = client.run(order, None if options.json else write_line, reader_left)
    if reader_left.is_set():
        raise BrokenPipeError
    if options.json:
        sys.stdout.write(json.dumps(run.as_message(), indent=2) + "\n")
    else:
        said = f": {run.text}" if run.text else ""
        sys.stderr.write(f"{command.text} {run.outcome} after {run.seconds:.1f} s{said}\n")
    return DONE if run.ended else FAULTS


def _hand_in_script(task: "LiveTask", source: str, *, healthy: bool, as_json: bool) -> int:
    """Measure a script on three seeds, with its guard. ``healthy`` says that it is a false alarm."""
    import msgspec

    from quizapp.cli.progress import Progress
    from quizapp.cli.render import hand_in_lines
    from quizapp.incidents.live.live_judging import measure_with_client
    from quizapp.incidents.live.live_work import LiveWork

    work = LiveWork(committed_ms=0)
    work.edit(task, source)
    with Progress("measuring", unit="runs") as progress:
        result = measure_with_client(
            task,
            work,
            number=secrets.randbelow(_SITTINGS),
            healthy=healthy,
            on_run=lambda _done, _count: progress.tick(),
        )
    if as_json:
        document = {"incident": task.name, "repaired": result.repaired, "band": task.band}
        sys.stdout.write(json.dumps(document | msgspec.to_builtins(result), indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(hand_in_lines(task, result)) + "\n")
    return DONE if result.repaired else FAULTS


def _find_live(name: str, library: "IncidentLibrary") -> "Incident":
    from quizapp.incidents.loader import find_incident

    one = find_incident(library, name)
    if one.live is None:
        raise QuizError(f"the incident '{one.name}' has no live form; sit it without --live")
    return one


def _start(name: str | None, *, live: bool) -> int:
    if name:
        from quizapp.incidents.loader import find_incident, load_library

        # A wrong name is reported before the screen opens.
        library = load_library()
        _ = _find_live(name, library) if live else find_incident(library, name)
    from quizapp.tui.app import run

    return run("incident", wanted=name, live=live)


def _study() -> "Study":
    from quizapp.scheduling.service import Study

    return Study.open(load_user_bank())


def _list() -> int:
    from quizapp.interview.archive import interviews
    from quizapp.interview.report.model import load_report
    from quizapp.interview.report.text import name_question_topics
    from quizapp.interview.rounds.loop import all_loops
    from quizapp.interview.trends import HEAD, as_text, list_line, running_line

    with _study() as study:
        mocks, loops = interviews(study), all_loops(study)
        now, topics = study.clock.now(), study.bank.topics
    if not mocks:
        sys.stdout.write("no mock interview yet; 'quizapp mock' starts one\n")
        return DONE
    reports = {mock.id: load_report(mock.document) for mock in mocks if mock.state == "done"}
    lines = [HEAD]
    for mock in mocks:
        report = reports.get(mock.id)
        lines.append(running_line(mock.document) if report is None else list_line(report))
    counted = (report for report in reports.values() if report.counts)
    lines += as_text([name_question_topics(report, topics) for report in counted], now)
    for loop in loops:
        sat = f"{len(loop.reports)} of {len(loop.rounds)} rounds sat"
        lines.append(f"loop {loop.id}: {loop.role}, {sat}: quizapp mock report {loop.id}")
    sys.stdout.write("\n".join(lines) + "\n")
    return DONE


def _explain(name: str) -> int:
    from quizapp.interview.archive import find_report
    from quizapp.interview.report.explain import explain
    from quizapp.interview.report.text import name_topics

    with _study() as study:
        sys.stdout.write(explain(name_topics(find_report(study, name), study.bank.topics)))
    return DONE


def _report(options: Namespace) -> int:
    from quizapp.interview.archive import find_report
    from quizapp.interview.report.build import redacted
    from quizapp.interview.report.files import rendered

    with _study() as study:
        topics = study.bank.topics
        try:
            report = find_report(study, options.id)
        except UnknownName:
            if (loop := _loop_named(study, options.id)) is None:
                raise
            from quizapp.interview.report.loop_report import loop_report, rendered_loop

            one = loop_report(loop.id, loop.rounds, loop.reports)
            sys.stdout.write(rendered_loop(one, options.format, topics))
            return DONE
    shown = redacted(report) if options.redact else report
    sys.stdout.write(rendered(shown, options.format, topics))
    return DONE


def _loop_named(study: "Study", name: str) -> "Loop | None":
    """The loop with this id; None if there is none, so that the error is about interviews."""
    from quizapp.interview.rounds.loop import find_loop

    try:
        return find_loop(study, name)
    except UnknownName:
        return None


def _write_sheet(name: str) -> int:
    """Print the sheet on which a friend marks the answers elsewhere."""
    from quizapp.interview.archive import find_report
    from quizapp.interview.peer.peer_review import answers_to_mark
    from quizapp.interview.peer.peer_sheet import sheet_text

    with _study() as study:
        report = find_report(study, name)
    if not answers_to_mark(report):
        raise QuizError(f"the mock interview {name} has no written answer to mark")
    sys.stdout.write(sheet_text(report))
    return DONE


def _review(name: str, sheet: "Path | None") -> int:
    """Let a friend mark the answers in the terminal, or read their sheet.

    The learner's own marks stay hidden until the end.
    """
    from shutil import get_terminal_size

    from quizapp.interview.archive import find_report, save_report
    from quizapp.interview.peer.peer_review import answers_to_mark, ask_reviewer, columns_text
    from quizapp.interview.peer.peer_sheet import read_sheet

    with _study() as study:
        report = find_report(study, name)
        if not answers_to_mark(report):
            raise QuizError(f"the mock interview {name} has no written answer to mark")
        try:
            if sheet is not None:
                review = read_sheet(report, sheet)
            else:
                review = ask_reviewer(report, _ask, _say, min(100, get_terminal_size().columns))
        except (EOFError, KeyboardInterrupt):
            sys.stderr.write("\nquizapp: stopped halfway; nothing was stored\n")
            return DONE
        report.reviews = [*report.reviews, review]
        save_report(study, report)
    sys.stdout.write("\n" + "\n".join(columns_text(report, review)) + "\n")
    sys.stdout.write(f"Stored beside the learner's marks: quizapp mock report {report.id}\n")
    return DONE


def _ask(prompt: str) -> str:
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
