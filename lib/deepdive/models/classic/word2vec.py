"""word2vec: skip-gram with negative sampling. Mikolov et al. 2013 (two papers).

A word's vector is trained to distinguish its context words from random negative samples. There is
no hidden layer, no softmax over the vocabulary, and no word order: only co-occurrence matters.
Pairs and loss are in `deepdive.training.objectives.skip_gram`.

Not as in the paper: word pairs are shuffled and trained in batches, with the optimizer that the
page chooses; the paper makes one pass over the text with a decaying learning rate.

System: word2vec
Parent: mlp
What differs:
- no hidden layer: the score of two words is one dot product (`SkipGram.forward`)
- no softmax over V words: one true word against k negative samples (`negative_sampling_loss`)
- negative samples come from the unigram distribution to the power 3/4 (`noise`)
- it predicts context words on both sides separately (`skip_gram_pairs`), not the next from a window
- subsampling of frequent words (`keep_probability`)
Source: Mikolov et al. 2013, Distributed Representations, sections 2.2 and 2.3
Book: 1.1
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import look_up


class SkipGram(nn.Module):
    """Skip-gram with two embeddings per word: as center word and as context word.

        score(w, c) = words[w] . contexts[c]

    The `words` table is the result. It is initialized small and uniform, `contexts` to 0, as in the
    authors' code. Source: Mikolov et al. 2013, Distributed Representations, section 2.
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        positive(vocab_size=vocab_size, d_model=d_model)
        self.vocab_size, self.d_model = vocab_size, d_model
        self.words = nn.Parameter(torch.empty(vocab_size, d_model))
        self.contexts = nn.Parameter(torch.zeros(vocab_size, d_model))
        nn.init.uniform_(self.words, -0.5 / d_model, 0.5 / d_model)

    def forward(self, words: Tensor, contexts: Tensor) -> Tensor:
        """Return scores (..., C) of words (...) with contexts (..., C), both integer ids."""
        if contexts.shape[:-1] != words.shape:
            raise ValueError(
                f"contexts: got shape {tuple(contexts.shape)}, expected "
                f"{(*words.shape, 'C')}: C ids for each word in {tuple(words.shape)}"
            )
        w = look_up(self.words, words, "words")  # (..., d_model)
        c = look_up(self.contexts, contexts, "contexts")  # (..., C, d_model)
        return torch.einsum("...d,...cd->...c", w, c)
