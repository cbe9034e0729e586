"""Tools for authors, which are not part of the installed package."""
