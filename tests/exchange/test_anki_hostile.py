"""Packages made to do harm, or broken on the way: each ends in one sentence, and nothing changes."""

import io
import json
import os
import random
import sqlite3
import struct
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from quizapp.cli.content import load_user_bank
from quizapp.cli.main import main
from quizapp.errors import QuizError
from quizapp.exchange.anki.html_to_markdown import to_markdown
from quizapp.exchange.anki.imported_cards import import_cards
from quizapp.exchange.anki.imported_deck import plan_deck
from quizapp.exchange.anki.imported_history import import_history
from quizapp.exchange.anki.package_archive import unpack_database
from quizapp.store.apkg.anki_rows import (
    AnkiCard,
    AnkiCollection,
    AnkiNote,
    AnkiReview,
    CardTemplate,
    NoteType,
)
from quizapp.store.apkg.collection_reader import CollectionError, ReadLimits, read_collection
from quizapp.store.apkg.collection_writer import write_collection

pytestmark = pytest.mark.slow

NOW = 1_700_000_000
KIND = NoteType(7, "Basic", False, ("Front", "Back"), (CardTemplate("Card 1", "{{Front}}", "{{Back}}"),))


def collection(front: str = "front", back: str = "back", guid: str = "abc") -> AnkiCollection:
    note = AnkiNote(1, guid, KIND.id, NOW, ("tag",), (front, back))
    card = AnkiCard(2, 1, 5, 0, NOW, 2, 2, 100, 4, 2500, 1, 0, 0, 0, "{}")
    review = AnkiReview((NOW - 90_000) * 1000, 2, 3, 4, 0, 2500, 4000, 1)
    return AnkiCollection(1_577_851_200, {KIND.id: KIND}, {5: "Deck"}, [note], [card], [review])


def database(folder: Path, *statements: str, content: AnkiCollection | None = None) -> bytes:
    """The bytes of a sound database after some statements."""
    path = folder / "draft.anki2"
    path.unlink(missing_ok=True)
    write_collection(path, content or collection(), now=NOW * 1000, rollover_hour=4)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
    return path.read_bytes()


def zipped(
    *files: tuple[str, bytes], name: str = "", mode: int = 0, kind: int = zipfile.ZIP_DEFLATED
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for file, content in files:
            info = zipfile.ZipInfo(file)
            info.external_attr = mode << 16
            archive.writestr(info, content, kind)
    return buffer.getvalue()


def package(*statements: str) -> Callable[[Path], bytes]:
    return lambda folder: zipped(("collection.anki2", database(folder, *statements)), ("media", b"{}"))


def beside(name: str, mode: int = 0) -> Callable[[Path], bytes]:
    return lambda folder: zipped(("collection.anki2", database(folder)), (name, b"x"), mode=mode)


def models(value: object) -> Callable[[Path], bytes]:
    text = value if isinstance(value, str) else json.dumps(value)
    return package(f"UPDATE col SET models = '{text}'")


def newer(content: bytes) -> Callable[[Path], bytes]:
    return lambda _: zipped(("collection.anki21b", content), kind=zipfile.ZIP_STORED)


def newer_schema(config: str) -> Callable[[Path], bytes]:
    """A database of the new schema whose note types have ``config`` (hexadecimal) as their message."""
    return lambda folder: zipped((
        "collection.anki21b",
        zstandard.compress(
            database(
                folder,
                "UPDATE col SET ver = 18",
                "CREATE TABLE fields (ntid, ord, name)",
                "CREATE TABLE templates (ntid, ord, name, config)",
                "CREATE TABLE notetypes (id, name, config)",
                "CREATE TABLE decks (id, name)",
                f"INSERT INTO templates VALUES (7, 0, 'Card 1', x'{config}')",
            )
        ),
    ))  # fmt: skip


def cut(share: float) -> Callable[[Path], bytes]:
    def make(folder: Path) -> bytes:
        whole = package()(folder)
        return whole[: int(len(whole) * share)]

    return make


def page_of_noise(folder: Path) -> bytes:
    content = bytearray(database(folder))
    content[4096:8192] = random.Random(0).randbytes(4096)
    return zipped(("collection.anki2", bytes(content)))


def listing(files: int) -> Callable[[Path], bytes]:
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, files, files, 46 * files, 0, 0)
    return lambda _: end


def huge_listing(_: Path) -> bytes:
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1 << 40, 1 << 40, 1 << 46, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    return (
        end64
        + locator
        + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    )


def encrypted(folder: Path) -> bytes:
    content = bytearray(package()(folder))
    for place in (content.find(b"PK\x03\x04") + 6, content.find(b"PK\x01\x02") + 8):
        content[place] |= 1
    return bytes(content)


def wrong_sizes(folder: Path) -> bytes:
    """The directory claims a small file; what comes out is larger."""
    content = bytearray(package()(folder))
    place = content.find(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<L", 10)
    return bytes(content)


def twice(folder: Path) -> bytes:
    with pytest.warns(UserWarning, match="Duplicate"):
        return zipped(*[("collection.anki2", database(folder))] * 2)


_COL = "crt, mod, scm, ver, dty, usn, ls, conf, models, decks, dconf, tags"
_NOTES = "id, guid, mid, mod, tags, flds"
_COPY = "CREATE TABLE other AS SELECT * FROM notes"
_HOSTILE: dict[str, Callable[[Path], bytes]] = {
    "empty": lambda _: b"",
    "text": lambda _: b"front\tback\n" * 100,
    "zeros": lambda _: bytes(100_000),
    "another zip": lambda _: zipped(("word/document.xml", b"<w/>")),
    "a zip with other files": lambda _: zipped(("readme", b"hello")),
    "empty zip": lambda _: zipped(),
    "empty database": lambda _: zipped(("collection.anki2", b"")),
    "cut in half": cut(0.5),
    "cut at the end": cut(0.98),
    "a first byte only": lambda _: b"P",
    "no database but text": lambda _: zipped(("collection.anki2", b"hello" * 1000)),
    "path upward": beside("../../.bashrc"),
    "absolute path": beside("/etc/passwd"),
    "backslashes": beside("..\\..\\x"),
    "NUL in a name": lambda folder: beside("media?x")(folder).replace(b"media?x", b"media\0x"),
    "link": beside("media", mode=0o120777),
    "two databases": twice,
    "encrypted": encrypted,
    "packed as bzip2": lambda folder: zipped(("collection.anki2", database(folder)), kind=zipfile.ZIP_BZIP2),
    "packed as lzma": lambda folder: zipped(("collection.anki2", database(folder)), kind=zipfile.ZIP_LZMA),
    "zip bomb": lambda _: zipped(("collection.anki2", bytes(40 << 20))),
    "zstd bomb": newer(zstandard.compress(bytes(40 << 20))),
    "a bomb within a bomb": lambda _: zipped(("collection.anki21b", zstandard.compress(bytes(600 << 20)))),
    "zstd with a huge window": newer(bytes.fromhex("28b52ffd00f8") + bytes(20)),
    "zstd cut": newer(zstandard.compress(os.urandom(5000))[:3000]),
    "not zstd": newer(b"hello" * 100),
    "wrong sizes": wrong_sizes,
    "sixty thousand files": listing(60_000),
    "a trillion files": huge_listing,
    "unknown schema": package("UPDATE col SET ver = 99"),
    "schema of text": package("UPDATE col SET ver = 'x'"),
    "no col row": package("DELETE FROM col"),
    "two col rows": package(f"INSERT INTO col SELECT 2, {_COL} FROM col"),
    "no notes": package("DROP TABLE notes"),
    "no cards": package("DROP TABLE cards"),
    "no revlog": package("DROP TABLE revlog"),
    "no col": package("DROP TABLE col"),
    "view as notes": package(_COPY, "DROP TABLE notes", "CREATE VIEW notes AS SELECT * FROM other"),
    "endless view": package("DROP TABLE notes", f"CREATE VIEW notes AS WITH RECURSIVE n({_NOTES}) AS "
        "(SELECT 1, '', 1, 1, '', '' UNION ALL SELECT id + 1, '', 1, 1, '', '' FROM n) SELECT * FROM n"),
    "virtual table as notes": package("DROP TABLE notes", "CREATE VIRTUAL TABLE notes USING fts5(id, guid)"),
    "computed column": package("ALTER TABLE cards DROP COLUMN data",
        "ALTER TABLE cards ADD COLUMN data AS (printf('%.*c', 100000000, 'x'))"),
    "column missing": package("ALTER TABLE notes DROP COLUMN flds"),
    "text for a number": package("UPDATE cards SET due = 'soon'"),
    "blob for text": package("UPDATE notes SET flds = x'00ff'"),
    "nothing for text": package("CREATE TABLE t (id, guid, mid, mod, tags, flds)", "DROP TABLE notes",
        "ALTER TABLE t RENAME TO notes", "INSERT INTO notes VALUES (1, NULL, 7, 1, '', '')"),
    "text that is not UTF-8": package("UPDATE notes SET flds = CAST(x'61ff62' AS TEXT)"),
    "infinite number": package("UPDATE cards SET ivl = 9e999"),
    "page of noise": page_of_noise,
    "broken JSON": models("{"),
    "deep JSON": models("[" * 50_000),
    "models as list": models([]),
    "model as number": models({"7": 3}),
    "model without fields": models({"7": {"name": "x", "tmpls": []}}),
    "template of numbers": models({"7": {"name": "x", "flds": [], "tmpls": [{"ord": 0, "name": 1}]}}),
    "model with a long number": models('{"7": ' + "9" * 5000 + "}"),
    "no models": models({}),
    "decks as text": package("UPDATE col SET decks = 'x'"),
    "no tables of the new schema": package("UPDATE col SET ver = 18"),
    "noise as protobuf": newer_schema("ffffffffffffffffffffffff"),
    "protobuf cut": newer_schema("0a7f61"),
    "protobuf of an unknown kind": newer_schema("0b"),
    "protobuf not UTF-8": newer_schema("0a02fffe"),
    "all too long": lambda folder: zipped(
        ("collection.anki2", database(folder, content=collection("x" * 3_000_000)))),
    "nothing but markup": lambda folder: zipped(
        ("collection.anki2", database(folder, content=collection("<script>x</script>", "<br>" * 1000)))),
}  # fmt: skip


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and "cache" not in path.parts)
    return {str(path): path.read_bytes() for path in files}


def refused(path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(home)
    assert main(["import", str(path)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"quizapp: {path} cannot be imported: ")
    assert err.count("\n") == 1
    assert err[:-1].isprintable()
    assert tree(home) == before


@pytest.mark.parametrize("name", _HOSTILE)
def test_a_hostile_package_is_refused_with_a_sentence(
    name: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.apkg"
    path.write_bytes(_HOSTILE[name](tmp_path))
    refused(path, home, capsys)


def test_what_is_not_a_file_is_refused_at_once(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, pipe, device, dangling = (
        tmp_path / f"{name}.apkg" for name in ("folder", "pipe", "zero", "gone")
    )
    folder.mkdir()
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    dangling.symlink_to(tmp_path / "nothing")
    for path in (folder, pipe, device, dangling, tmp_path / "missing.apkg"):
        refused(path, home, capsys)


def test_a_trigger_or_an_odd_table_beside_is_never_run(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.apkg"
    make = package(
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM cards; END",
        "CREATE VIEW v AS SELECT load_extension('/tmp/x.so')",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
    )
    path.write_bytes(make(tmp_path))
    assert main(["import", str(path)]) == 0


def test_a_database_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "collection"
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000)"
    path.write_bytes(database(tmp_path, f"CREATE TABLE n AS {numbers} SELECT x FROM n"))
    with pytest.raises(CollectionError, match="more than 0 s"):
        read_collection(path, ReadLimits(seconds=0.0))


def test_more_rows_than_the_limit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "collection"
    path.write_bytes(
        database(tmp_path, "INSERT INTO revlog SELECT id + 1, 2, 0, 3, 1, 1, 1, 1, 1 FROM revlog")
    )
    with pytest.raises(CollectionError, match="'revlog' has more than 1 rows"):
        read_collection(path, ReadLimits(reviews=1))


def test_control_characters_arrive_visible_and_absurd_reviews_are_left_out(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = collection("\x1b]0;title\x07red\0\u202e", "\x9b31m back")
    path = tmp_path / "notes.apkg"
    statements = (
        "INSERT INTO revlog VALUES (-5, 2, 0, 3, 1, 1, 1, 1, 1)",
        "INSERT INTO revlog VALUES (9223372036854775807, 2, 0, 3, 1, 1, 1, 1, 1)",
        f"INSERT INTO revlog VALUES ({NOW - 100}000, 2, 0, 99, 1, 1, 1, 1, 1)",
        f"INSERT INTO revlog VALUES ({NOW - 99}000, 2, 0, 3, -9000000000000, 1, 1, 1, 1)",
        "UPDATE cards SET queue = -1, mod = -9223372036854775808, flags = -1",
    )
    path.write_bytes(zipped(("collection.anki2", database(tmp_path, *statements, content=content))))
    assert main(["import", str(path)]) == 0
    assert "4 reviews with an impossible time, rating, or interval" in capsys.readouterr().out
    (question,) = [q for q in load_user_bank().questions.values() if q.id.startswith("anki-")]
    assert question.prompt == "\\x1b]0;title\\x07red\\x00\\u202e"
    assert question.answer == "\\x9b31m back"
    assert main(["due"]) == 0


@pytest.mark.parametrize(
    "piece",
    ["<!--", "<a ", "<x a=1 ", "<img src=", "<b>x", "<ul><li>", "<td>", "</", "&", "{{c1::", "`", "[]("],
)
def test_markup_made_to_be_slow_takes_time_in_proportion(piece: str) -> None:
    def seconds(length: int) -> float:
        started = time.process_time()
        to_markdown(piece * (length // len(piece)))
        return time.process_time() - started

    # With the square of the length it would be 64 times; the constant covers clocks and noise.
    assert seconds(48_000) < 24 * seconds(6_000) + 1


@pytest.mark.exhaustive
def test_flipped_bytes_are_read_or_refused(tmp_path: Path) -> None:
    outcomes = [_outcome(tmp_path, seed) for seed in range(500)]
    assert {"read", "refused"} == set(outcomes)
    assert outcomes.count("refused") > 50


def _outcome(folder: Path, seed: int) -> str:
    """Half of the packages are damaged themselves, the other half hold a damaged database."""
    chance = random.Random(seed)
    whole = database(folder)
    content = bytearray(whole if seed % 2 else zipped(("collection.anki2", whole), ("media", b"{}")))
    # Flips among the first bytes, where headers and the schema are, are the interesting ones.
    for _ in range(chance.randint(1, 8)):
        reach = min(chance.choice((100, 4096, len(content))), len(content))
        content[chance.randrange(reach)] ^= 1 << chance.randrange(8)
    path, target = folder / "flipped.apkg", folder / "collection"
    path.write_bytes(zipped(("collection.anki2", bytes(content))) if seed % 2 else bytes(content))
    target.unlink(missing_ok=True)
    try:
        unpack_database(path, target)
        read = read_collection(target)
        cards = import_cards(read)
        by_id = {card.id: card for card in read.cards}
        pairs = [(card.id, by_id[card.anki_card]) for card in cards.cards]
        import_history(pairs, read.reviews, {}, {}, now=NOW * 1000, rollover_hour=4)
        plan_deck(folder / "deck", cards.cards, ())
    except QuizError:
        return "refused"
    return "read"
