"""A small one of each built system, with random weights: what `compare` puts side by side, and what
the laws are tried on.

An example makes the module and calls it as the model around it would; what it reads are rows 16
wide, or tokens where it names a vocabulary.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive import attention, positions
from deepdive.core import (
    FeedForward,
    GatedFeedForward,
    MultiHeadAttention,
    ReZero,
    SandwichNorm,
    SoftmaxAttention,
    gelu,
)
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import Causal
from deepdive.layers import SparseExperts, TopKRouter
from deepdive.layers.heads import MultipleChoiceHead
from deepdive.layers.patches import unpatchify
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from deepdive.models.bert import (
    albert,
    bert,
    convbert,
    deberta,
    deberta_v2,
    deebert,
    distilbert,
    electra,
    ibert,
    luke,
    mask_decoder,
    mpnet,
    realm,
    roberta,
    splinter,
    tabert,
    whitening,
    xlnet,
)
from deepdive.models.bert.pretraining import ElectraDiscriminator, for_masked_lm, for_pretraining
from deepdive.models.classic import boltzmann, elmo, hopfield, lenet, mlp, word2vec
from deepdive.models.efficient import (
    all_attention,
    bigbird,
    compressive,
    conditional_computation,
    delight,
    fnet,
    funnel,
    hi_transformer,
    hibert,
    informer,
    led,
    lite_transformer,
    longformer,
    luna,
    memformer,
    nystromformer,
    perceiver,
    r_transformer,
    reformer,
    set_transformer,
    transformer_xl,
    transformer_xl_lm,
    universal,
)
from deepdive.models.generative import (
    bart,
    byt5,
    ctrl,
    gpt,
    gpt2,
    gpt3,
    gpt_neo,
    llama,
    mbart,
    megatron,
    pegasus,
    plbart,
    prophetnet,
    rag,
    switch,
    t5,
)
from deepdive.models.multilingual import (
    canine,
    ernie_m,
    labse,
    mbert,
    multilingual_transformer,
    muse,
    rembert,
    unicoder,
    xlm,
    xlmr,
)
from deepdive.models.seq2seq import attention_seq2seq, gnmt, seq2seq
from deepdive.models.speech import (
    conformer,
    data2vec_audio,
    hubert,
    speech2text,
    speech2text2,
    wav2vec2,
    whisper,
)
from deepdive.models.transformer import (
    darts,
    fsmt,
    macaron,
    realformer,
    sandwich,
    transformer,
    transparent,
)
from deepdive.models.vision import (
    data2vec,
    deit,
    detr,
    mae,
    segformer,
    swin,
    timesformer,
    video_action,
    vit,
)
from deepdive.models.vision.sagan import MapAttention
from deepdive.recurrent import GRU, LSTM, RNN, Bidirectional, stacked
from deepdive.recurrent.grid import GridLSTM

Make = Callable[[], nn.Module]


@dataclass(frozen=True)
class Example:
    """How one is made and called: `call(module, x)`; tokens x below `vocab`, or rows (None)."""

    make: Make
    call: Callable[[Any, Tensor], Tensor] = lambda module, x: module(x)
    vocab: int | None = None
    width: int = 16

    def input(self, B: int = 2, T: int = 6, seed: int = 0) -> Tensor:
        """Return random rows (B, T, width), or tokens (B, T) where it reads tokens."""
        generator = torch.Generator().manual_seed(seed)
        if self.vocab is not None:
            return torch.randint(4, self.vocab, (B, T), generator=generator)
        return torch.randn(B, T, self.width, generator=generator)


def _in_heads(module: Any, x: Tensor) -> Tensor:
    """Call a mechanism on rows (B, T, 16) as four heads (B, 4, T, 4)."""
    heads = x.unflatten(-1, (4, 4)).transpose(1, 2)
    return module(heads, heads, heads).transpose(1, 2).flatten(2)


def _of_pairs(source: list[list[int]]) -> Callable[[Any, Tensor], Tensor]:
    """Call an encoder-decoder on a fixed source, with x as its target."""
    return lambda model, x: model(torch.tensor(source)[: x.shape[0]], x)


def _in_segments(model: Any, x: Tensor) -> Tensor:
    """Call a model with memory on two tokens at a time."""
    memory = model.begin()
    return torch.cat([model(part, memory=memory) for part in x.split(2, 1)], 1)


def _after_segments(model: Any, x: Tensor) -> Tensor:
    """Call a Memformer on two segments, with x as the target after the second."""
    first, second = torch.tensor([[5, 9, 7, 4], [8, 6, 11, 10]]).expand(len(x), -1, -1).unbind(1)
    state = model.begin(second, slots=model.begin(first).slots)
    return model.head(model.decode(x, state))


def _in_sentences(model: Any, x: Tensor) -> Tensor:
    """Call an encoder of documents: each token of x is a sentence, followed by an end token."""
    return model(torch.stack((x, torch.full_like(x, 2)), -1))


def _in_languages(model: Any, x: Tensor) -> Tensor:
    """Write x in the language of token 5, from a fixed text in that of token 4."""
    source = torch.tensor([[4, 9, 7, 8]]).expand(len(x), -1)
    first = torch.full_like(x[:, :1], 5)
    return model(source, torch.cat((first, x), dim=1))[:, 1:]


def _structural(layer: Any, x: Tensor) -> Tensor:
    """Call attention on rows of one chain: each token's head is the one before it."""
    heads = torch.tensor([1, 2, 3, 3, 3, 4, 5, 6])[: x.shape[1]]
    return layer(layer.position.embed(x, heads), positions=heads)


def _frames(model: Any, x: Tensor) -> Tensor:
    """Call a reader of films on rows (B, T, 16): T frames of one patch of 4 x 4 grey pixels."""
    return model(x.unflatten(-1, (1, 4, 4)))[:, model.config.n_special :]


def _boxes(model: Any, x: Tensor) -> Tensor:
    """Call what asks for boxes on a film of T frames of one place, a box for each frame."""
    box = torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=x.dtype)
    return model(x[:, :, None, None], box.expand(*x.shape[:2], 4))


def _named(model: Any, x: Tensor) -> Tensor:
    """Call LUKE with two entities, the first and the second word; their mean joins each word."""
    words, entities = torch.arange(x.shape[1]), x[:, :2] % model.config.n_entities
    mentions = (words == torch.arange(2)[:, None]).expand(len(x), -1, -1)
    states = model.joint(x, entities, mentions)
    return states[:, : x.shape[1]] + states[:, x.shape[1] :].mean(1, keepdim=True)


def _spoken(model: Any, x: Tensor) -> Tensor:
    """Call a reader of sound on rows (B, T, 16): a waveform of which 16 steps make a row."""
    return model(x.flatten(1))


def _in_patches(model: Any, x: Tensor) -> Tensor:
    """Call a reader of images on rows (B, T, 16): a line of T patches of 4 x 4 grey pixels."""
    return model(unpatchify(x, 4, 4, 4 * x.shape[1]))[:, model.config.n_special :]


def _in_a_square(model: Any, x: Tensor) -> Tensor:
    """Call a reader of square images of 16 patches on T of them; the last one fills the rest."""
    rows = torch.cat([x, x[:, -1:].expand(-1, 16, -1)], 1)[:, :16]
    return model(unpatchify(rows, 4, 16, 16))[:, 1 : 1 + x.shape[1]]


def _of_squares(model: Any, x: Tensor) -> Tensor:
    """Call a DETR on an image of 8 x 8 squares; the mean of its queries stands for each square."""
    found = torch.cat(list(model(unpatchify(x, 8, 8, 8 * x.shape[1]))), -1)
    return found.mean(1, keepdim=True).expand(-1, x.shape[1], -1)


def _listening(shape: tuple[int, ...]) -> Callable[[Any, Tensor], Tensor]:
    """Call a model that writes on the text so far; what it hears is one sound of this shape."""

    def call(model: Any, x: Tensor) -> Tensor:
        sound = torch.sin(torch.arange(math.prod(shape)) ** 1.5).view(1, *shape)
        like = next(model.parameters())
        return model(sound.to(like.device, like.dtype).expand(len(x), *shape), x)

    return call


FRAMES = _listening((24, 8))


def _behind_wav2vec2() -> nn.Module:
    return speech2text2.speech2text2(
        wav2vec2.wav2vec2(wav2vec2.TINY, d_model=16), 16, speech2text2.TINY
    )


def _stored(rows: int) -> Tensor:
    """Return rows 16 wide, the same at each call."""
    generator = torch.Generator().manual_seed(5)
    return torch.randn(rows, 16, generator=generator, dtype=torch.float64).float()


def _reversible() -> ReversibleStack:
    return ReversibleStack(
        lambda _layer: ReversibleBlock(MultiHeadAttention(16, 4), FeedForward(16, 32)), 3
    )


def _linformer() -> attention.LinformerAttention:
    return attention.LinformerAttention(*(attention.LengthProjection(4, 8, 3) for _ in range(2)))


def _of_image(model: Any, x: Tensor) -> Tensor:
    """Call a reader of images on 16 x 16 pixels made of four rows (B, T, 16), a square each."""
    return model(unpatchify(x[:, :4], 4, 4, 16).repeat(1, 1, 4, 1))


def _mechanism(make: Make) -> Example:
    return Example(make, _in_heads)


def _position(make: Make) -> Example:
    return Example(make, lambda scheme, x: scheme.embed(x, torch.arange(x.shape[1])))


def _tokens(make: Make, vocab: int = 32) -> Example:
    return Example(make, vocab=vocab)


QUESTIONS = torch.tensor([[4, 9, 7], [5, 6, 8], [11, 4, 5]])
DOCUMENTS = torch.tensor([[[5, 9, 7, 4], [8, 6, 11, 10]], [[7, 7, 5, 9], [4, 12, 6, 8]],
                          [[9, 5, 4, 6], [10, 4, 13, 5]]])  # fmt: skip


def _from_documents(model: Any, x: Tensor) -> Tensor:
    """RAG-Token's log p of the tokens after x, from two documents, whose vectors are fixed."""
    vectors = torch.linspace(-1, 1, 192).view(3, 2, 32)[: len(x)]
    vectors = vectors.to(model.generator.encoder.embedding.weight.dtype)
    scores = model.scores(QUESTIONS[: len(x)], vectors)
    log_p = model(DOCUMENTS[: len(x)], x).log_softmax(-1)
    return torch.logsumexp(log_p + scores.log_softmax(-1)[..., None, None], 1)


def _among_documents(model: Any, x: Tensor) -> Tensor:
    """REALM's log p of the tokens of x, from two documents that are made of it."""
    joint = torch.stack((x, (x + 3) % 28 + 4), 1)
    scores = model.relevance(x, joint).log_softmax(-1)
    return torch.logsumexp(model(joint).log_softmax(-1) + scores[..., None, None], 1)


SEQ2SEQ = _of_pairs([[7, 5, 9, 11], [4, 12, 6, 8]])
TRANSFORMER = _of_pairs([[5, 9, 7, 4], [8, 6, 11, 10]])

EXAMPLES: dict[str, Example] = {
    # before attention
    "mlp": Example(lambda: mlp.MLP((16, 12, 8, 5))),
    "lenet": Example(
        lenet.lenet, lambda net, x: net(x.reshape(-1, 8, 8)).view(*x.shape[:2], 10), width=64
    ),
    "hopfield": Example(lambda: hopfield.ModernHopfield(_stored(5), 0.7)),
    "dbn": Example(lambda: boltzmann.DBN((16, 8, 6))),
    "word2vec": Example(
        lambda: word2vec.SkipGram(32, 16),
        lambda model, x: model(x, torch.stack([x, (x + 1) % 32], dim=-1)),
        32,
    ),
    "word_embedding": _tokens(lambda: TokenEmbedding(20, 16, scale=4.0), 20),
    "rnn": Example(lambda: RNN(16, 12)),
    "lstm": Example(lambda: LSTM(16, 12)),
    "gru": Example(lambda: GRU(16, 12)),
    "stacked_lstm": Example(lambda: stacked(LSTM, 16, 12, 2)),
    "birnn": Example(lambda: Bidirectional(GRU(16, 12), GRU(16, 12))),
    "grid_lstm": Example(lambda: GridLSTM(16, 12, 2)),
    "elmo": _tokens(elmo.tiny),
    # sequence to sequence
    "seq2seq": Example(seq2seq.tiny, SEQ2SEQ, 32),
    "attention_seq2seq": Example(attention_seq2seq.tiny_rnnsearch, SEQ2SEQ, 32),
    "gnmt": Example(gnmt.tiny, SEQ2SEQ, 32),
    # attention
    "dot_attention": _mechanism(attention.DotAttention),
    "additive_attention": _mechanism(lambda: attention.AdditiveAttention(4)),
    "scaled_dot_attention": _mechanism(SoftmaxAttention),
    "flash_attention": _mechanism(lambda: attention.TiledAttention(4)),
    "self_attention": Example(lambda: MultiHeadAttention(16, 1)),
    "sagan": Example(
        lambda: MapAttention(16),
        lambda layer, x: layer(x.transpose(1, 2)[:, :, None]).flatten(2).transpose(1, 2),
    ),
    "multi_head": Example(lambda: MultiHeadAttention(16, 4)),
    "multi_query": Example(lambda: MultiHeadAttention(16, 4, n_kv_heads=1)),
    "cross_attention": Example(
        lambda: MultiHeadAttention(16, 4), lambda layer, x: layer(x, memory=torch.ones(2, 3, 16))
    ),
    "masked_attention": Example(
        lambda: MultiHeadAttention(16, 4), lambda layer, x: layer(x, mask=Causal())
    ),
    # positions
    "learned_position": _position(lambda: positions.LearnedPosition(8, 16)),
    "sinusoidal": _position(lambda: positions.SinusoidalPosition(16)),
    "shaw_relative": Example(
        lambda: MultiHeadAttention(
            16, 4, mechanism=attention.ShawAttention(4, 3), position=positions.ShawPosition(4, 3)
        )
    ),
    "music_relative": Example(
        lambda: MultiHeadAttention(16, 4, position=positions.MusicPosition(4, 4, 3))
    ),
    "rope": Example(lambda: MultiHeadAttention(16, 4, position=positions.RotaryPosition(4))),
    "structural_position": Example(
        lambda: MultiHeadAttention(16, 4, position=positions.StructuralPosition(16, 4, 3)),
        _structural,
    ),
    # layers
    "ffn": Example(lambda: FeedForward(16, 32, gelu)),
    "glu_variants": Example(lambda: GatedFeedForward(16, 24)),
    "sparse_moe": Example(lambda: SparseExperts(TopKRouter(16, 3), 16, 32)),
    "residual_norm": Example(
        lambda: SandwichNorm(16), lambda joint, x: joint(x, lambda rows: rows)
    ),
    "norm_variants": Example(lambda: ReZero(16), lambda joint, x: joint(x, lambda rows: rows)),
    "reversible": Example(_reversible),
    # the Transformer
    "transformer": Example(transformer.tiny, TRANSFORMER, 32),
    "multilingual_transformer": Example(multilingual_transformer.tiny, _in_languages, 32),
    "fsmt": Example(lambda: fsmt.fsmt(fsmt.TINY), TRANSFORMER, 32),
    "t5": Example(lambda: t5.t5(t5.TINY), TRANSFORMER, 32),
    "byt5": Example(lambda: byt5.byt5(byt5.TINY), TRANSFORMER, 32),
    "switch": Example(lambda: switch.switch(switch.TINY), TRANSFORMER, 32),
    "bart": Example(lambda: bart.bart(bart.TINY), TRANSFORMER, 32),
    "mbart": Example(lambda: mbart.mbart(mbart.TINY), TRANSFORMER, 32),
    "plbart": Example(lambda: plbart.plbart(plbart.TINY), TRANSFORMER, 32),
    "pegasus": Example(lambda: pegasus.pegasus(pegasus.TINY), TRANSFORMER, 32),
    "led": Example(lambda: led.led(led.TINY), TRANSFORMER, 32),
    "prophetnet": Example(lambda: prophetnet.prophetnet(prophetnet.TINY), TRANSFORMER, 32),
    "rag": Example(rag.tiny, _from_documents, 32),
    "speech2text": Example(lambda: speech2text.speech2text(speech2text.TINY), FRAMES, 32),
    "speech2text2": Example(_behind_wav2vec2, _listening((400,)), 32),
    "whisper": Example(lambda: whisper.whisper(whisper.TINY), FRAMES, 32),
    "conformer": Example(lambda: speech2text.speech2text(conformer.TINY), FRAMES, 32),
    "detr": Example(lambda: detr.detr(detr.TINY), _of_squares, width=192),
    # text
    "modern_decoder": _tokens(lambda: llama.llama(llama.TINY)),
    # BERT
    "bert": _tokens(lambda: for_pretraining(bert.bert(bert.TINY))),
    "bert_finetune": Example(
        lambda: MultipleChoiceHead(bert.bert(bert.TINY), 32), lambda model, x: model(x[:, None]), 32
    ),
    "roberta": _tokens(lambda: for_masked_lm(roberta.roberta(roberta.TINY))),
    "mbert": _tokens(lambda: for_pretraining(mbert.mbert(mbert.TINY))),
    "xlmr": _tokens(lambda: for_masked_lm(xlmr.xlmr(xlmr.TINY))),
    "rembert": _tokens(lambda: rembert.for_masked_lm(rembert.rembert(rembert.TINY))),
    "xlm": Example(
        lambda: xlm.for_lm(xlm.xlm(xlm.TINY)),
        lambda model, x: model(x, None, x % 3),  # each token of another language
        32,
    ),
    "albert": _tokens(lambda: albert.albert(albert.TINY)),
    "ibert": _tokens(lambda: for_masked_lm(ibert.ibert(ibert.TINY))),
    "tabert": Example(
        lambda: tabert.tabert(tabert.TINY),
        lambda model, x: model(  # two rows of a table, each token a slot of its own
            torch.stack((x, x.flip(0)), 1), torch.arange(x.shape[1]).expand(len(x), 2, -1)
        ),
        32,
    ),
    "deebert": _tokens(deebert.tiny),
    "distilbert": _tokens(lambda: distilbert.distilbert(distilbert.TINY)),
    "electra": Example(
        lambda: ElectraDiscriminator(electra.electra(electra.TINY)),
        lambda model, x: model(x)[..., None],
        32,
    ),
    "xlnet": _tokens(lambda: xlnet.xlnet(xlnet.TINY)),
    "mpnet": _tokens(lambda: mpnet.mpnet(mpnet.TINY)),
    "convbert": _tokens(lambda: convbert.convbert(convbert.TINY)),
    "deberta": _tokens(lambda: mask_decoder.for_pretraining(deberta.deberta(deberta.TINY))),
    "deberta_v2": _tokens(
        lambda: mask_decoder.for_pretraining(deberta_v2.deberta_v2(deberta_v2.TINY))
    ),
    "vit": Example(lambda: vit.vit(vit.TINY, patch_size=4), _in_patches),
    "deit": Example(lambda: deit.deit(deit.TINY, patch_size=4), _in_patches),
    "data2vec": Example(
        lambda: data2vec.data2vec(data2vec.TINY, image_size=16, patch_size=4), _in_a_square
    ),
    "mae": Example(
        lambda: mae.mae(mae.TINY, patch_size=4),
        lambda model, x: model(unpatchify(x, 4, 4, 4 * x.shape[1])),
    ),
    "wav2vec2": Example(lambda: wav2vec2.wav2vec2(wav2vec2.TINY), _spoken),
    "hubert": Example(lambda: hubert.HubertForPreTraining(hubert.hubert(hubert.TINY), 8), _spoken),
    "data2vec_audio": Example(lambda: data2vec_audio.data2vec_audio(data2vec_audio.TINY), _spoken),
    "luke": Example(lambda: luke.luke(luke.TINY), _named, 32),
    "splinter": Example(
        lambda: splinter.Splinter(splinter.splinter(splinter.TINY)),
        lambda model, x: model(x, questions=torch.ones_like(x[:, :1]))[:, 0],
        32,
    ),
    "realm": Example(realm.tiny, _among_documents, 32),
    "sbert": Example(lambda: whitening.whitening(_stored(64))),
    "unicoder": Example(
        lambda: unicoder.WordRecovery(for_masked_lm(bert.bert(bert.TINY))),
        lambda model, x: model(x, x.flip(1)),
        32,
    ),
    "ernie_m": _tokens(lambda: ernie_m.ernie_m(ernie_m.TINY)),
    "labse": _tokens(lambda: labse.labse(labse.TINY)),
    "muse": _tokens(muse.tiny),
    "canine": _tokens(lambda: canine.canine(canine.TINY)),
    # attention that costs less
    "sparse_transformer": _mechanism(lambda: attention.StridedAttention(4)),
    "adaptive_span": _mechanism(lambda: attention.AdaptiveSpanAttention(4, 64, ramp=8)),
    "axial": _mechanism(lambda: attention.AxialAttention(4, "row")),
    "clustered": _mechanism(lambda: attention.ImprovedClusteredAttention(4, 3, top=2)),
    "routing": _mechanism(lambda: attention.RoutingAttention(4, 4, 2, 4)),
    "sinkhorn": _mechanism(lambda: attention.SinkhornAttention(4, 4, 2, 4)),
    "yoso": _mechanism(lambda: attention.YosoAttention(4, 2, 16)),
    "linformer": _mechanism(_linformer),
    "performer": _mechanism(lambda: attention.PerformerAttention(4, 16, chunk=4)),
    "memory_compressed": _mechanism(lambda: attention.MemoryCompressedAttention(4, 4, 2)),
    "talking_heads": _mechanism(lambda: attention.TalkingHeadsAttention(4)),
    "collaborative_heads": Example(lambda: attention.CollaborativeAttention(16, 4, 8)),
    "multi_scale": _mechanism(lambda: attention.MultiScaleAttention((1, 1, 3, None))),
    "disagreement": _mechanism(lambda: attention.DisagreeingAttention(subspace=1.0)),
    "attention_priors": _mechanism(lambda: attention.LocalAttention(4, 4)),
    "gaussian_transformer": Example(
        lambda: MultiHeadAttention(16, 4, position=attention.GaussianPrior(4))
    ),
    "synthesizer": Example(
        lambda: attention.SynthesizedAttention(16, 4, attention.DenseScores(16, 4, 8))
    ),
    "longformer": _tokens(lambda: longformer.longformer(longformer.TINY)),
    "bigbird": _tokens(lambda: bigbird.bigbird(bigbird.TINY)),
    "reformer": _tokens(partial(reformer.reformer, reformer.TINY, causal=True)),
    "nystromformer": _tokens(lambda: nystromformer.nystromformer(nystromformer.TINY)),
    "fnet": _tokens(lambda: fnet.fnet(fnet.TINY)),
    "luna": Example(luna.tiny),
    "funnel": _tokens(lambda: funnel.funnel(funnel.TINY)),
    "delight": Example(delight.tiny),
    "lite_transformer": Example(lite_transformer.tiny),
    "universal": Example(universal.tiny),
    "cct": Example(conditional_computation.tiny),
    "all_attention": _tokens(all_attention.tiny),
    "transformer_xl": _tokens(
        lambda: transformer_xl_lm.for_lm(transformer_xl.transformer_xl(transformer_xl.TINY))
    ),
    "compressive": Example(
        lambda: compressive.compressive(compressive.TINY, n_memory=1), _in_segments, 32
    ),
    "memformer": Example(memformer.tiny, _after_segments, 32),
    "hibert": Example(partial(hibert.hibert, hibert.TINY), _in_sentences, 32),
    "hi_transformer": Example(
        partial(hi_transformer.hi_transformer, hi_transformer.TINY),
        lambda model, x: _in_sentences(model, x)[:, None].expand(-1, x.shape[1], -1),
        32,
    ),
    "informer": Example(partial(informer.informer, informer.TINY), lambda model, x: model(x, x)),
    "perceiver": Example(
        partial(perceiver.perceiver, perceiver.TINY),
        lambda model, x: model(x).mean(1, keepdim=True).expand(-1, x.shape[1], -1),
    ),
    "r_transformer": _tokens(r_transformer.tiny),
    "macaron": _tokens(macaron.tiny),
    "sandwich": _tokens(sandwich.tiny),
    "realformer": _tokens(realformer.tiny),
    "transparent_attention": Example(transparent.tiny, TRANSFORMER, 32),
    "darts": _tokens(darts.tiny),
    "set_transformer": Example(
        set_transformer.tiny, lambda model, x: model(x)[:, :1].expand(-1, x.shape[1], -1)
    ),
    # decoders
    "gpt": _tokens(lambda: gpt.gpt(gpt.TINY)),
    "gpt2": _tokens(lambda: gpt2.gpt2(gpt2.TINY)),
    "megatron": _tokens(lambda: megatron.megatron(megatron.TINY)),
    "gpt3": _tokens(lambda: gpt3.gpt3(gpt3.TINY, band=3)),
    "gpt_neo": _tokens(lambda: gpt_neo.gpt_neo(gpt_neo.TINY, band=3)),
    "ctrl": _tokens(lambda: ctrl.ctrl(ctrl.TINY)),
    # images
    "swin": Example(lambda: swin.swin(swin.TINY), _of_image),
    "segformer": Example(lambda: segformer.segformer(segformer.TINY), _of_image),
    "timesformer": Example(
        lambda: timesformer.timesformer(timesformer.TINY, image_size=4, patch_size=4), _frames
    ),
    "video_action": Example(lambda: video_action.video_action(video_action.TINY), _boxes),
}
