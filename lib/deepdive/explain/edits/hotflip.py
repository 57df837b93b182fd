"""HotFlip: propose word substitutions at each position from one gradient.

    choices = hotflip(model, point, output, tokens, vectors, 10)
    found = greedy(score, tokens, choices)           # `deepdive.explain.edits.counterfactual`

One backward pass replaces a forward pass for each word at each position (`first_order`).

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
    """Return the first-order change of the output for each word at each position, (S, V):

        gain[s, v] = (vectors[v] - x[s]) . d output / d x[s]

    model, point    x (1, S, d) at this hook point are a text's embeddings
    output          runs the model on the text and returns the number to explain, (1,)
    vectors         each word's embedding at this point, (V, d); (S, V, d) if it depends on the
                    position, as at a point after position embeddings

    Exact if the output is linear in x; otherwise a first-order Taylor expansion, better for smaller
    steps. At a point after position embeddings or a norm, `vectors` must include them.
    Raises ValueError for an output that is not (1,), and if the point is passed several texts.
    Source: Ebrahimi et al. 2018, for words instead of letters.
    """
    with torch.enable_grad(), record(model, point) as seen:
        numbers = output()
    (x,) = (rows for calls in seen.values() for rows in calls)
    if numbers.shape != (1,) or x.ndim != 3 or x.shape[0] != 1:
        raise ValueError(
            f"output, point: got shapes {tuple(numbers.shape)} and {tuple(x.shape)}, expected (1,) "
            "and (1, S, d); explain one text and one number"
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
    toward: float = -1.0,
) -> list[list[int]]:
    """Return the `count` most promising substitutions overall, as a list of words per position.

    Other arguments as in `first_order`; `toward` is -1 to lower the output (a decision of yes
    becomes no), 1 to raise it. The current word of a position is excluded.
    """
    positive(count=count)
    gain = toward * first_order(model, point, output, vectors)  # (S, V)
    gain = gain.scatter(1, tokens[:, None], -torch.inf)
    choices: list[list[int]] = [[] for _ in tokens]
    for flat in gain.flatten().topk(min(count, gain.numel() - len(tokens))).indices.tolist():
        position, word = divmod(flat, gain.shape[1])
        choices[position].append(word)
    return choices
