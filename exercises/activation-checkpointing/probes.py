import gc

import torch
import torch.nn.functional as F
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from quizapp.judge.testing.memory import MemoryGauge
from quizapp.judge.testing.probes import filled_linear
from quizapp.judge.testing.traffic import close_side_channels

gauge = MemoryGauge()
close_side_channels()

D, H = 5, 7
WIDE = 1 << 18


def inputs(draw):
    def block(d_in, d_out):
        return {
            "weight": draw.normal(d_out, d_in, dtype=torch.float64),
            "bias": draw.normal(d_out, dtype=torch.float64),
        }

    return {
        "x": draw.normal(3, D, dtype=torch.float64),
        "y": draw.normal(3, D, dtype=torch.float64),
        "c": draw.normal(3, H, dtype=torch.float64),
        "before": block(D, D),
        "inside": block(D, H),
        "after": block(H, H),
        "chain": [block(D, D) for _ in range(7)],
        "index": draw.permutation(3),
        "mask": draw.integers(0, 2, 3, D).bool(),
        "seed": draw.seed(),
        "drop": draw.rand(40, low=0.5, high=2.0, dtype=torch.float64),
    }


def linear(values):
    return filled_linear(values["weight"], values["bias"])


def grads(*things):
    found = []
    for thing in things:
        found += [p.grad for p in thing.parameters()] if isinstance(thing, nn.Module) else [thing.grad]
    return found


def probe_graph(code, given, record):
    with record.step("leaf"):
        inside, x = linear(given["inside"]), given["x"].requires_grad_()
        out = code.checkpoint(lambda a: torch.tanh(inside(a)), x)
        record("out", out)
        (out * given["c"]).sum().backward()
        record("grads", grads(x, inside))
    given = {k: v.detach() if isinstance(v, torch.Tensor) else v for k, v in given.items()}
    with record.step(
        "large"
    ):  # layers before and after, the same weights inside and outside, the output used twice
        before, inside, after = (linear(given[k]) for k in ("before", "inside", "after"))
        x = given["x"].clone().requires_grad_()
        hidden = torch.sin(before(x))
        out = code.checkpoint(lambda a, b: torch.tanh(inside(a * b)) * b.sum(), hidden, x)
        ((after(out) ** 2) * given["c"] + out * inside(hidden)).sum().backward()
        record("out", out)
        record("grads", grads(x, before, inside, after))
    with record.step("two"):  # two checkpoints in a row, a module as fn
        first, second = linear(given["before"]), linear(given["inside"])
        x = given["x"].clone().requires_grad_()
        out = code.checkpoint(
            nn.Sequential(second, nn.Sigmoid()), code.checkpoint(lambda a: first(a).exp(), x)
        )
        (out * given["c"]).sum().backward()
        record("out", out)
        record("grads", grads(x, first, second))
    with record.step("several"):  # which argument requires grad varies
        for i, wants in enumerate([(True, False), (False, True), (True, True)]):
            a, b = (given[k].clone().requires_grad_(w) for k, w in zip("xy", wants, strict=True))
            (code.checkpoint(lambda p, q: (p * q).exp() * p, a, b) ** 2).sum().backward()
            record(f"grads{i}", grads(a, b))


def probe_shared(code, given, record):
    """One module checkpointed twice in a row, in two micro-batches, so that gradients add up."""
    layer, seen = linear(given["before"]), []
    for key in "xy":
        a = given[key].clone().requires_grad_()
        out = code.checkpoint(layer, torch.tanh(code.checkpoint(layer, a)))
        (out * given["y"]).sum().backward()
        seen.append(a.grad)
    record("grads", [*seen, *grads(layer)])


def probe_memory(code, given, record):
    for name, wants in (("leaf", True), ("computed", True), ("raw", False)):
        with record.step(name):
            inside, outer = linear(given["inside"]), linear(given["before"])
            runs, kept = [], []

            def fn(a):
                first = torch.tanh(inside(a))
                second = first.exp()
                third = second * first
                runs.append(torch.is_grad_enabled())
                kept.append([StorageWeakRef(t.untyped_storage()) for t in (first, second, third)])
                return third.sigmoid()

            x = given["x"].clone().requires_grad_(wants)
            out = code.checkpoint(fn, outer(x) if name == "computed" else x)
            gc.collect()
            record("alive", [not ref.expired() for ref in kept[0]])
            record("after_forward", len(runs))
            record("graph", out.requires_grad)
            (out * given["c"]).sum().backward()
            record("after_backward", len(runs))
            del out
            gc.collect()
            record("alive_at_the_end", [not ref.expired() for refs in kept for ref in refs])


def probe_occupied(code, given, record):
    """How much memory forward leaves occupied, in whatever form: fn computes 8 MiB and returns 1 MiB."""

    def fn(a):
        for _ in range(8):
            a = torch.sin(a) + 0.25
        return a

    with record.step("large"):
        x = torch.linspace(0.0, 1.0, WIDE, device=record.device).requires_grad_()
        code.checkpoint(fn, x[:9]).sum().backward()  # what is loaded at the first use
        before = gauge.occupied()
        out = code.checkpoint(fn, x)
        record("forward", gauge.settled(before + (2 << 20)) - before)
        out.sum().backward()
        record("grad", x.grad[::4099])


def noisy(record):
    """Random numbers of the generator that belongs to the device."""
    return torch.rand(6, device=record.device, dtype=torch.float64)


def plain_chain(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def probe_random(code, given, record):
    for name in ("one", "two"):
        with record.step(name):
            torch.manual_seed(given["seed"])
            x = given["drop"].clone().requires_grad_()
            first = code.checkpoint(lambda a: F.dropout(a.exp(), 0.4, training=True), x)
            out = (
                code.checkpoint(lambda a: F.dropout(a.sin(), 0.3, training=True), first)
                if name == "two"
                else first
            )
            record("first", first)
            record("out", out)
            noisy(record)  # other code draws in between
            out.sum().backward()
            record("grad", x.grad)
    with record.step("same_fn"):  # one function, two calls, two masks
        torch.manual_seed(given["seed"])
        x, y = (given["drop"].clone().requires_grad_() for _ in range(2))
        drop = nn.Dropout(0.5)
        first, second = code.checkpoint(drop, x), code.checkpoint(drop, y)
        (first + second).sum().backward()
        record("outs", [first, second])
        record("grads", [x.grad, y.grad])
    with record.step("plain"):  # the first run draws what fn alone would draw
        torch.manual_seed(given["seed"])
        record("out", F.dropout(given["drop"].exp(), 0.4, training=True))
    for name in ("state", "state_raw"):  # in the second only a parameter inside fn requires grad
        with record.step(name):
            torch.manual_seed(given["seed"])
            x = given["drop"].clone().requires_grad_(name == "state")
            scale = given["drop"].clone().requires_grad_()
            out = code.checkpoint(lambda a, w=scale: F.dropout((a * w).exp(), 0.4, training=True), x).sum()
            noisy(record)
            before = torch.get_rng_state()
            on_device = torch.cuda.get_rng_state() if record.device.type == "cuda" else None
            want = noisy(record), torch.rand(6)
            torch.set_rng_state(before)
            if on_device is not None:
                torch.cuda.set_rng_state(on_device)
            out.backward()
            record("got", [noisy(record), torch.rand(6)])
            record("want", list(want))
    for name in ("chain", "plain_chain"):  # every block draws its own mask
        with record.step(name):
            torch.manual_seed(given["seed"])
            drop, x = nn.Dropout(0.4), given["drop"].clone().requires_grad_()
            blocks = [drop, torch.exp, drop, torch.sin, drop]
            out = code.checkpoint_sequential(blocks, 3, x) if name == "chain" else plain_chain(blocks, x)
            out.sum().backward()
            record("out", out)
            record("grad", x.grad)


def probe_raw(code, given, record):
    with record.step("module"):
        inside = linear(given["inside"])
        out = code.checkpoint(lambda a: torch.tanh(inside(a)), given["x"])
        record("requires", out.requires_grad)
        (out * given["c"]).sum().backward()
        record("grads", grads(inside))
        record("x", given["x"].grad)
    with record.step("tokens"):  # nothing in args could require grad
        inside = linear(given["inside"])
        out = code.checkpoint(lambda i: torch.tanh(inside.weight[i]), given["index"])
        record("requires", out.requires_grad)
        (out * given["x"]).sum().backward()
        record("grads", grads(inside)[:1])
    with record.step("number"):
        inside = linear(given["inside"])
        out = code.checkpoint(lambda k: torch.tanh(inside.weight * k), 1.5)
        record("requires", out.requires_grad)
        (out * out).sum().backward()
        record("grads", grads(inside)[:1])


def kind(value):
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), value.requires_grad, value.detach().clone()]
    return value


def probe_arguments(code, given, record):
    with record.step("mixed"):
        seen = []
        inside, x = linear(given["inside"]), given["x"].clone().requires_grad_()

        def fn(scale, a, name, index, mask, nothing, other, flags):
            seen.append([kind(v) for v in (scale, a, name, index, mask, nothing, other, flags)])
            return getattr(torch, name)(inside((a * scale)[index] * mask) + other.sum() * len(flags))

        other = given["y"].clone()
        arguments = (1.5, x, "tanh", given["index"], given["mask"], None, other, [1, "two"])
        out = code.checkpoint(fn, *arguments)
        (out * given["c"]).sum().backward()
        record("out", out)
        record("grads", grads(x, inside))
        record("other", other.grad)
        record("seen", seen)
    with record.step("falsy"):
        seen, x = [], given["x"].clone().requires_grad_()

        def note(a, *rest):
            seen.append([kind(v) for v in rest])
            return a.exp()

        code.checkpoint(note, x, 0, 0.0, "", False, None, [], -1).sum().backward()
        record("seen", seen)
    with record.step("parameter"):  # a parameter is an argument, and in "tied" fn uses it on its own as well
        for name in ("alone", "tied"):
            inside, x = linear(given["inside"]), given["x"].clone().requires_grad_()

            def fn(a, w, inside=inside, tied=name == "tied"):
                return torch.tanh(F.linear(a, w)) * (inside(a) if tied else 1.0)

            (code.checkpoint(fn, x, inside.weight) * given["c"]).sum().backward()
            record(name, grads(x, inside)[: 3 if name == "tied" else 2])
    with record.step("module"):
        inside, x = linear(given["inside"]), given["x"].clone().requires_grad_()
        (code.checkpoint(lambda m, a: torch.tanh(m(a)), inside, x) * given["c"]).sum().backward()
        record("grads", grads(x, inside))
    with record.step("complex"):
        z = torch.complex(given["x"], given["y"]).requires_grad_()
        code.checkpoint(lambda v: (v * v).real + v.imag, z * (1 + 2j)).sum().backward()
        record("grad", torch.view_as_real(z.grad))
    with record.step("unused"):
        x, y = (given[k].clone().requires_grad_() for k in "xy")
        code.checkpoint(lambda a, b: a.exp(), x, y).sum().backward()
        record("grads", grads(x))
        record("of_the_unused", torch.zeros_like(y) if y.grad is None else y.grad)
    with record.step("twice"):
        x = given["x"].clone().requires_grad_()
        code.checkpoint(lambda a, b: (a.exp() * b).sum(), x, x).backward()
        record("grads", grads(x))
    with record.step("twice_computed"):
        x = given["x"].clone().requires_grad_()
        h = x.sin()
        code.checkpoint(lambda a, k, b: (a.exp() * b * k).sum(), h, 3, h).backward()
        record("grads", grads(x))


def probe_no_grad(code, given, record):
    inside, x = linear(given["inside"]), given["x"].clone().requires_grad_()
    runs = []

    def fn(a):
        runs.append(0)
        return torch.tanh(inside(a))

    with torch.no_grad():
        out = code.checkpoint(fn, x)
    record("runs", len(runs))
    record("requires", out.requires_grad)
    record("out", out)
    record("grad_mode", torch.is_grad_enabled())


def probe_sequential(code, given, record):
    for count, segments, wants in (
        (7, 3, True),
        (7, 1, True),
        (7, 7, False),
        (7, 2, False),
        (7, 4, True),
        (5, 4, True),
        (1, 1, True),
    ):
        with record.step(f"{count}/{segments}"):
            layers = [linear(values) for values in given["chain"][:count]]
            runs = []

            def make(i, layers=layers, runs=runs):
                def block(a):
                    runs.append(i)
                    return torch.tanh(layers[i](a)) * (1 + 0.1 * i)

                return block

            blocks = [make(i) for i in range(count)]
            x = given["x"].clone().requires_grad_(wants)
            out = code.checkpoint_sequential(tuple(blocks) if segments == 2 else blocks, segments, x)
            record("out", out)
            record("forward", list(runs))
            runs.clear()
            (out * given["y"]).sum().backward()
            record("backward", list(runs))
            record("grads", grads(x, *layers) if wants else grads(*layers))


def probe_errors(code, given, record):
    blocks = [torch.sin, torch.cos, torch.tanh]
    for name, segments in (("zero", 0), ("negative", -1), ("many", 4)):
        record.raises(name, lambda n=segments: code.checkpoint_sequential(blocks, n, given["x"]))
    for name, segments in (("zero_of_one", 0), ("two_of_one", 2)):
        record.raises(name, lambda n=segments: code.checkpoint_sequential(blocks[:1], n, given["x"]))
