"""Cases of BERT and of the encoders that follow it, the cheaper ones too."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.core import gelu_tanh
from deepdive.models.bert import albert, distilbert, ibert, roberta
from deepdive.models.bert.bert import TINY, Bert, bert
from deepdive.models.bert.pretraining import (
    BertForMaskedLM,
    BertForPreTraining,
    for_masked_lm,
    for_pretraining,
)
from deepdive.models.efficient import bigbird, fnet, longformer, nystromformer
from deepdive.models.efficient.longformer import Longformer
from deepdive.published import from_config
from deepdive_book.site.atlas.examples import EXAMPLES
from laws import ORDERED, TWO_SIDED, Case, Pair, Refuses, case, with_padding

ROW, FIVE = torch.tensor([[4, 9, 6]]), torch.tensor([[4, 9, 6, 8, 5]])
NO_WEIGHTS = Refuses("no T x S weights exist: record says so")
SMALL: dict[str, Any] = {
    "vocab_size": 32,
    "d_model": 32,
    "n_heads": 4,
    "n_layers": 2,
    "d_ff": 64,
    "max_length": 64,
}


def encoder(
    make: Any,
    parity: str,
    limits: Mapping[str, Pair],
    refusals: Mapping[str, Any] | None = None,
    silent: Mapping[str, str] | None = None,
    **laws: Any,
) -> Case:
    """Return the case of an encoder, `make` or a system's example, that every token sees whole."""
    make = EXAMPLES[make].make if isinstance(make, str) else make
    return Case(
        make=make,
        run=with_padding,
        vocab=32,
        parity=f"transformers {parity}",
        limits=limits,
        refusals={
            "an inverted mask": lambda: make()(ROW, torch.zeros(1, 3).bool()),
            "longer than the table": lambda: make()(torch.full((1, 65), 4)),
            "no batch axis": lambda: make()(ROW[0]),
            **(refusals or {}),
        },
        silent=silent or {},
        laws={**TWO_SIDED, "order": ORDERED, **laws},
    )


@case("bert/Bert", Bert)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        model = bert(vocab_size=32, d_model=8, n_heads=2, n_layers=0).double().eval()
        return model(ROW), model.embeddings(ROW, None, torch.arange(3))

    def make() -> Bert:
        return bert(TINY)

    refusals = {
        "a float mask": lambda: make()(ROW, torch.ones(1, 3)),
        "an unknown token": lambda: make()(ROW + 40),
    }
    return encoder(make, "BertModel", {"no layers: the embeddings": no_layers}, refusals)


@case("bert/BertForMaskedLM", BertForMaskedLM)
def _() -> Case:
    def make() -> BertForMaskedLM:
        return for_masked_lm(bert(TINY))

    def its_parts() -> tuple[Tensor, Tensor]:
        model = make().double()
        return model(ROW), model.masked(model.bert(ROW))

    parity = "RobertaForMaskedLM, DistilBertForMaskedLM"
    return encoder(make, parity, {"encoder, head": its_parts})


@case("bert", BertForPreTraining)
def _() -> Case:
    def follows() -> tuple[Tensor, Tensor]:
        model = for_pretraining(bert(TINY)).double()
        states = model.bert(ROW)
        return model.next_logits(states), model.next(model.pooler(states[:, :1]))

    other = "the other head: `next_logits` reads the first state, whatever stands there"
    limits, silent = {"encoder, first state, head": follows}, {"pooler": other, "next": other}
    return encoder("bert", "BertForPreTraining", limits, silent=silent)


@case("roberta", BertForMaskedLM)
def _() -> Case:
    def a_bert() -> tuple[Tensor, Tensor]:
        """Nothing is padded, and BERT's table is RoBERTa's without the rows before its first."""
        model = roberta.roberta(roberta.TINY).double().eval()
        plain, state = bert(**SMALL, n_segments=1, eps=1e-5).double().eval(), model.state_dict()
        table = "embeddings.position.table.weight"
        plain.load_state_dict(state | {table: state[table][2:]})
        return model(ROW), plain(ROW)

    return encoder("roberta", "RobertaForMaskedLM", {"no padding": a_bert})


@case("ibert", BertForMaskedLM)
def _() -> Case:
    def in_floats() -> tuple[Tensor, Tensor]:
        model = ibert.ibert(ibert.TINY).double().eval()
        plain = roberta.roberta(roberta.TINY).double().eval()
        plain.load_state_dict(model.state_dict())
        return model(ROW), plain(ROW)

    def not_calibrated() -> object:
        return ibert.integer(ibert.ibert(ibert.TINY), {})

    refusals = {"no ranges": not_calibrated}
    return encoder("ibert", "IBertModel", {"in floats: RoBERTa": in_floats}, refusals)


@case("albert", Bert)
def _() -> Case:
    def in_a_row() -> tuple[Tensor, Tensor]:
        model = albert.albert(albert.TINY).double().eval()
        rows = model.embeddings(ROW, None, torch.arange(3))
        for _ in range(3):
            rows = model.stack.blocks[0](rows)
        return model(ROW), rows

    return encoder("albert", "AlbertForPreTraining", {"its one block, thrice": in_a_row})


@case("distilbert", Bert)
def _() -> Case:
    def a_teacher() -> tuple[Tensor, Tensor]:
        """A student of a teacher with one layer is that teacher."""
        teacher = bert(**SMALL | {"n_layers": 1}).double().eval()
        return distilbert.student(teacher)(ROW), teacher(ROW)

    return encoder("distilbert", "DistilBertForMaskedLM", {"one layer: BERT": a_teacher})


@case("longformer", Longformer)
def _() -> Case:
    def make(**change: Any) -> Longformer:
        return longformer.longformer(longformer.TINY, **change)

    def everyone() -> tuple[Tensor, Tensor]:
        """All tokens global, and projections as they start: an encoder without windows."""
        model, plain = make().double(), roberta.roberta(roberta.TINY).double()
        state = {n: t for n, t in model.state_dict().items() if ".global_" not in n}
        plain.load_state_dict(state)
        return model(FIVE, global_tokens=FIVE > 0), plain.eval()(FIVE)

    unasked = "no token is global here; with global tokens test_parity_longformer.py sees it"
    refusals = {
        "marks of another shape": lambda: make()(FIVE, global_tokens=FIVE[:, :2] > 0),
        "an odd window": lambda: make(window=3),
        "windows for other layers": lambda: make(n_layers=3),
    }
    limits = {"all tokens global, projections as they start: RoBERTa": everyone}
    silent = {"global_q": unasked, "global_kv": unasked}
    return encoder(make, "LongformerModel", limits, refusals, silent)


@case("bigbird", Bert)
def _() -> Case:
    def short() -> tuple[Tensor, Tensor]:
        """Up to seven blocks here: a text so short is attended in full."""
        model, plain = bigbird.bigbird(bigbird.TINY), bert(**SMALL, activation=gelu_tanh)
        plain.load_state_dict(model.state_dict())
        return model.double()(FIVE), plain.double().eval()(FIVE)

    full = {
        **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0),
        "model_type": "big_bird",
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        **dict.fromkeys(("vocab_size", "hidden_size", "intermediate_size"), 8),
        **dict.fromkeys(("num_attention_heads", "num_hidden_layers"), 1),
        "max_position_embeddings": 8,
        "type_vocab_size": 2,
        "attention_type": "original_full",
    }
    refusals = {"a config of full attention": lambda: from_config(full)}
    return encoder("bigbird", "BigBirdModel", {"a short text: BERT": short}, refusals)


@case("nystromformer", Bert)
def _() -> Case:
    def full() -> tuple[Tensor, Tensor]:
        """A landmark for each token, and no convolution: BERT's attention."""
        sizes = SMALL | {"dropout": 0.0}
        model = nystromformer.nystromformer(**sizes, n_landmarks=64, kernel=None)
        plain = bert(**sizes, eps=1e-5, activation=gelu_tanh)
        plain.embeddings = model.embeddings
        plain.stack.load_state_dict(model.stack.state_dict())
        return model.double().eval()(ROW), plain.double().eval()(ROW)

    limits = {"all landmarks": full}
    return encoder("nystromformer", "NystromformerModel", limits, hooks=NO_WEIGHTS)


@case("fnet", Bert)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        model = fnet.fnet(vocab_size=32, d_model=16, n_layers=0).double().eval()
        return model(ROW), model.embeddings(ROW, None, torch.arange(3))

    limits = {"no layers: the embeddings": no_layers}
    return encoder("fnet", "FNetModel", limits, hooks=NO_WEIGHTS)
