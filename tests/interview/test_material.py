"""What only interviews ask: the shipped files load, and every kind of fault has its file and line."""

from pathlib import Path

import pytest

from quizapp.interview.rounds.check_material import check_material
from quizapp.interview.rounds.material import DESIGN_PHASES, QUANTITIES
from quizapp.interview.rounds.read_material import load_material, material_folder, parse_material
from tests.cli.calling import run
from tests.interview.mock_kit import real_bank


def test_the_shipped_material_has_no_faults_and_something_of_each() -> None:
    assert check_material(material_folder(), real_bank()) == []
    material = load_material()
    assert all(list(design.phases) == list(DESIGN_PHASES) for design in material.designs.values())
    assert material.designs
    assert {estimate.about for estimate in material.estimates.values()} <= set(QUANTITIES)
    assert material.estimates
    assert material.project is not None
    assert material.project.probes


def test_a_folder_without_files_holds_nothing(tmp_path: Path) -> None:
    material = parse_material(tmp_path)
    assert (material.designs, material.estimates, material.project, material.faults) == ({}, {}, None, ())


SHIPPED = {name: (material_folder() / f"{name}.yaml").read_text("utf-8") for name in
           ("design", "napkin", "project")}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("design", "      requirements:\n", "      needs:\n", "the phases must be requirements, arithmetic"),
        ("design", "    title: A model", "    titel: A model", "unknown key 'titel'; did you mean 'title'"),
        ("design", "topic: scaling", "topic: scalling", "there is no topic 'scalling'"),
        ("design", "exercise: scaling-laws", "exercise: none", "there is no exercise 'none'"),
        ("design", "weight: 3", "weight: 4", "weight must be 1, 2 or 3"),
        ("design", "    say: Requirements", "    #", "'say' is missing"),
        ("design", "questions:\n", "question:\n", "unknown key 'question'"),
        ("napkin", "about: memory", "about: disk", "'about' must be one of memory, FLOPs, time"),
        ("napkin", "formula: total / n", "formula: total / (n - n)", "divides by zero"),
        ("napkin", "formula: total / n", "formula: totl / n", "totl"),
        ("napkin", "    title: The", "    #", "'title' is missing"),
        ("project", "worksheet:\n  id:", "worksheet:\n  ident: x\n  id:", "unknown key 'ident'"),
        ("project", "probes:\n", "probes: 3\nx:\n", "unknown key 'x'"),
        ("project", "worksheet:\n", "work:\n", "unknown key 'work'"),
    ],
)
def test_a_fault_names_its_file_and_line(tmp_path: Path, name: str, old: str, new: str, says: str) -> None:
    text = SHIPPED[name]
    assert old in text
    path = tmp_path / f"{name}.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    faults = check_material(tmp_path, real_bank())
    assert faults
    assert all(fault.file == str(path) and fault.line >= 1 for fault in faults)
    assert any(says in fault.message for fault in faults), faults


def test_two_entries_with_one_id_are_a_fault_of_the_second(tmp_path: Path) -> None:
    text = SHIPPED["napkin"]
    start = text.index("  - id: ")
    first = text[start : text.index("  - id: ", start + 1)]
    (tmp_path / "napkin.yaml").write_text(f"{text}{first}", encoding="utf-8")
    material = parse_material(tmp_path)
    (fault,) = (fault for fault in material.faults if "is taken" in fault.message)
    assert fault.line == text.count("\n") + 1
    assert material.estimates.keys() == load_material().estimates.keys()


@pytest.mark.parametrize("text", ["[", "- a", "!!python/object:x {}", "questions: 1", "questions: [1]", ""])
def test_a_file_that_is_something_else_is_a_fault_and_no_error(tmp_path: Path, text: str) -> None:
    for name in SHIPPED:
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    assert {Path(fault.file).stem for fault in parse_material(tmp_path).faults} == set(SHIPPED)


def test_the_command_checks_the_folder_and_single_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "check", str(material_folder()))[:2] == (0, "no faults\n")
    path = tmp_path / "napkin.yaml"
    path.write_text(SHIPPED["napkin"].replace("about: memory", "about: disk"), encoding="utf-8")
    code, out, _ = run(capsys, "check", str(path))
    assert code == 1
    assert "napkin.yaml:3: " in out
