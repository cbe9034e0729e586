"""Checks content without running a submission, and reports every fault with file and line."""

import ast
import graphlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from quizapp.bank.key_terms import shown_terms
from quizapp.bank.loader import parse_bank
from quizapp.bank.model import ONLY_STAGE, Bank, Exercise, Fault, Question
from quizapp.bank.parameters import SampledQuestion, sample_question, try_formulas
from quizapp.errors import ContentError
from quizapp.util.text import number_text, plural

SAMPLES = 24
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LEAST_RIGHT = 3
_BRIEF = (25, 60)  # words
_STARTS = ("prompt.md", "starter.py", "solution.py", "probes.py")


def check_content(
    paths: list[Path], exercises: Path, paths_file: Path, *, whole: bool = True
) -> tuple[Bank, list[Fault]]:
    """Load the content below ``paths`` and return the bank and every fault in it.

    Unless ``whole``, the exercises are only there to be linked to, and their own faults are not searched.
    """
    bank = parse_bank(paths, paths_file, exercises)
    faults = list(bank.faults)
    for question in bank.questions.values():
        faults += [
            Fault(question.file, question.line, f"question '{question.id}': {text}", question.id)
            for text in question_faults(question)
        ]
    for exercise in bank.exercises.values() if whole else ():
        faults += exercise_faults(exercise)
    faults += _path_faults(bank, paths_file)
    return bank, _without_echoes(faults, bank)


def _without_echoes(faults: list[Fault], bank: Bank) -> list[Fault]:
    """Drop faults about links to questions that are missing only because of another reported fault."""
    left_out = {fault.question for fault in faults} - set(bank.questions) - {""}
    return [fault for fault in faults if fault.missing not in left_out]


def question_faults(question: Question) -> Iterator[str]:
    """Yield what is wrong with a question by itself, apart from its links."""
    # Notes hold sketches and console sessions; only what is written as a question is held to run.
    for block in python_blocks(question) if question.file.endswith((".yaml", ".yml")) else ():
        if error := _syntax_error(block):
            yield f"a Python block has a syntax error in its line {error.lineno}: {error.msg}"
    if question.answer.count("```") % 2 or question.prompt.count("```") % 2:
        yield "a code fence is opened and not closed"
    for point in question.key_points:
        if echoes := shown_terms(point, question.prompt):
            yield f"the term '{echoes[0]}' is in the prompt; repeating the question would show the point"
        if point.terms and not shown_terms(point, f"{question.answer} {question.say}"):
            short = point.text[:40]
            yield f"the answer does not show the key point '{short}…'; correct its terms or the answer"
    if question.kind == "numeric":
        yield from _numeric_faults(question)
    if question.kind == "choice" and len({o.text.casefold() for o in question.options}) < len(
        question.options
    ):
        yield "two options read the same"


def _numeric_faults(question: Question) -> Iterator[str]:
    try:
        try_formulas(question)
        samples = [sample_question(question, seed) for seed in range(SAMPLES)]
    except ContentError as error:
        yield str(error)
        return
    for sample in samples:
        if not shows_result(question, sample):
            ending = sample.worked.strip()[-80:]
            yield f"'worked' does not show the result {number_text(sample.result)}: {ending!r}"
            return
    if len({sample.prompt for sample in samples}) < 2:
        yield "every draw gives the same prompt; offer more values and use them in the prompt"


def shows_result(question: Question, sample: SampledQuestion) -> bool:
    """Whether the worked solution prints the result within the question's tolerance."""
    share = max(question.tolerance.relative, 6e-6)
    slack = max(question.tolerance.absolute, share * abs(sample.result))
    # A comma may separate thousands or the entries of a list, so try both readings.
    numbers = re.findall(r"[-−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?", sample.worked)
    numbers += re.findall(r"[-−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", sample.worked)
    values = (float(text.replace(",", "").replace("−", "-").rstrip(".")) for text in numbers)
    return any(abs(value - sample.result) <= slack + 1e-12 for value in values)


def _syntax_error(code: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(code)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return SyntaxError("it cannot be parsed", ("", 1, 1, ""))
    return None


def python_blocks(question: Question) -> list[str]:
    """The fenced Python blocks of a question's answer, filled in with sampled values if it is numeric."""
    try:
        answer = sample_question(question, 0).answer
    except ContentError:
        answer = question.answer
    return PYTHON_BLOCK.findall(answer + "\n")


def exercise_faults(exercise: Exercise) -> Iterator[Fault]:
    """Find what is wrong with an exercise's files without running any of them."""
    folder = exercise.folder
    for name in _STARTS:
        if (folder / name).stat().st_size == 0:
            yield Fault(str(folder / name), 1, "is empty; write it")
    tests = list((folder / "hidden").glob("test_*.py"))
    if not tests:
        yield Fault(str(folder / "hidden"), 1, "has no test_*.py; write a test for every behavior")
    for path in [*tests, *(folder / name for name in _STARTS if name.endswith(".py"))]:
        if error := _syntax_error(path.read_text(encoding="utf-8")):
            yield Fault(str(path), error.lineno or 1, f"has a syntax error: {error.msg}")
    count = len(list((folder / "right").glob("*.py")))
    if count < _LEAST_RIGHT:
        text = f"has {plural(count, 'submission')}; write at least {_LEAST_RIGHT}"
        yield Fault(str(folder / "right"), 1, text)
    for stage in exercise.stages:
        words = len(stage.brief.split())
        if stage.name != ONLY_STAGE and not _BRIEF[0] <= words <= _BRIEF[1]:
            text = f"the brief of stage '{stage.name}' has {words} words; write {_BRIEF[0]} to {_BRIEF[1]}"
            yield Fault(str(folder / "exercise.yaml"), 1, text)
    if len(exercise.hints) != 3:
        yield Fault(str(folder / "exercise.yaml"), 1, f"has {len(exercise.hints)} hints; write three")


def _path_faults(bank: Bank, file: Path) -> Iterator[Fault]:
    for track, ids in bank.paths.items():
        for name in ids:
            if name not in bank.questions:
                text = f"the path '{track}' names '{name}', which does not exist; correct the id"
                yield Fault(str(file), 1, text, missing=name)
    yield from _cycle_faults(bank)


def _cycle_faults(bank: Bank) -> Iterator[Fault]:
    graph = {name: question.requires for name, question in bank.questions.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        loop: list[str] = error.args[1]
        question = bank.questions[loop[0]]
        text = f"'requires' runs in a circle: {' → '.join(loop)}; remove one"
        yield Fault(question.file, question.line, text)
