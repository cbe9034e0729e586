"""What to do each day until the interview: policies tried by simulation on the learner's own cards."""
