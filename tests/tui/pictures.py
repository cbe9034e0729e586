"""Pictures of every screen, to be looked at: real content, a month of reviews, real verdicts.

``python tests/tui/pictures.py OUT [--size 80x24] [--theme dark] [--only NAME]`` writes an SVG per scene and,
where ``rsvg-convert`` is installed, a PNG and contact sheets.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import interviews as at
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from quizapp import paths
from quizapp.bank.load import load_bank
from quizapp.bank.model import Bank
from quizapp.judge.verdict import Verdict
from quizapp.memory.days import FixedClock
from quizapp.memory.facts import Filter
from quizapp.memory.rating import Rating
from quizapp.memory.settings import Settings
from quizapp.memory.study import Study
from quizapp.store.store import Store
from quizapp.tui.app import QuizApp
from quizapp.tui.open import tour_seen
from quizapp.tui.screens.exercise import ExerciseScreen

SIZES = ("60x20", "80x24", "120x40", "200x60")
THEMES = ("dark", "light", "contrast", "ansi-dark", "ansi-light", "no-color")
MORNING = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
# what a terminal makes of its sixteen colours: a console's on black, a desktop's on white
TERMINALS = {
    "ansi-dark": TerminalTheme(
        (0, 0, 0), (170, 170, 170),
        [(0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170),
         (170, 170, 170)],
        [(85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255), (255, 85, 255),
         (85, 255, 255), (255, 255, 255)],
    ),
    "ansi-light": TerminalTheme(
        (255, 255, 255), (0, 0, 0),
        [(0, 0, 0), (194, 54, 33), (0, 150, 0), (153, 153, 0), (0, 0, 178), (178, 0, 178), (0, 150, 166),
         (204, 204, 204)],
        [(102, 102, 102), (229, 0, 0), (0, 217, 0), (229, 229, 0), (0, 0, 255), (229, 0, 229), (0, 229, 229),
         (255, 255, 255)],
    ),
}  # fmt: skip
SLUG = "lora"
Doing = Callable[[Pilot[int]], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """One picture: where the app starts and what is pressed there."""

    name: str
    start: str
    keys: tuple[str, ...] = ()
    card: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    then: Doing | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    fresh: bool = False


class Judge:
    """Grades nothing: the scenes bring verdicts that the real judge gave."""

    is_warm = True

    def warm(self) -> None: ...
    def stop(self) -> None: ...
    def cancel(self) -> None: ...
    def submit(self, *_: object, **__: object) -> None: ...


def verdict(name: str) -> Verdict:
    """The real judge's verdict on a file of the exercise; kept for the next picture."""
    kept = Path(tempfile.gettempdir()) / f"quizapp-pictures-{name}.json"
    if not kept.exists():
        folder = paths.exercises() / SLUG
        file = folder / "solution.py" if name == "passed" else folder / "wrong" / f"{name}.py"
        if name == "error":
            file = Path(tempfile.gettempdir()) / "broken.py"
            file.write_text("def lora(:\n")
        words = [sys.executable, "-m", "quizapp", "grade", SLUG, str(file), "--json", "--seed", "7"]
        kept.write_text(subprocess.run(words, capture_output=True, check=False).stdout.decode())
    return Verdict.from_json(json.loads(kept.read_text()))


def shows(name: str) -> Doing:
    """Put a verdict on the exercise screen as the judge's answer would."""

    async def run(pilot: Pilot[int]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, ExerciseScreen)
        await pilot.press("ctrl+r")
        await pilot.pause()
        screen._told(verdict(name))
        await pilot.pause()

    return run


async def waits(pilot: Pilot[int]) -> None:
    """Timers of filters and previews run out."""
    await pilot.pause(0.4)


async def answers(pilot: Pilot[int]) -> None:
    """Answer until the session ends, one in four not recalled."""
    for number in range(12):
        if pilot.app.focused is not None:
            await pilot.press("escape")
        await pilot.press("space", "1" if number % 4 == 3 else "3")
        await pilot.pause()


async def stopped(pilot: Pilot[int]) -> None:
    """The judge was stopped."""
    await pilot.press("ctrl+r", "escape")


def drills(name: str, card: str, *keys: str, **options: Any) -> Scene:
    """A scene of one card."""
    return Scene(name, "drill", keys, card, **options)


def practises(name: str, *keys: str, then: Doing | None = None) -> Scene:
    """A scene of the exercise."""
    return Scene(name, "exercise", keys, options=(("slug", SLUG),), then=then)


READ = ("enter", "1")
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
    drills("numeric-typed", "loss-spike-debug-rollback-tokens", *"12e3"),
    drills("numeric-wrong", "loss-spike-debug-rollback-tokens", *"12e3", "enter"),
    drills("numeric-long", "activation-checkpointing-segment-peak", *"1", "enter"),
    drills("choice", "amp-step-order-notice-skip", "down"),
    drills("choice-shown", "amp-step-order-notice-skip", "1"),
    drills("choice-math", "distillation-temperature-loss-torch-call", "2"),
    drills("order", "mixed-precision-training-fp16-order", "J"),
    drills("order-shown", "mixed-precision-training-fp16-order", "J", "space"),
    drills("cloze", "checkpoint-contents-exact-resume"),
    drills("cloze-typed", "optimizer-comparison-table-defaults", *"0.9", "enter", *"0.95"),
    drills("cloze-shown", "optimizer-comparison-table-defaults", *"0.9", "enter", "x", "enter", "y", "enter"),
    drills("cloze-math", "warmup-cosine-implementation-first-update"),
    drills("facts", "lr-warmup", "i"),
    drills("drill-flagged", "lr-warmup", "f"),
    Scene("summary", "drill", options=(("limit", 12),), then=answers),
    Scene("drill-empty", "drill", options=(("flt", Filter(ids=frozenset({"none"}))),)),
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
    Scene("tour-1", "tour"),
    Scene("tour-2", "tour", ("right",)),
    Scene("tour-3", "tour", ("right", "right")),
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


def history(bank: Bank, folder: Path) -> None:
    """A month of reviews, some exercises passed, in ``folder``."""
    os.environ["QUIZAPP_HOME"] = str(folder)
    tour_seen()
    clock = FixedClock(MORNING - timedelta(days=34))
    store = Store.open(paths.database(), backups=None)
    with Study(bank, store, Settings(new_per_day=9), clock) as study:
        for day in range(34):
            for number in range(0 if day in {11, 12, 25} else 14 + day % 5):
                due = study.next_card(Filter())
                if due is None:
                    break
                rating = Rating((3, 3, 4, 3, 2, 1, 3)[(7 * day + number) % 7])
                study.answer(due.id, rating, seconds=20 + number)
                clock.forward(seconds=40)
            clock.time = clock.time.replace(hour=8, minute=30, second=0) + timedelta(days=1)
        for slug in ("warmup", "layer-norm", "adamw"):
            body = {"status": "passed", "passed": True, "tests": [{"passed": True}]}
            study.record_verdict(slug, body, source_text="x = 1\n", seconds=900)
        study.record_verdict(
            SLUG, {"status": "failed", "passed": False, "tests": [{"passed": False}, {"passed": True}]},
            source_text="x = 2\n", seconds=300,
        )  # fmt: skip


async def picture(scene: Scene, bank: Bank, past: Path, size: str, theme: str) -> str:
    """The scene as SVG."""
    width, height = map(int, size.split("x"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "home"
        if scene.fresh:
            folder.mkdir()
        else:
            shutil.copytree(past, folder)
        os.environ["QUIZAPP_HOME"] = str(folder)
        os.environ.pop("NO_COLOR", None)
        if theme == "no-color":
            os.environ["NO_COLOR"] = "1"
        settings = Settings(**{"theme": "dark" if theme == "no-color" else theme, **dict(scene.settings)})
        store = Store.open(paths.database(), backups=None)
        # late enough that every card of a scene is due
        clock = FixedClock(MORNING + timedelta(days=700 if scene.card else 0))
        with Study(bank, store, settings, clock) as study:
            options: dict[str, Any] = dict(scene.options)
            if scene.card:
                options["flt"] = Filter(ids=frozenset({scene.card}))
            if scene.start in {"drill", "exercise"}:
                options["clock"] = lambda: 0.0
            app = QuizApp(scene.start, study=study, **options)
            app.grader = Judge()  # type: ignore[assignment]
            async with app.run_test(size=(width, height), notifications=True) as pilot:
                await pilot.pause(0.05)
                await pilot.press(*scene.keys)
                await pilot.pause(0.05)
                if scene.then is not None:
                    await scene.then(pilot)
                for field in (*app.screen.query(Input), *app.screen.query(TextArea)):
                    field.cursor_blink = False
                await pilot.pause(0.05)
                with patch("rich.console.SVG_EXPORT_THEME", TERMINALS.get(theme, SVG_EXPORT_THEME)):
                    return app.export_screenshot(title=f"{scene.name} {size} {theme}")


def for_this_machine(svg: str) -> str:
    """The same picture in a font that is installed: widths as the picture's own font has them."""
    svg = re.sub(r"@font-face \{[^}]*\}", "", svg)
    svg = svg.replace('<text class="', '<text xml:space="preserve" class="')
    svg = re.sub(r"font-family:\s*(Fira Code|arial)[^;]*;", "font-family: DejaVu Sans Mono;", svg)
    return svg.replace("font-size: 20px", "font-size: 20.26px")


def sheets(files: Sequence[Path], out: Path, name: str, columns: int, per_sheet: int) -> Iterable[Path]:
    """Contact sheets: several pictures in one SVG."""
    for start in range(0, len(files), per_sheet):
        group = files[start : start + per_sheet]
        parts, width, height = [], 0.0, 0.0
        for index, file in enumerate(group):
            svg = re.sub(r"\bterminal(-\d+)?-", f"p{index}-", for_this_machine(file.read_text()))
            found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
            assert found
            width, height = float(found[1]), float(found[2])
            x, y = index % columns * width, index // columns * height
            place = f'<svg x="{x}" y="{y}" width="{width}" height="{height}" '
            parts.append(svg.replace("<svg ", place, 1))
        rows = -(-len(group) // columns)
        sheet = out / f"sheet-{name}-{start // per_sheet + 1:02d}.svg"
        whole = f'viewBox="0 0 {width * columns} {height * rows}" xmlns="http://www.w3.org/2000/svg"'
        sheet.write_text(f"<svg {whole}>{''.join(parts)}</svg>")
        yield sheet


def png(svg: Path, width: int) -> None:
    """Convert, where the converter is installed."""
    tool = shutil.which("rsvg-convert")
    if tool:
        subprocess.run([tool, "-w", str(width), "-o", str(svg.with_suffix(".png")), str(svg)], check=True)


def main() -> None:
    """Draw what was asked for."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("out", type=Path)
    words.add_argument("--size", action="append", choices=SIZES)
    words.add_argument("--theme", action="append", choices=THEMES)
    words.add_argument("--only", action="append", help="names of scenes, or their beginnings")
    words.add_argument("--columns", type=int, default=2)
    words.add_argument("--per-sheet", type=int, default=6)
    words.add_argument("--width", type=int, default=1120, help="of a sheet, in pixels")
    asked = words.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "QUIZAPP_ASCII": "0", "TZ": "UTC"}
    bank = load_bank()
    with tempfile.TemporaryDirectory() as name:
        past = Path(name)
        history(bank, past)
        for theme in asked.theme or THEMES[:1]:
            for size in asked.size or SIZES:
                files = []
                for scene in SCENES:
                    if asked.only and not scene.name.startswith(tuple(asked.only)):
                        continue
                    file = asked.out / f"{theme}-{size}-{scene.name}.svg"
                    file.write_text(asyncio.run(picture(scene, bank, past, size, theme)))
                    files.append(file)
                for sheet in sheets(files, asked.out, f"{theme}-{size}", asked.columns, asked.per_sheet):
                    png(sheet, asked.width)


if __name__ == "__main__":
    main()
