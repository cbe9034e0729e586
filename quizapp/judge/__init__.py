"""Is the code right: probes, transcript, hidden tests, verdict."""
