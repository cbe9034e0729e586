"""Installs every wheel and sdist of a folder and tries each outside of the checkout, without torch.

``python -m tools.release.try_installation dist`` makes an environment for each file with the Python that runs
it. It prints a line per file, and exits with 1 at the first command that does not do what it should. It needs
only the standard library.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

# Arguments, the exit code, and what the output or the error must hold.
TRIED = (
    (["--version"], 0, "quizapp "),
    (["doctor"], 0, "--   torch"),
    (["due"], 0, "easy"),
    (["questions"], 0, "adamw"),
    (["exercise", "warmup"], 0, "warmup.py"),
    (["incident"], 0, "medium"),
    (["stats"], 0, "reviews"),
    (["export", "json", "log.json"], 0, ""),
    (["grade", "warmup", "warmup.py"], 2, "install it with: "),
)


class InstallationFault(Exception):
    """A command of an installation that did not do what it should."""


def try_file(file: Path, folder: Path) -> float:
    """Install ``file`` into a new environment in ``folder``, run `TRIED`; returns the seconds to install."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["QUIZAPP_HOME"] = str(folder / "home")
    venv.create(folder / "venv", with_pip=True)
    started = time.monotonic()
    _run([str(folder / "venv/bin/pip"), "install", "--quiet", str(file.absolute())], folder, environment)
    seconds = time.monotonic() - started
    (folder / "warmup.py").write_text("def lr_at(*_): ...\n")
    for arguments, code, text in TRIED:
        _run([str(folder / "venv/bin/quizapp"), *arguments], folder, environment, code, text)
    return seconds


def _run(
    command: list[str], folder: Path, environment: dict[str, str], code: int = 0, text: str = ""
) -> None:
    done = subprocess.run(  # noqa: S603 - what was just installed
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode != code or text not in said:
        raise InstallationFault(
            f"{' '.join(command)}: exit code {done.returncode}, but {code} is expected, and {text!r} in:\n"
            f"{said[-2000:]}"
        )


def main(arguments: list[str]) -> int:
    """Try every wheel and sdist of the folder named on the command line."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tools.release.try_installation FOLDER\n")
        return 2
    files = sorted([*Path(arguments[0]).glob("*.whl"), *Path(arguments[0]).glob("*.tar.gz")])
    if not files:
        sys.stderr.write(f"{arguments[0]} holds no wheel and no sdist; 'python -m build' makes both.\n")
        return 1
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            try:
                seconds = try_file(file, Path(folder).resolve())
            except InstallationFault as fault:
                sys.stderr.write(f"{file.name}: {fault}\n")
                return 1
        sys.stdout.write(f"{file.name}: installed in {seconds:.0f} s, {len(TRIED)} commands tried\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
