"""The laboratory of the GPT baseline."""

from quizapp.judge.authoring.mutants import MutantEdit
from tools.incident_lab.scripts import curves, gpt_probes
from tools.incident_lab.scripts.pair import ScriptLab

_PLANTS: dict[str, tuple[MutantEdit, ...]] = {
    "lr-too-small": (MutantEdit("RATE = 0.006", "RATE = 0.00001"),),
    "lr-too-high": (MutantEdit("RATE = 0.006", "RATE = 0.1"),),
    "clip-too-tight": (MutantEdit("CLIP = 1.0", "CLIP = 1e-12"),),
    "missing-zero-grad": (MutantEdit("        optimizer.zero_grad()\n", "\n"),),
    "loss-sum": (MutantEdit("loss_sum(model, batch) / count(batches)", "loss_sum(model, batch)"),),
    "weight-decay-too-strong": (MutantEdit("WEIGHT_DECAY = 0.01", "WEIGHT_DECAY = 100.0"),),
    "zero-grad-before-step": (
        MutantEdit("        optimizer.step()", "        optimizer.zero_grad()\n        optimizer.step()"),
    ),
    "val-leak": (MutantEdit('random.Random(f"valid {seed}")', 'random.Random(f"train {seed}")'),),
    "overfitting": (
        MutantEdit("        batches, total", '        rng = random.Random("few")\n        batches, total'),
    ),
}

GPT_LAB = ScriptLab(
    readings={
        "loss-curve": curves.loss_curve,
        "learning-rate": curves.learning_rate,
        "gradient-norms": curves.gradient_norms,
        "first-loss": gpt_probes.first_loss,
        "batch-as-text": gpt_probes.batch_as_text,
        "tensor-gradients": gpt_probes.tensor_gradients,
        "attention-before": gpt_probes.attention_before,
        "attention-sum": gpt_probes.attention_sum,
        "future-leak": gpt_probes.future_leak,
        "document-leak": gpt_probes.document_leak,
        "loss-by-place": gpt_probes.loss_by_place,
        "completions": gpt_probes.completions,
        "lr-div-10": curves.lr_div_10,
        "control-run": curves.control_run,
        "one-batch": curves.one_batch,
    },
    one_batch_constants={"ROWS": "1", "LENGTH": "16", "ACCUMULATE": "1"},
    one_batch=(MutantEdit("[make_batch(rng) for _ in range(ACCUMULATE)]", "[make_batch(random.Random(0))]"),),
    plants=_PLANTS,
)
