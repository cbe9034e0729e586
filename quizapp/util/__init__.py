"""Small things that every package shares; nothing here knows a question, a card or a screen."""
