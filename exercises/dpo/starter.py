from torch import Tensor


def sequence_logprobs(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum of the log-probabilities of the labels that are not -100; (B, T, V),
    (B, T) -> (B,).
    """
    raise NotImplementedError


def dpo_loss(
    policy_chosen: Tensor,
    policy_rejected: Tensor,
    ref_chosen: Tensor,
    ref_rejected: Tensor,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(loss, chosen_rewards, rejected_rewards, accuracy) from sequence
    log-probabilities of shape (B,).
    """
    raise NotImplementedError
