"""Verdicts as text and as JUnit XML."""
