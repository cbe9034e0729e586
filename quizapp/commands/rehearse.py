"""Commands that rehearse the day: mock interviews and their reports."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from quizapp.commands.bank import bank_of_user
from quizapp.errors import DONE, QuizError

if TYPE_CHECKING:
    from quizapp.memory.study import Study


def mock(options: Namespace) -> int:
    """Sit a timed mock interview; list, report on, explain or review past ones."""
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
    if options.action == "review":
        return _review(options.id)
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise QuizError(
            "a mock interview needs a terminal; 'quizapp mock list' and 'report' work without one"
        )
    from quizapp.tui.app import run

    return run(
        "mock", role=options.role, minutes=options.minutes, code=not options.no_code, seed=options.seed
    )


def _study() -> "Study":
    from quizapp.memory.study import Study

    return Study.open(bank_of_user())


def _list() -> int:
    from quizapp.interview.trend import HEAD, as_text, list_line

    with _study() as study:
        found = [known for known in study.mocks() if known.state != "undone"]
        now = study.clock.now()
    if not found:
        sys.stdout.write("no mock interview yet; 'quizapp mock' sits one\n")
        return DONE
    lines = [HEAD, *(list_line(known.document, known.state) for known in found)]
    lines += as_text([known.document for known in found if known.state == "done"], now)
    sys.stdout.write("\n".join(lines) + "\n")
    return DONE


def _explain(name: str) -> int:
    from quizapp.interview.explain import explain
    from quizapp.interview.past import report

    with _study() as study:
        sys.stdout.write(explain(report(study, name)))
    return DONE


def _report(options: Namespace) -> int:
    from quizapp.interview.document import redacted
    from quizapp.interview.files import rendered
    from quizapp.interview.past import report

    with _study() as study:
        document = report(study, options.id)
    sys.stdout.write(rendered(redacted(document) if options.redact else document, options.format))
    return DONE


def _review(name: str) -> int:
    """A friend marks in the terminal; nothing of the learner's own marks is shown before the end."""
    from shutil import get_terminal_size

    from quizapp.interview.friend import columns_text, interview_friend, to_mark
    from quizapp.interview.past import report, save_report

    with _study() as study:
        document: dict[str, Any] = dict(report(study, name))
        if not to_mark(document):
            raise QuizError(f"the mock interview {name} holds no answer in words to mark")
        try:
            found = interview_friend(document, _ask, _say, min(100, get_terminal_size().columns))
        except (EOFError, KeyboardInterrupt):
            sys.stderr.write("\nquizapp: stopped half way; nothing was stored\n")
            return DONE
        document["reviews"] = [*document["reviews"], found]
        save_report(study, document)
    sys.stdout.write("\n" + "\n".join(columns_text(document, found)) + "\n")
    sys.stdout.write(f"Stored beside the own marks: quizapp mock report {document['id']}\n")
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
