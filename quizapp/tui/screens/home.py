"""Home: what is due, how long it takes, streak, topics, and where to go from there."""

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from quizapp.tui import actions
from quizapp.tui.rendering.text import link
from quizapp.tui.screens.base import Place
from quizapp.tui.widgets.heatmap import HeatMap
from quizapp.tui.widgets.lines import Lines
from quizapp.tui.widgets.meter import meter
from quizapp.util.sanitize import one_line
from quizapp.util.text import duration, plural

if TYPE_CHECKING:
    from quizapp.scheduling.views import QueueCounts, TopicProgress

DAYS_SHOWN = 53 * 7


class TopicList(Lines):
    """Progress per topic, one line each; a click drills the topic."""

    def __init__(self) -> None:
        super().__init__()
        self._topics: list[TopicProgress] = []

    def show(self, topics: "list[TopicProgress]") -> None:
        """Show the topics that have questions."""
        self._topics = [topic for topic in topics if topic.total]
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """A line per topic: name, bar, learned of all cards, due cards, and whether the topic is weak."""
        if not self._topics:
            return [Content.styled("…", "$text-muted")]
        longest = max(len(topic.name) for topic in self._topics)
        name_width = min(34, longest, max(16, width - 30))
        bar = max(6, min(60, width - name_width - 24))
        return [self._line(topic, name_width, bar) for topic in self._topics]

    @staticmethod
    def _line(topic: "TopicProgress", name_width: int, bar: int) -> Content:
        name = one_line(topic.name)
        if len(name) > name_width:
            name = name[: name_width - 1] + "…"
        share = topic.learned / topic.total
        style = "$warning" if topic.weak else "$success"
        line = Content.assemble(
            link(f"{name:<{name_width}}", f"screen.drill_topic('{topic.topic}')"),
            "  ",
            meter([(share, style, "█")], bar),
            _standing(topic),
        )
        weak = Content.styled("  weak" if topic.weak else "", "$warning")
        return line.append(weak)


def _standing(topic: "TopicProgress") -> Content:
    due = Content.styled(f"  {topic.due} due" if topic.due else "", "$accent")
    return Content(f"  {topic.learned:>3}/{topic.total:<3}").append(due)


class HomeScreen(Place):
    """The first screen."""

    place = "home"
    needs_data = False
    BINDINGS: ClassVar[list[object]] = actions.bindings("home")  # type: ignore[assignment]
    CSS_PATH = "home.tcss"

    def body(self) -> ComposeResult:
        """Today's counts, the calendar, the next steps, the topics."""
        # The style sheet fixes the heights, so that nothing jumps when the data arrives.
        yield Static("", id="head", classes="bar", markup=False)
        with VerticalScroll(id="home", can_focus=False):
            with Horizontal(id="top"):
                with Vertical(id="today", classes="box") as today:
                    today.border_title = "Today"
                    yield Static("", id="counts", markup=False)
                    yield Static("", id="start", markup=False)
                with Vertical(id="days", classes="box") as days:
                    days.border_title = "Days"
                    yield HeatMap()
            with Vertical(id="next", classes="box") as onward:
                onward.border_title = "Next"
                yield Static("", id="onward", markup=False)
            with Vertical(id="topics", classes="box") as topics:
                topics.border_title = "Topics"
                yield TopicList()

    def on_mount(self) -> None:
        """Draw the skeleton."""
        for name in ("#start", "#onward"):
            self.query_one(name).auto_links = False
        self.query_one("#head", Static).update(Content.styled("quizapp", "bold $primary"))
        self.query_one("#counts", Static).update(Content.styled("…", "$text-muted"))

    def opened(self) -> None:
        """Fill the screen when the data is open."""
        self.enter_phase("ready")
        self.fill()

    returned = opened

    def on_screen_resume(self) -> None:
        """Fill the screen again, because other screens change the counts."""
        if self.quiz.ready:
            self.call_after_refresh(self.fill)

    def on_resize(self, event: events.Resize) -> None:
        """The head line is laid out by width."""
        del event
        if self.quiz.ready:
            self._fill_head()
            self.call_after_refresh(self._fill_next)

    def fill(self) -> None:
        """Show the current data."""
        study = self.quiz.study
        counts = study.counts()
        self.enter_phase("ready")
        self._fill_head()
        self._fill_counts(counts)
        self.query_one(HeatMap).show(study.calendar(DAYS_SHOWN))
        days = study.streak()
        self.query_one("#days").border_title = f"Days: {plural(days, 'day')} in a row" if days else "Days"
        self.query_one(TopicList).show(study.topics())
        self._fill_next()

    def _fill_head(self) -> None:
        bank = self.quiz.bank
        now = self.quiz.study.clock.now().astimezone()
        left = Content.styled("quizapp", "bold $primary")
        today = f"{now:%A} {now.day} {now:%B}"
        faults = f"{plural(len(bank.faults), 'fault')} in the content: quizapp check" if bank.faults else ""
        room = self.size.width - 2 - left.cell_length
        text = f"{faults} · {today}" if faults and len(faults) + len(today) + 5 <= room else faults or today
        self.query_one("#head", Static).update(left.append(Content.styled(text.rjust(room), "$text-muted")))

    def _fill_counts(self, counts: "QueueCounts") -> None:
        due = counts.due + counts.learning
        minutes = round(counts.minutes)
        lines = [
            Content.assemble((f"{due:>4}", "bold $accent"), " due"),
            Content.assemble((f"{counts.new:>4}", "bold $primary"), " new"),
            Content.assemble((f"{minutes:>4}", "bold"), " minute" if minutes == 1 else " minutes"),
        ]
        self.query_one("#counts", Static).update(Content("\n").join(lines))
        if due or counts.new:
            text = link("  ▶ Start (enter)  ", "screen.start", "bold reverse $primary")
        else:
            text = Content.styled("Done for today.", "bold $success")
        self.query_one("#start", Static).update(text)

    def _next_slug(self) -> str | None:
        return self.quiz.study.next_exercise()

    def _fill_next(self) -> None:
        lines = []
        slug = self._next_slug()
        if slug:
            exercise = self.quiz.bank.exercises[slug]
            about = f"  {exercise.level}, {duration(exercise.minutes * 60)}"
            room = max(12, self.query_one("#onward").content_size.width - len(about) - 2)
            title = Content(f"Exercise: {one_line(exercise.title)}").truncate(room, ellipsis=True).plain
            lines.append(
                Content.assemble(
                    link("n ", "screen.next_exercise", "bold $primary"),
                    link(title, "screen.next_exercise"),
                    (about, "$text-muted"),
                )
            )
        lines.append(
            Content.assemble(
                link("m ", "screen.mock", "bold $primary"),
                link("Mock interview", "screen.mock"),
                self._left(single=False) or ("  timed, with a report", "$text-muted"),
            )
        )
        lines.append(
            Content.assemble(
                link("r ", "screen.incident", "bold $primary"),
                link("Broken run", "screen.incident"),
                self._left(single=True) or ("  to diagnose against the clock", "$text-muted"),
            )
        )
        self.query_one("#onward", Static).update(Content("\n").join(lines))

    def _left(self, *, single: bool) -> tuple[str, str] | None:
        """The state and style of an unfinished interview, or of a ``single`` incident; None without one."""
        left = self.quiz.study.mocks("running")
        if not left:
            return None
        # The interview's modules are imported after the first frame.
        from quizapp.interview.blueprint import SINGLE_INCIDENT, form_of

        if (form_of(left[0].document) is SINGLE_INCIDENT) != single:
            return None
        ended = left[0].document["running"]["state"] == "ended"
        return "  waits to be marked" if ended else "  not finished, its clock runs", "$warning"

    def scroller(self) -> Widget:
        """The body scrolls as one."""
        return self.query_one("#home")

    def action_start(self) -> None:
        """Drill."""
        self.quiz.go("drill")

    def action_drill_topic(self, topic: str) -> None:
        """Drill one topic."""
        self.quiz.go("drill", topic=topic)

    def action_topic(self) -> None:
        """Choose a topic from a list."""
        from quizapp.tui.screens.choose import Choose

        topics = [topic for topic in self.quiz.study.topics() if topic.total]
        names = [Content(one_line(topic.name)).truncate(34, ellipsis=True) for topic in topics]
        wide = max((name.cell_length for name in names), default=0)
        entries = [
            (topic.topic, name.pad_right(wide - name.cell_length).append(_standing(topic)).pad_right(1))
            for topic, name in zip(topics, names, strict=True)
        ]
        self.quiz.push_screen(Choose("Drill which topic? Learned, due", entries), self._chosen)

    def _chosen(self, topic: str | None) -> None:
        if topic:
            self.quiz.go("drill", topic=topic)

    def action_next_exercise(self) -> None:
        """Open the next exercise."""
        slug = self._next_slug()
        if slug:
            self.quiz.go("exercise", slug=slug)
        else:
            self.quiz.say("You have passed every exercise.")

    def action_exercises(self) -> None:
        """The list of exercises."""
        self.quiz.go("exercises")

    def action_mock(self) -> None:
        """A mock interview."""
        self.quiz.go("mock")

    def action_incident(self) -> None:
        """A broken run."""
        self.quiz.go("incident")

    def action_browse(self) -> None:
        """All questions."""
        self.quiz.go("browse")

    def action_statistics(self) -> None:
        """Figures."""
        self.quiz.go("statistics")

    def action_settings(self) -> None:
        """Settings."""
        self.quiz.go("settings")

    def action_tour(self) -> None:
        """The tour."""
        self.quiz.go("tour")

    def action_leave(self) -> None:
        """Leave the program."""
        self.quiz.action_leave()
