"""The losses of a model that is tuned to answer: by answers that are given, and by answers of which
one is preferred.
"""

import torch.nn.functional as F
from torch import Tensor


def log_probability(logits: Tensor, tokens: Tensor, answer: Tensor) -> Tensor:
    """Return log p(answer | what stands before it), (B,), for logits (B, T, V) of tokens (B, T);
    `answer` bool (B, T), True = a token of the answer.

    Raises ValueError where a text's first token is of its answer: nothing has foretold it.
    """
    if bool(answer[:, 0].any()):
        raise ValueError("answer: the first token of a text cannot be of its answer: give a mark")
    said = logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return (said * answer[:, 1:]).sum(1)


def answer_loss(logits: Tensor, tokens: Tensor, answer: Tensor) -> Tensor:
    """Return the mean of -log p over the tokens of the answers alone: what was asked is read, not
    learned. The loss of supervised tuning.

    Source: Ouyang et al. 2022, section 3.5 (there called supervised fine-tuning).
    """
    return -log_probability(logits, tokens, answer).sum() / answer.sum()


def implicit_reward(now: Tensor, before: Tensor, beta: float) -> Tensor:
    """Return beta * (log p now - log p before): the reward by which the tuned model, beside the one
    it began as, is the best there is.

    Source: Rafailov et al. 2023, equation 5, up to a number that is the prompt's alone.
    """
    return beta * (now - before)


def dpo_loss(
    chosen: Tensor, rejected: Tensor, chosen_before: Tensor, rejected_before: Tensor, beta: float
) -> Tensor:
    """Return the mean of -log sigmoid(reward of the chosen - reward of the rejected answer), for
    log probabilities (B,), now and before tuning: direct preference optimisation.

    A small beta lets the model go far from what it was.
    Source: Rafailov et al. 2023, equation 7.
    """
    good = implicit_reward(chosen, chosen_before, beta)
    bad = implicit_reward(rejected, rejected_before, beta)
    return -F.logsigmoid(good - bad).mean()
