import torch
from torch.utils._python_dispatch import TorchDispatchMode


def model_case(draw, heads, kv_heads, head_dim, layers, max_len, vocab):
    d = heads * head_dim

    def matrix(n_out, n_in, scale=1.0):
        return draw.normal(n_out, n_in, scale=scale / n_in**0.5)

    def norm(name):
        return {f"{name}.weight": draw.rand(d, low=0.6, high=1.4), f"{name}.bias": draw.normal(d, scale=0.2)}

    weights = {"tok_emb.weight": draw.normal(vocab, d), "pos_emb.weight": draw.normal(max_len, d, scale=0.8)}
    for i in range(layers):
        block = {
            **norm("ln1"),
            **norm("ln2"),
            "attn.q_proj.weight": matrix(d, d, 1.5),
            "attn.k_proj.weight": matrix(kv_heads * head_dim, d, 1.5),
            "attn.v_proj.weight": matrix(kv_heads * head_dim, d, 1.5),
            "attn.o_proj.weight": matrix(d, d, 1.8),
            "mlp.0.weight": matrix(4 * d, d, 1.2),
            "mlp.0.bias": draw.normal(4 * d, scale=0.2),
            "mlp.2.weight": matrix(d, 4 * d, 1.2),
            "mlp.2.bias": draw.normal(d, scale=0.2),
        }
        weights |= {f"blocks.{i}.{name}": value for name, value in block.items()}
    weights |= {**norm("ln_f"), "head.weight": matrix(vocab, d, 1.5)}
    return {"sizes": [vocab, max_len, d, heads, kv_heads, layers], "weights": weights}


def split(draw, total):
    """Sizes of chunks that sum to ``total``: several tokens on a filled cache, and single ones."""
    first = draw.integer(1, 3)
    second = draw.integer(2, 4)
    return [first, second, 1, total - first - second - 1]


def inputs(draw):
    cases = []
    for heads, kv_heads, head_dim, layers, batch in (
        (4, 2, 3, 2, 3),
        (3, 1, 5, 3, 1),
        (2, 2, 3, 1, 2),
        (6, 3, 2, 2, 2),
    ):
        vocab, max_len = draw.choice([11, 13, 14]), draw.integer(10, 12)
        case = model_case(draw, heads, kv_heads, head_dim, layers, max_len, vocab)
        case |= {
            "tokens": draw.integers(0, vocab, batch, max_len),
            "chunks": split(draw, max_len),
            "prompt": draw.integer(4, 7),
            "n_new": draw.integer(2, 3),
            "other": draw.integers(0, vocab, batch, max_len),
            "junk": [draw.normal(layers, batch, kv_heads, max_len, head_dim, scale=20.0) for _ in range(2)],
            "factors": [
                draw.rand(layers, batch, kv_heads, 3, head_dim, low=-1.5, high=1.5) for _ in range(2)
            ],
            "up": draw.normal(batch, max_len, vocab),
        }
        cases.append(case)
    return {"cases": cases}


def make(code, case, device, dtype=torch.float32):
    model = code.Decoder(*case["sizes"]).to(device=device, dtype=dtype)
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in case["weights"].items():
            if name not in parameters:
                raise AttributeError(f"the model has no parameter {name}: keep all names")
            parameters[name].copy_(value)
    return model


def record_cache(record, cache):
    record("keys", cache.keys)
    record("values", cache.values)
    record("length", cache.length)


class RowCounter(TorchDispatchMode):
    """Counts how many rows are multiplied with each linear weight of the blocks."""

    NAMES = ("mm", "addmm", "bmm", "baddbmm", "linear", "matmul", "mv", "addmv", "dot")

    def __init__(self, model):
        super().__init__()
        self.weights = {
            p.untyped_storage().data_ptr(): (name, p.shape[1])
            for name, p in model.blocks.named_parameters()
            if p.dim() == 2
        }
        self.rows = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket.__name__ in self.NAMES:
            tensors = [a for a in args if isinstance(a, torch.Tensor)]
            for tensor in tensors:
                known = self.weights.get(tensor.untyped_storage().data_ptr())
                others = [a for a in tensors if a is not tensor]
                if known is not None and others:
                    name, width = known
                    # A bias is no input, and has one dimension beside inputs that have more.
                    dims = max(a.dim() for a in others)
                    rows = max(a.numel() for a in others if a.dim() == dims) // width
                    self.rows[name] = self.rows.get(name, 0) + rows
        return func(*args, **(kwargs or {}))


def probe_full(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            with record.step("out"):
                out = model(case["tokens"].clone())
                record("logits", out)
            with record.step("one"):
                record("logits", model(case["tokens"][:, :1].clone()))
            with record.step("gradients"):
                out.backward(case["up"])
                for name, p in model.named_parameters():
                    record(name, p.grad)


def probe_new(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            batch = len(case["tokens"])
            with record.step("default"):
                record_cache(record, model.new_cache(batch))
            with record.step("short"):
                record_cache(record, model.new_cache(batch + 1, 6))
            with record.step("keyword"):
                record_cache(record, model.new_cache(batch=batch, max_len=5))


def run_pieces(model, tokens, sizes):
    """The logits of consecutive pieces of ``tokens`` on a cache of their own."""
    cache = model.new_cache(len(tokens))
    return [model(piece.clone(), cache) for piece in tokens[:, : sum(sizes)].split(sizes, dim=1)]


@torch.no_grad()
def probe_slots(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            cache = model.new_cache(len(case["tokens"]))
            model(case["tokens"][:, :4].clone(), cache)
            model(case["tokens"][:, 4:5].clone(), cache)
            record_cache(record, cache)


@torch.no_grad()
def probe_single(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            cache = model.new_cache(len(case["tokens"]))
            for t in range(case["tokens"].shape[1]):
                with record.step(t):
                    record("logits", model(case["tokens"][:, t : t + 1].clone(), cache))
                    record("length", cache.length)


@torch.no_grad()
def probe_prompt(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            with record.step("one"):
                cache = model.new_cache(len(case["tokens"]))
                model(case["tokens"][:, :1].clone(), cache)
                record("length", cache.length)
            cache = model.new_cache(len(case["tokens"]), case["prompt"] + 2)
            record("logits", model(case["tokens"][:, : case["prompt"]].clone(), cache))
            record("length", cache.length)
            following = case["tokens"][:, case["prompt"] : case["prompt"] + 1].clone()
            record("next", model(following, cache=cache))
            record("length_then", cache.length)


@torch.no_grad()
def probe_chunks(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            for name, chunks in (("some", case["chunks"]), ("reverse", case["chunks"][::-1])):
                with record.step(name):
                    cache, start = model.new_cache(len(case["tokens"])), 0
                    for k, size in enumerate(chunks):
                        with record.step(k):
                            record("logits", model(case["tokens"][:, start : start + size].clone(), cache))
                        start += size


@torch.no_grad()
def probe_work(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            tokens = case["tokens"]
            cache, start = model.new_cache(len(tokens)), 0
            for k, size in enumerate((5, 1, 2)):
                with record.step(k):
                    with RowCounter(model) as counter:
                        model(tokens[:, start : start + size].clone(), cache)
                    record("rows", counter.rows)
                start += size
            with record.step("cached"):
                # The past comes from the cache: what is changed there must show.
                record("plain", run_pieces(model, tokens, [3, 1])[1])
                cache = model.new_cache(len(tokens))
                model(tokens[:, :3].clone(), cache)
                cache.keys[:, :, :, :3].mul_(case["factors"][0])
                cache.values[:, :, :, :3].mul_(case["factors"][1])
                record("logits", model(tokens[:, 3:4].clone(), cache))


@torch.no_grad()
def probe_junk(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            tokens, other = case["tokens"], case["other"]
            with record.step("plain"):
                parts = run_pieces(model, tokens, [4, 1, 3])
                for name, logits in zip(("prompt", "one", "three"), parts, strict=True):
                    record(name, logits)
            for n in (3, 0):
                with record.step(f"plain{n}"):
                    mixed = torch.cat([tokens[:, :n], other[:, n : n + 3]], dim=1)
                    parts = run_pieces(model, mixed, [n, 2, 1] if n else [2, 1])
                    record("chunk", parts[-2])
                    record("one", parts[-1])
            cache = model.new_cache(len(tokens))

            def spoil(cache=cache, junk=case["junk"]):
                cache.keys[:, :, :, cache.length :] = junk[0][:, :, :, cache.length :]
                cache.values[:, :, :, cache.length :] = junk[1][:, :, :, cache.length :]

            with record.step("junk"):
                spoil()
                record("prompt", model(tokens[:, :4].clone(), cache))
                spoil()
                record("one", model(tokens[:, 4:5].clone(), cache))
                spoil()
                record("three", model(tokens[:, 5:8].clone(), cache))
            for n in (3, 0):
                with record.step(f"back{n}"):
                    cache = model.new_cache(len(tokens))
                    model(tokens[:, :7].clone(), cache)
                    cache.length = n
                    record("chunk", model(other[:, n : n + 2].clone(), cache))
                    record("one", model(other[:, n + 2 : n + 3].clone(), cache))
                    record("length", cache.length)
            with record.step("full"):
                cache = model.new_cache(len(tokens), 6)
                model(tokens[:, :6].clone(), cache)
                cache.length = 5
                record("one", model(other[:, 5:6].clone(), cache))


def probe_generate(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            length = case["sizes"][1] - case["n_new"] - 1
            prompts = {
                "some": (case["tokens"][:, :length], case["n_new"]),
                "long": (case["tokens"][:, :2], case["sizes"][1] - 2),
                "one": (case["tokens"][:, :3], 1),
                "again": (case["other"][:, :2], 3),
                "none": (case["tokens"][:, :3], 0),
            }
            for name, (prompt, n_new) in prompts.items():
                with record.step(name):
                    calls = []

                    def note(module, args, kwargs, calls=calls):
                        x = args[0] if args else next(iter(kwargs.values()), None)
                        calls.append(list(x.shape[:2]) if isinstance(x, torch.Tensor) else None)

                    handle = model.blocks[0].register_forward_pre_hook(note, with_kwargs=True)
                    with RowCounter(model) as counter:
                        out = model.generate(prompt.clone(), n_new)
                    handle.remove()
                    record("tokens", out)
                    record("calls", calls)
                    record("rows", counter.rows)


@torch.no_grad()
def probe_several(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            tokens, other = case["tokens"], case["other"]
            with record.step("plain"):
                for name, source, sizes in (("a", tokens, [3, 1, 2]), ("b", other, [5, 1, 2])):
                    for k, logits in enumerate(run_pieces(model, source, sizes)):
                        record(f"{name}{k}", logits)
                model = make(code, case, record.device)
                record("free", model(other[:, :5].clone()))
                record("free_one", model(other[:, :1].clone()))
            model = make(code, case, record.device)
            first = model.new_cache(len(tokens))
            record("a0", model(tokens[:, :3].clone(), first))
            second = model.new_cache(len(other), 9)
            record("b0", model(other[:, :5].clone(), second))
            record("a1", model(tokens[:, 3:4].clone(), first))
            record("free", model(other[:, :5].clone()))
            record("free_one", model(other[:, :1].clone()))
            record("b1", model(other[:, 5:6].clone(), second))
            model.generate(tokens[:, :2].clone(), 2)
            record("a2", model(tokens[:, 4:6].clone(), first))
            record("b2", model(other[:, 6:8].clone(), second))
            record("lengths", [first.length, second.length])
            with record.step("alone"):
                record("batch", run_pieces(model, tokens, [3, 2])[1])
                for row in range(len(tokens)):
                    cache = model.new_cache(1)
                    model(tokens[row : row + 1, :3].clone(), cache)
                    record(f"row{row}", model(tokens[row : row + 1, 3:5].clone(), cache))


def probe_graph(code, given, record):
    """With gradients enabled, and with the buffers held from the start."""
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            model = make(code, case, record.device)
            cache = model.new_cache(len(case["tokens"]))
            keys, values = cache.keys, cache.values
            flags = [bool(keys.requires_grad or values.requires_grad)]
            for start, size in ((0, 4), (4, 1), (5, 2)):
                model(case["tokens"][:, start : start + size].clone(), cache)
                flags.append(bool(cache.keys.requires_grad or cache.values.requires_grad))
            record("flags", flags)
            record("held_keys", keys)
            record("held_values", values)
            record(
                "same",
                [cache.keys.data_ptr() == keys.data_ptr(), cache.values.data_ptr() == values.data_ptr()],
            )


@torch.no_grad()
def probe_refused(code, given, record):
    case = given["cases"][0]
    model = make(code, case, record.device)
    tokens, (max_len, batch) = case["tokens"], (case["sizes"][1], len(case["tokens"]))
    calls = {
        "full": (tokens[:, :5], tokens[:, 5:7], 6),
        "one too many": (tokens[:, :6], tokens[:, 6:7], 6),
        "at once": (None, tokens[:, :7], 6),
        "empty": (tokens[:, :4], tokens[:, :0], 6),
        "fewer samples": (tokens[:, :4], tokens[:1, 4:5], 6),
        "more samples": (tokens[:, :4], torch.cat([tokens, tokens])[:, 4:5], 6),
        "model full": (tokens, tokens[:, :1], None),
    }
    for name, (before, after, size) in calls.items():
        with record.step(name):
            cache = model.new_cache(batch, size)
            if before is not None:
                model(before.clone(), cache)
            with record.step("before"):
                record_cache(record, cache)
            record.raises("call", lambda after=after, cache=cache: model(after.clone(), cache))
            with record.step("after"):
                record_cache(record, cache)
    with record.step("sizes"):
        record.raises("batch 0", lambda: model.new_cache(0) and None)
        record.raises("batch -1", lambda: model.new_cache(-1) and None)
        record.raises("max_len 0", lambda: model.new_cache(2, 0) and None)
        record.raises("max_len -1", lambda: model.new_cache(2, -1) and None)
        record.raises("max_len above the model's", lambda: model.new_cache(2, max_len + 1) and None)
        record.raises("n_new -1", lambda: model.generate(tokens[:, :3].clone(), -1))
        record.raises("too long", lambda: model.generate(tokens[:, :4].clone(), max_len - 3))
    with record.step("fits"):
        record_cache(record, model.new_cache(1, 1))
    with record.step("longest"):
        record_cache(record, model.new_cache(batch, max_len))


def probe_dtypes(code, given, record):
    for i, case in enumerate(given["cases"][:2]):
        for name, dtype in (("float64", torch.float64), ("bfloat16", torch.bfloat16)):
            with record.step(f"{name}{i}"), torch.no_grad():
                model = make(code, case, record.device, dtype)
                cache = model.new_cache(len(case["tokens"]))
                record("prompt", model(case["tokens"][:, :5].clone(), cache))
                record("next", model(case["tokens"][:, 5:7].clone(), cache))
                record("free", model(case["tokens"].clone()))
                record_cache(record, cache)


@torch.no_grad()
def probe_caller(code, given, record):
    case = given["cases"][0]
    model = make(code, case, record.device)
    cache = model.new_cache(len(case["tokens"]))
    calls = {
        "free": lambda tokens: model(tokens),
        "cached": lambda tokens: model(tokens, cache),
        "generate": lambda tokens: model.generate(tokens, 3),
    }
    for name, call in calls.items():
        with record.step(name):
            tokens = case["tokens"][:, :5].clone()
            call(tokens)
            record("tokens", tokens)
