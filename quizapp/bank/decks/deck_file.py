"""What a file of cards holds, before its cards are read as questions."""

from dataclasses import dataclass, field
from typing import Any

from quizapp.bank.model import Fault

MAX_HEADING = 500
"""Characters each of a topic's slug, its name and its description."""


@dataclass
class DeckFile:
    """The cards of a file of any format: mappings with the keys of a question, and the line of each.

    ``topic``, ``name`` and ``about`` are empty where the file does not say. An entry of ``cards`` that is not
    a mapping is a fault of the file. A file that could not be read to its end is not ``whole``: that a card
    is missing says nothing then.
    """

    file: str
    cards: list[Any] = field(default_factory=list)
    topic: str = ""
    name: str = ""
    about: str = ""
    faults: list[Fault] = field(default_factory=list)
    whole: bool = True

    def fault(self, line: int, message: str) -> None:
        """Note what is wrong with the file."""
        self.faults.append(Fault(self.file, line, message))
