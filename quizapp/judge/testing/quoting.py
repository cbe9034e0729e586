"""Marks text that a submission wrote wherever it appears in a message of the judge.

Without quotation marks, a sentence that a submission returns or raises would read like the judge's own, and
could tell the learner to run a command.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from quizapp.judge.worker.transcript import Opaque

_START = 12  # characters by which a text is recognized; shorter ones are no sentences
_NAME = re.compile(r"[\w.\[\]<>-]*")
# What the recorder itself says about values that it cannot send.
_RECORDER = re.compile(
    r"an integer of \d+ bits|a tensor whose values cannot be read|a tensor that is not a plain one"
    r"|a tensor without storage|a tensor of torch\.\w+, torch\.\w+|a tensor of \d+ dimensions, one of \d+"
    r"|a tensor without elements, of shape \([\d, ]+\)"
)


def quoted(text: str) -> str:
    """``text`` on one line in double quotation marks, with none inside."""
    return '"' + " ".join(text.split()).replace('"', "'") + '"'


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a piece of evidence that are more than a name."""
    if isinstance(value, str):
        if len(value) >= _START and not _NAME.fullmatch(value):
            yield value
    elif isinstance(value, Opaque):
        if not _RECORDER.fullmatch(value.text):
            yield from texts_in(value.text)
        yield from texts_in(value.kind)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from texts_in(key)
            yield from texts_in(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from texts_in(entry)


def quote_texts(message: str, texts: Iterable[str]) -> str:
    """Put those ``texts``, or beginnings of them, that ``message`` contains in quotation marks.

    What stands in quotation marks already stays as it is.
    """
    for text in set(texts):
        start = message.find(text[:_START])
        while start >= 0:
            end = start + _START
            while end < len(message) and end - start < len(text) and message[end] == text[end - start]:
                end += 1
            if message[start - 1 : start] not in ("'", '"'):
                mark = quoted(message[start:end])
                message = f"{message[:start]}{mark}{message[end:]}"
                end = start + len(mark)
            start = message.find(text[:_START], end)
    return message
