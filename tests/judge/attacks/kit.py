"""What attacks are made of: each submission is written down once, under its kind.

``CANARY``, ``PORT`` and ``SOCKET`` stand for a file, a TCP port and a Unix socket of the test. ``BLEND`` is
put where a module needs the wrong implementation that an attack tries to sell.
"""

from dataclasses import dataclass
from textwrap import dedent, indent

WRONG = """
import torch
from torch import nn

def blend(x, y, w):
    return x * 0

class Gate(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(size))
    def forward(self, x):
        return x
"""


@dataclass(frozen=True)
class Hostile:
    """One hostile submission; ``statuses`` are the verdicts that are right for it, ``seconds`` its limit."""

    kind: str
    name: str
    source: str
    statuses: tuple[str, ...]
    seconds: float | None = None


ALL: list[Hostile] = []
ANY = ("failed", "error", "timeout", "memory")
HANG = 0.7


def add(
    kind: str, name: str, source: str, statuses: tuple[str, ...] = ANY, seconds: float | None = None
) -> None:
    ALL.append(Hostile(kind, name, dedent(source), statuses, seconds))


def at_import(
    kind: str, statuses: tuple[str, ...] = ANY, seconds: float | None = None, **snippets: str
) -> None:
    """Attacks that run when the module is imported, with the wrong implementation after them."""
    for name, snippet in snippets.items():
        add(kind, name, dedent(snippet) + WRONG, statuses, seconds)


def in_call(
    kind: str, statuses: tuple[str, ...] = ANY, seconds: float | None = None, **snippets: str
) -> None:
    """Attacks that run when ``blend`` is called."""
    for name, snippet in snippets.items():
        body = indent(dedent(snippet).strip("\n"), "    ")
        add(kind, name, f"{WRONG}\ndef blend(x, y, w):\n{body}\n    return x * 0\n", statuses, seconds)
