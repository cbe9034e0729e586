"""What a screen shows, read back from what was drawn."""

from typing import Any

from textual.app import App

from quizapp.tui.app import QuizApp


def text(app: App[Any]) -> str:
    """Everything on the screen, as a person reads it."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def styled(app: QuizApp, attribute: str) -> str:
    """What is drawn in bold, dim or reverse."""
    return " ".join(
        segment.text.strip()
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style and getattr(segment.style, attribute) and segment.text.strip()
    )
