"""quizapp: drill, practice and rehearse for an ML-training interview."""

__version__ = "0.1.0"
