"""Texts in many languages are linked row by row; subtitles and pairs keep clear of their tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from deepdive.data import translated
from deepdive.data.errors import DataError
from deepdive.data.parallel import PARALLEL, letters, parallel, without_overlap
from deepdive.data.registry import get
from deepdive.data.text import pairs, retrieval_pairs, split_by
from deepdive.data.translated import (
    PARTS,
    PUD,
    SCRIPTS,
    SIB200,
    SUBJECTS,
    XQUAD,
    Question,
    pud,
    read_squad,
    script,
    sib200,
    xquad,
)
from deepdive_book.data import subtitles
from deepdive_book.data.subtitles import ANNOTATED, PROJECTED, xed


@pytest.mark.parametrize("read", [sib200, xquad, pud, xed, parallel])
def test_another_language_is_refused_with_those_that_there_are(read) -> None:
    with pytest.raises(DataError, match=r"language: 'klingon', expected one of \w+, \w+, "):
        read("klingon")


def test_another_part_is_refused() -> None:
    with pytest.raises(DataError, match="part: 'valid', expected one of train, dev, test"):
        sib200("eng_Latn", "valid")


def test_the_lists_are_those_of_the_registry() -> None:
    assert len(SIB200) == get("sib200").rows["languages"] == 24
    files = {file.file for file in get("xquad").files}
    assert {f"xquad.{language}.json.gz" for language in XQUAD} == {
        file for file in files if file.endswith(".gz")
    }
    assert {f"{language}_pud-ud-test.conllu.gz" for language in PUD} < {
        file.file for file in get("ud_pud").files
    }
    files = {file.file for file in get("xed").files}
    assert {f"{language}.tsv.gz" for language in ANNOTATED | PROJECTED} == files - {
        "UPSTREAM_README.md"
    }
    assert {script(language) for language in SIB200} == set(SCRIPTS.values())


def table(monkeypatch, module, tmp_path: Path, *rows: str) -> None:
    path = tmp_path / "toy.gz"
    path.write_bytes(gzip.compress("\n".join([*rows, ""]).encode()))
    monkeypatch.setattr(module, "fetch", lambda name, file: path)


def test_sentences_are_drawn_in_one_order_for_all_languages(monkeypatch, tmp_path) -> None:
    rows = [f"deu_Latn\tdev\t{i}\t{SUBJECTS[i % 7]}\tSatz {i}" for i in range(20, 0, -1)]
    rows += [f"eng_Latn\tdev\t{i}\t{SUBJECTS[i % 7]}\tsentence {i}" for i in range(1, 21)]
    rows += ["deu_Latn\ttrain\t30\ttravel\tfremd", "deu_Latn2\tdev\t31\ttravel\tfremd"]
    table(monkeypatch, translated, tmp_path, "language\tsplit\tindex_id\tcategory\ttext", *rows)
    german, english = sib200("deu_Latn", "dev"), sib200("eng_Latn", "dev")
    assert [text[5:] for text in german.texts] == [text[9:] for text in english.texts]
    assert german.labels == english.labels
    assert sib200("deu_Latn", "dev", seed=1).texts != german.texts
    filed = sib200("deu_Latn", "dev", seed=None)
    assert filed.texts == tuple(f"Satz {i}" for i in range(1, 21))
    assert filed.labels == tuple(i % 7 for i in range(1, 21))


def test_subtitles_that_translate_an_english_line_are_left_out(monkeypatch, tmp_path) -> None:
    head = "text\temotions\tpolarity\tsource_language\tsource_text\tin_english"
    rows = [
        "a\tjoy\tpositive\ten\tA\t0",
        "b\tjoy\tpositive\ten\tB\t1",
        "c\tjoy,fear\tmixed\ten\tC\t0",
        "d\tsurprise\tother\t\t\t0",
        'e "said  so\tfear\tnegative\tda\tE\t0',
        "f\tfear\tnegative\t\t\t0",
        "f\ttrust\tpositive\t\t\t0",
        "a\ttrust\tpositive\t\t\t0",
    ]
    table(monkeypatch, subtitles, tmp_path, head, *rows)
    found = xed("fr", seed=None)
    assert found.texts == ("a", 'e "said so')
    assert found.labels == (1, 0)
    table(monkeypatch, subtitles, tmp_path, "text\temotions\tpolarity", "g\tjoy\tpositive")
    assert xed("en").texts == ("g",)


def test_sentences_are_compared_by_their_letters() -> None:
    assert letters("«Ça va ?»\u202fOui\u200b!") == "çavaoui"
    assert letters("कि") != letters("की")  # a vowel sign alone tells them apart
    assert letters("他们 说：2。") == "他们说2"


def test_pairs_that_share_a_side_with_the_test_are_counted_and_gone() -> None:
    test = [("It is late.", "Es ist spät."), ("Go!", "Geh!")]
    train = [
        ("it is late", "Spät ist es."),
        ("It is dark.", "es ist spät!"),
        ("Go.", "Geh."),
        ("Go on.", "Geh weiter."),
    ]
    found = without_overlap(train, test)
    assert found.pairs == train[3:]
    assert (found.english, found.other, found.removed) == (2, 2, 3)
    assert len(without_overlap(train, [])) == 4
    assert without_overlap(train, []).removed == 0


@pytest.mark.data("sib200")
def test_sib200() -> None:
    for part, size in PARTS.items():
        english, yoruba = sib200("eng_Latn", part), sib200("yor_Latn", part)
        assert len(english) == len(yoruba) == size
        assert english.labels == yoruba.labels
    place = sib200().texts.index(
        "Turkish Airlines flies to 39 destinations in 30 African countries as of 2014."
    )
    assert sib200("deu_Latn").texts[place].startswith("Ab 2014 fliegt Turkish Airlines 39 Ziele")
    assert sib200().counts()["science/technology"] == 176


@pytest.mark.data("xquad")
def test_xquad_answers_stand_where_they_are_said_to() -> None:
    english = xquad()
    assert len({row.article for row in english}) == 48
    train, test = split_by(english, lambda row: row.article, (0.75, 0.25))
    assert not {row.context for row in train} & {row.context for row in test}
    for language in ("th", "de"):
        rows = xquad(language)
        assert [row.id for row in rows] == [row.id for row in english]
        assert [row.article for row in rows] == [row.article for row in english]
        for row in rows:
            assert row.context[row.start :].startswith(row.answer)
    assert xquad("de", seed=None)[0].article == "Super_Bowl_50"


def test_a_file_of_squad_is_read(tmp_path: Path) -> None:
    asked = {"id": "7", "question": "Where?", "answers": [
        {"text": "Bern", "answer_start": 3}, {"text": "in Bern", "answer_start": 0}]}  # fmt: skip
    document = {"data": [{"title": "Aare", "paragraphs": [{"context": "in Bern", "qas": [asked]}]}]}
    file = tmp_path / "train-v1.1.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert read_squad(file) == [Question("7", "Aare", "Where?", "in Bern", "Bern", 3)]
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert read_squad(tmp_path / "packed.json.gz") == read_squad(file)
    for wrong in ("{", "[]", json.dumps({"data": [{"title": "Aare"}]})):
        file.write_text(wrong, encoding="utf-8")
        with pytest.raises(DataError, match=r"in SQuAD 1\.1 format"):
            read_squad(file)


@pytest.mark.data("ud_pud")
def test_pud_links_sentences_that_are_tagged() -> None:
    rows = {language: pud(language) for language in PUD}
    for language in PUD:
        assert [row.id for row in rows[language]] == [row.id for row in rows["en"]]
        assert len(rows[language]) == 1000
        for row in rows[language]:
            assert row.tree.words[-1][-1] in row.text
    first = pud("fr", seed=None)[0]
    assert first.id == "n01001011"
    assert first.tree.tags[3] == "DET"
    assert sum(row.id[:3] in ("n01", "w01") for row in rows["en"]) == 750


@pytest.mark.data("xed")
def test_xed_by_language() -> None:
    assert xed().counts() == {"negative": 8980, "positive": 4540}
    assert xed("fi_annotated").counts() == {"negative": 7577, "positive": 3923}
    assert xed("cn").counts() == {"negative": 345, "positive": 203}


@pytest.mark.data(*(f"tatoeba_eng_{language}" for language in PARALLEL), "tatoeba_retrieval")
def test_parallel_text_keeps_clear_of_the_retrieval_test() -> None:
    for language in PARALLEL:
        name = f"tatoeba_eng_{language}"
        assert len(pairs(name, seed=None)) == get(name).rows["pairs"]
    assert parallel("cmn", ["cmn"]).removed == 440
    found = parallel("cmn")
    assert (len(found), found.removed) == (14_526, 5_768)
    assert not {letters(left) for left, _ in found.pairs} & {
        letters(left) for left, _ in retrieval_pairs("fin")
    }
