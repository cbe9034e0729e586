"""Draws pictures of every screen with real content, a month of reviews, and real verdicts.

``python -m tools.pictures OUT [--size 80x24] [--theme dark] [--only NAME]`` writes an SVG per scene and
contact sheets of several scenes. If ``rsvg-convert`` is installed, the sheets are also written as PNG.
``make pictures`` draws those of README.md and docs/ again.
"""

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from textual.widgets import Input, TextArea

from quizapp import paths
from quizapp.bank.loader import load_bank
from quizapp.bank.model import Bank
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.scheduling.views import CardFilter
from quizapp.settings.model import Settings
from quizapp.store.event_log import Store
from quizapp.tui.app import QuizApp
from quizapp.tui.startup import mark_tour_seen
from tools.pictures.scenes import DOCUMENTS, SCENES, SLUG, Scene

SIZES = ("60x20", "80x24", "120x40", "200x60")
THEMES = ("dark", "light", "contrast", "ansi-dark", "ansi-light", "no-color")
MORNING = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
# The sixteen colors of two typical terminals: a console with a black and a desktop with a white background.
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


class IdleJudge:
    """A judge that grades nothing. The scenes supply verdicts that the real judge gave earlier."""

    is_warm = True

    def warm(self) -> None:
        """Do nothing, because there is no worker to start."""

    def stop(self) -> None:
        """Do nothing, because nothing is running."""

    def cancel(self) -> None:
        """Do nothing, because nothing is running."""

    def submit(self, *_: object, **__: object) -> None:
        """Never answer."""


def history(bank: Bank, folder: Path) -> None:
    """Write a month of reviews and some passed exercises into ``folder``."""
    os.environ["QUIZAPP_HOME"] = str(folder)
    mark_tour_seen()
    clock = FixedClock(MORNING - timedelta(days=34))
    store = Store.open(paths.database(), backups=None)
    with Study(bank, store, Settings(new_per_day=9), clock) as study:
        for day in range(34):
            for number in range(0 if day in {11, 12, 25} else 14 + day % 5):
                due = study.next_card(CardFilter())
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


async def picture(
    scene: Scene, bank: Bank, past: Path, size: str, theme: str, title: str | None = None
) -> str:
    """Draw a scene and return it as SVG. Without a ``title`` it says what was drawn."""
    width, height = map(int, size.split("x"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "home"
        if scene.fresh:
            folder.mkdir()
        else:
            shutil.copytree(past, folder)
        os.environ["QUIZAPP_HOME"] = str(folder)
        if scene.name != "welcome":
            mark_tour_seen()
        os.environ.pop("NO_COLOR", None)
        if theme == "no-color":
            os.environ["NO_COLOR"] = "1"
        settings = Settings(**{"theme": "dark" if theme == "no-color" else theme, **dict(scene.settings)})
        store = Store.open(paths.database(), backups=None)
        # Late enough that the card of the scene is due.
        clock = FixedClock(MORNING + timedelta(days=700 if scene.card else 0))
        with Study(bank, store, settings, clock) as study:
            options: dict[str, Any] = dict(scene.options)
            if scene.card:
                options["flt"] = CardFilter(ids=frozenset({scene.card}))
            if scene.start in {"drill", "exercise", "review"}:
                options["clock"] = lambda: 0.0
            app = QuizApp(scene.start, study=study, **options)
            app.judge = IdleJudge()  # type: ignore[assignment]
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
                    return app.export_screenshot(title=title or f"{scene.name} {size} {theme}")


def without_foreign_fonts(svg: str) -> str:
    """Leave out the fonts that a picture would load from another server; the reader's own font is used."""
    return re.sub(r"@font-face \{[^}]*\}\s*", "", svg)


def for_this_machine(svg: str) -> str:
    """Replace the font of a picture by an installed one of the same width, for ``rsvg-convert``."""
    svg = without_foreign_fonts(svg)
    svg = svg.replace('<text class="', '<text xml:space="preserve" class="')
    svg = re.sub(r"font-family:\s*(Fira Code|arial)[^;]*;", "font-family: DejaVu Sans Mono;", svg)
    return svg.replace("font-size: 20px", "font-size: 20.26px")


def sheets(files: Sequence[Path], out: Path, name: str, columns: int, per_sheet: int) -> Iterable[Path]:
    """Write contact sheets of several pictures in one SVG each, and yield their paths."""
    for start in range(0, len(files), per_sheet):
        group = files[start : start + per_sheet]
        parts, width, height = [], 0.0, 0.0
        for index, file in enumerate(group):
            # Every picture uses the same class names and ids, which would clash within one SVG.
            svg = re.sub(r"\bterminal(-\d+)?-", f"p{index}-", for_this_machine(file.read_text()))
            view_box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
            assert view_box
            width, height = float(view_box[1]), float(view_box[2])
            x, y = index % columns * width, index // columns * height
            place = f'<svg x="{x}" y="{y}" width="{width}" height="{height}" '
            parts.append(svg.replace("<svg ", place, 1))
        rows = -(-len(group) // columns)
        sheet = out / f"sheet-{name}-{start // per_sheet + 1:02d}.svg"
        whole = f'viewBox="0 0 {width * columns} {height * rows}" xmlns="http://www.w3.org/2000/svg"'
        sheet.write_text(f"<svg {whole}>{''.join(parts)}</svg>")
        yield sheet


def png(svg: Path, width: int) -> None:
    """Convert an SVG to a PNG of ``width`` pixels, if the converter is installed."""
    tool = shutil.which("rsvg-convert")
    if tool:
        subprocess.run(  # noqa: S603 - fixed words and our own paths
            [tool, "-w", str(width), "-o", str(svg.with_suffix(".png")), str(svg)], check=True
        )


def main() -> None:
    """Draw the scenes, sizes and themes that the command line asks for."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("out", type=Path)
    words.add_argument("--size", action="append", choices=SIZES)
    words.add_argument("--theme", action="append", choices=THEMES)
    words.add_argument("--only", action="append", help="names of scenes, or their beginnings")
    words.add_argument("--documents", action="store_true", help="only the pictures of README.md and docs/")
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
        if asked.documents:
            for scene in DOCUMENTS:
                drawn = asyncio.run(picture(scene, bank, past, "80x24", "dark", "quizapp"))
                (asked.out / f"{scene.name}.svg").write_text(without_foreign_fonts(drawn))
            return
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
