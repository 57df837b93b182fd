"""I-BERT: RoBERTa whose every operation after the first look-up is one of whole numbers. Kim et al.
2021, "I-BERT: Integer-only BERT Quantization".

    model = ibert()                                     # RoBERTa, in floats: train it, or load it
    whole = integer(model, calibrated(model, texts))    # its twin of whole numbers

`texts` are batches of tokens like those that the model will read: what they make the activations
reach fixes the scales, once and for all. `deepdive.models.bert.ibert_errors.errors` says what each
operation costs.

Long because each part of a layer has its twin of whole numbers, and calibration comes before them.

System: ibert
Parent: roberta
What differs:
- matrices and what they multiply are 8 bits, sums 32 (`IntegerLinear`); the scales are fixed
  before (`calibrated`), so that going from one to another is a product and a shift
- GELU is a polynomial of the second degree (`i_gelu`), and exp in softmax another (`i_exp`)
- the norm's square root is Newton's, on whole numbers (`i_sqrt`); what it normalises has 22 bits
Source: Kim et al. 2021, section 3, and their released code for the bits and the digits.
Book: 3.2
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from deepdive.core import Block, Context, Layer, LayerNorm, MultiHeadAttention, PostNorm, gelu
from deepdive.core.embeddings import look_up
from deepdive.core.masks import as_mask
from deepdive.core.multi_head import split_heads
from deepdive.layers.integers import (
    QuantizedTensor,
    i_gelu,
    i_layer_norm,
    i_softmax,
    plus,
    quantised,
    saturated,
    scale_of,
    times,
)
from deepdive.models.bert import roberta as parent
from deepdive.models.bert.bert import Bert, EncoderConfig, bert

BASE = parent.BASE.but(family="ibert")
LARGE = parent.LARGE.but(family="ibert")
TINY = parent.TINY.but(family="ibert")
TABLES = "token_rows", "segment_rows", "place_rows"
Ranges = Mapping[str, tuple[float, float]]  # activation -> its least and its greatest


def ibert(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build the encoder in floats, from which `integer` makes the one of whole numbers."""
    return bert(config, **changes)


@contextmanager
def observed(model: nn.Module, see: Any) -> Iterator[None]:
    """Call see(name, x) with what enters and leaves each matrix and norm: `NAME.in`, `NAME.out`;
    for keys and values, which are one product, `kv.k` and `kv.v`.
    """
    handles = []
    for name, part in model.named_modules():
        if isinstance(part, nn.Linear | LayerNorm):

            def hook(_: Any, given: Any, out: Tensor, name: str = name) -> None:
                see(f"{name}.in", given[0])
                see(f"{name}.out", out)
                if name.endswith("kv"):
                    for half, rows in zip("kv", out.chunk(2, -1), strict=True):
                        see(f"{name}.{half}", rows)

            handles.append(part.register_forward_hook(hook))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def calibrated(model: Bert, texts: Iterable[Tensor], momentum: float = 0.95) -> dict[str, Any]:
    """Return how far each activation reaches, least and greatest, over batches of tokens (B, T).

        range = momentum * range + (1 - momentum) * the batch's;   the first batch sets it

    Raises ValueError when there are no texts.
    Source: Kim et al. 2021, section 3.1, and the released code's moving average.
    """
    ranges: dict[str, tuple[float, float]] = {}
    for tokens in texts:
        seen: dict[str, tuple[float, float]] = {}

        def see(name: str, x: Tensor, seen: dict[str, Any] = seen) -> None:
            seen[name] = float(x.min()), float(x.max())

        with observed(model.eval(), see):
            model(tokens)
        for name, now in seen.items():
            old = ranges.get(name, now)
            low, high = (momentum * a + (1 - momentum) * b for a, b in zip(old, now, strict=True))
            ranges[name] = low, high
    if not ranges:
        raise ValueError("texts is empty, expected batches of tokens: no range can be measured")
    return ranges


def range_scale(ranges: Ranges, name: str, bits: int) -> Tensor:
    if name not in ranges:
        raise ValueError(f"ranges has no {name!r}, expected those of this model: calibrate it")
    return scale_of(torch.tensor(ranges[name], dtype=torch.float64).abs().max(), bits)


class IntegerLinear(nn.Module):
    """y = q_x @ q_W^T + q_b in int32: W in 8 bits, with a scale for each output."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, bias = linear.weight.detach().double(), linear.bias.detach().double()
        self.scale = nn.Buffer(scale_of(weight.abs().amax(1), 8))
        self.weight = nn.Buffer(quantised(weight, self.scale[:, None], 8).q)
        self.bias = nn.Buffer(bias)

    def forward(self, x: QuantizedTensor) -> QuantizedTensor:
        """Return whole numbers (..., d_out) for x (..., d_in) of 8 bits and one scale."""
        product = times(x, QuantizedTensor(self.weight.T, self.scale))
        bias = saturated((self.bias / product.scale).round().long(), 32)
        return QuantizedTensor(product.q + bias, product.scale)


class IntegerNorm(nn.Module):
    """The norm of a sum of whole numbers: the sum in `bits`, what it returns in 8."""

    def __init__(self, norm: LayerNorm, ranges: Ranges, name: str, bits: int) -> None:
        super().__init__()
        assert norm.bias is not None  # BERT's norms have one
        self.weight, self.bias = nn.Buffer(norm.weight.detach()), nn.Buffer(norm.bias.detach())
        self.bits, self.sum_scale = bits, nn.Buffer(range_scale(ranges, f"{name}.in", bits))
        self.scale = nn.Buffer(range_scale(ranges, f"{name}.out", 8))

    def forward(self, *parts: QuantizedTensor) -> QuantizedTensor:
        """Return norm(sum of parts), (..., d_model)."""
        total = plus(self.sum_scale, self.bits, *parts)
        return i_layer_norm(total, self.weight, self.bias).rescaled(self.scale, 8)


class IntegerPostNorm(IntegerNorm):
    """norm(x + sublayer(x)), the sum in 22 bits."""

    def forward(self, x: QuantizedTensor, sublayer: Any) -> QuantizedTensor:  # type: ignore[override]
        """Return the stream after the sublayer."""
        return super().forward(x, sublayer(x))


class IntegerAttention(Layer):
    """Multi-head attention of whole numbers: q, k, v, weights and their mix in 8 bits."""

    reads = ("mask",)
    instead = "use the model of floats, BERT's"

    def __init__(self, attn: MultiHeadAttention, ranges: Ranges, name: str) -> None:
        super().__init__()
        self.d_model, self.n_heads = attn.d_model, attn.n_heads
        self.q, self.kv, self.out = (IntegerLinear(x) for x in (attn.q, attn.kv, attn.out))
        names = ("q.out", "kv.k", "kv.v", "out.in")
        self.scales = nn.Buffer(torch.stack([range_scale(ranges, f"{name}.{n}", 8) for n in names]))

    def forward(self, x: QuantizedTensor, context: Context) -> QuantizedTensor:  # type: ignore[override]
        """Return (B, T, d_model)."""
        kv, width = self.kv(x), self.d_model
        halves = (
            QuantizedTensor(kv.q[..., at], kv.scale[at])
            for at in (slice(width), slice(width, None))
        )
        given = zip((self.q(x), *halves), self.scales[:3], strict=True)
        rows = (half.rescaled(scale, 8) for half, scale in given)
        q, k, v = (QuantizedTensor(split_heads(each.q, self.n_heads), each.scale) for each in rows)
        scores = times(q, QuantizedTensor(k.q.transpose(-2, -1), k.scale))  # (B, H, T, S)
        T, mask = x.q.shape[1], as_mask(context.mask)
        allowed = None if mask is None else mask.allowed(T, T, x.q.device)
        weights = i_softmax(
            QuantizedTensor(scores.q, scores.scale * q.q.shape[-1] ** -0.5), allowed
        )
        heads = times(weights, v)
        joined = QuantizedTensor(heads.q.transpose(1, 2).flatten(2), heads.scale)
        return cast(QuantizedTensor, self.out(joined.rescaled(self.scales[3], 8)))


class IntegerFeedForward(nn.Module):
    """out(i_gelu(inner(x))), what enters `out` in 8 bits."""

    def __init__(self, ff: Any, ranges: Ranges, name: str) -> None:
        super().__init__()
        if ff.activation is not gelu:
            raise ValueError(f"activation={ff.activation!r}: only gelu has an integer form here")
        self.inner, self.out = IntegerLinear(ff.inner), IntegerLinear(ff.out)
        self.scale = nn.Buffer(range_scale(ranges, f"{name}.out.in", 8))

    def forward(self, x: QuantizedTensor) -> QuantizedTensor:
        """Return (..., d_model) for x (..., d_model)."""
        return cast(QuantizedTensor, self.out(i_gelu(self.inner(x)).rescaled(self.scale, 8)))


class IntegerEmbeddings(parent.RobertaEmbeddings):
    """norm(tokens[t] + segments[s] + position[p]): tables of 8 bits, their sum in 16."""

    def __init__(self, embeddings: Any, ranges: Ranges) -> None:
        nn.Module.__init__(self)  # no float of the parent's is kept
        self.first = embeddings.position.offset
        rows = (embeddings.tokens, embeddings.segments, embeddings.position.table)
        tables = [table.weight.detach().double() for table in rows]
        self.scales = nn.Buffer(torch.stack([scale_of(t.abs().max(), 8) for t in tables]))
        for name, table, scale in zip(TABLES, tables, self.scales, strict=True):
            self.register_buffer(name, quantised(table, scale, 8).q)
        self.whole_norm = IntegerNorm(embeddings.norm, ranges, "embeddings.norm", 16)

    def forward(  # type: ignore[override]
        self, tokens: Tensor, segments: Tensor | None, positions: Tensor
    ) -> QuantizedTensor:
        """Return whole numbers (B, T, d_model), arguments as for `BertEmbeddings`."""
        segments = torch.zeros_like(tokens) if segments is None else segments
        places = (positions + self.first).expand_as(tokens)
        rows = [
            QuantizedTensor(look_up(self.get_buffer(name), ids, name), scale)
            for name, ids, scale in zip(
                TABLES, (tokens, segments, places), self.scales, strict=True
            )
        ]
        return cast(QuantizedTensor, self.whole_norm(*rows))


class IntegerBert(Bert):
    """Tokens (B, T) -> states (B, T, d_model): whole numbers inside, times one scale at the end."""

    def states(self, *given: Any) -> Tensor:
        """Return the states, as `Bert.states` does."""
        return cast(QuantizedTensor, super().states(*given)).value


def integer(model: Bert, ranges: Ranges) -> IntegerBert:
    """Return the twin of whole numbers of a model of floats; `ranges` are those of `calibrated`."""
    stack = copy.deepcopy(model.stack).requires_grad_(False)
    for i, block in enumerate(cast(Iterable[Block], stack.blocks)):
        name = f"stack.blocks.{i}"
        for part in ("attn_residual", "ff_residual"):
            norm = cast(LayerNorm, cast(PostNorm, getattr(block, part)).norm)
            setattr(block, part, IntegerPostNorm(norm, ranges, f"{name}.{part}.norm", 22))
        block.attn = IntegerAttention(cast(Any, block.attn), ranges, f"{name}.attn")
        block.ff = IntegerFeedForward(block.ff, ranges, f"{name}.ff")
    embeddings = cast(Any, IntegerEmbeddings(model.embeddings, ranges))
    return IntegerBert(embeddings, stack, model.config).eval()
