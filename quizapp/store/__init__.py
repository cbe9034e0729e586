"""What is remembered: the append-only event log; the only SQL."""

from quizapp.store.store import Store

__all__ = ["Store"]
