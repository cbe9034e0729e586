"""The trusted judge, which owns hidden tests, expected values, seeds and the verdict."""
