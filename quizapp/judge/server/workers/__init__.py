"""Starts the workers, reads what they send within limits, and ends them."""
