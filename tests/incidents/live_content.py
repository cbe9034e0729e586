"""A live incident on a tiny baseline, as files that a test may break."""

import shutil
from pathlib import Path

DATA = Path(__file__).parent.parent / "data"
LIVE = """\
live:
  baseline: tiny
  edits:
    - replace: optimizer.zero_grad()
      with: pass
  decoys:
    leak:
      - replace: RATE = 0.1
        with: RATE = 0.02
  right:
    - - replace: pass
        with: model.zero_grad()
  guard: "assert all(p.grad is None or not p.grad.any() for p in model.parameters())"
  guard_at: "        loss = ((model(x) - y) ** 2).mean()"
  minimal_steps: 40
  symptom: {field: loss, at: 39, above: 1}
"""


def incident_folder(parent: Path, live: str = LIVE) -> Path:
    """A folder of incidents in which `rising-loss` has a live form."""
    folder = Path(shutil.copytree(DATA / "incidents", parent / "incidents"))
    shutil.copytree(DATA / "live" / "tiny", folder / "tiny")
    with (folder / "rising-loss.yaml").open("a") as file:
        file.write(live)
    return folder
