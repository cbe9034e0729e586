"""The client side, in the user's process: asks a judge for verdicts."""
