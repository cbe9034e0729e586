"""Checks live incidents by running their programs on unseen seeds.

``python -m tools.incident_lab.live [ID...] [--seeds 10] [--plain]`` checks those incidents, by default all
that have a live form. It exits with 1 if a check fails. ``--plain`` runs the scripts without the judge, which
is faster.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from quizapp.errors import QuizError
from quizapp.incidents.live.live_program import LiveProgram
from quizapp.incidents.live.run_log import read_rows, same_rows, shows
from quizapp.incidents.loader import find_incident, load_library
from quizapp.judge.client.script_client import ScriptClient
from quizapp.judge.protocol.scripts import ScriptOrder, ScriptOutcome, ScriptRun
from tools.incident_lab.plain_runs import PlainRunner

FIRST_SEED = 1000
SYMPTOM_SEEDS = 3
Run = Callable[[ScriptOrder], ScriptRun]


@dataclass(frozen=True)
class CheckResult:
    """One line of the table: what was checked, whether it holds, and what was measured."""

    name: str
    holds: bool
    detail: str


class LiveCheck:
    """Checks one live incident. ``run`` runs a script, ``seeds`` are those on which bands are compared."""

    def __init__(self, program: LiveProgram, run: Run, seeds: Sequence[int]):
        self._program = program
        self._run = run
        self._seeds = seeds

    def results(self) -> Iterator[CheckResult]:
        """Run every program and yield what was found, check by check."""
        program = self._program
        healthy = self._runs(program.healthy)
        yield self._judged("healthy passes", healthy, passes=True)
        for number, source in enumerate(program.rights, 1):
            yield self._judged(f"right fix {number} passes", self._runs(source), passes=True)
        broken = healthy
        if not program.incident.false_alarm:
            broken = self._runs(program.broken)
            yield self._judged("broken fails", broken, passes=False)
        for name, source in program.fixes.items():
            yield self._judged(f"decoy {name} fails", self._runs(source), passes=False)
        yield self._symptom(broken)
        yield from self._guards()
        yield self._replay(broken[0])

    def _runs(self, source: str) -> list[ScriptRun]:
        return [self._run(self._program.order(source, seed, measured=True)) for seed in self._seeds]

    def _judged(self, name: str, runs: list[ScriptRun], *, passes: bool) -> CheckResult:
        as_wanted = [run.healthy(self._program.band) == passes for run in runs]
        detail = f"{sum(as_wanted)} of {len(runs)}  {_measured(runs)}"
        odd = next((run for run, right in zip(runs, as_wanted, strict=True) if not right), None)
        if odd is not None:
            outside = (
                f", outside: {', '.join(odd.outside(self._program.band))}" if passes and odd.ended else ""
            )
            detail += f"  (seed {odd.seed}: {odd.outcome}{outside} {odd.text}{odd.changed})"
        return CheckResult(name, all(as_wanted), detail)

    def _symptom(self, runs: list[ScriptRun]) -> CheckResult:
        symptom = self._program.form.symptom
        own = self._run(self._program.order(self._program.broken, self._program.form.seed))
        shown = [shows(symptom, read_rows(run.log)) for run in (own, *runs[: SYMPTOM_SEEDS - 1])]
        short = self._program.form.minimal_steps
        detail = f"{sum(shown)} of {len(shown)}"
        holds = all(shown)
        order = self._program.order(self._program.broken, self._seeds[0], steps=short)
        in_short = shows(symptom, read_rows(self._run(order).log))
        detail += f"; after {short} steps: {'yes' if in_short else 'no'}"
        holds &= in_short
        return CheckResult("symptom shown", holds, detail)

    def _guards(self) -> Iterator[CheckResult]:
        program, seed = self._program, self._seeds[0]
        if not program.incident.false_alarm:
            run = self._run(program.order(program.guarded(program.broken), seed))
            fails = run.outcome == ScriptOutcome.FAILED and "AssertionError" in run.text
            yield CheckResult("guard fails on broken", fails, f"{run.outcome}  {run.text}")
        run = self._run(program.order(program.guarded(program.healthy), seed))
        yield CheckResult("guard holds on healthy", run.ended, f"{run.outcome}  {run.text}")

    def _replay(self, first: ScriptRun) -> CheckResult:
        again = self._run(self._program.order(self._program.broken, first.seed, measured=True))
        timed = self._program.baseline.timed
        same_log = same_rows(first.log, again.log, timed)
        same = same_log and first.checkpoint_hash == again.checkpoint_hash
        detail = f"log {'same' if same_log else 'differs'}, checkpoint {again.checkpoint_hash[:12]}"
        return CheckResult("two runs agree", same, detail)


def _measured(runs: Iterable[ScriptRun]) -> str:
    """The range of each metric over the runs, and how they ended if not all measured."""
    runs = list(runs)
    names = dict.fromkeys(name for run in runs for name in run.metrics)
    parts = []
    for name in names:
        values = [run.metrics[name] for run in runs if name in run.metrics]
        parts.append(f"{name} {min(values):.4g} to {max(values):.4g}")
    outcomes = sorted({run.outcome.value for run in runs if not run.ended})
    return ", ".join([*parts, *outcomes])


def check(program: LiveProgram, run: Run, seeds: Sequence[int]) -> bool:
    """Check one incident and print a table. Returns whether every check holds."""
    sys.stdout.write(f"{program.incident.id}\n")
    holds = True
    try:
        for result in LiveCheck(program, run, seeds).results():
            holds &= result.holds
            sys.stdout.write(f"  {'ok  ' if result.holds else 'FAIL'}  {result.name:28}  {result.detail}\n")
            sys.stdout.flush()
    except QuizError as error:
        sys.stdout.write(f"  FAIL  {error}\n")
        return False
    return holds


def main(arguments: list[str] | None = None) -> int:
    """Check the incidents that are named. Returns 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.incident_lab.live")
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--seeds", type=int, default=10, help="how many unseen seeds (default: 10)")
    parser.add_argument("--plain", action="store_true", help="run the scripts without the judge")
    options = parser.parse_args(arguments)
    library = load_library()
    try:
        named = [find_incident(library, name) for name in options.ids]
        live = named or [one for one in library.incidents.values() if one.live is not None]
        programs = [LiveProgram(incident) for incident in live]
    except QuizError as error:
        parser.exit(2, f"{error}\n")
    seeds = range(FIRST_SEED, FIRST_SEED + max(1, options.seeds))
    if options.plain:
        passed = [check(program, PlainRunner().run, seeds) for program in programs]
    else:
        with ScriptClient() as client:
            passed = [check(program, client.run, seeds) for program in programs]
    sys.stdout.write(f"{sum(passed)} of {len(passed)} incidents hold\n")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
