import math

import torch
import torch.nn.functional as F

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

RESTART = "Every decoded token got position 0: add the length of the cache."
CACHE_BUGS = {
    "positions_restart": RESTART,
    "positions_ahead": "Positions are one too high: the first token is at position 0.",
    "last_position": "All tokens of a call get the same position: they are at length, length + 1, and so on.",
    "whole_buffer": "The whole buffer is read: an empty slot scores 0, so it takes weight.",
    "mask_not_offset": "The mask is not offset: query i of a chunk sees `length + i + 1` keys.",
    "no_mask": "There is no mask with a cache: tokens of a chunk see their successors.",
    "mask_ahead": "Each token of a chunk sees its successor: the mask is off by one.",
    "new_only": "The new tokens see only each other: what is in the cache is not read.",
    "past_only": "The new tokens see only the cache: each of them sees itself, too.",
    "one_buffer": "All layers share one buffer: layers write the same slots of separate buffers.",
    "first_layer": "Every layer reads the keys and values of the first one.",
    "slot_zero": "Each call writes from slot 0 on: the slots begin at `length`.",
    "swapped": "Keys and values are swapped in the cache.",
    "round_robin": "Query head h uses key head h // (n_heads // n_kv_heads), as in the starter.",
    "first_sample": "All samples get the cache of the first one.",
    "no_scale": "Scores are divided by sqrt(head_dim), as in the starter.",
}


class Reference:
    """The decoder in float64 with a cache of its own. ``bug`` names a typical mistake."""

    def __init__(self, case, bug=""):
        self.bug = bug
        self.weights = {name: value.double() for name, value in case["weights"].items()}
        self.vocab, self.max_len, self.d, self.heads, self.kv_heads, self.layers = case["sizes"]
        self.keys = self.values = None
        self.length = 0

    def norm(self, name, x):
        w = self.weights
        return F.layer_norm(x, (self.d,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

    def run(self, tokens):
        """Logits of ``tokens`` (B, T) behind those that have been run."""
        bug, w, start = self.bug, self.weights, self.length
        b, t = tokens.shape
        if self.keys is None:
            shape = (self.layers, b, self.kv_heads, self.max_len, self.d // self.heads)
            self.keys, self.values = torch.zeros(shape).double(), torch.zeros(shape).double()
        positions = torch.arange(start, start + t)
        if bug == "positions_restart":
            positions = positions - start
        elif bug == "positions_ahead":
            positions = (positions + 1) % self.max_len
        elif bug == "last_position":
            positions = positions * 0 + start
        x = w["tok_emb.weight"][tokens] + w["pos_emb.weight"][positions]
        for i in range(self.layers):
            x = x + self.attend(i, self.norm(f"blocks.{i}.ln1", x), start)
            h = self.norm(f"blocks.{i}.ln2", x)
            h = F.gelu(F.linear(h, w[f"blocks.{i}.mlp.0.weight"], w[f"blocks.{i}.mlp.0.bias"]))
            x = x + F.linear(h, w[f"blocks.{i}.mlp.2.weight"], w[f"blocks.{i}.mlp.2.bias"])
        self.length += t
        return self.norm("ln_f", x) @ w["head.weight"].T

    def attend(self, i, x, start):
        bug = self.bug
        b, t, _ = x.shape

        def project(name):
            y = x @ self.weights[f"blocks.{i}.attn.{name}_proj.weight"].T
            return y.unflatten(-1, (-1, self.d // self.heads)).transpose(1, 2)

        q, k, v = project("q"), project("k"), project("v")
        place = 0 if bug in ("one_buffer", "first_layer") else i
        at = 0 if bug == "slot_zero" else start
        if not (bug == "first_layer" and i > 0):
            # A differentiable write: the full forward is used for gradients, too.
            self.keys = self.keys.clone()
            self.values = self.values.clone()
            self.keys[place, :, :, at : at + t] = v if bug == "swapped" else k
            self.values[place, :, :, at : at + t] = k if bug == "swapped" else v
        end = self.max_len if bug == "whole_buffer" else start + t
        first = {"new_only": start}.get(bug, 0)
        if bug == "past_only" and start > 0:
            end = start
        k, v = self.keys[place, :, :, first:end], self.values[place, :, :, first:end]
        if bug == "first_sample":
            k, v = k[:1].expand_as(k), v[:1].expand_as(v)
        group = self.heads // self.kv_heads
        if bug == "round_robin":
            k, v = k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1)
        else:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = q @ k.transpose(-2, -1)
        if bug != "no_scale":
            scores = scores / math.sqrt(self.d // self.heads)
        row, column = torch.arange(start, start + t)[:, None], torch.arange(first, end)[None]
        visible = column <= row
        if bug == "mask_not_offset":
            visible = column <= row - start
        elif bug == "mask_ahead" and start > 0:
            visible = column <= row + 1
        elif bug == "no_mask" and start > 0:
            visible = column < end
        elif bug == "whole_buffer":
            visible = (column <= row) | (column >= start + t)
        mixed = scores.masked_fill(~visible, -math.inf).softmax(-1) @ v
        return mixed.transpose(1, 2).flatten(2) @ self.weights[f"blocks.{i}.attn.o_proj.weight"].T


def cases(observe):
    return list(enumerate(observe.given["cases"]))


def model_call(case):
    return f"Decoder({', '.join(map(str, case['sizes']))})"


def full(case, tokens):
    """The logits of the full forward."""
    return Reference(case).run(tokens)


def decoded(case, pieces, bug=""):
    """The logits of each piece, one after the other on one cache."""
    reference = Reference(case, bug)
    return [reference.run(piece) for piece in pieces]


def pieces_of(tokens, sizes):
    return list(tokens[:, : sum(sizes)].split(sizes, dim=1))


def mistakes_at(case, pieces, k):
    for bug, sentence in CACHE_BUGS.items():
        yield sentence, decoded(case, pieces[: k + 1], bug)[k]


# In float32 the starter itself is off by up to 1.1e-5 from the float64 reference; 1e-5 is allowed beside that.
AS_STARTER = 5e-5
PLAIN = "These logits are wrong in a plain run of the same tokens too (behaviors 3 to 6)."


def off(observe, path, want):
    """Whether the submission has wrong logits at ``path``, a plain run."""
    got = observe[path] if path in observe else None
    if not isinstance(got, torch.Tensor) or got.shape != want.shape:
        return True
    return not torch.allclose(got.double(), want.double(), rtol=0.0, atol=1e-4)


def check(observe, path, case, want, says, pieces=None, k=0, atol=1e-4, plain=None):
    if plain and off(observe, plain, want):
        says = PLAIN
    shape = tuple(pieces[k].shape) if pieces else tuple(want.shape[:2])
    before = f" with {sum(p.shape[1] for p in pieces[:k])} tokens in the cache" if pieces else ""
    close(
        observe[path],
        want,
        says,
        rtol=0.0,
        atol=atol,
        device=observe.device,
        call=f"{model_call(case)} on tokens of shape {shape}{before}",
        mistakes=mistakes_at(case, pieces, k) if pieces else (),
    )


@behaviour(1)
def test_logits_without_a_cache(observe):
    says = "Without a cache the logits are no longer those of the starter."
    for i, case in cases(observe):
        check(
            observe,
            f"full/{i}/out/logits",
            case,
            full(case, case["tokens"]),
            says,
            [case["tokens"]],
            0,
            AS_STARTER,
        )
        one = case["tokens"][:, :1]
        check(observe, f"full/{i}/one/logits", case, full(case, one), says, [one], 0, AS_STARTER)


@behaviour(1)
def test_gradients_without_a_cache(observe):
    for i, case in cases(observe):
        reference = Reference(case)
        leaves = {name: value.requires_grad_() for name, value in reference.weights.items()}
        out = reference.run(case["tokens"])
        grads = torch.autograd.grad(out, list(leaves.values()), case["up"].double())
        for name, want in zip(leaves, grads, strict=True):
            lost = f"Without a cache {name} gets no gradient any more: detach only what is stored in a cache."
            expect(
                observe[f"full/{i}/gradients/{name}"] is not None or not want.any(), lost, model_call(case)
            )
        for name, want in zip(leaves, grads, strict=True):
            got = observe[f"full/{i}/gradients/{name}"]
            size = want.abs().max().item()
            close(
                got,
                want,
                f"Without a cache the gradient of {name} is not that of the starter.",
                rtol=1e-3,
                atol=1e-5 + 1e-4 * size,
                device=observe.device,
                call=model_call(case),
            )


@behaviour(2)
def test_new_cache(observe):
    for i, case in cases(observe):
        _, max_len, d, heads, kv_heads, layers = case["sizes"]
        batch = len(case["tokens"])
        for name, rows, slots in (
            ("default", batch, max_len),
            ("short", batch + 1, 6),
            ("keyword", batch, 5),
        ):
            length = observe[f"new/{i}/{name}/length"]
            expect(
                type(length) is int and length == 0, "A new cache has length 0, an int.", f"got {length!r}"
            )
            want = (layers, rows, kv_heads, slots, d // heads)
            for part in ("keys", "values"):
                got = observe.tensor(f"new/{i}/{name}/{part}", f"cache.{part} should be a tensor.")
                says = "keys and values have the shape (n_layers, B, n_kv_heads, max_len, head_dim)."
                if tuple(got.shape) == (layers, rows, heads, slots, d // heads):
                    says = "The cache has n_heads heads: store before you repeat, or grouped queries save nothing."
                elif tuple(got.shape[1:]) == want[1:] and got.shape[0] == 1:
                    says = "One buffer for all layers: layers write the same slots of separate buffers."
                detail = f"{model_call(case)}: {part} {tuple(got.shape)}, expected {want}"
                expect(tuple(got.shape) == want, says, detail)
                expect(got.dtype == torch.float32, "The cache has the dtype of the weights.", describe(got))


@behaviour(2)
def test_slots(observe):
    for i, case in cases(observe):
        reference = Reference(case)
        reference.run(case["tokens"][:, :5])
        for part, opposite in (("keys", "values"), ("values", "keys")):
            got = observe.tensor(f"slots/{i}/{part}", f"cache.{part} should be a tensor.")
            want = getattr(reference, part)[:, :, :, :5]
            shape = (*want.shape[:3], case["sizes"][1], want.shape[4])
            expect(
                tuple(got.shape) == shape, f"cache.{part} has another shape after a forward.", describe(got)
            )
            restarted = Reference(case, "positions_restart")
            shared = Reference(case, "one_buffer")
            early = Reference(case, "slot_zero")
            wrong = [
                (CACHE_BUGS["one_buffer"], shared),
                (RESTART, restarted),
                (CACHE_BUGS["slot_zero"], early),
            ]
            for _, other in wrong:
                other.run(case["tokens"][:, :4])
                other.run(case["tokens"][:, 4:5])
            says = f"Slot t of layer l of cache.{part} is not that layer's projection of token t."
            if torch.allclose(got[0, :, :, :5].double(), want[0], rtol=0.0, atol=1e-5):
                says = (
                    f"cache.{part} of the first layer is right, that of later ones not: is their input right?"
                )
            close(
                got[:, :, :, :5],
                want,
                says,
                rtol=0.0,
                atol=1e-5,
                device=observe.device,
                call=f"{model_call(case)}, 4 tokens, then 1",
                mistakes=[
                    *((sentence, getattr(other, part)[:, :, :, :5]) for sentence, other in wrong),
                    (CACHE_BUGS["swapped"], getattr(reference, opposite)[:, :, :, :5]),
                ],
            )


@behaviour(3)
def test_one_token_at_a_time(observe):
    says = "A decoded token has other logits than in the full forward."
    for i, case in cases(observe):
        count = case["tokens"].shape[1]
        want, pieces = full(case, case["tokens"]), pieces_of(case["tokens"], [1] * count)
        # Late positions tell the mistakes apart.
        for t in reversed(range(count)):
            check(observe, f"single/{i}/{t}/logits", case, want[:, t : t + 1], says, pieces, t)


@behaviour(4)
def test_prompt_in_one_call(observe):
    for i, case in cases(observe):
        pieces = pieces_of(case["tokens"], [case["prompt"], 1])
        want = full(case, case["tokens"][:, : case["prompt"] + 1])
        last = observe[f"prompt/{i}/logits"]
        if isinstance(last, torch.Tensor) and last.dim() == 3 and last.shape[1] == 1:
            expect(
                False,
                "A call gives the logits of all its tokens, not those of the last one only.",
                describe(last),
            )
        says = "A prompt in one call has other logits than in the full forward."
        check(observe, f"prompt/{i}/logits", case, want[:, :-1], says, pieces, 0)
        says = "The token after the prompt has other logits than in the full forward."
        check(observe, f"prompt/{i}/next", case, want[:, -1:], says, pieces, 1)


@behaviour(4)
def test_length_grows(observe):
    for i, case in cases(observe):
        layers, prompt = case["sizes"][5], case["prompt"]
        for name, want in (("one/length", 1), ("length", prompt), ("length_then", prompt + 1)):
            got = observe[f"prompt/{i}/{name}"]
            says = "Each call adds the number of its tokens to length, once."
            if layers > 1 and name != "length_then" and got == layers * want:
                says = "Each layer advances length: the model does it once, after the last layer."
            expect(
                type(got) is int and got == want, says, f"{model_call(case)}: got {got!r}, expected {want}"
            )


def most_rows(rows):
    known = isinstance(rows, dict) and rows and all(type(n) is int for n in rows.values())
    return max(rows.items(), key=lambda item: item[1]) if known else ("", 0)


@behaviour(5)
def test_only_new_tokens_run(observe):
    for i, case in cases(observe):
        batch, before = len(case["tokens"]), 0
        for k, size in enumerate((5, 1, 2)):
            name, rows = most_rows(observe[f"work/{i}/{k}/rows"])
            says = "The layers run tokens again that are in the cache."
            whole = observe[f"work/{i}/{k}/rows"]
            if before and all(n >= batch * (before + size) for n in whole.values()):
                says = "You still run the whole sequence: the layers see only the new tokens."
            expect(
                rows <= batch * size,
                says,
                f"{model_call(case)}: {size} new tokens of {batch} samples, {before} in the cache; "
                f"blocks.{name} saw {rows} rows, allowed {batch * size}",
            )
            before += size


@behaviour(5)
def test_the_past_comes_from_the_cache(observe):
    for i, case in cases(observe):
        tokens = case["tokens"]
        reference = Reference(case)
        reference.run(tokens[:, :3])
        for part, factor in zip(("keys", "values"), case["factors"], strict=True):
            stored = getattr(reference, part).clone()
            stored[:, :, :, :3] *= factor.double()
            setattr(reference, part, stored)
        says = "After the stored keys and values were changed, the next token does not see the change as it should."
        if off(observe, f"work/{i}/cached/plain", full(case, tokens[:, :4])[:, 3:]):
            says = PLAIN
        close(
            observe[f"work/{i}/cached/logits"],
            reference.run(tokens[:, 3:4]),
            says,
            rtol=0.0,
            atol=2e-4,
            device=observe.device,
            call=f"{model_call(case)}: 3 tokens, then cache.keys and cache.values changed in place, then 1 token",
            mistakes=[
                (
                    "The next token does not come from cache.keys and cache.values.",
                    full(case, tokens[:, :4])[:, 3:],
                )
            ],
        )


@behaviour(6)
def test_chunks(observe):
    says = "A chunk on top of a filled cache has other logits than in the full forward."
    for i, case in cases(observe):
        want = full(case, case["tokens"])
        for name, chunks in (("some", case["chunks"]), ("reverse", case["chunks"][::-1])):
            pieces, start = pieces_of(case["tokens"], chunks), 0
            parts = []
            for k, size in enumerate(chunks):
                parts.append((size, k, want[:, start : start + size]))
                start += size
            # Large chunks tell the mistakes apart.
            for _, k, part in sorted(parts, key=lambda item: -item[0]):
                check(observe, f"chunks/{i}/{name}/{k}/logits", case, part, says, pieces, k)


@behaviour(7)
def test_values_beyond_length(observe):
    says = "Values in slots from length on change the logits: they are not part of the sequence."
    for i, case in cases(observe):
        want = full(case, case["tokens"][:, :8])
        pieces = pieces_of(case["tokens"], [4, 1, 3])
        spans = {"prompt": (0, 4), "one": (4, 5), "three": (5, 8)}
        for k, (name, (start, end)) in enumerate(spans.items()):
            plain = f"junk/{i}/plain/{name}"
            check(observe, f"junk/{i}/junk/{name}", case, want[:, start:end], says, pieces, k, plain=plain)


@behaviour(7)
def test_rolling_back(observe):
    for i, case in cases(observe):
        for n in (3, 0):
            tokens = torch.cat([case["tokens"][:, :n], case["other"][:, n : n + 3]], dim=1)
            want = full(case, tokens)
            says = f"After cache.length = {n} decoding does not go on as if only the first {n} tokens had been run."
            if n == 0:
                says = "After cache.length = 0 decoding does not start afresh."
            pieces = [piece for piece in tokens.split([n, 2, 1], dim=1) if piece.shape[1]]
            where = len(pieces) - 2
            for k, (name, start, end) in enumerate((("chunk", n, n + 2), ("one", n + 2, n + 3))):
                part, path, plain = (
                    want[:, start:end],
                    f"junk/{i}/back{n}/{name}",
                    f"junk/{i}/plain{n}/{name}",
                )
                check(observe, path, case, part, says, pieces, where + k, plain=plain)
            got = observe[f"junk/{i}/back{n}/length"]
            expect(got == n + 3, "After rolling back, length counts on from its new value.", f"{got!r}")
        tokens = torch.cat([case["tokens"][:, :5], case["other"][:, 5:6]], dim=1)
        says = "After a full cache was rolled back by one token, decoding goes on wrongly."
        check(
            observe, f"junk/{i}/full/one", case, full(case, tokens)[:, 5:], says, pieces_of(tokens, [5, 1]), 1
        )


def prompts(case):
    length = case["sizes"][1] - case["n_new"] - 1
    return {
        "some": (case["tokens"][:, :length], case["n_new"]),
        "long": (case["tokens"][:, :2], case["sizes"][1] - 2),
        "one": (case["tokens"][:, :3], 1),
        "again": (case["other"][:, :2], 3),
        "none": (case["tokens"][:, :3], 0),
    }


@behaviour(8, on_error="T + n_new up to the model's max_len is valid, and so is n_new = 0.")
def test_greedy_tokens(observe):
    for i, case in cases(observe):
        for name, (prompt, n_new) in prompts(case).items():
            got = observe.tensor(f"generate/{i}/{name}/tokens")
            b, t = prompt.shape
            call = f"{model_call(case)}.generate on {(b, t)} tokens, n_new={n_new}"
            says = "generate returns the prompt and the new tokens, (B, T + n_new)."
            whole = tuple(got.shape) == (b, t + n_new) and not got.is_floating_point()
            expect(whole and bool((got[:, :t] == prompt).all()), says, f"{call}: {describe(got)}")
            got = got.long()
            in_range = bool(((got >= 0) & (got < case["sizes"][0])).all())
            expect(in_range, "generate returns tokens below vocab_size.", call)
            logits = full(case, got)
            chosen = logits[:, t - 1 : -1].gather(-1, got[:, t:].unsqueeze(-1)).squeeze(-1)
            # A tie within rounding may be broken either way.
            short = logits[:, t - 1 : t + n_new - 1].amax(-1) - chosen
            says = "A generated token is not the most likely one of the full forward."
            if name == "again" and bool((short > 2e-3).any()):
                says += " Earlier calls of generate gave right tokens: does it begin with an empty cache?"
            expect(
                not bool((short > 2e-3).any()),
                says,
                f"{call}: first in column {t + int((short > 2e-3).any(0).double().argmax())}"
                if n_new
                else call,
            )


@behaviour(8)
def test_work_of_generate(observe):
    for i, case in cases(observe):
        for name, (prompt, n_new) in prompts(case).items():
            b, t = prompt.shape
            layer, rows = most_rows(observe[f"generate/{i}/{name}/rows"])
            allowed = t + max(n_new - 1, 0)
            says = "generate runs more tokens than it needs."
            if rows == b * (allowed + 1) and n_new:
                says = "One token too many is run: the last new token never needs to be."
            elif rows == b * (allowed + n_new) and n_new > 1:
                says = "Tokens are fed again that are in the cache already."
            elif n_new > 1 and rows >= b * (n_new * t + n_new * (n_new - 1) // 2):
                says = "generate still runs the whole sequence for every new token."
            expect(
                rows <= b * allowed,
                says,
                f"{model_call(case)}.generate on {(b, t)} tokens, n_new={n_new}: blocks.{layer} saw {rows} rows, "
                f"allowed {b * allowed}",
            )


@behaviour(8)
def test_calls_of_generate(observe):
    for i, case in cases(observe):
        for name, (prompt, n_new) in prompts(case).items():
            calls = observe[f"generate/{i}/{name}/calls"]
            if not isinstance(calls, list) or not all(isinstance(c, list) and len(c) == 2 for c in calls):
                continue
            sizes = [size for _, size in calls]
            b, t = prompt.shape
            call = (
                f"{model_call(case)}.generate on {(b, t)} tokens, n_new={n_new}: calls of {sizes[:8]} tokens"
            )
            if n_new and sizes:
                says = "The prompt is run in one call, not token by token."
                if sizes[0] == t - 1:
                    says = "The last token of the prompt is run apart: run the whole prompt in one call."
                expect(sizes[0] == t, says, call)
                says = "After the prompt generate runs one token in each call."
                if len(sizes) == n_new + 1 and set(sizes[1:]) == {1}:
                    says = "A token is run that is in the cache already, or the last new one: one call less is enough."
                expect(sizes[1:] == [1] * (n_new - 1), says, call)


@behaviour(9)
def test_caches_may_alternate(observe):
    says = "Calls on two caches and calls without one disturb each other: keep all state in the cache."
    for i, case in cases(observe):
        want = {"a": full(case, case["tokens"][:, :8]), "b": full(case, case["other"][:, :8])}
        spans = {"a0": (0, 3), "a1": (3, 4), "a2": (4, 6), "b0": (0, 5), "b1": (5, 6), "b2": (6, 8)}
        source = {"a": case["tokens"], "b": case["other"]}
        sizes = {"a": [3, 1, 2], "b": [5, 1, 2]}
        for name in ("a0", "b0", "a1", "b1", "a2", "b2"):
            start, end = spans[name]
            pieces = pieces_of(source[name[0]], sizes[name[0]])
            part = want[name[0]][:, start:end]
            path, plain = f"several/{i}/{name}", f"several/{i}/plain/{name}"
            check(observe, path, case, part, says, pieces, int(name[1]), plain=plain)
        for name, size in (("free", 5), ("free_one", 1)):
            alone, plain = full(case, case["other"][:, :size]), f"several/{i}/plain/{name}"
            check(observe, f"several/{i}/{name}", case, alone, says, plain=plain)
        expect(observe[f"several/{i}/lengths"] == [6, 8], says, f"lengths {observe[f'several/{i}/lengths']}")


@behaviour(9)
def test_each_sample_for_itself(observe):
    for i, case in cases(observe):
        want = full(case, case["tokens"][:, :5])
        for row in range(len(case["tokens"])):
            tokens = case["tokens"][row : row + 1]
            pieces = pieces_of(tokens, [3, 2])
            says = "A sample gets other logits alone than in a batch."
            if off(observe, f"several/{i}/alone/batch", want[:, 3:]):
                says = PLAIN
            check(observe, f"several/{i}/alone/row{row}", case, want[row : row + 1, 3:], says, pieces, 1)


@behaviour(10)
def test_no_graph(observe):
    for i, case in cases(observe):
        expect(
            observe[f"graph/{i}/flags"] == [False] * 4,
            "The cache keeps a graph: detach before storing, or every step keeps all earlier graphs.",
            f"{model_call(case)} with gradients enabled; requires_grad after each call: {observe[f'graph/{i}/flags']}",
        )


@behaviour(10, presumes=("slots",))
def test_buffers_stay(observe):
    for i, case in cases(observe):
        reference = Reference(case)
        reference.run(case["tokens"][:, :7])
        for part in ("keys", "values"):
            says = f"cache.{part} was replaced by a new tensor: torch.cat copies the cache at every step."
            want = getattr(reference, part)[:, :, :, :7]
            held = observe.tensor(f"graph/{i}/held_{part}")
            full_shape = (*want.shape[:3], case["sizes"][1], want.shape[4])
            expect(tuple(held.shape) == full_shape, says, describe(held))
            if not held.any():
                expect(False, says, model_call(case))
            says = f"The tensor that cache.{part} was at the start does not hold the tokens that were run."
            if observe[f"graph/{i}/same"] == [True, True]:
                says = f"cache.{part} stays where it is, but what it holds is wrong (behaviors 2 and 3)."
            close(
                held[:, :, :, :7],
                want,
                says,
                rtol=0.0,
                atol=1e-4,
                device=observe.device,
                call=model_call(case),
            )
        same = observe[f"graph/{i}/same"]
        says = "keys and values keep their memory address: allocate once and write into the slots."
        expect(same == [True, True], says, model_call(case))


REFUSED = {
    "full": "5 tokens in a cache of 6, 2 more",
    "one too many": "a full cache, 1 more",
    "at once": "7 tokens at once into an empty cache of 6",
    "empty": "a call with T = 0",
    "fewer samples": "fewer samples than the cache holds",
    "more samples": "more samples than the cache holds",
    "model full": "a cache as long as the model's max_len, full, and 1 more token",
}


@behaviour(11)
def test_calls_are_refused(observe):
    for name, what in REFUSED.items():
        observe.raised(f"refused/{name}/call", "ValueError", says=f"Should be refused: {what}.")


@behaviour(11)
def test_refused_calls_change_nothing(observe):
    for name, what in REFUSED.items():
        for part in ("keys", "values", "length"):
            before, after = observe[f"refused/{name}/before/{part}"], observe[f"refused/{name}/after/{part}"]
            says = "Checked too late: some layers have stored the tokens, others have not."
            if part == "length":
                says = "A refused call changed the length of the cache."
            expect(alike(before, after), says, f"{what}: {part} changed")


@behaviour(11)
def test_sizes_are_refused(observe):
    for name in ("batch 0", "batch -1", "max_len 0", "max_len -1", "max_len above the model's"):
        observe.raised(
            f"refused/sizes/{name}", "ValueError", says=f"new_cache with {name} should be refused."
        )
    observe.raised("refused/sizes/n_new -1", "ValueError", says="generate with n_new = -1 should be refused.")
    says = "generate with T + n_new above the model's max_len should be refused."
    observe.raised("refused/sizes/too long", "ValueError", says=says)


@behaviour(11, on_error="new_cache(1, 1) is valid.")
def test_smallest_cache(observe):
    keys = observe.tensor("refused/fits/keys")
    expect(
        keys.dim() == 5 and keys.shape[1] == keys.shape[3] == 1,
        "new_cache(1, 1) has one sample and one slot.",
    )


@behaviour(11, on_error="new_cache with the model's own max_len is valid.")
def test_longest_cache(observe):
    keys, longest = observe.tensor("refused/longest/keys"), observe.given["cases"][0]["sizes"][1]
    expect(
        keys.dim() == 5 and keys.shape[3] == longest,
        "new_cache with the model's own max_len has that many slots.",
        f"max_len {longest}: {describe(keys)}",
    )


@behaviour(12)
def test_dtype_of_the_model(observe):
    for i, case in list(cases(observe))[:2]:
        for name, dtype in (("float64", torch.float64), ("bfloat16", torch.bfloat16)):
            for part in ("keys", "values", "prompt", "next", "free"):
                got = observe.tensor(f"dtypes/{name}{i}/{part}")
                what = f"cache.{part}" if part in ("keys", "values") else "the logits"
                expect(
                    got.dtype == dtype,
                    "Caches and logits have the dtype of the model's weights.",
                    f"a {name} model, {what}: {describe(got)}",
                )


@behaviour(12)
def test_precision_in_float64(observe):
    for i, case in list(cases(observe))[:2]:
        want = full(case, case["tokens"])
        for part, span in (("prompt", slice(0, 5)), ("next", slice(5, 7)), ("free", slice(0, None))):
            says = "A float64 model loses precision: somewhere values pass through float32."
            if off(observe, f"dtypes/float64{i}/{part}", want[:, span]):
                says = "The logits of a float64 model are wrong, not only imprecise (behaviors 3 to 6)."
            close(
                observe[f"dtypes/float64{i}/{part}"],
                want[:, span],
                says,
                rtol=0.0,
                atol=1e-10,
                device=observe.device,
                call=f"{model_call(case)} in float64",
            )


@behaviour(12)
def test_tokens_are_not_modified(observe):
    tokens = observe.given["cases"][0]["tokens"][:, :5]
    for name in ("free", "cached", "generate"):
        expect(
            alike(observe[f"caller/{name}/tokens"], tokens), f"The caller's tokens were modified ({name})."
        )
