"""Measures the incidents whose runs are programs: a script of ``content/incidents/<baseline>`` plus edits."""
