import math
from fractions import Fraction

from quizapp.judge.testing.checks import behaviour, close, expect


def rate(sizes, world, stage):
    """Exact bytes per parameter on one rank."""
    p, g, o = (Fraction(size) for size in sizes)
    return (p / world if stage > 2 else p) + (g / world if stage > 1 else g) + (o / world if stage > 0 else o)


def check_bytes(observe, stage, says, mistakes):
    for i, case in enumerate(observe.given["sizes"]):
        params, world, sizes = case["P"], case["N"], case["bytes"]
        close(
            observe[f"bytes/{i}/{stage}/size"],
            float(params * rate(sizes, world, stage)),
            says,
            rtol=1e-9,
            call=f"model_state_bytes({params}, {world}, {stage}) with {sizes} bytes per parameter",
            mistakes=[(text, float(params * wrong(sizes, world))) for text, wrong in mistakes.items()],
        )


@behaviour(1)
def test_stage_0(observe):
    check_bytes(
        observe,
        0,
        "Plain data parallel replicates all 16 bytes per parameter; return plain bytes.",
        {
            "Plain data parallel replicates everything: nothing is divided at stage 0.": lambda b, n: rate(
                b, n, 3
            ),
            "Stage 0 shards nothing; the optimizer state is sharded from stage 1 on.": lambda b, n: rate(
                b, n, 1
            ),
            "Return plain bytes, not GiB.": lambda b, n: sum(map(Fraction, b)) / 2**30,
            "Return plain bytes, not GB.": lambda b, n: sum(map(Fraction, b)) / 10**9,
        },
    )
    close(
        observe["bytes/examples/seven"],
        112e9,
        "7e9 parameters take 112e9 bytes under plain data parallelism.",
        rtol=1e-9,
    )


@behaviour(2)
def test_stage_1(observe):
    check_bytes(
        observe,
        1,
        "At stage 1 the optimizer bytes, and only they, are divided by the world size.",
        {
            "Stage 1 shards the optimizer state only; gradients join at stage 2.": lambda b, n: rate(b, n, 2),
            "At stage 1 the optimizer state is sharded already.": lambda b, n: rate(b, n, 0),
        },
    )


@behaviour(3)
def test_stage_2(observe):
    check_bytes(
        observe,
        2,
        "At stage 2 gradients and optimizer state are divided by the world size, parameters are not.",
        {
            "Gradients are sharded from stage 2 on.": lambda b, n: rate(b, n, 1),
            "Parameters stay whole until stage 3.": lambda b, n: rate(b, n, 3),
        },
    )


@behaviour(4)
def test_stage_3(observe):
    says = "At stage 3 everything shrinks with the number of ranks: 16 bytes / world_size per parameter."
    check_bytes(observe, 3, says, {f"{says} Your parameters stay whole.": lambda b, n: rate(b, n, 2)})


@behaviour(4)
def test_examples(observe):
    close(
        observe["bytes/examples/thirteen"],
        [71.5e9, 48.75e9, 26e9],
        "13e9 parameters on 8 ranks should take 71.5e9, 48.75e9 and 26e9 bytes at stages 1, 2 and 3.",
        rtol=1e-9,
    )


@behaviour(5, presumes=("result_is_an_exact_float",))
def test_bytes_per_parameter_are_used(observe):
    for i, case in enumerate(observe.given["sizes"]):
        for stage in range(4):
            close(
                observe[f"bytes/{i}/{stage}/size"],
                float(case["P"] * rate(case["bytes"], case["N"], stage)),
                "The result does not follow the bytes per parameter that were given.",
                rtol=1e-9,
                call=f"model_state_bytes({case['P']}, {case['N']}, {stage}) with {case['bytes']} bytes",
                mistakes={
                    "The bytes per parameter are arguments, not always 2, 2 and 12.": float(
                        case["P"] * rate((2, 2, 12), case["N"], stage)
                    )
                },
            )


@behaviour(5)
def test_result_is_an_exact_float(observe):
    for i in range(len(observe.given["sizes"])):
        for stage in range(4):
            value = observe[f"bytes/{i}/{stage}/size"]
            expect(type(value) is float, "model_state_bytes should return a float.", f"got {value!r}")
    for name, want in (("third", 16 / 3), ("none", 0.0)):
        value = observe[f"bytes/tiny/{name}"]
        close(
            value,
            want,
            "The result must not be rounded.",
            rtol=1e-9,
            call="model_state_bytes(1, 3, 3)" if want else "model_state_bytes(0, 4, 2)",
            mistakes={"16 bytes over 3 ranks is 5.33 bytes, not 5.": 5.0},
        )
        expect(type(value) is float, "model_state_bytes should return a float.", f"got {value!r}")


def lowest(case, gpu, act):
    for stage in range(4):
        if case["P"] * rate(case["bytes"], case["N"], stage) + act <= gpu:
            return stage
    return None


def check_stage(got, want, says, detail):
    if got is None and want == 0:
        says = "Stage 0 is an answer, None is not."
    valid = got is None or (type(got) is int and 0 <= got <= 3)
    expect(valid and got == want, says, f"{detail}: got {got!r}, expected {want!r}")


@behaviour(6)
def test_exact_fit(observe):
    for i, case in enumerate(observe.given["stages"]):
        for k, gpu in enumerate(case["gpus"]):
            check_stage(
                observe[f"stages/{i}/{k}/plain"][0],
                lowest(case, gpu, 0),
                "A model that fills the GPU exactly fits. Stage 0 is an answer, None is not.",
                f"{case['P']} parameters, {case['N']} ranks, {float(gpu):.0f} bytes, {case['bytes']} bytes each",
            )


@behaviour(6)
def test_one_byte_too_few(observe):
    for i, case in enumerate(observe.given["stages"]):
        for k, gpu in enumerate(case["gpus"]):
            check_stage(
                observe[f"stages/{i}/{k}/plain"][1],
                lowest(case, gpu - 1, 0),
                "One byte is missing at that stage, so the next one is needed, or None after stage 3.",
                f"{case['P']} parameters, {case['N']} ranks, {float(gpu - 1):.0f} bytes, {case['bytes']} bytes each",
            )


@behaviour(6)
def test_ends_of_the_staircase(observe):
    calls = [
        ("1000 parameters, 1 rank, 16000 bytes", 0),
        ("1000 parameters, 1 rank, 15999 bytes", None),
        ("1000 parameters, 4 ranks, 1000000 bytes", 0),
        ("no parameters, 4 ranks, 0 bytes", 0),
        ("activations larger than the GPU", None),
    ]
    for got, (what, want) in zip(observe["stages/ends/results"], calls, strict=True):
        check_stage(got, want, "lowest_stage_that_fits gives the wrong stage.", what)


SHARDS = "ZeRO shards model states; each rank keeps the activations of its own micro-batch."


@behaviour(7)
def test_activations_count_in_full(observe):
    for i, case in enumerate(observe.given["stages"]):
        act = case["act"]
        for k, limit in enumerate(case["gpus"]):
            for got, gpu in zip(observe[f"stages/{i}/{k}/act"], (limit + act, limit + act - 1), strict=True):
                check_stage(
                    got,
                    lowest(case, gpu, act),
                    SHARDS,
                    f"{case['P']} parameters, {case['N']} ranks, {float(gpu):.0f} bytes, activations {act}",
                )


@behaviour(7)
def test_activations_lower_the_limit_in_full(observe):
    for i, case in enumerate(observe.given["free"]):
        if case["act"]:
            got = observe[f"limit/free{i}/count"]
            want = math.floor(
                Fraction(case["gpu"] - case["act"]) / rate(case["bytes"], case["N"], case["stage"])
            )
            room, shared = Fraction(case["gpu"]), Fraction(case["act"], case["N"])
            each = rate(case["bytes"], case["N"], case["stage"])
            usual = (math.floor(room / each), math.floor((room - shared) / each))
            says = SHARDS if got in usual else "max_params with activations is wrong."
            expect(got == want, says, f"{describe(case, case['gpu'])}: got {got!r}, expected {want}")


def describe(case, gpu):
    return f"max_params({gpu}, {case['N']}, {case['stage']}, {case['act']}) with {case['bytes']} bytes per parameter"


@behaviour(8)
def test_largest_number_that_fits(observe):
    for i, case in enumerate(observe.given["free"]):
        got = observe[f"limit/free{i}/count"]
        want = math.floor(Fraction(case["gpu"] - case["act"]) / rate(case["bytes"], case["N"], case["stage"]))
        expect(type(got) is int, "max_params should return an int.", f"got {got!r}")
        says = "That many parameters do not fit." if got > want else "More parameters would still fit."
        expect(got == want, says, f"{describe(case, case['gpu'])}: got {got}, expected {want}")
    got = observe["limit/fraction/counts"]
    says = "Bytes may be fractions: do not round gpu_bytes or activation_bytes."
    expect(got == [1, 2], says, f"max_params with 31.5 and 32 bytes left, 16 per parameter: got {got}")
    got, want = observe["limit/default/count"], math.floor(80 * 10**9 / rate((2, 2, 12), 7, 1))
    expect(got == want, "With the default sizes max_params is wrong.", f"got {got!r}, expected {want}")


@behaviour(8)
def test_exact_limit(observe):
    for i, case in enumerate(observe.given["exact"]):
        got, most = observe[f"limit/exact{i}/at"], case["kept"]["P"]
        expect(type(got) is int, "max_params should return an int.", f"got {got!r}")
        says = "One parameter more would still fit: compare exactly instead of flooring a float."
        if got > most:
            says = "One parameter more than fits: P fits and P + 1 does not."
        expect(got == most, says, f"{describe(case, case['gpu'])}: got {got}, expected {most}")
        got, want = observe[f"limit/exact{i}/below"], most - 1
        expect(
            got == want,
            "A fraction of a byte below the exact limit the last parameter does not fit any more.",
            f"{describe(case, case['gpu'] - 0.015625)}: got {got}, expected {want}",
        )


@behaviour(9)
def test_no_room_left(observe):
    for stage in range(4):
        for name in ("equal", "above", "zero"):
            got = observe[f"limit/full{stage}/{name}"]
            expect(
                type(got) is int and got == 0,
                "Activations already exceed the GPU, so no parameter fits: the answer is 0.",
                f"stage {stage}: got {got!r}",
            )


REFUSED = {
    "world_zero": "world_size=0 must be refused.",
    "world_negative": "A negative world_size must be refused.",
    "stage_four": "Stage 4 does not exist; a typo there must not give a plausible number.",
    "stage_negative": "Stage -1 does not exist; a typo there must not give a plausible number.",
    "stage_half": "Stage 1.5 does not exist: 0, 1, 2 and 3 are all there are.",
}


SIZES = ("param_bytes", "grad_bytes", "optim_bytes")
CHECKED = {
    "model_state_bytes": (
        "world_zero",
        "world_negative",
        "stage_four",
        "stage_negative",
        "stage_half",
        "params",
        *SIZES,
    ),
    "lowest_stage_that_fits": (
        "world_zero",
        "world_negative",
        "params",
        "gpu_bytes",
        "activation_bytes",
        *SIZES,
    ),
    "max_params": (
        "world_zero",
        "world_negative",
        "stage_four",
        "stage_negative",
        "stage_half",
        "gpu_bytes",
        "activation_bytes",
        *SIZES,
    ),
}


@behaviour(10)
def test_bad_arguments_are_refused(observe):
    for name, keys in CHECKED.items():
        for key in keys:
            says = REFUSED.get(key, f"A negative {key} must be refused.")
            observe.raised(f"errors/{name}/{key}", "ValueError", says=f"{name}: {says}")
    for key in ("world_zero", "stage_four", "stage_negative", "param_bytes"):
        says = REFUSED.get(key, f"A negative {key} must be refused.")
        says = f"max_params with activations that fill the GPU: {says} Check the arguments first."
        observe.raised(f"errors/full/{key}", "ValueError", says=says)


@behaviour(10, on_error="Sizes of 0 bytes are valid; only max_params refuses three of them.")
def test_zero_bytes(observe):
    observe.raised(
        "errors/all_zero",
        "ValueError",
        says="max_params: with 0 bytes for parameters, gradients and optimizer there is no largest number.",
    )
    close(observe["errors/zero_is_valid/bytes"], 20.0, "A single size of 0 bytes is valid.", rtol=1e-9)
    close(
        observe["errors/zero_is_valid/nothing"],
        0.0,
        "Sizes of 0 bytes take 0 bytes; only max_params refuses three of them.",
        rtol=0,
        atol=0,
    )
    expect(observe["errors/zero_is_valid/count"] == 250, "A single size of 0 bytes is valid.")
