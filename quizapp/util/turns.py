"""Lets many threads do something at the same time, or one of them alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Turns that are taken together with others, or alone. A turn alone comes before new common ones."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._together = 0
        self._alone = 0  # that wait or take their turn
        self._taken_alone = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """A turn that others may share."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._together += 1
        try:
            yield
        finally:
            with self._changed:
                self._together -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A turn during which nobody else has one."""
        with self._changed:
            self._alone += 1
            self._changed.wait_for(lambda: not self._together and not self._taken_alone)
            self._taken_alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone -= 1
                self._taken_alone = False
                self._changed.notify_all()
