"""``python -m quizapp``."""

from quizapp.cli.main import entry

if __name__ == "__main__":
    entry()
