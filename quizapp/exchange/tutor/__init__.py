"""What an assistant may do with a learner: ask, mark, rate, grade, hint. Nothing here knows the protocol."""
