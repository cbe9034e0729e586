from collections import OrderedDict

import torch
from torch import nn

from quizapp.judge.testing.probes import filled_linear


def inputs(draw):
    cases = []
    for rank, alpha, dtype, bias in (
        (3, 7.0, torch.float32, True),
        (2, 0.5, torch.float32, False),
        (1, 3.0, torch.float64, True),
        (2, 3.0, torch.float32, True),
    ):
        d_in, d_out = draw.sizes(2, 5, 11)
        if len(cases) == 3:
            d_out = d_in  # a transposed update fits too
        d_batch, d_seq = draw.sizes(2, 3, 6)
        cases.append(
            {
                "rank": rank,
                "alpha": alpha,
                "weight": draw.normal(d_out, d_in, scale=0.4, dtype=dtype),
                "bias": draw.normal(d_out, dtype=dtype) if bias else None,
                "A": draw.normal(rank, d_in, dtype=dtype),
                "B": draw.normal(d_out, rank, dtype=dtype),
                "x": [
                    draw.normal(d_in, dtype=dtype),
                    draw.normal(d_batch, d_in, dtype=dtype),
                    draw.normal(d_batch, d_seq, d_in, dtype=dtype),
                    draw.normal(2, d_seq, 3, d_in, dtype=dtype),
                    draw.normal(d_batch, d_seq, d_in, dtype=dtype),
                ],
                "grad": draw.normal(d_batch, d_seq, d_out, dtype=dtype),
            }
        )
    d_in, d_out = draw.sizes(2, 5, 11)
    rows = 140 * d_in
    drop = {
        "p": draw.uniform(0.2, 0.35),
        "rank": 2,
        "alpha": 3.0,
        "weight": draw.normal(d_out, d_in),
        "bias": draw.normal(d_out),
        "A": draw.rand(2, d_in, low=0.5, high=1.5),
        "B": draw.rand(d_out, 2, low=0.5, high=1.5),
        "x": torch.eye(d_in).repeat(140, 1) * draw.rand(rows, 1, low=1.0, high=2.0),
    }
    width, inner = draw.sizes(2, 5, 9)
    return {
        "cases": cases,
        "drop": drop,
        "train": {
            "weight": draw.normal(7, 6, scale=0.3),
            "bias": draw.normal(7),
            "x": draw.normal(24, 6),
            "target": draw.normal(7, 6, scale=0.3),
        },
        "model": {"width": width, "inner": inner, "tokens": draw.integers(0, 13, 3, 5)},
    }


def base_layer(case):
    return filled_linear(case["weight"], case["bias"])


def adapter(code, case, base=None, *, filled=True):
    layer = code.LoRALinear(base or base_layer(case), case["rank"], case["alpha"])
    if filled:
        fill(layer, case["A"], case["B"])
    return layer


def fill(layer, a, b):
    with torch.no_grad():
        layer.lora_A.copy_(a)
        layer.lora_B.copy_(b)


def turned(x):
    """``x`` with its first two dimensions exchanged in memory, so that it has no flat view."""
    return x.transpose(0, 1).contiguous().transpose(0, 1)


def probe_fresh(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case, filled=False)
            for k, x in enumerate(case["x"]):
                with record.step(k):
                    record("out", layer(x))


def probe_formula(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case)
            case["x"][4] = turned(case["x"][4])
            for k, x in enumerate(case["x"]):
                with record.step(k):
                    record("out", layer(x))
                    record("x", x)
            x = case["x"][4]
            layer.eval()
            layer(x)
            fill(layer, 2 * case["A"], case["B"])
            record("refilled", layer(x))


def probe_gradients(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            base = base_layer(case)
            layer = adapter(code, case, base)
            record("trainable", sorted(list(p.shape) for p in layer.parameters() if p.requires_grad))
            x = case["x"][2].clone().requires_grad_()
            layer(x).backward(case["grad"])
            record("x", x.grad)
            record("A", layer.lora_A.grad)
            record("B", layer.lora_B.grad)
            record("weight", base.weight.grad)
            record("bias", None if base.bias is None else base.bias.grad)
            tensors = [*layer.parameters(), *layer.buffers()]
            large = [t for t in tensors if t.numel() >= base.weight.numel()]
            record("weights_kept", len({t.untyped_storage().data_ptr() for t in large}))
            layer.eval()
            x = case["x"][2].clone().requires_grad_()
            layer(x).backward(case["grad"])
            record("x_in_eval", x.grad)


def probe_start(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case, filled=False)
            record("A", layer.lora_A)
            layer(case["x"][2]).backward(case["grad"])
            record("grad_B", layer.lora_B.grad)
    case = given["train"]
    with record.step("train"):
        base = base_layer(case)
        weight, bias = base.weight, base.bias
        layer = code.LoRALinear(base, 2, 3.0)
        optimizer = torch.optim.Adam([layer.lora_A, layer.lora_B], lr=0.02)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = (layer(case["x"]) - case["x"] @ case["target"].T).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        record("losses", losses)
        record("weight", weight)
        record("bias", bias)


def kind(tensor):
    return [str(tensor.dtype).removeprefix("torch."), tensor.device.type]


def probe_dtypes(code, given, record):
    for name, dtype, device in (
        ("double", torch.float64, record.device),
        ("bfloat", torch.bfloat16, record.device),
        ("meta", torch.float32, "meta"),
        ("meta_double", torch.float64, "meta"),
    ):
        with record.step(name):
            base = nn.Linear(6, 5, device=device, dtype=dtype)
            layer = code.LoRALinear(base, 3, 2.0)
            record("A", kind(layer.lora_A))
            record("B", kind(layer.lora_B))
            record("shapes", [list(layer.lora_A.shape), list(layer.lora_B.shape)])
            record("out", kind(layer(torch.ones(2, 6, device=device, dtype=dtype))))
            merged = layer.merge()
            record("merged", [kind(merged.weight), kind(merged.bias)])


def probe_dropout(code, given, record):
    case = given["drop"]
    layer = code.LoRALinear(base_layer(case), case["rank"], case["alpha"], dropout=case["p"])
    fill(layer, case["A"], case["B"])
    layer.train()
    with record.step("train"):
        record("out", layer(case["x"]))
        record("x", case["x"])
        with torch.no_grad():
            record("without_graph", layer(case["x"]))
    layer.eval()
    with record.step("eval"):
        record("first", layer(case["x"]))
        record("second", layer(case["x"]))
    with record.step("merge"):
        record("out", layer.train().merge()(case["x"][:20]))


def probe_merge(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case)
            merged = layer.merge()
            record("plain", type(merged) is nn.Linear)
            hooks = (merged._forward_hooks, merged._forward_pre_hooks, merged._backward_hooks)
            record("hooks", sum(len(found) for found in hooks))
            record("names", sorted(name for name, _ in merged.named_parameters()))
            record("features", [merged.in_features, merged.out_features])
            for k, x in enumerate(case["x"]):
                record(f"out{k}", merged(x))
    with record.step("hooked"):
        base, calls = base_layer(given["cases"][0]), []
        base.register_forward_hook(lambda *_: calls.append("after"))
        base.register_forward_pre_hook(lambda *_: calls.append("before"))
        merged = adapter(code, given["cases"][0], base).merge()
        calls.clear()
        merged(given["cases"][0]["x"][1])
        record("calls", list(calls))


def state(layer):
    flags = {name: p.requires_grad for name, p in layer.named_parameters()}
    values = {name: value.detach().clone() for name, value in layer.state_dict().items()}
    grads = {name: None if p.grad is None else p.grad.clone() for name, p in layer.named_parameters()}
    return {"flags": flags, "values": values, "grads": grads, "training": layer.training}


def probe_merge_again(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case)
            x = case["x"][1]
            layer(x).sum().backward()
            record("before", state(layer))
            first = layer.merge()
            record("after", state(layer))
            record("first", first(x))
            record("second", layer.merge()(x))
            record("adapter", layer(x))
            with torch.no_grad():
                for parameter in first.parameters():
                    parameter.fill_(9.0)
            record("after_edit", layer(x))
            fill(layer, 2 * case["A"], case["B"])
            record("third", layer.merge()(x))
    case = given["cases"][0]
    with record.step("fresh"):
        layer = adapter(code, case, filled=False)
        merged = layer.merge()
        record("before_edit", layer(case["x"][1]))
        with torch.no_grad():
            for parameter in merged.parameters():
                parameter.fill_(9.0)
        record("after_edit", layer(case["x"][1]))
    with record.step("reverse"):
        base = base_layer(case)
        layer = adapter(code, case, base)
        merged = layer.merge()
        record("before_edit", merged(case["x"][1]))
        with torch.no_grad():
            base.weight.fill_(9.0)
            base.bias.fill_(9.0)
            layer.lora_A.fill_(9.0)
        record("after_edit", merged(case["x"][1]))


class Special(nn.Linear):
    """A linear layer with a job of its own."""


class Block(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wq = nn.Linear(width, inner)
        self.wv = nn.Linear(width, inner, bias=False)
        self.wq_up = nn.Linear(width, inner)
        self.up_wq = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(torch.tanh(self.wq(h)) * self.wv(h) + self.wq_up(h) + self.up_wq(h))


class Tagger(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.embed = nn.Embedding(13, width)
        self.lora_position = nn.Parameter(torch.randn(5, width))
        self.wq = nn.Linear(width, width)
        self.blocks = nn.ModuleList([Block(width, inner), Block(width, inner)])
        self.branches = nn.ModuleDict({"wv": nn.Linear(width, inner), "wq": nn.LayerNorm(inner)})
        self.tail = nn.Sequential(
            OrderedDict(
                wq=nn.Tanh(),
                deep=nn.Sequential(OrderedDict(wv=nn.Linear(inner, inner))),
            )
        )
        self.outer = nn.Module()
        self.outer.wv = nn.Sequential(nn.ModuleList([nn.ModuleDict({"wq": nn.Linear(inner, inner)})]))
        self.outer.WQ = nn.Linear(inner, inner)
        self.head = nn.Linear(inner, 3)

    def forward(self, tokens):
        x = self.wq(self.embed(tokens) + self.lora_position)
        for block in self.blocks:
            x = block(x)
        x = self.tail(self.branches["wq"](self.branches["wv"](x)))
        return self.head(self.outer.WQ(x) + self.outer.wv[0][0]["wq"](x))


def tagger(given, device):
    return Tagger(given["model"]["width"], given["model"]["inner"]).to(device)


def adapters(code, model):
    return {name: m for name, m in model.named_modules() if isinstance(m, code.LoRALinear)}


def survey(code, model):
    """Which adapters there are and what requires gradients."""
    found = adapters(code, model)
    factors = {id(f) for m in found.values() for f in (m.lora_A, m.lora_B)}
    return {
        "adapters": sorted(found),
        "outside": sorted(
            name for name, p in model.named_parameters() if p.requires_grad and id(p) not in factors
        ),
        "frozen": sorted(
            name for name, m in found.items() if not (m.lora_A.requires_grad and m.lora_B.requires_grad)
        ),
        "count": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }


def probe_inject(code, given, record):
    tokens = given["model"]["tokens"]
    model = tagger(given, record.device)
    kinds = {name: type(m).__name__ for name, m in model.named_modules()}
    with record.step("first"):
        record("before", model(tokens))
        record("returned", code.inject_lora(model, ["wq", "wv"], 2, 3.0))
        record("after", model(tokens))
        record("survey", survey(code, model))
        now = {name: type(m).__name__ for name, m in model.named_modules() if name in kinds}
        record("kinds", {name: [kinds[name], now.get(name)] for name in kinds})
    with record.step("again"):
        names = {name for m in adapters(code, model).values() for name, _ in m.named_children()}
        record("returned", code.inject_lora(model, {"wq", "wv", *names}, 2, 3.0))
        record("survey", survey(code, model))
    with record.step("more"):
        record("returned", code.inject_lora(model, ("head",), 1, 3.0))
        record("survey", survey(code, model))
        record("after", model(tokens))
    with record.step("trained"):
        model = tagger(given, record.device)
        code.inject_lora(model, ["wq", "wv"], 2, 3.0)
        with torch.no_grad():
            for layer in adapters(code, model).values():
                layer.lora_B.fill_(0.1)
        record("before", model(tokens))
        code.inject_lora(model, ["wq", "head"], 1, 5.0)
        record("after", model(tokens))
    with record.step("thawed"):  # a model of its own, because the step before can end early
        model = tagger(given, record.device)
        code.inject_lora(model, ["wq", "wv"], 2, 3.0)
        code.inject_lora(model, ["head"], 1, 5.0)
        model.requires_grad_(True)
        code.inject_lora(model, ["absent"], 2, 3.0)
        record("survey", survey(code, model))
    with record.step("frozen"):
        model.requires_grad_(False)
        code.inject_lora(model, ["absent"], 2, 3.0)
        record("survey", survey(code, model))
    with record.step("nothing"):
        model = tagger(given, record.device)
        record(
            "returned", code.inject_lora(model, ["w", "q", "proj", "shutdown", "headless", "wq_wv"], 2, 3.0)
        )
        record("survey", survey(code, model))
    with record.step("digit"):
        model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 6), nn.Sequential(nn.Linear(6, 3)))
        record("returned", code.inject_lora(model, frozenset(["2"]), 2, 3.0))
        record("survey", survey(code, model))
    with record.step("special"):
        deep = nn.Sequential(OrderedDict(wq=nn.Linear(5, 3)))
        model = nn.Sequential(OrderedDict(wq=Special(3, 5), deep=deep))
        record("returned", code.inject_lora(model, ["wq"], 2, 3.0))
        record("survey", survey(code, model))


def probe_reuse(code, given, record):
    """The wrapped layer works on the tensors that the model had before."""
    case = given["cases"][0]
    base = base_layer(case)
    weight, bias = base.weight, base.bias
    model = nn.Sequential(OrderedDict(first=base))
    code.inject_lora(model, ["first"], case["rank"], case["alpha"])
    record("before", model(case["x"][1]))
    with torch.no_grad():
        weight.mul_(3.0)
        bias.mul_(3.0)
    record("after", model(case["x"][1]))
    fill(model.first, case["A"], case["B"])
    record("filled", model(case["x"][1]))


def probe_modes(code, given, record):
    tokens = given["model"]["tokens"]
    for name in ("eval", "train", "mixed"):
        with record.step(name):
            model = tagger(given, record.device).train(name != "eval")
            if name == "mixed":
                model.blocks[0].eval()
                model.blocks[1].wv.eval()
            before = {path: m.training for path, m in model.named_modules()}
            code.inject_lora(model, ["wq", "wv"], 2, 3.0, dropout=0.5)
            after = {path: m.training for path, m in model.named_modules() if path in before}
            record("before", before)
            record("after", after)
            with torch.no_grad():
                for layer in adapters(code, model).values():
                    layer.lora_A.fill_(0.3)
                    layer.lora_B.fill_(0.5)
            record("outs", [model(tokens), model(tokens)])
            x = torch.ones(40, given["model"]["width"], device=record.device)
            record("eval_layer", [model.blocks[0].wq(x), model.blocks[0].wq(x)])
            record("train_layer", [model.blocks[1].wq(x), model.blocks[1].wq(x)])


def probe_errors(code, given, record):
    def make(rank, dropout=0.0):
        return type(code.LoRALinear(nn.Linear(3, 5), rank, 1.0, dropout)).__name__

    def inject(rank, dropout=0.0):
        return code.inject_lora(nn.Sequential(OrderedDict(wq=nn.Linear(3, 5))), ["wq"], rank, 1.0, dropout)

    for name, build in (("make", make), ("inject", inject)):
        with record.step(name):
            record.raises("zero", lambda b=build: b(0))
            record.raises("negative", lambda b=build: b(-2))
            record.raises("one", lambda b=build: b(2, 1.0))
            record.raises("above", lambda b=build: b(2, 1.5))
            record.raises("below", lambda b=build: b(2, -0.1))
    with record.step("valid"):
        record("names", [make(1), make(1, 0.0), make(9, 0.99)])
