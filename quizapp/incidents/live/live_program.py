"""The programs of a live incident: the broken script, the healthy one, and what fixes make of them."""

import ast
import difflib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from quizapp.errors import QuizError
from quizapp.incidents.live.baseline import SCRIPT, Baseline, load_baseline
from quizapp.incidents.model import Incident, LiveForm
from quizapp.judge.authoring.mutants import apply_edits
from quizapp.judge.protocol.scripts import ScriptOrder

_GUARD_NODES = (ast.Assert,)


class LiveProgram:
    """The programs of one incident, as source texts. Raises `QuizError` if the incident has no live form.

    An edit that does not fit raises `EditError`, which is a `QuizError`, when its program is first asked for.
    ``folder`` is that of the incidents (default: the shipped ones).
    """

    def __init__(self, incident: Incident, folder: Path | None = None):
        if incident.live is None:
            raise QuizError(f"The incident '{incident.name}' has no live form; sit it without --live.")
        self.incident = incident
        self.form: LiveForm = incident.live
        self.baseline: Baseline = load_baseline(self.form.baseline, folder)

    @cached_property
    def healthy(self) -> str:
        """The script without the fault: the reference fix."""
        return apply_edits(self.baseline.script, self.form.setup, SCRIPT)

    @cached_property
    def broken(self) -> str:
        """The script that the learner gets. In a false alarm it is the healthy one."""
        return apply_edits(self.healthy, self.form.edits, SCRIPT)

    @cached_property
    def fixes(self) -> dict[str, str]:
        """By decoy, the broken script as somebody who believes that cause would change it."""
        return {name: apply_edits(self.broken, edits, SCRIPT) for name, edits in self.form.decoys.items()}

    @cached_property
    def rights(self) -> tuple[str, ...]:
        """Other right fixes of the broken script."""
        return tuple(apply_edits(self.broken, edits, SCRIPT) for edits in self.form.right)

    @cached_property
    def fault_lines(self) -> tuple[int, ...]:
        """The numbers of the broken script's lines that the fault changed, from 1; empty in a false alarm.

        Where the fault only removed lines, these are the two around the gap.
        """
        healthy, broken = self.healthy.splitlines(), self.broken.splitlines()
        numbers: set[int] = set()
        for tag, _, _, start, end in difflib.SequenceMatcher(None, healthy, broken, False).get_opcodes():
            if tag == "delete":
                numbers |= {start, start + 1} & {*range(1, len(broken) + 1)}
            elif tag != "equal":
                numbers |= {*range(start + 1, end + 1)}
        return tuple(sorted(numbers))

    @property
    def band(self) -> Mapping[str, tuple[float, float]]:
        """By metric, the lowest and the highest value of a healthy run."""
        return {**self.baseline.band, **self.form.band}

    @property
    def steps(self) -> int:
        """The steps of a full run."""
        return self.form.steps or self.baseline.steps

    def minimal(self, source: str) -> int:
        """How many nodes of the syntax tree separate ``source`` from the reference fix; 0 if none does.

        Assertions, comments and layout do not count. Raises `SyntaxError` if ``source`` is not Python.
        """
        return changed_nodes(self.healthy, source)

    def guarded(self, source: str) -> str:
        """``source`` with the reference guard after its line. Raises `QuizError` unless that occurs once."""
        return insert_after(source, self.form.guard_at, self.form.guard)

    def order(
        self,
        source: str,
        seed: int,
        *,
        steps: int | None = None,
        measured: bool = False,
        resume: bool | None = None,
        tier: str | None = None,
    ) -> ScriptOrder:
        """An order to run ``source``, a version of this incident's script.

        ``steps`` and ``resume`` are the incident's own unless given.
        """
        return ScriptOrder(
            folder=self.baseline.folder.absolute(),
            source=source,
            seed=seed,
            steps=steps or self.steps,
            resume=self.form.resume if resume is None else resume,
            options=self.form.measure,
            measured=measured,
            seconds=float(self.baseline.seconds),
            ranks=self.baseline.ranks,
            tier=tier,
        )


def insert_after(source: str, line: str, code: str) -> str:
    """Insert ``code`` after ``line`` of ``source``, indented like it.

    The indentation of ``line`` does not matter. Raises `QuizError` unless it occurs once.
    """
    lines = source.splitlines()
    places = [number for number, text in enumerate(lines) if text.strip() == line.strip()]
    if len(places) != 1:
        times = f"{len(places)} times in" if places else "nowhere in"
        raise QuizError(f"the line {line.strip()!r} of 'guard_at' occurs {times} the script; quote another")
    text = lines[places[0]]
    indent = text[: len(text) - len(text.lstrip())]
    added = [indent + part if part else "" for part in code.splitlines()]
    return "\n".join([*lines[: places[0] + 1], *added, *lines[places[0] + 1 :]]) + "\n"


def changed_nodes(left: str, right: str) -> int:
    """How many nodes of the syntax tree differ between two programs. Raises `SyntaxError`."""
    ours, theirs = _nodes(ast.parse(left)), _nodes(ast.parse(right))
    codes = difflib.SequenceMatcher(None, ours, theirs, False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in codes if tag != "equal")


def _nodes(tree: ast.AST) -> list[str]:
    """The nodes of a tree in order, each as its type with its own names and values."""
    if isinstance(tree, _GUARD_NODES):
        return []
    plain = [
        repr(value)
        for _, value in ast.iter_fields(tree)
        if not isinstance(value, ast.AST | list) and value is not None
    ]
    nodes = [" ".join([type(tree).__name__, *plain])]
    for child in ast.iter_child_nodes(tree):
        nodes += [] if isinstance(child, ast.expr_context) else _nodes(child)
    return nodes
