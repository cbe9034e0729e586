"""Takes a collection of Anki in, out, and in again, compares every card, and prints JSON.

``python benchmarks/anki_exchange.py [--notes N] [--reviews N]``. Anki itself makes the collection: notes with
markup and tags, and a history of weeks. It is imported into an empty data folder, exported, imported into
another data folder, and imported by Anki. ``different`` counts the cards that differ by what was compared:
each should be 0. The second part exports the whole bank with a long log, for time and memory.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_DAY = 86_400
_WORDS = (
    "gradient loss batch <b>momentum</b> norm &lt;eos&gt; <i>warmup</i> <code>lr*=0.5</code> decay \\(x^2\\)"
)


class CardFigures(NamedTuple):
    """What is compared of a card."""

    prompt: str
    answer: str
    tags: tuple[str, ...]
    suspended: bool
    reviews: int
    interval: int  # days, or seconds and negative


def main() -> None:
    """Run both parts, or the part that a child process was started for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--reviews", type=int, default=10_000)
    parser.add_argument("--export-only", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.export_only:
        print(json.dumps(export_measured(options.export_only)))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(round_trip(Path(folder), options.notes)), flush=True)
        print(json.dumps(whole_bank(Path(folder), options.reviews)))


def round_trip(folder: Path, notes: int) -> dict[str, object]:
    """Anki to one data folder, to a second one, and back to Anki."""
    seconds: dict[str, float] = {}
    package, exported = folder / "anki.apkg", folder / "exported.apkg"
    with timed(seconds, "made by Anki"):
        original = make_collection(folder / "made.anki2", package, notes)
    with timed(seconds, "import"), home(folder / "first"):
        first = import_and_read(package)
    with timed(seconds, "export"), home(folder / "first"):
        command("export", "anki", str(exported))
    with timed(seconds, "import of the export"), home(folder / "second"):
        second = import_and_read(exported)
    with timed(seconds, "import into Anki"):
        back, complaint = anki_reads(folder / "back.anki2", exported)
    with home(folder / "first"):
        again = command("import", str(package))
    return {
        "cards": len(original),
        "reviews": sum(card.reviews for card in original.values()),
        "imported": len(first),
        "different": {
            "first import": differences(original, first),
            "second import": differences(first, second),
            "in Anki": differences(original, back),
        },
        "Anki's check": complaint,
        "imported again": again.splitlines(),
        "seconds": seconds,
    }


def make_collection(path: Path, package: Path, notes: int) -> dict[str, CardFigures]:
    """Fill a collection, export it, and return its cards by the number in their front."""
    from anki.collection import Collection, ExportAnkiPackageOptions

    chance = random.Random(0)
    anki = Collection(str(path))
    basic = anki.models.by_name("Basic")
    words = _WORDS.split(" ")
    figures: dict[str, CardFigures] = {}
    try:
        for number in range(notes):
            note = anki.new_note(basic)
            key = f"n{number}"
            text = " ".join(chance.choices(words, k=chance.randint(5, 60)))
            back = chance.choice(
                (f"{text}", f"<ul><li>{text}</li><li>one more</li></ul>", f"<pre>{text}</pre>")
            )
            note.fields = [f"{key} {text}?", f"<p>{text}</p>{back}"]
            note.tags = chance.sample(["ml", "optim::adam", "to-do", "größe"], chance.randint(0, 3))
            anki.add_note(note, anki.decks.id(chance.choice(["ML::Training", "ML::Inference", "Other"])))
            (card,) = note.cards()
            reviews, interval = add_history(anki, card.id, number, chance)
            suspended = chance.random() < 0.05
            if suspended:
                anki.sched.suspend_cards([card.id])
            figures[key] = CardFigures("", "", tuple(sorted(note.tags)), suspended, reviews, interval)
        options = ExportAnkiPackageOptions(with_scheduling=True, with_deck_configs=True, legacy=False)
        anki.export_anki_package(out_path=str(package), options=options, limit=None)
    finally:
        anki.close()
    return figures


def add_history(anki: object, card: int, number: int, chance: random.Random) -> tuple[int, int]:
    """Write learning steps and reviews of a card as Anki would; return their count and the last interval."""
    count = chance.choice((0, 1, 2, 5, 12))
    at, interval, done = time.time() - 400 * _DAY + number, 0, 0
    for step in range(count):
        if at > time.time() - _DAY:
            break
        rating = 3 if step < 2 else chance.choices((1, 2, 3, 4), (1, 1, 7, 1))[0]
        lapsed = rating == 1
        kind = 0 if step < 2 else 1
        interval = -600 if step == 0 or lapsed else max(1, round(2.2**step * chance.uniform(0.8, 1.2)))
        anki.db.execute(  # type: ignore[attr-defined]
            "insert into revlog values (?, ?, -1, ?, ?, 0, 2500, ?, ?)",
            int(at * 1000), card, rating, interval, chance.randint(900, 30_000), kind,
        )  # fmt: skip
        done += 1
        at += interval * _DAY if interval > 0 else -interval
    return done, interval


def import_and_read(package: Path) -> dict[str, CardFigures]:
    """Import a package by the command and return the cards of its deck."""
    from quizapp.cli.content import load_user_bank
    from quizapp.scheduling.service import Study

    command("import", str(package))
    figures = {}
    with Study.open(load_user_bank()) as study:
        rows = {row.card: row for row in study.cards()}
        for question in study.bank.questions.values():
            if not question.id.startswith("anki-"):
                continue
            row = rows.get(question.id)
            reviews = study.store.tables.reviews(card=question.id)
            seconds = reviews[-1].interval if reviews else 0
            figures[question.prompt.split()[0]] = CardFigures(
                question.prompt,
                question.answer,
                tuple(sorted(question.tags)),
                bool(row and row.suspended),
                len(reviews),
                seconds // _DAY if seconds >= _DAY else -seconds,
            )
    return figures


def anki_reads(path: Path, package: Path) -> tuple[dict[str, CardFigures], str]:
    """Let Anki import a package; return the cards, and what its check of the database says."""
    from anki.collection import Collection, ImportAnkiPackageRequest
    from anki.import_export_pb2 import ImportAnkiPackageOptions

    anki = Collection(str(path))
    try:
        options = ImportAnkiPackageOptions(with_scheduling=True)
        anki.import_anki_package(ImportAnkiPackageRequest(package_path=str(package), options=options))
        figures = {}
        for number in anki.find_notes('"Id:anki-*"'):
            note = anki.get_note(number)
            (card,) = note.cards()
            history = anki.db.all("select ivl from revlog where cid = ? order by id", card.id)
            tags = tuple(sorted(set(note.tags) - {"medium", "recall"}))
            key = note.fields[0].removeprefix("<p>").split()[0]
            figures[key] = CardFigures(
                "", "", tags, card.queue == -1, len(history), history[-1][0] if history else 0
            )
        return figures, anki.fix_integrity()[0]
    finally:
        anki.close()


def differences(one: Mapping[str, CardFigures], other: Mapping[str, CardFigures]) -> dict[str, int]:
    """How many cards differ by each figure; texts only where both sides have them."""
    counts = {"missing": len(one.keys() ^ other.keys())}
    for place, name in enumerate(CardFigures._fields):
        counts[name] = sum(
            bool(one[key][place] != other[key][place])
            for key in one.keys() & other.keys()
            if name not in {"prompt", "answer"} or (one[key].prompt and other[key].prompt)
        )
    return counts


def whole_bank(folder: Path, reviews: int) -> dict[str, object]:
    """Export the whole bank with a log of ``reviews`` answers, in a process of its own."""
    with home(folder / "bank"):
        fill_log(reviews)
        child = subprocess.run(
            [sys.executable, __file__, "--export-only", str(folder / "bank.apkg")],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    result: dict[str, object] = json.loads(child.stdout)
    cards, complaint = anki_reads(folder / "bank.anki2", folder / "bank.apkg")
    return result | {"Anki's check": complaint, "cards with an id from Anki": len(cards)}


def fill_log(reviews: int) -> None:
    """Merge answers to all questions of the bank, a few seconds apart."""
    from quizapp.scheduling.events import Draft, EventType
    from quizapp.scheduling.service import Study

    with Study.open() as study:
        now = study.now()
        cards = list(study.bank.questions)
        events = []
        for number in range(reviews):
            ago = (reviews - number) * 700  # seconds
            moment = now._replace(time=now.time - ago * 1000, day=now.day - ago // _DAY)
            draft = Draft(
                EventType.ANSWER, moment, cards[number % len(cards)], rating=3, ms=5000, source="drill"
            )
            events.append(draft.placed(0, "bench", number, moment.time))
        study.merge(events, [])


def export_measured(path: Path) -> dict[str, object]:
    """Export to ``path``; the notes, the reviews, the seconds, and the peak of the memory."""
    from quizapp.exchange.anki.package_export import write_package
    from quizapp.scheduling.service import Study

    with Study.open() as study:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        written = write_package(study, path)
        return {
            **written._asdict(),
            "seconds": round(time.perf_counter() - started, 2),
            "bytes": path.stat().st_size,
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "peak MB before": before // 1024,
        }


def command(*arguments: str) -> str:
    """Run quizapp; return what it printed."""
    child = subprocess.run(
        [sys.executable, "-m", "quizapp", *arguments], check=True, capture_output=True, text=True
    )
    return child.stdout


@contextmanager
def home(folder: Path) -> Iterator[None]:
    """Use a data folder of its own."""
    before = os.environ.get("QUIZAPP_HOME")
    os.environ["QUIZAPP_HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("QUIZAPP_HOME")
        if before is not None:
            os.environ["QUIZAPP_HOME"] = before


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Note how long a block takes."""
    started = time.perf_counter()
    yield
    seconds[name] = round(time.perf_counter() - started, 2)


if __name__ == "__main__":
    main()
