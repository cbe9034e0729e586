import torch

from quizapp.judge.testing.checks import alike, behaviour, close, expect

LOOSE = {"rtol": 1e-4, "atol": 1e-5}
LAST = (
    "The score belongs to the last real token of each answer; here it was paid for padding, or several times."
)
SIGN = "A token more likely under the policy than under the reference must cost reward, not earn it."
SELECT = "NaN times 0 is still NaN: select with the mask instead of multiplying by it."


def cases(observe):
    return list(enumerate(observe.given["cases"]))


def last_positions(mask):
    """The column of each row's last response token, -1 without one."""
    return [max((t for t, on in enumerate(row) if on), default=-1) for row in mask.tolist()]


def placed(mask, scores, columns):
    out = torch.zeros(mask.shape, dtype=torch.float64)
    for row, column in enumerate(columns):
        if column >= 0:
            out[row, column] = scores[row].double()
    return out


def penalty(case, kl_coef):
    return torch.where(case["mask"], -kl_coef * (case["logprobs"].double() - case["ref"].double()), 0.0)


def expected_rewards(case, kl_coef):
    return penalty(case, kl_coef) + placed(case["mask"], case["scores"], last_positions(case["mask"]))


def reward_mistakes(case, kl_coef):
    mask, scores = case["mask"], case["scores"].double()
    width = mask.shape[1]
    kl = penalty(case, kl_coef)
    right = placed(mask, scores, last_positions(mask))
    everywhere = -kl_coef * (case["logprobs"].double() - case["ref"].double())
    count = mask.sum(1)
    first = [row.index(True) if True in row else -1 for row in mask.tolist()]
    filled = [position if position >= 0 else width - 1 for position in last_positions(mask)]
    zero = [max(position, 0) for position in last_positions(mask)]
    return [
        (LAST, kl + placed(mask, scores, [width - 1] * len(mask))),
        (LAST, kl + placed(mask, scores, [width - 1 if c else -1 for c in count])),
        (LAST, kl + scores[:, None] * mask),
        (LAST, kl + scores[:, None] * mask / count.clamp(min=1)[:, None]),
        (LAST, kl + placed(mask, scores, (count - 1).tolist())),
        (LAST, kl + placed(mask, scores, ((count - 1) % width).tolist())),
        (LAST, kl + placed(mask, scores, first)),
        (SIGN, right - kl),
        (
            "A row without response tokens must be all 0: its score is dropped.",
            kl + placed(mask, scores, filled),
        ),
        (
            "A row without response tokens must be all 0: its score is dropped.",
            kl + placed(mask, scores, zero),
        ),
        ("The penalty is missing: only the score is paid.", right),
        ("The score is missing.", kl),
        ("The penalty is missing at the last response token.", torch.where(right != 0, right, kl)),
        ("Positions without a response token got a penalty.", everywhere + right),
        ("The score is scaled along with the penalty.", kl + kl_coef * right),
        ("kl_coef has no effect.", penalty(case, 1.0) + right),
    ]


def check_rewards(observe, path, case, kl_coef, says, want=None):
    close(
        observe[path],
        expected_rewards(case, kl_coef) if want is None else want,
        says,
        **LOOSE,
        device=observe.device,
        call=f"kl_rewards of {tuple(case['mask'].shape)} tensors, kl_coef={kl_coef:.3g}",
        mistakes=reward_mistakes(case, kl_coef),
    )


@behaviour(1)
def test_rewards(observe):
    for i, case in cases(observe):
        check_rewards(observe, f"rewards/clean{i}/out", case, case["kl_coef"], "The rewards are wrong.")


@behaviour(1)
def test_default_and_zero_coefficient(observe):
    case = observe.given["cases"][0]
    check_rewards(observe, "rewards/default/out", case, 0.1, "The default kl_coef is 0.1.")
    check_rewards(
        observe,
        "rewards/free/out",
        case,
        0.0,
        "Without a penalty only the scores remain, at the last tokens.",
    )


@behaviour(1, on_error="A batch of one row is a batch, too.")
def test_rewards_of_a_single_row(observe):
    case, row = observe.given["cases"][0], observe["rewards/one_row/row"]
    close(
        observe["rewards/one_row/out"],
        expected_rewards(case, 0.1)[row : row + 1],
        "The rewards of a batch of one row are wrong.",
        **LOOSE,
        device=observe.device,
    )


@behaviour(2)
def test_rubbish_at_masked_positions(observe):
    for i, case in cases(observe):
        plain = observe.tensor(f"rewards/clean{i}/out", "The rewards are a tensor.")
        expect(
            plain.shape == case["mask"].shape and not plain[~case["mask"]].any(),
            "Rewards at positions without a response token must be exactly 0.",
        )
        out = observe.tensor(f"rewards/dirty{i}/out", "The rewards are a tensor.")
        expect(
            out.shape == case["mask"].shape and not out[~case["mask"]].isnan().any(),
            SELECT,
            "NaN at masked positions of the rewards",
        )
        expect(
            not out[~case["mask"]].any(), "Rewards at positions without a response token must be exactly 0."
        )
        check_rewards(
            observe,
            f"rewards/dirty{i}/out",
            case,
            case["kl_coef"],
            "What stands at masked positions must not matter for the others.",
        )


@behaviour(2)
def test_row_without_response_tokens(observe):
    for i, case in cases(observe):
        for kind in ("clean", "dirty"):
            out = observe.tensor(f"rewards/{kind}{i}/out", "The rewards are a tensor.")
            empty = ~case["mask"].any(1)
            expect(
                out.shape == case["mask"].shape and not out[empty].any(),
                "A row without response tokens must be all 0: its score is dropped.",
            )
    out = observe.tensor("rewards/nothing/out", "The rewards are a tensor.")
    expect(not out.any(), "With no response token anywhere all rewards are 0.")


@behaviour(3)
def test_rewards_carry_no_graph(observe):
    for i, case in cases(observe):
        expect(not observe[f"rewards/clean{i}/graph"], "Rewards are data: they must not carry a graph.")
        out = observe.tensor(f"rewards/clean{i}/out", "The rewards are a tensor.")
        expect(
            out.dtype == case["logprobs"].dtype and observe[f"rewards/clean{i}/device"],
            "The rewards must have the dtype and device of logprobs.",
            f"got {out.dtype} for {case['logprobs'].dtype}",
        )


@behaviour(13)
def test_rewards_with_scores_of_another_dtype(observe):
    for name in ("float32", "float64"):
        if observe.error(f"rewards/mixed_{name}") is None:
            out = observe.tensor(f"rewards/mixed_{name}/returned", "The rewards are a tensor.")
            expect(
                out.dtype == getattr(torch, name),
                "The rewards must have the dtype of logprobs, whatever that of scores is.",
                f"got {out.dtype} for logprobs in {name}",
            )


def row_gae(rewards, values, gamma, lam, gamma_trace=None):
    """GAE of one row without masked positions, plain numbers."""
    trace = (gamma if gamma_trace is None else gamma_trace) * lam
    out, next_value, next_advantage = [], 0.0, 0.0
    for r, v in zip(reversed(rewards), reversed(values), strict=True):
        next_advantage = r + gamma * next_value - v + trace * next_advantage
        next_value = v
        out.append(next_advantage)
    return out[::-1]


def spread(case, make):
    """make(rewards, values) of the response tokens of each row, put back in place."""
    out = torch.zeros(case["mask"].shape, dtype=torch.float64)
    for row, on in enumerate(case["mask"]):
        if on.any():
            found = make(case["rewards"][row][on].tolist(), case["values"][row][on].tolist())
            out[row, on] = torch.tensor(found, dtype=torch.float64)
    return out


def expected_gae(case, gamma, lam):
    return spread(case, lambda r, v: row_gae(r, v, gamma, lam))


def by_columns(case, gamma, lam, *, rewards_masked=True, values_masked=False, carry=False, tail=False):
    """GAE over the columns as they stand, with some masked position left in."""
    mask = case["mask"].double()
    r = case["rewards"].double() * (mask if rewards_masked else 1)
    v = case["values"].double() * (mask if values_masked else 1)
    out = torch.zeros_like(v)
    advantage = torch.zeros(len(v), dtype=torch.float64)
    for t in reversed(range(v.shape[1])):
        follows = v[:, t + 1] if t + 1 < v.shape[1] else (v[:, t] if tail else torch.zeros_like(advantage))
        delta = r[:, t] + gamma * follows - v[:, t]
        new = delta + gamma * lam * advantage
        advantage = torch.where(case["mask"][:, t], new, advantage if carry else torch.zeros_like(new))
        if not carry and not values_masked:
            advantage = torch.where(case["mask"][:, t], new, 0.0)
        out[:, t] = torch.where(case["mask"][:, t], new, 0.0)
    return out


def faded(case, gamma, lam, keep):
    """GAE whose carried advantage shrinks by ``keep`` at every masked position."""
    out = torch.zeros(case["mask"].shape, dtype=torch.float64)
    follows, advantage = torch.zeros(2, len(out), dtype=torch.float64)
    for t in reversed(range(out.shape[1])):
        on, v = case["mask"][:, t], case["values"][:, t].double()
        new = case["rewards"][:, t].double() + gamma * follows - v + gamma * lam * advantage
        advantage, follows = torch.where(on, new, keep * advantage), torch.where(on, v, follows)
        out[:, t] = torch.where(on, new, 0.0)
    return out


def unmasked_columns(case, gamma, lam):
    full = {"mask": torch.ones_like(case["mask"]), "rewards": case["rewards"], "values": case["values"]}
    return expected_gae(full, gamma, lam)


def gae_mistakes(case, gamma, lam):
    behind = "Behind the last response token the value is 0, whatever the critic says about padding."
    absent = "Masked positions count as absent: the next response token follows directly, across any gap."
    mask = case["mask"]
    plain = unmasked_columns(case, gamma, lam)
    zeroed = {
        "mask": torch.ones_like(mask),
        "rewards": torch.where(mask, case["rewards"], 0.0),
        "values": torch.where(mask, case["values"], 0.0),
    }
    return [
        (
            "Only lam acts in the recursion: it is gamma * lam.",
            spread(case, lambda r, v: row_gae(r, v, gamma, lam, 1.0)),
        ),
        ("Only gamma acts in the recursion: it is gamma * lam.", expected_gae(case, gamma, 1.0)),
        (
            "gamma is missing in front of the next value.",
            spread(case, lambda r, v: row_gae(r, v, 1.0, lam, gamma)),
        ),
        ("The next advantage is never carried on.", expected_gae(case, gamma, 0.0)),
        (behind, torch.where(mask, plain, 0.0)),
        (behind, by_columns(case, gamma, lam)),
        (behind, by_columns(case, gamma, lam, carry=True)),
        (absent, torch.where(mask, expected_gae(zeroed, gamma, lam), 0.0)),
        (absent, by_columns(case, gamma, lam, values_masked=True)),
        (absent, faded(case, gamma, lam, 0.0)),
        (absent, faded(case, gamma, lam, gamma * lam)),
        (absent, by_columns(case, gamma, lam, values_masked=True, carry=True)),
        ("Advantages at masked positions must be exactly 0.", plain),
        ("The sign of the advantages is wrong.", -expected_gae(case, gamma, lam)),
        ("These are the returns.", expected_gae(case, gamma, lam) + torch.where(mask, case["values"], 0.0)),
    ]


def check_gae(observe, path, case, gamma, lam, says, mistakes=True):
    close(
        observe[path],
        expected_gae(case, gamma, lam),
        says,
        **LOOSE,
        device=observe.device,
        call=f"gae of {tuple(case['mask'].shape)} tensors, gamma={gamma:.3g}, lam={lam:.3g}",
        mistakes=gae_mistakes(case, gamma, lam) if mistakes else (),
    )


@behaviour(4)
def test_advantages(observe):
    for i, case in cases(observe):
        check_gae(
            observe, f"gae/clean{i}/advantages", case, case["gamma"], case["lam"], "The advantages are wrong."
        )


@behaviour(4, presumes=("advantages",))
def test_gamma_and_lam_at_their_limits(observe):
    case = observe.given["cases"][0]
    check_gae(
        observe,
        "gae/one_step/advantages",
        case,
        0.9,
        0.0,
        "With gamma=0.9 and lam=0 each advantage is just its own delta; yours still sums later ones.",
        mistakes=False,
    )
    for name, gamma, lam in (
        ("full", 1.0, 1.0),
        ("short", 0.0, 0.7),
        ("discounted", 0.8, 1.0),
        ("undiscounted", 1.0, 0.6),
    ):
        check_gae(observe, f"gae/{name}/advantages", case, gamma, lam, "The advantages are wrong.")
    check_gae(observe, "gae/default/advantages", case, 1.0, 0.95, "The defaults are gamma=1.0 and lam=0.95.")


@behaviour(4, on_error="A batch of one row is a batch, too.")
def test_advantages_of_a_single_row(observe):
    case, row = observe.given["cases"][0], observe["gae/one_row/row"]
    got, want = observe["gae/one_row/both"][0], expected_gae(case, 1.0, 0.95)[row : row + 1]
    close(got, want, "The advantages of a batch of one row are wrong.", **LOOSE, device=observe.device)


@behaviour(5)
def test_masked_positions_are_absent(observe):
    for i, case in cases(observe):
        out = observe.tensor(f"gae/dirty{i}/advantages", "The advantages are a tensor.")
        expect(out.shape == case["mask"].shape, "The advantages have the shape of the values.")
        expect(not out.isnan().any(), SELECT, "NaN in the advantages")
        check_gae(
            observe,
            f"gae/dirty{i}/advantages",
            case,
            case["gamma"],
            case["lam"],
            "Masked positions count as absent: what stands there must not matter.",
        )


@behaviour(5)
def test_masked_advantages_are_zero(observe):
    for i, case in cases(observe):
        for kind in ("clean", "dirty"):
            out = observe.tensor(f"gae/{kind}{i}/advantages", "The advantages are a tensor.")
            expect(
                out.shape == case["mask"].shape and not out[~case["mask"]].any(),
                "Advantages at masked positions must be exactly 0.",
            )
    expect(
        not observe.tensor("gae/nothing/advantages").any()
        and not observe.tensor("gae/nothing/returns").any(),
        "With no response token anywhere advantages and returns are 0.",
    )


@behaviour(6)
def test_returns(observe):
    for i, case in cases(observe):
        mask, gamma, lam = case["mask"], case["gamma"], case["lam"]
        values = torch.where(mask, case["values"].double(), 0.0)
        advantages = expected_gae(case, gamma, lam)
        target = "The critic's target is advantage plus value, so that both agree on the same lambda."
        to_go = spread(case, lambda r, v, g=gamma: row_gae(r, [0.0] * len(v), g, 1.0))
        plain_sum = spread(case, lambda r, v: row_gae(r, [0.0] * len(v), 1.0, 1.0))
        for kind in ("clean", "dirty"):
            out = observe.tensor(f"gae/{kind}{i}/returns", "The returns are a tensor.")
            expect(
                out.shape == mask.shape and not out[~mask].any(),
                "Returns at masked positions must be exactly 0.",
            )
            close(
                out,
                advantages + values,
                target,
                **LOOSE,
                device=observe.device,
                mistakes=[
                    (f"{target} Yours is the discounted reward-to-go.", to_go),
                    (f"{target} Yours is the reward-to-go.", plain_sum),
                    ("The returns are the advantages.", advantages),
                    ("The returns lack the advantages.", values),
                ],
            )


@behaviour(6, on_error="A batch of one row is a batch, too.")
def test_returns_of_a_single_row(observe):
    case, row = observe.given["cases"][0], observe["gae/one_row/row"]
    want = expected_gae(case, 1.0, 0.95) + torch.where(case["mask"], case["values"].double(), 0.0)
    got = observe["gae/one_row/both"][1]
    close(
        got,
        want[row : row + 1],
        "The returns of a batch of one row are wrong.",
        **LOOSE,
        device=observe.device,
    )


@behaviour(6)
def test_results_of_gae_are_data(observe):
    for i, case in cases(observe):
        expect(
            observe[f"gae/clean{i}/graph"] == [False, False],
            "Advantages and returns are data: they must not carry a graph.",
        )
        for name in ("advantages", "returns"):
            out = observe.tensor(f"gae/clean{i}/{name}", "Both results are tensors.")
            expect(
                out.dtype == case["values"].dtype and observe[f"gae/clean{i}/devices"] == [True, True],
                "Advantages and returns must have the dtype and device of values.",
                f"got {out.dtype} for {case['values'].dtype}",
            )


@behaviour(13)
def test_results_with_rewards_of_another_dtype(observe):
    for name in ("float32", "float64"):
        if observe.error(f"gae/mixed_{name}") is None:
            for what, out in zip(
                ("advantages", "returns"), observe[f"gae/mixed_{name}/returned"], strict=True
            ):
                expect(
                    isinstance(out, torch.Tensor) and out.dtype == getattr(torch, name),
                    "Advantages and returns must have the dtype of values, whatever that of rewards is.",
                    f"{what} are {getattr(out, 'dtype', out)} for values in {name}",
                )


def losses(observe):
    return list(enumerate(observe.given["losses"]))


def terms(case):
    """Per token in float64: unclipped and clipped term, and the ratio."""
    log = torch.where(case["mask"], case["logprobs"].double() - case["old"].double(), 0.0)
    ratio, gain, e = log.exp(), case["advantages"].double(), case["clip_eps"]
    return ratio * gain, ratio.clamp(1 - e, 1 + e) * gain, ratio


def expected_loss(case):
    plain, clipped, _ = terms(case)
    mask = case["mask"]
    return -torch.where(mask, torch.minimum(plain, clipped), 0.0).sum() / mask.sum()


def expected_grad(case):
    plain, clipped, _ = terms(case)
    mask = case["mask"]
    return torch.where(mask & (plain <= clipped), -plain, 0.0) / mask.sum()


def loss_mistakes(case):
    plain, clipped, ratio = terms(case)
    mask, e = case["mask"], case["clip_eps"]
    best = torch.where(mask, torch.minimum(plain, clipped), 0.0)
    gain = case["advantages"].double()
    unmasked = (case["logprobs"].double() - case["old"].double()).exp()
    everywhere = torch.minimum(unmasked * gain, unmasked.clamp(1 - e, 1 + e) * gain)
    rows = mask.any(1)
    mean = "Divide by the number of response tokens in the batch: here padding changes the loss."
    minimum = "A bad move far outside the range got no gradient: take the minimum of both terms."
    per_row = best.sum(1)[rows] / mask.sum(1)[rows]
    in_log = torch.minimum(plain, ratio.log().clamp(-e, e).exp() * gain)
    one_sided = torch.minimum(plain, ratio.clamp(max=1 + e) * gain)

    def over(values):
        return -torch.where(mask, values, 0.0).sum() / mask.sum()

    return [
        (mean, -best.mean()),
        (mean, -everywhere.mean()),
        (f"{mean} Yours is a mean of row means.", -per_row.mean()),
        (f"{mean} Yours is a mean of row means.", -per_row.sum() / len(mask)),
        ("The loss is the mean over the response tokens, not the sum.", -best.sum()),
        ("The loss is the mean over the response tokens, not a sum per row.", -best.sum() / len(mask)),
        (minimum, over(clipped)),
        ("Nothing is clipped.", over(plain)),
        (
            "Take the minimum of both terms, the pessimistic one, not the maximum.",
            over(torch.maximum(plain, clipped)),
        ),
        ("The sign is wrong: the loss is to be minimized.", best.sum() / mask.sum()),
        ("Clip the ratio, not its logarithm.", over(in_log)),
        ("The range has a lower end too: clip at 1 - clip_eps.", over(one_sided)),
    ]


def loss_call(case):
    return f"ppo_loss of {tuple(case['mask'].shape)} tensors, clip_eps={case['clip_eps']:.3g}"


def check_loss(observe, path, case, says, mistakes=True):
    close(
        observe[path],
        expected_loss(case),
        says,
        **LOOSE,
        device=observe.device,
        call=loss_call(case),
        mistakes=loss_mistakes(case) if mistakes else (),
    )


@behaviour(7)
def test_loss(observe):
    for i, case in losses(observe):
        check_loss(
            observe,
            f"loss/clean{i}/loss",
            case,
            "The loss is not minus the mean of min(ratio * A, clipped ratio * A) over the response tokens.",
        )


@behaviour(7)
def test_a_single_response_token(observe):
    case = observe.given["losses"][0]
    mask = torch.zeros_like(case["mask"]).view(-1)
    mask[case["mask"].reshape(-1).nonzero()[0]] = True
    check_loss(
        observe,
        "loss/single/loss",
        {**case, "mask": mask.view_as(case["mask"])},
        "With a single response token in the batch the loss is that of this token.",
        mistakes=False,
    )


@behaviour(7)
def test_default_range(observe):
    check_loss(observe, "loss/default/loss", observe.given["default"], "The default clip_eps is 0.2.")


@behaviour(7, on_error="A clip_eps above 1 is valid: then only large ratios are clipped.")
def test_wide_range(observe):
    case = {**observe.given["default"], "clip_eps": 1.5}
    check_loss(observe, "loss/wide/loss", case, "The loss is wrong for clip_eps=1.5.", mistakes=False)


@behaviour(7, presumes=("loss",))
def test_loss_of_large_ratios(observe):
    for i, case in enumerate(observe.given["steep"]):
        check_loss(
            observe,
            f"loss/steep{i}/loss",
            case,
            "The loss is wrong for log-ratios of up to 80.",
            mistakes=False,
        )


@behaviour(8, on_error="The loss must have a gradient to logprobs.")
def test_gradient(observe):
    for i, case in losses(observe):
        plain, clipped, ratio = terms(case)
        mask, e = case["mask"], case["clip_eps"]
        count = mask.sum()
        inside = (ratio >= 1 - e) & (ratio <= 1 + e)
        minimum = "A bad move far outside the range got no gradient: take the minimum of both terms."
        close(
            observe.tensor(f"loss/clean{i}/grad_logprobs", "No gradient reaches logprobs."),
            expected_grad(case),
            "The gradient is not 0 where the clipped term is the smaller one and -ratio * A / N elsewhere.",
            **LOOSE,
            device=observe.device,
            call=loss_call(case),
            mistakes=[
                (minimum, torch.where(mask & inside, -plain, 0.0) / count),
                ("Nothing is clipped.", torch.where(mask, -plain, 0.0) / count),
                ("The sign of the gradient is wrong.", -expected_grad(case)),
                (
                    "The gradient does not follow the ratio.",
                    torch.where(mask & (plain <= clipped), -case["advantages"].double(), 0.0) / count,
                ),
            ],
        )


@behaviour(8, on_error="The loss must have a gradient to logprobs.")
def test_gradient_of_large_ratios(observe):
    for i, case in enumerate(observe.given["steep"]):
        close(
            observe.tensor(f"loss/steep{i}/grad_logprobs", "No gradient reaches logprobs."),
            expected_grad(case),
            "The gradient is wrong for log-ratios of up to 80.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(8)
def test_gradient_is_that_of_the_loss(observe):
    case = observe.given["losses"][0]
    close(
        observe["loss/scaled/grad"],
        observe.given["scale"] * expected_grad(case),
        "The gradient does not scale with what comes after the loss.",
        **LOOSE,
        device=observe.device,
    )


@behaviour(
    9,
    on_error="old_logprobs and advantages may require a gradient; they are constants all the same.",
    presumes=("gradient",),
)
def test_constants_get_no_gradient(observe):
    for i, case in losses(observe):
        for name in ("old", "advantages"):
            grad = observe[f"loss/constants{i}/grad_{name}"]
            says = "The ratio's denominator is data from the rollout; no gradient belongs there."
            if name == "advantages":
                says = "The advantages are data from the rollout; no gradient belongs there."
            expect(grad is None or not grad.any(), says)
        close(
            observe.tensor(f"loss/constants{i}/grad_logprobs", "No gradient reaches logprobs."),
            expected_grad(case),
            "With old_logprobs and advantages requiring a gradient, the one to logprobs is another.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(10)
def test_rubbish_does_not_reach_the_loss(observe):
    for i, case in losses(observe):
        loss = observe.tensor(f"loss/dirty{i}/loss", "The loss is a tensor.")
        expect(not loss.isnan().any(), SELECT, "the loss is NaN")
        check_loss(observe, f"loss/dirty{i}/loss", case, "What stands at masked positions changes the loss.")


@behaviour(10)
def test_rubbish_does_not_reach_the_gradient(observe):
    for i, case in losses(observe):
        grad = observe.tensor(f"loss/dirty{i}/grad_logprobs", "No gradient reaches logprobs.")
        expect(
            not grad.isnan().any(),
            "The loss is finite but the gradient is NaN: clean the log-ratio before exp.",
        )
        for kind in ("clean", "dirty"):
            grad = observe.tensor(f"loss/{kind}{i}/grad_logprobs", "No gradient reaches logprobs.")
            expect(
                grad.shape == case["mask"].shape and not grad[~case["mask"]].any(),
                "Masked positions must get a gradient of exactly 0.",
            )
        close(
            grad,
            expected_grad(case),
            "What stands at masked positions changes the gradient of the others.",
            **LOOSE,
            device=observe.device,
        )


@behaviour(10, on_error="Without a response token the loss is 0 and backward works.")
def test_no_response_token_at_all(observe):
    for name in ("nothing", "nothing_dirty"):
        close(
            observe[f"loss/{name}/loss"],
            0.0,
            "Without any response token the loss must be 0, not 0 / 0.",
            rtol=0.0,
            atol=0.0,
        )
        grad = observe[f"loss/{name}/grad_logprobs"]
        expect(
            grad is not None,
            "Without any response token backward must give logprobs a gradient of zeros; here it gets none.",
        )
        expect(not grad.any(), "Without any response token backward must give zeros, not NaN.")


@behaviour(11)
def test_inputs_are_left_alone(observe):
    for i, _ in cases(observe):
        for kind in ("clean", "dirty"):
            expect(alike(*observe[f"rewards/{kind}{i}/same"]), "kl_rewards changed its inputs in place.")
            expect(alike(*observe[f"gae/{kind}{i}/same"]), "gae changed its inputs in place.")
    for i, _ in losses(observe):
        for kind in ("clean", "dirty"):
            expect(alike(*observe[f"loss/{kind}{i}/same"]), "ppo_loss changed its inputs in place.")


PARTS = {"rewards": 2, "gae": 2, "loss": 3}


@behaviour(12)
def test_numbers_out_of_range_are_refused(observe):
    sentences = {
        "kl_coef": "A negative kl_coef must be refused.",
        "gamma_low": "gamma below 0 must be refused.",
        "gamma_high": "gamma above 1 must be refused.",
        "lam_low": "lam below 0 must be refused.",
        "lam_high": "lam above 1 must be refused.",
        "clip_zero": "clip_eps = 0 must be refused.",
        "clip_negative": "A negative clip_eps must be refused.",
    }
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(12)
def test_masks_of_other_types_are_refused(observe):
    for kind in ("int", "float", "byte"):
        for part in PARTS:
            observe.raised(
                f"errors/mask_{kind}_{part}", "ValueError", says="A mask that is not bool must be refused."
            )


@behaviour(12)
def test_other_shapes_are_refused(observe):
    says = "A tensor whose shape differs from the mask's must be refused, not broadcast."
    for part, count in PARTS.items():
        for kind in ("short", "row", "column", "flat", "turned"):
            for position in range(count):
                observe.raised(f"errors/shape_{kind}_{part}_{position}", "ValueError", says=says)
        for kind in ("row", "column", "short"):
            observe.raised(f"errors/mask_{kind}_{part}", "ValueError", says=says)


@behaviour(12)
def test_scores_of_other_shapes_are_refused(observe):
    for kind in ("column", "one", "none", "long", "full"):
        observe.raised(
            f"errors/scores_{kind}", "ValueError", says="scores that are not of shape (B,) must be refused."
        )


@behaviour(12, on_error="kl_coef = 0, and gamma and lam of 0 and 1, are valid.")
def test_limits_are_valid(observe):
    for name in ("rewards", "low", "high"):
        expect(observe.tensor(f"errors/limits/{name}").shape == (3, 5), "Limits of the ranges are valid.")
