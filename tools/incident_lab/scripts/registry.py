"""The laboratories by baseline."""

from pathlib import Path
from typing import Any

import yaml

from tools.incident_lab.scripts.ddp import DDP_LAB
from tools.incident_lab.scripts.gpt import GPT_LAB
from tools.incident_lab.scripts.grpo import GRPO_LAB
from tools.incident_lab.scripts.pair import ScriptLab

LABS: dict[str, ScriptLab] = {"gpt": GPT_LAB, "grpo": GRPO_LAB, "ddp": DDP_LAB}

READ_ONLY: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("throughput.yaml").read_text(encoding="utf-8")
)
"""By incident that cannot be sat live, its baseline, setup and edits."""
