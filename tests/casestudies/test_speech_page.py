"""The study of speech: its test is that of the recipes, and kept transcripts err as it says."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import jiwer
import pytest
from checkout import ROOT

from deepdive.data.speech import an4
from deepdive.evaluate.transcripts import align_all, rate_interval, word_error_rate


def kept(name: str) -> list[dict[str, Any]]:
    path = ROOT / f"chapters/06c_speech/results/{name}.json"
    return list(json.loads(path.read_text("utf-8"))["rows"])


ROWS = kept("an4_hour")


@pytest.mark.data("an4_mfcc")
def test_the_test_is_the_one_of_the_recipes() -> None:
    """130 utterances, 773 words and 2,565 characters: as ESPnet counts them, spaces too."""
    test, every = an4("test"), an4("train")
    assert (len(every), len(test)) == (948, 130)
    assert sum(len(words.split()) for words in test.words) == 773
    assert sum(len(words) for words in test.words) == 2565
    train, valid = every.held_out(sorted({*every.speakers})[4::9])
    assert (len(train), len(valid)) == (848, 100)
    who = [{*part.speakers} for part in (train, valid, test)]
    assert not who[0] & who[1]
    assert not (who[0] | who[1]) & who[2]


@pytest.mark.data("an4_mfcc")
@pytest.mark.parametrize("said", ["said", "said_with_model", "said_beside"])
def test_kept_transcripts_err_as_jiwer_counts(said: str) -> None:
    test = an4("test")
    rows = [row for row in ROWS if said in row]
    assert rows
    for row in rows:
        ours = word_error_rate(test.words, row[said])
        assert ours == pytest.approx(jiwer.wer([*test.words], row[said]))


@pytest.mark.data("an4_mfcc")
def test_an_hour_is_enough_for_kaldi_s_single_sounds() -> None:
    """Without a language model at most 10.61 % in each training, 7.6 in their mean, in at most an
    hour of two cores.
    """
    test = an4("test")
    rows = [row for row in ROWS if (row["system"], row["steps"]) == ("conformer", 3600)]
    assert sorted(row["seed"] for row in rows) == [*range(6)]
    rates = [rate_interval(align_all(test.words, row["said"]), test.speakers).value for row in rows]
    assert max(rates) <= 0.1061
    assert sum(rates) / len(rates) <= 0.076
    assert all(row["core_minutes"] <= 120 for row in rows)


@pytest.mark.data("an4_mfcc")
def test_every_way_to_learn_from_few_minutes_was_kept_and_errs_as_jiwer_counts() -> None:
    """Three seeds of each way at the ends, and of two in the middle; at five minutes eight seeds of
    four ways, and three other draws of the first weights of two.
    """
    test = an4("test")
    rows = kept("an4_listening")
    plain = [row for row in rows if "weights" not in row]
    found = Counter((r["minutes"], r["lesson"], r["more"], r.get("rate")) for r in plain)
    for minutes in (5, 10, 20, 40):
        for lesson in ("nothing", "units"):
            assert found[(minutes, lesson, False, None)] == (8 if minutes == 5 else 3)
    for minutes in (5, 40):
        assert found[(minutes, "codes", False, None)] == 3
        assert found[(minutes, "codes", True, None)] == (8 if minutes == 5 else 3)
        assert found[(minutes, "decoder", False, None)] == 1
    assert found[(5, "units", False, 1e-3)] == 8
    for lesson in ("nothing", "units"):
        anew = [r["weights"] for r in rows if "weights" in r and r["lesson"] == lesson]
        assert sorted(anew) == [1, 2, 3]
    for row in rows:
        assert row["steps"] >= 1200 + 20 * row["minutes"]
        said = align_all(test.words, row["said"], letters=True)
        ours = sum(each.errors for each in said) / sum(each.length for each in said)
        assert ours == pytest.approx(jiwer.cer([*test.words], row["said"]))


def test_every_person_was_a_stranger_once_to_each_recogniser() -> None:
    """Six people by four recognisers; the stranger's numbers are of the one left out alone."""
    rows = kept("digits_in_noise")
    people = {row["left_out"] for row in rows}
    ways = {(row["system"], row["hiss"]) for row in rows}
    assert (len(people), len(ways), len(rows)) == (6, 4, 24)
    for row in rows:
        assert {*row["stranger"]["who"]} == {row["left_out"]}
        assert {*row["known"]["who"]} == people - {row["left_out"]}
        for voice in (row["stranger"], row["known"]):
            assert {len(said.split("|")) for said in voice["said"].values()} == {50}
            assert len(voice["said"]) == 11
