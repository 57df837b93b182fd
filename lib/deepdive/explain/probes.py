"""Probing: can a linear probe predict a property of a word from its hidden state?

A probe is trained on frozen states X (N, d), one per word. The control task keeps the words and
their states, but assigns each word *type* a random label: accuracy there is memorization, and the
difference in accuracy is the probe's selectivity.

System: probing
Parent: none
What differs:
- a linear probe, ridge regression in closed form (`ridge`), for a tag or a number
- the structural probe: a matrix B for which |B x|^2 is a word's depth in the tree, and
  |B (x - y)|^2 the distance of two words (`structural`)
- a control task for each task (`control_labels`)
Source: Alain and Bengio 2017; Hewitt and Manning 2019, section 2; Hewitt and Liang 2019, section 2.
Book: 7.3.3.1; 3.4.2
"""

import random
from collections.abc import Hashable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from deepdive.core.checks import as_int, finite

Label = TypeVar("Label", bound=Hashable)


def ridge(x: Tensor, y: Tensor, penalty: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return W (d, k) and b (k,) that minimize  |x @ W + b - y|^2 + penalty |W|^2.

        W = (X^T X + penalty I)^-1 X^T Y,   b = mean(y) - mean(x) @ W

    with X = x - mean(x) (N, d) and Y = y - mean(y) (N, k), in float64. For tags, y is one-hot, and
    the argmax of x @ W + b is the prediction.

    Raises ValueError when x and y differ in their number of rows, or the penalty is negative.
    """
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
        raise ValueError(
            f"x must be (N, d) and y (N, k); got {tuple(x.shape)} and {tuple(y.shape)}: one row "
            "per word in both"
        )
    if penalty < 0:
        raise ValueError(f"penalty must not be negative; got {penalty}")
    x, y = x.double(), y.double()
    x_mean, y_mean = x.mean(0), y.mean(0)
    centered = x - x_mean
    gram = centered.T @ centered
    gram.diagonal().add_(penalty)
    w = torch.linalg.solve(gram, centered.T @ (y - y_mean))
    return w, y_mean - x_mean @ w


def tag_accuracy(
    train: tuple[Tensor, Sequence[Label]], test: tuple[Tensor, Sequence[Label]], penalty: float
) -> Tensor:
    """Return whether a linear probe, fitted on `train`, is correct on each word of `test`, (N,).

    Each is (states (N, d), labels). A label that is not in `train` is never predicted.
    """
    (x, labels), (test_x, test_labels) = train, test
    classes = list(dict.fromkeys(labels))
    index = {kind: i for i, kind in enumerate(classes)}
    y = torch.tensor([index[label] for label in labels], device=x.device)
    w, b = ridge(x, torch.nn.functional.one_hot(y, len(classes)), penalty)
    predicted = (test_x.double() @ w + b).argmax(-1)
    truth = torch.tensor([index.get(label, -1) for label in test_labels], device=x.device)
    return predicted == truth


def control_labels(
    train: Sequence[str], labels: Sequence[Label], test: Sequence[str], seed: int = 0
) -> tuple[list[Label], list[Label]]:
    """Return random control-task labels for `train` and `test`: the same for the same word type.

    A word type's label is sampled from `labels`, the true ones of `train`, so the control task has
    the same label frequencies. It is independent of the word and of its context.
    Source: Hewitt and Liang 2019, section 2.1.
    """
    if not labels or len(train) != len(labels):
        raise ValueError(
            f"train, labels: got {len(train)} and {len(labels)}, expected equal lengths above 0"
        )
    draw = random.Random(f"control {seed}")
    given = {word: draw.choice(labels) for word in dict.fromkeys([*train, *test])}
    return [given[word] for word in train], [given[word] for word in test]


def depths(x: Tensor, b: Tensor) -> Tensor:
    """Return |B x|^2 for each word, (..., W) for x (..., W, d) and B (rank, d)."""
    return (x @ b.T).square().sum(-1)


def distances(x: Tensor, b: Tensor) -> Tensor:
    """Return |B (x_i - x_j)|^2 for each word pair, (..., W, W) for x (..., W, d), B (rank, d)."""
    projected = x @ b.T
    return (projected[..., :, None, :] - projected[..., None, :, :]).square().sum(-1)


def structural(
    sentences: Sequence[Tensor],
    trees: Sequence[Tensor],
    rank: int = 32,
    *,
    steps: int = 200,
    batch: int = 64,
    lr: float = 1e-2,
    seed: int = 0,
) -> Tensor:
    """Train a structural probe B (rank, d): distances or norms of B x match those of the tree.

    sentences    hidden states (W, d) of each sentence
    trees        for each the tree distances of its words (W, W), or their depths (W,)

        loss = mean over sentences of  mean |target - predicted|

    with predicted = `distances` or `depths`; Adam, `steps` batches, decaying learning rate. Each of
    the d dimensions is first divided by its standard deviation over all words, and B's columns
    afterwards: a layer's deviations differ widely, and one `lr` must suit all dimensions.
    Raises ValueError when a tree does not fit its sentence.
    Source: Hewitt and Manning 2019, section 2.3.
    """
    for x, tree in zip(sentences, trees, strict=True):
        if tree.shape not in {(len(x),), (len(x), len(x))}:
            raise ValueError(
                f"a sentence of {len(x)} words has a tree of shape {tuple(tree.shape)}; expected "
                "(W, W) distances or (W,) depths"
            )
    scale = torch.cat(list(sentences)).std(0).clamp_min(1e-12)  # (d,)
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    d = sentences[0].shape[1]
    start = (2 / (rank * d)) ** 0.5  # distances near 4 at first, like those of a tree
    b = (start * torch.randn(rank, d, generator=draw)).to(sentences[0]).requires_grad_()
    adam = torch.optim.Adam([b], lr=lr)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.02, steps)
    for _ in range(steps):
        chosen = torch.randint(len(sentences), (batch,), generator=draw).tolist()
        loss = _gap([sentences[i] / scale for i in chosen], [trees[i] for i in chosen], b)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        adam.step()
        falling.step()
    return b.detach() / scale


def _gap(sentences: Sequence[Tensor], trees: Sequence[Tensor], b: Tensor) -> Tensor:
    """The mean over sentences of the mean |target - predicted|, all in one padded batch."""
    x = torch.nn.utils.rnn.pad_sequence(list(sentences), batch_first=True)
    length = torch.tensor([len(s) for s in sentences], device=x.device)
    real = torch.arange(x.shape[1], device=x.device) < length[:, None]  # (B, W)
    if trees[0].ndim == 1:
        target = torch.nn.utils.rnn.pad_sequence(list(trees), batch_first=True)
        gap = (depths(x, b) - target).abs() * real
        return (gap.sum(-1) / length).mean()
    target = x.new_zeros(*real.shape, x.shape[1])
    for i, tree in enumerate(trees):
        target[i, : len(tree), : len(tree)] = tree
    gap = (distances(x, b) - target).abs() * (real[:, :, None] & real[:, None])
    return (gap.sum((-1, -2)) / length.square()).mean()


def spearman(a: Tensor, b: Tensor) -> float:
    """Return Spearman's rank correlation of two vectors (N,); ties share their mean rank.

    0 where one of them is constant. Raises ValueError for NaN and infinity, which have no rank.
    """
    finite("a", a)
    finite("b", b)
    x, y = (_ranks(row.double()) for row in (a, b))
    x, y = x - x.mean(), y - y.mean()
    scale = float((x.square().sum() * y.square().sum()).sqrt())
    return float(x @ y) / scale if scale else 0.0


def _ranks(row: Tensor) -> Tensor:
    below = (row[:, None] > row).sum(1)
    same = (row[:, None] == row).sum(1)
    return below + (same - 1) / 2


def spanning_tree(distance: Tensor) -> set[tuple[int, int]]:
    """Return the edges (i, j), i < j, of the minimum spanning tree for distances (W, W).

    Source: Prim 1957, as used by Hewitt and Manning 2019, section 3.2, to decode a probe's tree.
    """
    distance = distance.double()
    near = distance[0]
    link = torch.zeros(len(distance), dtype=torch.long)
    out = torch.ones(len(distance), dtype=torch.bool)
    out[0] = False
    edges = set()
    while out.any():
        new = int(near.masked_fill(~out, torch.inf).argmin())
        old = int(link[new])
        edges.add((min(old, new), max(old, new)))
        out[new] = False
        closer = distance[new] < near
        near = torch.where(closer, distance[new], near)
        link[closer] = new
    return edges
