from torch import Tensor, nn
from torch.optim import Optimizer


def distillation_loss(
    student_logits: Tensor,
    teacher_logits: Tensor,
    labels: Tensor | None,
    temperature: float = 2.0,
    alpha: float = 0.5,
    ignore_index: int = -100,
) -> Tensor:
    """Mean of alpha * T^2 * KL(teacher || student) + (1 - alpha) *
    cross-entropy over the counted positions.
    """
    raise NotImplementedError


def distill_step(
    student: nn.Module,
    teacher: nn.Module,
    optimizer: Optimizer,
    inputs: Tensor,
    labels: Tensor | None,
    temperature: float = 2.0,
    alpha: float = 0.5,
) -> float:
    """One optimizer step of the student; returns the loss before the step."""
    raise NotImplementedError
