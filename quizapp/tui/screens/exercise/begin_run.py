"""Begins a run in stages or with faults, and opens its screen."""

import random
from typing import TYPE_CHECKING, Protocol

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.practice.debug_files import DebugFiles
from quizapp.practice.faults import DEFAULT_FAULTS
from quizapp.practice.practice_folder import PracticeMode
from quizapp.practice.stage_files import StageFiles
from quizapp.tui.workers import call_on_ui, run_in_thread
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp


class BeginRun(Protocol):
    """Begins a run of an exercise and opens its screen."""

    def __call__(self, quiz: "QuizApp", exercise: Exercise, *, restart: bool) -> None:
        """``restart`` begins a new run even if one is in progress."""


def begin_stages(quiz: "QuizApp", exercise: Exercise, *, restart: bool) -> None:
    """Open interview mode: the run in progress, or a new one."""
    try:
        StageFiles.open(exercise, quiz.study.now().time, restart=restart)
    except QuizError as error:
        quiz.say(f"The run cannot begin: {error}", bad=True)
        return
    quiz.go("exercise", slug=exercise.slug, mode=PracticeMode.STAGES)


def begin_faults(quiz: "QuizApp", exercise: Exercise, *, restart: bool) -> None:
    """Open code with faults: the run in progress, or a new one, which is graded once in the background."""
    quiz.say(f"Planting {plural(DEFAULT_FAULTS, 'fault')} into the solution …")
    now = quiz.study.now().time
    seed = random.SystemRandom().randrange(1 << 31)

    def work() -> None:
        from quizapp.judge import grade

        try:
            files = None if restart else DebugFiles.continued(exercise, DEFAULT_FAULTS, None)
            if files is None:
                DebugFiles.begin(exercise, now, DEFAULT_FAULTS, seed, lambda source: grade(exercise, source))
        except QuizError as error:
            call_on_ui(quiz, quiz.say, f"No faults were planted: {error}")
            return
        call_on_ui(quiz, show)

    def show() -> None:
        quiz.go("exercise", slug=exercise.slug, mode=PracticeMode.FAULTS)

    run_in_thread(quiz, work, "faults", exclusive=True)
