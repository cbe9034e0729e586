"""What client and workers of a cluster say to each other: plain data, no paths."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from quizapp.judge.verdict import Verdict


@dataclass(frozen=True)
class ClusterOrder:
    """An order that travels to a worker of the cluster. It names the exercise, and holds the source itself.

    ``file`` is what the verdict calls the source. Both versions are the client's: a worker that has others
    refuses.
    """

    exercise: str
    file: str
    source: bytes
    seed: int
    exercise_version: str
    judge_version: str
    device: str = "cpu"
    timeout: float | None = None
    tier: str | None = None

    def as_message(self) -> dict[str, Any]:
        """The order as plain data, which a worker with another version can still read."""
        return asdict(self)

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The order in a message. Raises ``TypeError`` if another version has sent it."""
        return cls(**message)


@dataclass(frozen=True)
class ClusterReply:
    """A worker's reply: a verdict, or the sentence that says why there is none.

    ``refused`` says that no submission can be graded there, as it is set up.
    """

    verdict: Verdict | None = None
    text: str = ""
    refused: bool = False
    worker: str = ""

    def as_message(self) -> dict[str, Any]:
        """The reply as plain data."""
        return vars(self) | {"verdict": None if self.verdict is None else self.verdict.as_json()}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The reply in a message. Raises ``KeyError``, ``TypeError`` or ``ValueError``."""
        verdict = message["verdict"]
        return cls(**{**message, "verdict": None if verdict is None else Verdict.from_json(verdict)})
