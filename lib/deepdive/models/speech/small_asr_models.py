"""Three recognizers, small enough for 42 minutes of speech, whose convolutions take cepstra.

wav2vec 2.0, HuBERT: one encoder (`ctc_encoder`) with CTC (`ctc_model`); they differ in pretraining.
Speech2Text: a character decoder, with an auxiliary CTC head (`seq2seq_model`).
Conformer blocks with CTC (`conformer_ctc`): not one of the three, but a later architecture.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from deepdive.core import LayerNorm, Position, PreNorm
from deepdive.core.checks import positive
from deepdive.core.stack import Stack
from deepdive.layers.speech_frontend import ChannelNorm, layer_norms
from deepdive.models.speech import conformer, speech2text, speech2text2, wav2vec2
from deepdive.models.speech.asr_heads import CTCModel, Seq2SeqASR
from deepdive.models.speech.conformer import ConformerBlock, ConformerConfig
from deepdive.models.speech.speech_encoder import SpeechEncoder, SpeechFrontend
from deepdive.models.speech.wav2vec2 import Wav2Vec2
from deepdive.models.speech.wav2vec2_config import SoundConfig
from deepdive.tokenizers import BOS, EOS, PAD

FEATURES = 39  # 13 cepstra, their deltas, and the deltas of these
LISTENER = wav2vec2.LARGE.but(
    channels=FEATURES, widths=(192, 144), kernels=(5, 5), strides=(2, 2), norms=layer_norms,
    residual=PreNorm, place_width=16, place_groups=8, d_model=144, n_heads=4, n_layers=6, d_ff=576,
    codes=64, d_code=32, d_target=64, n_negatives=30,
)  # fmt: skip


def ctc_encoder(config: SoundConfig = LISTENER) -> Wav2Vec2:
    """Return wav2vec 2.0 over cepstra, with PyTorch's initialization: with BERT's deviation of 0.02
    so narrow an encoder took longer to stop predicting only blanks, in the one trial we made.
    """
    encoder = wav2vec2.wav2vec2(config)
    for part in encoder.modules():
        if isinstance(part, nn.Linear):
            part.reset_parameters()
    return encoder


def ctc_model(n_letters: int, encoder: Wav2Vec2 | None = None) -> CTCModel:
    """Return a CTC recognizer on a given encoder, or on a new one."""
    encoder = ctc_encoder() if encoder is None else encoder
    return CTCModel(SpeechFrontend(encoder), encoder.config.d_model, n_letters)


class SteadyBlock(ConformerBlock):
    """A Conformer block whose convolution module normalizes each frame separately, without the
    final norm: with batches of 30 utterances the published form is slower to start learning.
    """

    def __init__(self, config: ConformerConfig) -> None:
        super().__init__(config)
        conv: Any = self.conv
        conv.norm = ChannelNorm(config.d_model)
        self.norm: Any = nn.Identity()


def conformer_ctc(n_letters: int, d_model: int = 144, n_layers: int = 4) -> CTCModel:
    """Return a CTC recognizer with `n_layers` Conformer blocks."""
    config = conformer.SMALL.but(
        n_features=FEATURES, d_model=d_model, d_ff=2 * d_model, kernel=15, width=2 * d_model,
        attention_dropout=0.1, ff_dropout=0.1,
    )  # fmt: skip
    stack = Stack(lambda _: SteadyBlock(config), n_layers, LayerNorm(d_model))
    encoder = SpeechEncoder(config.front(config), Position(), stack, dropout=config.dropout)
    return CTCModel(encoder, d_model, n_letters)


def seq2seq_model(
    n_letters: int, encoder: Wav2Vec2 | None = None, d_model: int = 144
) -> Seq2SeqASR:
    """Return a Speech2Text that decodes characters; given an `encoder`, a Speech2Text2 on it."""
    positive(n_letters=n_letters, d_model=d_model)
    tokens: Any = {"pad": PAD, "start": BOS, "end": EOS}
    small: Any = {"d_model": d_model, "n_decoder_layers": 2, "d_decoder_ff": 4 * d_model}
    if encoder is not None:
        config = speech2text2.BASE.but(src_vocab=n_letters, **tokens, **small)
        width = encoder.config.d_model
        model = speech2text2.speech2text2(encoder, width, config)
    else:
        model = speech2text.speech2text(
            n_features=FEATURES, vocab_size=n_letters, n_layers=6, d_ff=4 * d_model,
            width=2 * d_model, attention_dropout=0.1, **tokens, **small,
        )  # fmt: skip
    return Seq2SeqASR(model, d_model, n_letters)
