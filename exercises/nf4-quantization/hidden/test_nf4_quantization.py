import torch

from quizapp.judge.testing.checks import alike, behaviour, close, describe, expect

LEVELS = torch.tensor(
    [
        -1.0,
        -0.6961928009986877,
        -0.5250730514526367,
        -0.39491748809814453,
        -0.28444138169288635,
        -0.18477343022823334,
        -0.09105003625154495,
        0.0,
        0.07958029955625534,
        0.16093020141124725,
        0.24611230194568634,
        0.33791524171829224,
        0.44070982933044434,
        0.5626170039176941,
        0.7229568362236023,
        1.0,
    ],
    dtype=torch.float64,
)
NEAREST = (
    "NF4 levels are the quantiles of a normal distribution; choose the nearest one, "
    "relative to the largest absolute value."
)
OUTLIER = "One outlier spoils only its own block of block_size consecutive elements."
LAYOUT = "The bytes do not have the agreed layout, so another reader gets other weights."
BYTES = "Each byte holds two elements; the block of an element follows from its own index."
PRECISE = "The scale is the only precise number of a block; keep it in float32."
KEPT = "The layer still holds the weight in full precision, so nothing was saved."
DETACHED = "Frozen is not detached: adapters in earlier layers need the gradient to the input."


def call_of(case):
    return f"weight of shape {tuple(case['shape'])}, block_size={case['block_size']}"


def unpack(packed):
    packed = packed.long()
    return torch.stack([packed >> 4, packed & 15], 1).view(-1)


def read(observe, path, n):
    """The codes of the n elements, filler left out; any fault of shape or dtype is reported."""
    packed = observe.tensor(f"{path}/packed", "The first result is the tensor of packed codes.")
    expect(
        packed.dtype == torch.uint8 and packed.shape == ((n + 1) // 2,),
        f"Two codes share a byte: {n} elements give uint8 of shape ({(n + 1) // 2},).",
        f"got {describe(packed)}",
    )
    return unpack(packed)[:n]


def ratios(case, w=None):
    n, size = len(case["codes"]), case["block_size"]
    w = (case["w"] if w is None else w).double().reshape(-1)
    absmax = case["absmax"].double().repeat_interleave(size)[:n]
    return torch.where(absmax > 0, w / absmax.clamp(min=1e-300), 0.0)


def nearest(ratio):
    return (ratio[:, None] - LEVELS).abs().argmin(1)


def check_codes(observe, path, case, says, one_scale=True):
    n, want = len(case["codes"]), case["codes"]
    codes = read(observe, path, n)
    ratio = ratios(case)
    even = torch.cat([want, torch.full((n % 2,), 7)]).view(-1, 2).flip(1).reshape(-1)[:n]
    half = (n + 1) // 2
    halves = torch.zeros(2 * half, dtype=torch.long)
    filled = torch.cat([want, torch.full((n % 2,), 7)])
    halves[0::2], halves[1::2] = filled[:half], filled[half:]
    upper = torch.searchsorted(LEVELS, ratio.contiguous())
    lower = torch.searchsorted(LEVELS, ratio.contiguous(), right=True) - 1
    uniform = ((ratio + 1) / 2 * 15).round()
    flat = case["w"].double().reshape(-1)
    single = nearest(flat / flat.abs().max().clamp(min=1e-300))
    close(
        codes,
        want,
        says,
        rtol=0.0,
        atol=0.0,
        call=call_of(case),
        mistakes=[
            (LAYOUT, even),
            (LAYOUT, halves[:n]),
            (NEAREST, lower.clamp(0, 15)),
            (NEAREST, upper.clamp(0, 15)),
            (NEAREST, uniform),
            (NEAREST, ((ratio + 1) * 8).floor().clamp(0, 15)),
            (NEAREST, ((ratio + 1) / 2 * 15).trunc()),
            (NEAREST, (ratio * 7).round() + 7),
            (NEAREST, (ratio * 7).round() + 8),
            *([(OUTLIER, single)] if one_scale else []),
        ],
    )


def check_absmax(observe, path, case, says, rtol=1e-6):
    absmax = observe.tensor(f"{path}/absmax", "The second result is the tensor of absmax.")
    size, flat = case["block_size"], case["w"].double().reshape(-1)
    signed = torch.stack([block.max() for block in flat.split(size)])
    norms = torch.stack([block.norm() for block in flat.split(size)])
    mistakes = [
        (NEAREST, signed),
        (NEAREST, norms),
        (PRECISE, case["absmax"].to(torch.float16)),
        (PRECISE, case["absmax"].to(torch.bfloat16)),
        (OUTLIER, flat.abs().max().expand(len(signed))),
        ("Nothing may be added to absmax.", case["absmax"].double() + 1e-8),
    ]
    close(absmax, case["absmax"], says, rtol=rtol, atol=0.0, call=call_of(case), mistakes=mistakes)
    expect(absmax.dtype == torch.float32, PRECISE, f"got {describe(absmax)}")


def known(case):
    """A case with its codes and scales, which the judge kept."""
    return {**case, **case["kept"]}


def weights(observe):
    return [(i, known(case)) for i, case in enumerate(observe.given["weights"])]


@behaviour(1)
def test_packed_form(observe):
    for i, case in weights(observe):
        n = len(case["codes"])
        packed = observe.tensor(f"quantize/{i}/packed", "The first result is the tensor of packed codes.")
        expect(
            packed.dtype == torch.uint8 and packed.shape == ((n + 1) // 2,),
            "For n elements packed must be uint8 of shape ((n + 1) // 2,).",
            f"{call_of(case)}: got {describe(packed)}",
        )
        expect(observe[f"quantize/{i}/devices"], "The results belong on the weight's device.")


@behaviour(1)
def test_absmax_form(observe):
    for i, case in weights(observe):
        n, size = len(case["codes"]), case["block_size"]
        absmax = observe.tensor(f"quantize/{i}/absmax", "The second result is the tensor of absmax.")
        says = "absmax must have one entry per block, the last short block included."
        expect(
            absmax.shape == (-(-n // size),),
            f"{OUTLIER} {says}",
            f"{call_of(case)}: got {describe(absmax)}, expected {-(-n // size)} entries",
        )
        expect(absmax.dtype == torch.float32, PRECISE, f"got {describe(absmax)}")


@behaviour(1)
def test_default_block_size(observe):
    absmax = observe.tensor("quantize/default/absmax", "The second result is the tensor of absmax.")
    expect(absmax.shape == (3,), "The block size is 64 by default.", f"130 elements gave {describe(absmax)}")
    for name in ("packed", "absmax"):
        expect(
            torch.equal(observe[f"quantize/default/{name}"], observe[f"quantize/default/{name}_64"]),
            "Without a block size quantize_nf4 must give what it gives for blocks of 64.",
        )


@behaviour(5)
def test_default_block_size_of_dequantize(observe):
    close(
        observe["quantize/default/back/values"],
        observe.tensor("quantize/default/back/values_64"),
        "Without a block size dequantize_nf4 must assume blocks of 64.",
        rtol=1e-6,
        atol=1e-7,
    )


@behaviour(2)
def test_nearest_level(observe):
    for i in (0, 7):
        check_codes(observe, f"quantize/{i}", known(observe.given["weights"][i]), NEAREST)


def excess(observe, path, given):
    """How much nearer than the chosen level another one was, per element."""
    w = given.double().reshape(-1)
    codes = read(observe, path, len(w))
    ratio = w / w.view(-1, 31).abs().amax(1).repeat_interleave(31)
    distance = (ratio[:, None] - LEVELS).abs()
    return distance.gather(1, codes[:, None])[:, 0] - distance.amin(1)


@behaviour(2)
def test_nearest_level_beside_the_middle(observe):
    wrong = excess(observe, "quantize/edges", observe.given["edges"]) > 1e-5
    expect(
        not wrong.any(),
        f"{NEAREST} The border between two neighbours is their exact middle.",
        f"{int(wrong.sum())} of {len(wrong)} elements beside a middle got the second nearest level",
    )


@behaviour(3)
def test_absmax_of_every_block(observe):
    for i, case in weights(observe):
        check_absmax(observe, f"quantize/{i}", case, OUTLIER)


@behaviour(3)
def test_codes_use_the_scale_of_their_own_block(observe):
    for i, case in weights(observe):
        check_codes(observe, f"quantize/{i}", case, f"{OUTLIER} Codes do not fit the scale of their block.")


@behaviour(4)
def test_high_nibble_first(observe):
    for i, case in weights(observe):
        n, want = len(case["codes"]), case["codes"]
        if n % 2 == 0:
            packed = observe.tensor(f"quantize/{i}/packed", "The first result is the tensor of packed codes.")
            close(packed, want[0::2] * 16 + want[1::2], LAYOUT, rtol=0.0, atol=0.0, call=call_of(case))


@behaviour(4)
def test_odd_counts_are_filled_with_code_7(observe):
    for i, case in weights(observe):
        n, want = len(case["codes"]), case["codes"]
        if n % 2:
            packed = observe.tensor(f"quantize/{i}/packed", "The first result is the tensor of packed codes.")
            expect(packed.shape == ((n + 1) // 2,), LAYOUT, f"got {describe(packed)}")
            last = int(packed[-1])
            expect(
                last == int(want[-1]) * 16 + 7,
                f"{LAYOUT} For odd n the last element is in the high nibble, and the low one is 7.",
                f"{call_of(case)}: the last byte is 0x{last:02X}, expected 0x{int(want[-1]):X}7",
            )


def restores(observe):
    return [(i, known(case)) for i, case in enumerate(observe.given["restore"])]


def restored(case):
    scale = case["absmax"].double().repeat_interleave(case["block_size"])[: len(case["codes"])]
    return (LEVELS[case["codes"]] * scale).view(*case["shape"])


def check_values(observe, path, case, rtol=1e-5, atol=1e-7, says=""):
    n, size = len(case["codes"]), case["block_size"]
    want = restored(case)
    pairs = torch.cat([case["codes"], torch.full((n % 2,), 7)]).view(-1, 2)
    absmax = case["absmax"].double()
    own = absmax.repeat_interleave(size)[:n]
    # The scale of the first element of a byte for both, and a block's scale after block_size // 2 bytes.
    by_byte = own[(torch.arange(n) // 2) * 2]
    half = max(size // 2, 1)
    by_half = absmax[((torch.arange(n) // 2) // half).clamp(max=len(absmax) - 1)]
    mistakes = [
        (LAYOUT, (LEVELS[pairs.flip(1).reshape(-1)[:n]] * own).view(*case["shape"])),
        (BYTES, (LEVELS[case["codes"]] * by_byte).view(*case["shape"])),
        (BYTES, (LEVELS[case["codes"]] * by_half).view(*case["shape"])),
        (
            "The levels must be multiplied by the absmax of their block.",
            LEVELS[case["codes"]].view(*case["shape"]),
        ),
    ]
    got = observe.tensor(path, "dequantize_nf4 must return a tensor.")
    expect(
        got.shape == want.shape,
        "The dequantized weight does not have the shape asked for.",
        f"got {describe(got)}",
    )
    close(
        got,
        want,
        says or "The dequantized weight is not level times absmax of the block.",
        rtol=rtol,
        atol=atol,
        device=observe.device,
        call=f"dequantize_nf4 to shape {tuple(case['shape'])}, block_size={size}",
        mistakes=[] if size % 2 == 0 and n % 2 == 0 and size > n else mistakes,
    )


@behaviour(5)
def test_dequantized_values(observe):
    for i, case in restores(observe):
        check_values(observe, f"restore/{i}/values", case)


@behaviour(5)
def test_dequantized_dtype(observe):
    for i, case in restores(observe):
        got = observe.tensor(f"restore/{i}/values")
        expect(got.dtype == torch.float32, "dequantize_nf4 gives float32 by default.", f"got {got.dtype}")
        for name, rtol in (("float16", 4e-3), ("bfloat16", 3e-2), ("float64", 1e-5)):
            got = observe.tensor(f"restore/{i}/{name}/values")
            expect(
                got.dtype == getattr(torch, name),
                "The dequantized weight does not have the dtype asked for.",
                f"got {got.dtype}, expected {name}",
            )
            check_values(
                observe, f"restore/{i}/{name}/values", case, rtol, 1e-6 if name == "float64" else 1e-4
            )


@behaviour(5)
def test_round_trip_error(observe):
    for i, case in weights(observe):
        got = observe.tensor(f"restore/round{i}/values", "dequantize_nf4 must return a tensor.")
        w = case["w"].double()
        expect(
            got.shape == w.shape,
            "The shape was not restored.",
            f"got {describe(got)}, expected {tuple(w.shape)}",
        )
        n, size = len(case["codes"]), case["block_size"]
        absmax = case["absmax"].double().repeat_interleave(size)[:n].view(w.shape)
        worst = ((got.double() - w).abs() / absmax).max().item()
        expect(
            worst <= 0.1521 + 1e-5,
            "The restored weight is off by more than 0.1521 * absmax.",
            f"{call_of(case)}: off by {worst:.4g} * absmax",
        )
        top = w.abs() == absmax
        expect(
            torch.equal(got.double()[top], w[top]),
            "The element that set absmax must come back exactly.",
            call_of(case),
        )


@behaviour(5)
def test_quantizing_again_gives_the_same_codes(observe):
    for i, case in restores(observe):
        codes = read(observe, f"restore/{i}/again", len(case["codes"]))
        expect(
            torch.equal(codes, case["codes"]),
            "Quantizing the dequantized weight again gave other codes.",
            call_of(case),
        )


@behaviour(5)
def test_packed_weight_is_not_modified(observe):
    for i, case in restores(observe):
        after = observe[f"restore/{i}/after"]
        says = "dequantize_nf4 changed packed or absmax in place."
        expect(alike(after, [case["packed"], case["absmax"]]), says)


@behaviour(6)
def test_blocks_of_zeros(observe):
    case = known(observe.given["holes"])
    absmax = observe.tensor("quantize/holes/absmax", "The second result is the tensor of absmax.")
    zero = case["absmax"] == 0
    expect(absmax.shape == zero.shape, OUTLIER, f"got {describe(absmax)}")
    expect(not absmax[zero].any(), "A block of zeros must have absmax 0.", f"got {absmax[zero].tolist()}")
    codes = read(observe, "quantize/holes", len(case["codes"]))
    zeros = zero.repeat_interleave(case["block_size"])
    expect(
        bool((codes[zeros] == 7).all()),
        "A block of zeros became NaN on the way: its codes must be 7, the level 0.",
        f"codes {sorted(set(codes[zeros].tolist()))}",
    )
    check_codes(observe, "quantize/holes", case, "Beside a block of zeros the codes are wrong.")
    back = observe.tensor("quantize/holes/back/values", "dequantize_nf4 must return a tensor.")
    expect(
        back.numel() == len(zeros) and not back.reshape(-1)[zeros].any(),
        "A block of zeros became NaN or another number after dequantizing.",
    )


@behaviour(6)
def test_blocks_of_tiny_weights(observe):
    case = known(observe.given["tiny"])
    says = (
        "Tiny weights were rounded to zero, or lost their relative accuracy: nothing may be added to absmax."
    )
    check_absmax(observe, "quantize/tiny", case, says, rtol=1e-5)
    # One scale for all would give the same codes as tiny blocks that are taken for zeros.
    check_codes(observe, "quantize/tiny", case, says, one_scale=False)
    check_values(observe, "quantize/tiny/back/values", case, rtol=1e-5, atol=1e-12, says=says)


@behaviour(7)
def test_other_dtypes(observe):
    given = known(observe.given["typed"])
    for name in ("float16", "bfloat16", "float64"):
        w = given["w"].to(getattr(torch, name)).float()
        case = {**given, "w": w, "absmax": torch.stack([b.abs().max() for b in w.view(-1).split(8)])}
        check_absmax(
            observe, f"typed/{name}", case, f"A {name} weight must give what its float32 copy gives."
        )
        check_codes(observe, f"typed/{name}", case, f"A {name} weight must give what its float32 copy gives.")
        expect(
            torch.equal(observe.tensor(f"typed/{name}/after").float(), w), "The weight was changed in place."
        )


@behaviour(7, presumes=("blocks_of_zeros",))
def test_float64_below_the_range_of_float32(observe):
    case = known(observe.given["underflow"])
    says = "A float64 weight must give what its float32 copy gives: 1e-50 is 0 there, so absmax is 0 and the code 7."
    check_absmax(observe, "typed/underflow", case, says)
    check_codes(observe, "typed/underflow", case, says, one_scale=False)


@behaviour(7, presumes=("nearest_level_beside_the_middle",))
def test_half_precision_weights_are_widened_first(observe):
    for name, given in observe.given["middles"].items():
        w = given.double().reshape(-1)
        absmax = w.view(-1, 31).abs().amax(1)
        close(
            observe[f"typed/middles_{name}/absmax"],
            absmax,
            PRECISE,
            rtol=1e-6,
            atol=0.0,
            device=observe.device,
        )
        wrong = excess(observe, f"typed/middles_{name}", given) > 1e-5
        expect(
            not wrong.any(),
            f"In {name} neither the ratio nor the levels are exact enough to find the nearest: widen to float32 first.",
            f"{int(wrong.sum())} of {len(w)} elements got the second nearest level",
        )


@behaviour(7)
def test_non_contiguous_weights(observe):
    case = known(observe.given["strided"])
    says = "A non-contiguous weight must be read in row-major order, not in storage order."
    for name in ("transposed", "sliced"):
        check_absmax(observe, f"typed/{name}", case, says)
        check_codes(observe, f"typed/{name}", case, says)


@behaviour(7)
def test_weight_stays_and_results_are_constants(observe):
    for i, case in weights(observe):
        expect(
            torch.equal(observe.tensor(f"quantize/{i}/after"), case["w"]), "The weight was changed in place."
        )
        expect(observe[f"quantize/{i}/flags"] == [False, False], "The results must not require a gradient.")


@behaviour(8)
def test_infinite_weights_are_refused(observe):
    for name in ("inf", "minus_inf", "nan", "inf_half", "minus_inf_half", "nan_half", "nan_only"):
        says = "A NaN weight silently became an ordinary number." if "nan" in name else "Inf must be refused."
        observe.raised(f"errors/{name}", "ValueError", says=says)
    says = "inf and -inf in one weight must be refused: look at the elements, not at their sum."
    observe.raised("errors/both", "ValueError", says=says)


@behaviour(8, on_error="Weights of 2e38 are finite: look at the elements, not at their sum.")
def test_large_weights_are_valid(observe):
    says = "Weights of 2e38 are finite and valid."
    packed = observe.tensor("errors/huge/packed", says)
    close(
        packed,
        torch.full((12,), 255),
        says,
        rtol=0.0,
        atol=0.0,
        call="quantize_nf4 of 24 equal ones, block_size=8",
    )
    close(observe["errors/huge/absmax"], [2e38] * 3, says, rtol=1e-6)


@behaviour(8)
def test_bad_block_sizes_are_refused(observe):
    for name in ("block_zero", "block_negative", "layer"):
        observe.raised(f"errors/{name}", "ValueError", says="A block size below 1 must be refused.")


@behaviour(8)
def test_shapes_that_do_not_fit_are_refused(observe):
    for name in ("larger", "smaller", "one_row_of_blocks", "same_blocks_fewer_bytes", "one_element_more"):
        observe.raised(
            f"errors/shape_{name}", "ValueError", says="A shape that does not fit packed must be refused."
        )
    observe.raised(
        "errors/packed_long", "ValueError", says="A shape that does not fit packed must be refused."
    )


@behaviour(8)
def test_scales_that_do_not_fit_are_refused(observe):
    for name in ("shape_other_block_size", "shape_larger_block_size", "absmax_long", "absmax_one"):
        observe.raised(
            f"errors/{name}",
            "ValueError",
            says="A shape whose number of blocks does not fit absmax must be refused.",
        )


@behaviour(8, on_error="A shape that fits must not be refused.")
def test_fitting_shape_is_valid(observe):
    expect(observe.tensor("errors/limits/out").shape == (4, 6), "A shape that fits must not be refused.")


def layers(observe):
    return [(i, known(case)) for i, case in enumerate(observe.given["linear"])]


def output(case, x):
    bias = 0.0 if case["bias"] is None else case["bias"].double()
    return x.double() @ restored(case).T + bias


@behaviour(9)
def test_layer_output(observe):
    for i, case in layers(observe):
        for k, x in enumerate(case["x"]):
            bias = 0.0 if case["bias"] is None else case["bias"].double()
            close(
                observe[f"layer/{i}/{k}/out"],
                output(case, x),
                "The output is not F.linear(x, dequantized weight, bias).",
                rtol=1e-4,
                atol=2e-5,
                device=observe.device,
                call=f"NF4Linear of a {tuple(case['shape'])} weight, block_size={case['block_size']}, x {tuple(x.shape)}",
                mistakes={
                    KEPT: x.double() @ case["w"].double().T + bias,
                    "The bias is missing.": output(case, x) - bias,
                },
            )
    _, case = layers(observe)[0]
    close(
        observe["layer/default/out"],
        output(case, case["x"][1]),
        "The block size of the layer is 64 by default.",
        rtol=1e-4,
        atol=2e-5,
        device=observe.device,
    )


@behaviour(9, on_error="Weight and bias are used in the dtype of x, whatever the dtype of the base was.")
def test_layer_follows_the_dtype_of_x(observe):
    for i, case in layers(observe):
        for base in ("float32", "bfloat16"):
            for name in ("float32", "bfloat16", "float64"):
                out = observe.tensor(f"dtypes/{i}/{base}/{name}/out")
                expect(
                    out.dtype == getattr(torch, name),
                    "The layer must return the dtype of x.",
                    f"got {out.dtype} for x of {name}",
                )
                rough = "bfloat16" in (base, name)
                close(
                    out,
                    output(case, case["x"][2]),
                    "The output is not F.linear(x, dequantized weight, bias).",
                    rtol=5e-2 if rough else 1e-4,
                    atol=0.25 if rough else 5e-5,
                    device=observe.device,
                )


@behaviour(9)
def test_layer_holds_only_the_packed_weight(observe):
    for i, case in layers(observe):
        n, bias = len(case["codes"]), case["bias"]
        expect(
            observe[f"memory/{i}/alive"] == [False, False],
            KEPT,
            "the base layer or its weight is still referenced after the caller let it go",
        )
        allowed = (n + 1) // 2 + 4 * len(case["absmax"]) + (0 if bias is None else 4 * len(bias)) + 64
        for name, when in (("fresh", "after construction"), ("used", "after a forward pass")):
            size, stored = observe[f"memory/{i}/{name}"], observe[f"memory/{i}/{name}_stored"]
            says = (
                KEPT if size >= 2 * n else "The layer holds more than the packed weight, absmax and the bias."
            )
            expect(
                size <= allowed and stored <= allowed + 4 * case["block_size"] + 64,
                says,
                f"{when} {max(size, stored)} bytes of tensors for {n} weights, allowed {allowed}",
            )


@behaviour(10)
def test_nothing_is_trained(observe):
    for i, _ in layers(observe):
        names = observe[f"layer/{i}/trainable"]
        expect(not names, "Nothing in the frozen layer may require a gradient.", ", ".join(map(str, names)))
        expect(
            not observe[f"layer/{i}/tracked"] and not observe[f"layer/{i}/attached"],
            "Nothing in the frozen layer may require a gradient: its output does without x requiring one.",
        )


@behaviour(10, on_error=DETACHED)
def test_gradient_reaches_the_input(observe):
    for i, case in layers(observe):
        close(
            observe.tensor(f"gradient/{i}/x", DETACHED),
            case["upstream"].double() @ restored(case),
            "The gradient to x is not the incoming one times the dequantized weight.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
            mistakes={
                "The gradient to x belongs to the full-precision weight, which the layer should not have.": case[
                    "upstream"
                ].double()
                @ case["w"].double()
            },
        )
        close(
            observe.tensor(f"gradient/{i}/x_eval", DETACHED),
            case["upstream"].double() @ restored(case),
            "In eval mode too the gradient must flow to x: the mode says nothing about gradients.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
        )


@behaviour(10)
def test_base_is_not_changed(observe):
    for i, case in layers(observe):
        expect(alike(*observe[f"layer/{i}/base"]), "The base layer's weight or bias was changed.")
        flags = observe[f"layer/{i}/base_flags"]
        expect(
            flags == [True] * (1 if case["bias"] is None else 2),
            "The base layer was changed: its parameters no longer require gradients.",
            f"flags {flags}",
        )


@behaviour(
    10,
    on_error="The state_dict of one layer must load into another of the same sizes.",
    presumes=("layer_output",),
)
def test_state_dict_is_complete(observe):
    for i, case in layers(observe):
        close(
            observe[f"state/{i}/out"],
            output(case, case["x"][1]),
            "Loaded into another layer, state_dict did not carry everything over.",
            rtol=1e-4,
            atol=2e-5,
            device=observe.device,
        )
