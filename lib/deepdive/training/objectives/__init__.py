"""What training minimises, and how its inputs and targets are made.

`token`         cross-entropy with label smoothing, perplexity
`masking`       masked language modelling: what BERT hides and how (`mask_tokens`)
`noises`        BART's five ways to damage a text
`masked_runs`   MASS's: a run hidden from the encoder, which the decoder writes
`rewriting`     XNLG's: a sentence written again, from a damaged copy or its translation
`plugged`       VECO's: gaps filled alone, and with the translation beside
`gap_sentences` Pegasus': the sentences that say most of the rest
`futures`       ProphetNet's: the next token, guessed from fewer and fewer
`orders`        permutation language modelling: in which order tokens come (`order_tokens`)
`pairs`         next-sentence prediction and sentence order, from documents
`replaced`      ELECTRA's: a generator fills gaps, a discriminator finds what it wrote
`permuted`      MPNet's: the last tokens of a drawn order, guessed in turn
`spans`         T5's: spans cut out, and written one after the other (`corrupt_spans`)
`recurring`     Splinter's: words that stand twice, cut out once, and found again
`distillation`  DistilBERT's triple loss, DeiT's: a small model learns from a large one
`entities`      LUKE's: which entities are hidden, beside the words (`mask_entities`)
`sets`          DETR's: a set of boxes, matched with the things of a scene
`ctc`           CTC's: a text taught to frames that nobody marked, over all ways to place it
`sentences`     Sentence-BERT's: pairs and triplets of sentence vectors
`translation_ranking`  LaBSE's: translations find each other in a batch, by a margin
`pixels`        MAE's: the pixels of hidden patches
`states`        data2vec's: the states of a teacher that is the student's moving average
`codes`         wav2vec 2.0's: the code of a hidden row, found among others
`translation_contrast`  InfoXLM's: a sentence finds its translation among a queue of keys
`hierarchical_contrast`  HICTL's: sentences, and words of a sentence, told from others
`agreement`     AMBER's: attention across two sentences, there and back
`code_switching`  ALM's: phrases of a sentence exchanged for their translations
`cross_attention`  ERNIE-M's: gaps that the other language alone can fill
`paraphrases`   Unicoder's: which sentence is the translation, and texts in two languages
`units`         HuBERT's: the unit of a hidden row, made by k-means
`tables`        TaBERT's: names of hidden columns, values of hidden cells
`adversarial`   SAGAN's: one makes images, the other tells them from real ones
`answers`       of tuning: answers that are given (`answer_loss`), or preferred (`dpo_loss`)
`translation_pairs` XLM's: a sentence and its translation in one row, gaps in both
`skip_gram`     word2vec's: words that meet against words drawn at random
"""

from deepdive.training.objectives.adversarial import Adversaries, adversarial_loss, hinge_losses
from deepdive.training.objectives.amber_alignment import across, sentence_alignment, word_agreement
from deepdive.training.objectives.code_switching import Phrase, code_switch, phrase_pairs
from deepdive.training.objectives.ctc import align, collapse, ctc_loss, frames_needed
from deepdive.training.objectives.data2vec import averaged_states, decay_at, ema_update, state_loss
from deepdive.training.objectives.denoising import (
    delete_each,
    infill,
    mask_each,
    permute_sentences,
    poisson,
    rotate,
)
from deepdive.training.objectives.distillation import (
    distillation_loss,
    hard_distillation,
    hidden_cosine,
    soft_cross_entropy,
)
from deepdive.training.objectives.entities import mask_entities
from deepdive.training.objectives.ernie_m import back_translate
from deepdive.training.objectives.future_ngram import future_loss
from deepdive.training.objectives.gap_sentences import (
    gap_sentences,
    select_gap_sentences,
    unigram_f1,
)
from deepdive.training.objectives.hierarchical_contrast import (
    interpolate_hard_negatives,
    nearest_words,
    sentence_contrast,
    word_contrast,
)
from deepdive.training.objectives.hubert_units import Units, layer_states, make_units, unit_loss
from deepdive.training.objectives.masked_autoencoding import hidden_patches, mae_step, pixel_loss
from deepdive.training.objectives.masking import mask_id, mask_tokens, special_ids, word_ids
from deepdive.training.objectives.mass import mask_span, split_masked_span
from deepdive.training.objectives.mpnet import permute, two_streams
from deepdive.training.objectives.pairs import next_sentence_pairs, sentence_order_pairs
from deepdive.training.objectives.paraphrases import (
    alternate_sentences,
    hard_paraphrases,
    paraphrase_pairs,
)
from deepdive.training.objectives.permutation_lm import order_tokens, seen_in
from deepdive.training.objectives.preference_losses import answer_loss, dpo_loss
from deepdive.training.objectives.recurring_span_selection import (
    make_recurring_span_questions,
    recurring_spans,
    span_selection_loss,
)
from deepdive.training.objectives.replaced_token_detection import (
    electra_loss,
    electra_losses,
    replaced_loss,
    sample_replacements,
)
from deepdive.training.objectives.sentences import cosine_regression, multiple_negatives, triplet
from deepdive.training.objectives.set_prediction import set_loss
from deepdive.training.objectives.skip_gram import (
    keep_probability,
    negative_sampling_loss,
    noise,
    skip_gram_pairs,
)
from deepdive.training.objectives.spans import (
    corrupt_spans,
    hidden_counts,
    mask_spans,
    restore_spans,
)
from deepdive.training.objectives.tabert import cell_loss, choose_columns, column_loss
from deepdive.training.objectives.token import bilm_loss, cross_entropy, perplexity, token_count
from deepdive.training.objectives.translation_contrast import (
    KeyQueue,
    mix_translations,
    translation_contrast,
)
from deepdive.training.objectives.translation_pairs import TranslationPairs, join_translations
from deepdive.training.objectives.translation_ranking import additive_margin, translation_ranking
from deepdive.training.objectives.veco import MaskedBatch, plugged_loss
from deepdive.training.objectives.wav2vec2_contrastive import (
    codebook_perplexity,
    contrastive_loss,
    diversity_loss,
    hidden_spans,
    sample_negatives,
)
from deepdive.training.objectives.xnlg import (
    Side,
    corrupt,
    language_prefix,
    local_shuffle,
    rewriting_loss,
    xnlg_loss,
)

__all__ = [
    "Adversaries", "KeyQueue", "MaskedBatch", "Phrase", "Side", "TranslationPairs", "Units",
    "across", "additive_margin", "adversarial_loss", "align", "alternate_sentences", "answer_loss",
    "averaged_states", "back_translate", "bilm_loss", "cell_loss", "choose_columns", "code_switch",
    "codebook_perplexity", "collapse", "column_loss", "contrastive_loss", "corrupt",
    "corrupt_spans", "cosine_regression", "cross_entropy", "ctc_loss", "decay_at", "delete_each",
    "distillation_loss", "diversity_loss", "dpo_loss", "electra_loss", "electra_losses",
    "ema_update", "frames_needed", "future_loss", "gap_sentences", "hard_distillation",
    "hard_paraphrases", "hidden_cosine", "hidden_counts", "hidden_patches", "hidden_spans",
    "hinge_losses", "infill", "interpolate_hard_negatives", "join_translations", "keep_probability",
    "language_prefix", "layer_states", "local_shuffle", "mae_step", "make_recurring_span_questions",
    "make_units", "mask_each", "mask_entities", "mask_id", "mask_span", "mask_spans", "mask_tokens",
    "mix_translations", "multiple_negatives", "nearest_words", "negative_sampling_loss",
    "next_sentence_pairs", "noise", "order_tokens", "paraphrase_pairs", "permute",
    "permute_sentences", "perplexity", "phrase_pairs", "pixel_loss", "plugged_loss", "poisson",
    "recurring_spans", "replaced_loss", "restore_spans", "rewriting_loss", "rotate",
    "sample_negatives", "sample_replacements", "seen_in", "select_gap_sentences",
    "sentence_alignment", "sentence_contrast", "sentence_order_pairs", "set_loss",
    "skip_gram_pairs", "soft_cross_entropy", "span_selection_loss", "special_ids",
    "split_masked_span", "state_loss", "token_count", "translation_contrast", "translation_ranking",
    "triplet", "two_streams", "unigram_f1", "unit_loss", "word_agreement", "word_contrast",
    "word_ids", "xnlg_loss",
]  # fmt: skip
