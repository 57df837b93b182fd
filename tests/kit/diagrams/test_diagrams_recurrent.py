"""The diagrams of recurrent networks: what they draw, and what they refuse."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from deepdive_book.kit.diagrams.recurrent import lstm_step, two_readers

SOURCE, TARGET = ["the", "cat", "sleeps"], ["le", "chat", "dort", "end"]


def parts(drawn: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}" + tag))


def test_there_is_a_state_for_each_word_and_one_bridge() -> None:
    drawn = two_readers(SOURCE, TARGET)
    assert len(parts(drawn, "rect")) == len(SOURCE) + len(TARGET)
    thick = [line for line in parts(drawn, "line") if float(line.attrib["stroke-width"]) > 3]
    assert len(thick) == 1
    words = [word.text for word in parts(drawn, "text")]
    assert words.count("chat") == 2  # written, then read
    assert words.count("end") == 1  # written only


def test_each_weight_is_a_link_as_thick_as_it_is_large() -> None:
    drawn = two_readers(SOURCE, TARGET, [0.2, 0.0, 0.8], asked=1)
    links = [float(link.attrib["stroke-width"]) for link in parts(drawn, "path")]
    assert links == [pytest.approx(1 + 8 * 0.2), pytest.approx(1 + 8 * 0.8)]
    assert all(float(line.attrib["stroke-width"]) < 3 for line in parts(drawn, "line"))


def test_weights_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="weights has 2 numbers"):
        two_readers(SOURCE, TARGET, [0.5, 0.5])


def test_a_step_of_the_lstm_shows_both_tanhs_and_the_way_of_h_back() -> None:
    drawn = lstm_step()
    words = [word.text for word in parts(drawn, "text")]
    assert sum("tanh" in (word or "") for word in words) == 2  # of the candidate, of the cell
    assert sum("σ" in (word or "") for word in words) == 3  # three gates
    assert (words.count("×"), words.count("+")) == (3, 1)
    thick = [line for line in parts(drawn, "line") if float(line.attrib["stroke-width"]) > 3]
    assert len(thick) == 1  # the cell
    (back,) = [path for path in parts(drawn, "path") if "stroke-dasharray" in path.attrib]
    start, end = back.attrib["d"].split()[0], back.attrib["d"].split()[-1]
    assert float(start.removeprefix("M")) > 600 > 100 > float(end.removeprefix("H"))
