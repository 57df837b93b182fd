"""Recipes that build each registered file from its public parts.

A recipe takes the parts and its arguments from the registry, and returns the bytes of the file
(before gzip, for a `.gz`). The result is verified against the registered sha256, so a recipe can
fail but not return something else.
"""

import ast
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any

from deepdive.data.parts import Parts


def copy(parts: Parts) -> bytes:
    """Return the only part unchanged."""
    return parts.one()


def member(parts: Parts, path: str) -> bytes:
    """Return one member of an archive."""
    return parts.member(path)


def first_lines(parts: Parts, number: str) -> bytes:
    """Return the first lines of the only part."""
    return b"".join(parts.one().splitlines(keepends=True)[: int(number)])


def labeled_lines(parts: Parts, encoding: str, *labels_and_paths: str) -> bytes:
    """Return a table `label, text` from archive members with one text per line."""
    rows = ["label\ttext"]
    for label, path in zip(labels_and_paths[::2], labels_and_paths[1::2], strict=True):
        texts = (line.strip() for line in parts.member(path).decode(encoding).split("\n"))
        rows += [f"{label}\t{text}" for text in texts if text]
    return _lines(rows)


def movie_reviews(parts: Parts) -> bytes:
    """Return a JSON line per review, `{neg,pos}/cvNNN_NNNNN.txt`; the first digit is the fold."""
    records = []
    for path, text in parts.members(lambda path: "/cv" in path).items():
        name = path.rpartition("/")[2].removesuffix(".txt")
        records.append(
            {
                "id": name,
                "fold": int(name[2]),
                "label": int("/pos/" in path),
                "text": text.decode("utf-8").strip(),
            }
        )
    return _json_lines(records)


def state_union(parts: Parts) -> bytes:
    """Return one JSON line per address of `YEAR-PRESIDENT[-PART].txt`."""
    records = []
    for path, text in parts.members(lambda path: path.endswith(".txt")).items():
        year, president, *part = path.rpartition("/")[2].removesuffix(".txt").split("-")
        records.append(
            {
                "year": int(year),
                "president": president,
                "part": int(part[0]) if part else 1,
                "text": _utf8_or_latin1(text).strip(),
            }
        )
    return _json_lines(records)


def tatoeba_retrieval(parts: Parts) -> bytes:
    """Return a table from the pairs of files `tatoeba.XXX-eng.{XXX,eng}`, line by line."""
    files = parts.members(lambda path: path.startswith("data/tatoeba/v1/tatoeba."))
    rows = ["language\tindex\tenglish\tother"]
    for path in files:
        if path.endswith(".eng"):
            language = path.split(".")[-2].removesuffix("-eng")
            english = files[path].decode("utf-8").split("\n")[:-1]
            other = files[path.removesuffix("eng") + language].decode("utf-8").split("\n")[:-1]
            both = zip(english, other, strict=True)
            rows += [f"{language}\t{k}\t{left}\t{right}" for k, (left, right) in enumerate(both)]
    return _lines(rows)


def goemotions(parts: Parts, split: str) -> bytes:
    """Return a table with label names instead of numbers, in both groupings."""
    names, groups = (parts.get(f"data/{form}/labels.txt").split() for form in _FORMS)
    fine, coarse = (parts.get(f"data/{form}/{split}.tsv").decode().split("\n") for form in _FORMS)
    rows = ["id\ttext\temotions\tsentiment"]
    for line, other in zip(fine, coarse, strict=True):
        if line:
            text, labels, comment = line.split("\t")
            rows.append(
                f"{comment}\t{text}\t{_named(labels, names)}\t"
                f"{_named(other.split(chr(9))[1], groups)}"
            )
    return _lines(rows)


_FORMS = ("original", "group")


def sib200(parts: Parts, *languages: str) -> bytes:
    """Return a table of each language's three splits; quotes around a field are dropped."""
    rows = ["language\tsplit\tindex_id\tcategory\ttext"]
    for language in languages:
        for split in ("train", "dev", "test"):
            text = parts.get(f"data/annotated/{language}/{split}.tsv").decode("utf-8")
            for line in text.replace("\r\n", "\n").split("\n")[1:]:
                if line.strip():
                    fields = [field.strip('"') for field in line.split("\t")]
                    rows.append("\t".join([language, split, *fields]))
    return _lines(rows)


def fsdd_speakers(parts: Parts) -> bytes:
    """Return the speaker table, parsed (not executed) from the dictionary in `metadata.py`."""
    tree = ast.parse(parts.member("metadata.py"))
    assigned = next(node for node in tree.body if isinstance(node, ast.Assign))
    rows = ["speaker\tgender\taccent"]
    for speaker, traits in ast.literal_eval(assigned.value).items():
        rows.append(f"{speaker}\t{traits['gender']}\t{traits['accent']}")
    return _lines(rows)


def medquad(parts: Parts) -> bytes:
    """Return one JSON line per answered question from the XML files, with spaces collapsed."""
    from xml.etree import ElementTree

    records = []
    for path, text in parts.members(lambda path: path.endswith(".xml")).items():
        tree = ElementTree.fromstring(text)
        focus, group = _squeezed(tree.findtext("Focus")), tree.findtext(".//SemanticGroup")
        for pair in tree.iter("QAPair"):
            question, answer = pair.find("Question"), _squeezed(pair.findtext("Answer"))
            if answer and question is not None:
                records.append(
                    {
                        "id": question.get("qid"),
                        "source": path.partition("/")[0],
                        "focus": focus,
                        "group": _squeezed(group),
                        "qtype": question.get("qtype"),
                        "question": _squeezed(question.text),
                        "answer": answer,
                    }
                )
    return _json_lines(records)


def tar_of_members(parts: Parts, folder: str, ending: str) -> bytes:
    """Return a tar (dates 0, owner 0) of the archive members `folder/...` that end in `ending`."""
    return _tar(parts.members(lambda path: path.startswith(folder + "/") and path.endswith(ending)))


def tar_of_parts(parts: Parts, *paths: str) -> bytes:
    """Return a tar (dates 0, owner 0) of loose parts."""
    return _tar({path: parts.get(path) for path in paths})


RECIPES: dict[str, Callable[..., bytes]] = {
    recipe.__name__: recipe
    for recipe in (
        copy,
        member,
        first_lines,
        labeled_lines,
        movie_reviews,
        state_union,
        tatoeba_retrieval,
        goemotions,
        sib200,
        fsdd_speakers,
        medquad,
        tar_of_members,
        tar_of_parts,
    )
}


def _lines(rows: list[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode("utf-8")


def _json_lines(records: list[dict[str, Any]]) -> bytes:
    return _lines([json.dumps(record, ensure_ascii=False) for record in records])


def _named(numbers: str, names: list[bytes]) -> str:
    return ",".join(names[int(number)].decode() for number in numbers.split(","))


def _utf8_or_latin1(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _squeezed(text: str | None) -> str:
    return " ".join((text or "").split())


def _tar(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()
