"""Segments of a text with and without Transformer-XL's memory: which states the last position
depends on, as a drawing and with the memory's length and the number of layers to choose.

    segment_recurrence()                                     # the drawing, SVG
    receptive_field(segment=4, memories=(0, 4, 8), most=3)   # the interactive figure
"""

from collections.abc import Sequence

from deepdive.core.checks import positive
from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.panels import panels

STEP, RISE = 44.0, 74.0  # between positions and between layers of the drawing
NAMES = ("embeddings", "layer 1", "layer 2")


def reached(segment: int, memory: int, layers: int, length: int) -> list[set[int]]:
    """Return for the embeddings and each layer the positions, below `length`, whose states the
    last position's output depends on: in each layer a segment attends to itself and to `memory`
    states before it.
    """
    levels = [{length - 1}]
    for _ in range(layers):
        below = set[int]()
        for position in levels[-1]:
            start = position // segment * segment
            below |= set(range(max(0, start - memory), position + 1))
        levels.append(below)
    return levels[::-1]


def segment_recurrence() -> str:
    """Return the drawing as SVG: two segments of four, two layers, without and with a memory of
    four states.
    """
    body = [
        *_half(110, "Transformer: each segment by itself", 0),
        *_half(530, "Transformer-XL: cached states of segment 1", 4),
    ]
    for level, name in enumerate(NAMES):
        body.append(text(46, 226 - RISE * level, name, 13))
    return svg(880, 292, body)


def _half(left: float, title: str, memory: int) -> list[str]:
    """Return eight positions and three levels; the last position's dependencies are drawn."""
    levels = reached(4, memory, 2, 8)
    body = [text(left + 3.5 * STEP, 22, title, 15, bold=True)]
    between = left + 3.5 * STEP
    body.append(
        f'<line x1="{between:g}" y1="42" x2="{between:g}" y2="250" stroke="currentColor" '
        'stroke-dasharray="4 4"/>'
    )
    for level in (1, 2):
        for query in sorted(levels[level]):
            start = query // 4 * 4
            for key in range(max(0, start - memory), query + 1):
                cached = key < start
                role, dash = ("key", ' stroke-dasharray="5 3"') if cached else ("query", "")
                body.append(
                    f'<line x1="{left + STEP * key:g}" y1="{226 - RISE * (level - 1):g}" '
                    f'x2="{left + STEP * query:g}" y2="{226 - RISE * level:g}" '
                    f'stroke="{ROLES[role]}" stroke-opacity=".75"{dash}/>'
                )
    for level in range(3):
        for position in range(8):
            used = position in levels[level]
            role = "key" if used and position < 4 else "query"
            fill = f'"{ROLES[role]}"' if used else '"none"'
            body.append(
                f'<circle cx="{left + STEP * position:g}" cy="{226 - RISE * level:g}" r="8" '
                f'fill={fill} stroke="currentColor"/>'
            )
    words = "segment 1, cached" if memory else "segment 1"
    body.append(text(left + 1.5 * STEP, 270, words, 14, "key" if memory else ""))
    body.append(text(left + 5.5 * STEP, 270, "segment 2", 14))
    return body


def alt_text(segment: int, memory: int, layers: int) -> str:
    """Return what a state of the figure shows, in words."""
    words = f"{layers} layer" + ("s" if layers > 1 else "")
    reach = segment + layers * memory
    if not memory:
        return (
            f"{words}, no memory: the last output depends on {segment} positions, its own segment."
        )
    return (
        f"{words}, {memory} cached states in each layer: the last output depends on {segment} + "
        f"{layers} x {memory} = {reach} positions."
    )


def receptive_field(segment: int = 4, memories: Sequence[int] = (0, 4, 8), most: int = 3) -> Html:
    """Return the interactive figure: a choice of memory and of layers. Raises ValueError unless the
    sizes are positive and each memory is a multiple of the segment.
    """
    positive(segment=segment, most=most)
    if any(memory % segment for memory in memories):
        raise ValueError(f"memories={tuple(memories)}: expected multiples of segment={segment}")
    length = segment + most * max(memories)

    def draw(memory: str, layers: str) -> tuple[str, str]:
        return (
            _field(segment, int(memory), int(layers), length),
            alt_text(segment, int(memory), int(layers)),
        )

    return panels(
        "What the last position depends on",
        {"cached states in each layer": [str(m) for m in memories],
         "layers": [str(n) for n in range(1, most + 1)]},
        draw, wide=46, lines=2,
        try_this="(1) choose no memory, and add layers: the number of positions stays the same. "
                 "(2) Choose 4 cached states and add layers: each adds 4 positions. (3) Choose 8 "
                 "states and 3 layers, and compare the number with the formula below.",
    )  # fmt: skip


def _field(segment: int, memory: int, layers: int, length: int) -> str:
    """Return one state: a row of cells for each level, full where the output depends on it."""
    wide, levels = 540 / length, reached(segment, memory, layers, length)
    body = []
    for level, positions in enumerate(levels):
        y = 30 + 46 * (layers - level)
        name = f"layer {level}" if level else "embeddings"
        body.append(text(52, y + 15, name, 17))
        for position in range(length):
            own = position >= length - segment
            opacity = 0.85 if position in positions else 0.06
            body.append(
                f'<rect x="{104 + wide * position:.1f}" y="{y}" width="{wide - 2:.1f}" height="30" '
                f'fill="{ROLES["query" if own else "key"]}" fill-opacity="{opacity}" '
                'stroke="currentColor" stroke-opacity=".35"/>'
            )
    for start in range(0, length, segment):
        x = 103 + wide * start
        body.append(
            f'<line x1="{x:.1f}" y1="22" x2="{x:.1f}" y2="{66 + 46 * layers}" '
            'stroke="currentColor" stroke-opacity=".6"/>'
        )
    body.append(text(104 + 270, 88 + 46 * layers, "segments of 4, the last one on the right", 17)
                if segment == 4 else "")  # fmt: skip
    return svg(660, 100 + 46 * layers, [part for part in body if part])
