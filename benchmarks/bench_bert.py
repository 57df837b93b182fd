"""BERT at MiniLM's shape, with MiniLM's weights: training, inference, and texts without padding.

(a) A training step (forward, backward, fused AdamW for both) and (b) inference of a padded batch,
against transformers' BertModel with sdpa. (c) Vectors of texts of mixed length, from strings to
vectors, without padding, against sentence-transformers' `encode`, which sorts by length and pads
each 32 texts to their longest. Each round runs both, the first one in turn; the ratio is taken in
each round, and its median, least and greatest are printed and kept. The vectors must be the same to
1e-5. Ours is measured with `deepdive.optimize` in (b) and (c), and as it is built in (a). `python
benchmarks/bench_bert.py inference mix` runs the parts that are named in `PARTS`.

Two numbers say what (c) can gain: the share of padding in the peer's batches, and the bound, the
time of the linear layers' products alone on the real tokens, in the kernel that runs them here.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
from common import RESULTS, Row, Work, in_pairs
from torch import Tensor, nn

from deepdive import optimize
from deepdive.data import fetch
from deepdive.models.bert.unpadded import batches, sentence_vectors
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer

SHAPES = ((32, 32), (16, 128))
ROUNDS = {"step": 9, "inference": 15, "texts": 9}
N_TEXTS, PEERS_BATCH, BATCH_TOKENS, MAX_LENGTH = 300, 32, 1024, 256


def models() -> tuple[nn.Module, nn.Module]:
    """Ours and theirs, with MiniLM's weights."""
    from transformers import BertModel, logging

    logging.set_verbosity_error()
    kind = {"attn_implementation": "sdpa", "add_pooling_layer": False}
    return load(minilm()), BertModel.from_pretrained(minilm(), **kind).eval()


def set_dropout(model: nn.Module, p: float) -> int:
    """Set each dropout that a model loaded; how many there are. (Ours has one more in each
    feed-forward layer, which is 0 in BERT.)
    """
    found = [part for part in model.modules() if isinstance(part, nn.Dropout) and part.p]
    for part in found:
        part.p = p
    return len(found)


def batch(B: int, T: int, shortest: int) -> tuple[Tensor, Tensor]:
    """Tokens (B, T), and a mask of rows of `shortest` to T real tokens."""
    lengths = torch.randint(shortest, T + 1, (B,))
    lengths[0] = T
    return torch.randint(1000, 30_000, (B, T)), torch.arange(T) < lengths[:, None]


def forwards(tokens: Tensor, mask: Tensor | None) -> tuple[Callable[..., Tensor], ...]:
    """How to get the states of ours, and of theirs."""
    theirs = None if mask is None else mask.long()
    return (
        lambda model: model(tokens, mask),
        lambda model: model(tokens, theirs).last_hidden_state,
    )


def stepper(model: nn.Module, forward: Callable[[nn.Module], Tensor], p: float) -> Work:
    set_dropout(model.train(), p)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        forward(model).square().mean().backward()
        optimizer.step()

    return step


def training_step(B: int, T: int, p: float) -> list[Row]:
    pair = zip(models(), forwards(*batch(B, T, T // 2)), strict=True)
    taken = in_pairs(*(stepper(model, run, p) for model, run in pair), ROUNDS["step"])
    say(f"(a) training step, {B} x {T}, padded, dropout {p}", taken)
    return [{"name": "training step", "batch": B, "n": T, "dropout": p, **taken}]


def inferences() -> list[Row]:
    rows = []
    for B, T in SHAPES:
        tokens, mask = batch(B, T, T // 2)
        for name, given in (("no padding", None), ("padded", mask)):
            ours, theirs = models()
            pair = zip((optimize(ours), theirs), forwards(tokens, given), strict=True)
            with torch.inference_mode():
                works = ((lambda model=model, run=run: run(model)) for model, run in pair)
                taken = in_pairs(*works, ROUNDS["inference"])
            rows.append({"name": "inference", "batch": B, "n": T, "rows": name, **taken})
            say(f"(b) inference, {B} x {T}, {name}", taken)
    return rows


def say(what: str, taken: Row) -> None:
    print(
        f"{what}: ours {taken['ours_s'] * 1e3:.0f} ms, transformers {taken['peer_s'] * 1e3:.0f} "
        f"ms; ratio {taken['ratio']:.2f} ({taken['ratio_least']:.2f} to "
        f"{taken['ratio_greatest']:.2f}; no more than 1, aim 0.9)",
        flush=True,
    )


@cache
def sentences(name: str) -> list[str]:
    """The texts of a staged data set."""
    if name == "movie_reviews":
        with gzip.open(fetch(name, "movie_reviews.jsonl.gz"), "rt", encoding="utf-8") as lines:
            reviews = [json.loads(line)["text"] for line in lines]
        return [part.strip() for text in reviews for part in text.split("\n") if part.strip()]
    file = {"sib200": "sib200_24langs.tsv.gz", "rt_polarity": "rt_polarity.tsv.gz"}[name]
    with gzip.open(fetch(name, file), "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t")[-1] for line in lines][1:]


@cache
def english() -> list[str]:
    """The English of SIB-200: its lines are sorted by language, as many of each."""
    file = fetch("sib200", "sib200_24langs.tsv.gz")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [x.rstrip("\n").split("\t")[-1] for x in lines if x.startswith("eng_Latn\t")]


MIXES: dict[str, tuple[str, Callable[[], list[list[str]]]]] = {
    "mix": (
        "film snippets, news, sentences of reviews",
        lambda: [sentences("rt_polarity"), english(), sentences("movie_reviews")],
    ),
    "snippets": ("film snippets alone", lambda: [sentences("rt_polarity")]),
    "languages": ("news in 24 languages", lambda: [sentences("sib200")]),
}


def drawn(sources: Sequence[Sequence[str]], n: int = N_TEXTS) -> list[str]:
    """n texts, as many of each source, shuffled."""
    draw = random.Random(0)
    texts = [text for source in sources for text in draw.sample(source, n // len(sources))]
    draw.shuffle(texts)
    return texts


def padding_share(texts: Sequence[str], lengths: Sequence[int], size: int = PEERS_BATCH) -> float:
    """The share of padding in batches of `size` texts sorted by their characters, as the peer's
    are.
    """
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    cut = [
        [lengths[i] for i in order[start : start + size]] for start in range(0, len(order), size)
    ]
    return 1 - sum(lengths) / sum(len(batch) * max(batch) for batch in cut)


def products(model: Any, lengths: Sequence[int]) -> Work:
    """The linear layers alone, on as many rows as there are real tokens, batch by batch."""
    sizes = [sum(lengths[i] for i in batch) for batch in batches(lengths, BATCH_TOKENS)]
    layers = [part for part in model.stack.modules() if isinstance(part, nn.Linear)]
    rows = {width: torch.randn(max(sizes), width) for width in {x.in_features for x in layers}}

    def work() -> None:
        with torch.inference_mode():
            for size in sizes:
                for layer in layers:
                    layer(rows[layer.in_features][:size])

    return work


def encoders() -> tuple[Callable[[list[str]], Tensor], Callable[[list[str]], Tensor]]:
    """Texts to vectors: ours without padding, and sentence-transformers' with its own settings."""
    from sentence_transformers import SentenceTransformer
    from transformers import logging

    logging.set_verbosity_error()
    theirs = SentenceTransformer(str(minilm()), device="cpu")
    assert theirs.max_seq_length == MAX_LENGTH
    model, tokenizer = optimize(load(minilm())), minilm_tokenizer()
    return (
        lambda texts: sentence_vectors(
            model, tokenizer, texts, batch_tokens=BATCH_TOKENS, max_length=MAX_LENGTH
        ),
        lambda texts: theirs.encode(
            texts, batch_size=PEERS_BATCH, convert_to_tensor=True, show_progress_bar=False
        ),
    )


def gap(texts: list[str]) -> float:
    """The largest difference between our vectors and theirs."""
    ours, theirs = (encode(texts) for encode in encoders())
    return (ours - theirs).abs().max().item()


def lengths_of(texts: Sequence[str]) -> list[int]:
    tokenizer = minilm_tokenizer()
    return [min(MAX_LENGTH, 2 + len(tokenizer.encode(text))) for text in texts]


def without_padding(mix: str) -> list[Row]:
    name, sources = MIXES[mix]
    texts = drawn(sources())
    lengths = lengths_of(texts)
    apart = gap(texts)
    assert apart < 1e-5, f"{name}: the vectors differ by {apart}"
    ours, theirs = encoders()
    taken = in_pairs(lambda: ours(texts), lambda: theirs(texts), ROUNDS["texts"])
    bound = in_pairs(products(optimize(load(minilm())), lengths), lambda: ours(texts), 3)
    row: Row = {
        "name": "texts", "mix": name, "texts": len(texts), "tokens": sum(lengths),
        "longest": max(lengths), "padding_share": padding_share(texts, lengths),
        "ours_to_products": 1 / bound["ratio"], "apart": apart, "peer_batch": PEERS_BATCH,
        "peer": "sentence-transformers encode", **taken, "times_as_fast": 1 / taken["ratio"],
    }  # fmt: skip
    print(
        f"(c) {name}: {len(texts)} texts, {sum(lengths)} tokens, {min(lengths)} to {max(lengths)} "
        f"each; ours {taken['ours_s']:.2f} s, encode {taken['peer_s']:.2f} s: "
        f"{1 / taken['ratio']:.2f} times as fast ({1 / taken['ratio_greatest']:.2f} to "
        f"{1 / taken['ratio_least']:.2f}; at least 1.25, aim 1.5)\n"
        f"    padding in its batches {row['padding_share']:.1%}; ours takes "
        f"{row['ours_to_products']:.2f} times the bound, its linear layers alone; the vectors "
        f"differ by {apart:.1e}",
        flush=True,
    )
    return [row]


PARTS: dict[str, Callable[[], list[Row]]] = {
    **{
        f"step {B}x{T} dropout {p}": partial(training_step, B, T, p)
        for B, T in SHAPES for p in (0.0, 0.1)
    },
    "inference": inferences,
    **{mix: partial(without_padding, mix) for mix in MIXES},
}  # fmt: skip


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    torch.manual_seed(0)
    wanted = sys.argv[1:] or list(PARTS)
    file = RESULTS / "bert.json"
    kept: Row = json.loads(file.read_text()) if file.is_file() else {"parts": {}}
    for part in wanted:
        kept["parts"][part] = PARTS[part]()
    kept |= {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    file.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
