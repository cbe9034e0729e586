"""The tutor as a server for assistants, in the Model Context Protocol. It decides nothing.

Only this module imports the SDK, which is an extra of the package.
"""

import signal
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from quizapp import __version__
from quizapp.errors import QuizError
from quizapp.exchange.tutor.card_session import CardSession
from quizapp.exchange.tutor.exercise_coach import ExerciseCoach
from quizapp.exchange.tutor.overview import Overview, Rehearsal
from quizapp.exchange.tutor.results import (
    BrokenRuns,
    FrozenAnswer,
    GivenHint,
    Grade,
    MarkedPoint,
    ProposedMarks,
    RatedCard,
    RevealedAnswer,
    StudyStatus,
    TutorQuestion,
)

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

INSTRUCTIONS = """\
You help a person who prepares for an interview about training ML models. Ask, hint, and review; do not give
away answers and do not write the solution of an exercise.

A question goes through next_question, submit_answer, reveal, propose_marks (if it was answered in words),
and rate, in that order. Pass the learner's own words to submit_answer, unchanged: they are frozen. Mark a key
point only with a quote that stands word for word in the frozen answer. The learner decides on the rating.
"""
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

P = ParamSpec("P")
R = TypeVar("R")
_Tool = Callable[..., Awaitable[object]]


class _Tools:
    """The tools. Each runs on the event loop, so that the states change in the order of the calls.

    Only the judge and the plan, which take seconds and touch no state, run beside it.
    """

    def __init__(self, study: "Study", rehearsal: Rehearsal) -> None:
        self._cards = CardSession(study)
        self._coach = ExerciseCoach(study)
        self._overview = Overview(study, rehearsal)
        self._one_judge = anyio.CapacityLimiter(1)

    async def next_question(self, topic: str = "", skip: bool = False) -> TutorQuestion:
        """Get the open question, or else the next one that is due; topic narrows the choice.

        skip leaves an open question that was not revealed; it comes back later, and nothing is logged.
        """
        return self._cards.ask(topic, skip=skip)

    async def submit_answer(self, answer: str, unknown: bool = False) -> FrozenAnswer:
        """Freeze the learner's own answer, word for word; unknown if they say that they do not know."""
        return self._cards.submit(answer, unknown=unknown)

    async def reveal(self) -> RevealedAnswer:
        """Show the full answer, its key points, and what the program proposes; only after submit_answer."""
        return self._cards.reveal()

    async def propose_marks(self, marks: list[MarkedPoint]) -> ProposedMarks:
        """Say which key points the frozen answer shows; only after reveal, for questions answered in words.

        Each mark is the number of a key point and a quote of at least three words (or the whole answer) that
        stands in the frozen answer word for word. The marks replace those that stood before.
        """
        return self._cards.propose_marks(marks)

    async def rate(self, rating: int) -> RatedCard:
        """Log the rating that the learner decided on: 1 Again, 2 Hard, 3 Good, 4 Easy; only after reveal."""
        return self._cards.rate(rating)

    async def status(self) -> StudyStatus:
        """Tell what is due today, the statistics, and the plan, if the settings have an interview's date."""
        inputs = self._overview.plan_inputs()
        plan = await anyio.to_thread.run_sync(inputs.plan) if inputs else None
        return self._overview.status(plan)

    async def grade(self, exercise: str, file: str = "") -> Grade:
        """Run the hidden tests on the learner's file, or on another Python file in the folder of exercises.

        A grade of the learner's own file counts as a submission, so let the learner ask for it.
        """
        opened = self._coach.open(exercise, file)
        verdict = await anyio.to_thread.run_sync(
            opened.judge, limiter=self._one_judge, abandon_on_cancel=True
        )
        return self._coach.close(opened, verdict)

    async def hint(self, exercise: str) -> GivenHint:
        """Give the next hint that fits the last grade. Hints lower the rating, so let the learner ask."""
        return self._coach.hint(exercise)

    async def incident_readings(self, incident: str = "") -> BrokenRuns:
        """List the broken training runs, or show one's brief with the price of each reading.

        Results of readings are shown only in the app, where they cost time of the learner's clock.
        """
        return self._overview.broken_runs(incident)


def build_server(study: "Study", rehearsal: Rehearsal) -> MCPServer:
    """A server for one conversation with one learner."""
    server = MCPServer("quizapp", instructions=INSTRUCTIONS, version=__version__, log_level="CRITICAL")
    tools = _Tools(study, rehearsal)
    named: tuple[_Tool, ...] = (
        tools.next_question,
        tools.submit_answer,
        tools.reveal,
        tools.propose_marks,
        tools.rate,
        tools.status,
        tools.grade,
        tools.hint,
        tools.incident_readings,
    )
    readers: tuple[_Tool, ...] = (tools.status, tools.incident_readings)
    for tool in named:
        annotations = _READS if tool in readers else _WRITES
        server.add_tool(_in_one_line(tool), annotations=annotations, structured_output=True)
    return server


def _in_one_line(tool: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Turn errors into one line for the client, as on the command line."""

    @wraps(tool)
    async def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return await tool(*args, **options)
        except QuizError as error:
            raise ToolError(" ".join(str(error).split())) from None
        except Exception as error:  # noqa: BLE001 - logged in full and reported as one line
            from quizapp.util.log import write_crash

            raise ToolError(f"an internal error; details are in {write_crash(error)}") from None

    return call


def serve(study: "Study", rehearsal: Rehearsal) -> None:
    """Serve one client on stdin and stdout, until it closes them."""
    # Nothing is lost, since each change is on disk when its call returns. Python's own handling of ctrl+c
    # would wait for the next line of input.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    build_server(study, rehearsal).run("stdio")
