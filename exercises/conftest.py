"""``pytest exercises/SLUG/hidden`` runs an exercise's hidden tests on its solution, for authors."""

from quizapp.judge.authoring.pytest_plugin import observe

__all__ = ["observe"]
