"""Commands on the installation: health checks, backups, shell completion."""

import importlib.metadata
import platform
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from quizapp import __version__, paths
from quizapp.errors import DONE, FAULTS, QuizError
from quizapp.util.installation import PartMissing, has_package, require_torch
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.cli.parser import CommandParser

_AFTER_LIST = "'quizapp restore NAME' restores one of them and keeps the current database as well\n"


def doctor(_options: Namespace) -> int:
    """Check what works here and what does not, and what to do about it."""
    checks = run_checks()
    width = max(len(check.name) for check in checks)
    for check in checks:
        sys.stdout.write(f"{check.state} {check.name:{width}}  {check.text}\n")
    return FAULTS if any(check.state is Health.BAD for check in checks) else DONE


def restore(options: Namespace) -> int:
    """List the backups, or restore one and keep the database that it replaces."""
    from datetime import UTC, datetime

    from quizapp.store.backups import list_backups
    from quizapp.store.backups import restore as put_back

    backups = list_backups(paths.backups())
    if options.backup is None:
        for backup in backups:
            when = backup.time.astimezone().strftime("%Y-%m-%d %H:%M:%S")
            sys.stdout.write(
                f"{backup.path.name}  {when}  {plural(backup.events, 'event')}  {backup.reason}\n"
            )
        sys.stdout.write(_AFTER_LIST if backups else "no backups yet; one is made whenever the app starts\n")
        return DONE
    chosen = next((b for b in backups if b.path.name == options.backup), None)
    if chosen is None:
        raise QuizError(f"there is no backup '{options.backup}'; 'quizapp restore' lists them")
    kept = put_back(paths.database(), chosen.path, paths.backups(), now=datetime.now(UTC))
    sys.stdout.write(
        f"restored {options.backup}" + (f"; the previous database is kept as {kept}" if kept else "") + "\n"
    )
    return DONE


# Commands that print one completion per line, as its first word, and the arguments that they complete.
_DYNAMIC = {
    "exercise": (("exercise", "slug"), ("grade", "slug")),
    "questions": (("show", "id"), ("answer", "id")),
    "incident": (("incident", "id"),),
}


def completion(options: Namespace) -> int:
    """Print the completion script of a shell."""
    from quizapp.cli.parser import build_parser

    parser = build_parser()
    sys.stdout.write(_fish(parser) if options.shell == "fish" else _bash_or_zsh(parser, options.shell))
    return DONE


def _bash_or_zsh(parser: "CommandParser", shell: str) -> str:
    import shtab  # costs 10 ms

    from quizapp.cli.parser import to_path

    functions = []
    for source, places in _DYNAMIC.items():
        name = f"_quizapp_{source}_words"
        words = f"quizapp {source} 2>/dev/null | cut -d' ' -f1"
        body = {
            "bash": f'compgen -W "$({words})" -- "$1"',
            "zsh": f'local -a words; words=(${{(f)"$({words})"}}); compadd -a words',
        }
        functions.append(f"{name}() {{ {body[shell]}; }}")
        for command, dest in places:
            for argument in parser.commands[command].arguments:
                if argument.dest == dest:
                    argument.complete = {shell: name}  # type: ignore[attr-defined] # as shtab asks for it
    for command_parser in parser.commands.values():
        for argument in command_parser.arguments:
            if argument.type is to_path:
                argument.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell, preamble="\n".join(functions))) + "\n"


def _fish(parser: "CommandParser") -> str:
    sources = {place: source for source, places in _DYNAMIC.items() for place in places}
    lines = []
    for name, command in parser.commands.items():
        text = (command.description or "").rstrip(".").replace("'", "")
        lines.append(f"complete -c quizapp -n __fish_use_subcommand -a {name} -d '{text}'")
        begin = f"complete -c quizapp -n '__fish_seen_subcommand_from {name}'"
        for argument in command.arguments:
            flags = [flag.removeprefix("--") for flag in argument.option_strings if flag.startswith("--")]
            choices = " ".join(map(str, argument.choices or ()))
            if flags:
                lines.append(f"{begin} -l {flags[0]}" + (f" -x -a '{choices}'" if choices else ""))
            elif choices:
                lines.append(f"{begin} -a '{choices}'")
            if source := sources.get((name, argument.dest)):
                lines.append(f"{begin} -a \"(quizapp {source} 2>/dev/null | cut -d' ' -f1)\"")
    return "\n".join(lines) + "\n"


class Health(StrEnum):
    """How a part of the installation is, as `doctor` marks it."""

    GOOD = "ok  "
    ABSENT = "--  "
    BAD = "BAD "


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One part of the installation: how it is, and a sentence about it."""

    name: str
    state: Health
    text: str


def run_checks() -> list[HealthCheck]:
    """Check every part of the installation, the most basic first."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("quizapp", lambda: __version__),
        ("python", _python),
        ("data folder", _folder),
        ("settings", _settings),
        ("database", _database),
        ("content", _content),
        ("torch", _torch),
        ("fitting", _fitting),
        ("devices", _devices),
        ("isolation", _isolation),
    ]
    return [_run_check(name, check) for name, check in checks]


def _run_check(name: str, check: Callable[[], str]) -> HealthCheck:
    try:
        return HealthCheck(name, Health.GOOD, check())
    except PartMissing as error:
        return HealthCheck(name, Health.ABSENT, str(error))
    except QuizError as error:
        return HealthCheck(name, Health.BAD, str(error))


def _python() -> str:
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        raise QuizError(f"{platform.python_version()}; quizapp needs 3.11 to 3.14")
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def _folder() -> str:
    home = paths.home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".write-probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise QuizError(
            f"{home} cannot be written ({error.strerror}); set QUIZAPP_HOME to another folder"
        ) from None
    return str(home)


def _settings() -> str:
    from quizapp.settings.model import load_settings

    load_settings(paths.config())
    return str(paths.config()) if paths.config().exists() else "the defaults; no config.toml yet"


def _database() -> str:
    from quizapp.store.event_log import Store

    if not paths.database().exists():
        return "none yet; the first answer creates it"
    with Store.open(paths.database(), backups=None) as store:
        problem = store.integrity()
        if problem:
            raise QuizError(f"{paths.database()} is damaged ({problem}); 'quizapp restore' lists the backups")
        return f"{paths.database()}: intact"


def _content() -> str:
    from quizapp.bank.loader import load_bank

    bank = load_bank()
    text = f"{plural(len(bank.questions), 'question')}, {plural(len(bank.exercises), 'exercise')}"
    if bank.faults:
        raise QuizError(f"{text}, {plural(len(bank.faults), 'fault')}; 'quizapp check' names them")
    return text


def _torch() -> str:
    require_torch()
    return importlib.metadata.version("torch")


def _fitting() -> str:
    from quizapp.scheduling.weights.fit import find_trainer

    return f"the memory model is fitted to your reviews by {find_trainer()}"


def _devices() -> str:
    from quizapp.judge.sandbox.devices import available

    if not has_package("torch"):
        return "not looked for without torch"
    return ", ".join(available())


def _isolation() -> str:
    from quizapp.judge.sandbox.tiers import describe
    from quizapp.judge.verdict import ISOLATION

    reports = describe()
    best = next(report for report in reports if report.works)
    others = "; ".join(f"{r.name} {r.text}" for r in reports if not r.works)
    return f"{best.name}, {ISOLATION[best.name]}: {best.text}" + (f" ({others})" if others else "")
