"""Finds out which isolation this machine offers by trying every tier in a child process, once per boot."""

import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from quizapp import paths
from quizapp.util.atomic import write_atomic

TIERS = ("T0", "T1", "T2", "T3")
LAYERS = {
    "T0": "a spawned process with a deadline",
    "T1": "resource limits, own session",
    "T2": "Landlock, seccomp, resource limits",
    "T3": "user, pid, network and IPC namespaces, Landlock, seccomp, resource limits",
}


@dataclass(frozen=True, slots=True)
class TierReport:
    """Whether a tier works here. ``text`` says what it consists of, or why it does not work."""

    name: str
    works: bool
    text: str


def describe(cache: Path | None = None) -> list[TierReport]:
    """Every tier with its state on this machine, highest first, tried once per boot and kept in ``cache``."""
    path = (paths.cache() if cache is None else cache) / "tiers.json"
    key = _key()
    with suppress(OSError, ValueError, TypeError, KeyError):
        cached = json.loads(path.read_text(encoding="utf-8"))
        if cached["key"] == key:
            return [TierReport(**item) for item in cached["tiers"]]
    reports = _in_clean_process()
    with suppress(OSError):
        write_atomic(path, json.dumps({"key": key, "tiers": [asdict(report) for report in reports]}))
    return reports


def best(reports: list[TierReport], wanted: str | None = None) -> TierReport:
    """The highest tier that works and is not above ``wanted``."""
    limit = TIERS.index(wanted) if wanted in TIERS else len(TIERS)
    return max((r for r in reports if r.works and TIERS.index(r.name) <= limit), key=lambda r: r.name)


def _key() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id")
    started = boot.read_text(encoding="ascii").strip() if boot.is_file() else ""
    code = max((p.stat().st_mtime_ns for p in Path(__file__).parent.glob("*.py")), default=0)
    return f"{started} {platform.platform()} {os.getuid()} {sys.executable} {code}"


def _in_clean_process() -> list[TierReport]:
    """Try the tiers in a fresh interpreter, since forking is safe only without other threads."""
    from quizapp.judge.sandbox.launch import clean_environment, python_command

    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        python_command("quizapp.judge.sandbox.tiers"),
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    try:
        return [TierReport(**item) for item in json.loads(done.stdout)]
    except (ValueError, TypeError):
        return [TierReport("T0", works=True, text=LAYERS["T0"])]


def probe() -> list[TierReport]:
    """Try every tier in forked children. Only for a process with a single thread."""
    reports = [TierReport("T0", works=True, text=LAYERS["T0"])]
    if sys.platform != "linux":
        why = "needs Linux; here a submission runs in a fresh process"
        return [TierReport(tier, works=False, text=why) for tier in reversed(TIERS[1:])] + reports
    for tier, trial in (("T1", _try_plain), ("T2", _try_plain), ("T3", _try_namespaces)):
        problem = _in_child(lambda tier=tier, trial=trial: trial(tier))  # type: ignore[misc]
        text = f"{LAYERS[tier]}{_landlock_version(tier)}" if not problem else f"not here: {problem}"
        reports.insert(0, TierReport(tier, works=not problem, text=text))
    return reports


def _landlock_version(tier: str) -> str:
    from quizapp.judge.sandbox import landlock

    return f" (Landlock version {landlock.version()})" if tier in ("T2", "T3") else ""


def _in_child(trial: Callable[[], None]) -> str:
    """Run ``trial`` in a forked child. Returns what went wrong there, or an empty string."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        problem = "the child process ended early"
        try:
            trial()
            problem = ""
        except BaseException as error:  # noqa: BLE001 - the child must report and end, whatever happens
            problem = f"{error}" or type(error).__name__
        finally:
            os.write(writer, problem.encode()[:500] or b"\0")
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        report = pipe.read()
    os.waitpid(child, 0)
    if not report:
        return "the trial ended early"
    return report.strip(b"\0").decode(errors="replace")


def _try_plain(tier: str) -> None:
    from quizapp.judge.sandbox import layers

    os.setsid()
    with tempfile.TemporaryDirectory(prefix="quizapp-tier-") as folder:
        home = Path(folder)
        scratch = home / "scratch"
        scratch.mkdir()
        (home / "canary").write_text("alive", encoding="ascii")
        # Run the trial in a child, because this process must stay free to remove the folder.
        problem = _in_child(lambda: _apply_and_test(tier, layers.apply, home, scratch))
    if problem:
        raise OSError(problem)


def _apply_and_test(tier: str, apply: Callable[[str, Path, float], None], home: Path, scratch: Path) -> None:
    apply(tier, scratch, 10.0)
    (scratch / "file").write_text("written", encoding="ascii")
    if tier in ("T2", "T3"):
        _must_fail("reading outside the scratch folder", (home / "canary").read_bytes)
        _must_fail("forking", os.fork)
        _must_fail("opening a socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))


def _must_fail(what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except OSError:
        return
    raise OSError(f"{what} was not refused")


def _try_namespaces(tier: str) -> None:
    from quizapp.judge.sandbox import namespaces

    try:
        namespaces.enter()
    except OSError as error:
        raise OSError(f"namespaces are refused ({error.strerror})") from None
    problem = _in_child(lambda: _try_pid_namespaces(tier))
    if problem:
        raise OSError(problem)


def _try_pid_namespaces(tier: str) -> None:
    from quizapp.judge.sandbox import namespaces

    maker = namespaces.PidNamespaces()
    for _ in range(2):
        with maker.new():
            problem = _in_child(lambda: _try_plain(tier))
        if problem:
            raise OSError(problem)


def main() -> int:
    """Print the reports of a trial as JSON."""
    sys.stdout.write(json.dumps([asdict(report) for report in probe()]))
    return 0
