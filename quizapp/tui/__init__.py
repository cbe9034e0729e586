"""The terminal interface. It shows and asks; the packages below it decide."""

import os

# Textual redraws at fixed ticks. At its default of 60 per second, half of the time from a key press to the
# screen would go into waiting for the next tick.
os.environ.setdefault("TEXTUAL_FPS", "120")
