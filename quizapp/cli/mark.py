"""The command that marks a typed answer. It proposes; nothing is recorded."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quizapp import paths
from quizapp.bank import QuestionKind
from quizapp.bank.loader import find_question
from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, QuizError
from quizapp.util.sanitize import escape_controls
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.bank.answers import Mark
    from quizapp.bank.meaning.text_marking import TextMarking
    from quizapp.bank.model import Question
    from quizapp.scheduling.rating_rules import Proposal
    from quizapp.settings.voice_settings import VoiceSettings

SCHEMA = "quizapp.marking/1"
_LONGEST = 256 * 1024  # bytes of an answer


class _SecondReading(NamedTuple):
    """What the second voice was asked about, and the quotes it found, by the index of the key point."""

    model: str
    asked: list[int]
    quotes: dict[int, str]
    trouble: str


def mark(options: Namespace) -> int:
    """Mark an answer in a file or on stdin: what it shows, and the rating that follows."""
    question = find_question(load_user_bank(), options.id)
    voice = _voice_settings(question) if options.voice else None
    text = _read(options.file)
    if question.kind == QuestionKind.RECALL:
        _mark_words(question, text, voice, as_json=options.json)
    else:
        _mark_by_machine(question, text, options.seed, as_json=options.json)
    return DONE


def _read(path: Path | None) -> str:
    if path is None or str(path) == "-":
        if sys.stdin.isatty():
            sys.stderr.write("Type your answer; ctrl+d on an empty line ends it.\n")
        data = sys.stdin.buffer.read(_LONGEST + 1)
        name = "the answer"
    else:
        name = str(path)
        try:
            if not path.is_file():
                raise QuizError(f"{path} is not a file; name a text file, or - for stdin")
            with path.open("rb") as file:
                data = file.read(_LONGEST + 1)
        except (OSError, ValueError):
            raise QuizError(f"{path} cannot be read; name a text file, or - for stdin") from None
    if len(data) > _LONGEST:
        raise QuizError(f"{name} is longer than 256 KiB; an answer is a few sentences")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise QuizError(f"{name} is not UTF-8 text; save it as UTF-8") from None


def _voice_settings(question: "Question") -> "VoiceSettings":
    from quizapp.settings.model import load_settings

    if question.kind != QuestionKind.RECALL:
        raise QuizError(f"--voice is for answers in words; '{question.id}' is marked without it")
    voice = load_settings(paths.config()).voice
    if not voice.endpoint:
        raise QuizError(f"the second voice is off; set endpoint and model in [voice] of {paths.config()}")
    return voice


def _listen(
    question: "Question", text: str, marking: "TextMarking", voice: "VoiceSettings"
) -> _SecondReading:
    from quizapp.bank.meaning.second_voice import SecondVoice, unsure_points

    asked, second = unsure_points(marking), SecondVoice(voice)
    quotes = dict(second.listen(question, text, asked))
    if second.trouble:
        sys.stderr.write(f"quizapp: {escape_controls(second.trouble)}\n")
    return _SecondReading(voice.model, asked, quotes, second.trouble)


def _mark_words(question: "Question", text: str, voice: "VoiceSettings | None", *, as_json: bool) -> None:
    from quizapp.bank.meaning.text_marking import card_of, mark_text
    from quizapp.scheduling.rating_rules import propose_recall

    marking = mark_text(card_of(question), text)
    proposal = propose_recall(question.key_points, marking.proposed)
    second = _listen(question, text, marking, voice) if voice else None
    if as_json:
        document = _document(question, marking, proposal)
        if second:
            document["second_voice"] = _second_document(second)
        _print_json(document)
    else:
        _print_words(question, marking, proposal, second.quotes if second else {})


def _second_document(second: _SecondReading) -> dict[str, Any]:
    return {
        "model": second.model,
        "asked": second.asked,
        "quotes": [{"point": index, "quote": quote} for index, quote in second.quotes.items()],
        "trouble": second.trouble,
    }


def _document(question: "Question", marking: "TextMarking", proposal: "Proposal | None") -> dict[str, Any]:
    from quizapp.bank.model import musts

    required = musts(question.key_points)
    return {
        "schema": SCHEMA,
        "question": question.id,
        "points": [
            {
                "text": point.text,
                "weight": point.weight,
                "must": point in required,
                "probability": round(found.probability, 3),
                "proposed": found.proposed,
                "evidence": found.evidence,
            }
            for point, found in zip(question.key_points, marking.points, strict=True)
        ],
        "misconceptions": [
            {
                "wrong": row.wrong,
                "probability": round(found.probability, 3),
                "proposed": found.proposed,
                "evidence": found.evidence,
            }
            for row, found in zip(question.misconceptions, marking.misconceptions, strict=True)
        ],
        "share": round(marking.share(question.key_points), 3),
        **_rating(proposal),
    }


def _rating(proposal: "Proposal | None") -> dict[str, Any]:
    return {
        "rating": proposal.rating.name.lower() if proposal else None,
        "reason": proposal.reason if proposal else "",
    }


def _mark_by_machine(question: "Question", text: str, seed: int, *, as_json: bool) -> None:
    from quizapp.bank.typed_answer import mark_typed
    from quizapp.scheduling.rating_rules import propose_mark

    result: Mark = mark_typed(question, text, seed)
    proposal = propose_mark(result)
    if as_json:
        _print_json(
            {
                "schema": SCHEMA,
                "question": question.id,
                "points": [],
                "misconceptions": [],
                "share": round(result.right, 3),
                "note": result.note,
                **_rating(proposal),
            }
        )
        return
    head = "Right." if result.right == 1 else "Wrong." if not result.right else f"{result.right:.0%} right."
    lines = [head if result.note.startswith(head) else f"{head} {result.note}".rstrip()]
    if result.note.startswith(head):
        lines = [result.note]
    _print_lines([*lines, f"Proposed rating: {proposal.rating.label} ({proposal.reason})"])


def _print_words(
    question: "Question", marking: "TextMarking", proposal: "Proposal | None", second: dict[int, str]
) -> None:
    if not question.key_points:
        # Nothing to compare with point by point, so the learner compares the two texts.
        text = f"'{question.id}' has no key points, so nothing is marked. Compare with the answer yourself:"
        _print_lines([text, "", question.answer.strip()])
        return
    count, total = len(marking.proposed), len(question.key_points)
    share = marking.share(question.key_points)
    lines = [f"{count} of {plural(total, 'key point')} shown, {share:.0%} of the weight", ""]
    for index, (point, found) in enumerate(zip(question.key_points, marking.points, strict=True)):
        lines.append(f"{'[x]' if found.proposed else '[ ]'} {point.text}")
        if found.proposed:
            lines.append(f"      you said: {_line(found.evidence)}")
        elif index in second:
            lines.append(f"      second voice: you said “{second[index]}”")
    for row, found in zip(question.misconceptions, marking.misconceptions, strict=True):
        if found.proposed:
            lines += [
                f"[!] {row.wrong}",
                f"      you said: {_line(found.evidence)}",
                f"      Right: {row.right}",
            ]
    rating = f"{proposal.rating.label} ({proposal.reason})" if proposal else "none; nothing was recognized"
    _print_lines([*lines, "", f"Proposed rating: {rating}"])


def _line(text: str) -> str:
    return " ".join(text.split())


def _print_lines(lines: list[str]) -> None:
    sys.stdout.write(escape_controls("\n".join(lines)) + "\n")


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
