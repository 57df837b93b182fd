"""Our tokenisers as those of the `tokenizers` library, and sentences in many scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import tokenizers as reference
from tokenizers import models, normalizers, pre_tokenizers, trainers

from deepdive.tokenizers import (
    SPECIALS,
    BPETokenizer,
    ByteBPETokenizer,
    CasedWordPieceTokenizer,
    Tokenizer,
    WordPieceTokenizer,
)
from deepdive.tokenizers.unigram import UnigramTokenizer

SENTENCES = [
    "Where is the station? It's behind you, isn't it?",
    "Où est la gare ? Elle est derrière vous, n'est-ce pas ?",
    "Wo ist der Bahnhof? Er liegt hinter Ihnen, fünf Straßen weiter.",
    "¿Dónde está la estación? Está detrás de usted.",
    "Где вокзал? Он находится за вами, в пяти улицах отсюда.",
    "Πού είναι ο σταθμός; Ο σταθμός είναι πίσω σας.",
    "ΠΟΎ ΕΊΝΑΙ Ο ΣΤΑΘΜΌΣ;",
    "İstasyon nerede? Arkanızda, beş sokak ötede.",
    "स्टेशन कहाँ है? यह आपके पीछे है।",
    "สถานีอยู่ที่ไหน อยู่ข้างหลังคุณ",
    "车站在哪里？就在你后面,走5分钟。",
    "駅はどこですか。すぐ後ろです。",
    "역이 어디에 있습니까? 바로 뒤에 있습니다.",
    "أين المحطة؟ إنها خلفك مباشرة.",
    "Ga ở đâu? Nó ở ngay phía sau bạn.",
    "x = 3.14 # 22/7\n\tprint(x)  \u2028 naïve café ﬁn ① Ⅷ ½ 🚆",
]


def trained(kind: type[Tokenizer], texts: Sequence[str] = SENTENCES, size: int = 420) -> Tokenizer:
    if issubclass(kind, UnigramTokenizer):
        return kind.train(texts, size)
    train = getattr(kind, "train", None)
    return train(texts, size, min_count=1) if train else kind()


def library_unigram(texts: Sequence[str], size: int) -> UnigramTokenizer:
    """Pieces and scores that the library learns, in our reader."""
    library = reference.Tokenizer(models.Unigram())
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=list(SPECIALS), unk_token=SPECIALS[3]
    )
    library.train_from_iterator(texts, trainer)
    vocab, scores = zip(*json.loads(library.to_str())["model"]["vocab"], strict=True)
    return UnigramTokenizer(vocab, scores, SPECIALS)


def library_bpe(ours: BPETokenizer) -> reference.Tokenizer:
    merges = [tuple(merge.split(" ")) for merge in ours.merges]
    vocab = {piece: i for i, piece in enumerate(ours.vocab)}
    library = reference.Tokenizer(models.BPE(vocab, merges, unk_token=ours.specials[3]))
    if isinstance(ours, ByteBPETokenizer):
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:  # the library has no such splitting: it gets our words, blanks between
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return library


def library_wordpiece(ours: WordPieceTokenizer) -> reference.Tokenizer:
    vocab = {piece: i for i, piece in enumerate(ours.vocab)}
    library = reference.Tokenizer(models.WordPiece(vocab, unk_token=ours.specials[3]))
    lowercase = not isinstance(ours, CasedWordPieceTokenizer)
    library.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return library


WORDPIECES = [trained(kind, size=700) for kind in (WordPieceTokenizer, CasedWordPieceTokenizer)]
