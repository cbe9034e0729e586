"""The scenes to draw: where the app starts, which keys are pressed, and which steps follow."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from quizapp import paths
from quizapp.judge.authoring.mutants import wrong_submission
from quizapp.judge.verdict import Verdict
from quizapp.scheduling.views import CardFilter
from quizapp.settings.model import PlanSettings
from quizapp.tui.bridges.judge_bridge import PendingSubmission
from quizapp.tui.screens.exercise.exercise_screen import ExerciseScreen
from tests.tui.waiting import opened
from tools.pictures import interviews as at

SLUG = "lora"
Doing = Callable[[Pilot[int]], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """One picture.

    The app begins at the screen ``start``. The ``keys`` are pressed, then ``then`` runs. ``card`` restricts
    a drill to one card. ``fresh`` means a home folder without reviews.
    """

    name: str
    start: str
    keys: tuple[str, ...] = ()
    card: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    then: Doing | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    fresh: bool = False


def verdict(name: str) -> Verdict:
    """Return the real judge's verdict on a file of the exercise.

    Grading is slow, so the verdict is cached in the folder for temporary files.
    """
    kept = Path(tempfile.gettempdir()) / f"quizapp-pictures-{name}.json"
    if not kept.exists():
        folder = paths.exercises() / SLUG
        file = folder / "solution.py"
        if name != "passed":
            file = Path(tempfile.gettempdir()) / f"quizapp-pictures-{name}.py"
            source = "def lora(:\n" if name == "error" else wrong_submission(folder, name).source
            file.write_text(source)
        words = [sys.executable, "-m", "quizapp", "grade", SLUG, str(file), "--json", "--seed", "7"]
        graded = subprocess.run(words, capture_output=True, check=False)  # noqa: S603 - our own command
        kept.write_text(graded.stdout.decode())
    return Verdict.from_json(json.loads(kept.read_text()))


def shows(name: str) -> Doing:
    """Show a verdict on the exercise screen, as if the judge had answered."""

    async def run(pilot: Pilot[int]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, ExerciseScreen)
        await pilot.press("ctrl+r")
        await pilot.pause()
        submission = PendingSubmission(screen.exercise, screen.file.text, "cpu", lambda *_: None)
        screen.grading._on_result(submission, verdict(name), asked=True)
        await pilot.pause()

    return run


async def waits(pilot: Pilot[int]) -> None:
    """Wait until the timers of filters and previews have fired."""
    await pilot.pause(0.4)


async def answers(pilot: Pilot[int]) -> None:
    """Answer until the session ends; one card in four is not recalled."""
    for number in range(12):
        if pilot.app.focused is not None:
            await pilot.press("escape")
        await pilot.press("space", "1" if number % 4 == 3 else "3")
        await pilot.pause()


async def stopped(pilot: Pilot[int]) -> None:
    """Submit, and cancel the grading at once."""
    await pilot.press("ctrl+r", "escape")


def drills(name: str, card: str, *keys: str, **options: Any) -> Scene:
    """Make a scene of a drill with one card."""
    return Scene(name, "drill", keys, card, **options)


def practises(name: str, *keys: str, then: Doing | None = None) -> Scene:
    """Make a scene of the exercise."""
    return Scene(name, "exercise", keys, options=(("slug", SLUG),), then=then)


SAID = "Adam's second moment is noisy early on, so the first steps would be too large."
READ = ("enter", "1")
ASSUMED = "First what I assume: one node of 8 GPUs, bf16, a sequence of 4,096 tokens. Then"
REVIEWED = ("x", "4", *("down",) * 8, "space")
PLANNED = PlanSettings(minutes=75, until=date(2026, 3, 30), role=at.ROLE)
DOCUMENTS = (
    Scene("home", "home"),
    drills("drill", "lr-warmup", "t", *SAID, "ctrl+r", "down"),
    practises("verdict", then=shows("base_not_frozen")),
    Scene("mock", "mock", then=at.asks(at.kind("recall"), *ASSUMED)),
    Scene("scorecard", "mock", then=at.card()),
    Scene("broken-run", "mock", then=at.asks(at.kind("incident"), *READ, "down", "enter", "2")),
    Scene(
        "code-review", "review", ("x", "4", *("down",) * 8, "space"), options=(("slug", SLUG), ("seed", 3))
    ),
    Scene("plan", "plan", then=opened, settings=(("plan", PLANNED),)),
    Scene("statistics", "statistics", ("right",), then=waits),
)
"""The pictures in README.md and docs/, by the names of their files."""
CHOSEN = (*("enter", "down", "enter") * 3, "enter", "enter", "space", "down", "space")
SCENES = (
    Scene("home", "home"),
    Scene("home-fresh", "home", fresh=True),
    Scene("home-down", "home", ("down",) * 30),
    Scene("home-topic", "home", ("t",)),
    drills("recall", "lr-warmup"),
    drills("recall-typing", "lr-warmup", "t", *"the second moment is noisy early"),
    drills("recall-points", "lr-warmup", "t", *"the variance is large", "ctrl+r", "down"),
    drills("recall-end", "lr-warmup", "space", "a", *("pagedown",) * 4),
    drills("recall-followup", "lr-warmup", "space", "n", "n"),
    drills("recall-long", "parallelism-compare", "space"),
    drills("recall-table", "optimizer-comparison-table", "space", "pagedown"),
    drills("recall-code", "lora-implementation", "space", *("pagedown",) * 2),
    drills("confidence", "lr-warmup", "space", settings=(("confidence", True),)),
    drills("numeric", "prenorm-depth-scaling-postnorm-share"),
    drills("numeric-typed", "gradient-accumulation-token-target", *"12e3"),
    drills("numeric-wrong", "gradient-accumulation-token-target", *"12e3", "enter"),
    drills("numeric-long", "activation-checkpointing-segment-peak", *"1", "enter"),
    drills("choice", "amp-step-order-notice-skip", "down"),
    drills("choice-shown", "amp-step-order-notice-skip", "1"),
    drills("choice-math", "distillation-temperature-loss-torch-call", "2"),
    drills("order", "mixed-precision-training-fp16-order", "J"),
    drills("order-shown", "mixed-precision-training-fp16-order", "J", "space"),
    drills("cloze", "checkpoint-contents-exact-resume"),
    drills("cloze-typed", "fp16-vs-bf16-limits", *"0.9", "enter", *"0.95"),
    drills("cloze-shown", "fp16-vs-bf16-limits", *"0.9", "enter", "x", "enter", "y", "enter"),
    drills("cloze-math", "warmup-cosine-implementation-first-update"),
    drills("facts", "lr-warmup", "i"),
    drills("drill-flagged", "lr-warmup", "f"),
    Scene("summary", "drill", options=(("limit", 12),), then=answers),
    Scene("drill-empty", "drill", options=(("flt", CardFilter(ids=frozenset({"none"}))),)),
    Scene("browse", "browse", ("escape", "down"), then=waits),
    Scene("browse-filter", "browse", tuple("topic:dist kind:rec"), then=waits),
    Scene("browse-none", "browse", tuple("zzz"), then=waits),
    Scene("browse-read", "browse", ("escape", "down", "enter"), then=waits),
    Scene("browse-history", "browse", ("escape", "i"), then=waits),
    Scene("exercises", "exercises"),
    Scene("exercises-down", "exercises", ("pagedown", "pagedown")),
    Scene("exercises-filter", "exercises", ("slash", *"prec")),
    practises("exercise"),
    practises("exercise-task", "f2"),
    practises("exercise-code", "f3"),
    practises("exercise-verdict", "f4"),
    practises("exercise-judging", "ctrl+r"),
    practises("exercise-stopped", then=stopped),
    practises("exercise-failed", then=shows("base_not_frozen")),
    practises("exercise-error", then=shows("error")),
    practises("exercise-passed", then=shows("passed")),
    practises("exercise-hint", "ctrl+t"),
    practises("exercise-find", "ctrl+f", *"self"),
    practises("exercise-device", "f5"),
    practises("exercise-past", "ctrl+r", "f6"),
    practises("exercise-solution", "f8"),
    practises("exercise-solved", "f8", "down", "enter"),
    practises("exercise-diff", "f3", "x", "f7"),
    Scene("statistics-fresh", "statistics", fresh=True),
    *(Scene(f"statistics-{n}", "statistics", ("right",) * n, then=waits) for n in range(5)),
    Scene("settings", "settings"),
    Scene("settings-down", "settings", ("down",) * 8),
    Scene("settings-typed", "settings", (*("down",) * 10, "enter", *"nvim")),
    drills("palette", "lr-warmup", "ctrl+p", then=waits),
    drills("palette-typed", "lr-warmup", "ctrl+p", *"exer", then=waits),
    Scene("help-home", "home", ("question_mark",)),
    drills("help-drill", "lr-warmup", "question_mark"),
    practises("help-exercise", "f1"),
    Scene("welcome", "home", fresh=True),
    Scene("tour-date", "tour", ("right",)),
    Scene("tour-role", "tour", ("right", "enter")),
    Scene("tour-minutes", "tour", ("right", "enter", "enter")),
    Scene("tour-ready", "tour", ("right", "enter", "enter", "enter")),
    Scene("plan-none", "plan"),
    Scene("mock", "mock"),
    Scene("mock-cut", "mock", then=at.cut),
    Scene("mock-past", "mock", then=at.past(*("down",) * 5)),
    Scene("mock-history", "mock", then=at.past("t")),
    Scene("mock-brief", "mock", then=at.brief),
    Scene("mock-choice", "mock", then=at.asks(at.kind("choice"), "down")),
    Scene("mock-recall", "mock", then=at.asks(at.kind("recall"), *at.WORDS, after=0.95)),
    Scene("mock-late", "mock", then=at.asks(at.kind("recall"), *at.WORDS, after=1.2)),
    Scene("mock-numeric", "mock", then=at.asks(at.kind("numeric"), *"12e3")),
    Scene("mock-sure", "mock", then=at.sure),
    Scene("mock-followup", "mock", then=at.followed),
    Scene("mock-end", "mock", then=at.asks(at.kind("recall"), "ctrl+e")),
    Scene("mock-time-up", "mock", then=at.time_up),
    Scene("mock-incident", "mock", then=at.asks(at.kind("incident"))),
    Scene("mock-incident-predict", "mock", then=at.asks(at.kind("incident"), "down", "enter")),
    Scene("mock-incident-read", "mock", then=at.asks(at.kind("incident"), *READ, "down", "enter", "2")),
    Scene("mock-incident-answer", "mock", then=at.asks(at.kind("incident"), "f3", *at.WORDS)),
    Scene("mock-incident-cause", "mock", then=at.asks(at.kind("incident"), "f4", "enter")),
    Scene("mock-incident-diagnosis", "mock",
          then=at.asks(at.kind("incident"), *READ, "f4", *CHOSEN)),
    Scene("mock-code", "mock", then=at.asks(at.kind("coding"))),
    Scene("mock-code-task", "mock", then=at.asks(at.kind("coding"), "f2")),
    Scene("mock-code-explain", "mock", then=at.asks(at.kind("coding"), "f4", *at.WORDS)),
    Scene("mock-wrap", "mock", then=at.wrapped),
    Scene("mock-mark", "mock", then=at.marks(at.was("recall"))),
    Scene("mock-mark-phrase", "mock", then=at.marks(at.was("recall"), "y", *"no idea")),
    Scene("mock-mark-all", "mock", then=at.marks(at.was("recall"), *"nnnnnnnnnnnn")),
    Scene("mock-mark-incident", "mock", then=at.marks(at.was("incident"), *"nnnnnnnnnnnnnn")),
    Scene("mock-mark-code", "mock", then=at.marks(at.was("coding"))),
    Scene("mock-card", "mock", then=at.card()),
    Scene("mock-card-end", "mock", then=at.card("pagedown", "pagedown")),
    Scene("mock-report", "mock", then=at.card("r")),
    Scene("mock-arithmetic", "mock", then=at.card("a")),
    Scene("incident", "incident"),
    Scene("incident-cut", "incident", then=at.run_cut),
    Scene("incident-had", "incident", then=at.runs_had(*("pagedown",) * 8)),
    Scene("incident-run", "incident", ("enter",)),
    Scene("incident-end", "incident", ("enter", "ctrl+e")),
    Scene("incident-card", "incident", then=at.run_card()),
    Scene("incident-card-end", "incident", then=at.run_card("pagedown", "pagedown")),
    Scene("incident-report", "incident", then=at.run_card("r")),
)  # fmt: skip
