"""The two memory models, FSRS-6 and FSRS-7, and the scheduler that turns their memory into intervals."""
