"""Model translation (global surrogates): an interpretable model fitted to a model's predictions.

    yes = score(texts) > 0                               # the model's predictions, not the labels
    tree = decision_tree(bags(texts, n_words), yes, depth=3)
    for rule in rules(tree): print(rule.text(words))
    fidelity(decide(rules(tree), bags(others, n_words)), score(others) > 0)

A surrogate explains only as far as it is faithful: `fidelity` is measured on held-out texts, and
compared with the majority baseline. A recurrent classifier is translated to a finite automaton in
`deepdive.explain.surrogates.angluin`.

System: model_translation
Parent: none
What differs:
- the whole model is explained, not one prediction: a second model is fitted to its predictions
- a decision tree on bags of words (`decision_tree`), converted to rules (`rules`) that classify
  without the tree (`decide`)
- a finite automaton that accepts the same words as a recurrent network (`angluin.extract`)
- what a bag of words ignores (order, negation) is lost, and shows as fidelity below 1
Source: Craven and Shavlik 1996 (trees); Frosst and Hinton 2017; Weiss, Goldberg and Yahav 2018
    (automata).
Book: 7.3.2.2
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from deepdive.core.checks import positive


@dataclass(frozen=True)
class Rule:
    """If the `present` words are in the text, and the `absent` ones are not, predict `yes`.

    count    how many training texts the rule covers
    share    the fraction of them on which the model agrees with the rule, 0 to 1
    """

    present: tuple[int, ...]
    absent: tuple[int, ...]
    yes: bool
    count: int
    share: float

    def text(self, words: Sequence[str]) -> str:
        """The rule as text: "good, no awful: yes (40 texts, 0.98)"."""
        parts = [words[i] for i in self.present] + [f"no {words[i]}" for i in self.absent]
        outcome = "yes" if self.yes else "no"
        return f"{', '.join(parts) or 'always'}: {outcome} ({self.count} texts, {self.share:.2f})"


def bags(texts: Sequence[Tensor] | Tensor, n_words: int) -> Tensor:
    """Return the bag of words of each text, bool (N, n_words), without order and counts."""
    positive(n_words=n_words)
    found = torch.zeros(len(texts), n_words, dtype=torch.bool)
    for row, tokens in zip(found, texts, strict=True):
        row[tokens] = True
    return found


def decision_tree(bag: Tensor, yes: Tensor, depth: int = 3, seed: int = 0) -> Any:
    """Return a scikit-learn tree of at most this depth, fitted to the model's predictions.

    bag    which words are in each text, bool (N, V)
    yes    the model's predictions, bool (N,)

    Each split asks "is this word in the text?", chosen to reduce the impurity of its children.
    Raises ValueError if all predictions are the same: there is nothing to fit.
    Source: Breiman et al. 1984 (CART); Craven and Shavlik 1996 for fitting it to a network.
    """
    from sklearn.tree import DecisionTreeClassifier

    positive(depth=depth)
    if bag.ndim != 2 or yes.shape != bag.shape[:1]:
        raise ValueError(
            f"bag must be (N, V) and yes (N,); got {tuple(bag.shape)} and {tuple(yes.shape)}"
        )
    if bool(yes.all()) or not bool(yes.any()):
        raise ValueError("yes: got one class only, expected texts with both predictions")
    return DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(
        bag.numpy(), yes.numpy().astype(bool)
    )


def rules(tree: Any) -> list[Rule]:
    """Return the rules of a tree, one per leaf: each text is covered by exactly one rule."""
    inner = tree.tree_

    def below(node: int, present: tuple[int, ...], absent: tuple[int, ...]) -> list[Rule]:
        if inner.children_left[node] < 0:
            no, yes = inner.value[node][0] / inner.value[node][0].sum()
            count = int(inner.n_node_samples[node])
            return [Rule(present, absent, bool(yes > no), count, float(max(yes, no)))]
        word = int(inner.feature[node])
        return [
            *below(inner.children_right[node], (*present, word), absent),
            *below(inner.children_left[node], present, (*absent, word)),
        ]

    return below(0, (), ())


def decide(rules: Sequence[Rule], bag: Tensor) -> Tensor:
    """Return the rules' prediction for each text, bool (N,), for bags (N, V).

    Raises ValueError if a text is covered by no rule, or by more than one.
    """
    matches = torch.stack(
        [bag[:, list(rule.present)].all(1) & ~bag[:, list(rule.absent)].any(1) for rule in rules], 1
    )
    if not (matches.sum(1) == 1).all():
        raise ValueError("rules: expected one matching rule per text; give all rules of one tree")
    return torch.tensor([rule.yes for rule in rules])[matches.long().argmax(1)]


def fidelity(said: Tensor, model: Tensor) -> tuple[float, float]:
    """Return the agreement of both models' predictions, bool (N,) each, and its baseline: that of
    always predicting the model's majority class.
    """
    if said.shape != model.shape or said.ndim != 1 or not len(said):
        raise ValueError(
            f"said, model: got {tuple(said.shape)} and {tuple(model.shape)}, expected predictions "
            "(N,) on the same texts"
        )
    yes_rate = float(model.double().mean())
    return float((said == model).double().mean()), max(yes_rate, 1 - yes_rate)
