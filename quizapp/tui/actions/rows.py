"""Phases and actions that several places share."""

from quizapp.tui.actions.act import TYPING, Act

QUESTION = ("recall", "numeric", "choice", "order", "cloze")
UNSEEN = (*QUESTION, TYPING)
ANSWER = ("answer", "points")
CARD = (*UNSEEN, *ANSWER, "confidence")
INCIDENT = ("readings", "telling", "diagnosis")
REVIEWED = ("review-decide", "review-point", "review-write")
REVIEWING = ("review-sure", *REVIEWED)
ANSWERABLE = ("choice", "order", "idle", "coding", TYPING, *INCIDENT, *REVIEWED)
"""Phases of a running interview in which an answer can be given."""
RUNNING = ("brief", "wrap", "confidence", "review-sure", *ANSWERABLE)

A = Act
SCROLL = (A("up", "up,k", "up", "Scroll up."), A("down", "down,j", "down", "Scroll down."))
SCROLL_PAGES = (
    A("page(-1)", "pageup", "page up", "Scroll a page up."),
    A("page(1)", "pagedown", "page down", "Scroll a page down."),
)
MOVE = (A("up", "up,k", "up", "Move up."), A("down", "down,j", "down", "Move down."))
LIST = (
    *MOVE,
    A("page(-1)", "pageup", "page up", "Move up a page."),
    A("page(1)", "pagedown", "page down", "Move down a page."),
)
STEPS = (
    A("lift(-1)", "K,shift+up", "raise", "Move the step up.", ("order",), 7),
    A("lift(1)", "J,shift+down", "lower", "Move the step down.", ("order",), 7),
)
RATINGS = ("Again: not recalled", "Hard: recalled with effort", "Good: recalled", "Easy: recalled at once")
SURE = ("I do not know it.", "I doubt it.", "It could go either way.", "I think so.", "I am sure.")
CONFIDENCE = tuple(
    A(f"confide({25 * step})", str(step + 1), f"{25 * step} %", sentence, ("confidence",), 9)
    for step, sentence in enumerate(SURE)
)
OPTIONS = (
    A("pick(0)", "1", "answer", "Answer with option 1.", ("choice",), 10),  # the key bar shows "1-4 answer"
    *(A(f"pick({n})", str(n + 1), "", f"Answer with option {n + 1}.", ("choice",)) for n in range(1, 5)),
)
