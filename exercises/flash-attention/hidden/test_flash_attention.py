import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

RESCALE = "Sum and output of earlier tiles need the factor exp(m_old - m_new)."
TILES = "Tiles carry different mass: an average of one softmax per tile is not the softmax."
LAST = "The last tile is lost. Tiles need not divide the length."
SCALE = "Scores are scale * q k^T, with 1 / sqrt(d) by default."
LSE = "The log-sum-exp is incomplete. It is m + log(l)."
START = "Weights overflow or vanish: start at -inf."
NO_MASK = "The causal mask has no effect."
GLOBAL = "Compare global positions, offset by Tk - Tq."
ITSELF = "Query i sees key i + Tk - Tq too: your mask leaves it out."
BEFORE = "A masked score of 0 still gets weight: use -inf before the exponential."
MISSING_D = "D is missing. Each row of dS must sum to 0."
WRONG_D = "D is rowsum(grad_out * out). Each row of dS must sum to 0."
COLLECT = (
    "The gradients of tiles are overwritten: dk and dv collect from all query tiles, dq from all key tiles."
)
BACK_SCALE = "dq and dk each need the scale once."
EMPTY = "Empty rows give NaN."
GROWING = "A bfloat16 sum stops growing."


def setup(case):
    """Inputs in float64, the scale, and which keys each query sees."""
    q, k, v = (case[n].double() for n in "qkv")
    scale = case["options"].get("scale")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    visible = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    if case["options"].get("causal"):
        visible = visible.tril(k.shape[2] - q.shape[2])
    return q, k, v, scale, visible


def blocks(case):
    return case["options"].get("block_q", 64), case["options"].get("block_k", 64)


def softmax(scores, visible, v):
    """Output and log-sum-exp over the visible keys; 0 and -inf where there is none."""
    some = visible.any(-1)
    safe = torch.where(some[:, None], scores.masked_fill(~visible, -math.inf), 0.0)
    return torch.softmax(safe, -1) @ v * some[:, None], torch.where(some, safe.logsumexp(-1), -math.inf)


def attend(case, mistake=""):
    """Output and log-sum-exp in float64, or those of a mistake."""
    q, k, v, scale, visible = setup(case)
    (queries, keys), (bq, bk) = visible.shape, blocks(case)
    scale = {"unscaled": 1.0, "default": q.shape[-1] ** -0.5, "linear": 1 / q.shape[-1]}.get(mistake, scale)
    scores = scale * (q @ k.transpose(-2, -1))
    row, col = torch.arange(queries)[:, None], torch.arange(keys)
    if mistake == "unmasked":
        visible = torch.ones_like(visible)
    elif mistake == "top_left":
        visible = col <= row
    elif mistake == "strict":
        visible = col < row + keys - queries
    elif mistake == "local":
        visible = col % bk <= row % bq
    elif mistake == "tile_mask":  # whole tiles are seen or not
        visible = col // bk * bk <= row + keys - queries
    elif mistake == "lost":
        visible = visible & (col < keys // bk * bk)
    if mistake == "zeros":
        return softmax(scores * visible, torch.ones_like(visible), v)
    if mistake in ("no_rescale", "acc", "total", "per_tile"):
        return tiled(scores, visible, v, bk, mistake)
    out, lse = softmax(scores, visible, v)
    if mistake == "rows_lost":
        out = out * (row < queries // bq * bq)
    shown = torch.where(visible.any(-1)[:, None], scores.masked_fill(~visible, -math.inf), 0.0)
    return out, {"m": shown.amax(-1), "l": lse - shown.amax(-1), "log2": lse / math.log(2)}.get(mistake, lse)


def tiled(scores, visible, v, bk, mistake):
    """The online softmax without a rescaling, or an average over tiles."""
    keys = scores.shape[-1]
    top = torch.full(scores.shape[:-1], -math.inf, dtype=torch.float64)
    total, acc, outs = torch.zeros_like(top), torch.zeros(*top.shape, v.shape[-1], dtype=torch.float64), []
    for start in range(0, keys, bk):
        tile = scores[..., start : start + bk].masked_fill(~visible[:, start : start + bk], -math.inf)
        new = torch.maximum(top, tile.amax(-1))
        reference = new.masked_fill(new == -math.inf, 0.0)
        weights, factor = torch.exp(tile - reference[..., None]), torch.exp(top - reference)
        total = total * (factor if mistake == "acc" else 1.0) + weights.sum(-1)
        acc = acc * (factor if mistake == "total" else torch.ones_like(factor))[..., None]
        acc = acc + weights @ v[..., start : start + bk, :]
        top = new
        outs.append(softmax(tile, torch.isfinite(tile).any(0).any(0), v[..., start : start + bk, :])[0])
    if mistake == "per_tile":
        return torch.stack(outs).mean(0), top
    return acc / total[..., None], top + total.log()


FORWARD = [
    (RESCALE, "no_rescale"),
    (RESCALE, "acc"),
    (RESCALE, "total"),
    (TILES, "per_tile"),
    (LAST, "lost"),
    (LAST, "rows_lost"),
    (SCALE, "unscaled"),
    (SCALE, "default"),
    (SCALE, "linear"),
]
CAUSAL = [
    (NO_MASK, "unmasked"),
    (GLOBAL, "top_left"),
    (GLOBAL, "local"),
    (GLOBAL, "tile_mask"),
    (ITSELF, "strict"),
    (BEFORE, "zeros"),
]


def names(case):
    return [*FORWARD, *(CAUSAL if case["options"].get("causal") else [])]


def call(case, function="flash_forward"):
    options = ", ".join(
        f"{n}={v:.3g}" if isinstance(v, float) else f"{n}={v}" for n, v in case["options"].items()
    )
    dtype = str(case["q"].dtype).removeprefix("torch.")
    return f"{function} of q {tuple(case['q'].shape)}, k {tuple(case['k'].shape)}, {dtype}; {options or 'defaults'}"


def check_out(observe, path, case, says, atol=1e-5, rows=None, function="flash_forward", mistakes=True):
    got, want = observe.tensor(f"{path}/out"), attend(case)[0]
    expect(got.shape == want.shape, says, f"got shape {tuple(got.shape)}, expected {tuple(want.shape)}")
    rows = torch.ones(want.shape[2], dtype=torch.bool) if rows is None else rows
    close(
        got[:, :, rows],
        want[:, :, rows],
        says,
        rtol=0.0,
        atol=atol,
        device=observe.device,
        call=call(case, function),
        mistakes=((text, attend(case, mistake)[0][:, :, rows]) for text, mistake in names(case) if mistakes),
    )


def check_lse(observe, path, case, says, atol=1e-5, rows=None, rtol=1e-6):
    got, want = observe.tensor(f"{path}/lse"), attend(case)[1]
    expect(got.shape == want.shape, says, f"got shape {tuple(got.shape)}, expected {tuple(want.shape)}")
    rows = torch.ones(want.shape[2], dtype=torch.bool) if rows is None else rows
    known = [*names(case), (LSE, "m"), (LSE, "l"), ("lse is a natural logarithm.", "log2")]
    close(
        got[:, :, rows],
        want[:, :, rows],
        says,
        rtol=rtol,
        atol=atol,
        device=observe.device,
        call=call(case),
        mistakes=(
            (text, attend(case, mistake)[1][:, :, rows]) for text, mistake in known if mistake != "per_tile"
        ),
    )


def each(observe, group):
    for i, case in enumerate(observe.given[group]):
        yield f"forward/{group}{i}", case


@behaviour(1)
def test_output(observe):
    for path, case in each(observe, "forward"):
        check_out(observe, path, case, "out is not softmax(S) v.")


@behaviour(13)
def test_scale_of_zero(observe):
    check_out(
        observe,
        "forward/zero",
        observe.given["zero"],
        "With scale=0.0 all keys have the same weight: 0 is a scale, None is the default.",
        mistakes=False,
    )


@behaviour(2)
def test_log_sum_exp(observe):
    for path, case in each(observe, "forward"):
        check_lse(observe, path, case, "lse is not the log of the sum of exp(S).")


def sound(observe, tests):
    """Whether these tests hold; if not, no other sentence may blame something else."""
    try:
        for test in tests:
            test(observe)
    except AssertionError:
        return False
    return True


@behaviour(3)
def test_large_scores(observe):
    plain = "For scores of size 10,000 the result is wrong."
    start = START if sound(observe, [test_output, test_log_sum_exp]) else plain
    for path, case in each(observe, "large"):
        for name in ("out", "lse"):
            got = observe.tensor(f"{path}/{name}")
            expect(torch.isfinite(got).all(), start, f"{name} is not finite for scores of size 10,000")
        says = "For scores of size 10,000 the result is wrong."
        got = observe.tensor(f"{path}/out")
        expect(got.shape == case["q"].shape, says, f"got shape {tuple(got.shape)}")
        vanished = (got == 0).all(-1).any() and not (attend(case)[0] == 0).all(-1).any()
        check_out(observe, path, case, start if vanished else says, atol=1e-3)
        check_lse(observe, path, case, f"{says} (lse)", atol=1e-3)


@behaviour(4)
def test_memory_of_forward(observe):
    case = observe.given["tiled"]
    bq, bk = blocks(case)
    limit = max(case["q"].numel(), case["k"].numel(), case["q"].shape[0] * case["q"].shape[1] * bq * bk)
    whole = case["q"].shape[1] * case["q"].shape[2] * case["k"].shape[2]
    largest = observe["work/tiled/largest"]
    expect(isinstance(largest, int) and largest > 0, "The forward makes no tensor.")
    says = "A tensor is larger than an input and than one tile of scores."
    if largest >= whole:
        says = "You hold Tq x Tk scores."
    expect(largest <= limit, says, f"{largest:,} elements, allowed {limit:,}; {call(case)}")
    check_out(observe, "work/tiled", case, "out is not softmax(S) v.")
    if "work/tiled_causal/largest" in observe:
        says = (
            "With causal=True a tensor is larger than an input and than one tile: build the mask of one tile."
        )
        largest = observe["work/tiled_causal/largest"]
        expect(largest <= limit, says, f"{largest:,} elements, allowed {limit:,}")


@behaviour(5)
def test_causal_output(observe):
    for path, case in each(observe, "causal"):
        check_out(observe, path, case, "With causal=True query i sees the keys up to i + Tk - Tq.")
    check_out(observe, "work/tiled_causal", observe.given["tiled_causal"], "The causal output is wrong.")


@behaviour(5)
def test_causal_log_sum_exp(observe):
    for path, case in each(observe, "causal"):
        check_lse(observe, path, case, "With causal=True lse follows from the visible keys alone.")


@behaviour(6)
def test_tiles_in_the_future_are_skipped(observe):
    full, causal = observe["work/tiled/flops"], observe["work/tiled_causal/flops"]
    expect(
        causal <= 0.65 * full,
        "Causal attention costs as much as full attention."
        if causal >= full
        else "Too few causal tiles are skipped.",
        f"matrix products: {causal:,} FLOPs causal, {full:,} full, at most 65 % allowed",
    )


def gradients(case, mistake=""):
    """dq, dk and dv in float64, or those of a mistake."""
    q, k, v, scale, visible = setup(case)
    bq, bk = blocks(case)
    up = case["up"].double()
    if mistake == "top_left":
        visible = torch.ones_like(visible).tril()
    if mistake == "unmasked":
        visible = torch.ones_like(visible)
    out, lse = softmax(scale * (q @ k.transpose(-2, -1)), setup(case)[4], v)
    lse = lse.masked_fill(lse == -math.inf, math.inf)
    used = q.shape[-1] ** -0.5 if mistake == "default" else scale
    scores = used * (q @ k.transpose(-2, -1))
    p = torch.exp(scores.masked_fill(~visible, -math.inf) - lse[..., None])
    dp = up @ v.transpose(-2, -1)
    d = {"no_d": lambda: 0.0, "plain_d": lambda: dp.sum(-1, keepdim=True)}.get(
        mistake, lambda: (up * out).sum(-1, keepdim=True)
    )()
    ds = p * (dp - d)
    last_rows, last_cols = ((n - 1) // b * b for n, b in ((q.shape[2], bq), (k.shape[2], bk)))
    dv = p.transpose(-2, -1) @ up
    dq, dk = scale * (ds @ k), scale * (ds.transpose(-2, -1) @ q)
    if mistake == "overwritten":
        dv = p[..., last_rows:, :].transpose(-2, -1) @ up[..., last_rows:, :]
        dk = scale * (ds[..., last_rows:, :].transpose(-2, -1) @ q[..., last_rows:, :])
        dq = scale * (ds[..., last_cols:] @ k[..., last_cols:, :])
    if mistake == "unscaled":
        dq, dk = ds @ k, ds.transpose(-2, -1) @ q
    if mistake == "twice":
        dq, dk = scale * dq, scale * dk
    return {"dq": dq, "dk": dk, "dv": dv}


BACKWARD = [
    (MISSING_D, "no_d"),
    (WRONG_D, "plain_d"),
    (COLLECT, "overwritten"),
    (BACK_SCALE, "unscaled"),
    (BACK_SCALE, "twice"),
    (SCALE, "default"),
]


def check_gradients(observe, path, case, says, rtol=1e-3, atol=1e-4, function="flash_backward"):
    want = gradients(case)
    known = [*BACKWARD]
    if case["options"].get("causal"):
        known += [("The backward has no causal mask.", "unmasked"), (GLOBAL, "top_left")]
    for name in ("dq", "dk", "dv"):
        got = observe.tensor(f"{path}/{name}", f"{name} must be a tensor.")
        expect(
            got.shape == want[name].shape,
            f"{name} has the wrong shape.",
            f"got {tuple(got.shape)}, expected {tuple(want[name].shape)}; {call(case, function)}",
        )
        close(
            got,
            want[name],
            says.format(name),
            rtol=rtol,
            atol=atol,
            device=observe.device,
            call=call(case, function),
            mistakes=((text, gradients(case, mistake)[name]) for text, mistake in known),
        )


@behaviour(7)
def test_backward(observe):
    for i, case in enumerate(observe.given["backward"]):
        check_gradients(observe, f"backward/{i}", case, "{} is not the gradient of the formula.")


@behaviour(13)
def test_scale_of_zero_backwards(observe):
    case = observe.given["zero"]
    want = gradients(case)
    for path, function, before in (
        ("backward", "flash_backward", test_backward),
        ("attention", "flash_attention", test_autograd),
    ):
        if not sound(observe, [before]):
            continue  # the formula itself is wrong
        for name in ("dq", "dk", "dv"):
            close(
                observe.tensor(f"zero_scale/{path}/{name}", f"{name} must be a tensor."),
                want[name],
                "With scale=0.0 the gradients are wrong: 0 is a scale, None is the default.",
                rtol=1e-3,
                atol=1e-4,
                device=observe.device,
                call=call(case, function),
            )


@behaviour(8)
def test_memory_of_backward(observe):
    case = observe.given["tiled"]
    bq, bk = blocks(case)
    limit = max(case["q"].numel(), case["k"].numel(), case["q"].shape[0] * case["q"].shape[1] * bq * bk)
    whole = case["q"].shape[1] * case["q"].shape[2] * case["k"].shape[2]
    largest = observe["work/tiled_backward/largest"]
    says = "In the backward a tensor is larger than an input and than one tile of scores."
    if largest >= whole:
        says = "You hold Tq x Tk scores in the backward."
    expect(largest <= limit, says, f"{largest:,} elements, allowed {limit:,}; {call(case, 'flash_backward')}")
    largest = observe["work/tiled_causal_backward/largest"]
    says = "With causal=True the backward makes a tensor larger than an input and than one tile of scores."
    expect(largest <= limit, says, f"{largest:,} elements, allowed {limit:,}")
    for name in ("tiled", "tiled_causal"):
        check_gradients(observe, f"work/{name}_backward", observe.given[name], "{} is wrong.")


@behaviour(8)
def test_backward_skips_tiles(observe):
    full, causal = (observe[f"work/{name}_backward/flops"] for name in ("tiled", "tiled_causal"))
    expect(
        causal <= 0.65 * full,
        "The causal backward costs as much as the full one."
        if causal >= full
        else "Too few causal tiles are skipped in the backward.",
        f"matrix products: {causal:,} FLOPs causal, {full:,} full, at most 65 % allowed",
    )


def limits(case):
    if case["q"].dtype == torch.float64:
        return {"rtol": 1e-7, "atol": 1e-9}
    return {"rtol": 1e-3, "atol": 1e-4}


@behaviour(9, on_error="flash_attention must be differentiable.")
def test_autograd(observe):
    for i, case in enumerate(observe.given["attention"]):
        check_out(observe, f"attention/{i}", case, "flash_attention returns out.", function="flash_attention")
        says = "The gradient {} of flash_attention is wrong."
        check_gradients(observe, f"attention/{i}", case, says, **limits(case), function="flash_attention")
    case = observe.given["attention"][1]
    check_out(observe, "attention/plain", case, "Without gradients flash_attention returns out too.")
    for name in "qkv":
        close(
            observe[f"attention/only_{name}/grad"],
            gradients(case)[f"d{name}"],
            f"If only {name} requires grad, its gradient is wrong.",
            **limits(case),
            device=observe.device,
        )
    summed = {**case, "up": torch.ones_like(case["up"])}
    says = "For an expanded gradient, as that of a sum, {} is wrong."
    check_gradients(observe, "attention/summed", summed, says, **limits(case), function="flash_attention")


@behaviour(9, presumes=("backward",))
def test_gradcheck(observe):
    error = observe.error("attention/gradcheck")
    if error is not None:
        expect(False, "torch.autograd.gradcheck must pass in float64.", str(error)[:300])
    expect(observe["attention/gradcheck/passes"] is True, "torch.autograd.gradcheck must pass in float64.")


@behaviour(9, on_error="flash_attention must be differentiable.")
def test_saved_tensors(observe):
    case = observe.given["saved"]
    limit = 2 * case["q"].numel() + 2 * case["k"].numel() + case["q"][..., 0].numel()
    kept = observe["attention/saved/elements"]
    expect(observe["attention/saved/tracked"] is True, "The output of flash_attention must require grad.")
    expect(
        kept <= limit,
        "Too much is kept for the backward: save q, k, v, out and lse. Autograd through the loops saves every tile.",
        f"{kept:,} elements kept, q, k, v, out and lse have {limit:,}",
    )


def blind(case):
    return ~setup(case)[4].any(-1)


@behaviour(10)
def test_empty_rows(observe):
    for i, case in enumerate(observe.given["empty"]):
        rows = blind(case)
        for path in (f"empty/forward{i}", f"empty/attention{i}"):
            got = observe.tensor(f"{path}/out")
            expect(got.shape == case["q"].shape, "out must have the shape of q.")
            expect(not got.isnan().any(), EMPTY, f"out, {call(case)}")
            expect(
                not got[:, :, rows].any(), "A query without a visible key gives an output of 0.", call(case)
            )
            says = "With some empty rows, the others are wrong."
            check_out(observe, path, case, says, rows=~rows)
        got = observe.tensor(f"empty/forward{i}/lse")
        expect(got.shape == case["lse"].shape, "lse must have the shape (B, H, Tq).")
        expect(not got.isnan().any(), EMPTY, f"lse, {call(case)}")
        close(
            got[:, :, rows],
            torch.full_like(case["lse"][:, :, rows], -math.inf),
            "A query without a visible key has an lse of -inf.",
            rtol=0,
            atol=0,
            call=call(case),
        )
        check_lse(
            observe,
            f"empty/forward{i}",
            case,
            "With some empty rows, lse of the others is wrong.",
            rows=~rows,
        )


@behaviour(10)
def test_gradients_of_empty_rows(observe):
    says = "With queries that see no key, {} is wrong."
    if sound(observe, [test_backward, test_autograd]):
        says = "A query without a visible key adds nothing to any gradient: {} is wrong."
    for i, case in enumerate(observe.given["empty"]):
        for path, function in (
            (f"empty/backward{i}", "flash_backward"),
            (f"empty/attention{i}", "flash_attention"),
        ):
            for name in ("dq", "dk", "dv"):
                expect(
                    not observe.tensor(f"{path}/{name}").isnan().any(),
                    EMPTY,
                    f"{name}, {call(case, function)}",
                )
            check_gradients(observe, path, case, says, function=function)


@behaviour(11)
def test_half_precision(observe):
    right = sound(observe, [test_output, test_log_sum_exp])
    for i, case in enumerate(observe.given["half"]):
        kind = str(case["q"].dtype).removeprefix("torch.")
        out, lse = observe.tensor(f"dtypes/half{i}/out"), observe.tensor(f"dtypes/half{i}/lse")
        expect(
            out.dtype == case["q"].dtype,
            "out must have the dtype of the inputs.",
            f"{kind} in, {out.dtype} out",
        )
        expect(
            lse.dtype == torch.float32, "lse must be float32 for half-precision inputs.", f"got {lse.dtype}"
        )
        says = f"Accumulate in float32. {GROWING}" if kind == "bfloat16" else "Accumulate in float32."
        says = says if right else f"In {kind} the result is wrong."
        check_out(observe, f"dtypes/half{i}", case, says, atol=0.01)
        close(
            lse,
            attend(case)[1],
            says,
            rtol=0,
            atol=0.01,
            device=observe.device,
            call=f"{call(case)}: lse",
        )


@behaviour(11)
def test_half_precision_gradients(observe):
    right = sound(observe, [test_backward])
    for i, case in enumerate(observe.given["many"]):
        kind = str(case["q"].dtype).removeprefix("torch.")
        for name in ("dq", "dk", "dv"):
            got = observe.tensor(f"dtypes/many{i}/{name}")
            says = "Gradients must have the dtype of the inputs."
            expect(got.dtype == case["q"].dtype, says, f"{kind} in, {name} is {got.dtype}")
        close(
            observe[f"dtypes/many{i}/dv"],
            gradients(case)["dv"],
            f"Accumulate gradients in float32 too. {GROWING}"
            if right and kind == "bfloat16"
            else f"dv is wrong in {kind}.",
            rtol=0.03,
            atol=0.03,
            device=observe.device,
            call=call(case, "flash_backward"),
        )


@behaviour(11)
def test_float64(observe):
    for i, case in enumerate(observe.given["double"]):
        for name in ("out", "lse"):
            got = observe.tensor(f"dtypes/double{i}/{name}")
            expect(got.dtype == torch.float64, "In float64 everything is float64.", f"{name} is {got.dtype}")
        check_out(observe, f"dtypes/double{i}", case, "In float64 out is wrong.", atol=1e-10)
        check_lse(observe, f"dtypes/double{i}", case, "In float64 lse is wrong.", atol=1e-10, rtol=0.0)
    for name in ("dq", "dk", "dv"):
        got = observe.tensor(f"dtypes/double_back/{name}")
        expect(got.dtype == torch.float64, "In float64 everything is float64.", f"{name} is {got.dtype}")
    case = observe.given["double_back"]
    check_gradients(observe, "dtypes/double_back", case, "In float64 {} is wrong.", rtol=1e-9, atol=1e-9)


ARGUMENTS = ("grad_out", "q", "k", "v", "out", "lse")


@behaviour(12)
def test_inputs_are_left_alone(observe):
    case = observe.given["strided"]
    for name, key, got in zip(
        ARGUMENTS, ("up", *ARGUMENTS[1:]), observe["inputs/same/arguments"], strict=True
    ):
        expect(alike(got, case[key]), f"{name} was changed in place.")


@behaviour(12)
def test_strided_inputs(observe):
    case = observe.given["strided"]
    if "inputs/same/arguments" in observe:
        same = observe["inputs/same/arguments"]
        if not all(alike(a, case[b]) for a, b in zip(same, ("up", *ARGUMENTS[1:]), strict=True)):
            return  # inputs changed in place have a test of their own
    for path in ("inputs/forward", "inputs/heads", "inputs/backward"):
        error = observe.error(path)
        if error is not None and "forward/causal0/out" in observe:
            expect(False, "Inputs need not be contiguous.", str(error))
    for path in ("inputs/forward", "inputs/heads"):
        check_out(observe, path, case, "For inputs that are not contiguous out is wrong.")
        check_lse(observe, path, case, "For inputs that are not contiguous lse is wrong.")
    check_gradients(observe, "inputs/backward", case, "For inputs that are not contiguous {} is wrong.")


REFUSED = {
    "block_q_zero": "block_q = 0 must be refused.",
    "block_k_zero": "block_k = 0 must be refused.",
    "block_negative": "A negative block size must be refused.",
    "block_k_negative": "A negative block size must be refused.",
    "q_3d": "A q that is not 4-D must be refused.",
    "all_3d": "Inputs that are not 4-D must be refused.",
    "all_5d": "Inputs that are not 4-D must be refused.",
    "v_3d": "A v that is not 4-D must be refused.",
    "batch": "q and k of different batch sizes must be refused, not broadcast.",
    "heads": "q and k with different numbers of heads must be refused, not broadcast.",
    "head_size": "q and k of different head sizes must be refused.",
    "values_length": "A v of another length than k must be refused.",
    "values_size": "A v of another head size than k must be refused.",
    "values_heads": "A v with another number of heads than k must be refused, not broadcast.",
    "no_queries": "Tq = 0 must be refused.",
    "no_keys": "Tk = 0 must be refused.",
}


@behaviour(12)
def test_refused(observe):
    for function in ("flash_forward", "flash_attention"):
        for name, says in REFUSED.items():
            observe.raised(f"errors/{function}_{name}", "ValueError", says=f"{function}: {says}")
