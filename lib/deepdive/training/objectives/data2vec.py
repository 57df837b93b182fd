"""data2vec: a student with masked input predicts a teacher's states of the full input. Baevski et
al. 2022, "data2vec: A General Framework for Self-supervised Learning in Speech, Vision and
Language".

The objective is the same for text, speech, and images: only the encoder differs.

What differs from BERT:
- the target of a masked position is not a token, but a contextualized representation: the mean
  of a teacher's last layers' states there, each normalized (`averaged_states`)
- the teacher is the student's exponential moving average (`ema_update`), and has no gradient
- the loss is a squared difference of states (`state_loss`)

Source: Baevski et al. 2022, section 3, and their released code.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.hooks import record


@torch.no_grad()
def ema_update(teacher: nn.Module, student: nn.Module, decay: float) -> None:
    """Update the teacher by EMA: teacher = decay teacher + (1 - decay) student.

    Both have the same parameters. Raises ValueError for a decay outside 0 to 1.
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"decay: got {decay}, expected 0 to 1")
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast, 1 - decay)


def decay_at(step: int, first: float = 0.999, last: float = 0.9999, steps: int = 1) -> float:
    """Return the teacher's decay: linear from `first` to `last` at `steps`, then constant.

    Early in training the student changes fast, and the teacher should follow.
    """
    return last if step >= steps else first + (last - first) * step / steps


@torch.no_grad()
def averaged_states(teacher: nn.Module, layers: int, *inputs: Tensor) -> Tensor:
    """Return the targets (B, T, d_model): the mean over the last `layers` blocks' states,

        target = 1 / K  sum over l = L - K + 1 .. L  of  norm(state_l)

    where norm subtracts a vector's mean and divides by its standard deviation, without gain and
    bias. The teacher, which has blocks in `stack`, receives `inputs` unmasked, in evaluation mode.
    Raises ValueError for more layers than it has.
    """
    blocks = list(teacher.get_submodule("stack.blocks").children())
    if not 1 <= layers <= len(blocks):
        raise ValueError(f"layers: got {layers}, expected 1 to {len(blocks)}, the teacher's layers")
    was_training = teacher.training
    teacher.eval()
    with record(teacher, "stack.blocks.*.stream") as states:
        teacher(*inputs)
    teacher.train(was_training)
    last = list(states.values())[-layers:]
    return torch.stack([F.layer_norm(state, state.shape[-1:]) for (state,) in last]).mean(0)


def state_loss(predicted: Tensor, target: Tensor, hidden: Tensor) -> Tensor:
    """loss = mean over masked positions and dimensions of (predicted - target)^2

    predicted, target (B, T, d_model), the target without gradient; hidden bool (B, T). The paper's
    loss for images is also squared, summed over d_model dimensions and divided by sqrt(d_model):
    this one times sqrt(d_model). Raises ValueError where nothing is masked.
    """
    if not hidden.any():
        raise ValueError("hidden: no position is masked, so there is nothing to predict")
    return (predicted[hidden] - target.detach()[hidden]).square().mean()
