"""Norm-based attention analysis: the norms of weighted value vectors instead of attention weights.

    with record(model, "*0.attn.*.weights", "*0.attn.values") as seen:
        model(tokens)
    weights, values = (calls[0] for calls in seen.values())
    norms(weights, values, model.encoder.blocks[0].attn.out.weight)        # (B, T, S)

System: norm_attention
Parent: attention_rollout
What differs:
- a single layer is analyzed, not paths through layers
- a head adds w_ts f(x_s) to the stream, where f(x) = (x W_v + b_v) W_o is the transformed vector:
  a large weight on a token with a small f(x), such as a separator, adds little
- its norm replaces w_ts: for each head (`head_norms`), or for the sum over heads, whose terms may
  cancel (`norms`)
Source: Kobayashi, Kuribayashi, Yokoi and Inui 2020.
Book: chapter 7, references
"""

import torch
from torch import Tensor


def head_norms(weights: Tensor, values: Tensor, out: Tensor) -> Tensor:
    """Return |w_hts f_h(x_s)| for each head, (B, H, T, S).

    weights    (B, H, T, S), recorded at `*.weights`
    values     (B, H, S, d_head), recorded at `*.values`: x W_v + b_v
    out        the output projection's weight (d_model, H * d_head): `attn.out.weight`

    Raises ValueError if the shapes do not fit.
    Source: Kobayashi et al. 2020.
    """
    f = _read_off(weights, values, out)
    return weights.abs() * f.norm(dim=-1)[:, :, None]


def norms(weights: Tensor, values: Tensor, out: Tensor) -> Tensor:
    """Return |sum over h of w_hts f_h(x_s)|, (B, T, S): token s's contribution to token t.

    Arguments as in `head_norms`. Source: Kobayashi et al. 2020 (all heads of a layer).
    """
    f = _read_off(weights, values, out)
    # |sum_h w_h f_h|^2 = sum_hg w_h w_g <f_h, f_g>: H x H numbers per token, not T x S x d_model
    gram = torch.einsum("bhsd,bgsd->bshg", f, f)
    squares = torch.einsum("bhts,bshg,bgts->bts", weights, gram, weights)
    return squares.clamp(min=0).sqrt()


def _read_off(weights: Tensor, values: Tensor, out: Tensor) -> Tensor:
    """f_h(x_s), (B, H, S, d_model)."""
    fits = (
        weights.ndim == values.ndim == 4
        and weights.shape[:2] == values.shape[:2]
        and weights.shape[3] == values.shape[2]
        and out.ndim == 2
        and out.shape[1] == values.shape[1] * values.shape[3]
    )
    if not fits:
        raise ValueError(
            f"weights {tuple(weights.shape)}, values {tuple(values.shape)} and out "
            f"{tuple(out.shape)} do not fit: expected (B, H, T, S), (B, H, S, d_head) and "
            "(d_model, H * d_head), of one layer"
        )
    by_head = out.unflatten(1, (values.shape[1], -1)).movedim(1, 0)  # (H, d_model, d_head)
    return values @ by_head.mT
