"""The transcript of a spoken round, as a command of the learner's own writes it."""

import shlex
import subprocess

from quizapp.errors import QuizError

LONGEST_S = 120
"""How long the command may take; a short recording is transcribed in less."""
_MOST_CHARACTERS = 100_000


def read_transcript(command: str) -> str:
    """Run the command and return what it writes to its output.

    Raises ``QuizError`` if it cannot be run, fails, takes too long, or writes nothing that is text.
    """
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise QuizError(f"the setting 'transcript' is not a command: {error}; check its quotes") from None
    if not arguments:
        raise QuizError("set 'transcript' in the settings to a command that writes a text to its output")
    try:
        done = subprocess.run(  # noqa: S603 - the learner's own command, as the editor is
            arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise QuizError(
            f"'{arguments[0]}' took longer than {LONGEST_S} s; transcribe first, and let it print the text"
        ) from None
    except OSError as error:
        raise QuizError(
            f"'{arguments[0]}' cannot be run: {error.strerror}; correct 'transcript' in the settings"
        ) from None
    text = done.stdout.decode("utf-8", errors="replace").strip()
    if done.returncode:
        said = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        why = f": {said[-1]}" if said else ""
        raise QuizError(f"'{arguments[0]}' ended with exit code {done.returncode}{why}")
    if not text:
        raise QuizError(f"'{arguments[0]}' wrote nothing to its output")
    return text[:_MOST_CHARACTERS]
