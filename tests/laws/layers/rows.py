"""Cases of the parts of `deepdive.layers` that map rows: embeddings, norms, feed-forward layers,
convolution, Fourier mixing, gates and a mean of layers.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.cache import Slot
from deepdive.core.embeddings import ScaledEmbedding, TiedHead, TokenEmbedding
from deepdive.core.feed_forward import FeedForward, GatedFeedForward
from deepdive.core.masks import Causal, Padding, Window
from deepdive.core.norms import LayerNorm, OffsetRMSNorm, RMSNorm
from deepdive.layers.convolution import Convolution
from deepdive.layers.feed_forward import ChunkedFeedForward, Highway
from deepdive.layers.fourier import FourierMixing
from deepdive.layers.share_embedding import GradientDisentangled, share_embedding
from deepdive.models.classic.elmo import ScalarMix
from laws import (
    ALONE,
    ANY_ROWS,
    NO_WEIGHTS,
    Case,
    Fails,
    NotApplicable,
    Refuses,
    case,
    random_rows,
    set_weights,
)

X, ZEROS = random_rows(2, 3, 16), torch.zeros(1, 3, 16)


@case("word_embedding", TokenEmbedding)
def _() -> Case:
    def one_hot() -> tuple[Tensor, Tensor]:
        tokens, embedding = torch.tensor([[3, 1]]), TokenEmbedding(5, 4, scale=2.0).double()
        return embedding(tokens), 2.0 * F.one_hot(tokens, 5).double() @ embedding.weight

    return Case(
        parity="torch.nn.Embedding",
        limits={"a one-hot row times the matrix": one_hot},
        refusals={
            "an unknown token": lambda: TokenEmbedding(5, 4)(torch.tensor([[5]])),
            "floats": lambda: TokenEmbedding(5, 4)(torch.zeros(1, 2)),
            "no batch axis": lambda: TokenEmbedding(5, 4)(torch.tensor([3, 1])),
            "an empty batch": lambda: TokenEmbedding(5, 4)(torch.zeros(0, 2, dtype=torch.long)),
        },
        laws=ALONE,
    )


@case("ScaledEmbedding", ScaledEmbedding)
def _() -> Case:
    tokens = torch.tensor([[3, 1]])

    def a_square() -> tuple[Tensor, Tensor]:
        ours, plain = ScaledEmbedding(5, 16).double(), TokenEmbedding(5, 16, scale=4.0).double()
        plain.load_state_dict(ours.state_dict())
        return ours(tokens), plain(tokens)

    def in_bfloat16() -> tuple[Tensor, Tensor]:
        """sqrt(2048) is 45.2548, in bfloat16 45.25, which has one product where the weight is 1."""
        ours = ScaledEmbedding(5, 2048).bfloat16()
        torch.nn.init.ones_(ours.weight)
        return ours(tokens).double(), torch.full((1, 2, 2048), 45.25).double()

    return Case(
        make=lambda: ScaledEmbedding(20, 16),
        vocab=20,
        parity="transformers GemmaForCausalLM",
        limits={"a square: TokenEmbedding with its root": a_square, "bfloat16": in_bfloat16},
        refusals={"an unknown token": lambda: ScaledEmbedding(5, 4)(torch.tensor([[5]]))},
        laws=ALONE,
    )


@case("TiedHead", TiedHead)
def _() -> Case:
    def scores() -> tuple[Tensor, Tensor]:
        x, embedding = random_rows(2, 3, 4), TokenEmbedding(5, 4).double()
        return TiedHead(embedding)(x), x @ embedding.weight.T

    return Case(
        make=lambda: TiedHead(TokenEmbedding(20, 16), bias=True),
        parity="torch.nn.Linear",
        limits={"the product with the embedding": scores},
        laws={**ALONE, "refusal": ANY_ROWS},
    )


@case("LayerNorm", LayerNorm)
def _() -> Case:
    whitened = (X - X.mean(-1, keepdim=True)) / X.std(-1, keepdim=True, unbiased=False)
    without = LayerNorm(16, 0.0).double()
    return Case(
        place="norm",
        make=lambda: LayerNorm(16),
        parity="torch.nn.LayerNorm",
        limits={"rows of mean 0 and variance 1": lambda: (without(whitened), whitened)},
        refusals={"another width": lambda: LayerNorm(16)(torch.zeros(2, 3, 15))},
    )


@case("RMSNorm", RMSNorm)
def _() -> Case:
    centered = X - X.mean(-1, keepdim=True)
    ours, plain = RMSNorm(16, 1e-5).double(), LayerNorm(16, 1e-5, bias=False).double()
    return Case(
        place="norm",
        make=lambda: RMSNorm(16),
        parity="torch.nn.RMSNorm",
        limits={"LayerNorm on rows of mean 0": lambda: (ours(centered), plain(centered))},
        refusals={"another width": lambda: RMSNorm(16)(torch.zeros(2, 3, 15))},
    )


@case("OffsetRMSNorm", OffsetRMSNorm)
def _() -> Case:
    def one_more() -> tuple[Tensor, Tensor]:
        ours, plain = OffsetRMSNorm(16).double(), RMSNorm(16).double()
        set_weights(ours, weight=random_rows(16))
        set_weights(plain, weight=1 + random_rows(16))
        return ours(X), plain(X)

    return Case(
        place="norm",
        make=lambda: OffsetRMSNorm(16),
        parity="transformers GemmaForCausalLM",
        limits={
            "RMSNorm with weights larger by 1": one_more,
            "at the start: RMSNorm": lambda: (
                OffsetRMSNorm(16).double()(X),
                RMSNorm(16).double()(X),
            ),
        },
        refusals={"another width": lambda: OffsetRMSNorm(16)(torch.zeros(2, 3, 15))},
    )


@case("ffn", FeedForward)
def _() -> Case:
    ff = FeedForward(16, 32, activation=lambda rows: rows).double()
    return Case(
        place="feed_forward",
        parity="torch.nn.TransformerEncoderLayer, its feed-forward part",
        limits={
            "no activation: one matrix": lambda: (ff(X), X @ (ff.out.weight @ ff.inner.weight).T)
        },
        laws={"refusal": ANY_ROWS},
    )


@case("glu_variants", GatedFeedForward)
def _() -> Case:
    def half_open() -> tuple[Tensor, Tensor]:
        gated = GatedFeedForward(16, 32, torch.sigmoid).double()
        set_weights(gated, gate__weight=0.0, gate__bias=0.0)
        plain = FeedForward(16, 32, activation=lambda rows: rows)
        set_weights(plain, inner__weight=gated.inner.weight / 2, out__weight=gated.out.weight)
        return gated(X), plain(X)

    return Case(
        place="feed_forward",
        parity="transformers LlamaMLP",
        limits={"a gate that stands half open is a plain layer": half_open},
        laws={"refusal": ANY_ROWS},
    )


@case("ChunkedFeedForward", ChunkedFeedForward)
def _() -> Case:
    def make(rows: int = 3) -> ChunkedFeedForward:
        return ChunkedFeedForward(FeedForward(16, 32), rows)

    def at_once() -> tuple[Tensor, Tensor]:
        x, chunked = random_rows(2, 7, 16), make().double()
        return chunked(x), chunked.inner(x)

    return Case(
        place="feed_forward",
        make=make,
        parity="transformers ChunkReformerFeedForward",
        limits={"all rows at once": at_once},
        refusals={"no rows": lambda: make(0)},
    )


@case("Convolution", Convolution)
def _() -> Case:
    def one_row() -> tuple[Tensor, Tensor]:
        layer, x = Convolution(16, 0, bias=False).double(), random_rows(2, 5, 16)
        return layer(x), x @ layer.W.weight[:, :, 0].T

    def written_out() -> tuple[Tensor, Tensor]:
        """The sum over the positions that the mask Window allows."""
        layer, x = Convolution(16, 2, 1, dilation=2).double(), random_rows(2, 9, 16)
        set_weights(layer, W__bias=3.0)
        y = torch.full_like(x, 3.0)
        for t, s in Window(2, 1, 2).dense(9)[0, 0].nonzero().tolist():
            y[:, t] += x[:, s] @ layer.W.weight[:, :, (s - t) // 2 + 2].T
        return layer(x), y

    layer, ahead, longer = Convolution(16, 1), Convolution(16, 1, 1), torch.ones(1, 4).bool()
    return Case(
        place="layer",
        make=lambda: Convolution(16, 2, dilation=2),
        parity="torch.nn.Conv1d with its own padding",
        limits={"one row: a linear layer": one_row, "the sum over the mask Window": written_out},
        refusals={
            "a causal mask, and a look ahead": lambda: ahead(ZEROS, mask=Causal()),
            "a cache, and a look ahead": lambda: ahead(ZEROS, cache=Slot()),
            "another mask": lambda: layer(ZEROS, mask=Window(1)),
            "a mask of floats": lambda: layer(ZEROS, mask=torch.zeros(3, 3)),
            "a mask for other rows": lambda: layer(ZEROS, mask=Padding(longer)),
            "a context": lambda: layer(ZEROS, ZEROS),
            "a wrong width": lambda: layer(torch.zeros(1, 3, 8)),
            "a negative reach": lambda: Convolution(16, -1),
            "a cache under gradients": lambda: layer(ZEROS.clone().requires_grad_(), cache=Slot()),
        },
        laws={"order": Fails("a row's place decides which matrix it meets"), "hooks": NO_WEIGHTS},
    )


@case("FourierMixing", FourierMixing)
def _() -> Case:
    def written_out() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 7, 6)
        t, c = torch.arange(7, dtype=torch.float64) / 7, torch.arange(6, dtype=torch.float64) / 6
        turns = t[:, None, None, None] * torch.arange(7)[:, None]
        turns = turns + c[:, None, None] * torch.arange(6)  # (t, c, s, e)
        cosine = torch.cos(2 * torch.pi * turns)
        return FourierMixing(6)(x), torch.einsum("tcse,bse->btc", cosine, x)

    def twice() -> tuple[Tensor, Tensor]:
        """Re F applied twice: T d / 2 times the rows plus their mirror image."""
        x = random_rows(2, 5, 4)
        mirror = x.roll(-1, (1,)).flip(1).roll(-1, (2,)).flip(2)
        return FourierMixing(4)(FourierMixing(4)(x)), 5 * 4 / 2 * (x + mirror)

    def alone() -> tuple[Tensor, Tensor]:
        x = random_rows(1, 9, 4)
        real = torch.tensor([[0, 1, 1, 0, 1, 1, 1, 0, 0]]).bool()
        return FourierMixing(4)(x, mask=Padding(real))[real], FourierMixing(4)(x[real][None])[0]

    layer, every = FourierMixing(16), Refuses("each output holds every row")
    return Case(
        place="layer",
        make=lambda: FourierMixing(16),
        parity="transformers FNetModel",
        limits={
            "the sum of cosines": written_out,
            "twice: a mirror": twice,
            "padded: alone": alone,
        },
        refusals={
            "a causal mask": lambda: layer(ZEROS, mask=Causal()),
            "another mask": lambda: layer(ZEROS, mask=Window(1)),
            "a mask of floats": lambda: layer(ZEROS, mask=torch.zeros(3, 3)),
            "a context": lambda: layer(ZEROS, ZEROS),
            "a bias": lambda: layer(ZEROS, bias=torch.zeros(3, 3)),
            "a cache": lambda: layer(ZEROS, cache=Slot()),
            "a wrong width": lambda: layer(torch.zeros(1, 3, 8)),
            "no width": lambda: FourierMixing(0),
        },
        laws={
            "no_leak": every,
            "cache": every,
            "order": Fails("a row's place decides the frequency that it meets"),
            "gradient": NotApplicable("nothing is trained"),
            "hooks": NO_WEIGHTS,
        },
    )


@case("Highway", Highway)
def _() -> Case:
    shut, x = Highway(16).double(), random_rows(2, 3, 16)
    nn.init.constant_(shut.G.bias, -800.0)
    return Case(
        make=lambda: Highway(16),
        parity="the equation over torch.nn.Linear",
        limits={"a shut gate: the identity": lambda: (shut(x), x)},
        refusals={"rows of another width": lambda: Highway(16)(torch.zeros(2, 8))},
        laws=ALONE,
    )


@case("elmo/ScalarMix", ScalarMix)
def _() -> Case:
    rows = random_rows(3, 2, 4, 16)

    def chosen() -> tuple[Tensor, Tensor]:
        mix = ScalarMix(3).double()
        nn.init.constant_(mix.s[:1], 800.0)
        return mix(list(rows)), rows[0]

    return Case(
        make=lambda: ScalarMix(3),
        run=lambda mix, x, mask=None, state=None: mix([x, x.square(), x.sin()]),
        parity="the direct sum",
        limits={
            "one s far above the others: that layer": chosen,
            "at first: the mean": lambda: (ScalarMix(3).double()(list(rows)), rows.mean(0)),
        },
        refusals={
            "another number of layers": lambda: ScalarMix(3)([torch.zeros(2)] * 2),
            "no layers": lambda: ScalarMix(0),
        },
        laws={name: ALONE[name] for name in ("padding", "cache")},
    )


@case("GradientDisentangled", GradientDisentangled)
def _() -> Case:
    def make(vocab_size: int = 32, d_model: int = 16) -> TokenEmbedding:
        table = TokenEmbedding(vocab_size, d_model)
        share_embedding(TokenEmbedding(32, 16), table)
        return table

    def at_first() -> tuple[Tensor, Tensor]:
        generator, table = TokenEmbedding(32, 16).double(), TokenEmbedding(32, 16).double()
        share_embedding(generator, table)
        tokens = torch.arange(32)[None]
        return table(tokens), generator(tokens)

    return Case(
        make=make,
        vocab=32,
        parity="the sum by hand: a constant and a table",
        limits={"no delta: the generator's table": at_first},
        refusals={"another vocabulary": lambda: make(vocab_size=31)},
        silent={"shared": "the generator's loss trains it; this one stops there, on purpose"},
        laws=ALONE,
    )
