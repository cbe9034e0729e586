"""Exchange with Anki: notes as a text file, and packages with the review history in both directions."""
