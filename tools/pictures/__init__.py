"""Draws every screen of the program, to be looked at by whoever changes one."""
