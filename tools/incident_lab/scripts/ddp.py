"""The laboratory of the data-parallel baseline."""

import torch
from torch import Tensor, nn

from quizapp.judge.authoring.mutants import MutantEdit
from tools.incident_lab.reading_texts import number, series
from tools.incident_lab.scripts import curves, ddp_trace
from tools.incident_lab.scripts.pair import ScriptLab, ScriptPair, end, ratio
from tools.incident_lab.scripts.program import parse_line
from tools.incident_lab.scripts.ranks import run_ranks

RANKS = 2
NEW_READINGS = 2  # a salt with which neither training nor validation reads
OWN_SHARDS = "range(SHARDS)[RANK::WORLD]"
OTHER_SHARDS = "range(SHARDS)[WORLD - 1 - RANK :: WORLD]"


def loss_by_rank(pair: ScriptPair) -> tuple[str, str]:
    """Compare the losses of rank 1 with those of rank 0."""
    losses = [pair.run.column(f"loss_{rank}") for rank in range(RANKS)]
    lines = [f"rank {rank}: {series(values)}" for rank, values in enumerate(losses)]
    ends = [end(values) for values in losses]
    lines.append(f"mean of the last 16 steps: {number(ends[0])} and {number(ends[1])}")
    equal = sum(a == b for a, b in zip(*losses, strict=True))
    lines.append(f"the log has the same number for both ranks at {equal} of {len(losses[0])} steps")
    return "equal" if equal == len(losses[0]) else ratio(ends[1], ends[0], 1.5), "\n".join(lines)


def gradient_difference(pair: ScriptPair) -> tuple[str, str]:
    """Compare the gradients that the two optimizers use in the first 20 steps."""
    own, other = (probe.gradients for probe in run_ranks(pair.source, pair.seed).probes)
    shares = [float((a - b).norm() / a.norm()) for a, b in zip(own, other, strict=True)]
    text = f"‖g1 − g0‖ / ‖g0‖ at steps 0 to 4: {', '.join(map(number, shares[:5]))}"
    return _differs(shares), f"{text}\nlargest of steps 0 to {len(shares) - 1}: {number(max(shares))}"


def parameter_difference(pair: ScriptPair) -> tuple[str, str]:
    """Compare the parameters of both ranks at the end."""
    own, other = (probe.parameters for probe in run_ranks(pair.source, pair.seed).probes)
    assert own is not None
    assert other is not None
    share = float((own - other).norm() / own.norm())
    text = f"‖θ1 − θ0‖ / ‖θ0‖ after the last step: {number(share)}; ‖θ0‖ {number(float(own.norm()))}"
    return _differs([share]), text


def _differs(shares: list[float]) -> str:
    return "flat" if all(share == 0 for share in shares) else "up"


def sample_overlap(pair: ScriptPair) -> tuple[str, str]:
    """Count the training rows that both ranks saw."""
    own, other = (probe.rows for probe in run_ranks(pair.source, pair.seed).probes)
    both, all_rows = len(own & other), len(own | other)
    text = f"different rows seen: rank 0 {len(own)}, rank 1 {len(other)}, together {all_rows}\n"
    text += f"seen by both ranks: {both}, {100 * both / all_rows:.0f} % of them"
    return "up" if 2 * both > all_rows else "flat", text


def loss_by_shard(pair: ScriptPair) -> tuple[str, str]:
    """Score new readings of each shard's sensors with the trained model."""
    losses = [_shard_loss(pair, index) for index in range(pair.run.namespace["SHARDS"])]
    by_rank = [sum(part) / len(part) for part in (losses[0::RANKS], losses[1::RANKS])]
    text = f"shards 0 to 7: {', '.join(map(number, losses))}\n"
    text += f"mean over shards 0, 2, 4, 6: {number(by_rank[0])}; over shards 1, 3, 5, 7: {number(by_rank[1])}"
    return ratio(by_rank[1], by_rank[0], 2), text


@torch.no_grad()
def _shard_loss(pair: ScriptPair, index: int) -> float:
    tensors = pair.run.checkpoint["model"]
    layers: list[nn.Module] = []
    for name in (key for key in tensors if key.endswith("weight")):
        layers += [nn.Linear(*tensors[name].T.shape), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    model.load_state_dict(tensors)
    inputs, kinds = _rows(pair, index, NEW_READINGS)
    return float(nn.functional.cross_entropy(model(inputs), kinds))


def _rows(pair: ScriptPair, index: int, salt: int) -> tuple[Tensor, Tensor]:
    # The healthy script's own reader: new readings come from the sensors, not from the stored rows.
    inputs, kinds = pair.healthy.namespace["read_shards"](pair.seed, range(index, index + 1), salt)
    return inputs, kinds


def shard_contents(pair: ScriptPair) -> tuple[str, str]:
    """Look at the training rows of each shard as the script reads them."""
    namespace = pair.run.namespace
    shards = [
        namespace["read_shards"](pair.seed, range(index, index + 1)) for index in range(namespace["SHARDS"])
    ]
    spreads = [float(inputs.std()) for inputs, _ in shards]
    largest = [float(inputs.abs().max()) for inputs, _ in shards]
    missing = sum(int((~inputs.isfinite()).sum()) for inputs, _ in shards)
    lines = [
        f"rows by shard: {', '.join(str(len(kinds)) for _, kinds in shards)}; not finite: {missing}",
        f"standard deviation of the inputs: {', '.join(map(number, spreads))}",
        f"largest |x|: {', '.join(map(number, largest))}",
        f"different kinds: {', '.join(str(len(kinds.unique())) for _, kinds in shards)}",
    ]
    return ratio(max(spreads), sorted(spreads)[len(spreads) // 2], 2), "\n".join(lines)


def one_process(pair: ScriptPair) -> tuple[str, str]:
    """Train in one process with the same rows a step, and compare the validation loss at the end."""
    mine = pair.run.column("valid_loss")[-1]
    log = run_ranks(pair.source, pair.seed, 1).log
    rows = [parse_line(line) for line in log.splitlines()]
    alone = [row["valid_loss"] for row in rows if "valid_loss" in row][-1]
    text = f"step: loss  {series([row['loss'] for row in rows])}\n"
    text += f"validation loss at the end: one process {number(alone)}, this run {number(mine)}"
    return ratio(alone, mine, 2), text


def swapped_ranks(pair: ScriptPair) -> tuple[str, str] | None:
    """Give each rank the shards of the other, and compare the losses of rank 1 with those of rank 0."""
    if OWN_SHARDS not in pair.source:
        return None
    log = run_ranks(pair.source.replace(OWN_SHARDS, OTHER_SHARDS), pair.seed).log
    rows = [parse_line(line) for line in log.splitlines()]
    losses = [[row[f"loss_{rank}"] for row in rows] for rank in range(RANKS)]
    text = "rank 0 reads shards 1, 3, 5, 7, rank 1 reads shards 0, 2, 4, 6\n"
    text += "".join(f"rank {rank}: {series(values)}\n" for rank, values in enumerate(losses))
    ends = [end(values) for values in losses]
    text += f"mean of the last 16 steps: {number(ends[0])} and {number(ends[1])}"
    return ratio(ends[1], ends[0], 1.5), text


_PLANTS: dict[str, tuple[MutantEdit, ...]] = {
    "lr-too-high": (MutantEdit("RATE = 0.1", "RATE = 3.0"),),
    "lr-too-small": (MutantEdit("RATE = 0.1", "RATE = 0.0005"),),
    "overfitting": (MutantEdit("chosen = order[place", "chosen = order.remainder(64)[place"),),
    "val-not-normalised": (MutantEdit("model(unseen_x)", "model(10 * unseen_x + 10)"),),
    "bad-shard": (MutantEdit("inputs.append(signals", "inputs.append((32 if index == 5 else 1) * signals"),),
    "label-permute": (
        MutantEdit("(model(inputs), kinds)", "(model(inputs), kinds[torch.randperm(len(kinds))])"),
    ),
    "slow-rank": (
        MutantEdit(
            "self.seed, self.rows = seed, BATCH // WORLD",
            "self.seed, self.rows = seed, (BATCH // WORLD) // (3 - 2 * RANK)",
        ),
    ),
}

DDP_LAB = ScriptLab(
    readings={
        "loss-curve": curves.loss_curve,
        "learning-rate": curves.learning_rate,
        "gradient-norms": curves.gradient_norms,
        "loss-by-rank": loss_by_rank,
        "gradient-difference": gradient_difference,
        "parameter-difference": parameter_difference,
        "sample-overlap": sample_overlap,
        "loss-by-shard": loss_by_shard,
        "shard-contents": shard_contents,
        "step-times": ddp_trace.step_times,
        "step-trace": ddp_trace.step_trace,
        "rank-times": ddp_trace.rank_times,
        "swapped-ranks": swapped_ranks,
        "control-run": curves.control_run,
        "one-process": one_process,
    },
    ranks=RANKS,
    plants=_PLANTS,
)
