import torch

from quizapp.judge.testing.checks import behaviour, close, expect

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def standardise(x, eps):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


class Parts:
    """The pieces of a block in float64."""

    def __init__(self, weights, eps):
        self.w, self.eps = {k: v if v is None else v.double() for k, v in weights.items()}, eps

    def norm(self, x):
        return standardise(x, self.eps) * self.w["norm.weight"] + self.w["norm.bias"]

    def fc1(self, x):
        return x @ self.w["fc1.weight"].T + self.w["fc1.bias"]

    def fc2(self, x):
        return x @ self.w["fc2.weight"].T + self.w["fc2.bias"]

    def skip(self, x):
        return x if self.w["shortcut.weight"] is None else x @ self.w["shortcut.weight"].T

    def branch(self, x):
        return self.fc2(self.fc1(self.norm(x)).relu())

    def block(self, x):
        x = x.double()
        return self.skip(x) + self.branch(x)


def mistakes(p, x):
    x = x.double()
    normed, projected = p.norm(x), p.w["shortcut.weight"] is not None
    skip_says = (
        "Project x itself, not the normalized x."
        if projected
        else "The skip path must not go through the LayerNorm."
    )
    found = [
        (skip_says, p.skip(normed) + p.branch(x)),
        ("A ReLU after the sum cuts off half of the identity path.", p.block(x).relu()),
        ("Nothing follows the addition: the sum is not scaled.", p.block(x) / 2**0.5),
        ("Nothing follows the addition: the sum is not scaled.", p.block(x) / 2),
        ("The skip is missing: the block gives its branch alone.", p.branch(x)),
        ("fc2 has no activation after it.", p.skip(x) + p.branch(x).relu()),
        ("There is no ReLU between fc1 and fc2.", p.skip(x) + p.fc2(p.fc1(normed))),
        ("The branch does not normalize x.", p.skip(x) + p.fc2(p.fc1(x).relu())),
        ("The activation is a ReLU.", p.skip(x) + p.fc2(torch.nn.functional.gelu(p.fc1(normed)))),
        ("The ReLU comes after fc1, not before it.", p.skip(x) + p.fc2(p.fc1(normed.relu()))),
        (
            "The branch normalizes, but leaves out norm's own weight and bias.",
            p.skip(x) + p.fc2(p.fc1(standardise(x, p.eps)).relu()),
        ),
    ]
    if not projected:
        plain = p.fc2(p.fc1(x).relu())
        says = (
            "Normalization comes first, inside the branch: the skip path must not go through the LayerNorm."
        )
        found += [(says, p.norm(x + plain)), (says, p.norm(x + p.branch(x))), (says, x + p.norm(plain))]
    return found


def describe(case, x):
    d_in, hidden, d_out = case["sizes"]
    out = "" if case["out_dim"] is None else f", {d_out}"
    return f"ResidualBlock({d_in}, {hidden}{out}) on shape {tuple(x.shape)}"


def outputs(observe, which):
    for i, case in enumerate(observe.given["cases"]):
        projected = case["weights"]["shortcut.weight"] is not None
        if projected == which:
            parts = Parts(case["weights"], observe[f"formula/{i}/eps"])
            yield i, case, parts


@behaviour(1)
def test_block_formula(observe):
    for i, case, parts in outputs(observe, False):
        if observe[f"shortcut/{i}/count"]:
            continue  # a projection where x itself belongs; the kind of the shortcut has a test of its own
        for path, x in ((f"{k}/out", x) for k, x in enumerate(case["x"])):
            close(
                observe[f"formula/{i}/{path}"],
                parts.block(x),
                "The block is not shortcut(x) + fc2(relu(fc1(norm(x)))).",
                **EXACT,
                device=observe.device,
                call=describe(case, x),
                mistakes=mistakes(parts, x),
            )
        x = case["x"][1]
        close(
            observe[f"formula/{i}/again"],
            parts.block(x),
            "In eval mode the block gives another result.",
            **EXACT,
            device=observe.device,
            call=describe(case, x),
        )


@behaviour(2, presumes=("kind_of_shortcut",))
def test_projected_block_formula(observe):
    for i, case, parts in outputs(observe, True):
        for k, x in enumerate(case["x"]):
            close(
                observe[f"formula/{i}/{k}/out"],
                parts.block(x),
                "With different dimensions the block is not shortcut(x) + fc2(relu(fc1(norm(x)))).",
                **EXACT,
                device=observe.device,
                call=describe(case, x),
                mistakes=mistakes(parts, x),
            )


@behaviour(1)
def test_eps_is_small(observe):
    for i, _ in enumerate(observe.given["cases"]):
        eps = observe[f"formula/{i}/eps"]
        expect(0 <= eps <= 1e-3, "norm is an ordinary LayerNorm with a small eps.", f"eps = {eps}")


@behaviour(2)
def test_kind_of_shortcut(observe):
    for i, case in enumerate(observe.given["cases"]):
        d_in, _, d_out = case["sizes"]
        call = describe(case, case["x"][0])
        count = observe[f"shortcut/{i}/count"]
        if d_in == d_out:
            expect(
                observe[f"shortcut/{i}/identity"] is True and count == 0,
                "With equal dimensions the shortcut is an Identity without parameters.",
                f"{call}: {count} parameters",
            )
        else:
            shapes = observe[f"shortcut/{i}/shapes"]
            expect(
                observe[f"shortcut/{i}/linear"] is True and shapes == [[d_out, d_in]],
                "With different dimensions the shortcut is a linear projection without bias.",
                f"{call}: parameters of shapes {shapes}",
            )


@behaviour(2)
def test_number_of_parameters(observe):
    for i, case in enumerate(observe.given["cases"]):
        d_in, hidden, d_out = case["sizes"]
        want = 2 * d_in + (d_in + 1) * hidden + (hidden + 1) * d_out + (d_in * d_out if d_in != d_out else 0)
        got = observe[f"shortcut/{i}/total"]
        expect(
            got == want,
            "norm, fc1, fc2 and the shortcut are all that the block has, and all of it is trained.",
            f"{describe(case, case['x'][0])}: {got} trainable parameters, expected {want}",
        )


@behaviour(3)
def test_fc2_starts_at_zero(observe):
    for i, case in enumerate(observe.given["cases"]):
        for name in ("weight", "bias"):
            value = observe.tensor(f"start/{i}/{name}", f"fc2 should have a {name}.")
            expect(
                not value.any(),
                "A new block should be the identity; start the last layer of the branch at zero.",
                f"fc2.{name} of {describe(case, case['x'][0])}",
            )


@behaviour(3)
def test_new_block_is_the_identity(observe):
    for i, case in enumerate(observe.given["cases"]):
        x = case["x"][2]
        out = observe.tensor(f"start/{i}/out")
        if case["sizes"][0] == case["sizes"][2]:
            says = "A new block with equal dimensions should be exactly the identity."
            if not out.any():
                says = "With fc2 at zero your block returns zeros instead of x."
            expect(torch.equal(out, x), says, describe(case, x))
        else:
            same = torch.equal(out, observe.tensor(f"start/{i}/projected"))
            expect(same, "A new block with different dimensions should give shortcut(x).", describe(case, x))


@behaviour(3, on_error="fc2.weight of a new block should get a gradient.")
def test_only_the_last_layer_starts_at_zero(observe):
    for i, case in enumerate(observe.given["cases"]):
        first = observe.tensor(f"start/{i}/first")
        expect(
            bool(first.any()) and first.unique().numel() > 1,
            "With fc1 and fc2 at zero neither weight gets a gradient: fc1 keeps its random start.",
            describe(case, case["x"][0]),
        )
        weight, bias = observe[f"start/{i}/norm"]
        expect(
            bool((weight == 1).all()) and not bias.any(),
            "Only fc2 starts at zero: norm keeps its usual start, weight 1 and bias 0.",
            describe(case, case["x"][0]),
        )
        projection = observe[f"start/{i}/shortcut"]
        if projection is not None:
            expect(
                projection.unique().numel() > projection.numel() // 2,
                "The projection of the shortcut keeps its random start, too.",
                describe(case, case["x"][0]),
            )
        grad = observe.tensor(f"start/{i}/gradient/fc2", "fc2.weight of a new block gets no gradient.")
        expect(
            bool(grad.any()),
            "fc2.weight of a new block has a gradient of zero.",
            describe(case, case["x"][0]),
        )


HIDDEN = "blocks should be a ModuleList: a Python list hides modules."


@behaviour(4)
def test_input_gradient_of_a_deep_stack(observe):
    if observe.error("deep") is not None:
        expect(observe["stack/structure/list"] is True, HIDDEN)
    grad = observe.tensor("deep/input", "No gradient reaches the input of a new stack of depth 100.")
    expect(
        bool((grad == 1).all()),
        "In a new stack of depth 100 the gradient of the output's sum should be exactly 1 at every input.",
        f"it lies between {grad.min().item():.4g} and {grad.max().item():.4g}",
    )
    same = torch.equal(observe.tensor("deep/out"), observe.given["deep"]["x"])
    expect(same, "A new stack should be exactly the identity.")


@behaviour(4, on_error="Every block's fc2.weight should get a gradient.")
def test_every_block_learns(observe):
    largest = observe.tensor("deep/largest")
    dead = [i for i, value in enumerate(largest.tolist()) if not value > 0]
    expect(
        len(largest) == 100 and not dead,
        "In a new stack every block's fc2.weight should get a gradient.",
        f"of 100 blocks {len(largest) - len(dead)} got one",
    )


@behaviour(4, on_error="The gradient flows through the branch too, to x and to every parameter.")
def test_gradients_of_a_trained_block(observe):
    for i, case in enumerate(observe.given["cases"]):
        parts = Parts(case["weights"], observe[f"formula/{i}/eps"])
        x = case["x"][2].clone().requires_grad_()
        leaves = {name: p.clone().requires_grad_() for name, p in parts.w.items() if p is not None}
        parts.w = {**parts.w, **leaves}
        wanted = torch.autograd.grad(parts.block(x), [x, *leaves.values()], case["up"])
        skip_only = torch.autograd.grad(parts.skip(x), x, case["up"])[0]
        for name, want in zip(["x", *leaves], wanted, strict=True):
            close(
                observe.tensor(f"gradients/{i}/{name}", f"{name} of a trained block gets no gradient."),
                want,
                f"The gradient of a trained block to {name} is wrong.",
                rtol=1e-9,
                atol=1e-9,
                device=observe.device,
                call=describe(case, x),
                mistakes=[("The branch was cut off: x gets no gradient through it.", skip_only)],
            )


@behaviour(5)
def test_inputs_are_left_alone(observe):
    for i, case in enumerate(observe.given["cases"]):
        for k, x in enumerate(case["x"]):
            same = torch.equal(observe.tensor(f"formula/{i}/{k}/x"), x)
            expect(same, "x += ... changed the caller's tensor.", describe(case, x))
        same = torch.equal(observe.tensor(f"formula/{i}/quiet/x"), case["x"][1])
        expect(
            same, "Under torch.no_grad() the block changed the caller's tensor.", describe(case, case["x"][1])
        )
    same = torch.equal(observe.tensor("stack/order/quiet/x"), observe.given["stack"]["x"])
    expect(same, "Under torch.no_grad() the stack changed the caller's tensor.")
    same = torch.equal(observe.tensor("stack/order/x"), observe.given["stack"]["x"])
    expect(same, "The stack changed the caller's tensor.")


@behaviour(6)
def test_blocks_are_separate(observe):
    dim, hidden, depth = observe.given["stack"]["sizes"]
    expect(observe["stack/structure/list"] is True, HIDDEN)
    length, separate = observe["stack/structure/length"], observe["stack/structure/separate"]
    expect(length == depth, "blocks should hold depth blocks.", f"{length} instead of {depth}")
    expect(
        separate == depth,
        "[block] * depth is one block with depth names; its parameters are shared.",
        f"{separate} separate blocks in a stack of depth {depth}",
    )
    one = 2 * dim + (dim + 1) * hidden + (hidden + 1) * dim
    total = observe["stack/structure/total"]
    expect(
        total == depth * one,
        "Each block has its own parameters, all registered with the stack, and the stack has no others.",
        f"{total} trainable parameters in a stack of {depth} blocks, expected {depth * one}",
    )


@behaviour(6)
def test_blocks_are_applied_in_order(observe):
    case = observe.given["stack"]
    parts = [
        Parts(values, eps) for values, eps in zip(case["weights"], observe["stack/order/eps"], strict=True)
    ]

    def run(x, chosen):
        for part in chosen:
            x = part.block(x)
        return x

    for name, x in (("out", case["x"]), ("line", case["x"][0, 0])):
        close(
            observe[f"stack/order/{name}"],
            run(x.double(), parts),
            "The stack is not its blocks applied one after the other.",
            **EXACT,
            device=observe.device,
            call=f"ResidualStack({', '.join(map(str, case['sizes']))}) on shape {tuple(x.shape)}",
            mistakes=[
                ("The blocks are applied in reverse order.", run(x.double(), parts[::-1])),
                ("The last block is left out.", run(x.double(), parts[:-1])),
                ("The first block is left out.", run(x.double(), parts[1:])),
                ("The blocks already add x; the stack adds it again.", x.double() + run(x.double(), parts)),
                (
                    "Every block sees the stack's input; it should see the output of the one before.",
                    parts[-1].block(x),
                ),
            ],
        )


@behaviour(7)
def test_dtypes(observe):
    case = observe.given["cases"][2]
    x = case["x"][2]
    for name, dtype, tolerance in (
        ("float64", torch.float64, 1e-12),
        ("float32", torch.float32, 1e-4),
        ("bfloat16", torch.bfloat16, 0.3),
    ):
        out = observe.tensor(f"dtypes/{name}/out")
        expect(
            out.dtype == dtype,
            "A block moved to another dtype should compute in it.",
            f"{name} gave {out.dtype}",
        )
        want = Parts(case["weights"], observe[f"dtypes/{name}/eps"]).block(x)
        close(
            out,
            want,
            "A block moved to another dtype gives another result.",
            rtol=tolerance,
            atol=tolerance,
            device=observe.device,
            call=f"{describe(case, x)} in {name}",
        )
        stack = observe.tensor(f"dtypes/stack_{name}/out")
        expect(stack.dtype == dtype, "A stack moved to another dtype should compute in it.", f"{name}")


@behaviour(7, on_error="Any number of leading dimensions is valid, also none.")
def test_leading_dimensions(observe):
    for i, case in enumerate(observe.given["cases"]):
        for k, x in enumerate(case["x"]):
            out = observe.tensor(f"formula/{i}/{k}/out")
            want = (*x.shape[:-1], case["sizes"][2])
            expect(
                tuple(out.shape) == want,
                "Leading dimensions should stay.",
                f"{describe(case, x)}: {tuple(out.shape)}",
            )


@behaviour(
    7, on_error="An input that is not contiguous, such as x.transpose(0, 1), is an input like any other."
)
def test_strided_input(observe):
    for i, case in enumerate(observe.given["cases"]):
        x = case["x"][3].transpose(0, 1)
        close(
            observe[f"formula/{i}/strided/out"],
            Parts(case["weights"], observe[f"formula/{i}/eps"]).block(x),
            "An input that is not contiguous gives another result.",
            **EXACT,
            device=observe.device,
            call=f"{describe(case, x)}, transposed",
        )


@behaviour(8)
def test_sizes_below_one(observe):
    for name in (
        "in_dim",
        "in_dim_negative",
        "in_dim_projected",
        "hidden",
        "hidden_negative",
        "out_dim",
        "out_dim_negative",
    ):
        what = name.removesuffix("_negative").replace("_projected", " beside an out_dim")
        number = "a negative" if name.endswith("negative") else "zero"
        observe.raised(
            f"errors/{name}", "ValueError", says=f"ResidualBlock: {number} {what} should be refused."
        )


@behaviour(8)
def test_stack_sizes_below_one(observe):
    for name in ("dim", "hidden", "depth", "depth_negative"):
        what = name.removesuffix("_negative")
        number = "a negative" if name.endswith("negative") else "zero"
        observe.raised(
            f"errors/stack_{name}", "ValueError", says=f"ResidualStack: {number} {what} should be refused."
        )


@behaviour(8, on_error="Sizes of 1 are valid.")
def test_smallest_sizes(observe):
    for name in ("block", "stack"):
        close(observe[f"errors/smallest/{name}"], [[3.0], [3.0]], "Sizes of 1 are valid.", rtol=0.0, atol=0.0)
