"""Data sets with licenses and hashes, downloaded and verified; generated data; batching.

Real data: `registry`, `get`, `fetch`, `where`, `verify`, `pairs`, `read_pairs`,
`retrieval_pairs`, and `parallel`, without overlap with these; multilingual, in `translated`:
`sib200`, `xquad`, `pud`; classification: `rt_polarity`, `movie_reviews`, `read_labeled`.
Generated, and labeled as such: `number_words`, `number_translation`, `date_pairs`, `reversal`.
Batches: `BucketBatches`.
"""

from deepdive.data.batches import BucketBatches
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
from deepdive.data.parallel import parallel
from deepdive.data.registry import get, registry
from deepdive.data.reviews import Labeled, movie_reviews, read_labeled, rt_polarity
from deepdive.data.storage_paths import cache, mirror
from deepdive.data.text import (
    normalize_spaces,
    pairs,
    read_pairs,
    retrieval_languages,
    retrieval_pairs,
    split_by,
)

__all__ = [
    "NUMBER_LANGUAGES", "BucketBatches", "DataError", "DataRefused", "DataUnavailable", "Generated",
    "Labeled", "cache", "date_pairs", "date_patterns", "fetch", "get", "mirror", "movie_reviews",
    "normalize_spaces", "number_translation", "number_words", "pairs", "parallel", "read_labeled",
    "read_pairs", "registry", "retrieval_languages", "retrieval_pairs", "reversal", "rt_polarity",
    "split_by", "verify", "where",
]  # fmt: skip
