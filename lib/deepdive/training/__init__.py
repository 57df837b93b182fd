"""Training: `fit` any model on any batches, with validation, checkpoints, and exact resumption.

System: transformer_training
Parent: transformer
What differs:
- label smoothing: 1 - `smoothing` on the target token
  (`deepdive.training.objectives.cross_entropy`)
- linear warmup of the learning rate for `warmup` steps, then decay like 1 / sqrt(step)
  (`deepdive.training.optim.inverse_sqrt`)
- Adam with beta2 = 0.98 (`deepdive.training.optim.adam`), dropout on every sublayer
Source: Vaswani et al. 2017, sections 5.3 and 5.4.
Book: 2.4
"""

from deepdive.training.diagnose import TrainingDiverged
from deepdive.training.fit import fit
from deepdive.training.history import History
from deepdive.training.interrupt import TrainingInterrupted
from deepdive.training.seeds import seed_everything
from deepdive.training.settings import Keep, Limit, Update, Validation

__all__ = [
    "History", "Keep", "Limit", "TrainingDiverged", "TrainingInterrupted", "Update", "Validation",
    "fit", "seed_everything",
]  # fmt: skip
