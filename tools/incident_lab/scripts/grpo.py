"""The laboratory of the GRPO baseline."""

from quizapp.judge.authoring.mutants import MutantEdit
from tools.incident_lab.scripts import curves, grpo_probes
from tools.incident_lab.scripts.pair import ScriptLab

_REWARDS = "        rewards = verify(completions, mask, answers)"

_PLANTS: dict[str, tuple[MutantEdit, ...]] = {
    "lr-too-high": (MutantEdit("RATE = 0.005", "RATE = 0.1"),),
    "kl-weight-too-small": (MutantEdit("KL_WEIGHT = 0.05", "KL_WEIGHT = 0.0"),),
    "batch-advantages": (
        MutantEdit("groups.mean(1, keepdim=True)", "groups.mean()"),
        MutantEdit("groups.std(1, keepdim=True)", "groups.std()"),
    ),
    "wrong-verifier": (MutantEdit(_REWARDS, _REWARDS.replace("answers)", "answers.roll(GROUP))")),),
}

GRPO_LAB = ScriptLab(
    readings={
        "reward-curve": grpo_probes.reward_curve,
        "length-curve": grpo_probes.length_curve,
        "kl-curve": grpo_probes.kl_curve,
        "entropy-curve": grpo_probes.entropy_curve,
        "gradient-norms": curves.gradient_norms,
        "first-ratio": grpo_probes.first_ratio,
        "last-ratio": grpo_probes.last_ratio,
        "advantages": grpo_probes.advantages,
        "rollouts": grpo_probes.rollouts,
        "verified-reward": grpo_probes.verified_reward,
        "reward-lr-div-10": grpo_probes.reward_lr_div_10,
        "same-engine": grpo_probes.same_engine,
        "control-run": grpo_probes.control_run,
    },
    plants=_PLANTS,
)
