import math

import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

LOOSE = {"rtol": 1e-4, "atol": 1e-5}


def token_logprobs(logits, labels, shift=1):
    """Per-token log-probabilities in float64 and which of them count, both (B, T - 1)."""
    targets = labels[:, 1:]
    source = logits.double()[:, :-1] if shift else logits.double()[:, 1:]
    counted = targets != -100
    log_probs = source.log_softmax(-1)
    return log_probs.gather(2, targets.clamp(min=0).unsqueeze(2)).squeeze(2), counted


def expected_logprobs(logits, labels):
    values, counted = token_logprobs(logits, labels)
    return torch.where(counted, values, 0.0).sum(1)


def logprob_mistakes(logits, labels):
    values, counted = token_logprobs(logits, labels)
    zero = torch.zeros((), dtype=torch.float64)
    right = torch.where(counted, values, zero)
    unshifted, _ = token_logprobs(logits, labels, shift=0)
    every = labels != -100
    same = logits.double().log_softmax(-1).gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2)
    following = (
        logits.double()[:, 1:].log_softmax(-1).gather(2, labels[:, :-1].clamp(min=0).unsqueeze(2)).squeeze(2)
    )
    shift = (
        "The logits at a position predict the next token; yours were compared with the token already read."
    )
    mean = "A mean per token turns this into a different objective: answers of 2 and 5 tokens must differ in size."
    return [
        (shift, torch.where(counted, unshifted, zero).sum(1)),
        (shift, torch.where(every, same, zero).sum(1)),
        (shift, torch.where(labels[:, :-1] != -100, following, zero).sum(1)),
        (mean, right.sum(1) / counted.sum(1).clamp(min=1)),
        (mean, right.mean(1)),
        (
            "Whether a label counts is said by that label, not by the token in front of it.",
            torch.where(labels[:, :-1] != -100, values, zero).sum(1),
        ),
        ("Ignored labels were replaced by a valid id and then scored along.", values.sum(1)),
        (
            "Token id 0 is a real token here; only -100 marks positions that do not count.",
            torch.where(counted & (labels[:, 1:] != 0), values, zero).sum(1),
        ),
        ("That is a negative log-likelihood; log-probabilities are negative numbers.", -right.sum(1)),
    ]


@behaviour(1)
def test_each_label_is_scored_by_the_logits_before_it(observe):
    case = observe.given["full"]
    close(
        observe["logprobs/full/out"],
        expected_logprobs(case["logits"], case["labels"]),
        "The log-probabilities of a fully labeled sequence are wrong.",
        **LOOSE,
        device=observe.device,
        call=f"sequence_logprobs of logits {tuple(case['logits'].shape)}",
        mistakes=logprob_mistakes(case["logits"], case["labels"]),
    )


@behaviour(2)
def test_sum_over_scored_labels(observe):
    case = observe.given["masked"]
    close(
        observe["logprobs/masked/out"],
        expected_logprobs(case["logits"], case["labels"]),
        "The result is not the sum over the labels that count.",
        **LOOSE,
        device=observe.device,
        call=f"sequence_logprobs of logits {tuple(case['logits'].shape)}, labels with -100 in front, behind and between",
        mistakes=logprob_mistakes(case["logits"], case["labels"]),
    )


@behaviour(
    2,
    on_error="A batch may hold one sequence only, and logits may be a transposed view.",
    presumes=("sum_over_scored_labels",),
)
def test_batches_of_every_kind(observe):
    case = observe.given["masked"]
    want = expected_logprobs(case["logits"], case["labels"])
    for name, rows, says in (
        ("plain", 4, "Logits that require no gradient give another result."),
        ("single", 1, "A batch of one sequence is wrong."),
    ):
        out = observe.tensor(f"layouts/{name}/out")
        shape = tuple(out.shape)
        expect(shape == (rows,), "The result has one number per sequence.", f"B = {rows}: shape {shape}")
        close(out, want[:rows], says, rtol=1e-4, atol=1e-5, device=observe.device)
    case = observe.given["full"]
    close(
        observe["layouts/two/out"],
        expected_logprobs(case["logits"][:, :2], case["labels"][:, :2]),
        "Sequences of two tokens are wrong: only the dimension of the gathered label may be squeezed.",
        rtol=1e-4,
        atol=1e-5,
        device=observe.device,
        call=f"sequence_logprobs of logits ({len(case['logits'])}, 2, {case['logits'].shape[2]})",
    )


@behaviour(13, on_error="Logits and labels need not be contiguous.", presumes=("sum_over_scored_labels",))
def test_transposed_logits(observe):
    case = observe.given["masked"]
    close(
        observe.tensor("layouts/transposed/out"),
        expected_logprobs(case["logits"], case["labels"]),
        "Logits that are a transposed view give another result.",
        rtol=1e-4,
        atol=1e-5,
        device=observe.device,
    )


@behaviour(2)
def test_row_without_labels_gives_zero(observe):
    out = observe.tensor("nothing/unlabelled/out")
    expect(
        out.shape == (4,) and out[2].item() == 0.0,
        "A row without a scored label must give exactly 0.",
        f"got {out.tolist()}",
    )
    first = observe.tensor("nothing/first_only/out")
    expect(
        first.shape == (4,) and not first.any(),
        "The first label is never scored; with only that one set the result is exactly 0.",
        f"got {first.tolist()}",
    )
    one = observe.tensor("nothing/one/out")
    expect(
        one.shape == (4,) and not one.any(),
        "A sequence of one token has nothing to score: exactly 0.",
        f"got {one.tolist()}",
    )


@behaviour(3)
def test_ignored_positions_get_no_gradient(observe):
    for name, path in (("masked", "logprobs/masked"), ("full", "logprobs/full")):
        labels = observe.given[name]["labels"]
        grad = observe.tensor(f"{path}/grad", "The logits got no gradient.")
        unused = torch.ones(labels.shape, dtype=torch.bool)
        unused[:, :-1] = labels[:, 1:] == -100
        expect(
            grad.shape[:2] == labels.shape and not grad[unused].any(),
            "Logits that predict no scored label got a gradient: ignored labels must contribute nothing.",
        )
    grad = observe.tensor("nothing/unlabelled/grad", "The logits got no gradient.")
    expect(not grad[2].any(), "A row without scored labels got a gradient.")


@behaviour(3)
def test_gradient_of_the_scored_positions(observe):
    for name in ("masked", "double"):
        case = observe.given[name]
        logits = case["logits"].double().requires_grad_()
        values, counted = token_logprobs(logits, case["labels"])
        weights = torch.arange(1, len(logits) + 1, dtype=torch.float64)
        (torch.where(counted, values, 0.0).sum(1) * weights).sum().backward()
        close(
            observe.tensor(f"logprobs/{name}/grad", "The logits got no gradient."),
            logits.grad,
            "The gradient to the logits is wrong.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(4, presumes=("sum_over_scored_labels",))
def test_half_precision_is_widened(observe):
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        out = observe.tensor(f"half/{name}/out")
        expect(out.dtype == torch.float32, f"{name} logits must give float32.", f"got {out.dtype}")
        close(
            out,
            expected_logprobs(observe.given["long"].to(dtype), observe.given["long_labels"]),
            f"Hundreds of {name} terms were added in {name}: widen before the softmax.",
            rtol=1e-5,
            atol=1e-3,
            device=observe.device,
        )


@behaviour(4)
def test_one_token_is_widened_too(observe):
    out = observe.tensor("nothing/one_half/out")
    says = "bfloat16 logits must give float32, also where a sequence of one token has nothing to score."
    expect(out.dtype == torch.float32 and not out.any(), says, f"got {out}")


@behaviour(4)
def test_other_dtypes_are_kept(observe):
    for name, dtype in (("full", torch.float32), ("double", torch.float64)):
        out = observe.tensor(f"logprobs/{name}/out")
        expect(out.dtype == dtype, f"{dtype} logits must give {dtype}.", f"got {out.dtype}")
    case = observe.given["double"]
    close(
        observe["logprobs/double/out"],
        expected_logprobs(case["logits"], case["labels"]),
        "float64 logits were computed in lower precision.",
        rtol=1e-9,
        atol=1e-10,
        device=observe.device,
        mistakes=logprob_mistakes(case["logits"], case["labels"]),
    )


@behaviour(4)
def test_steep_logits_stay_finite(observe):
    case = observe.given["steep"]
    close(
        observe["half/steep/out"],
        expected_logprobs(case["logits"], case["labels"]),
        "Logits of 1e4 must give finite, right results: take log-softmax, not the log of a softmax.",
        rtol=1e-5,
        atol=1e-2,
        device=observe.device,
    )
    expect(
        bool(observe.tensor("half/steep/grad").isfinite().all()),
        "Logits of 1e4 gave a gradient that is not finite.",
    )


def margin(case, beta):
    chosen = case["policy_chosen"].double() - case["ref_chosen"].double()
    rejected = case["policy_rejected"].double() - case["ref_rejected"].double()
    return beta * (chosen - rejected)


def log_sigmoid(h):
    return torch.nn.functional.logsigmoid(h)


def smoothed_loss(h, e):
    return (-(1 - e) * log_sigmoid(h) - e * log_sigmoid(-h)).mean()


def pair_cases(observe):
    return enumerate([*observe.given["pairs"], observe.given["pairs_double"]])


@behaviour(5)
def test_loss(observe):
    for i, case in pair_cases(observe):
        beta = case["beta"]
        h = margin(case, beta)
        policy = beta * (case["policy_chosen"].double() - case["policy_rejected"].double())
        half = beta * (case["policy_chosen"] - case["ref_chosen"] - case["policy_rejected"]).double()
        reference = "With the policy equal to the reference the loss must be ln 2."
        close(
            observe[f"loss/plain{i}/loss"],
            -log_sigmoid(h).mean(),
            "The loss is not the batch mean of -log sigmoid(h).",
            **LOOSE,
            device=observe.device,
            call=f"dpo_loss of {len(h)} pairs, beta={beta:.3g}",
            mistakes=[
                (
                    "beta scales the log-ratios inside the sigmoid, not the loss.",
                    -beta * log_sigmoid(h / beta).mean(),
                ),
                ("beta has no effect.", -log_sigmoid(h / beta).mean()),
                ("The loss is the mean over the pairs, not their sum.", -log_sigmoid(h).sum()),
                (reference, -log_sigmoid(policy).mean()),
                (reference, -log_sigmoid(half).mean()),
                ("Chosen and rejected have changed places.", -log_sigmoid(-h).mean()),
                ("The sigmoid of the mean margin is not the mean loss.", -log_sigmoid(h.mean())),
                ("That is the margin itself, without the logistic loss.", -h.mean()),
            ],
        )
    default = margin(observe.given["pairs"][0], 0.1)
    close(
        observe["loss/default/loss"],
        -log_sigmoid(default).mean(),
        "beta is 0.1 by default, without smoothing.",
        **LOOSE,
    )
    case = observe.given["pairs"][0]
    close(
        observe["loss/values/loss"],
        -log_sigmoid(margin(case, case["beta"])).mean(),
        "Inputs that require no gradient give another loss.",
        **LOOSE,
    )
    close(
        observe["loss/same/loss"],
        math.log(2),
        "With the policy equal to the reference the loss must be ln 2.",
        **LOOSE,
    )


@behaviour(5)
def test_loss_is_a_scalar(observe):
    for i, _ in pair_cases(observe):
        out = observe.tensor(f"loss/plain{i}/loss")
        expect(out.dim() == 0, "The loss is a scalar tensor.", f"got shape {tuple(out.shape)}")


@behaviour(6)
def test_label_smoothing(observe):
    e = observe.given["smoothing"]
    for i, case in pair_cases(observe):
        h = margin(case, case["beta"])
        sums = "Label smoothing moves weight between the two terms; the weights still sum to 1."
        close(
            observe[f"loss/smooth{i}/loss"],
            smoothed_loss(h, e),
            "The smoothed loss is not (1 - e) of the given order plus e of the other.",
            **LOOSE,
            device=observe.device,
            call=f"dpo_loss of {len(h)} pairs, beta={case['beta']:.3g}, label_smoothing={e:.3g}",
            mistakes=[
                (sums, (-log_sigmoid(h) - e * log_sigmoid(-h)).mean()),
                (sums, (-(1 - e) * log_sigmoid(h)).mean()),
                (sums, (-(1 - e / 2) * log_sigmoid(h) - e / 2 * log_sigmoid(-h)).mean()),
                ("label_smoothing has no effect.", -log_sigmoid(h).mean()),
                ("The two weights have changed places.", smoothed_loss(h, 1 - e)),
            ],
        )


@behaviour(7, presumes=("loss", "label_smoothing"))
def test_huge_margins(observe):
    margins = observe.given["extreme"]
    says = "The sigmoid underflowed to 0 and its log is minus infinity: use a function made for the pair."
    for name, e in (("plain", 0.0), ("smooth", observe.given["smoothing"])):
        close(
            observe[f"extreme/{name}/loss"],
            smoothed_loss(margins.double(), e),
            says,
            **LOOSE,
            device=observe.device,
            call=f"margins of {[round(m) for m in margins.tolist()]}, label_smoothing={e:.3g}",
        )
        want = -((1 - e) * torch.sigmoid(-margins.double()) - e * torch.sigmoid(margins.double())) / len(
            margins
        )
        close(
            observe.tensor(
                f"extreme/{name}/grad_policy_chosen", "The policy's log-probabilities got no gradient."
            ),
            want,
            "The gradient is wrong for large margins, although the loss may be finite.",
            **LOOSE,
            device=observe.device,
        )
    for i, h in enumerate(margins.tolist()):
        close(
            observe[f"extreme/single{i}/loss"],
            max(-h, 0.0) + math.log1p(math.exp(-abs(h))),
            says,
            rtol=1e-4,
            atol=1e-6,
            call=f"one pair with margin {h:.5g}",
        )


@behaviour(8)
def test_policy_gradients(observe):
    smoothing = observe.given["smoothing"]
    for i, case in pair_cases(observe):
        beta = case["beta"]
        h = margin(case, beta)
        for name, e in ((f"plain{i}", 0.0), (f"smooth{i}", smoothing)):
            want = -beta * ((1 - e) * torch.sigmoid(-h) - e * torch.sigmoid(h)) / len(h)
            for side, sign in (("chosen", 1), ("rejected", -1)):
                close(
                    observe.tensor(f"loss/{name}/grad_policy_{side}", f"No gradient reaches policy_{side}."),
                    sign * want,
                    f"The gradient to policy_{side} is wrong.",
                    **LOOSE,
                    device=observe.device,
                )


@behaviour(8)
def test_reference_gets_no_gradient(observe):
    for i, _ in pair_cases(observe):
        for side in ("chosen", "rejected"):
            grad = observe[f"loss/plain{i}/grad_ref_{side}"]
            expect(
                grad is None or not grad.any(),
                "The reference model is frozen: no gradient may reach its log-probabilities.",
                f"ref_{side} got one",
            )


@behaviour(9)
def test_rewards(observe):
    for i, case in pair_cases(observe):
        beta = case["beta"]
        for side in ("chosen", "rejected"):
            policy, ref = case[f"policy_{side}"].double(), case[f"ref_{side}"].double()
            close(
                observe[f"loss/plain{i}/{side}"],
                beta * (policy - ref),
                f"The {side} rewards are not beta * (policy - reference).",
                **LOOSE,
                device=observe.device,
                mistakes={
                    "The rewards lack the factor beta.": policy - ref,
                    "Rewards are relative to the reference.": beta * policy,
                    "The sign of the rewards is wrong.": beta * (ref - policy),
                },
            )
            close(
                observe[f"loss/smooth{i}/{side}"],
                beta * (policy - ref),
                f"With label smoothing the {side} rewards are no longer beta * (policy - reference).",
                **LOOSE,
                device=observe.device,
            )


@behaviour(9)
def test_rewards_carry_no_graph(observe):
    for i, _ in pair_cases(observe):
        graphs = observe[f"loss/plain{i}/graphs"]
        expect(
            not any(graphs[:2]),
            "Rewards are for logging; keeping their graph keeps the whole forward pass in memory.",
        )


@behaviour(9)
def test_dtypes_are_kept(observe):
    for i, case in pair_cases(observe):
        dtype = case["policy_chosen"].dtype
        for name in ("loss", "chosen", "rejected"):
            out = observe.tensor(f"loss/plain{i}/{name}")
            expect(out.dtype == dtype, f"{name}: {dtype} inputs must give {dtype}.", f"got {out.dtype}")
    got = observe["half_pairs/bfloat16/dtypes"]
    expect(
        set(got) == {"torch.bfloat16"},
        "Loss and rewards keep the dtype of the inputs: bfloat16 inputs must give bfloat16.",
        f"loss and rewards are {got}",
    )


@behaviour(10)
def test_accuracy(observe):
    out = observe.tensor("accuracy/value", "The accuracy is a tensor.")
    expect(
        out.dim() == 0 and out.is_floating_point(),
        "The accuracy is a 0-dim float tensor.",
        f"got {out.dtype} of shape {tuple(out.shape)}",
    )
    kinds = observe.given["kinds"]
    wins = ((kinds == 0) | (kinds == 3)).double()
    share = wins.mean().item()
    close(
        out,
        share,
        "Accuracy is the share of pairs whose chosen reward is strictly greater.",
        rtol=1e-6,
        mistakes={
            "Accuracy compares rewards, relative to the reference, and a tie is not a win.": (
                share + (kinds == 1).double().mean().item()
            ),
            "The accuracy is a share, not a count.": wins.sum().item(),
            "The accuracy is a fraction, not a percentage.": 100 * share,
        },
    )
    close(
        observe["accuracy/close/value"],
        1.0,
        "A chosen reward that is greater by a little is greater.",
        rtol=1e-6,
        call="dpo_loss of pairs whose rewards differ by 2**-12",
    )
    expect(not observe["loss/plain0/graphs"][2], "The accuracy carries no graph.")


@behaviour(11)
def test_inputs_are_left_alone(observe):
    for name in ("masked", "full", "double"):
        expect(
            alike(*observe[f"logprobs/{name}/untouched"]), "sequence_logprobs changed its inputs in place."
        )
    expect(
        alike(*observe["layouts/plain/untouched"]),
        "sequence_logprobs changed logits or labels in place (logits without a gradient).",
    )
    for i, _ in pair_cases(observe):
        expect(alike(*observe[f"loss/plain{i}/untouched"]), "dpo_loss changed its inputs in place.")
        says = "dpo_loss switched requires_grad of an input off: detach it instead."
        expect(all(observe[f"loss/plain{i}/flags"]), says)
    expect(
        alike(*observe["loss/values/untouched"]),
        "dpo_loss changed its inputs in place (inputs without a gradient).",
    )


@behaviour(12)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "beta_zero": "beta = 0 must be refused.",
        "beta_negative": "A negative beta must be refused.",
        "smoothing_negative": "A negative label_smoothing must be refused.",
        "smoothing_half": "At label_smoothing = 0.5 both orders count alike; it must be refused.",
        "length": "Inputs of different length must be refused.",
        "broadcast": "An input of length 1 must be refused, not broadcast.",
        "two_dims": "Inputs of shape (B, 1) must be refused: per-token values were not summed.",
        "no_dims": "Inputs without a batch dimension must be refused.",
        "one_two_dims": "Inputs of different shape must be refused.",
        "labels_short": "Labels shorter than the logits must be refused: labels are not shifted here.",
        "labels_batch": "Labels of another batch size must be refused, not broadcast.",
        "labels_turned": "Labels of shape (T, B) must be refused.",
        "labels_dims": "Labels without a batch dimension must be refused.",
        "logits_dims": "Logits of two dimensions must be refused.",
        "logits_four_dims": "Logits of four dimensions must be refused.",
    }
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
