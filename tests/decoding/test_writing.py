"""A writer with CTC beside: its loss by hand, its transcripts, an encoder of another kind."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from deepdive.data.speech import Utterances
from deepdive.decoding.ctc import greedy
from deepdive.models.speech import speech2text, wav2vec2
from deepdive.models.speech.asr_heads import Seq2SeqASR
from deepdive.models.speech.speech2text2 import TINY as TINY2
from deepdive.models.speech.speech2text2 import speech2text2
from deepdive.tokenizers import BOS, EOS, PAD, CharTokenizer
from deepdive.training import fit
from deepdive.training.objectives.ctc import ctc_loss
from deepdive.training.optim import adam
from deepdive_book.tasks.seq2seq_asr import loss
from deepdive_book.tasks.speech import SpeechBatches
from deepdive_book.tasks.transcripts import said_beside, written

WORDS = ("AB", "B", "A B", "BA", "ABAB", "B A")
TOKENS = CharTokenizer.train(WORDS)
SHAPES = {"A": np.eye(4)[0], "B": np.eye(4)[1], " ": np.eye(4)[2]}


def spoken() -> Utterances:
    draw = np.random.default_rng(0)
    rows = [np.repeat([SHAPES[c] for c in word], 8, 0) for word in WORDS]
    rows = [(row + 0.01 * draw.normal(size=row.shape)).astype(np.float32) for row in rows]
    return Utterances(tuple(rows), WORDS, WORDS, WORDS)


def own() -> Seq2SeqASR:
    torch.manual_seed(0)
    config = speech2text.TINY.but(
        n_features=12, vocab_size=len(TOKENS), pad=PAD, start=BOS, end=EOS, kernels=(5,)
    )
    return Seq2SeqASR(speech2text.speech2text(config), 32, len(TOKENS))


def another() -> Seq2SeqASR:
    torch.manual_seed(0)
    config = wav2vec2.TINY.but(
        channels=12, kernels=(3, 3), strides=(2, 1), norms=wav2vec2.layer_norms
    )
    encoder = wav2vec2.wav2vec2(config)
    words = TINY2.but(src_vocab=len(TOKENS), pad=PAD, start=BOS, end=EOS)
    return Seq2SeqASR(speech2text2(encoder, 32, words), 32, len(TOKENS))


@pytest.mark.parametrize("make", [own, another])
def test_the_loss_is_what_the_equation_says(make: object) -> None:
    assert callable(make)
    model: nn.Module = make().double().eval()
    features, mask, letters, counts = next(iter(SpeechBatches(spoken(), TOKENS, 999)))
    batch = features.double(), mask, letters, counts
    logits, scored, real = model(*batch[:3])
    each = []
    for b, n in enumerate(counts.tolist()):
        said = [*letters[b, :n].tolist(), EOS]
        log_p = logits[b].log_softmax(-1)
        right = torch.stack([log_p[t, letter] for t, letter in enumerate(said)])
        each.append(-(0.9 * right + 0.1 * log_p[: len(said)].mean(-1)).sum())
    beside = ctc_loss(scored, real.sum(1), letters, counts).mean()
    expected = 0.7 * torch.stack(each).mean() + 0.3 * beside
    torch.testing.assert_close(loss()(model, batch), expected)


@pytest.mark.parametrize("make", [own, another])
def test_it_learns_to_write(make: object) -> None:
    assert callable(make)
    model = make()
    batches = SpeechBatches(spoken(), TOKENS, 999)
    fit(model, batches, loss(), steps=150, optimizer=adam(model, lr=3e-3), progress=False)
    assert written(model, spoken(), TOKENS) == list(WORDS)
    found = said_beside(model, spoken(), TOKENS, size=2)
    for utterance, said in enumerate(found):
        (batch,) = SpeechBatches(spoken().only([utterance]), TOKENS, 999)
        _, scored, real = model.eval()(*batch[:3])
        (path,) = greedy(scored, real.sum(1))
        assert TOKENS.decode(path) == said
    assert "".join(found), "CTC has learned some of it"


def test_letters_under_padding_do_not_count() -> None:
    model = own().eval()
    features, mask, letters, counts = next(iter(SpeechBatches(spoken(), TOKENS, 999)))
    wide = F.pad(letters, (0, 3), value=PAD)
    one, other = (loss()(model, (features, mask, x, counts)) for x in (letters, wide))
    torch.testing.assert_close(one, other)
