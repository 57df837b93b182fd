"""Fine-tuning losses: supervised fine-tuning on given answers, and direct preference optimization
on pairs of answers.
"""

import torch.nn.functional as F
from torch import Tensor


def log_probability(logits: Tensor, tokens: Tensor, answer: Tensor) -> Tensor:
    """Return log p(answer | context), (B,), for logits (B, T, V) of tokens (B, T);
    `answer` bool (B, T), True = a token of the answer.

    Raises ValueError where a text's first token is in its answer: nothing precedes it.
    """
    if bool(answer[:, 0].any()):
        raise ValueError("answer: the first token of a text cannot be in its answer; prepend BOS")
    log_p = logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return (log_p * answer[:, 1:]).sum(1)


def answer_loss(logits: Tensor, tokens: Tensor, answer: Tensor) -> Tensor:
    """Return the mean of -log p over the tokens of the answers only: the prompt is context, without
    a loss. The loss of supervised fine-tuning.

    Source: Ouyang et al. 2022, section 3.5 (there called supervised fine-tuning).
    """
    return -log_probability(logits, tokens, answer).sum() / answer.sum()


def implicit_reward(now: Tensor, before: Tensor, beta: float) -> Tensor:
    """Return beta * (log p now - log p before): the implicit reward, for which the fine-tuned
    policy is optimal, given its reference, the model before fine-tuning.

    Source: Rafailov et al. 2023, equation 5, up to a term that depends only on the prompt.
    """
    return beta * (now - before)


def dpo_loss(
    chosen: Tensor, rejected: Tensor, chosen_before: Tensor, rejected_before: Tensor, beta: float
) -> Tensor:
    """Return the mean of -log sigmoid(reward of the chosen - reward of the rejected answer), for
    log probabilities (B,), now and before fine-tuning: direct preference optimization.

    A small beta lets the model move far from the reference.
    Source: Rafailov et al. 2023, equation 7.
    """
    good = implicit_reward(chosen, chosen_before, beta)
    bad = implicit_reward(rejected, rejected_before, beta)
    return -F.logsigmoid(good - bad).mean()
