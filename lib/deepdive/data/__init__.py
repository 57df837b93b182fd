"""Data sets with their licences and hashes, their files fetched and verified; generated data.

Real data: `registry`, `get`, `fetch`, `where`, `verify`, `pairs`, `read_pairs`,
`retrieval_pairs`, and apart from these `parallel`; in many languages: `sib200`, `xquad`, `pud`,
`xed`; texts with a class: `rt_polarity`, `movie_reviews`, `read_labelled`. Generated,
and called so: `number_words`, `number_translation`, `date_pairs`, `grammar_pairs`, `reversal`,
`copy_memory`, `adding_problem`, `dyck_words`, `sense_sentences`, `generated_reviews`,
`generated_long_reviews`.
Batches: `BucketBatches`.
"""

from deepdive.data.batches import BucketBatches
from deepdive.data.corpora import librispeech, timit
from deepdive.data.errors import DataError, DataRefused, DataUnavailable
from deepdive.data.fetch import fetch, verify, where
from deepdive.data.generated import (
    NUMBER_LANGUAGES,
    Generated,
    date_pairs,
    date_patterns,
    number_translation,
    number_words,
    reversal,
)
from deepdive.data.grammar import grammar_pairs
from deepdive.data.memory import adding_problem, copy_memory, dyck_depths, dyck_words
from deepdive.data.opinions import generated_long_reviews, generated_reviews
from deepdive.data.parallel import Parallel, parallel
from deepdive.data.places import cache, mirror
from deepdive.data.registry import DataFile, Dataset, Part, get, registry
from deepdive.data.reviews import Labelled, movie_reviews, read_labelled, rt_polarity
from deepdive.data.senses import sense_sentences
from deepdive.data.subtitles import xed
from deepdive.data.text import (
    normalise_spaces,
    pairs,
    read_pairs,
    retrieval_languages,
    retrieval_pairs,
    split_by,
)
from deepdive.data.translated import Question, Sentence, pud, sib200, xquad

__all__ = [
    "NUMBER_LANGUAGES",
    "BucketBatches",
    "DataError",
    "DataFile",
    "DataRefused",
    "DataUnavailable",
    "Dataset",
    "Generated",
    "Labelled",
    "Parallel",
    "Part",
    "Question",
    "Sentence",
    "adding_problem",
    "cache",
    "copy_memory",
    "date_pairs",
    "date_patterns",
    "dyck_depths",
    "dyck_words",
    "fetch",
    "generated_long_reviews",
    "generated_reviews",
    "get",
    "grammar_pairs",
    "librispeech",
    "mirror",
    "movie_reviews",
    "normalise_spaces",
    "number_translation",
    "number_words",
    "pairs",
    "parallel",
    "pud",
    "read_labelled",
    "read_pairs",
    "registry",
    "retrieval_languages",
    "retrieval_pairs",
    "reversal",
    "rt_polarity",
    "sense_sentences",
    "sib200",
    "split_by",
    "timit",
    "verify",
    "where",
    "xed",
    "xquad",
]
