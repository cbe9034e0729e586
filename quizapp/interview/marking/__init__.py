"""Turns frozen answers into markings."""
