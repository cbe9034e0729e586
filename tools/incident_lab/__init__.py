"""Trains the broken runs and measures the readings of the incidents."""

import sys

from quizapp.errors import QuizError
from quizapp.util.installation import require_torch

# A command of this package is starting (`python -m`), and all its modules need torch.
if sys.argv[:1] == ["-m"]:
    try:
        require_torch("The laboratory of incidents")
    except QuizError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
