"""From a file of cards to questions: YAML in full or short form, Markdown notes and CSV tables."""
