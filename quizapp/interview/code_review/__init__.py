"""Code reviews: plausible code to judge, the faults planted in it, and the marks of an answer."""
