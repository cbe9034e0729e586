"""The command line: each command imports what it needs inside its function."""
