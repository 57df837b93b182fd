"""FNet against transformers, in float64."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from parity_bert import SIZES, reference, saved_and_loaded
from parity_proofs import alike, real, tokens
from parity_registry import equal, parity
from torch import nn
from transformers import FNetConfig, FNetModel, PreTrainedModel

from deepdive.layers import FourierMixing
from deepdive.models.efficient import fnet
from deepdive.published import family, load


@parity("fnet", FourierMixing, fnet.FNetEmbeddings)
def fnet_agrees() -> None:
    """Theirs has no mask: a text between padding, in ours, is the text alone in theirs."""
    sizes = {name: size for name, size in SIZES.items() if name != "num_attention_heads"}
    theirs = reference(FNetModel, FNetConfig, **sizes)
    ours, body = saved_and_loaded(theirs, load), Unpooled(theirs)
    for T in (7, 8):
        row, segments = tokens(3, T, vocab=28), tokens(3, T, vocab=8, seed=1) - 4
        expected = theirs(row, token_type_ids=segments).last_hidden_state
        alike(ours, body, ours(row, None, segments), expected, [family("fnet").names])
    mask = real([7, 4, 7], 8)
    for i, n in enumerate((7, 4, 7)):
        equal(ours(row, mask)[i, :n], theirs(row[i : i + 1, :n]).last_hidden_state[0])


class Unpooled(nn.Module):
    """Theirs without the pooler, which no state passes through."""

    def __init__(self, theirs: PreTrainedModel) -> None:
        super().__init__()
        self.embeddings, self.encoder = theirs.embeddings, theirs.encoder


def test_the_imaginary_part_is_seen() -> None:
    with (
        mock.patch(
            "deepdive.layers.fourier.transform", lambda x: torch.fft.fftn(x, dim=(1, 2)).imag
        ),
        pytest.raises(AssertionError),
    ):
        fnet_agrees()
