"""Imported by exercise authors: checks for hidden tests, and recording and random inputs for probes."""
