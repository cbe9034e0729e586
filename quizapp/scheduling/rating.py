"""The four ratings."""

from enum import IntEnum


class Rating(IntEnum):
    """How well a card was recalled; the numbers are FSRS's and the keys of the drill."""

    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4

    # the field writes them with a capital
    Again = AGAIN
    Hard = HARD
    Good = GOOD
    Easy = EASY

    @property
    def label(self) -> str:
        """The word on the button."""
        return self.name.capitalize()
