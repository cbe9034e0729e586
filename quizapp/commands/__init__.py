"""The commands, one module per job; each imports what it needs inside its function."""
