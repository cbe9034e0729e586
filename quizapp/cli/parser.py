"""The table of commands and their arguments. Importing it loads nothing of weight."""

import argparse
import importlib
import re
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from quizapp import __version__
from quizapp.errors import USAGE
from quizapp.util.suggest import did_you_mean

LEVELS = ("easy", "medium", "hard")
KINDS = ("recall", "numeric", "choice", "order", "cloze")
ROLES = ("applied-fine-tuning", "training-infrastructure", "research-engineer")
EXPORTS = ("markdown", "anki", "json", "csv")
EPILOG = """Exit codes: 0 done or passed, 1 not passed or faults found, 2 wrong usage,
3 the program failed."""
EXAMPLES = {
    "drill": ("drill --topic precision --limit 10", "ten due cards of one topic"),
    "due": ("due --json | jq '.[].id'", "the ids, for a script"),
    "answer": ("answer lr-warmup good", "rate a card that was answered elsewhere"),
    "plan": ("plan --date 2026-12-24 --minutes 45", "each day until the interview, and what it comes to"),
    "stats": ("stats --json | jq .retention", "one figure, for a script"),
    "exercise": ("exercise lora", "in a pipe: prints the task and the path of your file"),
    "grade": ("grade lora --watch", "in one window, with your editor in another"),
    "mock": ("mock --minutes 45 --role research-engineer", "45 minutes against the clock"),
    "incident": ("incident healthy-until-step-11 | less", "in a pipe: the run as text, without the clock"),
    "questions": ("questions --search 'topic:precision overflow'", "words and fields"),
    "show": ("show lr-warmup | less", "a question with its answer"),
    "export": ("export markdown bank", "the bank as a book: a folder with a file for each topic"),
    "import": ("import laptop.json", "again: known reviews are not doubled"),
    "sync": ("sync ~/Dropbox/quizapp", "on each device, in any order"),
    "check": ("check my-deck/", "every fault with file, line and what to do"),
    "deck": ("deck add ~/my-deck", "a folder of YAML files like the shipped ones"),
    "doctor": ("doctor", "what to look at first when something is wrong"),
    "restore": ("restore", "the list; with a name from it, that backup"),
    "completion": ('eval "$(quizapp completion bash)"', "in ~/.bashrc"),
}
START = """Examples:
  quizapp                     the home screen; ? shows its keys
  quizapp drill --limit 10    ten cards and a summary
  quizapp grade lora          the hidden tests on your lora.py
  quizapp COMMAND --help      what a command takes, with an example

Data lie in the platform's own folder, or where QUIZAPP_HOME points; `quizapp
doctor` names the places. NO_COLOR and QUIZAPP_ASCII=1 are respected.

"""


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = super().parse_known_args(args, namespace)
        if rest and " " in self.prog:  # of a command, whose own help says what it takes
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        message = _with_the_nearest(message)
        stop = "" if message.endswith("?") else ";"
        self.exit(USAGE, f"quizapp: {message}{stop} '{self.prog} --help' shows the usage\n")


def _with_the_nearest(message: str) -> str:
    """Of the words that would have been right, only those near to a slip."""
    found = re.fullmatch(r"(.*invalid choice: '(.*)') \(choose from (.*)\)", message)
    if found is None:
        return message
    hint = did_you_mean(found[2], re.findall(r"[\w-]+", found[3]))
    return f"{found[1]}; {hint}" if hint else message


def _late(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """A command that imports its module when it is run."""

    def run(options: argparse.Namespace) -> int:
        command: Callable[[argparse.Namespace], int] = getattr(
            importlib.import_module(f"quizapp.cli.{module}"), function
        )
        return command(options)

    return run


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; ``run`` is the command. Exits with 2 and one line where they are wrong."""
    return build_parser().parse_args(arguments)


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = _Parser(
        prog="quizapp",
        description="Prepare for an ML-training interview: drill, practise, rehearse. No command: home.",
        epilog=START + EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"quizapp {__version__}")
    parser.set_defaults(run=_late("study", "home"))
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=_Parser)
    for add in (_study, _practise, _rehearse, _bank, _system):
        add(commands)
    return parser


def _add(commands: Any, name: str, run: tuple[str, str], text: str) -> argparse.ArgumentParser:
    line, meaning = EXAMPLES.get(name, ("", ""))
    call = line if line.startswith("eval") else f"quizapp {line}"
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=(f"Example:\n  {call}\n  {meaning}\n\n" if line else "") + EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_late(*run))
    return parser


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", metavar="T", help="only this topic")
    parser.add_argument("--level", choices=LEVELS, help="only this level")
    parser.add_argument("--kind", choices=KINDS, help="only this kind of question")


def _study(commands: Any) -> None:
    drill = _add(commands, "drill", ("study", "drill"), "go straight into the due cards")
    _filters(drill)
    drill.add_argument("--limit", type=_count, metavar="N", help="stop after N cards")
    due = _add(commands, "due", ("study", "due"), "list what is due, then new cards within the day's limit")
    _filters(due)
    due.add_argument("--json", action="store_true", help="print JSON")
    answer = _add(commands, "answer", ("study", "answer"), "rate a card and print when it is due next")
    answer.add_argument("id", metavar="ID", help="a question's id")
    answer.add_argument("rating", choices=("again", "hard", "good", "easy"))
    stats = _add(commands, "stats", ("study", "stats"), "retention, forecast, calibration, per topic")
    stats.add_argument("--json", action="store_true", help="print JSON")
    plan = _add(commands, "plan", ("study", "plan"), "what to do each day until the interview")
    plan.add_argument("--date", type=_date, required=True, metavar="D", help="of the interview: 2026-12-24")
    plan.add_argument("--minutes", type=_minutes, metavar="M", help="a day; default: settings, or your pace")
    plan.add_argument("--role", choices=ROLES, help="whom the interview is for")
    plan.add_argument("--weeks", action="store_true", help="a line for each week")
    plan.add_argument("--json", action="store_true", help="print JSON")


def _practise(commands: Any) -> None:
    exercise = _add(commands, "exercise", ("exercise", "exercise"), "list the exercises, or open one")
    exercise.add_argument("slug", nargs="?", metavar="SLUG", help="the exercise to open, or 'new'")
    exercise.add_argument("name", nargs="?", metavar="NEW-SLUG", help="with 'new': the folder to scaffold")
    exercise.add_argument("--json", action="store_true", help="print the list as JSON")
    grade = _add(commands, "grade", ("exercise", "grade"), "grade a file against the hidden tests")
    grade.add_argument("slug", metavar="SLUG", help="the exercise")
    grade.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a file or folder; default: your own"
    )
    grade.add_argument("--device", default="auto", metavar="D", help="auto, cpu, cuda[:N] or mps")
    grade.add_argument("--timeout", type=_seconds, metavar="S", help="seconds that one run may take")
    grade.add_argument("--seed", type=int, metavar="N", help="repeat a verdict exactly")
    grade.add_argument("--tier", choices=("T0", "T1", "T2", "T3"), help="force a lower isolation tier")
    grade.add_argument("--jobs", type=_count, default=1, metavar="N", help="with a folder: workers at a time")
    grade.add_argument("--json", action="store_true", help="print the verdict as JSON")
    grade.add_argument("--junit", type=Path, metavar="PATH", help="write a JUnit report")
    grade.add_argument("--watch", action="store_true", help="grade again after every save")


def _rehearse(commands: Any) -> None:
    mock = _add(commands, "mock", ("interview", "mock"), "sit a timed mock interview, or report on one")
    mock.add_argument(
        "action", nargs="?", choices=("report", "review", "list"), help="default: sit an interview"
    )
    mock.add_argument("id", nargs="?", metavar="ID", help="the interview to report on or to review")
    mock.add_argument("--minutes", type=int, choices=(15, 30, 45, 60), help="length (default 30)")
    mock.add_argument("--role", choices=ROLES, help="whom the interview is for")
    mock.add_argument("--no-code", action="store_true", help="leave the coding phase out")
    mock.add_argument("--seed", type=int, metavar="S", help="the same seed and state draw the same paper")
    mock.add_argument("--format", choices=("md", "html", "json"), default="md", help="of the report")
    mock.add_argument("--redact", action="store_true", help="leave your answers out of the report")
    mock.add_argument("--explain", metavar="ID", help="print the arithmetic of a score")
    incident = _add(
        commands,
        "incident",
        ("interview", "incident"),
        "diagnose a broken run against the clock; in a pipe: list the runs, or print one",
    )
    incident.add_argument(
        "id", nargs="?", metavar="ID", help="which; its name or how it begins does; default: one for you"
    )


def _bank(commands: Any) -> None:
    questions = _add(commands, "questions", ("content", "questions"), "list the bank")
    _filters(questions)
    questions.add_argument("--search", metavar="TEXT", help="words and fields such as topic:precision")
    questions.add_argument("--json", action="store_true", help="print JSON")
    show = _add(commands, "show", ("content", "show"), "print a question with its answer")
    show.add_argument("id", metavar="ID")
    show.add_argument("--seed", type=int, default=0, metavar="N", help="draw other numbers")
    export = _add(commands, "export", ("content", "export"), "write the bank or the review log to files")
    export.add_argument(
        "format",
        choices=EXPORTS,
        help="markdown: the bank as a book; anki: text for Anki's File, Import; json, csv: the review log",
    )
    export.add_argument("path", type=Path, metavar="PATH")
    take_in = _add(commands, "import", ("content", "take_in"), "take over the reviews of another log")
    take_in.add_argument("path", type=Path, metavar="PATH", help="what 'quizapp export json' wrote elsewhere")
    sync = _add(commands, "sync", ("content", "sync"), "share reviews with your other devices in a folder")
    sync.add_argument("folder", type=Path, metavar="DIR", help="a folder that all of them see")
    check = _add(commands, "check", ("content", "check"), "validate content and exercises")
    check.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="files or folders; default: all content"
    )
    check.add_argument("--seeds", type=_count, default=3, metavar="N", help="seeds for each submission")
    check.add_argument(
        "--sample", type=float, metavar="SHARE", help="judge only this share of the submissions"
    )
    deck = _add(commands, "deck", ("content", "deck"), "add your own questions")
    deck.add_argument("action", choices=("add", "remove", "list"))
    deck.add_argument("path", nargs="?", type=Path, metavar="PATH")


def _system(commands: Any) -> None:
    _add(commands, "doctor", ("system", "doctor"), "check Python, torch, devices, isolation and database")
    restore = _add(commands, "restore", ("system", "restore"), "list the backups, or restore one")
    restore.add_argument("backup", nargs="?", metavar="BACKUP", help="a name from the list")
    completion = _add(commands, "completion", ("system", "completion"), "print a shell's completion script")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return number


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2026-12-24") from None


def _minutes(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= 720:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of minutes from 1 to 720")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to 3600")
    return number
