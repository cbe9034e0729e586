"""The app in a browser: `quizapp serve`. Only this package knows aiohttp and textual-serve."""
