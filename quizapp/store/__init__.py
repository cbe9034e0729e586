"""What is remembered: the append-only event log; the only SQL."""
