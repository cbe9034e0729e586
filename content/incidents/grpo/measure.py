"""Measures the checkpoint of a GRPO run on completions that are sampled here.

Nothing comes from the script: the policy, its reference and the verifier are defined once more, so that a
script which changes any of them is measured against what it should have been.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, log_softmax, relu

from quizapp.judge.testing.checkpoint import Checkpoint

DIGITS = 10
LENGTH = 8
WIDTH = 64
FILLER, START, END, VOCABULARY = 10, 11, 12, 13
BATCH = 128
WARM_UP_STEPS = 300
SAMPLES = 20  # completions of each problem
METRICS = ("accuracy", "reward", "length", "entropy", "kl", "reported_gap")

Weights = Mapping[str, Tensor]


def measure(checkpoint: Checkpoint, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of the policy that was trained with ``seed``.

    - ``accuracy``: share of all 100 problems that greedy decoding answers right.
    - ``reward``: share of 2000 sampled completions that are right.
    - ``length``: their mean length in tokens, with the end token.
    - ``entropy`` and ``kl``: means over their tokens, in nats, of the entropy of the policy and of its
      divergence from the reference policy, which is trained here.
    - ``reported_gap``: how far the accuracy that the script reports is from the one measured here.

    All are NaN if a weight is not finite. ``options`` has no keys for this baseline. Raises `ModelChanged`
    if the checkpoint does not hold this policy.
    """
    if options:
        raise ValueError(f"the baseline grpo has no options, got {', '.join(options)}")
    weights = checkpoint.tensors
    reference, prompts, answers = make_reference(seed)
    checkpoint.require(reference)
    if not all(torch.isfinite(tensor).all() for tensor in weights.values()):
        return dict.fromkeys(METRICS, math.nan)
    generator = torch.Generator().manual_seed(1_000_003 + seed)
    many, many_answers = prompts.repeat_interleave(SAMPLES, dim=0), answers.repeat_interleave(SAMPLES)
    with torch.no_grad():
        greedy, ends = generate(weights, prompts)
        accuracy = right(greedy, ends, answers).mean().item()
        texts, ends = generate(weights, many, generator)
        mask = torch.arange(LENGTH) <= ends.unsqueeze(1)
        policy_logprobs = logprobs(weights, many, texts)
        reference_logprobs = logprobs(reference, many, texts)
    probabilities = policy_logprobs.exp()
    return {
        "accuracy": accuracy,
        "reward": right(texts, ends, many_answers).mean().item(),
        "length": mask.sum(1).float().mean().item(),
        "entropy": -(probabilities * policy_logprobs).sum(-1)[mask].mean().item(),
        "kl": (probabilities * (policy_logprobs - reference_logprobs)).sum(-1)[mask].mean().item(),
        "reported_gap": abs(checkpoint.report.get("accuracy", math.inf) - accuracy),
    }


def logprobs(weights: Weights, prompts: Tensor, texts: Tensor) -> Tensor:
    """Return the log-probabilities (B, T, 13) of all tokens at each place of ``texts`` (B, T)."""
    before = torch.cat((torch.full((len(texts), 1), START), texts[:, :-1]), dim=1)
    first = embedding(prompts[:, 0], weights["first.weight"])
    second = embedding(prompts[:, 1], weights["second.weight"])
    places = weights["place.weight"][: texts.shape[1]]
    x = relu((first + second).unsqueeze(1) + embedding(before, weights["last.weight"]) + places)
    x = relu(linear(x, weights["hidden.weight"], weights["hidden.bias"]))
    return log_softmax(linear(x, weights["head.weight"], weights["head.bias"]), dim=-1)


def generate(
    weights: Weights, prompts: Tensor, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Return texts (B, 8) and the place (B,) where each ends. Without a generator, decoding is greedy."""
    texts = torch.full((len(prompts), LENGTH), END)
    for place in range(LENGTH):
        following = logprobs(weights, prompts, texts[:, : place + 1])[:, place]
        if generator is None:
            texts[:, place] = following.argmax(-1)
        else:
            texts[:, place] = torch.multinomial(following.exp(), 1, generator=generator).squeeze(1)
    is_end = texts == END
    return texts, torch.where(is_end.any(1), is_end.float().argmax(1), LENGTH - 1)


def right(texts: Tensor, ends: Tensor, answers: Tensor) -> Tensor:
    """Return 1.0 for each text that ends with the answer and an end token, else 0.0."""
    rows = torch.arange(len(texts))
    ended = (texts[rows, ends] == END) & (ends > 0)
    return (ended & (texts[rows, (ends - 1).clamp(min=0)] == answers)).float()


def make_reference(seed: int) -> tuple[Weights, Tensor, Tensor]:
    """Return the weights of the reference policy of ``seed``, all prompts (100, 2) and their answers (100,).

    The draws come in the order in which the baseline makes them: it starts from the same policy.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        cipher = torch.randperm(DIGITS)
        prompts = torch.cartesian_prod(torch.arange(DIGITS), torch.arange(DIGITS))
        answers = cipher[prompts.sum(1) % DIGITS]
        weights = initial_weights()
        optimizer = torch.optim.Adam(weights.values(), lr=0.01)
        for _ in range(WARM_UP_STEPS):
            chosen, correct = torch.randint(len(prompts), (BATCH,)), torch.rand(BATCH) < 0.5
            shown = torch.where(correct, answers[chosen], torch.randint(DIGITS, (BATCH,)))
            fillers = torch.randint(0, 4, (BATCH, 1))
            places = torch.arange(LENGTH)
            texts = torch.where(places < fillers, FILLER, END).scatter(1, fillers, shown.unsqueeze(1))
            of_text = logprobs(weights, prompts[chosen], texts).gather(2, texts.unsqueeze(2)).squeeze(2)
            optimizer.zero_grad()
            (-of_text[places <= fillers + 1].mean()).backward()
            optimizer.step()
    return {name: tensor.detach() for name, tensor in weights.items()}, prompts, answers


def initial_weights() -> dict[str, nn.Parameter]:
    """Return new weights by name, drawn as the baseline draws them."""
    model = nn.ModuleDict(
        {
            "first": nn.Embedding(DIGITS, WIDTH),
            "second": nn.Embedding(DIGITS, WIDTH),
            "last": nn.Embedding(VOCABULARY, WIDTH),
            "place": nn.Embedding(LENGTH, WIDTH),
            "hidden": nn.Linear(WIDTH, WIDTH),
            "head": nn.Linear(WIDTH, VOCABULARY),
        }
    )
    return dict(model.named_parameters())
