"""Cases of `deepdive.models.bert.luke`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.attention.heads.projections import EntityAwareAttention
from deepdive.core.masks import Padding
from deepdive.models.bert import roberta
from deepdive.models.bert.entities import EntityEmbeddings, mentions_of
from deepdive.models.bert.luke import TINY, Luke, luke
from deepdive.models.bert.luke_heads import EntityClassifier, LukeForMaskedLM, for_masked_lm
from laws import (
    ALONE,
    ONE_ROW,
    ORDERED,
    TWO_SIDED,
    Case,
    NotApplicable,
    case,
    padding_of,
    random_rows,
    set_weights,
)

ROW = torch.tensor([[4, 9, 6, 8, 5, 7]])
SPANS = torch.tensor([[[1, 3], [2, 4]]])  # two mentions that share a word


def read(model: Luke, x: Tensor, real: Tensor | None = None) -> Tensor:
    """States of words and of the two entities that the second and the third word stand for."""
    return model.joint(x, x[:, 1:3] % 12, named(x), real)


def named(x: Tensor) -> Tensor:
    return mentions_of(SPANS.to(x.device).expand(len(x), -1, -1), x.shape[1])


def joined(words: Tensor, entities: Tensor) -> Tensor:
    """Entities by their mean on each word, so that one tensor shows both."""
    return words + entities.mean((1, 2), keepdim=True)


@case("luke/EntityAwareAttention", EntityAwareAttention)
def _() -> Case:
    def make() -> EntityAwareAttention:
        return EntityAwareAttention(16, 4)

    def one_matrix() -> tuple[Tensor, Tensor]:
        part, x = make().double(), random_rows(2, 6, 16)
        for other in (part.w2e, part.e2w, part.e2e):
            other.load_state_dict(part.q.state_dict())
        real = Padding(torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 1, 1]]).bool())
        return part.joint(x, 4, real), part(x, mask=real)

    def no_entities() -> tuple[Tensor, Tensor]:
        part, x = make().double(), random_rows(2, 6, 16)
        return part.joint(x, 6), part(x)

    return Case(
        make=make,
        run=lambda part, x, mask, state: part.joint(x, 4, mask),
        parity="transformers LukeModel",
        limits={"four equal matrices: attention": one_matrix, "words alone": no_entities},
        refusals={"rows of another width": lambda: make().joint(torch.zeros(1, 6, 8), 4)},
        laws={"cache": NotApplicable("every row sees every row, on purpose"), "order": ORDERED},
    )


@case("luke/EntityEmbeddings", EntityEmbeddings)
def _() -> Case:
    def make(**change: Any) -> EntityEmbeddings:
        return EntityEmbeddings(TINY.but(d_model=16, **change))

    def by_hand() -> tuple[Tensor, Tensor]:
        part = make().double()
        got = part(torch.tensor([[5, 7]]), named(ROW), torch.arange(6))
        rows = part.project(part.tokens.weight[[5, 7]]) + part.segments.weight[0]
        table = part.position.weight
        means = torch.stack(((table[1] + table[2]) / 2, (table[2] + table[3]) / 2))
        return got, part.norm(rows + means)[None]

    def unnamed() -> tuple[Tensor, Tensor]:
        """As wide as the stream there is no projection, and without a mention no place."""
        part = make(d_entity=16)
        set_weights(part, segments__weight=0.0)
        none = torch.zeros(1, 6, 6).bool()
        return part(ROW, none, torch.arange(6)), part.norm(part.tokens(ROW))

    def call(mentions: Any, segments: Any = None) -> Any:
        return lambda: make()(ROW[:, :2], mentions, torch.arange(6), segments)

    return Case(
        make=make,
        run=lambda part, x, mask=None, state=None: part(
            x, torch.eye(x.shape[1]).bool().expand(len(x), -1, -1),
            torch.arange(x.shape[1]),
        ),
        vocab=12,
        parity="transformers LukeModel",
        limits={"two mentions by hand": by_hand, "no mention: the entity": unnamed},
        refusals={
            "mentions that are numbers": call(named(ROW).long()),
            "mentions of other words": call(named(ROW)[..., :4]),
            "an unknown segment": call(named(ROW), torch.full((1, 2), 3)),
            "an unknown entity": lambda: make()(ROW[:, :2] + 40, named(ROW), torch.arange(6)),
        },
        laws={**ALONE, "order": ORDERED},
    )  # fmt: skip


@case("luke", Luke)
def _() -> Case:
    def make() -> Luke:
        return luke(TINY)

    def no_entities() -> tuple[Tensor, Tensor]:
        model, plain = make().double(), roberta.roberta(roberta.TINY).double()
        plain.load_state_dict(
            {n: t for n, t in model.state_dict().items() if n in plain.state_dict()}
        )
        real = torch.tensor([[0, 1, 1, 1, 1, 1]]).bool()
        return model.eval()(ROW, real), plain.eval()(ROW, real)

    def padded() -> tuple[Tensor, Tensor]:
        """An entity that no word names is padding: as if it were not there."""
        model, entities = make().double(), torch.tensor([[5, 7, 3]])
        none = torch.cat((named(ROW), torch.zeros(1, 1, 6).bool()), 1)
        return (
            model.joint(ROW, entities, none)[:, :8],
            model.joint(ROW, entities[:, :2], named(ROW)),
        )

    def one_matrix() -> tuple[Tensor, Tensor]:
        model, entities = make().double(), torch.tensor([[5, 7]])
        for block in model.stack.blocks:
            attn: Any = block.attn
            for other in (attn.w2e, attn.e2w, attn.e2e):
                other.load_state_dict(attn.q.state_dict())
        places = torch.arange(6)
        rows = torch.cat(
            (model.embeddings(ROW, None, places), model.entities(entities, named(ROW), places)), 1
        )
        return model.joint(ROW, entities, named(ROW)), model.stack(rows)

    def run(model: Luke, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        states = read(model, x, padding_of(mask))
        return joined(states[:, : x.shape[1]], states[:, x.shape[1] :])

    return Case(
        make=make,
        run=run,
        vocab=32,
        parity="transformers LukeModel, LukeForMaskedLM",
        limits={
            "no entities: RoBERTa": no_entities,
            "four equal matrices: one sequence": one_matrix,
            "an entity that is not named": padded,
        },
        refusals={
            "an inverted mask": lambda: read(make(), ROW, torch.zeros(1, 6).bool()),
            "no batch axis": lambda: make()(ROW[0]),
            "longer than the table": lambda: make()(torch.full((1, 65), 4)),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("luke/LukeForMaskedLM", LukeForMaskedLM)
def _() -> Case:
    def make() -> LukeForMaskedLM:
        return for_masked_lm(luke(TINY))

    def run(model: LukeForMaskedLM, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        states = read(model.bert, x, padding_of(mask))  # type: ignore[arg-type]
        words, entities = states[:, : x.shape[1]], states[:, x.shape[1] :]
        return joined(model.masked_logits(words), model.entity_logits(entities).square())

    def begins_tied() -> tuple[Tensor, Tensor]:
        model = make()
        return model.masked.head.embedding.weight, model.bert.embeddings.tokens.weight

    return Case(
        make=make,
        run=run,
        vocab=32,
        parity="transformers LukeForMaskedLM",
        limits={"its own table begins as the encoder's": begins_tied},
        refusals={"no batch axis": lambda: make()(ROW[0])},
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("luke/EntityClassifier", EntityClassifier)
def _() -> Case:
    def make(n_entities: int = 2) -> EntityClassifier:
        return EntityClassifier(luke(TINY), 32, 3, n_entities)

    def first_alone() -> tuple[Tensor, Tensor]:
        model = make(1).double().eval()
        return model(ROW, ROW[:, 1:3] % 12, named(ROW)), model.out(read(model.encoder, ROW)[:, 6])

    def run(model: EntityClassifier, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        model.dropout.p = 0.0
        return model(x, x[:, 1:3] % 12, named(x), padding_of(mask))[:, None]

    return Case(
        make=make,
        run=run,
        vocab=32,
        parity="transformers LukeForEntityClassification, LukeForEntityPairClassification",
        limits={"one entity: a layer on its state": first_alone},
        refusals={
            "fewer entities": lambda: make()(ROW, ROW[:, :1] % 12, named(ROW)[:, :1]),
            "no classes": lambda: EntityClassifier(luke(TINY), 32, 0),
        },
        silent={
            "blocks.1.attn.q": "no state of a word is read after the last layer",
            "blocks.1.attn.w2e": "no state of a word is read after the last layer",
        },
        laws=ONE_ROW,
    )
