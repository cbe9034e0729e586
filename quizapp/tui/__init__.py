"""The terminal interface: draws and asks, decides nothing."""

import os

# Textual redraws at fixed ticks. At its default of 60 a second, waiting for the next tick would take half
# of the time from a key to the screen.
os.environ.setdefault("TEXTUAL_FPS", "120")
