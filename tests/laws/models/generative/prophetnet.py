"""Cases of `deepdive.models.generative.prophetnet`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.core import KVCache, MultiHeadAttention
from deepdive.core.masks import Causal
from deepdive.layers.future_attention import FutureAttention, Futures
from deepdive.models.generative import bart, prophetnet
from deepdive.models.generative.prophetnet import FutureDecoder, ProphetNet
from laws import Case, Fails, Pair, case, padding_of, random_rows
from laws.models.seq2seq.seq2seq import pair_case
from laws.models.transformer.transformer import ORDER, SOURCE


def of(**numbers: Any) -> ProphetNet:
    """A tiny one in float64 whose tokens say nothing of distances."""
    torch.manual_seed(0)
    model = prophetnet.prophetnet(prophetnet.TINY, **numbers).double().eval()
    for block in model.decoder.stack.blocks:
        block.attn.relative.weight.data.zero_()
        block.attn.relative.bias.data.zero_()
    return model


def plain(ours: ProphetNet) -> Any:
    """BART with our weights, its places counted from 2 and ours from 1."""
    model = bart.bart(bart.TINY, pad=0, start=1, end=2).double().eval()
    state, table = ours.state_dict(), "position.position.table.weight"
    for side in ("encoder", "decoder"):
        rows = model.state_dict()[f"{side}.{table}"]
        rows[2:65] = state[f"{side}.{table}"][1:]
        state[f"{side}.{table}"] = rows
    model.load_state_dict(state, strict=False)
    return model


@case("prophetnet", ProphetNet)
def _() -> Case:
    def no_stream() -> tuple[Tensor, Tensor]:
        """The tokens' own rows answer: with BART's places and no bias it is BART."""
        ours = of(n_future=0)
        return ours(SOURCE, SOURCE.flip(1)), plain(ours)(SOURCE, SOURCE.flip(1))

    def its_text_is_bart() -> tuple[Tensor, Tensor]:
        """However many streams read them, the tokens' own rows are those of BART."""
        ours, tgt = of(n_future=3), SOURCE.flip(1)
        memory = ours.encoder(SOURCE)
        return ours.decoder.streams(tgt, memory)[:, 0], plain(ours).decoder(tgt, memory)

    def a_stream_less() -> tuple[Tensor, Tensor]:
        """A stream reads the text and itself: without the third, the first two say the same."""
        three, two = of(n_future=3), of(n_future=2)
        state = three.state_dict()
        state["decoder.unread"] = state["decoder.unread"][:2]
        two.load_state_dict(state)
        tgt = SOURCE.flip(1)
        return three.futures(SOURCE, tgt)[:, :2], two.futures(SOURCE, tgt)

    def one_token_less() -> tuple[Tensor, Tensor]:
        """Stream 2 has not read the last two tokens; the first of a text is always read."""
        ours, tgt = of(n_future=3), SOURCE.flip(1)
        other = torch.cat((tgt[:, :2], (tgt[:, 2:] - 3) % 28 + 4), 1)
        return ours.futures(SOURCE, tgt)[:, 2], ours.futures(SOURCE, other)[:, 2]

    limits: dict[str, Pair] = {
        "no stream, distances worth nothing: BART, whose parent is the Transformer": no_stream,
        "distances worth nothing: the text's own rows are BART's": its_text_is_bart,
        "a stream more: the others say the same": a_stream_less,
        "the last two tokens changed: the third stream says the same": one_token_less,
    }

    def too_long() -> Tensor:
        long = torch.full((3, 63), 4)
        model = prophetnet.prophetnet(prophetnet.TINY)
        assert model.encoder(long).shape == (3, 63, 32)
        return model(SOURCE, long)

    return pair_case(
        lambda: prophetnet.prophetnet(prophetnet.TINY),
        "transformers ProphetNetForConditionalGeneration",
        limits,
        SOURCE,
        refusals={
            "a config of another kind": lambda: prophetnet.prophetnet(32),  # type: ignore[arg-type]
            "as many tokens as places: its streams stand one further": too_long,
            "streams below 0": lambda: prophetnet.prophetnet(prophetnet.TINY, n_future=-1),
        },
        laws=ORDER,
    )


@case("prophetnet/FutureAttention", FutureAttention)
def _() -> Case:
    def make() -> FutureAttention:
        return FutureAttention(16, 4, n_buckets=4, max_distance=6)

    def worth_nothing() -> tuple[Tensor, Tensor]:
        ours, x = make().double(), random_rows(2, 6, 16)
        ours.relative.weight.data.zero_()
        ours.relative.bias.data.zero_()
        parent = MultiHeadAttention(16, 4).double()
        parent.load_state_dict(ours.state_dict(), strict=False)
        return ours(x, mask=Causal()), parent(x, mask=Causal())

    def no_streams() -> tuple[Tensor, Tensor]:
        ours, x = make().double(), random_rows(2, 6, 16)
        return ours(x, mask=Futures(0)), ours(x, mask=Causal())

    def by_hand() -> tuple[Tensor, Tensor]:
        """Two tokens and one stream of them: six pairs are open, each score summed by itself."""
        ours, x = make().double(), random_rows(1, 4, 16)
        q, (k, v) = ours.queries(x), ours.keys_and_values(x)
        at, found = (0, 1, 1, 2), torch.zeros(1, 4, 4, 4, dtype=torch.float64)
        for row, seen in enumerate(((0,), (0, 1), (0, 2), (0, 1, 3))):
            for h in range(4):
                scores = torch.stack([
                    q[0, h, row] @ k[0, h, key] / 2
                    + ours.relative(x)[0, row, 4 * (at[row] - at[key]) + h]
                    for key in seen
                ])  # fmt: skip
                found[0, h, row] = scores.softmax(0) @ v[0, h, list(seen)]
        return ours(x, mask=Futures(1)), ours.output(found)

    x = torch.zeros(1, 3, 16)
    return Case(
        place="layer",
        make=make,
        parity="transformers ProphetNetForConditionalGeneration",
        limits={
            "distances worth nothing: MultiHeadAttention": worth_nothing,
            "no streams: under a causal mask": no_streams,
            "two tokens and a stream, by hand": by_hand,
        },
        refusals={
            "foreign rows": lambda: make()(x, x),
            "a bias": lambda: make()(x, bias=torch.zeros(1, 4, 3, 3)),
            "odd buckets": lambda: FutureAttention(16, 4, n_buckets=3),
            "a float mask": lambda: make()(x, mask=torch.ones(3, 3)),
        },
        laws={"order": Fails("a distance is worth something")},
    )


@case("prophetnet/FutureDecoder", FutureDecoder)
def _() -> Case:
    memory = random_rows(1, 4, 32).float()

    def make() -> FutureDecoder:
        return prophetnet.prophetnet(prophetnet.TINY).decoder

    def run(decoder: FutureDecoder, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        rows = memory.to(decoder.unread).expand(len(x), -1, -1)
        return decoder(x, rows, padding_of(mask), cache=state)

    def all_streams() -> tuple[Tensor, Tensor]:
        decoder, rows = make().double(), memory.double().expand(3, -1, -1)
        return decoder(SOURCE, rows), decoder.streams(SOURCE, rows)[:, 1]

    return Case(
        make=make,
        run=run,
        begin=lambda decoder: KVCache(),
        vocab=32,
        parity="transformers ProphetNetForConditionalGeneration",
        limits={"the first of all streams": all_streams},
        refusals={
            "a float mask": lambda: make()(SOURCE, memory.expand(3, -1, -1), torch.ones(3, 4)),
            "no memory": lambda: make()(SOURCE),
        },
        laws=ORDER,
    )
