"""From next-token scores to sequences: greedy, sampling and beam search, all through one cache.

A model that generates has `begin(*inputs) -> state` and `step(tokens (B, t), state) -> logits
(B, t, V)`; its state has `reorder(index)`, which selects and repeats batch rows:

    greedy(model, src, src_mask)                         # [[7, 12, 9], [4, 4], ...]
    sample(model, prompt=[[BOS, 17]], top_p=0.9)         # a language model takes no source
    beam(model, src, src_mask, width=5)[0][0].tokens     # the best hypothesis of sequence 0

They return the new tokens: without the prompt, without the end token. The model runs in evaluation
mode and without gradients; its mode is restored.

`Prompted` scores labels or generates answers for many questions after one prompt, in one sequence.
`split_prefix` finds the prompt that texts share, in their tokens.

`speculative` samples as `sample` does, one text, with fewer calls of a large model: a fast draft
model proposes tokens, such as the n-gram model `Counted`.

`decoding.ctc` decodes frame-wise symbol probabilities of speech, also with the word n-gram model of
`decoding.ngram`.

System: decoding
Parent: seq2seq
What differs:
- the next token is the most probable (`greedy`) or sampled (`sample`), or `width` hypotheses are
  kept (`beam`)
- keys and values of earlier tokens are cached (`begin`, `step`), not recomputed
Source: Wu et al. 2016, section 7; Holtzman et al. 2020, section 3.
Book: 2.5
"""

from deepdive.decoding.beams import beam, power_penalty, wu_penalty
from deepdive.decoding.count_model import Counted
from deepdive.decoding.published import beam_settings, greedy_settings
from deepdive.decoding.sampling import greedy, sample
from deepdive.decoding.scores import (
    filter_min_p,
    filter_top_k,
    filter_top_p,
    forbid,
    force,
    penalize,
    renormalize,
)
from deepdive.decoding.session import generating
from deepdive.decoding.shared_prefix import Prompted, split_prefix
from deepdive.decoding.speculative_decoding import speculative

__all__ = [
    "Counted", "Prompted", "beam", "beam_settings", "filter_min_p", "filter_top_k", "filter_top_p",
    "forbid", "force", "generating", "greedy", "greedy_settings", "penalize", "power_penalty",
    "renormalize", "sample", "speculative", "split_prefix", "wu_penalty",
]  # fmt: skip
