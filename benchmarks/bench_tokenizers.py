"""Our word pieces and byte-level BPE on every line of every staged text corpus, and the library's.

Both get the same lines and the same vocabulary: MiniLM's word pieces, and merges trained on a
staged corpus. Lines where ids or offsets differ are counted, and the first of them shown. Then
every code point, alone and in a word: the library's tables are of Unicode 8 (word pieces) and 16
(GPT-2's pattern), ours of the Python that runs.

`python benchmarks/bench_tokenizers.py xed xquad` reads these alone.
"""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections import Counter

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from deepdive.data import DataError, where
from deepdive.data.lines import text_lines, text_sets
from deepdive.published.pretrained import minilm_tokenizer
from deepdive.tokenizers import ByteBPETokenizer, WordPieceTokenizer

ENCODING = tuple[list[int], list[tuple[int, int]]]


def as_library(ours: WordPieceTokenizer | ByteBPETokenizer) -> Tokenizer:
    vocab = {piece: i for i, piece in enumerate(ours.vocab)}
    unknown = ours.specials[3]
    if isinstance(ours, ByteBPETokenizer):
        merges = [tuple(merge.split(" ")) for merge in ours.merges]
        library = Tokenizer(models.BPE(vocab, merges, unk_token=unknown))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        library = Tokenizer(models.WordPiece(vocab, unk_token=unknown))
        library.normalizer = normalizers.BertNormalizer(lowercase=True)
        library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return library


def compare(name: str, ours: WordPieceTokenizer | ByteBPETokenizer) -> Counter[str]:
    """Lines, differences and seconds of one corpus, printed and returned."""
    library, lines = as_library(ours), list(text_lines(name))
    start = time.process_time()
    ids = [ours.encode(line) for line in lines]
    middle = time.process_time()
    spans = [ours.spans(line) for line in lines]
    end = time.process_time()
    differ, library_s = [], 0.0
    for begin in range(0, len(lines), 1000):  # the library's answers are large
        part = slice(begin, begin + 1000)
        before = time.process_time()
        known = library.encode_batch(lines[part], add_special_tokens=False)
        library_s += time.process_time() - before
        found = zip(lines[part], ids[part], spans[part], known, strict=True)
        differ += [line for line, i, s, k in found if (i, s) != (k.ids, k.offsets)]
    print(
        f"{name:18} {len(lines):8,} lines {sum(map(len, ids)):10,} tokens {len(differ):6} differ"
        f"  ids {(middle - start) / library_s:5.2f}, ids and offsets "
        f"{(end - start) / library_s:5.2f} times the library's time",
        flush=True,
    )
    for line in differ[:3]:
        print("   ", ascii(line[:120]))
    seconds = {"ids": middle - start, "both": end - start, "library": library_s}
    return Counter({"lines": len(lines), "differ": len(differ), **seconds})


def every_character(ours: WordPieceTokenizer | ByteBPETokenizer) -> None:
    """Print which code points are split otherwise than by the library, by category."""
    library, kinds = as_library(ours), Counter[str]()
    for code in [*range(0xD800), *range(0xE000, 0x110000)]:
        text = f"x{chr(code)}x {chr(code)}"
        normal = library.normalizer.normalize_str(text) if library.normalizer else text
        if ours.split(text) != [w for w, _ in library.pre_tokenizer.pre_tokenize_str(normal)]:
            kinds[unicodedata.category(chr(code))] += 1
    told = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()) or "none"
    print(f"code points split otherwise (Unicode {unicodedata.unidata_version} here): {told}")


def main() -> None:
    names = sys.argv[1:] or [name for name in text_sets() if where(name) is not None]
    if not names:
        raise DataError("no text corpus is staged: set DEEPDIVE_MIRROR, or deepdive data fetch")
    lines = text_lines("tatoeba_retrieval" if "tatoeba_retrieval" in names else names[0])
    for ours in (minilm_tokenizer(), ByteBPETokenizer.train(list(lines)[::10], 4000)):
        print(f"-- {type(ours).__name__}, {len(ours):,} pieces")
        whole: Counter[str] = Counter()
        for name in names:
            whole.update(compare(name, ours))
        print(
            f"in all: {whole['lines']:,} lines, {whole['differ']:,} differ; ids "
            f"{whole['ids'] / whole['library']:.2f}, ids and offsets "
            f"{whole['both'] / whole['library']:.2f} times the library's time"
        )
        every_character(ours)


if __name__ == "__main__":
    main()
