"""The app as the server starts it: ``python -m quizapp.tui.serve.child dark|light apple|other``."""

import sys

from quizapp.tui.app import QuizApp
from quizapp.tui.serve.driver import ServedDriver


def main() -> int:
    """Run the app for one browser: its scheme of colors, and the make of its keyboard.

    On Apple's keyboards, browsers keep keys with cmd for themselves; elsewhere keys with ctrl, which the app
    uses too.
    """
    scheme, keyboard = sys.argv[1:]
    app = QuizApp(driver_class=ServedDriver, scheme=scheme, browser_keeps_keys=keyboard != "apple")
    result = app.run()
    return app.return_code or result or 0


if __name__ == "__main__":
    sys.exit(main())
