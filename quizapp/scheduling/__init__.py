"""When a card comes back: events, memory model, queue, ratings."""
