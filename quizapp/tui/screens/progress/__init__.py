"""How far the learner has come: the statistics, and the plan to the interview."""
