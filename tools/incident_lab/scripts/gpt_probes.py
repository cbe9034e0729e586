"""Readings that look into the GPT script: its batches, its attention weights and its trained model."""

import importlib.util
import math
import random
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from quizapp import paths
from quizapp.judge.testing.checkpoint import Checkpoint
from tools.incident_lab.reading_texts import number
from tools.incident_lab.scripts import curves
from tools.incident_lab.scripts.pair import ScriptPair, ratio
from tools.incident_lab.scripts.program import train_state

SCRIPT_SEED = "probe"
COMPLETIONS = 100
SAME = 1e-5
DIFFERENT = 0.01
SUDDEN_NATS = 0.5
LETTER_NATS = math.log(8)


def loss_curve(pair: ScriptPair) -> tuple[str, str]:
    """Show the loss curve, with the steps around a sudden rise."""
    outcome, text = curves.loss_curve(pair)
    values = pair.run.column("loss")
    rise, step = max((after - before, at) for at, (before, after) in enumerate(pairwise(values), 1))
    if rise > SUDDEN_NATS:
        around = range(max(0, step - 2), min(len(values), step + 6))
        text += "\nlargest rise: " + " · ".join(f"{at}: {number(values[at])}" for at in around)
    return outcome, text


def first_loss(pair: ScriptPair) -> tuple[str, str]:
    """Compare the loss of step 0 with the logarithm of the vocabulary."""
    value, expected = pair.run.column("loss")[0], math.log(len(pair.run.namespace["ALPHABET"]))
    sound = pair.healthy.column("loss")[0]
    text = f"step 0 {number(value)}, ln 13 = {number(expected)} (reference {number(sound)})"
    return ratio(value, expected, 1.25), text


def batch_as_text(pair: ScriptPair) -> tuple[str, str]:
    """Print a batch, and measure how many targets are the next token of their document."""
    batch = _batch(pair)
    counts = batch.targets != pair.run.namespace["IGNORE"]
    following = batch.tokens.roll(-1, dims=1)
    inside = (batch.documents == batch.documents.roll(-1, dims=1)) & (batch.documents > 0)
    inside[:, -1] = False
    right = (counts & inside & (batch.targets == following)).sum() / counts.sum()
    padding = (counts & (batch.documents == 0)).sum()
    show = _decoder(pair)
    lines = [f"tokens   {show(batch.tokens[0])}", f"targets  {show(batch.targets[0])}"]
    lines += [f"document {''.join(str(int(n)) for n in batch.documents[0])} (a blank target does not count)"]
    share = f"{int(counts.sum())} targets count, {100 * right:.1f} % of them the next token of their document"
    lines += [f"{share}; {int(padding)} lie on padding"]
    return "down" if right < 0.99 else "flat", "\n".join(lines)


def tensor_gradients(pair: ScriptPair) -> tuple[str, str]:
    """Look for tensors that get no gradient at step 0."""
    model, batch = _fresh(pair), _batch(pair)
    pair.run.namespace["loss_sum"](model, batch).backward()
    norms = {name: 0.0 if p.grad is None else p.grad.norm().item() for name, p in model.named_parameters()}
    without = [name for name, value in norms.items() if value == 0]
    total = math.sqrt(sum(value**2 for value in norms.values()))
    shown = " · ".join(
        f"{name} {number(value / total)}" for name, value in norms.items() if "norm" not in name
    )
    text = f"share of the norm at step 0: {shown}\nwithout a gradient: {', '.join(without) or 'none'}"
    return "up" if without else "flat", text


def whole_batch(pair: ScriptPair) -> tuple[str, str] | None:
    """Compare the gradient of step 0 with that of one mean over the targets of all its micro-batches."""
    state, space = train_state(pair.source, pair.seed, 1), pair.run.namespace
    sizes = [space["count"]([batch]) for batch in state["batches"]]
    if max(sizes) < 2 * min(sizes):  # micro-batches of equal size cannot be weighed wrongly
        return None
    model = _fresh(pair)
    torch.stack([space["loss_sum"](model, batch) for batch in state["batches"]]).sum().backward()
    whole = torch.cat([p.grad.flatten() for p in model.parameters()]) / sum(sizes)
    used = torch.cat([p.grad.flatten() for p in state["model"].parameters()])
    used *= state["norm"] / used.norm()  # as before clipping
    share = float((used - whole).norm() / whole.norm())
    text = f"targets by micro-batch: {', '.join(map(str, sizes))}\n"
    text += f"‖g − g*‖ / ‖g*‖ at step 0, with g* of the mean over all {sum(sizes)}: {number(share)}"
    return "up" if share > DIFFERENT else "flat", text


def attention_before(pair: ScriptPair) -> tuple[str, str]:
    """Compare the entropy of the attention weights before any update with the reference."""
    mine, sound = (_entropy(weights) for weights in (_weights(pair), _weights(pair, sound=True)))
    largest = [float(weights.amax(-1).mean()) for weights in _weights(pair)]
    text = f"entropy by layer, in nats: {_numbers(mine)} (reference {_numbers(sound)})\n"
    text += f"mean of the largest weight of a token: {_numbers(largest)}"
    return ratio(sum(mine), sum(sound), 1.25), text


def attention_sum(pair: ScriptPair) -> tuple[str, str]:
    """Measure the sum of the weights with which a token mixes the values, before any update."""
    rows = torch.cat([weights.sum(-1).mean(1).flatten() for weights in _weights(pair)])
    text = f"sum of a token's weights, mean {number(rows.mean().item())}, "
    text += f"smallest {number(rows.min().item())}, largest {number(rows.max().item())}"
    return ratio(rows.mean().item(), 1.0, 1.25), text


def future_leak(pair: ScriptPair) -> tuple[str, str]:
    """Measure how the logits of a token change when the next token of its document does."""
    model, batch = _trained(pair), _batch(pair)
    change = 0.0
    for place in (2, 4, 6):
        changed = batch.tokens.clone()
        here = (batch.documents == 2) & (batch.places == place)
        changed[here] = 5 + (changed[here] - 4) % 8
        before = (batch.documents == 2) & (batch.places < place)
        change = max(change, _difference(model, batch, batch._replace(tokens=changed), before))
    text = (
        f"largest change of an earlier logit of the document after another token 2, 4 or 6: {number(change)}"
    )
    return "up" if change > SAME else "flat", text


def document_leak(pair: ScriptPair) -> tuple[str, str]:
    """Measure how the logits of a document change when the one before it does."""
    model, batch = _trained(pair), _batch(pair)
    first = batch.documents == 1
    changed = torch.where(first & (batch.tokens > 4), 5 + (batch.tokens - 4) % 8, batch.tokens)
    change = _difference(model, batch, batch._replace(tokens=changed), batch.documents == 2)
    text = f"largest change of a logit of the second document after another first one: {number(change)}"
    return "up" if change > SAME else "flat", text


def loss_by_place(pair: ScriptPair) -> tuple[str, str]:
    """Compare the loss on the letters of the first word, which are random, with their entropy."""
    words, rest = _loss_parts(pair.run.namespace, _trained(pair), _batch(pair))
    text = f"trained model, by the next token: letters of the first word {number(words)} "
    text += f"(entropy ln 8 = {number(LETTER_NATS)}), after the equals sign {number(rest)}"
    return ratio(words, LETTER_NATS, 1.25), text


def completions(pair: ScriptPair) -> tuple[str, str]:
    """Let the trained model complete prompts, greedily, and count the right completions."""
    space, model = pair.run.namespace, _trained(pair)
    rng, right, shown = random.Random(SCRIPT_SEED), 0, []  # noqa: S311
    for _ in range(COMPLETIONS):
        document = space["make_document"](rng)
        start = document.index("=") + 1
        answer = _complete(space, model, document[:start], len(document) - start)
        right += answer == document[start:]
        shown.append(f"{document[:start]}→{answer}")
    share = right / COMPLETIONS
    text = f"{right} of {COMPLETIONS} prompts completed rightly; {' '.join(shown[:4])}"
    return "up" if share > 0.2 else "down" if share < 0.02 else "flat", text


def independent_model(pair: ScriptPair) -> tuple[str, str]:
    """Score the trained tensors with the model of ``measure.py``."""
    saved = pair.run.checkpoint
    checkpoint = Checkpoint(saved["model"], saved["step"], saved["report"])
    words = {"words": pair.run.namespace["WORD_LENGTHS"]}
    value = _measure_module().measure(checkpoint, pair.seed, words)["test_loss"]
    claim = saved["report"]["valid_loss"]
    text = "the checkpoint in another implementation, which is causal and reads each document alone: "
    text += f"loss {number(value)} on new documents (the script reports {number(claim)} on its own)"
    return "up" if value > claim + 0.05 else "down" if value < claim - 0.05 else "flat", text


@cache
def _measure_module() -> Any:
    spec = importlib.util.spec_from_file_location("gpt_measure", paths.content() / "incidents/gpt/measure.py")
    if spec is None or spec.loader is None:
        raise ImportError("content/incidents/gpt/measure.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _complete(space: dict[str, Any], model: Any, prompt: str, count: int) -> str:
    text = prompt
    for _ in range(count):
        tokens = torch.tensor([[space["ALPHABET"].index(letter) for letter in text]])
        row = torch.ones_like(tokens)
        places = torch.arange(len(text))[None]
        with torch.no_grad():
            logits = model(space["Batch"](tokens, row, places, tokens))
        text += space["ALPHABET"][int(logits[0, -1].argmax())]
    return text[len(prompt) :]


def _batch(pair: ScriptPair) -> Any:
    return pair.run.namespace["make_batch"](random.Random(SCRIPT_SEED))  # noqa: S311


def _fresh(pair: ScriptPair, *, sound: bool = False) -> Any:
    torch.manual_seed(pair.seed)
    return (pair.healthy if sound else pair.run).namespace["GPT"]()


def _trained(pair: ScriptPair) -> Any:
    model = _fresh(pair)
    model.load_state_dict(pair.run.checkpoint["model"])
    return model.eval()


def _decoder(pair: ScriptPair) -> Callable[[Tensor], str]:
    alphabet = pair.run.namespace["ALPHABET"]
    return lambda tokens: "".join(alphabet[int(n)] if n >= 0 else " " for n in tokens)


def _difference(model: Any, first: Any, second: Any, where: Tensor) -> float:
    with torch.no_grad():
        return float((model(first) - model(second))[where].abs().max())


def _loss_parts(space: dict[str, Any], model: Any, batch: Any) -> tuple[float, float]:
    """Return the mean loss on the next letters of first words, and after the equals sign."""
    following = batch.tokens.roll(-1, dims=1)
    inside = (batch.documents == batch.documents.roll(-1, dims=1)) & (batch.documents > 0)
    inside[:, -1] = False
    after = torch.zeros_like(inside)
    for row in range(len(inside)):
        seen = False
        for at in range(inside.shape[1]):
            seen = (seen and batch.places[row, at] > 0) or space["ALPHABET"][
                int(batch.tokens[row, at])
            ] == "="
            after[row, at] = seen
    with torch.no_grad():
        losses = torch.nn.functional.cross_entropy(
            model(batch).flatten(0, 1), following.flatten(), reduction="none"
        ).view_as(following)
    word = inside & ~after & (following > 4)
    return float(losses[word].mean()), float(losses[inside & after].mean())


class _Mixing(TorchFunctionMode):
    """Keeps the weights of every product of a square matrix by values, which is what attention is."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.weights: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.matmul, torch.Tensor.__matmul__, torch.matmul):
            left = args[0]
            if left.dim() == 4 and left.shape[-2:] == (self.length, self.length):
                self.weights.append(left.detach())
        return func(*args, **(kwargs or {}))


def _weights(pair: ScriptPair, *, sound: bool = False) -> list[Tensor]:
    """Return the weights (B, heads, T, T) of each layer before any update."""
    batch = _batch(pair)
    mode = _Mixing(batch.tokens.shape[1])
    with torch.no_grad(), mode:
        _fresh(pair, sound=sound)(batch)
    return mode.weights


def _entropy(weights: list[Tensor]) -> list[float]:
    return [float(torch.special.entr(layer).sum(-1).mean()) for layer in weights]


def _numbers(values: list[float]) -> str:
    return ", ".join(number(value) for value in values)
