import torch


def encode_chat(turns, special):
    pairs = [(special["bos"], False)]
    for role, tokens in turns:
        try:
            pairs.append((special[role], False))
        except KeyError:
            raise ValueError(f"no such role: {role}") from None
        for token in tokens:
            pairs.append((token, role == "assistant"))
        pairs.append((special["eot"], role == "assistant"))
    return [p[0] for p in pairs], [p[1] for p in pairs]


def _check(examples):
    if len(examples) == 0:
        raise ValueError("no examples")
    for ids, mask in examples:
        if len(ids) == 0:
            raise ValueError("empty example")
        if len(ids) != len(mask):
            raise ValueError("ids and mask differ")


def collate(examples, pad_id, max_length=None):
    _check(examples)
    if max_length is not None and max_length < 1:
        raise ValueError("max_length")
    longest = max(len(ids) for ids, _ in examples)
    T = longest if max_length is None else min(longest, max_length)
    input_ids, labels, attention = [], [], []
    for ids, mask in examples:
        row, lab, att = [], [], []
        for t in range(T):
            if t < len(ids):
                row.append(ids[t])
                lab.append(ids[t] if mask[t] and t > 0 else -100)
                att.append(True)
            else:
                row.append(pad_id)
                lab.append(-100)
                att.append(False)
        input_ids.append(row)
        labels.append(lab)
        attention.append(att)
    return {
        "input_ids": torch.tensor(input_ids),
        "labels": torch.tensor(labels),
        "attention_mask": torch.tensor(attention),
    }


def causal_lm_loss(logits, labels):
    total, count = logits.float().sum() * 0.0, 0
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1] - 1):
            target = int(labels[b, t + 1])
            if target == -100:
                continue
            total = total - logits[b, t].float().log_softmax(-1)[target]
            count += 1
    return total / count if count else total


def pack(examples, length, pad_id):
    _check(examples)
    if length < 1:
        raise ValueError("length")
    rows = []
    for ids, mask in examples:
        ids, mask = ids[:length], mask[:length]
        if not any(mask[1:]):
            continue
        labels = [-100] + [i if m else -100 for i, m in list(zip(ids, mask))[1:]]
        for row in rows:
            if len(row["input_ids"]) + len(ids) <= length:
                break
        else:
            row = {"input_ids": [], "labels": [], "position_ids": [], "document_ids": []}
            rows.append(row)
        number = row["document_ids"][-1] + 1 if row["document_ids"] else 0
        row["input_ids"] += ids
        row["labels"] += labels
        row["position_ids"] += range(len(ids))
        row["document_ids"] += [number] * len(ids)
    fill = {"input_ids": pad_id, "labels": -100, "position_ids": 0, "document_ids": -1}
    out = {}
    for name, value in fill.items():
        table = [row[name] + [value] * (length - len(row[name])) for row in rows]
        out[name] = torch.tensor(table, dtype=torch.int64).reshape(len(rows), length)
    return out


def document_mask(document_ids):
    R, T = document_ids.shape
    out = torch.zeros(R, 1, T, T, dtype=torch.bool, device=document_ids.device)
    for r, row in enumerate(document_ids.tolist()):
        for i in range(T):
            out[r, 0, i, i] = True
            for j in range(i):
                out[r, 0, i, j] = row[i] == row[j] and row[i] != -1
    return out
