"""Translated data sets: classification (SIB-200), QA (XQuAD), and treebanks (PUD).

    english, yoruba = sib200("eng_Latn"), sib200("yor_Latn")     # 24 languages
    rows = xquad("de")                                           # 12 languages
    sentences = pud("fr")                                        # three, with parts of speech

Item i of one language is the translation of item i of another, for any seed.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import NamedTuple

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.reviews import Labeled
from deepdive.data.text import shuffled
from deepdive.data.trees import Tree, read_conllu

# FLORES code (language, script) -> name of the language.
SIB200 = {
    "eng_Latn": "English", "fra_Latn": "French", "deu_Latn": "German", "spa_Latn": "Spanish",
    "ita_Latn": "Italian", "por_Latn": "Portuguese", "nld_Latn": "Dutch", "pol_Latn": "Polish",
    "rus_Cyrl": "Russian", "ell_Grek": "Greek", "tur_Latn": "Turkish", "arb_Arab": "Arabic",
    "hin_Deva": "Hindi", "ben_Beng": "Bengali", "swh_Latn": "Swahili", "yor_Latn": "Yoruba",
    "vie_Latn": "Vietnamese", "tha_Thai": "Thai", "zho_Hans": "Chinese", "jpn_Jpan": "Japanese",
    "kor_Hang": "Korean", "fin_Latn": "Finnish", "hun_Latn": "Hungarian", "eus_Latn": "Basque",
}  # fmt: skip
SCRIPTS = {
    "Latn": "Latin", "Cyrl": "Cyrillic", "Grek": "Greek", "Arab": "Arabic", "Deva": "Devanagari",
    "Beng": "Bengali", "Thai": "Thai", "Hans": "Chinese", "Jpan": "Japanese", "Hang": "Korean",
}  # fmt: skip
SUBJECTS = (
    "entertainment", "geography", "health", "politics", "science/technology", "sports", "travel",
)  # fmt: skip
PARTS = {"train": 701, "dev": 99, "test": 204}

XQUAD = {
    "ar": "Arabic", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "hi": "Hindi",
    "ro": "Romanian", "ru": "Russian", "th": "Thai", "tr": "Turkish", "vi": "Vietnamese",
    "zh": "Chinese",
}  # fmt: skip
PUD = {"en": "English", "fr": "French", "de": "German"}


class Question(NamedTuple):
    """A question, and its answer = context[start : start + len(answer)].

    id        the same in all languages
    article   the title of the context's Wikipedia article, one of 48: split by it
              (`split_by(rows, lambda row: row.article)`), or a context is in two parts
    """

    id: str
    article: str
    question: str
    context: str
    answer: str
    start: int


class Sentence(NamedTuple):
    """A sentence's text, its id (the same in all languages), and its words with parts of speech, as
    a dependency tree.
    """

    id: str
    text: str
    tree: Tree


def script(language: str) -> str:
    """Return the script of a FLORES code.

    >>> script("rus_Cyrl")
    'Cyrillic'
    """
    return SCRIPTS[language.partition("_")[2]]


def sib200(language: str = "eng_Latn", part: str = "train", seed: int | None = 0) -> Labeled:
    """Return sentences of news, travel guides and encyclopedias with their topics, one of seven.

    language   a FLORES code, one of `SIB200`
    part       "train" (701 sentences), "dev" (99) or "test" (204)
    seed       shuffles them, identically for all languages; None: by sentence number, which puts
               the sentences of a document together

    Human translations from English. Raises DataError for another language or part.
    Source: Adelani et al. 2024; sentences of FLORES-200.
    """
    _one_of("language", language, SIB200)
    _one_of("part", part, PARTS)
    path = fetch("sib200", "sib200_24langs.tsv.gz")
    lines = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")
    cells = [line.split("\t") for line in lines if line.startswith(f"{language}\t{part}\t")]
    rows = sorted((int(number), subject, text) for _, _, number, subject, text in cells)
    _, subjects, texts = zip(*(rows if seed is None else shuffled(rows, seed)), strict=True)
    labels = tuple(SUBJECTS.index(subject) for subject in subjects)
    return Labeled(texts, labels, SUBJECTS, f"sib200/{language}/{part} (real)")


def xquad(language: str = "en", seed: int | None = 0) -> list[Question]:
    """Return 1,190 questions on 240 paragraphs of 48 articles, human translations of SQuAD 1.1.

    language   one of `XQUAD`
    seed       shuffles them, identically for all languages; None keeps the order, by article

    Every question has one answer. It is a test set: models are trained on SQuAD's other articles,
    or, as here, on some of its articles. Raises DataError for another language.
    Source: Artetxe, Ruder and Yogatama 2020.
    """
    _one_of("language", language, XQUAD)
    rows = read_squad(fetch("xquad", f"xquad.{language}.json.gz"))
    return rows if seed is None else shuffled(rows, seed)


def read_squad(path: str | Path) -> list[Question]:
    """Return the questions of a file in SQuAD 1.1 format, plain or `.gz`, each with its first
    answer. Raises DataError for a file of another format.

    Source: Rajpurkar et al. 2016; the files `train-v1.1.json` and `dev-v1.1.json`.
    """
    content = Path(path).read_bytes()
    try:
        if str(path).endswith(".gz"):
            content = gzip.decompress(content)
        return [
            Question(
                asked["id"], article["title"], asked["question"], paragraph["context"],
                asked["answers"][0]["text"], asked["answers"][0]["answer_start"],
            )
            for article in json.loads(content)["data"]
            for paragraph in article["paragraphs"]
            for asked in paragraph["qas"]
        ]  # fmt: skip
    except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError) as error:
        raise DataError(
            f"path: {path} is not in SQuAD 1.1 format ({error!r}); expected train-v1.1.json"
        ) from error


def pud(language: str = "en", seed: int | None = 0) -> list[Sentence]:
    """Return 1,000 sentences of news and Wikipedia, tagged and parsed: Parallel Universal
    Dependencies (PUD).

    language   "en", "fr" or "de"
    seed       shuffles them, identically for all languages; None keeps the order of the file
    Sentences are aligned, not words. The first 750 were written in English, the others in German,
    French, Italian or Spanish, and translated via English. `tree.words` has the parts of a
    contraction (*du*: *de*, *le*). Raises DataError for another language.
    Source: Zeman et al. 2017.
    """
    _one_of("language", language, PUD)
    path = fetch("ud_pud", f"{language}_pud-ud-test.conllu.gz")
    lines = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")
    ids, texts = (
        [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
        for prefix in ("# sent_id = ", "# text = ")
    )
    rows = [Sentence(*each) for each in zip(ids, texts, read_conllu(path), strict=True)]
    return rows if seed is None else shuffled(rows, seed)


def _one_of(argument: str, value: str, known: dict[str, str] | dict[str, int]) -> None:
    if value not in known:
        raise DataError(f"{argument}: {value!r}, expected one of {', '.join(known)}")
