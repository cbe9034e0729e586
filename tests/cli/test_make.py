"""`make run` on a fresh machine: which Python it takes, and what it fetches."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TOOLS = ("sh", "make", "touch", "rm", "mkdir", "chmod", "cp", "cat")
PYTHON = """#!/bin/sh
case "$*" in
  "-c "*) exit {version} ;;
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; chmod +x "$3/bin/python"
    echo '#!/bin/sh' > "$3/bin/quizapp"; echo 'echo the app' >> "$3/bin/quizapp"
    chmod +x "$3/bin/quizapp" ;;
  *{refused}*) exit 1 ;;
  *" torch") echo "$*" >> pip.log; mkdir -p .venv/lib/python3.13/site-packages/torch
    touch .venv/lib/python3.13/site-packages/torch/__init__.py ;;
  *) echo "$*" >> pip.log ;;
esac
"""


class Machine:
    """A checkout on a machine with few programs, and a Python that notes what pip is asked for."""

    def __init__(self, folder: Path):
        self.bin, self.checkout = folder / "bin", folder / "checkout"
        self.bin.mkdir()
        self.checkout.mkdir()
        for name in TOOLS:
            (self.bin / name).symlink_to(str(shutil.which(name)))
        for name in ("Makefile", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, self.checkout)
        self.has("uname", "#!/bin/sh\necho Linux\n")
        self.python()

    def has(self, name: str, script: str = "#!/bin/sh\n") -> None:
        """Install a program."""
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def python(self, *, right: bool = True, refused: str = "nothing is refused") -> None:
        """Install a Python; pip fails where its arguments hold ``refused``."""
        self.has("python3", PYTHON.format(version=int(not right), refused=refused.replace(" ", "\\ ")))

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """``make run``."""
        return subprocess.run(
            ["make", "run", *arguments],
            cwd=self.checkout,
            env={"PATH": str(self.bin), "HOME": os.devnull},
            capture_output=True,
            text=True,
            check=False,
        )

    def fetches(self) -> list[str]:
        """What pip was asked for and did."""
        return (self.checkout / "pip.log").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    return Machine(tmp_path)


def test_a_first_run_sets_up_from_the_users_own_index_and_starts(machine: Machine) -> None:
    done = machine.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("the app\n")
    assert not any("index-url" in line for line in machine.fetches())


def test_a_second_run_fetches_nothing(machine: Machine) -> None:
    machine.run()
    first = machine.fetches()
    assert machine.run().stdout == "the app\n"
    assert machine.fetches() == first


def test_a_torch_that_has_gone_is_fetched_again(machine: Machine) -> None:
    machine.run()
    first = machine.fetches()
    shutil.rmtree(machine.checkout / ".venv" / "lib")
    machine.run()
    assert machine.fetches() == first + first
    assert machine.run().stdout == "the app\n"


def test_the_distributions_old_name_goes_before_the_new_one_comes(machine: Machine) -> None:
    machine.run()
    old, new = (
        next(number for number, line in enumerate(machine.fetches()) if line.endswith(end))
        for end in ("--yes quizapp", "--editable .[judge]")
    )
    assert old < new


def test_an_unfit_python_is_named_and_leaves_nothing_behind(machine: Machine) -> None:
    machine.python(right=False)
    done = machine.run()
    assert done.returncode != 0
    assert "quizapp needs Python 3.11 to 3.14, and python3 is none of these" in done.stdout
    assert "Setting up" not in done.stdout
    assert not (machine.checkout / ".venv").exists()
    machine.python()
    assert machine.run().returncode == 0


def test_a_python_that_is_not_there_is_named(machine: Machine) -> None:
    done = machine.run("PYTHON=python9")
    assert "python9 is none of these" in done.stdout
