"""Shared-prefix decoding: many questions after one prompt whose keys and values are cached once.

    log p(label) = sum over i of log p(label_i | prompt, question, label_1 ... label_(i-1))

The demonstrations are most of a few-shot prompt, and they are the same for every question and every
label. So their keys and values are cached, and the questions are packed into one sequence: each
attends only to the prompt and itself, with the position numbers it would have by itself.

    whole = [tokenizer.encode(demonstrations + question) for question in questions]
    prefix, rests = split_prefix(whole)  # as token ids: "\\n\\n" has other tokens before more text
    prompt = Prompted(model)
    prompt.replace(prefix)  # keeps what the old prompt shares with the new one
    prompt.labels(rests, [tokenizer.encode(" yes"), ...])
    prompt.write(rests, stop=tokenizer.encode("\\n"))

Encode each text as a whole and split its tokens. Tokens of separately encoded parts can differ from
those of the joined text, and then the model sees a text that it never saw in training.

Source: Brown et al. 2020, "Language Models are Few-Shot Learners", sections 2 and 2.4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import KVCache
from deepdive.core.checks import positive
from deepdive.core.masks import Causal, Prefix, Segments

Tokens = Sequence[int]
TOGETHER = 512  # the maximum number of question tokens packed into one sequence


class Prompted:
    """A decoder-only `model`, set to evaluation mode, with a cached prompt of `tokens`."""

    def __init__(self, model: nn.Module, tokens: Tokens = ()) -> None:
        for part in ("decoder", "head"):
            if not hasattr(model, part):
                raise TypeError(f"model: {type(model).__name__} has no {part}; give a DecoderOnly")
        self.model, self.cache = model.eval(), KVCache()
        self.tokens: list[int] = []
        self.read(tokens)

    @property
    def length(self) -> int:
        """The number of prompt tokens, shared by all questions."""
        return self.cache.length

    def read(self, tokens: Tokens) -> None:
        """Append `tokens` to the prompt."""
        if len(tokens):
            SideBySide(self.model, self.cache).step({0: tokens})
            self.tokens += tokens

    def crop(self, length: int) -> None:
        """Drop the prompt after the first `length` tokens."""
        self.cache.crop(length)
        del self.tokens[length:]

    def replace(self, tokens: Tokens) -> None:
        """Make `tokens` the prompt. The keys and values of their common prefix are kept."""
        self.crop(common_prefix([self.tokens, tokens]))
        self.read(tokens[self.length :])

    def labels(self, questions: Sequence[Tokens], labels: Sequence[Tokens]) -> Tensor:
        """Return log p of each label after each question, (N, L).

        A question is processed once for all labels of one token, and again for each longer label.
        Raises ValueError if there are no questions or no labels, or if one is empty.
        """
        _none_empty(questions=questions, labels=labels)
        requests: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
        for n, question in enumerate(questions):
            for k, label in enumerate(labels):
                requests[*question, *label[:-1]].append((n, k))
        result = torch.empty(len(questions), len(labels))
        for text, states in self._asked(list(requests)):
            first = min(len(questions[n]) for n, _ in requests[text])
            logs = self._log_probs(states[first - 1 :])  # of the tokens after the question
            for n, k in requests[text]:
                start, label = len(questions[n]) - first, list(labels[k])
                result[n, k] = logs[range(start, start + len(label)), label].sum()
        return result

    def write(
        self, questions: Sequence[Tokens], max_length: int = 64, stop: Tokens = ()
    ) -> list[list[int]]:
        """Return the greedy continuation of each question, up to the first token in `stop`."""
        _none_empty(questions=questions)
        positive(max_length=max_length)
        outputs: list[list[int]] = []
        for batch in _rows(questions):
            texts, length = dict(enumerate(batch)), self.length
            answers: list[list[int]] = [[] for _ in batch]
            session = SideBySide(self.model, self.cache)
            for _ in range(max_length):
                last = torch.stack([states[-1] for states in session.step(texts)])
                best = self._log_probs(last).argmax(-1).tolist()
                texts = {i: [t] for i, t in zip(texts, best, strict=True) if t not in stop}
                for i, tokens in texts.items():
                    answers[i] += tokens
                if not texts:
                    break
            self.crop(length)
            outputs += answers
        return outputs

    def _asked(self, texts: Sequence[Tokens]) -> Iterator[tuple[Any, Tensor]]:
        """Yield each text with the hidden states of its tokens; the cache is restored."""
        for batch in _rows(texts):
            length = self.length
            states = SideBySide(self.model, self.cache).step(dict(enumerate(batch)))
            self.crop(length)
            yield from zip(batch, states, strict=True)

    @torch.no_grad()
    def _log_probs(self, states: Tensor) -> Tensor:
        return self.model.head(states).log_softmax(-1)  # type: ignore[operator]


class SideBySide:
    """Texts packed into one sequence, each of which continues the cached prompt independently."""

    def __init__(self, model: nn.Module, cache: KVCache) -> None:
        self.decoder: Any = model.decoder
        self.cache, self.shared = cache, cache.length
        self.owner = torch.full((1, self.shared), -1)  # the text of each token in the cache,
        self.at = torch.arange(self.shared)  # and its position
        self.read: dict[int, int] = defaultdict(int)  # each text's number of cached tokens

    @torch.no_grad()
    def step(self, texts: Mapping[int, Tokens]) -> list[Tensor]:
        """Return the hidden states (n, d_model) of each text's next n tokens, by its number."""
        positions: list[int] = []
        owner: list[int] = []
        for number, tokens in texts.items():
            start = self.shared + self.read[number]
            positions += range(start, start + len(tokens))
            owner += [number] * len(tokens)
            self.read[number] += len(tokens)
        self.owner = torch.cat([self.owner, torch.tensor([owner])], dim=1)
        at, decoder = torch.tensor(positions), self.decoder
        self.at = torch.cat([self.at, at])
        x = decoder.embedding(torch.tensor([[t for text in texts.values() for t in text]]))
        x = decoder.position.embed(decoder.embedded(x), at)
        mask = Causal() & (Segments(self.owner) | Prefix(self.shared))
        states = decoder.stack(x, mask=mask, positions=self.at, cache=self.cache)
        return list(states[0].split([len(text) for text in texts.values()]))


def common_prefix(sequences: Sequence[Tokens]) -> int:
    """Return the number of tokens with which all sequences begin."""
    shortest = min(map(len, sequences))
    columns = zip(*sequences, strict=False)
    return next((i for i, column in enumerate(columns) if len({*column}) > 1), shortest)


def split_prefix(sequences: Sequence[Tokens]) -> tuple[list[int], list[list[int]]]:
    """Return the longest common prefix, and the rest of each sequence: at least its last token.

    Raises ValueError if there are no sequences, or if one is empty.
    """
    _none_empty(sequences=sequences)
    end = min(common_prefix(sequences), min(map(len, sequences)) - 1)
    return list(sequences[0][:end]), [list(tokens[end:]) for tokens in sequences]


def _rows(texts: Sequence[Tokens]) -> Iterator[list[Tokens]]:
    """Yield batches of the texts, in order, of at most `TOGETHER` tokens (or of one text)."""
    batch: list[Tokens] = []
    for text in texts:
        if batch and sum(map(len, batch)) + len(text) > TOGETHER:
            yield batch
            batch = []
        batch.append(text)
    yield batch


def _none_empty(**given: Sequence[Tokens]) -> None:
    for name, texts in given.items():
        if not texts or not all(map(len, texts)):
            raise ValueError(f"{name}: got none, or an empty one; expected at least one token each")
