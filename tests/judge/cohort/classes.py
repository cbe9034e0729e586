"""A class without a judge: submissions, and graders that answer without running anything."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quizapp.bank.loader import load_bank
from quizapp.bank.model import Exercise
from quizapp.judge.cohort.class_folder import ClassFolder, read_class
from quizapp.judge.cohort.cluster_messages import ClusterOrder, ClusterReply
from quizapp.judge.verdict import TestResult, Verdict, VerdictStatus


def exercises() -> dict[str, Exercise]:
    """All exercises by slug."""
    return dict(load_bank().exercises)


def hand_in(folder: Path, name: str, content: str = "x = 1\n") -> None:
    """Write one file of a class's folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())


def read(folder: Path) -> ClassFolder:
    """Read a class's folder."""
    return read_class(folder, exercises())


@dataclass
class CannedGraders:
    """Pass what contains ``right`` and fail the rest, after ``limit`` orders stop like a killed program."""

    limit: int = 1000
    backwards: bool = False
    dead: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)

    def grade(self, orders: Iterator[tuple[int, ClusterOrder]]) -> Iterator[tuple[int, ClusterReply]]:
        """Answer each order."""
        waiting = list(orders)
        for number, order in reversed(waiting) if self.backwards else waiting:
            if len(self.asked) == self.limit:
                raise KeyboardInterrupt
            self.asked.append(order.file)
            if order.file in self.dead:
                yield number, ClusterReply(text="Every worker that graded it died")
            else:
                yield number, ClusterReply(verdict(order), worker=str(len(self.asked)))


def verdict(order: ClusterOrder) -> Verdict:
    """A verdict with evidence on the behaviors 1 and 2 of the exercise."""
    right = b"right" in order.source
    tests = (
        TestResult("test_one", 1, True, seconds=0.25),
        TestResult("test_two", 2, right, "" if right else "no"),
    )
    status = VerdictStatus.PASSED if right else VerdictStatus.FAILED
    return Verdict(order.exercise, order.file, "cpu", status, tests, seconds=1.5, seed=order.seed, tier="T3")
