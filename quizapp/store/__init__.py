"""The database: the append-only event log and all SQL of the program."""

from quizapp.store.event_log import Store

__all__ = ["Store"]
