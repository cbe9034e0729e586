"""The laboratories by baseline."""

from tools.incident_lab.scripts.ddp import DDP_LAB
from tools.incident_lab.scripts.gpt import GPT_LAB
from tools.incident_lab.scripts.grpo import GRPO_LAB
from tools.incident_lab.scripts.pair import ScriptLab

LABS: dict[str, ScriptLab] = {"gpt": GPT_LAB, "grpo": GRPO_LAB, "ddp": DDP_LAB}
