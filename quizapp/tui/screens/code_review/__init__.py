"""The screen on which a code review is sat."""
