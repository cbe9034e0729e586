"""Ids and mask grow in the same loop, labels stay aligned with the ids, and only the loss shifts."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

Example = tuple[list[int], list[bool]]
IGNORED = -100


def encode_chat(turns: Sequence[tuple[str, Sequence[int]]], special: Mapping[str, int]) -> Example:
    ids, mask = [special["bos"]], [False]
    for role, tokens in turns:
        if role not in special:
            raise ValueError(f"unknown role {role!r}")
        learned = role == "assistant"
        ids += [special[role], *tokens, special["eot"]]
        mask += [False] + [learned] * (len(tokens) + 1)
    return ids, mask


def _prepared(examples: Sequence[Example], limit: int | None) -> list[tuple[list[int], list[int]]]:
    """Ids and labels of every example, cut to ``limit`` tokens."""
    if limit is not None and limit < 1:
        raise ValueError("the length must be at least 1")
    if not examples:
        raise ValueError("there are no examples")
    result = []
    for ids, mask in examples:
        if not ids or len(ids) != len(mask):
            raise ValueError("an example needs tokens, and one mask entry for each")
        ids, mask = ids[:limit], mask[:limit]
        labels = [token if learned else IGNORED for token, learned in zip(ids, mask, strict=True)]
        labels[0] = IGNORED
        result.append((ids, labels))
    return result


def collate(examples: Sequence[Example], pad_id: int, max_length: int | None = None) -> dict[str, Tensor]:
    prepared = _prepared(examples, max_length)
    shape = (len(prepared), max(len(ids) for ids, _ in prepared))
    input_ids = torch.full(shape, pad_id)
    labels = torch.full(shape, IGNORED)
    attention_mask = torch.zeros(shape, dtype=torch.bool)
    for row, (ids, targets) in enumerate(prepared):
        end = len(ids)
        input_ids[row, :end] = torch.tensor(ids)
        labels[row, :end] = torch.tensor(targets)
        attention_mask[row, :end] = True
    return {"input_ids": input_ids, "labels": labels, "attention_mask": attention_mask}


def causal_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    if logits.dtype == torch.bfloat16:
        logits = logits.float()
    scores = logits[:, :-1].flatten(0, 1)
    targets = labels[:, 1:].flatten()
    total = F.cross_entropy(scores, targets, ignore_index=IGNORED, reduction="sum")
    return total / (targets != IGNORED).sum().clamp(min=1)


def pack(examples: Sequence[Example], length: int, pad_id: int) -> dict[str, Tensor]:
    rows: list[list[tuple[list[int], list[int]]]] = []
    room: list[int] = []
    for ids, labels in _prepared(examples, length):
        if all(label == IGNORED for label in labels):
            continue
        place = next((i for i, free in enumerate(room) if free >= len(ids)), None)
        if place is None:
            place = len(rows)
            rows.append([])
            room.append(length)
        rows[place].append((ids, labels))
        room[place] -= len(ids)

    shape = (len(rows), length)
    packed = {
        "input_ids": torch.full(shape, pad_id),
        "labels": torch.full(shape, IGNORED),
        "position_ids": torch.zeros(shape, dtype=torch.int64),
        "document_ids": torch.full(shape, -1),
    }
    for row, documents in enumerate(rows):
        start = 0
        for number, (ids, labels) in enumerate(documents):
            here = slice(start, start + len(ids))
            packed["input_ids"][row, here] = torch.tensor(ids)
            packed["labels"][row, here] = torch.tensor(labels)
            packed["position_ids"][row, here] = torch.arange(len(ids))
            packed["document_ids"][row, here] = number
            start += len(ids)
    return packed


def document_mask(document_ids: Tensor) -> Tensor:
    T = document_ids.shape[1]
    position = torch.arange(T, device=document_ids.device)
    causal = position[:, None] >= position
    itself = position[:, None] == position
    same = document_ids[:, :, None] == document_ids[:, None, :]
    real = (document_ids >= 0)[:, :, None]
    return (same & causal & (real | itself))[:, None]
