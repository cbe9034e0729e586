"""Authors' tools; they do not ship in the package."""
