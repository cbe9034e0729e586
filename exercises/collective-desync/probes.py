import copy

import torch
from torch import nn

from quizapp.judge.testing.probes import distributed, number
from quizapp.judge.testing.ranks import calls, together, watch
from quizapp.judge.testing.traffic import close_side_channels

if watch():
    close_side_channels()

RANKS, D, H, K = 3, 5, 4, 2
NEVER = 50  # an eval_every beyond all iterations: the first stage has no evaluation yet


def weights(draw):
    return {
        "inner.weight": draw.normal(H, D, scale=0.5),
        "inner.bias": draw.normal(H, scale=0.3),
        "outer.weight": draw.normal(K, H, scale=0.5),
        "outer.bias": draw.normal(K, scale=0.3),
    }


def batch(draw, size, shift=0.0):
    return draw.normal(size, D), draw.normal(size, K, shift=shift)


def case(draw, sizes, val, eval_every, lr=0.1, **more):
    """``sizes``: per rank the sizes of its batches; ``val``: per rank the size of its part."""
    return {
        "weights": weights(draw),
        "batches": [[batch(draw, n, shift=float(rank)) for n in mine] for rank, mine in enumerate(sizes)],
        "val": [batch(draw, n, shift=2.0 * rank) for rank, n in enumerate(val)],
        "eval_every": eval_every,
        "lr": lr,
        **more,
    }


def stopping(draw):
    """Everything zero but the last bias, which moves towards ``aim``: the validation losses follow in closed form."""
    one = case(draw, [[3] * 6, [2] * 6, [4] * 6], [3, 2, 1], 2, lr=0.25)
    aim, offsets = draw.uniform(9.0, 11.0), [20.0, 4.4, 12.0]
    one["weights"] = {k: torch.zeros_like(v) for k, v in one["weights"].items()}
    one["batches"] = [[(torch.zeros_like(x), torch.full_like(y, aim)) for x, y in b] for b in one["batches"]]
    one["val"] = [
        (torch.zeros_like(x), torch.full_like(y, offsets[r])) for r, (x, y) in enumerate(one["val"])
    ]
    one["targets"] = {}
    for world in (2, 3):
        losses = []
        for n in (2, 4):
            bias = aim * (1 - 0.75**n)
            parts = [(len(one["val"][r][0]), (bias - offsets[r]) ** 2) for r in range(world)]
            losses.append(sum(m * v for m, v in parts) / sum(m for m, _ in parts))
        one["targets"][world] = sum(losses) / 2
    return one


def inputs(draw):
    cases = {
        "equal": case(draw, [[4, 4, 4]] * 3, [3, 3, 3], 2),
        "uneven": case(draw, [[3, 3], [3, 3, 3, 3], []], [2, 2, 2], 3),
        "none": case(draw, [[], [3, 3, 3], [3]], [2, 2, 2], 2),
        "sizes": case(draw, [[2, 7], [9, 1], [4, 5]], [2, 2, 2], NEVER),
        "quiet": case(draw, [[4, 4, 4]] * 3, [3, 3, 3], NEVER),
        "quiet_uneven": case(draw, [[3, 3], [3, 3, 3, 3], []], [2, 2, 2], NEVER),
        "quiet_none": case(draw, [[], [3, 3, 3], [3]], [2, 2, 2], NEVER),
        "bad": case(draw, [[3, 3, 3], [3, 3, 3, 3, 3], [3, 3]], [2, 2, 2], 2),
        "nobody": case(draw, [[], [], []], [2, 2, 2], 1),
        "stale": case(draw, [[3], [3], [3]], [2, 2, 2], 2, stale=7.0),
        "stale_out": case(draw, [[3], [2, 3], [4]], [2, 1, 3], 2, stale=7.0),
        "large": case(draw, [[3], [3], [3]], [2, 2, 2], 2),
        "bad_last": case(draw, [[3], [3, 3], [3]], [2, 2, 2], 1),
        "parts": case(draw, [[3, 3], [3, 3], [3, 3]], [1, 6, 0], 1),
        "empty": case(draw, [[3], [3], [3]], [0, 4, 2], 1),
        "stop": stopping(draw),
        "branch": case(draw, [[3, 2, 3], [2, 5], [4, 4]], [2, 1, 3], 3),
    }
    cases["bad"]["batches"][1][1][0][2, 1] = float("nan")
    cases["bad"]["batches"][0][2][1][0, 1] = float("inf")
    cases["bad"]["batches"][1][3][1][1, 0] = float("nan")
    cases["bad"]["batches"][1][2][0][0, 0] = float("nan")  # two ranks in one iteration
    cases["large"]["batches"][1][0][1].mul_(1e4)
    cases["bad_last"]["batches"][1][1][1][1, 0] = float("-inf")
    zero = case(draw, [[2] * 4] * 3, [2, 2, 2], 2)
    zero["weights"] = {k: torch.zeros_like(v) for k, v in zero["weights"].items()}
    zero["batches"] = [[(x, torch.zeros_like(y)) for x, y in mine] for mine in zero["batches"]]
    zero["val"] = [(x, torch.zeros_like(y)) for x, y in zero["val"]]
    cases["zero"] = zero
    cases["small"] = {**zero, "val": [(x, torch.full_like(y, 0.01)) for x, y in zero["val"]]}
    for rank, mine in enumerate(cases["branch"]["batches"]):
        for i, (x, _) in enumerate(mine):
            x.abs_()  # the sign of its sum picks the branch
            if (rank + i) % 2 or rank == 2:
                x.neg_()
    cases["branch"]["weights"] |= {"other.weight": draw.normal(H, D, scale=0.5), "other.bias": draw.normal(H)}
    cases["branch"]["weights"] |= {"spare.weight": draw.normal(H, D), "spare.bias": draw.normal(H)}
    return cases


class Gate(nn.Module):
    """Stands for dropout: eval mode gives other values than train mode. Notes how it is called."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append([self.training, torch.is_grad_enabled()])
        return x if self.training else 0.5 * x


class Net(nn.Module):
    def __init__(self, values):
        super().__init__()
        self.inner, self.outer = nn.Linear(D, H), nn.Linear(H, K)
        if "other.weight" in values:
            self.other, self.spare = nn.Linear(D, H), nn.Linear(D, H)
        self.gate = Gate()
        self.load_state_dict({k: v.cpu() for k, v in values.items()})

    def forward(self, x):
        layer = self.other if hasattr(self, "other") and x.sum() < 0 else self.inner
        return self.outer(self.gate(torch.tanh(layer(x))))


def pair(value):
    return tuple(t.cpu() for t in value)


def plain(value):
    return [plain(item) for item in value] if isinstance(value, list) else number(value)


@distributed
def probe_train(code, given, record):
    for name, one in given.items():
        with together(record, name):
            model = Net(one["weights"])
            for key, p in model.named_parameters():
                if "stale" in one:
                    p.grad = torch.full_like(p, one["stale"])
            batches = [pair(b) for b in one["batches"][record.rank]]
            batches = tuple(batches) if name == "none" else batches
            val = pair(one["val"][record.rank])
            kept, kept_val = copy.deepcopy(batches), copy.deepcopy(val)
            told = []
            more = {"target_loss": one["targets"][record.world]} if "targets" in one else {}
            if name not in ("empty", "sizes"):
                more["on_eval"] = lambda i, loss, told=told: told.append([i, plain(loss)])
            if name not in ("zero", "small") and not more.get("target_loss"):
                more["target_loss"] = -1.0
            result = code.train(model, batches, val, lr=one["lr"], eval_every=one["eval_every"], **more)
            for key in ("iterations", "skipped", "val_losses"):
                record(key, plain(result[key]))
            record("told", told)
            record("params", dict(model.named_parameters()))
            record("training", [m.training for m in model.modules()])
            record("seen", model.gate.seen)
            record("data", [[kept, kept_val], [batches, val]])
            record("wanted", [t.requires_grad for both in (*batches, val) for t in both])


@distributed
def probe_errors(code, given, record):
    one = given["equal"]
    for name, value in (("zero", 0), ("negative", -3)):
        with together(record, name):
            batches, val = [pair(b) for b in one["batches"][record.rank]], pair(one["val"][record.rank])
            model = Net(one["weights"])
            record.raises(
                "call", lambda m=model, b=batches, v=val, n=value: code.train(m, b, v, lr=0.1, eval_every=n)
            )
            record("sent", len(calls))
