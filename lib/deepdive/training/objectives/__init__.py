"""What training minimises, and how its inputs and targets are made.

`token`         cross-entropy with label smoothing, perplexity
`masking`       masked language modelling: what BERT hides and how (`mask_tokens`)
`pairs`         next-sentence prediction and sentence order, from documents
`distillation`  DistilBERT's triple loss: a small model learns from a large one
`sentences`     Sentence-BERT's: pairs and triplets of sentence vectors
"""

from deepdive.training.objectives.distillation import (
    distillation_loss,
    hidden_cosine,
    soft_cross_entropy,
)
from deepdive.training.objectives.masking import mask_id, mask_tokens, special_ids, word_ids
from deepdive.training.objectives.pairs import next_sentence_pairs, sentence_order_pairs
from deepdive.training.objectives.sentences import (
    cosine_regression,
    multiple_negatives,
    pair_features,
    triplet,
)
from deepdive.training.objectives.token import PAD, cross_entropy, perplexity, token_count

__all__ = [
    "PAD",
    "cosine_regression",
    "cross_entropy",
    "distillation_loss",
    "hidden_cosine",
    "mask_id",
    "mask_tokens",
    "multiple_negatives",
    "next_sentence_pairs",
    "pair_features",
    "perplexity",
    "sentence_order_pairs",
    "soft_cross_entropy",
    "special_ids",
    "token_count",
    "triplet",
    "word_ids",
]
