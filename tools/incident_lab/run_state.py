"""Which parts of a run's state a replay of it must restore."""

from tools.incident_lab.setups import Setup


def restored_state(setup: Setup) -> list[str]:
    """Return the ids of these parts in the order of ``causes.yaml``.

    Whatever a replay can do without is left out: a run at a constant rate has no place in a schedule.
    """
    has = {
        "weights": True,
        "buffers": setup.norm == "batch",
        "optimizer": setup.optimizer != "sgd" or setup.momentum > 0,
        "scheduler": setup.schedule != "constant",
        "rng": setup.dropout > 0 or setup.sort != "train",
        "sampler": setup.task != "noise",
        "scaler": setup.scaler in ("dynamic", "raw"),
        # Gradients that are never cleared are part of every later step.
        "gradients": setup.zero_grad == "never",
    }
    return [name for name, restored in has.items() if restored]
