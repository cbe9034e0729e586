"""The app as the server starts it: ``python -m quizapp.tui.serve.child dark|light``."""

import sys

from quizapp.tui.app import QuizApp
from quizapp.tui.serve.driver import ServedDriver


def main() -> int:
    """Run the app for one browser, which prefers the scheme that the argument names."""
    app = QuizApp(driver_class=ServedDriver, scheme=sys.argv[1])
    result = app.run()
    return app.return_code or result or 0


if __name__ == "__main__":
    sys.exit(main())
