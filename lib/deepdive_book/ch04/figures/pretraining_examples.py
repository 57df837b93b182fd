"""What each sequence-to-sequence pretraining objective makes of two English sentences: encoder
input, decoder input, and targets, for the interactive figure of page 4.5.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from deepdive.training import objectives
from deepdive.training.objectives import infill, language_prefix, split_masked_span
from deepdive_book.ch04.figures.cross_lingual_masks import Example

EN = ["She", "drinks", "milk", "He", "sleeps"]  # two sentences, without their periods
FR = ["Elle", "boit", "du", "lait", "Il", "dort"]
SPECIALS = ["[PAD]", None, "</s>", "<en>", "<fr>", "<X2>", "<X1>", "<X0>"]  # None: the mask
WORDS = [*SPECIALS, *dict.fromkeys(EN + FR)]
PAD, MASK, END, ENGLISH, FRENCH, SENTINEL = 0, 1, 2, 3, 4, 7
SEED = 500  # of mBART's corruption: the sentences change places, one span of two tokens is masked
Parts = tuple[list[int], list[int], list[int]]  # encoder input, decoder input, targets


def ids(words: Sequence[str]) -> list[int]:
    """Return the ids of words."""
    return [WORDS.index(word) for word in words]


def row(tokens: Sequence[int]) -> Tensor:
    """Return one sequence as a batch (1, T)."""
    return torch.tensor([tokens])


def reconstruct(tokens: list[int], language: int) -> tuple[list[int], list[int]]:
    """Return the decoder's input and targets to generate these tokens in a language."""
    targets = row([*tokens, END])
    return language_prefix(targets, torch.tensor([language]))[0].tolist(), targets[0].tolist()


def parts() -> dict[str, Parts]:
    """Return encoder input, decoder input, and targets of each objective with a decoder."""
    en, fr = ids(EN), ids(FR)
    span = torch.tensor([[False, True, True, False, False]])  # half of the text, rounded
    source, inputs, targets = (x[0].tolist() for x in split_masked_span(row(en), span, MASK))
    draws = random.Random(SEED)
    permuted = objectives.permute_sentences([en[:3], en[3:]], draws)
    infilled = infill(permuted, MASK, 0.35, draws, 3.5)
    spans = torch.tensor([[False, True, True, False, True]])
    t5 = [x[0].tolist() for x in objectives.corrupt_spans(row(en), spans, SENTINEL)]
    shuffled = objectives.corrupt(en, MASK, random.Random(9))
    return {
        "MASS": (source, inputs, targets),
        "mBART": ([*infilled, END, ENGLISH], *reconstruct(en, ENGLISH)),
        "mT5": (t5[0], [PAD, *t5[1][:-1]], t5[1]),
        "XNLG, denoising": (shuffled, *reconstruct(en, ENGLISH)),
        "XNLG, translation": (en, *reconstruct(fr, FRENCH)),
    }


NOTES = {
    "MASS": "Two of the five tokens are masked in the encoder's input (upper line). The decoder "
    "predicts them, and its input (lower line) shows only the first of them.",
    "mBART": "Sentences are permuted, and each sampled span is replaced by one mask. The decoder "
    "predicts the entire text. Its first input is the language token.",
    "mT5": "Each masked span is replaced by its own sentinel token. The decoder predicts the "
    "sentinels with their spans and nothing else. It has no language token.",
    "XNLG, denoising": "In XNLG's second stage words are moved, dropped, and masked; the decoder "
    "predicts the sentence. The encoder, pretrained before, stays frozen.",
    "XNLG, translation": "In the same stage XNLG trains on parallel sentences: the encoder reads a "
    "sentence, and the decoder predicts its translation.",
}


def _example(name: str, three: Parts) -> Example:
    source, inputs, targets = three
    n, m = len(source), len(inputs)
    visible = [[s < n or (t >= n and s <= t) for s in range(n + m)] for t in range(n + m)]
    visible = [[v and (t >= n or s < n) for s, v in enumerate(of)] for t, of in enumerate(visible)]
    asked = {n + i: str(WORDS[token]) for i, token in enumerate(targets) if token != PAD}
    french = name == "XNLG, translation"
    words = [WORDS[token] for token in (*source, *inputs)]
    foreign = [False] * n + [french] * m
    return Example(name, words, [0] * n + [1] * m, visible, asked, NOTES[name], foreign)


def examples() -> list[Example]:
    """Return the objectives as the interactive figure shows them; the last two are VECO's."""
    pair, lines = EN + FR, [0] * len(EN) + [1] * len(FR)
    masked = {2: "milk", 10: "dort"}
    words = [None if t in masked else word for t, word in enumerate(pair)]
    own = [[a == b for b in lines] for a in lines]
    every = [[True] * len(pair) for _ in pair]
    return [
        *(_example(name, three) for name, three in parts().items()),
        Example("VECO, monolingual", words, lines, own, masked, "Masked tokens are predicted from "
                "their own sentence, as in BERT. There is no decoder."),
        Example("VECO, cross-lingual", words, lines, every, masked, "Each masked token is "
                "predicted again, now with cross-attention to the other sentence. With a causal "
                "mask these same layers later become a decoder."),
    ]  # fmt: skip
