"""Looks at the installation and says what works, what does not, and what to do about it."""

import importlib.metadata
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass

from quizapp import __version__, paths
from quizapp.errors import QuizError
from quizapp.util.text import plural


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    good: bool
    text: str


def examine() -> list[Finding]:
    """Every finding, in the order in which a person would want to know them."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("quizapp", lambda: __version__),
        ("python", _python),
        ("data folder", _folder),
        ("settings", _settings),
        ("database", _database),
        ("content", _content),
        ("torch", _torch),
        ("devices", _devices),
        ("isolation", _isolation),
    ]
    return [_finding(name, check) for name, check in checks]


def _finding(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, good=True, text=check())
    except QuizError as error:
        return Finding(name, good=False, text=str(error))


def _python() -> str:
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        raise QuizError(f"{platform.python_version()}; quizapp is made for 3.11 to 3.14")
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def _folder() -> str:
    home = paths.home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".write-probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise QuizError(f"{home} cannot be written ({error.strerror}); set QUIZAPP_HOME to another") from None
    return str(home)


def _settings() -> str:
    from quizapp.settings.model import load_settings

    load_settings(paths.config())
    return str(paths.config()) if paths.config().exists() else "the defaults; no config.toml yet"


def _database() -> str:
    from quizapp.store.event_log import Store

    if not paths.database().exists():
        return "none yet; the first answer makes it"
    with Store.open(paths.database(), backups=None) as store:
        problem = store.integrity()
        if problem:
            raise QuizError(f"{paths.database()} is damaged ({problem}); 'quizapp restore' lists the backups")
        return f"{paths.database()}: whole"


def _content() -> str:
    from quizapp.bank.loader import load_bank

    bank = load_bank()
    text = f"{plural(len(bank.questions), 'question')}, {plural(len(bank.exercises), 'exercise')}"
    if bank.faults:
        raise QuizError(f"{text}, {plural(len(bank.faults), 'fault')}; 'quizapp check' names them")
    return text


def _torch() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise QuizError("is not installed, so nothing can be graded; 'pip install torch'") from None


def _devices() -> str:
    from quizapp.judge.devices import available

    return ", ".join(available())


def _isolation() -> str:
    from quizapp.judge.sandbox.tiers import describe
    from quizapp.judge.verdict import ISOLATION

    reports = describe()
    best = next(report for report in reports if report.works)
    others = "; ".join(f"{r.name} {r.text}" for r in reports if not r.works)
    return f"{best.name}, {ISOLATION[best.name]}: {best.text}" + (f" ({others})" if others else "")
