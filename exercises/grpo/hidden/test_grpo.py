import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

LOOSE = {"rtol": 1e-4, "atol": 1e-5}
WAYS = ("sequence", "token", "constant")


def right(got, want, rtol=1e-4, atol=1e-5):
    """Whether evidence has the wanted values; says nothing about how it fails."""
    return (
        isinstance(got, torch.Tensor)
        and got.shape == want.shape
        and not got.is_complex()
        and torch.isclose(got.double(), want, rtol=rtol, atol=atol).all()
    )


# --- advantages


def grouped(case):
    return case["rewards"].double().view(-1, case["group_size"])


GROUP = "Each prompt is its own yardstick: use the group."
NEIGHBORS = "Completions of one prompt are neighbors; yours are grouped with a stride."


def strided(case):
    """Groups taken as columns, back in the order of the rewards."""
    return case["rewards"].double().view(case["group_size"], -1)


def advantage_mistakes(case, eps):
    r, wrong = grouped(case), strided(case)
    mean, std = r.mean(1, keepdim=True), r.std(1, keepdim=True)
    low, high = r.amin(1, keepdim=True), r.amax(1, keepdim=True)
    flat = r.flatten()
    others = (r.sum(1, keepdim=True) - r) / (r.shape[1] - 1)
    plus = "eps is added to the standard deviation."
    found = [
        (
            "The sample standard deviation divides by group_size - 1.",
            (r - mean) / (r.std(1, correction=0, keepdim=True) + eps),
        ),
        (plus + " Yours is added to the variance.", (r - mean) / (std**2 + eps).sqrt()),
        (plus + " Yours is missing.", (r - mean) / std),
        (plus + " Yours is a lower limit.", (r - mean) / std.clamp(min=eps)),
        ("Divide by the standard deviation, not by the variance.", (r - mean) / (std**2 + eps)),
        ("Rewards are not centered: subtract the mean of the group.", r / (std + eps)),
        ("With scale=True the centered rewards are divided by std + eps.", r - mean),
        ("Divide by the standard deviation, not by the range.", (r - mean) / (high - low + eps)),
        ("The mean includes the completion itself; yours leaves it out.", (r - others) / (std + eps)),
        ("The sign is wrong: a reward above the mean is an advantage.", -(r - mean) / (std + eps)),
        (NEIGHBORS, (wrong - wrong.mean(0)) / (wrong.std(0) + eps)),
    ]
    if r.shape[0] > 1:
        found += [
            (GROUP, (r - mean) / (flat.std() + eps)),
            (GROUP, (r - flat.mean()) / (flat.std() + eps)),
            (GROUP, (r - flat.mean()) / (std + eps)),
            (GROUP, ((r - mean) / (flat.std(correction=0) + eps))),
            (GROUP, ((r - flat.mean()) / (flat.std(correction=0) + eps))),
            # GRPO with the standard deviation of the centered batch.
            (GROUP, (r - mean) / ((r - mean).flatten().std() + eps)),
        ]
    return [(says, value.flatten()) for says, value in found]


def scaled(case, eps):
    r = grouped(case)
    return ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + eps)).flatten()


@behaviour(1)
def test_scaled_advantages(observe):
    for i, case in enumerate(observe.given["groups"]):
        close(
            observe[f"advantages/scaled{i}/out"],
            scaled(case, case["eps"]),
            "The advantages are not (reward - group mean) / (group std + eps).",
            **LOOSE,
            device=observe.device,
            call=f"group_advantages of {len(case['rewards'])} rewards, group_size={case['group_size']}, eps={case['eps']:.3g}",
            mistakes=advantage_mistakes(case, case["eps"]),
        )


@behaviour(1)
def test_default_eps(observe):
    for i, case in enumerate(observe.given["groups"]):
        if not right(observe[f"advantages/scaled{i}/out"], scaled(case, case["eps"])):
            return  # wrong with a given eps too, which its own test reports
    case = observe.given["tiny"]
    r = grouped(case)
    centered, std = r - r.mean(1, keepdim=True), r.std(1, keepdim=True)
    close(
        observe["advantages/tiny/out"],
        scaled(case, 1e-4),
        "The advantages of rewards that differ by about 0.001 are wrong; eps is 1e-4 by default.",
        **LOOSE,
        device=observe.device,
        mistakes=[
            ("The default of eps is 1e-4.", (centered / (std + eps)).flatten())
            for eps in (1e-8, 1e-6, 1e-5, 1e-3)
        ]
        + advantage_mistakes(case, 1e-4),
    )


@behaviour(1)
def test_centered_advantages(observe):
    for i, case in enumerate(observe.given["groups"]):
        r, wrong = grouped(case), strided(case)
        centered = (r - r.mean(1, keepdim=True)).flatten()
        mistakes = [
            ("scale=False must leave out the division.", scaled(case, 1e-4)),
            ("scale=False leaves out the division, not the mean.", r.flatten()),
            (
                "The mean includes the completion itself; yours leaves it out.",
                centered * r.shape[1] / (r.shape[1] - 1),
            ),
            (NEIGHBORS, (wrong - wrong.mean(0)).flatten()),
        ]
        if len(r) > 1:
            mistakes.append((GROUP, (r - r.mean()).flatten()))
        close(
            observe[f"advantages/centered{i}/out"],
            centered,
            "With scale=False the advantages are the rewards minus the mean of their group.",
            **LOOSE,
            device=observe.device,
            call=f"group_advantages of {len(case['rewards'])} rewards, group_size={case['group_size']}, scale=False",
            mistakes=mistakes,
        )


@behaviour(2)
def test_equal_rewards(observe):
    case = observe.given["equal"]
    r = grouped(case)
    for name in ("equal", "equal_centered"):
        out = observe.tensor(f"advantages/{name}/out", "The advantages are a tensor.")
        expect(
            not out.isnan().any(),
            "Equal rewards have std 0: one prompt poisoned the batch.",
            f"{int(out.isnan().sum())} of {out.numel()} advantages are NaN",
        )
        expect(
            out.numel() == r.numel(),
            "There is one advantage for each reward.",
            f"got shape {tuple(out.shape)}",
        )
        got = out.double().reshape(r.shape)[case["equal"]]
        expect(
            bool((got.abs() <= 1e-3).all()),
            "A prompt whose completions all scored the same must get advantages of 0.",
            f"got {got.abs().max().item():.3g} for rewards that are all equal",
        )


# --- log-probabilities and mask


def sequences(observe):
    steep = observe.given["steep"]
    # A logit of 10,000 is exact to 0.001 in float32.
    fine = [(str(i), case, LOOSE) for i, case in enumerate(observe.given["sequences"])]
    return [*fine, (str(len(fine)), steep, {"rtol": 1e-4, "atol": 5e-3})]


def gathered(scores, tokens):
    return scores.gather(2, tokens.unsqueeze(2)).squeeze(2)


@behaviour(3)
def test_token_logprobs(observe):
    for name, case, tolerance in sequences(observe):
        logits, tokens = case["logits"].double(), case["tokens"]
        logprobs = logits.log_softmax(-1)
        want = gathered(logprobs[:, :-1], tokens[:, 1:])
        shift = "Position t predicts token t + 1."
        big = float(logits.abs().max()) > 1000
        close(
            observe[f"logprobs/{name}/out"],
            want,
            "Logits of +-10,000 must give finite, right log-probabilities: use log-softmax."
            if big
            else "The result is not the log-softmax of logits[:, t] at tokens[:, t + 1].",
            **tolerance,
            device=observe.device,
            call=f"token_logprobs of logits {tuple(logits.shape)}" + (", all +-10,000" if big else ""),
            mistakes=[]
            if big
            else [
                (shift, gathered(logprobs[:, :-1], tokens[:, :-1])),
                (shift, gathered(logprobs[:, 1:], tokens[:, 1:])),
                (f"{shift} Yours is shifted the other way.", gathered(logprobs[:, 1:], tokens[:, :-1])),
                (
                    "These are raw logits: normalize them with log-softmax.",
                    gathered(logits[:, :-1], tokens[:, 1:]),
                ),
                ("These are probabilities; take their logarithm.", want.exp()),
                ("These are negative log-likelihoods: the sign is wrong.", -want),
                (
                    "Normalize over the vocabulary, the last dimension.",
                    gathered(logits.log_softmax(1)[:, :-1], tokens[:, 1:]),
                ),
                (
                    "Normalize over the vocabulary, the last dimension.",
                    gathered(logits[:, :-1].log_softmax(1), tokens[:, 1:]),
                ),
            ],
        )


@behaviour(3, on_error="token_logprobs must be differentiable.")
def test_token_logprobs_are_differentiable(observe):
    for name, case, tolerance in sequences(observe):
        logits, tokens, weights = case["logits"].double(), case["tokens"], case["weights"].double()
        if not right(
            observe[f"logprobs/{name}/out"],
            gathered(logits.log_softmax(-1)[:, :-1], tokens[:, 1:]),
            **tolerance,
        ):
            continue  # reported by the test of the values
        want = torch.zeros_like(logits)
        hot = torch.nn.functional.one_hot(tokens[:, 1:], logits.shape[2])
        want[:, :-1] = weights.unsqueeze(2) * (hot - logits[:, :-1].softmax(-1))
        close(
            observe.tensor(f"logprobs/{name}/grad", "No gradient reaches the logits."),
            want,
            "The gradient to the logits is wrong.",
            **tolerance,
            device=observe.device,
            call=f"token_logprobs of logits {tuple(logits.shape)}",
        )


@behaviour(4)
def test_completion_mask(observe):
    for i, case in enumerate(observe.given["lengths"]):
        prompts, lengths, T = case["prompt_lengths"][:, None], case["lengths"][:, None], case["T"]
        t = torch.arange(T - 1)[None]
        want = (prompts <= t + 1) & (t + 1 < lengths)
        got = observe.tensor(f"mask/{i}/out", "The mask is a tensor.")
        call = f"completion_mask of {len(want)} rows, T={T}"
        expect(got.dtype == torch.bool, "The mask must be bool.", f"got {got.dtype}")
        close(
            got,
            want,
            "The mask is not True exactly where prompt_length <= t + 1 < length.",
            rtol=0.0,
            atol=0.0,
            call=call,
            mistakes=[
                ("Only sampled tokens earn the reward. Yours includes the prompt.", t + 1 < lengths),
                (
                    "Only sampled tokens earn the reward. Yours includes the padding.",
                    (prompts <= t + 1) & (t < T),
                ),
                (
                    "The mask belongs to the predicted token t + 1; yours looks at t.",
                    (prompts <= t) & (t < lengths),
                ),
                (
                    "The first completion token is predicted at prompt_length - 1.",
                    (prompts <= t) & (t + 1 < lengths),
                ),
                (
                    "The first completion token is predicted at prompt_length - 1.",
                    (prompts < t + 1) & (t + 1 < lengths),
                ),
                ("Token number length is padding already.", (prompts <= t + 1) & (t + 1 <= lengths)),
                ("Token number length is padding already.", (prompts <= t + 1) & (t < lengths)),
                ("The last completion token counts too.", (prompts <= t + 1) & (t + 2 < lengths)),
                ("lengths counts prompt and completion.", (prompts <= t + 1) & (t + 1 < lengths + prompts)),
            ],
        )


# --- the loss


def weights(case, way="sequence"):
    """What one token's cost weighs in the loss, (B, S)."""
    mask = case["mask"].double()
    if way == "token":
        return mask / mask.sum().clamp(min=1)
    if way == "constant":
        return mask / (len(mask) * case["max_length"])
    return mask / mask.sum(1, keepdim=True).clamp(min=1) / len(mask)


def parts(case):
    """Ratio, advantage as a column, unclipped and clipped term, in float64; masked positions as they are."""
    ratio = (case["logprobs"].double() - case["old"].double()).exp()
    gain = case["advantages"].double()[:, None]
    e = case["clip_eps"]
    return ratio, gain, ratio * gain, ratio.clamp(1 - e, 1 + e) * gain


def kl(case):
    d = case["ref"].double() - case["logprobs"].double()
    return d.exp() - d - 1


def expected_loss(case, way="sequence", with_kl=False):
    _, _, plain, clipped = parts(case)
    cost = -torch.minimum(plain, clipped)
    if with_kl:
        cost = cost + case["beta"] * kl(case)
    return (weights(case, way) * cost).sum()


def expected_grad(case, way="sequence", with_kl=False):
    _, _, plain, clipped = parts(case)
    slope = torch.where(plain <= clipped, -plain, 0.0)
    if with_kl:
        slope = slope + case["beta"] * (1 - (case["ref"].double() - case["logprobs"].double()).exp())
    return weights(case, way) * slope


MINIMUM = "Take the minimum before the sign, or clipping keeps the harmful side."
DILUTED = "Padding dilutes your loss."
RECOMPUTED = "Recomputed old log-probs switch clipping off; keep those of the sampling policy."


def average_mistakes(case, cost, way):
    """Sentences and values for a right cost per token that is averaged in another way."""
    mask = case["mask"].double()
    rows, counts, B = (mask * cost).sum(1), mask.sum(1), len(mask)
    nonempty = counts > 0
    token = "The mean is taken per completion first, then over completions. Yours is over all tokens."
    if way == "token":
        token = "Divide by the number of True tokens of the batch."
    found = [
        (
            "sequence",
            "Per token, a long completion weighs more. Yours is a mean of row means.",
            (weights(case) * cost).sum(),
        ),
        ("token", token, (weights(case, "token") * cost).sum()),
        ("", "The loss is averaged, not summed.", rows.sum()),
        ("", "The loss is averaged over the tokens, not summed per row.", rows.mean()),
        ("", DILUTED, (mask * cost).mean()),
        ("", "Masked positions are in the loss.", cost.mean()),
        ("", "The result is the mean over all B rows, not their sum.", (rows / counts.clamp(min=1)).sum()),
        (
            "",
            "A row without completion tokens costs 0 and still counts in B.",
            (rows / counts.clamp(min=1))[nonempty].mean(),
        ),
    ]
    constant = "Dr. GRPO divides by a constant."
    if way == "constant":
        found = [item for item in found if item[1] != DILUTED]
        found[0] = ("sequence", f"{constant} Yours divides by the real lengths.", found[0][2])
        found[1] = ("token", f"{constant} Yours divides by the real lengths.", found[1][2])
        found += [
            (
                "",
                f"{constant} Yours is the longest completion of the batch.",
                rows.sum() / (B * counts.max().clamp(min=1)),
            ),
            ("", "The constant is B * max_length; B is missing.", rows.sum() / case["max_length"]),
            ("", "The constant is B * max_length; max_length is missing.", rows.sum() / B),
            ("", f"{constant} Yours is the width of the batch.", rows.sum() / mask.numel()),
        ]
    return [(says, value) for name, says, value in found if name != way]


def cost_mistakes(case, way="sequence"):
    """Sentences and losses for a wrong cost per token in the right average."""
    ratio, gain, plain, clipped = parts(case)
    e, w = case["clip_eps"], weights(case, way)
    logs = case["logprobs"].double() - case["old"].double()
    one = torch.ones_like(ratio)
    back = 1 / ratio
    mask = case["mask"].double()
    whole = ((mask * logs).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)).exp()
    found = [
        (MINIMUM, -torch.maximum(plain, clipped)),
        (
            "A bad move far outside the range must still be corrected: take the minimum of both terms.",
            -clipped,
        ),
        ("Nothing is clipped.", -plain),
        (RECOMPUTED, -one * gain),
        ("The sign is wrong: the loss is to be minimized.", torch.minimum(plain, clipped)),
        (
            "The ratio is new over old; yours is old over new.",
            -torch.minimum(back * gain, back.clamp(1 - e, 1 + e) * gain),
        ),
        (
            "The ratio is exp(logprobs - old_logprobs); exp is missing.",
            -torch.minimum(logs * gain, logs.clamp(1 - e, 1 + e) * gain),
        ),
        ("Clip the ratio, not its logarithm.", -torch.minimum(plain, logs.clamp(-e, e).exp() * gain)),
        (
            "The range has a lower end too: clip at 1 - clip_eps.",
            -torch.minimum(plain, ratio.clamp(max=1 + e) * gain),
        ),
        (
            "The range has an upper end too: clip at 1 + clip_eps.",
            -torch.minimum(plain, ratio.clamp(min=1 - e) * gain),
        ),
        ("Clip before multiplying with the advantage.", -torch.minimum(plain, plain.clamp(1 - e, 1 + e))),
        (
            "The ratio belongs to each token, not to the whole completion.",
            -torch.minimum(whole * gain, whole.clamp(1 - e, 1 + e) * gain),
        ),
        ("The loss lacks the ratio: that is plain policy gradient.", -case["logprobs"].double() * gain),
    ]
    if mask.shape[0] == mask.shape[1]:
        turned = gain.T
        found.append(
            (
                "Advantages belong to rows: add a dimension at the end, or they are spread over positions.",
                -torch.minimum(ratio * turned, ratio.clamp(1 - e, 1 + e) * turned),
            )
        )
    return [(says, (w * cost).sum()) for says, cost in found]


def loss_mistakes(case, way="sequence"):
    _, _, plain, clipped = parts(case)
    return cost_mistakes(case, way) + average_mistakes(case, -torch.minimum(plain, clipped), way)


def call_of(case, way=None, with_kl=False):
    text = f"grpo_loss of {tuple(case['mask'].shape)} tensors, clip_eps={case['clip_eps']:.3g}"
    if with_kl:
        text += f", beta={case['beta']:.3g}"
    if way is not None:
        text += f', aggregation="{way}"'
    return text + (f", max_length={case['max_length']}" if way == "constant" else "")


def losses(observe):
    return list(enumerate(observe.given["losses"]))


@behaviour(5)
def test_loss(observe):
    for i, case in losses(observe):
        close(
            observe[f"loss/plain{i}/loss"],
            expected_loss(case),
            "The loss is not the mean over rows of each row's mean of -min(ratio * A, clipped ratio * A).",
            **LOOSE,
            device=observe.device,
            call=call_of(case),
            mistakes=loss_mistakes(case),
        )


@behaviour(5)
def test_default_clip(observe):
    case = observe.given["default"]
    others = [
        ("The default of clip_eps is 0.2.", expected_loss({**case, "clip_eps": e}))
        for e in (0.1, 0.15, 0.25, 0.3)
    ]
    close(
        observe["loss/default/loss"],
        expected_loss(case),
        "The loss is wrong with the default clip_eps of 0.2.",
        **LOOSE,
        device=observe.device,
        mistakes=others + loss_mistakes(case),
    )


@behaviour(5)
def test_large_ratios(observe):
    if not all(right(observe[f"loss/plain{i}/loss"], expected_loss(case)) for i, case in losses(observe)):
        return  # wrong for ordinary ratios too, which its own test reports
    case = observe.given["large"]
    close(
        observe["loss/large/loss"],
        expected_loss(case),
        "The loss is wrong for log-ratios of almost 20: do not limit them.",
        **LOOSE,
        device=observe.device,
        mistakes=loss_mistakes(case),
    )


def grad_mistakes(case):
    ratio, gain, plain, clipped = parts(case)
    w, e = weights(case), case["clip_eps"]
    inside = (ratio >= 1 - e) & (ratio <= 1 + e)
    mask = case["mask"].double()
    return [
        (RECOMPUTED, -w * gain),
        ("Nothing is clipped.", -w * plain),
        (
            "A bad move far outside the range got no gradient: take the minimum of both terms.",
            torch.where(inside, -w * plain, 0.0),
        ),
        (MINIMUM, torch.where(plain >= clipped, -w * plain, 0.0)),
        ("The sign of the gradient is wrong.", -expected_grad(case)),
        ("The gradient does not follow the ratio.", torch.where(plain <= clipped, -w * gain, 0.0)),
        ("No gradient passes through the ratio.", torch.zeros_like(plain)),
        (DILUTED, torch.where(plain <= clipped, -plain, 0.0) * mask / mask.numel()),
        (
            "The mean is taken per completion first, then over completions. Yours is over all tokens.",
            expected_grad(case, "token"),
        ),
    ]


@behaviour(6, on_error="The loss must have a gradient to logprobs.")
def test_gradient(observe):
    for i, case in losses(observe):
        close(
            observe.tensor(f"loss/plain{i}/grad", "No gradient reaches logprobs."),
            expected_grad(case),
            "The gradient is not 0 where clipping acts and -ratio * A times the token's weight elsewhere.",
            **LOOSE,
            device=observe.device,
            call=call_of(case),
            mistakes=grad_mistakes(case),
        )
    case = observe.given["large"]
    close(
        observe.tensor("loss/large/grad", "No gradient reaches logprobs."),
        expected_grad(case),
        "The gradient is wrong for log-ratios of almost 20: do not limit them.",
        **LOOSE,
        device=observe.device,
        call=call_of(case),
    )


CONSTANTS = "With grad, old log-probs cancel the ratio; advantages are data too."


@behaviour(7, on_error="old_logprobs and advantages may require a gradient; they are constants all the same.")
def test_constants_get_no_gradient(observe):
    for i, case in losses(observe):
        for name in ("old", "advantages"):
            grad = observe[f"constants/leaves{i}/grad_{name}"]
            got = "old_logprobs" if name == "old" else name
            expect(
                grad is None or (isinstance(grad, torch.Tensor) and not grad.any()),
                CONSTANTS,
                f"{got} got a gradient",
            )


@behaviour(7, on_error="old_logprobs may be the tensor that is passed as logprobs.")
def test_one_tensor_for_both(observe):
    same = [
        observe.tensor(f"constants/same{i}/grad", f"{CONSTANTS} Here no gradient is left.")
        for i, _ in losses(observe)
    ]
    usual = [right(observe[f"loss/plain{i}/grad"], expected_grad(case)) for i, case in losses(observe)]
    other_mistake = not all(usual) and any(grad.any() for grad in same)
    for i, case in losses(observe):
        gain = case["advantages"].double()[:, None]
        want = -weights(case) * gain
        got = observe.tensor(f"constants/same{i}/grad", f"{CONSTANTS} Here no gradient is left.")
        if other_mistake:
            continue  # the gradient is wrong for two tensors too, which its own test reports
        close(
            got,
            want,
            "With the same tensor as logprobs and old_logprobs the gradient is -A times the token's weight.",
            **LOOSE,
            device=observe.device,
            call=f"grpo_loss(x, x, ...) with x of shape {tuple(want.shape)}",
            mistakes={CONSTANTS: torch.zeros_like(want)},
        )


@behaviour(7)
def test_reference_gets_no_gradient(observe):
    for i, _ in losses(observe):
        path = f"constants/ref{i}/grad_ref"
        # A submission without the KL term has nothing to show here; behavior 8 tells.
        grad = observe[path] if path in observe else None
        expect(
            grad is None or (isinstance(grad, torch.Tensor) and not grad.any()),
            "The reference policy is frozen: no gradient belongs to ref_logprobs.",
        )


# --- KL and aggregation


@behaviour(8)
def test_k3(observe):
    for i, case in enumerate(observe.given["pairs"]):
        d = case["ref"].double() - case["logprobs"].double()
        want = d.exp() - d - 1
        sign = "d is reference minus policy; k3 is never negative."
        close(
            observe[f"kl/{i}/out"],
            want,
            "kl_k3 is not exp(d) - d - 1 with d = ref_logprobs - logprobs.",
            **LOOSE,
            device=observe.device,
            call=f"kl_k3 of tensors of shape {tuple(d.shape)}",
            mistakes=[
                (f"{sign} Yours is policy minus reference.", (-d).exp() + d - 1),
                (sign, -want),
                (sign, (-d).exp() - d - 1),
                (sign, d.exp() + d - 1),
                ("That is k1, the log-ratio; k3 is exp(d) - d - 1.", -d),
                ("That is k1 with the wrong sign; k3 is exp(d) - d - 1.", d),
                ("That is k2, half the squared log-ratio; k3 is exp(d) - d - 1.", d**2 / 2),
                ("k3 is 0 where both policies agree: subtract 1.", d.exp() - d),
            ],
        )


@behaviour(8, on_error="kl_k3 must be differentiable.")
def test_k3_has_a_gradient(observe):
    for i, case in enumerate(observe.given["pairs"]):
        d = case["ref"].double() - case["logprobs"].double()
        if not right(observe[f"kl/{i}/out"], d.exp() - d - 1):
            continue  # reported by the test of the values
        close(
            observe.tensor(f"kl/{i}/grad", "No gradient reaches logprobs through kl_k3."),
            1 - d.exp(),
            "The gradient of kl_k3 to logprobs is not 1 - exp(d).",
            **LOOSE,
            device=observe.device,
        )


def kl_mistakes(case, way):
    w, b = weights(case, way), case["beta"]
    d = case["ref"].double() - case["logprobs"].double()
    k, other = kl(case), (-d).exp() + d - 1
    ratio, gain, _, _ = parts(case)
    e = case["clip_eps"]
    base, mask = expected_loss(case, way), case["mask"].double()
    shaped = gain - b * k
    inside = (w * -torch.minimum(ratio * shaped, ratio.clamp(1 - e, 1 + e) * shaped)).sum()
    found = [
        ("d is reference minus policy; k3 is never negative.", base + b * (w * other).sum()),
        ("The KL is a cost: add it to the loss.", base - b * (w * k).sum()),
        ("The KL term has no effect.", base),
        ("The KL term lacks the factor beta.", base + (w * k).sum()),
        ("Padding is in the KL term.", base + b * k.mean()),
        (f"{DILUTED} This is true of the KL term too.", base + b * (mask * k).mean()),
        (
            "The KL term is added to each token's cost, so it is averaged, not summed.",
            base + b * (mask * k).sum(),
        ),
        ("The KL term stays outside the clipping: add it to the cost, not to the advantage.", inside),
        ("The loss uses k1, not k3.", base - b * (w * d).sum()),
        ("The loss uses k2, not k3.", base + b * (w * d**2).sum() / 2),
    ]
    for another in WAYS:
        if another != way:
            says = "The KL term is added to each token's cost, before averaging; yours is averaged in another way."
            found.append((says, base + b * (weights(case, another) * k).sum()))
    return found


def k3_is_right(observe):
    for i, case in enumerate(observe.given["pairs"]):
        d = case["ref"].double() - case["logprobs"].double()
        if f"kl/{i}/out" in observe and not right(observe[f"kl/{i}/out"], d.exp() - d - 1):
            return False
    return True


@behaviour(8)
def test_loss_with_kl(observe):
    for i, case in losses(observe):
        if not k3_is_right(observe):
            break  # reported by the test of kl_k3
        for way in WAYS:
            alone = f"loss/{way}{i}/loss"
            if alone not in observe or not right(observe[alone], expected_loss(case, way)):
                continue  # reported by the tests of the loss and of the aggregation
            close(
                observe[f"loss/{way}_kl{i}/loss"],
                expected_loss(case, way, with_kl=True),
                "The loss does not contain beta * kl_k3 of each True token.",
                **LOOSE,
                device=observe.device,
                call=call_of(case, way, with_kl=True),
                mistakes=kl_mistakes(case, way),
            )


@behaviour(8, on_error="The KL term must have a gradient to logprobs.")
def test_gradient_with_kl(observe):
    for i, case in losses(observe):
        for way in WAYS:
            alone, loss = f"loss/{way}{i}/grad", f"loss/{way}_kl{i}/loss"
            if alone not in observe or not right(observe[alone], expected_grad(case, way)):
                continue
            if loss in observe and not right(observe[loss], expected_loss(case, way, with_kl=True)):
                continue  # the loss itself is wrong
            w, b = weights(case, way), case["beta"]
            k = kl(case)
            close(
                observe.tensor(f"loss/{way}_kl{i}/grad", "No gradient reaches logprobs."),
                expected_grad(case, way, with_kl=True),
                "The gradient to logprobs with the KL term is wrong.",
                **LOOSE,
                device=observe.device,
                call=call_of(case, way, with_kl=True),
                mistakes=[
                    ("The KL term has no gradient; it must pull the policy back.", expected_grad(case, way)),
                    (
                        "The KL term is a cost: its gradient has the wrong sign.",
                        2 * expected_grad(case, way) - expected_grad(case, way, with_kl=True),
                    ),
                    ("The KL term's gradient comes from k1.", expected_grad(case, way) + b * w),
                    ("The KL term is multiplied by the ratio.", expected_grad(case, way) + b * w * k),
                ],
            )


def check_way(observe, way, says):
    for i, case in losses(observe):
        close(
            observe[f"loss/{way}{i}/loss"],
            expected_loss(case, way),
            says,
            **LOOSE,
            device=observe.device,
            call=call_of(case, way),
            mistakes=[*average_first(case, way), *cost_mistakes(case, way)],
        )
        grad = f"loss/plain{i}/grad"
        if grad not in observe or not right(observe[grad], expected_grad(case)):
            continue  # reported by the test of the gradient
        close(
            observe.tensor(f"loss/{way}{i}/grad", "No gradient reaches logprobs."),
            expected_grad(case, way),
            f'The gradient with aggregation="{way}" does not follow the weight of each token.',
            **LOOSE,
            device=observe.device,
            call=call_of(case, way),
        )


def average_first(case, way):
    _, _, plain, clipped = parts(case)
    return average_mistakes(case, -torch.minimum(plain, clipped), way)


@behaviour(9)
def test_token_aggregation(observe):
    check_way(observe, "token", "The loss is not the sum over all True tokens divided by their number.")


@behaviour(9)
def test_sequence_aggregation_by_name(observe):
    says = 'aggregation="sequence" is the default and must give the same loss.'
    for i, case in losses(observe):
        if not right(observe[f"loss/plain{i}/loss"], expected_loss(case)):
            continue  # reported by the test of the loss
        close(observe[f"loss/sequence{i}/loss"], expected_loss(case), says, **LOOSE, device=observe.device)


@behaviour(10)
def test_constant_aggregation(observe):
    check_way(observe, "constant", "The loss is not the sum over all True tokens divided by B * max_length.")


# --- robust


def good_run(observe, path, case, way="sequence", with_kl=False):
    """Whether loss and gradient of an ordinary run are right. If not, other tests report it."""
    return (
        f"{path}/grad" in observe
        and right(observe[f"{path}/loss"], expected_loss(case, way, with_kl))
        and right(observe[f"{path}/grad"], expected_grad(case, way, with_kl))
    )


def checked(observe):
    """Path, case, way, with_kl of each run with garbage behind the mask whose clean run was right."""
    cases = [(f"_{i}", case) for i, case in losses(observe)] + [("_hollow", observe.given["hollow"])]
    for name, case in cases:
        runs = [(way, way, False) for way in WAYS] + [("kl", "sequence", True)]
        for label, way, with_kl in runs:
            if name == "_hollow":
                clean = f"masked/clean_{label}_hollow"
            else:
                clean = f"loss/{way}_kl{name[1:]}" if with_kl else f"loss/{way}{name[1:]}"
            if good_run(observe, clean, case, way, with_kl):
                yield f"masked/dirty_{label}{name}", case, way, with_kl


NAN = "NaN times 0 is NaN: replace before exp."


@behaviour(11)
def test_masked_positions_do_not_reach_the_loss(observe):
    for path, case, way, with_kl in checked(observe):
        loss = observe.tensor(f"{path}/loss", "The loss is a tensor.")
        call = call_of(case, way, with_kl)
        expect(not loss.isnan().any(), NAN, f"the loss is NaN; called: {call}")
        close(
            loss,
            expected_loss(case, way, with_kl),
            "What the log-probabilities hold at masked positions changes the loss.",
            **LOOSE,
            device=observe.device,
            call=call,
        )


@behaviour(11)
def test_masked_positions_get_no_gradient(observe):
    clean = [
        (f"loss/{way}{kind}{i}", case, way, kind == "_kl")
        for i, case in losses(observe)
        for way in WAYS
        for kind in ("", "_kl")
    ]
    for path, case, way, with_kl in [*clean, *checked(observe)]:
        if path.startswith("loss/") and f"{path}/grad" not in observe:
            continue  # reported by the tests of the loss
        grad = observe.tensor(f"{path}/grad", "No gradient reaches logprobs.")
        call = call_of(case, way, with_kl)
        expect(not grad.isnan().any(), NAN, f"the gradient is NaN; called: {call}")
        expect(
            grad.shape == case["mask"].shape and not grad[~case["mask"]].any(),
            "Masked positions must get a gradient of exactly 0.",
            call,
        )
        if path.startswith("masked/"):
            close(
                grad,
                expected_grad(case, way, with_kl),
                "What the log-probabilities hold at masked positions changes the gradient of the others.",
                **LOOSE,
                device=observe.device,
                call=call,
            )


@behaviour(11)
def test_rows_without_tokens(observe):
    case = observe.given["hollow"]
    _, _, plain, clipped = parts(case)
    full = observe.given["losses"][0]
    for way in WAYS:
        if not good_run(observe, f"loss/{way}0", full, way):
            continue  # wrong without such a row too
        close(
            observe[f"masked/clean_{way}_hollow/loss"],
            expected_loss(case, way),
            "A row without completion tokens must cost 0 and still count in B.",
            **LOOSE,
            device=observe.device,
            call=call_of(case, way) + f", {int((~case['mask'].any(1)).sum())} rows without a True",
            mistakes=average_mistakes(case, -torch.minimum(plain, clipped), way)[::-1],
        )
        close(
            observe.tensor(f"masked/clean_{way}_hollow/grad", "No gradient reaches logprobs."),
            expected_grad(case, way),
            "With a row that has no completion tokens the gradient is wrong.",
            **LOOSE,
            device=observe.device,
            call=call_of(case, way),
        )


def nan_in(value):
    return isinstance(value, torch.Tensor) and bool(value.isnan().any())


@behaviour(11, on_error="Without any completion token the loss is 0 and backward works.")
def test_no_token_at_all(observe):
    for way in WAYS:
        for kind in ("clean", "dirty"):
            path = f"masked/nothing_{kind}_{way}"
            loss = observe.tensor(f"{path}/loss", "The loss is a tensor.")
            clean = observe[f"masked/nothing_clean_{way}/loss"]
            if kind == "dirty" and isinstance(clean, torch.Tensor):
                expect(clean.isnan().any() or not loss.isnan().any(), NAN, "the loss is NaN")
            nan = ", not 0 / 0" if loss.isnan().any() else ""
            close(
                loss,
                0.0,
                f"Without any completion token the loss must be 0{nan}.",
                rtol=0.0,
                atol=0.0,
                call=f'grpo_loss with a mask of all False, aggregation="{way}"',
            )
            grad = observe[f"{path}/grad"]
            expect(
                grad is not None,
                "Without any completion token backward must give zeros; here logprobs gets no gradient.",
            )
            expect(
                isinstance(grad, torch.Tensor) and not grad.any(),
                "Without any completion token backward must give zeros"
                + (", not NaN." if nan_in(grad) else "."),
            )


ERRORS = {
    "aggregation": "An unknown aggregation must be refused.",
    "constant_none": 'aggregation="constant" without max_length must be refused.',
    "constant_zero": 'aggregation="constant" with max_length below 1 must be refused.',
    "constant_negative": 'aggregation="constant" with max_length below 1 must be refused.',
    "clip_zero": "clip_eps = 0 must be refused.",
    "clip_negative": "A negative clip_eps must be refused.",
    "beta_negative": "A negative beta must be refused.",
    "beta_alone": "beta > 0 without ref_logprobs must be refused.",
    "mask_int": "A mask that is not bool must be refused.",
    "mask_float": "A mask that is not bool must be refused.",
    "mask_byte": "A mask that is not bool must be refused.",
}
SHAPES = {
    **dict.fromkeys(
        (
            "mask_short",
            "mask_row",
            "new_short",
            "new_row",
            "old_short",
            "old_row",
            "old_column",
            "old_turned",
            "old_flat",
        ),
        "Log-probabilities that do not have the mask's shape must be refused, not broadcast.",
    ),
    **dict.fromkeys(
        ("ref_short", "ref_column"), "ref_logprobs of another shape than the mask must be refused."
    ),
    **dict.fromkeys(
        ("gain_column", "gain_full", "gain_one", "gain_scalar", "gain_width"),
        "Advantages that are not of shape (B,) must be refused.",
    ),
}


@behaviour(12)
def test_group_sizes_are_checked(observe):
    for size in (1, 0, -2):
        observe.raised(f"errors/group_{size}", "ValueError", says="group_size below 2 must be refused.")
    for size in (5, 24):
        observe.raised(
            f"errors/group_{size}",
            "ValueError",
            says="A group_size that does not divide the number of rewards must be refused.",
        )


@behaviour(12)
def test_options_are_checked(observe):
    for name, says in ERRORS.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(12)
def test_shapes_are_checked(observe):
    for name, says in SHAPES.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(12)
def test_dtypes_are_kept(observe):
    runs = [(f"advantages/scaled{i}/out", case["rewards"]) for i, case in enumerate(observe.given["groups"])]
    runs += [
        (f"advantages/centered{i}/out", case["rewards"]) for i, case in enumerate(observe.given["groups"])
    ]
    runs += [(f"logprobs/{i}/out", case["logits"]) for i, case in enumerate(observe.given["sequences"])]
    runs += [(f"kl/{i}/out", case["logprobs"]) for i, case in enumerate(observe.given["pairs"])]
    runs += [
        (f"loss/{way}{kind}{i}/loss", case["logprobs"])
        for i, case in losses(observe)
        for way in WAYS
        for kind in ("", "_kl")
    ]
    for path, value in runs:
        if path in observe:  # an exception is reported where the value is needed
            out = observe.tensor(path)
            function = {
                "advantages": "group_advantages",
                "logprobs": "token_logprobs",
                "kl": "kl_k3",
                "loss": "grpo_loss",
            }[path.split("/")[0]]
            expect(
                out.dtype == value.dtype,
                f"{function}: {value.dtype} must give {value.dtype}.",
                f"got {out.dtype}",
            )


def untouched(observe, path, before, name):
    if f"{path}/after" in observe:
        expect(alike(observe[f"{path}/after"], before), f"{name} changed its inputs in place.")


@behaviour(12)
def test_inputs_are_left_alone(observe):
    for i, case in enumerate(observe.given["groups"]):
        for kind in ("scaled", "centered"):
            untouched(observe, f"advantages/{kind}{i}", case["rewards"], "group_advantages")
    for i, case in enumerate([*observe.given["sequences"], observe.given["steep"]]):
        untouched(observe, f"logprobs/plain{i}", [case["logits"], case["tokens"]], "token_logprobs")
    for i, case in enumerate(observe.given["lengths"]):
        untouched(observe, f"mask/{i}", [case["prompt_lengths"], case["lengths"]], "completion_mask")
    for i, case in enumerate(observe.given["pairs"]):
        untouched(observe, f"kl/plain{i}", [case["logprobs"], case["ref"]], "kl_k3")
    for i, case in losses(observe):
        names = ("logprobs", "old", "advantages", "mask", "ref")
        untouched(observe, f"loss/untouched{i}", [case[name] for name in names], "grpo_loss")
