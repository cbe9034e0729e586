"""Writes the details of an internal error where the user can find them."""

import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

from quizapp import __version__, paths

_MAX_BYTES = 1 << 20


def write_crash(error: BaseException) -> Path:
    """Append the error's traceback to the log file and return its path.

    Where the data folder cannot be written, the log goes to the system's temporary folder.
    """
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    text = f"--- {stamp} quizapp {__version__}\n{''.join(traceback.format_exception(error))}\n"
    for path in (paths.log_file(), Path(tempfile.gettempdir()) / "quizapp.log"):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            old = path.stat().st_size if path.exists() else 0
            with path.open("a" if old < _MAX_BYTES else "w", encoding="utf-8") as log:
                log.write(text)
        except OSError:
            continue
        return path
    return Path("/dev/null")
