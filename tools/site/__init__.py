"""What the documentation site needs besides the pages in ``docs/``."""
