"""One GNMT for many languages, asked by a token. Johnson et al. 2017, "Google's Multilingual Neural
Machine Translation System".

System: multilingual_gnmt
Parent: gnmt
What differs:
- many languages by one network, which stays as it is: the source begins with a token that names
  the language wanted (`add_target_language_token`)
Source: Johnson et al. 2017, section 3.
Book: 2.3.3
"""

import torch
from torch import Tensor

from deepdive.core.masks import padding


def add_target_language_token(
    language: Tensor | int, src: Tensor, src_mask: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Put the token of the language wanted before each source: (B, S) -> (B, S + 1); and its mask.

    `language` is one token id, or one a row (B,). This is the whole of multilingual GNMT: the
    source's language is not named, and the network and its loss stay as they are. Its vocabulary
    holds one such token a language: `train(..., specials=[*SPECIALS, "<2de>", "<2fr>"])`.
    Raises ValueError for another number of languages than rows, or a mask that does not fit.
    Source: Johnson et al. 2017, section 3.
    """
    padding(src_mask, src, "src_mask")
    token = torch.as_tensor(language, dtype=src.dtype, device=src.device)
    if token.ndim > 1 or (token.ndim == 1 and len(token) != len(src)):
        raise ValueError(
            f"language: {tuple(token.shape)} ids for {len(src)} sources; give one id, or one a row"
        )
    first = token.expand(len(src)).unsqueeze(1)
    tokens = torch.cat([first, src], dim=1)
    if src_mask is None:
        return tokens, None
    return tokens, torch.cat([torch.ones_like(first, dtype=torch.bool), src_mask], dim=1)
