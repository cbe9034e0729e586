"""Measures the checkpoint of a GPT on documents that its training script never saw.

Nothing here comes from the script. The model is causal, and it reads each document alone, from its first
token on: what the script's model sees of other documents or of later tokens does not help here.
"""

import math
import random
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from quizapp.judge.testing.checkpoint import Checkpoint

ALPHABET = "_><=.abcdefgh"
PADDING, IGNORE = 0, -100
EQUALS = ALPHABET.index("=")
WIDTH, HEADS, PLACES = 48, 3, 13
VALID_ROWS, ROW = 64, 32
TEST_DOCUMENTS = 1000


def measure(checkpoint: Checkpoint, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of the model that was trained with ``seed``.

    - ``test_loss``: nats per target on 1000 new documents; no model can be below 0.90 on average.
    - ``answer_loss``: the part of it after the equals sign, where every letter follows from the first word.
    - ``answer_accuracy``: the share of these tokens that are predicted rightly.
    - ``padding_share``: the probability of padding after padding, which no target should teach.
    - ``short_loss`` and ``long_loss``: ``answer_loss`` for words of three and of five letters.
    - ``end_share``: the mean probability with which the model ends a word after three letters.
    - ``reported_gap``: how far the validation loss that the script reports is from the one measured here.
      It is infinite if the script reports none.

    The option ``words`` gives the lengths of the words that the script samples from (``[3, 5]``), and
    ``row`` the length of its rows (32). Raises `ModelChanged` if the checkpoint does not hold this model.
    """
    model = GPT()
    checkpoint.require(model.state_dict())
    model.load_state_dict(dict(checkpoint.tensors))
    words = tuple(options.get("words", (3, 5)))
    valid = valid_documents(random.Random(f"valid {seed}"), words, options.get("row", ROW))
    rng = random.Random(f"test {seed}")
    test = [make_document(rng, words) for _ in range(TEST_DOCUMENTS)]
    losses, right, answer = scored(model, test)
    starts = torch.tensor([[ALPHABET.index(letter) for letter in document[:4]] for document in test])
    long = torch.tensor([len(document) == max(map(len, test)) for document in test])[:, None]
    valid_loss = scored(model, valid)[0].nanmean().item()
    return {
        "test_loss": losses.nanmean().item(),
        "answer_loss": losses[answer].mean().item(),
        "answer_accuracy": right[answer].float().mean().item(),
        "padding_share": model(torch.tensor([[PADDING]])).softmax(-1)[0, 0, PADDING].item(),
        "short_loss": losses[answer & ~long].mean().item(),
        "long_loss": losses[answer & long].mean().item(),
        "end_share": model(starts)[:, -1].softmax(-1)[:, EQUALS].mean().item(),
        "reported_gap": abs(checkpoint.report.get("valid_loss", math.inf) - valid_loss),
    }


def make_document(rng: random.Random, words: tuple[int, ...]) -> str:
    """Return a word with its copy or its reverse."""
    word = "".join(rng.choices(ALPHABET[5:], k=rng.choice(words)))
    return f">{word}={word}." if rng.random() < 0.5 else f"<{word}={word[::-1]}."


def valid_documents(rng: random.Random, words: tuple[int, ...], row: int) -> list[str]:
    """Return the documents on which the script reports its validation loss.

    The script fills rows, and drops the first document that does not fit into one.
    """
    documents = []
    for _ in range(VALID_ROWS):
        free, document = row, make_document(rng, words)
        while len(document) <= free:
            documents.append(document)
            free, document = free - len(document), make_document(rng, words)
    return documents


@torch.no_grad()
def scored(model: "GPT", documents: list[str]) -> tuple[Tensor, Tensor, Tensor]:
    """Score documents of different lengths.

    Return the losses (N, T), NaN where there is no target, whether each target is predicted rightly (N, T),
    and whether it lies after the equals sign (N, T).
    """
    longest = max(map(len, documents))
    rows = [[ALPHABET.index(letter) for letter in document.ljust(longest, "_")] for document in documents]
    tokens = torch.tensor(rows)
    targets = tokens[:, 1:].masked_fill(tokens[:, 1:] == PADDING, IGNORE)
    logits = model(tokens[:, :-1])
    losses = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE, reduction="none")
    counts = targets != IGNORE
    answer = counts & ((tokens[:, :-1] == EQUALS).cumsum(1) > 0)
    return losses.view_as(targets).masked_fill(~counts, math.nan), logits.argmax(-1) == targets, answer


class Block(nn.Module):
    """A layer of causal attention and an MLP, each after a LayerNorm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (N, T, 48) to the same shape."""
        query, key, value = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        result: Tensor = x + self.mlp(self.norm2(x))
        return result


class GPT(nn.Module):
    """The model of the script, whose output layer is the embedding of the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(len(ALPHABET), WIDTH)
        self.place = nn.Embedding(PLACES, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map tokens (N, T) to logits (N, T, 13)."""
        x = self.token(tokens) + self.place.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.norm(x) @ self.token.weight.T
        return logits
