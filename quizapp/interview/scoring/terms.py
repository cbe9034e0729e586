"""The terms of a mark, by kind of question.

The weights are, by the rules of version 2:

- words, typed: 65 core, 20 depth, 15 production
- words, spoken: 50 core, 20 depth, 15 production, 15 clarity and time
- machine-marked: 90 right, 10 time
- an estimate: 50 number, 40 working, 10 time
- code: 60 hidden behaviors, 20 invariants explained, 10 time, 10 verification
- a code review: see `quizapp.interview.scoring.review_terms`
- an incident: see `quizapp.interview.scoring.incident_terms`, sat live `live_terms` beside it

Version 1 scored clarity and time of every answer in words, weighed every incident as it is weighed by itself,
and let every failed submission but the first cost.
"""

from fractions import Fraction

from quizapp.interview.marking.model import (
    CodingMarking,
    EstimateMarking,
    IncidentMarking,
    MachineMarking,
    Marking,
    ReviewMarking,
    WordsMarking,
)
from quizapp.interview.scoring.arithmetic import (
    CLARITY,
    CODE,
    CORRECTNESS,
    DEBUGGING,
    DEPTH,
    Term,
    less_misconceptions,
    less_text,
    share_of,
    stated_wrong,
    time_term,
    weighted_share,
)
from quizapp.interview.scoring.incident_terms import incident_terms
from quizapp.interview.scoring.live_terms import live_terms
from quizapp.interview.scoring.review_terms import review_terms
from quizapp.interview.session.question import InterviewQuestion
from quizapp.util.text import plural


def own_check_text(*, ran: bool) -> str:
    """Say whether the learner ran a check before the first submission, as the mark requires."""
    return f"{'a' if ran else 'no'} check of your own before the first submission"


def terms_of(item: InterviewQuestion, marking: Marking) -> list[Term]:
    """Return the terms of any question, all zero if it was not reached."""
    match marking:
        case CodingMarking():
            terms = coding_terms(item, marking)
        case EstimateMarking():
            terms = estimate_terms(item, marking)
        case IncidentMarking():
            terms = live_terms(item, marking) if item.live else incident_terms(item, marking)
        case ReviewMarking():
            terms = review_terms(item, marking)
        case WordsMarking():
            terms = recall_terms(item, marking)
        case MachineMarking():
            terms = machine_terms(item, marking)
        case _:
            raise TypeError(f"{type(marking).__name__} has no terms")
    if not item.reached:
        return [Term(t.name, t.dimension, t.weight, Fraction(0), "not reached") for t in terms]
    return terms


def recall_terms(item: InterviewQuestion, marking: WordsMarking) -> list[Term]:
    """Return the terms of an answer in words.

    Without points for depth or production, their weight goes to the core. So does the weight of clarity where
    it is not scored: a typed answer is notes and not prose.
    """
    points, empty = marking.counted_points(), marking.empty
    stated = stated_wrong(marking)
    core = less_misconceptions(weighted_share(points, "core"), stated)
    trade_offs = weighted_share(points, "trade-off")
    production = weighted_share(points, "production")
    depth = [] if trade_offs is None else [trade_offs]
    if asked := [Fraction(0 if empty else row.held) for row in marking.follow_ups if row.asked]:
        depth.append(sum(asked, Fraction(0)) / len(asked))
    main, deep = (DEBUGGING, DEBUGGING) if item.scenario else (CORRECTNESS, DEPTH)
    with_clarity = item.rules == 1 or item.spoken
    core_weight = Fraction(
        50 + (0 if depth else 20) + (0 if production is not None else 15) + (0 if with_clarity else 15)
    )
    terms = [Term("core", main, core_weight, core, less_text(stated))]
    if depth:
        mean = sum(depth, Fraction(0)) / len(depth)
        terms.append(Term("trade-offs", deep, Fraction(20), mean, "mean of trade-off points and follow-ups"))
    if production is not None:
        terms.append(Term("production", deep, Fraction(15), production, "production points held"))
    if not with_clarity:
        return terms
    beats = sum(beat.held for beat in marking.beats)
    built = Fraction(0) if empty else share_of(beats, len(marking.beats))
    half = Fraction(15, 2)
    terms.append(Term("beats", CLARITY, half, built, f"{beats} of {len(marking.beats)} beats"))
    return [*terms, time_term(item, half, core, empty=empty)]


def machine_terms(item: InterviewQuestion, marking: MachineMarking) -> list[Term]:
    """Return the terms of a numeric, choice, order or cloze answer."""
    right = Fraction(0) if marking.empty else share_of(marking.right_parts, max(1, marking.parts))
    main = DEBUGGING if item.scenario else CORRECTNESS
    how = f"{marking.right_parts} of {marking.parts} parts"
    return [
        Term("right", main, Fraction(90), right, how),
        time_term(item, Fraction(10), right, empty=marking.empty),
    ]


def estimate_terms(item: InterviewQuestion, marking: EstimateMarking) -> list[Term]:
    """Return the terms of an estimate: the number, and the steps of the working."""
    number = Fraction(marking.number)
    working = weighted_share(marking.counted_points()) or Fraction(0)
    return [
        Term("number", CORRECTNESS, Fraction(50), number, marking.note),
        Term("working", DEPTH, Fraction(40), working, "steps of the working held"),
        time_term(item, Fraction(10), number, empty=marking.empty),
    ]


def costly_failures(item: InterviewQuestion, marking: CodingMarking) -> int:
    """The failed submissions that cost: all but the first, with stages all but the first of each stage."""
    return item.staged_run.repeated_reds if item.stages else max(0, marking.failed_submissions - 1)


def coding_terms(item: InterviewQuestion, marking: CodingMarking) -> list[Term]:
    """Return the terms of a coding question, from the last verdict before time was up."""
    passed = share_of(marking.behaviours_passed, marking.behaviours)
    explained = weighted_share(marking.points)
    # The first failed submission is free, that of each stage; each further one costs a quarter.
    failures = costly_failures(item, marking)
    verified = max(Fraction(0), int(marking.checked) - Fraction(failures, 4))
    if marking.empty:
        verified = Fraction(0)
    hidden = Fraction(60 if explained is not None else 80)
    how = f"{marking.behaviours_passed} of {marking.behaviours} behaviors"
    terms = [Term("hidden behaviours", CODE, hidden, passed, how)]
    if explained is not None:
        terms.append(Term("invariants", CODE, Fraction(20), explained, "invariants explained"))
    terms.append(time_term(item, Fraction(10), passed, empty=marking.empty))
    first = "the first of its stage" if item.stages else "the first"
    how = f"{own_check_text(ran=marking.checked)}, {plural(failures, 'failed submission')} after {first}"
    return [*terms, Term("verification", CODE, Fraction(10), verified, how)]
