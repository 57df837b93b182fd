"""Model translation: another model, which can be read, that says what this one says.

    yes = score(texts) > 0                               # the model's decisions, not the truth
    tree = decision_tree(bags(texts, n_words), yes, depth=3)
    for rule in rules(tree): print(rule.text(words))
    fidelity(decide(rules(tree), bags(others, n_words)), score(others) > 0)

A translation explains as far as it is faithful: `fidelity` is measured on texts that it was not
made from, beside its floor, what the more common decision alone would get. A recurrent classifier
is translated to a finite automaton in `deepdive.explain.surrogates.angluin`.

System: model_translation
Parent: none
What differs:
- the whole model is explained, not one decision: a second model is fitted to its answers
- a decision tree on bags of words (`decision_tree`), read as rules (`rules`) that need no tree any
  more (`decide`)
- a finite automaton that accepts what a recurrent network accepts (`angluin.extract`)
- what a bag cannot say (order, negation) is lost, and shows as fidelity below 1
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
    """Where these words are in the text, and those are not, the decision is `yes`.

    count    how many texts the rule was made from
    share    how many of them the model decides as the rule does, 0 to 1
    """

    present: tuple[int, ...]
    absent: tuple[int, ...]
    yes: bool
    count: int
    share: float

    def text(self, words: Sequence[str]) -> str:
        """The rule in words: "good, no awful: yes (40 texts, 0.98)"."""
        parts = [words[i] for i in self.present] + [f"no {words[i]}" for i in self.absent]
        says = "yes" if self.yes else "no"
        return f"{', '.join(parts) or 'always'}: {says} ({self.count} texts, {self.share:.2f})"


def bags(texts: Sequence[Tensor] | Tensor, n_words: int) -> Tensor:
    """Return which words are in each text, bool (N, n_words); order and number are lost."""
    positive(n_words=n_words)
    found = torch.zeros(len(texts), n_words, dtype=torch.bool)
    for row, tokens in zip(found, texts, strict=True):
        row[tokens] = True
    return found


def decision_tree(bag: Tensor, yes: Tensor, depth: int = 3, seed: int = 0) -> Any:
    """Return scikit-learn's tree of at most `depth` questions, fitted to the model's decisions.

    bag    which words are in each text, bool (N, V)
    yes    what the model says of it, bool (N,)

    Each question is "is this word in the text?", chosen to make the answers below it purer.
    Raises ValueError where the decisions are all the same: there is nothing to translate.
    Source: Breiman et al. 1984 (CART); Craven and Shavlik 1996 for fitting it to a network.
    """
    from sklearn.tree import DecisionTreeClassifier

    positive(depth=depth)
    if bag.ndim != 2 or yes.shape != bag.shape[:1]:
        raise ValueError(
            f"bag must be (N, V) and yes (N,); got {tuple(bag.shape)} and {tuple(yes.shape)}"
        )
    if bool(yes.all()) or not bool(yes.any()):
        raise ValueError("the model decides all texts alike: give texts of both decisions")
    return DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(
        bag.numpy(), yes.numpy().astype(bool)
    )


def rules(tree: Any) -> list[Rule]:
    """Return the rules of a tree, one a leaf: together they decide every text, each text once."""
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
    """Return what the rules say of each text, bool (N,), for bags (N, V).

    Raises ValueError where a text is met by no rule, or by more than one.
    """
    met = torch.stack(
        [bag[:, list(rule.present)].all(1) & ~bag[:, list(rule.absent)].any(1) for rule in rules], 1
    )
    if not (met.sum(1) == 1).all():
        raise ValueError("each text must meet one rule: give all rules of one tree")
    return torch.tensor([rule.yes for rule in rules])[met.long().argmax(1)]


def fidelity(said: Tensor, model: Tensor) -> tuple[float, float]:
    """Return the share of texts on which both decide alike, and its floor: what always saying the
    model's more common decision would get. `said` and `model` are bool (N,).
    """
    if said.shape != model.shape or said.ndim != 1 or not len(said):
        raise ValueError(
            f"expected decisions (N,) on the same texts; got {tuple(said.shape)} and "
            f"{tuple(model.shape)}"
        )
    common = float(model.double().mean())
    return float((said == model).double().mean()), max(common, 1 - common)
