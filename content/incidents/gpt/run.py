"""Train a two-layer GPT on words with their copy, `>cab=cab.`, or reverse, `<cab=bac.`, packed into rows."""

import argparse
import math
import random
from typing import NamedTuple

import torch
from torch import Tensor, nn

STEPS = 200
SAVE_EVERY = 50
ROWS = 8
LENGTH = 32
ACCUMULATE = 2
WORD_LENGTHS = (3, 5)
WIDTH = 48
HEADS = 3
TOKEN_STD = 0.02
RATE = 0.006
WARMUP = 16
BETAS = (0.9, 0.95)
WEIGHT_DECAY = 0.01
CLIP = 1.0
VALID_BATCHES = 8
IGNORE = -100
ALPHABET = "_><=.abcdefgh"  # the underscore is padding, words are made of letters
CHECKPOINT = "checkpoint.pt"


class Batch(NamedTuple):  # packed documents, each field of shape (ROWS, LENGTH)
    tokens: Tensor
    documents: Tensor  # the number of the document within its row, 0 for padding
    places: Tensor  # of the token within its document
    targets: Tensor


def make_document(rng: random.Random) -> str:
    word = "".join(rng.choices(ALPHABET[5:], k=rng.choice(WORD_LENGTHS)))
    return f">{word}={word}." if rng.random() < 0.5 else f"<{word}={word[::-1]}."


def make_batch(rng: random.Random) -> Batch:
    rows = []
    for _ in range(ROWS):
        row, number, document = [], 1, make_document(rng)
        while len(row) + len(document) <= LENGTH:
            row += [(ALPHABET.index(letter), number, place) for place, letter in enumerate(document)]
            number, document = number + 1, make_document(rng)
        rows.append(row + [(0, 0, 0)] * (LENGTH - len(row)))
    tokens, documents, places = torch.tensor(rows).unbind(-1)
    # The target of a token is the next token of its document.
    ends = documents != documents.roll(-1, dims=1)
    targets = tokens.roll(-1, dims=1).masked_fill(ends | (documents == 0), IGNORE)
    return Batch(tokens, documents, places, targets)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        nn.init.normal_(self.qkv.weight, std=1 / math.sqrt(WIDTH))

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        query, key, value = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~visible, -math.inf).softmax(dim=-1)
        x = x + self.out((weights @ value).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(len(ALPHABET), WIDTH)  # also the output layer
        self.place = nn.Embedding(2 * max(WORD_LENGTHS) + 3, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm = nn.LayerNorm(WIDTH)
        nn.init.normal_(self.token.weight, std=TOKEN_STD)
        nn.init.normal_(self.place.weight, std=0.02)

    def forward(self, batch: Batch) -> Tensor:
        same = batch.documents[:, :, None] == batch.documents[:, None, :]
        past = torch.ones(same.shape[1:], dtype=torch.bool).tril()
        visible = (same & past)[:, None]  # (ROWS, 1, LENGTH, LENGTH)
        x = self.token(batch.tokens) + self.place(batch.places)
        for block in self.blocks:
            x = block(x, visible)
        return self.norm(x) @ self.token.weight.T


def loss_sum(model: GPT, batch: Batch) -> Tensor:
    logits = model(batch).flatten(0, 1)
    return nn.functional.cross_entropy(logits, batch.targets.flatten(), ignore_index=IGNORE, reduction="sum")


def count(batches: list[Batch]) -> int:
    return sum(int((batch.targets != IGNORE).sum()) for batch in batches)


@torch.no_grad()
def evaluate(model: GPT, seed: int) -> float:
    rng = random.Random(f"valid {seed}")
    batches = [make_batch(rng) for _ in range(VALID_BATCHES)]
    return sum(loss_sum(model, batch).item() for batch in batches) / count(batches)


def train(seed: int, steps: int, *, resume: bool) -> None:
    torch.manual_seed(seed)
    rng, model, start = random.Random(f"train {seed}"), GPT(), 0
    optimizer = torch.optim.AdamW(model.parameters(), RATE, BETAS, weight_decay=WEIGHT_DECAY)
    if resume:
        saved = torch.load(CHECKPOINT)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        rng.setstate(saved["rng"])
        start = saved["step"]
    for step in range(start, steps):
        rate = RATE * min(1.0, (step + 1) / WARMUP) * (0.55 + 0.45 * math.cos(math.pi * step / steps))
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        batches, total = [make_batch(rng) for _ in range(ACCUMULATE)], 0.0
        for batch in batches:
            loss = loss_sum(model, batch) / count(batches)
            loss.backward()
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        line = f"step {step}  loss {total:.5g}  norm {norm:.5g}  rate {rate:.5g}"
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            valid_loss = evaluate(model, seed)
            line += f"  valid_loss {valid_loss:.5g}"
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": rng.getstate()}
            torch.save({**state, "step": step + 1, "report": {"valid_loss": valid_loss}}, CHECKPOINT)
        print(line, flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    train(options.seed, options.steps, resume=options.resume)
