"""Results files: each page its own part, atomically, in the format of the schema."""

from __future__ import annotations

import copy
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import results_table
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st

from deepdive_book.kit import results

SCHEMA = json.loads((ROOT / "casestudies/results/schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
COMMITTED = sorted(p for p in (ROOT / "casestudies/results").glob("*.json") if p.stem != "schema")


def part(**changes: Any) -> dict[str, Any]:
    """A part as the protocol page of the translation study writes it."""
    base = {
        "profile": "laptop",
        "data": ["tatoeba_eng_fra"],
        "cores": 2,
        "seconds": 60.0,
        "peak_memory_mb": 900,
        "metrics": {"original_protocol": {"transformer": {"valid_ce": 1.5}, "seconds": 50.0}},
    }
    return {**base, **changes}


SYSTEMS = {
    "systems": {
        "transformer": {"bleu": 40.0, "bleu_interval": [39.0, 41.0], "chrf": 60.0},
        "seq2seq": {"bleu": 20.0, "bleu_interval": [19.0, 21.0], "chrf": 40.0},
    }
}


def test_the_schema_is_a_schema() -> None:
    VALIDATOR.check_schema(SCHEMA)


def test_committed_results_follow_the_schema() -> None:
    for path in COMMITTED:
        document = json.loads(path.read_text(encoding="utf-8"))
        VALIDATOR.validate(document)
        results.check(document)
        assert document["study"] == path.stem
        profiles = {entry["profile"] for entry in document["pages"].values()}
        assert "ci" not in profiles, f"{path.name}: committed results come from real data"


def test_two_pages_write_one_file_each_its_own_part(tmp_path: Path) -> None:
    file = tmp_path / "02_translation.json"
    results.update(file, part(), page="protocol")
    results.update(file, part(metrics=SYSTEMS, seconds=100.5, cores=4), page="study")
    changed = {"original_protocol": {"attention_rnn": {"valid_ce": 2.0}}}
    results.update(file, part(metrics=changed, peak_memory_mb=1000), page="protocol")
    document = json.loads(file.read_text(encoding="utf-8"))
    VALIDATOR.validate(document)
    assert document["metrics"] == {**changed, **SYSTEMS}
    assert (document["study"], document["profile"], document["cores"]) == (
        "02_translation",
        "laptop",
        4,
    )
    assert (document["seconds"], document["peak_memory_mb"]) == (160.5, 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["02_translation.json"]


def test_a_page_drops_a_metric_that_it_no_longer_writes(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    results.update(file, part(metrics={"old": 1, "kept": 2}), page="a")
    assert results.update(file, part(metrics={"kept": 3}), page="a")["metrics"] == {"kept": 3}


def test_a_page_cannot_take_the_metric_of_another(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    results.update(file, part(), page="a")
    before = file.read_bytes()
    with pytest.raises(ValueError, match=r"'original_protocol' of page 'b' belongs to page 'a'"):
        results.update(file, part(), page="b")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"metrics": {"a": {"valid_ce": math.nan}}}, r"metrics\.a\.valid_ce"),
        ({"metrics": {"a": {"bleu_interval": [2.0, 1.0]}}}, "bleu_interval"),
        ({"metrics": {"a": {"ok": True}}}, r"metrics\.a\.ok"),
        ({"metrics": {"a": {}}}, r"metrics\.a"),
        ({"metrics": {}}, "empty"),
        ({"profile": "big"}, "profile"),
        ({"data": "tatoeba"}, "data"),
        ({"data": []}, "data"),
        ({"cores": 0}, "cores"),
        ({"seconds": -1}, "seconds"),
        ({"versions": {"torch": 2}}, "versions"),
        ({"extra": 1}, r"unknown \['extra'\]"),
    ],
)
def test_a_bad_part_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        results.update(tmp_path / "study.json", part(**changes), page="a")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_named_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    file.write_text('{"study": ', encoding="utf-8")
    with pytest.raises(ValueError, match=r"study\.json is not a results file"):
        results.update(file, part(), page="a")
    assert file.read_text(encoding="utf-8") == '{"study": '


def test_a_failed_write_leaves_the_old_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.json"
    results.update(file, part(), page="a")
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(results.os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        results.update(file, part(seconds=1.0), page="a")
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Each update opens the lock afresh, so that threads exclude each other as processes do."""
    file = tmp_path / "study.json"

    def write(page: str) -> None:
        for count in range(10):
            results.update(file, part(metrics={page: count}), page=page)

    with ThreadPoolExecutor(3) as writers:
        list(writers.map(write, ["p0", "p1", "p2"]))
    assert json.loads(file.read_text(encoding="utf-8"))["metrics"] == {"p0": 9, "p1": 9, "p2": 9}


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ci", "mixed"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab_"), inner),
    max_leaves=4,
)


@given(where=st.integers(0, 100), value=ANY_JSON, drop=st.booleans())
def test_the_light_check_and_the_schema_agree(where: int, value: Any, drop: bool) -> None:
    """Change or drop one place of a good document: both accept it, or both refuse it."""
    document = {
        "study": "s",
        **{key: part()[key] for key in results.PROVENANCE},
        "metrics": {"m": {"x": 1.5, "x_interval": [1, 2], "curve": [3, 2, 1], "name": "n"}},
        "pages": {"p": {**part(), "metrics": ["m"], "versions": {"torch": "2"}}},
    }
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    document = copy.deepcopy(document)
    walk(document)
    node, key = places[where % len(places)]
    if drop:
        del node[key]
    else:
        node[key] = value
    valid = VALIDATOR.is_valid(document)
    owners = [m for entry in _entries(document) for m in entry]
    ordered = document_intervals_rise(document) if valid else True
    expected = valid and ordered and sorted(owners) == sorted(document["metrics"])
    if expected:
        results.check(document)
    else:
        with pytest.raises(ValueError, match=r"expected|missing"):
            results.check(document)


def _entries(document: dict[str, Any]) -> list[list[str]]:
    pages = document.get("pages")
    found = pages.values() if isinstance(pages, dict) else []
    return [entry["metrics"] for entry in found if VALIDATOR.is_valid(document)]


def document_intervals_rise(node: Any) -> bool:
    """low <= high, which a JSON schema cannot say."""
    if not isinstance(node, dict):
        return True
    return all(
        value[0] <= value[1] if key.endswith("_interval") else document_intervals_rise(value)
        for key, value in node.items()
    )


def test_only_results_from_real_data_go_to_the_committed_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "casestudies" / "results").mkdir(parents=True)
    (tmp_path / "casestudies" / "results" / "schema.json").touch()
    monkeypatch.chdir(tmp_path / "casestudies")
    monkeypatch.setenv("DEEPDIVE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("DEEPDIVE_PROFILE", "laptop")
    real = results.results_file("02_translation")
    assert real == tmp_path / "casestudies/results/02_translation.json"
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    generated = results.results_file("02_translation")
    assert generated == tmp_path / "out/results/02_translation.json"


def test_results_outside_a_checkout_go_to_the_page_s_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPDIVE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("DEEPDIVE_PROFILE", "gpu")
    assert results.results_file("s") == tmp_path / "out/results/s.json"


def test_the_table_shows_numbers_with_their_intervals(tmp_path: Path) -> None:
    folder = tmp_path / "casestudies" / "results"
    results.update(folder / "02_translation.json", part(), page="protocol")
    results.update(folder / "02_translation.json", part(metrics=SYSTEMS), page="study")
    (folder / "schema.json").write_text("{}", encoding="utf-8")
    rows = results_table.table(folder).splitlines()
    provenance = "tatoeba_eng_fra; laptop, 2 cores | 1.0 min, 900 MB"
    assert rows[2:] == [
        f"| protocol | {provenance} | original_protocol | seconds 50 |",
        f"| protocol | {provenance} | original_protocol: transformer | valid_ce 1.5 |",
        f"| study | {provenance} | systems: transformer | bleu 40 [39, 41], chrf 60 |",
        f"| study | {provenance} | systems: seq2seq | bleu 20 [19, 21], chrf 40 |",
    ]


def test_the_table_of_no_results_says_so(tmp_path: Path) -> None:
    assert "None yet" in results_table.table(tmp_path)


def test_the_page_of_results_is_the_generated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["results_table.py", "--check"])
    assert results_table.main() == 0, "make results"
