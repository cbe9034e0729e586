from torch import Tensor


def kl_rewards(
    logprobs: Tensor,
    ref_logprobs: Tensor,
    scores: Tensor,
    mask: Tensor,
    kl_coef: float = 0.1,
) -> Tensor:
    """Per-token rewards (B, T): the KL penalty, and the score at each row's
    last response token.
    """
    raise NotImplementedError


def gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    gamma: float = 1.0,
    lam: float = 0.95,
) -> tuple[Tensor, Tensor]:
    """Advantages and returns (B, T), counting response tokens only."""
    raise NotImplementedError


def ppo_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_eps: float = 0.2,
) -> Tensor:
    """The clipped policy loss over all response tokens, a scalar to be
    minimised.
    """
    raise NotImplementedError
