"""Runs one command and turns errors into one line and an exit code.

Importing this module must cost next to nothing: until `main` runs, nothing catches ctrl+c.
"""

import sys
from io import TextIOWrapper

from quizapp.errors import DONE, INTERNAL, INTERRUPTED, USAGE, QuizError


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; a failure is one line on stderr."""
    try:
        args = list(sys.argv[1:] if arguments is None else arguments)
        if args in (["--version"], ["-V"]):
            # Importing argparse takes as long as starting the interpreter, so answer without it.
            from quizapp import __version__

            sys.stdout.write(f"quizapp {__version__}\n")
            return DONE
        return _run(args)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(args: list[str]) -> int:
    from quizapp.cli.parser import parse

    _accept_any_text()
    try:
        options = parse(args)
        code: int = options.run(options)
        sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    except QuizError as error:
        return _complain(str(error), error.exit_code)
    except BrokenPipeError:
        _silence_stdout()
        return DONE
    except Exception as error:  # noqa: BLE001 - logged in full and reported as one line
        from errno import ENOSPC

        if isinstance(error, OSError) and error.errno == ENOSPC:
            _silence_stdout()
            return _complain("the disk is full; free some space and try again", USAGE)
        return _internal(error)
    return code


def _accept_any_text() -> None:
    """Write ``?`` for characters that a stream cannot encode, and discard output to a closed stream."""
    from os import devnull

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _complain(text: str, code: int) -> int:
    from quizapp.util.sanitize import escape_unprintable  # a file name may hold control sequences

    sys.stderr.write(f"quizapp: {escape_unprintable(' '.join(text.split()))}\n")
    return code


def _internal(error: Exception) -> int:
    from quizapp.util.log import write_crash

    log = write_crash(error)
    text = f"an internal error stopped the command ({type(error).__name__}); details are in {log}"
    return _complain(text, INTERNAL)


def _silence_stdout() -> None:
    """Keep the interpreter from reporting at exit that the reader of its pipe has gone."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def entry() -> None:
    """The console script."""
    code = main()
    _end_on_interrupt()
    sys.exit(code)


def _end_on_interrupt() -> None:
    """Let ctrl+c end the process at once, since the interpreter's shutdown would print a traceback."""
    from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

    if getsignal(SIGINT) is default_int_handler:  # a shell's background job ignores the signal
        signal(SIGINT, SIG_DFL)
