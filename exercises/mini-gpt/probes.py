import torch

from quizapp.judge.testing.probes import number

LAYERS = ("ln1", "qkv", "proj", "ln2", "fc", "out")


def block_weights(draw, d, gain=1.0, shift=0.3):
    """Values for the parameters of a block; no bias is zero and no norm is neutral."""

    def linear(name, n_out, n_in, scale):
        return {
            f"{name}.weight": draw.normal(n_out, n_in, scale=scale / n_in**0.5),
            f"{name}.bias": draw.normal(n_out, scale=shift),
        }

    def norm(name):
        return {
            f"{name}.weight": draw.rand(d, low=0.6, high=1.4),
            f"{name}.bias": draw.normal(d, scale=shift),
        }

    return {
        **norm("ln1"),
        **linear("qkv", 3 * d, d, 1.6),
        **linear("proj", d, d, 1.2 * gain),
        **norm("ln2"),
        **linear("fc", 4 * d, d, 1.2),
        **linear("out", d, 4 * d, 1.5 * gain),
    }


def model_case(draw, heads, head_dim, layers, max_len, vocab, lively=False):
    """Sizes and weights of a model. What a ``lively`` one generates depends much on the tokens it sees."""
    d = heads * head_dim
    gain, shift = (3.0, 0.05) if lively else (1.0, 0.3)
    embedding = draw.normal(vocab, d, scale=0.6)
    if lively:  # no token is likelier than others by itself
        embedding = embedding / embedding.square().mean(1, keepdim=True).sqrt()
    return {
        "sizes": [vocab, max_len, d, heads, layers],
        "weights": {
            "tok_emb.weight": embedding,
            "pos_emb.weight": draw.normal(max_len, d, scale=0.5 if lively else 0.8),
            **{
                f"blocks.{i}.{name}": value
                for i in range(layers)
                for name, value in block_weights(draw, d, gain, shift).items()
            },
            "ln_f.weight": draw.rand(d, low=0.6, high=1.4),
            "ln_f.bias": draw.normal(d, scale=shift),
        },
    }


def inputs(draw):
    blocks = []
    # In the third case heads and tokens are equally many, so that a reshape without a transpose fits everywhere.
    for heads, head_dim, batch, length in (
        (3, draw.choice([4, 6]), 2, 7),
        (draw.choice([2, 5]), 3, 3, draw.choice([5, 6])),
        (5, 2, 1, 5),
        (1, draw.choice([5, 7, 9]), 2, 3),
        (2, draw.choice([5, 7]), 3, 1),
    ):
        d = heads * head_dim
        blocks.append(
            {
                "heads": heads,
                "weights": block_weights(draw, d),
                "x": draw.normal(batch, length, d, shift=0.4),
                "other": draw.normal(batch, length, d, scale=2.0),
                "positions": sorted({length - 1, length // 2, min(1, length - 1)} - {0}),
            }
        )
    models = []
    for heads, head_dim, layers, max_len in ((2, 5, 2, 7), (3, 4, 1, 5), (1, 6, 3, 6)):
        vocab = draw.choice([11, 13, 14, 17])
        case = model_case(draw, heads, head_dim, layers, max_len, vocab)
        case["tokens"] = [
            draw.integers(0, vocab, batch, length)
            for batch, length in ((3, max_len), (1, max_len), (2, 1), (4, draw.integer(2, max_len - 1)))
        ]
        case["others"] = (case["tokens"][0] + draw.integers(1, vocab, 3, max_len)) % vocab
        models.append(case)
    losses = []
    for case in models[:2]:
        vocab, max_len = case["sizes"][:2]
        tokens = draw.integers(0, vocab, 4, max_len)
        labels = draw.integers(0, vocab, 4, max_len)
        ignored = draw.rand(4, max_len) < 0.3
        ignored[0], ignored[1] = True, False
        ignored[0, -1], ignored[2, 1], ignored[2, 2], ignored[3, 0] = False, True, False, False
        losses.append({"tokens": tokens, "labels": torch.where(ignored, -100, labels), "dense": labels})
    fresh = []
    for d, heads, layers, vocab in (
        (64, 4, 2, draw.integer(60, 90)),
        (draw.choice([24, 30]), 3, 3, draw.integer(40, 60)),
        (10, 2, 1, draw.integer(25, 35)),
    ):
        fresh.append({"sizes": [vocab, 18, d, heads, layers], "tokens": draw.integers(0, vocab, 30, 18)})
    step = model_case(draw, 2, 5, 2, 7, 13)
    step |= {
        "batches": [draw.integers(0, 13, 3, 6), draw.integers(0, 13, 2, 7)],
        "lr": draw.uniform(0.03, 0.06),
    }
    step["stale"] = {name: draw.normal(*value.shape, scale=0.5) for name, value in step["weights"].items()}
    overfit = {
        "sizes": [16, draw.integer(12, 15), 32, 2, 2],
        "tokens": draw.integers(0, 16, 1, 12),
    }
    p, d = draw.uniform(0.2, 0.35), 15
    drop = {
        "p": p,
        "heads": 3,
        "weights": block_weights(draw, d),
        "x": draw.normal(9, 7, d, shift=0.3),
        "model": model_case(draw, 3, 5, 2, 7, 13),
        "tokens": draw.integers(0, 13, 5, 7),
    }
    made = []
    for heads, head_dim, layers, max_len, batch, length in (
        (2, 9, 2, 14, 4, 3),
        (3, 7, 1, 12, 1, 5),
    ):
        case = model_case(draw, heads, head_dim, layers, max_len, 17, lively=True)
        case |= {"tokens": draw.integers(0, 17, batch, length), "n_new": draw.integer(6, max_len - length)}
        made.append(case)
    long = []
    for heads, head_dim, layers, max_len, batch, length, n_new in (
        (2, 9, 2, 5, 5, 3, 9),
        (2, 10, 1, 6, 4, 6, 7),
        (3, 6, 1, 4, 4, 9, 5),
    ):
        case = model_case(draw, heads, head_dim, layers, max_len, 19, lively=True)
        case |= {"tokens": draw.integers(0, 19, batch, length), "n_new": n_new}
        long.append(case)
    context = model_case(draw, 1, 4, 1, 1100, 11)
    context["tokens"] = draw.integers(0, 11, 1, 1100)
    return {
        "blocks": blocks,
        "models": models,
        "losses": losses,
        "fresh": fresh,
        "step": step,
        "overfit": overfit,
        "drop": drop,
        "generate": made,
        "long": long,
        "context": context,
    }


def fill(module, weights):
    with torch.no_grad():
        for name, value in weights.items():
            *path, kind = name.split(".")
            target = module
            for part in path:
                target = target[int(part)] if part.isdigit() else getattr(target, part)
            parameter = getattr(target, kind)
            if parameter is None:
                raise AttributeError(f"{name} is None: every linear layer but head has a bias")
            parameter.copy_(value)
    return module


def make_block(code, heads, weights, device, *rest):
    d = len(weights["ln1.weight"])
    return fill(code.Block(d, heads, *rest).to(device), weights)


def make_model(code, case, device, *rest):
    model = fill(code.MiniGPT(*case["sizes"], *rest).to(device), case["weights"])
    with torch.no_grad():
        model.head.weight.copy_(case["weights"]["tok_emb.weight"])  # has no effect if the head is tied
    return model


def block_eps(block):
    return [float(block.ln1.eps), float(block.ln2.eps)]


def model_eps(model):
    return {"blocks": [block_eps(block) for block in model.blocks], "last": float(model.ln_f.eps)}


def parameters_of(model):
    """The parameters by name. The head has its name only if it is not tied to the embedding."""
    layers = [(f"blocks.{i}.{name}", getattr(b, name)) for i, b in enumerate(model.blocks) for name in LAYERS]
    layers = [("tok_emb", model.tok_emb), ("pos_emb", model.pos_emb), *layers, ("ln_f", model.ln_f)]
    return {
        f"{name}.{kind}": getattr(layer, kind)
        for name, layer in [*layers, ("head", model.head)]
        for kind in ("weight", "bias")
        if getattr(layer, kind, None) is not None
    }


def probe_block(code, given, record):
    for i, case in enumerate(given["blocks"]):
        with record.step(i):
            block = make_block(code, case["heads"], case["weights"], record.device)
            record("eps", block_eps(block))
            for mode in ("train", "eval"):
                block.train(mode == "train")
                with record.step(mode):
                    record("out", block(case["x"].clone()))
                    for s in case["positions"]:
                        with record.step(f"changed{s}"):
                            x = case["x"].clone()
                            x[:, s] = case["other"][:, s]
                            record("out", block(x))


def probe_block_shapes(code, given, record):
    case = given["blocks"][0]
    block = make_block(code, case["heads"], case["weights"], record.device)
    record("shapes", sorted([list(p.shape) for p in block.parameters()]))


def probe_model(code, given, record):
    for i, case in enumerate(given["models"]):
        with record.step(i):
            model = make_model(code, case, record.device)
            record("eps", model_eps(model))
            for k, tokens in enumerate(case["tokens"]):
                with record.step(k):
                    record("out", model(tokens.clone()))
            tokens = case["tokens"][0]
            for s in range(1, tokens.shape[1]):
                with record.step(f"changed{s}"):
                    changed = tokens.clone()
                    changed[:, s] = case["others"][:, s]
                    record("out", model(changed))


def probe_context(code, given, record):
    case = given["context"]
    model = make_model(code, case, record.device)
    record("eps", model_eps(model))
    record("out", model(case["tokens"].clone()))


def probe_tied(code, given, record):
    for i, case in enumerate(given["models"]):
        with record.step(i):
            model = code.MiniGPT(*case["sizes"]).to(record.device)
            record("start", [model.tok_emb.weight, model.head.weight])
            fill(model, case["weights"])
            record("same", model.head.weight is model.tok_emb.weight)
            record("head", model.head.weight)
            record("shapes", sorted([list(p.shape) for p in model.parameters()]))


def probe_fresh(code, given, record):
    for i, case in enumerate(given["fresh"]):
        with record.step(i), torch.no_grad():
            model = code.MiniGPT(*case["sizes"]).to(record.device)
            record("loss", model.loss(case["tokens"].clone()))


def probe_loss(code, given, record):
    for i, case in enumerate(given["losses"]):
        with record.step(i):
            model = make_model(code, given["models"][i], record.device)
            record("eps", model_eps(model))
            with record.step("own"):
                record("logits", model(case["tokens"].clone()))
            with record.step("default"):
                record("out", model.loss(case["tokens"].clone()))
            with record.step("two"):
                record("out", model.loss(case["tokens"][:, :2].clone()))
            with record.step("labels"):
                record("out", model.loss(case["tokens"].clone(), case["dense"].clone()))
            with record.step("ignored"):
                record("out", model.loss(case["tokens"].clone(), case["labels"].clone()))
            with record.step("keyword"):
                record("out", model.loss(tokens=case["tokens"].clone(), labels=case["labels"].clone()))


def probe_step(code, given, record):
    case = given["step"]
    model = make_model(code, case, record.device)
    record("eps", model_eps(model))
    with record.step("own"):
        # A step by hand with the submission's own loss.
        own = make_model(code, case, record.device)
        loss = own.train().loss(case["batches"][0].clone())
        loss.backward()
        torch.optim.SGD(own.parameters(), lr=case["lr"]).step()
        record("loss", loss)
        record("parameters", parameters_of(own))
    optimizer = torch.optim.SGD(model.parameters(), lr=case["lr"])
    for i, tokens in enumerate(case["batches"]):
        with record.step(i):
            record("loss", number(code.train_step(model, optimizer, tokens.clone())))
            record("parameters", parameters_of(model))
    with record.step("stale"):
        model = make_model(code, case, record.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=case["lr"])
        names = parameters_of(model)
        for name, value in case["stale"].items():
            names[name].grad = value.clone()
        record("loss", number(code.train_step(model, optimizer, case["batches"][0].clone())))
        record("parameters", parameters_of(model))


def probe_step_mode(code, given, record):
    """Steps with rate 0 on a model in eval mode: its losses differ only by dropout."""
    case = given["drop"]["model"]
    model = make_model(code, case, record.device, 0.4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    model.eval()
    losses = []
    for _ in range(4):
        losses.append(number(code.train_step(model, optimizer, given["drop"]["tokens"].clone())))
    record("losses", losses)
    model.train()
    record("own", [model.loss(given["drop"]["tokens"].clone()) for _ in range(2)])


def probe_overfit(code, given, record):
    case = given["overfit"]
    model = code.MiniGPT(*case["sizes"]).to(record.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
    losses = [number(code.train_step(model, optimizer, case["tokens"].clone())) for _ in range(100)]
    record("losses", losses)
    record("parameters", parameters_of(model))
    record("eps", model_eps(model))


def silence(block, name):
    with torch.no_grad():
        getattr(block, name).weight.zero_()
        getattr(block, name).bias.zero_()


def record_branches(block, x, record):
    """Only one branch at a time gives anything, so that what it adds can be seen."""
    weights = {name: p.detach().clone() for name, p in block.named_parameters()}
    for name, other in (("proj", "out"), ("out", "proj")):
        with record.step(name):
            fill(block, weights)
            silence(block, other)
            block.train()
            record("train", block(x.clone()))
            record("again", block(x.clone()))
            block.eval()
            record("eval", block(x.clone()))
    fill(block, weights)


def probe_dropout(code, given, record):
    case = given["drop"]
    with record.step("block"):
        block = make_block(code, case["heads"], case["weights"], record.device, case["p"])
        record("eps", block_eps(block))
        record_branches(block, case["x"], record)
        block.eval()
        record("eval", block(case["x"].clone()))
    with record.step("model"):
        model = make_model(code, case["model"], record.device, case["p"])
        record("eps", model_eps(model))
        for i, block in enumerate(model.blocks):
            with record.step(i):
                record_branches(block, case["x"], record)
        model.eval()
        record("eval", model(case["tokens"].clone()))
        for block in model.blocks:
            silence(block, "proj")
            silence(block, "out")
        model.train()
        record("silent", model(case["tokens"].clone()))
        record("silent_again", model(case["tokens"].clone()))


def greedy(model, case):
    """What the submission's own logits give, step by step."""
    tokens = case["tokens"].clone()
    with torch.no_grad():
        for _ in range(case["n_new"]):
            best = model(tokens[:, -case["sizes"][1] :].clone())[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, best], dim=1)
    return tokens


def probe_generate(code, given, record):
    for i, case in enumerate(given["generate"]):
        with record.step(i):
            model = make_model(code, case, record.device)
            record("eps", model_eps(model))
            record("own", greedy(model, case))
            record("out", model.generate(case["tokens"].clone(), case["n_new"]))
            record("none", model.generate(case["tokens"].clone(), 0))
            record("one", model.generate(case["tokens"].clone(), 1))
            with record.step("dropout"):
                model = make_model(code, case, record.device, 0.5)
                model.train()
                record("out", model.generate(case["tokens"].clone(), case["n_new"]))


def probe_modes(code, given, record):
    case = given["generate"][0]
    x = torch.stack([case["weights"]["tok_emb.weight"], case["weights"]["tok_emb.weight"].flip(0)])
    for name in ("train", "eval", "mixed"):
        with record.step(name):
            model = make_model(code, case, record.device, 0.5)
            model.train(name != "eval")
            if name == "mixed":
                model.blocks[0].eval()
            drops = [[block(x.clone()), block(x.clone())] for block in model.blocks]
            modes = {path: module.training for path, module in model.named_modules()}
            model.generate(case["tokens"].clone(), 2)
            record("before", modes)
            record("after", {path: module.training for path, module in model.named_modules()})
            for i, block in enumerate(model.blocks):
                record(f"block{i}", [drops[i], block(x.clone()), block(x.clone())])
    with record.step("second"):
        model = make_model(code, case, record.device, 0.5)
        model.train()
        model.generate(case["tokens"].clone(), 2)
        model.eval()
        record("before", {path: module.training for path, module in model.named_modules()})
        model.generate(case["tokens"].clone(), 2)
        record("after", {path: module.training for path, module in model.named_modules()})


def probe_long(code, given, record):
    for i, case in enumerate(given["long"]):
        with record.step(i):
            model = make_model(code, case, record.device)
            record("eps", model_eps(model))
            record("own", greedy(model, case))
            record("out", model.generate(case["tokens"].clone(), case["n_new"]))


def probe_no_labels(code, given, record):
    case = given["models"][0]
    tokens = case["tokens"][0]
    nothing = torch.full_like(tokens, -100)
    first = nothing.clone()
    first[:, 0] = tokens[:, 0]
    for name, labels in (("nothing", nothing), ("first", first)):
        with record.step(name):
            model = make_model(code, case, record.device)
            loss = model.loss(tokens.clone(), labels)
            record("loss", loss)
            with record.step("backward"):
                loss.backward()
                record("gradients", [p.grad for p in model.parameters()])


def probe_caller(code, given, record):
    """Whether the caller's tensors stay as they are."""
    case, tokens, labels = given["models"][0], given["losses"][0]["tokens"], given["losses"][0]["labels"]
    model = make_model(code, case, record.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    calls = {
        "forward": lambda t, y: model(t),  # noqa: ARG005
        "loss": lambda t, y: model.loss(t, y),
        "generate": lambda t, y: model.generate(t[:, :3], 6),  # noqa: ARG005
        "train_step": lambda t, y: code.train_step(model, optimizer, t),  # noqa: ARG005
    }
    for name, call in calls.items():
        with record.step(name):
            mine, targets = tokens.clone(), labels.clone()
            call(mine, targets)
            record("tokens", mine)
            record("labels", targets)
    with record.step("block"):
        case = given["blocks"][0]
        block = make_block(code, case["heads"], case["weights"], record.device)
        x = case["x"].clone()
        with torch.no_grad():
            block(x)
        record("x", x)


def probe_errors(code, given, record):
    bad_models = {
        "vocab_size": (0, 6, 6, 2, 1),
        "max_len": (7, 0, 6, 2, 1),
        "d_model": (7, 6, 0, 2, 1),
        "n_heads": (7, 6, 6, 0, 1),
        "n_layers": (7, 6, 6, 2, 0),
        "negative n_heads": (7, 6, 6, -2, 1),
        "negative n_layers": (7, 6, 6, 2, -1),
        "divisible": (7, 6, 6, 4, 1),
        "dropout 1": (7, 6, 6, 2, 1, 1.0),
        "dropout above 1": (7, 6, 6, 2, 1, 1.2),
        "negative dropout": (7, 6, 6, 2, 1, -0.1),
    }
    bad_blocks = {
        "d_model": (0, 1),
        "n_heads": (6, 0),
        "negative n_heads": (6, -2),
        "divisible": (6, 4),
        "dropout 1": (6, 2, 1.0),
        "dropout above 1": (6, 2, 1.2),
        "negative dropout": (6, 2, -0.1),
    }
    for name, sizes in bad_models.items():
        record.raises(f"model {name}", lambda sizes=sizes: code.MiniGPT(*sizes) and None)
    for name, sizes in bad_blocks.items():
        record.raises(f"block {name}", lambda sizes=sizes: code.Block(*sizes) and None)
    with record.step("calls"):
        case = given["models"][0]
        vocab, max_len = case["sizes"][:2]
        model = make_model(code, case, record.device)
        tokens = torch.arange(2 * (max_len + 1), device=record.device).view(2, max_len + 1) % vocab
        few = tokens[:, :4].clone()
        record.raises("empty", lambda: model(tokens[:, :0]))
        record.raises("long", lambda: model(tokens.clone()))
        record.raises("loss of one", lambda: model.loss(tokens[:, :1].clone()))
        record.raises("loss of none", lambda: model.loss(tokens[:, :0].clone()))
        record.raises("labels shorter", lambda: model.loss(few.clone(), few[:, :3].clone()))
        record.raises("labels shifted", lambda: model.loss(few.clone(), few[:, 1:].clone()))
        record.raises("labels longer", lambda: model.loss(few.clone(), tokens[:, :5].clone()))
        record.raises("labels batch", lambda: model.loss(few.clone(), few[:1].clone()))
        record.raises("labels column", lambda: model.loss(few.clone(), few.unsqueeze(-1)))
        record.raises("labels flat", lambda: model.loss(few.clone(), few.flatten()))
        record.raises("n_new", lambda: model.generate(few.clone(), -1))
    with record.step("smallest"):
        model = code.MiniGPT(1, 1, 1, 1, 1).to(record.device)
        record("out", model(torch.zeros(1, 1, dtype=torch.int64, device=record.device)))
