"""Incidents are read with every fault named by file and line; `quizapp check` says them."""

import shutil
from pathlib import Path

import pytest

from quizapp.cli.main import main
from quizapp.incidents.loader import parse_library

GOOD = Path(__file__).parent.parent / "data" / "incidents"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOOD, tmp_path / "incidents"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_good_files_are_read_without_a_fault(folder: Path) -> None:
    library = parse_library(folder)
    assert library.faults == ()
    assert set(library.incidents) == {"flat-loss", "quiet-floor", "rising-loss"}
    flat = library.incidents["flat-loss"]
    assert flat.card == "incident:pairing"
    assert flat.readings["one-batch"].outcome == "down"
    assert library.incidents["quiet-floor"].false_alarm


def test_the_description_of_a_baseline_is_not_an_incident(folder: Path) -> None:
    (folder / "mlp").mkdir()
    (folder / "mlp" / "baseline.yaml").write_text("title: An MLP\n")
    library = parse_library(folder)
    assert library.faults == ()
    assert "baseline" not in library.incidents


def test_a_folder_without_a_vocabulary_holds_no_incident(tmp_path: Path) -> None:
    assert not parse_library(tmp_path).incidents


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("offered: [no-fault, ", "offered: [no-fualt, ", "there is no cause 'no-fualt'"),
        ("dropout-left-on, schedule-per-batch]", "dropout-left-on]", "at least 12 are needed"),
        ("decoys: [rate-too-small, dead-units]", "decoys: [leak, schedule-per-batch]", "rejects the decoy"),
        ("decoys: [rate-too-small, dead-units]", "decoys: [rate-too-small]", "2 to 4 are needed"),
        ("one-batch: {outcome: down", "one-bach: {outcome: down", "there is no reading 'one-bach'"),
        ("one-batch: {outcome: down", "one-batch: {outcome: sideways", "is not an outcome of one-batch"),
        ("one-batch: {outcome: down", "one-batch: {outcome: up", "but its cause gives down"),
        ("one_batch: passes", "one_batch: fails", "'one_batch' contradicts"),
        ("one_batch: passes", "one_batch: holds", "there is no one_batch 'holds'"),
        ('terms: ["assert"]', 'terms: ["a"]', "the term 'a'"),
        ('terms: ["assert"]', 'terms: ["momentum"]', "appear in setup or symptom"),
        (", verify: true", "", "has 'verify: true'"),
        ("one_batch: passes", "one_batch: passes\nstate: [rng, smapler]", "there is no state 'smapler'"),
        (
            "one_batch: passes",
            "one_batch: passes\nstate: [rng, sampler, optimizer, curve, history]",
            "every state is right",
        ),
        ("symptom: |", "sympton: |", "did you mean 'symptom'?"),
        ("id: flat-loss", "id: other-loss", "the file must be called other-loss.yaml"),
        ("  - Look at what is drawn anew for every batch.\n", "", "1 hints; 2 are needed"),
        ("  - Look at what", "  - The labels shuffled here are what", "a hint names the cause"),
        ("answer: |\n", "answer: Indeed.\nother: |\n", "the answer has 1 words|unknown key 'other'"),
    ],
)  # fmt: skip
def test_a_fault_keeps_the_incident_out_and_names_file_and_line(
    folder: Path, old: str, new: str, says: str
) -> None:
    path = folder / "flat-loss.yaml"
    edit(path, old, new)
    library = parse_library(folder)
    assert set(library.incidents) == {"quiet-floor", "rising-loss"}
    assert library.faults
    told = " ".join(map(str, library.faults))
    assert any(part in told for part in says.split("|"))
    for fault in library.faults:
        assert fault.file == str(path)
        assert 1 <= fault.line <= len(path.read_text().splitlines())


def test_the_line_is_that_of_the_fault(folder: Path) -> None:
    path = folder / "flat-loss.yaml"
    edit(path, "decoys: [rate-too-small, dead-units]", "decoys: [rate-too-small, schedule-per-batch]")
    (fault,) = parse_library(folder).faults
    assert path.read_text().splitlines()[fault.line - 1].startswith("decoys:")
    edit(path, 'terms: ["assert"]', 'terms: ["a"]')
    fault = parse_library(folder).faults[0]
    assert "Assert that a sample" in path.read_text().splitlines()[fault.line - 1]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("expects: {loss-curve: [flat]", "expects: {loss-curve: [flatt]", "no outcome of loss-curve 'flatt'"),
        ("place: data, expects", "place: datta, expects", "there is no place 'datta'"),
        ("seconds: 30", "seconds: -3", "'seconds' must be a whole number"),
        ("  no-fault: {", "  nofault: {", "'causes' needs 'no-fault'"),
        (", right: true}", ", right: maybe}", "'right' must be true or false"),
    ],
)
def test_a_fault_of_the_vocabulary_is_told_once(folder: Path, old: str, new: str, says: str) -> None:
    edit(folder / "causes.yaml", old, new)
    library = parse_library(folder)
    assert not library.incidents
    assert says in " ".join(map(str, library.faults))
    assert {fault.file for fault in library.faults} == {str(folder / "causes.yaml")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" on three seeds past", " past"),
        ('"three seeds", "several seeds"]', '"momentum", "several seeds"]'),
        ('"three seeds", "several seeds"]', '"seed 0", "ten seeds"]'),
    ],
    ids=["the answer leaves it out", "no term in the answer", "only the set-up's own words"],
)
def test_check_names_a_key_point_that_the_strong_answer_does_not_show(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    path = folder / "flat-loss.yaml"
    edit(path, old, new)
    edit(path, "I write down the command with seed", "For seed 0 I write down the command with seed")
    assert main(["check", str(path)]) == 1
    told = capsys.readouterr().out
    line = path.read_text()[: path.read_text().index("Run three seeds past")].count("\n") + 1
    says = (
        "incident 'flat-loss': the answer does not show the key point 'Run three seeds past step 128 again.…'"
    )
    assert f"flat-loss.yaml:{line}: {says}" in told
    assert told.count("does not show") == 1
    assert "flat-loss" in parse_library(folder).incidents  # a learner still gets it


def test_check_names_the_faults_of_a_folder_and_of_one_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(folder)]) == 0
    edit(folder / "flat-loss.yaml", "exercise: lora", "exercise: lorra")
    edit(folder / "rising-loss.yaml", "level: easy", "level: simple")
    assert main(["check", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "flat-loss.yaml:1: incident 'flat-loss': there is no exercise 'lorra'" in told
    assert "there is no level 'simple'" in told
    assert main(["check", str(folder / "rising-loss.yaml")]) == 1
    told = capsys.readouterr().out
    assert "simple" in told
    assert "lorra" not in told
