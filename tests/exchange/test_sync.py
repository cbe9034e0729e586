"""Devices that share a folder end with the same log, cards and documents, whatever arrives when."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp.cli.main import main
from quizapp.exchange.folder_sync import SUFFIX, read_file, sync
from quizapp.exchange.log_export import write_log
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.service import Study
from tests.scheduling.study_kit import study as new_study


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[list[Study]]:
    made = [new_study(tmp_path / name) for name in ("laptop", "desktop", "server")]
    yield made
    for study in made:
        study.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "shared"


def use(study: Study, rng: random.Random) -> None:
    card = f"q{rng.randrange(5)}"
    act = rng.choice(["answer", "answer", "answer", "undo", "suspend", "flag", "code", "mock"])
    if act == "answer":
        study.answer(card, Rating(rng.randint(1, 4)))
    elif act == "undo":
        study.undo()
    elif act == "code":
        verdict = {"status": "passed", "passed": True, "tests": [{"passed": True}], "seconds": 0.5}
        study.record_verdict("lora", verdict, source_text=f"x = {rng.random()}", seconds=1.0)
    elif act == "mock":
        study.record_mock({"schema": "quizapp.mock/1", "n": rng.random()})
    else:
        getattr(study, act)(card)


def state(study: Study) -> object:
    tables = {name: rows for name, rows in study.store.tables.snapshot().items() if name != "reviews"}
    reviews = sorted(row[1:] for row in study.store.tables.snapshot()["reviews"])
    documents = sorted(str(document._replace(id="")) for document in study.store.documents.all())
    events = sorted(event._replace(seq=0) for event in study.store.log.all())
    return tables, reviews, documents, [event.id for event in events]


@pytest.mark.parametrize("seed", range(8))
def test_devices_agree_after_using_and_syncing_in_any_order(devices, folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        study = rng.choice(devices)
        if rng.random() < 0.2:
            sync(study, folder)
        else:
            use(study, rng)
    for _ in range(2):
        for study in devices:
            assert sync(study, folder).complaints == ()
    assert len({len(study.store.log.all()) for study in devices}) == 1
    first, *others = [state(study) for study in devices]
    assert all(other == first for other in others)


def test_a_second_sync_finds_nothing_and_changes_nothing(devices, folder: Path) -> None:
    rng = random.Random(1)
    for study in devices:
        for _ in range(10):
            use(study, rng)
    for study in devices * 2:
        sync(study, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(before) == 3
    for study in devices:
        assert sync(study, folder)[:2] == (0, 0)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_a_retired_device_left_reaches_a_new_one(devices, folder: Path) -> None:
    old, kept, new = devices
    old.answer("q1", Rating.GOOD)
    sync(old, folder)
    sync(kept, folder)
    for path in folder.glob(f"{old.store.log.devices[-1]}*"):
        path.unlink()
    sync(kept, folder)
    assert sync(new, folder).events == 1


def test_a_file_that_is_still_arriving_is_taken_as_far_as_it_came(devices, folder: Path) -> None:
    here, there, _ = devices
    for _ in range(3):
        there.answer("q1", Rating.GOOD)
    sync(there, folder)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    done = sync(here, folder)
    assert (done.events, len(done.complaints)) == (2, 1)
    assert str(path) in done.complaints[0]
    path.write_bytes(whole)
    assert sync(here, folder)[::3] == (1, ())


BAD = {
    "is not JSON": "{",
    "is not a JSON object": "[1]",
    "nested": "[" * 100_000,
    "lacks the field": {"seed": ...},
    "does not know": {"colour": "red"},
    "type 'fly'": {"type": "fly"},
    "'rating'": {"rating": 5},
    "a rating": {"rating": None},
    "'time'": {"time": 10**15},
    "'day'": {"day": 10**9},
    "'interval'": {"interval": 10**12},
    "'ms'": {"ms": True},
    "'card'": {"card": "\ud800"},
    "'model'": {"model": 6},
    "'data'": {"data": "[1]"},
    "'ticks'": {"ticks": "{"},
    "memory model": {"type": "settings", "data": '{"model":"FSRS-6","weights":[1,2]}'},
    "caps": {"data": '{"caps":[0]}'},
    "without a target": {"type": "undo"},
    "no id": {"id": ""},
}


@pytest.mark.parametrize("said", BAD)
def test_a_bad_line_is_named_and_nothing_of_its_file_is_taken(devices, folder: Path, said: str) -> None:
    here, there, third = devices
    there.answer("q1", Rating.GOOD)
    third.answer("q2", Rating.GOOD)
    sync(there, folder)
    (path,) = folder.iterdir()
    sync(third, folder)
    (line,) = path.read_text().splitlines()
    change = BAD[said]
    if isinstance(change, dict):
        row = json.loads(line) | {"id": "other"} | change
        change = json.dumps({name: value for name, value in row.items() if value is not ...})
    path.write_text(f"{line}\n{change}\n")
    done = sync(here, folder)
    assert (done.events, done.others) == (1, 1)  # the third device's
    (complaint,) = done.complaints
    assert f"{path}:2: " in complaint
    assert said in complaint
    assert [event.card for event in here.store.log.all()] == ["q2"]


@pytest.mark.parametrize("row", [{"mock": {}}, {"mock": 3}, {"song": {}}, {"submission": {"id": 1}}])
def test_a_bad_document_is_named(devices, folder: Path, row: object) -> None:
    folder.mkdir()
    (folder / f"x{SUFFIX}").write_text(json.dumps(row) + "\n")
    (complaint,) = sync(devices[0], folder).complaints
    assert f"x{SUFFIX}:1: " in complaint


def test_an_exported_log_is_imported_once(devices, tmp_path: Path) -> None:
    here, there, _ = devices
    rng = random.Random(3)
    for _ in range(30):
        use(there, rng)
    write_log(there, tmp_path / "log.json", "json")
    found = read_file(tmp_path / "log.json", [])
    assert here.merge(found.events, found.documents)[0] == len(there.store.log.all())
    assert here.merge(found.events, found.documents)[0] == 0
    assert here.store.tables.snapshot()["cards"] == there.store.tables.snapshot()["cards"]


@pytest.mark.slow
def test_the_commands_say_what_they_took(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch
) -> None:
    shared = str(tmp_path / "shared")
    for name, expected in (("one", "0 events of"), ("two", "1 event of")):
        monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / name))
        assert main(["answer", "lr-warmup", "good"]) == 0
        assert main(["sync", shared]) == 0
        told = capsys.readouterr()
        assert expected in told.out
        assert (f"{shared} did not exist and was created" in told.err) == (name == "one")
    assert main(["export", "json", str(tmp_path / "log.json")]) == 0
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / "three"))
    assert main(["import", str(tmp_path / "log.json")]) == 0
    assert "2 events" in capsys.readouterr().out
    assert main(["import", str(tmp_path / "nothing.json")]) == 2
    assert main(["import", str(Path(__file__))]) == 2
    assert main(["sync", str(Path(__file__))]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 3
    assert all(line.startswith("quizapp: ") for line in told)


def test_a_complaint_makes_the_exit_code_one(capsys, tmp_path: Path) -> None:
    (tmp_path / f"x{SUFFIX}").write_text("{")
    assert main(["sync", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "1 other device" in out
    assert "arrived" in err
