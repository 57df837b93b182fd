"""A layer as a picture: what is drawn stands in the order in which the stream meets it."""

import re

from deepdive_book.kit.diagrams.layers import STEP, Sublayer, layer, norm_first, one_layer, top

THREE = [Sublayer("self", "query", "one & two"), Sublayer("cross", "key"), Sublayer("ff", "value")]


def test_sublayers_stand_one_above_the_other_each_with_its_norm() -> None:
    drawn = "".join(layer(100, 400, THREE, "× 6"))
    heights = [float(re.search(rf'y="([\d.]+)"[^>]*>{p.name}<', drawn).group(1)) for p in THREE]  # type: ignore[union-attr]
    assert heights == sorted(heights, reverse=True)
    assert drawn.count("add &amp; norm") == 3
    assert "one &amp; two" in drawn
    assert "× 6" in drawn
    assert top(400, THREE) == 400 - 3 * STEP


def test_a_norm_that_comes_first_stands_below_its_sublayer_and_the_sum_above() -> None:
    drawn = "".join(norm_first(100, 400, THREE, "RMS norm"))
    words = re.findall(r'y="([\d.]+)" font-size="\d+"[^>]*>([^<]+)<', drawn)
    upwards = [word for _, word in sorted(words, key=lambda each: -float(each[0]))]
    assert "add &amp; norm" not in drawn
    assert [w for w in upwards if w != "one &amp; two"] == [
        word for part in THREE for word in ("RMS norm", part.name, "+")
    ]


def test_a_memory_comes_to_the_sublayer_before_the_last() -> None:
    drawn = one_layer(THREE, "in", "out", memory="rows")
    assert "memory" not in drawn
    words = dict(re.findall(r'y="([\d.]+)" font-size="\d+" [^>]*>([^<]+)<', drawn))
    places = {word: float(y) for y, word in words.items()}
    assert abs(places["rows"] - places["cross"]) < 2
    assert places["in"] > places["out"]
    assert "rows" not in one_layer(THREE, "in", "out")
