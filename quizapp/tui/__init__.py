"""The terminal interface: draws and asks, decides nothing."""

import os

# Textual draws what a key changed at its next tick; at its 60 a second that wait is half of a key's way.
os.environ.setdefault("TEXTUAL_FPS", "120")
