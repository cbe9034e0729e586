"""Computes plans in a process of their own, and passes them to screens when they are done."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.tui.workers import call_on_ui, run_in_thread

if TYPE_CHECKING:
    import subprocess

    from quizapp.interview.blueprint import Blueprint
    from quizapp.scheduling.planner.plan import PlanInputs, StudyPlan
    from quizapp.tui.app import QuizApp

OnPlan = Callable[["StudyPlan | None"], None]


class PlanBridge:
    """At most one plan is computed at a time; a new one voids the one before it."""

    def __init__(self, app: "QuizApp") -> None:
        self._app = app
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = 0

    def compute(self, on_plan: OnPlan) -> None:
        """Plan to the date in the settings; ``on_plan`` receives None if there is nothing to plan."""
        self.stop()
        self._wanted += 1
        run_in_thread(self._app, partial(self._compute, self._wanted, on_plan), "plan")

    def stop(self) -> None:
        """End the process that computes, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    # in a thread

    def _compute(self, number: int, on_plan: OnPlan) -> None:
        from quizapp.interview.blueprint import load_blueprint
        from quizapp.scheduling.planner import plan_process

        inputs: list[PlanInputs | None] = []

        def read_inputs() -> None:
            # The store belongs to the interface's thread. Reading the deck takes some 30 ms.
            inputs.append(self._inputs(blueprint))

        blueprint = load_blueprint()
        call_on_ui(self._app, read_inputs)
        plan = None
        if inputs and inputs[0] is not None and number == self._wanted:
            with contextlib.suppress(OSError):
                self._process = process = plan_process.start()
                plan = plan_process.finish(process, inputs[0])
        call_on_ui(self._app, self._deliver, number, on_plan, plan)

    # in the interface's thread

    def _inputs(self, blueprint: "Blueprint") -> "PlanInputs | None":
        from quizapp.interview.topic_weights import inputs_to_interview

        study = self._app.study
        plan = study.settings.plan
        if plan.until is None or plan.until <= study.today():
            return None
        try:
            return inputs_to_interview(study, blueprint, plan.until, role=plan.role)
        except QuizError as error:  # the role of the settings does not exist
            self._app.say(str(error), bad=True)
            return None

    def _deliver(self, number: int, on_plan: OnPlan, plan: "StudyPlan | None") -> None:
        if number == self._wanted:
            self._process = None
            on_plan(plan)
