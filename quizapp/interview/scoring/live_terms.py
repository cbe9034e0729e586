"""The terms of a live incident: what the judge measured instead of what was written.

By itself: 35 reproducibility (10 the stated command shows the symptom, 10 two replays agree, 10 it is short,
5 the state), 30 diagnosis, 20 fix (12 healthy band, 5 small, 3 guard), 15 explanation. In an interview the
weights are those of any incident there, with its caps; its fix and its guard are measured.

A command can be copied from the log that everybody is shown, and a healthy run can be left alone by chance.
So a reproduction earns little until something comes of it, and a false alarm needs its control run.
"""

from collections.abc import Iterator
from fractions import Fraction

from quizapp.incidents.live.live_work import REPLAYS, HandIn, LiveTask, LiveWork, unmeasured
from quizapp.interview.marking.model import IncidentMarking
from quizapp.interview.scoring.arithmetic import DEBUGGING, Term
from quizapp.interview.scoring.incident_caps import capped, conclusion_cap, diagnosis_caps
from quizapp.interview.scoring.incident_terms import (
    debugging_term,
    diagnosis_terms,
    explanation_terms,
    hint_terms,
    hypothesis_terms,
    prevention_term,
    state_term,
)
from quizapp.interview.session.question import InterviewQuestion

SHOWN, SAME, SHORT = 10, 10, 10
BAND, SMALL, GUARD = 12, 5, 3
FREE_STEPS, MOST_STEPS = 2, 10
"""A reproduction of up to this many times the shortest earns all, and from the second factor on nothing."""
FREE_NODES = 2
MEASURED_TERMS = (
    "symptom shown",
    "replays agree",
    "short",
    "healthy band",
    "small fix",
    "guard",
    "no diagnosis",
)
CAP_NO_DIAGNOSIS = 10
"""What replay, fix and explanation can earn together where nothing was diagnosed."""
CAP_UNUSED, CAP_UNPROVED = 10, 13
"""What a reproduction of 35 earns if neither a proved cause nor a repair came of it, and what a healthy run
earns of 20 that was left alone without a control run.
"""


def live_terms(item: InterviewQuestion, marking: IncidentMarking) -> list[Term]:
    """Return the terms of a live incident, weighed as in an interview by the rules of version 2."""
    task, work = item.live_task, item.live_work
    measured = work.measured or unmeasured()
    diagnosis = marking.diagnosis
    if item.rules > 1:
        prevention = prevention_term(marking)
        tested = [
            *hypothesis_terms(item, diagnosis),
            _interview_fix(task, measured, edit=diagnosis.edit),
            _proof(item, measured),
        ]
        # Whoever repairs a broken run has understood it, even with another cause committed before.
        understood = _repaired(task, measured)[0] and not item.incident.false_alarm
        caps = [] if understood else diagnosis_caps(item, [prevention], tested)
        terms = [*tested, prevention, *caps]
    else:
        terms = _alone_terms(item, marking, measured)
    return [*terms, *_undiagnosed(item, work, terms), *hint_terms(item)]


def _alone_terms(item: InterviewQuestion, marking: IncidentMarking, measured: HandIn) -> list[Term]:
    """The terms of an incident that is sat by itself, with the caps of a conclusion that does not follow."""
    task, diagnosis = item.live_task, marking.diagnosis
    reproduction = [*_reproduction(task, item.live_work, measured), state_term(diagnosis)]
    others = [
        *diagnosis_terms(diagnosis),
        *_fix(item, task, measured, edit=diagnosis.edit),
        *explanation_terms(marking.counted_points(), marking),
    ]
    # A small change after which the run is healthy shows what was wrong, whatever was committed before it.
    if _repaired(task, measured)[1] and not item.incident.false_alarm:
        return [*reproduction, *others]
    # A cause is right by chance in one of twelve sittings.
    proved = diagnosis.cause and diagnosis.evidence > 0
    terms = [*reproduction, *([] if proved else _unused(reproduction)), *others]
    # Without a cause everything together is capped lower than by the conclusion that is missing.
    return [*terms, *(conclusion_cap(item, terms) if item.diagnosis.cause else ())]


def short_share(steps: int, minimal: int) -> Fraction:
    """How short a reproduction is: 1 up to twice the shortest that is known, 0 from ten times on."""
    over = Fraction(steps, max(1, minimal))
    return min(Fraction(1), max(Fraction(0), (MOST_STEPS - over) / (MOST_STEPS - FREE_STEPS)))


def _reproduction(task: LiveTask, work: LiveWork, measured: HandIn) -> list[Term]:
    shown = measured.shown == REPLAYS
    steps = work.command.steps if work.command else 0
    short = short_share(steps, task.minimal_steps) if shown else Fraction(0)
    how = f"{steps} steps; {task.minimal_steps} are enough"
    agree = "log and checkpoint, bit for bit"
    if not shown:
        how = f"the symptom was not shown; {task.minimal_steps} steps on seed {task.seed} show it"
        agree = "counts only where the symptom is shown"
    return [
        debugging_term("symptom shown", SHOWN, Fraction(int(shown)), measured.replay_text),
        debugging_term("replays agree", SAME, Fraction(int(shown and measured.same)), agree),
        debugging_term("short", SHORT, short, how),
    ]


def _unused(reproduction: list[Term]) -> Iterator[Term]:
    how = f"neither a proved cause nor a repair came of it: at most {CAP_UNUSED} of 35"
    return capped(reproduction, CAP_UNUSED, how)


def _fix(item: InterviewQuestion, task: LiveTask, measured: HandIn, *, edit: bool) -> list[Term]:
    if edit:
        return [
            debugging_term("healthy band", BAND + SMALL + GUARD, Fraction(0), "a change to a healthy run")
        ]
    band, small = _repaired(task, measured)
    terms = [
        debugging_term("healthy band", BAND, band, measured.fix_text),
        debugging_term("small fix", SMALL, small, _size_text(task, measured)),
        debugging_term("guard", GUARD, _guarded(item, measured), measured.guard_text),
    ]
    if item.incident.false_alarm and not item.controlled:
        how = f"left alone without a control run: at most {CAP_UNPROVED} of {BAND + SMALL + GUARD}"
        terms += capped(terms, CAP_UNPROVED, how)
    return terms


def _repaired(task: LiveTask, measured: HandIn) -> tuple[Fraction, Fraction]:
    """The shares for the healthy band and for a small change, which earns nothing unless it repairs."""
    repaired = measured.repaired and not measured.model_changed
    small = repaired and (measured.nodes or 0) <= FREE_NODES * task.repair_nodes
    return Fraction(int(repaired)), Fraction(int(small))


def _size_text(task: LiveTask, measured: HandIn) -> str:
    if measured.nodes is None:
        return "nothing was changed"
    return f"{measured.nodes} nodes of the syntax tree changed; the reference changes {task.repair_nodes}"


def _guarded(item: InterviewQuestion, measured: HandIn) -> Fraction:
    """In a healthy run no guard can fail, so that the control run counts there, as it does as evidence."""
    if item.incident.false_alarm:
        return Fraction(int(item.controlled))
    return Fraction(int(measured.guard_failed and measured.guard_held))


def _interview_fix(task: LiveTask, measured: HandIn, *, edit: bool) -> Term:
    band, small = _repaired(task, measured)
    share = (BAND * band + SMALL * small) / (BAND + SMALL)
    if edit:
        return debugging_term("fix", 10, Fraction(0), "a change to a healthy run")
    return debugging_term("fix", 10, share, f"{measured.fix_text} {_size_text(task, measured)}")


def _proof(item: InterviewQuestion, measured: HandIn) -> Term:
    guarded = measured.guard_failed and measured.guard_held
    how = "a control run" if item.controlled else measured.guard_text
    return debugging_term("guard or control", 10, Fraction(int(guarded or item.controlled)), how)


def _undiagnosed(item: InterviewQuestion, work: LiveWork, terms: list[Term]) -> list[Term]:
    """The cap on what words and commands earn without a named cause, or without any reading or run."""
    if item.diagnosis.cause and (item.bought or work.runs):
        return []
    earned = sum((term.points for term in terms), Fraction(0))
    if earned <= CAP_NO_DIAGNOSIS:
        return []
    lacking = "no reading and no run" if item.diagnosis.cause else "no cause named"
    how = f"{lacking}: at most {CAP_NO_DIAGNOSIS} of 100"
    return [Term("no diagnosis", DEBUGGING, CAP_NO_DIAGNOSIS - earned, Fraction(1), how)]
