"""Commands for rehearsal: mock interviews and their reports, and incidents."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, QuizError, UnknownName

if TYPE_CHECKING:
    from pathlib import Path

    from quizapp.interview.rounds.loop import Loop
    from quizapp.scheduling.service import Study


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


def _start(name: str | None, *, live: bool) -> int:
    if name:
        from quizapp.incidents.loader import find_incident, load_library

        one = find_incident(load_library(), name)  # a wrong name is reported before the screen opens
        if live and one.live is None:
            raise QuizError(f"the incident '{one.name}' has no live form; sit it without --live")
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
