"""Incidents that can be repaired: training scripts, the faults planted in them, and what their runs show."""
