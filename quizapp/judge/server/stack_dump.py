"""Where a worker was: the stacks it wrote, and the user's line in them."""

import re
import time
from pathlib import Path

_FRAME = re.compile(r'^  File "(?P<file>[^"\n]*)", line (?P<line>[0-9]{1,7}) in ', re.MULTILINE)


def read_stack(path: Path, module: str, seconds: float) -> str:
    """The stacks in ``path``, which a worker is about to write: all that is there after ``seconds``.

    A worker writes them piece by piece and may lose the processor between two of them; only the user's
    line in the main thread ends the wait early.
    """
    limit = time.monotonic() + seconds
    while True:
        text = _text(path)
        if time.monotonic() >= limit or _main_line(text, module):
            return text
        time.sleep(0.003)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 16).decode(errors="replace")
    except OSError:
        return ""


def _main_line(stack: str, module: str) -> int:
    _, _, main = stack.partition("Current thread 0x")
    # The last line may be half written.
    return line_in("Current thread 0x" + main[: main.rfind("\n") + 1], module) if main else 0


def line_in(stack: str, module: str) -> int:
    """The innermost line of the user's module in a stack dump; 0 if it is on none.

    The thread that took the signal comes first, for it is the main one, then the others.
    """
    threads = re.split(r"\n(?=(?:Current thread|Thread) 0x)", "\n" + stack)
    for thread in sorted(threads, key=lambda text: not text.lstrip("\n").startswith("Current")):
        for frame in _FRAME.finditer(thread):
            if frame["file"].endswith("/" + module):
                return int(frame["line"])
    return 0


def place(stack: str, module: str, source: str) -> str:
    """Where the code was, for a sentence: the line's number and text; empty if unknown."""
    number = line_in(stack, module)
    lines = source.splitlines()
    if not number:
        return ""
    text = lines[number - 1].strip() if number <= len(lines) else ""
    shown = f": `{text if len(text) <= 90 else text[:87] + '...'}`" if text else ""
    return f" at line {number} of {module}{shown}"
