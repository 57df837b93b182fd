"""An n-gram language model of words with interpolated Kneser-Ney smoothing.

With a context h of up to order - 1 words, and h' the same context without its first word,

    p(w | h) = (max(c(h w) - D, 0) + D types(h) p(w | h')) / sum over w of c(h w)
    p(w)     = the same with h empty, and 1 / vocabulary size for p(w | h')

c of the longest n-grams is their count in the text; c of shorter ones is the continuation count,
the number of distinct words before them ("Francisco" is frequent, but only after "San", so it is
unlikely elsewhere). No word precedes the start of a sentence, so n-grams from there keep their
count. types(h) is the number of distinct words after h; their discounts D sum to the probability
mass distributed by p(w | h'). An unseen context backs off to h'.

Source: Kneser and Ney 1995; Chen and Goodman 1999, section 3, whose interpolated form this is.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from deepdive.core.checks import positive

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
Context = tuple[str, ...]


class NGram:
    """A language model of words, from sentences that are split into words.

    order       the number of words in an n-gram, including the predicted one
    vocabulary  the allowed words; None: those of the sentences. If it contains `UNKNOWN`, it is
                open: every other word is counted and scored as `UNKNOWN`. Otherwise it is closed:
                any other word has probability 0, and may not occur in the sentences
    discounts   D of each order, unigrams first; None: n1 / (n1 + 2 n2), with n1 and n2 the numbers
                of n-grams that occur once and twice, clamped to 0.1 to 0.9 for small corpora

    The probabilities of the vocabulary and the end of the sentence sum to 1 in every context.
    """

    def __init__(
        self,
        sentences: Iterable[Sequence[str]],
        order: int = 3,
        vocabulary: Collection[str] | None = None,
        discounts: Sequence[float] | None = None,
    ) -> None:
        positive(order=order)
        text = [tuple(sentence) for sentence in sentences]
        words = {word for sentence in text for word in sentence}
        self.order = order
        self.vocabulary = frozenset(words if vocabulary is None else vocabulary) - {END}
        self.begin: Context = (START,)[: order - 1]
        if {START, END} & words or START in self.vocabulary:
            raise ValueError(f"sentences: {START} and {END} are special tokens, not words")
        unknown = words - self.vocabulary
        if unknown and UNKNOWN not in self.vocabulary:
            raise ValueError(
                f"sentences have {len(unknown)} words outside of the closed vocabulary, such as "
                f"{min(unknown)!r}: add them, or add {UNKNOWN!r} for an open vocabulary"
            )
        self._after: list[dict[Context, Counter[str]]] = [
            _by_context(counts) for counts in _counts(map(self._known, text), order)
        ]
        self.discounts = tuple(map(_discount, self._after) if discounts is None else discounts)
        if len(self.discounts) != order or not all(0 <= d <= 1 for d in self.discounts):
            raise ValueError(
                f"discounts={self.discounts}: expected {order} from 0 to 1, one for each order"
            )
        self._found: dict[tuple[str, Context], float] = {}

    def prob(self, word: str, context: Context = ()) -> float:
        """Return p(word | context) for a vocabulary word or `END`. The context, from `begin` and
        `after`, is the last words, with `START` before the first. It may be shorter.
        """
        (word,) = self._known((word,))
        if word not in self.vocabulary and word != END:
            return 0.0
        return self._prob(word, self._last(self._known(context)))

    def log_prob(self, word: str, context: Context = ()) -> float:
        """Return log p(word | context), -inf for a probability of 0. Results are cached."""
        key = word, context
        if key not in self._found:
            p = self.prob(word, context)
            self._found[key] = math.log(p) if p > 0 else -math.inf
        return self._found[key]

    def after(self, context: Context, word: str) -> Context:
        """Return the context of the next word after `word`."""
        return self._last((*context, word))

    def sentence(self, words: Sequence[str]) -> float:
        """Return log p of a full sentence, including its end."""
        total, context = 0.0, self.begin
        for word in (*words, END):
            total += self.log_prob(word, context)
            context = self.after(context, word)
        return total

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        """Return exp(-log p / number of words), where each sentence's end counts as a word.

        Raises ValueError if there is no sentence.
        """
        text = [tuple(sentence) for sentence in sentences]
        if not text:
            raise ValueError("sentences: got none, expected at least one to predict")
        n = sum(len(sentence) + 1 for sentence in text)
        return math.exp(-math.fsum(map(self.sentence, text)) / n)

    def _prob(self, word: str, context: Context) -> float:
        uniform = 1 / (len(self.vocabulary) + 1)  # + 1 for END
        lower = self._prob(word, context[1:]) if context else uniform
        seen = self._after[len(context)].get(context)
        if seen is None:
            return lower
        discount = self.discounts[len(context)]
        discounted = max(seen[word] - discount, 0.0)
        backoff = discount * len(seen)
        return (discounted + backoff * lower) / seen.total()

    def _last(self, words: Context) -> Context:
        return words[max(0, len(words) - self.order + 1) :]

    def _known(self, words: Context) -> Context:
        if UNKNOWN not in self.vocabulary:
            return words
        known = self.vocabulary | {START, END}
        return tuple(word if word in known else UNKNOWN for word in words)


def _counts(text: Iterable[Context], order: int) -> list[Counter[Context]]:
    """Return c of the n-grams of each order, unigrams first."""
    frequency: list[Counter[Context]] = [Counter() for _ in range(order)]
    for sentence in text:
        padded = (START, *sentence, END)
        for n in range(1, order + 1):
            grams = (padded[i : i + n] for i in range(len(padded) - n + 1))
            frequency[n - 1].update(gram for gram in grams if gram[-1] != START)
    counts = [*frequency]
    for n in range(order - 1):
        different = Counter(gram[1:] for gram in frequency[n + 1])
        counts[n] = Counter(
            {g: c if g[0] == START else different[g] for g, c in frequency[n].items()}
        )
    return counts


def _by_context(counts: Counter[Context]) -> dict[Context, Counter[str]]:
    result: dict[Context, Counter[str]] = defaultdict(Counter)
    for gram, count in counts.items():
        result[gram[:-1]][gram[-1]] = count
    return dict(result)


def _discount(after: dict[Context, Counter[str]]) -> float:
    frequencies = Counter(count for words in after.values() for count in words.values())
    once, twice = frequencies[1], frequencies[2]
    return min(0.9, max(0.1, once / (once + 2 * twice))) if once else 0.1
