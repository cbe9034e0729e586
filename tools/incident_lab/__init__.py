"""Trains the broken runs and measures the readings of the incidents."""
