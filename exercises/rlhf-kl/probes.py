import math

import torch


def masks(draw):
    """Rows of every kind, in random order: gaps, both ends, one token, none, all; columns beyond any answer."""
    width = draw.integer(11, 14)
    rows = [[False] * width for _ in range(9)]
    start = draw.integer(2, 4)
    for t in range(start, width - 3):
        rows[0][t] = True
    for t in (1, 2, 5, 6, 9):  # gaps of two
        rows[1][t] = True
    for t in range(draw.integer(3, 5), width):  # up to the last column
        rows[2][t] = True
    for t in range(draw.integer(3, 5)):  # from the first column
        rows[3][t] = True
    rows[4][draw.integer(2, width - 3)] = True
    rows[6] = [True] * width
    for t in (0, 3, 4, 7, width - 1):
        rows[7][t] = True
    rows[8][0] = True
    order = draw.shuffled(range(9))
    return torch.tensor([rows[i] for i in order])


def dirty(draw, tensor, mask):
    """The same at response tokens; NaN, infinities and huge numbers at the other positions."""
    rubbish = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30, -2000.0])
    picks = draw.integers(0, 5, *mask.shape)
    return torch.where(mask, tensor, rubbish[picks].to(tensor.dtype))


def rollout(draw, mask, dtype=torch.float32):
    shape = tuple(mask.shape)
    logprobs = draw.normal(*shape, shift=-3.0, dtype=dtype)
    return {
        "mask": mask,
        "logprobs": logprobs,
        # A few log-ratios are large.
        "ref": logprobs
        + draw.normal(*shape, scale=0.8, dtype=dtype) * torch.where(draw.rand(*shape) < 0.15, 40, 1),
        "scores": draw.normal(shape[0], scale=2.0, dtype=dtype) + draw.choice([-1.0, 1.0]) * 1.5,
        "rewards": draw.normal(*shape, dtype=dtype),
        "values": draw.normal(*shape, scale=1.5, shift=0.5, dtype=dtype),
    }


def ratios(draw, mask, clip_eps, dtype=torch.float32):
    """Log-ratios inside, above and below the range, each with advantages of both signs, none near a border."""
    count = int(mask.sum())
    kinds = torch.arange(count) % 7
    logs = torch.zeros(count, dtype=torch.float64)
    spread = draw.rand(count, dtype=torch.float64)
    logs[kinds % 3 == 0] = ((spread * 2 - 1) * 0.6 * math.log1p(clip_eps))[kinds % 3 == 0]
    logs[kinds % 3 == 1] = (math.log1p(clip_eps) + 0.1 + spread)[kinds % 3 == 1]
    logs[kinds % 3 == 2] = (math.log1p(-clip_eps) - 0.1 - spread)[kinds % 3 == 2]
    logs[kinds == 6] = 0.0  # the first epoch: policy and old policy agree
    # Signs alternate in runs of seven: every kind meets both.
    signs = 1 - 2 * ((torch.arange(count) // 7) % 2)
    order = draw.permutation(count)
    old = draw.normal(*mask.shape, shift=-3.0, dtype=dtype)
    new = draw.normal(*mask.shape, shift=-3.0, dtype=dtype)
    gain = draw.normal(*mask.shape, dtype=dtype)
    new[mask] = (old[mask].double() + logs[order]).to(dtype)
    size = 0.3 + draw.rand(count, dtype=torch.float64)
    gain[mask] = (signs * size)[order].to(dtype)
    return {"mask": mask, "logprobs": new, "old": old, "advantages": gain, "clip_eps": clip_eps}


def steep(draw, harmful):
    """Log-ratios of up to 79 in size; on the harmful side the unclipped term counts."""
    mask = torch.tensor([[True, True, False, True], [False, True, True, False]])
    logs = torch.tensor([draw.uniform(60.0, 79.0), -draw.uniform(60.0, 79.0), 30.0, -30.0, 0.05])
    signs = (
        torch.tensor([-1.0, 1.0, -1.0, 1.0, 1.0]) if harmful else torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])
    )
    new, old = torch.full((2, 4), -1.0), torch.full((2, 4), -1.0)
    new[mask] = torch.where(logs < 0, logs, 0.0)
    old[mask] = torch.where(logs < 0, 0.0, -logs)
    gain = torch.zeros(2, 4)
    gain[mask] = signs * (0.5 + draw.rand(5))
    return {"mask": mask, "logprobs": new, "old": old, "advantages": gain, "clip_eps": 0.2}


def inputs(draw):
    cases, losses = [], []
    for dtype in (torch.float32, torch.float32, torch.float64):
        mask = masks(draw)
        case = rollout(draw, mask, dtype)
        case["kl_coef"] = draw.uniform(0.2, 0.6)
        case["gamma"], case["lam"] = draw.uniform(0.6, 0.9), draw.uniform(0.3, 0.8)
        case["dirty"] = {
            name: dirty(draw, case[name], mask) for name in ("logprobs", "ref", "rewards", "values")
        }
        cases.append(case)
        loss = ratios(draw, mask, draw.uniform(0.1, 0.35), dtype)
        loss["dirty"] = {name: dirty(draw, loss[name], mask) for name in ("logprobs", "old", "advantages")}
        losses.append(loss)
    default = ratios(draw, masks(draw), 0.2)
    return {
        "cases": cases,
        "losses": losses,
        "default": default,
        "steep": [steep(draw, True), steep(draw, False)],
        "scale": draw.uniform(2.0, 5.0),
    }


def copies(*tensors, grad=False):
    """Fresh copies; the floating ones require a gradient on demand."""
    return [t.clone().requires_grad_(grad and t.is_floating_point()) for t in tensors]


def detached(*tensors):
    return [t.detach() for t in tensors]


def probe_rewards(code, given, record):
    for i, case in enumerate(given["cases"]):
        for kind, source in (("clean", case), ("dirty", {**case, **case["dirty"]})):
            with record.step(f"{kind}{i}"):
                given_in = copies(
                    source["logprobs"], source["ref"], source["scores"], source["mask"], grad=True
                )
                before = [t.detach().clone() for t in given_in]
                out = code.kl_rewards(*given_in, kl_coef=case["kl_coef"])
                record("out", out)
                record("graph", out.requires_grad)
                record("device", out.device == given_in[0].device)
                record("same", [before, detached(*given_in)])
    case = given["cases"][0]
    plain = (case["logprobs"], case["ref"], case["scores"], case["mask"])
    with record.step("default"):
        record("out", code.kl_rewards(*copies(*plain)))
    with record.step("free"):
        record("out", code.kl_rewards(*copies(*plain), kl_coef=0.0))
    with record.step("nothing"):
        record("out", code.kl_rewards(*copies(*plain[:3]), torch.zeros_like(case["mask"])))
    with record.step("one_row"):
        row = int(case["mask"].sum(1).argmax())
        record("row", row)
        record("out", code.kl_rewards(*copies(*(t[row : row + 1] for t in plain))))
    for name, i in (("float32", 0), ("float64", 2)):
        case = given["cases"][i]
        scores = case["scores"].to(torch.float64 if name == "float32" else torch.float32)
        record.raises(
            f"mixed_{name}",
            lambda case=case, scores=scores: code.kl_rewards(
                case["logprobs"], case["ref"], scores, case["mask"]
            ),
        )


def probe_gae(code, given, record):
    for i, case in enumerate(given["cases"]):
        for kind, source in (("clean", case), ("dirty", {**case, **case["dirty"]})):
            with record.step(f"{kind}{i}"):
                given_in = copies(source["rewards"], source["values"], source["mask"], grad=True)
                before = [t.detach().clone() for t in given_in]
                advantages, returns = code.gae(*given_in, gamma=case["gamma"], lam=case["lam"])
                record("advantages", advantages)
                record("returns", returns)
                record("graph", [advantages.requires_grad, returns.requires_grad])
                record("devices", [t.device == given_in[1].device for t in (advantages, returns)])
                record("same", [before, detached(*given_in)])
    case = given["cases"][0]
    plain = (case["rewards"], case["values"], case["mask"])
    with record.step("default"):
        record("advantages", code.gae(*copies(*plain))[0])
    for name, gamma, lam in (
        ("one_step", 0.9, 0.0),
        ("full", 1.0, 1.0),
        ("short", 0.0, 0.7),
        ("discounted", 0.8, 1.0),
        ("undiscounted", 1.0, 0.6),
    ):
        with record.step(name):
            record("advantages", code.gae(*copies(*plain), gamma=gamma, lam=lam)[0])
    with record.step("nothing"):
        advantages, returns = code.gae(*copies(*plain[:2]), torch.zeros_like(case["mask"]))
        record("advantages", advantages)
        record("returns", returns)
    with record.step("one_row"):
        row = int(case["mask"].sum(1).argmax())
        record("row", row)
        record("both", list(code.gae(*copies(*(t[row : row + 1] for t in plain)))))
    for name, i in (("float32", 0), ("float64", 2)):
        case = given["cases"][i]
        rewards = case["rewards"].to(torch.float64 if name == "float32" else torch.float32)
        record.raises(
            f"mixed_{name}",
            lambda case=case, rewards=rewards: list(code.gae(rewards, case["values"], case["mask"])),
        )


NAMES = ("logprobs", "old", "advantages")


def run(code, source, record, *, constants=False, **options):
    leaves = [source[name].clone() for name in NAMES]
    for leaf in leaves if constants else leaves[:1]:
        leaf.requires_grad_()
    mask = source["mask"].clone()
    before = [t.detach().clone() for t in (*leaves, mask)]
    loss = code.ppo_loss(*leaves, mask, **options)
    record("loss", loss)
    record("same", [before, detached(*leaves, mask)])
    loss.backward()
    for name, leaf in zip(NAMES, leaves, strict=True):
        record(f"grad_{name}", leaf.grad)
    record("same_after", [before, detached(*leaves, mask)])


def first_only(mask):
    """The mask with nothing but its first response token."""
    only = torch.zeros_like(mask).view(-1)
    only[mask.reshape(-1).nonzero()[0]] = True
    return only.view_as(mask)


def probe_loss(code, given, record):
    for i, case in enumerate(given["losses"]):
        with record.step(f"clean{i}"):
            run(code, case, record, clip_eps=case["clip_eps"])
        with record.step(f"constants{i}"):
            run(code, case, record, constants=True, clip_eps=case["clip_eps"])
        with record.step(f"dirty{i}"):
            run(code, {**case, **case["dirty"]}, record, clip_eps=case["clip_eps"])
    with record.step("default"):
        run(code, given["default"], record)
    with record.step("wide"):
        run(code, given["default"], record, clip_eps=1.5)
    for i, case in enumerate(given["steep"]):
        with record.step(f"steep{i}"):
            run(code, case, record, clip_eps=case["clip_eps"])
    case = given["losses"][0]
    nothing = torch.zeros_like(case["mask"])
    with record.step("nothing"):
        run(code, {**case, "mask": nothing}, record)
    with record.step("single"):  # one response token in the whole batch
        run(code, {**case, "mask": first_only(case["mask"])}, record, clip_eps=case["clip_eps"])
    with record.step("nothing_dirty"):
        run(code, {**case, **case["dirty"], "mask": nothing}, record)
    with record.step("scaled"):
        leaf = case["logprobs"].clone().requires_grad_()
        rest = copies(case["old"], case["advantages"], case["mask"])
        loss = code.ppo_loss(leaf, *rest, case["clip_eps"])
        (given["scale"] * loss).backward()
        record("grad", leaf.grad)


def probe_errors(code, given, record):
    x = torch.zeros(3, 5, device=record.device)
    scores = torch.zeros(3, device=record.device)
    mask = torch.ones(3, 5, dtype=torch.bool, device=record.device)
    calls = {
        "kl_coef": lambda: code.kl_rewards(x, x, scores, mask, kl_coef=-0.1),
        "gamma_low": lambda: code.gae(x, x, mask, gamma=-0.1),
        "gamma_high": lambda: code.gae(x, x, mask, gamma=1.1),
        "lam_low": lambda: code.gae(x, x, mask, lam=-0.1),
        "lam_high": lambda: code.gae(x, x, mask, lam=1.1),
        "clip_zero": lambda: code.ppo_loss(x, x, x, mask, clip_eps=0.0),
        "clip_negative": lambda: code.ppo_loss(x, x, x, mask, clip_eps=-0.2),
    }
    for kind, other in (("int", mask.long()), ("float", mask.float()), ("byte", mask.to(torch.uint8))):
        calls[f"mask_{kind}_rewards"] = lambda m=other: code.kl_rewards(x, x, scores, m)
        calls[f"mask_{kind}_gae"] = lambda m=other: code.gae(x, x, m)
        calls[f"mask_{kind}_loss"] = lambda m=other: code.ppo_loss(x, x, x, m)
    for kind, y in (
        ("short", x[:, :4]),
        ("row", x[:1]),
        ("column", x[:, :1]),
        ("flat", x[0]),
        ("turned", x.T),
    ):
        calls[f"shape_{kind}_rewards_0"] = lambda y=y: code.kl_rewards(y, x, scores, mask)
        calls[f"shape_{kind}_rewards_1"] = lambda y=y: code.kl_rewards(x, y, scores, mask)
        calls[f"shape_{kind}_gae_0"] = lambda y=y: code.gae(y, x, mask)
        calls[f"shape_{kind}_gae_1"] = lambda y=y: code.gae(x, y, mask)
        calls[f"shape_{kind}_loss_0"] = lambda y=y: code.ppo_loss(y, x, x, mask)
        calls[f"shape_{kind}_loss_1"] = lambda y=y: code.ppo_loss(x, y, x, mask)
        calls[f"shape_{kind}_loss_2"] = lambda y=y: code.ppo_loss(x, x, y, mask)
    for kind, other in (("row", mask[:1]), ("column", mask[:, :1]), ("short", mask[:, :4])):
        calls[f"mask_{kind}_rewards"] = lambda m=other: code.kl_rewards(x, x, scores, m)
        calls[f"mask_{kind}_gae"] = lambda m=other: code.gae(x, x, m)
        calls[f"mask_{kind}_loss"] = lambda m=other: code.ppo_loss(x, x, x, m)
    for kind, other in (
        ("column", scores[:, None]),
        ("one", scores[:1]),
        ("none", scores[0]),
        ("long", torch.zeros(5, device=record.device)),
        ("full", x),
    ):
        calls[f"scores_{kind}"] = lambda s=other: code.kl_rewards(x, x, s, mask)
    for name, call in calls.items():
        record.raises(name, call)
    with record.step("limits"):
        record("rewards", code.kl_rewards(x, x, scores, mask, kl_coef=0.0))
        record("low", code.gae(x, x, mask, gamma=0.0, lam=0.0)[0])
        record("high", code.gae(x, x, mask, gamma=1.0, lam=1.0)[0])
