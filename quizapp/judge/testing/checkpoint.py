"""What the author of a baseline's ``measure.py`` gets: the checkpoint that a script left.

A ``measure.py`` defines ``measure(checkpoint, seed, options) -> dict[str, float]``. It never imports the
script. It builds its own model and generates its own data, and raises `ModelChanged` if the tensors are not
those of that model.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


class ModelChanged(Exception):
    """The tensors are not those of the baseline's model. The message is one sentence for the learner."""


@dataclass(frozen=True)
class Checkpoint:
    """The parts of a script's ``checkpoint.pt`` that a measure may use.

    The script may have put anything there. ``tensors`` is the model's state by name. ``step`` and
    ``report`` are the script's own claims.
    """

    tensors: Mapping[str, Tensor]
    step: int
    report: Mapping[str, float]

    def require(self, expected: Mapping[str, Tensor]) -> None:
        """Raise `ModelChanged` unless names, shapes and dtypes are those of ``expected``, a state dict."""
        missing, added = expected.keys() - self.tensors.keys(), self.tensors.keys() - expected.keys()
        if missing or added:
            lacks = f"lacks {_few(missing)}" if missing else ""
            has = f"also holds {_few(added)}" if added else ""
            raise ModelChanged(f"The checkpoint {' and '.join(part for part in (lacks, has) if part)}.")
        for name, tensor in expected.items():
            own = self.tensors[name]
            if own.shape != tensor.shape:
                shapes = f"{tuple(own.shape)}, not {tuple(tensor.shape)}"
                raise ModelChanged(f"The shape of {name} in the checkpoint is {shapes}.")
            if own.dtype != tensor.dtype:
                raise ModelChanged(
                    f"The dtype of {name} in the checkpoint is {own.dtype}, not {tensor.dtype}."
                )


def _few(names: set[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(name[:60] for name in shown[:3]) + more


def hash_tensors(tensors: Mapping[str, Tensor]) -> str:
    """A SHA-256 over names, dtypes, shapes and bytes of the tensors, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        head = json.dumps([name, str(tensor.dtype), list(tensor.shape)])
        digest.update(head.encode() + b"\0")
        digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
