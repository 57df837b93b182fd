"""Cases of `deepdive.models.efficient.hibert` and `hi_transformer`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.models.efficient import hi_transformer, hibert
from deepdive.models.efficient.hi_transformer import HiTransformer
from deepdive.models.efficient.hibert import Hibert
from laws import ONE_ROW, ORDERED, TWO_SIDED, Case, NotApplicable, case, padding_of

TEXT = torch.tensor([[[4, 9, 6, 2], [8, 5, 7, 2]]])


def _two_words(model: Hibert, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Sentences of one word and an end token, (B, T, 2); the mask is that of the sentences."""
    real = padding_of(mask)
    text = torch.stack((x, torch.full_like(x, 2)), -1)
    return model(text, None if real is None else real[..., None].expand_as(text))


@case("hibert", Hibert)
def _() -> Case:
    def one_sentence() -> tuple[Tensor, Tensor]:
        """A document of one sentence: BERT's last state, through a document encoder of length 1."""
        model = hibert.hibert(hibert.TINY).double().eval()
        last = model.words(TEXT[:, 0])[:, -1:]
        return model(TEXT[:, :1]), model.document(last, torch.ones(1, 1).bool())

    def no_document_layers() -> tuple[Tensor, Tensor]:
        """Without layers of the document, a sentence's state depends on its words alone."""
        model: Any = hibert.hibert(hibert.TINY, n_document_layers=0).double().eval()
        alone = model.words(TEXT[0])[:, -1] + model.document.position.table.weight[:2]
        return model(TEXT), model.document.norm(alone)[None]

    return Case(
        make=lambda: hibert.hibert(hibert.TINY),
        run=_two_words,
        vocab=32,
        parity="transformers BertModel, twice",
        limits={
            "one sentence: BERT's last state": one_sentence,
            "no document layers: sentences by themselves": no_document_layers,
        },
        refusals={
            "no sentence axis": lambda: hibert.hibert(hibert.TINY)(TEXT[0]),
            "an empty document": lambda: hibert.hibert(hibert.TINY)(TEXT, torch.zeros(1, 2, 4) > 0),
            "too many sentences": lambda: hibert.hibert(hibert.TINY, max_sentences=1)(TEXT),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("hi_transformer", HiTransformer)
def _() -> Case:
    def without_feedback() -> tuple[Tensor, Tensor]:
        """HIBERT's sentence states, pooled by attention."""
        model = hi_transformer.hi_transformer(hi_transformer.TINY, feedback=False).double().eval()
        states = Hibert.forward(model, TEXT)
        return model(TEXT), model.pool_sentences(states, torch.ones(1, 2).bool())

    return Case(
        parity="transformers BertModel, twice, and the other equations written out as loops",
        limits={"no feedback: HIBERT's states, pooled": without_feedback},
        refusals={
            "no sentence axis": lambda: hi_transformer.hi_transformer(hi_transformer.TINY)(TEXT[0]),
            "an empty document": lambda: hi_transformer.hi_transformer(hi_transformer.TINY)(
                TEXT, torch.zeros(1, 2, 4) > 0
            ),
        },
        laws={**ONE_ROW, "hooks": NotApplicable("each attention is over one sentence")},
    )
