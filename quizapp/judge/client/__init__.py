"""In the user's process: asks a judge for verdicts."""
