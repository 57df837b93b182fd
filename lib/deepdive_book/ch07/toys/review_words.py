"""The toy that judges generated reviews: what chapter 7 explains.

    toy = review_words()                      # or review_words("plain")
    toy.model(toy.tokens(SENTENCE))           # logits (1, 2): negative, positive
    METHODS["LIME"](toy.asked(SENTENCE, 0))   # what each word does for "negative", (S,)

Its texts come from `deepdive_book.data.labeled_cause_reviews`, where the words that decide are
known. "blanks" was trained on texts of which a share of the words was [MASK], so that it may be
asked about texts with words hidden; "plain" saw whole texts only. `tools/train_review_words.py`
made both.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from deepdive.explain.side_by_side import Asked
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.published.weights import adopt, read
from deepdive.tokenizers import WordTokenizer

SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
POINT = "encoder.embeddings.embedded"  # of the rows that enter the first layer
SENTENCE = "critics do not find the script dull , i find the music cold ."


class ReviewToy(NamedTuple):
    """A trained classifier of reviews, its tokeniser; of how many texts it learned, with how many
    others it was tested, and of how many of those it told the class.
    """

    model: Classifier
    tokenizer: WordTokenizer
    learned: int
    tested: int
    right: int

    def tokens(self, text: str) -> Tensor:
        """[CLS] text [SEP] as ids (1, S + 2). The word at place i of the text is token i + 1."""
        begin, end = self.tokenizer.bos, self.tokenizer.eos
        return torch.tensor([[begin, *self.tokenizer.encode(text), end]])

    def asked(self, text: str, label: int) -> Asked:
        """Why does the model give this text this label? Every method of `side_by_side` answers."""
        owner = torch.tensor([-1, *range(len(text.split())), -1])
        return Asked(self.model, POINT, self.tokens(text), owner, label, self.mask)

    @property
    def mask(self) -> int:
        """The id of [MASK]."""
        return self.tokenizer.vocab.index("[MASK]")


def build_review_words(words: int, seed: int = 0) -> Classifier:
    """Return the model of `review_words`, untrained: 2 layers, 32 wide, 2 heads."""
    torch.manual_seed(seed)
    encoder = bert(vocab_size=words, d_model=32, n_heads=2, n_layers=2, d_ff=64, max_length=24,
                   n_segments=0, dropout=0.0)  # fmt: skip
    return Classifier(encoder, 32, 2, dropout=0.0)


def review_words(kind: str = "blanks") -> ReviewToy:
    """Return the classifier that learned from texts with "blanks", or from "plain" ones."""
    return load_weights("review_words", kind)


def load_weights(name: str, kind: str) -> ReviewToy:
    """Return a trained classifier of this form, and what its file says of it.

    Raises ValueError for a kind of which there is none.
    """
    about = json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
    if kind not in about["right"]:
        raise ValueError(f"kind: there is {', '.join(about['right'])}; got {kind!r}")
    tokenizer = WordTokenizer(about["vocabulary"], specials=SPECIALS)
    model = build_review_words(len(tokenizer))
    adopt(model, read(Path(__file__).with_name(f"{name}_{kind}.safetensors")))
    return ReviewToy(
        model.eval(), tokenizer, about["learned"], about["tested"], about["right"][kind]
    )
