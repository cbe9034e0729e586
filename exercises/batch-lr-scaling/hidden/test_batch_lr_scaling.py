import math

from quizapp.judge.testing.checks import behaviour, close, expect

EXACT = {"rtol": 1e-9, "atol": 0.0}


@behaviour(1)
def test_effective_batch_size(observe):
    for i, (micro, accum, world) in enumerate(observe.given["sizes"]):
        forgotten = "A factor is forgotten: 8 GPUs, 4 micro-batches of 16: that is 512 examples per step."
        for name in ("all", "keywords"):
            close(
                observe[f"size/{i}/{name}"],
                micro * accum * world,
                "The examples behind one step are micro_batch * accum_steps * world_size.",
                **EXACT,
                call=f"effective_batch_size({micro}, {accum}, {world})",
                mistakes=[
                    (forgotten, micro * accum),
                    (forgotten, micro * world),
                    (forgotten, accum * world),
                    (forgotten, micro),
                ],
            )
        close(observe[f"size/{i}/micro"], micro, "accum_steps and world_size are 1 by default.", **EXACT)
        close(observe[f"size/{i}/accum"], micro * accum, "world_size is 1 by default.", **EXACT)
    close(observe["size/ones/value"], 1, "One example on one device is a batch of 1.", **EXACT)


@behaviour(1)
def test_batch_size_is_an_int(observe):
    value = observe["size/0/all"]
    expect(type(value) is int, "A batch size is an int.", f"got {value!r}")


@behaviour(2)
def test_linear_rule(observe):
    for i, case in enumerate(observe.given["rates"]):
        lr, ratio = case["lr"], case["batch"] / case["base"]
        for name in ("default", "linear"):
            close(
                observe[f"rate/{i}/{name}"],
                lr * ratio,
                "The linear rule multiplies the rate by batch / base_batch.",
                **EXACT,
                call=f"scaled_lr({lr:.4g}, {case['base']}, {case['batch']})",
                mistakes={
                    "A batch four times as large takes a rate four times as large.": lr / ratio,
                    "From 256 to 384 the factor is 1.5.": lr * (case["batch"] // case["base"]),
                    "The linear rule is not the square-root rule.": lr * math.sqrt(ratio),
                    "A smaller batch takes a smaller rate.": lr * max(1.0, ratio),
                },
            )


@behaviour(3)
def test_square_root_rule(observe):
    for i, case in enumerate(observe.given["rates"]):
        lr, ratio = case["lr"], case["batch"] / case["base"]
        advice = "For Adam, batch times 4 means rate times 2."
        close(
            observe[f"rate/{i}/sqrt"],
            lr * math.sqrt(ratio),
            "The sqrt rule multiplies the rate by the square root of batch / base_batch.",
            **EXACT,
            call=f"scaled_lr({lr:.4g}, {case['base']}, {case['batch']}, rule='sqrt')",
            mistakes=[
                (advice, lr * ratio),
                (advice, lr * ratio**2),
                ("A larger batch takes a larger rate.", lr / math.sqrt(ratio)),
                ("Only the ratio is rooted, not the rate.", math.sqrt(lr * ratio)),
                (
                    "From 256 to 384 the factor is the root of 1.5.",
                    lr * math.sqrt(case["batch"] // case["base"]),
                ),
                (
                    "From 256 to 384 the factor is the root of 1.5.",
                    lr * math.isqrt(case["batch"] // case["base"]),
                ),
            ],
        )
        close(observe[f"rate/{i}/equal"], lr, "The same batch takes the same rate.", **EXACT)


@behaviour(4)
def test_cap(observe):
    for i, case in enumerate(observe.given["rates"]):
        ratio = case["batch"] / case["base"]
        for rule, factor in (("linear", ratio), ("sqrt", math.sqrt(ratio))):
            lr = case["lr"] * factor
            close(
                observe[f"cap/{rule}{i}/below"],
                0.7 * lr,
                "The result may not exceed max_lr.",
                **EXACT,
                call=f"rule={rule!r}, max_lr below the scaled rate",
                mistakes={"max_lr has no effect.": lr},
            )
            close(
                observe[f"cap/{rule}{i}/same_batch"],
                0.7 * case["lr"],
                "The result may not exceed max_lr, also where the batch stays the same.",
                **EXACT,
                call=f"rule={rule!r}, the same batch, max_lr below base_lr",
            )
            close(
                observe[f"cap/{rule}{i}/above"],
                lr,
                "A max_lr above the scaled rate changes nothing.",
                **EXACT,
                call=f"rule={rule!r}, max_lr above the scaled rate",
                mistakes={"max_lr is a cap, not the result.": 1.3 * lr},
            )


def measurements(given):
    return [
        {**case["kept"], "small": case["small"][1], "large": case["large"][1]}
        for case in (*given["norms"], given["close"], given["tiny"], given["signal"])
    ]


def noise_mistakes(case):
    G, S, small, large = case["G"], case["S"], case["small"], case["large"]
    at_small, at_large = G + S / small, G + S / large
    rough = (at_small - at_large) / (1 / small - 1 / large)
    return [
        ("The norm at the big batch still contains S / b: solve both equations.", rough / at_large),
        (
            "The norm at the big batch still contains S / b: solve both equations.",
            (at_small - at_large) * small / at_large,
        ),
        ("A noisier gradient must give a larger noise scale.", G / S),
        ("That is S; the noise scale is S / G.", S),
        ("That is G; the noise scale is S / G.", G),
        ("The noise scale is S / G, without a root.", math.sqrt(S / G)),
        ("With little noise S / G is below 1; leave it as it is.", max(1.0, S / G)),
    ]


@behaviour(5)
def test_noise_scale(observe):
    for i, case in enumerate(measurements(observe.given)):
        close(
            observe[f"noise/{i}/small_first"],
            case["S"] / case["G"],
            "S / G does not solve the two equations sq_norm = G + S / b.",
            **EXACT,
            call=f"noise_scale at batches {case['small']} and {case['large']} for G={case['G']:.4g}, S={case['S']:.4g}",
            mistakes=noise_mistakes(case),
        )
    value = observe["noise/whole/value"]
    close(value, 50.0, "noise_scale(12, 10, 3, 100) is 50.", **EXACT)
    expect(type(value) is float, "The noise scale is a float.", f"got {value!r}")


@behaviour(6, on_error="The larger batch may come first.")
def test_order_of_the_measurements(observe):
    for i, case in enumerate(measurements(observe.given)):
        close(
            observe[f"noise/swapped{i}/large_first"],
            case["S"] / case["G"],
            "With the larger batch first the result must be the same.",
            **EXACT,
            call=f"noise_scale at batches {case['large']} and {case['small']} for G={case['G']:.4g}, S={case['S']:.4g}",
            mistakes=noise_mistakes(case),
        )


@behaviour(7)
def test_no_noise_measured(observe):
    for name in ("growing", "growing_swapped", "equal", "both_zero"):
        value = observe[f"limits/{name}/value"]
        close(
            value,
            0.0,
            "A negative batch size is no answer: where the estimate of S is not positive, the noise scale is 0.0.",
            **EXACT,
        )


@behaviour(7)
def test_noise_dominates(observe):
    for name in ("g_negative", "g_negative_swapped", "g_zero", "zero_norm"):
        value = observe[f"limits/{name}/value"]
        expect(
            isinstance(value, float) and value == math.inf,
            "A negative batch size is no answer; noise dominated means infinity.",
            f"got {value!r}, expected inf",
        )


@behaviour(8)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "micro": "A micro-batch of 0 must be refused.",
        "accum": "accum_steps=0 must be refused.",
        "world": "world_size=0 must be refused.",
        "negative_pair": "Two negative factors must be refused, although their product is positive.",
        "base_lr": "base_lr=0 must be refused.",
        "negative_lr": "A negative base_lr must be refused.",
        "max_lr": "max_lr=0 must be refused; it does not mean that there is no cap.",
        "negative_max_lr": "A negative max_lr must be refused.",
        "base_batch": "base_batch=0 must be refused.",
        "batch": "batch=0 must be refused.",
        "rule": "An unknown rule must be refused.",
        "rule_case": "An unknown rule must be refused, also one that contains a known name.",
        "rule_capital": "Only 'linear' and 'sqrt' are known rules: 'Linear' must be refused.",
        "rule_same_batch": "An unknown rule must be refused, also where the batch stays the same.",
        "norm_a": "A squared norm cannot be negative.",
        "norm_b": "A squared norm cannot be negative.",
        "batch_a": "A batch of 0 examples was never measured.",
        "batch_b": "A batch of 0 examples was never measured.",
        "same_batch": "Two measurements at one batch size do not separate G from S.",
        "same_batch_same_norm": "Two measurements at one batch size do not separate G from S.",
    }
    for name in ("micro", "accum", "world", "base_batch", "batch", "batch_a", "batch_b"):
        sentences[f"negative_{name}"] = "Sizes and counts below 1 must be refused, negative ones too."
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(8, on_error="Sizes of 1 and small positive norms are valid.")
def test_the_smallest_arguments_are_valid(observe):
    says = "Sizes of 1 and small positive norms are valid."
    expect(observe["errors/valid/micro"] == 1, says)
    close(
        observe["errors/valid/rates"],
        [0.4, 0.025],
        says,
        rtol=1e-9,
        call="scaled_lr(0.1, 1, 4) and (0.1, 4, 1)",
    )
    want = []
    for a, m, b, n in ((12.0, 1, 3.0, 100), (0.02, 10, 0.005, 100)):
        want.append((a - b) / (1 / m - 1 / n) / ((m * a - n * b) / (m - n)))
    calls = "noise_scale(12.0, 1, 3.0, 100) and (0.02, 10, 0.005, 100)"
    close(observe["errors/valid/noise"], want, says, rtol=1e-9, call=calls)
