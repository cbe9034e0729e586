"""The errors that a user can cause, and the exit codes of the command line."""

DONE, FAULTS, USAGE, INTERNAL = 0, 1, 2, 3
INTERRUPTED = 130  # what a shell reports for SIGINT


class QuizError(Exception):
    """Something a user can act on; the message is one sentence: what is wrong, where, what to do.

    ``exit_code`` is what the command line returns for it.
    """

    exit_code = USAGE


class UnknownName(QuizError):
    """A slug, question id or other name that does not exist; the message suggests close ones."""


class TakenOver(QuizError):
    """Another window of the program has continued or finished the same interview."""


class AnsweredElsewhere(QuizError):
    """Another window has answered the same card since it was shown."""


class ContentError(QuizError):
    """A question cannot be shown or marked because of a fault in its content, usually in a user's deck."""

    exit_code = FAULTS


class BrokenData(QuizError):
    """The user's data folder or database cannot be used as it is."""

    exit_code = INTERNAL
