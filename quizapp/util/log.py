"""The log file with the details of internal errors."""

import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

from quizapp import __version__, paths

_MAX_BYTES = 1 << 20


def write_crash(error: BaseException) -> Path:
    """Append the error's traceback to the log file and return the path of the log."""
    return write_log("".join(traceback.format_exception(error)))


def write_log(text: str) -> Path:
    """Append ``text`` with the time and the program's version; return the path of the log.

    A log of 1 MiB or more is started over. If the data folder is not writable, the log goes to the system's
    temporary folder. Never raises.
    """
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    entry = f"--- {stamp} quizapp {__version__}\n{text.rstrip()}\n\n"
    for path in (paths.log_file(), Path(tempfile.gettempdir()) / "quizapp.log"):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            size = path.stat().st_size if path.exists() else 0
            with path.open("a" if size < _MAX_BYTES else "w", encoding="utf-8") as log:
                log.write(entry)
        except OSError:
            continue
        return path
    return Path("/dev/null")
