"""Which questions an interview asks, and when."""
