"""Notes and history from Anki: packages that Anki itself wrote, imported by the command."""

import time
from pathlib import Path

import pytest
from anki.collection import Collection

from quizapp import paths
from quizapp.cli.content import load_user_bank
from quizapp.cli.main import main
from quizapp.scheduling.events import EventType
from quizapp.scheduling.service import Study
from tests.exchange.anki_collections import give, opened, take

pytestmark = pytest.mark.slow

FORMATS = pytest.mark.parametrize("legacy", [True, False], ids=["old format", "new format"])


def add(anki: Collection, kind: str, fields: list[str], deck: str = "Networks::Basics", tags: str = ""):
    note_type = anki.models.by_name(kind)
    assert note_type
    note = anki.new_note(note_type)
    note.fields = fields
    note.tags = tags.split()
    anki.add_note(note, anki.decks.id(deck))
    return note


def add_review(
    anki: Collection, card: int, at: float, rating: int, interval: int, kind: int = 1, factor=2500
):
    assert anki.db
    anki.db.execute(
        "insert into revlog values (?, ?, -1, ?, ?, 0, ?, 4000, ?)",
        round(at * 1000), card, rating, interval, factor, kind,
    )  # fmt: skip


@pytest.fixture
def anki(tmp_path: Path):
    with opened(tmp_path / "anki.anki2") as collection:
        yield collection


def imported(package: Path) -> None:
    assert main(["import", str(package)]) == 0


def texts() -> dict[str, str]:
    bank = load_user_bank()
    return {q.prompt: q.answer for q in bank.questions.values() if q.id.startswith("anki-")}


@FORMATS
def test_notes_become_cards_of_a_deck(
    anki: Collection, tmp_path: Path, legacy: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    add(
        anki,
        "Basic",
        ["What is <b>BPTT</b>?", "<ul><li>unroll<li>sum &amp; clip</ul>"],
        tags="rnn train::bptt",
    )
    add(anki, "Basic (and reversed card)", ["ReLU", "<pre>max(0,  x)\n# kinks</pre>"])
    add(anki, "Cloze", ["{{c1::Adam::optimizer}} keeps {{c2::two}} moments", "Kingma"])
    add(anki, "Basic", ['<img src="net.png">', "a picture"])
    add(anki, "Basic", ["no back", ""])
    give(anki, tmp_path / "notes.apkg", legacy=legacy)
    imported(tmp_path / "notes.apkg")
    out = capsys.readouterr().out
    assert "6 cards in" in out
    assert "6 new, 0 changed" in out
    assert "1 note with pictures or sound: text only\n" in out
    assert "1 card without text on both sides: left out\n" in out
    assert texts() == {
        "What is **BPTT**?": "- unroll\n- sum & clip",
        "ReLU": "```\nmax(0,  x)\n# kinks\n```",
        "```\nmax(0,  x)\n# kinks\n```": "ReLU",
        "[optimizer] keeps two moments": "**Adam** keeps two moments\n\nKingma",
        "Adam keeps [...] moments": "Adam keeps **two** moments\n\nKingma",
        "[image: net.png]": "a picture",
    }
    bank = load_user_bank()
    cards = [q for q in bank.questions.values() if q.id.startswith("anki-")]
    assert {bank.topics[q.topic].name for q in cards} == {"Networks::Basics"}
    assert cards[0].tags == ("rnn", "train::bptt")
    relu = [q for q in cards if "max" in q.prompt + q.answer]
    assert relu[0].siblings == (relu[1].id,)
    assert main(["check", str(paths.imported_decks())]) == 0


@FORMATS
def test_the_history_is_replayed_at_its_real_times(anki: Collection, tmp_path: Path, legacy: bool) -> None:
    note = add(anki, "Basic", ["front", "back"])
    (card,) = (card.id for card in note.cards())
    start = time.time() - 50 * 86400
    add_review(anki, card, start, 3, -600, kind=0)
    add_review(anki, card, start + 700, 3, 3, kind=0)  # graduates a step earlier than ours might
    add_review(anki, card, start + 3 * 86400, 4, 20)
    add_review(anki, card, start + 4 * 86400, 0, 17, kind=5)  # FSRS changed the interval
    add_review(anki, card, start + 5 * 86400, 3, 30, kind=3, factor=0)  # crammed
    add_review(anki, card, start + 6 * 86400, 0, 9, kind=4)  # a due date set by hand
    add_review(anki, card, start - 60 * 365 * 86400, 3, 1)  # before computers
    give(anki, tmp_path / "notes.apkg", legacy=legacy)
    imported(tmp_path / "notes.apkg")
    with Study.open() as study:
        answers = [event for event in study.events() if event.type == EventType.ANSWER]
        assert [(e.time, e.rating, e.interval, e.ms, e.source) for e in answers] == [
            (round(start * 1000), 3, 600, 4000, "anki"),
            (round((start + 700) * 1000), 3, 3 * 86400, 4000, "anki"),
            (round((start + 3 * 86400) * 1000), 4, 17 * 86400, 4000, "anki"),
        ]
        (row,) = study.cards()
        assert (row.state, row.reps, row.interval) == (2, 3, 17 * 86400)
        assert row.due_day == answers[-1].day + 17
        (facts,) = [study.card(row.card)]
        assert facts.due < study.clock.now()


def test_suspended_buried_flagged_and_reset_cards_stay_so(anki: Collection, tmp_path: Path) -> None:
    cards = {}
    for name in ("suspended", "buried", "flagged", "reset"):
        (cards[name],) = (card.id for card in add(anki, "Basic", [name, "back"]).cards())
        add_review(anki, cards[name], time.time() - 86400 * 9 + len(cards), 3, 4)
    anki.sched.suspend_cards([cards["suspended"]])
    anki.sched.bury_cards([cards["buried"]])
    anki.set_user_flag_for_cards(3, [cards["flagged"]])
    add_review(anki, cards["reset"], time.time() - 86400, 0, 0, kind=4, factor=0)
    give(anki, tmp_path / "notes.apkg", legacy=True)
    imported(tmp_path / "notes.apkg")
    with Study.open() as study:
        by_prompt = {study.bank.questions[row.card].prompt: row for row in study.cards()}
        assert by_prompt["suspended"].suspended
        assert by_prompt["buried"].buried == study.now().day
        assert by_prompt["flagged"].flagged
        assert by_prompt["reset"].state == 0
        assert {row.state for name, row in by_prompt.items() if name != "reset"} == {2}


@FORMATS
def test_importing_again_adds_nothing_and_follows_changes(
    anki: Collection, tmp_path: Path, legacy: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    note = add(anki, "Basic", ["front", "back"], tags="old")
    (card,) = (card.id for card in note.cards())
    add_review(anki, card, time.time() - 86400, 3, 2)
    anki.sched.suspend_cards([card])
    package = tmp_path / "notes.apkg"
    give(anki, package, legacy=legacy)
    imported(package)
    with Study.open() as study:
        before = study.events()
        study.unsuspend(before[0].card)
    capsys.readouterr()
    imported(package)
    assert "0 new, 0 changed\nnew in the log: 0 answers" in capsys.readouterr().out
    (file,) = paths.imported_decks().glob("*.yaml")
    file.write_text(file.read_text().replace("answer: back", "answer: back\n  say: My own words."))
    note.fields[1] = "another back"
    note.tags = []
    anki.update_note(note)
    add_review(anki, card, time.time() - 3600, 4, 5)
    package.unlink()
    give(anki, package, legacy=legacy)
    imported(package)
    out = capsys.readouterr().out
    assert "0 new, 1 changed" in out
    assert "1 answer, 0 cards" in out
    (question,) = [q for q in load_user_bank().questions.values() if q.id.startswith("anki-")]
    assert (question.answer, question.say, question.tags) == ("another back", "My own words.", ())
    with Study.open() as study:
        (row,) = study.cards()
        assert (row.reps, row.suspended) == (2, 0)


@pytest.mark.exhaustive
def test_own_notes_bring_only_their_history_home(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Study.open() as study:
        seen, other = list(study.bank.questions)[:2]
        study.answer(seen, 3, seconds=3)
        study.answer(other, 1)
        study.undo()
    package = tmp_path / "bank.apkg"
    assert main(["export", "anki", str(package)]) == 0
    imported(package)
    out = capsys.readouterr().out
    assert "0 new, 0 changed" in out
    assert "0 answers, 0 cards" in out
    assert not paths.imported_decks().exists()
    with opened(tmp_path / "phone.anki2") as anki:
        take(anki, package)
        (card,) = anki.find_cards(f'"Id:{other}"')
        add_review(anki, card, time.time() + 5, 3, 7)
        package.unlink()
        give(anki, package, legacy=False)
    imported(package)
    assert "1 answer, 0 cards" in capsys.readouterr().out
    with Study.open() as study:
        assert [(a.card, a.rating) for a in study.standing_answers()] == [(seen, 3), (other, 3)]


@pytest.mark.exhaustive  # a second data folder compiles the bank anew
def test_a_second_trip_changes_no_text(
    anki: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(anki, "Basic", ["a &lt; b * c_d", "<p>It says:</p><ul><li>one</li><li>two</li></ul>"], tags="x y::z")
    add(anki, "Basic", [r"\(x^2\)", "<table><tr><td>a|b</td></tr></table><ol start=3><li>c</ol>"])
    give(anki, tmp_path / "notes.apkg", legacy=True)
    imported(tmp_path / "notes.apkg")
    before = {q.id: (q.prompt, q.answer, q.tags, q.topic) for q in load_user_bank().questions.values()}
    exported = tmp_path / "exported.apkg"
    assert main(["export", "anki", str(exported)]) == 0
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / "another home"))
    imported(exported)
    assert before == {
        q.id: (q.prompt, q.answer, q.tags, q.topic) for q in load_user_bank().questions.values()
    }


def test_other_packages_and_decks_are_named_plainly(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = tmp_path / "collection.colpkg"
    backup.write_bytes(b"")
    assert main(["import", str(backup)]) == 2
    assert "choose File, Export and an .apkg file" in capsys.readouterr().err


def test_a_data_folder_behind_a_link_is_the_same_deck(
    anki: Collection,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / "link"))
    note = add(anki, "Basic", ["front", "back"])
    for back in ("back", "changed"):
        note.fields[1] = back
        anki.update_note(note)
        package = tmp_path / f"{back}.apkg"
        give(anki, package, legacy=True)
        imported(package)
    assert "0 new, 1 changed" in capsys.readouterr().out
    assert texts() == {"front": "changed"}


def test_a_deck_that_was_broken_by_hand_is_left_alone(
    anki: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(anki, "Basic", ["front", "back"])
    give(anki, tmp_path / "notes.apkg", legacy=True)
    imported(tmp_path / "notes.apkg")
    (file,) = paths.imported_decks().glob("*.yaml")
    file.write_text("questions: [")
    assert main(["import", str(tmp_path / "notes.apkg")]) == 2
    assert str(file) in capsys.readouterr().err
    assert file.read_text() == "questions: ["


def test_without_the_library_of_the_new_format_the_command_says_how_to_get_it(
    anki: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add(anki, "Basic", ["front", "back"])
    give(anki, tmp_path / "notes.apkg", legacy=False)
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert main(["import", str(tmp_path / "notes.apkg")]) == 2
    assert "pip install 'quizapp-ml[anki]'" in capsys.readouterr().err
