"""The learner's copy of the script on disk, for their own editor; the stored document is what counts."""

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.incidents.live.baseline import SCRIPT
from quizapp.util.atomic import write_atomic

FOLDER = "live"
FORMER = "run_previous.py"
"""Where a script is kept that an earlier sitting left, or that was changed before a cause was committed."""
MAX_BYTES = 200_000

EARLY = "run.py was changed on disk before you committed to a cause; it was put back, your version is {}."


class ScriptFile:
    """The file ``live/<name>/run.py`` in the user's folder, compared with what was last written or read."""

    def __init__(self, name: str) -> None:
        self.path = paths.home() / FOLDER / name / SCRIPT
        self.former = self.path.with_name(FORMER)
        self._text: str | None = None
        self._seen: tuple[int, int] | None = None

    def write(self, source: str) -> None:
        """Replace the file's text if it differs from what was last written. Raises `QuizError`."""
        if source == self._text and self._stamp() == self._seen:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self.path, source)
        except OSError as error:
            raise QuizError(f"{self.path} cannot be written: {error.strerror}; make room for it.") from None
        self._text, self._seen = source, self._stamp()

    def edited_outside(self) -> str | None:
        """The text that another editor has saved since; None if there is none. Raises `QuizError`."""
        stamp = self._stamp()
        if stamp is None or stamp == self._seen:
            return None
        self._seen = stamp
        text = self.read()
        if text == self._text:
            return None
        self._text = text
        return text

    def read(self) -> str | None:
        """The text of the file; None if there is no file. Raises `QuizError` if it is not a script."""
        try:
            if self.path.stat().st_size > MAX_BYTES:
                raise QuizError(f"{self.path} is larger than {MAX_BYTES} bytes; make it smaller.")
            return self.path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise QuizError(f"{self.path} cannot be read: {error}") from None

    def begin(self, source: str, *, committed: bool) -> str:
        """Make the file agree with the stored ``source`` and return what counts. Raises `QuizError`.

        Once a cause is ``committed``, a file that differs is newer than what was stored, because it is
        written first. Before that it is put aside.
        """
        text = self.read()
        if text is not None and text != source:
            if committed and text.strip():
                self._text, self._seen = text, self._stamp()
                return text
            self.put_back(source)
        self.write(source)
        return source

    def put_back(self, source: str) -> str:
        """Write ``source`` over a changed file, which is kept. Returns the sentence that says so."""
        try:
            if self.path.exists():
                self.path.replace(self.former)
        except OSError as error:
            raise QuizError(f"{self.former} cannot be written: {error.strerror}; make room for it.") from None
        self._text = None
        self.write(source)
        return EARLY.format(self.former.name)

    def _stamp(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size
