"""What is put on an encoder's states: for its training, and for tasks."""

from deepdive.layers.heads.pretraining import MaskedHead, Pooler, initialise
from deepdive.layers.heads.spans import Span, SpanReader, best_span
from deepdive.layers.heads.tasks import Chooser, Classifier, ImageClassifier, Tagger

__all__ = [
    "Chooser",
    "Classifier",
    "ImageClassifier",
    "MaskedHead",
    "Pooler",
    "Span",
    "SpanReader",
    "Tagger",
    "best_span",
    "initialise",
]
