"""CTC decoding: best path, and prefix beam search with an optional language model.

`greedy` takes the most probable symbol of each frame and collapses that one path. But a text has
many paths, and the most probable text need not have the most probable path. `prefix_beam` keeps
the best prefixes, and for each the probability of all its paths so far, split into paths that end
in a blank and paths that end in the prefix's last symbol. Repeating that symbol extends the prefix
only after a blank.

    ends[0]      = log of the summed probability of a text's paths that end in a blank
    ends[1]      = the same, of its paths that end in its last symbol
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
Ends = list[float]  # log p of a text's paths that end in a blank, and in its last symbol
NONE = -math.inf


def greedy(logits: Tensor, lengths: Tensor, blank: int = 0) -> list[list[int]]:
    """Return the text of each example's most probable path.

    logits (B, T, V), or log-probabilities or probabilities; only the first `lengths` (B,) frames
    are used. Raises ValueError for other shapes, NaN, lengths greater than T, and a blank outside
    the vocabulary.
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
            f"lengths: got {lengths.tolist()}, expected whole numbers of frames, 0 to {n_frames}"
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
        """Return the score of one more symbol (-inf if it is not allowed) and the new state."""

    def end(self, state: Any) -> float:
        """Return the score of ending the text here."""


class Found(NamedTuple):
    """A text from prefix beam search; `log_prob` is log p_ctc, summed over its unpruned paths."""

    symbols: list[int]
    log_prob: float
    score: float


def prefix_beam(
    log_probs: Tensor,
    *,
    beams: int = 16,
    language_model: LanguageModel | None = None,
    blank: int = 0,
    min_prob: float = 1e-3,
) -> list[Found]:
    """Return the texts of one example from prefix beam search of width `beams`, best first.

    log_probs  (T, V), log p of each symbol in each frame, the output of `log_softmax`
    min_prob   symbols below this probability are pruned in a frame, except the best; with 0, and
               enough beams for all prefixes, the search is exact

    The list is empty if the language model allows no text. Raises ValueError for another shape, for
    values that are not log-probabilities, and for a width or `min_prob` out of range.
    """
    positive(beams=beams)
    if log_probs.ndim != 2 or not 0 <= blank < log_probs.shape[1]:
        raise ValueError(f"log_probs: got {describe(log_probs)}, expected (T, V), V > {blank}")
    if not (log_probs <= 1e-3).all():
        raise ValueError("log_probs: some are above 0 or NaN; expected the log_softmax of logits")
    error = log_probs.exp().sum(-1).sub(1).abs().max() if len(log_probs) else 0.0
    if error > 0.01:  # half precision stays below
        raise ValueError(
            f"log_probs: a frame's probabilities sum to 1 only within {float(error):.2g}; "
            "expected the log_softmax of logits"
        )
    if not 0 <= min_prob < 1:
        raise ValueError(f"min_prob={min_prob}: expected a probability, 0 or more and below 1")
    model = _Silent() if language_model is None else language_model
    floor = math.log(min_prob) if min_prob else NONE
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
    """A language model that scores every text 0."""

    def begin(self) -> None:
        return None

    def follow(self, state: Any, symbol: int) -> tuple[float, None]:
        return 0.0, None

    def end(self, state: Any) -> float:
        return 0.0


def _grow(best: dict[Text, Ends], symbols: list[tuple[int, float]], blank: int) -> dict[Text, Ends]:
    """Extend the paths by one frame: each prefix stays the same or gains one symbol."""
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
    """A `LanguageModel` of characters, from words: alpha log p_lm(words) + beta number of words.

    letters  the character of each symbol: letters[3] is that of symbol 3
    space    the character that ends a word; repeated, leading, and trailing spaces add no words

    A word is scored when it ends, at a space or the end of the text; until then its characters
    score 0. With a closed vocabulary they must be a prefix of some word, and a text may not end
    within a word. With an open one (`UNKNOWN` among the words) any characters are allowed, and an
    out-of-vocabulary word scores as `UNKNOWN`. The end of the text scores as the end of sentence.
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
        """Return the context of the first word, and an empty prefix of it."""
        return self.model.begin, ""

    def follow(self, state: tuple[Context, str], symbol: int) -> tuple[float, tuple[Context, str]]:
        """Score the word if the symbol is a space; otherwise append the character to the word."""
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
    """Return the words of a sequence of symbols, split as in `WordScores`."""
    text = "".join(letters[symbol] for symbol in symbols)
    return [word for word in text.split(space) if word]
