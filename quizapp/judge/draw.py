"""Old name of `quizapp.judge.testing.draw`, for exercises that users wrote against it."""

from quizapp.judge.testing.draw import Draw

__all__ = ["Draw"]
