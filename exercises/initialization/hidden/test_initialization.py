import math

import torch

from quizapp.judge.testing.checks import behaviour, close, expect

CALLS = ("xavier_uniform_", "kaiming_normal_")


def fans(size):
    positions = math.prod(size[2:])
    return size[1] * positions, size[0] * positions


@behaviour(1)
def test_fans(observe):
    for i, size in enumerate(observe.given["fans"]):
        fan_in, fan_out = fans(size)
        close(
            observe[f"fans/{i}/fans"],
            [fan_in, fan_out],
            "fan_in_out gave the wrong fans.",
            rtol=0.0,
            atol=0.0,
            call=f"fan_in_out of a weight of shape {tuple(size)}",
            mistakes=[
                (
                    "The fans are exchanged: for a Linear(100, 10) weight of shape (10, 100), fan_in is 100.",
                    [fan_out, fan_in],
                ),
                ("Each output of a 3 x 3 convolution sums over 9 times as many inputs.", [size[1], size[0]]),
                ("fan_out is multiplied by the kernel positions as well.", [fan_in, size[0]]),
                ("Only one kernel dimension is counted.", [size[1] * size[-1], size[0] * size[-1]]),
            ],
        )
        kinds = observe[f"fans/{i}/kinds"]
        expect(
            kinds == ["int", "int"],
            "fan_in_out should return two ints.",
            f"got {', '.join(kinds)}",
        )
    for name, want in (("linear", [7, 5]), ("conv", [24, 12])):
        close(
            observe[f"fans/turned/{name}"],
            want,
            "fan_in_out gave the wrong fans for a transposed view: its shape decides, not its memory.",
            rtol=0.0,
            atol=0.0,
        )
    close(
        observe["fans/modules/fans"],
        [[100, 10], [75, 400], [18, 21], [18, 30]],
        "fan_in_out gave the wrong fans for the weights of Linear, Conv2d, Conv1d and Conv3d.",
        rtol=0.0,
        atol=0.0,
    )


def compare(samples, says):
    """Sample standard deviations against the right ones, within 5%; names the mistake that fits them all.

    A sample is its values, the right standard deviation, what typical mistakes give, and the call.
    """
    found = []
    for got, want, candidates, call in samples:
        got = got.double()
        expect(bool(got.isfinite().all()), "There are elements that were not filled or are not finite.", call)
        found.append((got.square().mean().sqrt().item(), want, candidates, call))
    bad = [each for each in found if abs(each[0] / each[1] - 1) >= 0.05]
    if not bad:
        return
    for k, (sentence, _) in enumerate(bad[0][2]):
        if all(abs(std / candidates[k][1] - 1) < 0.03 for std, _, candidates, _ in found):
            says = sentence
            break
    std, want, _, call = bad[0]
    expect(False, says, f"{call}: standard deviation {std:.4g}, expected {want:.4g}")


def xavier_candidates(size, gain):
    fan_in, fan_out = fans(size)
    right = gain * math.sqrt(2 / (fan_in + fan_out))
    return right, [
        (
            "The bound is not the standard deviation: a uniform distribution on [-a, a] has a / sqrt(3).",
            right * 3**0.5,
        ),
        (
            "The bound is not the standard deviation: a uniform distribution on [-a, a] has a / sqrt(3).",
            right / 3**0.5,
        ),
        ("gain is ignored.", right / gain),
        ("gain multiplies the bound once, not its square.", right * gain),
        ("gain multiplies the bound; you multiplied the variance.", right / gain**0.5),
        ("Xavier uses both fans, not fan_in alone.", gain * math.sqrt(1 / fan_in)),
        ("Xavier uses both fans, not fan_in alone.", gain * math.sqrt(2 / fan_in)),
        ("Xavier uses both fans, not fan_out alone.", gain * math.sqrt(1 / fan_out)),
        ("The kernel positions belong to the fans.", gain * math.sqrt(2 / (size[0] + size[1]))),
        ("The variance was used as a standard deviation: take the root.", gain * 2 / (fan_in + fan_out)),
        ("The variance was used as a bound: take the root.", gain * 6 / (fan_in + fan_out) / 3**0.5),
    ]


def kaiming_candidates(size, slope):
    fan_in, fan_out = fans(size)
    variance = 2 / ((1 + slope**2) * fan_in)
    return math.sqrt(variance), [
        ("normal_ expects a standard deviation: take the root.", variance),
        ("ReLU removes half of the signal; the variance needs the factor 2.", math.sqrt(variance / 2)),
        ("fan_in counts the inputs of one output; you used fan_out.", math.sqrt(variance * fan_in / fan_out)),
        (
            "Kaiming looks at fan_in alone, not at both fans.",
            math.sqrt(variance * 2 * fan_in / (fan_in + fan_out)),
        ),
        ("The kernel positions belong to fan_in.", math.sqrt(variance * fan_in / size[1])),
        ("negative_slope is ignored.", math.sqrt(2 / fan_in)),
        ("negative_slope enters squared.", math.sqrt(2 / ((1 + slope) * fan_in))),
        (
            "The slope makes the weights smaller, not larger: divide by 1 + slope**2.",
            math.sqrt(2 * (1 + slope**2) / fan_in),
        ),
        ("The root is taken of the whole fraction.", math.sqrt(2 / fan_in) / (1 + slope**2)),
    ]


def distance(sample, cdf):
    """Kolmogorov's distance between a sample and a distribution."""
    values = sample.double().flatten().sort().values
    ranks = torch.arange(1, len(values) + 1, dtype=torch.float64) / len(values)
    return (ranks - cdf(values)).abs().max().item()


def distinct(sample):
    return sample.unique().numel() / sample.numel()


def xavier_samples(observe):
    for i, case in enumerate(observe.given["xavier"]):
        for name, gain in (("gain", case["gain"]), ("default", 1.0)):
            call = f"xavier_uniform_(weight{f', {gain:.4g}' if name == 'gain' else ''}), shape {tuple(case['size'])}"
            yield observe.tensor(f"xavier/{i}/{name}"), case["size"], gain, call


def kaiming_samples(observe):
    for i, case in enumerate(observe.given["kaiming"]):
        for name, slope in (("slope", case["slope"]), ("default", 0.0)):
            call = f"kaiming_normal_(weight{f', {slope:.4g}' if name == 'slope' else ''}), shape {tuple(case['size'])}"
            yield observe.tensor(f"kaiming/{i}/{name}"), case["size"], slope, call


@behaviour(2)
def test_xavier_scale(observe):
    samples = [
        (got, *xavier_candidates(size, gain), call) for got, size, gain, call in xavier_samples(observe)
    ]
    compare(samples, "The standard deviation is not that of Xavier's uniform distribution.")


@behaviour(2)
def test_xavier_gain_of_zero(observe):
    # Refusing such a gain would not be another bound.
    if observe.error("xavier/zero") is None:
        weight = observe.tensor("xavier/zero/weight")
        expect(bool((weight == 0).all()), "With gain=0 the bound is 0: no default may take its place.")


@behaviour(2)
def test_xavier_distribution(observe):
    for sample, size, gain, call in xavier_samples(observe):
        expect(distinct(sample) > 0.9, "Every element is drawn on its own; many of yours are equal.", call)
        bound = gain * math.sqrt(6 / sum(fans(size)))
        largest = sample.double().abs().max().item()
        expect(
            largest <= bound * (1 + 1e-5),
            "There are values outside [-a, a]: the distribution is uniform.",
            f"{call}: largest magnitude {largest:.4g}, a = {bound:.4g}",
        )
        expect(
            distance(sample, lambda v, a=bound: ((v + a) / (2 * a)).clamp(0, 1)) < 0.03,
            "The values are not spread evenly over [-a, a].",
            f"{call}: smallest {sample.min().item():.4g}, largest {sample.max().item():.4g}, a = {bound:.4g}",
        )


@behaviour(3)
def test_kaiming_scale(observe):
    samples = [(got, *kaiming_candidates(size, a), call) for got, size, a, call in kaiming_samples(observe)]
    compare(samples, "The standard deviation is not that of Kaiming's normal distribution.")


@behaviour(3)
def test_kaiming_distribution(observe):
    for sample, size, slope, call in kaiming_samples(observe):
        expect(distinct(sample) > 0.9, "Every element is drawn on its own; many of yours are equal.", call)
        std = math.sqrt(2 / ((1 + slope**2) * fans(size)[0]))
        mean = sample.double().mean().item()
        expect(abs(mean) < 0.05 * std, "The mean is not 0.", f"{call}: mean {mean:.4g}")
        expect(
            distance(sample, lambda v, s=std: 0.5 * (1 + torch.erf(v / (s * 2**0.5)))) < 0.03,
            "The values do not follow a normal distribution.",
            call,
        )
        # Of 38,000 values beyond 3.2 standard deviations some 50 are expected.
        largest = sample.double().abs().max().item() / std
        expect(
            largest > 3.2,
            "The tails are missing: a normal distribution is not cut off.",
            f"{call}: no value beyond {largest:.3g} standard deviations",
        )


def check_halves(sample, call):
    """Elements far from each other: the first half of the sample beside the second."""
    flat = sample.double().flatten()
    half = flat.numel() // 2
    together = torch.corrcoef(torch.stack([flat[:half], flat[-half:]]))[0, 1].item()
    expect(
        abs(together) < 0.06,
        "Every element is drawn on its own; one half of yours follows from the other.",
        f"{call}: correlation {together:.2f}",
    )


def check_variation(observe, name, right):
    size = observe.given["many"]
    count = math.prod(size)
    means, squares = observe.tensor(f"many/{name}/means"), observe.tensor(f"many/{name}/squares")
    call = f"{name}, 200 tensors of shape {tuple(size)}"
    says = "Draw the elements and leave them as they are: mean and scale of a small tensor vary by chance."
    spread = means.double().std().item() / (right / count**0.5)
    expect(0.6 < spread < 1.5, says, f"{call}: their means vary {spread:.2g} times as much as they should")
    kurtosis = 1.8 if name == "xavier_uniform_" else 3.0
    spread = squares.double().std().item() / (right**2 * ((kurtosis - 1) / count) ** 0.5)
    expect(
        0.5 < spread < 2.0, says, f"{call}: their mean squares vary {spread:.2g} times as much as they should"
    )


@behaviour(2)
def test_xavier_elements_are_independent(observe):
    for sample, _, _, call in xavier_samples(observe):
        check_halves(sample, call)
    size = observe.given["many"]
    right = xavier_candidates(size, 1.0)[0]
    check_variation(observe, "xavier_uniform_", right)
    at_bound = (observe.tensor("many/xavier_uniform_/largest").double() > 0.9999 * 3**0.5 * right).sum()
    expect(
        int(at_bound) < 50,
        "The largest element need not lie at the bound: draw the elements and leave them as they are.",
        f"xavier_uniform_: in {int(at_bound)} of 200 tensors it does",
    )


@behaviour(3)
def test_kaiming_elements_are_independent(observe):
    for sample, _, _, call in kaiming_samples(observe):
        check_halves(sample, call)
    check_variation(observe, "kaiming_normal_", kaiming_candidates(observe.given["many"], 0.0)[0])


@behaviour(4)
def test_deep_stack_keeps_its_scale(observe):
    squares = observe["stack/squares"]
    ratio = squares[-1] / squares[0]
    says = "After 20 layers of width 512 with ReLU the activations should still have their scale."
    if ratio < 1e-3:
        says = "ReLU removes half of the signal; after 20 layers yours has vanished."
    if ratio > 1e3:
        says = "After 20 layers of width 512 with ReLU your activations have exploded."
    expect(1 / 20 < ratio < 20, says, f"the mean square went from {squares[0]:.3g} to {squares[-1]:.3g}")


@behaviour(5)
def test_fills_in_place(observe):
    for name in CALLS:
        for kind in ("double", "single", "bfloat16"):
            path = f"in_place/{name}{kind}"
            expect(observe[f"{path}/same"] is True, f"{name} should return the tensor that it was given.")
            expect(observe[f"{path}/memory"] is True, f"{name} should write into the memory of the tensor.")
            expect(observe[f"{path}/device"] is True, f"{name} moved the weight to another device.")


@behaviour(5)
def test_shape_and_dtype_stay(observe):
    size = observe.given["xavier"][0]["size"]
    for name in CALLS:
        for kind, dtype in (
            ("double", torch.float64),
            ("single", torch.float32),
            ("bfloat16", torch.bfloat16),
        ):
            weight = observe.tensor(f"in_place/{name}{kind}/weight")
            expect(weight.dtype == dtype, f"{name} changed the dtype.", f"{dtype} became {weight.dtype}")
            expect(list(weight.shape) == size, f"{name} changed the shape.", f"now {tuple(weight.shape)}")
            filled(name, weight, size, f"{name} on a {str(dtype).removeprefix('torch.')} weight")


def filled(name, weight, size, call):
    right = xavier_candidates(size, 1.0) if name == "xavier_uniform_" else kaiming_candidates(size, 0.0)
    compare([(weight, *right, call)], f"{name} did not fill the tensor with values of the right scale.")


@behaviour(10)
def test_fills_views(observe):
    size = observe.given["xavier"][0]["size"]
    for name in CALLS:
        path = f"in_place/{name}view"
        expect(observe[f"{path}/same"] is True, f"{name} should return the view that it was given.")
        filled(name, observe.tensor(f"{path}/weight"), size, f"{name} on a strided view")
        for rest in observe[f"{path}/outside"]:
            expect(not rest.any(), f"{name} wrote outside of the view that it was given.")


@behaviour(6, on_error="Filling a parameter must not be recorded by autograd.")
def test_parameters(observe):
    size = observe.given["xavier"][0]["size"]
    for name in CALLS:
        for kind, grad in (("trained", True), ("frozen", False)):
            path = f"parameters/{name}{kind}"
            expect(observe[f"{path}/same"] is True, f"{name} should return the parameter itself.")
            expect(
                observe[f"{path}/requires_grad"] is grad,
                f"{name} changed requires_grad of a parameter.",
                f"it was {grad}",
            )
            expect(observe[f"{path}/leaf"] is True, "Filling a parameter must not be recorded by autograd.")
            says = f"{name} should write into the memory of the parameter, not give it another one."
            expect(observe[f"{path}/memory"] is True, says)
            filled(name, observe.tensor(f"{path}/weight"), size, f"{name} on a parameter")


@behaviour(10, on_error="A part of a parameter, such as the first rows of a fused weight, can be filled too.")
def test_parts_of_parameters(observe):
    size = observe.given["xavier"][0]["size"]
    for name in CALLS:
        path = f"parameters/{name}part"
        expect(observe[f"{path}/requires_grad"] is True, f"{name} changed requires_grad of a parameter.")
        expect(observe[f"{path}/leaf"] is True, "Filling a parameter must not be recorded by autograd.")
        filled(name, observe.tensor(f"{path}/weight"), size, f"{name} on the first rows of a parameter")
        rest = observe.tensor(f"{path}/rest")
        expect(not rest.any(), f"{name} wrote outside of the rows that it was given.")


@behaviour(6, on_error="Filling a parameter must not be recorded by autograd.")
def test_filled_parameters_train(observe):
    d_in, d_out = observe.given["small"]
    for name in CALLS:
        close(
            observe.tensor(f"parameters/{name}used/grad", "A filled parameter no longer gets a gradient."),
            torch.full((d_out, d_in), 3.0),
            "The gradient of a filled parameter is wrong.",
            rtol=1e-5,
        )


def settings():
    return [(f"random/{name}{size}", name) for name in CALLS for size in ("small", "kernel")]


@behaviour(7)
def test_generator_decides(observe):
    for path, name in settings():
        first, same, other = observe[f"{path}/generator/outs"]
        expect(
            torch.equal(first, same),
            f"{name}: two calls with equally seeded generators gave different weights.",
        )
        expect(
            not torch.equal(first, other), f"{name}: generators with different seeds gave the same weights."
        )
        first, second = observe[f"{path}/sequence/outs"]
        expect(not torch.equal(first, second), f"{name}: the generator should be advanced by every call.")


@behaviour(7)
def test_global_generator_decides_otherwise(observe):
    for path, name in settings():
        first, same, other = observe[f"{path}/manual/outs"]
        expect(torch.equal(first, same), f"{name}: without a generator torch.manual_seed should decide.")
        expect(
            not torch.equal(first, other), f"{name}: two seeds of torch.manual_seed gave the same weights."
        )
        first, second = observe[f"{path}/again/outs"]
        expect(not torch.equal(first, second), f"{name}: two calls in a row gave the same weights.")


@behaviour(7)
def test_global_generator_is_left_alone(observe):
    for path, name in settings():
        expect(
            torch.equal(observe.tensor(f"{path}/untouched/alone"), observe.tensor(f"{path}/untouched/after")),
            f"{name}: with a generator of its own a call should not advance torch's global one.",
        )


@behaviour(8)
def test_too_few_dimensions(observe):
    for name in ("fan_in_out", *CALLS):
        for kind, size in (("vector", "(7,)"), ("scalar", "()"), ("one", "(1,)")):
            observe.raised(
                f"errors/{name}{kind}",
                "ValueError",
                says=f"{name}: a tensor of shape {size} should be refused.",
            )
