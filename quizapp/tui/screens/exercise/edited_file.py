"""The file behind the editor, saved in one step and watched for changes by other editors."""

from pathlib import Path

from quizapp.errors import QuizError
from quizapp.util.atomic import write_atomic


class EditedFile:
    """A file and the text that was last read from it or written to it."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises `QuizError`."""
        self.path = path
        self.text = ""
        self._modified = 0.0
        self._last_look = self._last_autosave = ""
        self.read()

    def read(self) -> bool:
        """Read the file; return whether its text has changed. Raises `QuizError`."""
        before = self.text
        # Set before reading, so that an unreadable file raises once per change and not at every look.
        self._modified = self._modified_now()
        try:
            self.text = self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise QuizError(f"The file cannot be read: {error}") from error
        return self.text != before

    def save(self, text: str) -> None:
        """Write the text if it differs from the file's. Raises `QuizError`."""
        if text == self.text and self.path.exists():
            return
        try:
            write_atomic(self.path, text)
        except OSError as error:
            raise QuizError(f"The file cannot be written: {error.strerror} ({self.path}).") from error
        self.text = text
        self._modified = self._modified_now()

    def should_autosave(self, text: str) -> bool:
        """Whether unsaved text has stayed the same since the last call, and should be saved.

        True only once per text, so that a text that cannot be saved does not raise an error every second.
        """
        rested = text == self._last_look and text != self._last_autosave
        self._last_look = text
        if rested:
            self._last_autosave = text
        return rested

    def changed_outside(self) -> bool:
        """Whether another program has written the file since it was read or saved."""
        modified = self._modified_now()
        return bool(modified) and modified != self._modified

    def _modified_now(self) -> float:
        try:
            return self.path.stat().st_mtime
        except OSError:
            return 0.0
