"""When it is asked: scheduler, queue, ratings."""
