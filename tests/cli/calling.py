"""A command as a user types it, in this process."""

import pytest

from quizapp.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, what it printed, what it said on standard error."""
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err
