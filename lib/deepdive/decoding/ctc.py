"""CTC decoding: best path, and prefix beam search with an optional language model.

`greedy` takes the most probable symbol of each frame and collapses that one path. A text has many
paths, though, and the most probable text need not have the most probable path. `prefix_beam` keeps
the best prefixes, and for each the probability of all its paths so far, in two parts: those that
end in a blank and those that end in its last symbol. Only after a blank does repeating that symbol
extend the prefix.

    ends[0]      = log sum of the paths of a text that end in a blank
    ends[1]      = log sum of those that end in its last symbol
    score(text)  = logaddexp(ends[0], ends[1]) + the language model's score

With `WordScores` the score is  log p_ctc(text) + alpha log p_lm(words) + beta number of words.

Source: Graves et al. 2006, section 3.2; Hannun et al. 2014, "First-Pass Large Vocabulary Continuous
Speech Recognition using Bi-Directional Recurrent DNNs", algorithm 1.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from deepdive.core.checks import finite, positive
from deepdive.core.masks import describe
from deepdive.decoding.ngram import END, UNKNOWN, Context, NGram
from deepdive.training.objectives.ctc import collapse

Text = tuple[int, ...]
Ends = list[float]  # log sums of a text's paths: those that end in a blank, in its last symbol
NONE = -math.inf


def greedy(logits: Tensor, lengths: Tensor, blank: int = 0) -> list[list[int]]:
    """Return the text of each example's most probable path.

    logits (B, T, V), or their logarithms or probabilities, of which the first `lengths` (B,) frames
    count. Raises ValueError for other shapes, NaN, lengths beyond the frames, and a blank that is
    no symbol.
    """
    if logits.ndim != 3 or lengths.shape != logits.shape[:1]:
        raise ValueError(
            f"logits: got {describe(logits)}, lengths as {describe(lengths)}; expected "
            "(B, T, V) and (B,)"
        )
    n_frames, n_symbols = logits.shape[1:]
    if not 0 <= blank < n_symbols:
        raise ValueError(f"blank={blank}: expected one of the {n_symbols} symbols, from 0")
    if lengths.is_floating_point() or not bool(((lengths >= 0) & (lengths <= n_frames)).all()):
        raise ValueError(
            f"lengths: got {lengths.tolist()}, expected numbers of frames, 0 to {n_frames}"
        )
    if bool(logits.isnan().any()):
        finite("logits", logits)
    best = logits.argmax(-1).tolist()
    return [collapse(row[:n], blank) for row, n in zip(best, lengths.tolist(), strict=True)]


class LanguageModel(Protocol):
    """A language model that scores a text symbol by symbol."""

    def begin(self) -> Any:
        """Return the state of the empty text."""

    def follow(self, state: Any, symbol: int) -> tuple[float, Any]:
        """Return the score of one more symbol, -inf where it is not allowed, and the new state."""

    def end(self, state: Any) -> float:
        """Return the score of ending the text here."""


class Found(NamedTuple):
    """A text from prefix beam search; `log_prob` is log p_ctc, summed over its kept paths."""

    symbols: list[int]
    log_prob: float
    score: float


def prefix_beam(
    log_probs: Tensor,
    *,
    beams: int = 16,
    language_model: LanguageModel | None = None,
    blank: int = 0,
    least: float = 1e-3,
) -> list[Found]:
    """Return the texts of one example from prefix beam search of width `beams`, best first.

    log_probs  (T, V), log p of each symbol in each frame, the output of `log_softmax`
    least      a symbol below this probability is pruned in a frame (never the best); with 0, and
               beams for all prefixes, the search is exact

    The list is empty where the language model allows none of them. Raises ValueError for another
    shape, for numbers that are no log-probabilities, and for a width or `least` out of range.
    """
    positive(beams=beams)
    if log_probs.ndim != 2 or not 0 <= blank < log_probs.shape[1]:
        raise ValueError(f"log_probs: got {describe(log_probs)}, expected (T, V), V > {blank}")
    if not (log_probs <= 1e-3).all():
        raise ValueError(
            "log_probs: some are above 0 or no numbers; expected log_softmax of logits"
        )
    error = log_probs.exp().sum(-1).sub(1).abs().max() if len(log_probs) else 0.0
    if error > 0.01:  # half precision stays below
        raise ValueError(
            f"log_probs: the probabilities of a frame sum to 1 within {float(error):.2g} only; "
            "expected log_softmax of logits"
        )
    if not 0 <= least < 1:
        raise ValueError(f"least={least}: expected a probability, 0 or more and below 1")
    model = _Silent() if language_model is None else language_model
    floor = math.log(least) if least else NONE
    best: dict[Text, Ends] = {(): [0.0, NONE]}
    lm_states: dict[Text, tuple[float, Any]] = {(): (0.0, model.begin())}
    for frame in log_probs.tolist():
        threshold = min(floor, max(frame))
        symbols = [(symbol, p) for symbol, p in enumerate(frame) if p >= threshold and p > NONE]
        grown = _grow(best, symbols, blank)
        lm_states = _follow(lm_states, grown, model)
        scores = {text: _add(*grown[text]) + added for text, (added, _) in lm_states.items()}
        best = {text: grown[text] for text in heapq.nlargest(beams, scores, key=scores.__getitem__)}
    results = []
    for text, ends in best.items():
        (added, state), log_prob = lm_states[text], _add(*ends)
        score = log_prob + added + model.end(state)
        if score > NONE:
            results.append(Found(list(text), log_prob, score))
    return sorted(results, key=lambda one: -one.score)


class _Silent:
    """A language model with score 0."""

    def begin(self) -> None:
        return None

    def follow(self, state: Any, symbol: int) -> tuple[float, None]:
        return 0.0, None

    def end(self, state: Any) -> float:
        return 0.0


def _grow(best: dict[Text, Ends], symbols: list[tuple[int, float]], blank: int) -> dict[Text, Ends]:
    """Extend the prefixes by one frame: each stays, or has one symbol more."""
    grown: dict[Text, Ends] = {}
    for text, (after_blank, after_symbol) in best.items():
        total = _add(after_blank, after_symbol)
        last = text[-1] if text else blank
        for symbol, p in symbols:
            if symbol == blank:
                _put(grown, text, 0, total + p)
            elif symbol == last:
                _put(grown, text, 1, after_symbol + p)
                _put(grown, (*text, symbol), 1, after_blank + p)
            else:
                _put(grown, (*text, symbol), 1, total + p)
    return grown


def _put(grown: dict[Text, Ends], text: Text, which: int, log_p: float) -> None:
    if log_p == NONE:
        return
    if text in grown:
        grown[text][which] = _add(grown[text][which], log_p)
    else:
        grown[text] = [NONE, log_p] if which else [log_p, NONE]


def _follow(
    lm_states: dict[Text, tuple[float, Any]], grown: dict[Text, Ends], model: LanguageModel
) -> dict[Text, tuple[float, Any]]:
    """Return the language model's score and state of each allowed text."""
    result: dict[Text, tuple[float, Any]] = {}
    for text in grown:
        if text in lm_states:
            result[text] = lm_states[text]
        else:
            added, state = lm_states[text[:-1]]
            gain, after = model.follow(state, text[-1])
            if gain > NONE:
                result[text] = added + gain, after
    return result


def _add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == NONE else a + math.log1p(math.exp(b - a))


class WordScores:
    """alpha log p_lm(words) + beta number of words, for texts of letters, as a `LanguageModel`.

    letters  the text of each symbol: letters[3] is that of symbol 3
    space    the text that ends a word; several in a row end one word, at the ends none

    A word is scored when it ends: by a space, or with the text. Before that its letters score 0; in
    a closed vocabulary they must be a prefix of some word, and a text that ends within a word is
    not allowed. In an open one (`UNKNOWN` among the words) any letters are allowed, and an
    out-of-vocabulary word is scored as the unknown word, whatever its letters. The end of the text
    is scored as the end of the sentence.
    """

    def __init__(
        self,
        model: NGram,
        letters: Sequence[str],
        alpha: float = 0.5,
        beta: float = 1.0,
        space: str = " ",
    ) -> None:
        self.model, self.letters, self.space = model, tuple(letters), space
        self.alpha, self.beta = alpha, beta
        words = model.vocabulary
        self._open = UNKNOWN in words
        self._beginnings = {word[:n] for word in words for n in range(1, len(word) + 1)}

    def begin(self) -> tuple[Context, str]:
        """Return the context of the first word, and no letters of it."""
        return self.model.begin, ""

    def follow(self, state: tuple[Context, str], symbol: int) -> tuple[float, tuple[Context, str]]:
        """Score the word that a space ends; append other letters to the word."""
        context, word = state
        letter = self.letters[symbol]
        if letter == self.space:
            return self._ended(context, word)
        word += letter
        return (0.0 if self._open or word in self._beginnings else NONE), (context, word)

    def end(self, state: tuple[Context, str]) -> float:
        """Score the last word and the end of the sentence."""
        last, (context, _) = self._ended(*state)
        return last + self.alpha * self.model.log_prob(END, context)

    def _ended(self, context: Context, word: str) -> tuple[float, tuple[Context, str]]:
        if not word:
            return 0.0, (context, "")
        log_p = self.model.log_prob(word, context)
        score = NONE if log_p == NONE else self.alpha * log_p + self.beta
        return score, (self.model.after(context, word), "")


def words_of(symbols: Sequence[int], letters: Sequence[str], space: str = " ") -> list[str]:
    """Return the words of a text of symbols, split as in `WordScores`."""
    text = "".join(letters[symbol] for symbol in symbols)
    return [word for word in text.split(space) if word]
