"""``python -m quizapp``."""

import sys

from quizapp.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
