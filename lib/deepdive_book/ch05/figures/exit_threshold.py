"""DeeBERT's entropy threshold as a slider: at which layers texts leave, accuracy, mean depth.

exit_threshold(curve)         # points as `early_exit.curve` returns them
"""

from collections.abc import Mapping, Sequence
from typing import Any

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.panels import panels

BAR, TALL = 60, 150


def exit_threshold(curve: Sequence[Mapping[str, Any]]) -> Html:
    """Return the drawing for the lowest threshold, and a slider to the others.

    Raises ValueError for fewer than two thresholds.
    """
    if len(curve) < 2:
        raise ValueError(f"got {len(curve)} thresholds; expected two or more to slide between")
    names = [f"{point['threshold']:g} nats" for point in curve]

    def draw(name: str) -> tuple[str, str]:
        point = curve[names.index(name)]
        body = []
        for i, part in enumerate(point["by_layer"]):
            x, high = 16 + (BAR + 14) * i, TALL * part
            body.append(
                f'<rect x="{x}" y="{30 + TALL - high:.1f}" width="{BAR}" height="{high:.1f}" '
                f'fill="{ROLES["key"]}" fill-opacity=".6"/>'
            )
            body.append(text(x + BAR / 2, 18 + TALL - high, f"{part:.0%}", 14))
            body.append(text(x + BAR / 2, 46 + TALL, f"layer {i + 1}", 13))
        words = (
            f"Accuracy {point['accuracy']:.1%} at {point['depth']:.2f} layers on average. Leaving "
            f"at random layers with the same frequencies: {point['random']:.1%}."
        )
        return svg(18 + (BAR + 14) * len(point["by_layer"]), 62 + TALL, body), words

    return panels(
        "Texts that leave at each layer, by entropy threshold", {"threshold": names}, draw,
        sliders=("threshold",), wide=46, lines=2,
        try_this="move the threshold up. Watch where texts leave, how the mean depth falls, and by "
        "how much the accuracy differs from leaving at random layers.",
    )  # fmt: skip
