"""Broken training runs to diagnose: their readings, and the marking of a diagnosis."""
