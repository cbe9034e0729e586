import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from quizapp.judge.testing.probes import distributed, filled_linear
from quizapp.judge.testing.ranks import calls, first_and_last, together, watch
from quizapp.judge.testing.traffic import Wire, close_side_channels

D, H, K = 5, 12, 7  # H splits over 2, 3 and 4 ranks
LEADS = [(), (3,), (2, 3), (2, 1, 3)]


def linear(draw, d_in, d_out, bias, dtype):
    return {
        "weight": draw.normal(d_out, d_in, scale=0.6, dtype=dtype),
        "bias": draw.normal(d_out, shift=0.7, dtype=dtype) if bias else None,
    }


def inputs(draw):
    blocks = []
    for lead, bias, dtype in (
        (LEADS[0], True, torch.float32),
        (LEADS[1], False, torch.float32),
        (LEADS[2], True, torch.float64),
        (LEADS[3], True, torch.float32),
        (LEADS[1], True, torch.float32),
    ):
        blocks.append(
            {
                "up": linear(draw, D, H, bias, dtype),
                "down": linear(draw, H, K, bias, dtype),
                "x": draw.normal(*lead, D, dtype=dtype),
                "c": draw.normal(*lead, K, dtype=dtype),
            }
        )
    stack = {
        "layers": [
            [linear(draw, D, H, True, torch.float32), linear(draw, H, D, True, torch.float32)] for _ in "ab"
        ],
        "x": draw.normal(2, 3, D),
        "c": draw.normal(2, 3, D),
    }
    row = {"down": linear(draw, H, K, True, torch.float32), "x": draw.normal(4, H)}
    turned = {"column": draw.normal(3, 1, 2, H), "row": draw.normal(3, 1, 2, K)}
    return {"blocks": blocks, "stack": stack, "row": row, "turned": turned}


def full(values):
    return filled_linear(values["weight"].cpu(), values["bias"])


def memory(tensor, *others):
    """Bytes of the storage, and whether it is shared with another tensor."""
    if not isinstance(tensor, torch.Tensor):
        return None
    storage = tensor.untyped_storage()
    shared = any(
        storage.data_ptr() == other.untyped_storage().data_ptr() for other in others if other is not None
    )
    return [storage.nbytes(), tensor.numel() * tensor.element_size(), shared]


def describe_layer(record, name, layer, source):
    for key in ("weight", "bias"):
        value = getattr(layer, key)
        record(f"{name}/{key}", value)
        record(f"{name}/{key}_memory", memory(value, source.weight, source.bias))
        record(f"{name}/{key}_parameter", isinstance(value, nn.Parameter))
    record(f"{name}/elements", sum(p.numel() for p in layer.parameters()))
    record(f"{name}/full", [source.weight, source.bias])
    record(f"{name}/trained", [p.requires_grad for p in source.parameters()])


SUB = first_and_last()  # before anything is locked up
if watch():
    close_side_channels()


def device_of(layer):
    return [layer.weight.device.type, layer.bias.device.type]


@distributed
def probe_layers(code, given, record):
    block = given["blocks"][3]
    with together(record, "slices"):
        for name, kind, key in (
            ("column", code.ColumnParallelLinear, "up"),
            ("row", code.RowParallelLinear, "down"),
        ):
            source = full(block[key])
            describe_layer(record, name, kind(source), source)
    with together(record, "plain"):
        source = full(given["blocks"][1]["up"])
        describe_layer(record, "column", code.ColumnParallelLinear(source), source)
        source = full(given["blocks"][2]["down"])
        describe_layer(record, "row", code.RowParallelLinear(source), source)
    with together(record, "elsewhere"):
        record("column", device_of(code.ColumnParallelLinear(nn.Linear(D, H, device="meta"))))
        record("row", device_of(code.RowParallelLinear(nn.Linear(H, K, device="meta"))))
    with together(record, "forward"):
        layer = code.ColumnParallelLinear(full(block["up"]))
        record("made", [list(call) for call in calls])
        calls.clear()
        record("column", layer(block["x"].cpu()))
        record("calls", [list(call) for call in calls])
    with together(record, "row"):
        width = H // record.world
        x = given["row"]["x"].cpu()[:, record.rank * width : (record.rank + 1) * width]
        record("out", code.RowParallelLinear(full(given["row"]["down"]))(x))


def run_block(code, record, block, group=None, *, needs=True):
    more = () if group is None else (group,)
    up = code.ColumnParallelLinear(full(block["up"]), *more)
    down = code.RowParallelLinear(full(block["down"]), *more)
    x = block["x"].cpu().clone().requires_grad_(needs)
    calls.clear()
    out = down(torch.tanh(up(x)))
    record("out", out)
    record("forward_calls", [list(call) for call in calls])
    calls.clear()
    handed = []
    watch_gradients(out.grad_fn, handed)
    (out * block["c"].cpu()).sum().backward()
    record("backward_calls", [list(call) for call in calls])
    record("handed", handed)
    record("x", x)
    record("x_grad", x.grad)
    for name, layer in (("up", up), ("down", down)):
        for key in ("weight", "bias"):
            value = getattr(layer, key)
            record(f"{name}_{key}", None if value is None else value.grad)


def watch_gradients(node, handed):
    """Note every gradient that autograd hands to a node, and a copy of it."""
    found, todo = set(), [node]
    while todo:
        node = todo.pop()
        if node is None or node in found:
            continue
        found.add(node)
        todo += [other for other, _ in node.next_functions]
        if "AccumulateGrad" not in node.name():
            node.register_prehook(
                lambda grads: handed.extend((g, g.clone()) for g in grads if g is not None) or None
            )


@distributed
def probe_blocks(code, given, record):
    for i, block in enumerate(given["blocks"]):
        with together(record, i):
            run_block(code, record, block)
    with together(record, "data"):
        run_block(code, record, given["blocks"][3], needs=False)
    with together(record, "quiet"):
        block = given["blocks"][3]
        up, down = code.ColumnParallelLinear(full(block["up"])), code.RowParallelLinear(full(block["down"]))
        calls.clear()
        with torch.no_grad():
            x = block["x"].cpu().clone()
            hidden = torch.tanh(up.eval()(x))
            record("hidden_before", hidden)
            record("out", down.eval()(hidden))
            record("x_after", x)
            record("hidden_after", hidden)
        record("calls", [list(call) for call in calls])
        with torch.no_grad():
            record("again", down(torch.tanh(up(block["x"].cpu()[0]))))
            record("turned", down(torch.tanh(up(block["x"].cpu().transpose(0, 2)))))
    # The loss weighs the turned output with a contiguous tensor, so the gradient that arrives is not contiguous.
    width = H // record.world
    mine = given["turned"]["column"].cpu()[..., record.rank * width : (record.rank + 1) * width]
    with together(record, "turned_column"):
        column = code.ColumnParallelLinear(full(given["blocks"][3]["up"]))
        x = given["blocks"][3]["x"].cpu().clone().requires_grad_()
        (column(x).transpose(0, 2) * mine.contiguous()).sum().backward()
        record("x_grad", x.grad)
    with together(record, "turned_row"):
        row = code.RowParallelLinear(full(given["blocks"][3]["down"]))
        x = mine.contiguous().requires_grad_()
        out = row(x.transpose(0, 2))
        record("out", out)
        (out.transpose(0, 2) * given["turned"]["row"].cpu()).sum().backward()
        record("x_grad", x.grad)
    with together(record, "kept"):
        for i in (1, 3):  # without and with biases
            block = given["blocks"][i]
            x = block["x"].cpu()
            up, down = (
                code.ColumnParallelLinear(full(block["up"])),
                code.RowParallelLinear(full(block["down"])),
            )
            first = down(torch.tanh(up(x)))
            down(torch.tanh(up(-x)))
            record(f"{i}", first.detach())
    if SUB is not None:
        with together(record, "sub", SUB):
            if dist.get_rank(SUB) >= 0:
                run_block(code, record, given["blocks"][3], SUB)
        with together(record, "both"):
            block = given["blocks"][3]
            up, down = (
                code.ColumnParallelLinear(full(block["up"])),
                code.RowParallelLinear(full(block["down"])),
            )
            if dist.get_rank(SUB) >= 0:
                (
                    code.ColumnParallelLinear(full(block["up"]), SUB),
                    code.RowParallelLinear(full(block["down"]), SUB),
                )
            record("out", down(torch.tanh(up(block["x"].cpu()))))


@distributed
def probe_wire(code, given, record):
    """What leaves the process in two passes through a pair of layers with weights of 120 KiB each."""
    with together(record, "large"):
        up = code.ColumnParallelLinear(nn.Linear(128, 240, bias=False))
        down = code.RowParallelLinear(nn.Linear(240, 128, bias=False))
        wire = Wire()
        for name in ("first", "second"):
            before = wire.sent()
            down(torch.relu(up(torch.ones(2, 128, requires_grad=True)))).sum().backward()
            after = wire.sent()
            record(name, None if before is None or after is None else after - before)


@distributed
def probe_stack(code, given, record):
    stack = given["stack"]
    with together(record, "residual"):
        pairs = [
            (code.ColumnParallelLinear(full(up)), code.RowParallelLinear(full(down)))
            for up, down in stack["layers"]
        ]
        x = stack["x"].cpu().clone().requires_grad_()
        h = x
        for up, down in pairs:
            h = h + down(F.gelu(up(h)))
        record("out", h)
        (h * stack["c"].cpu()).sum().backward()
        record("x_grad", x.grad)
        record("grads", [[layer.weight.grad, layer.bias.grad] for pair in pairs for layer in pair])
    with together(record, "twice"):
        block = given["blocks"][3]
        up, down = code.ColumnParallelLinear(full(block["up"])), code.RowParallelLinear(full(block["down"]))
        x = block["x"].cpu().clone().requires_grad_()
        hidden = up(x)
        out = down(hidden * torch.sigmoid(hidden))
        ((out * block["c"].cpu()).sum() + (out**2).sum()).backward()
        record("x_grad", x.grad)
        record("grads", [up.weight.grad, up.bias.grad, down.weight.grad, down.bias.grad])


@distributed
def probe_errors(code, given, record):
    with together(record, "column"):
        record.raises("call", lambda: code.ColumnParallelLinear(nn.Linear(H, K)) and None)
    with together(record, "row"):
        record.raises("call", lambda: code.RowParallelLinear(nn.Linear(K, H)) and None)
    with together(record, "valid"):
        record("shapes", [list(code.ColumnParallelLinear(nn.Linear(K, H)).weight.shape)])
        record("more", [list(code.RowParallelLinear(nn.Linear(H, K)).weight.shape)])
    with together(record, "narrow"):
        record.raises("column", lambda: code.ColumnParallelLinear(nn.Linear(H, 1)) and None)
        record.raises("row", lambda: code.RowParallelLinear(nn.Linear(1, K)) and None)
    if SUB is not None:  # two of three ranks
        with together(record, "sub", SUB):
            if dist.get_rank(SUB) >= 0:
                record.raises("column", lambda: code.ColumnParallelLinear(nn.Linear(D, 9), SUB) and None)
                record.raises("row", lambda: code.RowParallelLinear(nn.Linear(9, D), SUB) and None)
                record("shape", list(code.ColumnParallelLinear(nn.Linear(D, 10), SUB).weight.shape))
                record("more", list(code.RowParallelLinear(nn.Linear(10, D), SUB).weight.shape))
