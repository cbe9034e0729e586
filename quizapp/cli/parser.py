"""The table of commands and their arguments.

Importing this module must stay cheap, because every start pays for it. The module behind a command is
therefore imported only when the command runs.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from quizapp import __version__
from quizapp.bank import KINDS, LEVELS, ROLES
from quizapp.errors import USAGE
from quizapp.interview import RoundName
from quizapp.util.suggest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

Command = Callable[[argparse.Namespace], int]

EXPORTS = ("markdown", "anki", "json", "csv")
EPILOG = """Exit codes: 0 done or passed, 1 not passed or faults found, 2 wrong usage,
3 the program failed."""
EXAMPLES = {
    "drill": ("drill --topic precision --limit 10", "ten due cards of one topic"),
    "due": ("due --json | jq '.[].id'", "the ids, for a script"),
    "answer": ("answer lr-warmup good", "rate a card that you answered elsewhere"),
    "plan": ("plan --date 2026-12-24 --minutes 45", "what to do each day, and how much you will recall"),
    "stats": ("stats --json | jq .retention", "one number, for a script"),
    "exercise": ("exercise lora", "in a pipe: prints the task and the path of your file"),
    "grade": ("grade lora --watch", "in one window, with your editor in another"),
    "cohort": ("cohort spring/ --exercise lora", "spring/ada/lora.py, spring/bob/lora.py, ...: a gradebook"),
    "review": ("review lora", "decide, point, explain, prove and fix, against the clock"),
    "mock": ("mock --minutes 45 --role research-engineer", "45 minutes against the clock"),
    "incident": ("incident healthy-until-step-11 | less", "in a pipe: the run as text, without the clock"),
    "questions": ("questions --search 'topic:precision overflow'", "words and fields"),
    "show": ("show lr-warmup | less", "a question with its answer"),
    "mark": ("mark lr-warmup answer.txt", "which key points the answer shows, each with its sentence"),
    "export": ("export markdown bank", "the bank as a book: a folder with one file per topic"),
    "import": ("import notes.apkg", "can be repeated: no review is counted twice"),
    "sync": ("sync ~/Dropbox/quizapp", "on each device, in any order"),
    "check": ("check my-deck/", "every fault with file, line and what to do"),
    "deck": ("deck add notes.md", "cards in YAML, Markdown or CSV, or a folder of them; docs/questions.md"),
    "mcp": ("mcp", "let an assistant ask, grade, and hint: a server that its settings name"),
    "serve": ("serve", "prints an address that works once; open it in a browser"),
    "doctor": ("doctor", "the first thing to run when something is wrong"),
    "restore": ("restore", "lists the backups; with a name from the list, restores that one"),
    "completion": ('eval "$(quizapp completion bash)"', "in ~/.bashrc"),
}
START = """Examples:
  quizapp                     the home screen; ? shows its keys
  quizapp drill --limit 10    ten cards and a summary
  quizapp grade lora          run the hidden tests on your lora.py
  quizapp COMMAND --help      the arguments of a command, with an example

Your data are in the platform's own folder, or in the one that QUIZAPP_HOME
names; `quizapp doctor` shows the paths. NO_COLOR and QUIZAPP_ASCII=1 are
respected.

"""
_ROLE = f"the role that you interview for: {', '.join(ROLES)}"


class CommandParser(argparse.ArgumentParser):
    """A parser of the whole command line, or of one command with its ``arguments``.

    It reports a wrong argument in one line. ``commands`` and ``arguments`` are for shell completion, since
    argparse has no public list of what it parses.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.commands: dict[str, CommandParser] = {}
        self.arguments: list[argparse.Action] = []
        options["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(*args, **options)

    def add_commands(self, adders: Iterable[Callable[["CommandParser"], None]]) -> None:
        """Add the commands that each of ``adders`` adds with `add_command`."""
        self._subcommands = self.add_subparsers(
            metavar="COMMAND", title="commands", parser_class=CommandParser
        )
        for add in adders:
            add(self)

    def add_command(self, name: str, function: str, text: str) -> "CommandParser":
        """Add a command, run by ``module.function`` of `quizapp.cli`; its help shows the example."""
        line, meaning = EXAMPLES[name]
        call = line if line.startswith("eval") else f"quizapp {line}"
        command = self._subcommands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"Example:\n  {call}\n  {meaning}\n\n{EPILOG}",
        )
        command.set_defaults(run=partial(_run, function))
        self.commands[name] = command
        return command

    def add_argument(self, *args: Any, **options: Any) -> argparse.Action:
        """Add an argument, and keep it in ``arguments``."""
        argument = super().add_argument(*args, **options)
        self.arguments.append(argument)
        return argument

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Let a subcommand report its unknown arguments itself, so that the message names its own help."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown and " " in self.prog:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with the code for wrong usage."""
        message = _with_suggestion(message)
        stop = "" if message.endswith("?") else ";"
        self.exit(USAGE, f"quizapp: {message}{stop} '{self.prog} --help' shows the usage\n")


def _with_suggestion(message: str) -> str:
    """Replace argparse's list of all choices with the ones close to what was typed, if there are any."""
    match = re.fullmatch(r"(.*invalid choice: '(.*)') \(choose from (.*)\)", message)
    if match is None:
        return message
    hint = did_you_mean(match[2], re.findall(r"[\w-]+", match[3]))
    return f"{match[1]}; {hint}" if hint else message


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; ``run`` is the command's function. Exits with 2 and one line if they are wrong."""
    return build_parser().parse_args(arguments)


def build_parser() -> CommandParser:
    """Build the whole command line."""
    parser = CommandParser(
        prog="quizapp",
        description="Prepare for an ML-training interview: drill, practice, rehearse. Without COMMAND: home.",
        epilog=START + EPILOG,
    )
    parser.add_argument("-V", "--version", action="version", version=f"quizapp {__version__}")
    parser.set_defaults(run=partial(_run, "study.home"))
    parser.add_commands((_add_study, _add_practice, _add_rehearsal, _add_content, _add_data, _add_system))
    return parser


def _add_filters(parser: CommandParser) -> None:
    parser.add_argument("--topic", metavar="T", help="only this topic")
    parser.add_argument("--level", choices=LEVELS, help="only this level")
    parser.add_argument("--kind", choices=KINDS, help="only this kind of question")


def _add_study(parser: CommandParser) -> None:
    drill = parser.add_command("drill", "study.drill", "go straight into the due cards")
    _add_filters(drill)
    drill.add_argument("--limit", type=_count, metavar="N", help="stop after N cards")
    due = parser.add_command("due", "study.due", "list what is due, then new cards within the day's limit")
    _add_filters(due)
    due.add_argument("--json", action="store_true", help="print JSON")
    answer = parser.add_command("answer", "study.answer", "rate a card and print when it is due next")
    answer.add_argument("id", metavar="ID", help="a question's id")
    answer.add_argument("rating", choices=("again", "hard", "good", "easy"), help="how well you knew it")
    stats = parser.add_command(
        "stats", "study.stats", "show retention, forecast and calibration, and each topic"
    )
    stats.add_argument("--json", action="store_true", help="print JSON")
    plan = parser.add_command("plan", "study.plan", "plan each day until the interview")
    plan.add_argument(
        "--date", metavar="D", help="day of the interview: 2026-12-24, or 3 weeks; default: settings"
    )
    plan.add_argument(
        "--minutes", type=_minutes, metavar="M", help="minutes a day; default: settings, or your pace"
    )
    plan.add_argument("--role", choices=ROLES, metavar="ROLE", help=_ROLE)
    plan.add_argument("--weeks", action="store_true", help="one line per week instead of per day")
    output = plan.add_mutually_exclusive_group()
    plan.arguments += [
        output.add_argument("--json", action="store_true", help="print JSON"),
        output.add_argument(
            "--ics", type=to_path, metavar="FILE", help="write the days to a calendar file for a phone"
        ),
    ]


def _add_practice(parser: CommandParser) -> None:
    exercise = parser.add_command("exercise", "exercise.exercise", "list the exercises, or open one")
    exercise.add_argument("slug", nargs="?", metavar="SLUG", help="the exercise to open, or 'new'")
    exercise.add_argument("name", nargs="?", metavar="NEW-SLUG", help="with 'new': the folder to create")
    exercise.add_argument("--json", action="store_true", help="print the list as JSON")
    exercise.add_argument(
        "--stages", action="store_true", help="interview mode: one brief after the other, against a clock"
    )
    exercise.add_argument(
        "--faults", type=_count, nargs="?", const=4, metavar="N", help="debug the solution with N faults (4)"
    )
    exercise.add_argument("--seed", type=int, metavar="S", help="with --faults: repeat the choice of faults")
    exercise.add_argument("--restart", action="store_true", help="with --stages or --faults: begin a new run")
    grade = parser.add_command("grade", "exercise.grade", "grade a file against the hidden tests")
    grade.add_argument("slug", metavar="SLUG", help="the exercise")
    grade.add_argument(
        "file", nargs="?", type=to_path, metavar="FILE", help="a file or folder; default: your own file"
    )
    grade.add_argument("--device", default="auto", metavar="D", help="auto, cpu, cuda[:N] or mps")
    grade.add_argument("--timeout", type=_seconds, metavar="S", help="time limit of one run, in seconds")
    grade.add_argument("--seed", type=int, metavar="N", help="repeat a verdict exactly")
    grade.add_argument("--tier", choices=("T0", "T1", "T2", "T3"), help="force a lower isolation tier")
    grade.add_argument("--jobs", type=_count, default=1, metavar="N", help="with a folder: workers at a time")
    grade.add_argument("--all", action="store_true", help="show the messages of all behaviors that fail")
    grade.add_argument("--json", action="store_true", help="print the verdict as JSON")
    grade.add_argument("--junit", type=to_path, metavar="PATH", help="write a JUnit report")
    grade.add_argument("--watch", action="store_true", help="grade again after every save")
    grade.add_argument(
        "--stages", action="store_true", help="grade your run in stages, and show the next brief"
    )
    grade.add_argument("--faults", action="store_true", help="grade your run on code with faults")
    _add_cohort(parser)
    review = parser.add_command("review", "review.review", "review plausible code against the clock")
    review.add_argument("slug", nargs="?", metavar="SLUG", help="the exercise; default: one chosen for you")
    review.add_argument("--seed", type=int, metavar="S", help="the same seed gives the same review")
    review.add_argument("--answer", type=to_path, metavar="FILE", help="mark an answer in JSON; - is stdin")
    review.add_argument("--json", action="store_true", help="print the task or the marks as JSON")


def _add_cohort(parser: CommandParser) -> None:
    cohort = parser.add_command("cohort", "cohort.cohort", "grade a whole class, and write its gradebook")
    cohort.add_argument("folder", type=to_path, metavar="DIR", help="holds a folder for each student")
    cohort.add_argument(
        "--exercise", action="append", default=[], metavar="SLUG", help="only this one; can be repeated"
    )
    cohort.add_argument("--out", type=to_path, metavar="DIR", help="the results; default: beside DIR")
    cohort.add_argument(
        "--workers", type=_count, metavar="N", help="workers on this machine; default: the number of cores"
    )
    cohort.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster, such as tcp://lab:8786")
    cohort.add_argument(
        "--resource", metavar="NAME", help="only workers that offer this; with cuda the default is GPU"
    )
    cohort.add_argument("--device", default="cpu", metavar="D", help="cpu (default), auto, cuda[:N] or mps")
    cohort.add_argument("--timeout", type=_seconds, metavar="S", help="time limit of one run, in seconds")
    cohort.add_argument("--tier", choices=("T0", "T1", "T2", "T3"), help="force a lower isolation tier")
    cohort.add_argument("--json", action="store_true", help="print one JSON object for each file")


def _add_rehearsal(parser: CommandParser) -> None:
    mock = parser.add_command("mock", "interview.mock", "take a timed mock interview, or report on one")
    mock.add_argument(
        "action",
        nargs="?",
        choices=("report", "review", "sheet", "list"),
        help="default: take an interview; sheet writes one for a friend, review --sheet reads it back",
    )
    mock.add_argument("id", nargs="?", metavar="ID", help="the interview to report on or to review")
    mock.add_argument(
        "--round",
        choices=[*map(str, RoundName), "loop"],
        help="what is rehearsed (default mixed); loop is a day of all rounds of a role",
    )
    mock.add_argument("--minutes", type=int, metavar="N", help="length; each round has its own")
    mock.add_argument("--role", choices=ROLES, metavar="ROLE", help=_ROLE)
    mock.add_argument("--no-code", action="store_true", help="leave out the coding phase")
    mock.add_argument("--spoken", action="store_true", help="answer aloud; nothing is typed")
    mock.add_argument("--seed", type=int, metavar="S", help="the same seed and state give the same paper")
    mock.add_argument("--format", choices=("md", "html", "json"), default="md", help="format of the report")
    mock.add_argument("--redact", action="store_true", help="leave your answers out of the report")
    mock.add_argument(
        "--sheet", type=to_path, metavar="FILE", help="review: read a sheet that a friend filled in"
    )
    mock.add_argument("--explain", metavar="ID", help="print how a score was computed")
    incident = parser.add_command(
        "incident",
        "interview.incident",
        "diagnose a broken run against the clock; in a pipe: list the runs, or print one",
    )
    incident.add_argument(
        "id", nargs="?", metavar="ID", help="its name, or how the name begins; default: one chosen for you"
    )
    incident.add_argument(
        "--live", action="store_true", help="repair the run: edit its script, run it, and be measured"
    )
    file: dict[str, Any] = {"nargs": "?", "const": "", "type": to_path, "metavar": "FILE"}
    incident.add_argument("--write", **file, help="live: write the broken script for your own editor")
    incident.add_argument("--run", dest="script", **file, help="live: run that script, and print its log")
    incident.add_argument("--hand-in", **file, help="live: measure it as at a hand-in; nothing is stored")
    incident.add_argument("--steps", type=int, metavar="N", help="run: so many steps; default: all")
    incident.add_argument(
        "--seed", type=int, metavar="S", help="run: another seed than that of the broken run"
    )
    incident.add_argument("--json", action="store_true", help="run, hand in: print JSON")


def _add_content(parser: CommandParser) -> None:
    questions = parser.add_command("questions", "content.questions", "list the bank")
    _add_filters(questions)
    questions.add_argument("--search", metavar="TEXT", help="words and fields such as topic:precision")
    questions.add_argument("--json", action="store_true", help="print JSON")
    show = parser.add_command("show", "content.show", "print a question with its answer")
    show.add_argument("id", metavar="ID", help="a question's id")
    show.add_argument("--seed", type=int, default=0, metavar="N", help="show other numbers")
    mark = parser.add_command("mark", "mark.mark", "mark a typed answer: what it shows, and the rating")
    mark.add_argument("id", metavar="ID", help="a question's id")
    mark.add_argument("file", nargs="?", type=to_path, metavar="FILE", help="the answer; default or -: stdin")
    mark.add_argument("--seed", type=int, default=0, metavar="N", help="the numbers of 'show --seed N'")
    mark.add_argument("--voice", action="store_true", help="also ask the language model of [voice]")
    mark.add_argument("--json", action="store_true", help="print JSON")
    check = parser.add_command("check", "content.check", "validate content and exercises")
    check.add_argument(
        "paths", nargs="*", type=to_path, metavar="PATH", help="files or folders; default: all content"
    )
    check.add_argument("--seeds", type=_count, default=3, metavar="N", help="seeds for each submission")
    check.add_argument(
        "--sample", type=float, metavar="SHARE", help="judge only this fraction of the submissions"
    )


def _add_data(parser: CommandParser) -> None:
    export = parser.add_command("export", "data.export", "write the bank or the review log to files")
    export.add_argument(
        "format",
        choices=EXPORTS,
        help="markdown: the bank as a book; anki: for Anki's File, Import, with history "
        "if PATH ends in .apkg; json, csv: the review log",
    )
    export.add_argument("path", type=to_path, metavar="PATH", help="the file to write; markdown: the folder")
    file_import = parser.add_command("import", "data.import_file", "add another log, or notes from Anki")
    file_import.add_argument(
        "path",
        type=to_path,
        metavar="PATH",
        help="a file from 'quizapp export json', or an .apkg file from Anki's File, Export",
    )
    sync = parser.add_command(
        "sync", "data.sync", "share your reviews with your other devices through a folder"
    )
    sync.add_argument("folder", type=to_path, metavar="DIR", help="a folder that all of them can reach")
    deck = parser.add_command("deck", "data.deck", "add your own questions")
    deck.add_argument("action", choices=("add", "remove", "list"), help="what to do with your decks")
    deck.add_argument("path", nargs="?", type=to_path, metavar="PATH", help="the file or folder of a deck")


def _add_system(parser: CommandParser) -> None:
    parser.add_command("mcp", "servers.mcp", "serve assistants that speak MCP, over stdin and stdout")
    serve = parser.add_command("serve", "servers.serve", "use the app in a browser on this computer")
    serve.add_argument("--port", type=_port, metavar="N", help="default: 8765, or a free one if it is taken")
    serve.add_argument("--host", default="127.0.0.1", metavar="H", help="a loopback address (127.0.0.1)")
    parser.add_command("doctor", "system.doctor", "check Python, torch, devices, isolation and database")
    restore = parser.add_command("restore", "system.restore", "list the backups, or restore one")
    restore.add_argument("backup", nargs="?", metavar="BACKUP", help="a name from the list")
    completion = parser.add_command("completion", "system.completion", "print a shell's completion script")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to complete in")


def to_path(text: str) -> "Path":
    """Convert an argument to a path. Importing pathlib above would cost every ``--help`` 3 ms."""
    from pathlib import Path

    return Path(text)


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 1 to 65535")
    return number


def _minutes(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= 720:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of minutes from 1 to 720")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0 and up to 3600")
    return number


def _run(function: str, options: argparse.Namespace) -> int:
    """Call ``module.function`` of `quizapp.cli`."""
    module, _, name = function.partition(".")
    command: Command = getattr(import_module(f"quizapp.cli.{module}"), name)
    return command(options)
