"""Each cause brings its evidence; the first one that convinces wins."""

from math import inf, isfinite
from math import log as ln
from statistics import fmean, median


def underflow(run):
    return run["zeros"][0] >= 0.08


def summed(run):
    return run["losses"][0] > 0.3 * run["batch"] * run["chance"]


def piling_up(run):
    first, *later = run["norms"][:6]
    if not all(map(isfinite, later)) or not first:
        return False
    growth = [n / first for n in later]
    return (
        0 < growth[0] < 2.6
        and median(growth) > 1.9
        and growth[-1] > 2
        and all(b < 2.2 * a for a, b in zip(growth, growth[1:]))
        and max(run["losses"][:5]) < 1.6 * run["chance"]
        and run["losses"][1] > 0.7 * run["losses"][0]
    )


def wild(run):
    top = max((x if isfinite(x) else inf) for x in run["losses"])
    return top > 2.1 * run["chance"] or min(run["losses"][1:3]) < 0.6 * run["losses"][0]


def settled_at_chance(run):
    return fmean(run["losses"][-12:]) > 0.8 * run["chance"]


RULES = {
    "amp_no_scaling": underflow,
    "loss_sum": summed,
    "missing_zero_grad": piling_up,
    "huge_lr": wild,
    "label_permute": settled_at_chance,
}


def diagnose(log):
    if not len(log) >= 20:
        raise ValueError("too short")
    run = {
        "chance": ln(log[0]["num_classes"]),
        "batch": log[0]["batch_size"],
        "losses": [r["loss"] if r["loss"] == r["loss"] else inf for r in log],
        "norms": [r["grad_norm"] for r in log],
        "zeros": [r["grad_zero_fraction"] for r in log],
    }
    return next((name for name, rule in RULES.items() if rule(run)), "healthy")
