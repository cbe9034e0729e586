"""Asks the second voice in a thread and passes on what it finds, as long as somebody waits for it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from quizapp.tui.workers import call_on_ui, run_in_thread

if TYPE_CHECKING:
    from quizapp.bank.meaning.second_voice import HeardPoint, SecondVoice
    from quizapp.bank.meaning.text_marking import TextMarking
    from quizapp.bank.model import Question
    from quizapp.tui.app import QuizApp


class VoiceBridge:
    """One answer at a time. ``show`` is called in the event loop with the index of a point and a quote."""

    def __init__(self, show: Callable[[int, str], None]) -> None:
        self._show = show
        self._voice: SecondVoice | None = None

    def ask(self, app: "QuizApp", question: "Question", answer: str, marking: "TextMarking") -> None:
        """Ask about the points of a revealed card that the marking is unsure of, if the settings say so."""
        self.drop()
        settings = app.study.settings.voice
        if not settings.endpoint:
            return
        from quizapp.bank.meaning.second_voice import SecondVoice, unsure_points  # only for those who use it

        if points := unsure_points(marking):
            self._voice = SecondVoice(settings)
            run_in_thread(app, partial(self._listen, app, self._voice, question, answer, points), "voice")

    def drop(self) -> None:
        """Stop asking; what still comes is not shown."""
        if self._voice is not None:
            self._voice.hang_up()
            self._voice = None

    def _listen(
        self, app: "QuizApp", voice: "SecondVoice", question: "Question", answer: str, points: Sequence[int]
    ) -> None:
        for heard in voice.listen(question, answer, points):
            call_on_ui(app, self._heard, voice, heard)

    def _heard(self, voice: "SecondVoice", heard: "HeardPoint") -> None:
        if voice is self._voice:
            self._show(heard.place, heard.quote)
