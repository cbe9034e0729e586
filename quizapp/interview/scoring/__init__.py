"""The score and its terms."""
