"""What exercise authors import: checks in hidden tests, recording in probes."""
