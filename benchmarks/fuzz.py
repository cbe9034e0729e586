"""Fuzzes what may come from anyone: question decks, and what a worker sends to the judge.

``python benchmarks/fuzz.py [--decks 10000] [--transcripts 1000] [--seed 1]`` prints JSON: how many inputs
raised something instead of ending in a fault or a result, and the longest time and the largest growth of
memory that one of them caused. Run it from the root of the project, on Linux. Memory is the process's peak.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quizapp.bank.loader import parse_bank
from quizapp.bank.render import question_text
from quizapp.bank.search import search

_EXERCISES = ("mfu", "lora", "attention", "bpe")
_SCALARS = (
    *("0", "-1", "1e400", ".nan", ".inf", "-.inf", "9" * 400, "0x" + "f" * 300, "0o7", "1_0", "0b1"),
    *("2026-12-24", "12:30:45", "~", "yes", "null", "''", "'{P}'", "'{P:99999}'", "'{P!r}'", "'[[a|b]]'"),
    *("'[[[[[['", "'P ** P ** P'", "'9**9**9**9'", "'P / (k - k)'", "'exp(exp(P * 9))'", "'sqrt(-P)'"),
    *("'(' ", "'((((((((P))))))))'", "'P' ", "'__import__(\"os\")'", "'P.real'", "'1e999'", "'P % 0'"),
    *(
        "'```python\\nx = ('",
        '"\\x1b[2J"',
        "'\u202e'",
        '"\\ud800"',
        "'%s%n'",
        "'a\\b'",
        "'" + "x" * 3000 + "'",
    ),
)
_FRAGMENTS = (
    *("!!python/object/apply:os.system ['true']", "!!timestamp 2026-12-24", "!!binary aGk=", "!!set {a}"),
    *("? [a, b]\n: c", "<<: *a", "<<: [{a: 1}, {b: 2}]", "&a [*a]", "*a", "&a &b c", "--- \n", "...\n"),
    *("%YAML 9.9\n", "%TAG ! !\n", "[" * 3000, "{" * 3000, "[" * 19 + "]" * 19, "- " * 2000, "{a: " * 1000),
    *("\t", "\0", "\x85", "\ufeff", "|\n", ">-9\n", "'", '"', ": ", "- ", "#", "@", "`", "__line__: 3\n"),
    "x: &x " + "y" * 30_000 + "\nz: [" + "*x, " * 400 + "]\n",
    "a: &a [q]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in itertools.pairwise("abcdefghij")),
    "values: {" + ", ".join(f"v{i}: [1, 2, 3, 4, 5]" for i in range(40)) + "}\n",
    "formula: " + "+".join(["P"] * 5000) + "\n",
    "formula: " + "(" * 500 + "P" + ")" * 500 + "\n",
    "steps: [" + ", ".join(map(str, range(3000))) + "]\n",
    "text: '" + "[[a|b]] " * 3000 + "'\n",
)  # fmt: skip
_NODES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**53, 1.5, "", "x", "\ud800", "x" * 19_999, "x" * 30_000, [], {}, [1, 2]),
    *({"f": "nan"}, {"f": "-inf"}, {"f": "1e999"}, {"f": 3}),
    *({"i": "0x" + "f" * 1000}, {"i": "0x" + "f" * 9000}),
    *({"i": "zz"}, {"l": []}, {"l": [[]]}, {"u": [None] * 20_000}, {"l": [{"l": []}] * 9000}, {"d": [[1]]}),
    *({"d": [[{"l": []}, 1]]}, {"d": [["a", 1], ["a", 2]]}, {"o": ["str", "x" * 4000]}, {"o": []}, {"z": 1}),
    *({"t": [0, 0, "float32", [25_000_000, 0]]}, {"t": [0, 0, "float32", [0]]}, {"t": [0, 4, "int64", [1]]}),
    *({"t": [0, 8, "int64", [1]]}, {"t": [-8, 8, "int64", [1]]}, {"t": [0, 0, "float99", [0]]}),
    *({"t": [0, 0, "bool", [0] * 17]}, {"t": [0, 0, "float64", [1] * 15 + [0]]}),
    *({"t": [0, 0, "int8", [2**41, 0]]}, {"t": [0, 0, "int8", [2**40 - 1, 0]]}),
    *({"m": ["float32", [2**39, 2**39]]}, {"m": ["float32", [1 << 20, 1 << 20]]}, {"m": ["float64", [-1]]}),
    *({"l": [{"m": ["float32", [9, 9]]}] * 500}, {"t": [0, 0, "float8_e5m2", [0, 3]]}, {"o": ["int", "x"]}),
)  # fmt: skip


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) >> 10
    return 0


class Meter:
    """Runs cases one by one and keeps the worst of each figure."""

    def __init__(self) -> None:
        self.cases = 0
        self.faulty: list[str] = []
        self.seconds = 0.0
        self.megabytes = 0
        self.worst: dict[str, str] = {}

    def run(self, name: str, case: Callable[[], None]) -> None:
        """Run one case. What it raises is a fault of the program."""
        self.cases += 1
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # begin with a new peak
        before, begin = _status("VmRSS"), time.process_time()
        try:
            case()
        except Exception as error:  # noqa: BLE001 - any exception is what this looks for
            self.faulty.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
        seconds, megabytes = time.process_time() - begin, _status("VmHWM") - before
        if seconds > self.seconds:
            self.seconds, self.worst["seconds"] = seconds, name
        if megabytes > self.megabytes:
            self.megabytes, self.worst["megabytes"] = megabytes, name

    def figures(self) -> dict[str, object]:
        """The figures for the report."""
        return {
            "cases": self.cases,
            "raised": len(self.faulty),
            "examples": self.faulty[:5],
            "longest_cpu_seconds": round(self.seconds, 3),
            "largest_growth_mb": self.megabytes,
            "worst": self.worst,
        }


def mutated_deck(chance: random.Random, decks: list[str]) -> str:
    """A good deck with some places replaced, cut, doubled, or filled with a hostile fragment."""
    lines = chance.choice(decks).split("\n")
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        at = chance.randrange(len(lines))
        line = lines[at]
        indent = line[: len(line) - len(line.lstrip(" -"))]
        match chance.randrange(8):
            case 0 | 1 | 2:
                key, colon, _ = line.partition(": ")
                lines[at] = f"{key}{colon or ': '}{chance.choice(_SCALARS)}"
            case 3:
                lines.insert(at, f"{' ' * len(indent)}{chance.choice(_FRAGMENTS)}")
            case 4:
                lines[at] = line.partition(": ")[0] + ": " + chance.choice(_FRAGMENTS)
            case 5:
                lines.insert(at, line)
            case 6:
                del lines[at : at + chance.randrange(1, 4)]
                lines = lines or [""]
            case _:
                place = chance.randrange(len(line) + 1)
                lines[at] = line[:place] + chance.choice("&*!?|>-[]{}:,#'\"<%@` \t") + line[place:]
    return "\n".join(lines)


def fuzz_decks(count: int, chance: random.Random) -> dict[str, object]:
    """Load mutated decks and show every question that is let in."""
    shipped = sorted(Path("content/questions").glob("*.yaml"))
    decks = [_questions(path, chance) for path in shipped for _ in range(3)]
    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        deck = Path(folder) / "deck.yaml"

        def case() -> None:
            bank = parse_bank([deck], Path(folder) / "none", Path(folder) / "none")
            for fault in bank.faults:
                if fault.line < 1 or not fault.file or "\n" in str(fault):
                    raise AssertionError(f"a fault without a place: {fault}")
            for question in bank.questions.values():
                question_text(question, 1)
            search(bank, "bytes")

        for number in range(count):
            deck.write_bytes(mutated_deck(chance, decks).encode(errors="surrogatepass"))
            meter.run(f"deck {number}", case)
    return meter.figures()


def _questions(path: Path, chance: random.Random) -> str:
    """A deck of the heading and two questions of a shipped file."""
    heading, *questions = path.read_text(encoding="utf-8").split("\n  - id: ")
    return heading + "".join(f"\n  - id: {text}" for text in chance.sample(questions, 2))


def fuzz_transcripts(count: int, chance: random.Random) -> dict[str, object]:
    """Give the examiner mutated evidence of right solutions, and run the hidden tests on it."""
    from quizapp import paths
    from quizapp.judge.authoring.exercise_check import ExerciseChecker
    from quizapp.judge.server.examiner import (
        EvidenceRequest,
        Examiner,
        PrepareRequest,
        RunTranscripts,
        TestReply,
        TestRequest,
    )

    checker = ExerciseChecker()
    honest = []
    try:
        for slug in _EXERCISES:
            folder = paths.exercises() / slug
            run = checker.run(folder, (folder / "solution.py").read_text(encoding="utf-8"), 7)
            honest.append((folder, run.nonce, run.groups[0]))
    finally:
        checker.close()
    meter, examiner = Meter(), Examiner()
    for number in range(count):
        folder, nonce, (probes, (transcript, *_)) = chance.choice(honest)
        session = str(number)
        examiner.answer(PrepareRequest(session, str(folder), b"", "cpu", [7]))
        group = RunTranscripts(0, nonce, [mutated_transcript(chance, transcript)], probes, "/none")
        evidence = EvidenceRequest(session, [group])

        def case(evidence: EvidenceRequest = evidence) -> None:
            examiner.answer(evidence)
            reply = examiner.answer(TestRequest(evidence.session, [0]))
            assert isinstance(reply, TestReply)
            (result,) = reply.results
            if not result.passed and not result.error and not any(test.message for test in result.tests):
                raise AssertionError("no sentence")

        meter.run(f"transcript {number} of {folder.name}", case)
    return meter.figures()


def mutated_transcript(chance: random.Random, transcript: bytes) -> bytes:
    """A transcript with nodes replaced, or with damaged bytes."""
    from quizapp.judge.worker.transcript import HEADER

    if chance.random() < 0.2:
        raw = bytearray(transcript)
        for _ in range(chance.randrange(1, 8)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        return bytes(raw[: chance.choice((len(raw), len(raw), chance.randrange(len(raw))))])
    magic, length, size = HEADER.unpack_from(transcript)
    document = json.loads(transcript[HEADER.size : HEADER.size + length])
    places = list(_places(document))
    for _ in range(chance.choice((1, 1, 2, 8, 40))):
        holder, key = chance.choice(places)
        holder[key] = chance.choice(_NODES)
    text = json.dumps(document)
    if chance.random() < 0.1:
        depth = chance.choice((20, 30, 900, 100_000))
        text = text.replace("null", '{"l": [' * depth + "0" + "]}" * depth, 1)
    header = text.encode()
    return HEADER.pack(magic, len(header), size) + header + transcript[HEADER.size + length :]


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key in range(len(node)) if isinstance(node, list) else list(node) if isinstance(node, dict) else ():
        yield node, key
        yield from _places(node[key])


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decks", type=int, default=10_000)
    parser.add_argument("--transcripts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    figures = {}
    if options.decks:
        figures["decks"] = fuzz_decks(options.decks, chance)
    if options.transcripts:
        figures["transcripts"] = fuzz_transcripts(options.transcripts, chance)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
