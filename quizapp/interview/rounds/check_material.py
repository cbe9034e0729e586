"""Checks the material of the rounds against the bank and against itself."""

from collections.abc import Iterator
from pathlib import Path

from quizapp.bank.model import Bank, Fault, Question
from quizapp.bank.validate import question_faults
from quizapp.interview.rounds.material import RoundMaterial
from quizapp.interview.rounds.read_material import parse_material


def check_material(folder: Path, bank: Bank) -> list[Fault]:
    """Return every fault of the material in a folder, none if the folder does not exist."""
    material = parse_material(folder)
    return [*material.faults, *_faults(material, bank)]


def _faults(material: RoundMaterial, bank: Bank) -> Iterator[Fault]:
    for design in material.designs.values():
        first = next(iter(design.phases.values()))
        yield from _unlinked(first, bank, design.line)
        for question in design.phases.values():
            yield from _named(question, question_faults(question))
    for estimate in material.estimates.values():
        yield from _unlinked(estimate.question, bank, estimate.question.line)
        yield from _named(estimate.question, question_faults(estimate.question))
    sheet = material.project
    if sheet is not None and not sheet.probes:
        yield Fault(sheet.worksheet.file, 1, "has no probes; write questions that fit any project")
    for question in (sheet.worksheet, *sheet.probes) if sheet is not None else ():
        if question.answer.count("```") % 2:
            yield from _named(question, ["a code fence is opened and not closed"])


def _unlinked(question: Question, bank: Bank, line: int) -> Iterator[Fault]:
    if question.topic not in bank.topics:
        yield Fault(question.file, line, f"there is no topic '{question.topic}'; correct the slug")
    if question.exercise not in bank.exercises:
        yield Fault(question.file, line, f"there is no exercise '{question.exercise}'; correct the slug")


def _named(question: Question, texts: "Iterator[str] | list[str]") -> Iterator[Fault]:
    for text in texts:
        yield Fault(question.file, question.line, f"'{question.id}': {text}", question.id)
