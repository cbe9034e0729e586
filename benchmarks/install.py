"""Measures installations from a wheel of this checkout: time, size, and the first card. Prints JSON.

Each way of installing runs twice for each Python, in a new home folder: first to fill the installer's cache,
then for the figures, so that no download is in them. The first card is timed from the command that a user
types, ``quizapp drill`` or ``uvx --from quizapp-ml quizapp drill``, in a data folder that does not exist.
``--extra judge`` installs torch as well; ``--find-links`` and ``--constraints`` say which one.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tui import Terminal

ROOT = Path(__file__).parents[1]
NAME = "quizapp-ml"
FIRST_CARD = rb"Say your answer aloud"


@dataclass(frozen=True)
class Request:
    """What is installed from where."""

    python: str
    extra: str
    find_links: tuple[str, ...]
    constraints: str

    @property
    def requirement(self) -> str:
        """The distribution with its extra."""
        return f"{NAME}[{self.extra}]" if self.extra else NAME

    def options(self, constraint: str = "--constraints") -> list[str]:
        """The options of pip and uv that name the sources."""
        options = [part for place in self.find_links for part in ("--find-links", place)]
        return [*options, constraint, self.constraints] if self.constraints else options


class Way:
    """A way of installing, with its commands in a home folder of its own."""

    def __init__(self, name: str, request: Request, home: Path):
        self.name, self.request, self.home = name, request, home
        tool = home / "tools"
        environment = {
            "HOME": str(home), "UV_CACHE_DIR": str(home / "uv-cache"), "UV_TOOL_DIR": str(tool),
            "UV_TOOL_BIN_DIR": str(home / "bin"), "PIPX_HOME": str(tool), "PIPX_BIN_DIR": str(home / "bin"),
            "PIP_CACHE_DIR": str(home / "pip-cache"), "UV_LINK_MODE": "copy",
        }  # fmt: skip
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        self.environment = kept | environment
        self.tool = tool
        python, options = request.python, request.options()
        install: dict[str, list[list[str]]] = {
            "pip": [
                [python, "-m", "venv", str(tool)],
                [f"{tool}/bin/pip", "install", *request.options("--constraint"), request.requirement],
            ],
            "uv tool": [["uv", "tool", "install", "--python", python, *options, request.requirement]],
            "pipx": [
                [
                    "pipx", "install", "--backend", "pip", "--python", python,
                    f"--pip-args={shlex.join(request.options('--constraint'))}", request.requirement,
                ]
            ],
            "uvx": [],
        }  # fmt: skip
        self.install = install[name]
        self.program = {
            "pip": [f"{tool}/bin/quizapp"],
            "uvx": ["uvx", "--python", python, *options, "--from", request.requirement, "quizapp"],
        }.get(name, [f"{home}/bin/quizapp"])

    def measure(self) -> dict[str, float]:
        """Install twice, and start twice."""
        self._run()
        self.clear()
        installed = self._run()
        if self.name == "uvx":
            self.clear()
        first, second = self._first_card("new"), self._first_card("new")
        figures = {"first_card_s": round(first, 2), "next_start_s": round(second, 2)}
        size = round(sum(path.lstat().st_size for path in self._environment().rglob("*")) / 1e6)
        return ({} if self.name == "uvx" else {"install_s": round(installed, 1)}) | figures | {"mb": size}

    def clear(self) -> None:
        """Remove what was installed, but not what was downloaded."""
        for folder in (self.tool, self.home / "bin"):
            shutil.rmtree(folder, ignore_errors=True)
        for environments in (self.home / "uv-cache").glob("environments-*"):
            shutil.rmtree(environments)

    def _run(self) -> float:
        started = time.perf_counter()
        for command in self.install or [[*self.program, "--version"]]:
            done = subprocess.run(
                command, env=self.environment, check=False, capture_output=True, text=True, cwd=self.home
            )
            if done.returncode:
                sys.exit(f"{shlex.join(command)}\n{done.stderr}")
        return time.perf_counter() - started

    def _environment(self) -> Path:
        if self.name != "uvx":
            return self.tool
        show = [*self.program[:-1], "python", "-c", "import sys; print(sys.prefix)"]
        done = subprocess.run(show, env=self.environment, check=True, capture_output=True, text=True)
        return Path(done.stdout.strip())

    def _first_card(self, data: str) -> float:
        terminal = Terminal([*self.program, "drill"], self.home / data, self.environment)
        try:
            return terminal.wait_for(FIRST_CARD, 120) - terminal.started
        finally:
            terminal.close()


def build(folder: Path) -> None:
    """Write a wheel of this checkout into ``folder``."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(command, check=True)


def version_of(python: str) -> str:
    """The version of an interpreter, such as 3.12.1."""
    done = subprocess.run([python, "--version"], check=True, capture_output=True, text=True)
    return re.sub(r"[^\d.]", "", done.stdout)


def main() -> None:
    """Print the figures of each Python and way."""
    parser = argparse.ArgumentParser(description="Measure installations.")
    parser.add_argument("--python", action="append", help="an interpreter; this one by default")
    parser.add_argument("--way", action="append", choices=("pip", "uv tool", "uvx", "pipx"))
    parser.add_argument("--extra", default="")
    parser.add_argument("--find-links", action="append", default=[], help="a further folder of wheels")
    parser.add_argument("--constraints", default="")
    options = parser.parse_args()
    results: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder) / "wheels"
        build(wheels)
        for python in options.python or [sys.executable]:
            request = Request(python, options.extra, (str(wheels), *options.find_links), options.constraints)
            for name in options.way or ("pip", "uv tool", "uvx", "pipx"):
                home = Path(tempfile.mkdtemp(dir=folder))
                figures = Way(name, request, home).measure()
                results.setdefault(version_of(python), {})[name] = figures
                shutil.rmtree(home)
    print(json.dumps({"requirement": request.requirement, "pythons": results}, indent=1))


if __name__ == "__main__":
    main()
