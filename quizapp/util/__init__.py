"""Small helpers for every package; none of them depends on questions, cards or screens."""
