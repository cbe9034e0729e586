"""Draws every screen of the program, for whoever changes one."""
