"""Live incidents sat by program: through the documents and acts of the screen, with a real judge.

A sitter says what is typed, chosen and bought, which command is stated, and what becomes of the script. The
judge runs the scripts; a run that was made before is not made again, but each stated command is run twice.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from quizapp.incidents.diagnosis import BoughtReading, IncidentSnapshot, StatedDiagnosis
from quizapp.incidents.live.guard import GUARD_MARK, is_repair_attempted
from quizapp.incidents.live.hand_in import measure_hand_in
from quizapp.incidents.live.live_program import LiveProgram, insert_after
from quizapp.incidents.live.live_work import LiveMode, LiveTask, RunCommand
from quizapp.incidents.live.make_task import script_order
from quizapp.incidents.model import NO_FAULT, NOTHING, IncidentLibrary
from quizapp.interview.blueprint import Blueprint
from quizapp.interview.service import Interview
from quizapp.interview.session.live_sitting import LiveSitting, end_run
from quizapp.interview.session.question import InterviewQuestion
from quizapp.judge.client.script_client import ScriptClient
from quizapp.judge.protocol.scripts import ScriptRun
from quizapp.scheduling.service import Study
from tests.interview import incident_sittings as written
from tests.interview.incident_sittings import Choices, Sitting, Words, nothing
from tests.interview.live_attacks import ATTACKS, GUARDS, Attack
from tests.interview.mock_kit import Hand

Command = Callable[[LiveTask], RunCommand | None]
REAL_RUNS = 2
"""How often the same command is really run, so that replays can differ."""


class LiveJudge:
    """Runs scripts in a real judge, and remembers their results."""

    def __init__(self, client: ScriptClient) -> None:
        self._client = client
        self._known: dict[bytes, list[ScriptRun]] = {}
        self._asked: dict[bytes, int] = {}
        self.runs = 0

    def run(self, task: LiveTask, source: str, command: RunCommand, measured: bool) -> ScriptRun:
        """The result of a run, which may be that of an earlier one."""
        order = script_order(task, source, command, measured=measured)
        key = msgspec.json.encode([str(order.folder), source, command, measured, task.options, task.resume])
        known = self._known.setdefault(key, [])
        if len(known) < (1 if measured else REAL_RUNS):
            known.append(self._client.run(order))
            self.runs += 1
        self._asked[key] = self._asked.get(key, -1) + 1
        return known[self._asked[key] % len(known)]


def no_command(_: LiveTask) -> None:
    """No reproduction stated."""


def as_shown(task: LiveTask) -> RunCommand:
    """The command of the broken run whose log everybody sees."""
    return RunCommand(task.steps, task.seed)


def shortest(task: LiveTask) -> RunCommand:
    """The shortest command that shows the symptom."""
    return RunCommand(task.minimal_steps, task.seed)


@dataclass(frozen=True)
class LiveSitter:
    """Somebody who sits a live incident. ``runs`` are made on the script as it was, before the commit."""

    choices: Choices
    words: Words = nothing
    command: Command = as_shown
    source: Attack | None = None
    runs: tuple[Callable[[LiveTask], RunCommand], ...] = ()


class LiveResult(NamedTuple):
    """The mark of a sitting, and its terms by name: points earned and how.

    ``edited`` and ``is_reference`` say whether the script was changed, and whether to the healthy one.
    ``why`` names what of the work was right.
    """

    mark: int
    terms: Mapping[str, tuple[float, str]]
    edited: bool
    is_reference: bool
    why: str

    def points(self, *names: str) -> float:
        """What the named terms earned."""
        return sum(self.terms[name][0] for name in names if name in self.terms)


@dataclass
class LiveRoom:
    """Where incidents are sat: the user's log, the content, and the judge."""

    study: Study
    library: IncidentLibrary
    blueprint: Blueprint
    judge: LiveJudge

    def sit(self, name: str, sitter: LiveSitter, rng: random.Random) -> LiveResult:
        """Sit an incident from its first to its last act."""
        # The seed is always the same, so that sitters share the runs on the unseen one.
        interview = Interview.begin_incident(
            self.study,
            name,
            live=LiveMode.CLOCK,
            seed=1,
            library=self.library,
            blueprint=self.blueprint,
            clock=Hand(),
        )
        interview.start()
        session, sitting = interview.session, LiveSitting(interview.session)
        item = sitting.item
        assert item is not None
        task, asked = item.live_task, item.incident
        chosen = sitter.choices(asked, rng)
        for row in chosen.bought:
            session.buy(row.reading, row.predicted)
        session.type(sitter.words(asked, self._other_than(name), rng))
        stated = chosen.stated or StatedDiagnosis()
        for part in ("cause", "place", "states", "decoy", "reading"):
            if value := getattr(stated, part):
                session.commit(part, value)
        for command in sitter.runs:
            self._run(interview, sitting, command(task))
        if (said := sitter.command(task)) is not None:
            sitting.state(said)
        if not sitting.commit() and sitter.source is not None:
            sitting.edit(sitter.source(task, rng))
        session.submit()
        session.confide(75)
        session.end("early")
        if interview.unjudged():

            def run(source: str, command: RunCommand, measured: bool) -> ScriptRun:
                return self.judge.run(task, source, command, measured)

            result = measure_hand_in(task, item.live_work, run, number=item.seed, healthy=asked.false_alarm)
            interview.measured(0, result)
        return _result(interview)

    def _run(self, interview: Interview, sitting: LiveSitting, command: RunCommand) -> None:
        item = sitting.item
        assert item is not None
        assert sitting.problem_with(command) == ""
        record, _ = sitting.begin_run(command)
        end_run(record, self.judge.run(item.live_task, item.live_task.broken, command, measured=False))
        interview.save()

    def _other_than(self, name: str) -> IncidentSnapshot:
        names = sorted(self.library.incidents)
        other = names[(names.index(name) + 7) % len(names)]
        return written.ask(self.library, other, written.ALONE).incident


def _result(interview: Interview) -> LiveResult:
    item = interview.session.items[0]
    report: dict[str, Any] = interview.record().as_json()
    rows = report["items"][0]["marks"]["terms"]
    terms: dict[str, tuple[float, str]] = {}
    for row in rows:
        points, how = terms.get(row["term"], (0.0, ""))
        terms[row["term"]] = (points + row["points"], f"{how} {row['how']}".strip())
    mark = report["items"][0]["marks"]["total"]
    task, source = item.live_task, item.live_work.script(item.live_task)
    edited = is_repair_attempted(task.broken, source)
    return LiveResult(mark, terms, edited, source == task.healthy, "; ".join(_honest_parts(item)))


def _honest_parts(item: InterviewQuestion) -> Iterator[str]:
    """What of the work was right, whether by chance or not."""
    asked, stated, work = item.incident, item.diagnosis, item.live_work
    if stated.cause == asked.cause:
        yield "the right cause"
    if stated.place == asked.place:
        yield "the right place"
    if any(row.predicted_right for row in item.bought):
        yield "a reading predicted right"
    if asked.false_alarm and item.controlled:
        yield "the control run"
    if work.measured and work.measured.repaired:
        yield "a healthy run left alone" if asked.false_alarm else "a run that is healthy now"
    if work.measured and work.measured.shown:
        yield "a command that shows the symptom"


# choices


def wrong_guess(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """A wrong cause, and one reading; place, rejection and prediction by chance."""
    return _guess(asked, rng, [row.id for row in asked.causes if row.id != asked.cause])


def guess(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """A cause by chance, and one reading; place, states, rejection and prediction by chance."""
    return _guess(asked, rng, [row.id for row in asked.causes])


def _guess(asked: IncidentSnapshot, rng: random.Random, causes: Sequence[str]) -> Sitting:
    reading, cause = rng.choice(asked.readings), rng.choice(causes)
    place = (
        NOTHING if cause == NO_FAULT else rng.choice([row.id for row in asked.places if row.id != NOTHING])
    )
    states = [row.id for row in asked.states if rng.random() < 0.5]
    stated = StatedDiagnosis(cause, place, states, rng.choice(asked.causes).id, reading.id)
    predicted = rng.choice(reading.outcomes)
    return Sitting("", stated, (BoughtReading(reading.id, reading.seconds, predicted, reading.outcome, 0),))


def no_fault_and_a_reading(asked: IncidentSnapshot, rng: random.Random) -> Sitting:
    """No fault, whatever the run, with one reading that is not the control run."""
    sitting = guess(asked, rng)
    row = rng.choice([row for row in asked.readings if row.id != "control-run"])
    bought = BoughtReading(row.id, row.seconds, rng.choice(row.outcomes), row.outcome, 0)
    stated = StatedDiagnosis(NO_FAULT, NOTHING, sitting.stated.states if sitting.stated else [])
    return sitting._replace(stated=stated, bought=(bought,))


# sitters


def _pasted() -> dict[str, LiveSitter]:
    """Words without a choice, and with a guess."""
    words = written.PASTED
    some = ("soup", "denial: It is not true that …", "copied prompt", "another incident's answer")
    rows = {f"{name}; nothing chosen": LiveSitter(written.no_choice, words[name]) for name in some}
    rows |= {f"{name}; cause and reading by chance": LiveSitter(guess, words[name]) for name in some}
    return rows


def adversaries() -> dict[str, LiveSitter]:
    """Everybody who repairs nothing, by kind."""
    rows = _pasted()
    rows["no fault, no reading"] = LiveSitter(written.no_fault)
    rows["no fault, one reading"] = LiveSitter(no_fault_and_a_reading)
    rows["no fault, control run"] = LiveSitter(written.no_fault_controlled)
    rows["all readings, nothing chosen"] = LiveSitter(written.all_bought)
    rows["chance, command as shown"] = LiveSitter(guess)
    rows["chance, shortest command"] = LiveSitter(guess, command=shortest)
    rows["wrong cause, honest reproduction"] = LiveSitter(wrong_guess, command=shortest, runs=(shortest,))
    rows["chance, reference repair in a run"] = LiveSitter(wrong_guess, source=lambda task, _: task.healthy)
    return rows


def attackers() -> dict[str, LiveSitter]:
    """Everybody who does something else to the script than to repair it, with a wrong cause."""
    return {name: LiveSitter(wrong_guess, source=attack) for name, attack in ATTACKS.items()}


def false_guards() -> dict[str, LiveSitter]:
    """The right cause and the reference repair, with a guard that guards nothing."""
    return {
        name: LiveSitter(written.right, written.own_points, shortest, attack)
        for name, attack in GUARDS.items()
    }


def honest(library: IncidentLibrary, name: str) -> dict[str, LiveSitter]:
    """Whoever knows the answer: words, choices, shortest command, reference repair and guard."""
    incident = library.incidents[name]
    program = LiveProgram(incident)
    source: Attack | None = None
    if not incident.false_alarm:
        lines = program.form.guard.splitlines()
        # A line that the guard needs beside its assertions is marked as the learner is told to.
        guard = "\n".join(line if line.startswith("assert") else f"{line}  {GUARD_MARK}" for line in lines)
        guarded = insert_after(program.healthy, program.form.guard_at, guard)
        source = lambda _, __: guarded  # noqa: E731
    alone = LiveSitter(written.right, written.own_points, shortest, source)
    control = (lambda task: RunCommand(task.steps, task.seed + 1),) if incident.false_alarm else (shortest,)
    return {
        "honest, key points": alone,
        "honest, own answer and runs": replace(alone, words=written.own_answer, runs=control),
    }
