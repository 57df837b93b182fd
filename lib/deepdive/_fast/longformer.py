"""Global attention of a few queries to all positions, without computing their keys and values.

    q k^T = (q W_k) x^T        weights v = (weights x) W_v^T + (sum of weights) b_v

costs 2 * n_queries * n_heads products per element of x instead of 2 * d_model. `kv` projects
x (B, S, d_model) to all heads' keys, then all heads' values.
"""

from torch import Tensor, nn


def scores_of_rows(q: Tensor, x: Tensor, kv: nn.Linear, scale: float) -> Tensor:
    """Return scale * q @ k^T for q (B, H, g, d_head), (B, H, g, S), up to a constant per query: the
    keys' bias adds the same to all its scores, and softmax is invariant to that.
    """
    H, d_head = q.shape[1], q.shape[3]
    W_k = kv.weight.unflatten(0, (2 * H, d_head))[:H]  # (H, d_head, d_model)
    in_x = (q @ W_k).flatten(1, 2)  # (B, H * g, d_model)
    return (scale * in_x @ x.mT).unflatten(1, (H, -1))


def mixed_rows(weights: Tensor, x: Tensor, kv: nn.Linear) -> Tensor:
    """Return weights @ v for weights (B, H, g, S), (B, H, g, d_head)."""
    H = weights.shape[1]
    W_v = kv.weight.unflatten(0, (2 * H, -1))[H:]  # (H, d_head, d_model)
    mixed = (weights.flatten(1, 2) @ x).unflatten(1, (H, -1)) @ W_v.mT
    if kv.bias is None:
        return mixed
    return mixed + weights.sum(-1, keepdim=True) * kv.bias.unflatten(0, (2 * H, 1, -1))[H:]
