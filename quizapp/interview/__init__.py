"""Timed mock interviews."""
