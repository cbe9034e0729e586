import math

import torch


def rewards_case(draw, prompts, group_size, eps, dtype=torch.float32, spread=1.0, shift=1.0):
    """Groups that differ in mean and spread."""
    noise = draw.normal(prompts, group_size, dtype=torch.float64)
    scales = draw.rand(prompts, 1, low=0.4, high=1.3, dtype=torch.float64)
    means = draw.normal(prompts, 1, dtype=torch.float64)
    values = (noise * scales + shift * means) * spread
    return {"rewards": values.flatten().to(dtype), "group_size": group_size, "eps": eps}


def equal_groups(draw):
    """Many groups whose completions all scored the same, between others.

    A variance from the mean of the squares is negative for only a few of these constants.
    """
    size = 3 + 2 * draw.integer(0, 1)
    constants = [0.0, 1.0, -1.0, *draw.rand(80, low=0.1, high=0.35).tolist()]
    count = len(constants) + draw.integer(2, 5)
    values = draw.normal(count, size)
    chosen = draw.sample(range(count), len(constants))
    for row, constant in zip(chosen, constants, strict=True):
        values[row] = constant
    return {"rewards": values.flatten(), "group_size": size, "equal": chosen}


def sequence(draw, dtype=torch.float32):
    batch, length, vocab = draw.sizes(3)
    return {
        "logits": draw.normal(batch, length, vocab, scale=2.0, dtype=dtype),
        "tokens": draw.integers(0, vocab, batch, length),
        "weights": draw.normal(batch, length - 1, dtype=dtype),
    }


def lengths_case(draw, like=None):
    """Completions that fill the row, end early, have one token or none; prompts from one token on."""
    T = draw.integer(9, 14) if like is None else like["T"]
    rows = [(1, T), (draw.integer(2, 4), T), (3, 3), (T, T), (draw.integer(2, 4), draw.integer(6, 8))]
    rows += [(5, 6), (1, 2), (draw.integer(1, 5), draw.integer(6, T - 1))]
    rows = draw.shuffled(rows)[: draw.integer(7, 8) if like is None else len(like["lengths"])]
    prompts, lengths = zip(*rows, strict=True)
    return {"prompt_lengths": torch.tensor(prompts), "lengths": torch.tensor(lengths), "T": T}


def loss_case(draw, batch, width, dtype=torch.float32, clip_eps=None):
    """Every row has completion tokens with ratios inside, above and below the range, none near a border.

    Masked positions hold ordinary values. Row counts differ, and one row has a gap.
    """
    clip_eps = draw.uniform(0.12, 0.35) if clip_eps is None else clip_eps
    mask = torch.zeros(batch, width, dtype=torch.bool)
    for row in range(batch):
        count = 4 + row % (width - 4)
        start = draw.integer(0, width - count)
        mask[row, start : start + count] = True
    mask = mask[draw.permutation(batch)]
    longest = int(mask.sum(1).argmax())
    if int(mask[longest].sum()) > 5:
        mask[longest, int(mask[longest].nonzero()[2])] = False
    kinds = (torch.arange(width)[None] + draw.integers(0, 3, batch, 1) + mask.cumsum(1)) % 3
    spread = draw.rand(batch, width, dtype=torch.float64)
    above = math.log1p(clip_eps) + 0.1 + spread
    below = math.log1p(-clip_eps) - 0.1 - spread
    inside = (2 * spread - 1) * 0.6 * math.log1p(clip_eps)
    logs = torch.where(kinds == 0, inside, torch.where(kinds == 1, above, below))
    old = draw.normal(batch, width, shift=-2.5, dtype=dtype)
    signs = torch.tensor([1.0 if row % 2 else -1.0 for row in range(batch)], dtype=torch.float64)
    sizes = draw.rand(batch, low=0.3, high=1.6, dtype=torch.float64)
    logprobs = (old.double() + logs).to(dtype)
    return {
        "logprobs": logprobs,
        "old": old,
        "ref": (logprobs.double() + draw.normal(batch, width, scale=0.8, dtype=torch.float64)).to(dtype),
        "advantages": (signs * sizes)[draw.permutation(batch)].to(dtype),
        "mask": mask,
        "clip_eps": clip_eps,
        "beta": draw.uniform(0.2, 0.7),
        "max_length": draw.integer(17, 41),
    }


def large_ratios(draw):
    """Log-ratios of almost 20 in size, harmful for half of the rows."""
    case = loss_case(draw, 4, 7)
    size = draw.rand(4, 7, low=12.0, high=19.5)
    sign = torch.where(draw.rand(4, 7) < 0.5, -1.0, 1.0)
    case["mask"][:, 2:4] = True
    sign[:, 2], sign[:, 3] = 1.0, -1.0
    case["logprobs"] = torch.where(sign > 0, -1.0 - draw.rand(4, 7), -1.0 - size)
    case["old"] = torch.where(sign > 0, -1.0 - size, -1.0 - draw.rand(4, 7))
    case["logprobs"] = case["logprobs"].contiguous()
    return case


def dirty(draw, tensor, mask):
    """The same at True positions; NaN, infinities and huge numbers at the others."""
    garbage = torch.tensor([math.nan, math.inf, -math.inf, 1e30, -2000.0, 3000.0])
    picks = draw.integers(0, len(garbage), *mask.shape)
    return torch.where(mask, tensor, garbage[picks].to(tensor.dtype))


def with_dirty(draw, case):
    return {
        **case,
        "dirty": {name: dirty(draw, case[name], case["mask"]) for name in ("logprobs", "old", "ref")},
    }


def inputs(draw):
    batch, width = draw.sample([5, 6, 7], 1)[0], draw.sample([9, 10, 11, 12, 13], 1)[0]
    square = draw.integer(6, 7)
    losses = [
        loss_case(draw, batch, width),
        loss_case(draw, square, square),
        loss_case(draw, draw.integer(4, 6), draw.integer(8, 12), torch.float64),
        loss_case(draw, 1, draw.integer(6, 9)),
    ]
    for case in (losses[0], losses[2]):  # a prompt whose completions all scored the same
        case["advantages"][draw.integer(0, len(case["advantages"]) - 1)] = 0.0
    losses[2]["max_length"] = draw.integer(3, 5)  # less than the width
    far = int(losses[3]["mask"].nonzero()[draw.integer(0, 3), 1])
    losses[3]["ref"][0, far] = losses[3]["logprobs"][0, far] + draw.uniform(6.0, 7.0)
    lengths = [lengths_case(draw), lengths_case(draw)]
    lengths.append(lengths_case(draw, like=lengths[0]))
    hollow = loss_case(draw, draw.integer(5, 7), draw.integer(8, 12))
    hollow["mask"][draw.sample(range(5), 2)] = False
    prompts, size = draw.sizes(2, 3, 7)
    return {
        "groups": [
            rewards_case(draw, prompts, size, draw.uniform(0.05, 0.5)),
            rewards_case(draw, size, prompts, draw.uniform(0.05, 0.5), torch.float64),
            rewards_case(draw, 1, draw.integer(5, 9), draw.uniform(0.05, 0.5)),
            rewards_case(draw, draw.integer(5, 9), 2, draw.uniform(0.05, 0.5)),
        ],
        "tiny": rewards_case(draw, draw.integer(3, 5), size, 1e-4, torch.float64, spread=1e-3),
        "equal": equal_groups(draw),
        "sequences": [sequence(draw), sequence(draw, torch.float64)],
        "steep": steep(draw),
        "lengths": lengths,
        "losses": [with_dirty(draw, case) for case in losses],
        "default": loss_case(draw, 5, 8, clip_eps=0.2),
        "large": large_ratios(draw),
        "hollow": with_dirty(draw, hollow),
        "pairs": [
            {
                "logprobs": draw.normal(*shape, shift=-2.0, dtype=dtype),
                "ref": draw.normal(*shape, shift=-2.0, scale=scale, dtype=dtype),
            }
            for shape, dtype, scale in (
                ((draw.integer(5, 9),), torch.float32, 1.0),
                (tuple(draw.sizes(2)), torch.float64, 1.0),
                (tuple(draw.sizes(3, 3, 7)), torch.float32, 1.0),
                ((draw.integer(25, 35),), torch.float32, 5.0),
            )
        ],
    }


def steep(draw):
    """Logits of +10,000 and -10,000: probabilities of 1, of a half, and of 0."""
    batch, length, vocab = draw.sizes(3)
    signs = torch.where(draw.rand(batch, length, vocab) < 0.35, 1.0, -1.0)
    signs[..., 0] = 1.0
    return {
        "logits": signs * 10_000.0,
        "tokens": draw.integers(0, vocab, batch, length),
        "weights": draw.normal(batch, length - 1),
    }


def probe_advantages(code, given, record):
    for i, case in enumerate(given["groups"]):
        with record.step(f"scaled{i}"):
            rewards = case["rewards"].clone()
            record("out", code.group_advantages(rewards, case["group_size"], eps=case["eps"]))
            record("after", rewards)
        with record.step(f"centered{i}"):
            rewards = case["rewards"].clone()
            record("out", code.group_advantages(rewards, case["group_size"], scale=False))
            record("after", rewards)
    with record.step("tiny"):
        record("out", code.group_advantages(given["tiny"]["rewards"], given["tiny"]["group_size"]))
    with record.step("equal"):
        record("out", code.group_advantages(given["equal"]["rewards"], given["equal"]["group_size"]))
    with record.step("equal_centered"):
        record(
            "out", code.group_advantages(given["equal"]["rewards"], given["equal"]["group_size"], scale=False)
        )


def probe_logprobs(code, given, record):
    for i, case in enumerate([*given["sequences"], given["steep"]]):
        with record.step(i):
            logits = case["logits"].clone().requires_grad_()
            out = code.token_logprobs(logits, case["tokens"].clone())
            record("out", out)
            (out * case["weights"]).sum().backward()
            record("grad", logits.grad)
        with record.step(f"plain{i}"):
            logits, tokens = case["logits"].clone(), case["tokens"].clone()
            code.token_logprobs(logits, tokens)
            record("after", [logits, tokens])


def probe_mask(code, given, record):
    for i, case in enumerate(given["lengths"]):
        with record.step(i):
            prompts, lengths = case["prompt_lengths"].clone(), case["lengths"].clone()
            record("out", code.completion_mask(prompts, lengths, case["T"]))
            record("after", [prompts, lengths])


def probe_kl(code, given, record):
    for i, case in enumerate(given["pairs"]):
        with record.step(i):
            logprobs = case["logprobs"].clone().requires_grad_()
            out = code.kl_k3(logprobs, case["ref"].clone())
            record("out", out)
            out.sum().backward()
            record("grad", logprobs.grad)
        with record.step(f"plain{i}"):
            logprobs, ref = case["logprobs"].clone(), case["ref"].clone()
            code.kl_k3(logprobs, ref)
            record("after", [logprobs, ref])


WAYS = ("sequence", "token", "constant")


def run(code, record, case, values, mask=None, *, with_kl=False, way=None, clip=True):
    """One call with fresh leaves; records loss and gradient. The default aggregation is not passed."""
    logprobs = values["logprobs"].clone().requires_grad_()
    options = {"clip_eps": case["clip_eps"]} if clip else {}
    if with_kl:
        options |= {"ref_logprobs": values["ref"].clone(), "beta": case["beta"]}
    if way is not None:
        options["aggregation"] = way
    if way == "constant":
        options["max_length"] = case["max_length"]
    mask = (case["mask"] if mask is None else mask).clone()
    loss = code.grpo_loss(logprobs, values["old"].clone(), case["advantages"].clone(), mask, **options)
    record("loss", loss)
    loss.backward()
    record("grad", logprobs.grad)


def probe_loss(code, given, record):
    for i, case in enumerate(given["losses"]):
        with record.step(f"plain{i}"):
            run(code, record, case, case)
        for way in WAYS:
            with record.step(f"{way}{i}"):
                run(code, record, case, case, way=way)
            with record.step(f"{way}_kl{i}"):
                run(code, record, case, case, way=way, with_kl=True)
        with record.step(f"untouched{i}"):
            names = ("logprobs", "old", "advantages", "mask", "ref")
            values = [case[name].clone() for name in names]
            code.grpo_loss(*values[:4], ref_logprobs=values[4], beta=case["beta"])
            record("after", values)
    with record.step("default"):
        run(code, record, given["default"], given["default"], clip=False)
    with record.step("large"):
        run(code, record, given["large"], given["large"])


def probe_constants(code, given, record):
    for i, case in enumerate(given["losses"]):
        with record.step(f"leaves{i}"):
            leaves = [case[name].clone().requires_grad_() for name in ("logprobs", "old", "advantages")]
            code.grpo_loss(*leaves, case["mask"].clone(), clip_eps=case["clip_eps"]).backward()
            record("grad", leaves[0].grad)
            record("grad_old", leaves[1].grad)
            record("grad_advantages", leaves[2].grad)
        with record.step(f"same{i}"):
            leaf = case["logprobs"].clone().requires_grad_()
            loss = code.grpo_loss(leaf, leaf, case["advantages"].clone(), case["mask"].clone())
            record("loss", loss)
            loss.backward()
            record("grad", leaf.grad)
        with record.step(f"ref{i}"):
            leaf, ref = case["logprobs"].clone().requires_grad_(), case["ref"].clone().requires_grad_()
            rest = (case["old"].clone(), case["advantages"].clone(), case["mask"].clone())
            code.grpo_loss(leaf, *rest, ref_logprobs=ref, beta=case["beta"]).backward()
            record("grad_ref", ref.grad)


def probe_masked(code, given, record):
    cases = {**{f"_{i}": case for i, case in enumerate(given["losses"])}, "_hollow": given["hollow"]}
    for name, case in cases.items():
        for kind, values in (("clean", case), ("dirty", case["dirty"])):
            if kind == "clean" and case is not given["hollow"]:
                continue  # recorded by the probe of the loss
            for way in WAYS:
                with record.step(f"{kind}_{way}{name}"):
                    run(code, record, case, values, way=way)
            with record.step(f"{kind}_kl{name}"):
                run(code, record, case, values, with_kl=True)
    case = given["hollow"]
    nothing = torch.zeros_like(case["mask"])
    for kind, values in (("clean", case), ("dirty", case["dirty"])):
        for way in WAYS:
            with record.step(f"nothing_{kind}_{way}"):
                run(code, record, case, values, nothing, way=way, with_kl=True)


def probe_errors(code, given, record):
    new = torch.full((4, 6), -1.0, device=record.device)
    mask = torch.ones(4, 6, dtype=torch.bool, device=record.device)
    gain = torch.ones(4, device=record.device)
    rewards = torch.arange(12.0, device=record.device)

    def loss(logprobs=new, old=new, advantages=gain, on=mask, **options):
        return code.grpo_loss(logprobs, old, advantages, on, **options)

    for size in (1, 0, -2, 5, 24):
        record.raises(f"group_{size}", lambda size=size: code.group_advantages(rewards, size))
    calls = {
        "aggregation": lambda: loss(aggregation="mean"),
        "constant_none": lambda: loss(aggregation="constant"),
        "constant_zero": lambda: loss(aggregation="constant", max_length=0),
        "constant_negative": lambda: loss(aggregation="constant", max_length=-3),
        "clip_zero": lambda: loss(clip_eps=0.0),
        "clip_negative": lambda: loss(clip_eps=-0.2),
        "beta_negative": lambda: loss(ref_logprobs=new, beta=-0.1),
        "beta_alone": lambda: loss(beta=0.1),
        "mask_int": lambda: loss(on=mask.long()),
        "mask_float": lambda: loss(on=mask.float()),
        "mask_byte": lambda: loss(on=mask.to(torch.uint8)),
        "mask_short": lambda: loss(on=mask[:, :5]),
        "mask_row": lambda: loss(on=mask[:1]),
        "new_short": lambda: loss(logprobs=new[:, :5]),
        "new_row": lambda: loss(logprobs=new[:1]),
        "old_short": lambda: loss(old=new[:, :5]),
        "old_row": lambda: loss(old=new[:1]),
        "old_column": lambda: loss(old=new[:, :1]),
        "old_turned": lambda: loss(old=new.T.contiguous()),
        "old_flat": lambda: loss(old=new.flatten()),
        "ref_short": lambda: loss(ref_logprobs=new[:, :5], beta=0.1),
        "ref_column": lambda: loss(ref_logprobs=new[:, :1], beta=0.1),
        "gain_column": lambda: loss(advantages=gain[:, None]),
        "gain_full": lambda: loss(advantages=new),
        "gain_one": lambda: loss(advantages=gain[:1]),
        "gain_scalar": lambda: loss(advantages=gain[0]),
        "gain_width": lambda: loss(advantages=new[0]),
    }
    for name, call in calls.items():
        record.raises(name, call)
