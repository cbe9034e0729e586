from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Doc:
    ids: tuple[int, ...]
    labels: tuple[int, ...]

    @classmethod
    def of(cls, example, limit):
        ids, mask = example
        if not len(ids) or len(mask) != len(ids):
            raise ValueError("malformed example")
        end = len(ids) if limit is None else min(limit, len(ids))
        labels = [-100 if i == 0 or not mask[i] else ids[i] for i in range(end)]
        return cls(tuple(ids[:end]), tuple(labels))

    @property
    def useful(self) -> bool:
        return any(x != -100 for x in self.labels)


@dataclass
class Row:
    size: int
    docs: list[Doc] = field(default_factory=list)

    @property
    def free(self):
        return self.size - sum(len(d.ids) for d in self.docs)

    def column(self, values, fill):
        flat = [v for part in values for v in part]
        return flat + [fill] * (self.size - len(flat))


def _docs(examples, limit):
    if limit is not None and limit < 1:
        raise ValueError("limit")
    docs = [Doc.of(example, limit) for example in examples]
    if not docs:
        raise ValueError("nothing to do")
    return docs


def encode_chat(turns: Sequence[tuple[str, Sequence[int]]], special: Mapping[str, int]):
    ids: list[int] = [special["bos"]]
    spans = []
    for role, tokens in turns:
        header = special.get(role)
        if header is None:
            raise ValueError(role)
        ids.append(header)
        begin = len(ids)
        ids.extend(tokens)
        ids.append(special["eot"])
        if role == "assistant":
            spans.append(range(begin, len(ids)))
    learned = set().union(*spans)
    return ids, [i in learned for i in range(len(ids))]


def collate(examples, pad_id, max_length=None):
    docs = _docs(examples, max_length)
    T = max(len(d.ids) for d in docs)
    rows = [Row(T, [d]) for d in docs]
    return {
        "input_ids": torch.tensor([r.column([r.docs[0].ids], pad_id) for r in rows]),
        "labels": torch.tensor([r.column([r.docs[0].labels], -100) for r in rows]),
        "attention_mask": torch.tensor([r.column([[True] * len(r.docs[0].ids)], False) for r in rows]),
    }


def causal_lm_loss(logits, labels):
    shifted = labels.new_full(labels.shape, -100)
    shifted[:, :-1] = labels[:, 1:]
    n = int((shifted != -100).sum())
    x = logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits
    if n == 0:
        return x.sum() * 0
    return F.cross_entropy(x.transpose(1, 2), shifted, ignore_index=-100, reduction="mean")


def pack(examples, length, pad_id):
    rows: list[Row] = []
    for doc in filter(lambda d: d.useful, _docs(examples, length)):
        for row in rows:
            if row.free >= len(doc.ids):
                row.docs.append(doc)
                break
        else:
            rows.append(Row(length, [doc]))
    if not rows:
        empty = torch.empty(0, length, dtype=torch.int64)
        return {k: empty.clone() for k in ("input_ids", "labels", "position_ids", "document_ids")}
    return {
        "input_ids": torch.tensor([r.column([d.ids for d in r.docs], pad_id) for r in rows]),
        "labels": torch.tensor([r.column([d.labels for d in r.docs], -100) for r in rows]),
        "position_ids": torch.tensor([r.column([range(len(d.ids)) for d in r.docs], 0) for r in rows]),
        "document_ids": torch.tensor(
            [r.column([[k] * len(d.ids) for k, d in enumerate(r.docs)], -1) for r in rows]
        ),
    }


def document_mask(document_ids):
    T = document_ids.shape[-1]
    unique = torch.where(document_ids < 0, -1 - torch.arange(T, device=document_ids.device), document_ids)
    same = (unique.unsqueeze(2) - unique.unsqueeze(1)) == 0
    return torch.tril(same).unsqueeze(1)
