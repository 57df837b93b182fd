"""Tokenizers from scratch: word, character, byte, BPE, WordPiece, and XLM-R's unigram model.

Train one on texts, or construct one from a vocabulary; then `encode`, `decode`, `save`, `load`:

    tokenizer = BPETokenizer.train(sentences, vocab_size=8000)
    ids = tokenizer.encode("Go away!", bos=True, eos=True)
    tokenizer.decode(ids)  # "Go away!"
"""

from deepdive.tokenizers.base import BOS, EOS, PAD, SPECIALS, UNK, Tokenizer
from deepdive.tokenizers.bpe import BPETokenizer
from deepdive.tokenizers.byte import BYT5_SPECIALS, ByteTokenizer
from deepdive.tokenizers.byte_bpe import ByteBPETokenizer
from deepdive.tokenizers.character import CharTokenizer
from deepdive.tokenizers.pairs import encode_pair, longest_first, pad_batch, padded
from deepdive.tokenizers.splitting import simplify, squeeze
from deepdive.tokenizers.word import WordTokenizer
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, CasedWordPieceTokenizer, WordPieceTokenizer
from deepdive.tokenizers.xlmr import XLMRTokenizer

__all__ = [
    "BERT_SPECIALS", "BOS", "BYT5_SPECIALS", "EOS", "PAD", "SPECIALS", "UNK", "BPETokenizer",
    "ByteBPETokenizer", "ByteTokenizer", "CasedWordPieceTokenizer", "CharTokenizer", "Tokenizer",
    "WordPieceTokenizer", "WordTokenizer", "XLMRTokenizer", "encode_pair", "longest_first",
    "pad_batch", "padded", "simplify", "squeeze",
]  # fmt: skip
