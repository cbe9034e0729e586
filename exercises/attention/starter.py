"""Multi-head causal self-attention, written from four linear layers."""

from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Multi-head causal self-attention, with padding and grouped heads.

    Submodules, all `nn.Linear` without bias, with
    head_dim = d_model // n_heads:

    - q_proj: d_model -> n_heads * head_dim
    - k_proj and v_proj: d_model -> n_kv_heads * head_dim
    - o_proj: n_heads * head_dim -> d_model

    Head h owns the output features h * head_dim to
    (h + 1) * head_dim - 1 of its projection.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
    ):
        """Without `n_kv_heads` every query head has its own keys and values."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        """Attend causally within each sequence.

        Args:
            x: inputs (B, T, d_model).
            pad_mask: bool (B, T), True at padding, or None.

        Returns:
            Outputs (B, T, d_model).
        """
        raise NotImplementedError
