"""The unigram model cuts as the `tokenizers` library does, from a file of T5's form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers as reference
from tokenizer_library import SENTENCES
from tokenizers import models, normalizers, pre_tokenizers, trainers

from deepdive.tokenizers.base import Tokenizer
from deepdive.tokenizers.unigram import UnigramTokenizer
from deepdive_book.data.synthetic_reviews import generated_reviews

TEXTS = [*SENTENCES[:6], *generated_reviews(60).texts, "naïve ﬁn ①  x", "unseen: ☃☃ 🚆 q"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    library = reference.Tokenizer(models.Unigram())
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    specials = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    library.train_from_iterator(
        [*TEXTS[:-1]] * 3,
        trainers.UnigramTrainer(vocab_size=150, special_tokens=specials, unk_token="<unk>"),
    )
    library.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_it_cuts_as_the_library_does(folder: Path) -> None:
    ours = UnigramTokenizer.from_folder(folder)
    library = reference.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in TEXTS:
        assert ours.encode(text) == library.encode(text).ids, text
    known = TEXTS[10]
    assert ours.decode(ours.encode(known, eos=True)) == known
    assert (ours.pad, ours.bos, ours.eos, ours.unk) == (0, 0, 1, 2)


def test_marks_are_never_read_from_a_text(folder: Path) -> None:
    ours = UnigramTokenizer.from_folder(folder)
    assert ours.id_of("<extra_id_0>") not in ours.encode("<extra_id_0>")


def test_saved_and_loaded(folder: Path) -> None:
    ours = UnigramTokenizer.from_folder(folder)
    ours.save(folder / "ours.json")
    again = Tokenizer.load(folder / "ours.json")
    assert isinstance(again, UnigramTokenizer)
    assert all(again.encode(text) == ours.encode(text) for text in TEXTS)


def test_another_kind_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE", "vocab": {}}}))
    with pytest.raises(ValueError, match="expected Unigram"):
        UnigramTokenizer.from_folder(folder)
    with pytest.raises(ValueError, match="1 for 5 tokens"):
        UnigramTokenizer(["<p>", "<b>", "<e>", "<u>", "a"], [0.0], ("<p>", "<b>", "<e>", "<u>"))
