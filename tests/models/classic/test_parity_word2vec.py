"""Models of words against loops, and compositions of torch's own layers, in float64."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deepdive.layers.feed_forward import Highway
from deepdive.models.classic import elmo, neural_lm
from deepdive.models.classic.bilm import BiLM, DirectedLM
from deepdive.models.classic.character_cnn import CharacterCNN
from deepdive.models.classic.elmo import ELMo, ScalarMix
from deepdive.models.classic.neural_lm import NeuralLM
from deepdive.models.classic.word2vec import SkipGram
from deepdive.training.objectives import negative_sampling_loss

TOKENS = torch.tensor([[4, 7, 9, 5, 8], [6, 8, 10, 0, 0], [11, 5, 0, 0, 0]])
REAL = TOKENS != 0
Pairs = dict[str, tuple[Tensor, Tensor]]


def copied(module: nn.Module, ours: dict[str, Tensor], pairs: Pairs) -> nn.Module:
    """Fill torch's module with copies of our weights, and note each beside its origin."""
    module = module.double()
    module.load_state_dict({name: weight.detach() for name, weight in ours.items()})
    for name, copy in module.named_parameters():
        pairs[f"{len(pairs)} {name}"] = (ours[name], copy)
    return module


def linear(layer: nn.Linear, pairs: Pairs) -> nn.Module:
    copy = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None)
    return copied(copy, dict(layer.named_parameters()), pairs)


@parity(SkipGram)
def skip_gram() -> None:
    """The loss as the paper prints it: one pair after another, one drawn word after another."""
    model = perturb(SkipGram(12, 5).double(), size=0.7)
    w, c, pairs = nn.Embedding(12, 5), nn.Embedding(12, 5), {}
    copied(w, {"weight": model.words}, pairs)
    copied(c, {"weight": model.contexts}, pairs)
    words, near = torch.tensor([4, 7, 9, 4]), torch.tensor([5, 7, 4, 11])
    drawn = torch.tensor([[1, 2, 3], [7, 7, 0], [5, 6, 8], [5, 1, 10]])
    ours = model(words, torch.cat([near[:, None], drawn], dim=1))
    total = torch.zeros((), dtype=torch.float64)
    for b in range(4):
        total = total - torch.log(torch.sigmoid((w(words[b]) * c(near[b])).sum()))
        for j in range(3):
            total = total - torch.log(torch.sigmoid(-(w(words[b]) * c(drawn[b, j])).sum()))
    loss = negative_sampling_loss(ours[:, 0], ours[:, 1:])
    equal(loss, total / 4)
    equal_gradients(loss, total / 4, pairs)


@parity(NeuralLM)
def nplm() -> None:
    """Where the window is full: flattened rows through two branches of torch's layers."""
    model = perturb(neural_lm.tiny().double())
    pairs: Pairs = {}
    table = copied(nn.Embedding(32, 16), {"weight": model.embedding.weight}, pairs)
    hidden = nn.Sequential(nn.Flatten(), linear(model.H, pairs), nn.Tanh(), linear(model.U, pairs))
    direct = nn.Sequential(nn.Flatten(), linear(model.W, pairs))
    ours, theirs = [], []
    for t in range(2, 5):
        ours.append(model(TOKENS)[:, t])
        rows = table(TOKENS[:, t - 2 : t + 1])
        theirs.append(hidden(rows) + direct(rows))
    equal(torch.stack(ours), torch.stack(theirs))
    equal_gradients(torch.stack(ours), torch.stack(theirs), pairs)


def by_torch(model: DirectedLM, pairs: Pairs) -> Callable[[Tensor], list[Tensor]]:
    """Two nn.LSTM over packed rows; the second's input is added to what it says."""
    table = copied(nn.Embedding(32, 12), {"weight": model.embedding.weight}, {})
    layers = []
    for lstm in model.lstms:
        weights = {
            "weight_ih_l0": lstm.W.weight, "weight_hh_l0": lstm.U.weight,
            "bias_ih_l0": lstm.W.bias, "bias_hh_l0": lstm.U.bias,
        }  # fmt: skip
        layers.append(copied(nn.LSTM(12, 12, batch_first=True), weights, pairs))

    def read(tokens: Tensor) -> list[Tensor]:
        lengths, found = (tokens != 0).sum(1), [table(tokens)]
        for j, layer in enumerate(layers):
            packed = pack_padded_sequence(found[-1], lengths, True, enforce_sorted=False)
            h, _ = pad_packed_sequence(layer(packed)[0], True, total_length=tokens.shape[1])
            found.append(h + found[-1] if j else h)
        return found

    return read


def turned(rows: Tensor) -> Tensor:
    """Turn the real part of each row round; padding stays at the end."""
    lengths = REAL.sum(1).tolist()
    return torch.stack(
        [torch.cat([r[:n].flip(0), r[n:]]) for r, n in zip(rows, lengths, strict=True)]
    )


def both(model: BiLM, pairs: Pairs) -> list[Tensor]:
    onward = by_torch(model.left_to_right, pairs)(TOKENS)
    back = by_torch(model.right_to_left, pairs)(turned(TOKENS))
    return [torch.cat([a, turned(b)], dim=-1) for a, b in zip(onward, back, strict=True)]


def ready(model: nn.Module) -> nn.Module:
    return perturb(model.double().eval())


@parity(DirectedLM)
def directed() -> None:
    model, pairs = ready(elmo.bilm(32, 12)).left_to_right, {}
    states = by_torch(model, pairs)(TOKENS)[-1]
    ours, theirs = model(TOKENS, REAL)[REAL], linear(model.head, pairs)(states)[REAL]
    equal(ours, theirs)
    equal_gradients(ours, theirs, pairs)


@parity(BiLM)
def two_ways() -> None:
    model, pairs = ready(elmo.bilm(32, 12)), {}
    layers = both(model, pairs)
    head = linear(model.left_to_right.head, pairs)
    halves = layers[-1].chunk(2, dim=-1)
    theirs = torch.stack([head(half) for half in halves], dim=2)[REAL]
    ours = model(TOKENS, REAL)[REAL]
    equal(ours, theirs)
    equal_gradients(ours, theirs, pairs)


@parity(ELMo)
def mixed_layers() -> None:
    model, pairs = ready(elmo.tiny()), {}
    s, gamma = model.mix.s, model.mix.gamma
    total = s.exp().sum()
    layers = both(model.bilm, pairs)
    theirs = sum(gamma * s[j].exp() / total * layers[j] for j in range(3))[REAL]
    ours = model(TOKENS, REAL)[REAL]
    equal(ours, theirs)
    equal_gradients(ours, theirs, pairs)


@parity(ScalarMix)
def scalar_mix() -> None:
    mix = perturb(ScalarMix(3).double(), size=0.9)
    rows = torch.randn(3, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    powers = [s.exp() for s in mix.s]
    theirs = torch.zeros(2, 4, 5, dtype=torch.float64)
    for j in range(3):
        theirs = theirs + mix.gamma * powers[j] / (powers[0] + powers[1] + powers[2]) * rows[j]
    ours = mix(list(rows))
    equal(ours, theirs)
    equal_gradients(ours, theirs, {"rows": (rows, rows)})


@parity(Highway)
def highway() -> None:
    layer, pairs = perturb(Highway(6).double()), {}
    W, G = linear(layer.W, pairs), linear(layer.G, pairs)
    x = torch.randn(3, 6, dtype=torch.float64)
    theirs = torch.lerp(x, nn.functional.relu(W(x)), torch.sigmoid(G(x)))
    equal(layer(x), theirs)
    equal_gradients(layer(x), theirs, pairs)


@parity(CharacterCNN)
def characters() -> None:
    """One word after another; filters start at its letters only."""
    layer, pairs = perturb(CharacterCNN(20, 6, {1: 3, 2: 4, 5: 2}, d_char=5).double()), {}
    chars = torch.tensor([[[4, 9, 5, 0], [7, 0, 0, 0]], [[2, 3, 3, 8], [19, 6, 0, 0]]])
    table = nn.Embedding(20, 5, padding_idx=0).double()
    copied(table, {"weight": layer.embedding.weight}, pairs)
    with torch.no_grad():
        table.weight[0] = 0.0
    convolutions = [
        copied(nn.Conv1d(5, c.out_channels, c.kernel_size), dict(c.named_parameters()), pairs)
        for c in layer.convolutions
    ]
    high = [(linear(h.W, pairs), linear(h.G, pairs)) for h in layer.highways]
    project, theirs = linear(layer.P, pairs), []
    for word in chars.flatten(0, 1):
        length = int((word != 0).sum())
        rows = table(torch.cat([word[:length], torch.zeros(4, dtype=torch.long)])).T[None]
        y = [torch.tanh(c(rows))[0, :, :length].max(-1).values for c in convolutions]
        y = torch.cat(y)
        for W, G in high:
            y = torch.lerp(y, nn.functional.relu(W(y)), torch.sigmoid(G(y)))
        theirs.append(project(y))
    theirs = torch.stack(theirs).view(2, 2, 6)
    equal(layer(chars), theirs)
    equal_gradients(layer(chars), theirs, pairs)


PROOFS = (
    skip_gram, nplm, directed, two_ways, mixed_layers, scalar_mix, highway, characters
)  # fmt: skip


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.__name__)
def test_parity(proof: Callable[[], None]) -> None:
    proof()


# One mistake each; the proof must see it.


def no_residual(
    self: DirectedLM, tokens: Tensor, mask: object = None, state: object = None
) -> list:
    found = [self.embedding(tokens)]
    for lstm in self.lstms:
        found.append(lstm(found[-1], mask))
    return found


def not_turned_back(self: BiLM, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    back = self.right_to_left(tokens.flip(1), None if mask is None else mask.flip(1))
    return torch.stack([self.left_to_right(tokens, mask), back], dim=2)


def backward_deaf_to_padding(self: BiLM, tokens: Tensor, mask: Tensor | None = None) -> list:
    pairs = zip(
        self.left_to_right.layers(tokens, mask),
        self.right_to_left.layers(tokens.flip(1)),
        strict=True,
    )
    return [torch.cat([a, b.flip(1)], dim=-1) for a, b in pairs]


def positive_twice(true: Tensor, drawn: Tensor) -> Tensor:
    F = nn.functional
    return -(F.logsigmoid(true) + F.logsigmoid(drawn).sum(1)).mean()


def carry_lost(self: Highway, x: Tensor) -> Tensor:
    g = torch.sigmoid(self.G(x))
    return g * torch.relu(self.W(x)) + x


def not_normalized(self: ScalarMix, layers: list[Tensor]) -> Tensor:
    return self.gamma * sum(s * h for s, h in zip(self.s, layers, strict=True))


def tanh_outside(self: NeuralLM, tokens: Tensor, mask: object = None) -> Tensor:
    rows = nn.functional.pad(self.embedding(tokens), (0, 0, self.n_words - 1, 0))
    x = rows.unfold(1, self.n_words, 1).flatten(-2)  # numbers of all words beside one another
    return self.W(x) + self.U(torch.tanh(self.H(x)))


MISTAKES = {
    "word2vec: drawn words attract": (skip_gram, "negative_sampling_loss", None, positive_twice),
    "nplm: rows not side by side": (nplm, NeuralLM, "forward", tanh_outside),
    "one way: no residual": (directed, DirectedLM, "layers", no_residual),
    "two ways: guesses not turned back": (two_ways, BiLM, "forward", not_turned_back),
    "elmo: the second starts in the padding": (
        mixed_layers, BiLM, "layers", backward_deaf_to_padding
    ),
    "mix: no softmax": (scalar_mix, ScalarMix, "forward", not_normalized),
    "highway: the input is not let go": (highway, Highway, "forward", carry_lost),
    "letters: highway left out": (characters, Highway, "forward", lambda layer, x: x),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen(name: str) -> None:
    proof, owner, attribute, mistake = MISTAKES[name]
    change = (
        mock.patch.dict(globals(), {owner: mistake})
        if attribute is None
        else mock.patch.object(owner, attribute, mistake)
    )
    with change, pytest.raises(AssertionError, match="differ"):
        proof()
