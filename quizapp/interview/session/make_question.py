"""Makes the questions of an interview from its paper, and the bank's types from stored questions."""

from dataclasses import replace

from quizapp.bank import Level, QuestionKind
from quizapp.bank.model import Bank, Question
from quizapp.bank.parameters import SampledQuestion
from quizapp.incidents.diagnosis import snapshot
from quizapp.incidents.live.live_work import LiveMode, LiveWork
from quizapp.incidents.live.make_task import make_task
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview.code_review.sample_review import sample_review
from quizapp.interview.paper.code_rounds import debug_program
from quizapp.interview.paper.model import PaperQuestion
from quizapp.interview.rounds.material import RoundMaterial
from quizapp.interview.session.asked import (
    AskedChoice,
    AskedCloze,
    AskedNumber,
    AskedOrder,
    ask_about_live_run,
    ask_about_runs,
    ask_debugging,
    ask_exercise,
    ask_hypotheses,
    ask_question,
    ask_review,
)
from quizapp.interview.session.question import (
    CODING,
    DEBUG,
    ESTIMATE,
    FAULTS_STAGE,
    INCIDENT,
    REVIEW,
    Asked,
    AskedStage,
    FollowUpAnswer,
    InterviewQuestion,
)

INCIDENT_RULES = 2
"""The version of the rules by which a new incident is marked."""


def make_question(
    number: int,
    pick: PaperQuestion,
    bank: Bank,
    library: IncidentLibrary | None = None,
    material: RoundMaterial | None = None,
    *,
    rules: int = 1,
    spoken: bool = False,
) -> InterviewQuestion:
    """Build the question for a place in a paper, with everything that asking and marking it needs.

    ``rules`` is the version of the rules that will score it.
    """
    follow_ups: list[FollowUpAnswer] = []
    stages: list[AskedStage] = []
    asked: Asked
    if pick.about:
        assert library is not None
        incidents = [library.incidents[name] for name in pick.about]
        runs = [snapshot(incident, library, pick.seed) for incident in incidents]
        script = make_task(incidents[0], library) if pick.live else None
        asked = ask_about_live_run(runs[0], script) if script else ask_about_runs(runs)
    elif pick.slot in ("hypotheses", DEBUG):
        exercise = bank.exercises[pick.exercise]
        program = debug_program(exercise, pick.seed)
        asked = ask_hypotheses(exercise, program) if pick.slot != DEBUG else ask_debugging(exercise, program)
        if pick.slot == DEBUG:
            numbers = tuple(fault.behaviour for fault in program.faults)
            stages = [AskedStage(FAULTS_STAGE, pick.budget // 60, "", numbers)]
    elif pick.kind == REVIEW:
        asked = ask_review(sample_review(bank.exercises[pick.exercise], pick.seed))
    elif pick.kind == INCIDENT:
        assert library is not None
        incident = library.incidents[pick.incident]
        task = make_task(incident, library) if pick.live else None
        asked = snapshot(incident, library, pick.seed, task)
    elif pick.kind == CODING:
        exercise = bank.exercises[pick.exercise]
        asked = ask_exercise(exercise, staged=bool(pick.stages))
        stages = [
            AskedStage(stage.name, stage.minutes or exercise.minutes, stage.brief, stage.behaviours)
            for stage in exercise.stages
            if stage.name in pick.stages
        ]
    else:
        question = _content(pick, bank, material)
        asked = ask_question(question, pick.seed)
        rows = zip(question.follow_ups, pick.follow_ups, strict=False)
        follow_ups = [FollowUpAnswer(row.ask, row.answer, seconds) for row, seconds in rows]
    return InterviewQuestion(
        number,
        pick.slot,
        pick.phase,
        pick.card,
        pick.exercise,
        pick.topic,
        pick.level,
        pick.kind,
        pick.planned,
        pick.budget,
        pick.seed,
        pick.recall,
        pick.unseen,
        asked,
        follow_ups,
        rules=rules,
        spoken=spoken,
        stages=stages,
        live=LiveWork(practice=pick.live is LiveMode.PRACTICE) if pick.live and not pick.about else None,
        incident_rules=INCIDENT_RULES if pick.kind == INCIDENT else 1,
    )


def _content(pick: PaperQuestion, bank: Bank, material: RoundMaterial | None) -> Question:
    """The question of the bank, or of what only interviews ask."""
    if pick.card in bank.questions or material is None:
        return bank.questions[pick.card]
    return material.questions[pick.card]


def bank_question(item: InterviewQuestion) -> Question:
    """Rebuild the question as the bank's type from the stored fields alone."""
    asked = item.asked
    question = Question(
        id=item.card,
        topic=item.topic,
        level=Level(item.level),
        kind=QuestionKind.NUMERIC if item.kind == ESTIMATE else QuestionKind(item.kind),
        prompt=asked.prompt,
        answer=asked.answer,
        exercise=item.exercise,
        say=asked.say,
        key_points=item.key_points,
        misconceptions=tuple(asked.misconceptions),
        follow_ups=tuple(asked.follow_ups),
    )
    match asked:
        case AskedNumber():
            return replace(question, unit=asked.unit, tolerance=asked.tolerance)
        case AskedChoice():
            return replace(question, options=tuple(asked.options))
        case AskedOrder():
            return replace(question, steps=tuple(asked.steps))
        case AskedCloze():
            return replace(question, text=asked.text)
        case _:
            return question


def sampled_values(item: InterviewQuestion) -> SampledQuestion:
    """Rebuild a numeric question with its values filled in from the stored fields alone."""
    asked = item.asked
    if not isinstance(asked, AskedNumber):
        return SampledQuestion(asked.prompt, asked.answer)
    return SampledQuestion(asked.prompt, asked.answer, asked.worked, {}, asked.result)
