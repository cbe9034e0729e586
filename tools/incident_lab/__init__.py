"""Trains the broken runs and measures what an incident shows."""
