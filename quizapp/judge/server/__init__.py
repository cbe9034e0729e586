"""The trusted judge: owns hidden tests, expected values, seeds and the verdict."""
