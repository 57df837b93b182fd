"""How probable the next word is after the last few: counted, and smoothed as Kneser and Ney do.

With a context h of up to order - 1 words, and h' the context without its first,

    p(w | h) = (max(c(h w) - D, 0) + D types(h) p(w | h')) / sum over w of c(h w)
    p(w)     = the same with h empty, and 1 / vocabulary size for p(w | h')

c of the longest n-grams counts how often they stand in the text; c of shorter ones counts how many
different words stand before them ("Francisco" is frequent, but after "San" alone, so it is a poor
guess elsewhere). Nothing stands before the start of a sentence, so what begins there keeps its
frequency. What is taken away, D for each of the types(h) different words, is what p(w | h') shares
out. A context that was never seen leaves the word to h' alone.

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

    order       how many words an n-gram has, the predicted one included
    vocabulary  the words that may come; None: those of the sentences. With `UNKNOWN` among them it
                is open: every other word counts, and is scored, as that one. Without it is closed:
                another word has a probability of 0, and may not stand in the sentences
    discounts   D of each order, unigrams first; None: n1 / (n1 + 2 n2) of the n-grams that count
                once and twice, kept within 0.1 to 0.9, since few sentences give extremes

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
            raise ValueError(f"sentences: {START} and {END} are the model's own, no words")
        unknown = words - self.vocabulary
        if unknown and UNKNOWN not in self.vocabulary:
            raise ValueError(
                f"sentences have {len(unknown)} words outside of the closed vocabulary, such as "
                f"{min(unknown)!r}: add them, or {UNKNOWN!r}, which opens it"
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
        """Return p(word | context): a word of the vocabulary, or `END`. The context is what `begin`
        and `after` give: the last words, `START` before the first. A shorter one is allowed.
        """
        (word,) = self._known((word,))
        if word not in self.vocabulary and word != END:
            return 0.0
        return self._prob(word, self._last(self._known(context)))

    def log_prob(self, word: str, context: Context = ()) -> float:
        """Return log p(word | context), -inf for a probability of 0. Each is worked out once."""
        asked = word, context
        if asked not in self._found:
            p = self.prob(word, context)
            self._found[asked] = math.log(p) if p > 0 else -math.inf
        return self._found[asked]

    def after(self, context: Context, word: str) -> Context:
        """Return the context of the word that follows `word`."""
        return self._last((*context, word))

    def sentence(self, words: Sequence[str]) -> float:
        """Return log p of a whole sentence, its end included."""
        total, context = 0.0, self.begin
        for word in (*words, END):
            total += self.log_prob(word, context)
            context = self.after(context, word)
        return total

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        """Return exp(-log p / number of words), where each sentence's end counts as a word.

        Raises ValueError where there is no sentence.
        """
        text = [tuple(sentence) for sentence in sentences]
        if not text:
            raise ValueError("sentences: there is none, so that there is nothing to predict")
        n = sum(len(sentence) + 1 for sentence in text)
        return math.exp(-math.fsum(map(self.sentence, text)) / n)

    def _prob(self, word: str, context: Context) -> float:
        alike = 1 / (len(self.vocabulary) + 1)  # one more: the end
        lower = self._prob(word, context[1:]) if context else alike
        seen = self._after[len(context)].get(context)
        if seen is None:
            return lower
        discount = self.discounts[len(context)]
        left = max(seen[word] - discount, 0.0)
        taken = discount * len(seen)
        return (left + taken * lower) / seen.total()

    def _last(self, words: Context) -> Context:
        return words[max(0, len(words) - self.order + 1) :]

    def _known(self, words: Context) -> Context:
        if UNKNOWN not in self.vocabulary:
            return words
        kept = self.vocabulary | {START, END}
        return tuple(word if word in kept else UNKNOWN for word in words)


def _counts(text: Iterable[Context], order: int) -> list[Counter[Context]]:
    """c of the n-grams of each order, unigrams first."""
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
    found: dict[Context, Counter[str]] = defaultdict(Counter)
    for gram, count in counts.items():
        found[gram[:-1]][gram[-1]] = count
    return dict(found)


def _discount(after: dict[Context, Counter[str]]) -> float:
    many = Counter(count for words in after.values() for count in words.values())
    once, twice = many[1], many[2]
    return min(0.9, max(0.1, once / (once + 2 * twice))) if once else 0.1
