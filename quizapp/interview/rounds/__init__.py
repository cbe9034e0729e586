"""The rounds of an interview: their table, their material, and which questions each asks."""
