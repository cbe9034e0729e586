import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

EXPONENT = "The exponent is 2i / head_dim; yours stops at half of the range."
BASE = "The base is ignored: a model trained with base 500,000 gets wrong angles."
NEIGHBORS = {"half": False, "neighbours": True}
BUGS = {
    "exponent": EXPONENT,
    "base": BASE,
    "mixed": "The conventions are mixed: you rotate halves with angles laid out for neighbours.",
    "other_pairs": "Other features are paired: look at which two belong together in this convention.",
    "sign": "A sign is wrong. Without the minus sign the map is no rotation: norms change.",
    "backwards": "You rotate by the negative angle: it is (a cos - b sin, a sin + b cos).",
    "order": "The two numbers of a pair are exchanged.",
    "axis": "The wrong axis: the angle must follow the token, not the head.",
    "batch_as_heads": "The wrong axis: each row of positions belongs to a sample, not to a head.",
    "from_one": "Positions are counted from 1: the first token is at position 0 and stays as it is.",
    "arange": "The positions are replaced by 0 .. T-1: cached steps, packing and padding have other positions.",
    "from_first": "Positions are counted from the first one: cached steps, packing and padding have other positions.",
    "first_row": "All samples get the positions of the first one.",
    "sorted": "The positions are sorted: each belongs to its own token.",
    "halves_out": "Put each number back where it came from: the results are in halves, not beside each other.",
    "first_half_only": "Only the first half of the pairs is rotated.",
    "unrotated": "Nothing is rotated.",
    "reversed": "The frequencies are in reverse order: pair 0 turns fastest.",
}


def frequencies(head_dim, base, bug=""):
    pairs = torch.arange(head_dim // 2, dtype=torch.float64)
    if bug == "base":
        base = 10000.0
    if bug == "exponent":
        return float(base) ** (-pairs / head_dim)
    exact = float(base) ** (-2 * pairs / head_dim)
    return exact.flip(0) if bug == "reversed" else exact


def placed(positions, shape, bug):
    """The positions as (B or 1, H or 1, T), after a typical mistake."""
    batch, heads, length, _ = shape
    positions = positions.long()
    if bug == "arange":
        positions = torch.arange(length)
    elif bug == "from_first":
        positions = positions - positions[..., :1]
    elif bug == "from_one":
        positions = positions + 1
    elif bug == "first_row" and positions.dim() == 2:
        positions = positions[0]
    elif bug == "sorted":
        positions = positions.sort(-1).values
    if bug == "axis":
        line = positions if positions.dim() == 1 else positions[0]
        return line[:heads][None, :, None] if len(line) >= heads else torch.arange(heads)[None, :, None]
    if positions.dim() == 1:
        return positions[None, None]
    if bug == "batch_as_heads" and batch == heads:
        return positions[None]
    return positions[:, None]


def rotated(x, positions, base, neighbors=False, bug=""):
    """The rotation in float64. ``bug`` names a typical mistake."""
    x = x.double()
    angles = placed(positions, x.shape, bug).unsqueeze(-1) * frequencies(x.shape[-1], base, bug)
    if bug == "other_pairs":
        neighbors = not neighbors
    if bug == "mixed":  # halves are exchanged, yet angles are laid out in pairs
        wide = angles.repeat_interleave(2, -1) if not neighbors else torch.cat([angles, angles], -1)
        if neighbors:
            half = torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
        else:
            a, b = x.chunk(2, -1)
            half = torch.cat((-b, a), -1)
        return x * wide.cos() + half * wide.sin()
    if bug == "first_half_only":
        keep = torch.arange(angles.shape[-1]) < (angles.shape[-1] + 1) // 2
        angles = angles * keep
    if bug == "unrotated":
        angles = angles * 0
    if bug == "backwards":
        angles = -angles
    cos, sin = angles.cos(), angles.sin()
    a, b = (x[..., 0::2], x[..., 1::2]) if neighbors else x.chunk(2, -1)
    first, second = a * cos - b * sin, a * sin + b * cos
    if bug == "sign":
        first = a * cos + b * sin
    elif bug == "order":
        first, second = second, first
    if neighbors and bug != "halves_out" or (not neighbors and bug == "halves_out"):
        return torch.stack((first, second), -1).flatten(-2)
    return torch.cat((first, second), -1)


def mistakes(x, positions, base, neighbors):
    for bug, sentence in BUGS.items():
        yield sentence, rotated(x, positions, base, neighbors, bug)


def describe_call(x, positions, base, neighbors=False):
    flag = ", interleaved=True" if neighbors else ""
    return f"apply_rope on x {tuple(x.shape)}, positions {positions.tolist()}, base={base:.6g}{flag}"


def check(observe, path, x, positions, base, says, neighbors=False, atol=2e-5):
    close(
        observe[path],
        rotated(x, positions, base, neighbors),
        says,
        rtol=0.0,
        atol=atol,
        device=observe.device,
        call=describe_call(x, positions, base, neighbors),
        mistakes=mistakes(x, positions, base, neighbors),
    )


def cases(observe):
    return list(enumerate(observe.given["cases"]))


@behaviour(1)
def test_angles(observe):
    for i, case in enumerate(observe.given["angles"]):
        positions, head_dim = case["positions"], case["head_dim"]
        for base, path in ((case["base"], f"angles/{i}"), (10000.0, f"angles/{i}/default")):

            def angles(bug="", base=base, head_dim=head_dim, positions=positions):
                return positions.unsqueeze(-1).double() * frequencies(head_dim, base, bug)

            for name, function in (("cos", torch.cos), ("sin", torch.sin)):
                got = observe.tensor(f"{path}/{name}", "rope_angles returns two tensors, (cos, sin).")
                other = torch.sin if name == "cos" else torch.cos
                pairs = torch.arange(head_dim // 2)
                close(
                    got,
                    function(angles()),
                    f"The {name} is not that of position * base ** (-2 i / head_dim).",
                    rtol=0.0,
                    atol=2e-5,
                    device=observe.device,
                    call=f"rope_angles(positions of shape {tuple(positions.shape)}, {head_dim}, {base:.6g})",
                    mistakes=[
                        (EXPONENT, function(angles("exponent"))),
                        (BASE, function(angles("base"))),
                        ("cos and sin are exchanged: return (cos, sin).", other(angles())),
                        (BUGS["from_one"], function(angles() + frequencies(head_dim, base))),
                        (BUGS["reversed"], function(angles("reversed"))),
                        ("These are the angles: return their cosine and sine.", angles()),
                        (
                            "The exponent is negative: later pairs turn slower.",
                            function(
                                positions.unsqueeze(-1) * float(base) ** (2 * pairs.double() / head_dim)
                            ),
                        ),
                    ],
                )
                expect(got.dtype == torch.float32, "cos and sin are float32.", describe(got))


@behaviour(2)
def test_rotation(observe):
    for i, case in cases(observe):
        says = (
            "The pairs are not turned into (a cos - b sin, a sin + b cos), with pairs (i, i + head_dim / 2)."
        )
        check(observe, f"rotate/{i}/positions/half", case["x"], case["positions"], case["base"], says)


@behaviour(2)
def test_base_of_the_rotation(observe):
    for i, case in cases(observe):
        says = "With the default base 10000 the rotation is wrong."
        check(observe, f"rotate/{i}/default/half", case["x"], case["shuffled"], 10000.0, says)


@behaviour(3)
def test_position_zero(observe):
    for i, case in cases(observe):
        for name in NEIGHBORS:
            zeros = torch.zeros_like(case["positions"])
            close(
                observe[f"rotate/{i}/zero/{name}"],
                case["x"],
                "Position 0 changes nothing.",
                rtol=0.0,
                atol=1e-6,
                device=observe.device,
                call=describe_call(case["x"], zeros, case["base"], NEIGHBORS[name]),
                mistakes=list(mistakes(case["x"], zeros, case["base"], NEIGHBORS[name])),
            )


def pair_norms(x, neighbors):
    x = x.double()
    a, b = (x[..., 0::2], x[..., 1::2]) if neighbors else x.chunk(2, -1)
    return (a.square() + b.square()).sqrt()


@behaviour(3)
def test_norms_are_kept(observe):
    for i, case in cases(observe):
        out = observe.tensor(f"rotate/{i}/shuffled/half")
        same = out.shape == case["x"].shape
        expect(same, "apply_rope keeps the shape of x.", f"{describe(out)} for x {tuple(case['x'].shape)}")
        close(
            pair_norms(out, False),
            pair_norms(case["x"], False),
            "The norm of a pair is not kept, so the map is no rotation.",
            rtol=1e-4,
            atol=1e-6,
            device=observe.device,
            call=describe_call(case["x"], case["shuffled"], case["base"]),
        )


def scores(observe, path, step, x):
    q, k = observe.tensor(f"{path}/{step}_q"), observe.tensor(f"{path}/{step}_k")
    expect(q.shape == k.shape == x.shape, "apply_rope keeps the shape of x.", describe(q))
    return q.double() @ k.double().transpose(-2, -1)


@behaviour(4)
def test_scores_depend_on_relative_positions(observe):
    for i, case in cases(observe):
        for name in NEIGHBORS:
            path = f"relative/{i}{name}"
            close(
                scores(observe, path, "shifted", case["x"]),
                scores(observe, path, "here", case["x"]),
                f"Adding {case['shift']} to the positions of queries and keys changes their dot products: "
                "the scores do not depend on relative positions alone.",
                rtol=0.0,
                atol=1e-3,
                device=observe.device,
                call=describe_call(
                    case["x"], case["shuffled"] + case["shift"], case["base"], NEIGHBORS[name]
                ),
            )


@behaviour(5)
def test_positions_in_any_order(observe):
    for i, case in cases(observe):
        says = "With positions in another order, or with gaps, the rotation is wrong."
        check(observe, f"rotate/{i}/shuffled/half", case["x"], case["shuffled"], case["base"], says)


@behaviour(5, on_error="Positions of shape (B, T) give each sample its own.")
def test_positions_of_each_sample(observe):
    for i, case in cases(observe):
        says = "With positions of shape (B, T) each sample has its own."
        check(observe, f"rotate/{i}/own/half", case["x"], case["own"], case["base"], says)


@behaviour(5, on_error="Positions of any integer dtype are valid, int32 too.")
def test_positions_of_another_dtype(observe):
    for i, case in cases(observe):
        says = "With int32 positions the rotation is wrong."
        check(observe, f"rotate/{i}/int32/half", case["x"], case["own"], case["base"], says)


@behaviour(6)
def test_one_token_at_a_time(observe):
    for i, case in cases(observe):
        positions = case["positions"] + case["start"]
        whole = observe.tensor(f"single/{i}/whole")
        expect(whole.shape == case["x"].shape, "apply_rope keeps the shape of x.", describe(whole))
        for t in range(len(positions)):
            one, place = case["x"][:, :, t : t + 1], positions[t : t + 1]
            close(
                observe[f"single/{i}/{t}/out"],
                whole[:, :, t : t + 1],
                "A token alone is rotated otherwise than within the whole sequence.",
                rtol=0.0,
                atol=1e-6,
                device=observe.device,
                call=describe_call(one, place, case["base"]),
                mistakes=list(mistakes(one, place, case["base"], False)),
            )


def far_enough(observe, got, x, positions, base, neighbors, relative, call):
    """Whether each pair is within 0.03 of its norm, plus rounding."""
    want = rotated(x, positions, base, neighbors)
    expect(
        isinstance(got, torch.Tensor) and got.shape == x.shape,
        "apply_rope keeps the shape of x.",
        describe(got),
    )
    expect(bool(got.isfinite().all()), "A rotated number is not finite.", call)
    off, size = pair_norms(got.double() - want, neighbors), pair_norms(x, neighbors)
    bad = off > (0.03 + relative) * size + 1e-6
    if not bool(bad.any()):
        return
    says = (
        "At large positions the rotation is wrong: is each angle computed from the position as it was given, "
        "in float32 or wider?"
    )
    exact = positions.double()
    for dtype in (torch.bfloat16, torch.float16):
        rounded = exact.to(dtype).double()
        angle = rounded[:, None] * frequencies(x.shape[-1], base)
        angle = angle[None, None]
        wide = x.double()
        a, b = (wide[..., 0::2], wide[..., 1::2]) if neighbors else wide.chunk(2, -1)
        guess = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
        guess = torch.stack(guess, -1).flatten(-2) if neighbors else torch.cat(guess, -1)
        if dtype == torch.bfloat16 and bool(
            (pair_norms(got.double() - guess, neighbors) < 0.1 * size + 1e-3).all()
        ):
            says = "The positions were rounded: in bfloat16 positions 1000 and 1001 are the same number."
    for bug, sentence in BUGS.items():
        guess = rotated(x, positions, base, neighbors, bug)
        if bool((pair_norms(got.double() - guess, neighbors) < (0.03 + relative) * size + 1e-6).all()):
            says = sentence
            break
    worst = int((off / size.clamp(min=1e-9)).amax((0, 1, 3)).argmax())
    share = (off / size.clamp(min=1e-9))[:, :, worst].max().item()
    expect(False, says, f"{call}: position {positions[worst].item()}, off by {share:.2g} of the pair's norm")


@behaviour(6, on_error="There is no maximum position: compute the angles of the positions that were given.")
def test_far_positions(observe):
    far = observe.given["far"]
    for t in range(len(far["positions"])):
        one, place = far["x"][:, :, t : t + 1], far["positions"][t : t + 1]
        path = f"single/far{t}/out"
        error = observe.error(path)
        if error is not None and error.is_a("IndexError", "RuntimeError"):
            expect(False, "The table ends before the context does.", f"position {place.item()}: {error}")
        call = describe_call(one, place, far["base"])
        far_enough(observe, observe[path], one, place, far["base"], False, 1e-5, call)


@behaviour(7)
def test_neighboring_pairs(observe):
    says = "With interleaved=True the pairs (2i, 2i + 1) are not turned in their places."
    for i, case in cases(observe):
        for name in ("positions", "shuffled", "own"):
            path = f"rotate/{i}/{name}/neighbours"
            check(observe, path, case["x"], case[name], case["base"], says, True)
        check(
            observe, f"rotate/{i}/keyword/neighbours", case["x"], case["shuffled"], case["base"], says, True
        )


def converted(weight, heads, kind="right"):
    rows = weight.shape[0]
    size = rows // heads
    if kind == "inverse":
        return weight.reshape(heads, 2, size // 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)
    if kind == "all":
        return torch.cat([weight[0::2], weight[1::2]])
    if kind == "odd_first":
        pairs = weight.reshape(heads, size // 2, 2, *weight.shape[1:]).flip(2)
        return pairs.transpose(1, 2).reshape(weight.shape)
    return weight.reshape(heads, size // 2, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def check_rows(observe, i, name, case):
    within = "Within each head: even rows, then odd rows."
    close(
        observe[f"convert/{i}/{name}/out"],
        converted(case[name], case["heads"]),
        f"The rows are not in order. {within}",
        rtol=0.0,
        atol=1e-6,
        device=observe.device,
        call=f"to_half_split of shape {tuple(case[name].shape)}, n_heads={case['heads']}",
        mistakes=[
            (f"The rows are permuted over all heads. {within}", converted(case[name], case["heads"], "all")),
            (f"This is the inverse permutation. {within}", converted(case[name], case["heads"], "inverse")),
            (f"Odd rows come first. {within}", converted(case[name], case["heads"], "odd_first")),
            (f"Nothing was reordered. {within}", case[name]),
        ],
    )


@behaviour(8)
def test_rows_of_a_weight(observe):
    for i, case in enumerate(observe.given["weights"]):
        check_rows(observe, i, "query", case)
        check_rows(observe, i, "key", case)


@behaviour(8, on_error="A bias, with one dimension, works too.")
def test_rows_of_a_bias(observe):
    for i, case in enumerate(observe.given["weights"]):
        check_rows(observe, i, "bias", case)


@behaviour(8)
def test_result_is_a_new_tensor(observe):
    for i, case in enumerate(observe.given["weights"]):
        for name in ("query", "bias"):
            expect(
                alike(observe[f"convert/{i}/{name}/out"], observe[f"convert/{i}/{name}/later"]),
                "The result is a view of the weight: a later change of the weight shows in it.",
                f"to_half_split of shape {tuple(case[name].shape)}, n_heads={case['heads']}",
            )


@behaviour(9)
def test_gradient(observe):
    for i, case in cases(observe):
        for name, neighbors in NEIGHBORS.items():
            error = observe.error(f"gradient/{i}{name}")
            cut = error is not None and "does not require grad" in error.message
            expect(not cut, "x gets no gradient: do not detach it.")
            x = case["x"].double().requires_grad_()

            def gradient(bug, x=x, case=case, neighbors=neighbors):
                out = rotated(x, case["own"], case["base"], neighbors, bug)
                return torch.autograd.grad(out, x, case["grad"].double())[0]

            got = observe.tensor(f"gradient/{i}{name}/x", "x gets no gradient: do not detach it.")
            forward = rotated(case["grad"], case["own"], case["base"], neighbors)
            close(
                got,
                gradient(""),
                "The gradient to x is not the inverse rotation of the incoming gradient.",
                rtol=0.0,
                atol=2e-5,
                device=observe.device,
                call=describe_call(case["x"], case["own"], case["base"], neighbors),
                mistakes=[
                    (
                        "The gradient is turned forwards: the inverse rotation has the negative angle.",
                        forward,
                    ),
                    *((sentence, gradient(bug)) for bug, sentence in BUGS.items()),
                ],
            )


@behaviour(10)
def test_dtype_of_the_output(observe):
    for name in ("float32", "bfloat16", "float16", "float64"):
        path = "dtypes/float64/out" if name == "float64" else f"dtypes/{name}/half/out"
        got = observe.tensor(path)
        expect(
            got.dtype == getattr(torch, name),
            "The output has the dtype of x.",
            f"x is {name}: {describe(got)}",
        )
    case = observe.given["cases"][0]
    check(
        observe,
        "dtypes/float64/out",
        case["x"],
        case["positions"],
        case["base"],
        "A float64 input is rotated wrongly.",
    )


@behaviour(10)
def test_exact_angles(observe):
    far = observe.given["far"]
    for name, relative in (("float32", 1e-5), ("bfloat16", 2**-7), ("float16", 2**-10)):
        x = far["x"].to(getattr(torch, name)).double()
        for kind, neighbors in NEIGHBORS.items():
            got = observe[f"dtypes/{name}/{kind}/out"]
            call = f"apply_rope on {name} x {tuple(x.shape)}, base={far['base']:.6g}"
            far_enough(observe, got, x, far["positions"], far["base"], neighbors, relative, call)


@behaviour(11)
def test_head_dim_is_checked(observe):
    for name in ("odd", "one", "zero", "negative"):
        says = "rope_angles with an odd or non-positive head_dim should be refused."
        observe.raised(f"errors/head_dim {name}", "ValueError", says=says)
    for name in ("odd x", "empty x"):
        says = "apply_rope with an odd or non-positive head_dim should be refused."
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(11)
def test_base_is_checked(observe):
    for name in ("zero", "negative"):
        for kind in ("base", "rope base"):
            observe.raised(
                f"errors/{kind} {name}", "ValueError", says="A base of 0 or below should be refused."
            )


@behaviour(11)
def test_positions_are_integers(observe):
    for name in ("float angles", "half angles", "float positions"):
        observe.raised(f"errors/{name}", "ValueError", says="Floating-point positions should be refused.")


SHAPES = {
    "shorter": "(3,)",
    "longer": "(5,)",
    "one for all": "(1,)",
    "other batch": "(3, 4)",
    "transposed": "(4, 2)",
    "scalar": "()",
    "with heads": "(2, 3, 4)",
    "column": "(4, 1)",
    "row for all": "(1, 4)",
}


@behaviour(11)
def test_shape_of_positions(observe):
    for name, shape in SHAPES.items():
        says = f"Positions of shape {shape} should be refused for x of shape (2, 3, 4, 6): neither (T,) nor (B, T)."
        observe.raised(f"errors/positions {name}", "ValueError", says=says)


@behaviour(11)
def test_weight_is_checked(observe):
    for name in ("5 heads", "12 heads", "4 heads", "0 heads", "-2 heads"):
        says = f"to_half_split with 12 rows and {name} should be refused."
        observe.raised(f"errors/weight {name}", "ValueError", says=says)


@behaviour(12)
def test_inputs_stay(observe):
    case = observe.given["cases"][0]
    for name in NEIGHBORS:
        expect(alike(observe[f"caller/{name}/x"], case["x"]), "apply_rope changed the caller's x.")
        same = alike(observe[f"caller/{name}/positions"], case["own"])
        expect(same, "apply_rope changed the caller's positions.")
    expect(
        alike(observe["caller/angles/positions"], case["own"]), "rope_angles changed the caller's positions."
    )


@behaviour(12)
def test_weight_stays(observe):
    for i, case in enumerate(observe.given["weights"]):
        for name in ("query", "bias"):
            same = alike(observe[f"convert/{i}/{name}/given"], case[name])
            expect(same, "to_half_split changed the caller's weight.")


@behaviour(12, on_error="x may be a transposed view: use reshape or flatten, not view.")
def test_transposed_view(observe):
    for i, case in cases(observe):
        for name, neighbors in NEIGHBORS.items():
            says = "For a transposed view of x the result is another one."
            check(observe, f"caller/{i}view{name}/out", case["x"], case["own"], case["base"], says, neighbors)
