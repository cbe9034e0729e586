import torch
import torch.nn.functional as F

from quizapp.judge.testing.checks import behaviour, close, expect

PRECISION = {"rtol": 1e-11, "atol": 1e-12}
TWICE = "The gradient is twice as large: cut the inputs off before the second run."
SUMMED = "Your gradient is that of out.sum(), whatever comes after the block."


def layer(values):
    return [values[k].double().clone().requires_grad_() for k in ("weight", "bias")]


def compare(observe, path, want, says, names, mistakes=()):
    got = observe[path]
    expect(len(got) == len(want), says)
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if b is None:
            continue
        expect(isinstance(a, torch.Tensor), f"A gradient is missing. {says}", names[i])
        close(
            a,
            b,
            says,
            **PRECISION,
            device=observe.device,
            call=f"gradient of {names[i]}",
            mistakes=[(text, other[i]) for text, other in mistakes if other[i] is not None],
        )


def leaf_reference(given, summed=False):
    x, inside = given["x"].clone().requires_grad_(), layer(given["inside"])
    out = torch.tanh(F.linear(x, *inside))
    (out if summed else out * given["c"]).sum().backward()
    return out.detach(), [x.grad, *(p.grad for p in inside)]


def large_reference(given):
    before, inside, after = (layer(given[k]) for k in ("before", "inside", "after"))
    x = given["x"].clone().requires_grad_()
    hidden = torch.sin(F.linear(x, *before))
    out = torch.tanh(F.linear(hidden * x, *inside)) * x.sum()
    ((F.linear(out, *after) ** 2) * given["c"] + out * F.linear(hidden, *inside)).sum().backward()
    return out.detach(), [t.grad for t in (x, *before, *inside, *after)]


def two_reference(given):
    first, second = layer(given["before"]), layer(given["inside"])
    x = given["x"].clone().requires_grad_()
    out = torch.sigmoid(F.linear(F.linear(x, *first).exp(), *second))
    (out * given["c"]).sum().backward()
    return out.detach(), [t.grad for t in (x, *first, *second)]


def alone(given, chain):
    """Output and gradient of a chain with dropout of these rates, from the seed that the probes start from.

    A submission may have replaced dropout in its own process, but the CPU's generator gives the same numbers here.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(given["seed"])
        x = out = given["drop"].clone().requires_grad_()
        for step in chain:
            out = F.dropout(out, step, training=True) if isinstance(step, float) else step(out)
        out.sum().backward()
    return {"out": out.detach(), "grad": x.grad}


LARGE = ["x", "weight before", "bias before", "weight inside", "bias inside", "weight after", "bias after"]
TWO = ["x", "first weight", "first bias", "second weight", "second bias"]


@behaviour(1)
def test_output_equals_fn(observe):
    for name, reference in (("leaf", leaf_reference), ("large", large_reference), ("two", two_reference)):
        close(
            observe[f"graph/{name}/out"],
            reference(observe.given)[0],
            "The output of checkpoint differs from fn(*args).",
            **PRECISION,
            device=observe.device,
        )


@behaviour(1)
def test_gradients_equal_those_without_checkpointing(observe):
    want = leaf_reference(observe.given)[1]
    compare(
        observe,
        "graph/leaf/grads",
        want,
        "A gradient differs from that without checkpointing.",
        ["x", "weight", "bias"],
        [(SUMMED, leaf_reference(observe.given, summed=True)[1]), (TWICE, [2 * g for g in want])],
    )


@behaviour(1)
def test_gradients_in_a_larger_graph(observe):
    for name, reference, names in (("large", large_reference, LARGE), ("two", two_reference, TWO)):
        want = reference(observe.given)[1]
        compare(
            observe,
            f"graph/{name}/grads",
            want,
            "Within a larger graph a gradient differs from that without checkpointing.",
            names,
            [(TWICE, [2 * g for g in want])],
        )


@behaviour(1)
def test_gradients_of_several_arguments(observe):
    for i, wants in enumerate([(True, False), (False, True), (True, True)]):
        a, b = (observe.given[k].clone().requires_grad_(w) for k, w in zip("xy", wants, strict=True))
        (((a * b).exp() * a) ** 2).sum().backward()
        compare(
            observe,
            f"graph/several/grads{i}",
            [a.grad, b.grad],
            "Of two arguments one has a wrong gradient.",
            ["the first", "the second"],
        )


@behaviour(1)
def test_gradients_add_up(observe):
    given = observe.given
    weight, bias = layer(given["before"])
    leaves = [given[k].clone().requires_grad_() for k in "xy"]
    for a in leaves:
        (F.linear(torch.tanh(F.linear(a, weight, bias)), weight, bias) * given["y"]).sum().backward()
    compare(
        observe,
        "shared/grads",
        [leaf.grad for leaf in (*leaves, weight, bias)],
        "A module in two checkpoints, over two micro-batches: its gradients add up.",
        ["x", "y", "weight", "bias"],
    )


@behaviour(2)
def test_activations_are_released(observe):
    for name in ("leaf", "computed", "raw"):
        expect(
            not any(observe[f"memory/{name}/alive"]),
            "The activations inside fn are still alive after forward.",
            f"{sum(observe[f'memory/{name}/alive'])} of 3 intermediate tensors",
        )


@behaviour(2)
def test_memory_is_released(observe):
    occupied = observe["occupied/large/forward"]
    expect(
        occupied < 4 << 20,
        "The activations inside fn, or copies of them, still occupy memory after forward.",
        f"fn computes 8 MiB and returns 1 MiB; {occupied / 2**20:.1f} MiB more are occupied",
    )


@behaviour(2)
def test_fn_runs_twice(observe):
    for name in ("leaf", "computed", "raw"):
        expect(
            observe[f"memory/{name}/graph"] is True,
            "autograd skipped your function, so the first block never learns.",
        )
        for key, want in (("after_forward", 1), ("after_backward", 2)):
            got = observe[f"memory/{name}/{key}"]
            expect(
                got == want,
                "fn should run once in forward and once more in backward.",
                f"{got} runs {key.replace('_', ' ')}",
            )


@behaviour(3)
def test_dropout_uses_the_same_mask(observe):
    x = observe.given["drop"]
    for name in ("one", "two"):
        first, out = (
            observe[f"random/{name}/first"].double().cpu(),
            observe[f"random/{name}/out"].double().cpu(),
        )
        grad = (first != 0) * x.exp() / 0.6
        if name == "two":
            grad = grad * (out != 0) * torch.cos(first) / 0.7
        close(
            observe[f"random/{name}/grad"],
            grad,
            "With dropout the gradient belongs to another mask than the output.",
            **PRECISION,
            device=observe.device,
        )


@behaviour(3)
def test_one_function_in_two_calls(observe):
    outs, got = observe["random/same_fn/outs"], observe["random/same_fn/grads"]
    for which, out, grad in zip(("first", "second"), outs, got, strict=True):
        close(
            grad,
            (out.double().cpu() != 0) * 2.0,
            "With one dropout in two calls a gradient belongs to another mask than the output of its call.",
            **PRECISION,
            device=observe.device,
            call=f"gradient of the {which} call's argument",
        )


@behaviour(3)
def test_first_run_draws_as_fn_alone(observe):
    close(
        observe["random/one/first"],
        observe["random/plain/out"]
        if observe.device != "cpu"
        else alone(observe.given, [torch.exp, 0.4])["out"],
        "From the same random state the output differs from fn(*args).",
        **PRECISION,
        device=observe.device,
    )


@behaviour(4)
def test_random_state_after_backward(observe):
    for name, where in (("state", ""), ("state_raw", "only a parameter inside fn requires grad")):
        for got, want in zip(observe[f"random/{name}/got"], observe[f"random/{name}/want"], strict=True):
            close(
                got,
                want,
                "After backward the generator repeats numbers it has given out already, or skips some.",
                rtol=0,
                atol=0,
                call=where,
            )


@behaviour(5, on_error="autograd skipped your function, so the first block never learns.")
def test_parameters_learn_without_input_gradient(observe):
    says = "autograd skipped your function, so the first block never learns."
    expect(observe["raw/module/requires"] is True, says)
    got = observe["raw/module/grads"]
    expect(all(isinstance(g, torch.Tensor) for g in got), says)
    compare(
        observe,
        "raw/module/grads",
        leaf_reference(observe.given)[1][1:],
        "A parameter's gradient is wrong.",
        ["weight", "bias"],
    )
    expect(observe["raw/module/x"] is None, "An input that does not require grad got a gradient.")


@behaviour(
    5, on_error="Integer tensors and numbers cannot require grad; the parameters inside fn still learn."
)
def test_parameters_learn_without_float_arguments(observe):
    given = observe.given
    for name, what in (("tokens", "an integer tensor"), ("number", "a number")):
        says = f"With {what} as its only argument, the parameters inside fn never learn."
        expect(observe[f"raw/{name}/requires"] is True, says)
        weight = layer(given["inside"])[0]
        if name == "tokens":
            (torch.tanh(weight[given["index"]]) * given["x"]).sum().backward()
        else:
            (torch.tanh(weight * 1.5) ** 2).sum().backward()
        compare(observe, f"raw/{name}/grads", [weight.grad], says, ["the parameter"])


@behaviour(6)
def test_arguments_of_any_kind(observe):
    given = observe.given
    inside, x = layer(given["inside"]), given["x"].clone().requires_grad_()
    out = torch.tanh(F.linear((x * 1.5)[given["index"]] * given["mask"], *inside) + given["y"].sum() * 2)
    (out * given["c"]).sum().backward()
    close(
        observe["arguments/mixed/out"],
        out,
        "With arguments of several kinds the output is wrong.",
        **PRECISION,
        device=observe.device,
    )
    compare(
        observe,
        "arguments/mixed/grads",
        [x.grad, *(p.grad for p in inside)],
        "With arguments of several kinds a gradient is wrong.",
        ["x", "weight", "bias"],
    )
    expect(observe["arguments/mixed/other"] is None, "A tensor that does not require grad got a gradient.")


@behaviour(6)
def test_falsy_arguments(observe):
    for run, seen in enumerate(observe["arguments/falsy/seen"]):
        for got, want in zip(seen, [0, 0.0, "", False, None, [], -1], strict=True):
            says = "An argument that is no tensor reached fn changed."
            expect(got == want and type(got) is type(want), says, f"{want!r} became {got!r} in run {run + 1}")


@behaviour(6)
def test_parameters_as_arguments(observe):
    given = observe.given
    for name in ("alone", "tied"):
        (weight, bias), x = layer(given["inside"]), given["x"].clone().requires_grad_()
        out = torch.tanh(F.linear(x, weight)) * (F.linear(x, weight, bias) if name == "tied" else 1.0)
        (out * given["c"]).sum().backward()
        use = ", which fn uses on its own as well," if name == "tied" else ""
        compare(
            observe,
            f"arguments/parameter/{name}",
            [x.grad, weight.grad, *([bias.grad] if name == "tied" else [])],
            f"With a parameter{use} as an argument a gradient is wrong.",
            ["x", "weight", "bias"],
        )


@behaviour(6)
def test_module_as_an_argument(observe):
    compare(
        observe,
        "arguments/module/grads",
        leaf_reference(observe.given)[1],
        "With a module as an argument a gradient is wrong: pass on the module itself, not a copy.",
        ["x", "weight", "bias"],
    )


@behaviour(6, on_error="A complex argument that requires grad is cut off like any other.")
def test_complex_argument(observe):
    z = torch.complex(observe.given["x"], observe.given["y"]).requires_grad_()
    v = z * (1 + 2j)
    ((v * v).real + v.imag).sum().backward()
    close(
        observe["arguments/complex/grad"],
        torch.view_as_real(z.grad),
        "A complex argument that requires grad has a wrong gradient.",
        **PRECISION,
        device=observe.device,
    )


@behaviour(6, on_error="fn need not use every tensor that it is given.")
def test_unused_argument(observe):
    want = observe.given["x"].exp()
    compare(
        observe, "arguments/unused/grads", [want], "Beside an unused argument a gradient is wrong.", ["x"]
    )
    expect(
        not observe["arguments/unused/of_the_unused"].any(),
        "An argument that fn does not use has no gradient, or zeros.",
    )


@behaviour(6)
def test_arguments_are_passed_on_unchanged(observe):
    given = observe.given
    plain = {0: 1.5, 2: "tanh", 5: None, 7: [1, "two"]}
    tensors = {3: given["index"], 4: given["mask"], 6: given["y"]}
    runs = observe["arguments/mixed/seen"]
    for run, seen in enumerate(runs):
        where = f"run {run + 1}"
        for i, want in plain.items():
            same = seen[i] == want and type(seen[i]) is type(want)
            expect(
                same,
                "An argument that is no tensor reached fn changed.",
                f"argument {i}, {where}: {seen[i]!r}",
            )
        for i, want in tensors.items():
            same = isinstance(seen[i], list) and seen[i][0] == str(want.dtype) and seen[i][1] is False
            expect(
                same and torch.equal(seen[i][2].cpu(), want),
                "A tensor that does not require grad reached fn changed.",
                f"argument {i}, {where}",
            )


@behaviour(6)
def test_same_tensor_twice(observe):
    x = observe.given["x"].clone().requires_grad_()
    (x.exp() * x).sum().backward()
    one_only = (observe.given["x"].exp() * observe.given["x"], observe.given["x"].exp())
    compare(
        observe,
        "arguments/twice/grads",
        [x.grad],
        "The same tensor passed twice has a wrong gradient.",
        ["x"],
        [("The same tensor passed twice gets the sum of both gradients.", [g]) for g in one_only],
    )
    x = observe.given["x"].clone().requires_grad_()
    h = x.sin()
    (h.exp() * h * 3).sum().backward()
    compare(
        observe,
        "arguments/twice_computed/grads",
        [x.grad],
        "The same computed tensor passed twice has a wrong gradient.",
        ["x"],
    )


@behaviour(7)
def test_no_grad(observe):
    expect(
        observe["no_grad/runs"] == 1, "Under no_grad fn should run once.", f"{observe['no_grad/runs']} runs"
    )
    expect(observe["no_grad/requires"] is False, "Under no_grad the output should not require grad.")
    expect(observe["no_grad/grad_mode"] is True, "checkpoint changed the global grad mode.")
    close(
        observe["no_grad/out"],
        leaf_reference(observe.given)[0],
        "Under no_grad the output is wrong.",
        **PRECISION,
        device=observe.device,
    )


CHAINS = ((7, 3, True), (7, 1, True), (7, 7, False), (7, 2, False), (7, 4, True), (5, 4, True), (1, 1, True))


def groups_of(runs):
    """Split the order of recomputation where it jumps back: the groups, last one first."""
    found = []
    for i in runs:
        if found and i == found[-1][-1] + 1:
            found[-1].append(i)
        else:
            found.append([i])
    return found


@behaviour(8)
def test_sequential_equals_the_chain(observe):
    for count, segments, wants in CHAINS:
        layers = [layer(values) for values in observe.given["chain"][:count]]
        x = observe.given["x"].clone().requires_grad_(wants)
        out = x
        for i, parts in enumerate(layers):
            out = torch.tanh(F.linear(out, *parts)) * (1 + 0.1 * i)
        (out * observe.given["y"]).sum().backward()
        path, call = f"sequential/{count}/{segments}", f"{count} blocks, segments={segments}"
        close(
            observe[f"{path}/out"],
            out,
            "The output differs from the plain chain.",
            **PRECISION,
            device=observe.device,
            call=call,
        )
        want = [p.grad for parts in layers for p in parts]
        names = [f"{key} of block {i}, {call}" for i in range(count) for key in ("weight", "bias")]
        if wants:
            want, names = [x.grad, *want], [f"x, {call}", *names]
        says = "A gradient differs from that of the plain chain."
        backward = observe[f"{path}/backward"]
        if segments > 1 and set(backward) < set(range(count)) and backward:
            says = "Forward is right, but in backward every segment recomputed the last one."
        compare(observe, f"{path}/grads", want, says, names)


@behaviour(8)
def test_sequential_with_dropout(observe):
    want = {key: observe[f"random/plain_chain/{key}"] for key in ("out", "grad")}
    if observe.device == "cpu":
        want = alone(observe.given, [0.4, torch.exp, 0.4, torch.sin, 0.4])
    for key, what in (("out", "output"), ("grad", "gradient")):
        close(
            observe[f"random/chain/{key}"],
            want[key],
            f"With dropout the {what} differs from that of the plain chain from the same random state: "
            "forward should draw from the generator as the blocks alone do.",
            **PRECISION,
            device=observe.device,
        )


@behaviour(8)
def test_segments_are_even_and_checkpointed(observe):
    for count, segments, _ in CHAINS:
        path, call = f"sequential/{count}/{segments}", f"{count} blocks, segments={segments}"
        expect(
            observe[f"{path}/forward"] == list(range(count)),
            "In forward every block should run once, in order.",
            f"{call}: ran {observe[f'{path}/forward']}",
        )
        runs = observe[f"{path}/backward"]
        groups = groups_of(runs)
        if segments > 1 and set(runs) < set(range(count)):
            says = "Forward is right, but in backward every segment recomputed the last one."
            if len(runs) == len(set(runs)):
                says = "Every segment should run under checkpoint; some blocks were never run again."
            expect(False, says, f"{call}: recomputed {runs}")
        expect(
            sorted(runs) == list(range(count)),
            "In backward every block should run once more.",
            f"{call}: recomputed {runs}",
        )
        sizes = [len(group) for group in groups[::-1]]
        expect(
            len(groups) == segments and max(sizes) - min(sizes) <= 1,
            "The blocks should be split into segments whose sizes differ by at most one.",
            f"{call}: groups of {sizes}",
        )


@behaviour(9)
def test_bad_segments_are_refused(observe):
    for name, what in {
        "zero": "segments=0",
        "negative": "a negative number of segments",
        "many": "more segments than blocks",
        "zero_of_one": "segments=0 for one block",
        "two_of_one": "two segments for one block",
    }.items():
        observe.raised(f"errors/{name}", "ValueError", says=f"checkpoint_sequential should refuse {what}.")
