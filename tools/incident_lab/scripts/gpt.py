"""The laboratory of the GPT baseline."""

from quizapp.judge.authoring.mutants import MutantEdit
from tools.incident_lab.scripts import curves, gpt_probes
from tools.incident_lab.scripts.pair import ScriptLab

_RATE_LINE = 'optimizer.param_groups[0]["lr"] = rate'
_PLANTS: dict[str, tuple[MutantEdit, ...]] = {
    "lr-too-small": (MutantEdit("RATE = 0.006", "RATE = 0.00001"),),
    "lr-too-high": (MutantEdit("RATE = 0.006", "RATE = 0.1"),),
    "overfitting": (
        MutantEdit(_RATE_LINE, f"{_RATE_LINE}\nrng.seed(step % 2)"),  # two batches in turn
    ),
}

GPT_LAB = ScriptLab(
    readings={
        "loss-curve": gpt_probes.loss_curve,
        "learning-rate": curves.learning_rate,
        "gradient-norms": curves.gradient_norms,
        "first-loss": gpt_probes.first_loss,
        "batch-as-text": gpt_probes.batch_as_text,
        "tensor-gradients": gpt_probes.tensor_gradients,
        "whole-batch": gpt_probes.whole_batch,
        "attention-before": gpt_probes.attention_before,
        "attention-sum": gpt_probes.attention_sum,
        "future-leak": gpt_probes.future_leak,
        "document-leak": gpt_probes.document_leak,
        "loss-by-place": gpt_probes.loss_by_place,
        "completions": gpt_probes.completions,
        "independent-model": gpt_probes.independent_model,
        "control-run": curves.control_run,
        "one-batch": curves.one_batch,
    },
    one_batch_constants={"ROWS": "1", "LENGTH": "16", "ACCUMULATE": "1"},
    one_batch=(MutantEdit("optimizer.zero_grad()", "optimizer.zero_grad()\nrng.seed(0)"),),
    plants=_PLANTS,
)
