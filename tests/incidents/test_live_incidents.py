"""Live incidents in the judge: the authors' check of one, and what the shipped ones promise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp.incidents.live.live_program import LiveProgram
from quizapp.incidents.loader import load_library, parse_library
from quizapp.judge.client.script_client import ScriptClient
from quizapp.judge.protocol.scripts import ScriptRun
from tests.incidents.live_content import LIVE, incident_folder
from tools.incident_lab import live

pytestmark = [pytest.mark.judge, pytest.mark.xdist_group("live_incidents")]
SHIPPED = sorted(
    (one.live.baseline, one.id) for one in load_library().incidents.values() if one.live is not None
)
# A run of the MLP takes a third of a second, those of the others take seconds.
QUICK = [name for baseline, name in SHIPPED if baseline == "mlp"]
SAMPLE = [*QUICK, *[name for baseline, name in SHIPPED if baseline != "mlp"][::3]]
SEEDS = (2001, 2002)


@pytest.fixture
def client(warm_judge: None) -> Iterator[ScriptClient]:
    with ScriptClient() as ready:
        yield ready


def table(
    client: ScriptClient, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[bool, dict[str, str]]:
    """Whether the authors' check of `rising-loss` passes, and the first word of each line by its name."""
    program = LiveProgram(parse_library(folder).incidents["rising-loss"], folder)
    holds = live.check(program, client.run, SEEDS[:1])
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[1:]]
    return holds, {rest.split("  ")[0].strip(): word for word, rest in lines}


@pytest.mark.slow
def test_the_authors_check_runs_every_program(
    client: ScriptClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holds, words = table(client, incident_folder(tmp_path), capsys)
    assert holds
    assert words == dict.fromkeys(
        [
            *("healthy passes", "right fix 1 passes", "broken fails", "decoy leak fails", "symptom shown"),
            *("guard fails on broken", "guard holds on healthy", "two runs agree"),
        ],
        "ok",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "fails"),
    [
        ("with: pass", "with: optimizer.zero_grad(); pass", "broken fails"),
        (
            "- replace: RATE = 0.1\n        with: RATE = 0.02",
            "- replace: pass\n        with: optimizer.zero_grad()",
            "decoy leak fails",
        ),
        ("with: model.zero_grad()", "with: model.train()", "right fix 1 passes"),
        ("above: 1", "above: 1.0e+30", "symptom shown"),
        ("p.grad is None or not p.grad.any()", "p.grad is not None", "guard holds on healthy"),
    ],
)
def test_the_authors_check_finds_what_does_not_hold(
    client: ScriptClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    fails: str,
) -> None:
    assert old in LIVE
    holds, words = table(client, incident_folder(tmp_path, LIVE.replace(old, new)), capsys)
    assert not holds
    assert words[fails] == "FAIL"


def test_an_unknown_id_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        live.main(["no-such-incident"])
    assert "no incident 'no-such-incident'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def runs() -> dict[tuple[object, ...], ScriptRun]:
    """The runs of healthy scripts so far: many incidents share one."""
    return {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SAMPLE)
def test_a_shipped_incident_is_broken_and_can_be_repaired(
    client: ScriptClient, runs: dict[tuple[object, ...], ScriptRun], name: str
) -> None:
    program = LiveProgram(load_library().incidents[name])
    for seed in SEEDS if name in QUICK else SEEDS[:1]:
        order = program.order(program.healthy, seed, measured=True)
        key = (order.folder, order.source, order.seed, order.steps, order.resume, repr(order.options))
        if key not in runs:
            runs[key] = client.run(order)
        assert runs[key].ended, runs[key].text
        assert runs[key].outside(program.band) == []
        if not program.incident.false_alarm:
            broken = client.run(program.order(program.broken, seed, measured=True))
            assert not broken.healthy(program.band)
