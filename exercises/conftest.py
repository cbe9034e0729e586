"""``pytest exercises/SLUG/hidden`` runs an exercise's hidden tests on its solution, for authors."""

from quizapp.judge.authoring import observe

__all__ = ["observe"]
