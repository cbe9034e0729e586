"""The SQLite database inside an Anki package: its rows, how it is written, and how it is read."""
