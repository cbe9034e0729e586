import torch


def diagnose(log: list[dict]) -> str:
    n = len(log)
    if n < 20:
        raise ValueError("need 20 batches")

    def get(key):
        return torch.tensor([float(row[key]) for row in log], dtype=torch.float64)

    loss, norm = get("loss"), get("grad_norm")
    start = torch.log(torch.tensor(float(log[0]["num_classes"]), dtype=torch.float64))
    if get("grad_zero_fraction")[0] > 0.11:
        return "amp_no_scaling"
    if loss[0] / start > 4:
        return "loss_sum"
    steps = torch.diff(norm[:6]) / norm[0]
    falling = bool((loss[1:6] < 1.4 * loss[0]).all()) and bool(loss[1] > 0.7 * loss[0])
    if (
        falling
        and torch.isfinite(steps).all()
        and steps.sum() > 1.2
        and (steps > 0).sum() >= 4
        and steps.max() < 1.7
    ):
        return "missing_zero_grad"
    if not torch.isfinite(loss).all() or (loss > 2 * start).any() or (loss[1:3] < 0.6 * loss[0]).any():
        return "huge_lr"
    late = loss[n * 2 // 3 :].mean()
    if late > 0.8 * start:
        return "label_permute"
    return "healthy"
