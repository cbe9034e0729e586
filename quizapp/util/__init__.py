"""Small things that every package shares; it imports nothing of quizapp."""
