"""Text laid out for the terminal."""
