"""Live forms are read with every fault named by file and line, and their programs follow from edits."""

from pathlib import Path

import pytest

from quizapp.cli.main import main
from quizapp.errors import QuizError
from quizapp.incidents.live.check_live import baseline_faults, live_faults
from quizapp.incidents.live.live_program import LiveProgram, changed_nodes
from quizapp.incidents.live.run_log import read_rows, same_rows, shows
from quizapp.incidents.loader import parse_library
from quizapp.incidents.model import LiveSymptom
from tests.incidents.live_content import LIVE, incident_folder


def faults(folder: Path) -> list[str]:
    library = parse_library(folder)
    found = [*library.faults, *baseline_faults(folder)]
    for incident in library.incidents.values():
        found += live_faults(incident, folder)
    return [f"{Path(fault.file).name}:{fault.line}: {fault.message}" for fault in found]


def program(folder: Path) -> LiveProgram:
    return LiveProgram(parse_library(folder).incidents["rising-loss"], folder)


def test_a_live_form_that_fits_has_no_fault(tmp_path: Path) -> None:
    assert faults(incident_folder(tmp_path)) == []


def test_the_programs_follow_from_the_edits(tmp_path: Path) -> None:
    live = program(incident_folder(tmp_path))
    assert "optimizer.zero_grad()" in live.healthy
    assert "optimizer.zero_grad()" not in live.broken
    assert live.broken.splitlines()[live.fault_lines[0] - 1].strip() == "pass"
    assert len(live.fault_lines) == 1
    assert "RATE = 0.02" in live.fixes["leak"]
    assert "pass" not in live.fixes["leak"].replace("        pass\n", "", 1)
    assert "model.zero_grad()" in live.rights[0]
    assert live.minimal(live.healthy + "\n# a comment\nassert RANK >= 0\n") == 0
    assert 0 < live.minimal(live.rights[0]) < live.minimal(live.fixes["leak"].replace("momentum=0.5", ""))
    guarded = live.guarded(live.broken).splitlines()
    assert guarded[guarded.index("        loss = ((model(x) - y) ** 2).mean()") + 1].startswith(
        "        assert"
    )


def test_lines_that_a_fault_removed_are_between_two_others(tmp_path: Path) -> None:
    folder = incident_folder(tmp_path, LIVE.replace("with: pass", 'with: ""').replace("right:", "extra:"))
    text = (folder / "rising-loss.yaml").read_text()
    start, end = text.index("  extra:"), text.index("  guard:")
    (folder / "rising-loss.yaml").write_text(text[:start] + text[end:])
    live = program(folder)
    before, after = (live.broken.splitlines()[number - 1].strip() for number in live.fault_lines)
    assert before == "for step in range(start, steps):"
    assert after == "loss = ((model(x) - y) ** 2).mean()"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("baseline: tiny", "baseline: tony", "there is no baseline 'tony'; did you mean 'tiny'?"),
        ("replace: optimizer.zero_grad()", "replace: optimizer.zero()", "does not occur in run.py"),
        ("replace: optimizer.zero_grad()", "replace: step", "occurs 13 times in run.py"),
        ("with: pass", "with: optimizer.zero_grad( )", "'edits' leaves the same program"),
        ("with: pass", "with: (", "'edits' leaves a script that is not valid Python"),
        ("    leak:", "    lake:", "'lake' is no decoy of this incident; did you mean 'leak'?"),
        ("        with: RATE = 0.02", "        with: RATE = 0.10", "'leak' leaves the same program"),
        ("    - - replace: pass", "    - - replace: past", "'right' cannot be applied"),
        (
            "    - - replace: pass\n        with: model.zero_grad()",
            "    - 3",
            "'right' must be a list of edits",
        ),
        ('guard_at: "        loss = ', 'guard_at: "        lass = ', "nowhere in the script"),
        (
            'guard: "assert all(',
            'guard: "assert all((',
            "with the guard, the broken script is not valid Python",
        ),
        ("field: loss", "field: lass", "the baseline's log has no field 'lass'"),
        ("at: 39", "at: 40", "a run ends after 40 steps, before step 40"),
        ("at: 39, above: 1", "at: 39, above: 1, below: 2", "'symptom' needs exactly one of above"),
        ("at: 39, above", "above", "needs either 'at', the number of a step, or 'any: true'"),
        ("minimal_steps: 40", "minimal_steps: 400", "a run has only 40 steps"),
        ("minimal_steps: 40", "minimal_step: 5", "unknown key 'minimal_step'"),
        ("minimal_steps: 40", "band: {error: 3}\n  minimal_steps: 40", "must be [low, high], not 3"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in LIVE
    folder = incident_folder(tmp_path, LIVE.replace(old, new, 1))
    text = (folder / "rising-loss.yaml").read_text().splitlines()
    found = faults(folder)
    fault = next((fault for fault in found if says in fault), "")
    assert fault, found
    file, line, _ = fault.split(":", 2)
    assert file == "rising-loss.yaml"
    assert int(line) > text.index("live:")


def test_a_baseline_is_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = incident_folder(tmp_path)
    (folder / "tiny" / "measure.py").write_text("def gauge(): pass\n")
    (folder / "tiny" / "run.py").write_text("x = 1\n" * 151)
    found = faults(folder)
    assert "run.py:150: has 151 lines; 150 are the most, shorten it" in found
    assert "measure.py:1: lacks measure(checkpoint, seed, options); define it" in found
    assert main(["check", str(folder / "tiny" / "run.py")]) == 1
    assert "has 151 lines" in capsys.readouterr().out


def test_an_incident_without_a_live_form_says_so(tmp_path: Path) -> None:
    incident = parse_library(incident_folder(tmp_path)).incidents["flat-loss"]
    with pytest.raises(QuizError, match="has no live form"):
        LiveProgram(incident, tmp_path)


def test_a_log_is_read_as_rows() -> None:
    log = "warning: x\nstep 0  loss 2.5  rate 0.1  wait_ms 3\nstep 1  loss nan  rate 0.1\nstep x  loss 1\n"
    rows = read_rows(log)
    assert [(row.step, row.values["rate"]) for row in rows] == [(0, 0.1), (1, 0.1)]
    assert shows(LiveSymptom("loss", 1, non_finite=True), rows)
    assert not shows(LiveSymptom("loss", 0, non_finite=True), rows)
    assert shows(LiveSymptom("loss", above=2), rows)
    assert not shows(LiveSymptom("loss", 1, above=2), rows)
    assert not shows(LiveSymptom("norm", above=2), rows)
    assert same_rows(log, log.replace("wait_ms 3", "wait_ms 44"), ("wait_ms",))
    assert not same_rows(log, log.replace("2.5", "2.6"), ("wait_ms",))


def test_nodes_that_changed_are_counted() -> None:
    assert changed_nodes("x = 1", "x = 1  # same") == 0
    assert changed_nodes("x = 1", "x = 2") == 1
    assert changed_nodes("x = 1", "x = f(1)") == 2
