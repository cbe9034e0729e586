"""Reusable widgets, one per file."""
