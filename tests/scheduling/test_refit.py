"""Fitting in a process of its own: once there is enough that is new, said once."""

import pytest

from quizapp import paths
from quizapp.scheduling.service import Study
from quizapp.scheduling.weights import background
from tests.scheduling.test_fit import fill

pytestmark = pytest.mark.slow


def test_the_process_fits_takes_and_says_it_once() -> None:
    with fill(paths.home(), 150, 8) as study:
        reviews = sum(review.elapsed > 0 for review in study.store.tables.reviews())
        assert study.model == "FSRS-6/default"
        assert background.start().wait() == 0
        assert study.next_card() is not None
        taken = study.model
        assert taken != "FSRS-6/default"
    sentence = background.news()
    assert f"fitted to your {reviews} reviews" in sentence
    assert background.news() == ""
    assert background.start().wait() == 0
    with Study.open() as study:
        assert study.model == taken
    assert background.news() == ""


def test_few_reviews_are_left_alone() -> None:
    with fill(paths.home(), 5, 5):
        pass
    assert background.start().wait() == 0
    assert not (paths.cache() / "refit.json").exists()


def test_it_is_worth_it_again_after_twice_as_many() -> None:
    assert not background.worth_it(399, 0)
    assert background.worth_it(400, 0)
    assert not background.worth_it(799, 400)
    assert background.worth_it(800, 400)


def test_a_spoilt_note_and_spoilt_data_are_no_trouble() -> None:
    paths.cache().mkdir(parents=True, exist_ok=True)
    (paths.cache() / "refit.json").write_text("[1")
    assert background.news() == ""
    paths.database().write_text("no database")
    assert background.start().wait() == 1
