"""Personal weights, fitted to the learner's own reviews."""
