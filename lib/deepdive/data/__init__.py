"""Data sets with their licences and hashes, their files fetched and verified; generated data.

Real data: `registry`, `get`, `fetch`, `where`, `verify`, `pairs`, `read_pairs`,
`retrieval_pairs`. Generated, and called so: `number_words`, `number_translation`, `date_pairs`,
`grammar_pairs`, `reversal`, `copy_memory`, `adding_problem`, `dyck_words`, `sense_sentences`.
Batches: `BucketBatches`, `ListBatches`.
"""

from deepdive.data.batches import BucketBatches, ListBatches
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
from deepdive.data.places import cache, mirror
from deepdive.data.registry import DataFile, Dataset, Part, get, registry
from deepdive.data.senses import sense_sentences
from deepdive.data.text import (
    normalise_spaces,
    pairs,
    read_pairs,
    retrieval_languages,
    retrieval_pairs,
    split_by,
)

__all__ = [
    "NUMBER_LANGUAGES",
    "BucketBatches",
    "DataError",
    "DataFile",
    "DataRefused",
    "DataUnavailable",
    "Dataset",
    "Generated",
    "ListBatches",
    "Part",
    "adding_problem",
    "cache",
    "copy_memory",
    "date_pairs",
    "date_patterns",
    "dyck_depths",
    "dyck_words",
    "fetch",
    "get",
    "grammar_pairs",
    "mirror",
    "normalise_spaces",
    "number_translation",
    "number_words",
    "pairs",
    "read_pairs",
    "registry",
    "retrieval_languages",
    "retrieval_pairs",
    "reversal",
    "sense_sentences",
    "split_by",
    "verify",
    "where",
]
