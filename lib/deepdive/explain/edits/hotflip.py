"""HotFlip: which words are worth trying in a place, by one gradient.

    choices = hotflip(model, point, output, tokens, vectors, 10)
    found = greedy(score, tokens, choices)           # `deepdive.explain.edits.counterfactual`

One backward pass stands in the place of a text for each word and place (`first_order`).

Source: Ebrahimi et al. 2018.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import record


def first_order(
    model: nn.Module, point: str, output: Callable[[], Tensor], vectors: Tensor
) -> Tensor:
    """Return how much the output is expected to change with each word at each place, (S, V):

        gain[s, v] = (vectors[v] - x[s]) . d output / d x[s]

    model, point    the rows x (1, S, d) that pass this hook point are a text's word vectors
    output          runs the model on the text and returns the number to explain, (1,)
    vectors         the vector of each word as it would pass there, (V, d); (S, V, d) where it
                    hangs on the place, as at a point behind positions

    Exact where the output is linear in x; elsewhere the first term of a series, and better the
    smaller the step. At a point behind positions or a norm, `vectors` must have passed them too.
    Raises ValueError for an output that is not (1,), and where the point passes more than one text.
    Source: Ebrahimi et al. 2018, for words instead of letters.
    """
    with torch.enable_grad(), record(model, point) as seen:
        numbers = output()
    (x,) = (rows for calls in seen.values() for rows in calls)
    if numbers.shape != (1,) or x.ndim != 3 or x.shape[0] != 1:
        raise ValueError(
            f"expected an output (1,) and rows (1, S, d) at the hook point; got "
            f"{tuple(numbers.shape)} and {tuple(x.shape)}: explain one text and one number"
        )
    (gradient,) = torch.autograd.grad(numbers[0], x)
    if vectors.ndim == 3:  # (S, V, d)
        gain = (vectors @ gradient[0][:, :, None])[:, :, 0]
    else:
        gain = gradient[0] @ vectors.T
    return (gain - (gradient * x)[0].sum(-1)[:, None]).detach()


def hotflip(
    model: nn.Module,
    point: str,
    output: Callable[[], Tensor],
    tokens: Tensor,
    vectors: Tensor,
    count: int,
    *,
    towards: float = -1.0,
) -> list[list[int]]:
    """Return for each place the words of the `count` most promising changes of all, as choices.

    The rest as in `first_order`; `towards` is -1 to lower the output (a decision of yes becomes
    no), 1 to raise it. Words whose vector is the one already there are left out.
    """
    positive(count=count)
    gain = towards * first_order(model, point, output, vectors)  # (S, V)
    gain = gain.scatter(1, tokens[:, None], -torch.inf)
    choices: list[list[int]] = [[] for _ in tokens]
    for flat in gain.flatten().topk(min(count, gain.numel() - len(tokens))).indices.tolist():
        place, word = divmod(flat, gain.shape[1])
        choices[place].append(word)
    return choices
