"""Whatever was done, replaying the log gives the same rows, and undoing everything gives the start."""

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from quizapp.scheduling.cards import Rating
from quizapp.scheduling.recorder import MockReview
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.store import Store
from tests.scheduling.study_kit import MORNING, simple_bank

pytestmark = pytest.mark.slow

CARDS = st.sampled_from(["q0", "q1", "q2", "q3"])
RATINGS = st.sampled_from(list(Rating))


class Learner(RuleBasedStateMachine):
    """Does anything a learner can do, restarts and rebuilds included."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FixedClock(MORNING)
        self.bank = simple_bank(4)
        self.open()
        self.start = self.study.store.tables.snapshot()
        self.queue_at_start = self.study.due()

    def open(self) -> None:
        store = Store.open(Path(self.folder.name) / "quizapp.db")
        self.study = Study(self.bank, store, clock=self.clock)

    @rule(card=CARDS, rating=RATINGS, seconds=st.floats(0, 100))
    def answer(self, card: str, rating: Rating, seconds: float) -> None:
        promised = self.study.previews(card)[rating]
        answered = self.study.answer(card, rating, seconds=seconds, typed="ω")
        assert (answered.due, answered.interval) == (promised.due, promised.interval)

    @rule(rating=RATINGS)
    def drill(self, rating: Rating) -> None:
        card = self.study.next_card()
        if card:
            self.study.answer(card.id, rating)

    @rule(card=CARDS, act=st.sampled_from(["bury", "suspend", "unsuspend", "flag", "unflag"]))
    def act(self, card: str, act: str) -> None:
        getattr(self.study, act)(card)

    @rule(card=CARDS, fresh=st.booleans())
    def acknowledge(self, card: str, fresh: bool) -> None:
        self.study.acknowledge(card, treat_as_new=fresh)

    @rule(passed=st.booleans(), opened=st.booleans(), asked=st.booleans())
    def verdict(self, passed: bool, opened: bool, asked: bool) -> None:
        self.study.record_verdict(
            "lora", {"passed": passed}, source_text="", asked=asked, opened_solution=opened
        )

    @rule(card=CARDS, other=CARDS, rating=RATINGS)
    def mock(self, card: str, other: str, rating: Rating) -> None:
        caps = (1, 7) if rating is Rating.AGAIN else ()
        self.study.record_mock({}, [MockReview(card, rating, caps=caps)], recalls=[other])

    @rule()
    def undo(self) -> None:
        self.study.undo()

    @rule()
    def redo(self) -> None:
        self.study.redo()

    @rule(hours=st.sampled_from([0.1, 5, 12, 24, 24 * 9, -3]))
    def wait(self, hours: float) -> None:
        self.clock.time += timedelta(hours=hours)

    @rule()
    def restart(self) -> None:
        self.study.close()
        self.open()

    @invariant()
    def replay_gives_the_live_rows(self) -> None:
        store = self.study.store
        live = store.tables.snapshot()
        with store.transaction():
            store.rebuild()
        assert store.tables.snapshot() == live

    @invariant()
    def the_queue_in_memory_is_that_of_a_fresh_start(self) -> None:
        fresh = Study(self.bank, self.study.store, clock=self.clock)
        assert {card.id for card in self.study.due()} == {card.id for card in fresh.due()}

    def teardown(self) -> None:
        while self.study.undo():
            pass
        derived = self.study.store.tables.snapshot()
        assert derived["cards"] == self.start["cards"]
        assert derived["reviews"] == self.start["reviews"]
        self.clock.time = MORNING
        assert self.study.due() == self.queue_at_start
        self.study.close()
        self.folder.cleanup()


TestLearner = Learner.TestCase
TestLearner.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
