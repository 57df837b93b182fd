"""The bibliography: whole and consistent entries; from system to paper and back."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from checkout import ROOT
from pybtex import errors
from pybtex.database import Entry, Person, parse_file
from pybtex.richtext import Text

BIB = ROOT / "book" / "references.bib"
with errors.capture() as COMPLAINTS:
    ENTRIES: dict[str, Entry] = dict(parse_file(str(BIB)).entries)
with (ROOT / "lib/deepdive_book/site/atlas/systems.csv").open(encoding="utf-8", newline="") as file:
    SYSTEMS = {row["id"]: row for row in csv.DictReader(file)}

REQUIRED = {
    "article": {"title", "journal", "year"},
    "book": {"title", "publisher", "year"},
    "inproceedings": {"title", "booktitle", "year"},
    "misc": {"title", "year"},
    "techreport": {"title", "institution", "year"},
}
KNOWN = set.union(*REQUIRED.values()) | {
    "series", "volume", "number", "pages", "howpublished", "doi", "eprint", "url", "systems",
}  # fmt: skip
# What stands as the author of some papers, for people who are too many to be named.
COMPANIES = {"{DeepSeek-AI}", "DeepSeek-AI"}

CONFERENCES = {
    "*SEM", "AAAI", "AACL", "AACL, System Demonstrations", "ACL", "ACL, System Demonstrations",
    "AISTATS", "BUCC", "BlackboxNLP", "CCL", "CVPR", "ClinicalNLP", "EACL", "ECCV", "EMNLP",
    "Findings of AACL", "Findings of ACL", "Findings of EMNLP",
    "First Workshop on Neural Machine Translation", "GSCL", "ICASSP", "ICCV", "ICLR",
    "ICLR Workshop", "ICML", "IJCAI", "ISCA ASR Workshop", "Interspeech", "KDD", "LREC",
    "MLHC", "NAACL", "NIPS", "NLPIR", "NeurIPS", "PAKDD", "RepL4NLP", "SODA", "SSST-8",
    "Symposium on the Mathematical Theory of Automata", "Text Summarization Branches Out",
    "UAI", "USENIX Security", "WMT",
    "WNUT", "WSDM",
}  # fmt: skip
# What an identifier of the ACL Anthology says of the conference.
ANTHOLOGY = {
    "P": "ACL", "D": "EMNLP", "N": "NAACL", "E": "EACL", "acl": "ACL", "emnlp": "EMNLP",
    "naacl": "NAACL", "findings-acl": "Findings of ACL", "findings-emnlp": "Findings of EMNLP",
}  # fmt: skip


def systems_of(entry: Entry) -> list[str]:
    return [name for name in entry.fields.get("systems", "").split(", ") if name]


def decoded(text: str) -> str:
    return str(Text.from_latex(text))


def letters(text: str) -> str:
    """Letters and digits, without accents."""
    base = unicodedata.normalize("NFD", text.replace("ł", "l").replace("Ł", "L"))
    return "".join(c for c in base if c.isalnum()).lower()


def surname(person: Person) -> str:
    return decoded(" ".join(person.prelast_names + person.last_names))


def given(person: Person) -> str:
    return decoded(" ".join(person.first_names + person.middle_names))


def repeated(values: list[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


# -- the entries


def test_the_file_is_read_without_complaint_in_the_order_of_keys() -> None:
    assert not COMPLAINTS, [str(complaint) for complaint in COMPLAINTS]
    keys = re.findall(r"^@\w+\{([^,]+),", BIB.read_text("utf-8"), flags=re.MULTILINE)
    assert keys == sorted(set(keys))
    assert set(keys) == set(ENTRIES)


def test_an_entry_has_what_its_type_needs_and_no_unknown_field() -> None:
    for key, entry in ENTRIES.items():
        fields = {name for name, value in entry.fields.items() if value.strip()}
        assert REQUIRED[entry.type] <= fields <= KNOWN, key
        assert len(fields) == len(entry.fields), f"{key}: an empty field"
        assert entry.type != "misc" or fields & {"eprint", "howpublished"}, f"{key}: where is it?"
        pages = re.fullmatch(r"(\d+)(?:--(\d+))?|e\d+", entry.fields.get("pages", "1"))
        assert pages, key
        assert not pages[2] or int(pages[1]) <= int(pages[2]), key


def test_a_key_is_the_first_author_and_the_year() -> None:
    for key, entry in ENTRIES.items():
        found = re.fullmatch(r"([a-z]+)(\d{4})([a-z]\w*)?", key)
        assert found, f"{key}: authorYEAR, and a word where two would be the same"
        author = entry.persons["author"][0]
        assert found[1] in letters(surname(author) + given(author)), key
        assert found[2] == entry.fields["year"], key
        assert 1940 <= int(found[2]) <= 2026, key


def people(entry: Any) -> list[Any]:
    """The authors of an entry, without a company that stands for all of them."""
    return [person for person in entry.persons["author"] if str(person) not in COMPANIES]


def test_authors_are_named_in_full() -> None:
    for key, entry in ENTRIES.items():
        for person in people(entry):
            assert surname(person) not in ("", "others"), f"{key}: all of them"
            names = given(person).split()
            assert any(len(letters(name)) > 1 for name in names), f"{key}: not initials alone"
            whole = f"{given(person)} {surname(person)}"
            assert "\\" not in whole, f"{key}: a letter that was not understood in {whole}"


def test_a_person_is_named_in_one_form() -> None:
    forms = defaultdict(set)
    for entry in ENTRIES.values():
        for person in people(entry):
            name = (letters(surname(person)), letters(given(person).split()[0]))
            forms[name].add(f"{surname(person)}, {given(person)}")
    assert not [names for names in forms.values() if len(names) > 1]


def test_a_title_keeps_its_names_and_acronyms() -> None:
    """Lists lower what no braces hold; the title of a book is set as it is written."""
    held = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
    for key, entry in ENTRIES.items():
        title = entry.fields["title"]
        assert "\\" not in decoded(title), f"{key}: a letter that was not understood"
        if entry.type == "book":
            continue
        for word in re.findall(r"\w+", held.sub("", title)):
            assert len(word) == 1 or sum(map(str.isupper, word)) < 2, f"{key}: {word}"
            assert word not in ("Transformer", "Transformers", "Bert", "Adam"), f"{key}: {word}"


def test_no_paper_stands_twice() -> None:
    for field in ("doi", "eprint", "url"):
        assert not repeated([e.fields[field] for e in ENTRIES.values() if field in e.fields])
    assert not repeated([letters(decoded(entry.fields["title"])) for entry in ENTRIES.values()])


def test_a_conference_has_one_name() -> None:
    for key, entry in ENTRIES.items():
        name = entry.fields.get("booktitle", "ACL")
        assert name in CONFERENCES, key
        if name in ("NIPS", "NeurIPS"):
            assert (name == "NIPS") == (int(entry.fields["year"]) < 2018), key
        assert entry.fields.get("series", "PMLR") == "PMLR", key


def test_identifiers_are_well_formed() -> None:
    for key, entry in ENTRIES.items():
        year = int(entry.fields["year"])
        doi = entry.fields.get("doi", "10.1000/xx")
        assert re.fullmatch(r"10\.\d{4,5}/[\w.()/-]+[\w)]", doi), key
        if "eprint" in entry.fields:
            found = re.fullmatch(r"(\d\d)(0[1-9]|1[0-2])\.(\d{4,5})", entry.fields["eprint"])
            assert found, key
            assert len(found[3]) == (5 if int(found[1]) >= 15 else 4), key
            assert 0 <= year - 2000 - int(found[1]) <= 3, f"{key}: printed before, or long after"


def test_an_identifier_of_the_anthology_agrees_with_conference_and_year() -> None:
    for key, entry in ENTRIES.items():
        told = (int(entry.fields["year"]), entry.fields.get("booktitle", "").split(",")[0])
        doi = entry.fields.get("doi", "")
        old = re.search(r"v1/([PDNE])(\d\d)-\d{4}$", doi)
        new = re.search(r"v1/(\d{4})\.((?:findings-)?[a-z]+)", doi)
        if old:
            assert told == (2000 + int(old[2]), ANTHOLOGY[old[1]]), key
        elif new and new[2] in ANTHOLOGY:
            assert told == (int(new[1]), ANTHOLOGY[new[2]]), key


# -- systems and papers


def test_every_system_has_a_paper_and_every_named_system_exists() -> None:
    named = [name for entry in ENTRIES.values() for name in systems_of(entry)]
    assert set(named) == set(SYSTEMS)
    for key, entry in ENTRIES.items():
        places = [list(SYSTEMS).index(name) for name in systems_of(entry)]
        assert places == sorted(set(places)), f"{key}: each once, in the order of the list"


def test_a_paper_is_for_a_system_or_is_named_on_a_page_or_in_the_library(book: Path) -> None:
    named = set()
    for path in book.glob("c*/**/*.html"):
        named |= set(re.findall(r'bibliography\.html#([a-z0-9]+)"', path.read_text("utf-8")))
    library = "".join(path.read_text("utf-8") for path in (ROOT / "lib").rglob("*.py"))
    for key, entry in ENTRIES.items():
        if not systems_of(entry) and key not in named:
            assert surname(entry.persons["author"][0]) in library, f"{key}: what is it for?"


@pytest.fixture(scope="module")
def page(book: Path) -> Any:
    return BeautifulSoup((book / "bibliography.html").read_text("utf-8"), "html.parser")


def test_the_page_leads_from_each_system_to_its_papers_and_back(page: Any) -> None:
    terms = page.select("dl.systems > dt")
    assert [term["id"] for term in terms] == sorted(
        (f"system-{name}" for name in SYSTEMS),
        key=lambda anchor: int(SYSTEMS[anchor.removeprefix("system-")]["chapter"]),
    )
    for term in terms:
        row = SYSTEMS[term["id"].removeprefix("system-")]
        about = term.find_next_sibling("dd")
        assert term.get_text(strip=True).replace("’", "'") == row["name"]
        assert about.get_text().startswith(f"{row['kind'].capitalize()}, {row['tier']}. ")
        keys = {a["href"][1:] for a in about.select("a[href^='#']")}
        assert keys == {key for key, e in ENTRIES.items() if row["id"] in systems_of(e)}
        for key in keys:
            assert page.find(id=key).find("a", href=f"#{term['id']}"), key


def test_the_systems_stand_under_their_chapters(page: Any) -> None:
    for number in "1234567":
        section = page.find("section", id=f"chapter-{number}")
        assert section.find("h3").get_text().startswith(number)
        found = {term["id"].removeprefix("system-") for term in section.select("dt")}
        assert found == {name for name, row in SYSTEMS.items() if row["chapter"] == number}


def test_a_chapter_that_is_written_leads_to_its_pages(page: Any) -> None:
    for name, row in SYSTEMS.items():
        if row["chapter"] == "2" and row["tier"] == "A":
            about = page.find(id=f"system-{name}").find_next_sibling("dd")
            assert about.select("a[href^=c]"), name


def test_an_entry_links_to_the_paper(page: Any) -> None:
    for key, entry in ENTRIES.items():
        links = {a["href"] for a in page.find(id=key).select("a[href^=http]")}
        places = {"doi": "https://doi.org/", "eprint": "https://arxiv.org/abs/", "url": ""}
        assert links == {p + entry.fields[f] for f, p in places.items() if f in entry.fields}


def test_letters_and_capitals_are_shown(page: Any) -> None:
    text = page.find("article").get_text()
    for words in ("Łukasz Kaiser", "Jürgen Schmidhuber", "Nyströmformer: a Nyström-based"):
        assert words in text
    assert "BERT: pre-training of deep bidirectional Transformers" in text
