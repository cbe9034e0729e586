# ruff: noqa: S608 - only names of our own tables and columns enter the SQL, values are bound
"""Documents beside the log: submissions with their verdicts, and mock interviews.

Replay cannot restore them. They schedule nothing; the events that were written with them do.
"""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from quizapp.errors import TakenOver
from quizapp.scheduling.events import compact, new_id
from quizapp.store.database import Database, Row

_VOID = "EXISTS (SELECT 1 FROM voids WHERE voids.event = {}.event)"


class Submission(NamedTuple):
    """One graded version of the user's code: ``time`` is UTC ms, ``verdict`` the JSON of ``grade --json``."""

    id: int
    slug: str
    time: int
    status: str
    passed: bool
    tests_passed: int
    tests: int
    seconds: float
    source: str
    verdict: Mapping[str, Any]
    event: str


class SubmissionSummary(NamedTuple):
    """All submissions for an exercise in figures; the times are UTC in ms.

    ``passed`` is the last pass, ``complete`` the last one in which every stage held, and ``passed_share``
    the largest share of the exercise (0 to 1) that held in a pass, all without passes that were undone.
    ``share`` is the largest share of any submission.
    """

    submissions: int = 0
    passed: int | None = None
    complete: int | None = None
    passed_share: float | None = None
    share: float = 0.0


class MockState(StrEnum):
    """The state of a saved mock interview. ``undone`` is not stored; it follows from an undo of the mark."""

    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


class MockDocument(NamedTuple):
    """A saved mock interview; times are UTC in ms."""

    id: str
    state: MockState
    created: int
    updated: int
    document: Mapping[str, Any]
    event: str


class Documents:
    """Reads and writes submissions and mock interviews; a write is on disk when it returns."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add_submission(
        self, slug: str, time: int, verdict: Mapping[str, Any], source: str, event: str = ""
    ) -> None:
        """Store a submission and its verdict.

        The verdict is strict and may be about some stages only. How the submission counts is in its key
        ``progress``; without one, as in older documents, the verdict decides.
        """
        tests = list(verdict.get("tests") or ())
        held = sum(bool(test.get("passed")) for test in tests)
        strict = bool(verdict.get("passed"))
        progress = verdict.get("progress")
        progress = progress if isinstance(progress, Mapping) else {}
        share = held / len(tests) if tests else float(strict)
        values = (
            slug,
            time,
            str(verdict.get("status", "")),
            int(bool(progress.get("passed", strict))),
            held,
            len(tests),
            float(verdict.get("seconds") or 0.0),
            source,
            compact(dict(verdict)),
            event,
            int(bool(progress.get("complete"))),
            float(progress.get("share", share)),
        )
        with self._db.transaction():
            self._db.run(
                "INSERT INTO submissions (slug, time, status, passed, tests_passed, tests, seconds, source,"
                " verdict, event, complete, share) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )

    def submissions(self, slug: str) -> list[Submission]:
        """All submissions for an exercise, oldest first."""
        rows = self._db.rows(
            "SELECT id, slug, time, status, passed, tests_passed, tests, seconds, source, verdict, event"
            " FROM submissions WHERE slug = ? ORDER BY id",
            (slug,),
        )
        return [_submission(row) for row in rows]

    def all(self) -> list[Submission | MockDocument]:
        """All submissions and all finished interviews, oldest first."""
        submissions = self._db.rows(f"SELECT {', '.join(Submission._fields)} FROM submissions ORDER BY id")
        mocks = self._db.rows(
            f"SELECT {', '.join(MockDocument._fields)} FROM mocks WHERE state = 'done' ORDER BY created, id"
        )
        return [*map(_submission, submissions), *map(_mock, mocks)]

    def merge(self, documents: Iterable[Submission | MockDocument]) -> int:
        """Add the documents of another device that are not here yet; returns how many were new."""
        new = 0
        with self._db.transaction():
            for document in documents:
                new += self._add_mock(document) if isinstance(document, MockDocument) else self._add(document)
        return new

    def _add(self, submission: Submission) -> int:
        # Row ids differ between devices, so a submission is recognized by its content.
        same = (submission.slug, submission.time, submission.source)
        if self._db.row("SELECT 1 FROM submissions WHERE slug = ? AND time = ? AND source = ?", same):
            return 0
        self.add_submission(
            submission.slug, submission.time, submission.verdict, submission.source, submission.event
        )
        return 1

    def _add_mock(self, mock: MockDocument) -> int:
        if self._db.row("SELECT 1 FROM mocks WHERE id = ?", (mock.id,)):
            return 0
        document = compact(dict(mock.document))
        values = (mock.id, str(mock.state), mock.created, mock.updated, document, mock.event)
        self._db.run("INSERT INTO mocks VALUES (?, ?, ?, ?, ?, ?)", values)
        return 1

    def summary(self) -> dict[str, SubmissionSummary]:
        """The submissions in figures, by slug."""
        stands = f"NOT {_VOID.format('submissions')}"
        rows = self._db.rows(
            "SELECT slug, count(*),"
            f" max(CASE WHEN passed AND {stands} THEN time END),"
            f" max(CASE WHEN complete AND {stands} THEN time END),"
            f" max(CASE WHEN passed AND {stands} THEN share END),"
            " max(share)"
            " FROM submissions GROUP BY slug"
        )
        return {slug: SubmissionSummary(int(number), *rest) for slug, number, *rest in rows}

    def save_mock(
        self,
        document: Mapping[str, object],
        time: int,
        *,
        mock_id: str = "",
        state: MockState = MockState.RUNNING,
        event: str = "",
        sitting: str = "",
    ) -> str:
        """Create or overwrite a mock interview; return its id.

        ``sitting`` names the window in which the interview runs. Raises ``TakenOver`` if another window has
        continued or finished it.
        """
        name = mock_id or str(document.get("id") or new_id()[:12])
        with self._db.transaction():
            if state == MockState.RUNNING or event:
                self._refuse_taken(name, sitting)
            self._db.run(
                "INSERT INTO mocks VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " state = excluded.state, updated = excluded.updated, document = excluded.document,"
                " event = CASE WHEN excluded.event = '' THEN event ELSE excluded.event END",
                (name, state.value, time, time, compact(dict(document)), event),
            )
        return name

    def discard_mock(self, name: str) -> None:
        """Remove a running interview without a trace; a finished one stays."""
        with self._db.transaction():
            self._db.run("DELETE FROM mocks WHERE id = ? AND state = ?", (name, MockState.RUNNING.value))

    def _refuse_taken(self, name: str, sitting: str) -> None:
        stored = self._db.row(
            "SELECT state, json_extract(document, '$.running.sitting') FROM mocks WHERE id = ?", (name,)
        )
        if stored is None:
            return
        state, holder = stored
        if state != MockState.RUNNING:
            raise TakenOver("It was marked in another window already; nothing was changed here.")
        if sitting and holder and holder != sitting:
            raise TakenOver("It goes on in another window; nothing was changed here.")

    def mock(self, mock_id: str) -> MockDocument | None:
        """A mock interview by its id."""
        rows = self._db.rows(self._mocks("WHERE id = ?"), (mock_id,))
        return _mock(rows[0]) if rows else None

    def mocks(self, state: str = "") -> list[MockDocument]:
        """All mock interviews, newest first; with ``state`` only those in it."""
        mocks = [_mock(row) for row in self._db.rows(self._mocks("ORDER BY created DESC, rowid DESC"))]
        return [mock for mock in mocks if not state or mock.state == state]

    @staticmethod
    def _mocks(rest: str) -> str:
        void = _VOID.format("mocks")
        return (
            f"SELECT id, CASE WHEN {void} THEN 'undone' ELSE state END, created, updated, document, event"
            f" FROM mocks {rest}"
        )


def _submission(row: Row) -> Submission:
    number, slug, time, status, passed, tests_passed, tests, seconds, source, verdict, event = row
    return Submission(
        number,
        slug,
        time,
        status,
        bool(passed),
        tests_passed,
        tests,
        seconds,
        source,
        json.loads(verdict),
        event,
    )


def _mock(row: Row) -> MockDocument:
    name, state, created, updated, document, event = row
    return MockDocument(name, MockState(state), created, updated, json.loads(document), event)
