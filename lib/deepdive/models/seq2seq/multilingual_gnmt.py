"""Multilingual GNMT: one model, with a target language token. Johnson et al. 2017, "Google's
Multilingual Neural Machine Translation System".

System: multilingual_gnmt
Parent: gnmt
What differs:
- one unchanged network for many languages: the source starts with a token for the target language
  (`add_target_language_token`)
Source: Johnson et al. 2017, section 3.
Book: 2.3.3
"""

import torch
from torch import Tensor

from deepdive.core.masks import padding


def add_target_language_token(
    language: Tensor | int, src: Tensor, src_mask: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Prepend a target language token to each source and its mask: (B, S) -> (B, S + 1).

    `language` is one token id, or one per source (B,). Multilingual GNMT changes nothing else: the
    source language has no token, and network and loss stay the same. Its vocabulary has one such
    token per language: `train(..., specials=[*SPECIALS, "<2de>", "<2fr>"])`.
    Raises ValueError for a number of languages other than B, or a mask of another shape.
    Source: Johnson et al. 2017, section 3.
    """
    padding(src_mask, src, "src_mask")
    token = torch.as_tensor(language, dtype=src.dtype, device=src.device)
    if token.ndim > 1 or (token.ndim == 1 and len(token) != len(src)):
        raise ValueError(
            f"language: {tuple(token.shape)} ids for {len(src)} sources; pass one id, or one each"
        )
    first = token.expand(len(src)).unsqueeze(1)
    tokens = torch.cat([first, src], dim=1)
    if src_mask is None:
        return tokens, None
    return tokens, torch.cat([torch.ones_like(first, dtype=torch.bool), src_mask], dim=1)
