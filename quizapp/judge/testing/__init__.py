"""What authors of exercises import: checks for hidden tests, recording and random inputs for probes."""
