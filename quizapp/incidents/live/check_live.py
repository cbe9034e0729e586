"""Checks the live forms of incidents and their baselines without running them."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from quizapp.bank.model import Fault
from quizapp.errors import QuizError
from quizapp.incidents.live.baseline import DESCRIPTION, MEASURE, SCRIPT, Baseline, read_baseline
from quizapp.incidents.live.live_program import insert_after
from quizapp.incidents.model import Incident, LiveForm
from quizapp.judge.authoring.mutants import EditError, MutantEdit, apply_edits
from quizapp.util.suggest import did_you_mean


def baseline_faults(folder: Path) -> list[Fault]:
    """The faults of every baseline in the folder of the incidents."""
    baselines = sorted(path.parent for path in folder.glob(f"*/{DESCRIPTION}"))
    faults = [fault for baseline in baselines for fault in read_baseline(baseline)[1]]
    return faults + [fault for baseline in baselines for fault in _measure_faults(baseline)]


def _measure_faults(folder: Path) -> Iterator[Fault]:
    path = folder / MEASURE
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        yield Fault(str(path), getattr(error, "lineno", None) or 1, f"is not a Python file: {error}")
        return
    if not any(isinstance(node, ast.FunctionDef) and node.name == "measure" for node in tree.body):
        yield Fault(str(path), 1, "lacks measure(checkpoint, seed, options); define it")


def live_faults(incident: Incident, folder: Path) -> list[Fault]:
    """The faults of an incident's live form; ``folder`` is that of the incidents."""
    if incident.live is None:
        return []
    return _LiveChecker(incident, incident.live, folder).faults()


@lru_cache(256)
def _tree(source: str) -> str:
    """The syntax tree as text. Many incidents share a healthy script, and its fixes a broken one."""
    return ast.dump(ast.parse(source))


class _LiveChecker:
    """Looks for everything in one live form that does not fit."""

    def __init__(self, incident: Incident, form: LiveForm, folder: Path):
        self._incident = incident
        self._form = form
        self._folder = folder
        self._faults: list[Fault] = []

    def faults(self) -> list[Fault]:
        """Return all faults. Without a broken script, those that depend on it are left out."""
        self._check_vocabulary()
        baselines = sorted(path.parent.name for path in self._folder.glob(f"*/{DESCRIPTION}"))
        if self._form.baseline not in baselines:
            known = did_you_mean(self._form.baseline, baselines, "add its folder", most=1)
            self._add("baseline", f"there is no baseline '{self._form.baseline}'; {known}")
            return self._faults
        baseline, _ = read_baseline(self._folder / self._form.baseline)
        if baseline is None:
            return self._faults  # its faults are listed with it
        healthy = self._edited(baseline.script, self._form.setup, "setup", may_be_empty=True)
        broken = self._edited(healthy, self._form.edits, "edits", may_be_empty=self._incident.false_alarm)
        if broken:
            for name, edits in self._form.decoys.items():
                self._edited(broken, edits, name)
            for edits in self._form.right:
                self._edited(broken, edits, "right")
            self._check_guard(broken, healthy)
        self._check_run(baseline)
        return self._faults

    def _add(self, key: str, text: str, line: int = 0) -> None:
        text = f"incident '{self._incident.id}': {text}"
        self._faults.append(Fault(self._incident.file, line or self._line_of(key), text))

    def _line_of(self, key: str) -> int:
        """The line of a key of the live form."""
        pattern = re.compile(rf"\s*{re.escape(key)}\s*:")
        lines = Path(self._incident.file).read_text(encoding="utf-8-sig").splitlines()
        numbered = list(enumerate(lines, 1))[self._form.line - 1 :]
        return next((number for number, text in numbered if pattern.match(text)), self._form.line)

    def _check_vocabulary(self) -> None:
        if self._incident.false_alarm and self._form.edits:
            self._add("edits", "a false alarm has no fault; remove the edits, or put them under 'setup'")
        if not self._form.decoys:
            self._add("decoys", "no decoy has a fix; say what somebody who believes one would change")
        for name in self._form.decoys:
            if name not in self._incident.decoys:
                hint = did_you_mean(name, self._incident.decoys, "name one of its decoys", most=1)
                self._add(name, f"'{name}' is no decoy of this incident; {hint}")

    def _edited(
        self, source: str, edits: tuple[MutantEdit, ...], key: str, *, may_be_empty: bool = False
    ) -> str:
        """The source with the edits; empty, and a fault, if they do not fit or change nothing."""
        if not source or not edits:
            if source and not may_be_empty:
                self._add(key, f"'{key}' has no edits; add at least one")
            return source if may_be_empty else ""
        try:
            edited = apply_edits(source, edits, SCRIPT)
        except EditError as error:
            self._add(key, f"'{key}' cannot be applied: {error}", error.line)
            return ""
        try:
            same = _tree(edited) == _tree(source)
        except SyntaxError as error:
            text = f"'{key}' leaves a script that is not valid Python: line {error.lineno}, {error.msg}"
            self._add(key, text, edits[0].line)
            return ""
        if same:
            self._add(key, f"'{key}' leaves the same program; change the code", edits[0].line)
            return ""
        return edited

    def _check_guard(self, broken: str, healthy: str) -> None:
        for source, name in ((broken, "broken"), (healthy, "healthy")):
            try:
                ast.parse(insert_after(source, self._form.guard_at, self._form.guard))
            except QuizError as error:
                self._add("guard_at", f"{error} (the {name} one)")
                return
            except SyntaxError as error:
                where = f"line {error.lineno}, {error.msg}"
                self._add("guard", f"with the guard, the {name} script is not valid Python: {where}")
                return

    def _check_run(self, baseline: Baseline) -> None:
        symptom, steps = self._form.symptom, self._form.steps or baseline.steps
        names = [field.name for field in baseline.fields]
        for field in (symptom.field, symptom.equal_to):
            if field and field not in names:
                hint = did_you_mean(field, names, f"the fields of its log are {', '.join(names)}", most=1)
                self._add("symptom", f"the baseline's log has no field '{field}'; {hint}")
        if symptom.at is not None and symptom.at >= steps:
            self._add("symptom", f"a run ends after {steps} steps, before step {symptom.at}; correct 'at'")
        elif symptom.at is not None and symptom.at >= self._form.minimal_steps:
            hint = (
                f"a run of {self._form.minimal_steps} steps ends before step {symptom.at} shows the symptom"
            )
            self._add("minimal_steps", f"{hint}; make it at least {symptom.at + 1}")
        if self._form.minimal_steps > steps:
            self._add("minimal_steps", f"a run has only {steps} steps; correct 'minimal_steps'")
