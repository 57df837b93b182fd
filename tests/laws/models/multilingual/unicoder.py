"""Cases of `deepdive.models.multilingual.unicoder`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.models.bert.bert import TINY, bert
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.models.multilingual.unicoder import Recovered, WordRecovery
from laws import ORDERED, TWO_SIDED, Case, NotApplicable, case, padding_of, random_rows, set_weights
from laws.models.bert.bert import FIVE, ROW

ORACLE = "none: the equation by loops, tests/models/multilingual/test_unicoder.py"


@case("unicoder", WordRecovery)
def _() -> Case:
    def make() -> WordRecovery:
        return WordRecovery(for_masked_lm(bert(TINY)))

    def run(model: WordRecovery, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """A text that is its own translation."""
        return model(x, x, padding_of(mask), padding_of(mask))

    def a_translation_of_one_word() -> tuple[Tensor, Tensor]:
        """Every place has that word's row: what fills gaps, behind the embeddings."""
        model = make().double().eval()
        inner = model.model
        row = inner.bert.embeddings(FIVE[:, 2:3], None, torch.arange(1))
        return model(ROW, FIVE[:, 2:3]), inner.masked_logits(inner.bert.stack(row.expand(1, 3, -1)))

    return Case(
        make=make,
        run=run,
        vocab=32,
        parity=ORACLE,
        limits={"a translation of one word": a_translation_of_one_word},
        refusals={
            "an inverted mask": lambda: make()(ROW, FIVE, ROW < 0),
            "an inverted mask of the translation": lambda: make()(ROW, FIVE, None, FIVE < 0),
            "translations of other sentences": lambda: make()(ROW, FIVE.expand(2, -1)),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("unicoder/Recovered", Recovered)
def _() -> Case:
    def run(part: Recovered, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return part(x, x, padding_of(mask))

    def no_opinion() -> tuple[Tensor, Tensor]:
        x, y = random_rows(2, 3, 5), random_rows(2, 4, 5, seed=6)
        part = set_weights(Recovered(5), score__weight=0.0)
        return part(x, y), y.mean(1, keepdim=True).expand(2, 3, 5)

    def only_products() -> tuple[Tensor, Tensor]:
        """With [0 ; 0 ; 1] it is attention by dot products, unscaled."""
        x, y = random_rows(2, 3, 5), random_rows(2, 4, 5, seed=6)
        part = Recovered(5).double()
        with torch.no_grad():
            part.score.weight.copy_(torch.tensor([0.0] * 10 + [1.0] * 5))
        return part(x, y), torch.nn.functional.scaled_dot_product_attention(x, y, y, scale=1.0)

    one_for_all = NotApplicable("each row is made of all rows of the other, on purpose")
    return Case(
        make=lambda: Recovered(16),
        run=run,
        parity=ORACLE,
        limits={"weights of 0: the mean": no_opinion, "products alone": only_products},
        refusals={
            "other sentences": lambda: Recovered(5)(random_rows(2, 3, 5), random_rows(1, 3, 5)),
            "no width": lambda: Recovered(0),
        },
        laws={"no_leak": one_for_all, "cache": one_for_all},
    )
