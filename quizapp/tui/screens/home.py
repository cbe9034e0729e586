"""Home: what is left today, whether the learner is on track, progress by topic, and where to go next."""

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from quizapp.scheduling import statistics
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.text import link
from quizapp.tui.screens.base import Place
from quizapp.tui.widgets.heatmap import HeatMap
from quizapp.tui.widgets.interview_outlook import InterviewOutlook
from quizapp.tui.widgets.row_list import RowList
from quizapp.tui.widgets.topic_list import TopicList, standing
from quizapp.util.sanitize import one_line
from quizapp.util.text import duration, plural

if TYPE_CHECKING:
    from quizapp.scheduling.planner.plan import StudyPlan
    from quizapp.scheduling.views import QueueCounts, TopicProgress

DAYS_SHOWN = 53 * 7


class HomeScreen(Place):
    """The first screen."""

    place = "home"
    needs_data = False
    BINDINGS: ClassVar[list[object]] = actions.bindings("home")  # type: ignore[assignment]
    CSS_PATH = "styles/home.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._planning = False

    @property
    def _topics(self) -> TopicList:
        return self.query_one(TopicList)

    def body(self) -> ComposeResult:
        """Today's counts, the interview, the calendar, the next steps, the topics."""
        # The style sheet fixes the heights, so that nothing jumps when the data arrives.
        yield Static("", id="head", classes="bar", markup=False)
        with VerticalScroll(id="home", can_focus=False):
            with Horizontal(id="top"):
                with Vertical(id="today", classes="box") as today:
                    today.border_title = "Today"
                    yield Static("", id="counts", markup=False)
                    yield Static("", id="start", markup=False)
                with Vertical(id="interview", classes="box") as interview:
                    interview.border_title = "Interview"
                    yield InterviewOutlook()
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
        self.enter_phase(Phase.READY)
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
        self.enter_phase(Phase.TOPICS if self._topics.choosing else Phase.READY)
        self._fill_head()
        self._fill_counts(counts)
        self.query_one(HeatMap).show(statistics.calendar(study, DAYS_SHOWN))
        days = statistics.streak(study)
        self.query_one("#today").border_title = f"Today, day {days} in a row" if days > 1 else "Today"
        self.query_one(TopicList).show(study.topics())
        self._fill_next()
        self._fill_interview()

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
        minutes = plural(counts.minutes, "minute")
        lines = [
            Content.assemble((f"{counts.new:>4}", "bold $primary"), " new"),
            Content.assemble((f"{counts.learning:>4}", "bold $accent"), " learning"),
            Content.assemble((f"{counts.due:>4}", "bold $success"), " to review"),
            Content.styled(f"about {minutes} left" if counts.total else "Done for today.", "bold"),
            Content.styled(self._spent(), "$text-muted"),
        ]
        self.query_one("#counts", Static).update(Content("\n").join(lines))
        label = "▶ Start (enter)" if counts.total else "▶ More (enter)"
        text = link(f"  {label}  ", "screen.start", "bold reverse $primary")
        self.query_one("#start", Static).update(text)

    def _spent(self) -> str:
        """The minutes of today's answers, beside those that the settings plan for a day."""
        study = self.quiz.study
        minutes, wanted = round(statistics.minutes_on(study, study.now().day)), self._minutes_wanted()
        return f"{minutes} of {wanted} minutes done" if wanted else f"{plural(minutes, 'minute')} done"

    def _minutes_wanted(self) -> int:
        study = self.quiz.study
        plan = study.settings.plan
        return plan.weekdays.get(study.today().weekday(), plan.minutes)

    def _fill_interview(self) -> None:
        """Show whether the learner is on track; where that is not known yet today, compute it."""
        from quizapp.scheduling.planner.outlook import cached_outlook

        study = self.quiz.study
        today, until = study.today(), study.settings.plan.until
        outlook = cached_outlook(study) if until is not None and until > today else None
        self.query_one(InterviewOutlook).show(today, until, outlook)
        if until is not None and until > today and outlook is None and not self._planning:
            self._planning = True
            self.quiz.plans.compute(self._planned)

    def _planned(self, plan: "StudyPlan | None") -> None:
        from quizapp.scheduling.planner.outlook import keep_outlook, outlook_of

        self._planning = False
        if plan is None:
            return
        keep_outlook(self.quiz.study, outlook_of(plan))
        if self.stands:
            self._fill_interview()

    def _next_slug(self) -> str | None:
        return self.quiz.study.next_exercise()

    def _fill_next(self) -> None:
        lines = []
        slug = self._next_slug()
        if slug:
            exercise = self.quiz.bank.exercises[slug]
            # An open stage comes back as a task of its own, shorter than its exercise.
            task = next((task for task in self.quiz.study.stage_tasks() if task.slug == slug), None)
            what = f"Stage {task.stage}" if task else "Exercise"
            about = f"  {exercise.level}, {duration((task or exercise).minutes * 60)}"
            room = max(12, self.query_one("#onward").content_size.width - len(about) - 2)
            title = Content(f"{what}: {one_line(exercise.title)}").truncate(room, ellipsis=True).plain
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

    def action_drill_here(self) -> None:
        """Drill the topic under the cursor."""
        self._drill(self._topics.current)

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        """A click on a topic drills it."""
        self._drill(self._topics.topics[event.place])

    def _drill(self, topic: "TopicProgress | None") -> None:
        if topic is not None:
            self.quiz.go("drill", topic=topic.topic)

    def move(self, step: int) -> None:
        """Move from the top into the topics, among them, and from the first one back to the top."""
        topics, scroll = self._topics, self.scroller()
        if not topics.choosing:
            if step > 0 and topics.count():
                topics.choose(True)
                self.enter_phase(Phase.TOPICS)
                topics.keep_cursor_in_view(scroll)
        elif step < 0 and topics.cursor == 0:
            self.action_leave_topics()
        else:
            topics.move_or_scroll(step, scroll)

    def action_leave_topics(self) -> None:
        """Go back to the top, where enter starts the drill."""
        self._topics.choose(False)
        self.enter_phase(Phase.READY)
        self.scroller().scroll_home(animate=False)

    def action_topic(self) -> None:
        """Choose a topic from a list."""
        from quizapp.tui.screens.choose import Choose

        topics = [topic for topic in self.quiz.study.topics() if topic.total]
        names = [Content(one_line(topic.name)).truncate(34, ellipsis=True) for topic in topics]
        wide = max((name.cell_length for name in names), default=0)
        entries = [
            (topic.topic, name.pad_right(wide - name.cell_length).append(standing(topic)).pad_right(1))
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

    def action_plan(self) -> None:
        """The plan to the interview."""
        self.quiz.go("plan")

    def action_tour(self) -> None:
        """The tour."""
        self.quiz.go("tour")

    def action_leave(self) -> None:
        """Leave the program."""
        self.quiz.action_leave()
