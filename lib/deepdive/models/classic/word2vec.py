"""word2vec: skip-gram with negative sampling. Mikolov et al. 2013 (two papers).

A word's vector is trained to tell the words that stand near it from words drawn at random. No
hidden layer, no softmax over the vocabulary, no order: only which words meet. Its pairs and its
loss are `deepdive.training.objectives.skip_gram`.

Not as in the paper: sentences are shuffled as pairs and trained in batches, by whatever optimizer
the page takes; the paper goes through the text once with a falling rate.

System: word2vec
Parent: mlp
What differs:
- no hidden layer: the score of two words is one dot product (`SkipGram.forward`)
- no softmax over V words: one true word against k drawn ones (`negative_sampling_loss`)
- the drawn words come from counts to the power 3/4 (`noise`)
- it guesses the words on both sides, each alone (`skip_gram_pairs`), not the next from a window
- frequent words are left out at random (`keep_probability`)
Source: Mikolov et al. 2013, Distributed Representations, sections 2.2 and 2.3
Book: 1.1
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import look_up


class SkipGram(nn.Module):
    """Two vectors a word: one for when it stands in the centre, one for when it stands nearby.

        score(w, c) = words[w] . contexts[c]

    The table of `words` is what is kept. It starts small and uniform, `contexts` at 0, as in the
    authors' program. Source: Mikolov et al. 2013, Distributed Representations, section 2.
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
                f"contexts: came with shape {tuple(contexts.shape)}, expected "
                f"{(*words.shape, 'C')}: C ids for each of the words {tuple(words.shape)}"
            )
        w = look_up(self.words, words, "words")  # (..., d_model)
        c = look_up(self.contexts, contexts, "contexts")  # (..., C, d_model)
        return torch.einsum("...d,...cd->...c", w, c)
