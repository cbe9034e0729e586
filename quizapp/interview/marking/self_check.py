"""The learner's own check of their code: a run of their module and of its own check functions.

It is a run that the learner asks for, as in a shell; it decides nothing about the mark but that it took
place. The hidden tests are the judge's.
"""

import ast
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SECONDS = 20.0
MOST = 4000
PREFIXES = ("test_", "check")
_RUNNER = """
import runpy, sys
names = runpy.run_path(sys.argv[1], run_name="__main__")
ran = [name for name, value in names.items() if name.startswith(("test_", "check")) and callable(value)]
for name in ran:
    names[name]()
    print(name, "held")
"""


@dataclass(frozen=True, slots=True)
class SelfCheckResult:
    """What a check run gave. ``counts`` is False where the code checks nothing."""

    ok: bool
    counts: bool
    output: str


def checks_itself(source: str) -> bool:
    """Whether the module holds a check: an assertion at its foot or in a function named test_ or check."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return False
    for node in tree.body:
        named = isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIXES)
        guard = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
        top = isinstance(node, ast.Assert)
        if top or (
            (named or guard) and any(isinstance(part, ast.Assert | ast.Call) for part in ast.walk(node))
        ):
            return True
    return False


def run_check(source: str, module: str) -> SelfCheckResult:
    """Run the module as a script in a folder of its own, for at most twenty seconds."""
    counts = checks_itself(source)
    with tempfile.TemporaryDirectory(prefix="quizapp-check-") as folder:
        path = Path(folder) / module
        path.write_text(source, encoding="utf-8")
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
        kept |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(  # noqa: S603 - the learner's own code at the learner's own request
                [sys.executable, "-I", "-c", _RUNNER, str(path)],
                cwd=folder,
                env=kept,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return SelfCheckResult(ok=False, counts=counts, output=f"stopped after {SECONDS:.0f} s")
        text = done.stdout[-MOST:].decode("utf-8", "replace").replace(folder + os.sep, "")
    if not counts:
        text += "\nThis run checks nothing: add an assert under `if __name__ == '__main__':`."
    return SelfCheckResult(
        ok=done.returncode == 0, counts=counts, output=text.strip() or "ran without output"
    )
