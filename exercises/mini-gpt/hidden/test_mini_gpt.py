import math

import torch
import torch.nn.functional as F

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

LEAK = "The model reads the answer: this ends in a superb loss and bad samples."
COPY = "The loss is not shifted: the model learns to copy its input."
REFORMED = (
    "A reshape mixes tokens and heads: split d_model into (n_heads, head_dim), then swap two dimensions."
)
BLOCK_BUGS = {
    "no_scale": "The scale is missing: divide scores by sqrt(head_dim).",
    "scale_d": "Divide scores by sqrt(head_dim), not by sqrt(d_model).",
    "scale_linear": "Divide scores by sqrt(head_dim), not by head_dim.",
    "post_norm": "That is post-norm: the norm belongs in front of each branch, not after the addition.",
    "normed_stream": "The norm is on the residual stream: add to the raw x, not to ln(x).",
    "no_residual_attention": "A residual is missing: keep `x +` around the attention.",
    "no_residual_mlp": "A residual is missing: keep `x +` around the MLP.",
    "no_residuals": "Both residuals are missing: keep `x +`.",
    "softmax_queries": "The softmax runs over the queries: the weights of a query must sum to 1 over the keys.",
    "heads_reshaped": REFORMED,
    "merge_reshaped": REFORMED,
    "all_reshaped": REFORMED,
    "per_head_layout": "qkv holds all queries, then all keys, then all values, not one group for each head.",
    "strided_heads": "Heads are consecutive slices: features 0 to head_dim - 1 belong to the first one.",
    "proj_transposed": "A projection is transposed: `nn.Linear` computes x @ W.T.",
    "no_proj": "proj is missing: it mixes the heads before the residual.",
    "swap_qk": "Queries and keys are swapped: the first third of qkv are the queries.",
    "swap_kv": "Keys and values are swapped: qkv holds queries, then keys, then values.",
    "tanh": "This is the tanh approximation: use the exact (erf) GELU.",
    "relu": "The MLP uses ReLU: use the exact GELU.",
    "silu": "The MLP uses SiLU: use the exact GELU.",
    "gelu_out": "A GELU follows `out` too: only `fc` is followed by one.",
    "no_gelu": "The MLP has no nonlinearity between fc and out.",
    "no_mask": f"The causal mask is missing. {LEAK}",
    "next_seen": f"Position t also sees position t + 1. {LEAK}",
    "zero_mask": f"A score of 0 is not hidden, only -inf is. {LEAK}",
    "mask_after": "The mask is applied after the softmax: the weights no longer sum to 1.",
    "future_only": "The mask is upside down: position t sees the tokens after it. " + LEAK,
    "no_ln1": "ln1 is missing in front of the attention.",
    "no_ln2": "ln2 is missing in front of the MLP.",
    "one_norm": "The MLP has a norm of its own, ln2.",
    "swap_norms": "ln1 and ln2 are swapped.",
    "parallel": "The MLP sees the block's input: it should see the stream after the attention.",
    "twice": "The attention is added twice.",
}
MODEL_BUGS = {
    "no_positions": "The positions are missing: attention alone ignores order.",
    "positions_from_1": "Positions count from 0.",
    "reversed_positions": "Positions count from the first token on.",
    "one_position": "All tokens get the same position.",
    "no_final_norm": "The final norm is missing: a pre-norm stack ends with a norm.",
    "scaled_embedding": "The embedding is scaled by sqrt(d_model): the sum has no such factor.",
    "norm_first": "ln_f belongs behind the blocks.",
    "first_block": "Only the first block is used.",
    "last_block": "Only the last block is used.",
    "no_blocks": "The blocks are not used.",
    "same_block": "One block is used for all layers.",
    "reversed_blocks": "The blocks are applied in reverse order.",
    "probabilities": "These are probabilities; return logits.",
    "log_probabilities": "These are log-probabilities; return the raw logits.",
}
OWN = "follows from your logits, and those are wrong (behavior 3)."


def norm(w, name, x, eps):
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], eps)


def linear(w, name, x):
    return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])


def attention(w, x, heads, bug=""):
    batch, length, d = x.shape
    size = d // heads
    qkv = linear(w, "qkv", x)
    if bug == "per_head_layout":
        q, k, v = qkv.view(batch, length, heads, 3 * size).transpose(1, 2).chunk(3, dim=-1)
    else:
        q, k, v = qkv.chunk(3, dim=-1)
        if bug in ("heads_reshaped", "all_reshaped"):
            q, k, v = (part.reshape(batch, heads, length, size) for part in (q, k, v))
        elif bug == "strided_heads":
            q, k, v = (part.reshape(batch, length, size, heads).permute(0, 3, 1, 2) for part in (q, k, v))
        else:
            q, k, v = (part.reshape(batch, length, heads, size).transpose(1, 2) for part in (q, k, v))
    if bug == "swap_qk":
        q, k = k, q
    if bug == "swap_kv":
        k, v = v, k
    divisor = {"no_scale": 1.0, "scale_d": math.sqrt(d), "scale_linear": size}.get(bug, math.sqrt(size))
    scores = q @ k.transpose(-2, -1) / divisor
    future = torch.ones(length, length, dtype=torch.bool).triu(2 if bug == "next_seen" else 1)
    if bug == "future_only":
        future = torch.ones(length, length, dtype=torch.bool).tril(-1)
    if bug == "zero_mask":
        scores = scores.masked_fill(future, 0.0)
    elif bug not in ("no_mask", "mask_after"):
        scores = scores.masked_fill(future, -math.inf)
    weights = scores.softmax(-2 if bug == "softmax_queries" else -1)
    if bug == "mask_after":
        weights = weights.masked_fill(future, 0.0)
    mixed = weights @ v
    if bug in ("merge_reshaped", "all_reshaped"):
        return mixed.reshape(batch, length, d)
    if bug == "strided_heads":
        return mixed.permute(0, 2, 3, 1).reshape(batch, length, d)
    return mixed.transpose(1, 2).reshape(batch, length, d)


def attend(w, x, heads, bug=""):
    """The attention branch after the norm: attention and proj."""
    mixed = attention(w, x, heads, bug)
    if bug == "no_proj":
        return mixed
    if bug == "proj_transposed":
        return mixed @ w["proj.weight"] + w["proj.bias"]
    return linear(w, "proj", mixed)


def mlp(w, x, bug=""):
    inner = linear(w, "fc", x)
    if bug == "tanh":
        inner = F.gelu(inner, approximate="tanh")
    elif bug == "relu":
        inner = F.relu(inner)
    elif bug == "silu":
        inner = F.silu(inner)
    elif bug != "no_gelu":
        inner = F.gelu(inner)
    result = linear(w, "out", inner)
    return F.gelu(result) if bug == "gelu_out" else result


def run_block(w, x, heads, eps, bug=""):
    """A block in float64. ``bug`` names a typical mistake."""
    if bug == "post_norm":
        x = norm(w, "ln1", x + attend(w, x, heads), eps[0])
        return norm(w, "ln2", x + mlp(w, x), eps[1])
    names = ("ln2", "ln1") if bug == "swap_norms" else ("ln1", "ln1" if bug == "one_norm" else "ln2")
    first = x if bug == "no_ln1" else norm(w, names[0], x, eps[0])
    added = attend(w, first, heads, bug)
    if bug == "normed_stream":
        x = first
    middle = added if bug in ("no_residual_attention", "no_residuals") else x + added
    if bug == "twice":
        middle = middle + added
    source = x if bug == "parallel" else middle
    second = source if bug == "no_ln2" else norm(w, names[1], source, eps[1])
    if bug == "normed_stream":
        middle = second
    added = mlp(w, second, bug)
    return added if bug in ("no_residual_mlp", "no_residuals") else middle + added


def double(weights):
    return {name: value.double() for name, value in weights.items()}


def layer(weights, i):
    start = f"blocks.{i}."
    return {name.removeprefix(start): value for name, value in weights.items() if name.startswith(start)}


def run_model(weights, sizes, tokens, eps, bug=""):
    """The logits in float64 from weights in float64. ``bug`` names a typical mistake of model or block."""
    _, max_len, d, heads, layers = sizes
    positions = torch.arange(tokens.shape[1])
    if bug == "positions_from_1":
        positions = (positions + 1) % max_len
    elif bug == "reversed_positions":
        positions = positions.flip(0)
    elif bug == "one_position":
        positions = positions * 0
    x = weights["tok_emb.weight"][tokens]
    if bug == "scaled_embedding":
        x = x * math.sqrt(d)
    if bug != "no_positions":
        x = x + weights["pos_emb.weight"][positions]

    def last_norm(x):
        return F.layer_norm(x, (d,), weights["ln_f.weight"], weights["ln_f.bias"], eps["last"])

    if bug == "norm_first":
        x = last_norm(x)
    order = {
        "first_block": [0],
        "last_block": [layers - 1],
        "no_blocks": [],
        "same_block": [0] * layers,
        "reversed_blocks": list(range(layers))[::-1],
    }.get(bug, range(layers))
    for i in order:
        x = run_block(layer(weights, i), x, heads, eps["blocks"][i], bug if bug in BLOCK_BUGS else "")
    if bug not in ("no_final_norm", "norm_first"):
        x = last_norm(x)
    logits = x @ weights.get("head.weight", weights["tok_emb.weight"]).T
    if bug == "probabilities":
        return logits.softmax(-1)
    if bug == "log_probabilities":
        return logits.log_softmax(-1)
    return logits


def ordinary(eps):
    """The recorded eps, which a submission may choose as long as it is an ordinary one."""
    flat = [*eps["blocks"], [eps["last"]]] if isinstance(eps, dict) else [eps]
    for row in flat:
        for value in row:
            expect(0 < value <= 1e-4, "Use LayerNorm with its usual eps.", f"eps = {value}")
    return eps


def shape_of(x):
    return tuple(x.shape)


def block_call(case, x):
    return f"Block({shape_of(x)[-1]}, {case['heads']}) on x of shape {shape_of(x)}"


def model_call(case):
    return f"MiniGPT({', '.join(map(str, case['sizes']))})"


def block_mistakes(w, x, heads, eps):
    for bug, sentence in BLOCK_BUGS.items():
        yield sentence, run_block(w, x, heads, eps, bug)


@behaviour(1)
def test_block_follows_the_formula(observe):
    for i, case in enumerate(observe.given["blocks"]):
        eps = ordinary(observe[f"block/{i}/eps"])
        w, x = double(case["weights"]), case["x"].double()
        for mode in ("train", "eval"):
            close(
                observe[f"block/{i}/{mode}/out"],
                run_block(w, x, case["heads"], eps),
                "The block is not x + proj(attention(ln1(x))), then x + out(gelu(fc(ln2(x)))).",
                rtol=0.0,
                atol=1e-5,
                device=observe.device,
                call=f"{block_call(case, x)} in {mode} mode",
                mistakes=block_mistakes(w, x, case["heads"], eps),
            )


@behaviour(1)
def test_parameters_of_a_block(observe):
    d = len(observe.given["blocks"][0]["weights"]["ln1.weight"])
    got = observe["block_shapes/shapes"]
    expect(
        got == block_shapes(d),
        "A block holds ln1, qkv, proj, ln2, fc and out, each with its bias, and nothing else.",
        f"parameters of shapes {got} for d_model = {d}",
    )


def block_shapes(d):
    shapes = [[d]] * 4 + [[3 * d, d], [3 * d], [d, d], [d], [4 * d, d], [4 * d], [d, 4 * d], [d]]
    return sorted(list(shape) for shape in shapes)


def leaked(out, changed, s):
    return (changed - out)[:, :s].double().abs().max().item()


def leak_sentence(case, x, changed, s, eps, heads, weights):
    """The name of the leak, if a typical one gives what was seen."""
    for bug in ("no_mask", "zero_mask", "next_seen", "future_only", "softmax_queries", "all_reshaped"):
        wrong = run_block(weights, x, heads, eps, bug)
        if wrong.shape == changed.shape and torch.allclose(wrong, changed.double(), rtol=0, atol=1e-4):
            return BLOCK_BUGS[bug]
    return f"Changing position {s} changes outputs before it. {LEAK}"


@behaviour(2)
def test_block_is_causal(observe):
    for i, case in enumerate(observe.given["blocks"]):
        eps = observe[f"block/{i}/eps"]
        for mode in ("train", "eval"):
            for s in case["positions"]:
                x = case["x"].clone()
                x[:, s] = case["other"][:, s]
                check_causal(observe, f"block/{i}/{mode}", case, x, s, eps)


def check_causal(observe, path, case, x, s, eps):
    out, changed = observe.tensor(f"{path}/out"), observe.tensor(f"{path}/changed{s}/out")
    call = f"{block_call(case, x)}, position {s} changed, in {path.rpartition('/')[2]} mode"
    expect(
        shape_of(out) == shape_of(changed) == shape_of(x),
        "A block keeps the shape of x.",
        f"{call}: {describe(changed)}",
    )
    expect(
        bool(out.isfinite().all()),
        "The outputs are not finite: a position always sees itself, so no row is hidden as a whole.",
        call,
    )
    size = leaked(out, changed, s)
    if not size <= 1e-6:
        says = leak_sentence(case, x.double(), changed, s, eps, case["heads"], double(case["weights"]))
        expect(False, says, f"{call}: an output before it moved by {size:.2g}")


def model_mistakes(weights, sizes, tokens, eps):
    for bug, sentence in {**MODEL_BUGS, **BLOCK_BUGS}.items():
        yield sentence, run_model(weights, sizes, tokens, eps, bug)


@behaviour(3, on_error="Any length from 1 to max_len is valid.")
def test_logits_follow_the_formula(observe):
    for i, case in enumerate(observe.given["models"]):
        eps, weights = ordinary(observe[f"model/{i}/eps"]), double(case["weights"])
        for k, tokens in enumerate(case["tokens"]):
            close(
                observe[f"model/{i}/{k}/out"],
                run_model(weights, case["sizes"], tokens, eps),
                "The logits are not head(ln_f(blocks(tok_emb(tokens) + pos_emb(positions)))).",
                rtol=0.0,
                atol=1e-4,
                device=observe.device,
                call=f"{model_call(case)} on tokens of shape {shape_of(tokens)}",
                mistakes=model_mistakes(weights, case["sizes"], tokens, eps),
            )


@behaviour(3, on_error="Any length from 1 to max_len is valid, however long max_len is.")
def test_long_context(observe):
    case = observe.given["context"]
    close(
        observe["context/out"],
        run_model(double(case["weights"]), case["sizes"], case["tokens"], ordinary(observe["context/eps"])),
        "The logits are not head(ln_f(blocks(tok_emb(tokens) + pos_emb(positions)))).",
        rtol=0.0,
        atol=1e-4,
        device=observe.device,
        call=f"{model_call(case)} on tokens of shape {shape_of(case['tokens'])}",
    )


@behaviour(3)
def test_model_is_causal(observe):
    for i, case in enumerate(observe.given["models"]):
        out = observe.tensor(f"model/{i}/0/out")
        for s in range(1, case["sizes"][1]):
            changed = observe.tensor(f"model/{i}/changed{s}/out")
            expect(shape_of(out) == shape_of(changed), "The logits have the shape (B, T, vocab_size).")
            expect(
                leaked(out, changed, s) <= 1e-6,
                f"Changing token {s} changes logits before it. {LEAK}",
                model_call(case),
            )


@behaviour(4)
def test_head_is_tied(observe):
    for i, case in enumerate(observe.given["models"]):
        embedding = case["weights"]["tok_emb.weight"]
        start = observe[f"tied/{i}/start"]
        filled = alike(observe.tensor(f"tied/{i}/head"), embedding)
        says = "head.weight is another tensor than tok_emb.weight: make them one parameter."
        if len(start) == 2 and alike(*start) and not filled:
            says = "The head is a copy of the embedding: the copies drift apart at the first step."
        expect(filled, says, model_call(case))
        expect(
            observe[f"tied/{i}/same"] is True,
            "head.weight should be the same parameter as tok_emb.weight, not another view of its values.",
        )


@behaviour(4)
def test_parameters_of_the_model(observe):
    for i, case in enumerate(observe.given["models"]):
        vocab, max_len, d, _, layers = case["sizes"]
        want = sorted([[vocab, d], [max_len, d], [d], [d], *block_shapes(d) * layers])
        got = observe[f"tied/{i}/shapes"]
        extra, missing = list(got), []
        for shape in want:
            if shape in extra:
                extra.remove(shape)
            else:
                missing.append(shape)
        says = "The model holds tok_emb, pos_emb, blocks, ln_f and the tied head, and no other parameters."
        if extra == [[vocab, d]] and not missing:
            says = "The head has a weight of its own: it should be that of tok_emb."
        elif extra == [[vocab]] and not missing:
            says = "The head has a bias: it has none here."
        expect(got == want, says, f"{model_call(case)}: too many {extra}, missing {missing}")


def spread(start):
    """The standard deviation of the fresh embedding of about 150 numbers."""
    known = isinstance(start, list) and start and isinstance(start[0], torch.Tensor) and start[0].numel() > 1
    return start[0].double().std().item() if known else 0.0


@behaviour(5)
def test_fresh_model_is_uniform(observe):
    for i, case in enumerate(observe.given["fresh"]):
        vocab = case["sizes"][0]
        loss, want = observe[f"fresh/{i}/loss"], math.log(vocab)
        got = float(loss) if isinstance(loss, float) or getattr(loss, "numel", lambda: 0)() == 1 else None
        expect(got is not None, "The loss should be a scalar tensor.", f"got {describe(loss)}")
        says = "A fresh model is not uniform: its loss on random tokens should be near ln(vocab_size)."
        if got > want + 1:
            says = (
                "The fresh model's loss is far above ln V, so it starts confident and wrong. "
                "Initialize the tied embedding smaller."
            )
            if 0.75 < spread(observe["tied/0/start"]) < 1.25:
                says += " Yours is N(0, 1), and tied weights of that size start far above ln V."
        elif got < want - 1:
            says = "The fresh model's loss is far below ln V although the tokens are random: it is too good."
        # The tokens are a sample, which moves the mean a little.
        detail = f"{model_call(case)}: loss {got:.3f}, ln {vocab} = {want:.3f}"
        expect(abs(got - want) <= 0.2 + 0.05, says, detail)


def cross_entropy(logits, labels):
    """Mean over the labels that are not -100."""
    keep = labels != -100
    picked = logits.log_softmax(-1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return -(picked * keep).sum() / keep.sum()


def loss_mistakes(logits, tokens, labels):
    keep = labels[:, 1:] != -100
    clean = torch.where(labels == -100, 0, labels)
    nll = -logits[:, :-1].log_softmax(-1).gather(-1, clean[:, 1:].unsqueeze(-1)).squeeze(-1)
    yield COPY, cross_entropy(logits, labels)
    yield (
        "The loss is shifted twice: you predict the token after next.",
        cross_entropy(logits[:, :-2], labels[:, 2:]),
    )
    yield (
        "The shift goes the wrong way: the logits at t predict the label at t + 1.",
        cross_entropy(logits[:, 1:], labels[:, :-1]),
    )
    yield (
        "The ignored labels count in the average: divide by the labels that count.",
        (nll * keep).sum() / keep.numel(),
    )
    yield (
        "The ignored labels count in the average: divide by the labels that count.",
        (nll * keep).sum() / labels.numel(),
    )
    yield (
        "The average should run over all labels of the batch, not over the means of the samples.",
        ((nll * keep).sum(1)[keep.any(1)] / keep.sum(1)[keep.any(1)]).mean(),
    )
    yield (
        "The average should run over all labels of the batch, not over the means of the samples.",
        ((nll * keep).sum(1) / keep.sum(1).clamp(min=1)).mean(),
    )
    yield "The loss is a sum: divide by the number of labels that count.", (nll * keep).sum()
    yield (
        "The loss is summed over positions: divide by the number of labels that count.",
        (nll * keep).sum() / len(nll),
    )
    yield "The labels are not used.", cross_entropy(logits[:, :-1], tokens[:, 1:])
    yield "A label of -100 does not count, yet yours is taken for a token.", nll.mean()
    yield (
        "cross_entropy takes logits: a softmax was applied before it.",
        cross_entropy(logits[:, :-1].softmax(-1), labels[:, 1:]),
    )
    if bool((keep & (labels[:, 1:] == 0)).any()):
        nonzero = keep & (labels[:, 1:] != 0)
        yield (
            "Token 0 is a token like any other; only -100 does not count.",
            (nll * nonzero).sum() / nonzero.sum(),
        )
    last = torch.zeros_like(keep)
    last[:, -1] = True
    if bool((last & keep).any()):
        yield (
            "Every position counts, not the last one alone.",
            (nll * (last & keep)).sum() / (last & keep).sum(),
        )


def check_loss(observe, step, i, tokens, labels, says):
    case = observe.given["models"][i]
    weights, eps = double(case["weights"]), ordinary(observe[f"loss/{i}/eps"])
    logits = run_model(weights, case["sizes"], tokens, eps)
    path = f"loss/{i}/own/logits"
    own = observe[path] if path in observe else None

    def mistakes():
        whole = observe.given["losses"][i]["tokens"]
        if (
            isinstance(own, torch.Tensor)
            and own.shape[:2] == whole.shape
            and own.dim() == 3
            and own.shape
            == (
                *whole.shape,
                case["sizes"][0],
            )
        ):
            mine = own.double()[:, : tokens.shape[1]]
            yield f"The loss {OWN}", cross_entropy(mine[:, :-1], labels[:, 1:])
            yield from loss_mistakes(mine, tokens, labels)
        yield from loss_mistakes(logits, tokens, labels)

    close(
        observe[f"loss/{i}/{step}/out"],
        cross_entropy(logits[:, :-1], labels[:, 1:]),
        says,
        rtol=0.0,
        atol=1e-5,
        device=observe.device,
        call=f"{model_call(case)}.loss on tokens of shape {shape_of(tokens)}",
        mistakes=mistakes(),
    )


@behaviour(6)
def test_loss_predicts_the_next_token(observe):
    says = "The loss is not the mean cross-entropy of the logits at t against the token at t + 1."
    for i, case in enumerate(observe.given["losses"]):
        check_loss(observe, "default", i, case["tokens"], case["tokens"], says)
        check_loss(observe, "two", i, case["tokens"][:, :2], case["tokens"][:, :2], says)


@behaviour(6)
def test_labels_are_unshifted(observe):
    says = "The loss is not the mean cross-entropy of the logits at t against labels[:, t + 1]."
    for i, case in enumerate(observe.given["losses"]):
        check_loss(observe, "labels", i, case["tokens"], case["dense"], says)


@behaviour(6, on_error="Labels of -100 should be ignored.")
def test_ignored_labels(observe):
    says = "The loss is not the mean over the labels that are not -100."
    for i, case in enumerate(observe.given["losses"]):
        for step in ("ignored", "keyword"):
            check_loss(observe, step, i, case["tokens"], case["labels"], says)


def stepped(case, eps, batches, bug=""):
    """Losses and parameters of SGD steps in float64, after each batch."""
    weights = {name: p.double().requires_grad_() for name, p in case["weights"].items()}
    if bug == "untied":
        weights["head.weight"] = weights["tok_emb.weight"].detach().clone().requires_grad_()
    losses, after, grads = [], [], None
    for tokens in batches:
        logits = run_model(weights, case["sizes"], tokens, eps)
        loss = cross_entropy(logits[:, :-1], tokens[:, 1:])
        new = torch.autograd.grad(loss, list(weights.values()))
        if bug == "stale":
            first = [case["stale"].get(name, torch.zeros(())).double() for name in weights]
            new = [a + b for a, b in zip(new, first, strict=True)]
        if bug == "accumulated" and grads is not None:
            new = [a + b for a, b in zip(new, grads, strict=True)]
        if bug == "clipped":
            length = torch.sqrt(sum(g.square().sum() for g in new))
            new = [g / length.clamp(min=1) for g in new]
        grads = new
        with torch.no_grad():
            for p, g in zip(weights.values(), new, strict=True):
                if bug != "unchanged":
                    p -= case["lr"] * g * {"twice": 2, "ascent": -1}.get(bug, 1)
        losses.append(loss.detach())
        after.append({name: p.detach().clone() for name, p in weights.items()})
    return losses, after


STEP_BUGS = {
    "unchanged": "train_step changes no parameter: call backward, then optimizer.step().",
    "untied": "The head got its own gradient: tied weights receive the sum of both.",
    "twice": "train_step does two updates, or one of twice the size.",
    "ascent": "train_step climbs: the loss goes up.",
    "clipped": "The gradient was clipped: use it as it is.",
}


def check_parameters(observe, path, want, wrong, own=None):
    got = observe[path]
    keys = [name for name in want if name != "head.weight"]
    expect(
        isinstance(got, dict) and all(isinstance(got.get(name), torch.Tensor) for name in keys),
        "The model's parameters could not be read after a step.",
    )

    def alike_all(other):
        return all(
            got[name].shape == other[name].shape
            and torch.allclose(got[name].double(), other[name].double(), rtol=1e-4, atol=1e-6)
            for name in keys
        )

    if alike_all(want):
        return
    says = "The parameters after one step are not those of one update with the gradient of the loss."
    for sentence, other in wrong():
        if alike_all(other):
            says = sentence
            break
    else:
        if (
            isinstance(own, dict)
            and all(isinstance(own.get(n), torch.Tensor) for n in keys)
            and alike_all(own)
        ):
            says = (
                "train_step follows the gradient of your own loss, which is not that of the described model: "
                "forward or loss is wrong, or cuts the graph."
            )
    for name in keys:
        close(
            got[name], want[name], f"{says} Parameter: {name}.", rtol=1e-4, atol=1e-6, device=observe.device
        )


@behaviour(7)
def test_one_update(observe):
    case = observe.given["step"]
    eps = ordinary(observe["step/eps"])
    _, after = stepped(case, eps, case["batches"])
    own = observe["step/own/parameters"] if "step/own/parameters" in observe else None

    def wrong(i):
        def values():
            for bug, sentence in STEP_BUGS.items():
                yield sentence, stepped(case, eps, case["batches"], bug)[1][i]
            if i:
                yield (
                    "zero_grad is missing: old gradients add up.",
                    stepped(case, eps, case["batches"], "accumulated")[1][i],
                )

        return values

    for i in range(len(case["batches"])):
        check_parameters(observe, f"step/{i}/parameters", after[i], wrong(i), own)


@behaviour(7)
def test_old_gradients_are_cleared(observe):
    case = observe.given["step"]
    eps = ordinary(observe["step/eps"])
    batch = case["batches"][:1]
    own = observe["step/own/parameters"] if "step/own/parameters" in observe else None

    def wrong():
        yield "zero_grad is missing: old gradients add up.", stepped(case, eps, batch, "stale")[1][0]
        for bug, sentence in STEP_BUGS.items():
            yield sentence, stepped(case, eps, batch, bug)[1][0]

    check_parameters(observe, "step/stale/parameters", stepped(case, eps, batch)[1][0], wrong, own)


@behaviour(7)
def test_returned_loss(observe):
    case = observe.given["step"]
    eps = ordinary(observe["step/eps"])
    losses, after = stepped(case, eps, case["batches"][:1])
    first = observe["step/0/parameters"]
    reached = {name: value.double() for name, value in first.items()}
    expect(
        all(name in reached and reached[name].shape == value.shape for name, value in after[0].items()),
        "The model's parameters could not be read after a step.",
    )
    logits = run_model(reached, case["sizes"], case["batches"][1], eps)
    losses.append(cross_entropy(logits[:, :-1], case["batches"][1][:, 1:]))
    for i, tokens in enumerate(case["batches"]):
        got = observe[f"step/{i}/loss"]
        expect(
            isinstance(got, float) and not isinstance(got, bool),
            "train_step should return the loss as a Python float.",
            f"got {describe(got)}; a tensor keeps the graph alive",
        )
        mistakes = []
        if i == 0:
            later = run_model(after[0], case["sizes"], tokens, eps)
            sentence = "This is the loss after the update: return the one before it."
            mistakes.append((sentence, cross_entropy(later[:, :-1], tokens[:, 1:])))
        if i == 0 and "step/own/loss" in observe and isinstance(observe["step/own/loss"], torch.Tensor):
            mistakes.append(
                (
                    "The returned loss is that of model.loss, which is wrong (behaviors 3 and 6).",
                    observe["step/own/loss"].flatten()[:1].sum(),
                )
            )
        close(
            got,
            losses[i],
            "train_step does not return the loss of this batch before the update.",
            rtol=1e-4,
            atol=1e-5,
            device=observe.device,
            call=f"train_step on tokens of shape {shape_of(tokens)}",
            mistakes=mistakes,
        )


@behaviour(7)
def test_step_runs_in_train_mode(observe):
    losses = observe["step_mode/losses"]
    expect(isinstance(losses, list) and all(isinstance(v, float) for v in losses), "Return a Python float.")
    own = observe["step_mode/own"]
    if isinstance(own, list) and len(own) == 2 and alike(*own):
        says = "Whether train_step trains with dropout cannot be told: the model drops nothing in train mode."
        expect(len(set(losses)) > 1, says)
    expect(
        len(set(losses)) > 1,
        "train_step does not put the model in train mode: the model was in eval mode and trained without dropout.",
        f"losses of four steps with rate 0 and dropout 0.4: {[round(v, 4) for v in losses]}",
    )


@behaviour(8)
def test_overfits_one_sequence(observe):
    case = observe.given["overfit"]
    losses = observe["overfit/losses"]
    raw = observe["overfit/parameters"]
    eps = ordinary(observe["overfit/eps"])
    wanted = {"tok_emb.weight", "pos_emb.weight", "head.weight", "ln_f.weight", "ln_f.bias"}
    for name in ("ln1", "qkv", "proj", "ln2", "fc", "out"):
        wanted |= {f"blocks.{i}.{name}.{kind}" for i in range(2) for kind in ("weight", "bias")}
    expect(isinstance(raw, dict) and wanted <= raw.keys(), "The model's parameters could not be read.")
    weights = double(raw)
    tokens = case["tokens"]
    logits = run_model(weights, case["sizes"], tokens, eps)
    got = cross_entropy(logits[:, :-1], tokens[:, 1:]).item()
    said = losses[-1] if isinstance(losses[-1], float) else math.nan
    says = "100 steps on one sequence did not bring the loss below 0.1."
    if said < 0.1 or said < got / 2:
        says = (
            "Training looks fine, but the described model with the trained weights has a high loss: "
            "yours optimizes something else."
        )
    elif abs(got - math.log(16)) < 0.3:
        says = "After 100 steps on one sequence the loss is still near ln V: nothing is learned."
    expect(
        got < 0.1, says, f"loss {got:.3g} after 100 steps on 12 tokens, your last step returned {said:.3g}"
    )


DROPPED = "Dropout acts elsewhere than on the outputs of proj and out."


def check_branch(observe, path, x, branch, p, name, where):
    """``branch`` is what this branch adds without dropout; the other branch adds nothing."""
    call = f"{where}, dropout={p:.2f}, with only {name} adding something"
    masks = []
    for step in ("train", "again"):
        out = observe.tensor(f"{path}/{name}/{step}")
        expect(shape_of(out) == shape_of(x), "A block keeps the shape of x.", call)
        added = out.double() - x
        scaled = branch / (1 - p)
        zero, kept = added.abs() <= 1e-4, (added - scaled).abs() <= 1e-4
        if not bool((zero | kept).all()):
            streams = [(x + branch) / (1 - p) ** k for k in (1, 2)]
            if torch.allclose(added, branch, atol=1e-4, rtol=0):
                expect(False, f"In train mode the output of {name} is not dropped.", call)
            if bool((zero | ((added - branch).abs() <= 1e-4)).all()):
                expect(False, "The kept values are not scaled by 1 / (1 - p).", call)
            if bool((zero | ((added - branch / p).abs() <= 1e-4)).all()):
                expect(False, "p is the probability to drop: scale by 1 / (1 - p).", call)
            if any(
                bool(((out.double().abs() <= 1e-4) | ((out.double() - y).abs() <= 1e-4)).all())
                for y in streams
            ):
                expect(False, "Dropout is on the residual stream: the stream decays with depth.", call)
            still = observe[f"{path}/{name}/eval"] if f"{path}/{name}/eval" in observe else None
            if isinstance(still, torch.Tensor) and not (
                still.shape == x.shape and torch.allclose(still.double() - x, branch, atol=1e-4, rtol=0)
            ):
                expect(False, "What is dropped cannot be told: the block is wrong in eval mode too.", call)
            large = ~zero & (branch.abs() > 0.05)
            ratio = added[large] / branch[large]
            if ratio.numel() and ratio.max() - ratio.min() < 0.01:
                says = "The kept values have another scale than 1 / (1 - p): is this the p that was given?"
                expect(False, says, f"{call}: {name} is scaled by {ratio.mean():.3f}, not {1 / (1 - p):.3f}")
            expect(False, DROPPED, call)
        clear = scaled.abs() > 1e-3
        mask, seen = ((zero & clear).reshape(-1, x.shape[-1]), clear.reshape(-1, x.shape[-1]))
        alone = "Dropout should choose each number of each token by itself."
        for dim in (0, 1):  # one choice for all tokens, or one for all features of a token
            count = mask.sum(dim)
            together = bool(((count == 0) | (count == seen.sum(dim))).all())
            expect(not together or not 0 < mask.sum() < seen.sum(), alone, call)
        dropped = (zero & clear).sum().item() / clear.sum().item()
        expect(
            abs(dropped - p) < 6 * math.sqrt(p * (1 - p) / clear.sum().item()),
            f"The fraction of dropped values of {name} is not p.",
            f"{call}: {dropped:.3f} dropped",
        )
        rows = mask.double().mean(1)
        expect(
            bool(((rows > 0) & (rows < 1)).double().mean() > 0.5) and bool((mask != mask[0]).any()),
            alone,
            call,
        )
        masks.append(mask)
    expect(
        not torch.equal(*masks),
        "Two calls in train mode dropped the same values: draw a new mask in each call.",
        call,
    )


@behaviour(9)
def test_dropout_of_a_block(observe):
    case = observe.given["drop"]
    eps = ordinary(observe["dropout/block/eps"])
    w, x = double(case["weights"]), case["x"].double()
    branches = {
        "proj": attend(w, norm(w, "ln1", x, eps[0]), case["heads"]),
        "out": mlp(w, norm(w, "ln2", x, eps[1])),
    }
    for name, branch in branches.items():
        check_branch(
            observe, "dropout/block", x, branch, case["p"], name, f"Block({x.shape[-1]}, {case['heads']})"
        )


@behaviour(9)
def test_dropout_of_the_model(observe):
    case = observe.given["drop"]
    model = case["model"]
    eps = ordinary(observe["dropout/model/eps"])
    x = case["x"].double()
    for i in range(model["sizes"][4]):
        w = double(layer(model["weights"], i))
        a, b = eps["blocks"][i]
        branches = {
            "proj": attend(w, norm(w, "ln1", x, a), model["sizes"][3]),
            "out": mlp(w, norm(w, "ln2", x, b)),
        }
        for name, branch in branches.items():
            check_branch(
                observe, f"dropout/model/{i}", x, branch, case["p"], name, f"block {i} of {model_call(model)}"
            )


@behaviour(9)
def test_nothing_else_is_dropped(observe):
    case = observe.given["drop"]
    model = case["model"]
    eps = ordinary(observe["dropout/model/eps"])
    says = (
        "With blocks that add nothing the logits are random in train mode: only proj and out are dropped, "
        "not the embeddings, the stream or the final norm."
    )
    silent, again = observe["dropout/model/silent"], observe["dropout/model/silent_again"]
    if alike(silent, again):
        says = "With blocks that add nothing the logits in train mode are not head(ln_f(embeddings))."
    close(
        silent,
        run_model(double(model["weights"]), model["sizes"], case["tokens"], eps, "no_blocks"),
        says,
        rtol=0.0,
        atol=1e-4,
        device=observe.device,
        call=f"{model_call(model)} in train mode, proj and out of all blocks at zero",
    )


def eval_sentence(out, x, branch, p):
    added = out.double() - x
    zero, scaled = added.abs() <= 1e-4, (added - branch / (1 - p)).abs() <= 1e-4
    if bool((zero | scaled).all()):
        return "Dropout acts in eval mode too: evaluation is random."
    if torch.allclose(added, branch * (1 - p), rtol=0, atol=1e-4):
        return "In eval mode nothing is scaled: 1 / (1 - p) belongs to train mode."
    return "In eval mode the block's output is not the formula without dropout."


@behaviour(9)
def test_eval_mode(observe):
    case = observe.given["drop"]
    eps = ordinary(observe["dropout/block/eps"])
    w, x = double(case["weights"]), case["x"].double()
    branches = {
        "proj": attend(w, norm(w, "ln1", x, eps[0]), case["heads"]),
        "out": mlp(w, norm(w, "ln2", x, eps[1])),
    }
    call = f"Block({x.shape[-1]}, {case['heads']}, dropout={case['p']:.2f}) in eval mode"
    for name, branch in branches.items():
        out = observe.tensor(f"dropout/block/{name}/eval")
        says = (
            eval_sentence(out, x, branch, case["p"]) if out.shape == x.shape else "A block keeps its shape."
        )
        close(out, x + branch, says, rtol=0.0, atol=2e-5, device=observe.device, call=call)


def check_tokens(got, prompt, n_new, call):
    """Shape and type of what generate gave, and that it starts with the prompt."""
    batch, length = prompt.shape
    new = "generate returns only the new tokens: append them to the prompt."
    expect(isinstance(got, torch.Tensor), "generate should return a tensor of tokens.", describe(got))
    says = (
        new
        if shape_of(got) == (batch, n_new) and n_new
        else "generate returns tokens of shape (B, T + n_new)."
    )
    expect(shape_of(got) == (batch, length + n_new), says, f"{call}: got {describe(got)}")
    expect(not got.is_floating_point(), "Tokens are integers.", describe(got))
    expect(
        bool((got[:, :length] == prompt).all()),
        "The result does not begin with the prompt: it is all of the prompt, then the new tokens.",
        call,
    )


def step_logits(weights, case, seen, eps, bug=""):
    """The logits of the last position for the tokens ``seen`` so far."""
    max_len = case["sizes"][1]
    if bug == "first_tokens":
        context = seen[:, :max_len]
    elif bug == "one_less":
        context = seen if seen.shape[1] <= max_len else seen[:, -(max_len - 1) :]
    elif bug == "always_one_less":
        context = seen[:, -(max_len - 1) :]
    elif bug == "chunks":
        context = seen[:, (seen.shape[1] - 1) // max_len * max_len :]
    elif bug == "only_last":
        context = seen[:, -1:]
    elif bug == "prompt_only":
        context = case["tokens"][:, -max_len:]
    elif bug == "wrapped_positions":
        context = seen[:, -max_len:]
        shift = max(seen.shape[1] - max_len, 0)
        rolled = {**weights, "pos_emb.weight": weights["pos_emb.weight"].roll(-shift, 0)}
        return run_model(rolled, case["sizes"], context, eps)[:, -1]
    elif bug == "clamped_positions":
        context = seen[:, -max_len:]
        late = [min(i, max_len - 1) for i in range(seen.shape[1])][-max_len:]
        clamped = {**weights, "pos_emb.weight": weights["pos_emb.weight"][late]}
        return run_model(clamped, case["sizes"], context, eps)[:, -1]
    else:
        context = seen[:, -max_len:]
    logits = run_model(weights, case["sizes"], context, eps, bug if bug in BLOCK_BUGS else "")
    if bug == "first_position":
        return logits[:, 0]
    if bug == "before_last":
        return logits[:, max(-2, -logits.shape[1])]
    if bug == "least_likely":
        return -logits[:, -1]
    if bug == "first_sample":
        return logits[:1, -1].expand(len(logits), -1)
    if bug == "summed":
        return logits[:, -1].sum(0, keepdim=True).expand(len(logits), -1)
    return logits[:, -1]


GREEDY_BUGS = {
    "only_last": "Only the newest token is fed: the model forgets the prompt.",
    "first_position": "The next token comes from the first position: take the logits of the last one.",
    "before_last": "The next token comes from the last but one position: the samples repeat the prompt.",
    "least_likely": "This is the least likely token.",
    "first_sample": "All samples get the token of the first one: take the argmax for each sample.",
    "summed": "All samples get one common token: take the argmax for each sample.",
    "prompt_only": "Only the prompt is fed each time: feed the new tokens too, or they repeat.",
}
WINDOW_BUGS = {
    "first_tokens": "The first tokens are kept: the newest tokens are the context.",
    "one_less": "Fewer than max_len tokens are fed: the context holds the last max_len.",
    "always_one_less": "Fewer than max_len tokens are fed: the context holds the last max_len.",
    "chunks": "The context starts afresh at max_len: feed the last max_len tokens each time.",
    "wrapped_positions": "Positions go on beyond the window: they start at 0 for the oldest token that is fed.",
    "clamped_positions": "Positions are clamped at the end: they start at 0 for the oldest token that is fed.",
    **GREEDY_BUGS,
}


def follows(weights, case, got, eps, bug=""):
    """The first place where a token is not the most likely one, as (sample, position), or None."""
    length = case["tokens"].shape[1]
    vocab = case["sizes"][0]
    for position in range(length, got.shape[1]):
        logits = step_logits(weights, case, got[:, :position], eps, bug)
        chosen = got[:, position]
        if bool(((chosen < 0) | (chosen >= vocab)).any()):
            return 0, position
        # A tie within rounding may be broken either way.
        short = logits.amax(-1) - logits.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
        if bool((short > 1e-3).any()):
            return int(short.argmax()), position
    return None


def check_greedy(observe, path, case, eps, bugs, says, n_new, own=None, own_says=f"What is generated {OWN}"):
    weights, prompt = double(case["weights"]), case["tokens"]
    call = f"{model_call(case)}.generate on {shape_of(prompt)} tokens, n_new={n_new}"
    got = observe[path]
    check_tokens(got, prompt, n_new, call)
    got = got.long()
    place = follows(weights, case, got, eps)
    if place is None:
        return
    if isinstance(own, torch.Tensor) and own.shape == got.shape and torch.equal(own.long(), got):
        says = own_says
    else:
        for bug, sentence in bugs.items():
            if follows(weights, case, got, eps, bug) is None:
                says = sentence
                break
    sample, position = place
    best = step_logits(weights, case, got[:, :position], eps)[sample].argmax().item()
    expect(
        False,
        says,
        f"{call}: token {position} of sample {sample} is {got[sample, position].item()}, expected {best}",
    )


@behaviour(10)
def test_greedy_tokens(observe):
    says = "A generated token is not the argmax of the logits at the last position."
    for i, case in enumerate(observe.given["generate"]):
        eps = ordinary(observe[f"generate/{i}/eps"])
        own = observe[f"generate/{i}/own"]
        check_greedy(observe, f"generate/{i}/out", case, eps, GREEDY_BUGS, says, case["n_new"], own)
        own = (
            own[:, : case["tokens"].shape[1] + 1]
            if isinstance(own, torch.Tensor) and own.dim() == 2
            else None
        )
        check_greedy(observe, f"generate/{i}/one", case, eps, GREEDY_BUGS, says, 1, own)


@behaviour(10)
def test_no_new_tokens(observe):
    for i, case in enumerate(observe.given["generate"]):
        call = f"{model_call(case)}.generate on {shape_of(case['tokens'])} tokens, n_new=0"
        check_tokens(observe[f"generate/{i}/none"], case["tokens"], 0, call)


@behaviour(10)
def test_generation_runs_in_eval_mode(observe):
    says = "Another token than in eval mode: generate must switch dropout off."
    for i, case in enumerate(observe.given["generate"]):
        eps = ordinary(observe[f"generate/{i}/eps"])
        n_new, path = case["n_new"], f"generate/{i}/dropout/out"
        own = observe[f"generate/{i}/out"]
        same = "The generated tokens are wrong, with and without dropout."
        prompt = case["tokens"]
        shape = (len(prompt), prompt.shape[1] + n_new)
        if isinstance(own, torch.Tensor) and shape_of(own) == shape and not own.is_floating_point():
            if follows(double(case["weights"]), case, own.long(), eps) is not None:
                says = same
        check_greedy(observe, path, case, eps, GREEDY_BUGS, says, n_new, own, same)


@behaviour(10)
def test_modes_are_restored(observe):
    for name in ("train", "eval", "mixed"):
        before, after = observe[f"modes/{name}/before"], observe[f"modes/{name}/after"]
        changed = sorted(path or "the model" for path in before if before[path] != after.get(path))
        says = "generate leaves modules in another mode than it found them in."
        if name == "train" and changed:
            says = "The mode is not restored: after sampling, dropout is off for the rest of the training."
        elif name == "eval" and changed:
            says = "The model was in eval mode, and generate leaves it in train mode."
        elif name == "mixed" and changed:
            says = "A block that was in eval mode is not afterwards: restore the mode of every module."
        expect(not changed, says, f"model in mode {name!r}; changed: {', '.join(changed[:4])}")
        for i in range(observe.given["generate"][0]["sizes"][4]):
            earlier, first, second = observe[f"modes/{name}/block{i}"]
            random = not alike(*earlier)
            expect(
                alike(first, second) != random,
                f"After generate, block {i} {'does not drop' if random else 'drops'} although "
                f"it {'did' if random else 'did not'} before.",
                f"model in mode {name!r}",
            )
    before, after = observe["modes/second/before"], observe["modes/second/after"]
    changed = sorted(path or "the model" for path in before if before[path] != after.get(path))
    expect(
        not changed,
        "The second generate brings back the modes that the model had before the first one.",
        f"train mode, generate, eval mode, generate; changed: {', '.join(changed[:4])}",
    )


@behaviour(11, on_error="A sequence may outgrow the context: feed only its last max_len tokens.")
def test_sliding_window(observe):
    says = "Beyond max_len a generated token is not the argmax for the last max_len tokens, with positions from 0."
    for i, case in enumerate(observe.given["long"]):
        eps = ordinary(observe[f"long/{i}/eps"])
        own = observe[f"long/{i}/own"]
        check_greedy(observe, f"long/{i}/out", case, eps, WINDOW_BUGS, says, case["n_new"], own)


@behaviour(12)
def test_sizes_are_checked(observe):
    for name in (
        "vocab_size",
        "max_len",
        "d_model",
        "n_heads",
        "n_layers",
        "negative n_heads",
        "negative n_layers",
    ):
        says = f"MiniGPT: {name} = {-1 if 'negative' in name else 0} should be refused."
        says = says.replace("negative n_heads = -1", "n_heads = -2").replace("negative n_layers", "n_layers")
        observe.raised(f"errors/model {name}", "ValueError", says=says)
    for name in ("d_model", "n_heads", "negative n_heads"):
        says = f"Block: {name} = 0 should be refused.".replace("negative n_heads = 0", "n_heads = -2")
        observe.raised(f"errors/block {name}", "ValueError", says=says)
    for kind in ("model", "block"):
        says = "d_model = 6 with 4 heads should be refused: it is not divisible."
        observe.raised(f"errors/{kind} divisible", "ValueError", says=says)


@behaviour(12)
def test_dropout_is_checked(observe):
    for kind in ("model", "block"):
        for name in ("dropout 1", "dropout above 1", "negative dropout"):
            says = "A dropout outside [0, 1) should be refused; 1.0 is outside."
            observe.raised(f"errors/{kind} {name}", "ValueError", says=says)


@behaviour(12)
def test_lengths_are_checked(observe):
    observe.raised("errors/calls/empty", "ValueError", says="forward with T = 0 should be refused.")
    observe.raised("errors/calls/long", "ValueError", says="forward with T > max_len should be refused.")
    for name in ("loss of one", "loss of none"):
        observe.raised(f"errors/calls/{name}", "ValueError", says="loss with T < 2 should be refused.")
    observe.raised("errors/calls/n_new", "ValueError", says="generate with n_new = -1 should be refused.")


@behaviour(12)
def test_label_shapes_are_checked(observe):
    for name in ("shorter", "shifted", "longer", "batch", "column", "flat"):
        says = "loss with labels of another shape than tokens should be refused."
        observe.raised(f"errors/calls/labels {name}", "ValueError", says=says)


@behaviour(12, on_error="Sizes of 1 are valid.")
def test_smallest_model(observe):
    out = observe.tensor("errors/smallest/out")
    expect(shape_of(out) == (1, 1, 1), "MiniGPT(1, 1, 1, 1, 1) on one token gives logits of shape (1, 1, 1).")


@behaviour(12)
def test_no_label_counts(observe):
    for name in ("nothing", "first"):
        loss = observe.tensor(f"no_labels/{name}/loss", "The loss is a scalar tensor.")
        what = (
            "all labels are -100"
            if name == "nothing"
            else "only labels[:, 0], which nothing predicts, is not -100"
        )
        expect(
            loss.numel() == 1 and loss.item() == 0,
            "If no label counts, the loss is 0: 0 / 0 is NaN.",
            f"{what}: {loss.flatten()[:1].tolist()}",
        )
        path = f"no_labels/{name}/backward"
        if observe.error("step/own") is None:  # else backward always fails, which is another mistake
            expect(
                observe.error(path) is None,
                "If no label counts, backward works all the same: the loss is 0 and still has a graph.",
                str(observe.error(path)),
            )
        for grad in observe[f"{path}/gradients"]:
            finite = grad is None or (isinstance(grad, torch.Tensor) and bool(grad.isfinite().all()))
            expect(finite, "If no label counts, all gradients are finite.", what)


@behaviour(12)
def test_tokens_and_labels_stay(observe):
    tokens, labels = observe.given["losses"][0]["tokens"], observe.given["losses"][0]["labels"]
    for name in ("forward", "loss", "generate", "train_step"):
        if name != "train_step" or observe.error("caller/train_step") is None:
            expect(alike(observe[f"caller/{name}/tokens"], tokens), f"{name} changed the caller's tokens.")
            expect(alike(observe[f"caller/{name}/labels"], labels), f"{name} changed the caller's labels.")


@behaviour(12)
def test_x_stays(observe):
    same = alike(observe["caller/block/x"], observe.given["blocks"][0]["x"])
    expect(same, "Under torch.no_grad() a block changed the caller's x: `x +=` works in place.")
