"""From frozen answers to a marking."""
