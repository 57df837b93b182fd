"""A retriever trained by the likelihood of answers alone, on generated facts. Page 6d.1.

    rows = load()                                               # the saved runs
    row = measure("latent", values=16, rate=0.03, seed=0)       # {"recall": 0.98, ...}

A fact is about an entity with two names, (a, b), and has a value. Its query names the same entity
by other words, the aliases of a and b, so a query shares no word with its passage. Each of the 16
first names and of the 16 second names has one alias, which makes 256 entities and 256 passages. A
quarter of the entities are test entities: their passages are in the index, but no training query
is about them.

The retriever is a dual encoder: the vector of a text is the sum of the embeddings of its two
names. The reader is fixed. It copies the value of the passage with probability 0.9 and otherwise
draws any value.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from deepdive.layers.marginal_likelihood import sequence_marginal
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.profile import profile

NAMES, WIDTH, COPY, STEPS = 16, 32, 0.9, 300
ENTITIES = NAMES * NAMES
LATENT, SUPERVISED = "latent", "supervised"
VALUES, SEEDS = (2, 4, 8, 16, 64), range(5)
RATES = (0.01, 0.03, 0.1)


class World(NamedTuple):
    """Names (256, 2) of passages and of queries, values (256,), training and test entities."""

    passages: Tensor
    queries: Tensor
    values: Tensor
    train: Tensor
    test: Tensor


def world(values: int, seed: int) -> World:
    """Return generated facts with `values` different values."""
    generator = torch.Generator().manual_seed(seed)
    aliases = torch.stack([torch.randperm(NAMES, generator=generator) for _ in range(2)], 1)
    names = torch.cartesian_prod(torch.arange(NAMES), torch.arange(NAMES))
    order = torch.randperm(ENTITIES, generator=generator)
    drawn = torch.randint(values, (ENTITIES,), generator=generator)
    queries = aliases.gather(0, names)
    return World(names, queries, drawn, order[ENTITIES // 4 :], order[: ENTITIES // 4])


class Retriever(nn.Module):
    """A text's vector is the sum of the embeddings of its names; a score is a dot product."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.ModuleList(nn.Embedding(NAMES, WIDTH) for _ in range(2))
        self.passage = nn.ModuleList(nn.Embedding(NAMES, WIDTH) for _ in range(2))
        for table in (*self.query, *self.passage):
            nn.init.normal_(table.weight, std=WIDTH**-0.5)

    def forward(self, queries: Tensor, passages: Tensor) -> Tensor:
        """Return scores (B, K) of passages (K, 2) for queries (B, 2), names as numbers."""
        q, p = (
            sum(table(texts[:, i]) for i, table in enumerate(tables))
            for tables, texts in ((self.query, queries), (self.passage, passages))
        )
        return q @ p.mT


def reader(here: World, entities: Tensor, values: int) -> Tensor:
    """Return the fixed reader's log p(value | query, passage), (B, K)."""
    same = here.values[entities][:, None] == here.values[None]
    return (COPY * same + (1 - COPY) / values).log()


def measure(method: str, values: int, rate: float, seed: int, steps: int = STEPS) -> dict[str, Any]:
    """Train a retriever on all training queries at once, and test it.

    method: "latent", by the likelihood of the value summed over all passages, or "supervised", by
    the cross-entropy of the right passage. Returns recall at 1 on test and training queries, and
    the share of test queries whose first passage has the right value. Raises ValueError for
    another method.
    """
    if method not in (LATENT, SUPERVISED):
        raise ValueError(f"method: got {method!r}, expected {LATENT!r} or {SUPERVISED!r}")
    here = world(values, seed)
    torch.manual_seed(seed)
    model = Retriever()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    log_p, asked = reader(here, here.train, values), here.queries[here.train]
    for _ in range(steps):
        scores = model(asked, here.passages)
        if method == LATENT:
            loss = -sequence_marginal(log_p[..., None], scores).mean()
        else:
            loss = nn.functional.cross_entropy(scores, here.train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        found = model(here.queries, here.passages).argmax(1)
    right = (found == torch.arange(ENTITIES)).double()
    valued = (here.values[found] == here.values).double()
    return {
        "recall": float(right[here.test].mean()),
        "train_recall": float(right[here.train].mean()),
        "value": float(valued[here.test].mean()),
        "loss": round(float(loss.detach()), 4),
    }


def run_all() -> list[dict[str, Any]]:
    """Measure every method, number of values, rate, and seed; nothing is selected."""
    path = results_path("06d_applications", "latent_retrieval")
    points = [
        {"method": method, "values": values, "rate": rate, "seed": seed,
         "steps": round(STEPS * share())}
        for values in VALUES for method in (LATENT, SUPERVISED) for rate in RATES for seed in SEEDS
    ]  # fmt: skip
    return sweep(measure, points, path if profile() == "experiment" else None)


def load() -> list[dict[str, Any]]:
    """Return the saved runs, measured first in the profile `experiment`."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("06d_applications", "latent_retrieval"))
