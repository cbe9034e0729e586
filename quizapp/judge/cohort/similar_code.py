"""Finds pairs of submissions that share more code than two people write by chance: a hint for a human."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise
from quizapp.judge.cohort.class_folder import StudentSubmission
from quizapp.judge.cohort.fingerprints import Fingerprints, all_runs, fingerprints
from quizapp.util.atomic import write_atomic
from quizapp.util.text import percent, plural

SCHEMA = "quizapp.similar/1"
REPORT, DOCUMENT = "similar.md", "similar.json"
THRESHOLD = 0.4
"""The share from which a pair is reported. Of the repository's 566 pairs of right submissions for the same
exercise, one is above it (one was written from the other), and the next has 0.31. Of 241 copies with other
names, layout and order, 240 are above it."""
FEWEST = 8
"""Submissions with fewer fingerprints of their own are too short to say anything."""
_MOST_IN_REPORT = 500

Lines = tuple[int, int]


@dataclass(frozen=True)
class SimilarPair:
    """Two submissions by different students.

    ``share`` is the fraction of the shorter one's fingerprints that are in the other one, too, and
    ``shared`` is their number. ``lines`` has the ranges that match, first and last line in each file.
    """

    exercise: str
    first: str
    second: str
    share: float
    shared: int
    lines: tuple[tuple[Lines, Lines], ...]


@dataclass(frozen=True)
class SimilarCode:
    """What the comparison of a class's submissions found, the largest shares first."""

    pairs: tuple[SimilarPair, ...]
    compared: int
    too_short: int

    def write(self, folder: Path) -> None:
        """Write the report as Markdown and as JSON. Raises ``OSError``."""
        write_atomic(folder / REPORT, self.as_markdown(), durable=True)
        write_atomic(folder / DOCUMENT, json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n")

    def as_json(self) -> dict[str, Any]:
        """The findings as plain data."""
        return {
            "schema": SCHEMA,
            "threshold": THRESHOLD,
            "compared": self.compared,
            "too_short": self.too_short,
            "pairs": [asdict(pair) for pair in self.pairs],
        }

    def as_markdown(self) -> str:
        """The findings for a reader."""
        return (
            "\n".join([*self._head(), *itertools.chain(*map(_section, self.pairs[:_MOST_IN_REPORT]))]) + "\n"
        )

    def _head(self) -> Iterator[str]:
        yield "# Similar code\n"
        yield (
            f"{plural(len(self.pairs), 'pair')} of {plural(self.compared, 'submission')} share at least "
            f"{percent(THRESHOLD)} of the shorter one's own code; what is in the starter or in the reference "
            f"solution does not count. {plural(self.too_short, 'submission')} had too little code of their "
            "own to compare."
        )
        yield "\nSimilarity is no proof: look at the lines, and ask.\n"
        if len(self.pairs) > _MOST_IN_REPORT:
            yield f"The {_MOST_IN_REPORT} largest shares follow; {DOCUMENT} has all.\n"


def find_similar(submissions: Iterable[StudentSubmission]) -> SimilarCode:
    """Compare each two submissions for the same exercise by different students."""
    by_exercise: dict[str, list[StudentSubmission]] = {}
    for submission in submissions:
        if not submission.fault:
            by_exercise.setdefault(submission.exercise.slug, []).append(submission)
    pairs: list[SimilarPair] = []
    compared = too_short = 0
    for _, group in sorted(by_exercise.items()):
        prints = _own_fingerprints(group[0].exercise, group)
        long_enough = [
            (submission, own)
            for submission, own in zip(group, prints, strict=True)
            if len(own.lines) >= FEWEST
        ]
        compared += len(long_enough)
        too_short += len(group) - len(long_enough)
        pairs += filter(None, itertools.starmap(_compare, itertools.combinations(long_enough, 2)))
    pairs.sort(key=lambda pair: (-pair.share, pair.exercise, pair.first, pair.second))
    return SimilarCode(tuple(pairs), compared, too_short)


def _own_fingerprints(exercise: Exercise, group: Sequence[StudentSubmission]) -> list[Fingerprints]:
    """The fingerprints of each submission that are neither the starter's nor the reference solution's."""
    common = all_runs(exercise.starter.encode()) | all_runs(exercise.solution.encode())
    by_source = {s.source_hash: s.source for s in group}
    own = {key: fingerprints(source).without(common) for key, source in by_source.items()}
    return [own[submission.source_hash] for submission in group]


_Candidate = tuple[StudentSubmission, Fingerprints]


def _compare(first: _Candidate, second: _Candidate) -> SimilarPair | None:
    (one, ones), (other, others) = first, second
    shared = ones.lines.keys() & others.lines.keys()
    share = len(shared) / min(len(ones.lines), len(others.lines))
    if share < THRESHOLD or one.student == other.student:
        return None
    places = [
        (here, there)
        for key in shared
        for here, there in zip(ones.lines[key], others.lines[key], strict=False)
    ]
    return SimilarPair(
        one.exercise.slug, one.file, other.file, round(share, 3), len(shared), tuple(_merged(sorted(places)))
    )


def _merged(places: Iterable[tuple[Lines, Lines]]) -> list[tuple[Lines, Lines]]:
    """Join ranges that overlap or touch in both files."""
    merged: list[tuple[Lines, Lines]] = []
    for here, there in places:
        if merged and _touch(merged[-1][0], here) and _touch(merged[-1][1], there):
            last_here, last_there = merged[-1]
            merged[-1] = (_joined(last_here, here), _joined(last_there, there))
        else:
            merged.append((here, there))
    return merged


def _touch(one: Lines, other: Lines) -> bool:
    return one[0] <= other[1] + 1 and other[0] <= one[1] + 1


def _joined(one: Lines, other: Lines) -> Lines:
    return min(one[0], other[0]), max(one[1], other[1])


def _section(pair: SimilarPair) -> Iterator[str]:
    yield f"## {percent(pair.share)} of {pair.exercise}\n"
    yield f"`{pair.first}` and `{pair.second}`\n"
    yield f"| {pair.first.replace('|', chr(92) + '|')} | {pair.second.replace('|', chr(92) + '|')} |"
    yield "| --- | --- |"
    for here, there in pair.lines:
        yield f"| lines {here[0]} to {here[1]} | lines {there[0]} to {there[1]} |"
    yield ""
