"""wav2vec 2.0 against transformers in float64: base and large form, padding, gaps, both losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from parity_sound import BASE, CODES, LARGE, REAL, SETTINGS, STILL, gaps, unrounded, waves
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC, Wav2Vec2ForPreTraining, Wav2Vec2Model

from deepdive.core.residual import PostNorm, PreNorm
from deepdive.layers.heads import TokenClassificationHead
from deepdive.layers.quantizer import Quantizer
from deepdive.layers.speech_frontend import ChannelNorm, ConvPositionalEmbedding, FeatureEncoder
from deepdive.models.speech import wav2vec2
from deepdive.models.speech.embeddings import SoundEmbeddings
from deepdive.models.speech.wav2vec2_pretraining import Wav2Vec2ForPreTraining as CodeFinder
from deepdive.published import family, from_config, load
from deepdive.training.objectives import (
    codebook_perplexity,
    contrastive_loss,
    diversity_loss,
    hidden_spans,
    sample_negatives,
)

NAMES = family("wav2vec2")


def encoder_agrees(form: dict[str, Any]) -> None:
    """With padding and gaps, and without either."""
    theirs = reference(Wav2Vec2Model, Wav2Vec2Config, **SETTINGS, **form)
    ours: Any = saved_and_loaded(theirs, load)
    sound, hidden = waves(), gaps()
    expected = theirs(sound, attention_mask=REAL.long(), mask_time_indices=hidden)
    real, names = ours.real(REAL), NAMES.table(config=ours.config)
    assert real.sum(1).tolist() == [11, 8, 4]
    output, wanted = ours(sound, REAL, hidden), expected.last_hidden_state
    assert torch.equal(real, theirs._get_feature_vector_attention_mask(11, REAL.long()))
    alike(ours, theirs, output[real], wanted[real], [names], inputs=[(sound, sound)])
    equal(ours(sound), theirs(sound).last_hidden_state)
    equal(ours.embeddings.heard(sound), theirs(sound).extract_features)


@parity(wav2vec2.Wav2Vec2, FeatureEncoder, ChannelNorm, ConvPositionalEmbedding, SoundEmbeddings)
def both_forms_agree() -> None:
    encoder_agrees(BASE)
    encoder_agrees(LARGE)


def losses_agree(form: dict[str, Any], training: bool) -> None:
    """Both losses and their gradients; in training with the same Gumbel noise."""
    theirs: Any = reference(Wav2Vec2ForPreTraining, Wav2Vec2Config,
                            **SETTINGS, **CODES, **STILL, **form)  # fmt: skip
    ours: Any = saved_and_loaded(theirs, lambda folder: load(folder, "pretraining"))
    ours.train(training), theirs.train(training)
    ours.quantizer.temperature = theirs.quantizer.temperature = 0.7
    sound, hidden = waves().detach(), gaps()
    wrong = sample_negatives(hidden, 4, torch.Generator().manual_seed(1))
    flat = wrong + torch.arange(3)[:, None, None] * 11
    with unrounded():
        torch.manual_seed(5)
        expected = theirs(sound, attention_mask=REAL.long(), mask_time_indices=hidden,
                          sampled_negative_indices=flat)  # fmt: skip
    torch.manual_seed(5)
    said, target, usage = ours(sound, hidden, REAL)
    equal(target, expected.projected_quantized_states)
    losses = [contrastive_loss(said, target, hidden, wrong, 0.3), diversity_loss(usage, hidden)]
    wanted = torch.stack([expected.contrastive_loss, expected.diversity_loss]) / hidden.sum()
    equal(codebook_perplexity(usage, hidden).sum(), expected.codevector_perplexity)
    names = NAMES.table("pretraining", ours.encoder.config)
    if training:
        alike(ours, theirs, torch.stack(losses), wanted, [names])
    else:
        equal(torch.stack(losses), wanted)


@parity(CodeFinder, Quantizer)
def pretraining_agrees() -> None:
    for form in (BASE, LARGE):
        for training in (True, False):
            losses_agree(form, training)


def test_the_head_for_letters_agrees() -> None:
    theirs = reference(Wav2Vec2ForCTC, Wav2Vec2Config, **SETTINGS, **LARGE)
    ours: Any = saved_and_loaded(theirs, lambda folder: load(folder, "ctc"))
    assert isinstance(ours, TokenClassificationHead)
    ours.encoder.embeddings.mask.requires_grad_(False)
    sound, real = waves(), ours.encoder.real(REAL)
    output, expected = ours(sound, REAL), theirs(sound, attention_mask=REAL.long()).logits
    equal(output[real], expected[real])
    direction = torch.randn(7, dtype=torch.float64)
    (output[real] @ direction).sum().backward()
    (expected[real] @ direction).sum().backward()
    equal(ours.out.weight.grad, theirs.lm_head.weight.grad, 1e-8)
    first = ours.encoder.embeddings.features.convolutions[0].weight.grad
    equal(first, theirs.wav2vec2.feature_extractor.conv_layers[0].conv.weight.grad, 1e-8)


def test_published_sizes() -> None:
    """Baevski et al. 2020, section 4.2: 95 and 317 million, with codebooks and both matrices."""
    for config, published, millions in (
        (wav2vec2.BASE, {}, 95.04),
        (wav2vec2.LARGE, {"hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24,
                          "intermediate_size": 4096, "codevector_dim": 768,
                          "proj_codevector_dim": 768, **LARGE}, 317.4),
    ):  # fmt: skip
        with torch.device("meta"):
            ours = CodeFinder(wav2vec2.wav2vec2(config))
            theirs = Wav2Vec2ForPreTraining(Wav2Vec2Config(**published))
        number = sum(p.numel() for p in ours.parameters())
        assert number == theirs.num_parameters()
        assert abs(number / 1e6 - millions) < 0.05


def test_spans_are_hidden() -> None:
    """0.065 and 10 hide 49 % of a long recording; no span leaves its recording."""
    draw = torch.Generator().manual_seed(0)
    real = torch.ones(20, 1500, dtype=torch.bool)
    assert abs(hidden_spans(real, draw=draw).float().mean().item() - 0.49) < 0.01
    real = torch.arange(40) < torch.tensor([40, 23, 10])[:, None]
    for _ in range(20):
        hidden = hidden_spans(real, 0.1, 10, draw)
        assert not (hidden & ~real).any()
        assert (hidden.sum(1) >= 10).all()
    assert torch.equal(hidden_spans(real[2:], 0.065, 10, draw), real[2:])
    for share, span in ((0.0, 10), (0.1, 11), (1.5, 2), (0.1, 0)):
        with pytest.raises(ValueError, match="a span must fit"):
            hidden_spans(real, share, span)


def test_wrong_places_are_other_hidden_rows() -> None:
    """Each as often as any other, never the row itself."""
    hidden = gaps()
    wrong = sample_negatives(hidden, 4000, torch.Generator().manual_seed(0))
    for b, t in hidden.nonzero().tolist():
        others = [s for s in hidden[b].nonzero()[:, 0].tolist() if s != t]
        share = torch.bincount(wrong[b, t], minlength=11) / 4000
        assert torch.allclose(share[others], torch.tensor(1 / len(others)), atol=0.04)
        assert share[others].sum() == 1
    hidden[0] = torch.arange(11) == 3
    with pytest.raises(ValueError, match="one masked frame"):
        sample_negatives(hidden, 2)


def test_the_contrastive_loss_by_hand() -> None:
    """Cosines 1, 0 and -1 at temperature 1; a wrong code that is the right one is left out."""
    said = torch.tensor([[[2.0, 0.0]] * 4])
    target = torch.tensor([[[3.0, 0.0], [0.0, 5.0], [-1.0, 0.0], [3.0, 0.0]]])
    hidden, wrong = torch.tensor([[True, False, False, False]]), torch.zeros(1, 4, 3).long()
    wrong[0, 0] = torch.tensor([1, 2, 3])
    e = torch.tensor(1.0).exp()
    expected = -(e / (e + 1 + 1 / e)).log()
    assert torch.allclose(contrastive_loss(said, target, hidden, wrong, 1.0), expected)
    with pytest.raises(ValueError, match="no frame is masked"):
        contrastive_loss(said, target, hidden & False, wrong)


def test_the_diversity_loss_by_hand() -> None:
    """All entries alike: 0; one of four: 3/4; two of four in one of two codebooks: 1/4."""
    even, one = torch.full((1, 3, 1, 4), 0.25), torch.eye(4)[[1, 1, 1]][None, :, None]
    assert diversity_loss(even).item() == pytest.approx(0)
    assert diversity_loss(one).item() == pytest.approx(0.75)
    half = torch.tensor([0.5, 0.5, 0, 0]).expand(1, 3, 1, 4)
    assert diversity_loss(torch.cat([even, half], 2)).item() == pytest.approx(0.25)
    assert codebook_perplexity(half).item() == pytest.approx(2)


def test_cepstra_in_the_place_of_a_waveform() -> None:
    """The record's numbers alone: 13 numbers a step, two convolutions, a row every 40 ms."""
    torch.manual_seed(0)
    model = wav2vec2.wav2vec2(wav2vec2.TINY, channels=13, kernels=(3, 3), strides=(2, 2))
    model.eval()
    frames = torch.randn(2, 50, 13)
    assert model(frames).shape == (2, model.embeddings.features.rows(50), 32) == (2, 11, 32)
    assert model.embeddings.features.reach == 7
    short, mask = frames.clone(), torch.arange(50) < torch.tensor([50, 31])[:, None]
    short[1, 31:] = 9
    large = wav2vec2.wav2vec2(
        wav2vec2.LARGE.but(**{name: getattr(model.config, name) for name in
                              ("channels", "kernels", "strides", "widths", "d_model", "n_heads",
                               "n_layers", "d_ff", "place_width", "place_groups")})
    ).eval()  # fmt: skip
    assert torch.allclose(large(short, mask)[1, :7], large(frames[1:, :31])[0], atol=1e-5)


def test_it_learns_to_find_codes() -> None:
    """Tones of four pitches in a row: after some steps the right code is found more often."""
    torch.manual_seed(0)
    model = CodeFinder(wav2vec2.wav2vec2(wav2vec2.TINY)).train()
    pitch = torch.randint(1, 5, (16, 12)).repeat_interleave(64, 1)
    sound = (torch.arange(768) * pitch * 0.1).sin()
    draw, losses = torch.Generator().manual_seed(0), []
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(120):
        hidden = hidden_spans(torch.ones(16, 48, dtype=torch.bool), 0.15, 2, draw)
        said, target, usage = model(sound, hidden)
        wrong = sample_negatives(hidden, 5, draw)
        losses.append(contrastive_loss(said, target, hidden, wrong, 0.1))
        (losses[-1] + 0.1 * diversity_loss(usage, hidden)).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])


def test_what_cannot_be_is_refused() -> None:
    model, sound = wav2vec2.wav2vec2(wav2vec2.TINY), torch.zeros(2, 64)
    for call, message in (
        (lambda: model(sound[:, :9]), "sound: got 9 samples, expected at least 16"),
        (lambda: model(sound[..., None].expand(-1, -1, 2)), r"expected \(B, n\) or \(B, n, 1\)"),
        (lambda: model(sound, hidden=torch.zeros(2, 9).bool()), r"hidden: got \(2, 9\)"),
        (lambda: wav2vec2.TINY.but(strides=(2,)), "got 2, 2 and 1"),
        (lambda: wav2vec2.wav2vec2(wav2vec2.TINY, place_groups=3), "place_groups=3"),
        (lambda: Quantizer(8, 3, 4, 8), "codebooks=3 does not divide d_code=8"),
        (lambda: wav2vec2.wav2vec2(wav2vec2.TINY, masked=False)(
            sound, hidden=torch.zeros(2, 4).bool()), "no mask embedding"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call()
    good = Wav2Vec2Config(**SETTINGS).to_dict()
    for changes, message in (
        ({"add_adapter": True}, "add_adapter=True"),
        ({"feat_extract_norm": "batch"}, "feat_extract_norm='batch'"),
        ({"hidden_act": "swoosh"}, "swoosh"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def test_a_file_without_a_row_for_gaps() -> None:
    """Fine-tuned files have none, whatever their config.json says."""
    theirs: Any = reference(Wav2Vec2ForCTC, Wav2Vec2Config, **SETTINGS, mask_time_prob=0.0)
    ours: Any = saved_and_loaded(theirs, lambda folder: load(folder, "ctc"))
    assert ours.encoder.embeddings.mask is None
    equal(ours(waves()), theirs(waves()).logits)


MUTATIONS: dict[str, tuple[Callable[..., None], tuple[Any, ...], str, Any]] = {
    "the kernel's length is not that of a distance": (
        encoder_agrees, (BASE,), "deepdive.layers.speech_frontend.ConvPositionalEmbedding.forward",
        lambda self, rows: self.activation(F.conv1d(
            F.pad(rows.transpose(1, 2), (3, 2)), self.direction * self.gain, self.bias,
            groups=self.groups)).transpose(1, 2)),
    "padding at the other end of an even kernel": (
        encoder_agrees, (BASE,), "deepdive.layers.speech_frontend.F.pad",
        lambda x, pads, PAD=F.pad: PAD(x, pads[::-1])),
    "padded rows are not emptied before places are told": (
        encoder_agrees, (LARGE,), "deepdive.models.speech.embeddings.SoundEmbeddings.forward",
        lambda self, heard, real=None, hidden=None, KEPT=SoundEmbeddings.forward:
            KEPT(self, heard, None, hidden)),
    "a row that padding touches counts as real": (
        encoder_agrees, (BASE,), "deepdive.layers.speech_frontend.FeatureEncoder.real",
        lambda self, steps: steps[:, ::16][:, :11]),
    "norms inside the branches of the base form": (
        encoder_agrees, (BASE,), "deepdive.core.residual.PostNorm.forward", PreNorm.forward),
    "norms behind the sums of the large form": (
        encoder_agrees, (LARGE,), "deepdive.core.residual.PreNorm.forward", PostNorm.forward),
    "the softmax forwards too": (
        losses_agree, (BASE, True), "deepdive.layers.quantizer.Quantizer.entries",
        lambda self, taken, KEPT=Quantizer.entries: KEPT(self, taken * 0.9)),
    "usage of all rows": (
        losses_agree, (BASE, True),
        "deepdive.training.objectives.wav2vec2_contrastive.codebook_perplexity",
        lambda usage, hidden=None, KEPT=codebook_perplexity: KEPT(usage)),
    "a wrong place like the right one counts": (
        losses_agree, (BASE, False), "torch.Tensor.masked_fill", lambda self, *_: self),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    both_forms_agree()
    pretraining_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, given, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof(*given)
