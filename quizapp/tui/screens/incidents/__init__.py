"""Broken runs."""
