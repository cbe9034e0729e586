from itertools import chain

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


def encode_chat(turns, special):
    unknown = {role for role, _ in turns} - set(special)
    if unknown:
        raise ValueError(f"unknown roles {sorted(unknown)}")
    ids = [special["bos"], *chain.from_iterable((special[r], *t, special["eot"]) for r, t in turns)]
    mask = [False, *chain.from_iterable([False] + [r == "assistant"] * (len(t) + 1) for r, t in turns)]
    return ids, mask


def _tensors(examples, limit):
    if limit is not None and limit <= 0:
        raise ValueError(limit)
    if not examples or any(not ids or len(ids) != len(mask) for ids, mask in examples):
        raise ValueError("bad examples")
    ids = [torch.tensor(ids, dtype=torch.long)[:limit] for ids, _ in examples]
    masks = [torch.tensor(mask, dtype=torch.bool)[:limit] for _, mask in examples]
    labels = [torch.where(m, i, torch.tensor(-100)) for i, m in zip(ids, masks)]
    for label in labels:
        label[0] = -100
    return ids, labels


def collate(examples, pad_id: int, max_length: int | None = None) -> dict[str, Tensor]:
    ids, labels = _tensors(examples, max_length)
    lengths = torch.tensor([len(i) for i in ids])
    input_ids = pad_sequence(ids, batch_first=True, padding_value=pad_id)
    return dict(
        input_ids=input_ids,
        attention_mask=torch.arange(input_ids.size(1)) < lengths.unsqueeze(1),
        labels=pad_sequence(labels, batch_first=True, padding_value=-100),
    )


def causal_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    dtype = torch.promote_types(logits.dtype, torch.float32)
    target = labels[:, 1:].unsqueeze(-1)
    keep = target.ne(-100)
    source = logits[:, :-1].to(dtype)
    nll = source.logsumexp(-1, keepdim=True) - source.gather(-1, target.masked_fill(~keep, 0))
    return nll.masked_fill(~keep, 0).sum() / keep.sum().clamp_min(1)


def pack(examples, length: int, pad_id: int) -> dict[str, Tensor]:
    ids, labels = _tensors(examples, length)
    R = len(ids)
    out = {
        "input_ids": torch.full((R, length), pad_id, dtype=torch.long),
        "labels": torch.full((R, length), -100),
        "position_ids": torch.zeros(R, length, dtype=torch.long),
        "document_ids": torch.full((R, length), -1),
    }
    used = torch.zeros(R, dtype=torch.long)
    count = torch.zeros(R, dtype=torch.long)
    for i, label in zip(ids, labels):
        n = i.numel()
        if not (label != -100).any():
            continue
        r = int((used + n <= length).int().argmax())
        a = int(used[r])
        for name, value in (
            ("input_ids", i),
            ("labels", label),
            ("position_ids", torch.arange(n)),
            ("document_ids", count[r]),
        ):
            out[name][r, a : a + n] = value
        used[r] += n
        count[r] += 1
    return {name: value[count > 0] for name, value in out.items()}


def document_mask(document_ids: Tensor) -> Tensor:
    d = document_ids[:, None, :]
    T = d.size(-1)
    block = d.unsqueeze(-1).eq(d.unsqueeze(-2)) & d.ge(0).unsqueeze(-1)
    return block.tril() | torch.eye(T, dtype=torch.bool, device=d.device)
