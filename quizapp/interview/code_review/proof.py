"""Decides whether a learner's test proves a fault.

The test is a function ``check(m)`` with plain asserts. It must hold on the reference, on every right variant
and on a copy of the reference that only looks different, and it must fail on the code shown. Where the code
shown is correct, it must catch a mutant of the exercise instead. A worker runs it on one program at a time,
and only how it ended counts.
"""

import ast
from collections.abc import Callable, Iterator, Sequence

from quizapp.bank.model import Exercise
from quizapp.interview.code_review.candidates import correct_programs
from quizapp.interview.code_review.disguise import disguise
from quizapp.interview.code_review.model import CodeReview, ProofOutcome
from quizapp.interview.code_review.shown_code import strip_docstrings
from quizapp.judge.authoring.mutants import wrong_submissions
from quizapp.judge.verdict import ProgramOutcome, ProgramRun

RunTest = Callable[[str, Sequence[str], int], Sequence[ProgramRun]]
"""Runs a test on programs under a seed, each in a process of its own; see `LearnerTestClient.run`."""

_SEEDS = (1, 2)
_BATCH = 16
_NOTHING = "def check(m):\n    pass\n"
_RUN_TEXT = frozenset({"eval", "exec", "compile", "globals", "locals", "__import__"})
"""Refused as plain names only: ``layer.eval()`` and ``torch.compile`` are something else."""
_SOURCE_MODULES = frozenset(
    {"ast", "builtins", "ctypes", "dis", "gc", "importlib", "inspect", "linecache", "symtable", "sys"}
    | {"tokenize", "traceback"}
)
_SOURCE_NAMES = frozenset(
    {"__builtins__", "__cached__", "__closure__", "__code__", "__file__", "__getattribute__", "__globals__"}
    | {"__loader__", "__spec__", "__subclasses__", "__traceback__", "_getframe", "attrgetter", "currentframe"}
    | {"get_code", "get_data", "get_source", "getfile", "getsource", "getsourcefile", "getsourcelines"}
    | {"methodcaller"}
)
_PREFIXES = ("co_", "tb_", "gi_", "cr_", "func_")


def prove(review: CodeReview, exercise: Exercise, test: str, run: RunTest) -> ProofOutcome:
    """Run the learner's test where it must hold and where it must fail. Never raises for a bad test."""
    problem = test_problem(test)
    if problem:
        return ProofOutcome(text=problem)
    refusal = _refusal_of_correct_programs(review, exercise, test, run)
    if refusal:
        return ProofOutcome(text=refusal)
    if review.is_correct:
        return _killing(exercise, test, run)
    return _failing(review, test, run)


def test_problem(test: str) -> str:
    """Why a test cannot be run at all, as a sentence; empty if nothing speaks against it."""
    if not test.strip():
        return "There is no test yet; write a function check(m)."
    try:
        tree = ast.parse(test)
    except SyntaxError as error:
        return f"Your test is not valid Python: {error.msg} in line {error.lineno or 1}."
    except (ValueError, RecursionError, MemoryError):
        return "Your test is not valid Python: it is nested too deeply, or contains a zero byte."
    checks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    if not checks or not (checks[-1].args.args or checks[-1].args.posonlyargs):
        return "Your test defines no check(m) at the top level; m is the module to test."
    use = min(_uses_of_source(tree), default=None)
    if use is not None:
        return f"A test must judge what the code does, not its text; remove {use[1]!r} (line {use[0]})."
    return ""


def _uses_of_source(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of everything in a test that leads to the source or the byte code."""
    for node in ast.walk(tree):
        names: list[str] = []
        refused = _SOURCE_NAMES | _SOURCE_MODULES
        if isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Name):
            names, refused = [node.id], refused | _RUN_TEXT
        elif isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
        elif isinstance(node, ast.ImportFrom):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # In a text only the names that mean nothing else count: "sys" may be part of a message.
            names = [name for name in _SOURCE_NAMES if name.startswith("__") and name in node.value]
        line = getattr(node, "lineno", 1)
        yield from ((line, name) for name in names if name in refused or name.startswith(_PREFIXES))


def _refusal_of_correct_programs(review: CodeReview, exercise: Exercise, test: str, run: RunTest) -> str:
    """Why the test does not hold on everything that is correct; empty if it does."""
    reference, *variants = (strip_docstrings(text) for text in correct_programs(exercise.folder).values())
    for number, result in enumerate(run(test, [reference], seed)[0] for seed in _SEEDS):
        if not result.held:
            again = "the second time it ran " if number else ""
            return f"Your test does not hold {again}on a correct solution: {_reason(result)}."
    if not all(result.held for result in run(test, [disguise(reference)], _SEEDS[0])):
        return (
            "Your test holds on a solution and fails on a copy of it with other names and another order; "
            "test what the code does."
        )
    others = [*variants, review.original]
    refused = next((result for result in run(test, others, _SEEDS[0]) if not result.held), None)
    if refused is None:
        return ""
    return f"Your test refuses another correct solution, so it asks for too much: {_reason(refused)}."


def _failing(review: CodeReview, test: str, run: RunTest) -> ProofOutcome:
    """Whether the test fails on the code shown, and which of its faults the test catches."""
    shown = [review.shown, disguise(review.shown)]
    results = [*run(test, shown, _SEEDS[0]), *run(test, shown, _SEEDS[1])]
    if all(result.held for result in results):
        return ProofOutcome(text="Your test holds on the code shown too, so it shows no fault.")
    if any(result.held for result in results):
        return ProofOutcome(text="Your test fails on the code shown only sometimes; make it fail always.")
    reason = f"It fails on the code shown: {_reason(results[0])}."
    if len(review.faults) == 1:
        return ProofOutcome(accepted=True, caught=[review.faults[0].mutant], text=reason)
    alone = run(test, [fault.alone for fault in review.faults], _SEEDS[0])
    caught = [fault.mutant for fault, result in zip(review.faults, alone, strict=True) if not result.held]
    # A test that fails only because several faults act together still shows that something is wrong.
    caught = caught or [review.faults[0].mutant]
    share = f" It catches {len(caught)} of {len(review.faults)} faults."
    return ProofOutcome(accepted=True, caught=caught, text=reason + share)


def _killing(exercise: Exercise, test: str, run: RunTest) -> ProofOutcome:
    """Whether the test catches a mutant of the exercise."""
    mutants = [mutant for mutant in wrong_submissions(exercise.folder)[0] if mutant.edits]
    for start in range(0, len(mutants), _BATCH):
        batch = mutants[start : start + _BATCH]
        results = run(test, [strip_docstrings(mutant.source) for mutant in batch], _SEEDS[0])
        for mutant, result in zip(batch, results, strict=True):
            if not result.held and _really_caught(mutant.source, result, run):
                text = f"It catches the mutant {mutant.name}: {_reason(result)}."
                return ProofOutcome(accepted=True, caught=[mutant.name], text=text)
    text = f"Your test catches none of the {len(mutants)} mutants of this exercise."
    return ProofOutcome(accepted=True, text=text)


def _really_caught(source: str, result: ProgramRun, run: RunTest) -> bool:
    """Whether the test itself found the fault: a mutant that cannot be imported fails every test."""
    return result.outcome == ProgramOutcome.FAILED or run(_NOTHING, [source], _SEEDS[0])[0].held


def _reason(result: ProgramRun) -> str:
    return result.text.rstrip(".") or result.outcome.value
