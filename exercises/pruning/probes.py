import torch
from torch import nn


def distinct(draw, *shape, scale=1.0, dtype=torch.float32):
    """Values of random sign whose magnitudes all differ by a margin, in random order."""
    count = 1
    for n in shape:
        count *= n
    steps = (draw.permutation(count) + 1 + 0.4 * draw.rand(count)) / count
    signs = draw.integers(0, 2, count) * 2 - 1
    return (steps * signs * scale).to(dtype).view(*shape)


def layer(draw, d_in, d_hidden, d_out, bias1, bias2, dtype=torch.float32):
    """A pair of layers whose neuron scores differ clearly and do not follow the incoming norms."""
    order = draw.permutation(d_hidden).double()
    incoming = torch.exp(0.9 * draw.permutation(d_hidden).double())
    score = torch.exp(0.35 * order)
    w1 = draw.normal(d_hidden, d_in, dtype=torch.float64)
    w1 = w1 / w1.norm(dim=1, keepdim=True) * incoming[:, None]
    w2 = draw.normal(d_out, d_hidden, dtype=torch.float64)
    w2 = w2 / w2.norm(dim=0, keepdim=True) * (score / incoming)[None, :]
    return {
        "w1": w1.to(dtype),
        "b1": draw.normal(d_hidden, dtype=dtype) if bias1 else None,
        "w2": w2.to(dtype),
        "b2": draw.normal(d_out, dtype=dtype) if bias2 else None,
        "x": draw.normal(6, d_in, dtype=dtype),
    }


def peaked(draw, rows, width, norms):
    """Rows of the given L2 norms, by rank in turn one large entry and many equal ones: L1 and maximum rank otherwise."""
    spread = 1 + 0.1 * draw.rand(rows, width)
    single = 0.01 * draw.rand(rows, width)
    single[torch.arange(rows), draw.integers(0, width, rows)] = 1.0
    rank = norms.argsort().argsort()[:, None]
    values = torch.where(rank % 2 == 1, single, spread) * (draw.integers(0, 2, rows, width) * 2 - 1)
    values = values.double()
    return values / values.norm(dim=1, keepdim=True) * norms[:, None]


def norms_matter(draw, d_in, d_hidden, d_out, first):
    """A pair of layers whose scores rank otherwise if the norms of one layer are not L2 norms."""
    case = layer(draw, d_in, d_hidden, d_out, True, True)
    norms = 1.4 ** draw.permutation(d_hidden).double()
    w1, w2 = case["w1"].double(), case["w2"].double().T
    w1 = peaked(draw, d_hidden, d_in, norms) if first else w1 / w1.norm(dim=1, keepdim=True)
    w2 = w2 / w2.norm(dim=1, keepdim=True) if first else peaked(draw, d_hidden, d_out, norms)
    return {**case, "w1": w1.float(), "w2": w2.T.float().contiguous()}


def odd_values(draw, rows, columns):
    """Values among which are NaN, infinities and negative zeros, both where position % 3 is 1 and elsewhere."""
    values = draw.normal(rows * columns)
    values[::4], values[1::4], values[2::8], values[6::8] = float("nan"), -0.0, float("inf"), -float("inf")
    return values.view(rows, columns)


def inputs(draw):
    scales = draw.shuffled([0.3, 1.0, 2.5, 0.8])
    return {
        "values": {
            "conv.weight": distinct(draw, 5, 3, 3, 3, scale=scales[0]),
            "block.0.weight": distinct(draw, 7, 11, scale=scales[1]),
            "block.2.inner.weight": distinct(draw, 6, 7, scale=scales[2]),
            "head.weight": distinct(draw, 3, 6, scale=scales[3]),
        },
        "small_bias": 1e-6,
        "sparsities": [draw.uniform(0.05, 0.3), draw.uniform(0.45, 0.55), draw.uniform(0.6, 0.8), 0.95],
        "tie_sparsities": [0.25, 0.4, 0.9],
        "pairs": [
            layer(draw, 5, 7, 3, True, True),
            layer(draw, 3, 9, 6, False, True),
            layer(draw, 6, 7, 5, True, False),
            layer(draw, 5, 6, 7, False, False, dtype=torch.float64),
            norms_matter(draw, 8, 6, 5, True),
            norms_matter(draw, 5, 7, 9, False),
        ],
        "close": {
            "fine": (1.0 + 1e-9 * draw.permutation(63).double()).view(7, 9) * draw.choice([-1.0, 1.0]),
            "tiny": distinct(draw, 7, 9, scale=1e-30),
        },
        "odd_values": odd_values(draw, 7, 11),
        "odd_mask": torch.arange(77).view(7, 11) % 3 != 1,
        "update": draw.normal(7, 11),
        "lr": 0.1,
    }


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(7, 6)
        self.scale = nn.Parameter(torch.full((6, 6), 0.01))


class Net(nn.Module):
    """Linear and convolution layers at several depths, beside parameters that must not be pruned."""

    def __init__(self, given, device):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3)
        self.norm = nn.BatchNorm2d(5)
        self.embed = nn.Embedding(13, 11)
        self.mix = nn.Conv1d(4, 5, 2)
        self.block = nn.Sequential(nn.Linear(11, 7), nn.LayerNorm(7), Block())
        self.head = nn.Linear(6, 3, bias=False)
        with torch.no_grad():
            for name, value in given["values"].items():
                self.get_parameter(name).copy_(value)
            for name, p in self.named_parameters():
                if name not in given["values"]:
                    p.fill_(given["small_bias"])
        self.to(device)


def state(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def picture(model):
    """Everything about a model beside its parameters: buffers, modes, gradients."""
    grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    buffers = {name: b.clone() for name, b in model.named_buffers()}
    return [grads, buffers, [m.training for m in model.modules()]]


def probe_masks(code, given, record):
    for i, sparsity in enumerate(given["sparsities"]):
        with record.step(i):
            model = Net(given, record.device)
            before = state(model)
            masks = code.magnitude_masks(model, sparsity)
            record("masks", dict(masks))
            record("devices", [m.device == record.device for m in masks.values()])
            record("same", [before, state(model)])
            record("requires_grad", all(p.requires_grad for p in model.parameters()))
            record("grads", [p.grad is None for p in model.parameters()])
    with record.step("frozen"):
        model = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 9)).to(record.device)
        model[0].requires_grad_(False)
        record("masks", dict(code.magnitude_masks(model, 0.5)))
        record("flags", [p.requires_grad for p in model.parameters()])
    with record.step("picture"):
        model = Net(given, record.device)
        model.norm.eval()
        model.head.weight.grad = torch.ones_like(model.head.weight)
        before = picture(model)
        code.magnitude_masks(model, 0.5)
        record("same", [before, picture(model)])
    for name, value in given["close"].items():
        with record.step(name):
            linear = nn.Linear(9, 7, dtype=value.dtype, device=record.device)
            with torch.no_grad():
                linear.weight.copy_(value)
            record("masks", dict(code.magnitude_masks(linear, 0.4)))
    with record.step("none"):
        record("masks", dict(code.magnitude_masks(Net(given, record.device), 0.0)))
    with record.step("single"):
        lone = nn.Linear(3, 2, device=record.device)
        with torch.no_grad():
            lone.weight.copy_(torch.tensor([[0.5, -0.1, 2.0], [-3.0, 0.2, 0.1]]))
        record("masks", dict(code.magnitude_masks(lone, 0.5)))


def probe_ties(code, given, record):
    for i, sparsity in enumerate(given["tie_sparsities"]):
        with record.step(i):
            model = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 9)).to(record.device)
            with torch.no_grad():
                model[0].weight.fill_(0.5)
                model[1].weight.fill_(-0.5)
                model[1].weight[:, :2] = 0.75
            record("masks", dict(code.magnitude_masks(model, sparsity)))
    with record.step("zeros"):
        model = nn.Linear(7, 5).to(record.device)
        with torch.no_grad():
            model.weight.zero_()
            model.weight[0] = 1.0
        record("masks", dict(code.magnitude_masks(model, 0.5)))
    with record.step("half"):
        record("masks", dict(code.magnitude_masks(nn.Linear(5, 5).to(record.device), 0.5)))


def own_masks(given, device):
    """Masks made here: every third weight goes."""
    out = {}
    for name, value in given["values"].items():
        keep = torch.arange(value.numel()) % 3 != 1
        out[name] = keep.view(value.shape).to(device)
    return out


def probe_apply(code, given, record):
    with record.step("plain"):
        model = Net(given, record.device)
        masks = own_masks(given, record.device)
        copies = {name: mask.clone() for name, mask in masks.items()}
        ids = [id(p) for p in model.parameters()]
        pointers = [p.data_ptr() for p in model.parameters()]
        returned = code.apply_masks(model, masks)
        record("returned_none", returned is None)
        record("after", state(model))
        record("same_objects", ids == [id(p) for p in model.parameters()])
        record("same_storage", pointers == [p.data_ptr() for p in model.parameters()])
        record("flags", [p.requires_grad and p.is_leaf for p in model.parameters()])
        record("masks_same", [masks, copies])
    with record.step("nan"):
        model = Net(given, record.device)
        with torch.no_grad():
            for name, mask in own_masks(given, record.device).items():
                p = model.get_parameter(name)
                p[~mask] = float("nan")
                p.view(-1)[1] = float("inf")
        code.apply_masks(model, own_masks(given, record.device))
        record("after", state(model))
    with record.step("odd_values"):
        linear = nn.Linear(11, 7, bias=False, device=record.device)
        with torch.no_grad():
            linear.weight.copy_(given["odd_values"])
        code.apply_masks(linear, {"weight": given["odd_mask"].to(record.device)})
        record("after", linear.weight)
    with record.step("double"):
        linear = nn.Linear(9, 7, bias=False, dtype=torch.float64, device=record.device)
        with torch.no_grad():
            linear.weight.copy_(given["close"]["fine"])
        linear.requires_grad_(False)
        mask = (torch.arange(63) % 3 != 1).view(7, 9)
        code.apply_masks(linear, {"weight": mask.to(record.device)})
        record("after", linear.weight)
    with record.step("turned"):
        model = nn.Sequential(nn.Linear(11, 7), nn.Linear(11, 7)).to(record.device)
        with torch.no_grad():
            for linear in model:
                linear.weight.fill_(1.0)
        mask = own_masks(given, record.device)["block.0.weight"]
        code.apply_masks(model, {"1.weight": mask, "0.weight": ~mask})
        record("after", state(model))
    with record.step("training"):
        linear = nn.Linear(11, 7, bias=False, device=record.device)
        with torch.no_grad():
            linear.weight.copy_(given["values"]["block.0.weight"])
        mask = own_masks(given, record.device)["block.0.weight"]
        optimizer = torch.optim.SGD(linear.parameters(), lr=given["lr"], momentum=0.9)
        for _ in range(3):
            linear.weight.grad = given["update"].clone()
            optimizer.step()
            code.apply_masks(linear, {"weight": mask})
        record("after", linear.weight)


def pair(case, device):
    (hidden, d_in), d_out = case["w1"].shape, case["w2"].shape[0]
    options = {"device": device, "dtype": case["w1"].dtype}
    fc1 = nn.Linear(d_in, hidden, bias=case["b1"] is not None, **options)
    fc2 = nn.Linear(hidden, d_out, bias=case["b2"] is not None, **options)
    with torch.no_grad():
        for fc, n in ((fc1, 1), (fc2, 2)):
            fc.weight.copy_(case[f"w{n}"])
            if fc.bias is not None:
                fc.bias.copy_(case[f"b{n}"])
    return fc1, fc2


def tensors(fc):
    return [None if p is None else p.detach().clone() for p in (fc.weight, fc.bias)]


def probe_neurons(code, given, record):
    for i, case in enumerate(given["pairs"]):
        hidden = case["w1"].shape[0]
        for keep in (1, 2, hidden - 2, hidden - 1, hidden):
            with record.step(f"{i}-{keep}"):
                fc1, fc2 = pair(case, record.device)
                new1, new2 = code.prune_neurons(fc1, fc2, keep)
                record("w1", new1.weight)
                record("b1", new1.bias)
                record("w2", new2.weight)
                record("b2", new2.bias)
                with record.step("run"):
                    record("out", new2(torch.tanh(new1(case["x"]))))
                record("sizes", [new1.in_features, new1.out_features, new2.in_features, new2.out_features])
                record("plain", [type(new1) is nn.Linear, type(new2) is nn.Linear])
                params = [*new1.parameters(), *new2.parameters()]
                record(
                    "trainable",
                    all(isinstance(p, nn.Parameter) and p.requires_grad and p.is_leaf for p in params),
                )
                record("device", all(p.device == record.device for p in params))
                with torch.no_grad():
                    for p in params:
                        p.fill_(7.0)
                record("old1", tensors(fc1))
                record("old2", tensors(fc2))


def probe_old_layers(code, given, record):
    hidden = len(given["pairs"][0]["w1"])
    for name, keep in (("some", 2), ("all", hidden)):
        with record.step(f"frozen_{name}"):
            fc1, fc2 = (fc.requires_grad_(False) for fc in pair(given["pairs"][0], record.device))
            new1, new2 = code.prune_neurons(fc1, fc2, keep)
            record("trainable", [new1.weight.requires_grad, new2.weight.requires_grad])
    for keep in (hidden - 1, hidden):
        with record.step(f"dead_{keep}"):
            fc1, fc2 = pair(given["pairs"][0], record.device)
            with torch.no_grad():
                fc1.weight[0] = 0.0
                fc2.weight[:, 2] = 0.0
                fc2.weight[:, 3] = 0.0
            new1, new2 = code.prune_neurons(fc1, fc2, keep)
            record("shapes", [tuple(new1.weight.shape), tuple(new2.weight.shape)])


def probe_errors(code, given, record):
    model = nn.Linear(5, 3, device=record.device)
    fc1, fc2 = nn.Linear(5, 6, device=record.device), nn.Linear(6, 3, device=record.device)
    calls = {
        "sparsity_one": lambda: code.magnitude_masks(model, 1.0),
        "sparsity_high": lambda: code.magnitude_masks(model, 1.5),
        "sparsity_negative": lambda: code.magnitude_masks(model, -0.1),
        "keep_zero": lambda: code.prune_neurons(fc1, fc2, 0),
        "keep_negative": lambda: code.prune_neurons(fc1, fc2, -2),
        "keep_too_many": lambda: code.prune_neurons(fc1, fc2, 7),
        "no_fit": lambda: code.prune_neurons(fc1, nn.Linear(5, 3, device=record.device), 2),
        "swapped": lambda: code.prune_neurons(fc2, fc1, 2),
    }
    for name, call in calls.items():
        record.raises(name, call)
