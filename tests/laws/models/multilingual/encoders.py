"""Cases of `deepdive.models.multilingual`: the encoders."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import Causal
from deepdive.models.bert import roberta
from deepdive.models.bert.bert import Bert, bert
from deepdive.models.bert.embeddings import BertEmbeddings, LanguageEmbeddings
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive.models.multilingual import mbert, rembert, xlm, xlmr
from deepdive.models.multilingual.xlm import CausalXlm, Xlm, XlmWithLM
from deepdive.positions import LearnedPosition
from laws import Case, Fails, NotApplicable, Pair, case, padding_of, set_weights
from laws.models.bert.bert import FIVE, ROW, SMALL, encoder
from laws.models.bert.embeddings import PLACES, embeddings_case


def as_its_parent(make: Callable[[], Any], parent: Callable[[], Any]) -> Pair:
    """The two have the same parts: given its weights, the parent says the same."""

    def pair() -> tuple[Tensor, Tensor]:
        model, plain = make().double().eval(), parent().double().eval()
        plain.load_state_dict(model.state_dict())
        return model(ROW), plain(ROW)

    return pair


@case("mbert", BertForMaskedLM)
def _() -> Case:
    def make() -> BertForMaskedLM:
        return for_masked_lm(mbert.mbert(mbert.TINY))

    plain = as_its_parent(make, lambda: for_masked_lm(bert(**SMALL)))
    return encoder(make, "BertForMaskedLM", {"as many pieces: BERT": plain})


@case("xlmr", BertForMaskedLM)
def _() -> Case:
    def make() -> BertForMaskedLM:
        return for_masked_lm(xlmr.xlmr(xlmr.TINY))

    plain = as_its_parent(make, lambda: for_masked_lm(roberta.roberta(roberta.TINY)))
    refusals = {"a second text": lambda: make()(ROW, None, torch.ones_like(ROW))}
    return encoder(make, "XLMRobertaForMaskedLM", {"as many pieces: RoBERTa": plain}, refusals)


@case("rembert", BertForMaskedLM)
def _() -> Case:
    def make(**changes: Any) -> BertForMaskedLM:
        return rembert.for_masked_lm(rembert.rembert(rembert.TINY, **changes))

    def coupled() -> tuple[Tensor, Tensor]:
        """As wide as the stream, no projection, one matrix for both: an mBERT."""
        model, plain = make(d_embedding=32, d_output=32).double(), for_masked_lm(bert(**SMALL))
        state = {n: t for n, t in model.state_dict().items() if "project" not in n}
        eye = {"project__weight": torch.eye(32), "project__bias": 0.0}
        set_weights(model.bert.embeddings, **eye)
        model.masked.head.embedding.weight.data = model.bert.embeddings.tokens.weight.data
        tied = state["bert.embeddings.tokens.weight"]
        plain.double().eval().load_state_dict(state | {"masked.head.embedding.weight": tied})
        return model.eval()(ROW), plain(ROW)

    refusals = {"no output": lambda: make(d_output=0)}
    limits = {"both as wide as the stream, and one matrix: mBERT": coupled}
    return encoder(make, "RemBertForMaskedLM", limits, refusals)


LANGUAGES = torch.tensor([[0, 0, 2, 2, 1]])


def told(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Call an XLM with two languages in each text, the second's places begun again."""
    at = torch.arange(x.shape[1], device=x.device).expand(x.shape)
    return model(x, padding_of(mask), (at > 2).long() + 1, at % 3)


def xlm_case(make: Callable[[], Any], parity: str, limits: Any, **more: Any) -> Case:
    """Return the case of an XLM, its head or not."""
    declared = encoder(make, parity, limits)
    refusals = {
        **declared.refusals,
        "an unknown language": lambda: make()(FIVE, None, LANGUAGES + 1),
        "languages of another shape": lambda: make()(FIVE, None, LANGUAGES[:, :3]),
        "a place beyond the table": lambda: make()(FIVE, None, None, LANGUAGES + 63),
    }
    return replace(declared, run=told, refusals=refusals, **more)


@case("xlm/Xlm", Xlm)
def _() -> Case:
    def make(**changes: Any) -> Bert:
        return xlm.xlm(xlm.TINY, **changes)

    def no_languages() -> tuple[Tensor, Tensor]:
        model = make().double().eval()
        plain = bert(**SMALL | {"d_ff": 128, "n_segments": 0}).double().eval()
        plain.load_state_dict({n: t for n, t in model.state_dict().items() if "languages" not in n})
        return model(FIVE), plain(FIVE)

    def without_rows() -> tuple[Tensor, Tensor]:
        model = make().double().eval()
        set_weights(model, embeddings__languages__weight=0.0)
        return model(FIVE, None, LANGUAGES), model(FIVE)

    limits = {"no languages: BERT": no_languages, "rows of 0: none is told": without_rows}
    return xlm_case(make, "XLMModel", limits)


@case("xlm/CausalXlm", CausalXlm)
def _() -> Case:
    def make() -> Bert:
        return xlm.xlm(xlm.TINY, model=CausalXlm)

    def masked() -> tuple[Tensor, Tensor]:
        """The stack of an encoder, under a causal mask."""
        model = make().double().eval()
        rows = model.embeddings(FIVE, None, torch.arange(5))
        return model(FIVE), model.stack(rows, mask=Causal())

    limits = {"the stack under a causal mask": masked}
    laws = {
        "order": Fails("positions and the causal mask tell the tokens apart"),
        "cache": NotApplicable("it learns to guess what comes next, and writes nothing"),
    }
    return xlm_case(make, "XLMModel", limits, laws=laws)


@case("xlm", XlmWithLM)
def _() -> Case:
    def make() -> XlmWithLM:
        return xlm.for_lm(xlm.xlm(xlm.TINY))

    def its_parts() -> tuple[Tensor, Tensor]:
        model = make().double().eval()
        rows = model.bert(FIVE, None, LANGUAGES) @ model.bert.embeddings.tokens.weight.T
        return model(FIVE, None, LANGUAGES), rows + model.scores.bias

    return xlm_case(make, "XLMWithLMHeadModel", {"states times the embedding": its_parts})


@case("xlm/LanguageEmbeddings", LanguageEmbeddings)
def _() -> Case:
    def make(n_languages: int = 3) -> LanguageEmbeddings:
        return LanguageEmbeddings(TokenEmbedding(32, 16), LearnedPosition(8, 16), n_languages)

    def none_told() -> tuple[Tensor, Tensor]:
        part = make()
        plain = BertEmbeddings(TokenEmbedding(32, 16), LearnedPosition(8, 16), 0)
        state = {n: t for n, t in part.state_dict().items() if "languages" not in n}
        plain.load_state_dict(state)
        return part(ROW, None, PLACES), plain(ROW, None, PLACES)

    def run(part: LanguageEmbeddings, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return part(x, x % 3, torch.arange(x.shape[1], device=x.device))

    return embeddings_case(
        make,
        "XLMModel",
        run=run,
        limits={"none told: BertEmbeddings without segments": none_told},
        refusals={
            "an unknown language": lambda: make()(ROW, ROW, PLACES),
            "one language alone has no row": lambda: make(1)(ROW, ROW * 0, PLACES),
        },
    )
