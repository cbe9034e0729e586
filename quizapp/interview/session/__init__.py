"""A running interview: its questions, its clock, its phases."""
