"""A layer as a picture: what is drawn stands in the order in which the stream meets it."""

import re

from deepdive.page.diagrams.layers import STEP, Sublayer, layer, one_layer, top

THREE = [Sublayer("self", "query", "one & two"), Sublayer("cross", "key"), Sublayer("ff", "value")]


def test_sublayers_stand_one_above_the_other_each_with_its_norm() -> None:
    drawn = "".join(layer(100, 400, THREE, "× 6"))
    heights = [float(re.search(rf'y="([\d.]+)"[^>]*>{p.name}<', drawn).group(1)) for p in THREE]  # type: ignore[union-attr]
    assert heights == sorted(heights, reverse=True)
    assert drawn.count("add &amp; norm") == 3
    assert "one &amp; two" in drawn
    assert "× 6" in drawn
    assert top(400, THREE) == 400 - 3 * STEP


def test_a_memory_comes_to_the_sublayer_before_the_last() -> None:
    drawn = one_layer(THREE, "in", "out", memory="rows")
    assert "memory" not in drawn
    words = dict(re.findall(r'y="([\d.]+)" font-size="\d+" [^>]*>([^<]+)<', drawn))
    places = {word: float(y) for y, word in words.items()}
    assert abs(places["rows"] - places["cross"]) < 2
    assert places["in"] > places["out"]
    assert "rows" not in one_layer(THREE, "in", "out")
