"""What is remembered: the append-only event log; the only SQL."""

from quizapp.store.event_log import Store

__all__ = ["Store"]
