"""Statistics: five pages of figures and plots."""

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.color import Color
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from quizapp import paths
from quizapp.tui import actions
from quizapp.tui.rendering import statistics_text
from quizapp.tui.screens.base import Place
from quizapp.tui.widgets.tab_strip import TabStrip

if TYPE_CHECKING:
    from quizapp.scheduling.views import StudyStatistics


class StatisticsScreen(Place):
    """Five pages that share one text widget and one plot."""

    place = "statistics"
    BINDINGS: ClassVar[list[object]] = actions.bindings("statistics")  # type: ignore[assignment]
    CSS_PATH = "statistics.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._page = 0
        self._stats: StudyStatistics | None = None
        self._plot: Any = None

    def body(self) -> ComposeResult:
        """The pages' names, then the page."""
        yield TabStrip(id="tabs", classes="bar")
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static("", id="figures", markup=False)

    def on_mount(self) -> None:
        """Compute once the data is open."""
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Compute and show the first page."""
        self._stats = self.quiz.study.stats()
        self._show()

    def on_resize(self) -> None:
        """Lay out the bars for the new width."""
        self._show()

    def _show(self) -> None:
        stats = self._stats
        if stats is None:
            return
        self._show_tabs()
        width = max(40, min(110, self.size.width - 6))
        names = {slug: topic.name for slug, topic in self.quiz.bank.topics.items()}
        # Functions, so that only the current page is computed.
        text = (
            lambda: statistics_text.overview(stats, width),
            lambda: statistics_text.calibration(stats),
            lambda: statistics_text.load(stats, self.quiz.study.today(), self._marks()),
            lambda: statistics_text.groups(stats, names, width),
            lambda: statistics_text.exercises(self.quiz.study, width),
        )[self._page]()
        self.query_one("#figures", Static).update(text)
        self._show_plot(stats)
        self.query_one("#scroll").scroll_home(animate=False)

    def _show_tabs(self) -> None:
        page = self._page
        tabs = self.query_one("#tabs", TabStrip)
        tabs.show(statistics_text.PAGES, page, lambda index: f"screen.page({index - page})")

    def _show_plot(self, stats: "StudyStatistics") -> None:
        wanted = self._page in {1, 2}
        if not wanted:
            if self._plot is not None:
                self._plot.display = False
            return
        if self._plot is None:
            from textual_plotext import PlotextPlot  # 25 ms and 4 MB, only for plots

            self._plot = PlotextPlot(id="plot")
            self._plot.theme = "clear"
            self.query_one("#scroll").mount(self._plot)
        self._plot.display = True
        self._plot.styles.height = self._room()
        self._draw_plot(self._plot.plt, stats)
        self._plot.refresh()

    def _marks(self) -> tuple[str, str]:
        """The characters of the bars for reviews done and cards due: two shades, also without color."""
        return "█", "▒"

    def _room(self) -> int:
        """The height of a plot in lines: what the text leaves, so that the axis is visible."""
        text = self.query_one("#figures", Static)
        used = text.get_content_height(self.size, self.size, max(40, self.size.width - 5))
        return max(7, min(24, self.size.height - used - 4))

    def _draw_plot(self, plot: Any, stats: "StudyStatistics") -> None:
        """Draw the page's plot, colors from the theme."""
        plot.clear_figure()
        plot.canvas_color(self._color("background"))
        plot.axes_color(self._color("background"))
        plot.ticks_color(self._color("text-muted"))
        done, due = self._color("primary"), self._color("accent")
        if self._page == 1:
            bins = [item for item in stats.calibration if item.reviews]
            plot.plot([50, 100], [50, 100], marker="dot", color=self._color("text-muted"))
            plot.scatter(
                [100 * b.predicted for b in bins], [100 * b.recalled for b in bins], marker="●", color=done
            )
            plot.xlim(50, 100)
            plot.ylim(min([50, *(100 * b.recalled for b in bins)]), 100)
            marks = list(range(50, 101, 10))
            plot.xticks(marks)
            plot.yticks(marks if self._room() >= 14 else [50, 75, 100] if self._room() >= 10 else [50, 100])
            return
        today = self.quiz.study.today()
        reach = 28 if self.size.width >= 110 else 14  # narrower days would hide an empty one
        past = [((day - today).days, count) for day, count in stats.per_day]
        past = [pair for pair in past if pair[0] >= -reach]
        coming = [((day - today).days, count) for day, count in stats.forecast][: reach + 1]
        for pairs, color, marker in zip((past, coming), (done, due), self._marks(), strict=True):
            if pairs:
                days, counts = [day for day, _ in pairs], [count for _, count in pairs]
                plot.bar(days, counts, color=color, width=0.8, marker=marker)
        plot.yticks(
            statistics_text.steps(max((count for _, count in [*past, *coming]), default=0), self._room() - 3)
        )
        marks = list(range(-reach, reach + 1, 7))
        plot.xticks(marks, [f"{mark:+d}" if mark else "today" for mark in marks])

    def _color(self, name: str) -> Any:
        """A theme color for the plotter: an RGB triple, an ANSI index, or "default"."""
        value = self.app.theme_variables.get(name, "").split()
        color = Color.parse(value[0]) if value and not value[0].startswith("auto") else None
        if color is None or color.ansi is not None:
            return "default" if color is None or color.ansi == -1 else color.ansi
        return color.rgb

    def scroller(self) -> Widget:
        """The page."""
        return self.query_one("#scroll")

    def action_page(self, direction: int) -> None:
        """Go to another page."""
        self._page = (self._page + direction) % len(statistics_text.PAGES)
        self._show()

    def action_export(self) -> None:
        """Write CSV and SVG."""
        if self._stats is None:
            return
        folder = paths.home() / "exports"
        try:
            written = statistics_text.export(self._stats, folder, self.app.export_screenshot())
        except OSError as error:
            self.quiz.say(f"{folder} cannot be written: {error.strerror}.", bad=True)
            return
        self.quiz.say(f"Written: {', '.join(path.name for path in written)} in {folder}")
