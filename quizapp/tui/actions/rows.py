"""Phases and actions that several places share."""

from quizapp.tui.actions.act import Act
from quizapp.tui.actions.phase import Phase

A, P = Act, Phase
QUESTION = (P.RECALL, P.NUMERIC, P.CHOICE, P.ORDER, P.CLOZE)
UNSEEN = (*QUESTION, P.TYPING)
ANSWER = (P.ANSWER, P.POINTS)
CARD = (*UNSEEN, *ANSWER, P.CONFIDENCE)
LIVE = (P.SCRIPT, P.LOG)
"""Phases of an incident whose script can be run."""
INCIDENT = (P.READINGS, P.TELLING, P.DIAGNOSIS, *LIVE)
REVIEWED = (P.REVIEW_DECIDE, P.REVIEW_POINT, P.REVIEW_WRITE)
REVIEWING = (P.REVIEW_SURE, *REVIEWED)
ANSWERABLE = (P.CHOICE, P.ORDER, P.IDLE, P.CODING, P.TYPING, *INCIDENT, *REVIEWED)
"""Phases of a running interview in which an answer can be given."""
UNTYPED = (P.CONFIDENCE, P.BRIEF, P.WRAP, P.CODING, P.PREDICT, *INCIDENT, *REVIEWING)
"""Phases of a running interview that hold no matter which field has the focus."""
RUNNING = (P.BRIEF, P.WRAP, P.CONFIDENCE, P.REVIEW_SURE, *ANSWERABLE)

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
    A("lift(-1)", "K,shift+up", "raise", "Move the step up.", (P.ORDER,), 7),
    A("lift(1)", "J,shift+down", "lower", "Move the step down.", (P.ORDER,), 7),
)
RATINGS = ("Again: not recalled", "Hard: recalled with effort", "Good: recalled", "Easy: recalled at once")
SURE = ("I do not know it.", "I doubt it.", "It could go either way.", "I think so.", "I am sure.")
CONFIDENCE = tuple(
    A(f"confide({25 * step})", str(step + 1), f"{25 * step} %", sentence, (P.CONFIDENCE,), 9)
    for step, sentence in enumerate(SURE)
)
OPTIONS = (
    A("pick(0)", "1", "answer", "Answer with option 1.", (P.CHOICE,), 10),  # the key bar shows "1-4 answer"
    *(A(f"pick({n})", str(n + 1), "", f"Answer with option {n + 1}.", (P.CHOICE,)) for n in range(1, 5)),
)
