"""The charge against attention, on a BERT: two layers, two heads, 64 wide, trained without any
pre-training on the texts of `deepdive_book.ch07.runs.attention_debate`.

    jain_wallace_bert(data, seed, ...)     a row of plain numbers, as `jain_wallace_tests` gives

Only the weights of the last layer's [CLS] reach the answer directly, so these are looked at, and
exchanged: all other rows of that layer act on nothing.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.hooks import record, replace
from deepdive.explain.attention_weights.alternatives import Answer, adversarial, permuted, tvd
from deepdive.explain.evaluation.agreement import kendall
from deepdive.explain.gradients import gradient_x_input
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.training.fit import fit
from deepdive.training.optim import adam, linear
from deepdive_book.ch07.runs.attention_debate import BATCH, Part, Texts, even
from deepdive_book.ch07.runs.attention_debate_results import long_texts, packed, texts_of

LAYERS = [f"encoder.stack.blocks.{i}.attn.mechanism.weights" for i in range(2)]
EMBEDDED = "encoder.embeddings.embedded"
CLS = 1  # in the vocabulary of these texts the mark of a beginning


def with_cls(part: Part) -> Part:
    """The texts with [CLS] in front of each."""
    return Part(F.pad(part.tokens, (1, 0), value=CLS), part.labels)


def small_bert(texts: Texts, seed: int) -> Classifier:
    torch.manual_seed(seed)
    longest = max(texts.train.tokens.shape[1], texts.test.tokens.shape[1]) + 1
    encoder = bert(vocab_size=len(texts.words), d_model=64, n_heads=2, n_layers=2, d_ff=128,
                   max_length=longest, n_segments=0, dropout=0.2)  # fmt: skip
    return Classifier(encoder, 64, len(texts.names), dropout=0.2)


def tuned(texts: Texts, epochs: int, seed: int) -> Classifier:
    """A new model, trained on texts in an order that the seed draws."""
    model, part = small_bert(texts, seed), with_cls(texts.train)
    draw, batches = torch.Generator().manual_seed(seed), list[tuple[Tensor]]()
    for _ in range(epochs):
        near = part.real.sum(1) + 5 * torch.rand(len(part.labels), generator=draw)
        groups = near.argsort().split(BATCH)
        batches += [(groups[i],) for i in torch.randperm(len(groups), generator=draw)]

    def loss(net: Classifier, batch: tuple[Tensor]) -> Tensor:
        tokens, real = _cut(part.take(batch[0]))
        return F.cross_entropy(net(tokens, real), part.labels[batch[0]])

    fit(model, batches, loss, steps=len(batches), seed=seed, progress=False,
        optimizer=adam(model, lr=1e-3),
        schedule=linear(1e-3, len(batches) // 10, len(batches)))  # fmt: skip
    return model.eval()


def _cut(part: Part) -> tuple[Tensor, Tensor]:
    width = int(part.real.sum(1).max())
    return part.tokens[:, :width], part.real[:, :width]


def of_cls(model: Classifier, part: Part) -> tuple[Tensor, Answer]:
    """The weights of the last layer's [CLS], (B, H, T), and what the model answers with others."""
    tokens, real = _cut(part)
    with torch.no_grad(), record(model, LAYERS[1]) as seen:
        model(tokens, real)

    def answer(weights: Tensor) -> Tensor:
        def swap(whole: Tensor) -> Tensor:
            return torch.cat([weights[:, :, None], whole[:, :, 1:]], 2)

        with replace(model, LAYERS[1], swap):
            return torch.as_tensor(model(tokens, real)).softmax(-1)

    return seen[LAYERS[1]][0][:, :, 0].detach(), answer


def importances_bert(model: Classifier, tokens: Tensor) -> dict[str, Tensor]:
    """How much each word counts, without [CLS] (T,): attention from [CLS] in the last layer, the
    mean of the heads; gradient x input, with all weights held; leaving out.
    """
    text = tokens[None]
    with torch.no_grad(), record(model, *LAYERS) as seen:
        shares = model(text).softmax(-1)
        places = range(1, len(tokens))
        away = torch.stack([torch.cat([tokens[:t], tokens[t + 1 :]]) for t in places])
        left_out = tvd(model(away).softmax(-1), shares)
    said = int(shares.argmax())
    with ExitStack() as held:
        for layer in LAYERS:
            held.enter_context(replace(model, layer, seen[layer][0].detach()))
        output = lambda: model(text).log_softmax(-1)[:, said]  # noqa: E731
        gradient = gradient_x_input(model, EMBEDDED, output)[0].abs()
    attention = seen[LAYERS[1]][0][0, :, 0].mean(0).detach()
    return {"attention": attention[1:], "held": gradient[1:], "left out": left_out}


def jain_wallace_bert(
    data: str, seed: int, train: int = 8000, epochs: int = 4, count: int = 100, steps: int = 200
) -> Mapping[str, Any]:
    """What Jain and Wallace measured, of a BERT."""
    texts = texts_of(data, train)
    model, test = tuned(texts, epochs, seed), with_cls(texts.test)
    with torch.no_grad():
        said = torch.cat(
            [
                model(*_cut(test.take(at))).argmax(1)
                for at in torch.arange(len(test.labels)).split(100)
            ]
        )
    part = with_cls(long_texts(texts, count))
    lengths = part.real.sum(1).tolist()
    found = [importances_bert(model, row[:n]) for row, n in zip(part.tokens, lengths, strict=True)]
    own, answer = of_cls(model, part)
    real = part.real[:, : own.shape[-1]]
    alike = even(real)[:, None].expand_as(own)
    with torch.no_grad():
        first, evened = answer(own), answer(alike)
    dealt = permuted(answer, own, real, 50, seed)
    away = adversarial(answer, own, real, steps=steps, seed=seed)
    pairs = (("attention", "held"), ("attention", "left out"), ("held", "left out"))
    return {
        "accuracy": float((said == test.labels).float().mean()),
        "most": packed(own.mean(1).amax(-1)),
        "permuted": packed(dealt.median(0).values),
        "even moves": packed(tvd(first, evened)),
        "far": packed(away.apart),
        **{f"tau {a} / {b}": packed([kendall(e[a], e[b]) for e in found]) for a, b in pairs},
    }
