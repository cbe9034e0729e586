"""Runs the learner's code with the checks that the learner wrote for it.

The mark counts only that such a run took place, not its result; the judge alone runs the hidden tests. The
run has the learner's own rights, like a script that they start in a shell.
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
    """The outcome of a check run. ``counts`` is False if the code checks nothing.

    ``ok`` means exit status 0. ``output`` holds the end of stdout and stderr together.
    """

    ok: bool
    counts: bool
    output: str


def checks_itself(source: str) -> bool:
    """Whether the module checks anything.

    That is an ``assert`` at module level, or an ``assert`` or a call inside ``if __name__ == "__main__"`` or
    inside a function whose name begins with ``test_`` or ``check``.
    """
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
    """Run ``source`` as a script named ``module`` in a temporary folder, for at most 20 seconds."""
    counts = checks_itself(source)
    with tempfile.TemporaryDirectory(prefix="quizapp-check-") as folder:
        path = Path(folder) / module
        path.write_text(source, encoding="utf-8")
        # Pass on only what a script needs, so that tokens in the environment cannot end up in the output.
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
        # Keep the end of the output, where a traceback names its error.
        text = done.stdout[-MOST:].decode("utf-8", "replace").replace(folder + os.sep, "")
    if not counts and done.returncode == 0:
        text += "\nThis run checks nothing: add an assert under `if __name__ == '__main__':`."
    return SelfCheckResult(
        ok=done.returncode == 0, counts=counts, output=text.strip() or "ran without output"
    )
