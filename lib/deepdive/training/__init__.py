"""Training: `fit` any model on any batches, watch it, stop it at any moment, and go on exactly."""

from deepdive.seeds import seed_everything
from deepdive.training.diagnose import TrainingDiverged
from deepdive.training.fit import fit
from deepdive.training.history import History
from deepdive.training.interrupt import TrainingInterrupted

__all__ = ["History", "TrainingDiverged", "TrainingInterrupted", "fit", "seed_everything"]
