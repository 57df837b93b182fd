"""Training: `fit` any model on any batches, watch it, stop it at any moment, and go on exactly.

System: transformer_training
Parent: transformer
Place: around
What differs:
- the target is softened: 1 - `smoothing` on the right token (`deepdive.objectives.cross_entropy`)
- the rate rises for `warmup` steps, then falls like 1 / sqrt(step) (`deepdive.optim.inverse_sqrt`)
- Adam with beta2 = 0.98 (`deepdive.optim.adam`), dropout on every sublayer
Time: O(n_parameters)
Memory: O(n_parameters)
Source: Vaswani et al. 2017, sections 5.3 and 5.4.
Book: 2.4
Page: 02_transformer/13_training#label-smoothing
Test: tests/test_objectives.py::test_equals_torch_with_gradients
  tests/test_objectives.py::test_smoothing_is_the_mixture_that_the_paper_states
  tests/test_training.py::test_inverse_sqrt_is_equation_3
  tests/test_training.py::test_a_step_equals_the_equations_by_hand
Oracle: torch.nn.CrossEntropyLoss with label_smoothing; the equations of Adam by hand
Checkpoints: none
"""

from deepdive.seeds import seed_everything
from deepdive.training.diagnose import TrainingDiverged
from deepdive.training.fit import fit
from deepdive.training.history import History
from deepdive.training.interrupt import TrainingInterrupted
from deepdive.training.settings import Keep, Limit, Update, Validation

__all__ = [
    "History",
    "Keep",
    "Limit",
    "TrainingDiverged",
    "TrainingInterrupted",
    "Update",
    "Validation",
    "fit",
    "seed_everything",
]
