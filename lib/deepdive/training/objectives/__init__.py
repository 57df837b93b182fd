"""Pretraining objectives and losses, with the construction of their inputs and targets.

`token`         cross-entropy with label smoothing, perplexity
`masking`       masked language modeling (MLM): BERT's random masking (`mask_tokens`)
`denoising`     BART's five ways to corrupt a text
`mass`          MASS: a span masked in the encoder's input, which the decoder predicts
`xnlg`          XNLG: a sentence decoded from a corrupted copy or from its translation
`veco`          VECO: MLM alone, and with attention to the translation
`gap_sentences` Pegasus: the most important sentences, generated from the rest
`masked_sentences`  HIBERT: masked sentences, predicted word by word
`future_ngram`  ProphetNet: the next token, predicted from shorter and shorter contexts
`permutation_lm`  permutation language modeling: the factorization order (`order_tokens`)
`pairs`         next-sentence prediction and sentence order, from documents
`replaced_token_detection`  ELECTRA: a discriminator detects tokens that a generator replaced
`mpnet`         MPNet: the last tokens of a random order, predicted in turn
`spans`         T5: span corruption with sentinel tokens (`corrupt_spans`)
`recurring_span_selection`  Splinter: find the remaining occurrence of a masked span
`distillation`  DistilBERT's triple loss, DeiT's: a student learns from a larger teacher
`entities`      LUKE: masked entities, in addition to masked words (`mask_entities`)
`set_prediction`  DETR: a set of boxes, matched with the ground-truth objects
`ctc`           CTC: label sequences without frame labels, summed over all alignments
`sentences`     Sentence-BERT: pairs and triplets of sentence vectors
`translation_ranking`  LaBSE: in-batch ranking of translations with an additive margin
`masked_autoencoding`  MAE: reconstruct the pixels of masked patches
`data2vec`      data2vec: predict the states of a teacher, the student's moving average
`wav2vec2_contrastive`  wav2vec 2.0: identify a masked frame's code among distractors
`translation_contrast`  InfoXLM: contrast of translations with a queue of keys
`hierarchical_contrast`  HICTL: contrast of sentences, and of sentences with words
`amber_alignment`  AMBER: cross-sentence attention that agrees in both directions
`code_switching`  ALM: phrases of a sentence replaced by their translations
`ernie_m`       ERNIE-M: back-translation MLM, with pseudo-parallel tokens
`paraphrases`   Unicoder: paraphrase classification, and texts in two languages
`hubert_units`  HuBERT: predict the k-means unit of a masked frame
`tabert`        TaBERT: masked column prediction, cell value recovery
`adversarial`   SAGAN: a generator against a discriminator
`preference_losses`  supervised fine-tuning (`answer_loss`) and preferences (`dpo_loss`)
`translation_pairs`  XLM: a sentence concatenated with its translation, both masked
`skip_gram`     word2vec: observed word pairs against negative samples
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
