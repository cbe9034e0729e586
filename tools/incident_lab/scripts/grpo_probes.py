"""Readings of the GRPO script: its rewards, ratios and advantages, and what its policy writes."""

import collections
import math

import torch
from torch import Tensor

from tools.incident_lab.reading_texts import number, series
from tools.incident_lab.scripts import curves
from tools.incident_lab.scripts.pair import ScriptPair, end, ratio, set_constants
from tools.incident_lab.scripts.program import ScriptRecord, run_script, train_state

NEAR = 0.1
GAP = 1e-4
EARLY = 10
SAMPLES = 20
SHOWN_PROBLEMS, SHOWN_TEXTS = 3, 4
PROBE_SEED = 1


def reward_curve(pair: ScriptPair) -> tuple[str, str]:
    """Compare the mean reward of the last 16 steps with that of the first three."""
    mine = pair.run.column("reward")
    text = f"step: reward  {series(mine)}\nreference     {series(pair.healthy.column('reward'))}\n"
    text += f"mean of the last 16 steps {number(end(mine))}{_stop(pair.run)}"
    return "non-finite" if broke(pair.run) else ratio(end(mine), sum(mine[:3]) / 3, 1.25), text


def kl_curve(pair: ScriptPair) -> tuple[str, str]:
    """Compare the KL estimate of the last 16 steps with the reference run."""
    return _column(pair, "kl", 2)


def entropy_curve(pair: ScriptPair) -> tuple[str, str]:
    """Compare the entropy of the last 16 steps with the reference run."""
    return _column(pair, "entropy", 1.25)


def length_curve(pair: ScriptPair) -> tuple[str, str]:
    """Compare the length of the completions of the last 16 steps with the reference run."""
    return _column(pair, "length", 1.25)


def first_ratio(pair: ScriptPair) -> tuple[str, str]:
    """Measure how far ratios are from 1 before the first inner step of a batch."""
    gaps = pair.run.column("gap")
    state = train_state(set_constants(pair.source, {"INNER_STEPS": "1"}), pair.seed, 1)
    ratios = state["ratio"][state["mask"]].detach()
    mean, low, high = (value.item() for value in (ratios.mean(), ratios.min(), ratios.max()))
    outside = int(((ratios - 1).abs() > pair.run.namespace["CLIP"]).sum())
    text = f"largest |ratio - 1| by step  {series(gaps)}\n"
    text += f"step 0: {len(ratios)} ratios, mean {mean:.4f}, smallest {low:.4f}, largest {high:.4f}; "
    text += f"outside the clip range {outside}"
    return "up" if gaps[0] > GAP else "flat", text


def last_ratio(pair: ScriptPair) -> tuple[str, str]:
    """Compare the share of clipped ratios at the last inner step with the reference run."""
    mine, sound = pair.run.column("clip"), pair.healthy.column("clip")
    text = f"largest |ratio - 1| by step  {series(pair.run.column('drift'))}\n"
    text += f"share outside the clip range {series(mine)}\nreference                    {series(sound)}"
    if not math.isfinite(sum(pair.run.column("drift")[:EARLY])):
        return "non-finite", text
    return ratio(_mean(mine[:EARLY]), _mean(sound[:EARLY]), 2), text


def advantages(pair: ScriptPair) -> tuple[str, str]:
    """Look at the advantages of the batch whose loss is not finite, or of the first."""
    step = next((i for i, value in enumerate(pair.run.column("loss")) if not math.isfinite(value)), 0)
    state = train_state(pair.source, pair.seed, step + 1)
    size = pair.run.namespace["GROUP"]
    rewards, values = state["rewards"].view(-1, size), state["advantages"].reshape(-1, size)
    finite = values[values.isfinite()]
    means = values.nanmean(1).nan_to_num().abs()
    equal, others = int((rewards.std(1) == 0).sum()), number(finite.abs().max().item())
    text = f"step {step}: {len(rewards)} groups of {size}, {equal} of them with equal rewards\n"
    text += f"rewards from {number(rewards.min().item())} to {number(rewards.max().item())}\n"
    text += f"advantages that are not finite: {values.numel() - finite.numel()} of {values.numel()}; "
    text += f"largest of the others {others}; largest mean of a group {means.max().item():.3f}"
    if finite.numel() < values.numel():
        return "non-finite", text
    return "up" if means.max() > 0.01 else "flat", text


def verified_reward(pair: ScriptPair) -> tuple[str, str]:
    """Compare the verifier's share of right completions, sampled anew, with the reward in the log."""
    rollout = _rollout(pair, pair.run)
    if rollout is None:
        return "non-finite", "the run left no finite policy to sample from"
    right, _, mask = rollout
    logged = _mean(pair.run.column("reward")[-8:])
    share, ended = right.mean().item(), pair.run.checkpoint["report"]["accuracy"]
    length = mask.sum(1).float().mean().item()
    text = f"{len(right)} new completions: right {share:.3f}, mean length {length:.2f}\n"
    text += f"mean reward of the last 8 steps in the log {number(logged)}\ngreedy accuracy {ended:.2f}"
    return "up" if share > logged + NEAR else "down" if share < logged - NEAR else "flat", text


def rollouts(pair: ScriptPair) -> tuple[str, str]:
    """Count how many different texts a problem gets, and print some."""
    mine, sound = _rollout(pair, pair.run), _rollout(pair, pair.healthy)
    if mine is None or sound is None:
        return "non-finite", "the run left no finite policy to sample from"
    counts, expected = _texts(pair, mine), _texts(pair, sound)
    lines = [
        f"problem {i}: " + " · ".join(f"{n} x {text}" for text, n in counts[i].most_common(SHOWN_TEXTS))
        for i in range(0, 100, 100 // SHOWN_PROBLEMS + 1)
    ]
    different, usual = (_mean([len(texts) for texts in group]) for group in (counts, expected))
    lines += [f"(. filler, | end token) different texts in {SAMPLES} samples of a problem:"]
    lines += [f"{number(different)}, reference {number(usual)}"]
    return ratio(different, usual, 1.25), "\n".join(lines)


def reward_lr_div_10(pair: ScriptPair) -> tuple[str, str]:
    """Train with a tenth of the learning rate."""
    return _rerun(pair, pair.slow)


def control_run(pair: ScriptPair) -> tuple[str, str]:
    """Compare the end of the run with that of the same configuration on another seed."""
    mine, other = end(pair.run.column("reward")), end(pair.other.column("reward"))
    outcome, text = curves.control_run(pair)
    return outcome, f"{text}\nreward of the last 16 steps {number(other)}; this run {number(mine)}"


def same_engine(pair: ScriptPair) -> tuple[str, str] | None:
    """Train with samples of the training weights, where the run samples with rounded ones."""
    sampler = "sample(in_bfloat16(policy), "
    if sampler not in pair.source:
        return None
    again = run_script(pair.source.replace(sampler, "sample(policy, "), pair.seed)
    outcome, text = _rerun(pair, again)
    return (
        outcome,
        f"{text}\nlargest |ratio - 1| before the first inner step {number(max(again.column('gap')))}",
    )


def broke(record: ScriptRecord) -> bool:
    """Whether the run stopped or a loss is not finite."""
    return bool(record.error) or not all(map(math.isfinite, record.column("loss")))


def _column(pair: ScriptPair, field: str, factor: float) -> tuple[str, str]:
    mine, sound = pair.run.column(field), pair.healthy.column(field)
    text = f"step: {field}  {series(mine)}\nreference   {series(sound)}\n"
    text += f"mean of the last 16 steps {number(end(mine))} (reference {number(end(sound))})"
    if not all(map(math.isfinite, mine)):
        return "non-finite", text
    return ratio(end(mine), end(sound), factor), text


def _rerun(pair: ScriptPair, again: ScriptRecord) -> tuple[str, str]:
    mine, reward = end(pair.run.column("reward")), end(again.column("reward"))
    text = f"step: reward  {series(again.column('reward'))}\nstep: KL      {series(again.column('kl'))}\n"
    text += f"last 16 steps: reward {number(reward)}, KL {number(end(again.column('kl')))}, "
    text += f"entropy {number(end(again.column('entropy')))}, length {number(end(again.column('length')))}"
    text += f"{_stop(again)}\nthis run: reward {number(mine)}"
    if broke(again):
        return "non-finite", text
    if broke(pair.run):
        return "up", text
    return "up" if reward > mine + NEAR else "down" if reward < mine - NEAR else "flat", text


def _rollout(pair: ScriptPair, record: ScriptRecord) -> tuple[Tensor, Tensor, Tensor] | None:
    weights = record.checkpoint.get("model", {})
    if not weights or not all(tensor.isfinite().all() for tensor in weights.values()):
        return None
    names = pair.healthy.namespace
    with torch.random.fork_rng():
        torch.manual_seed(pair.seed)
        policy, prompts, answers = names["make_reference"]()
        policy.load_state_dict(weights)
        torch.manual_seed(PROBE_SEED)
        texts, _, mask = names["sample"](policy, prompts.repeat_interleave(SAMPLES, dim=0))
    return names["verify"](texts, mask, answers.repeat_interleave(SAMPLES)), texts, mask


def _texts(pair: ScriptPair, rollout: tuple[Tensor, Tensor, Tensor]) -> list[collections.Counter[str]]:
    names = pair.healthy.namespace
    signs = {names["FILLER"]: ".", names["START"]: "^", names["END"]: "|"}
    _, tokens, mask = rollout
    texts = [
        "".join(signs.get(token, str(token)) for token in row[kept].tolist())
        for row, kept in zip(tokens, mask, strict=True)
    ]
    return [collections.Counter(texts[i : i + SAMPLES]) for i in range(0, len(texts), SAMPLES)]


def _stop(record: ScriptRecord) -> str:
    return f"\nthe script stopped: {record.error}" if record.error else ""


def _mean(values: list[float] | list[int]) -> float:
    return sum(values) / len(values)
