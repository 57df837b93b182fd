"""Knowledge distillation: a small student learns to match the outputs of a large teacher."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.training.objectives.token import cross_entropy


def soft_cross_entropy(
    student: Tensor, teacher: Tensor, temperature: float = 2.0, mask: Tensor | None = None
) -> Tensor:
    """Mean KL divergence of the student's softened distribution from the teacher's, in nats.

    With p = softmax(teacher / temperature) and q = softmax(student / temperature),

        loss = temperature^2 * mean over positions of  sum_v p[v] * (log p[v] - log q[v])

    Unlike the cross-entropy of Hinton et al., the entropy of p is subtracted: it has no gradient,
    and now 0 means agreement. temperature^2 preserves the scale of the gradients, which the
    division shrinks twice.

    student, teacher: logits (..., V). mask: bool (...), True = this position counts; None: all.
    The teacher gets no gradient.
    Raises ValueError when shapes differ, no position counts, or the temperature is not above 0.

    Source: Hinton, Vinyals, Dean 2015, section 2; Sanh et al. 2019, section 3.
    """
    if not temperature > 0:
        raise ValueError(f"temperature: got {temperature}, expected a number above 0")
    student, teacher = _rows(student, teacher, mask, "student", "teacher")
    log_p = (teacher / temperature).log_softmax(-1)
    log_q = (student / temperature).log_softmax(-1)
    return temperature**2 * (log_p.exp() * (log_p - log_q)).sum(-1).mean()


def hidden_cosine(student: Tensor, teacher: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean of 1 - cos(student, teacher): 0 where hidden states have the same direction.

    student, teacher: states (..., d_model) of one width. mask: bool (...), True = position counts.
    The teacher gets no gradient. Raises ValueError as `soft_cross_entropy` does.

    Source: Sanh et al. 2019, section 3.
    """
    student, teacher = _rows(student, teacher, mask, "student_states", "teacher_states")
    return (1.0 - F.cosine_similarity(student, teacher, dim=-1)).mean()


def distillation_loss(
    student: Tensor,
    teacher: Tensor,
    targets: Tensor,
    student_states: Tensor,
    teacher_states: Tensor,
    *,
    pad: int,
    mask: Tensor | None = None,
    temperature: float = 2.0,
    weights: tuple[float, float, float] = (5.0, 2.0, 1.0),
) -> Tensor:
    """DistilBERT's triple loss:

        loss = weights[0] * soft_cross_entropy(student, teacher, temperature, mask)
             + weights[1] * cross_entropy(student, targets, pad)
             + weights[2] * hidden_cosine(student_states, teacher_states, mask)

    student, teacher: logits (B, T, V). targets: int64 (B, T), `pad` where nothing is to be
    predicted, from `mask_tokens`. student_states, teacher_states: (B, T, d_model), of the last
    layers. mask: bool (B, T), True = real token.

    The paper gives no weights; the defaults are those of its released training command.
    Source: Sanh et al. 2019, "DistilBERT", section 3.
    """
    soft, hard, cosine = weights
    return (
        soft * soft_cross_entropy(student, teacher, temperature, mask)
        + hard * cross_entropy(student, targets, pad)
        + cosine * hidden_cosine(student_states, teacher_states, mask)
    )


def _rows(
    student: Tensor, teacher: Tensor, mask: Tensor | None, *names: str
) -> tuple[Tensor, Tensor]:
    """Return the vectors (N, d) that count, the teacher's without gradient."""
    if student.shape != teacher.shape:
        raise ValueError(
            f"{names[0]}, {names[1]}: got shapes {tuple(student.shape)} and "
            f"{tuple(teacher.shape)}, expected one shape; student and teacher need the same "
            "vocabulary and width"
        )
    if mask is None:
        mask = torch.ones(student.shape[:-1], dtype=torch.bool, device=student.device)
    if mask.dtype != torch.bool or mask.shape != student.shape[:-1]:
        raise ValueError(
            f"mask: got {mask.dtype} of shape {tuple(mask.shape)}, expected torch.bool of "
            f"shape {tuple(student.shape[:-1])}, True = real token"
        )
    if not mask.any():
        raise ValueError("mask: no token is real; drop such batches")
    return student[mask], teacher.detach()[mask]


def hard_distillation(both: tuple[Tensor, Tensor], labels: Tensor, teacher: Tensor) -> Tensor:
    """loss = (CE(label head, labels) + CE(distillation head, argmax teacher)) / 2, in nats.

    labels (B,), teacher's logits (B, n_classes). Source: Touvron et al. 2021, equation 3.
    """
    label, taught = both
    return (F.cross_entropy(label, labels) + F.cross_entropy(taught, teacher.argmax(-1))) / 2
