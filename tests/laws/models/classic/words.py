"""Cases of the models of words before attention: `neural_lm`, `word2vec`, `character_cnn`, `bilm`,
`elmo`.
"""

import torch
from torch import Tensor, nn

from deepdive.evaluate.similarity import neighbors
from deepdive.models.classic.bilm import BiLM, DirectedLM, bilm
from deepdive.models.classic.character_cnn import CharacterCNN
from deepdive.models.classic.elmo import ELMo, tiny
from deepdive.models.classic.neural_lm import NeuralLM
from deepdive.models.classic.neural_lm import tiny as tiny_lm
from deepdive.models.classic.word2vec import SkipGram
from deepdive.recurrent import RecurrentState
from deepdive.tokenizers.character import spell
from deepdive.training import objectives
from laws import (
    ALONE,
    IN_ORDER,
    Case,
    Fails,
    NotApplicable,
    case,
    with_padding,
    with_state,
)

UNKNOWN, ROW = torch.tensor([[40]]), torch.tensor([[4, 9, 5]])
WHOLE = NotApplicable("it reads from both ends, and needs the whole sentence")


@case("NeuralLM", NeuralLM)
def _() -> Case:
    def one_word() -> tuple[Tensor, Tensor]:
        """One word and no hidden layer: a table of logits, the bigram model."""
        model, tokens = NeuralLM(8, 4, 3, 1).double(), torch.tensor([[5, 2, 7]])
        nn.init.normal_(model.W.weight)
        nn.init.zeros_(model.U.weight)
        table = model.embedding.weight @ model.W.weight.T + model.U.bias
        return model(tokens), table[tokens]

    def far() -> tuple[Tensor, Tensor]:
        """What stands before the window does not matter."""
        near, other = tiny_lm().double()(torch.tensor([[4, 5, 6, 7, 8], [9, 1, 6, 7, 8]]))[:, -1]
        return near, other

    return Case(
        make=tiny_lm,
        run=with_padding,
        vocab=32,
        parity="torch.nn.Sequential of Embedding, Flatten, Linear and Tanh",
        limits={"one word, no hidden layer: a table of bigrams": one_word, "a window": far},
        refusals={
            "an unknown token": lambda: tiny_lm()(UNKNOWN),
            "a float mask": lambda: tiny_lm()(torch.tensor([[4]]), torch.ones(1, 1)),
            "no words": lambda: NeuralLM(8, 4, 3, 0),
        },
        laws={
            "order": Fails("each place in the window has weights of its own"),
            "cache": NotApplicable("its whole state is the window: give the last tokens again"),
            "hooks": NotApplicable("no attention: there are no weights to record"),
        },
    )


@case("word2vec", SkipGram)
def _() -> Case:
    def all_scores() -> tuple[Tensor, Tensor]:
        model, ids = SkipGram(6, 4).double(), torch.arange(6)
        nn.init.normal_(model.contexts)
        return model(ids, ids.expand(6, 6)), model.words @ model.contexts.T

    model = SkipGram(32, 16)
    return Case(
        parity="the double loop over pairs and drawn words, over torch.nn.Embedding",
        limits={"all pairs: the product of the two tables": all_scores},
        refusals={
            "an unknown word": lambda: model(torch.tensor([40]), torch.tensor([[1]])),
            "floats": lambda: model(torch.zeros(1), torch.zeros(1, 2)),
            "contexts of another batch": lambda: model(torch.tensor([4]), torch.tensor([1, 2])),
            "no drawn words": lambda: objectives.negative_sampling_loss(
                torch.zeros(3), torch.zeros(3)
            ),
            "no counts": lambda: objectives.noise(torch.zeros(4)),
            "no threshold": lambda: objectives.keep_probability(torch.ones(4), 0.0),
            "a batch of sentences": lambda: objectives.skip_gram_pairs(torch.zeros(2, 3).long(), 2),
            "another width": lambda: neighbors(torch.zeros(4, 3), torch.zeros(2)),
        },
        laws=ALONE,
    )


@case("CharacterCNN", CharacterCNN)
def _() -> Case:
    def make() -> CharacterCNN:
        return CharacterCNN(32, 16, {1: 4, 3: 6}, d_char=5)

    def run(layer: CharacterCNN, x: Tensor, mask: object = None, state: object = None) -> Tensor:
        return layer(torch.stack([x, (x + 3) % 28 + 4, (x * 5) % 28 + 4, x], dim=-1))

    def longer() -> tuple[Tensor, Tensor]:
        """One filter of one character, no highway: the largest of each number over the word."""
        layer = CharacterCNN(32, 4, {1: 4}, d_char=5, n_highway=0).double()
        weights = dict(layer.convolutions[0].named_parameters())
        W, b = weights["weight"][..., 0], weights["bias"]
        rows = torch.tanh(layer.embedding.weight[ROW[None]] @ W.T + b)
        return layer(ROW[None]), layer.P(rows.amax(-2))

    def padded() -> tuple[Tensor, Tensor]:
        layer = make().double()
        return layer(torch.tensor([[[4, 9, 5, 0, 0, 0]]])), layer(ROW[None])

    return Case(
        make=make,
        run=run,
        vocab=32,
        parity="torch.nn.Embedding, Conv1d and Linear, one word at a time",
        limits={"width 1, no highway: the largest over the letters": longer, "padding": padded},
        refusals={
            "an unknown character": lambda: make()(UNKNOWN[None]),
            "words, not characters": lambda: make()(torch.tensor([[4]])),
            "no filters": lambda: CharacterCNN(32, 16, {}),
            "rows of different lengths": lambda: spell([["a"], ["a", "b"]], "ab"),
        },
        laws=ALONE,
    )


@case("DirectedLM", DirectedLM)
def _() -> Case:
    def make(n_layers: int = 2) -> DirectedLM:
        return bilm(32, 12, n_layers).left_to_right

    def one_layer() -> tuple[Tensor, Tensor]:
        model = make(1).double()
        return model(ROW), model.head(model.lstms[0](model.embedding(ROW)))

    return Case(
        make=make,
        run=with_state,
        begin=lambda model: RecurrentState(),
        vocab=32,
        parity="torch.nn.Embedding, LSTM and Linear",
        limits={"one layer: an LSTM and the head": one_layer},
        refusals={"an unknown token": lambda: make()(UNKNOWN), "no layers": lambda: make(0)},
        laws=IN_ORDER,
    )


@case("BiLM", BiLM)
def _() -> Case:
    def mirrored() -> tuple[Tensor, Tensor]:
        """Exchange the two models and turn the sentence round: the two guesses change places."""
        model = bilm(32, 12).double()
        expected, both = model(ROW), (model.left_to_right, model.right_to_left)
        model.right_to_left, model.left_to_right = both
        return model(ROW.flip(1)).flip(1, 2), expected

    one_direction = torch.zeros(1, 3, 8), torch.zeros(1, 3).long()
    return Case(
        make=lambda: bilm(32, 12),
        run=with_padding,
        vocab=32,
        parity="torch.nn.LSTM, over packed rows, and over the same turned round",
        limits={"mirrored: the guesses change places": mirrored},
        refusals={
            "an unknown token": lambda: bilm(32, 12)(UNKNOWN),
            "logits of one direction": lambda: objectives.bilm_loss(*one_direction),
        },
        laws={
            "no_leak": Fails("half of it reads from the end; test_words.py tries each half"),
            **IN_ORDER,
            "cache": WHOLE,
        },
    )


@case("elmo", ELMo)
def _() -> Case:
    def last() -> tuple[Tensor, Tensor]:
        model = tiny().double()
        nn.init.constant_(model.mix.s[-1:], 800.0)
        return model(ROW), model.bilm.layers(ROW)[-1]

    return Case(
        run=with_padding,
        parity="torch.nn.LSTM and the direct sum",
        limits={"all weight on the last layer: that layer": last},
        refusals={"an unknown token": lambda: tiny()(UNKNOWN)},
        silent={"head": "the output layer is for training the two language models only"},
        laws={"no_leak": Fails(WHOLE.reason), "order": IN_ORDER["order"], "cache": WHOLE},
    )
