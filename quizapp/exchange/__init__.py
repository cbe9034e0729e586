"""Plain exports and imports of the bank and the log."""
