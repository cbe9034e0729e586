import torch
import torch.nn.functional as F
from torch import nn

from quizapp.judge.testing.probes import filled_linear


def inputs(draw):
    cases = []
    for rank, alpha, dtype, bias in (
        (3, 7.0, torch.float32, True),
        (2, 0.5, torch.float32, False),
        (1, 3.0, torch.float64, True),
    ):
        d_in, d_out = draw.sizes(2, 5, 11)
        d_batch, d_seq = draw.sizes(2, 3, 6)
        cases.append(
            {
                "rank": rank,
                "alpha": alpha,
                "weight": draw.normal(d_out, d_in, scale=0.5, dtype=dtype),
                "bias": draw.normal(d_out, shift=1.5, dtype=dtype) if bias else None,
                "A": draw.normal(rank, d_in, dtype=dtype),
                "B": draw.normal(d_out, rank, dtype=dtype),
                "magnitude": draw.rand(d_out, low=0.4, high=2.5, dtype=dtype),
                "x": [
                    draw.normal(d_in, dtype=dtype),
                    draw.normal(d_batch, d_in, dtype=dtype),
                    draw.normal(d_batch, d_seq, d_in, dtype=dtype),
                    draw.normal(2, d_seq, 3, d_in, dtype=dtype),
                    draw.normal(d_batch, d_in, dtype=dtype),
                    draw.normal(1, d_in, dtype=dtype),
                ],
                "upstream": draw.normal(d_batch, d_seq, d_out, dtype=dtype),
            }
        )
        cases[-1]["magnitude"][1] *= -1.0
    d_in, d_out = draw.sizes(2, 6, 11)
    dead, tiny = draw.sample(range(d_out), 2)
    weight = draw.rand(d_out, d_in, low=0.3, high=1.0)
    weight[dead] = 0.0
    weight[tiny] *= 1e-5
    return {
        "cases": cases,
        "rows": {
            "weight": weight,
            "bias": draw.normal(d_out),
            "dead": dead,
            "tiny": tiny,
            "x": draw.rand(4, d_in, low=0.5, high=1.5),
            "upstream": draw.normal(4, d_out),
            "A": draw.normal(2, d_in),
            "B": draw.normal(d_out, 2),
            "magnitude": draw.rand(d_out, low=0.4, high=1.5),
        },
    }


def fill(layer, case):
    with torch.no_grad():
        layer.lora_A.copy_(case["A"])
        layer.lora_B.copy_(case["B"])
        layer.magnitude.copy_(case["magnitude"])


def adapter(code, case, base=None, *, filled=True):
    layer = code.DoRALinear(base or filled_linear(case["weight"], case["bias"]), case["rank"], case["alpha"])
    if filled:
        fill(layer, case)
    return layer


def probe_fresh(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case, filled=False)
            record("A", layer.lora_A)
            record("B", layer.lora_B)
            record("magnitude", layer.magnitude)
            record("other_A", adapter(code, case, filled=False).lora_A)
            for k, x in enumerate(case["x"]):
                with record.step(k):
                    record("out", layer(x))


def probe_formula(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case)
            for k, x in enumerate(case["x"]):
                with record.step(k):
                    record("out", layer(x))
                    record("x", x)
            with record.step("strided"):
                record("out", layer(case["x"][2].transpose(0, 1).contiguous().transpose(0, 1)))
            for name in ("train", "eval"):
                layer = adapter(code, case, filled=False)
                layer.train(name == "train")
                layer(case["x"][1])
                fill(layer, case)
                record(name, layer(case["x"][1]))
            with torch.no_grad():
                record("no_grad", layer(case["x"][1]))


def ids(*tensors):
    return sorted(id(t) for t in tensors)


def probe_gradients(code, given, record):
    for i, case in enumerate(given["cases"]):
        for name in ("fresh", "filled", "evaluated"):
            with record.step(f"{name}{i}"):
                base = filled_linear(case["weight"], case["bias"])
                weight, bias = base.weight, base.bias
                layer = adapter(code, case, base, filled=name != "fresh")
                layer.train(name != "evaluated")
                trained = [p for p in layer.parameters() if p.requires_grad]
                record("trained", sorted([list(p.shape) for p in trained]))
                record("exactly", ids(*trained) == ids(layer.lora_A, layer.lora_B, layer.magnitude))
                record("A_start", layer.lora_A)
                x = case["x"][2].clone().requires_grad_()
                layer(x).backward(case["upstream"])
                record("x", x.grad)
                record("A", layer.lora_A.grad)
                record("B", layer.lora_B.grad)
                record("magnitude", layer.magnitude.grad)
                record("weight", weight.grad)
                record("bias", None if bias is None else bias.grad)
                record("weight_now", weight)
                record("bias_now", bias)


def probe_rows(code, given, record):
    case = given["rows"]
    for name, bias in (("plain", None), ("biased", case["bias"])):
        with record.step(name):
            layer = code.DoRALinear(filled_linear(case["weight"], bias), 2, 3.0)
            x = case["x"].clone().requires_grad_()
            out = layer(x)
            record("out", out)
            with record.step("merged"):
                record("rows", F.linear(case["x"], layer.merge().weight))  # test_merged_output has the bias
            out.backward(case["upstream"])
            for key, grad in (
                ("x", x),
                ("A", layer.lora_A),
                ("B", layer.lora_B),
                ("magnitude", layer.magnitude),
            ):
                record(f"grad_{key}", grad.grad)
    layer = code.DoRALinear(filled_linear(case["weight"], case["bias"]), 2, 3.0)
    with torch.no_grad():
        layer.magnitude.copy_(case["magnitude"])
    with record.step("longer"):  # the magnitude of a dead row is no longer 0, its direction still is
        record("out", layer(case["x"]))
    fill(layer, case)
    with record.step("turned"):  # lora_B gives the dead row a direction
        record("out", layer(case["x"]))


def state(layer):
    return {
        "values": {name: value.detach().clone() for name, value in layer.state_dict().items()},
        "flags": {name: p.requires_grad for name, p in layer.named_parameters()},
        "training": [module.training for module in layer.modules()],
    }


def probe_merge(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            base = filled_linear(case["weight"], case["bias"])
            base_bias = base.bias
            layer = adapter(code, case, base)
            before = state(layer)
            merged = layer.merge()
            record("before", before)
            record("after", state(layer))
            record("plain", type(merged) is nn.Linear)
            hooks = (merged._forward_hooks, merged._forward_pre_hooks, merged._backward_hooks)
            record("hooks", sum(len(found) for found in hooks))
            record("names", sorted(name for name, _ in merged.named_parameters()))
            record("features", [merged.in_features, merged.out_features])
            record("dtypes", [str(p.dtype) for p in merged.parameters()])
            record("devices", all(p.device == record.device for p in merged.parameters()))
            for k, x in enumerate(case["x"]):
                record(f"out{k}", merged(x))
            record("second", layer.merge()(case["x"][1]))
            with torch.no_grad():
                for p in merged.parameters():
                    p.fill_(7.0)
            record("adapter", layer(case["x"][1]))
            again = layer.merge()
            with torch.no_grad():
                layer.magnitude.mul_(2.0)
            record("doubled", layer.merge()(case["x"][1]))
            with torch.no_grad():
                for p in layer.parameters():
                    p.fill_(3.0)
                if base_bias is not None:
                    base_bias.fill_(3.0)
            record("kept", again(case["x"][1]))


def probe_merge_fresh(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = adapter(code, case, filled=False)
            merged = layer.merge()
            with torch.no_grad():
                for p in merged.parameters():
                    p.fill_(7.0)
            record("adapter", layer(case["x"][1]))


def kind(tensor):
    return [str(tensor.dtype).removeprefix("torch."), tensor.device.type]


def probe_dtypes(code, given, record):
    case = given["cases"][0]
    for name, dtype in (("float64", torch.float64), ("bfloat16", torch.bfloat16), ("float32", torch.float32)):
        with record.step(name):
            layer = code.DoRALinear(filled_linear(case["weight"], case["bias"], dtype), 3, 2.0)
            record("params", [kind(p) for p in (layer.lora_A, layer.lora_B, layer.magnitude)])
            record("all", sorted({str(p.dtype).removeprefix("torch.") for p in layer.parameters()}))
            record("out", layer(case["x"][1].to(dtype)))
            with record.step("merged"):
                record("out", layer.merge()(case["x"][1].to(dtype)))
    for name, dtype in (("meta", torch.float32), ("meta_half", torch.bfloat16)):
        with record.step(name):
            layer = code.DoRALinear(nn.Linear(6, 5, device="meta", dtype=dtype), 3, 2.0)
            record("params", [kind(p) for p in (layer.lora_A, layer.lora_B, layer.magnitude)])
    with record.step("meta_default"):  # what names no device lands on meta, away from the base
        base = nn.Linear(6, 5, device=record.device)
        with torch.device("meta"):
            layer = code.DoRALinear(base, 3, 2.0)
        record("params", [kind(p) for p in (layer.lora_A, layer.lora_B, layer.magnitude)])


def probe_errors(code, given, record):
    for name, rank in (("zero", 0), ("negative", -2)):
        record.raises(
            name, lambda rank=rank: code.DoRALinear(nn.Linear(5, 3, device=record.device), rank, 1.0)
        )
    with record.step("valid"):
        layers = [code.DoRALinear(nn.Linear(5, 3, device=record.device), rank, 1.0) for rank in (1, 3, 7)]
        record("shapes", [[list(layer.lora_A.shape), list(layer.lora_B.shape)] for layer in layers])
