"""What is put on an encoder's states: for its training, and for tasks."""

from deepdive.layers.heads.pretraining import MaskedHead, Pooler, initialize
from deepdive.layers.heads.spans import Span, SpanHead, best_span
from deepdive.layers.heads.tasks import (
    Classifier,
    ImageClassifier,
    MultipleChoiceHead,
    TokenClassificationHead,
    pair_features,
)

__all__ = [
    "Classifier", "ImageClassifier", "MaskedHead", "MultipleChoiceHead", "Pooler", "Span",
    "SpanHead", "TokenClassificationHead", "best_span", "initialize", "pair_features",
]  # fmt: skip
